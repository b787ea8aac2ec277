#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that stand still, live: the stand-in pauses the peers, no lossless frame is lost, and
events say so. SIGSTOP stops the whole switch; ptrace stops one of two workers. tshark judges the
PFC frames of the stand-in.

usage: test_stall.py BUILD_DIR [TEST...]
       WEIR_HEALTHY_S: seconds of the healthy run, 10 unless set
"""
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

SPEED = "80M"
AGE_MS = 10
POLICY = """\
switch: {name: %s, workers: 2, buffer: {size: 12MB}, stall: {pause_after: %s}}
ports: [{name: "p[1-4]", device: "xdp:sw[1-4]", speed: %s, mtu: 1500, profile: roce}]
profiles:
  roce:
    classes:
      3: {lossless: true, ingress: {alpha: 1}}
"""
# Two flows: p1 to p3 is worker 0's alone, p2 to p4 worker 1's.
FLOWS = ((1, 3), (2, 4))
# More may be under way than a receive ring holds: no window keeps frames from being lost.
OPEN_LOOP = ("--size", "1MB", "--depth", "32", "--window", "16384")
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
FRAMES = 300 # that tshark reads
WALL = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ptrace(request, tid):
    LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if LIBC.ptrace(request, tid, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace {request:#x} of {tid}: {os.strerror(error)}")


def child_named(pid, name):
    """The process id of weir inside nsenter is weir's own; its stand-in is its only child."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        for child in map(int, f.read().split()):
            with open(f"/proc/{child}/comm") as comm:
                if comm.read().strip() == name:
                    return child
    return None


def worker_threads(pid):
    """Thread ids of the workers, in their order."""
    names = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as f:
            names[f.read().strip()] = int(tid)
    return [tid for name, tid in sorted(names.items()) if "worker" in name]


class Bench:
    """The switch, two flows through it, and what both say."""

    def __init__(self, world, pause_after=f"{AGE_MS}ms"):
        self.world = world
        self.switch = Switch(world, PROGRAMS, switch_name(),
                             POLICY % (switch_name(), pause_after, SPEED))
        self.pid = self.switch.process.p.pid
        self.hosts, self.senders = [], []

    def flows(self, seconds=600):
        """They end after so long, or when finish() says so."""
        for src, dst in FLOWS:
            self.hosts.append(Host(self.world, PROGRAMS, dst, f"listener{dst}", "--listen",
                                   "--speed", SPEED).ready())
        for src, dst in FLOWS:
            self.senders.append(Host(self.world, PROGRAMS, src, f"sender{src}", "--to",
                                     f"10.0.0.{dst}", "--time", f"{seconds}s", "--class", "3",
                                     "--rate", "40M", "--speed", SPEED, "--qps", "1", "--rto",
                                     "20s", "--drain", "30s", *OPEN_LOOP))

    def events(self, name):
        return [e for e in self.switch.show("events")["events"] if e["event"] == name]

    def port(self, i):
        return pick(self.switch.show("ports")["ports"], name=f"p{i}")

    def pauses_of(self, *ports):
        """PFC frames that the worker itself has sent."""
        return sum(row["tx_pause"] for row in self.switch.show("pfc")["pfc"]
                   if row["port"] in {f"p{i}" for i in ports})

    def worker(self, i):
        return pick(self.switch.show("workers")["workers"], worker=i)

    def flowing(self):
        """Flows that have begun."""
        self.flows()
        eventually(lambda: all(self.port(dst)["tx_packets"] > 500 for _, dst in FLOWS),
                   "frames of both flows")

    def stopped(self, seconds=3):
        """The whole switch stands still for a while; how long at least, and since when."""
        since = time.monotonic()
        os.kill(self.pid, signal.SIGSTOP)
        began = time.monotonic()
        time.sleep(seconds)
        at_least = time.monotonic() - began
        os.kill(self.pid, signal.SIGCONT)
        return at_least, since

    def finish(self):
        """Sends no more; the senders' reports once all has arrived."""
        for s in self.senders:
            if s.process.running():
                s.process.p.send_signal(signal.SIGTERM)
        return self.ended(60)

    def ended(self, seconds):
        for s in self.senders:
            status = s.process.wait(seconds)
            want(status == 0, f"{s.name} ended with {status}\n{s.process.said()}")
        return [s.report() for s in self.senders]

    def nothing_lost(self, reports):
        for r in reports:
            want(r["retransmissions"] == 0 and r["naks_received"] == 0,
                 f"{r['retransmissions']} frames sent again, {r['naks_received']} NAKs")
        missed = {p["name"]: p["rx_missed"] for p in self.switch.show("ports")["ports"]}
        want(not any(missed.values()), f"frames that receive rings lost: {missed}")
        drops = [d for d in self.switch.show("drops")["drops"] if d["lossless"]]
        want(sum(d["packets"] for d in drops) == 0, f"lossless drops: {drops}")

    def end(self):
        for h in self.hosts:
            h.process.stop()
        want(self.switch.stop() == 0, f"the balance\n{self.switch.process.said()}")


