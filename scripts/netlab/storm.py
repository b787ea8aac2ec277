# SPDX-License-Identifier: Apache-2.0
"""scripts/run --storm: a receiver goes mad and pauses for ever, without a watchdog and with one.

h1 sends to h2 and to h3, in the lossless class 3 and in class 0. What goes to h2 has nothing to do
with h3, and shares the port p1, and its buffer, with what does.
"""
import json
import time

from acts import at_rest
from meter import Meter
from screen import ALARM, BOLD, DIM, YELLOW
from story import Story, staged
from switch import Host, Switch, pick
from table import aligned, count, kb, scene
from world import Failed, QuickWorld

SPEED = "80M"
SAMPLE_EVERY_S = 0.25
BEFORE_S, STORM_S, AFTER_S = 3, 4, 3
LINE_EVERY = 3 # samples
OVER_S = 0.5 # without a PAUSE: what h3 said last is over
SETTLE_S = 1 # of the storm, until the buffer is full
DRAIN_S = 15
KEPT = 0.95 # of its rate: what a flow counts as untouched
OTHER_KEPT, VICTIM_KEPT = "class 0 keeps its rate", "class 3 to the other receiver keeps its rate"
RATES = {OTHER_KEPT, VICTIM_KEPT} # a busy machine slows the sender in one half of an act
DETECT_MS, RESTORE_MS = 100, 400
# A PAUSE lasts 210 ms and is said again after half of that: a stalled program ends no storm.
STORM = ["--storm-at", f"{BEFORE_S}s", "--for", f"{STORM_S}s", "--quanta", "32768", "--class", "3"]
SENDER = ["--to", "10.0.0.2,10.0.0.3", "--class", "3,0", "--qps", "4", "--rate", "12M", "--depth",
          "16", "--window", "1024", "--rto", "300ms", "--time",
          f"{BEFORE_S + STORM_S + AFTER_S}s", "--drain", f"{DRAIN_S}s"]
HOST = ["--speed", SPEED, "--rx-ring", "4096"]

# conf/storm.yaml for a slow line: thresholds are reached within a fraction of a second.
EDITS = [("speed: 1G", f"speed: {SPEED}"), ("size: 12MB", "size: 1MB"),
         ("kmin: 150KB, kmax: 1500KB", "kmin: 50KB, kmax: 400KB"),
         ("    pfc:\n", "    pfc:\n      quanta: 8192\n"),
         ("restore: 100ms ", f"restore: {RESTORE_MS}ms ")]
TITLES = {1: "a receiver pauses for ever, without a watchdog",
          2: "the same with a PFC watchdog"}


