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
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
import page # noqa: E402
from hosts import all_answered, dropped, link, ping # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("ping", "tcpdump", "traceroute")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import Failed, World, run, switch_name # noqa: E402

PLANE = "weirlab-plane" # the namespace of the taps
TABLE = 131072 # prefixes
POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
control_plane: {type: linux, netns: %(netns)s}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 100G,
     ip: ["10.0.[1-3].254/24", "fd00:[1-3]::254/64"]}
"""


class Router(World):
    """Hosts in their subnets, the switch between them, and the namespace of its taps."""

    def __init__(self, n_hosts=3):
        super().__init__(n_hosts, ipv6=True)

    def build(self):
        super().build()
        run("ip", "netns", "add", PLANE)
        self.run("plane", "ip", "link", "set", "lo", "up")
        # Before Linux 6.17 a single device cannot forward IPv6. Addresses survive a link that is
        # down, so a random schedule does not end with none.
        for key in ("forwarding", "keep_addr_on_down"):
            self.run("plane", "sysctl", "-q", "-w", f"net.ipv6.conf.all.{key}=1")
        for i in range(1, self.n_hosts + 1):
            h, dev = f"h{i}", f"e{i}"
            self.run(h, "ip", "link", "set", "lo", "up")
            self.run(h, "ip", "addr", "add", f"10.0.{i}.{i}/24", "dev", dev)
            self.run(h, "ip", "addr", "add", f"fd00:{i}::{i}/64", "dev", dev, "nodad")
            self.run(h, "ip", "route", "add", "default", "via", f"10.0.{i}.254")
            self.run(h, "ip", "-6", "route", "add", "default", "via", f"fd00:{i}::254", "dev", dev)

    def ip(self, *args):
        """A command of `ip` in the namespace of the taps; JSON with -j. A slow machine takes more
        than a minute for the longest batch."""
        out = self.run("plane", "ip", *args, timeout=300).stdout
        return json.loads(out) if args[0] == "-j" else out

    def switch(self, policy=POLICY):
        return Switch(self, PROGRAMS, switch_name(),
                      policy % {"name": switch_name(), "netns": PLANE})


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
    try:
        eventually(lambda: differ() == ([], []), "the same routes")
    except Failed:
        raise AssertionError(f"other routes than those of the kernel: {differ()}") from None


def the_kernel_answers_and_the_switch_forwards():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for to in ("10.0.1.254", "fd00:1::254"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} answers")
        for to in ("10.0.2.2", "fd00:2::2"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} is reached")
            want(all_answered(world, "h1", to), f"five pings to {to}")
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
        [*ip, "route", "add", "blackhole", to],
        [*ip, "route", "replace", "unreachable", to, "metric", "30"],
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


def fresh(world):
    """Links up, with their addresses, and no other route."""
    for i in range(1, 4):
        world.ip("link", "set", f"p{i}", "up")
        world.ip("addr", "replace", f"10.0.{i}.254/24", "dev", f"p{i}")
    world.ip("nexthop", "flush")
    for family in ("-4", "-6"):
        world.run("plane", "ip", family, "route", "flush", "proto", "boot", check=False)


def show_routes_equals_ip_route():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for seed in range(1, 9):
            rng, done = random.Random(seed), []
            fresh(world)
            try:
                for _ in range(6):
                    done += [change(world, rng) for _ in range(10)]
                    same_routes(world, switch)
            except AssertionError as e:
                raise AssertionError(f"seed {seed}: {e}\n" + "\n".join(done[-20:])) from None
        want(switch.show("routes")["routes"] != [], "some routes are left")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def path(world, host, to, *args):
    """The routers on the way, and the destination, as traceroute finds them."""
    out = world.run(host, "traceroute", "-n", "-q", "1", "-w", "10", "-m", "4", *args, to).stdout
    return [line.split()[1] for line in out.splitlines()[1:]]


def the_kernel_answers_expired_ttls():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for args, want_path in (((), ["10.0.1.254", "10.0.2.2"]),
                                (("-6",), ["fd00:1::254", "fd00:2::2"])):
            eventually(lambda: path(world, "h1", want_path[1], *args) == want_path,
                       f"traceroute {args}: {path(world, 'h1', want_path[1], *args)}")
        punts = [r for r in switch.show("control")["punts"]
                 if r["port"] == "p1" and r["reason"] == "ttl"]
        want(punts[0]["frames"] >= 2 and punts[0]["lost"] == 0, f"through the tap: {punts}")
        want(dropped(switch, "ttl-expired") == 0, "the switch drops none of them itself")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def routes_lead_where_the_kernel_says():
    """By IPv4, by an IPv6 next hop (BGP unnumbered has such routes), by objects, and nowhere."""
    with Router() as world:
        for h, n in (("h2", 2), ("h3", 3)):
            world.run(h, "ip", "addr", "add", "10.9.0.1/32", "dev", "lo")
            world.run(h, "ip", "addr", "add", f"10.8.0.{n}/32", "dev", "lo")
        local = world.run("h3", "ip", "-6", "addr", "show", "dev", "e3", "scope", "link").stdout
        local = local.split("inet6 ")[1].split("/")[0]
        switch = world.switch()
        settled(world, switch)
        world.ip("route", "add", "10.9.0.0/16", "via", "10.0.2.2")
        eventually(lambda: ping(world, "h1", "10.9.0.1", count=1) == 1, "a route by IPv4")
        world.ip("route", "add", "10.8.0.3/32", "via", "inet6", local, "dev", "p3")
        eventually(lambda: ping(world, "h1", "10.8.0.3", count=1) == 1, "a route by IPv6")
        world.ip("nexthop", "add", "id", "1", "via", "10.0.2.2", "dev", "p2")
        world.ip("nexthop", "add", "id", "2", "via", "10.0.3.3", "dev", "p3")
        world.ip("nexthop", "add", "id", "9", "group", "1,3/2")
        world.ip("route", "replace", "10.9.0.0/16", "nhid", "9")
        rows = lambda: sorted((r["via"], r["state"], r["weight"])
                              for r in switch.show("routes")["routes"] if r["to"] == "10.9.0.0/16")
        eventually(lambda: rows() == [("10.0.2.2", "reachable", 3), ("10.0.3.3", "reachable", 1)],
                   "a group of objects with weights")
        world.ip("route", "replace", "blackhole", "10.9.0.0/16")
        eventually(lambda: [r["state"] for r in switch.show("routes")["routes"]
                            if r["to"] == "10.9.0.0/16"] == ["blackhole"], "a blackhole")
        eventually(lambda: ping(world, "h1", "10.9.0.1", count=1) == 0 and
                   dropped(switch, "blackhole") > 0, "whose frames are dropped as such")
        world.ip("link", "add", "other", "type", "veth", "peer", "name", "other2")
        world.ip("link", "set", "other", "up")
        world.ip("route", "add", "10.7.0.0/16", "dev", "other")
        eventually(lambda: [(r["port"], r["state"]) for r in switch.show("routes")["routes"]
                            if r["to"] == "10.7.0.0/16"] == [("other", "not-taken")],
                   "a route by another interface is not taken")
        ping(world, "h1", "10.7.0.1", count=2)
        eventually(lambda: dropped(switch, "no-route") > 0, "and its frames take no other way")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def neighbours_are_those_of_the_kernel():
    def kernel(world):
        return {(n["dst"], n["dev"], n.get("lladdr"), n["state"][0].lower())
                for n in world.ip("-j", "neigh") if n.get("lladdr")}

    def ours(switch):
        return {(n["ip"], n["port"], n["mac"], n["state"])
                for n in switch.show("neighbours")["neighbours"] if n.get("mac")}

    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for to in ("10.0.2.2", "fd00:3::3"):
            eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} is reached")
        world.ip("neigh", "add", "10.0.3.77", "lladdr", "02:00:00:00:00:77", "dev", "p3")
        eventually(lambda: kernel(world) == ours(switch) and len(ours(switch)) >= 4,
                   "the same neighbours")
        world.ip("neigh", "del", "10.0.3.77", "dev", "p3")
        eventually(lambda: kernel(world) == ours(switch), "also one that went")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


WITH_VLAN = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
control_plane: {type: linux, netns: %(netns)s}
vlans: [{id: 10, ip: [10.0.1.254/24, "fd00:1::254/64"]}]
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 100G, vlan: {untagged: 10}}
  - {name: p3, device: "xdp:sw3", speed: 100G, ip: [10.0.3.254/24, "fd00:3::254/64"]}
"""


