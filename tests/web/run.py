#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a test of the page with node: run.py [--browser] TEST [ARGUMENT...]

Exit 77, with the reason, where node, web/node_modules or (with --browser) chromium is missing.
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BROWSER = "/usr/bin/chromium"


def missing(browser):
    if not shutil.which("node"):
        return "node is missing: run scripts/setup"
    if not os.path.isdir(f"{ROOT}/web/node_modules/playwright-core"):
        return "web/node_modules is missing: run scripts/setup"
    if browser and not os.path.exists(BROWSER):
        return f"{BROWSER} is missing: run scripts/setup --browser"
    return None


def main():
    args = sys.argv[1:]
    browser = args[0] == "--browser"
    reason = missing(browser)
    if reason:
        print(f"skipped: {reason}")
        return 77
    return subprocess.run(["node", *args[browser:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
