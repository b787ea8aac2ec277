#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel is the control plane of the switch: a tap for each routed port. The kernel answers
ARP, neighbour discovery, ping and expired TTLs through the taps. The switch forwards by the
kernel's routes and neighbours.

usage: test_linux.py BUILD_DIR [TEST...]
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import want # noqa: E402

live.need_root("ping", "tcpdump", "traceroute")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, run, switch_name # noqa: E402

PLANE = "weirlab-plane" # the namespace of the taps
POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
control_plane: {type: linux, netns: %(netns)s}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 100G,
     ip: ["10.0.[1-3].254/24", "fd00:[1-3]::254/64"]}
"""


def eventually(condition, text, seconds=15):
    """For what a busy machine may do late, not for what must not happen at all."""
    end = time.monotonic() + seconds
    while not condition():
        want(time.monotonic() < end, f"not within {seconds} s: {text}")
        time.sleep(0.02)


class Router(World):
    """Hosts in their subnets, the switch between them, and the namespace of its taps."""

    def __init__(self, n_hosts=3):
        super().__init__(n_hosts, ipv6=True)

    def build(self):
        super().build()
        run("ip", "netns", "add", PLANE)
        self.run("plane", "ip", "link", "set", "lo", "up")
        for i in range(1, self.n_hosts + 1):
            h, dev = f"h{i}", f"e{i}"
            self.run(h, "ip", "link", "set", "lo", "up")
            self.run(h, "ip", "addr", "add", f"10.0.{i}.{i}/24", "dev", dev)
            self.run(h, "ip", "addr", "add", f"fd00:{i}::{i}/64", "dev", dev, "nodad")
            self.run(h, "ip", "route", "add", "default", "via", f"10.0.{i}.254")
            self.run(h, "ip", "-6", "route", "add", "default", "via", f"fd00:{i}::254", "dev", dev)

    def ip(self, *args):
        """A command of `ip` in the namespace of the taps; JSON with -j."""
        out = self.run("plane", "ip", *args).stdout
        return json.loads(out) if args[0] == "-j" else out

    def switch(self, policy=POLICY):
        return Switch(self, PROGRAMS, switch_name(),
                      policy % {"name": switch_name(), "netns": PLANE})


def ping(world, host, to, *args, count=3):
    """Replies to count requests."""
    done = world.run(host, "ping", "-n", "-c", str(count), "-i", "0.1", "-W", "1", *args, to,
                     check=False)
    return done.stdout.count("bytes from")


def dropped(switch, reason):
    return sum(d["packets"] for d in switch.show("drops")["drops"] if d["reason"] == reason)


def the_kernel_answers_and_the_switch_forwards():
    with Router() as world:
        switch = world.switch()
        eventually(lambda: len(world.ip("-j", "addr", "show", "up")) == 4, "three taps are up")
        for to in ("10.0.1.254", "fd00:1::254"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} answers")
        for to in ("10.0.2.2", "fd00:2::2"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} is reached")
            want(ping(world, "h1", to) == 3, f"three pings to {to}")
        print(json.dumps(switch.show("control")["punts"], indent=1))
        print(world.ip("neigh"), world.ip("route"))
        print(switch.show("routes"))
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")
        want(len(world.ip("-j", "link")) == 1, "the taps go with the switch")


PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([the_kernel_answers_and_the_switch_forwards]))
