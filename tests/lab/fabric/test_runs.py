#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of weir-lab counts and says of timers, of its end and of queues."""
import json
import os
import subprocess
import sys
import unittest

LAB, ROOT = map(os.path.abspath, sys.argv[1:3])
FOLDER = os.path.join(ROOT, "tests/lab/fabric")
MANY = os.path.join(FOLDER, "many.yaml")


def lab(*args):
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=120, check=False)


def run(file, *args):
    """Exit code and report of a run."""
    done = lab("run", file, "--quiet", "--json", *args)
    return done.returncode, json.loads(done.stdout)


def metrics(report):
    return {m["metric"]: m["value"] for m in report["metrics"]}


class Timers(unittest.TestCase):
    ASK = ("--metric", "spurious", "--metric", "retransmissions", "--metric", "goodput(h121)")
    SHORT = ("--set", 'hosts={"h*": {nic: {rto: 1ms}}}')

    def test_the_default_timer_outlasts_a_full_buffer(self):
        code, report = run(MANY, *self.ASK)
        got = metrics(report)
        self.assertEqual((code, got["spurious"], got["retransmissions"]), (0, 0, 0))
        self.assertGreater(got["goodput(h121)"], 9.2e9)
        self.assertEqual(report["warnings"], [])
        self.assertEqual({h["rto_ns"] for h in report["hosts"]}, {20000000})
        self.assertIn("retransmission timer of hosts without `rto:`: 20ms\n",
                      lab("run", MANY, "--quiet").stdout)

    def test_a_short_timer_is_counted_and_its_cure_is_named(self):
        _, report = run(MANY, *self.ASK, *self.SHORT)
        got = metrics(report)
        self.assertGreater(got["spurious"], 1000)
        self.assertLessEqual(got["spurious"], got["retransmissions"])
        self.assertLess(got["goodput(h121)"], 7e9)
        self.assertEqual(sum(h["spurious"] for h in report["hosts"]), got["spurious"])
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn("Set `hosts.NAME.nic.rto` to at least 20ms", report["warnings"][0])
        text = lab("run", MANY, "--quiet", *self.SHORT).stdout
        self.assertIn("at least 20ms", " ".join(text.split()))
        self.assertNotIn("hosts without", text)

    def test_losses_explain_what_is_sent_again_after_them(self):
        _, report = run(MANY, *self.ASK, *self.SHORT,
                        "--set", "faults=[{at: 0ms, from: h121, link_lossy: {every_nth: 2}}]",
                        "--set", "flows=[{from: h1, to: h121, size: 20KB, count: 5}]")
        self.assertGreater(metrics(report)["spurious"], 0) # after a lost ACK
        self.assertEqual(report["warnings"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
