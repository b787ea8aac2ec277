#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weirctl import sonic` reads files and standard input, and a file of the wrong kind gets the
command that goes the other way.

usage: test_import.py WEIRCTL
"""
import subprocess
import sys
import tempfile
import unittest

WEIRCTL = sys.argv[1]
CONFIG_DB = '{"PORT": {"Ethernet0": {"speed": "10000"}, "Ethernet4": {"speed": "10000"}}}'


def run(*words, text=""):
    done = subprocess.run([WEIRCTL, *words], input=text, capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout, " ".join(done.stderr.split())


class Import(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".file")
        self.addCleanup(self.file.close)

    def put(self, text):
        self.file.write(text)
        self.file.flush()
        return self.file.name

    def test_standard_input_is_a_file(self):
        from_file = run("import", "sonic", self.put(CONFIG_DB))
        self.assertEqual(from_file[0], 0)
        self.assertIn("Ethernet[0,4]", from_file[1])
        self.assertEqual(run("import", "sonic", "-", text=CONFIG_DB)[:2], from_file[:2])

    def test_a_policy_is_for_the_export(self):
        policy = self.put(run("import", "sonic", "-", text=CONFIG_DB)[1])
        status, out, err = run("import", "sonic", policy)
        self.assertEqual((status, out), (2, ""))
        self.assertIn(f"{policy} is a policy: `weirctl export sonic {policy}` makes", err)
        self.assertEqual(err.count("error:"), 1)
        self.assertEqual(run("export", "sonic", policy)[0], 0)

    def test_a_sonic_configuration_is_for_the_import(self):
        path = self.put(CONFIG_DB)
        for words in (("check",), ("plan",), ("export", "sonic")):
            status, out, err = run(*words, path)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(f"is a SONiC configuration, not a policy: `weirctl import sonic {path}`",
                          err)
            self.assertNotIn("unknown key", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
