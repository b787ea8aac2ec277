#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of weir-probe: wrong words are refused with a cure; a policy is measured
and printed as table, JSON and page.

usage: test_cli.py WEIR_PROBE SOURCE_ROOT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROBE, ROOT = sys.argv[1:3]
POLICY = os.path.join(ROOT, "conf/two-lossless.yaml")


def run(*words):
    return subprocess.run([PROBE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


class Cli(unittest.TestCase):
    def refused(self, words, *texts):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        for text in texts:
            self.assertIn(text, " ".join(done.stderr.split()))

    def test_wrong_words_are_refused_with_a_cure(self):
        two = ["--tx", "xdp:a", "--rx", "xdp:b"]
        for words, texts in (
                ([], ["say what to measure: all, or names of"]),
                (["all"], ["--tx is missing, for example --tx xdp:eth1"]),
                (["--tx", "eth1", "--rx", "xdp:b", "all"], ['"eth1" is none of xdp:IFACE']),
                (["--tx", "xdp:a", "--rx", "xdp:a", "all"], ["--tx and --rx are the same port"]),
                ([*two, "xof"], ["there is no measure xof"]),
                ([*two, "--hold", "x", "all"], ["--hold and --release go together"]),
                ([*two, "--class", "9", "all"], ["--class: 9 is outside 0 .. 7"]),
                ([*two, "--classes", "3", "all"], ["no list of two classes or more such as 0,3"]),
                ([*two, "--delay", "1us", "all"], ["--delay goes with --lab"]),
                ([*two, "--sped", "1G", "all"], ["did you mean --speed?"]),
                (["--lab", POLICY, "--hold", "x", "all"], ["tx-off or congestion"]),
                (["--lab", POLICY, "--tx", "p9", "all"], ["the policy has no port p9"]),
                (["--lab", POLICY, "--tx", "p2", "all"], ["port p2 is used twice"]),
                (["--lab", "none.yaml", "all"], ["none.yaml"])):
            with self.subTest(words=words):
                self.refused(words, *texts)

    def test_frames_of_a_policy_lead_to_the_class_and_wred_drops_none(self):
        """As SONiC has them: DSCP 3 of class 3, and WRED drops frames that are Not-ECT."""
        with tempfile.TemporaryDirectory() as folder:
            policy = os.path.join(folder, "policy.yaml")
            with open(policy, "w", encoding="ascii") as f:
                f.write("""
switch: {buffer: {size: 2MB}}
ports:
  - {name: "p[1-3]", device: "wire:w[1-3]", speed: 10G, profile: leaf}
profiles:
  leaf:
    dscp_to_class: {24: 0, 3: 3}
    classes:
      3:
        lossless: on
        wred: {ecn: on, kmin: 20KB, kmax: 40KB, pmax: 5%, not_ect: drop}
""")
            done = run("--lab", policy, "--json", "xoff")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertEqual(json.loads(done.stdout)["measures"]["xoff"]["verdict"], "measured")
            done = run("--lab", policy, "--dscp", "24", "xoff")
            self.assertEqual(done.returncode, 1)
            self.assertIn("DSCP 24 must lead to class 3", done.stdout)

    def test_frames_become_bytes_by_the_cell(self):
        said = "For bytes, measure `cell` in the same run, or give --cell."
        for words, wanted in ((["xoff"], True), (["xoff", "cell"], False),
                              (["xoff", "--cell", "256"], False)):
            done = run("--lab", POLICY, "--class", "5", *words)
            self.assertEqual(said in done.stdout, wanted, done.stdout)

    def test_a_policy_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.md")
            done = run("--lab", POLICY, "--class", "5", "--json", "--report", page, "xoff", "cell")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            report = json.loads(done.stdout)
            self.assertEqual(report["values"]["cell_bytes"],
                             {"value": 256, "low": 256, "high": 256, "unit": "bytes"})
            self.assertEqual(report["measures"]["xoff"]["verdict"], "measured")
            self.assertEqual(report["measures"]["ecn"]["verdict"], "not run")
            with open(page, encoding="utf-8") as f:
                self.assertIn("| cell | cell_bytes | 256 B | exact |", f.read())

    def test_what_cannot_be_measured_has_a_reason_and_status_1(self):
        done = run("--lab", POLICY, "--class", "0", "xoff")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not answer PFC", done.stdout)

    def test_help_version_and_completion(self):
        self.assertIn("marking curve", run("--help").stdout)
        self.assertTrue(run("--version").stdout.startswith("weir-probe "))
        script = run("completion", "bash").stdout
        for word in ("headroom", "--third"):
            self.assertIn(word, script)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
