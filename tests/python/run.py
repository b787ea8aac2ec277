# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the Python package `weir` with pytest, on the programs of a build directory.

usage: run.py BUILD FILE... [CASE] [OPTION OF PYTEST...]

CASE is the name of a function; the others do not run. Exits 77 where pytest is not installed, or
where each test was skipped."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77


class House:
    """A line for each case, as the other tests print it; and which cases run."""

    def __init__(self, case):
        self.case, self.passed, self.skipped = case, 0, 0

    def pytest_collection_modifyitems(self, items):
        items[:] = [i for i in items if self.case in (None, i.originalname)]

    def pytest_runtest_logreport(self, report):
        name = report.head_line.split("[")[0].replace("_", " ")
        self.skipped += report.skipped
        if report.failed:
            print(f"\nFAILED  {name}")
        elif report.when == "call" and report.passed:
            self.passed += 1
            print(f"\nok      {name}")


def main():
    try:
        import pytest
    except ImportError:
        print("skipped: python3-pytest is not installed")
        return SKIPPED
    os.environ.update(WEIR_BUILD=os.path.abspath(sys.argv[1]), WEIR_ROOT=ROOT,
                      PYTHONPATH=os.path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE="1")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    words = sys.argv[2:]
    case = next((w for w in words if w.startswith("test_") and w.isidentifier()), None)
    house = House(case)
    status = pytest.main(["-p", "weir.pytest_plugin", "-p", "no:cacheprovider", "-rs", "-q",
                          "--no-header", "--strict-markers", "--rootdir", HERE,
                          *[w for w in words if w != case]], [house])
    return SKIPPED if status == 0 and house.passed == 0 and house.skipped else int(status)


if __name__ == "__main__":
    sys.exit(main())
