# SPDX-License-Identifier: Apache-2.0
"""RFC 2544 through two net_memif ports of a device: throughput, latency, loss and back-to-back.

The device is weir, testpmd io or Open vSwitch. weir-generator is the tester, in a process of its
own. Each has one core. The searches are functions of `trial`, so that a test can give them a device
that it has made up.
"""
import contextlib
import glob
import json
import os
import statistics
import subprocess
import time

import peers
from tools import ROOT, Failed, Program, run, say
from world import switch_name

SIZES = ["64", "128", "256", "512", "1024", "1280", "1518", "imix"] # bytes with FCS
QUICK_SIZES = ["64", "1518", "imix"]
IMIX_BYTES = (7 * 64 + 4 * 594 + 1518) / 12
LINE_OVERHEAD = 20 # bytes of preamble and gap a frame has on a line
SECONDS, QUICK_SECONDS = 0.2, 0.05 # of a trial
TRIALS = 3
STEPS = 7 # bisections: the result is exact to 1/128 of the rate at the start
AGAIN = 2 # more tries of a trial whose loss recorded gaps explain
LATENCY_LOADS = [10, 50, 90] # per cent of the throughput
CURVE_LOADS = [120, 110, 100, 90, 80, 70, 60, 50, 40, 30, 20, 10] # per cent of the flood's rate
OFFERED_SHARE = 0.98 # of the load that was asked for, else the generator is the limit
ABOVE_FLOOD = 1.5 # a device that is flooded forwards less than one that is not
FIRST_BURST = 64

POLICY = os.path.join(ROOT, "conf", "pktgen", "memif.yaml")


# ---- devices under test

def memif(sockets, role):
    """Two ports, each with an abstract socket of its own. A policy has no room for a long path."""
    return [f"net_memif{i},role={role},socket={name}" for i, name in enumerate(sockets)]


def listening(sockets):
    with open("/proc/net/unix") as f:
        names = {line.split()[-1] for line in f}
    return all(f"@{name}" in names for name in sockets)


class Device:
    """A device under test: a program that forwards between the ports, and the thread that does."""

    threads = ["lcore-worker-1", "rte-worker-1"]
    tx_queues = 1

    def __init__(self, folder, build, cpus):
        self.folder, self.build, self.cpus = folder, build, cpus
        self.sockets = [f"{switch_name()}-{i}" for i in (0, 1)]
        self.ports = memif(self.sockets, "server")

    def missing(self):
        return None

    def thread(self):
        for path in glob.glob(f"/proc/{self.program.p.pid}/task/*/comm"):
            with open(path) as f:
                if f.read().strip().startswith(tuple(self.threads)):
                    return os.path.dirname(path)
        return None

    def wait(self):
        """Until the ports and the thread are there."""
        self.program.wait_for(lambda: listening(self.sockets), f"the ports of {self.name}")
        self.program.wait_for(lambda: self.thread() is not None, f"the worker of {self.name}")
        self.task = self.thread()

    def waited_ns(self):
        """How long the thread has waited for its core, in all."""
        with open(f"{self.task}/schedstat") as f:
            return int(f.read().split()[1])

    def clear_gap(self):
        """Only weir knows its own longest gap."""

    def longest_gap_ns(self):
        return None


class Weir(Device):
    name = "weir"

    def __init__(self, folder, build, cpus, more=""):
        super().__init__(folder, build, cpus)
        self.switch, self.more = switch_name(), more

    def ctl(self, *args):
        return run(os.path.join(self.build, "control", "ctl", "weirctl"), "-s", self.switch,
                   *args).stdout

    @contextlib.contextmanager
    def running(self):
        with open(POLICY) as f:
            text = f.read()
        for old, new in (("name: pktgen", f"name: {self.switch}"),
                         ("workers: [0]", f"workers: [{self.cpus[0]}]"),
                         ("socket=weir-pktgen-", f"socket={self.switch}-")):
            text = text.replace(old, new)
        path = f"{self.folder}/policy.yaml"
        with open(path, "w") as f:
            f.write(text + self.more)
        weir = os.path.join(self.build, "control", "daemon", "weir")
        with Program(f"{self.folder}/weir.log", [weir, "--allow-vdev", "-c", path]) as self.program:
            self.program.wait_for(lambda: "ready" in self.program.said().splitlines(),
                                  "the start of weir")
            self.wait()
            yield self

    def clear_gap(self):
        self.ctl("clear", "watermarks")

    def longest_gap_ns(self):
        return json.loads(self.ctl("show", "workers", "--json"))["workers"][0]["gap_max_ns"]


