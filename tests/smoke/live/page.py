# SPDX-License-Identifier: Apache-2.0
"""The commands of a page of docs, in their order."""
import os
import re
import shlex

import live

COMMAND = re.compile(r"(?m)^    ((?:weir|dpdk-testpmd|ip|sysctl|vtysh|/usr/lib/frr/|scripts/|"
                     r"podman)\S*(?: .*)?)$")


def headings(page):
    with open(os.path.join(live.ROOT, "docs", page)) as f:
        return re.findall(r"(?m)^## (.*)$", f.read())


def commands(page, heading):
    """Of the part under a heading, each as a list of words."""
    with open(os.path.join(live.ROOT, "docs", page)) as f:
        parts = re.split(r"(?m)^## ", f.read())
    part = next(p for p in parts if p.startswith(heading))
    return [shlex.split(c) for c in COMMAND.findall(part)]
