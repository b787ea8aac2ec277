# SPDX-License-Identifier: Apache-2.0
"""scripts/run --iperf: an article's experiment with the iperf3 of Linux hosts, at a hundredth.

h1 sends to h3 in class 3, h2 in class 5. The kernel of a host ignores PFC, until weir-hostd makes
it obey.
"""
import json
import sys
import time

from acts import at_rest
from meter import Meter
from screen import ALARM, BOLD, DIM, YELLOW
from story import Story, staged
from switch import Switch, pick
from table import aligned, count, scene
from world import Failed, QuickWorld

SPEED, RECEIVER_SPEED_BPS = "250M", 100e6
TOS = {3: "0x60", 5: "0xa0"} # of iperf3 -S, by class
PORTS = {3: "5203", 5: "5205"} # of iperf3 -p
HOSTS = {3: 1, 5: 2}
OFFERED_BPS = {3: 77e6, 5: 51.5e6}
CALM_BPS = 40e6 # of class 3 in act 4: both classes fit the line
UDP, TCP = ["-u"], []
SAMPLE_EVERY_S, LINE_EVERY = 0.25, 4
LATER_S, END_S = 4, 10 # of UDP: when h2 begins, and when both end
SETTLE_S = 1
STORM_AT_S, STORM_S = 3, 4
DRAIN_S = 20
SILENT_BPS = 1e6 # a held class: what was on its way, and ARP of no class
KEPT = 0.95
PAUSER = """
import socket, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("e3", 0))
times = b"\\0\\0" * 3 + b"\\xff\\xff" + b"\\0\\0" * 4
head = bytes.fromhex("0180c2000001 020000000003 8808 0101 0008".replace(" ", ""))
end = time.monotonic() + %f
while time.monotonic() < end:
    s.send((head + times).ljust(60, b"\\0"))
    time.sleep(0.05)
s.send((head + bytes(16)).ljust(60, b"\\0"))
"""
TITLES = {1: "UDP, and hosts whose kernel ignores PFC",
          2: "the same with weir-hostd on both hosts",
          3: "TCP with weir-hostd",
          4: "the receiver pauses one class"}
SHORT = {1: "without weir-hostd", 2: "with weir-hostd", 3: "TCP", 4: "a class is paused"}
PICTURE = """
  h1 --250M-- p1 [      ]   class 3
                 [ weir ] p3 --100M-- h3
  h2 --250M-- p2 [      ]   class 5
"""
TEXTS = {
    1: ["h1 sends 77 Mb/s in class 3. Later h2 sends 51.5 Mb/s in class 5, which p3 prefers.",
        "The switch pauses both hosts, but the kernel of Linux does not obey PFC.",
        "Watch `dropped`. The rates are real Mb/s."],
    2: ["The same commands. weir-hostd holds a class in the kernel while a PAUSE for it lasts.",
        "So iperf3 waits in send(), and h1 slows down to what class 5 leaves.",
        "Watch class 3 slow down, and nothing in `dropped`."],
    3: ["Both hosts send TCP as fast as they can. There is no ECN, so only PFC slows them down.",
        "Watch nothing in `dropped`: TCP sends no segment again."],
    4: [f"UDP again, class 3 with 40 Mb/s. After {STORM_AT_S} s h3 pauses class 3 for {STORM_S} s.",
        "Then the switch pauses h1, and class 3 of h1 stands still.",
        "Watch class 5 keep its rate."],
}
WIDTHS = (8, 14, 14, 12, 12, 10)
HEADS = (("  real", "class 3 to h3", "class 5 to h3", "PFC to h1", "PFC to h2", "dropped"),
         ("  time", "Mb/s", "Mb/s", "frames", "frames", "frames"))
PFC_WIDTHS = (13, 3, 10, 10)


def socket_overflows(world, host):
    """Datagrams that arrived at the host and found the socket's buffer full."""
    rows = [line.split() for line in world.run(host, "cat", "/proc/net/snmp", "/proc/net/snmp6")
            .stdout.splitlines()]
    names, values = [r for r in rows if r[0] == "Udp:"]
    v4 = int(values[names.index("RcvbufErrors")])
    return v4 + sum(int(r[1]) for r in rows if r[0] == "Udp6RcvbufErrors")


