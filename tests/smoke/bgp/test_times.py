#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How fast traffic leaves a path that is gone, with BFD of 3 x 50 ms, whether such BFD holds under
load, and how fast routes arrive.

A BFD session that goes down without a cut is a flap. Each flap must lie beside a gap in which a
process of this machine did not run; a flap without a gap fails.

usage: test_times.py BUILD_DIR [CUTS]
"""
import json
import math
import os
import re
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("tcpdump", "tc", "vtysh")
from routers import PLANE, ROUTERS, Routers, outages_ms # noqa: E402: the path is set by live
from switch import Programs, pick # noqa: E402
from world import switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
LOAD_S, PAUSED_S = 20, 9
CUTS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
DETECT_MS, AT_MOST_MS = 50, 200
# BFD counts 150 ms from the last packet before the cut. Packets come each 37.5 to 50 ms, so the cut
# is 22 ms after that packet on average, and up to 50 ms. The rest has no such spread.
AFTER_BFD_AT_MOST_MS = AT_MOST_MS - (3 * DETECT_MS - 22)
ROUTES, ROUTES_AT_MOST_S = 2000, 1.0
GAP_S, BESIDE_S = 0.04, 0.5
# One for each processor: a line for each time it did not run.
RECORDER = f"""
import time
last = time.time()
while True:
    time.sleep(0.002)
    now = time.time()
    if now - last > {GAP_S}:
        print(f"{{now:.6f}} {{now - last:.6f}}", flush=True)
    last = now
