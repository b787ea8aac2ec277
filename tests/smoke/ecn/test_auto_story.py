#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run --auto`: the thresholds follow the workload, each check can fail, nothing is left.

usage: test_auto_story.py BUILD_DIR
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, *where) for where in (("..", "live"), ("..", "..", "lab"))]
import live # noqa: E402
import page # noqa: E402
from live import left_behind, want # noqa: E402

import auto # noqa: E402: the path is set by live
from readable import on_terminal, too_wide # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
OPTIONS = ["--no-setup", "--build", BUILD]
RECORDS = [] # of the act


def the_story_of_the_page_holds_its_checks():
    command, = [c for c in page.commands("auto-ecn.md", "See it") if c[0] == "scripts/run"]
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        status, shown = on_terminal([os.path.join(live.ROOT, command[0]), *command[1:], *OPTIONS,
                                     "--json", f.name], 80, 24)
        text = f.read()
    want(text, shown)
    record = json.loads(text)
    want(status == 0 and record["ok"], shown)
    act, = record["acts"]
    RECORDS.append(act)
    want(f"{len(auto.CHECKS)} of {len(auto.CHECKS)} checks hold" in shown, shown)
    want([p["workload"] for p in act["phases"]] == list(auto.PHASES), "three workloads")
    want(not too_wide(shown, 80), too_wide(shown, 80))
    for event in act["events"]:
        want(f"kmin_bytes={event['kmin_bytes']}" in shown and event["reason"].split()[-1] in shown,
             f"{event}\n{shown}")
    want(left_behind(live.RUNTIMES) == [], f"left behind: {left_behind(live.RUNTIMES)}")


def result_of(record):
    """What the checks look at."""
    r = auto.Result()
    r.phases, r.events, r.final, r.balance, r.hosts = (copy.deepcopy(record[k]) for k in (
        "phases", "events", "switch", "balance", "hosts"))
    r.status = record["status"]
    return r


def every_check_can_fail():
    """Each is broken by figures of another run."""
    broken = set()

    def breaks(check, change):
        r = result_of(RECORDS[0])
        want(check(r)[0], f"{check.__name__} holds before")
        change(r)
        want(not check(r)[0], f"{check.__name__} holds all the same")
        broken.add(check)

    def last(n, **figures):
        return lambda r: r.rows(n)[-1].update(figures)

    def stays(n): # with the thresholds of the phase before
        return lambda r: [row.update(r.rows(n - 1)[-1], moved=False) for row in r.rows(n)]

    breaks(auto.all_follow, stays(1))
    breaks(auto.all_follow, stays(2))
    breaks(auto.all_follow, lambda r: r.phases.pop())
    breaks(auto.incast_higher, stays(1))
    breaks(auto.incast_higher, stays(2))
    breaks(auto.delay_shorter, last(1, delay_p99_us=10 ** 6))
    breaks(auto.delay_shorter, lambda r: [row.update(moved=False) for row in r.rows(1)])
    breaks(auto.explained, lambda r: r.events[0].update(reason=""))
    breaks(auto.explained, lambda r: r.events[0].update(features=""))
    breaks(auto.explained, lambda r: r.events.clear())
    breaks(auto.within_rails, last(1, kmin_bytes=3043))
    breaks(auto.within_rails, last(0, kmin_bytes=10 ** 7))
    breaks(auto.no_drop, lambda r: r.final["drops"].append({"lossless": True, "packets": 1}))
    breaks(auto.hosts_complete, lambda r: r.hosts[0].update(messages_completed=0))
    breaks(auto.hosts_complete, lambda r: r.hosts[0].update(error="no answer"))
    breaks(auto.balanced, lambda r: r.balance.update(consumed=r.balance["consumed"] + 1))
    want(broken == {check for _, check in auto.CHECKS}, "all checks")


def options_that_do_not_go_with_it_are_refused():
    for args in (["--act", "1"], ["--seconds", "3"], ["--virtual"], ["--storm"], ["--bgp"]):
        done = subprocess.run([os.path.join(live.ROOT, "scripts/run"), *OPTIONS, "--auto", *args],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")
        want("has one act" in done.stderr or "on live ports" in done.stderr, done.stderr)


live.need_root()
STATUS = live.run_tests([options_that_do_not_go_with_it_are_refused,
                         the_story_of_the_page_holds_its_checks])
sys.exit(STATUS or live.run_tests([every_check_can_fail]))
