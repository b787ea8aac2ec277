#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""weir-lab as a program: exit codes, complaints, the same bytes twice, an orderly end by signal."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LAB, ROOT = sys.argv[1], sys.argv[2]
FIRST = os.path.join(ROOT, "conf/lab/first.yaml")
PAIR = os.path.join(ROOT, "tests/lab/fabric/pair.yaml")
RING = os.path.join(ROOT, "tests/lab/fabric/ring.yaml")


def lab(*args):
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=120)


def files(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def ticks(pid):
    """Hundredths of a second of processor time used so far."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1].split()[11])


class Program(unittest.TestCase):
    def test_the_first_scenario_holds(self):
        done = lab("run", FIRST)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PASS: 3 of 3", done.stdout)
        self.assertIn("packet-hops", done.stderr)

    def test_a_failing_expectation_is_exit_1_with_both_numbers(self):
        done = lab("run", PAIR, "--quiet", "--set", "expect=[rate(h1) == 1G]")
        self.assertEqual(done.returncode, 1)
        line = next(l for l in done.stdout.splitlines() if "rate(h1) == 1G" in l)
        self.assertIn("FAIL", line)
        self.assertEqual(done.stderr, "")

    def test_a_mistake_is_exit_2_with_its_place(self):
        done = lab("run", PAIR, "--set", "duratoin=1ms")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "--set 'duratoin=1ms': duratoin: unknown key: did you mean "
                                      "duration?\n")
        self.assertEqual(done.stdout, "")

    def test_misuse_is_exit_2_and_says_how_to_do_better(self):
        for args in [], ["walk"], ["run"], ["run", PAIR, "--sett", "a=b"], ["run", PAIR, "--set"], \
                ["run", PAIR, "--set", "novalue"], ["run", PAIR, "--vary", "a=b"], \
                ["run", PAIR, "--json=1"]:
            done = lab(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("weir-lab", done.stderr, args)
            self.assertEqual(done.stdout, "", args)

    def test_help_names_every_option_of_the_command(self):
        done = lab("run", "--help")
        self.assertEqual(done.returncode, 0)
        for option in "--set", "--seed", "--out", "--json", "--quiet":
            self.assertIn(option, done.stdout)
        self.assertNotIn("--vary", done.stdout)
        self.assertEqual(lab("--help").returncode, 0)

    def test_check_loads_and_runs_nothing(self):
        done = lab("check", FIRST, RING)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn("4 switches, 8 hosts", done.stdout)

    def test_the_same_seed_gives_the_same_bytes_in_all_files(self):
        with tempfile.TemporaryDirectory() as top:
            a, b, c = (os.path.join(top, n) for n in "abc")
            one = lab("run", FIRST, "--json", "--out", a)
            two = lab("run", FIRST, "--json", "--out", b)
            other = lab("run", FIRST, "--json", "--out", c, "--seed", "2")
            self.assertEqual(one.stdout, two.stdout)
            self.assertNotEqual(one.stdout, other.stdout)
            self.assertEqual(files(a), files(b))
            self.assertIn("report.json", files(a))
            self.assertNotEqual(files(a)["series.csv"], files(c)["series.csv"])
            self.assertTrue(json.loads(one.stdout))

    def test_several_files_run_one_after_the_other(self):
        with tempfile.TemporaryDirectory() as top:
            out = os.path.join(top, "runs")
            done = lab("run", PAIR, RING, "--quiet", "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(out)), ["pair", "ring"])
            self.assertLess(done.stdout.index("pair:"), done.stdout.index("ring:"))
            self.assertEqual(lab("run", PAIR, RING, "--quiet", "--set", "expect=[rate(h1) == 1G]")
                             .returncode, 1)

    def test_a_signal_ends_a_run_with_a_partial_report(self):
        for sig in signal.SIGINT, signal.SIGTERM:
            run = subprocess.Popen([LAB, "run", PAIR, "--set", "duration=1000s"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # It is at it once it has used some processor time.
            while ticks(run.pid) < 20:
                time.sleep(0.02)
            run.send_signal(sig)
            out, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 1, err)
            self.assertIn("broken off", out)
            self.assertIn("balance: every frame is accounted for", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
