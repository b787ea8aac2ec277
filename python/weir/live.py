# SPDX-License-Identifier: Apache-2.0
"""A live switch on veth links, in network namespaces of its own:

    switch: sw1  sw2  ...      each port is xdp:swN of the policy
             |    |
    host 1: e1   |             10.0.0.1/24, 02:00:00:00:00:01
    host 2:     e2             10.0.0.2/24, 02:00:00:00:00:02

Processes hold the namespaces, and the kernel ends these processes with the one that made them. So
nothing is left behind, however that one ends. The switch sees folders /run/weir and /run/dpdk of
its own: its name may be that of another switch on this machine."""
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any, Self, TypeVar

from weir.control import Switch
from weir.errors import Broken, ProgramMissing
from weir.programs import find

MAX_HOSTS = 64
START_S, STOP_S = 60.0, 20.0
PR_SET_PDEATHSIG = 1
TAIL = 20 # lines of a program's output in messages
NEEDED = ("ip", "ethtool", "nsenter", "unshare", "mount", "weir")
LIBC = ctypes.CDLL(None, use_errno=True)

POLICY = """\
switch: {{name: weir, workers: 1, buffer: {{size: 12MB}}, stall: {{pause_after: off}}, lldp: off}}
ports:
  - {{name: "p[1-{hosts}]", device: "xdp:sw[1-{hosts}]", speed: 1G, mtu: 1500, profile: roce}}
profiles:
  roce:
    classes:
      0: {{schedule: {{dwrr: 50}}}}
      3:
        lossless: true
        schedule: {{dwrr: 50}}
        ingress: {{alpha: 1}}
        wred: {{ecn: on, kmin: 60KB, kmax: 200KB, pmax: 100%}}
      6: {{schedule: strict}}
"""


