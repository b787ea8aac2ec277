# SPDX-License-Identifier: Apache-2.0
"""The same experiment live and in the lab, side by side. See `scripts/compare --help`.

Live: three endpoints and the switch in network namespaces, on AF_XDP ports, all of them slowed by
the time scale of the policy. Lab: the same policy file, the same emulated NIC, on virtual wires.
What is compared is measured over the same window of model time on both sides.
"""
import argparse
import json
import os
import re
import signal
import statistics
import sys

import kernel_tcp
from acts import time_scale_of
from meter import Meter
from play import model_time
from screen import Screen
from story import staged
from switch import Host, Programs, Switch, pick
from world import Failed, QuickWorld, run, switch_name

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = "control/lab/weir-lab"
RECEIVER, RECEIVER_IP = 3, "10.0.0.3"
RX_RING = "4096"
LAB_SEEDS = range(1, 6)
SAMPLE_EVERY_S = 0.02
AFTER_S = 3 # the senders outlast the window by this much, and wait for the rest so long at most
INTERRUPTED, MISUSED = 130, 2
TCP = "tcp"


class Measure:
    """A figure: its expression in the lab, how it is read live, and how far both may be apart."""

    def __init__(self, name, lab, live, percent=None, absolute=None, show="{:,.0f}"):
        self.name, self.lab, self.live = name, lab, live
        self.percent, self.absolute, self.show = percent, absolute, show

    def tolerance(self, lab):
        """The larger of a share of the lab's figure and a fixed amount."""
        return max((self.percent or 0) / 100 * abs(lab), self.absolute or 0)

    def tolerance_text(self, loose):
        parts = [f"{self.percent * loose:g}%"] if self.percent else []
        parts += [self.show.format(self.absolute * loose)] if self.absolute is not None else []
        return "+-" + " or ".join(parts)


class Window:
    """What was read live."""

    def __init__(self, first, last, samples):
        self.first, self.last, self.samples = first, last, samples
        self.seconds = last["t"] - first["t"]

    def grown(self, table, key, **match):
        a, b = (pick(s[table], **match).get(key, 0) for s in (self.first, self.last))
        return b - a

    def queue(self, port, queue):
        return statistics.mean(s[(port, queue)] for s in self.samples)

    def rate(self, port, cls):
        return self.grown("pgs", "rx_bytes", port=port, pg=cls) * 8 / self.seconds

    def share(self, port, cls, of):
        return 100 * self.rate(port, cls) / sum(self.rate(p, c) for p, c in of)

    def pauses(self, port, cls):
        return self.grown("pfc", "tx_pause", port=port, **{"class": cls}) / self.seconds / 1e3

    def paused(self, port, cls):
        us = self.grown("pfc", "tx_pause_duration_us", port=port, **{"class": cls})
        return us / 1e6 / self.seconds * 100

    def marked(self, port, queue):
        n = self.grown("queues", "tx_packets", port=port, queue=queue)
        return 100 * self.grown("queues", "ecn_marked", port=port, queue=queue) / max(n, 1)

    def drops(self):
        return sum(d["packets"] for d in self.last["drops"])


BOTH = [("p1", 3), ("p2", 3)]
APART = [("p1", 3), ("p2", 5)]


def per_ms(text):
    """A count of the lab as a rate: counts of both sides are read over windows of their own."""
    return lambda v, seconds: v(text) / seconds / 1e3


def share_of(host, others):
    return lambda v, _: 100 * v(f"frame_rate({host}, W)") / sum(
        v(f"frame_rate({h}, W)") for h in others)


def one(text, factor=1):
    return lambda v, _: v(text) * factor


