#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each manual page has examples, and the programs know every word of them. --help fits 80 columns.

usage: test_examples.py ROOT PROGRAM...
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[2:]}
COLUMNS = 80
POLICY = os.path.join(ROOT, "conf/roce.yaml")


def want(true, text):
    if not true:
        raise AssertionError(text)


def run(program, *args):
    return subprocess.run([PROGRAMS[program], *args], capture_output=True, text=True, timeout=60,
                          check=False)


def examples(page):
    """The command and the explanation of each entry of the section EXAMPLES."""
    with open(page, encoding="ascii") as f:
        section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH", f.read(), re.MULTILINE | re.DOTALL)
    want(section, f"{page}: no section EXAMPLES")
    text = section.group(1).replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\fR", "")
    return [item.removeprefix(r"\fB").split("\n", 1) for item in text.split(".TP\n")[1:]]


def check_options(program, command, words):
    listed = run(program, *command, "--help")
    want(listed.returncode == 0, f"{program} {command} --help: {listed.stderr}")
    known = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", listed.stdout + run(program, "--help").stdout)
    for word in words:
        if word.startswith("-"):
            want(word.split("=")[0] in known, f"{program} {command} has no {word}")


def check_command(line):
    program, *words = shlex.split(line)
    command = []
    if program in ("weirctl", "weir-lab"):
        command = [words[2] if words[0] == "-s" else words[0]]
    check_options(program, command, words)
    if program == "weirctl" and words[0] in ("check", "plan"):
        done = run(program, *[POLICY if w == "policy.yaml" else w for w in words])
        want(done.returncode == 0, f"{line}: {done.stdout}{done.stderr}")
    if program == "weirctl" and command == ["show"]:
        want(f"  {words[3]} " in run(program, "help", "show").stdout, f"{line}: no such kind")
    if program == "weir-lab" and command == ["list"]:
        want(run(program, *words).returncode == 0, line)
    elif program == "weir-lab":
        sets = [w for w in words if "=" in w]
        done = run(program, "check", words[1], *[f"--set={s.split(',')[0]}" for s in sets])
        want(done.returncode == 0, f"{line}: {done.stderr}")


def check_page(page):
    rows = examples(page)
    want(3 <= len(rows) <= 6, f"{len(rows)} examples")
    for command, says in rows:
        want(re.fullmatch(r"[A-Z].*\.\n", says), f"{command}: {says!r}")
        check_command(command)


def check_help():
    """--help of each program and of each of its commands, and the functions of scenarios."""
    commands = [(program, "--help") for program in PROGRAMS] + [("weir-lab", "help", "functions")]
    for program in ("weirctl", "weir-lab"):
        listed = re.findall(rf"^  (?:{program} )?([a-z]+) ", run(program, "--help").stdout,
                            re.MULTILINE)
        want(len(listed) > 5, f"{program} --help names {listed}")
        commands += [(program, command, "--help") for command in dict.fromkeys(listed)]
    for words in commands:
        for line in run(*words).stdout.splitlines():
            want(len(line) <= COLUMNS, f"{' '.join(words)}: {len(line)} columns: {line}")


def check_commands():
    """Each command of weirctl has one line in --help: its name and a clause, no usage form."""
    lines = run("weirctl", "--help").stdout.split("\n\n")[2].splitlines()
    want(len({line.split()[0] for line in lines}) == len(lines) > 15, lines)
    for line in lines:
        want(re.fullmatch(r"  [a-z]+ +[A-Z][^\[\]|]{9,}", line), line)


def check_width(page):
    """As a terminal of 80 columns shows it."""
    if shutil.which("man") is None:
        return
    shown = subprocess.run(["man", "-l", page], capture_output=True, text=True, check=False,
                           env=os.environ | {"MANWIDTH": str(COLUMNS), "LC_ALL": "C"})
    for line in shown.stdout.splitlines():
        want(len(line) <= COLUMNS, f"{len(line)} columns: {line}")


def check_completion():
    script = 'source <("$1" completion bash); f=_${2//-/_}; COMP_WORDS=("$2" --hel); ' \
             'COMP_CWORD=1; $f; echo "${COMPREPLY[*]}"'
    for program in PROGRAMS:
        if program != "weir-inof":
            done = subprocess.run(["bash", "-c", script, "bash", PROGRAMS[program], program],
                                  capture_output=True, text=True, timeout=60, check=False)
            want(done.stdout == "--help\n", f"{program}: {done.stdout!r} {done.stderr}")


def passes(name, check, *args):
    try:
        check(*args)
        print(f"ok   {name}")
        return True
    except AssertionError as e:
        print(f"FAIL {name}\n     {e}")
        return False


def main():
    pages = sorted(glob.glob(os.path.join(ROOT, "docs/man/*.[158]")))
    want(len(pages) == 9, pages)
    failed = 0
    for page in pages:
        failed += not passes(re.sub(r"\W", " ", os.path.basename(page)), check_page, page)
        failed += not passes(f"width of {os.path.basename(page)}", check_width, page)
    failed += not passes("bash completes the options of each program", check_completion)
    failed += not passes("help_fits_80_columns", check_help)
    failed += not passes("a command has one line of help", check_commands)
    return failed != 0


sys.exit(main())