class Testpmd(Device):
    name = "io"

    def missing(self):
        return peers.testpmd_missing()

    @contextlib.contextmanager
    def running(self):
        command = peers.testpmd_command("io", self.ports, self.cpus)
        with Program(f"{self.folder}/testpmd.log", command) as self.program:
            self.program.wait_for("testpmd> ", "the start of testpmd")
            self.wait()
            yield self


class Ovs(Device):
    name, threads = "ovs", ["pmd-c"]
    tx_queues = 2 # Open vSwitch keeps the first one for threads that do not poll

    def missing(self):
        return peers.ovs_missing()

    @contextlib.contextmanager
    def running(self):
        it = peers.Ovs(self.folder, self.ports, self.cpus)
        with it.database() as db:
            db.wait_for(lambda: os.path.exists(f"{self.folder}/db.sock"),
                        "the start of ovsdb-server")
            it.configure()
            with it.switch() as self.program:
                self.wait()
                yield self


DEVICES = [Weir, Testpmd, Ovs]


def generator_path(build):
    """The generator of the build directory; of this checkout, if an older build has none."""
    for folder in (build, os.path.join(ROOT, "build")):
        path = os.path.join(folder, "tests", "perf", "weir-generator")
        if os.access(path, os.X_OK):
            return path
    raise Failed(f"{path} is missing; run scripts/setup")


