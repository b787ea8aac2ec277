# SPDX-License-Identifier: Apache-2.0
"""scripts/run --ipcc: three senders crowd a receiver, and are told by ECN alone, or by the switch.

All have DCQCN and begin at line rate. In the first act the switch marks frames, and the receiver
sends CNPs. In the second one the switch sends CNPs itself, as well, from the same thresholds. What
passes the links is captured there, and judged by scapy and tshark.
"""
import statistics
import time

from acts import at_rest, time_scale_of
from cnps import Capture, need_judges, tshark_against, wrong_with
from meter import Meter
from play import model_time
from screen import BOLD, DIM, GREEN
from story import Story, staged
from switch import Host, Switch, pick
from table import aligned, count, kb, scene
from world import Failed, QuickWorld

SENDERS, RECEIVER = (1, 2, 3), 4
QPS = 2 # of each sender
PORT = "p4" # where it is crowded
SPEED_BPS = 40_000_000_000
SENDING_S, DRAIN_S = 6, 5 # of real time
WARM_S, END_S = 1.5, 5.5 # of the sending: from here on rates are steady, and all still send
SAMPLE_S, LINE_S, SHOW_AT_S = 0.02, 1, 2.5
SHORTER, LOWER = 0.8, 0.75 # mean and peak of the queue, of those with ECN only
KEPT = 0.9 # of the throughput
LINE_USED = "the line is used as well" # which a busy machine decides

# conf/compare-equilibrium.yaml has three ports.
EDITS = [("p[1-3]", "p[1-4]"), ("sw[1-3]", "sw[1-4]"),
         ('"02:00:00:00:00:03", port: p3}\n',
          '"02:00:00:00:00:03", port: p3}\n  - {mac: "02:00:00:00:00:04", port: p4}\n')]
WRED = "mark_at: dequeue}\n"
TITLES = {1: "frames are marked, and the receiver notifies the senders",
          2: "the switch notifies the senders itself"}
PICTURE = """
  h1 --40G-- p1 [      ]
  h2 --40G-- p2 [ weir ] p4 --40G-- h4   p4 is the bottleneck
  h3 --40G-- p3 [      ]
"""
TEXTS = {
    1: ["h1, h2 and h3 send to h4 at line rate, three times as much as p4 can send.",
        "The switch marks frames (ECN). For a mark, h4 sends a notification (CNP) back.",
        "Watch `peak of p4`, the longest queue until then. Times are model times."],
    2: ["The same senders. Now the switch has `ipcc: on`, so it sends CNPs itself.",
        "No CNP has to wait until a mark has crossed the queue.",
        "Watch `peak of p4` beside the same moment of act 1."],
}
WIDTHS = (10, 13, 13, 13, 19)
HEADS = ("  model", "CNPs of h4", "peak of p4", "in act 1", "CNPs of the switch")
COLUMNS = {1: 3, 2: 5} # of these, in each act
FLOW_WIDTHS = (12, 10, 11, 10, 14, 12, 10)
FLOW_HEADS = ("  from", "to", "sender QP", "known by", "model Gb/s", "CNPs of h4", "of weir")
CNP_WIDTHS = (12, 11, 10, 12, 12, 10, 11)
CNP_HEADS = ("  CNP to", "sender QP", "queue KB", "kmin KB", "grown by KB", "share", "notified")
CNPS_SHOWN, BAR = 4, 30


