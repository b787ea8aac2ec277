#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Linux hosts in different VLANs of one switch talk through its SVIs: access ports, a trunk, and a
routed port. Ping, traceroute, TCP, and a reload that takes the addresses of a VLAN away.

usage: test_svi.py BUILD_DIR
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402
from hosts import ping, tcp # noqa: E402

POLICY = """\
switch: {name: %(name)s, workers: %(workers)s, buffer: {size: 12MB}}
ports:
  - {name: p1, device: "xdp:sw1", speed: 100G, vlan: {untagged: 100}}
  - {name: p2, device: "xdp:sw2", speed: 100G, vlan: {untagged: 200}}
  - {name: p3, device: "xdp:sw3", speed: 100G, vlan: {untagged: none, tagged: [100, 200]}}
  - {name: p4, device: "xdp:sw4", speed: 100G, ip: ["10.0.4.254/24", "fd00:4::254/64"]}
vlans:
  - {id: 100, ip: ["10.0.100.254/24", "fd00:100::254/64"], mac: "02:00:00:00:00:fe"}
  - {id: 200%(vlan200)s}
"""
IP_200 = ', ip: ["10.0.200.254/24", "fd00:200::254/64"]'
# Host, device, network, host number. h3 is on a trunk and in both VLANs.
PLACES = [("h1", "e1", "100", 1), ("h2", "e2", "200", 2), ("h3", "e3.100", "100", 3),
          ("h3", "e3.200", "200", 3), ("h4", "e4", "4", 4)]


def policy(workers=1, vlan200=IP_200):
    return POLICY % {"name": switch_name(), "workers": workers, "vlan200": vlan200}


def addresses(world):
    trunk = world.spawn("h3", "trunk", "/usr/bin/python3", "-B",
                        os.path.join(HERE, "..", "live", "trunk.py"), "e3", "100", "200")
    trunk.wait_line("ready")
    for host, dev, net, i in PLACES:
        if "." in dev:
            world.run(host, "ip", "link", "set", dev, "address", f"02:00:00:00:{net[0]}0:03", "up")
        world.run(host, "ip", "link", "set", "lo", "up")
        world.run(host, "ip", "addr", "add", f"10.0.{net}.{i}/24", "dev", dev)
        world.run(host, "ip", "addr", "add", f"fd00:{net}::{i}/64", "dev", dev, "nodad")
        if host != "h3":
            world.run(host, "ip", "route", "add", "default", "via", f"10.0.{net}.254")
            world.run(host, "ip", "-6", "route", "add", "default", "via", f"fd00:{net}::254",
                      "dev", dev)
    world.run("h3", "ip", "route", "add", "10.0.4.0/24", "via", "10.0.100.254")
    return trunk


def the_gateway_of_each_vlan_answers(world, switch):
    for host, to in (("h1", "10.0.100.254"), ("h1", "fd00:100::254"), ("h2", "10.0.200.254"),
                     ("h3", "10.0.100.254"), ("h3", "fd00:200::254")):
        want(ping(world, host, to, count=3) == 3, f"{to} answers {host}")


def the_first_ping_between_two_vlans_arrives(world, switch):
    for to in ("10.0.200.2", "fd00:200::2", "10.0.4.4", "fd00:4::4"):
        want(ping(world, "h1", to, count=1) == 1, f"the first ping reaches {to}")


def hosts_in_two_vlans_ping_each_other(world, switch):
    for host, to in (("h1", "10.0.200.2"), ("h1", "fd00:200::2"), ("h2", "10.0.100.1"),
                     ("h1", "10.0.200.3"), ("h4", "10.0.100.3"), ("h4", "10.0.200.2"),
                     ("h2", "fd00:4::4")):
        want(ping(world, host, to, "-s", "1400") == 5, f"five pings from {host} to {to}")
    want(ping(world, "h1", "10.0.100.3", count=3) == 3, "the VLAN itself bridges")


def traceroute_shows_the_switch(world, switch):
    for host, to, first in (("h1", "10.0.200.2", "10.0.100.254"),
                            ("h3", "10.0.4.4", "10.0.100.254"),
                            ("h4", "10.0.200.2", "10.0.4.254")):
        said = world.run(host, "traceroute", "-n", "-q", "1", "-w", "2", to).stdout.splitlines()
        hops = [line.split()[1] for line in said[1:]]
        want(hops == [first, to], f"traceroute from {host} to {to}: {hops}")


def tcp_passes_between_vlans(world, switch):
    for host, to in (("h1", "10.0.200.2"), ("h4", "fd00:200::2")):
        tcp(world, host, to, "h2")


def the_tables_name_the_interface(world, switch):
    rows = switch.show("neighbours")["neighbours"]
    got = {n["ip"]: n["port"] for n in rows}
    want(got.get("10.0.100.1") == "vlan100" and got.get("10.0.200.2") == "vlan200" and
         got.get("10.0.4.4") == "p4", f"show neighbours: {got}")
    got = {r["to"]: r["port"] for r in switch.show("routes")["routes"]}
    want(got["10.0.100.0/24"] == "vlan100", f"show routes: {got}")
    rows = switch.show("neighbours", "vlan200")["neighbours"]
    want({n["port"] for n in rows} == {"vlan200"}, f"show neighbours of vlan200: {rows}")
    got = {v["vlan"]: v for v in switch.show("vlan")["vlan"]}
    want(got[100]["ip"] == ["10.0.100.254/24", "fd00:100::254/64"] and got[100]["up"] and
         got[100]["mac"] == "02:00:00:00:00:fe" and got[100]["mtu"] == 1500, f"show vlan: {got}")
    got = [(a["vlan"], a["port"]) for a in switch.show("fdb")["fdb"]
           if a["mac"] == "02:00:00:00:00:fe"]
    want(got == [(100, "vlan100")], f"show fdb: {got}")


def a_reload_ends_and_begins_the_routing_of_a_vlan(world, switch):
    for vlan200, replies in (("", 0), (IP_200, 3)):
        with open(switch.path, "w") as f:
            f.write(policy(switch.workers, vlan200))
        switch.ctl("reload")
        got = ping(world, "h1", "10.0.200.2", count=3)
        want(got == replies, f"{got} of {replies} replies with vlan200 {vlan200!r}")
        want(ping(world, "h2", "10.0.200.3", count=3) == 3, "the VLAN bridges all the same")


TESTS = [the_gateway_of_each_vlan_answers, the_first_ping_between_two_vlans_arrives,
         hosts_in_two_vlans_ping_each_other, traceroute_shows_the_switch,
         tcp_passes_between_vlans, the_tables_name_the_interface,
         a_reload_ends_and_begins_the_routing_of_a_vlan]


def with_workers(workers):
    with World(4, ipv6=True) as world:
        trunk = addresses(world)
        switch = Switch(world, PROGRAMS, switch_name(), policy(workers))
        switch.workers = workers
        for test in TESTS:
            began = time.monotonic()
            test(world, switch)
            print(f"        {test.__name__.replace('_', ' ')} ({time.monotonic() - began:.1f} s)",
                  flush=True)
        trunk.kill()
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def one_worker_routes_vlans():
    with_workers(1)


def two_workers_route_vlans():
    with_workers(2)


live.need_root("iperf3", "ping", "traceroute")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([one_worker_routes_vlans, two_workers_route_vlans]))
