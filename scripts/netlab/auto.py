# SPDX-License-Identifier: Apache-2.0
"""scripts/run --auto: the ECN thresholds of a queue follow a workload that changes twice.

The switch begins with static thresholds. A reload gives class 3 `ecn: auto`. Incasts, then long
flows, then incasts again go to one port. Software cannot send 25 Gb/s, so all programs live SCALE
times slower: the crowded port of 10 Gb/s moves 100 Mb/s, and thresholds, DCQCN and windows are
those of 10 Gb/s (docs/time-scale.md).
"""
import time

from acts import at_rest
from meter import Meter
from play import model_time
from screen import BOLD, DIM, GREEN
from story import Story, staged
from switch import Host, Switch, pick, quiet
from table import aligned, count, kb, scene
from world import Failed, QuickWorld

SCALE, PORT, RECEIVER = 100, "p9", 9
SPEED = {**{i: "25G" for i in range(1, RECEIVER)}, RECEIVER: "10G"}
INCAST, LONG = "incast", "long flows"
PHASES = (INCAST, LONG, INCAST)
# What each host does.
WORKLOADS = {
    INCAST: {**{i: ["--qps", "8", "--size", "32KiB", "--depth", "1", "--post-every", "2ms"]
                for i in (1, 2, 3)},
             4: ["--qps", "1", "--size", "64KiB", "--depth", "16"]},
    LONG: {**{i: ["--qps", "3", "--size", "64KiB", "--depth", "16"] for i in (5, 6, 7)},
           8: ["--qps", "1", "--size", "4KiB", "--depth", "4", "--post-every", "50us"]},
}
# Real seconds. A phase ends when its thresholds have stood for STOOD_S. On a busy machine windows
# differ by chance, which makes the rule wait (docs/auto-ecn.md, Another workload).
STATIC_S, SHORTEST_S, LONGEST_S, STOOD_S, DRAIN_S, SAMPLE_S, ROW_S = 6, 20, 120, 8, 10, 0.1, 4
STANDING = ("model", "settled")
MOVES = ("mode", "kmin_bytes", "kmax_bytes", "pmax_percent")
SHORTER = 0.5 # p99 of the delay of long flows, of that with the thresholds of the incasts

NAME, ECN = "  name: sw1\n", "ecn: auto\n"
STATIC = "wred: {ecn: on, kmin: 3044B, kmax: 50KB, pmax: 1%}\n" # those of the mode `start`

TITLES = {1: "the thresholds follow a workload that changes twice"}
PICTURE = """
  h1, h2, h3   rounds of 24 messages      ---- p1 to p3 [      ]
  h4           a long flow beside them    ---- p4       [ weir ] p9 ---- h9
  h5, h6, h7   nine long flows            ---- p5 to p7 [      ]
  h8           short messages beside them ---- p8       [      ]
"""
TEXTS = ["h1 to h8 have links of 25 Gb/s, h9 has 10 Gb/s. All hosts have DCQCN.",
         "h1 to h4 send to h9 first, then h5 to h8, then h1 to h4 again.",
         f"Class 3 of the switch has static thresholds. After {STATIC_S} s a reload gives it "
         "`ecn: auto`.",
         "With a low kmin, each incast slows the long flow down, and the link is idle.",
         "With a high kmin, short messages wait behind the queue of the long flows.",
         f"Software cannot send 25 Gb/s. So one second of the model takes {SCALE} s here. All "
         "times and rates are those of the model.",
         "`use`, `marked` and `p99` (time in the switch) are those of the last window of 20 ms."]
WIDTHS = (10, 11, 9, 10, 10, 8, 9, 9)
STATE = ("  PORT", "QUEUE", "MODE", "MODEL", "KMIN", "KMAX", "PMAX", "SINCE", "CHANGES")
STATE_WIDTHS = (7, 7, 9, 13, 9, 9, 7, 9, 9)
FILE = "auto-ecn.yaml"
HEADS = ("   model", "workload", "mode", "kmin", "kmax", "use", "marked", "p99")


def policy_of(text, name, ecn):
    """The sample policy, slowed down; ecn: the key of class 3."""
    for old, new in ((NAME, f"  name: {name}\n  time_scale: {SCALE}\n"), (ECN, ecn)):
        if text.count(old) != 1:
            raise Failed(f"conf/auto-ecn.yaml holds {old.strip()!r} {text.count(old)} times, not "
                         "once")
        text = text.replace(old, new)
    return text


