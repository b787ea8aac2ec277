#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of several buffers through an incast of RoCEv2: path MTU 4096 beside 256, in a lossless
class, to a port of half the speed. And a capture that has them whole.

usage: test_jumbo.py BUILD_DIR
"""
import os
import random
import signal
import subprocess
import sys

import live
from hosts import captured, tshark
from live import eventually, want

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

SCALE = 1000
POLICY = """\
switch: {name: %(name)s, time_scale: %(scale)d, buffer: {size: 8MB}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 10G, mtu: 9216, profile: roce}
  - {name: p3, device: "xdp:sw3", speed: 5G, mtu: 9216, profile: roce}
%(more)s
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  roce: {classes: {3: {lossless: true, ingress: {static: 100KB}}}}
"""

# With more than 16 xdp: ports each has memory of its own for its rings.
MORE = '  - {name: "x[1-14]", device: "xdp:none[1-14]", speed: 10G, mtu: 1500, optional: on}'


def sizes_in(path):
    """Lengths of the frames of a capture, as tshark finds them in the file and on the wire."""
    out = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.cap_len", "-e",
                          "frame.len", "-Y", "infiniband"], capture_output=True, text=True,
                         check=True).stdout
    return [tuple(map(int, line.split())) for line in out.splitlines()]


def incast(more):
    programs = Programs(sys.argv[1])
    name = switch_name()
    slowed = ["--time-scale", str(SCALE)]
    with World(3, mtu=9216) as world:
        switch = Switch(world, programs, name, POLICY % {"name": name, "scale": SCALE,
                                                       "more": more})
        path = os.path.join(world.logs, "jumbo.pcapng")
        receiver = Host(world, programs, 3, "receiver", "--listen", "--class", "3", "--speed",
                        "5G", "--mtu", "4096", *slowed).ready()
        capture = world.spawn("sw", "capture", programs.weirctl, "-s", name, "capture", "p3", path)
        eventually(lambda: "capturing" in capture.err(), "the capture runs")
        senders = [Host(world, programs, i, f"sender{i}", "--to", "10.0.0.3", "--class", "3",
                        "--mtu", mtu, "--speed", "10G", "--time", "6ms", "--rto", "200ms", *slowed)
                   for i, mtu in ((1, "4096"), (2, "256"))]
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
        want(capture.stop(signal.SIGINT) == 0, capture.said())
        sizes = sizes_in(path)
        want(all(a == b for a, b in sizes), "frames are captured whole")
        print(f"        captured: {sorted({b for _, b in sizes})}")
        want(max(b for _, b in sizes) > 4096 and min(b for _, b in sizes) < 400, sizes)
        receiver.process.stop()
        want(switch.stop() == 0, switch.process.said())


FLOOD = """\
switch: {name: %(name)s, workers: 2, buffer: {size: 8MB}}
vlans: [{id: 7}]
ports:
  - {name: p1, device: "xdp:sw1", speed: 10G, mtu: 9216, vlan: {untagged: 7}}
  - {name: p2, device: "xdp:sw2", speed: 10G, mtu: 9216, vlan: {untagged: 7}}
  - {name: p3, device: "xdp:sw3", speed: 10G, mtu: 9216, vlan: {tagged: [7]}}
%(more)s
"""
SENDER = """
import random, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("e1", 0))
noise = random.Random(7)
for n in map(int, sys.argv[1:]):
    s.send(b"\\xff" * 6 + bytes((2, 0, 0, 0, 0, 1)) + b"\\x88\\xb5" + noise.randbytes(n - 14))
"""
SIZES = [60, 1514, 3554, 3576, 3577, 4170, 7128, 7152, 7153, 9018, 9230]


def broadcasts(more):
    name = switch_name()
    with World(3, mtu=9216) as world:
        switch = Switch(world, Programs(sys.argv[1]), name, FLOOD % {"name": name, "more": more})
        sent = [str(n) for n in SIZES * 3]

        def send():
            world.run("h1", "/usr/bin/python3", "-B", "-c", SENDER, *sent)

        paths = []
        paths.append(captured(world, "h3", "e3", ["vlan 7"], lambda: paths.append(
            captured(world, "h2", "e2", ["ether proto 0x88b5"], send, "untagged")), "tagged"))
        noise = random.Random(7)
        payloads = [noise.randbytes(int(n) - 14).hex() for n in sent]
        for path, tag in zip(paths, (0, 4)):
            rows = tshark(path, "frame.cap_len", "data.data")
            want([int(r["frame.cap_len"]) - tag for r in rows] == [int(n) for n in sent], rows)
            want([r["data.data"].replace(":", "") for r in rows] == payloads,
                 f"the bytes of {path}")
        want(switch.stop() == 0, switch.process.said())


def an_incast_of_long_and_short_frames_loses_none_and_is_captured_whole():
    incast("")


def broadcasts_of_every_length_leave_two_ports_whole_with_a_tag_and_without():
    broadcasts("")


def the_same_holds_where_each_port_has_memory_of_its_own():
    incast(MORE)
    broadcasts(MORE)


live.need_root("tcpdump", "tshark")
sys.exit(live.run_tests([an_incast_of_long_and_short_frames_loses_none_and_is_captured_whole,
                         broadcasts_of_every_length_leave_two_ports_whole_with_a_tag_and_without,
                         the_same_holds_where_each_port_has_memory_of_its_own]))