EXPERIMENTS = {
    "equilibrium": {
        "title": "two senders of four connections each, 40G, DCQCN of the paper, 5/200 KB/1 %",
        "scenario": "conf/lab/live-equilibrium.yaml",
        "policy": "conf/compare-equilibrium.yaml",
        "warm": 20, "window": 40, # ms of model time: the shares are found slowly
        "every": ["--cc", "dcqcn", "--speed", "40G"],
        "hosts": {i: ["--class", "3", "--qps", "4", "--size", "64KiB", "--depth", "16"]
                  for i in (1, 2)},
        "measures": [
            Measure("mean queue, bytes", one("queue(s1.p3.3, W)"),
                    lambda w: w.queue("p3", 3), percent=20),
            Measure("frames out, Gb/s", one("frame_rate(s1.p3, W)", 1e-9),
                    lambda w: w.grown("queues", "tx_bytes", port="p3", queue=3) * 8
                    / w.seconds / 1e9, percent=2, show="{:.2f}"),
            Measure("share of sender 1, %", share_of("h1", ("h1", "h2")),
                    lambda w: w.share("p1", 3, BOTH), absolute=5, show="{:.1f}"),
            Measure("share of sender 2, %", share_of("h2", ("h1", "h2")),
                    lambda w: w.share("p2", 3, BOTH), absolute=5, show="{:.1f}"),
            Measure("frames marked, %", one("mark_share(s1.p3.3, W)", 100),
                    lambda w: w.marked("p3", 3), percent=25, show="{:.3f}"),
            Measure("PAUSE to sender 1 per ms", per_ms("pauses(s1.p1.3, W)"),
                    lambda w: w.pauses("p1", 3), absolute=0, show="{:.1f}"),
            Measure("PAUSE to sender 2 per ms", per_ms("pauses(s1.p2.3, W)"),
                    lambda w: w.pauses("p2", 3), absolute=0, show="{:.1f}"),
            Measure("frames dropped", one("drops()"), Window.drops, absolute=0),
        ],
    },
    "two-senders": {
        "title": "two senders at 25G, receiver at 10G, PFC only, class 5 favoured",
        "scenario": "conf/lab/live-two-senders.yaml",
        "policy": "conf/compare-two-senders.yaml",
        "warm": 5, "window": 20,
        "every": ["--burst", "200us"],
        "hosts": {
            1: ["--speed", "25G", "--class", "3", "--size", "640KB", "--post-every", "665us",
                "--depth", "128", "--mtu", "1024", "--window", "8192"],
            2: ["--speed", "25G", "--class", "5", "--size", "640KB", "--post-every", "994us",
                "--depth", "128", "--mtu", "1024", "--window", "8192"],
        },
        "receiver": ["--speed", "10G"],
        "measures": [
            Measure("mean queue of class 3, bytes", one("queue(s1.p3.3, W)"),
                    lambda w: w.queue("p3", 3), percent=10),
            Measure("mean queue of class 5, bytes", one("queue(s1.p3.5, W)"),
                    lambda w: w.queue("p3", 5), percent=10),
            Measure("share of class 3, %", share_of("h1", ("h1", "h2")),
                    lambda w: w.share("p1", 3, APART), absolute=2, show="{:.1f}"),
            Measure("share of class 5, %", share_of("h2", ("h1", "h2")),
                    lambda w: w.share("p2", 5, APART), absolute=2, show="{:.1f}"),
            Measure("PAUSE to sender 1 per ms", per_ms("pauses(s1.p1.3, W)"),
                    lambda w: w.pauses("p1", 3), percent=15, show="{:.1f}"),
            Measure("PAUSE to sender 2 per ms", per_ms("pauses(s1.p2.5, W)"),
                    lambda w: w.pauses("p2", 5), percent=15, show="{:.1f}"),
            Measure("frames dropped", one("drops()"), Window.drops, absolute=0),
        ],
    },
}


def options():
    p = argparse.ArgumentParser(
        prog="scripts/compare",
        description="Runs an experiment live, slowed by time_scale, and in the lab, and compares "
        "what both measured over the same window of model time.")
    p.add_argument("experiment", nargs="*", metavar="NAME",
                   help=f"{', '.join(EXPERIMENTS)}: both unless named; tcp: Linux and the lab, "
                   "shown and not judged")
    p.add_argument("--warm", type=float, metavar="MS",
                   help="model time before the window, in place of the experiment's")
    p.add_argument("--window", type=float, metavar="MS",
                   help="model time that is measured, in place of the experiment's")
    p.add_argument("--scale", type=int, metavar="S", help="time scale, in place of the policy's")
    p.add_argument("--loose", type=float, metavar="FACTOR", default=1,
                   help="makes every tolerance so many times wider, for short windows")
    p.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    p.add_argument("--keep-logs", metavar="DIR", help="keep what each program printed")
    p.add_argument("--no-setup", action="store_true", help="the machine and build/ are ready")
    p.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"),
                   help="where the programs are built (default build/)")
    args = p.parse_args()
    for name in args.experiment:
        if name not in (*EXPERIMENTS, TCP):
            p.error(f"there is no experiment {name}; there are "
                    f"{', '.join(EXPERIMENTS)} and {TCP}")
    for ms in (args.warm, args.window):
        if ms is not None and not 1 <= ms <= 10000:
            p.error("--warm and --window are from 1 to 10000 ms")
    if not args.loose >= 1:
        p.error("--loose is 1 or more")
    if args.scale is not None and not 1 <= args.scale <= 100000:
        p.error("--scale is from 1 to 100000")
    return args


# ---- in the lab


def window_of(args, experiment):
    """Its beginning and end, ms of model time since the senders began."""
    warm = args.warm or experiment["warm"]
    return warm, warm + (args.window or experiment["window"])


def in_window(text, window):
    return text.replace("W)", "{:g}ms, {:g}ms)".format(*window))


def in_lab(args, experiment):
    """Name of the measure -> value, the mean over a few seeds."""
    runs = [in_lab_once(args, experiment, seed) for seed in LAB_SEEDS]
    return {name: statistics.mean(r[name] for r in runs) for name in runs[0]}


