#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mice are at least twice as fast with elephants out of their way, and nobody pays for it: the
scenario elephants-websearch with and without switch.elephants, in seeds that nothing was set by.

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
