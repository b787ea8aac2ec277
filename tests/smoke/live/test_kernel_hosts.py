#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plain Linux hosts talk through the switch: iperf3 over TCP and UDP, IPv4 and IPv6, two MTUs,
HTTP, with the offloads that a veth has and without, and tagged over VLAN trunks.

usage: test_kernel_hosts.py BUILD_DIR
"""
import contextlib
import filecmp
import json
import os
import sys
import time

import live
from live import want

TRUNK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trunk.py")
LEAST_BPS = 20e6 # a link that works moves far more; a broken one moves nothing
UDP_BPS = "20M"
DOWNLOAD_BYTES = 8 << 20
FETCH = """
import sys, urllib.request
open(sys.argv[2], "wb").write(urllib.request.urlopen(sys.argv[1], timeout=20).read())
"""
POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
ports:
  - {name: "p[1-%(ports)d]", device: "xdp:sw[1-%(ports)d]", speed: 100G, mtu: %(mtu)d}
"""
TRUNK_POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 100G, vlan: {untagged: 1, tagged: [20, 30-31]}}
  - {name: p3, device: "xdp:sw3", speed: 100G, vlan: {untagged: 20}}
vlans: [{id: 1}, {id: 20}, {id: 30}, {id: 31}]
"""


@contextlib.contextmanager
def iperf_server(world, server):
    """For one client."""
    listener = world.spawn(server, f"iperf3-{server}", "iperf3", "-s", "-1", "--forceflush")
    end = time.monotonic() + 10
    while "listening" not in listener.out() and time.monotonic() < end:
        time.sleep(0.05)
    try:
        yield
    finally:
        listener.kill()


def iperf(world, client, server, address, *args):
    """One second from client to server; iperf3's own report."""
    with iperf_server(world, server):
        done = world.run(client, "iperf3", "-J", "-c", address, "-t", "1", *args, check=False,
                         timeout=30)
        report = json.loads(done.stdout)
        want("error" not in report, f"iperf3 {address} {args}: {report.get('error')}")
        return report["end"]


def tcp(world, client, server, address, *args):
    bps = iperf(world, client, server, address, *args)["sum_received"]["bits_per_second"]
    print(f"        TCP {client} -> {address} {' '.join(args)}: {bps / 1e6:.0f} Mb/s")
    want(bps > LEAST_BPS, f"TCP to {address}: {bps / 1e6:.1f} Mb/s")


def udp(world, client, server, address, size):
    """What the receiving process was too late for arrived all the same."""
    before = socket_overflows(world, server)
    end = iperf(world, client, server, address, "-u", "-b", UDP_BPS, "-l", str(size))["sum"]
    late = socket_overflows(world, server) - before
    print(f"        UDP {client} -> {address} {size} B: {end['packets']} packets,"
          f" {end['lost_packets']} lost, {late} of them by the receiving process")
    want(end["packets"] > 200 and end["lost_packets"] <= late, f"UDP: {end}, overflows {late}")


def address(world, i, dev, net):
    """Gives host i its addresses on a device: 10.net.0.i and fd00:net::i."""
    host = f"h{i}"
    world.run(host, "ip", "addr", "add", f"10.{net}.0.{i}/24", "dev", dev)
    world.run(host, "ip", "addr", "add", f"fd00:{net}::{i}/64", "dev", dev, "nodad")


def pings(world, host, to, *args):
    return world.run(host, "ping", "-q", "-c", "2", "-i", "0.2", "-W", "1", *args, to,
                     check=False).returncode == 0


def no_data_was_dropped_inside(switch):
    drops = switch.show("drops")["drops"]
    want(drops == [], f"the switch dropped frames: {drops}")
    missed = [p["rx_missed"] for p in switch.show("ports")["ports"]]
    print(f"        receive rings missed {missed}")


def download(world, client, server, address):
    """Over HTTP, of more than fits the sockets' buffers."""
    folder = os.path.join(world.logs, "www")
    os.mkdir(folder)
    with open(os.path.join(folder, "file"), "wb") as f:
        f.write(os.urandom(DOWNLOAD_BYTES))
    world.spawn(server, "http", sys.executable, "-m", "http.server", "8080", "-d", folder)
    got = os.path.join(world.logs, "got")
    end = time.monotonic() + 20
    while world.run(client, sys.executable, "-c", FETCH, f"http://{address}:8080/file", got,
                    check=False, timeout=60).returncode:
        want(time.monotonic() < end, "the file is downloaded within 20 s")
    want(filecmp.cmp(os.path.join(folder, "file"), got, shallow=False), "and is whole")


def finished(switch):
    return sum(r["packets"] for r in switch.show("control")["steering"]
               if r["reason"] == "sums_finished")


def hosts_with_mtu(mtu, offloads):
    with World(2, mtu=mtu, ipv6=True, offloads=offloads) as world:
        for i in (1, 2):
            address(world, i, f"e{i}", 9)
        policy = POLICY % {"name": switch_name(), "ports": 2, "mtu": mtu}
        switch = Switch(world, PROGRAMS, switch_name(), policy)
        want(pings(world, "h1", "10.9.0.2", "-M", "do", "-s", str(mtu - 28)), "a full frame, IPv4")
        want(pings(world, "h1", "fd00:9::2", "-M", "do", "-s", str(mtu - 48)), "a full frame, IPv6")
        for to in ("10.9.0.2", "fd00:9::2"):
            tcp(world, "h1", "h2", to)
            tcp(world, "h1", "h2", to, "-R")
            udp(world, "h1", "h2", to, mtu - 48)
        if offloads:
            download(world, "h1", "h2", "10.9.0.2")
        want((finished(switch) > 1000) == offloads,
             f"{finished(switch)} checksums were left unfinished, offloads={offloads}")
        no_data_was_dropped_inside(switch)
        want(switch.stop() == 0, "weir accounts for every frame at its end")


