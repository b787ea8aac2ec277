# SPDX-License-Identifier: Apache-2.0
"""A client of the control socket: the requests of `weirctl`, and its rules. One JSON object a line
goes there, one comes back. Each request has a connection of its own, so an object may be used from
several threads, and survives a restart of the switch."""
import dataclasses
import glob
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weir import metrics as metrics_page
from weir.errors import NoAnswer, NoSwitch, PolicyError, Refused, WeirError

DIRECTORY = "/run/weir"
DEFAULT = "weir"
TIMEOUT_S = 10.0
FOLLOW_S = 0.2
CHUNK = 65536

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Reload:
    """What a reload changed, or would change."""
    file: str
    changes: list[Row] # key, old, new
    warnings: list[str]
    raw: Row


def _connect(path: str, timeout: float) -> socket.socket:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(timeout)
    try:
        s.connect(path)
    except OSError:
        s.close()
        raise
    return s


def _answers(path: str) -> bool:
    try:
        _connect(path, TIMEOUT_S).close()
        return True
    except OSError:
        return False


def running(directory: str = DIRECTORY) -> list[str]:
    """The names of the switches that answer."""
    return [os.path.basename(path).removesuffix(".sock")
            for path in sorted(glob.glob(os.path.join(glob.escape(directory), "*.sock")))
            if _answers(path)]


def _the_switch(directory: str) -> str:
    names = running(directory)
    if DEFAULT in names or not names:
        return DEFAULT
    if len(names) > 1:
        raise NoSwitch(f"several switches run here; choose one by its name: {' '.join(names)}")
    return names[0]


