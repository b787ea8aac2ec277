#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a sweep decides without a run: values, combinations, what a run said, quantities, axes.

usage: test_sweep.py ROOT
"""
import argparse
import json
import math
import pathlib
import sys
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, str(pathlib.Path(ROOT, "control/lab")))
import plot # noqa: E402
import sweep # noqa: E402


def a_sweep(*vary):
    return sweep.Sweep(argparse.Namespace(vary=list(vary), files=["x.yaml"], set=[], metric=[],
                                          digits=4, program="weir-lab"))


class Sweep(unittest.TestCase):
    def test_varied_values_part_at_commas_outside_brackets(self):
        for text, key, values in (("kmin=5KB,20KB", "kmin", ["5KB", "20KB"]),
                                  ("duration=1ms", "duration", ["1ms"]),
                                  ("a.b[2].c={x: 1,y: 2},{x:3}", "a.b[2].c",
                                   ["{x: 1,y: 2}", "{x:3}"]),
                                  ("e='a,b',c", "e", ["'a,b'", "c"]),
                                  ("e='a,b", "e", ["'a,b"])):
            v = sweep.Vary(text)
            self.assertEqual((v.key, v.values), (key, values))
        for text in "kmin", "=5", "kmin=", "kmin=5,,6", "kmin=5,":
            with self.assertRaises(SystemExit, msg=text):
                sweep.Vary(text)

    def test_combinations_count_like_digits(self):
        points = a_sweep("a=0,1", "b=0,1,2").points
        self.assertEqual(["".join(p.settings) for p in points],
                         ["00", "01", "02", "10", "11", "12"])

    def test_what_a_run_printed_is_taken_or_left(self):
        p = sweep.Point([])
        for text in "", "not JSON", "{}":
            p.end(0, text, "")
            self.assertEqual(p.values, [])
        p.end(1, json.dumps({
            "passed": True,
            "expectations": [{"expectation": "x == 1", "unit": "bps", "value": 2.5,
                              "passed": False}],
            "metrics": [{"metric": "y", "value": None}]}), "")
        self.assertTrue(p.passed)
        x, y = p.values
        self.assertEqual((x.name, x.unit, x.value, x.passed), ("x == 1", "bps", 2.5, False))
        self.assertTrue(math.isnan(y.value) and y.passed is None)

    def test_the_page_marks_what_does_not_hold_by_itself(self):
        s = a_sweep("a=0")
        s.points[0].end(1, json.dumps({
            "passed": False,
            "expectations": [{"expectation": "x == 1", "unit": "bps", "value": 2.5,
                              "passed": False}]}), "")
        self.assertEqual(s.points[0].values[0].shown(4), "2.5bps !")
        self.assertEqual(s.data()["runs"][0]["values"],
                         [{"value": 2.5, "text": "2.5bps", "passed": False}])

    def test_a_warning_is_not_why_a_run_did_not_start(self):
        p = sweep.Point([])
        p.end(2, "", "a.yaml:1:1: warning: odd\na.yaml:2:1: wrong\n")
        self.assertEqual(p.error, "a.yaml:2:1: wrong")
        p.end(-9, "", "")
        self.assertEqual((p.code, p.error), (137, "ended by signal 9 (Killed)"))


class Plot(unittest.TestCase):
    def test_quantities_are_those_of_the_language(self):
        for text, v in (("20G", (20e9, "bps")), ("2.5G", (2.5e9, "bps")), ("64B", (64, "bytes")),
                        ("1MiB", (1048576, "bytes")), ("1.5ms", (1.5e6, "ns")),
                        ("0.9%", (0.009, "share")), ("0.98", (0.98, "")), ("3 G", (3e9, "bps")),
                        ("20g", None), ("1e9", None), ("5.", None), (".5", None), ("", None),
                        ("1234567890123456", None), ("on", None)):
            self.assertEqual(plot.quantity(text), v, text)

    def test_quantities_print_as_people_write_them(self):
        for unit, v, text in (("bps", 9.8124e9, "9.812G"), ("bps", 999.96e6, "1G"),
                              ("bps", 0, "0"), ("bps", 12, "12bps"), ("bytes", 125300, "125.3KB"),
                              ("ns", 12400, "12.4us"), ("ns", -1500, "-1.5us"),
                              ("share", 0.0092, "0.92%"), ("share", 7.84e-7, "< 0.001%"),
                              ("share", -7.84e-7, "> -0.001%"), ("", 1234567, "1234567"),
                              ("", 4503599627370497, "4503599627370497"),
                              ("", 1234567.25, "1234567"), ("", 0.99974, "0.99974"),
                              ("", math.nan, "no value")):
            self.assertEqual(plot.printed(unit, v), text)


if __name__ == "__main__":
    unittest.main()
