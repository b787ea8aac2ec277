# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios with `weir-lab run`, and reads their reports. Names of fields are those of
report.json (docs/schemas/report.json); sizes are bytes, rates bits per second, times what the name
says."""
import contextlib
import csv
import dataclasses
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from weir.errors import ExpectationsFailed, LabError
from weir.programs import find

PASSED, FAILED = 0, 1 # exit statuses of `weir-lab run` after which a report may be there

Row = dict[str, Any]
Scenario = str | os.PathLike[str] | Mapping[str, Any]
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Expectation:
    expectation: str
    line: int # of the scenario
    known: bool # False: the run ended before it could be said
    passed: bool
    value: float | None
    unit: str # "", share, bps, bytes or ns
    measured: str # the value as the table prints it
    expected: str
    tolerance: str
    written: str | None = None # as in the file, where params were put in

    def __str__(self) -> str:
        word = "open" if not self.known else "PASS" if self.passed else "FAIL"
        tolerance = f", {self.tolerance}" if self.tolerance else ""
        return (f"{word}  {self.expectation}: measured {self.measured}, expected "
                f"{self.expected}{tolerance} (line {self.line})")


@dataclasses.dataclass(frozen=True)
class Metric:
    metric: str
    known: bool
    value: float | None
    unit: str
    measured: str


@dataclasses.dataclass(frozen=True)
class Quantiles:
    p50: float | None
    p99: float | None
    max: float | None = None


@dataclasses.dataclass(frozen=True)
class Flow:
    """An item of `flows`. The last five fields are of TCP."""
    name: str
    connections: int
    goodput_bytes: int
    goodput_bps: int
    ideal_bps: int | None
    operations: int
    done_ns: int | None
    fct_ns: Quantiles
    slowdown: Quantiles
    retransmissions: int | None = None
    timeouts: int | None = None
    fast_retransmits: int | None = None
    ece_received: int | None = None
    cwnd_bytes: float | None = None


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    speed_bps: int
    rto_ns: int
    tx_packets: int
    tx_bytes: int
    rx_packets: int
    rx_bytes: int
    goodput_bytes: int
    tx_bps: int
    goodput_bps: int
    messages_posted: int
    messages_completed: int
    messages_served: int
    ce_marked: int
    cnps_sent: int
    cnps_received: int
    cnps_wrong: int
    cnps_late: int
    rate_cuts: int
    rx_pause: int
    rx_pause_duration_us: int
    tx_pause: int
    tx_pause_duration_us: int
    retransmissions: int
    spurious: int
    timeouts: int
    naks_sent: int
    naks_received: int
    out_of_sequence: int
    rx_dropped: int
    rx_trimmed: int
    payload_errors: int
    icrc_errors: int


@dataclasses.dataclass(frozen=True)
class SwitchReport:
    """Rows have the keys of `weirctl show KIND --json`; places that carried nothing are left
    out."""
    name: str
    ports: list[Row]
    queues: list[Row]
    pfc: list[Row]
    pgs: list[Row]
    drops: list[Row]
    pools: list[Row]
    balance: Row


@dataclasses.dataclass(frozen=True)
class Operation:
    """One message of a flow: a line of flows.csv."""
    flow: str
    from_: str
    to: str
    bytes: int
    posted_ns: int
    first_tx_ns: int
    last_tx_ns: int
    done_ns: int
    fct_ns: int
    ideal_ns: int


class Series:
    """What `record` recorded. A column is a list of numbers, one for each time; None: not
    measured. Its name is that of the scenario: series["queue(s1.p3.3)"]; the unit is in `units`."""

    def __init__(self, lines: Iterable[list[str]]) -> None:
        rows = iter(lines)
        head = next(rows)
        self.units: dict[str, str] = {}
        names = []
        for text in head[1:]:
            name, _, unit = text.rpartition(" ")
            if unit not in ("bps", "bytes", "ns"):
                name, unit = text, ""
            names.append(name)
            self.units[name] = unit
        self.time_ns: list[int] = []
        self.columns: dict[str, list[float | None]] = {n: [] for n in names}
        for row in rows:
            self.time_ns.append(int(row[0]))
            for name, cell in zip(names, row[1:], strict=True):
                self.columns[name].append(float(cell) if cell else None)

    def __getitem__(self, name: str) -> list[float | None]:
        if name not in self.columns:
            raise KeyError(f"no series {name}; there are: {', '.join(self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        """Of times."""
        return len(self.time_ns)

    def between(self, name: str, start_ns: float, end_ns: float) -> list[float]:
        """The values that were measured from start to end."""
        return [v for t, v in zip(self.time_ns, self[name])
                if start_ns <= t <= end_ns and v is not None]


def _of(cls: type[T], row: Row) -> T:
    """A row as a dataclass. Keys that this version does not know are only in Result.report."""
    fields = dataclasses.fields(cls)
    known = {f.name: row[f.name] for f in fields if f.name in row}
    missing = [f.name for f in fields
               if f.name not in row and f.default is dataclasses.MISSING]
    if missing:
        raise LabError(f"the report has no {', '.join(missing)}; are weir-lab and this package of "
                       "the same version?", FAILED)
    return cls(**known)


class Result:
    """One run. `report` is report.json as it is; everything else is made from it."""

    def __init__(self, report: Row, folder: str, keep: object = None) -> None:
        self.report, self.folder, self._keep = report, folder, keep
        self.scenario: str = report["scenario"]
        self.seed: int = report["seed"]
        self.params: dict[str, str] = report["params"]
        self.passed: bool = report["passed"]
        self.complete: bool = report["complete"] # False: a signal ended the run
        self.done: bool = report["done"] # all flows that end have ended
        self.balanced: bool = report["balanced"]
        self.end_ns: int = report["end_ns"]
        self.lossless_drops: int = report["lossless_drops"]
        self.warnings: list[str] = report["warnings"]
        self.expectations = [_of(Expectation, r) for r in report["expectations"]]
        self.metrics = {r["metric"]: _of(Metric, r) for r in report["metrics"]}
        self.hosts = {r["name"]: _of(Host, r) for r in report["hosts"]}
        self.switches = {r["name"]: _of(SwitchReport, r) for r in report["switches"]}
        self.flows = {r["name"]: _of(Flow, {**r, "fct_ns": _of(Quantiles, r["fct_ns"]),
                                            "slowdown": _of(Quantiles, r["slowdown"])})
                      for r in report["flows"]}

    def __repr__(self) -> str:
        held = sum(e.passed for e in self.expectations)
        return (f"<{self.scenario}, seed {self.seed}: {'passed' if self.passed else 'failed'}, "
                f"{held} of {len(self.expectations)} expectations hold>")

    def failures(self) -> list[str]:
        """Why the run did not pass, a line for each reason."""
        lines = [str(e) for e in self.expectations if not e.passed]
        for bad, text in ((not self.complete, "the run was broken off"),
                          (not self.balanced, "a frame is not accounted for"),
                          (self.report["until_done"] and not self.done, "flows are not done")):
            lines += [text] * bad
        if not self.passed and not lines:
            lines = [f"{self.lossless_drops} lossless drops, {self.report['wrong_cnps']} wrong "
                     f"CNPs, {self.report['packet_hops']} packet-hops"]
        return lines

    def check(self) -> "Result":
        """ExpectationsFailed unless the run passed. Returns the result."""
        if not self.passed:
            raise ExpectationsFailed("\n".join([repr(self), *self.failures()]))
        return self

    @property
    def series(self) -> Series:
        with open(os.path.join(self.folder, "series.csv"), newline="", encoding="utf-8") as f:
            return Series(csv.reader(f))

    @property
    def operations(self) -> list[Operation]:
        with open(os.path.join(self.folder, "flows.csv"), newline="", encoding="utf-8") as f:
            return [Operation(r["flow"], r["from"], r["to"],
                              *(int(r[k]) for k in ("bytes", "posted_ns", "first_tx_ns",
                                                    "last_tx_ns", "done_ns", "fct_ns",
                                                    "ideal_ns")))
                    for r in csv.DictReader(f)]


def _yaml(value: object) -> str:
    """JSON is YAML, too, but for what JSON escapes twice, or YAML takes for the end of a line."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[^ -~]", lambda m: f"\\U{ord(m[0]):08x}", text)