class Generator:
    """weir-generator, connected to a device."""

    def __init__(self, device, cpu):
        path = generator_path(device.build)
        ports = memif(device.sockets, "client")
        self.device, self.log = device, f"{device.folder}/generator.log"
        self.command = [path, "--cpu", str(cpu), "--device", ports[0], "--device", ports[1],
                        "--rx-queues", str(device.tx_queues)]

    def __enter__(self):
        with open(self.log, "w") as log:
            self.p = subprocess.Popen(self.command, stdin=subprocess.PIPE, stderr=log,
                                      stdout=subprocess.PIPE, text=True)
        while (line := self.p.stdout.readline()) != "ready\n":
            if not line:
                self.p.wait()
                with open(self.log) as f:
                    raise Failed(f.read().strip().splitlines()[-1])
        return self

    def __exit__(self, *exc):
        self.p.stdin.close()
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.p.stdout.close()

    def trial(self, size, rate, frames, seconds):
        """One trial. rate: frames a second, `flood` or `wait`. The line is read from a pipe: a
        program that looks at a file again and again would take a core from the trial."""
        before = self.device.waited_ns()
        self.p.stdin.write(f"{size} {rate} {frames} {int(seconds * 1e6)}\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            raise Failed(f"weir-generator ended in a trial of {size} B at {rate}")
        found = json.loads(line)
        if found["received"] - found["duplicates"] + found["lost"] != found["offered"]:
            raise Failed(f"weir-generator lost count: {line}")
        found["device_waited_ns"] = self.device.waited_ns() - before
        return found


# ---- what a trial says

def loss_percent(trial):
    return 100 * trial["lost"] / trial["offered"] if trial["offered"] else 100


def offered_fps(trial):
    """Without the time in which the generator had no core."""
    return trial["offered"] * 1e9 / max(trial["ns"] - trial["gap_ns"], 1)


def received_fps(trial):
    return trial["received"] * 1e9 / max(trial["ns"] - trial["gap_ns"], 1)


def beside_gaps(trial):
    """Whether the recorded gaps can be the cause of the loss: no more frames are lost than were due
    while the generator or the device had no core."""
    gap_ns = trial["gap_ns"] + trial["device_waited_ns"]
    return 0 < trial["lost"] <= offered_fps(trial) * gap_ns / 1e9


def undisturbed(trial, limit, again=AGAIN):
    """The first of a few tries that loses no more than the limit, or loses more than gaps explain;
    else the last. trial: a function without arguments."""
    for _ in range(again + 1):
        found = trial()
        if loss_percent(found) <= limit or not beside_gaps(found):
            break
    return found


# ---- the searches. trial(rate) and burst(frames) make one trial

def throughput(trial, most, limit):
    """The fastest trial that loses no more than the limit, by bisection below `most`, and whether
    the generator could offer no more. None: every trial lost more."""
    best, low, high = None, 0, most
    rate = most
    for _ in range(STEPS + 1):
        found = undisturbed(lambda: trial(rate), limit)
        if loss_percent(found) > limit:
            high = rate
        else:
            best, low = found, rate
            if offered_fps(found) < OFFERED_SHARE * rate:
                return best, True
        rate = (low + high) / 2
    return best, False


def back_to_back(burst, most):
    """The longest burst without loss, exact to a sixteenth; `most` if that has none. 0: a burst of
    the least length loses frames."""
    good, bad = 0, FIRST_BURST
    while bad < most and undisturbed(lambda: burst(bad), 0)["lost"] == 0:
        good, bad = bad, min(2 * bad, most)
    if bad >= most:
        if undisturbed(lambda: burst(most), 0)["lost"] == 0:
            return most
        bad = most
    while good and bad - good > max(good // 16, 1):
        middle = (good + bad) // 2
        if undisturbed(lambda: burst(middle), 0)["lost"] == 0:
            good = middle
        else:
            bad = middle
    return good


def loss_curve(trial, most):
    """Loss in per cent by load in per cent of `most`; ends after two loads without loss. A load
    that the generator cannot offer has no value."""
    found, without = {}, 0
    for load in CURVE_LOADS:
        rate = most * load / 100
        it = undisturbed(lambda: trial(rate), 0)
        if offered_fps(it) < OFFERED_SHARE * rate:
            continue
        found[load] = loss_percent(it)
        without = without + 1 if it["lost"] == 0 else 0
        if without == 2:
            break
    return found


# ---- one device, one size

class Counted:
    """Counts what the trials of a row lost, and the gaps beside."""

    def __init__(self, generator, size, seconds):
        self.generator, self.size, self.seconds, self.all = generator, size, seconds, []

    def keep(self, found):
        self.all.append(found)
        return found

    def rate(self, rate):
        return self.keep(self.generator.trial(self.size, f"{rate:.0f}", 0, self.seconds))

    def flood(self):
        return self.keep(self.generator.trial(self.size, "flood", 0, self.seconds))

    def burst(self, frames):
        return self.keep(self.generator.trial(self.size, "flood", int(frames), self.seconds))

    def figures(self):
        lossy = [t for t in self.all if t["lost"]]
        return {"n_trials": len(self.all), "lossy": len(lossy),
                "lost": sum(t["lost"] for t in lossy),
                "lost_beside_gaps": sum(t["lost"] for t in lossy if beside_gaps(t)),
                "generator_gaps": sum(t["gaps"] for t in self.all),
                "generator_gap_max_us": max(t["gap_max_ns"] for t in self.all) / 1000,
                "device_waited_us": sum(t["device_waited_ns"] for t in self.all) / 1000,
                "pauses": sum(t["pauses"] for t in self.all) or None,
                "reordered": sum(t["reordered"] for t in self.all),
                "duplicates": sum(t["duplicates"] for t in self.all)}


def once(counted, limit):
    """All tests of one size, once."""
    flood = counted.flood()
    most = received_fps(flood)
    if not flood["received"]:
        raise Failed("no frame came through the device")
    best, generator_is_limit = throughput(counted.rate, ABOVE_FLOOD * most, limit)
    fps = received_fps(best) if best else 0
    found = {"flood": most, "flood_offered": offered_fps(flood), "fps": fps,
             "generator_is_limit": generator_is_limit,
             "burst": back_to_back(counted.burst, int(most * counted.seconds)),
             "curve": loss_curve(counted.rate, most)}
    found["latency"] = {load: undisturbed(lambda: counted.rate(fps * load / 100), limit)
                        .get("latency_ns") for load in LATENCY_LOADS} if fps else {}
    return found


def spread(runs, key):
    values = [it[key] for it in runs]
    return statistics.median(values), min(values), max(values)


def row_of(size, device, runs, counted, gap_ns):
    wire = LINE_OVERHEAD + (IMIX_BYTES if size == "imix" else int(size))
    fps, low, high = spread(runs, "fps")
    burst, burst_low, burst_high = spread(runs, "burst")
    row = {"kind": "rfc2544", "key": f"rfc2544/{size}/{device}", "name": f"{size}/{device}",
           "size": size, "device": device,
           "fps": fps, "mpps": fps / 1e6, "mpps_low": low / 1e6, "mpps_high": high / 1e6,
           "gbps": fps * wire * 8 / 1e9, "flood_mpps": spread(runs, "flood")[0] / 1e6,
           "limit_is": "generator" if all(it["generator_is_limit"] for it in runs) else "device",
           "burst": burst, "burst_low": burst_low, "burst_high": burst_high,
           "longest_gap_us": gap_ns / 1000 if gap_ns is not None else None,
           **counted.figures(), "runs": runs}
    for load in LATENCY_LOADS:
        for what in ("p50", "p99"):
            values = [it["latency"][load][what] for it in runs if it["latency"].get(load)]
            if values:
                row[f"{what}_{load}_us"] = statistics.median(values) / 1000
    for load in CURVE_LOADS:
        values = [it["curve"][load] for it in runs if load in it["curve"]]
        if values:
            row[f"loss_{load}"] = statistics.median(values)
    return row


class Rfc2544:
    """A job of scripts/bench: one size through one device."""

    def __init__(self, size, device):
        self.size, self.device = size, device
        self.name, self.quick = f"rfc2544/{size}/{device.name}", size in QUICK_SIZES

    def measure(self, ctx):
        folder = os.path.join(ctx.folder, self.name.replace("/", "-"))
        device = self.device(folder, ctx.build, ctx.bench.cpus)
        if ctx.skip(device.missing()):
            return []
        os.makedirs(folder)
        runs = []
        with device.running(), Generator(device, ctx.bench.cpus[-1]) as generator:
            counted = Counted(generator, self.size, ctx.seconds)
            device.clear_gap()
            for i in range(ctx.trials):
                began = time.monotonic()
                runs.append(once(counted, ctx.loss))
                say(f"bench:   trial {i + 1}/{ctx.trials}: {runs[-1]['fps'] / 1e6:.2f} Mpps "
                    f"({time.monotonic() - began:.0f} s)")
            gap_ns = device.longest_gap_ns()
        return [row_of(self.size, self.device.name, runs, counted, gap_ns)]


JOBS = [Rfc2544(size, device) for size in SIZES for device in DEVICES]


def complete(rows):
    """Puts the peers' figures beside those of weir. Only weir's rows have `trend`, by which an
    earlier run is compared: the flood's rate. The throughput without loss hangs on single gaps."""
    by_key = {row["key"]: row for row in rows}
    for row in rows:
        if row["kind"] != "rfc2544" or row["device"] != Weir.name:
            continue
        row["trend"] = row["flood_mpps"]
        for peer in ("io", "ovs"):
            if other := by_key.get(f"rfc2544/{row['size']}/{peer}"):
                row[peer] = other["flood_mpps"]
                row[f"flood_ratio_{peer}"] = row["flood_mpps"] / other["flood_mpps"]
                row[f"ratio_{peer}"] = row["fps"] / other["fps"] if other["fps"] else None