def policy_of(act, text, name):
    """The sample policy, slowed down; without a watchdog in the first act."""
    for old, new in [("  name: sw1\n", f"  name: {name}\n"), *EDITS]:
        if text.count(old) != 1:
            raise Failed(f"conf/storm.yaml holds {old.strip()!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    if act == 1:
        text = text.replace(", profile: roce}", ", profile: roce, watchdog: off}")
    return text


PICTURE = """
  h1 --80M-- p1 [      ] p2 --80M-- h2   a healthy receiver
                [ weir ]
                [      ] p3 --80M-- h3   pauses class 3 for 4 s
"""
SHORT = {1: "no watchdog", 2: "watchdog"}
TEXTS = {
    1: [f"h1 sends to h2 and h3. After {BEFORE_S} s h3 begins to pause its port, for {STORM_S} s.",
        "h2 stays healthy. But the frames for h3 fill the buffer that both flows share.",
        "Watch `class 3 to h2`. The rates are real Mb/s; nothing is stretched here."],
    2: [f"The same traffic and the same storm of {STORM_S} s. Now p3 has a PFC watchdog.",
        f"A pause of {DETECT_MS} ms without an end is a storm: the watchdog drops what waits.",
        "Watch `class 3 to h2` keep its rate while the watchdog says STORMED."],
}
FLOWS = (("p2", 3), ("p3", 3), ("p2", 0)) # of the table: port and class
WIDTHS = (8, 14, 14, 14, 8, 8, 13)
HEADS = (("  real", "class 3 to h2", "class 3 to h3", "class 0 to h2", "p1", "h3", "watchdog"),
         ("  time", "Mb/s", "Mb/s", "Mb/s", "pauses", "pauses", "of p3"))


class Result:
    """What an act left."""

    def __init__(self):
        self.samples = [] # {"t": seconds on the wall, "queues", "pfc", "watchdog"}
        self.storm = None # when it was first seen and when it was over, on the same clock
        self.mid = None # all that is known in the middle of the storm
        self.final = self.balance = self.status = None
        self.sender = None

    def at(self, t):
        """The first sample at or after t."""
        return next((s for s in self.samples if s["t"] >= t), self.samples[-1])

    def sent(self, port, cls, a, b):
        """Bytes a second that left at a port in a class, between two samples."""
        one, two = (pick(s["queues"], port=port, queue=cls)["tx_bytes"] for s in (a, b))
        return (two - one) / max(b["t"] - a["t"], 1e-9)

    def kept(self, port, cls):
        """The rate during all of the storm, as a share of the rate before it."""
        before = self.sent(port, cls, self.at(self.storm[0] - BEFORE_S + 1), self.at(self.storm[0]))
        during = self.sent(port, cls, self.at(self.storm[0]), self.at(self.storm[1]))
        return during / max(before, 1e-9)

    def dog(self, sample=None):
        return pick((sample or self.final)["watchdog"], port="p3", **{"class": 3})

    def cause(self):
        """Why p1 paused h1 in the middle of the storm."""
        return pick(self.mid["causes"], port="p1", **{"class": 3})


# ---- checks: each returns (holds, figures)


def percent(r, port, cls):
    share = r.kept(port, cls)
    return share, f"{share:.1%} of its rate before the storm"


def stands_still(r):
    a, b = r.at(r.storm[0] + SETTLE_S), r.at(r.storm[1] - 2 * SAMPLE_EVERY_S)
    rates = [r.sent(p, 3, a, b) for p in ("p1", "p2", "p3")]
    return (b["t"] - a["t"] > 1 and not any(rates),
            f"0 B at p1, p2 and p3 in {b['t'] - a['t']:.1f} s" if not any(rates)
            else f"{[kb(x) for x in rates]} a second")


def cause_is_named(r):
    row = r.cause()
    return (row.get("cause_port") == "p3" and row["paused"] and row["ends"] == "peer",
            f"{kb(row.get('held_bytes', 0))} of p1 wait at {row.get('cause_port')}; the chain "
            f"{' '.join(row.get('chain', []))} ends at a {row.get('ends')}")


def other_class_kept(r):
    share, text = percent(r, "p2", 0)
    return share >= KEPT, text


def victim_kept(r):
    share, text = percent(r, "p2", 3)
    return share >= KEPT, text


def no_lossless_drop(r):
    n = sum(d["packets"] for d in r.final["drops"] if d["lossless"])
    return n == 0, f"{count(n)} drops"


def one_storm(r):
    d = r.dog()
    measured, most = d["last_measured_us"] / 1e3, DETECT_MS + r.final["gap_ms"]
    return (d["detected"] == d["restored"] == 1 and DETECT_MS <= measured <= most,
            f"{d['detected']} found after {measured:.1f} ms ({DETECT_MS} .. {most:.1f}), "
            f"{d['restored']} restored after {d['longest_storm_us'] / 1e6:.2f} s")


def only_the_watchdog_dropped(r):
    by = {}
    for d in r.final["drops"]:
        by[d["reason"]] = by.get(d["reason"], 0) + d["packets"]
    n = by.pop("watchdog", 0)
    dog = r.dog()
    return (n == dog["tx_dropped"] + dog["rx_dropped"] > 0 and not by,
            f"{count(n)} by the watchdog, {count(sum(by.values()))} else")


def silent(r):
    n = pick(r.final["pfc"], port="p3", **{"class": 3})["tx_pause"]
    return n == 0, f"{count(n)} frames"


def nobody_paused(r):
    n = sum(p["tx_pause_duration_us"] for p in r.final["pfc"])
    return n <= DETECT_MS * 1e3, f"senders were paused for {n / 1e3:.1f} ms"


def goes_on(r):
    """After the storm the flow to the receiver has its rate again."""
    end = r.samples[-1]
    before = r.sent("p3", 3, r.at(r.storm[0] - 1.5), r.at(r.storm[0]))
    after = r.sent("p3", 3, r.at(r.storm[1] + RESTORE_MS / 1e3 + 0.5), end)
    return after > before / 2, f"{after * 8 / 1e6:.1f} Mb/s, before {before * 8 / 1e6:.1f}"


def messages_complete(r):
    posted, done = r.sender["messages_posted"], r.sender["messages_completed"]
    return posted == done > 0 and not r.sender["error"], f"{count(done)} of {count(posted)}"


def balanced(r):
    return at_rest(r.balance, r.status)


EVERYWHERE = [
    (OTHER_KEPT, other_class_kept),
    ("no frame of a lossless class was lost unasked", no_lossless_drop),
    ("the receiver is served again afterwards", goes_on),
    ("every message completed in the end", messages_complete),
    ("the balance of frames is exact at rest", balanced),
]
CHECKS = {
    1: [("class 3 stands still on all ports", stands_still),
        ("the switch says why", cause_is_named)] + EVERYWHERE,
    2: [("class 3 to the other receiver keeps its rate", victim_kept),
        ("one storm was found in time, and restored", one_storm),
        ("only the watchdog dropped, what it counts", only_the_watchdog_dropped),
        ("no PFC was sent to the storming peer", silent),
        ("no sender was paused once the storm was found", nobody_paused)] + EVERYWHERE,
}


class Narrator:
    """Shows the samples of an act, and says what begins and what is over."""

    def __init__(self, screen, act):
        self.screen, self.act = screen, act
        self.samples = [] # with the seconds since the act began
        self.said = set()
        self.paused_at = None # when h3 paused last

    def head(self):
        for line in HEADS:
            self.screen.row([(c, BOLD) for c in aligned(line, WIDTHS, 1)])

    def take(self, r, t):
        """The latest sample of the act."""
        self.samples.append((t, r.samples[-1]))
        self.happened(r, t)
        if len(self.samples) > LINE_EVERY and len(self.samples) % LINE_EVERY == 1:
            self.line(r, *self.samples[-1 - LINE_EVERY], *self.samples[-1])
        self.screen.status(f"  act {self.act} of {len(TITLES)}, {t:.0f} of "
                           f"{BEFORE_S + STORM_S + AFTER_S} s")

    def happened(self, r, t):
        dog, (_, before) = r.dog(r.samples[-1]), self.samples[max(len(self.samples) - 2, 0)]
        if grew(before, r.samples[-1], "p3", "rx_pause"):
            self.paused_at = t
            self.say("storm", t, "h3 begins to pause class 3 at p3, and does not stop.", ALARM)
        if grew(before, r.samples[-1], "p1", "tx_pause_duration_us"):
            self.say("p1", t, "the buffer is full of frames for h3, so p1 pauses h1. h1 can now "
                     "send class 3 to nobody, not to h2 either." if self.act == 1 else
                     "p1 pauses h1 for a moment.", YELLOW)
        if dog.get("detected"):
            self.say("dog", t, f"the watchdog has found the storm after "
                     f"{dog['last_measured_us'] / 1e3:.1f} ms. It drops the frames for h3 and "
                     "ignores its pauses.", ALARM)
        if dog.get("restored"):
            self.say("over", t, "the storm is over. The watchdog has restored class 3 of p3, "
                     f"after {count(dog['tx_dropped'] + dog['rx_dropped'])} dropped frames.")
        if self.act == 1 and self.paused_at is not None and t > self.paused_at + OVER_S:
            self.say("over", t, "h3 pauses no longer. Class 3 flows again.")

    def say(self, what, t, text, colour=None):
        """Each sentence once."""
        if what not in self.said:
            self.said.add(what)
            self.screen.say(f"  {t:4.1f} s: {text}", colour, indent=10)

    def line(self, r, t0, a, t, b):
        """What happened between two samples."""
        rates = [r.sent(p, c, a, b) * 8 / 1e6 for p, c in FLOWS]
        still = [not x and t < BEFORE_S + STORM_S + AFTER_S for x in rates]
        texts = [f"STILL {x:.1f}" if s else f"{x:.1f}" for x, s in zip(rates, still)]
        p1, h3 = (grew(a, b, p, key) for p, key in (("p1", "tx_pause_duration_us"),
                                                    ("p3", "rx_pause")))
        dog = r.dog(b).get("status", "none")
        stormed = dog == "stormed"
        cells = aligned((f"  {t:4.1f} s", *texts, "yes" if p1 else "-", "yes" if h3 else "-",
                         dog.upper() if stormed else dog), WIDTHS, 1)
        colours = [DIM, *(ALARM if s else None for s in still), YELLOW if p1 else None,
                   ALARM if h3 else None, ALARM if stormed else None]
        self.screen.row(list(zip(cells, colours)))


def grew(a, b, port, key):
    before, now = (pick(s["pfc"], port=port, **{"class": 3})[key] for s in (a, b))
    return now > before


class StormPlay(Story):
    def act(self, number):
        """Returns the record of the act, its checks included."""
        scene(self.screen, number, len(TITLES), TITLES[number], PICTURE, TEXTS[number])
        with staged(QuickWorld(3), self.logs, number) as world:
            r = self.results[number] = self.run(world, number)
        return {"act": number, "title": TITLES[number], "world": "live",
                "checks": self.judge(CHECKS[number], r),
                "balance": r.balance, "switch": r.final, "sender": r.sender}

    def seen(self, _):
        """A line for each act, and a line about both."""
        for number, r in self.results.items():
            dog = r.dog()
            end = (f"{count(dog['tx_dropped'] + dog['rx_dropped'])} frames for h3 dropped"
                   if number == 2 else
                   f"{r.cause().get('cause_port', 'no port')} named as the cause")
            yield (f"act {number}, {SHORT[number]}: class 3 to h2 kept {r.kept('p2', 3):.0%} "
                   f"of its rate; {end}")
        kept = " and ".join(f"{r.kept('p2', 0):.0%}" for r in self.results.values())
        yield f"Class 0 to h2 kept {kept}: PFC pauses one class, not the link."

    def run(self, world, number):
        r = Result()
        switch = Switch(world, self.programs, self.name,
                        policy_of(number, self.policy, self.name))
        listeners = [Host(world, self.programs, 2, "receiver", "--listen", *HOST).ready()]
        sender = Host(world, self.programs, 1, "sender", *SENDER, *HOST).ready()
        # It connects as soon as h3 is there, and the time until the storm begins with h3.
        listeners.append(Host(world, self.programs, 3, "storm", "--listen", *STORM, *HOST).ready())
        self.watch(switch, sender, r, Narrator(self.screen, number))
        self.finish(switch, sender, listeners, r)
        if number == 2:
            self.tell(switch, "show events",
                      [line for line in r.final["events"] if " pfc-storm" in line])
        return r

    def watch(self, switch, sender, r, narrator):
        start = time.monotonic()
        limit = start + BEFORE_S + STORM_S + AFTER_S + DRAIN_S
        narrator.head()
        with Meter(switch.name, 1) as meter:
            while sender.process.running() and time.monotonic() < limit:
                s = {"t": time.monotonic()}
                for what in ("queues", "pfc", "watchdog"):
                    s.update(meter.show(what))
                r.samples.append(s)
                narrator.take(r, s["t"] - start)
                self.look(switch, r, s)
                time.sleep(SAMPLE_EVERY_S)
        sender.process.wait(1)

    def look(self, switch, r, s):
        """Notes when the storm begins and ends, and shows what an operator sees in its middle."""
        mad = pick(s["pfc"], port="p3", **{"class": 3})["rx_pause"] > 0
        if mad and r.storm is None:
            r.storm = (s["t"], s["t"] + STORM_S - 2 * SAMPLE_EVERY_S)
        if mad and r.mid is None and s["t"] > r.storm[0] + STORM_S / 2:
            r.mid = switch.show("causes")
            words = "show pfc --why"
            self.tell(switch, words, switch.ctl(*words.split()).rstrip().splitlines())

    def finish(self, switch, sender, listeners, r):
        time.sleep(0.5)
        r.balance = switch.quiesce()
        r.final = {}
        for what in ("ports", "queues", "pfc", "drops", "watchdog", "causes", "workers"):
            r.final.update(switch.show(what))
        r.final["gap_ms"] = max(w["gap_max_ns"] for w in r.final["workers"]) / 1e6
        r.final["events"] = switch.ctl("show", "events").splitlines()
        for h in listeners:
            h.process.stop()
        r.sender = sender.report()
        r.status = switch.stop()
        if r.storm is None or r.mid is None:
            raise Failed(f"the storm was not seen: {json.dumps(r.final['pfc'])}")
