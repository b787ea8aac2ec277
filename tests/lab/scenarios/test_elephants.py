#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mice are at least twice as fast with elephants out of their way, and nobody pays for it: the
scenario elephants-websearch with and without switch.elephants, in seeds that nothing was set by.
Auto ECN knows the flows and elephants of its queue.

    test_elephants.py WEIR-LAB ROOT
"""
import json
import pathlib
import subprocess
import sys
import unittest

SEEDS = (1907, 2311)
MICE = "slowdown(search, p99, size < 100KB)"
LARGE = "slowdown(search, mean, size > 1MB)"
GOODPUT = "goodput(search)"


def figures(seed, *changes):
    lab, scenarios = sys.argv[1], pathlib.Path(sys.argv[2]) / "conf/lab"
    done = subprocess.run([lab, "run", scenarios / "elephants-websearch.yaml", "--quiet", "--json",
                           "--seed", str(seed), *changes], capture_output=True, text=True,
                          timeout=200)
    found = json.loads(done.stdout)["expectations"]
    return {name: next(e["value"] for e in found if e["expectation"].startswith(name))
            for name in (MICE, LARGE, GOODPUT)}


class Elephants(unittest.TestCase):
    def test_mice_are_twice_as_fast_and_elephants_as_fast_as_without(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                off = figures(seed, "--set", "policy.switch.elephants=off")
                on = figures(seed)
                self.assertLessEqual(on[MICE], off[MICE] / 2)
                self.assertGreaterEqual(on[GOODPUT], 0.97 * off[GOODPUT])
                self.assertLessEqual(on[LARGE], off[LARGE] / 0.97)

    def test_auto_ecn_counts_the_flows_of_a_queue_and_the_share_of_elephants(self):
        """Eight long flows of 2.9 Gb/s and one of 0.64 Gb/s feed the queue."""
        rows = (("{rate: 1G, bytes: 100KB, age: 200us}", 9, 0.97), ("off", 9, None),
                (None, None, None))
        for elephants, flows, share in rows:
            with self.subTest(elephants=elephants):
                key = "flows=off" if elephants is None else f"elephants={elephants}"
                done = subprocess.run(
                    [sys.argv[1], "run", pathlib.Path(sys.argv[2]) / "conf/lab/auto-long.yaml",
                     "--quiet", "--json", "--set", "duration=100ms",
                     "--set", 'expect=["xoffs == 0"]', "--set", f"policy.switch.{key}"],
                    capture_output=True, text=True, timeout=200)
                of = json.loads(done.stdout)["auto_ecn_changes"][0]["features"]
                if flows is None:
                    self.assertIsNone(of["active_flows"])
                else:
                    self.assertAlmostEqual(of["active_flows"], flows, delta=0.1)
                if share is None:
                    self.assertIsNone(of["elephants"])
                else:
                    self.assertAlmostEqual(of["elephants"], share, delta=0.02)

    def test_the_page_says_what_its_commands_give(self):
        page = (pathlib.Path(sys.argv[2]) / "docs/elephants.md").read_text().replace("\n", " ")
        on, off = figures(1), figures(1, "--set", "policy.switch.elephants=off")
        self.assertIn(f"is {on[MICE]:.0f} in the first run, and {off[MICE]:.0f} in the second",
                      page)
        self.assertIn(f"is {on[GOODPUT] / 1e9:.1f} Gb/s and {off[GOODPUT] / 1e9:.1f} Gb/s", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
