#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run --iperf`: all acts hold their checks, each check can fail, nothing is left behind.

usage: test_story.py BUILD_DIR [CASE...]
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

import iperf # noqa: E402: the path is set by live
from readable import on_terminal, too_wide, zero_tables # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
RUN = [os.path.join(live.ROOT, "scripts", "run"), "--no-setup", "--build", BUILD, "--iperf"]


def all_acts_hold_and_nothing_is_left_behind():
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        status, shown = on_terminal([*RUN, "--json", f.name], 80, 24)
        text = f.read()
    want(text, shown)
    record = json.loads(text)
    want([a["act"] for a in record["acts"]] == [1, 2, 3, 4] and record["ok"] and status == 0, shown)
    want(not too_wide(shown, 80) and not zero_tables(shown), shown)
    said = " ".join(shown.split())
    for text in ("iperf3 -u -c 10.0.0.3 -p 5203 -S 0x60 -b 77M", "-S 0xa0", "h3 pauses class 3",
                 "Interface P Recv Send"):
        want(text in said, f"nothing says {text!r}\n{shown}")
    left = left_behind(live.RUNTIMES)
    want(left == [], f"left behind: {left}")


def every_check_can_fail():
    """Of acts in which the opposite happens, no check holds."""
    def result(drops, pauses, three, five):
        r = iperf.Result()
        r.final = {"drops": [{"packets": drops}] if drops else [], "pfc": [
            {"port": f"p{i}", "class": c, "tx_pause": pauses} for c, i in iperf.HOSTS.items()]}
        r.samples = [{"t": t / 4, "queues": [{"port": "p3", "queue": c, "tx_bytes": rate * t / 32}
                      for c, rate in ((3, three), (5, five))]} for t in range(60)]
        for c, rate in ((3, three), (5, five)):
            sums = {"lost_packets": drops, "packets": 100, "retransmits": drops}
            r.ends[c] = {"end": {"sum": sums, "sum_sent": sums}, "intervals": [
                {"sum": {"start": t, "end": t + 1, "bits_per_second": rate}} for t in range(10)]}
            r.hostd[c] = {"classes": [{"class": c, "rx_pause": 0, "rx_pause_transition": 0}]}
        r.balance = {"received": 1, "generated": 0, "replicated": 0, "transmitted": 0,
                     "consumed": 0, "dropped": 0, "queued": 0}
        return r

    bad = result(1, 1, 70e6, 10e6)
    still = [check for check in (iperf.no_drop, iperf.nothing_lost, iperf.did_not_slow_down,
                                 iperf.slowed_down, iperf.preferred_kept, iperf.pfc_arrived,
                                 iperf.no_retransmission, iperf.port_is_full, iperf.stands_still,
                                 iperf.other_kept, iperf.balanced) if check(bad)[0]]
    want(not still, f"these hold: {still}")
    quiet = result(0, 0, 0, 0)
    still = [check for check in (iperf.frames_lost, iperf.pfc_sent, iperf.goes_on)
             if check(quiet)[0]]
    want(not still, f"these hold in silence: {still}")


def options_that_do_not_go_with_it_are_refused():
    for args in (["--act", "3"], ["--seconds", "3"], ["--virtual"], ["--storm"]):
        done = subprocess.run([*RUN, *args], stdin=subprocess.DEVNULL, capture_output=True)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")


live.need_root("iperf3")
sys.exit(live.run_tests([options_that_do_not_go_with_it_are_refused, every_check_can_fail,
                         all_acts_hold_and_nothing_is_left_behind]))
