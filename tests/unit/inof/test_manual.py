#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual page of weir-inof, its completion in bash, and an installed tree in which the program
runs.

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


def bash_completes_options_and_files():
    script = 'source <("$1" -B "$2" completion bash); shift; COMP_WORDS=("$@"); ' \
             'COMP_CWORD=$(($# - 1)); _weir_inof; printf "%s\\n" "${COMPREPLY[@]}"'

    def complete(*words):
        program = os.path.join(ROOT, "control/inof/weir-inof")
        return subprocess.run(["bash", "-c", script, "bash", sys.executable, program, *words],
                              text=True, capture_output=True, cwd=os.path.join(ROOT, "conf"),
                              check=True).stdout.split()

    for words, found in [(["--re"], ["--reflector", "--restart"]),
                         (["--local", "1.1.1.1", "--p"], ["--password-file"]),
                         (["--zones", "inof/z"], ["inof/zones.yaml"]),
                         (["--zones", "=", "inof/z"], ["inof/zones.yaml"]),
                         (["--hold", ""], []), (["-s", "there-is-none"], [])]:
        if complete(*words) != found:
            raise AssertionError(f"{words}: {complete(*words)}")
    want(len(complete("--zones", "=")), len(os.listdir(os.path.join(ROOT, "conf"))))


def an_installed_tree_has_program_modules_page_and_example():
    with tempfile.TemporaryDirectory() as to:
        files = ["bin/weir-inof", "share/weir/inof/weir-inof", "share/weir/inof/hosts.py",
                 "share/weir/inof/zones.py", "share/bash-completion/completions/weir-inof",
                 "share/man/man1/weir-inof.1",
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
                    bash_completes_options_and_files,
                    an_installed_tree_has_program_modules_page_and_example]))
