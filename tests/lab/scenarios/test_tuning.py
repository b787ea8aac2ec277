#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weir-lab tune` on real scenarios: as good as an exhaustive sweep, and its values can be pasted.

usage: test_tuning.py WEIR_LAB WEIRCTL ROOT
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

LAB, CTL = (os.path.abspath(program) for program in sys.argv[1:3])
ROOT = pathlib.Path(sys.argv[3]).resolve()
TUTORIAL = str(ROOT / "conf/lab/tutorial.yaml")
KMIN = "policy.profiles.roce.classes.3.wred.kmin"
OBJECTIVE, LOAD = "slowdown(p99, size < 100KB)", "utilisation(s1.p10, 10ms, 60ms)"
N_EXHAUSTIVE = 100


def lab(*args):
    return subprocess.run([LAB, *args], cwd=ROOT, capture_output=True, text=True, timeout=600,
                          check=False)


def tuned(*more):
    return lab("tune", TUTORIAL, "--vary", "kmin=5KB..400KB:log", "--throughput", LOAD, "--floor",
               "99.8%", *more)


class Tuning(unittest.TestCase):
    def test_a_tenth_of_the_runs_finds_a_kmin_as_good_as_an_exhaustive_sweep(self):
        values = ",".join(f"{400 * (i + 1) // N_EXHAUSTIVE}KB" for i in range(N_EXHAUSTIVE))
        swept = json.loads(lab("sweep", TUTORIAL, "--vary", f"{KMIN}={values}", "--json",
                               "--set", "expect=[]", "--metric", OBJECTIVE, "--metric", LOAD,
                               "--metric", "xoffs").stdout)["runs"]
        points = [[v["value"] for v in run["values"]] for run in swept]
        found = json.loads(tuned("--json").stdout)
        start, best = found["rounds"][0]["points"][0]["scenarios"][0], found["best"]["scenarios"][0]
        most = max(load for _, load, _ in points)
        least = min(objective for objective, load, pauses in points
                    if load >= 0.998 * most and pauses <= start["pauses"])
        print(f"exhaustive: {len(points)} runs, {least}; tune: {found['n_runs']} runs, "
              f"{best['objective']} with kmin={found['best']['set'][KMIN]}")
        self.assertEqual(len(points), N_EXHAUSTIVE)
        self.assertLessEqual(best["objective"], least)
        self.assertGreaterEqual(best["throughput"], 0.998 * most)
        self.assertLessEqual(best["pauses"], start["pauses"])
        self.assertLessEqual(found["n_runs"], N_EXHAUSTIVE / 10)

    def test_the_commands_of_the_page_do_what_it_says(self):
        page = (ROOT / "docs/tuning.md").read_text()
        commands = [shlex.split(c) for c in re.findall(r"(?m)^    (weir\S+ .*)$", page)]
        self.assertEqual(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "conf").symlink_to(ROOT / "conf")
            for (program, *args), said in zip(commands, ("ready to run", "PASS: 4 of 4",
                                                         "best of 9 points, 9 runs: kmin=18KB",
                                                         "PASS: 4 of 4", "")):
                done = subprocess.run([LAB if program == "weir-lab" else CTL, *args], cwd=folder,
                                      capture_output=True, text=True, timeout=600, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(said, done.stdout)
            made = {p.name for p in pathlib.Path(folder, "runs/tune").iterdir()}
            self.assertEqual(made, {"tune.html", "tune.csv", "tune.json",
                                    "policy.yaml", "results"})
        self.assertIn("9 runs with\n`kmin=18KB`", page)

    def test_the_snippet_can_be_pasted_into_a_scenario_and_into_a_policy(self):
        with tempfile.TemporaryDirectory() as folder:
            done = tuned("--out", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            snippet = pathlib.Path(folder, "policy.yaml").read_text()
            self.assertIn(snippet, done.stdout)
            best = json.loads(pathlib.Path(folder, "tune.json").read_text())["best"]
            kmin = best["set"][KMIN]
            # Under `override:` of a scenario of its own.
            own = pathlib.Path(folder, "own.yaml")
            text = re.sub(r"(?m)^override:\n(  .*\n)+", "", pathlib.Path(TUTORIAL).read_text())
            text = text.replace("../roce.yaml", str(ROOT / "conf/roce.yaml"))
            own.write_text(text + "override:\n" + re.sub("(?m)^", "  ", snippet).rstrip() + "\n")
            self.assertEqual(lab("check", str(own)).returncode, 0, lab("check", str(own)).stderr)
            # In the place of the values of a policy file.
            policy = pathlib.Path(folder, "roce.yaml")
            value = re.search(r"kmin: (\w+)", snippet)[1]
            self.assertEqual(value, kmin)
            policy.write_text(re.sub(r"kmin: \w+", f"kmin: {value}",
                                     (ROOT / "conf/roce.yaml").read_text()))
            checked = subprocess.run([CTL, "check", str(policy)], capture_output=True, text=True,
                                     check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            # The scenario with it measures what the search measured.
            run = json.loads(lab("run", TUTORIAL, "--json", "--set", f"{KMIN}={kmin}", "--metric",
                                 OBJECTIVE).stdout)
            self.assertEqual(run["metrics"][0]["value"], best["scenarios"][0]["objective"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
