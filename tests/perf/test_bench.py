#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench measures what it says, in a few tiny rounds. No time is judged.

usage: test_bench.py BUILD_DIR
"""
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "smoke", "live"))

import live # noqa: E402: the path is set above
from live import want # noqa: E402

BENCH = os.path.join(ROOT, "scripts", "bench")
CPUS = "0,1" if os.cpu_count() > 1 else "0"


def bench(*args, status=0):
    with tempfile.NamedTemporaryFile() as f:
        done = run(BENCH, "--build", sys.argv[1], "--rounds", "5", "--cpus", CPUS, "--json", f.name,
                   *args, check=False, timeout=100)
        want(done.returncode == status, f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        text = f.read()
    return done, json.loads(text) if text else None


def rows_of(pattern):
    return {row["key"]: row for row in bench("--only", pattern)[1]["rows"]}


def one_worker_is_measured_with_shallow_and_with_standing_queues():
    rows = rows_of("^1w/74B/16f$")
    shallow, standing = rows["1w/74B/16f/shallow"], rows["1w/74B/16f/standing"]
    for row in (shallow, standing):
        want(row["cycles"] > 0 and row["mpps"] > 0 and row["rounds"] == 5, f"no figures: {row}")
        want(row["dropped"] == 0 and row["pauses_sent"] == 0, f"overloaded: {row}")
        want(min(row["driver_rx"], row["driver_tx"], row["switch"]) > 1, f"no split: {row}")
    want(shallow["queued"] <= 128, f"{shallow['queued']} frames stand in a shallow queue")
    want(32768 <= standing["queued"] < 34000, f"{standing['queued']} frames stand in two queues")
    want(shallow["marked_share"] == 0 and standing["marked_share"] > 0.5, "ECN marks at kmin")
    want("stage/parse" in rows and rows["stage/parse"]["cycles"] > 0, "no stages")
    if shutil.which("dpdk-testpmd"):
        want(shallow["macswap"] > 0 and shallow["io"] > 0, "no testpmd beside")


def two_workers_lose_nothing_though_all_traffic_crosses():
    if CPUS == "0":
        return
    row = rows_of("^2w/74B/16f$")["2w/74B/16f/shallow"]
    want(row["mpps"] > 0 and row["dropped"] == 0, f"{row}")


def a_daemon_of_three_ports_starts_and_its_memory_is_read():
    row = rows_of("^start/3 ports$")["start/3 ports"]
    want(0 < row["first_frame_s"] < 60 and row["memory_mib"] > 10, f"{row}")


def a_name_that_no_row_has_is_a_mistake():
    done, _ = bench("--only", "no such row", status=2)
    want("--list" in done.stderr, done.stderr)


live.need_root()
from world import run # noqa: E402: the path is set by live

sys.exit(live.run_tests([
    one_worker_is_measured_with_shallow_and_with_standing_queues,
    two_workers_lose_nothing_though_all_traffic_crosses,
    a_daemon_of_three_ports_starts_and_its_memory_is_read,
    a_name_that_no_row_has_is_a_mistake,
]))
