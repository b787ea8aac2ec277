# SPDX-License-Identifier: Apache-2.0
"""Scenarios are run with one thing taken away or turned round, and must miss just that.

    test_... WEIR-LAB ROOT
"""
import json
import pathlib
import subprocess
import sys
import unittest


class CanFail(unittest.TestCase):
    pass


def case(name, sets, must_fail):
    lab, scenarios = sys.argv[1], pathlib.Path(sys.argv[2]) / "conf/lab"

    def test(self):
        changes = [word for s in sets for word in ("--set", s)]
        done = subprocess.run([lab, "run", scenarios / f"{name}.yaml", "--quiet", "--json",
                               *changes], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 1, done.stderr)
        result = json.loads(done.stdout)
        failed = [e["expectation"] for e in result["expectations"] if not e["passed"]]
        for e in must_fail:
            self.assertIn(e, failed)
        self.assertTrue(result["balanced"])
    return test


def main(cases):
    """cases: scenario, what is changed, expectations that must fail then (among others)."""
    for i, (name, sets, must_fail) in enumerate(cases):
        setattr(CanFail, f"test_{i:02}_{name.replace('-', '_')}_fails_with_{sets[0]}",
                case(name, sets, must_fail))
    unittest.main(module=__name__, argv=sys.argv[:1])
