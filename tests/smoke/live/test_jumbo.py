#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of several buffers through an incast of RoCEv2: path MTU 4096 beside 256, in a lossless
class, to a port of half the speed. And a capture that has them whole.

usage: test_jumbo.py BUILD_DIR
"""
import os
import subprocess
import sys

import live
from live import want

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

SCALE = 1000
POLICY = """\
switch: {name: %(name)s, time_scale: %(scale)d, buffer: {size: 8MB}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 10G, mtu: 9216, profile: roce}
  - {name: p3, device: "xdp:sw3", speed: 5G, mtu: 9216, profile: roce}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  roce: {classes: {3: {lossless: true, ingress: {static: 100KB}}}}
"""


def sizes_in(path):
    """Lengths of the frames of a capture, as tshark finds them in the file and on the wire."""
    out = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.cap_len", "-e",
                          "frame.len", "-Y", "infiniband"], capture_output=True, text=True,
                         check=True).stdout
    return [tuple(map(int, line.split())) for line in out.splitlines()]


def an_incast_of_long_and_short_frames_loses_none_and_is_captured_whole():
    programs = Programs(sys.argv[1])
    name = switch_name()
    slowed = ["--time-scale", str(SCALE)]
    with World(3, mtu=9216) as world:
        switch = Switch(world, programs, name, POLICY % {"name": name, "scale": SCALE})
        path = os.path.join(world.logs, "jumbo.pcapng")
        receiver = Host(world, programs, 3, "receiver", "--listen", "--class", "3", "--speed",
                        "5G", "--mtu", "4096", *slowed).ready()
        senders = [Host(world, programs, i, f"sender{i}", "--to", "10.0.0.3", "--class", "3",
                        "--mtu", mtu, "--speed", "10G", "--time", "6ms", "--rto", "200ms", *slowed)
                   for i, mtu in ((1, "4096"), (2, "256"))]
        switch.ctl("capture", "p3", path, "--count", "200")
        for s in senders:
            want(s.process.p.wait(60) == 0, s.process.said())
        reports = [s.report() for s in senders]
        pfc = switch.show("pfc")["pfc"]
        for i in (1, 2):
            want(pick(pfc, port=f"p{i}", **{"class": 3})["tx_pause"] > 0, f"p{i} paused its sender")
        lost = [d for d in switch.show("drops")["drops"] if d["class"] == 3]
        want(lost == [], f"lost: {lost}")
        for r in reports:
            want(r["naks_received"] == 0 and r["timeouts"] == 0, r)
        sizes = sizes_in(path)
        want(all(a == b for a, b in sizes), "frames are captured whole")
        print(f"        captured: {sorted({b for _, b in sizes})}")
        want(max(b for _, b in sizes) > 4096 and min(b for _, b in sizes) < 400, sizes)
        receiver.process.stop()
        want(switch.stop() == 0, switch.process.said())


live.need_root("tshark")
sys.exit(live.run_tests([an_incast_of_long_and_short_frames_loses_none_and_is_captured_whole]))
