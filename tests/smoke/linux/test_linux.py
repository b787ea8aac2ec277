#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel is the control plane of the switch: a tap for each routed port. The kernel answers
ARP, neighbour discovery, ping and expired TTLs through the taps. The switch forwards by the
kernel's routes and neighbours.

usage: test_linux.py BUILD_DIR [TEST...]
"""
import json
import os
import random
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


def settled(world, switch):
    """The taps are up, and the switch knows the addresses of the kernel."""
    own = {a.split("/")[0] for i in range(1, world.n_hosts + 1)
           for a in (f"10.0.{i}.254", f"fd00:{i}::254")}
    eventually(lambda: own <= {r["to"] for r in switch.show("routes")["routes"]
                               if r["state"] == "self"}, "the addresses of the taps")


def kernel_routes(world):
    """(prefix, next hop, device) of each next hop of the best route of each prefix."""
    found = {}
    for family in ("-4", "-6"):
        for r in world.ip("-j", family, "route", "show", "table", "main"):
            to = {"default": "0.0.0.0/0" if family == "-4" else "::/0"}.get(r["dst"], r["dst"])
            if to.startswith(("fe80:", "ff00:")):
                continue
            hops = {(h.get("gateway") or h.get("via", {}).get("host"), h.get("dev"))
                    for h in world_hops(world, r)}
            best = found.get(to)
            if best is None or r.get("metric", 0) < best[0]:
                found[to] = (r.get("metric", 0), hops)
    return {(to, via, dev) for to, (_, hops) in found.items() for via, dev in hops}


def world_hops(world, route):
    if route.get("type") in ("blackhole", "unreachable", "prohibit"):
        return [{}]
    return route.get("nexthops") or [route]


def switch_routes(switch):
    return {(r["to"] if "/" in r["to"] or r["to"] == "default" else r["to"], r.get("via"),
             r["port"] or None)
            for r in switch.show("routes")["routes"] if r["state"] != "self"}


def same_routes(world, switch):
    def differ():
        ours, theirs = switch_routes(switch), kernel_routes(world)
        return sorted(map(str, ours - theirs)), sorted(map(str, theirs - ours))
    eventually(lambda: differ() == ([], []), f"the same routes: {differ()}", 5)


def the_kernel_answers_and_the_switch_forwards():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for to in ("10.0.1.254", "fd00:1::254"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} answers")
        for to in ("10.0.2.2", "fd00:2::2"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} is reached")
            want(ping(world, "h1", to) == 3, f"three pings to {to}")
        same_routes(world, switch)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")
        want(len(world.ip("-j", "link")) == 1, "the taps go with the switch")


def change(world, rng):
    """One random command of `ip`; some are refused."""
    n = rng.randrange(6)
    v6 = rng.random() < 0.5
    port = rng.randrange(1, 4)
    via = f"fd00:{port}::{rng.randrange(1, 9)}" if v6 else f"10.0.{port}.{rng.randrange(1, 9)}"
    to = f"fd00:9{n}::/48" if v6 else f"10.9.{n}.0/24"
    other = rng.randrange(1, 4)
    via2 = f"fd00:{other}::9" if v6 else f"10.0.{other}.9"
    nid = str(rng.randrange(1, 8))
    group = str(rng.randrange(8, 12))
    metric = ["metric", str(rng.choice([10, 20]))]
    ip = ["-6"] if v6 else []
    commands = [
        [*ip, "route", "add", to, "via", via],
        [*ip, "route", "replace", to, "via", via, *metric],
        [*ip, "route", "append", to, "via", via, *metric],
        [*ip, "route", "prepend", to, "via", via, *metric],
        [*ip, "route", "del", to],
        [*ip, "route", "del", to, *metric],
        [*ip, "route", "del", to, "via", via],
        [*ip, "route", "replace", to, "nexthop", "via", via, "nexthop", "via", via2, "weight", "3"],
        [*ip, "route", "change", to, "via", via],
        [*ip, "route", "replace", "blackhole", to],
        [*ip, "route", "replace", "unreachable", to, *metric],
        [*ip, "route", "replace", to, "dev", f"p{port}"],
        [*ip, "route", "replace", to, "nhid", nid],
        [*ip, "route", "replace", to, "nhid", group, *metric],
        [*ip, "route", "replace", "default", "via", via],
        ["nexthop", "replace", "id", nid, "via", via, "dev", f"p{port}"],
        ["nexthop", "replace", "id", nid, "blackhole"],
        ["nexthop", "del", "id", nid],
        ["nexthop", "replace", "id", group, "group",
         "/".join(str(i) + (",2" if i % 2 else "") for i in sorted({int(nid), 1, 2}))],
        ["nexthop", "del", "id", group],
        ["route", "replace", f"10.9.{n}.0/24", "via", "inet6", f"fd00:{port}::{n + 1}"],
        ["link", "set", f"p{port}", "down"],
        ["link", "set", f"p{port}", "up"],
        ["link", "set", f"p{port}", "up"],
        ["addr", "del", f"10.0.{port}.254/24", "dev", f"p{port}"],
        ["addr", "add", f"10.0.{port}.254/24", "dev", f"p{port}"],
    ]
    command = rng.choice(commands)
    world.run("plane", "ip", *command, check=False)
    return " ".join(command)


def show_routes_equals_ip_route():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for seed in range(1, 9):
            rng, done = random.Random(seed), []
            try:
                for _ in range(6):
                    done += [change(world, rng) for _ in range(10)]
                    same_routes(world, switch)
            except AssertionError as e:
                raise AssertionError(f"seed {seed}: {e}\n" + "\n".join(done[-20:])) from None
        want(switch.show("routes")["routes"] != [], "some routes are left")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([the_kernel_answers_and_the_switch_forwards, show_routes_equals_ip_route]))
