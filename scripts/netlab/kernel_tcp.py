# SPDX-License-Identifier: Apache-2.0
"""`scripts/compare tcp`: the kernel's Reno live, and the lab's NewReno, through the same port.

Nothing is judged: the kernel has RACK, tail loss probes and a proportional rate reduction, which
the model lacks, and its processes wait for the processor. The figures stand side by side.
"""
import json
import os
import statistics

from meter import Meter
from switch import Switch, pick
from world import Failed, QuickWorld, run, switch_name

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POLICY, SCENARIO = "conf/compare-tcp.yaml", "conf/lab/live-tcp.yaml"
WARM_S, END_S = 5, 20
SAMPLE_EVERY_S = 0.02
# Title, the kernel's tcp_ecn, the lab's ecn.
VARIANTS = (("Not-ECT, WRED drops", "0", "not-ect"), ("ECT(0), WRED marks", "1", "ect0"))
ROWS = (("goodput, Mb/s", "{:.1f}"), ("mean queue, bytes", "{:,.0f}"),
        ("frames marked per s", "{:.1f}"), ("frames dropped per s", "{:.1f}"),
        ("segments sent again per s", "{:.1f}"))


def in_lab(build, ecn):
    window = f"{WARM_S}s, {END_S}s"
    asked = [f"sum(goodput(tcp/*, {window}))", f"queue_mean(s1.p3.0, {window})",
             f"marks(s1.p3.0, {window})", f"drops(s1.p3.0, {window})",
             f"sum(retransmissions(tcp/*, {window}))"]
    done = run(os.path.join(build, "control/lab/weir-lab"), "run", os.path.join(ROOT, SCENARIO),
               "--json", "--quiet", "--set", f"flows[0].ecn={ecn}", "--set", "expect=[]",
               *(w for text in asked for w in ("--metric", text)), check=False, timeout=600)
    if done.returncode != 0:
        raise Failed(f"weir-lab ended with status {done.returncode}: {done.stderr.strip()}")
    found = {m["metric"]: m["value"] for m in json.loads(done.stdout)["metrics"]}
    values, seconds = [found[text] for text in asked], END_S - WARM_S
    return [values[0] / 1e6, values[1], *(v / seconds for v in values[2:])]


def in_kernel(programs, ecn, screen):
    with open(os.path.join(ROOT, POLICY)) as f:
        policy = f.read().replace("  name: compare\n", f"  name: {switch_name()}\n")
    with QuickWorld(3) as world:
        for i in (1, 2, 3):
            world.run(f"h{i}", "ip", "addr", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
            world.run(f"h{i}", "sysctl", "-qw", f"net.ipv4.tcp_ecn={ecn}")
        switch = Switch(world, programs, switch_name(), policy)
        servers = [world.spawn("h3", f"server{i}", "iperf3", "--forceflush", "-s", "-1", "-p",
                               str(5200 + i)).wait_line(f"Server listening on {5200 + i} (test #1)")
                   for i in (1, 2)]
        clients = [world.spawn(f"h{i}", f"client{i}", "iperf3", "-J", "-c", "10.0.0.3", "-p",
                               str(5200 + i), "-C", "reno", "-t", str(END_S), "-O", str(WARM_S))
                   for i in (1, 2)]
        with Meter(switch_name(), 1) as meter:
            start = meter.wait_for_data(["p1", "p2"])
            first, last, samples = meter.window(
                start + WARM_S, start + END_S, SAMPLE_EVERY_S,
                lambda now: screen.draw([f"  live: {now - start:4.1f} of {END_S} s"]))
        for p in clients:
            p.wait(END_S)
        ends = [json.loads(p.out())["end"] for p in clients]
        for p in servers:
            p.wait(5)
        if switch.stop() != 0:
            raise Failed("the switch lost count of a frame")
    seconds = last["t"] - first["t"]

    def grown(table, key, **match):
        return (pick(last[table], **match).get(key, 0) - pick(first[table], **match).get(key, 0)
                ) / seconds

    return [sum(e["sum_received"]["bits_per_second"] for e in ends) / 1e6,
            statistics.mean(s[("p3", 0)] for s in samples),
            grown("queues", "ecn_marked", port="p3", queue=0),
            sum(d["packets"] for d in last["drops"]) / seconds
            - sum(d["packets"] for d in first["drops"]) / seconds,
            sum(e["sum_sent"]["retransmits"] for e in ends) / END_S]


def compare(args, programs, screen):
    screen.say("tcp: two flows into 100 Mb/s, WRED 30/150 KB/5 %; shown, not judged")
    for title, kernel_ecn, lab_ecn in VARIANTS:
        here, there = in_kernel(programs, kernel_ecn, screen), in_lab(args.build, lab_ecn)
        screen.say(f"  {title:<32}{'Linux':>12}{'lab':>12}")
        for (name, form), a, b in zip(ROWS, here, there):
            screen.say(f"    {name:<30}{form.format(a):>12}{form.format(b):>12}")
