# SPDX-License-Identifier: Apache-2.0
"""Mixed traffic through one switch whose policy changes every second. See `scripts/soak --help`.

    h1, h2 --40M--> h3     weir-host, classes 3 and 5: an incast, so PFC holds the senders
    h4 ----> h5            iperf3, TCP in class 1
    h5 ----> h4            numbered datagrams in class 2, which turns lossless and lossy
    h6                     a hostile neighbour, which may cost the others nothing (--hostile)

Nothing that is judged is a rate: a busy machine may be slow, it may not lose. At 40 Mb/s a receive
ring of 2,048 frames takes in what arrives while the machine stalls for 400 ms.
"""
import argparse
import json
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in (("scripts", "netlab"), ("tests", "soak")):
    sys.path.insert(0, os.path.join(ROOT, *folder))

import acts  # noqa: E402
from play import Play, sample  # noqa: E402
from policies import LIVE, REFUSED, text_of  # noqa: E402
from screen import Screen  # noqa: E402
from switch import Host, Programs, Switch  # noqa: E402
from table import count  # noqa: E402
from world import Failed, World, run, switch_name  # noqa: E402

HOSTILE = os.path.join(ROOT, "tests", "soak", "hostile.py")
HOSTILE_HOST, HOSTILE_PORT = "h6", "p6"
FLOW = os.path.join(ROOT, "tests", "smoke", "reload", "flow.py")
SKIPPED = 77
DRAIN_S = 30
TELL_EVERY_S = 5
SIGHUP_EVERY, REFUSED_EVERY = 4, 9  # reloads
PROTECTED = (3, 5)  # classes that are lossless in every policy
NUMBERED = (2,)  # turns lossless and lossy
GROWTH_KB = 1024
HOST_OPTIONS = ["--speed", "40M", "--rx-ring", "4096"]
TCP_PORT, FLOW_PORT = "5201", "9000"


def options():
    p = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Runs RoCEv2, TCP and UDP through one live switch on AF_XDP ports in network "
        "namespaces of its own, and reloads its policy every second; checks at the end that every "
        "frame is accounted for and none was lost where none may be. Needs root.")
    p.add_argument("--minutes", type=float, default=10, metavar="N", help="default 10")
    p.add_argument("--every", type=float, default=1, metavar="SECONDS",
                   help="time between two reloads (default 1)")
    p.add_argument("--hostile", type=int, default=5000, metavar="FRAMES",
                   help="what the hostile neighbour sends per second (default 5000; 0: nothing)")
    p.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    p.add_argument("--no-setup", action="store_true", help="the machine and build/ are ready")
    p.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"),
                   help="where the programs are built (default build/)")
    args = p.parse_args()
    if not 0 <= args.hostile <= 10**6:
        p.error("--hostile is from 0 to 1000000")
    if not 0.05 <= args.minutes <= 10000 or not 0.01 <= args.every <= 60:
        p.error("--minutes is from 0.05 to 10000, --every from 0.01 to 60")
    return args


# ---- traffic


