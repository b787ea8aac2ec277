# SPDX-License-Identifier: Apache-2.0
"""What the tests of the host share: expectations, and one way to run tests."""
import argparse
import os


class Failed(AssertionError):
    """An expectation does not hold."""


def want(condition, text):
    if not condition:
        raise Failed(text)


def programs(doc, *names):
    """The paths on the command line, or None without root."""
    p = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name in names:
        p.add_argument(name)
    args = p.parse_args()
    if os.geteuid() == 0:
        return args
    print("needs root")
    return None


def main(doc, tests, *names):
    """Each test gets the programs. The exit status."""
    args = programs(doc, *names)
    if args is None:
        return 77
    failed = 0
    for test in tests:
        name = test.__name__.replace("_", " ")
        try:
            test(args)
            print(f"ok   {name}", flush=True)
        except AssertionError as e:
            failed += 1
            print(f"FAIL {name}\n{e}", flush=True)
    return failed > 0