@contextlib.contextmanager
def bench(tapped=False, **kw):
    with World(4, tapped=tapped) as world:
        yield Bench(world, **kw)


# ---- tests

def nothing_is_lost_while_the_whole_switch_is_stopped():
    with bench() as b:
        b.flowing()
        least, since = b.stopped()
        eventually(lambda: {e["worker"] for e in b.events("worker-recovered")} == {0, 1},
                   "both workers recover")
        most = time.monotonic() - since
        b.nothing_lost(b.finish())
        for w in (0, 1):
            told = [e for e in b.events("worker-recovered") if e["worker"] == w]
            longest = max((e["stood_still_us"] for e in told), default=0)
            want(least - 0.1 < longest / 1e6 < most, f"worker {w}, {least}..{most} s: {told}")
            want([e for e in b.events("worker-stalled") if e["worker"] == w], "and stalled before")
            row = b.worker(w)
            want(row["stalls"] > 0 and row["stalled_ns"] / 1e9 > least - 0.1 and
                 row["stand_ins"] > 0,
                 f"the worker's row: {row}")
        for i in (1, 2, 3, 4):
            p = b.port(i)
            want(p["pfc_standin_sent"] > 500 * least, f"a frame each millisecond: {p}")
            want(p["when_stalled"] == "PAUSE", f"{p['when_stalled']}")
        paused = b.events("stand-in-paused")
        want(1 <= len(paused) <= 2, f"at most an event for each worker in a minute: {paused}")
        # On a busy machine the stand-in may send between the two.
        eventually(lambda: b.switch.show("pfc")["stand_in"]["frames"] ==
                   sum(p["pfc_standin_sent"] for p in b.switch.show("ports")["ports"]),
                   "`show pfc` has the sum of the ports")
        b.end()


def frames_are_lost_without_the_stand_in():
    """What the others are green for: the same flows, and nobody who pauses."""
    with bench(pause_after="off") as b:
        b.flowing()
        b.stopped()
        b.finish()
        missed = sum(p["rx_missed"] for p in b.switch.show("ports")["ports"])
        want(missed > 1000, f"{missed} frames lost")
        want(b.port(1)["when_stalled"] == "no PAUSE: off" and
             b.port(1)["pfc_standin_sent"] == 0, "it is off")
        eventually(lambda: b.events("worker-recovered"), "the alarm does not need the stand-in")
        b.end()


def one_worker_stands_still_and_the_other_goes_on():
    with bench() as b:
        b.flowing()
        tid = worker_threads(b.pid)[0]
        before = b.port(4)["tx_packets"]
        since = time.monotonic()
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        began = time.monotonic()
        try:
            eventually(lambda: b.port(4)["tx_packets"] - before > 3000 and
                       b.port(1)["pfc_standin_sent"] > 1500, "the other worker and the stand-in")
            stalled = [e for e in b.events("worker-stalled") if e["worker"] == 0]
            eventually(lambda: b.worker(0)["loops_per_s"] == 0, "worker 0 stands still")
            least = time.monotonic() - began
        finally:
            ptrace(PTRACE_DETACH, tid)
        want(stalled and stalled[-1]["ports"] == ["p1", "p3"], f"told while it lasts: {stalled}")
        eventually(lambda: any(e["worker"] == 0 for e in b.events("worker-recovered")), "recovery")
        most = time.monotonic() - since
        recovered = [e for e in b.events("worker-recovered") if e["worker"] == 0]
        want(any(least - 0.1 < e["stood_still_us"] / 1e6 < most for e in recovered),
             f"{least}..{most} s: {recovered}")
        b.nothing_lost(b.finish())
        b.end()