class Kernel:
    """The two kernel hosts: TCP one way, numbered datagrams the other."""

    def __init__(self, world, seconds):
        self.world = world
        for i, other in ((4, 5), (5, 4)):
            world.run(f"h{i}", "ip", "addr", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
            world.run(f"h{i}", "ip", "neigh", "replace", f"10.0.0.{other}", "lladdr",
                      f"02:00:00:00:00:{other:02x}", "dev", f"e{i}", "nud", "permanent")
        self.server = world.spawn("h5", "iperf3-server", "iperf3", "-s", "-1", "-p", TCP_PORT,
                                  "--forceflush")
        self.wait_listening()
        self.receiver = self.flow("h4", "receive", FLOW_PORT)
        self.sender = self.flow("h5", "send", "10.0.0.4", FLOW_PORT, "0x40", "500", "500")
        # A window below what the receive ring of p4 holds.
        self.client = world.spawn("h4", "iperf3", "iperf3", "-J", "-c", "10.0.0.5", "-p", TCP_PORT,
                                  "-t", str(seconds), "-S", "0x20", "-w", "400K")

    def wait_listening(self):
        end = time.monotonic() + 10
        while "listening" not in self.server.out():
            if time.monotonic() > end:
                raise Failed(f"iperf3 does not listen\n{self.server.said()}")
            time.sleep(0.05)

    def flow(self, where, *args):
        p = self.world.spawn(where, f"flow-{args[0]}", "/usr/bin/python3", "-B", FLOW, *args)
        return p.wait_line("ready")

    def finish(self):
        """Bytes that TCP moved; datagrams sent, and what came of them."""
        self.client.wait(DRAIN_S)
        self.sender.stop()
        time.sleep(0.5)
        self.receiver.stop()
        try:
            tcp = json.loads(self.client.out())
            moved = tcp["end"]["sum_received"]["bytes"]
        except (ValueError, KeyError):
            raise Failed(f"iperf3 failed\n{self.client.said()}") from None
        return moved, int(self.sender.out().split()[-1]), json.loads(
            self.receiver.out().splitlines()[-1])


def start_senders(world, programs, seconds):
    return [Host(world, programs, i, f"sender{i}", "--to", "10.0.0.3", "--class", "3,5",
                 "--time", f"{seconds}s", "--rto", "10s", "--drain", f"{DRAIN_S}s", "--qps", "4",
                 "--depth", "4", "--size", "65536", *HOST_OPTIONS) for i in (1, 2)]


# ---- reloads


class Reloads:
    """One policy after the other; some by signal, some that must be refused."""

    def __init__(self, switch, programs):
        self.switch, self.programs = switch, programs
        self.taken = self.refused = self.signals = self.live = 0
        self.wrong = []

    def write(self, changes):
        with open(self.switch.path, "w") as f:
            f.write(text_of(self.switch.name, changes))

    def ctl(self):
        return run(self.programs.weirctl, "-s", self.switch.name, "reload", self.switch.path,
                   check=False)

    def step(self, n):
        if n % REFUSED_EVERY == REFUSED_EVERY - 1:
            self.bad(*REFUSED[self.refused % len(REFUSED)])
        else:
            self.good(LIVE[self.live % len(LIVE)], n % SIGHUP_EVERY == SIGHUP_EVERY - 1)

    def bad(self, changes, why):
        self.write(changes)
        done = self.ctl()
        self.refused += 1
        if done.returncode != 2 or why not in done.stderr:
            self.wrong.append(f"{changes}: not refused as \"{why}\": {done.stdout}{done.stderr}")

    def good(self, changes, by_signal):
        self.write(changes)
        self.live += 1
        if by_signal:
            self.signals += 1
            self.switch.process.p.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        # After the signal there is nothing left to change, and the command waits for it.
        done = self.ctl()
        self.taken += 1
        if done.returncode != 0:
            self.wrong.append(f"{changes}: refused: {done.stderr}")


# ---- checks: each returns (holds, figures)


def rss_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def drops_in(final, classes):
    """Of all ports but the hostile one, which may lose what it sends."""
    return sum(d["packets"] for d in final["drops"]
               if d["class"] in classes and d["port"] != HOSTILE_PORT)


def rings_held(r):
    """Of all ports but the hostile one: a neighbour that sends faster than a busy machine forwards
    runs over a ring of its own."""
    rows = [*r.senders, r.receiver, *(p for p in r.final["ports"] if p["name"] != HOSTILE_PORT)]
    n = sum(row["rx_missed"] + row["tx_errors"] for row in rows)
    others = sum(p["rx_missed"] for p in r.final["ports"] if p["name"] == HOSTILE_PORT)
    return n == 0, f"{count(n)} frames; {count(others)} of the hostile neighbour"


def reloads_right(r):
    n = r.reloads
    return (not n.wrong and n.taken > 0,
            f"{count(n.taken)} taken, {count(n.signals)} of them by SIGHUP, {count(n.refused)} "
            "refused" + "".join(f"\n      {w}" for w in n.wrong[:5]))


def nothing_dropped(r):
    n = drops_in(r.final, PROTECTED)
    others = r.drops() - n
    return n == 0, f"{count(n)} drops; {count(others)} in the other classes"


def all_arrived(r):
    """Frames of other kinds are not counted: answers to ARP, and PFC of a reload."""
    sent, again = r.total("packets_sent"), r.total("retransmissions")
    got = r.receiver["packets_received"]
    return (sent == got and again == 0,
            f"{count(sent)} sent, {count(again)} again, {count(got)} arrived")


def hostile_was_there(r):
    if r.hostile is None:
        return True, "none"
    return (all(r.hostile.values()),
            f"{count(sum(r.hostile.values()))} frames of {len(r.hostile)} kinds")


def no_alarm(r):
    """A drop while the class is lossless, or a receive ring that ran over, is an alarm."""
    return not r.alarms, f"{len(r.alarms)} in the log" + "".join(f"\n      {a}"
                                                                 for a in r.alarms[:5])


def pfc_and_marks(r):
    sent = sum(p["tx_pause"] for p in r.final["pfc"])
    return sent > 0 and r.marks() > 0, f"{count(sent)} PFC frames sent, {count(r.marks())} marks"


def flow_accounted(r):
    """What comes after a stall may be dropped while the class is lossy; each such drop is counted.
    Behind the last one received no gap shows."""
    got, dropped = r.flow_got, drops_in(r.final, NUMBERED)
    lost = r.flow_sent - got["received"]
    return (lost == dropped and got["missing"] <= lost and got["disordered"] == 0 < r.flow_sent,
            f"{count(r.flow_sent)} sent, {count(lost)} missing, {count(dropped)} dropped while "
            f"lossy, {count(got['disordered'])} out of order")


def tcp_moved(r):
    return r.tcp_bytes > 0, f"{r.tcp_bytes / 1e6:,.1f} MB"


def books_empty(r):
    pools = sum(p["used_bytes"] for p in r.final["pools"])
    groups = sum(g[k] for g in r.final["pgs"]
                 for k in ("min_bytes", "shared_bytes", "headroom_bytes", "skid_bytes"))
    return pools + groups == 0, f"{count(pools)} bytes in pools, {count(groups)} in groups"


def memory_flat(r):
    grown = r.rss[1] - r.rss[0]
    return grown < GROWTH_KB, f"{grown:+,} KB of {count(r.rss[1])} KB"


CHECKS = [
    ("every good policy was taken, every bad one refused", reloads_right),
    ("no frame of a class that stays lossless was dropped", nothing_dropped),
    ("no class dropped a frame while it was lossless", no_alarm),
    ("no receive ring ran over on any other port", rings_held),
    ("every RoCE frame that was sent arrived", all_arrived),
    ("every acknowledgement arrived", acts.answers_arrived),
    ("every message completed", acts.messages_complete),
    ("payload and iCRC intact at the receiver", acts.payload_intact),
    ("every numbered datagram arrived in order, or is a drop", flow_accounted),
    ("TCP went on", tcp_moved),
    ("there was something to survive", pfc_and_marks),
    ("the hostile neighbour sent all that it knows", hostile_was_there),
    ("the balance of frames is exact at rest", acts.balanced),
    ("the buffer's books are empty at rest", books_empty),
    ("the daemon's memory does not grow", memory_flat),
]


# ---- the run


def tell(screen, seconds, reloads, now, before):
    span = max(now["t"] - before["t"], 1e-3)

    def rate(classes):
        return sum(a["tx_bytes"] - b["tx_bytes"] for a, b in zip(now["queues"], before["queues"])
                   if a["queue"] in classes) * 8 / span / 1e6

    missed = sum(p["rx_missed"] for p in now["ports"])
    paused = sum(p["tx_pause"] for p in now["pfc"])
    marks = sum(q["ecn_marked"] for q in now["queues"])
    screen.say(f"{seconds:5.0f} s  {reloads.taken + reloads.refused:4} reloads  "
               f"RoCE {rate((3, 5)):5.1f}  TCP {rate((0, 1, 7)):5.1f}  UDP {rate((2,)):4.1f} Mb/s  "
               f"PFC {count(paused)}  marks {count(marks)}  "
               f"drops {drops_in(now, PROTECTED)}  missed {missed}")


def watch(args, screen, switch, senders, reloads, result, seconds):
    start = time.monotonic()
    before, told, n = sample(switch), start, 0
    while time.monotonic() < start + seconds and any(s.process.running() for s in senders):
        next_at = start + (n + 1) * args.every
        reloads.step(n)
        n += 1
        if n == len(LIVE) or result.rss is None:
            result.rss = [rss_kb(switch_pid(switch))] * 2
        if time.monotonic() - told >= TELL_EVERY_S:
            now = sample(switch)
            tell(screen, time.monotonic() - start, reloads, now, before)
            before, told = now, time.monotonic()
        time.sleep(max(next_at - time.monotonic(), 0))
    result.rss[1] = rss_kb(switch_pid(switch))


def switch_pid(switch):
    """nsenter has become weir."""
    return switch.process.p.pid


def start_hostile(world, per_second):
    if per_second == 0:
        return None
    return world.spawn(HOSTILE_HOST, "hostile", "/usr/bin/python3", "-B", HOSTILE, "e6",
                       str(per_second)).wait_line("ready")


def stop_hostile(hostile):
    if hostile is None:
        return None
    hostile.stop()
    return json.loads(hostile.out().splitlines()[-1])


def finish(switch, receiver, senders, kernel, result):
    for s in senders:
        s.process.wait(2 * DRAIN_S)
    result.tcp_bytes, result.flow_sent, result.flow_got = kernel.finish()
    Play.at_rest(switch)
    result.balance = switch.quiesce()
    result.final = sample(switch)
    receiver.process.stop()
    result.senders = [s.report() for s in senders]
    result.receiver = receiver.report()
    result.switch_status = switch.stop()
    result.alarms = [line for line in switch.process.err().splitlines()
                     if " alarm " in line and not re.search(rf"\b{HOSTILE_PORT}\b", line)]


def soak(args, screen, world):
    seconds = round(args.minutes * 60)
    programs = Programs(args.build)
    result = acts.Result({3: 60, 5: 30})
    result.rss = None
    switch = Switch(world, programs, switch_name(), text_of(switch_name(), {}))
    receiver = Host(world, programs, 3, "receiver", "--listen", *HOST_OPTIONS).ready()
    kernel = Kernel(world, seconds)
    senders = start_senders(world, programs, seconds)
    for s in senders:
        s.ready()
    result.reloads = Reloads(switch, programs)
    hostile = start_hostile(world, args.hostile)
    watch(args, screen, switch, senders, result.reloads, result, seconds)
    result.hostile = stop_hostile(hostile)
    finish(switch, receiver, senders, kernel, result)
    return result


def report(screen, result):
    rows = []
    screen.say()
    for name, check in CHECKS:
        ok, figures = check(result)
        rows.append({"check": name, "ok": bool(ok), "figures": figures})
        screen.say(f"  {'✓' if ok else '✗'} {name:<54} {figures}")
    held = sum(r["ok"] for r in rows)
    screen.say(f"\n{held} of {len(rows)} checks hold")
    return rows


def on_signal(*_):
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    args, screen = options(), Screen()
    if os.geteuid() != 0:
        print("soak: needs root for namespaces and AF_XDP", file=sys.stderr)
        return SKIPPED
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, on_signal)
    try:
        with World(6) as world:
            result = soak(args, screen, world)
            rows = report(screen, result)
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"checks": rows, "switch": result.final, "balance": result.balance,
                           "senders": result.senders, "receiver": result.receiver}, f, indent=1)
    except (Failed, OSError) as e:
        print(f"soak: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("soak: stopped; everything it made is removed", file=sys.stderr)
        return 130
    return 0 if all(r["ok"] for r in rows) else 1


sys.exit(main())
