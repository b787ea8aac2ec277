# SPDX-License-Identifier: Apache-2.0
"""The three acts: what each one changes in the policy, what its hosts do, and what must come out.

Checks look at counters that must agree with each other, not at how fast the machine was: a stall
changes rates, and nothing that is judged here. The one exception, the share of two weighted
classes, is the median over the intervals in which both of them had frames waiting.
"""
import re
import statistics

from switch import pick
from table import count, kb
from world import Failed

PFC_ON, PFC_OFF = "pfc: {rx: on, tx: on}", "pfc: {rx: off, tx: off}"
P3_SLOW, P3_FAST = 'device: "xdp:sw3", speed: 40G', 'device: "xdp:sw3", speed: 200G'
SPEED = "40G" # of the hosts' ports, as in conf/lab.yaml
SENDER_PORTS, RECEIVER_PORT = ("p1", "p2"), "p3"
LARGEST_FRAME = 1536 # bytes that a frame of 1,522 takes in cells of 256
BACKLOG = 20000 # bytes that make a queue count as waiting
SHARE_TOLERANCE = 0.02

PICTURE = """
  h1 --40G-- p1 [      ]
                [ weir ] p3 --{}-- h3    {}
  h2 --40G-- p2 [      ]
"""
BOTTLENECK = PICTURE.format("40G", "p3 is the bottleneck")

# Seconds and milliseconds of the clock on the wall; the policy's time scale makes them model time.
ACTS = {
    1: {"title": "two senders, one receiver, two lossless classes, PFC on",
        "picture": BOTTLENECK, "short": "with PFC",
        "text": ["h1 and h2 send to h3, in the lossless classes 3 and 5: twice the rate of p3.",
                 "The buffer fills up, and the switch pauses h1 and h2 before it is full.",
                 "Watch `PFC sent` of p1 and p2 grow, while `dropped` stays empty."],
        "edits": [],
        # More in flight than the buffer holds, and patience for what waits in it.
        "senders": {"seconds": 8, "qps": 4, "depth": 16, "window": 1024, "size": 65536,
                    "rto_ms": 3000}},
    2: {"title": "the same without PFC",
        "picture": BOTTLENECK, "short": "without PFC",
        "text": ["h1 and h2 send as before, but the switch sends no PAUSE.",
                 "The buffer overflows, and the senders send again what was lost.",
                 "Watch `dropped` of p1 and p2. STILL marks a sender that waits for its timer."],
        "edits": [(PFC_ON, PFC_OFF)],
        # Enough in flight to fill the buffer and what the receive rings add to it.
        "senders": {"seconds": 4, "qps": 4, "depth": 32, "window": 4096, "size": 65536,
                    "rto_ms": 1500}},
    3: {"title": "the same with PFC, and a receiver that is fast enough",
        "picture": PICTURE.format("200G", "no bottleneck"), "short": "fast receiver",
        "text": ["h1 and h2 send to h3 again. Now p3 is five times as fast as each sender.",
                 "The queues stay short, so nothing is paused, marked or dropped.",
                 "Watch `marked`, `PFC sent` and `dropped` stay empty."],
        "edits": [(P3_SLOW, P3_FAST)],
        # 32 KB in flight per class at most: less than any threshold, however late somebody runs.
        "senders": {"seconds": 5, "qps": 2, "depth": 1, "window": 1024, "size": 16384,
                    "rto_ms": 3000}},
}


def plan_of(act, seconds=None):
    """What each sender of an act does."""
    plan = dict(ACTS[act]["senders"])
    plan["seconds"] = seconds or plan["seconds"]
    return plan