class Iperf:
    """iperf3 of a host in a class, as a user types it: to 10.0.0.3, where a server waits for it."""

    def __init__(self, world, cls, kind, seconds, rate=None):
        self.world, self.cls = world, cls
        self.words = ["iperf3", *kind, "-c", "10.0.0.3", "-p", PORTS[cls], "-S", TOS[cls],
                      *(["-b", f"{rate / 1e6:g}M"] if rate else []), "-t", f"{seconds:g}"]
        self.server = world.spawn("h3", f"server{cls}", "iperf3", "--forceflush", "-s", "-1", "-p",
                                  PORTS[cls])
        self.server.wait_line(f"Server listening on {PORTS[cls]} (test #1)")
        self.process = None

    def start(self):
        self.process = self.world.spawn(f"h{HOSTS[self.cls]}", f"client{self.cls}", *self.words,
                                        "-J")
        return f"h{HOSTS[self.cls]} $ {' '.join(self.words)}"

    def running(self):
        return self.process is None or self.process.running()

    def report(self):
        """What both ends counted."""
        self.process.wait(DRAIN_S)
        try:
            out = json.loads(self.process.out())
        except ValueError:
            out = {"error": "no report"}
        if "error" in out:
            raise Failed(f"iperf3 of class {self.cls}: {out['error']}\n{self.process.said()}")
        return out


class Hostd:
    """weir-hostd on a host."""

    def __init__(self, world, programs, i):
        self.process = world.spawn(
            f"h{i}", f"hostd{i}", programs.in_build("control/hostd/weir-hostd"), "--device",
            f"e{i}", "--speed", SPEED, "--class", "3", "--class", "5", "--json").wait_line("ready")

    def report(self):
        status = self.process.stop()
        if status != 0:
            raise Failed(f"weir-hostd ended with status {status}\n{self.process.said()}")
        return json.loads(self.process.out())


class Result:
    """What an act left."""

    def __init__(self):
        self.samples = [] # {"t": seconds since the start, "queues", "pfc", "drops"}
        self.ends = {} # reports of iperf3, by class
        self.hostd = {} # reports of weir-hostd, by class
        self.late = 0 # datagrams that the receiving process was too late for
        self.final = self.balance = self.status = None

    def at(self, t):
        """The first sample at or after t."""
        return next((s for s in self.samples if s["t"] >= t), self.samples[-1])

    def out(self, cls, t0, t1):
        """Bits a second that left at p3 in a class."""
        a, b = self.at(t0), self.at(t1)
        one, two = (pick(s["queues"], port="p3", queue=cls)["tx_bytes"] for s in (a, b))
        return (two - one) * 8 / max(b["t"] - a["t"], 1e-9)

    def sent(self, cls, t0, t1):
        """Bits a second of payload that iperf3 sent."""
        rows = [i["sum"] for i in self.ends[cls]["intervals"]]
        rates = [s["bits_per_second"] for s in rows if s["start"] >= t0 and s["end"] <= t1 + 0.2]
        return sum(rates) / max(len(rates), 1)

    def dropped(self):
        return sum(d["packets"] for d in self.final["drops"])

    def pfc(self, cls):
        return pick(self.final["pfc"], port=f"p{HOSTS[cls]}", **{"class": cls})["tx_pause"]

    def total(self, key):
        return sum(e["end"]["sum" if key != "retransmits" else "sum_sent"][key]
                   for e in self.ends.values())


# ---- checks: each returns (holds, figures)


def mbps(bps):
    return f"{bps / 1e6:.1f} Mb/s"


def frames_lost(r):
    n, of = r.total("lost_packets"), r.total("packets")
    return r.dropped() > 0, f"{count(r.dropped())} drops; iperf3 lost {count(n)} of {count(of)}"


def no_drop(r):
    return r.dropped() == 0, f"{count(r.dropped())} drops"


def nothing_lost(r):
    n, of = r.total("lost_packets"), r.total("packets")
    return (of > 0 and n <= r.late,
            f"{count(n)} of {count(of)} lost, {count(r.late)} by the receiving process")


def did_not_slow_down(r):
    bps = r.sent(3, LATER_S + SETTLE_S, END_S)
    return bps > KEPT * OFFERED_BPS[3], f"{mbps(bps)} of {mbps(OFFERED_BPS[3])}"


def slowed_down(r):
    """The frames of class 5 leave this much of the line of p3."""
    share = RECEIVER_SPEED_BPS - OFFERED_BPS[5]
    alone, bps = (r.sent(3, *t) for t in ((SETTLE_S, LATER_S), (LATER_S + SETTLE_S, END_S)))
    return bps <= share < alone, f"from {mbps(alone)} to {mbps(bps)}"


