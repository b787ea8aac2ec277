#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run --storm`: both acts hold their checks, one act that does not is told, and nothing is
left behind. A busy machine may slow the sender in one half of an act. So a flow that is to keep its
rate must keep half of it here, and all of it with `rates`.

usage: test_story.py BUILD_DIR [rates]
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, *where) for where in (("..", "live"), ("..", "..", "lab"))]
import live # noqa: E402
from live import left_behind, want # noqa: E402

import storm # noqa: E402: the path is set by live
from readable import on_terminal, too_wide, zero_tables # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
RATES = sys.argv[2:] == ["rates"]
HALF = 50 # per cent
RUN = os.path.join(live.ROOT, "scripts", "run")


def command(*args):
    return subprocess.run([RUN, "--no-setup", "--build", BUILD, *args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def nearly(check):
    """A rate that is missed, and not by half."""
    return check["check"] in storm.RATES and float(check["figures"].split("%")[0]) >= HALF


def both_acts_hold_and_nothing_is_left_behind():
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        status, shown = on_terminal([RUN, "--no-setup", "--build", BUILD, "--storm", "--json",
                                     f.name], 80, 24)
        text = f.read()
    want(text, shown)
    record = json.loads(text)
    want([a["act"] for a in record["acts"]] == [1, 2], "two acts")
    missed = [c for a in record["acts"] for c in a["checks"] if not c["ok"]]
    want(all(nearly(c) for c in missed) and not (RATES and missed), shown)
    want(record["ok"] == (missed == []) == (status == 0), "what is missed is told")
    want(not too_wide(shown, 80) and not zero_tables(shown), shown)
    said = " ".join(shown.split())
    for text in ("p3 class 3 holds", "h3 begins to pause", "STILL 0.0", "h3 pauses no longer",
                 "the watchdog has found the storm", "STORMED", "the storm is over"):
        want(text in said, f"nothing says {text!r}\n{shown}")
    left = left_behind(live.RUNTIMES)
    want(left == [], f"left behind: {left}")


def every_check_can_fail():
    """Of an act without a storm, none that is about the storm holds."""
    def sample(t):
        queues = [{"port": p, "queue": q, "tx_bytes": int(t * 1e6)} for p in ("p1", "p2", "p3")
                  for q in (0, 3)]
        return {"t": t, "queues": queues}

    r = storm.Result()
    r.samples, r.storm = [sample(t / 4) for t in range(60)], (5, 9)
    r.mid = {"causes": []}
    dog = {"port": "p3", "class": 3, "detected": 0, "restored": 0, "last_measured_us": 0,
           "longest_storm_us": 0, "tx_dropped": 0, "rx_dropped": 0}
    r.final = {"watchdog": [dog], "gap_ms": 1, "drops": [
        {"packets": 1, "lossless": True, "reason": "headroom-overrun"}],
        "pfc": [{"port": "p3", "class": 3, "tx_pause": 1, "tx_pause_duration_us": 10**7}]}
    r.balance = {"received": 1, "generated": 0, "replicated": 0, "transmitted": 0, "consumed": 0,
                 "dropped": 0, "queued": 0}
    r.sender = {"messages_posted": 1, "messages_completed": 0, "error": None}
    still = [check for check in (storm.stands_still, storm.cause_is_named, storm.one_storm,
                                 storm.only_the_watchdog_dropped, storm.silent,
                                 storm.nobody_paused, storm.no_lossless_drop, storm.balanced,
                                 storm.messages_complete) if check(r)[0]]
    want(not still, f"these hold: {still}")
    want(storm.victim_kept(r)[0] and storm.goes_on(r)[0], "an even rate is kept")
    for s in r.samples:
        if s["t"] > 5:
            s["queues"] = [dict(q, tx_bytes=5 * 10**6) for q in s["queues"]]
    still = [check for check in (storm.victim_kept, storm.other_class_kept, storm.goes_on)
             if check(r)[0]]
    want(not still, f"these hold though nothing moves: {still}")
    want(not nearly({"check": storm.OTHER_KEPT, "figures": storm.other_class_kept(r)[1]}),
         "half of a rate is kept though nothing moves")


def options_that_do_not_go_with_it_are_refused():
    for args in (["--act", "3"], ["--seconds", "3"], ["--virtual"]):
        done = command("--storm", *args)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")


def a_host_that_goes_mad_is_told_how_or_refused():
    host = os.path.join(BUILD, "control/host/weir-host")
    own = ["--device", "xdp:nowhere", "--ip", "10.0.0.1"]
    for args, says in (
            (["--device", "xdp:nowhere", "--storm", "--storm-at", "1s"], "--listen or --to"),
            ([*own, "--to", "10.0.0.2,10.0.0.3", "--qps", "1"], "fewer than the addresses"),
            ([*own, "--to", "10.0.0.2,"], "is not an IPv4 address"),
            ([*own, "--to", "10.0.0.2,10.0.0.1"], "the endpoint's own address"),
            ([*own, "--to", ",".join(f"10.0.1.{i}" for i in range(1, 10))], "at most 8")):
        done = subprocess.run([host, *args], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        want(done.returncode == 2 and says in done.stdout, f"{args}: {done.stdout}")


live.need_root()
sys.exit(live.run_tests([options_that_do_not_go_with_it_are_refused, every_check_can_fail,
                         a_host_that_goes_mad_is_told_how_or_refused,
                         both_acts_hold_and_nothing_is_left_behind]))