class Result:
    """What the act left."""

    def __init__(self):
        self.phases = [] # {"workload", "rows": of `show ecn auto`, each with its "t" in model ms}
        self.events = self.final = self.balance = self.status = None
        self.hosts = []

    def add(self, row):
        """moved: other thresholds, or another mode, than in the row before."""
        before = next((p["rows"][-1] for p in reversed(self.phases) if p["rows"]), row)
        row["moved"] = any(row[k] != before[k] for k in MOVES)
        self.phases[-1]["rows"].append(row)

    def rows(self, n):
        return self.phases[n]["rows"]

    def changes(self, n):
        """Of thresholds, in a phase."""
        before = self.rows(n - 1)[-1]["threshold_changes"] if n else 0
        return self.rows(n)[-1]["threshold_changes"] - before

    def reasons(self, n):
        return list(dict.fromkeys(r["reason"] for r in self.rows(n) if r["moved"]))

    def kmin(self, n):
        return self.rows(n)[-1]["kmin_bytes"]

    def delays(self, n):
        """p99 in a phase: of the window before the first change, and of the last window."""
        moved = [r["delay_p99_us"] for r in self.rows(n) if r["moved"]]
        return moved[0] if moved else 0, self.rows(n)[-1]["delay_p99_us"]


# ---- checks: each returns (holds, figures)


def all_follow(r):
    n = [r.changes(i) for i in range(len(r.phases))]
    return (len(n) == len(PHASES) and all(n) and all(r.reasons(i) for i in range(len(n))),
            f"{', '.join(map(str, n))} changes")


def incast_higher(r):
    kmin = [r.kmin(i) for i in range(len(r.phases))]
    return kmin[1] < min(kmin[0], kmin[2]), ", ".join(kb_of(k) for k in kmin)


def delay_shorter(r):
    old, new = r.delays(1)
    return 0 < new <= SHORTER * old, f"p99 {old} us, then {new} us"


def explained(r):
    """Each event has features and a reason."""
    bad = [e for e in r.events if "p99" not in e["features"] or not e["reason"]]
    return not bad and len(r.events) >= len(PHASES), f"{count(len(r.events))} events"


def within_rails(r):
    rows = [row for p in r.phases for row in p["rows"]]
    low, high = rows[0]["floor_bytes"], rows[0]["ceiling_bytes"]
    return (all(low <= row["kmin_bytes"] <= high for row in rows),
            f"floor {kb_of(low)}, ceiling {kb_of(high)}")


def no_drop(r):
    n = sum(d["packets"] for d in r.final["drops"] if d["lossless"])
    return n == 0, f"{count(n)} drops"


def hosts_complete(r):
    failed = [h["error"] or "messages are missing" for h in r.hosts
              if h["error"] or h["messages_completed"] != h["messages_posted"]]
    return not failed, failed[0] if failed else f"{count(len(r.hosts))} senders"


def balanced(r):
    return at_rest(r.balance, r.status)


CHECKS = [("each workload changed the thresholds", all_follow),
          ("incasts have a higher kmin than long flows", incast_higher),
          ("the low kmin shortens the delay of long flows", delay_shorter),
          ("each change has features and a reason", explained),
          ("kmin stays between floor and ceiling", within_rails),
          ("no frame of a lossless class was dropped", no_drop),
          ("every message completed", hosts_complete),
          ("the balance of frames is exact at rest", balanced)]


def kb_of(n):
    return f"{n / 1000:.1f} KB" if n < 10000 else kb(n)