def policy_of(act, text, name):
    """The sample policy with another port; in the second act with a line that turns IPCC on."""
    edits = [("  name: compare\n", f"  name: {name}\n"), *EDITS]
    if act == 2:
        edits.append((WRED, f"{WRED}        ipcc: on\n"))
    for old, new in edits:
        if text.count(old) != 1:
            raise Failed(f"the policy holds {old.strip()!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


class Result:
    """What an act left."""

    def __init__(self):
        self.peaks = {} # second: the longest queue until then
        self.samples = [] # {"t": real seconds since data came, "length": of the crowded queue}
        self.window = None # counters at its two ends
        self.flows = None # while all send
        self.flows_end = None # when all is at rest
        self.cnps = None # as the switch explains them
        self.links = None # host: its captured CNPs
        self.against = "" # what tshark has against them
        self.final = self.balance = self.status = None
        self.senders = self.receiver = None

    def queue(self):
        """Its mean length while all send."""
        return statistics.mean(s["length"] for s in self.samples)

    def peak(self):
        return pick(self.final["queues"], port=PORT, queue=3)["max_bytes"]

    def out_bps(self):
        """Frame bits of model time that left the crowded port."""
        a, b = self.window
        one, two = (pick(s["queues"], port=PORT, queue=3)["tx_bytes"] for s in (a, b))
        return (two - one) * 8 / max(b["t"] - a["t"], 1e-12)

    def told(self):
        """CNPs of the switch."""
        return sum(p["cnps_sent"] for p in self.final["flow_ports"])

    def pairs(self, host):
        return {f["qp"] for f in self.senders[host]["flows"]}


# ---- checks: each returns (holds, figures). r: of this act, ecn: of the first one


def all_paired(r, _):
    """As weir-host reports them, which knows both ends."""
    wrong, n = [], 0
    for host, report in r.senders.items():
        for f in report["flows"]:
            row = pick(r.flows, **{"from": f"10.0.0.{host}", "qp": f["peer_qp"]})
            n += 1
            if (row.get("source"), row.get("sender_qp")) != ("cm", f["qp"]):
                wrong.append(row)
    return (not wrong and n == len(SENDERS) * QPS,
            f"{n - len(wrong)} of {n} by connection management")


def none_by_the_switch(r, _):
    return r.told() == 0 and not r.cnps["cnps"], f"{count(r.told())} CNPs of the switch"


def marks_told(r, _):
    got = sum(s["cnps_received"] for s in r.senders.values())
    seen = sum(p["cnps_seen"] for p in r.final["flow_ports"])
    return (r.receiver["cnps_sent"] == seen == got > 0,
            f"{count(r.receiver['ce_marked'])} marks, {count(r.receiver['cnps_sent'])} CNPs of "
            f"the receiver, {count(seen)} seen by the switch, {count(got)} arrived")


def every_sender_told(r, _):
    by = {h: s["cnps_received"] for h, s in r.senders.items()}
    theirs = r.receiver["cnps_sent"]
    return (sum(by.values()) == r.told() + theirs and r.told() > 0 and all(by.values()),
            f"{count(r.told())} of the switch and {count(theirs)} of the receiver, "
            f"{count(sum(by.values()))} arrived")


def flows_agree(r, _):
    """CNPs by flow, as the switch counted them and as the queue pairs of the hosts did."""
    wrong = 0
    for host, report in r.senders.items():
        for f in report["flows"]:
            row = pick(r.flows_end, **{"from": f"10.0.0.{host}", "qp": f["peer_qp"]})
            wrong += row.get("cnps_seen", 0) + row.get("cnps_sent", 0) != f["cnps"]
    return wrong == 0 and len(r.flows_end) == len(SENDERS) * QPS, f"{wrong} flows differ"


def senders_obey(r, _):
    """The last word of each reaction point, and what the NICs found wrong."""
    rates = [f["cc_rate_bps"] for s in r.senders.values() for f in s["flows"]]
    bad = sum(s[k] for s in r.senders.values() for k in ("unknown_qp", "icrc_errors", "malformed"))
    return (max(rates) < SPEED_BPS / 2 and bad == 0,
            f"{min(rates) / 1e9:.1f} .. {max(rates) / 1e9:.1f} Gb/s allowed at the end, "
            f"{bad} bad frames")


def explained(r, _):
    """Each CNP has its row, and the row agrees with what the hosts know."""
    rows = r.cnps["cnps"]
    odd = [c for c in rows if c["port"] != PORT or c["source"] != "cm" or
           c["length_bytes"] <= c["kmin_bytes"] or
           c["sender_qp"] not in r.pairs(int(c["from"].rsplit(".", 1)[1]))]
    return (r.cnps["total"] == r.told() and len(rows) == min(r.told(), r.cnps["kept"]) and not odd
            and r.cnps["lost"] == 0, f"{count(len(rows))} rows, {len(odd)} of them odd")


def on_the_links(r, _):
    seen = {h: len(f) for h, f in r.links.items()}
    theirs = seen.pop(RECEIVER)
    return (sum(seen.values()) - theirs == r.told() and theirs == r.receiver["cnps_sent"],
            f"{count(sum(seen.values()))} on the senders' links, {count(theirs)} of them the "
            "receiver's")


def scapy_agrees(r, _):
    wrong = [w for h in SENDERS for f in r.links[h] if (w := wrong_with(f, h, r.pairs(h)))]
    n = sum(len(r.links[h]) for h in SENDERS)
    return (not wrong and n > 0, f"{count(n)} frames: iCRC, DSCP, BECN, address, queue pair"
            if not wrong else wrong[0])


def tshark_agrees(r, _):
    return not r.against, r.against[:100] or "nothing malformed, no warning"


def shorter(r, ecn):
    share = r.queue() / max(ecn.queue(), 1)
    return (share <= SHORTER, f"mean {r.queue() / 1e3:.1f} KB, with ECN only "
            f"{ecn.queue() / 1e3:.1f} KB: {share:.0%}")


def peak_lower(r, ecn):
    share = r.peak() / max(ecn.peak(), 1)
    return (share <= LOWER, f"{kb(r.peak())}, with ECN only {kb(ecn.peak())}: {share:.0%}")


def as_fast(r, ecn):
    return (r.out_bps() >= KEPT * ecn.out_bps(),
            f"{r.out_bps() / 1e9:.1f} Gb/s, with ECN only {ecn.out_bps() / 1e9:.1f}")


def no_drop(r, _):
    n = sum(d["packets"] for d in r.final["drops"])
    missed = sum(p["rx_missed"] for p in r.final["ports"])
    return n + missed == 0, f"{count(n)} drops, {count(missed)} missed"


def balanced(r, _):
    return at_rest(r.balance, r.status)


EVERYWHERE = [
    ("the CNPs of each flow are as its sender counts them", flows_agree),
    ("the switch knows the queue pair of every sender", all_paired),
    ("no frame was dropped", no_drop),
    ("the balance of frames is exact at rest", balanced),
]
CHECKS = {
    1: [("marks become CNPs of the receiver", marks_told),
        ("the switch sends none", none_by_the_switch)] + EVERYWHERE,
    2: [("every CNP of the switch arrived, at every sender", every_sender_told),
        ("the senders obey", senders_obey),
        ("every CNP is explained by show cnps", explained),
        ("what the links carried is what was counted", on_the_links),
        ("scapy agrees with every CNP", scapy_agrees),
        ("tshark has nothing against any", tshark_agrees),
        ("the queue is shorter", shorter),
        ("its peak is lower", peak_lower),
        (LINE_USED, as_fast)] + EVERYWHERE,
}


class IpccPlay(Story):
    def __init__(self, *args):
        super().__init__(*args)
        self.ecn = None # the first act, which the second is held against
        need_judges()

    def act(self, number):
        """Returns the record of the act, its checks included."""
        scene(self.screen, number, len(TITLES), TITLES[number], PICTURE, TEXTS[number])
        with staged(QuickWorld(RECEIVER, tapped=True), self.logs, number) as world:
            r = self.results[number] = self.run(world, number)
        self.ecn = self.ecn or r
        return {"act": number, "title": TITLES[number], "world": "live",
                "checks": self.judge(CHECKS[number], r, self.ecn),
                "balance": r.balance, "switch": r.final, "cnps": r.cnps,
                "senders": list(r.senders.values()), "receiver": r.receiver, "status": r.status,
                "samples": r.samples, "flows": r.flows,
                "flows_end": r.flows_end, "window": r.window}

    def seen(self, _):
        """The peaks side by side, and how far they are apart."""
        most = max(r.peak() for r in self.results.values())
        for number, r in self.results.items():
            yield (f"act {number}, longest queue of p4: {kb(r.peak()):>8}  "
                   f"{'#' * max(1, round(BAR * r.peak() / most))}")
        one, two = self.results[1], self.results[2]
        yield (f"The second peak is {two.peak() / max(one.peak(), 1):.0%} of the first. p4 carried "
               f"{one.out_bps() / 1e9:.1f} and {two.out_bps() / 1e9:.1f} model Gb/s.")

    def run(self, world, number):
        r = Result()
        policy = policy_of(number, self.policy, self.name)
        scale = time_scale_of(policy)
        switch = Switch(world, self.programs, self.name, policy)
        capture = Capture(world, (*SENDERS, RECEIVER))
        words = ["--cc", "dcqcn", "--speed", "40G", "--rx-ring", "4096", "--time-scale", str(scale)]
        receiver = Host(world, self.programs, RECEIVER, "receiver", "--listen", *words).ready()
        senders = {i: Host(world, self.programs, i, f"sender{i}", "--to", f"10.0.0.{RECEIVER}",
                           "--class", "3", "--qps", str(QPS), "--depth", "16", "--size", "64KiB",
                           "--time", model_time(SENDING_S, scale), "--drain", f"{DRAIN_S}s",
                           *words) for i in SENDERS}
        for s in senders.values():
            s.ready()
        self.watch(switch, scale, r, number)
        self.finish(switch, senders, receiver, r)
        r.links = capture.stop()
        r.against = "".join(tshark_against(p) for p in capture.paths.values())
        return r

    def watch(self, switch, scale, r, number):
        with Meter(switch.name, scale) as meter:
            start = meter.wait_for_data([f"p{i}" for i in SENDERS]) * scale
            ends, line_at = [], LINE_S
            while (t := time.monotonic() - start) < END_S:
                if t >= WARM_S and not ends:
                    ends.append(meter.counters())
                length = pick(meter.show("queues")["queues"], port=PORT, queue=3)["length_bytes"]
                r.samples.append({"t": t, "length": length})
                if t >= line_at:
                    self.line(meter.show("queues")["queues"], meter.show("ipcc")["flow_ports"], r,
                              number, line_at)
                    line_at += LINE_S
                self.screen.status(f"  act {number} of {len(TITLES)}, {t:.0f} of {SENDING_S} s")
                if t >= SHOW_AT_S and r.flows is None:
                    self.look(switch, r)
                time.sleep(meter.rng.uniform(0, 2 * SAMPLE_S))
            r.window = (*ends, meter.counters())

    def line(self, queues, flow_ports, r, number, second):
        """The peak until now, beside that of the first act until the same second."""
        r.peaks[second] = pick(queues, port=PORT, queue=3)["max_bytes"]
        if second == LINE_S:
            heads = aligned(HEADS, WIDTHS, 1)[:COLUMNS[number]]
            self.screen.row([(c, BOLD) for c in heads])
        before = kb(self.ecn.peaks[second]) if self.ecn and second in self.ecn.peaks else "-"
        theirs, ours = (sum(p[k] for p in flow_ports) for k in ("cnps_seen", "cnps_sent"))
        cells = aligned((f"  {second:3.1f} ms", count(theirs), kb(r.peaks[second]), before,
                         count(ours)), WIDTHS, 1)[:COLUMNS[number]]
        self.screen.row(list(zip(cells, (DIM, None, BOLD, None, GREEN))))

    def look(self, switch, r):
        """What an operator sees in the middle."""
        r.flows = switch.show("flows")["flows"]
        self.show_flows(switch.name, r.flows)

    def show_flows(self, name, flows):
        rows = [(f"  {f['from']}", f["to"], hex(f["sender_qp"] or 0), f["source"],
                 f"{f['rate_bps'] / 1e9:.1f}", count(f["cnps_seen"]), count(f["cnps_sent"]))
                for f in flows]
        self.show_columns(f"weirctl -s {name} show flows", FLOW_HEADS, rows, FLOW_WIDTHS)

    def show_cnps(self, name, cnps):
        """The longest queues among the CNPs that the switch explains."""
        cnps = sorted(cnps, key=lambda c: c["length_bytes"], reverse=True)[:CNPS_SHOWN]
        rows = [(f"  {c['from']}", hex(c["sender_qp"]), f"{c['length_bytes'] / 1e3:.1f}",
                 f"{c['kmin_bytes'] / 1e3:.1f}", f"{c['trend_bytes'] / 1e3:+.1f}",
                 f"{c['share_percent']} %", c["told"]) for c in cnps]
        self.show_columns(f"weirctl -s {name} show cnps --all", CNP_HEADS, rows, CNP_WIDTHS)

    def show_columns(self, command, heads, rows, widths):
        """Some columns of what a command shows."""
        self.screen.say(f"\n  $ {command}        (some of its columns)")
        self.screen.row([(c, BOLD) for c in aligned(heads, widths)])
        for r in rows:
            self.screen.row(aligned(r, widths))
        self.screen.say()

    def finish(self, switch, senders, receiver, r):
        for s in senders.values():
            s.process.wait(SENDING_S + DRAIN_S + 15)
        time.sleep(0.3)
        r.balance = switch.quiesce()
        r.final = {}
        for what in ("ports", "queues", "drops", "ipcc", "pfc"):
            r.final.update(switch.show(what))
        r.cnps = switch.show("cnps", "--all")
        r.flows_end = switch.show("flows")["flows"]
        if r.cnps["cnps"]:
            self.show_cnps(switch.name, r.cnps["cnps"])
        receiver.process.stop()
        r.receiver = receiver.report()
        r.senders = {i: s.report() for i, s in senders.items()}
        r.status = switch.stop()
        if r.flows is None:
            raise Failed("the senders ended before the flows were looked at")