class Switch:
    """A running switch. name: as in its policy; else WEIR_SWITCH, `weir`, or the only one that
    runs. As with weirctl, a request that changes the switch needs a name: Switch("sw1").

    directory: where the socket is. timeout: seconds for each answer."""

    def __init__(self, name: str | None = None, *, directory: str = DIRECTORY,
                 timeout: float = TIMEOUT_S) -> None:
        name = name or os.environ.get("WEIR_SWITCH") or None
        self.is_named = name is not None
        self.name = name if name is not None else _the_switch(directory)
        self.path = os.path.join(directory, f"{self.name}.sock")
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"Switch({self.name!r})"

    # ---- requests

    def _open(self) -> socket.socket:
        try:
            return _connect(self.path, self.timeout)
        except PermissionError:
            raise NoSwitch(f"no permission for {self.path}; run as the user who runs weir"
                           ) from None
        except FileNotFoundError:
            raise NoSwitch(f"no switch named {self.name} is running (no {self.path})") from None
        except OSError as e:
            raise NoSwitch(f"the switch {self.name} does not answer at {self.path}: "
                           f"{e.strerror or e}") from None

    def _exchange(self, line: bytes) -> bytes:
        parts: list[bytes] = []
        with self._open() as s:
            try:
                s.sendall(line)
                while not parts or not parts[-1].endswith(b"\n"):
                    part = s.recv(CHUNK)
                    if not part:
                        raise NoAnswer(f"the switch {self.name} closed the connection; it may be "
                                       "stopping")
                    parts.append(part)
            except TimeoutError:
                raise NoAnswer(f"the switch {self.name} did not answer within "
                               f"{self.timeout:g} s") from None
            except OSError as e:
                raise NoAnswer(f"the switch {self.name} did not answer: {e.strerror}") from None
        return b"".join(parts)

    def request(self, cmd: str, /, **keys: Any) -> Row:
        """Any request of the protocol; keys that are None are left out. Returns the data of the
        answer."""
        req = {"cmd": cmd, **{k: v for k, v in keys.items() if v is not None}}
        text = self._exchange(json.dumps(req).encode() + b"\n")
        try:
            reply = json.loads(text)
        except ValueError:
            reply = None
        if isinstance(reply, dict) and isinstance(reply.get("data"), dict):
            return reply["data"] # type: ignore[no-any-return]
        if isinstance(reply, dict) and "error" in reply:
            raise Refused(reply["error"])
        raise NoAnswer(f"the switch {self.name} gave an answer that is not understood")

    def _change(self, cmd: str, /, **keys: Any) -> Row:
        if not self.is_named:
            raise WeirError(f'{cmd} changes a switch: name it, as Switch("{self.name}"), or set '
                            "WEIR_SWITCH")
        return self.request(cmd, **keys)

    # ---- show

    def show(self, kind: str, port: str | None = None, **keys: Any) -> Row:
        """As `weirctl show KIND [PORT] --json`. keys: all, unpaired, elephants, limit, count,
        severity and since (a sequence number of events)."""
        return self.request("show", what="-".join(kind.split()), port=port, **keys)

    def rows(self, kind: str, port: str | None = None, /, **match: Any) -> list[Row]:
        """The rows of the first list of an answer that have these values, of active and of idle
        places: rows("queues", port="p1", queue=3)."""
        answer = self.show(kind, port, all=True)
        lists = [v for v in answer.values() if isinstance(v, list)]
        if not lists:
            raise WeirError(f"the answer to show {kind} has no list")
        return [r for r in lists[0] if all(r.get(k) == v for k, v in match.items())]

    def row(self, kind: str, /, **match: Any) -> Row:
        """The one row with these values. KeyError: there is none, or there are several."""
        found = self.rows(kind, **match)
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows of show {kind} have {match}")
        return found[0]

    def events(self, port: str | None = None, *, severity: str | None = None,
               since: int | None = None) -> list[Row]:
        """The events after the sequence number `since`, the oldest first."""
        events: list[Row] = self.show("events", port, severity=severity, since=since)["events"]
        return events

    def follow(self, port: str | None = None, *, severity: str | None = None,
               since: int | None = None, interval: float = FOLLOW_S) -> Iterator[Row]:
        """Events as they happen, without end; first those after `since`, by default none of before
        this call."""
        if since is None:
            since = max((e["seq"] for e in self.events()), default=0)
        return self._follow(port, severity, since, interval)

    def _follow(self, port: str | None, severity: str | None, since: int,
                interval: float) -> Iterator[Row]:
        while True:
            for event in self.events(port, severity=severity, since=since):
                since = event["seq"]
                yield event
            time.sleep(interval)

    def metrics(self) -> metrics_page.Metrics:
        """The page of metrics. Counts are since the start of the switch."""
        return metrics_page.parse(self.request("metrics")["text"])

    def wait(self, condition: Callable[["Switch"], Any], what: str, seconds: float = 10.0) -> Any:
        """Until condition(switch) is true; returns its value. NoAnswer after `seconds`."""
        end = time.monotonic() + seconds
        while not (value := condition(self)):
            if time.monotonic() > end:
                raise NoAnswer(f"not within {seconds:g} s: {what}")
            time.sleep(0.02)
        return value

    # ---- requests that change the switch

    def reload(self, file: str | os.PathLike[str] | None = None, *, check: bool = False,
               confirm_within: float | None = None) -> Reload:
        """Puts a policy file into force; without file, the one that runs is read again. check:
        changes nothing. confirm_within: seconds after which the policy before comes back.
        PolicyError has the mistakes."""
        keys = {"file": os.path.abspath(file) if file is not None else None,
                "check": check or None,
                "confirm_within_ms": int(confirm_within * 1000) if confirm_within else None}
        data = (self.request if check else self._change)("reload", **keys)
        return self._reloaded(data, "possible" if check else "reloaded")

    def rollback(self) -> Reload:
        """Puts the policy from before reload(confirm_within=...) back."""
        return self._reloaded(self._change("rollback"), "reloaded")

    @staticmethod
    def _reloaded(data: Row, key: str) -> Reload:
        if not data.get(key):
            raise PolicyError(data.get("mistakes") or ["the switch did not take the policy"])
        return Reload(data.get("file", ""), data.get("changes", []), data.get("warnings", []),
                      data)

    def confirm(self) -> None:
        self._change("confirm")

    def set_tx(self, port: str, on: bool, queue: int | None = None) -> None:
        """Stops or starts sending of data, of a port or of one of its queues."""
        self._change("set_tx", port=port, on=on, queue=queue)

    def clear(self, what: str = "counters") -> None:
        """counters or watermarks."""
        self._change("clear", what=what)

    def quiesce(self, hold: bool = False) -> Row:
        """Stops admission until the switch is at rest; the balance of all frames."""
        return self._change("quiesce", hold=hold)

    def resume(self) -> None:
        self._change("resume")

    def watchdog_recover(self, port: str, cls: int) -> None:
        self._change("watchdog_recover", port=port, **{"class": cls})

    def watchdog_drop_all(self, on: bool) -> None:
        self._change("watchdog_drop_all", on=on)

    def flow_add(self, from_: str, to: str, qp: int, sender_qp: int) -> None:
        """Sets the sender's queue pair of a flow."""
        self._change("flow_add", **{"from": from_}, to=to, qp=qp, sender_qp=sender_qp)

    def flow_del(self, from_: str, to: str, qp: int) -> None:
        self._change("flow_del", **{"from": from_}, to=to, qp=qp)

    def impair(self, port: str, action: str, match: str = "", *, way: str = "in",
               seconds: float | None = None, count: int | None = None,
               seed: int | None = None) -> int:
        """As `weirctl impair`: does `action` to the frames that match, until `seconds` (60) have
        passed or `count` frames are changed. way: in or out. Returns the number of the rule, for
        row("impairments", rule=...) and impair_stop."""
        data = self._change("impair", port=port, action=action, match=match, way=way, most=count,
                            for_us=int(seconds * 1e6) if seconds is not None else None,
                            rule_seed=seed)
        rule: int = data["rule"]
        return rule

    def impair_stop(self, rule: int | None = None) -> int:
        """Ends a rule; without number, all of them. Returns how many were on."""
        stopped: int = self._change("impair_stop", rule=rule)["stopped"]
        return stopped

    def zone_add(self, zone: str, members: Sequence[str]) -> None:
        self._change("inof_zone_add", zone=zone, members=list(members))

    def zone_remove(self, zone: str, members: Sequence[str] = ()) -> None:
        """Without members: the zone."""
        self._change("inof_zone_remove", zone=zone, members=list(members))