def preferred_kept(r):
    bps = r.sent(5, SETTLE_S, END_S - LATER_S)
    return bps >= KEPT * OFFERED_BPS[5], f"{mbps(bps)} of {mbps(OFFERED_BPS[5])}"


def pfc_sent(r):
    return r.pfc(3) > 0, f"to h1 {count(r.pfc(3))}, to h2 {count(r.pfc(5))} frames"


def pfc_arrived(r):
    got = {c: pick(r.hostd[c]["classes"], **{"class": c}) for c in HOSTS}
    return (all(got[c]["rx_pause"] == r.pfc(c) for c in HOSTS) and got[3]["rx_pause"] > 0,
            f"h1 {count(got[3]['rx_pause'])} of {count(r.pfc(3))}, h2 "
            f"{count(got[5]['rx_pause'])} of {count(r.pfc(5))}")


def no_retransmission(r):
    return r.total("retransmits") == 0, f"{count(r.total('retransmits'))} segments"


def port_is_full(r):
    bps = sum(r.out(c, SETTLE_S, END_S - SETTLE_S) for c in HOSTS)
    return bps > 0.9 * RECEIVER_SPEED_BPS, mbps(bps)


def stands_still(r):
    bps = r.out(3, STORM_AT_S + SETTLE_S, STORM_AT_S + STORM_S - SAMPLE_EVERY_S)
    sent = r.sent(3, STORM_AT_S + SETTLE_S, STORM_AT_S + STORM_S - SAMPLE_EVERY_S)
    return bps == 0 and sent < SILENT_BPS, f"{mbps(bps)} at p3, iperf3 sends {mbps(sent)}"


def goes_on(r):
    bps = r.out(3, STORM_AT_S + STORM_S + SETTLE_S, END_S)
    return bps > SILENT_BPS, mbps(bps)


def other_kept(r):
    bps = r.out(5, STORM_AT_S + SETTLE_S, STORM_AT_S + STORM_S - SAMPLE_EVERY_S)
    return bps >= KEPT * OFFERED_BPS[5], mbps(bps)


def balanced(r):
    return at_rest(r.balance, r.status)


ALL_ARRIVES = [("no frame was dropped", no_drop), ("no datagram was lost", nothing_lost)]
CHECKS = {
    1: [("frames of a lossless class were dropped", frames_lost),
        ("the switch paused class 3 of h1", pfc_sent),
        ("iperf3 of class 3 did not slow down", did_not_slow_down)],
    2: [*ALL_ARRIVES,
        ("iperf3 of class 3 slowed down to its share", slowed_down),
        ("iperf3 of class 5 kept its rate", preferred_kept),
        ("every PFC frame arrived at its host", pfc_arrived)],
    3: [("no frame was dropped", no_drop),
        ("TCP sent nothing again", no_retransmission),
        ("the port of the receiver was full", port_is_full),
        ("every PFC frame arrived at its host", pfc_arrived)],
    4: [*ALL_ARRIVES,
        ("class 3 stood still, at the host too", stands_still),
        ("class 5 kept its rate", other_kept),
        ("class 3 went on afterwards", goes_on)],
}
BALANCED = ("the balance of frames is exact at rest", balanced)


class Narrator:
    """Shows the samples of an act, a line a second."""

    def __init__(self, screen, act):
        self.screen, self.act = screen, act
        for line in HEADS:
            screen.row([(c, BOLD) for c in aligned(line, WIDTHS, 1)])

    def take(self, r):
        if len(r.samples) % LINE_EVERY == 0:
            self.line(r, r.samples[-LINE_EVERY], r.samples[-1])
        self.screen.status(f"  act {self.act} of {len(TITLES)}, {r.samples[-1]['t']:.0f} of "
                           f"{END_S} s")

    def line(self, r, a, b):
        """What happened between two samples."""
        rates = [f"{r.out(c, a['t'], b['t']) / 1e6:.1f}" for c in HOSTS]
        pauses = [b_n - a_n for a_n, b_n in (
            [pick(s["pfc"], port=f"p{HOSTS[c]}", **{"class": c})["tx_pause"] for s in (a, b)]
            for c in HOSTS)]
        lost = sum(d["packets"] for d in b["drops"]) - sum(d["packets"] for d in a["drops"])
        cells = aligned((f"  {b['t']:4.1f} s", *rates, *(count(n) if n else "-" for n in pauses),
                         count(lost) if lost else "-"), WIDTHS, 1)
        colours = [DIM, None, None, *(YELLOW if n else None for n in pauses),
                   ALARM if lost else None]
        self.screen.row(list(zip(cells, colours)))