def tcp_udp_and_http_with_the_offloads_that_a_veth_has():
    hosts_with_mtu(1500, offloads=True)


def tcp_and_udp_over_ipv4_and_ipv6_at_mtu_3000():
    hosts_with_mtu(3000, offloads=False)


def tcp_and_udp_over_ipv4_and_ipv6_at_mtu_9000():
    hosts_with_mtu(9000, offloads=False)


def tcp_through_bridges_of_the_kernel():
    """A bridge hands frames over as its veth did: merged, and with unfinished checksums."""
    with World(2, ipv6=True, offloads=True) as world:
        for i in (1, 2):
            address(world, i, f"e{i}", 9)
            world.run("sw", "ip", "link", "add", f"br{i}", "type", "bridge")
            world.run("sw", "ip", "link", "set", f"sw{i}", "master", f"br{i}")
            world.run("sw", "ip", "link", "set", f"br{i}", "up")
        policy = POLICY.replace("xdp:sw", "xdp:br") % {"name": switch_name(), "ports": 2,
                                                       "mtu": 1500}
        switch = Switch(world, PROGRAMS, switch_name(), policy)
        cure = "ethtool -K DEVICE tso off gso off"
        want(cure in switch.process.out(), f"the start says {cure}")
        with iperf_server(world, "h2"):
            world.run("h1", "timeout", "3", "iperf3", "-c", "10.9.0.2", "-t", "1", check=False)
        lost = [p["merged_segments"] for p in switch.show("hints")["hints"]]
        want(lost[0] > 0, f"hints of lost merged segments: {lost}")
        for i in (1, 2):
            world.run(f"h{i}", *cure.replace("DEVICE", f"e{i}").split())
        tcp(world, "h1", "h2", "10.9.0.2")
        want(finished(switch) > 1000, f"{finished(switch)} checksums were left unfinished")
        want(switch.stop() == 0, "weir accounts for every frame at its end")


def subinterfaces(world, i, vids):
    """The kernel's own where it has them."""
    host, dev = f"h{i}", f"e{i}"
    made = [world.run(host, "ip", "link", "add", "link", dev, "name", f"{dev}.{v}", "type", "vlan",
                      "id", str(v), check=False).returncode for v in vids]
    if any(made):
        print(f"        {host}: the kernel has no 8021q, trunk.py stands in")
        world.spawn(host, f"trunk{i}", sys.executable, "-B", TRUNK, dev,
                    *map(str, vids)).wait_line("ready")
    for v in vids:
        world.run(host, "ip", "link", "set", f"{dev}.{v}", "mtu", "1500", "up")
        address(world, i, f"{dev}.{v}", v)


def vlan_trunks_carry_their_vlans_and_no_others():
    with World(3, ipv6=True) as world:
        for i in (1, 2):
            subinterfaces(world, i, [20, 30, 40])
        address(world, 3, "e3", 20)
        switch = Switch(world, PROGRAMS, switch_name(), TRUNK_POLICY % {"name": switch_name()})
        for net in (20, 30):
            tcp(world, "h1", "h2", f"10.{net}.0.2")
            want(pings(world, "h1", f"fd00:{net}::2"), f"IPv6 in VLAN {net}")
        udp(world, "h1", "h2", "10.30.0.2", 1400)
        tcp(world, "h1", "h3", "10.20.0.3") # tagged at one end, untagged at the other
        want(not pings(world, "h1", "10.40.0.2"), "VLAN 40 is on no port of the switch")
        world.run("h3", "ip", "addr", "add", "10.30.0.3/24", "dev", "e3")
        want(not pings(world, "h1", "10.30.0.3"), "VLAN 30 on an access port of VLAN 20")
        want(switch.stop() == 0, "weir accounts for every frame at its end")


def a_bridge_without_vlans_passes_tags_unchanged():
    with World(2, ipv6=True) as world:
        for i in (1, 2):
            subinterfaces(world, i, [77])
            address(world, i, f"e{i}", 9)
        policy = POLICY % {"name": switch_name(), "ports": 2, "mtu": 1500}
        switch = Switch(world, PROGRAMS, switch_name(), policy)
        tcp(world, "h1", "h2", "10.77.0.2")
        want(pings(world, "h1", "10.77.0.2", "-M", "do", "-s", "1472"), "a full tagged frame")
        tcp(world, "h1", "h2", "10.9.0.2") # beside it, untagged
        want(switch.stop() == 0, "weir accounts for every frame at its end")


live.need_root("iperf3", "ping")
from iperf import socket_overflows # noqa: E402: the path is set by live
from switch import Programs, Switch # noqa: E402
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([
    tcp_udp_and_http_with_the_offloads_that_a_veth_has,
    tcp_and_udp_over_ipv4_and_ipv6_at_mtu_3000,
    tcp_and_udp_over_ipv4_and_ipv6_at_mtu_9000,
    tcp_through_bridges_of_the_kernel,
    vlan_trunks_carry_their_vlans_and_no_others,
    a_bridge_without_vlans_passes_tags_unchanged,
]))
