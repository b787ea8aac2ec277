#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tutorial of the lab: its commands, taken from the page and run, do what it says."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

LAB, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGE = (ROOT / "docs/lab-tutorial.md").read_text()
COMMANDS = re.findall(r"(?m)^    (weir-lab .*)$", PAGE)
# Of each command: its exit code, and what it prints with what the page makes of it.
SAID = (
    (1, (("99.67%", "carries 99.67 %"), ("2.199us", "requests take 2.2 us"))),
    (1, (("30.86us", "Requests take 31 us"), ("25002", "paused 25,000 times"),
         ("PFC can pause before ECN marks", "The warning before"))),
    (1, (("25KB   PASS", "25 KB and 50 KB hold"), ("50KB   PASS", "25 KB and 50 KB hold"),
         ("5KB    FAIL", ""), ("100KB  FAIL", ""))),
    (0, ()),
    (0, (("PASS: 4 of 4", "hold all four expectations"),)),
    (0, (("n   run", "The table has a column `n`"),)),
)


class Tutorial(unittest.TestCase):
    def test_it_has_five_commands_that_end_with_a_plot_and_one_more(self):
        self.assertEqual(len(COMMANDS), 6)
        self.assertGreater(PAGE.index("plots/tutorial.png"), PAGE.index(COMMANDS[4]))
        for plot in re.findall(r"\]\((plots/.*?)\)", PAGE):
            self.assertTrue((ROOT / "docs" / plot).exists(), plot)

    def test_the_commands_do_what_the_page_says(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "conf").symlink_to(ROOT / "conf")
            for command, (code, said) in zip(COMMANDS, SAID):
                with self.subTest(command):
                    done = subprocess.run([LAB, *shlex.split(command)[1:]], cwd=folder, text=True,
                                          capture_output=True, timeout=200)
                    self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                    for printed, text in said:
                        self.assertIn(printed, done.stdout + done.stderr)
                        self.assertIn(text, PAGE)
            made = {os.path.relpath(os.path.join(base, f), folder)
                    for base, _, files in os.walk(folder) for f in files}
            for name in re.findall(r"`(runs/[\w/.]+)`", PAGE):
                self.assertIn(name, made)


unittest.main(argv=sys.argv[:1])
