#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tshark reads what the lab captured, and counts what the report counted.

usage: judge_capture.py WEIR_LAB SOURCE_ROOT
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LAB, ROOT = map(os.path.abspath, sys.argv[1:3])
PAIR = os.path.join(ROOT, "tests/lab/fabric/pair.yaml")
PFC = "macc.opcode == 0x0101"
# PFC, marks, and drops of a class that is not lossless.
BUSY = ("--set", 'hosts={"h[1-3]": {nic: {cc: none}}}', "--set", "duration=500us",
        "--set", "policy.switch.buffer.size=1MB",
        "--set", "flows=[{from: [h1, h2], to: h3, class: 3}, {from: [h1, h2], to: h3, class: 0}]",
        "--set", "policy.profiles.roce.classes.0.wred={kmin: 10KB, kmax: 20KB, pmax: 100%}",
        "--set", "policy.profiles.roce.classes.3.wred={ecn: on, kmin: 5KB, kmax: 50KB, pmax: "
        "100%}")


def capture(out, what, *args):
    """Exit code, report and text of a run that captures."""
    done = subprocess.run([LAB, "run", PAIR, "--quiet", "--out", out, *BUSY, "--set",
                           f"record={{capture: {what}}}", *args], capture_output=True, text=True,
                          timeout=120, check=False)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as f:
        return done.returncode, json.load(f), done.stdout


def tshark(out, match, *fields):
    words = [w for f in fields or ("frame.number",) for w in ("-e", f)]
    done = subprocess.run(["tshark", "-n", "-r", os.path.join(out, "capture.pcapng"), "-Y", match,
                           "-T", "fields", *words], capture_output=True, text=True, timeout=120,
                          check=True)
    return done.stdout.splitlines()


def count(out, match):
    return len(tshark(out, match))


class Capture(unittest.TestCase):
    def setUp(self):
        self.out = self.enterContext(tempfile.TemporaryDirectory())

    def test_every_frame_of_a_port_is_there_with_what_the_switch_knows(self):
        ask = [x for m in ("marks(s1.p3)", "pauses(s1.p1)", "drops(s1)",
                           "frames(s1.p3)", "frames_received(s1.p1)") for x in ("--metric", m)]
        code, report, text = capture(self.out, "[s1.p1, s1.p2, s1.p3]",
                                     *ask)
        got = {m["metric"]: m["value"] for m in report["metrics"]}
        self.assertEqual(code, 0, text)
        p1, p3 = ('frame.interface_name == "s1.p1"', 'frame.interface_name == "s1.p3"')
        self.assertGreater(got["pauses(s1.p1)"], 0)
        self.assertEqual(count(self.out, f"{p1} && {PFC}"), got["pauses(s1.p1)"])
        self.assertGreater(got["marks(s1.p3)"], 0)
        self.assertEqual(count(self.out, f'{p3} && frame.comment contains "mark=ce"'),
                         got["marks(s1.p3)"])
        self.assertEqual(count(self.out, f"{p3} && ip.dsfield.ecn == 3"), got["marks(s1.p3)"])
        self.assertGreater(got["drops(s1)"], 0)
        self.assertEqual(count(self.out, 'frame.comment contains "dir=drop" && '
                                         'frame.comment contains "reason=wred"'), got["drops(s1)"])
        self.assertEqual(count(self.out, f'{p3} && frame.comment contains "dir=out class"'),
                         got["frames(s1.p3)"])
        self.assertEqual(count(self.out, f'{p1} && frame.comment contains "dir=in class"'),
                         got["frames_received(s1.p1)"])
        self.assertEqual(count(self.out, "frame"), report["capture"]["frames"])
        self.assertEqual(count(self.out, "_ws.malformed"), 0)
        # The first frame of 1098 B: 225 ns on the line of 40G, 26 ns in the cable.
        first = tshark(self.out, "frame.number == 1", "frame.time_epoch", "frame.len",
                       "frame.cap_len")
        self.assertEqual(first, ["0.000000251\t1098\t128"])

    def test_the_same_run_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as other:
            files = []
            for out in self.out, other:
                capture(out, "s1.p3")
                with open(os.path.join(out, "capture.pcapng"), "rb") as f:
                    files.append(f.read())
            self.assertEqual(files[0], files[1])

    def test_what_a_full_file_does_not_hold_is_counted(self):
        _, whole, _ = capture(self.out, "s1.p3")
        most = 100000
        _, part, text = capture(self.out, "s1.p3, capture_size: 100KB")
        size = os.path.getsize(os.path.join(self.out, "capture.pcapng"))
        self.assertLessEqual(size, most + 1000)
        self.assertEqual(size, part["capture"]["bytes"])
        self.assertEqual(count(self.out, "frame"), part["capture"]["frames"])
        self.assertEqual((whole["capture"]["cut"], part["capture"]["frames"] +
                          part["capture"]["cut"]), (0, whole["capture"]["frames"]))
        self.assertIn(f"{part['capture']['cut']} more, from ", text)

    def test_one_class_comes_with_pfc_and_a_snaplen_cuts_frames(self):
        _, report, _ = capture(self.out, "s1.p1, capture_class: 0, snaplen: 60", "--metric",
                               "frames_received(s1.p1.0)", "--metric", "frames(s1.p1.0)")
        got = {m["metric"]: m["value"] for m in report["metrics"]}
        rows = tshark(self.out, f"!({PFC})", "frame.cap_len", "frame.comment")
        self.assertEqual({row.split("\t")[0] for row in rows}, {"60"})
        self.assertTrue(all("class=0" in row for row in rows))
        self.assertEqual(len(rows) - count(self.out, 'frame.comment contains "dir=drop"'),
                         sum(got.values()))
        self.assertGreater(count(self.out, PFC), 0)

    def test_a_run_without_a_folder_says_that_there_is_no_file(self):
        done = subprocess.run([LAB, "run", PAIR, "--quiet", "--set", "record={capture: s1.p3}"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertIn("capture: no file without --out DIR\n", done.stdout)


if __name__ == "__main__":
    if not shutil.which("tshark"):
        print("skipped: tshark is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
