#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table of workloads that scripts/models makes: a policy can use it, each row is the best of
its runs, and the script finds a row again.

usage: test_models.py WEIR_LAB ROOT
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
TABLE, RECORD = ROOT / "conf/models/lab.ecn", ROOT / "conf/models/lab.csv"
AGAIN = "all-to-all" # the archetype that is trained again


def rows(table):
    return {line.split()[0]: line.split() for line in table.read_text().splitlines()
            if not line.startswith("#")}


def us(text):
    """Bytes as microseconds at 25 Gb/s."""
    return float(text[:-2]) * 0.32 if text.endswith("KB") else float(text[:-1]) * 0.00032


class Models(unittest.TestCase):
    def test_a_policy_can_use_the_table(self):
        done = subprocess.run(
            [LAB, "check", ROOT / "conf/lab/auto-incast.yaml", "--set",
             f"policy.profiles.roce.classes.3.ecn={{mode: auto, model: {TABLE}}}"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_row_is_the_best_allowed_point_of_the_record(self):
        with open(RECORD, newline="") as f:
            points = list(csv.DictReader(f))
        for name, row in rows(TABLE).items():
            with self.subTest(name):
                best = min((p for p in points if p["archetype"] == name and p["verdict"] == "ok"),
                           key=lambda p: float(p["p99 slowdown below 100 KB"]))
                kmin = "3125B" if best["kmin"] == "as it is" else best["kmin"]
                self.assertAlmostEqual(float(row[6]) / us(kmin), 1, delta=0.01)
                self.assertAlmostEqual(float(row[7]) / float(row[6]), 4, delta=0.03)

    def test_the_script_finds_a_row_again(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder, "build/control/lab")
            build.mkdir(parents=True)
            (build / "weir-lab").symlink_to(LAB)
            subprocess.run([ROOT / "scripts/models", "--build", build.parent.parent, "--out",
                            folder, AGAIN], check=True, capture_output=True)
            self.assertEqual(rows(pathlib.Path(folder, "lab.ecn"))[AGAIN], rows(TABLE)[AGAIN])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