def in_lab_once(args, experiment, seed):
    window = window_of(args, experiment)
    asked = []

    def collect(text):
        asked.append(in_window(text, window))
        return 1

    for m in experiment["measures"]:
        m.lab(collect, 1)
    command = [os.path.join(args.build, LAB), "run", os.path.join(ROOT, experiment["scenario"]),
               "--json", "--quiet", "--seed", str(seed), "--set", f"duration={window[1]:g}ms",
               "--set", "expect=[]"]
    done = run(*command, *(w for text in asked for w in ("--metric", text)), check=False,
               timeout=600)
    if done.returncode != 0:
        raise Failed(f"weir-lab ended with status {done.returncode}: {done.stderr.strip()}")
    values = {m["metric"]: m["value"] for m in json.loads(done.stdout)["metrics"]}
    seconds = (window[1] - window[0]) / 1e3
    return {m.name: m.lab(lambda text: values[in_window(text, window)], seconds)
            for m in experiment["measures"]}


# ---- live


def live(args, programs, name, screen):
    """The time scale, and the window that was measured."""
    experiment = EXPERIMENTS[name]
    with open(os.path.join(ROOT, experiment["policy"])) as f:
        policy = f.read()
    scale = args.scale or time_scale_of(policy)
    policy = re.sub(r"^  time_scale: \d+$", f"  time_scale: {scale}", policy, flags=re.MULTILINE)
    policy = policy.replace("  name: compare\n", f"  name: {switch_name()}\n")
    window = window_of(args, experiment)
    with staged(QuickWorld(RECEIVER), args.keep_logs, name) as world:
        Switch(world, programs, switch_name(), policy)
        hosts = start_hosts(world, programs, experiment, scale, window[1])
        found = measure(scale, window, screen)
        for h in hosts:
            if not h.process.running():
                raise Failed(f"{h.name} ended before its time\n{h.process.said()}")
        return scale, found


def start_hosts(world, programs, experiment, scale, end_ms):
    every = ["--time-scale", str(scale), "--rx-ring", RX_RING, *experiment["every"]]
    receiver = Host(world, programs, RECEIVER, "receiver", "--listen", *every,
                    *experiment.get("receiver", [])).ready()
    senders = [Host(world, programs, i, f"sender{i}", "--to", RECEIVER_IP, "--time",
                    model_time(end_ms / 1e3 * scale + AFTER_S, scale), "--drain", f"{AFTER_S}s",
                    *every, *words)
               for i, words in experiment["hosts"].items()]
    for s in senders:
        s.ready()
    return [receiver, *senders]


def measure(scale, window, screen):
    with Meter(switch_name(), scale) as meter:
        start = meter.wait_for_data(["p1", "p2"])

        def tick(now):
            screen.draw([f"  live: {(now - start) * 1e3:5.1f} of {window[1]:g} ms of model time"])

        return Window(*meter.window(start + window[0] / 1e3, start + window[1] / 1e3,
                                    SAMPLE_EVERY_S, tick))


# ---- side by side


def judge(loose, experiment, lab, found):
    rows = []
    for m in experiment["measures"]:
        here, there = m.live(found), lab[m.name]
        ok = abs(here - there) <= loose * m.tolerance(there) + 1e-9
        rows.append({"measure": m.name, "live": here, "lab": there, "ok": bool(ok),
                     "tolerance": loose * m.tolerance(there),
                     "texts": [m.show.format(here), m.show.format(there), m.tolerance_text(loose)]})
    return rows


def show(screen, rows):
    screen.say(f"    {'measure':<32}{'live':>12}{'lab':>12}  tolerance")
    for r in rows:
        here, there, tolerance = r["texts"]
        mark = "✓" if r["ok"] else "✗"
        screen.say(f"  {mark} {r['measure']:<32}{here:>12}{there:>12}  {tolerance}")


def compare(args, programs, name, screen):
    experiment = EXPERIMENTS[name]
    screen.say(f"{name}: {experiment['title']}")
    lab = in_lab(args, experiment)
    scale, found = live(args, programs, name, screen)
    rows = judge(args.loose, experiment, lab, found)
    screen.say("  window {:g} to {:g} ms of model time; ".format(*window_of(args, experiment))
               + f"live at time scale {scale}, {len(found.samples):,} samples of the queues; "
               f"lab: mean of {len(LAB_SEEDS)} seeds")
    show(screen, rows)
    return {"experiment": name, "time_scale": scale, "samples": len(found.samples), "rows": rows}


def on_signal(*_):
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    args = options()
    screen = Screen()
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, on_signal)
    if os.geteuid() != 0:
        print("compare: live ports need root", file=sys.stderr)
        return MISUSED
    try:
        if args.keep_logs:
            os.makedirs(args.keep_logs, exist_ok=True)
        programs = Programs(args.build)
        if TCP in args.experiment:
            kernel_tcp.compare(args, programs, screen)
        found = [compare(args, programs, name, screen)
                 for name in args.experiment or list(EXPERIMENTS) if name != TCP]
    except (Failed, OSError) as e:
        print(f"compare: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("compare: stopped; everything it made is removed", file=sys.stderr)
        return INTERRUPTED
    rows = [r for f in found for r in f["rows"]]
    held = sum(r["ok"] for r in rows)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"ok": held == len(rows), "experiments": found}, f, indent=1)
    if found:
        screen.say(f"\n{held} of {len(rows)} figures agree")
    return 0 if held == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
