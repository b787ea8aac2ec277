# SPDX-License-Identifier: Apache-2.0
"""What the tests of LLDP share: the policy, the run directories of the agents, and what the switch
knows of the host at a port."""
import os
import shutil

import live
from live import want

from world import run, switch_name # noqa: E402: the path is set by live

POLICY = """\
switch: {name: %(name)s, lldp: on}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 10G, profile: roce%(port)s}
profiles:
  roce:
    dscp_to_class: {default: 0, 26: 3}
    pfc: {mode: %(mode)s}
    classes:
      0: {schedule: {dwrr: 1}}
      3: {lossless: on, schedule: {dwrr: 3}}
      6: {schedule: strict}
%(more)s"""


def policy(mode="on", port="", more=""):
    return POLICY % {"name": switch_name(), "mode": mode, "port": port, "more": more}


def private(*folders):
    """File systems of this containment in place of folders of the machine."""
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        run("mount", "-t", "tmpfs", "none", folder)


def need(*programs):
    for program in programs:
        want(shutil.which(program), f"{program} is not installed: scripts/setup --network")


def dcbx(switch, port="p1"):
    return [r for r in switch.show("dcbx")["dcbx"] if r["port"] == port][0]


def events(switch, name):
    return [e for e in switch.show("events")["events"] if e["event"] == name]