class IperfPlay(Story):
    def act(self, number):
        """Returns the record of the act, its checks included."""
        scene(self.screen, number, len(TITLES), TITLES[number], PICTURE, TEXTS[number])
        with staged(QuickWorld(3), self.logs, number) as world:
            r = self.results[number] = self.run(world, number)
        return {"act": number, "title": TITLES[number], "world": "live",
                "checks": self.judge([*CHECKS[number], BALANCED], r),
                "balance": r.balance, "switch": r.final, "hostd": r.hostd,
                "iperf3": {c: e["end"] for c, e in r.ends.items()}}

    def seen(self, _):
        """A line for each act."""
        for number, r in self.results.items():
            yield (f"act {number}, {SHORT[number]}: {count(r.dropped())} frames dropped, "
                   f"{count(r.pfc(3))} PFC frames to h1, {count(r.pfc(5))} to h2")

    def run(self, world, number):
        r = Result()
        for i in (1, 2, 3):
            world.run(f"h{i}", "ip", "addr", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
        switch = Switch(world, self.programs, self.name,
                        self.policy.replace("  name: iperf\n", f"  name: {self.name}\n"))
        hostds = {c: Hostd(world, self.programs, i) for c, i in HOSTS.items()} if number > 1 else {}
        if number == 3:
            clients = [Iperf(world, c, TCP, END_S) for c in HOSTS]
        elif number == 4:
            clients = [Iperf(world, 3, UDP, END_S, CALM_BPS),
                       Iperf(world, 5, UDP, END_S, OFFERED_BPS[5])]
        else:
            clients = [Iperf(world, 3, UDP, END_S, OFFERED_BPS[3]),
                       Iperf(world, 5, UDP, END_S - LATER_S, OFFERED_BPS[5])]
        later = clients[1:] if number < 3 else []
        self.watch(world, switch, r, Narrator(self.screen, number), clients, later)
        r.ends = {c.cls: c.report() for c in clients}
        self.finish(world, switch, hostds, r)
        return r

    def watch(self, world, switch, r, narrator, clients, later):
        """Samples until the clients have ended. The later ones begin in the middle."""
        start = time.monotonic()
        due = [(LATER_S if c in later else 0, c.start) for c in clients]
        if narrator.act == 4:
            due.append((STORM_AT_S, lambda: self.pause(world)))
        with Meter(switch.name, 1) as meter:
            while any(c.running() for c in clients) and time.monotonic() < start + END_S + DRAIN_S:
                now = time.monotonic() - start
                for _, begin in [d for d in due if d[0] <= now]:
                    self.screen.say(f"  {begin()}", DIM)
                due = [d for d in due if d[0] > now]
                s = {"t": time.monotonic() - start}
                for what in ("queues", "pfc", "drops"):
                    s.update(meter.show(what))
                r.samples.append(s)
                narrator.take(r)
                time.sleep(SAMPLE_EVERY_S)

    def show_pfc(self, rows):
        """The columns of `display priority-flow-control interface`, as in the article."""
        self.screen.say()
        for cells in [("  Interface", "P", "Recv", "Send"), *(
                (f"  {row['port']}", str(row["class"]), count(row["rx_pause"]),
                 count(row["tx_pause"])) for row in rows if row["class"] in HOSTS)]:
            self.screen.row("".join(aligned(cells, PFC_WIDTHS, 2)))

    @staticmethod
    def pause(world):
        world.spawn("h3", "pauser", sys.executable, "-c", PAUSER % STORM_S)
        return "h3 pauses class 3 at p3."

    def finish(self, world, switch, hostds, r):
        time.sleep(0.5)
        r.late = socket_overflows(world, "h3")
        self.show_pfc(switch.show("pfc")["pfc"])
        r.hostd = {c: h.report() for c, h in hostds.items()}
        r.balance = switch.quiesce()
        r.final = {}
        for what in ("ports", "queues", "pfc", "drops"):
            r.final.update(switch.show(what))
        r.status = switch.stop()
