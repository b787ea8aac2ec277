# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/virtual.md, in their order."""
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live  # noqa: E402

PAGE = os.path.join(live.ROOT, "docs", "virtual.md")
COMMAND = re.compile(r"(?m)^    ((?:weir|dpdk-testpmd|ip|scripts/|podman|containerlab)\S* .*)$")


def commands(heading):
    """Of the part under a heading, each as a list of words."""
    with open(PAGE) as f:
        parts = re.split(r"(?m)^## ", f.read())
    part = next(p for p in parts if p.startswith(heading))
    return [shlex.split(c) for c in COMMAND.findall(part)]
