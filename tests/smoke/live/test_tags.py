#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Endpoints in a VLAN, over IPv4 and IPv6, at a switch with `trust: pcp`: they find each other by
ARP and neighbour discovery, and an incast is paused in the class of the PCP. tshark reads the
frames.

usage: test_tags.py BUILD_DIR
"""
import os
import signal
import subprocess
import sys

import live
from live import eventually, want

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

SCALE = 1000
POLICY = """\
switch: {name: %(name)s, time_scale: %(scale)d, buffer: {size: 8MB}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 10G, vlan: {tagged: [100]}, profile: roce}
  - {name: p3, device: "xdp:sw3", speed: 5G, vlan: {tagged: [100]}, profile: roce}
vlans: [{id: 100}]
profiles:
  roce:
    trust: pcp
    classes: {3: {lossless: true, ingress: {static: 100KB}}}
"""


def kinds_in(path):
    """VID, PCP and version of IP of the data packets and ACKs of a capture."""
    out = subprocess.run(["tshark", "-r", path, "-T", "fields", "-E", "separator=,", "-e",
                          "vlan.id", "-e", "vlan.priority", "-e", "ip.version", "-Y",
                          "infiniband.bth.opcode <= 0x11"], capture_output=True, text=True,
                         check=True).stdout
    return set(out.split())


def a_vlan_of_both_families_is_paused_in_the_class_of_its_pcp():
    programs = Programs(sys.argv[1])
    name = switch_name()
    # DSCP 0 is no class of its own: the PCP alone says it.
    common = ["--vlan", "100", "--class", "3", "--dscp", "0", "--pfc", "3",
              "--time-scale", str(SCALE)]
    with World(3) as world:
        switch = Switch(world, programs, name, POLICY % {"name": name, "scale": SCALE})
        path = os.path.join(world.logs, "tags.pcapng")
        receiver = Host(world, programs, 3, "receiver", "--ip6", "fd00::3", "--listen", "--speed",
                        "5G", *common).ready()
        capture = world.spawn("sw", "capture", programs.weirctl, "-s", name, "capture", "p3", path)
        eventually(lambda: "capturing" in capture.err(), "the capture runs")
        senders = [Host(world, programs, i, f"sender{i}", "--ip6", f"fd00::{i}", "--to", to,
                        "--speed", "10G", "--time", "6ms", "--rto", "200ms", *common)
                   for i, to in ((1, "10.0.0.3"), (2, "fd00::3"))]
        for s in senders:
            want(s.process.p.wait(60) == 0, s.process.said())
        reports = [s.report() for s in senders]
        pfc = switch.show("pfc")["pfc"]
        for i, r in enumerate(reports, 1):
            want(pick(pfc, port=f"p{i}", **{"class": 3})["tx_pause"] > 0, f"p{i} paused its sender")
            want(r["naks_received"] == 0 and r["timeouts"] == 0, r)
            want(r["pfc"] == [3] and r["vlan"] == 100 and r["ip6"] == f"fd00::{i}", r)
        lost = [d for d in switch.show("drops")["drops"] if d["class"] == 3]
        want(lost == [], f"lost: {lost}")
        want(capture.stop(signal.SIGINT) == 0, capture.said())
        want(kinds_in(path) == {"100,3,4", "100,3,6"}, f"captured: {kinds_in(path)}")
        receiver.process.stop()
        want(switch.stop() == 0, switch.process.said())


live.need_root("tshark")
sys.exit(live.run_tests([a_vlan_of_both_families_is_paused_in_the_class_of_its_pcp]))