def a_vlan_that_routes_has_a_tap():
    with Router() as world:
        world.run("h2", "ip", "addr", "add", "10.0.1.22/24", "dev", "e2")
        switch = world.switch(WITH_VLAN)
        eventually(lambda: {l["ifname"] for l in world.ip("-j", "link", "show", "up")} ==
                   {"lo", "vlan10", "p3"}, "the taps")
        for host, to in (("h1", "10.0.1.254"), ("h2", "10.0.1.254"), ("h1", "fd00:1::254"),
                         ("h1", "10.0.1.22"), ("h1", "10.0.3.3"), ("h1", "fd00:3::3"),
                         ("h3", "10.0.1.1")):
            eventually(lambda host=host, to=to: ping(world, host, to, count=1) == 1,
                       f"{to} answers {host}")
        rows = {(n["ip"], n["port"]) for n in switch.show("neighbours")["neighbours"]}
        want({("10.0.1.1", "vlan10"), ("10.0.1.22", "vlan10"), ("10.0.3.3", "p3")} <= rows,
             f"neighbours: {rows}")
        same_routes(world, switch)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


# A host sends what only routers send. Its advertisements have a default route, prefixes on the
# link, and a prefix that is longer than the operator's. Its redirects name a next hop of its own.
# One packet has a source route.
FROM_ROUTERS = """
import sys, time
from scapy.all import Ether, ICMP, ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6NDOptPrefixInfo, \\
    ICMPv6NDOptRouteInfo, ICMPv6NDOptSrcLLAddr, IP, IPOption_LSRR, IPv6, Raw, UDP, sendp
dev, mac, local, tap, tap_mac, v4, tap_v4 = sys.argv[1:]
advertised = Ether(src=mac, dst="33:33:00:00:00:01") / IPv6(src=local, dst="ff02::1", hlim=255) / \\
    ICMPv6ND_RA(routerlifetime=1800, prf=1, reachabletime=0, retranstimer=0) / \\
    ICMPv6NDOptSrcLLAddr(lladdr=mac) / \\
    ICMPv6NDOptPrefixInfo(prefix="2001:db8:5::", prefixlen=49, L=1, A=0) / \\
    ICMPv6NDOptPrefixInfo(prefix="2001:db8:9::", prefixlen=64, L=1, A=1) / \\
    ICMPv6NDOptRouteInfo(prefix="2001:db8:7:1::", plen=64, prf=1, rtlifetime=1800)
sent = Ether(src=mac, dst=tap_mac)
redirected6 = sent / IPv6(src=local, dst=tap, hlim=255) / \\
    ICMPv6ND_Redirect(tgt="fe80::bad", dst="2001:db8:7::1")
redirected = sent / IP(src=v4, dst=tap_v4) / ICMP(type=5, code=1, gw=v4[:-1] + "9") / \\
    IP(src=tap_v4, dst="10.9.0.1") / ICMP(type=0)
routed = sent / IP(src=v4, dst=tap_v4, options=IPOption_LSRR(routers=["10.0.1.1"])) / \\
    UDP(sport=4444, dport=4444) / Raw(b"source routed")
for _ in range(4):
    sendp([advertised, redirected6, redirected, routed], iface=dev, verbose=False)
    time.sleep(0.3)
"""