"""
DOWN = re.compile(r"(?m)^(\d+/\d+/\d+ \d+:\d+:\d+\.\d+) BFD: .*state-change: .* -> down "
                  r"reason:control-expired")


def converged(world):
    eventually(lambda: world.paths() == ["p2", "p3"] and
               [p["status"] for p in world.ask_json(PLANE, "show bfd peers") or []] == ["up"] * 3,
               "both paths, and three BFD sessions")


def cut(world, how):
    """When, when all was as before, the longest outage of a flow of the link, and when the last of
    these flows came by the other link."""
    with world.arrivals() as rows:
        time.sleep(0.5)
        at = time.time()
        how("e2", True)
        time.sleep(1)
    how("e2", False)
    converged(world)
    outages = outages_ms(rows, at)
    want(outages, "some flows were on the link")
    moved = [min([t for t, dev, f in rows if (dev, f) == ("e3", flow) and t > at], default=math.inf)
             for flow in outages]
    return at, time.time(), max(outages.values()), max(moved)


def carried(switch, port):
    return pick(switch.show("queues")["queues"], port=port, queue=3).get("tx_packets", 0)


def downs(world, *where):
    """When BFD sessions of these routers timed out."""
    times = [t for w in where for t in DOWN.findall(world.daemons[w, "bfdd"].out())]
    return [time.mktime(time.strptime(t.split(".")[0], "%Y/%m/%d %H:%M:%S")) +
            float("0." + t.split(".")[1]) for t in times]


def judged(flaps, watchers):
    """The flaps beside the recorded gaps, for people and for the verdict."""
    seen = gaps(watchers)
    bare = [t for t in flaps if not any(-BESIDE_S <= t - end <= BESIDE_S for end, _ in seen)]
    return {"n": len(flaps), "without_gap": len(bare), "gaps": len(seen),
            "longest_gap_ms": 1000 * max([g for _, g in seen], default=0)}


def started(world):
    """The switch and all routers with both paths, each timeout of BFD in their logs."""
    switch = world.start_switch(PROGRAMS, switch_name())
    world.start_frr()
    for where in ROUTERS:
        world.ask(where, "debug bfd peer")
        world.ask_config(where, "log timestamp precision 6")
    converged(world)
    return switch


def recorders(world):
    return [world.spawn(PLANE, f"recorder{cpu}", "taskset", "-c", str(cpu), "/usr/bin/python3",
                        "-c", RECORDER) for cpu in sorted(os.sched_getaffinity(0))]


def gaps(watchers):
    """(end, length) of each recorded gap, in seconds."""
    return [tuple(map(float, line.split())) for w in watchers for line in w.out().splitlines()]


def flows_leave_a_path_within_200_ms():
    with Routers(detect_ms=DETECT_MS) as world:
        switch = started(world)
        watchers = recorders(world)
        receiver = world.receiver(PROGRAMS)
        world.sender(PROGRAMS, "--qps", "16", "--rate", "4M", "--rto", "10ms", "--time", "3600s")
        eventually(lambda: all(carried(switch, p) > 5000 for p in ("p2", "p3")), "data on both")
        result, cuts, began = {}, [], time.time()
        for name, how in (("carrier", lambda dev, gone: world.carrier(dev, not gone)),
                          ("silent", world.silence)):
            mine = [cut(world, how) for _ in range(CUTS)]
            ms = [m for *_, m, _ in mine]
            result[name] = {"median_ms": statistics.median(ms), "min_ms": min(ms),
                            "max_ms": max(ms), "cuts": len(ms)}
            cuts += mine
        down = [t for t in downs(world, PLANE) if t > began]
        flaps = [t for t in down if not any(at <= t <= end for at, end, *_ in cuts)]
        want(len(down) - len(flaps) >= CUTS, f"BFD reports each silent cut: {down}")
        after = [1000 * (moved - t) for at, _, _, moved in mine
                 for t in [min(t for t in down if t > at)]]
        result["silent"]["median_after_bfd_ms"] = statistics.median(after)
        result["flaps"] = judged(flaps, watchers)
        print(json.dumps(result, indent=1))
        want(result["flaps"]["without_gap"] == 0, f"flaps without a gap: {flaps}")
        want(result["carrier"]["median_ms"] < AT_MOST_MS, f"{result['carrier']}")
        want(statistics.median(after) < AFTER_BFD_AT_MOST_MS, f"{result['silent']}: {after}")
        receiver.stop()
        want(switch.stop() == 0, switch.process.said())


def bfd_of_3_x_50_ms_holds_under_full_load_and_while_a_class_is_paused():
    """Data fill both links to r2, and r2 pauses class 3 of one of them."""
    with Routers(detect_ms=DETECT_MS) as world:
        switch = started(world)
        watchers = recorders(world)
        receiver = world.receiver(PROGRAMS)
        sender = world.sender(PROGRAMS, "--qps", "8", "--time", f"{LOAD_S}s", "--rto", "1s")
        eventually(lambda: all(carried(switch, p) > 5000 for p in ("p2", "p3")), "full links")
        began, before = time.time(), carried(switch, "p2")
        pauser = world.pauser("e2", PAUSED_S)
        want(pauser.wait(60) == 0, pauser.said())
        want(sender.wait(60) == 0, sender.said())
        paused = pick(switch.show("pfc")["pfc"], **{"port": "p2", "class": 3})
        want(paused["rx_pause"] > 10, f"p2 obeys PAUSE of class 3: {paused}")
        flaps = [t for t in downs(world, *ROUTERS) if t > began]
        print(json.dumps({"load_s": LOAD_S, "paused_s": PAUSED_S,
                          "frames_p2": carried(switch, "p2") - before,
                          "flaps": judged(flaps, watchers)}))
        want(judged(flaps, watchers)["without_gap"] == 0, f"flaps without a gap: {flaps}")
        receiver.stop()
        want(switch.stop() == 0, switch.process.said())


def routes_arrive_within_a_second():
    """From the kernel of a neighbour, by its BGP and ours, to the forwarding of the switch."""
    with Routers() as world:
        switch = world.start_switch(PROGRAMS, switch_name())
        world.start_frr()
        converged(world)
        world.ask_config("h1", "router bgp 65001", "address-family ipv4 unicast",
                         "redistribute kernel")

        def taken():
            return switch.show("linux")["kernel"]["taken"]

        before, took = taken(), []
        for way in ("add", "del", "add", "del"):
            want_n = before + (ROUTES if way == "add" else 0)
            began = time.monotonic()
            world.batch("h1", "ip", [f"route {way} 10.64.{i // 250}.{i % 250}/32 dev e1"
                                     for i in range(ROUTES)])
            eventually(lambda n=want_n: taken() == n, f"{way} of {ROUTES} routes: {taken()}")
            took.append(time.monotonic() - began)
        print(json.dumps({"routes": ROUTES, "add_s": took[0::2], "withdraw_s": took[1::2]}))
        want(min(took[0::2]) < ROUTES_AT_MOST_S, f"{took}")
        want(switch.stop() == 0, switch.process.said())


sys.exit(max(live.run_tests([t]) for t in (
    flows_leave_a_path_within_200_ms, routes_arrive_within_a_second,
    bfd_of_3_x_50_ms_holds_under_full_load_and_while_a_class_is_paused)))
