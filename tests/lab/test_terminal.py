#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No line is wider than a terminal of 80 columns, and a pipe gets one line for each message.

usage: test_terminal.py ROOT WEIR WEIRCTL WEIR_LAB
"""
import os
import re
import subprocess
import sys
import tempfile

import readable

os.environ.pop("COLUMNS", None)
ROOT = os.path.abspath(sys.argv[1])
WEIR, WEIRCTL, LAB = (os.path.abspath(path) for path in sys.argv[2:])
COLUMNS, ROWS = 80, 24
MANUAL = "More about it: docs/"  # the last line of a mistake that has a page
UNSOUND = """ports:
  - {name: eth1, device: "xdp:eth1", speed: 1G, profile: storage}
  - {name: eth2, device: "xdp:eth2", speed: 10G, profile: storage}
profiles:
  storage: {classes: {3: {lossless: on, wred: {ecn: on, kmin: 900KB, kmax: 100KB, pmax: 1%}}}}
  unused: {}
"""
WARNED = UNSOUND.replace("kmin: 900KB, kmax: 100KB", "kmin: 100KB, kmax: 400KB")


def want(true, text):
    if not true:
        raise AssertionError(text)


def on_terminal(*command, code=0):
    got, text = readable.on_terminal(command, COLUMNS, ROWS)
    want(got == code, f"{command}: exit {got}, not {code}\n{text}")
    wide = readable.too_wide(text, COLUMNS)
    want(not wide, f"{command}: over {COLUMNS} columns:\n" + "\n".join(wide))
    return text


def in_pipe(*command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    want(done.returncode == code, f"{command}: {done.stderr}")
    return done.stdout, done.stderr


def words(text):
    return " ".join(readable.ESCAPE.sub("", text).split())


def a_plan_fits():
    for policy in ("roce", "storm", "ipcc", "guard"):
        path = os.path.join(ROOT, f"conf/{policy}.yaml")
        text = on_terminal(WEIRCTL, "plan", path)
        want(text == in_pipe(WEIRCTL, "plan", path)[0], f"{policy}: a pipe gets another plan")


def a_plan_of_long_names_fits():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.yaml")
        with open(os.path.join(ROOT, "conf/storm.yaml"), encoding="ascii") as f:
            policy = f.read().replace('"p[', '"uplink-to-the-spine-[')
        with open(path, "w", encoding="ascii") as f:
            f.write(policy)
        want("uplink-to-the-spine-1" in on_terminal(WEIRCTL, "plan", path), policy)


def messages_are_broken_on_a_terminal_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.yaml")
        for policy, code in ((UNSOUND, 2), (WARNED, 0)):
            with open(path, "w", encoding="ascii") as f:
                f.write(policy)
            _, err = in_pipe(WEIRCTL, "check", path, code=code)
            lines = [line for line in err.splitlines() if not line.startswith(MANUAL)]
            want(all(line.startswith(path + ":") for line in lines), err)
            want(max(map(len, lines)) > COLUMNS, err)
            text = on_terminal(WEIRCTL, "check", path, code=code)
            want(words(err) in words(text), f"{text}\nis not, by its words,\n{err}")


def a_daemon_knows_its_terminal():
    """Pipes of its own stand between the daemon and its terminal."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.yaml")
        with open(path, "w", encoding="ascii") as f:
            f.write(UNSOUND)
        _, err = in_pipe(WEIR, "-c", path, code=2)
        want(max(map(len, err.splitlines())) > COLUMNS, err)
        text = on_terminal(WEIR, "-c", path, code=2)
        want(words(err) == words(text), f"{text}\nis not, by its words,\n{err}")


def no_word_is_lost(*command):
    """On a terminal, of all words that a pipe gets."""
    out, _ = in_pipe(*command)
    want(max(map(len, out.splitlines())) > COLUMNS, f"{command}: fits anyhow")
    text = on_terminal(*command)
    lost = set(out.split()) - set(words(text).split())
    want(not lost, f"{command}: {lost} not in\n{text}")
    return text


def a_run_fits():
    for scenario in ("incast", "ring-deadlock", "ipcc-cm"):
        no_word_is_lost(LAB, "run", scenario)


def a_table_in_blocks_repeats_its_keys():
    text = no_word_is_lost(LAB, "run", "storm-timing")
    block = r"\nqueue .*\n(s1\.p.*\n)+"
    want(re.search(block * 2, text), text)


def a_sweep_fits():
    no_word_is_lost(LAB, "sweep", "storm-count", "--quiet", "--vary", "seed=1,2")


def texts_of_a_scenario_do_not_reach_the_terminal_as_orders():
    """A scenario may come from elsewhere. U+009B begins an escape sequence, as ESC [ does."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "orders.yaml")
        with open(path, "w") as f:
            f.write('scenario: orders\ntitle: "A \\u009b31m \\u202e title"\n'
                    'params: {b: "\\e]0;x\\a\\u202e"}\nduration: 100us\n'
                    f'policy: {ROOT}/conf/roce.yaml\n'
                    'topology: {star: {hosts: 2, speed: 25G, length: 5m}}\n'
                    'flows: [{name: f, from: h1, to: h2, class: 3}]\n')
        out, err = in_pipe(LAB, "run", path)
    want("A ??31m ??? title\n" in out and "params: b = ?]0;x????\n" in out, out)
    bad = [c for c in out + err if not c.isprintable() and c != "\n"]
    want(not bad, f"{bad}")


TESTS = [a_plan_fits, a_plan_of_long_names_fits, messages_are_broken_on_a_terminal_alone,
         a_daemon_knows_its_terminal, a_run_fits, a_table_in_blocks_repeats_its_keys, a_sweep_fits,
         texts_of_a_scenario_do_not_reach_the_terminal_as_orders]


def main():
    failed = 0
    for test in TESTS:
        try:
            test()
            print("ok  ", test.__name__)
        except AssertionError as e:
            print("FAIL", test.__name__, "\n    ", e)
            failed += 1
    return failed != 0


sys.exit(main())