def strangers_change_no_route():
    """At a port and at an SVI, whatever the settings of the namespace say."""
    with Router() as world:
        for family, key in (("ipv4", "accept_source_route"), ("ipv4", "accept_redirects"),
                            ("ipv6", "accept_redirects")):
            world.run("plane", "sysctl", "-q", "-w", f"net.{family}.conf.all.{key}=1")
        # The kernel takes advertisements only where it does not forward IPv6 in general.
        world.run("plane", "sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=0")
        switch = world.switch(WITH_VLAN)
        for tap, n in (("vlan10", 2), ("p3", 3)):
            host, subnet = f"h{n}", 1 if n == 2 else 3
            world.run(host, "ip", "addr", "add", f"10.0.{subnet}.9/24", "dev", f"e{n}")
            eventually(lambda host=host, subnet=subnet: ping(
                world, host, f"10.0.{subnet}.254", count=1) == 1, f"{tap} answers {host}")
            local, mac = {}, {}
            for where, dev in ((host, f"e{n}"), ("plane", tap)):
                row = json.loads(world.run(where, "ip", "-j", "addr", "show", "dev", dev).stdout)[0]
                mac[where] = row["address"]
                local[where] = next(a["local"] for a in row["addr_info"] if a["scope"] == "link")
            # 10.0.1.1 has a neighbour entry, so that a source route would lead somewhere.
            world.run("plane", "ping", "-c", "1", "10.0.1.1")
            world.ip("route", "replace", "10.9.0.0/16", "via", f"10.0.{subnet}.{n}")
            world.ip("-6", "route", "replace", "2001:db8:7::/48", "via", local[host], "dev", tap)
            world.ip("-6", "route", "replace", "2001:db8:5::/48", "via", local[host], "dev", tap)
            same_routes(world, switch)
            before = switch_routes(switch)
            seen = world.spawn("h1", "source-route", "timeout", "30", "tcpdump", "-ni", "e1", "-c",
                               "1", "udp", "port", "4444")
            eventually(lambda seen=seen: "listening" in seen.err(), "tcpdump listens")
            world.run(host, "/usr/bin/python3", "-c", FROM_ROUTERS, f"e{n}", mac[host],
                      local[host], local["plane"], mac["plane"], f"10.0.{subnet}.{n}",
                      f"10.0.{subnet}.254", timeout=60)
            want(switch_routes(switch) == before,
                 f"{tap}: routes: {sorted(map(str, switch_routes(switch) ^ before))}")
            for to in ("10.9.0.1", "2001:db8:7::1"):
                got = world.ip("-j", "route", "get", to)[0]
                want(got["gateway"] in (f"10.0.{subnet}.{n}", local[host]),
                     f"{tap}: the kernel sends to {to} by {got}")
            want(world.ip("-j", "-6", "route", "show", "proto", "ra") == [], "no route of a host")
            want("4444" not in seen.out(), f"{tap}: a source route was followed: {seen.out()}")
            seen.kill()
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def events(switch, name):
    return [e for e in switch.show("events")["events"] if e["event"] == name]