def policy_of(act, text, name):
    """The policy file of an act: the sample with a few words changed."""
    for old, new in [("  name: lab\n", f"  name: {name}\n")] + ACTS[act]["edits"]:
        if text.count(old) != 1:
            raise Failed(f"conf/lab.yaml holds {old.strip()!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def time_scale_of(policy):
    """How many times slower than real time the switch and its hosts live."""
    found = re.search(r"^  time_scale: (\d+)$", policy, re.MULTILINE)
    return int(found.group(1)) if found else 1


def speeds_of(policy):
    """Of the ports, one for each entry of the policy: the senders' and the receiver's."""
    return re.findall(r"^  - {name: .* speed: (\w+)", policy, re.MULTILINE)


def lossless_weights(policy):
    """Class -> weight of the lossless classes of a policy written like the sample."""
    found = re.findall(r"(\d):\n\s+lossless: true\n\s+schedule: \{dwrr: (\d+)\}", policy)
    return {int(c): int(w) for c, w in found}


class Result:
    """What an act left: samples while it ran, the last one at rest, and the hosts' reports."""

    def __init__(self, weights):
        self.weights = weights
        self.samples = []
        self.final = self.balance = None
        self.switch_status = None
        self.senders, self.receiver = [], None

    def drops(self):
        return sum(d["packets"] for d in self.final["drops"])

    def lossless_drops(self):
        return sum(d["packets"] for d in self.final["drops"] if d["lossless"])

    def sent(self):
        """Frames of all kinds; the receiver is the only one the senders talk to."""
        return sum(s["tx_frames"] for s in self.senders)

    def missed(self):
        return self.sent() - self.receiver["rx_frames"]

    def pauses(self):
        return sum(r["tx_pause"] + r["rx_pause"] for r in self.final["pfc"])

    def marks(self):
        return sum(q["ecn_marked"] for q in self.final["queues"])

    def total(self, key):
        return sum(s[key] for s in self.senders)

    def row(self, table, port, cls, sample=None):
        return pick((sample or self.final)[table], port=port, **{"class": cls})


# ---- checks: each returns (holds, figures)


def xoff_reached(r):
    """A PG enters XOFF when `shared + frame > alpha * free`, alpha = 1, and nothing was ever less
    free than the pool less its watermark. The last frame that one group alone may take finds
    `shared + frame` free, so the group then has half of the pool and of that frame."""
    pool = pick(r.final["pools"], name="ingress")
    lowest = pool["size_bytes"] - pool["max_bytes"]
    marks = [r.row("pgs", p, c)["max_shared_bytes"] for p in SENDER_PORTS for c in r.weights]
    highest = (pool["size_bytes"] + LARGEST_FRAME) / 2
    ok = all(lowest <= m + LARGEST_FRAME and m <= highest for m in marks)
    return ok, f"{kb(min(marks))} .. {kb(max(marks))} shared; XOFF at {kb(lowest)} or above"


def pfc_sent(r):
    sent = {p: [r.row("pfc", p, c)["tx_pause"] for c in r.weights] for p in SENDER_PORTS}
    return (all(n > 0 for row in sent.values() for n in row),
            ", ".join(f"{p}: " + " + ".join(count(n) for n in sent[p]) for p in SENDER_PORTS))


def pfc_arrived(r):
    """What the switch sent to a host is what the host has counted, class by class."""
    sent = [r.row("pfc", p, c)["tx_pause"] for p in SENDER_PORTS for c in r.weights]
    got = [pick(s["classes"], **{"class": c}).get("rx_pause", 0)
           for s in r.senders for c in r.weights]
    return sent == got, f"{count(sum(got))} of {count(sum(sent))}"


def no_lossless_drop(r):
    return r.lossless_drops() == 0, f"{count(r.lossless_drops())} drops"


def nothing_missed(r):
    return (r.missed() == 0,
            f"{count(r.missed())} missed of {count(r.sent())} frames sent, "
            f"{count(r.total('retransmissions'))} of them again")


def rings_held(r):
    n = sum(p["rx_missed"] + p["tx_errors"] for p in r.final["ports"])
    n += sum(h["rx_missed"] + h["tx_errors"] for h in [*r.senders, r.receiver])
    return n == 0, f"{count(n)} frames"


def messages_complete(r):
    posted, done = r.total("messages_posted"), r.total("messages_completed")
    errors = [s["error"] for s in r.senders if s["error"]]
    ok = posted == done > 0 and not errors
    return ok, "; ".join([f"{count(done)} of {count(posted)}", *errors])


def payload_intact(r):
    n = sum(h[k] for h in [*r.senders, r.receiver]
            for k in ("payload_errors", "icrc_errors", "malformed"))
    return n == 0, f"{count(n)} errors in {count(r.receiver['packets_received'])} packets"


def served_by_weight(r):
    heavy, light = sorted(r.weights, key=r.weights.get, reverse=True)
    shares = []
    for a, b in zip(r.samples, r.samples[1:]):
        at = [[r.row("queues", RECEIVER_PORT, c, s) for c in (heavy, light)] for s in (a, b)]
        if min(q["length_bytes"] for qs in at for q in qs) < BACKLOG:
            continue
        sent = [at[1][i]["tx_bytes"] - at[0][i]["tx_bytes"] for i in (0, 1)]
        if sum(sent) > 0:
            shares.append(sent[0] / sum(sent))
    want = r.weights[heavy] / (r.weights[heavy] + r.weights[light])
    if not shares:
        return False, "the two classes never waited at the same time"
    share = statistics.median(shares)
    return (abs(share - want) <= SHARE_TOLERANCE,
            f"class {heavy} has {share:.1%}, its weight says {want:.1%} ({len(shares)} intervals)")


def marks_arrived(r):
    """The receiver counts marks on data; the few frames of connection set-up may carry one too."""
    got = r.receiver["ce_marked"]
    through = sum(r.row("queues", RECEIVER_PORT, c)["tx_packets"] for c in r.weights)
    set_up = through - r.receiver["packets_received"]
    others = r.marks() - got
    return (got > 0 and 0 <= others <= set_up,
            f"{count(got)} on data, {count(others)} on {count(set_up)} connection frames; "
            f"{count(r.marks())} marked")


def at_rest(b, status):
    """Whether a switch that ended with this balance and status has lost sight of no frame."""
    begun = b["received"] + b["generated"] + b["replicated"]
    ended = b["transmitted"] + b["consumed"] + b["dropped"] + b["queued"]
    return (begun == ended and b["queued"] == 0 and status == 0,
            f"{count(begun)} began, {count(ended)} ended, {count(b['queued'])} queued")


def balanced(r):
    return at_rest(r.balance, r.switch_status)


def frames_lost(r):
    return r.lossless_drops() > 0, f"{count(r.lossless_drops())} drops"


def loss_is_what_is_missed(r):
    return (r.missed() == r.drops() > 0,
            f"{count(r.missed())} missed of {count(r.sent())} frames sent, "
            f"{count(r.drops())} dropped")


def answers_arrived(r):
    sent = r.receiver["acks_sent"] + r.receiver["naks_sent"]
    got = r.total("acks_received") + r.total("naks_received")
    return sent == got > 0, f"{count(got)} of {count(sent)}"


def sent_again(r):
    n = r.total("retransmissions")
    return n > 0, (f"{count(n)} packets; {count(r.total('messages_completed'))} of "
                   f"{count(r.total('messages_posted'))} messages completed all the same")


def no_pause(r):
    return r.pauses() == 0, f"{count(r.pauses())} frames"


def no_mark(r):
    return r.marks() + r.receiver["ce_marked"] == 0, f"{count(r.marks())} marks"


def no_drop(r):
    return r.drops() == 0, f"{count(r.drops())} drops"


EVERYWHERE = [
    ("no receive ring ran over on any port", rings_held),
    ("every acknowledgement arrived", answers_arrived),
    ("payload and iCRC intact at the receiver", payload_intact),
    ("the balance of frames is exact at rest", balanced),
]
CHECKS = {
    1: [
        ("no frame of a lossless class was dropped", no_lossless_drop),
        ("sent - received on the wire is zero", nothing_missed),
        ("every priority group reached its XOFF threshold", xoff_reached),
        ("PFC was sent on both senders' ports, both classes", pfc_sent),
        ("every PFC frame arrived at its sender", pfc_arrived),
        ("the queues marked ECN, and every mark arrived", marks_arrived),
        ("the two classes were served by weight", served_by_weight),
        ("every message completed", messages_complete),
    ] + EVERYWHERE,
    2: [
        ("frames of the lossless classes were dropped", frames_lost),
        ("the switch dropped just what the endpoints miss", loss_is_what_is_missed),
        ("the senders had to send again", sent_again),
        ("no PFC frame was sent or received", no_pause),
    ] + EVERYWHERE,
    3: [
        ("no frame was dropped", no_drop),
        ("sent - received on the wire is zero", nothing_missed),
        ("no PFC frame was sent or received", no_pause),
        ("nothing was marked", no_mark),
        ("every message completed", messages_complete),
    ] + EVERYWHERE,
}


def record(act, world, result):
    """All that an act leaves, for reports: its checks and the figures behind them."""
    return {"act": act, "title": ACTS[act]["title"], "world": world, "checks": judge(act, result),
            "balance": result.balance, "switch": result.final, "senders": result.senders,
            "receiver": result.receiver}


def seen(acts):
    """A line for each act: its losses, its PAUSEs, its longest queue."""
    for act in acts:
        final = act["switch"]
        pauses = sum(p["tx_pause"] + p["rx_pause"] for p in final["pfc"])
        yield (f"act {act['act']}, {ACTS[act['act']]['short']}: "
               f"{count(sum(d['packets'] for d in final['drops']))} frames dropped, "
               f"{count(pauses)} PFC frames, queue up to "
               f"{kb(max(q['max_bytes'] for q in final['queues']))}")


def judge(act, result):
    out = []
    for name, check in CHECKS[act]:
        ok, figures = check(result)
        out.append({"check": name, "ok": bool(ok), "figures": figures})
    return out