def a_reload_beside_it_pauses_the_other_ports_for_a_second_only():
    """The pause before a change ends though the worker never takes the change over."""
    with bench() as b:
        def pauses_in(seconds):
            before = b.pauses_of(2, 4)
            time.sleep(seconds)
            return b.pauses_of(2, 4) - before
        b.flowing()
        tid = worker_threads(b.pid)[0]
        with open(b.switch.path) as f:
            text = f.read()
        with open(b.switch.path, "w") as f:
            f.write(text.replace("      3: {", "      4: {lossless: true}\n      3: {"))
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        try:
            reload = subprocess.Popen([PROGRAMS.weirctl, "-s", b.switch.name, "reload"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            eventually(lambda: b.pauses_of(2, 4) > 0, "the other worker pauses")
            # Without an end to it there are some in each second.
            eventually(lambda: pauses_in(1) == 0, "it ends", 15)
        finally:
            ptrace(PTRACE_DETACH, tid)
        reload.wait()
        b.finish()
        b.end()


def it_pauses_only_beside_a_gap_of_the_loop():
    seconds = int(os.environ.get("WEIR_HEALTHY_S", "10"))
    with bench() as b:
        b.flows(seconds)
        reports = b.ended(seconds + 60)
        rows = [b.worker(w) for w in (0, 1)]
        for row in rows:
            want(row["stand_ins"] <= row["stand_in_gaps"],
                 f"{row['stand_ins']} times for {row['stand_in_gaps']} gaps of {AGE_MS} ms")
            if row["gap_max_ns"] < AGE_MS * 1e6:
                want(row["stand_ins"] == 0, f"without a gap: {row}")
        sent = sum(p["pfc_standin_sent"] for p in b.switch.show("ports")["ports"])
        print(f"        {seconds} s: {sent} frames of the stand-in, longest gap "
              f"{max(r['gap_max_ns'] for r in rows) / 1e6:.1f} ms, gaps of {AGE_MS} ms: "
              f"{sum(r['stand_in_gaps'] for r in rows)}", flush=True)
        b.nothing_lost(reports)
        b.end()


def tshark_reads_its_frames():
    with bench(tapped=True) as b:
        path = os.path.join(b.world.logs, "pfc.pcap")
        os.kill(b.pid, signal.SIGSTOP)
        time.sleep(0.2)
        dump = b.world.spawn("tap", "tcpdump", "tcpdump", "-i", "t1", "-w", path, "-U", "-Z",
                             "root")
        eventually(lambda: os.path.exists(path) and os.path.getsize(path) > FRAMES * 76, "PFC")
        dump.stop()
        os.kill(b.pid, signal.SIGCONT)
        fields = ["eth.dst", "eth.src", "frame.len", "macc.opcode", "macc.cbfc.enbv",
                  "macc.cbfc.pause_time.c3", "_ws.malformed"]
        words = [w for f in fields for w in ("-e", f)]
        out = subprocess.run(["tshark", "-r", path, "-T", "fields", *words], check=True, text=True,
                             capture_output=True, timeout=60).stdout
        rows = [line.split("\t") for line in out.splitlines()]
        want(len(rows) >= FRAMES, f"{len(rows)} frames")
        mac = json.loads(b.world.run("sw", "ip", "-j", "link", "show", "sw1").stdout)[0]["address"]
        for dst, src, length, opcode, vector, quanta, malformed in rows:
            want(dst == "01:80:c2:00:00:01" and src == mac and length == "60", f"{dst} {src}")
            want(int(opcode, 16) == 0x0101 and int(vector, 16) == 1 << 3 and not malformed,
                 f"{opcode} {vector} {malformed}")
            want(int(quanta) > 0, "it never says XON")
        b.end()


def it_ends_with_the_switch():
    with bench() as b:
        pid = child_named(b.pid, "weir-stand-in")
        want(pid is not None, "the stand-in is a child of the switch")
        with open(f"/proc/{pid}/status") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        want(int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0,
             f"it has no capability: {status['CapEff']}")
        want(status["NoNewPrivs"] == "1" and status["Uid"].split()[1] != "0", f"{status['Uid']}")
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        foreign = [x for x in links if x != "/dev/null" and not x.startswith(("socket:", "pipe:"))]
        want(len(links) == 5 and not foreign, f"its files: {links}")
        os.kill(b.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(b.pid, signal.SIGKILL)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), "the stand-in is gone")
    with bench() as b:
        pid = child_named(b.pid, "weir-stand-in")
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: b.events("stand-in-ended"), "its end is told")
        want(b.port(1)["when_stalled"] == "no PAUSE: no stand-in", f"{b.port(1)}")
        b.end()


TESTS = [nothing_is_lost_while_the_whole_switch_is_stopped, frames_are_lost_without_the_stand_in,
         one_worker_stands_still_and_the_other_goes_on,
         a_reload_beside_it_pauses_the_other_ports_for_a_second_only,
         it_pauses_only_beside_a_gap_of_the_loop, tshark_reads_its_frames, it_ends_with_the_switch]

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    from switch import Host, Programs, Switch, pick
    from world import World, switch_name
    live.need_root("tshark", "tcpdump")
    PROGRAMS = Programs(sys.argv[1])
    sys.exit(live.run_tests(TESTS))