def a_tap_that_somebody_removes_is_made_again():
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        world.ip("link", "del", "p2")
        eventually(lambda: ping(world, "h1", "10.0.2.2", count=1) == 1, "p2 routes again")
        want([e["port"] for e in events(switch, "linux-tap-lost")] == ["p2"], "one event")
        world.ip("link", "set", "p3", "netns", world.ns("h1"))
        eventually(lambda: ping(world, "h1", "10.0.3.3", count=1) == 1, "p3 routes again")
        want("p3" not in world.run("h1", "ip", "link").stdout, "the moved one is gone")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def lost_messages_are_made_good_by_a_dump():
    """The kernel sends more changes than the switch's socket holds while the switch stands."""
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        batch = os.path.join(world.logs, "batch")
        with open(batch, "w") as f:
            for i in range(100000):
                verb, half = ("add", "del")[i // 500 % 2], i // 250 % 2 * 128
                f.write(f"route {verb} 10.5.{i % 250}.{half}/25 via 10.0.2.2\n")
            f.write("route add 10.6.0.0/16 via 10.0.3.3\n")
        switch.process.p.send_signal(signal.SIGSTOP)
        try:
            world.ip("-batch", batch)
        finally:
            switch.process.p.send_signal(signal.SIGCONT)
        eventually(lambda: switch.show("linux")["kernel"]["resyncs"] >= 1, "a resync")
        same_routes(world, switch)
        want(events(switch, "linux-resync") != [], "an event")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def routes_beyond_the_table_leave_the_others_unhurt():
    with Router() as world:
        world.run("h2", "ip", "addr", "add", "10.9.0.1/32", "dev", "lo")
        switch = world.switch()
        settled(world, switch)
        world.ip("route", "add", "10.9.0.0/16", "via", "10.0.2.2")
        eventually(lambda: ping(world, "h1", "10.9.0.1", count=1) == 1, "a route of before")
        kernel = lambda: switch.show("linux")["kernel"]
        before = kernel()["taken"]
        for verb in ("add", "del"):
            with open(os.path.join(world.logs, verb), "w") as f:
                f.writelines(f"route {verb} 60.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 via 10.0.3.3\n"
                             for i in range(TABLE))
        for n in (1, 2):
            world.ip("-batch", os.path.join(world.logs, "add"))
            eventually(lambda: (kernel()["taken"], kernel()["no_room"]) == (TABLE, before),
                       f"a full table: {kernel()}", 300)
            want(all_answered(world, "h1", "10.9.0.1"), "the route of before goes on")
            want(all_answered(world, "h1", "10.0.3.254"), "and the switch answers")
            world.ip("-batch", os.path.join(world.logs, "del"))
            eventually(lambda: (kernel()["taken"], kernel()["no_room"]) == (before, 0),
                       f"room again: {kernel()}", 300)
            want(len(events(switch, "linux-routes-refused")) == n, "one event each time")
        same_routes(world, switch)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def a_reload_makes_and_removes_taps():
    fewer = POLICY.replace("p[1-3]", "p[1-2]").replace("sw[1-3]", "sw[1-2]") \
        .replace("[1-3]", "[1-2]") + '  - {name: p3, device: "xdp:sw3", speed: 100G}\n'
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        links = lambda: {l["ifname"] for l in world.ip("-j", "link")} - {"lo"}
        for text, taps in ((fewer, {"p1", "p2"}), (POLICY, {"p1", "p2", "p3"})):
            with open(switch.path, "w") as f:
                f.write(text % {"name": switch_name(), "netns": PLANE})
            switch.ctl("reload")
            eventually(lambda taps=taps: links() == taps, f"the taps {taps}")
        settled(world, switch)
        eventually(lambda: ping(world, "h1", "10.0.3.3", count=1) == 1, "p3 routes again")
        more = POLICY.replace('"10.0', '"172.16.[1-3].1/24", "10.0')
        with open(switch.path, "w") as f:
            f.write(more % {"name": switch_name(), "netns": PLANE})
        switch.ctl("reload")
        eventually(lambda: "172.16.3.1/24" in world.ip("addr"), "an address of the policy")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def what_cannot_start_says_what_to_type():
    with Router() as world:
        def refused(policy, netns):
            file = os.path.join(world.logs, "refused.yaml")
            with open(file, "w") as f:
                f.write(policy % {"name": switch_name(), "netns": netns})
            done = world.run("sw", PROGRAMS.weir, "-c", file, check=False)
            want(done.returncode == 1, f"{done.returncode}: {done.stderr}")
            return " ".join(done.stderr.split())

        said = refused(POLICY, "nowhere")
        want("there is no network namespace nowhere; make it: ip netns add nowhere" in said, said)
        world.ip("link", "add", "p2", "type", "veth", "peer", "name", "q2")
        said = refused(POLICY, PLANE)
        want("an interface p2 exists already, and the tap of the port needs that name; name the "
             f"port otherwise, or: ip -n {PLANE} link del p2, unless another" in said, said)
        want("cannot open /nowhere/ns: No such file or directory; give the name of a namespace"
             in refused(POLICY, "/nowhere/ns"), "a path")
        want({l["ifname"] for l in world.ip("-j", "link")} == {"lo", "p2", "q2"},
             "no tap is left")


FLOOD = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
frame = bytes.fromhex(sys.argv[2])
while True:
    s.send(frame)
"""


def expired(src, dst):
    """An IPv4 header with TTL 1; addresses in hex."""
    words = [0x4500, 0x002e, 0, 0, 0x0111, 0] + [int(a[i:i + 4], 16) for a in (src, dst)
                                                 for i in (0, 4)]
    total = sum(words)
    words[5] = ~((total & 0xffff) + (total >> 16)) & 0xffff
    return "".join(f"{w:04x}" for w in words)


def floods_are_policed_and_data_goes_on():
    """ARP, neighbour discovery and expired TTLs, each as fast as a host can send."""
    with Router() as world:
        switch = world.switch()
        settled(world, switch)
        for to in ("10.0.3.3", "fd00:3::3"):
            eventually(lambda to=to: ping(world, "h2", to, count=1) == 1, f"{to} is reached")
        mac = link(world, "sw", "sw1")["address"]
        mac = mac.replace(":", "")
        src = "020000000001"
        arp = "ff" * 6 + src + "0806" + "0001080006040001" + src + "0a000101" + "00" * 6 + \
            "0a0001fe" + "00" * 18
        ttl = mac + src + "0800" + expired("0a000101", "0a000202") + "00" * 26
        ns = mac + src + "86dd" + "6000000000183aff" + "fd000001" + "00" * 11 + "01" + \
            "fd000001" + "00" * 10 + "0254" + "87000000" + "00000000" + "fd000001" + "00" * 10 + \
            "0254" + "00" * 8
        for reason, frame in (("neighbour", arp), ("ttl", ttl), ("neighbour", ns)):
            def punts(reason=reason):
                return [r for r in switch.show("control")["punts"]
                        if r["port"] == "p1" and r["reason"] == reason][0]
            before = punts()
            flood = world.spawn("h1", f"flood-{reason}", "/usr/bin/python3", "-c", FLOOD, "e1",
                                frame)
            eventually(lambda: punts()["limited"] > before["limited"] + 1000,
                       f"a flood of {reason} is policed: {punts()}")
            before = punts()
            want(all_answered(world, "h2", "10.0.3.3"), f"data goes on beside {reason}")
            want(all_answered(world, "h2", "10.0.2.254"), "and the kernel answers others")
            want(punts()["limited"] > before["limited"], "beside the flood")
            flood.kill()
        want([e["port"] for e in events(switch, "copp-limit")][:1] == ["p1"], "an event")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


# UDP by a device to a new address of 10.77.0.0/16 each time, 2,000 a second.
STRANGERS = """
import socket, struct, sys, time
device, mac = sys.argv[1], bytes.fromhex(sys.argv[2])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((device, 0))
begin, n = time.monotonic(), 0
while True:
    for _ in range(min(int(2000 * (time.monotonic() - begin)) - n, 100)):
        n += 1
        h = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0,
                        socket.inet_aton("10.0.1.1"), bytes([10, 77, n >> 8 & 255, n & 255]))
        t = sum(struct.unpack("!10H", h))
        t = (t & 0xffff) + (t >> 16)
        h = h[:10] + struct.pack("!H", ~t & 0xffff) + h[12:]
        s.send(mac + b"\\x02\\0\\0\\0\\0\\x01\\x08\\0" + h + bytes(26))
    time.sleep(0.001)
