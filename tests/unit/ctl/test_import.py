#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weirctl import sonic` reads files and standard input, and a file of the wrong kind gets the
command that goes the other way.

usage: test_import.py WEIRCTL
"""
import os
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

    def test_a_file_that_is_too_large_is_named_with_the_limit(self):
        for text in (CONFIG_DB[:-1] + " " * (4 << 20) + "}", "x" * (10 << 20)):
            status, out, err = run("import", "sonic", "-", text=text)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("-: the file is larger than 4 MiB", err)
            self.assertNotIn("too early", err)

    def test_a_pipe_of_the_shell_is_a_file_and_another_pipe_is_none(self):
        read, write = os.pipe()
        os.write(write, CONFIG_DB.encode())
        os.close(write)
        done = subprocess.run([WEIRCTL, "import", "sonic", f"/dev/fd/{read}"], pass_fds=[read],
                              capture_output=True, text=True, timeout=60, check=False)
        os.close(read)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ethernet[0,4]", done.stdout)
        os.unlink(self.file.name)
        os.mkfifo(self.file.name)
        for words in (("check",), ("plan",), ("import", "sonic"), ("export", "sonic")):
            status, _, err = run(*words, self.file.name)
            self.assertEqual(status, 2)
            self.assertIn("cannot open: it is no regular file", err)

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