def missing() -> str | None:
    """Why no live switch can run here; None: it can."""
    if os.geteuid() != 0:
        return "a live switch needs root, for namespaces and AF_XDP"
    try:
        for program in NEEDED:
            find(program)
    except ProgramMissing as e:
        return str(e)
    probe = subprocess.run(["unshare", "--net", "--mount", "true"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no namespace can be made: {probe.stderr.strip()}"


def _die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


def _run(command: list[str], check: bool, timeout: float) -> subprocess.CompletedProcess[str]:
    find(command[0])
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Broken(f"{' '.join(command)} did not end within {timeout:g} s") from None
    if check and done.returncode != 0:
        raise Broken(f"{' '.join(command)} ended with status {done.returncode}: "
                     f"{(done.stderr or done.stdout).strip()}")
    return done


class Process:
    """A program in a namespace. Its output goes into the files `out_path` and `err_path`."""

    def __init__(self, command: list[str], name: str, folder: str) -> None:
        self.name = name
        self.out_path = os.path.join(folder, f"{name}.out")
        self.err_path = os.path.join(folder, f"{name}.err")
        with open(self.out_path, "w") as out, open(self.err_path, "w") as err:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=err, preexec_fn=_die_with_parent)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def out(self) -> str:
        with open(self.out_path, errors="replace") as f:
            return f.read()

    def err(self) -> str:
        with open(self.err_path, errors="replace") as f:
            return f.read()

    def said(self) -> str:
        """The end of its output, for messages."""
        return "\n".join((self.out() + self.err()).splitlines()[-TAIL:])

    def wait_line(self, line: str, seconds: float = START_S) -> None:
        """Waits until the program has printed this line."""
        end = time.monotonic() + seconds
        while True:
            status = self.popen.poll()
            if line in (self.out() + "\n" + self.err()).splitlines():
                return
            if status is not None:
                raise Broken(f"{self.name} ended with status {status} and did not print "
                             f"\"{line}\"\n{self.said()}")
            if time.monotonic() > end:
                raise Broken(f"{self.name} did not print \"{line}\" within {seconds:g} s\n"
                             f"{self.said()}")
            time.sleep(0.02)

    def wait(self, seconds: float) -> int:
        """Its exit status."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Broken(f"{self.name} did not end within {seconds:g} s\n{self.said()}") from None

    def stop(self, seconds: float = STOP_S) -> int:
        """Sends SIGTERM; returns the exit status."""
        if self.popen.poll() is None:
            self.popen.terminate()
        return self.wait(seconds)

    def kill(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()


class Endpoint(Process):
    """A running `weir-host`."""

    def report(self, seconds: float = 60.0) -> dict[str, Any]:
        """Waits for the end; its JSON report. Broken: it ended with another status than 0."""
        status = self.wait(seconds)
        if status != 0:
            raise Broken(f"{self.name} ended with status {status}\n{self.said()}")
        report: dict[str, Any] = json.loads(self.out())
        return report


P = TypeVar("P", bound=Process)


class _Namespace:
    """A network namespace, held by a process; mounts: also a mount namespace."""

    def __init__(self, private: tuple[str, ...] = ()) -> None:
        words = ["unshare", "--net"] + ["--mount", "--propagation", "private"] * bool(private)
        script = "".join(f"mkdir -p {p} && mount -t tmpfs -o mode=755 weir {p} && "
                         for p in private)
        self.mounts = bool(private)
        self.holder = subprocess.Popen([*words, "sh", "-c", script + "echo ready && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True,
                                       preexec_fn=_die_with_parent)
        assert self.holder.stdout and self.holder.stderr
        if self.holder.stdout.readline() != "ready\n":
            raise Broken(f"no namespace can be made: {self.holder.stderr.read().strip()}")
        self.inside(["ip", "link", "set", "lo", "up"])
        # Neighbour discovery would mix with the frames under test.
        for scope in ("default", "all"):
            path = f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"
            self.inside(["sh", "-c", f"[ ! -e {path} ] || echo 1 >{path}"])

    @property
    def pid(self) -> str:
        return str(self.holder.pid)

    def words(self) -> list[str]:
        ns = f"/proc/{self.pid}/ns"
        return ["nsenter", f"--net={ns}/net", *[f"--mount={ns}/mnt"] * self.mounts,
                f"--wd={os.getcwd()}"]

    def inside(self, command: list[str], check: bool = True,
               timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        find(command[0])
        return _run([*self.words(), *command], check, timeout)

    def end(self) -> None:
        self.holder.kill()
        self.holder.communicate()


@dataclasses.dataclass
class Host:
    """A host of the kernel on one link of the switch."""
    number: int # from 1; its port is p1 where the policy says so
    ip: str
    mac: str
    device: str
    namespace: _Namespace
    network: "LiveSwitch"

    def run(self, *command: str, check: bool = True,
            timeout: float = 30.0) -> subprocess.CompletedProcess[str]:
        """A command in the namespace of the host. Broken: its status is not 0."""
        return self.namespace.inside(list(command), check, timeout)

    def spawn(self, *command: str, name: str | None = None) -> Process:
        """A program that goes on; it ends with the switch at the latest."""
        name = name or os.path.basename(command[0])
        return self.network.start(Process, self.namespace, list(command), f"h{self.number}-{name}")

    def ping(self, to: "Host | str", count: int = 3, dscp: int = 0) -> int:
        """How many replies came."""
        done = self.run("ping", "-n", "-c", str(count), "-i", "0.1", "-W", "1", "-Q",
                        str(dscp << 2), to.ip if isinstance(to, Host) else to, check=False,
                        timeout=30 + 2 * count)
        return done.stdout.count("bytes from")

    def endpoint(self, *words: str) -> Endpoint:
        """`weir-host` in place of the kernel: RoCEv2 with PFC and DCQCN (man weir-host)."""
        command = [find("weir-host"), "--device", f"xdp:{self.device}", "--ip", self.ip, "--json",
                   *words]
        name = f"h{self.number}-weir-host"
        return self.network.start(Endpoint, self.namespace, command, name)


class LiveSwitch(Switch):
    """A switch that this process starts and ends; use it in a `with` block. It answers the requests
    of Switch, and has `hosts`.

    policy: the text of a policy, or the path of a file; its ports are xdp:sw1, xdp:sw2, ... By
    default: a port for each host, class 3 lossless. folder: for the files of the run; else a
    temporary one. words: more arguments of weir.

    At the end of the block the switch stops. Broken: weir did not end with status 0, so a frame is
    not accounted for."""

    def __init__(self, *, hosts: int = 2, policy: str | os.PathLike[str] | None = None,
                 mtu: int = 1500, words: tuple[str, ...] = (),
                 folder: str | os.PathLike[str] | None = None, timeout: float = 10.0) -> None:
        if not 1 <= hosts <= MAX_HOSTS:
            raise ValueError(f"hosts is from 1 to {MAX_HOSTS}, not {hosts}")
        self.text = self._text_of(policy, hosts)
        self.n_hosts, self.mtu, self.words = hosts, mtu, words
        self.hosts: list[Host] = []
        self._folder, self._own_folder = folder, folder is None
        self._namespaces: list[_Namespace] = []
        self._processes: list[Process] = []
        self._count = 0
        self.process: Process | None = None
        self.timeout, self.is_named = timeout, True
        self.name = self.path = ""

    @staticmethod
    def _text_of(policy: str | os.PathLike[str] | None, hosts: int) -> str:
        if policy is None:
            return POLICY.format(hosts=hosts)
        text = os.fspath(policy)
        if "\n" in text:
            return text
        with open(text, encoding="utf-8") as f:
            return f.read()

    @property
    def folder(self) -> str:
        return os.fspath(self._folder or "")

    def start(self, cls: type[P], namespace: _Namespace, command: list[str], name: str) -> P:
        """A process in one of the namespaces, as a Process or a class made from it."""
        self._count += 1
        process = cls([*namespace.words(), *command], f"{name}-{self._count}", self.folder)
        self._processes.append(process)
        return process

    def __enter__(self) -> Self:
        why = missing()
        if why is not None:
            raise Broken(why)
        if self._own_folder:
            self._folder = tempfile.mkdtemp(prefix="weir-live-")
        os.makedirs(self.folder, exist_ok=True)
        try:
            self._build()
            self._begin()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self._remove()

    def _build(self) -> None:
        switch = _Namespace(private=("/run/weir", "/run/dpdk"))
        self._namespaces.append(switch)
        for i in range(1, self.n_hosts + 1):
            ns = _Namespace()
            self._namespaces.append(ns)
            host = Host(i, f"10.0.0.{i}", f"02:00:00:00:00:{i:02x}", f"e{i}", ns, self)
            _run(["ip", "link", "add", f"sw{i}", "mtu", str(self.mtu), "netns", switch.pid, "type",
                  "veth", "peer", "name", host.device, "mtu", str(self.mtu), "address", host.mac,
                  "netns", ns.pid], True, 30)
            # AF_XDP sees a frame as it is in memory: checksums and tags in place, not merged.
            for where, device in ((switch, f"sw{i}"), (ns, host.device)):
                where.inside(["ethtool", "-K", device, "tx", "off", "txvlan", "off", "rxvlan",
                              "off", "tso", "off", "gso", "off", "gro", "off"], check=False)
                where.inside(["ip", "link", "set", device, "up"])
            host.run("ip", "addr", "add", f"{host.ip}/24", "dev", host.device)
            self.hosts.append(host)

    def _begin(self) -> None:
        policy = os.path.join(self.folder, "policy.yaml")
        with open(policy, "w", encoding="utf-8") as f:
            f.write(self.text)
        switch = self._namespaces[0]
        self.process = self.start(Process, switch, [find("weir"), "-c", policy, *self.words],
                                  "weir")
        self.process.wait_line("ready")
        folder = f"/proc/{switch.pid}/root/run/weir"
        names = [n for n in os.listdir(folder) if n.endswith(".sock")]
        if len(names) != 1:
            raise Broken(f"the switch has {len(names)} sockets in /run/weir")
        self.name = names[0].removesuffix(".sock")
        self.path = os.path.join(folder, names[0])

    def weirctl(self, *words: str, check: bool = True,
                timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """A command of weirctl for this switch."""
        return self._namespaces[0].inside([find("weirctl"), "-s", self.name, *words], check,
                                          timeout)

    def spawn_weirctl(self, *words: str) -> Process:
        """One that goes on, such as capture."""
        return self.start(Process, self._namespaces[0],
                          [find("weirctl"), "-s", self.name, *words], "weirctl")

    def stop(self) -> str:
        """Ends the switch; what it printed. Broken: the status is not 0."""
        assert self.process is not None
        status = self.process.stop()
        if status != 0:
            raise Broken(f"weir ended with status {status}\n{self.process.said()}")
        return self.process.out()

    def log(self) -> str:
        """The end of what the switch printed."""
        return self.process.said() if self.process is not None else ""

    def _remove(self) -> None:
        for p in reversed(self._processes):
            p.kill()
        for ns in self._namespaces:
            ns.end()
        if self._own_folder and self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
