# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the Python package `weir` with pytest, on the programs of a build directory.

usage: run.py BUILD [ARGUMENT OF PYTEST...]

Exits 77 where pytest is not installed, or where each test was skipped."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77


class Count:
    passed = skipped = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed
        self.skipped += report.skipped


def main():
    try:
        import pytest
    except ImportError:
        print("skipped: python3-pytest is not installed")
        return SKIPPED
    os.environ.update(WEIR_BUILD=os.path.abspath(sys.argv[1]), WEIR_ROOT=ROOT,
                      PYTHONPATH=os.path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE="1")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    count = Count()
    status = pytest.main(["-p", "weir.pytest_plugin", "-p", "no:cacheprovider", "-rs", "-v",
                          "--strict-markers", "--rootdir", HERE, *sys.argv[2:]], [count])
    return SKIPPED if status == 0 and count.passed == 0 and count.skipped else int(status)


if __name__ == "__main__":
    sys.exit(main())
