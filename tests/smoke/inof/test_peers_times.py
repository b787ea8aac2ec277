#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long after a cable was cut at one switch a host at another switch is told, with the longest
gap beside it in which a process of this machine did not run.

usage: test_peers_times.py BUILD_DIR [CUTS]
"""
import json
import os
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("exabgp", "tcpdump", "tshark")
from peered import Peers # noqa: E402: the path is set by live
from test_inof import Agent, PROGRAMS, cut # noqa: E402
from test_peers import TARGET, started, told # noqa: E402

CUTS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
MEDIAN_AT_MOST_MS = 100


class Gaps(threading.Thread):
    """The longest time in which this thread did not run, since the last look."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0
        self.start()

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.001)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now

    def look_ms(self):
        got, self.longest = self.longest, 0
        return round(1e3 * got, 1)


def a_cut_is_told_at_another_switch_within_100_ms():
    with Peers(PROGRAMS) as world:
        gaps, rows = Gaps(), []
        _, initiator = started(world)
        for i in range(CUTS):
            n = 2 * i + 1
            gaps.look_ms()
            began = time.monotonic()
            cut(world, 1)
            eventually(lambda n=n: told(initiator)[n:] == [(False, 1)], "link-down")
            last = [x for x in initiator.told() if x["host"] == TARGET][-1]
            rows.append((round(1e3 * (last["time"] - began), 1), gaps.look_ms()))
            world.run("h1", "ip", "link", "set", "e1", "up")
            Agent(world, 1, "target", "nqn.2014-08.org:disk1")
            eventually(lambda n=n: told(initiator)[n + 1:] == [(True, 0)], "it is back")
        times = [ms for ms, _ in rows]
        print(json.dumps({"cuts": CUTS, "median_ms": statistics.median(times), "max_ms": max(times),
                          "ms_and_gap_ms": rows}))
        want(statistics.median(times) < MEDIAN_AT_MOST_MS, f"{rows}")
        world.end()


sys.exit(live.run_tests([a_cut_is_told_at_another_switch_within_100_ms]))
