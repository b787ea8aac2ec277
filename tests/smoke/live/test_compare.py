#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/compare`: live and lab agree, in a short run with wide tolerances; and its figures can
differ.

usage: test_compare.py BUILD_DIR
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import live
from live import left_behind, want

import compare # noqa: E402
from screen import Screen # noqa: E402
from switch import Programs # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
COMPARE = os.path.join(live.ROOT, "scripts", "compare")


def command(*args):
    return subprocess.run([COMPARE, "--no-setup", "--build", BUILD, *args], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def holds(name, *args):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        done = command(name, "--json", f.name, *args)
        want(done.returncode == 0, done.stdout)
        found = json.load(f)
    want(found["ok"] is True, done.stdout)
    for r in found["experiments"][0]["rows"]:
        print(f"        {r['measure']}: live {r['live']:.5g}, lab {r['lab']:.5g}")
    left = left_behind(live.RUNTIMES)
    want(left == [], f"left behind: {left}")


def equilibrium_agrees():
    holds("equilibrium", "--warm", "8", "--window", "12", "--loose", "2")


def two_senders_agree():
    holds("two-senders", "--warm", "3", "--window", "8", "--loose", "2")


def a_live_switch_with_another_policy_is_noticed():
    with open(os.path.join(live.ROOT, "conf/compare-two-senders.yaml")) as f:
        policy = f.read()
    other = policy.replace("static: 60KB", "static: 45KB")
    want(other != policy, "the policy has other thresholds now")
    args = argparse.Namespace(warm=3, window=6, scale=None, loose=2, keep_logs=None, build=BUILD)
    was = compare.EXPERIMENTS["two-senders"]["policy"]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f, open(os.devnull, "w") as null:
        f.write(other)
        f.flush()
        compare.EXPERIMENTS["two-senders"]["policy"] = f.name
        try:
            found = compare.compare(args, Programs(BUILD), "two-senders", Screen(null))
        finally:
            compare.EXPERIMENTS["two-senders"]["policy"] = was
    red = [r["measure"] for r in found["rows"] if not r["ok"]]
    print(f"        red are {red}")
    want("mean queue of class 3, bytes" in red, str(found["rows"]))


def every_figure_can_be_outside():
    for experiment in compare.EXPERIMENTS.values():
        for m in experiment["measures"]:
            lab = 0.0 if m.absolute == 0 else 100.0
            edge = m.tolerance(lab)
            for live_value, ok in ((lab + edge, True), (lab - edge, True),
                                   (lab + edge * 1.01 + 0.01, False),
                                   (lab - edge * 1.01 - 0.01, False)):
                one = {"measures": [compare.Measure(m.name, m.lab, lambda w, v=live_value: v,
                                                    m.percent, m.absolute, m.show)]}
                row = compare.judge(1, one, {m.name: lab}, None)[0]
                want(row["ok"] is ok, f"{m.name}: {live_value} against {lab} is {row['ok']}")


def bad_options_are_refused():
    for args in (["threesome"], ["--warm", "0"], ["--loose", "0.5"], ["--scale", "0"],
                 ["--window", "x"]):
        done = command(*args)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")


live.need_root()
sys.exit(live.run_tests([bad_options_are_refused, every_figure_can_be_outside,
                         a_live_switch_with_another_policy_is_noticed, equilibrium_agrees,
                         two_senders_agree]))
