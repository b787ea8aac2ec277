# SPDX-License-Identifier: Apache-2.0
"""The tests of Weir are programs for `scripts/test`: pytest would run them as it imports them, live
ones as root, too. Tests of your own beside this file are found."""
collect_ignore = ["build", "control", "debian", "docs", "python", "scripts", "tests", "web"]


def pytest_report_header():
    return "the tests of Weir itself: scripts/test"