"""


def frames_to_strangers_leave_the_kernel_room_for_others():
    """One host sends to unknown stations of p2's link; another meets stations there."""
    with Router() as world:
        for i in (51, 52, 53):
            world.run("h2", "ip", "addr", "add", f"10.0.2.{i}/24", "dev", "e2")
        switch = world.switch(POLICY.replace('"10.0.[1-3].254/24"',
                                             '"10.0.[1-3].254/24", "10.[76-78].0.1/16"'))
        settled(world, switch)
        mac = link(world, "sw", "sw1")["address"]
        sender = world.spawn("h1", "strangers", "/usr/bin/python3", "-c", STRANGERS, "e1",
                             mac.replace(":", ""))
        limited = lambda: switch.show("linux")["kernel"]["requests_limited"]
        eventually(lambda: limited() > 500, "a flood")
        before = limited()
        met = [all_answered(world, "h3", f"10.0.2.{i}", 3) for i in (51, 52, 53)]
        want(met == [True] * 3, f"all pings to new stations are answered: {met}")
        want(limited() > before, "beside the flood")
        want(sender.running(), sender.said())
        sender.kill()
        want(switch.stop() == 0, switch.process.said())


VTEP = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
control_plane: {type: linux, netns: %(netns)s}
vlans: [{id: 100}]
ports:
  - {name: p1, device: "xdp:sw1", speed: 100G, mtu: 1400, vlan: {untagged: 100}}
  - {name: "p[2-3]", device: "xdp:sw[2-3]", speed: 100G, ip: ["10.0.[2-3].254/24"]}
