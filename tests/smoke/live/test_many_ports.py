#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A switch of 128 xdp: ports on veths: each opens, forwards, is paused and is shown by its number.

usage: test_many_ports.py BUILD_DIR
"""
import os
import socket
import sys

import live
from live import eventually, want

from switch import Programs, Switch, pick # noqa: E402
from world import World, run, switch_name # noqa: E402

N = 128
STOP_S = 90  # the kernel takes each port back in its own time
ETHERTYPE = 0x88b5
# The rings are small, so that the test takes little memory.
POLICY = """\
switch: {name: %(name)s, poll: adaptive, buffer: {size: 4MB}}
ports:
  - {name: "p[1-%(n)d]", device: "xdp:sw[1-%(n)d]", speed: 1G, mtu: 1500, rx_ring: 64, profile: x}
profiles:
  x: {classes: {3: {lossless: on, ingress: {static: 3KB}}}}
"""


def mac(i):
    return bytes((2, 0, 0, 0, 0, i))


def send(i, to, ethertype=ETHERTYPE, data=bytes(46)):
    """A frame from the end of link i; for the namespace of the hosts."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((f"e{i}", 0))
        s.send(to + mac(i) + ethertype.to_bytes(2, "big") + data)


def pause(i, classes, quanta):
    times = b"".join((quanta if classes >> c & 1 else 0).to_bytes(2, "big") for c in range(8))
    send(i, b"\x01\x80\xc2\x00\x00\x01", 0x8808,
         b"\x01\x01" + classes.to_bytes(2, "big") + times + bytes(26))


class Hosts:
    """All ends of the links are in one namespace; a child sends there what it is told."""

    def __init__(self, world):
        self.world = world
        sw, hosts = world.ns("sw"), world.ns("h1")
        self.batch("".join(f"link add sw{i} netns {sw} type veth peer name e{i} netns {hosts}\n"
                           for i in range(2, N + 1)))
        for where, name in (sw, "sw"), (hosts, "e"):
            self.batch("".join(f"link set {name}{i} up\n" for i in range(2, N + 1)), "-n", where)

    def batch(self, commands, *options):
        path = os.path.join(self.world.logs, "batch")
        with open(path, "w") as f:
            f.write(commands)
        run("ip", *options, "-batch", path)

    def send(self, *args):
        self.world.run("h1", sys.executable, "-B", os.path.abspath(__file__), "--send",
                       *(str(a) for a in args))


def tx(sw):
    return [p["tx_packets"] for p in sw.show("ports")["ports"]]


def grown(sw, before, want_ports):
    """Until the ports, by number from 1 on, have sent a frame each; no others have."""
    expect = [n + (i + 1 in want_ports) for i, n in enumerate(before)]
    eventually(lambda: tx(sw) == expect, f"a frame left by {sorted(want_ports)[:4]} ... alone")


def each_of_128_ports_has_its_place():
    with World(1) as world:
        hosts = Hosts(world)
        sw = Switch(world, Programs(sys.argv[1]), switch_name(),
                    POLICY % {"name": switch_name(), "n": N})
        rows = sw.show("ports")["ports"]
        want([p["name"] for p in rows] == [f"p{i}" for i in range(1, N + 1)], rows)
        want(all(p["up"] for p in rows), "all links are up")
        before = tx(sw)
        hosts.send("frame", N, "ff") # all learn where it is
        grown(sw, before, set(range(1, N)))
        before = tx(sw)
        hosts.send("frame", 1, N)
        grown(sw, before, {N})
        want(pick(sw.show("fdb")["fdb"], mac="02:00:00:00:00:80")["port"] == f"p{N}", "learnt")
        hosts.send("pause", 100, 1 << 3)
        eventually(lambda: sum(p["rx_pause"] for p in sw.show("pfc")["pfc"]) == 1,
                   "the PAUSE counts")
        want(pick(sw.show("pfc")["pfc"], port="p100", **{"class": 3})["rx_pause"] == 1, "at p100")
        want(sw.stop(STOP_S) == 0, "every frame is accounted for")


if __name__ == "__main__":
    if sys.argv[1] == "--send" and sys.argv[2] == "frame":
        send(int(sys.argv[3]), bytes([0xff] * 6) if sys.argv[4] == "ff" else mac(int(sys.argv[4])))
    elif sys.argv[1] == "--send":
        pause(int(sys.argv[3]), int(sys.argv[4]), 1000)
    else:
        live.need_root()
        sys.exit(live.run_tests([each_of_128_ports_has_its_place]))