def _text(value: object) -> str:
    """A value as the scenario file writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "~" if value is None else str(value)


def run(scenario: Scenario, *, params: Mapping[str, object] | None = None,
        seed: int | None = None, until: str | None = None,
        settings: Mapping[str, object] | None = None, metrics: Iterable[str] = (),
        out: str | os.PathLike[str] | None = None, timeout: float | None = None) -> Result:
    """Runs one scenario: a file, the name of a bundled one (`weir-lab list`), or its keys as a
    mapping, whose relative paths are seen from the current folder.

    params: of the scenario. until: the virtual time of the end ("20ms", in place of `duration`), or
    "done". settings: as `--set KEY=VALUE`, such as {"policy.switch.buffer.size": "4MB"}. metrics:
    expressions to evaluate. out: where the report goes; else into a folder that goes with the
    result. timeout: in real seconds.

    A run whose expectations fail is a result that did not pass. LabError: there is no run, and the
    text is the message of weir-lab."""
    keep = None
    if out is None:
        keep = tempfile.TemporaryDirectory(prefix="weir-lab-")
        out = keep.name
    sets = {**{f"params.{k}": v for k, v in (params or {}).items()}, **(settings or {})}
    if until is not None:
        sets["until" if until == "done" else "duration"] = until
    words = [f"--set={k}={_text(v)}" for k, v in sets.items()]
    words += [f"--seed={seed}"] if seed is not None else []
    words += [f"--metric={m}" for m in metrics]
    with contextlib.ExitStack() as stack:
        if isinstance(scenario, Mapping):
            f = stack.enter_context(tempfile.NamedTemporaryFile(
                "w", suffix=".yaml", prefix=".weir-", dir=os.curdir))
            f.write(_yaml(scenario))
            f.flush()
            scenario = f.name
        report = _run([find("weir-lab"), "run", os.fspath(scenario), "--json", "--quiet",
                       f"--out={os.fspath(out)}", *words], timeout)
    return Result(report, os.fspath(out), keep)


def _run(command: list[str], timeout: float | None) -> Row:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise LabError(f"weir-lab did not end within {timeout:g} s", FAILED) from None
    message = done.stderr.strip()
    if done.returncode not in (PASSED, FAILED):
        raise LabError(message or f"weir-lab ended with status {done.returncode}",
                       done.returncode)
    try:
        report: Row = json.loads(done.stdout)
    except ValueError:
        raise LabError(message or "weir-lab printed no report", done.returncode) from None
    if report["passed"] != (done.returncode == PASSED):
        raise LabError(message or "the report could not be written", done.returncode)
    return report