class AutoPlay(Story):
    def act(self, n):
        """Returns the record of the act, its checks included."""
        scene(self.screen, n, len(TITLES), TITLES[n], PICTURE, TEXTS)
        with staged(QuickWorld(RECEIVER), self.logs, n) as world:
            r = self.results[n] = self.run(world)
        return {"act": n, "title": TITLES[n], "world": "live", "checks": self.judge(CHECKS, r),
                "phases": r.phases, "events": r.events, "switch": r.final, "balance": r.balance,
                "hosts": r.hosts, "status": r.status}

    def run(self, world):
        r = Result()
        switch = Switch(world, self.programs, self.name, policy_of(self.policy, self.name, STATIC))
        receiver = self.host(world, RECEIVER, "receiver", "--listen")
        senders = self.senders(world, 0)
        with Meter(switch.name, SCALE) as meter:
            start = meter.wait_for_data([f"p{i}" for i in WORKLOADS[INCAST]])
            time.sleep(STATIC_S)
            self.auto_on(switch)
            for n in range(len(PHASES)):
                self.watch(meter, start, r, n)
                before = senders
                senders = self.senders(world, n + 1) if n + 1 < len(PHASES) else []
                for s in before:
                    s.process.stop()
                    r.hosts.append(s.report())
        self.finish(switch, receiver, r)
        return r

    def host(self, world, i, name, *words):
        return Host(world, self.programs, i, name, *words, "--cc", "dcqcn", "--speed", SPEED[i],
                    "--rx-ring", "4096", "--time-scale", str(SCALE)).ready()

    def senders(self, world, n):
        """Starts those of a phase."""
        return [self.host(world, i, f"phase{n + 1}-sender{i}", "--to", f"10.0.0.{RECEIVER}",
                          "--class", "3", "--time", model_time(3 * LONGEST_S, SCALE), "--drain",
                          f"{DRAIN_S}s", *words)
                for i, words in WORKLOADS[PHASES[n]].items()]

    def auto_on(self, switch):
        with open(switch.path, "w") as f:
            f.write(quiet(policy_of(self.policy, self.name, ECN)))
        said = switch.ctl("reload", switch.path).replace(switch.path, FILE)
        self.tell(switch, f"reload {FILE}", said.splitlines())
        self.head()

    def head(self):
        self.screen.row([(c, BOLD) for c in aligned(HEADS, WIDTHS, 3)])

    def watch(self, meter, start, r, n):
        """Samples until the thresholds of the phase stand, or LONGEST_S."""
        r.phases.append({"workload": PHASES[n], "rows": []})
        begin = row_at = time.monotonic()
        while (t := time.monotonic() - begin) < LONGEST_S:
            row = pick(meter.show("ecn-auto")["ecn_auto"], port=PORT, queue=3)
            row["t"] = (meter.model_s() - start) * 1e3
            r.add(row)
            if row["moved"] or time.monotonic() >= row_at:
                self.line(PHASES[n], row)
                row_at = time.monotonic() + ROW_S
            if t >= SHORTEST_S and self.stands(row, t):
                break
            self.screen.status(f"  {PHASES[n]}, {n + 1} of {len(PHASES)}: {t:.0f} s")
            time.sleep(SAMPLE_S)

    @staticmethod
    def stands(row, t):
        stood_s = row["since_us"] * SCALE / 1e6
        return row["mode"] in STANDING and STOOD_S <= stood_s < t

    def line(self, workload, row):
        cells = aligned((f"  {row['t']:4.0f} ms", workload, row["mode"], kb_of(row["kmin_bytes"]),
                         kb_of(row["kmax_bytes"]), f"{row['utilisation_percent']:.0f} %",
                         f"{row['marks_percent']:.1f} %", f"{row['delay_p99_us']} us"), WIDTHS, 3)
        colours = [DIM, None, None, *[GREEN if row["moved"] else None] * 2]
        self.screen.row(list(zip(cells, colours + [None] * 3)))
        if row["moved"]:
            model = f": {row['model']}" if row["model"] else ""
            self.screen.say(f"           why: {row['reason']}{model}", indent=16)

    def finish(self, switch, receiver, r):
        self.show_state(switch, r.rows(-1)[-1])
        self.tell(switch, "show events", [line for line in switch.ctl("show", "events").splitlines()
                                          if " ecn-auto" in line])
        r.events = [e for e in switch.show("events")["events"] if e["event"] == "ecn-auto"]
        time.sleep(0.3)
        r.balance = switch.quiesce()
        r.final = switch.show("drops")
        receiver.process.stop()
        r.status = switch.stop()

    def show_state(self, switch, row):
        self.tell(switch, f"show ecn auto {PORT}        (some of its columns)", [])
        texts = (f"  {row['port']}", row["queue"], row["mode"], row["model"] or "-",
                 kb_of(row["kmin_bytes"]), kb_of(row["kmax_bytes"]), f"{row['pmax_percent']:g} %",
                 f"{row['since_us'] / 1e3:.0f} ms", row["threshold_changes"])
        self.screen.row([(c, BOLD) for c in aligned(STATE, STATE_WIDTHS, 4)])
        self.screen.row(aligned(texts, STATE_WIDTHS, 4))
        self.screen.say(f"  why: {row['reason']}")

    def seen(self, _):
        """The thresholds of each workload, and what they did."""
        r, = self.results.values()
        for i, p in enumerate(r.phases):
            yield (f"{p['workload']}: kmin {kb_of(r.kmin(i))}; "
                   f"{r.reasons(i)[-1] if r.reasons(i) else 'nothing has changed'}")
        old, new = r.delays(1)
        yield (f"The switch followed the workload by itself. The p99 delay of the long flows was "
               f"{old} us before, and {new} us after.")
