#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Linux learns the MTU of its path from the switch: TCP, ping and fragments of the sender get
through a port with a smaller MTU, over IPv4 and IPv6. tshark judges the messages.

usage: test_pmtu.py BUILD_DIR
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import want # noqa: E402
from hosts import captured, ping, tcp, tshark # noqa: E402

MTU = 1280
TO = {4: "10.0.2.2", 6: "fd00:2::2"}
WITHOUT_DF = "10.0.2.22"

POLICY = """\
switch: {name: %s, buffer: {size: 12MB}}
ports:
  - {name: p1, device: "xdp:sw1", speed: 100G, mtu: 1500, ip: [10.0.1.254/24, "fd00:1::254/64"]}
  - {name: p2, device: "xdp:sw2", speed: 100G, mtu: %d, ip: [10.0.2.254/24, "fd00:2::254/64"]}
"""


def addresses(world):
    """h2 takes segments as long as those of h1: it does not know how short its link is."""
    for i in (1, 2):
        h, dev = f"h{i}", f"e{i}"
        world.run(h, "ip", "link", "set", "lo", "up")
        world.run(h, "ip", "addr", "add", f"10.0.{i}.{i}/24", "dev", dev)
        world.run(h, "ip", "addr", "add", f"fd00:{i}::{i}/64", "dev", dev, "nodad")
        world.run(h, "ip", "route", "add", "default", "via", f"10.0.{i}.254", "advmss", "1460")
        world.run(h, "ip", "-6", "route", "add", "default", "via", f"fd00:{i}::254", "dev", dev,
                  "advmss", "1440")
    world.run("h2", "ip", "addr", "add", WITHOUT_DF + "/24", "dev", "e2")


def too_long(switch):
    return sum(h["routed_too_long"] for h in switch.show("hints")["hints"])


def the_message_names_the_mtu(world, to):
    v6 = ":" in to

    def send():
        said = world.run("h1", "ping", "-n", "-c", "2", "-i", "0.3", "-W", "1", "-M", "do", "-s",
                         "1400", to, check=False).stdout
        want(f"Packet too big: mtu={MTU}" in said if v6 else f"(mtu = {MTU})" in said,
             f"ping to {to} says: {said}")

    path = captured(world, "h1", "e1", ["icmp6[0] = 2" if v6 else "icmp[0] = 3"], send, f"pmtu{v6}")
    rows = tshark(path, "icmp.type", "icmp.code", "icmp.mtu", "icmp.checksum.status", "ip.src",
                  "icmpv6.type", "icmpv6.code", "icmpv6.mtu", "icmpv6.checksum.status", "ipv6.src",
                  "ip.checksum.status")
    want(len(rows) == 1, f"one message, since the second ping knows: {rows}")
    first = {k: v.split(",")[0] for k, v in rows[0].items()}
    icmp = "icmpv6" if v6 else "icmp"
    got = [first[f"{icmp}.{k}"] for k in ("type", "code", "mtu", "checksum.status")]
    want(got == ["2" if v6 else "3", "0" if v6 else "4", str(MTU), "1"], f"the message: {first}")
    want(first["ipv6.src" if v6 else "ip.src"] == ("fd00:1::254" if v6 else "10.0.1.254"),
         f"its sender: {first}")
    if not v6:
        want(first["ip.checksum.status"] == "1", f"its header: {first}")


def hosts_find_the_mtu_of_their_path():
    with World(2, ipv6=True) as world:
        addresses(world)
        switch = Switch(world, PROGRAMS, switch_name(), POLICY % (switch_name(), MTU))
        for to in (*TO.values(), WITHOUT_DF):
            want(ping(world, "h1", to, count=2) >= 1, f"a short ping to {to}")
        want(too_long(switch) == 0, "nothing is too long yet")
        # h1 knows nothing yet: the first segments of TCP bring the news.
        for to in TO.values():
            before = too_long(switch)
            tcp(world, "h1", to, "h2")
            want(too_long(switch) > before, f"TCP to {to} began with segments that are too long")
            got = world.run("h1", "ip", "route", "get", to).stdout
            want(f"mtu {MTU}" in got, f"what h1 knows: {got}")
            world.run("h1", "ip", "-6" if ":" in to else "-4", "route", "flush", "cache")
            the_message_names_the_mtu(world, to)
        # The switch fragments nothing, but Linux does, once it knows.
        world.run("h2", "ip", "link", "set", "e2", "mtu", str(MTU))
        before = too_long(switch)
        got = ping(world, "h1", WITHOUT_DF, "-M", "dont", "-s", "1400", count=5)
        want(3 <= got <= 4, f"pings without DF, all but the first: {got}")
        want(1 <= too_long(switch) - before <= 2, f"too long: {too_long(switch) - before}")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


live.need_root("iperf3", "ping", "tcpdump", "tshark")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([hosts_find_the_mtu_of_their_path]))
