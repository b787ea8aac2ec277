#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of weir-inof, and an installed tree in which the program runs.

usage: test_manual.py BUILD_DIR [TEST...]
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "tests/smoke/live")]
from live import run_tests # noqa: E402

BUILD = sys.argv[1]


def want(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got}\n  wanted {wanted}")


def options_in_help(program):
    text = subprocess.run([sys.executable, "-B", program, "--help"], capture_output=True,
                          text=True, check=True, env={**os.environ, "COLUMNS": "200"}).stdout
    rows = re.findall(r"(?m)^  (-\S.*?)(?:  +|\n +)(\S.*)$", text)
    return [(re.sub(r"-s NAME, ", "-s, ", names), help_) for names, help_ in rows
            if "--help" not in names]


def the_page_has_each_option_as_the_program_says():
    with open(os.path.join(ROOT, "docs/man/weir-inof.1"), encoding="utf-8") as f:
        page = f.read().replace("\\-", "-")
    options = options_in_help(os.path.join(ROOT, "control/inof/weir-inof"))
    want(len(options), 9)
    want(re.findall(r"(?m)^\.TP\n\\fB(-.*)\\fR\n(.*)$", page), options)


def an_installed_tree_has_program_modules_page_and_example():
    with tempfile.TemporaryDirectory() as to:
        files = ["bin/weir-inof", "share/weir/inof/weir-inof", "share/weir/inof/hosts.py",
                 "share/weir/inof/zones.py", "share/man/man1/weir-inof.1",
                 "share/weir/conf/inof/zones.yaml", "share/weir/conf/frr/reflector.conf",
                 "lib/systemd/system/weir-inof@.service",
                 "lib/systemd/system/weir-inof-zones.service"]
        subprocess.run(["meson", "install", "--no-rebuild", "-C", BUILD, "--destdir", to],
                       check=True, capture_output=True)
        program, = glob.glob(f"{to}/**/bin/weir-inof", recursive=True)
        prefix = os.path.dirname(os.path.dirname(program))
        want([f for f in files if not os.path.exists(os.path.join(prefix, f))], [])
        want(len(options_in_help(os.path.join(prefix, "bin/weir-inof"))), 9)


sys.exit(run_tests([the_page_has_each_option_as_the_program_says,
                    an_installed_tree_has_program_modules_page_and_example]))