vxlan: {source: 10.0.2.254, vnis: {7: {vlan: 100, peers: [10.0.2.2]}}}
"""


def a_peer_of_a_tunnel_on_a_link_is_resolved():
    with Router() as world:
        switch = world.switch(VTEP)
        eventually(lambda: any(n["ip"] == "10.0.2.2" and n["state"] == "reachable"
                               for n in switch.show("neighbours")["neighbours"]), "the peer")
        before = dropped(switch, "no-neighbour")
        world.run("h1", "ping", "-c", "1", "-W", "1", "10.0.1.77", check=False) # ARP floods
        want(dropped(switch, "no-neighbour") == before, "tunnelled frames know their next hop")
        want([n["dev"] for n in world.ip("-j", "neigh") if n["dst"] == "10.0.2.2"] == ["p2"],
             "the kernel looks for the peer on its link alone")
        want(switch.stop() == 0, switch.process.said())


def the_page_is_true():
    """docs/linux.md, command by command."""
    def run_one(words):
        done = subprocess.run(words, cwd=live.ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
        want(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def tried(words, text):
        def holds():
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            return text in done.stdout
        eventually(holds, f"{' '.join(words)}: {text}")

    def run_setting(words):
        """A setting of the whole machine gets the value that it has."""
        if words[0] != "sysctl":
            run_one(words)
            return
        outside, key = ["nsenter", "--net=/proc/1/ns/net"], words[-1].split("=")[0]
        now = run_one([*outside, "sysctl", "-n", key]).strip()
        run_one([*outside, *words[:-1], f"{key}={now}"])

    os.environ["PATH"] = os.pathsep.join([os.path.dirname(PROGRAMS.weir),
                                          os.path.dirname(PROGRAMS.weirctl), os.environ["PATH"]])
    make = page.commands("linux.md", "Try it")
    start = next(i for i, c in enumerate(make) if c[0] == "weir")
    with tempfile.TemporaryFile("w+") as said:
        for words in make[:start] + page.commands("linux.md", "Settings of the kernel"):
            run_setting(words)
        weir = subprocess.Popen(make[start], cwd=live.ROOT, stdout=said, stderr=said)
        try:
            eventually(lambda: os.path.exists("/run/weir/router.sock"), "weir starts")
            after = {" ".join(c): c for c in make[start + 1:]}
            tried(after["ip -n router addr show p1"], "inet 10.0.1.254/24")
            tried(after["weirctl -s router show linux"], "p2")
            tried(after["ip netns exec left ping -c 3 10.0.1.254"], " 0% packet loss")
            run_one(after["ip -n router route add 10.9.0.0/16 via 10.0.2.2"])
            tried(after["ip netns exec left ping -c 3 10.9.0.1"], " 0% packet loss")
            tried(after["ip netns exec left traceroute -n 10.9.0.1"], " 1  10.0.1.254")
            tried(after["weirctl -s router show routes"], "10.9.0.0/16")
            tried(after["weirctl -s router show neighbours"], "reachable")
            tried(after["weirctl -s router show control"], "ttl")
            want(len(after) == 9, f"each command of the page is tried: {list(after)}")
        finally:
            weir.send_signal(signal.SIGTERM)
            want(weir.wait(60) == 0, "weir ends")
            for name in ("router", "left", "right"):
                run_one(["ip", "netns", "del", name])


PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([the_kernel_answers_and_the_switch_forwards,
                         the_kernel_answers_expired_ttls, routes_lead_where_the_kernel_says,
                         neighbours_are_those_of_the_kernel, a_vlan_that_routes_has_a_tap,
                         strangers_change_no_route,
                         show_routes_equals_ip_route,
                         a_tap_that_somebody_removes_is_made_again,
                         lost_messages_are_made_good_by_a_dump,
                         routes_beyond_the_table_leave_the_others_unhurt,
                         a_reload_makes_and_removes_taps,
                         what_cannot_start_says_what_to_type,
                         floods_are_policed_and_data_goes_on,
                         frames_to_strangers_leave_the_kernel_room_for_others,
                         a_peer_of_a_tunnel_on_a_link_is_resolved, the_page_is_true]))
