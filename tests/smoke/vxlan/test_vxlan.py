#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The switch as a VXLAN tunnel endpoint. The kernel's vxlan device is the other end.

    h1 (VLAN 100), h2 (VLAN 200) - weir - h3, h4: kernel VTEPs with a station of each VLAN

usage: test_vxlan.py BUILD_DIR
"""
import collections
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402
from hosts import captured, dropped, link, ping, tcp, tshark # noqa: E402

MTU, OVERLAY_MTU = 1600, 1500
VNIS = {10100: 100, 10200: 200}

POLICY = """\
switch: {name: %(name)s, workers: %(workers)s, buffer: {size: 12MB}}
vlans: [{id: 100}, {id: 200}]
ports:
  - {name: p1, device: "xdp:sw1", speed: 100G, mtu: 1500, vlan: {untagged: 100}}
  - {name: p2, device: "xdp:sw2", speed: 100G, mtu: 1500, vlan: {untagged: 200}}
  - {name: "p[3-4]", device: "xdp:sw[3-4]", speed: 100G, mtu: 1600,
     ip: ["10.0.[3-4].254/24", "fd00:[3-4]::254/64"]}
vxlan:
  source: "%(source)s"
%(more)s  vnis:
    10100: {vlan: 100, peers: [%(peers)s]}
    10200: {vlan: 200, peers: [%(peers)s]}
"""
TRANSIT = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
ports: [{name: "p[1-2]", device: "xdp:sw[1-2]", speed: 10G, mtu: 1600, profile: marks}]
profiles: {marks: {classes: {3: {wred: {ecn: on, kmin: 4KB, kmax: 4KB, pmax: 100%%}}}}}
vxlan: {mark_inner: %(mark_inner)s}
"""
UNMARKED = 4 # frames in the 4 KB of that policy
SOURCE = {4: "10.0.3.254", 6: "fd00:3::254"}
PEERS = {4: ["10.0.3.3", "10.0.4.4"], 6: ["fd00:3::3", "fd00:4::4"]}


def policy(family, workers=1, more=""):
    return POLICY % {"name": switch_name(), "workers": workers, "source": SOURCE[family],
                     "peers": ", ".join(f'"{p}"' for p in PEERS[family]), "more": more}


def kernel_vtep(world, i, family, mtu=OVERLAY_MTU):
    """Host i: an underlay address, and one vxlan device for each VNI with a station's address."""
    h, dev = f"h{i}", f"e{i}"
    world.run(h, "ip", "link", "set", "lo", "up")
    world.run(h, "ip", "addr", "add", f"10.0.{i}.{i}/24", "dev", dev)
    world.run(h, "ip", "addr", "add", f"fd00:{i}::{i}/64", "dev", dev, "nodad")
    world.run(h, "ip", "route", "add", "default", "via", f"10.0.{i}.254")
    world.run(h, "ip", "-6", "route", "add", "default", "via", f"fd00:{i}::254", "dev", dev)
    for vni, vlan in VNIS.items():
        # RFC 7348 wants no UDP checksum, and over IPv6 the kernel takes such frames on demand only.
        world.run(h, "ip", "link", "add", f"vx{vlan}", "type", "vxlan", "id", str(vni), "local",
                  PEERS[family][i - 3], "remote", SOURCE[family], "dstport", "4789", "dev", dev,
                  *(["udp6zerocsumrx", "udp6zerocsumtx"] if family == 6 else []))
        world.run(h, "ip", "addr", "add", f"192.168.{vlan}.{i}/24", "dev", f"vx{vlan}")
        world.run(h, "ip", "link", "set", f"vx{vlan}", "mtu", str(mtu), "up")


def stations(world):
    """Hosts 1 and 2: a plain station of each VLAN."""
    for i, vlan in ((1, 100), (2, 200)):
        world.run(f"h{i}", "ip", "addr", "add", f"192.168.{vlan}.{i}/24", "dev", f"e{i}")
        world.run(f"h{i}", "ip", "link", "set", f"e{i}", "mtu", str(OVERLAY_MTU))


def meet(switch, family):
    for ip in PEERS[family]:
        eventually(lambda ip=ip: any(n["ip"] == ip and n["state"] == "reachable"
                                     for n in switch.show("neighbours")["neighbours"]),
                   f"peer {ip} is resolved without a frame to it")


def stations_ping_across_the_tunnels(world, switch, family):
    for host, vlan in (("h1", 100), ("h2", 200)):
        for peer in (3, 4):
            want(ping(world, host, f"192.168.{vlan}.{peer}") == 5, f"VLAN {vlan} to {peer}")
            want(ping(world, host, f"192.168.{vlan}.{peer}", "-M", "do", "-s", "1472") == 5,
                 "also frames of full length")


def addresses_are_learnt_at_the_peer_that_sent_them(world, switch, family):
    rows = switch.show("fdb")["fdb"]
    for vlan in VNIS.values():
        for i, peer in enumerate(PEERS[family], 3):
            mac = link(world, f"h{i}", f"vx{vlan}")["address"]
            got = [r["port"] for r in rows if r["mac"] == mac and r["vlan"] == vlan]
            want(got == [peer], f"{mac} of VLAN {vlan} is at {got}, not {peer}")
    shown = switch.show("vxlan")
    want([v["vteps"] for v in shown["vnis"]] == [PEERS[family]] * 2, f"VNIs: {shown['vnis']}")
    want(all(v["learned"] == 2 for v in shown["vnis"]), f"addresses: {shown['vnis']}")
    want(all(p["rx_packets"] and p["tx_packets"] for p in shown["vxlan_peers"]),
         f"frames of both peers: {shown['vxlan_peers']}")
    want(switch.ctl("show", "vxlan").count(PEERS[family][0]) == 3, "and in the tables")


# ---- what comes out of the switch

def tshark_reads_what_the_switch_emits(world, switch, family):
    def send():
        for sport in range(20000, 20020):
            udp(world, "h1", "192.168.100.3", sport, 0x68)

    path = captured(world, "h3", "e3", ["udp port 4789"], send, "emitted")
    ip = "ip" if family == 4 else "ipv6"
    rows = tshark(path, "vxlan.vni", "vxlan.flags", f"{ip}.ttl" if family == 4 else "ipv6.hlim",
                  f"{ip}.src", f"{ip}.dst", "udp.srcport", "udp.checksum", "ip.checksum.status",
                  "_ws.malformed", "_ws.expert.severity", "ip.dsfield.dscp")
    rows = [r for r in rows if r["vxlan.vni"] and r["udp.srcport"].count(",") == 1]
    want(len(rows) >= 20, f"{len(rows)} UDP frames in tunnels")
    for r in rows:
        want(r["vxlan.vni"] == "10100" and int(r["vxlan.flags"], 16) == 0x0800, f"header: {r}")
        ttl = r["ip.ttl" if family == 4 else "ipv6.hlim"]
        want(ttl.split(",")[0] == "64", f"TTL: {r}")
        want(r[f"{ip}.src"].split(",")[0] == SOURCE[family] and
             r[f"{ip}.dst"].split(",")[0] == PEERS[family][0], f"addresses: {r}")
        want(int(r["udp.checksum"].split(",")[0], 16) == 0, f"no UDP checksum: {r}")
        want(set(r["ip.checksum.status"].split(",")) == {"1"}, f"IP checksum: {r}")
        want(not r["_ws.malformed"], f"malformed: {r}")
        want(set(r["ip.dsfield.dscp"].split(",")) == {"26"}, f"one DSCP, inside and outside: {r}")
    ports = {r["udp.srcport"].split(",")[0] for r in rows}
    want(len(ports) >= 19 and min(map(int, ports)) >= 49152, f"a port for each flow: {ports}")


def udp(world, host, to, sport, tos):
    world.run(host, "/usr/bin/python3", "-B", "-c", f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, {tos})
s.bind(("", {sport}))
s.sendto(b"x" * 64, ("{to}", 9000))""")


def tcp_passes_through_the_tunnel(world, switch, family):
    for host, to in (("h1", "192.168.100.3"), ("h2", "192.168.200.4")):
        tcp(world, host, to, "h" + to[-1])


# ---- RFC 6040 with real frames

NAMES = {0: "not_ect", 2: "ect0", 1: "ect1", 3: "ce"}
# Inner and outer field to the inner field that leaves; None: dropped.
ROWS = {(0, 0): 0, (0, 2): 0, (0, 1): 0, (0, 3): None, (2, 0): 2, (2, 2): 2, (2, 1): 1, (2, 3): 3,
        (1, 0): 1, (1, 2): 1, (1, 1): 1, (1, 3): 3, (3, 0): 3, (3, 2): 3, (3, 1): 3, (3, 3): 3}
ODD = [(0, 2), (0, 1), (0, 3), (1, 2), (3, 1)]


def outer(family, ecn=0, dscp=26, src=None, **udp_fields):
    ip = (IP(src=src or PEERS[4][0], dst=SOURCE[4], tos=dscp << 2 | ecn) if family == 4 else
          IPv6(src=src or PEERS[6][0], dst=SOURCE[6], tc=dscp << 2 | ecn))
    return ip / UDP(**{"sport": 50000, "dport": 4789, **udp_fields})


def vxlan(vni, flags=8):
    """scapy gives a frame behind the header other flags, unless it is told."""
    return VXLAN(flags=flags, vni=vni)


def inner(world, ecn=0, port=7000, dscp=26, src="02:00:00:00:33:33"):
    return (Ether(dst=link(world, "h1", "e1")["address"], src=src) /
            IP(src="192.168.100.33", dst="192.168.100.1", tos=dscp << 2 | ecn) /
            UDP(sport=7000, dport=port) / (b"y" * 40))


def send_raw(world, host, dev, switch_dev, frames, mac=None):
    """Frames as they are, to the MAC address of the switch's port or to another one."""
    mac = mac or link(world, "sw", switch_dev)["address"]
    raw = b"".join(len(f).to_bytes(2, "big") + f for f in
                   (bytes(Ether(src="02:00:00:00:00:03", dst=mac) / f) for f in frames))
    path = os.path.join(world.logs, "frames.bin")
    with open(path, "wb") as out:
        out.write(raw)
    world.run(host, "/usr/bin/python3", "-B", "-c", f"""
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("{dev}", 0))
data = open("{path}", "rb").read()
while data:
    n = int.from_bytes(data[:2], "big")
    s.send(data[2:2 + n])
    data = data[2 + n:]""")


def every_row_of_rfc_6040_holds_at_the_end_of_the_tunnel(world, switch, family):
    before = switch.show("vxlan")["vxlan"]
    drops = dropped(switch, "vxlan-ecn")
    frames = [outer(family, out) / vxlan(10100) / inner(world, i, port=7100 + 4 * i + out)
              for i, out in ROWS]
    path = captured(world, "h1", "e1", ["udp dst portrange 7100-7115"],
                    lambda: send_raw(world, "h3", "e3", "sw3", frames), f"rows-{switch.mode}")
    got = {int(r["udp.dstport"]): int(r["ip.dsfield.ecn"])
           for r in tshark(path, "udp.dstport", "ip.dsfield.ecn", "ip.checksum.status")
           if r["ip.checksum.status"] == "1"}
    for (i, out), wanted in ROWS.items():
        wanted = {"rfc6040": wanted, "copy": out, "off": i}[switch.mode]
        have = got.get(7100 + 4 * i + out)
        want(have == wanted, f"ecn {switch.mode}: inner {NAMES[i]}, outer {NAMES[out]} gives "
             f"{have}, not {wanted}")
    after = switch.show("vxlan")["vxlan"]
    for i, out in ODD:
        key = f"ecn_{NAMES[i]}_{NAMES[out]}"
        want(after[key] == before[key] + 1, f"{key}: {before[key]} and {after[key]}")
    want(after["ce_delivered"] == before["ce_delivered"] + 2, "both rows with CE are counted")
    want(dropped(switch, "vxlan-ecn") == drops + (switch.mode == "rfc6040"), "one row drops")


def the_kernel_agrees_about_the_beginning_of_the_tunnel(world, switch, family):
    """Each field goes in at h1, and the kernel's tunnel end gives the station the same one."""
    def send():
        for ecn in NAMES:
            udp(world, "h1", "192.168.100.3", 21000 + ecn, 26 << 2 | ecn)

    def outers():
        path = captured(world, "h3", "e3", ["udp port 4789"], send, f"begin-{switch.mode}")
        key = "ip.dsfield.ecn" if family == 4 else "ipv6.tclass.ecn"
        return {int(r["udp.srcport"].split(",")[1]) - 21000:
                (int(r[key].split(",")[0]), int(r["ip.dsfield.ecn"].split(",")[-1]))
                for r in tshark(path, "udp.srcport", "ip.dsfield.ecn", "ipv6.tclass.ecn")
                if r["udp.srcport"].count(",") == 1 and
                21000 <= int(r["udp.srcport"].split(",")[1]) <= 21003}

    fields = []
    path = captured(world, "h3", "vx100", ["udp dst port 9000"],
                    lambda: fields.append(outers()), f"inner-{switch.mode}")
    want(fields[0] == {e: (0 if switch.mode == "off" else e, e) for e in NAMES},
         f"ecn {switch.mode}: inner to outer and inner: {fields[0]}")
    kernel = {int(r["udp.srcport"]) - 21000: int(r["ip.dsfield.ecn"])
              for r in tshark(path, "udp.srcport", "ip.dsfield.ecn")}
    want(kernel == {e: e for e in NAMES}, f"what the kernel's tunnel end delivers: {kernel}")


def ecn_copy_and_off_are_as_documented(world, switch, family):
    for mode in ("copy", "off", "rfc6040"):
        reload(switch, family, f"  ecn: {mode}\n")
        switch.mode = mode
        every_row_of_rfc_6040_holds_at_the_end_of_the_tunnel(world, switch, family)
        the_kernel_agrees_about_the_beginning_of_the_tunnel(world, switch, family)


def reload(switch, family, more):
    with open(switch.path, "w") as f:
        f.write(policy(family, switch.workers, more))
    switch.ctl("reload")


def dscp_is_uniform_or_that_of_the_pipe(world, switch, family):
    def inner_and_outer(name):
        path = captured(world, "h3", "e3", ["udp port 4789"],
                        lambda: udp(world, "h1", "192.168.100.3", 22000, 10 << 2), name)
        key = "ip.dsfield.dscp" if family == 4 else "ipv6.tclass.dscp"
        rows = [r for r in tshark(path, "udp.srcport", "ip.dsfield.dscp", "ipv6.tclass.dscp")
                if r["udp.srcport"].endswith(",22000")]
        return rows[0][key].split(",")[0], rows[0]["ip.dsfield.dscp"].split(",")[-1]

    def leaves(name):
        path = captured(world, "h1", "e1", ["udp dst port 7200"],
                        lambda: send_raw(world, "h3", "e3", "sw3", [
                            outer(family, 0, 18) / vxlan(10100) / inner(world, 0, 7200, 10)]),
                        name)
        return tshark(path, "ip.dsfield.dscp")[0]["ip.dsfield.dscp"]

    want(inner_and_outer("uniform-in") == ("10", "10"), "uniform: the outer DSCP is the inner one")
    want(leaves("uniform-out") == "18", "uniform: the inner DSCP becomes the outer one")
    reload(switch, family, "  dscp: 46\n")
    want(inner_and_outer("pipe-in") == ("46", "10"), "pipe: the outer DSCP is 46")
    want(leaves("pipe-out") == "10", "pipe: the inner DSCP stays")
    reload(switch, family, "")


# ---- hostile frames

def odd_frames_are_counted_and_end(world, switch, family):
    good = vxlan(10100) / inner(world, 0, 7300)
    bad_source = vxlan(10100) / inner(world, src="03:00:00:00:00:01")
    other_family = [IP(src="10.0.3.3", dst="10.0.3.254") / UDP(sport=1, dport=4789) / good]
    cases = {
        "vxlan-truncated": [outer(family) / b"", outer(family) / (b"\x08" + bytes(6)),
                            outer(family, len=15) / good, outer(family, len=3000) / good],
        "vxlan-flags": [outer(family) / vxlan(10100, f) / inner(world)
                        for f in (0, 0x0c, 0x88, 0xff)],
        "vxlan-vni": [outer(family) / vxlan(v) / inner(world) for v in (0, 10101, 0xffffff)],
        "vxlan-peer": [outer(family, src=a) / good
                       for a in (["10.0.3.9", "10.9.9.9"] if family == 4 else
                                 ["fd00:3::9", "fd00:9::9"])],
        "vxlan-own": [outer(family, src=SOURCE[family]) / good],
        "vxlan-inner": [outer(family) / vxlan(10100) / Raw(bytes(13)),
                        outer(family) / vxlan(10100) / Raw(b""),
                        outer(family) / vxlan(10100) / Ether(dst="01:80:c2:00:00:0e",
                                                                 src="02:00:00:00:00:77",
                                                                 type=0x88cc) / bytes(50),
                        outer(family) / vxlan(10100) / Ether(dst="02:00:00:00:00:01",
                                                                 src="02:00:00:00:00:77",
                                                                 type=0x8808) / bytes(50),
                        outer(family) / vxlan(10100) / Ether(
                            dst="02:00:00:00:00:01", src="02:00:00:00:00:77") / Dot1Q(vlan=200) /
                        IP() / UDP()],
        "bad-source": [outer(family) / bad_source,
                       outer(family) / vxlan(10100) / inner(world, src="00:00:00:00:00:00")],
        "hairpin": [outer(family) / vxlan(10100) / Ether(
            src="02:00:00:00:33:33", dst=link(world, "h4", "vx100")["address"]) / bytes(60)],
    }
    if family == 4:
        cases["vxlan-fragment"] = [IP(src="10.0.3.3", dst="10.0.3.254", flags="MF") /
                                   UDP(sport=1, dport=4789) / good]
    else:
        cases["to-router"] = other_family # the tunnels are IPv6
        cases["vxlan-fragment"] = [IPv6(src="fd00:3::3", dst="fd00:3::254") /
                                   IPv6ExtHdrFragment(m=1) / UDP(sport=1, dport=4789) / good]
    for reason, frames in cases.items():
        before = dropped(switch, reason)
        send_raw(world, "h3", "e3", "sw3", frames)
        eventually(lambda r=reason, b=before, n=len(frames): dropped(switch, r) == b + n,
                   f"{reason}: {before} and {len(frames)} more, got {dropped(switch, reason)}", 5)
    nested = outer(family) / vxlan(10100) / Ether(
        dst=link(world, "h1", "e1")["address"], src="02:00:00:00:33:33") / IP(
        src="192.168.100.33", dst="192.168.100.1") / UDP(sport=1, dport=4789) / good
    before = switch.show("vxlan")["vxlan"]["nested"]
    send_raw(world, "h3", "e3", "sw3", [nested])
    eventually(lambda: switch.show("vxlan")["vxlan"]["nested"] == before + 1, "a nested tunnel", 5)
    want(ping(world, "h1", "192.168.100.3") == 5, "the tunnel works as before")


def no_frame_goes_from_peer_to_peer(world, switch, family):
    def broadcast():
        send_raw(world, "h3", "e3", "sw3", [
            outer(family) / vxlan(10100) /
            Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:33:33", type=0x9999) / bytes(60)])

    heard = []
    path = captured(world, "h4", "vx100", ["ether proto 0x9999"], lambda: heard.append(captured(
        world, "h1", "e1", ["ether proto 0x9999"], broadcast, "horizon-h1")), "horizon-h4")
    want(len(tshark(heard[0], "eth.dst")) == 1, "the station of the VLAN gets the broadcast")
    want(tshark(path, "eth.dst") == [], "and the other VTEP does not")


def another_peer_in_a_place_gets_no_frame_of_the_one_before(world, switch, family):
    """The first peer leaves the file: the second takes its place and begins anew."""
    macs = {i: link(world, f"h{i}", "vx100")["address"] for i in (3, 4)}
    want(ping(world, "h1", "192.168.100.3") == 5 and ping(world, "h1", "192.168.100.4") == 5,
         "both answer")
    with open(switch.path, "w") as f:
        f.write(policy(family, switch.workers).replace(
            ", ".join(f'"{p}"' for p in PEERS[family]), f'"{PEERS[family][1]}"'))
    switch.ctl("reload")
    at = {r["mac"]: r["port"] for r in switch.show("fdb")["fdb"]}
    want(macs[3] not in at and macs[4] not in at, f"addresses of moved places are gone: {at}")
    want(ping(world, "h1", "192.168.100.4") == 5, "the peer that stays answers")
    want(ping(world, "h1", "192.168.100.3", count=2) == 0, "and the other does not")
    peers = switch.show("vxlan")["vxlan_peers"]
    want([p["peer"] for p in peers] == PEERS[family][1:] and peers[0]["rx_packets"] <= 20,
         f"its counters begin anew: {peers}")
    want(dropped(switch, "vxlan-peer") > 0, "frames of the one that left are counted")
    reload(switch, family, "")
    meet(switch, family)
    want(ping(world, "h1", "192.168.100.3") == 5, "it is back")


TESTS = [stations_ping_across_the_tunnels, addresses_are_learnt_at_the_peer_that_sent_them,
         tshark_reads_what_the_switch_emits, tcp_passes_through_the_tunnel,
         every_row_of_rfc_6040_holds_at_the_end_of_the_tunnel,
         the_kernel_agrees_about_the_beginning_of_the_tunnel, ecn_copy_and_off_are_as_documented,
         dscp_is_uniform_or_that_of_the_pipe, odd_frames_are_counted_and_end,
         no_frame_goes_from_peer_to_peer,
         another_peer_in_a_place_gets_no_frame_of_the_one_before]

def with_family(family, workers):
    with World(4, mtu=MTU, ipv6=True) as world:
        for i in (3, 4):
            kernel_vtep(world, i, family)
        stations(world)
        switch = Switch(world, PROGRAMS, switch_name(), policy(family, workers))
        switch.workers, switch.mode = workers, "rfc6040"
        meet(switch, family)
        try:
            for test in TESTS:
                began = time.monotonic()
                test(world, switch, family)
                print(f"        {test.__name__.replace('_', ' ')} "
                      f"({time.monotonic() - began:.1f} s)", flush=True)
        except (AssertionError, Failed):
            for what in ("drops", "fdb", "routes"):
                print(switch.ctl("show", what))
            raise
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def the_page_has_commands_that_work():
    """The commands of docs/vxlan.md in their order, between hosts as conf/vxlan.yaml wants them."""
    with open(os.path.join(live.ROOT, "docs", "vxlan.md")) as f:
        commands = [line[4:].split() for line in f.read().splitlines()
                    if line.startswith("    ") and not line.startswith("     ")
                    and line.split()[0] in ("weir", "weirctl", "weir-lab", "ip")]
    want(len(commands) == 7, f"{commands}")
    programs = {"weir-lab": os.path.join(BUILD, "control/lab/weir-lab"),
                "weirctl": PROGRAMS.weirctl}
    with World(4, mtu=MTU, ipv6=False) as world:
        world.run("h3", "ip", "addr", "add", "10.0.3.3/24", "dev", "e3")
        world.run("h3", "ip", "route", "add", "default", "via", "10.0.3.254")
        world.run("h1", "ip", "addr", "add", "192.168.100.1/24", "dev", "e1")
        policy_file = os.path.join(live.ROOT, commands[0][2])
        weir = world.spawn("sw", "weir", PROGRAMS.weir, "-c", policy_file).wait_line("ready")
        for words in commands[1:]:
            if words[0] == "ip":
                world.run("h3", *words)
                world.run("h3", "ip", "addr", "add", "192.168.100.3/24", "dev", words[3])
                world.run("h3", "ip", "link", "set", words[3], "mtu", str(OVERLAY_MTU), "up")
                world.run("h1", "ip", "link", "set", "e1", "mtu", str(OVERLAY_MTU))
                eventually(lambda: ping(world, "h1", "192.168.100.3") == 5, "the tunnel works")
            else:
                done = subprocess.run([programs[words[0]], *words[1:]], cwd=live.ROOT, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                want(done.returncode == 0, f"{words}: {done.stdout}")
        want(weir.stop() == 0, "the balance holds at the end")


def a_switch_in_the_middle_marks_the_inner_header_where_it_marks_the_outer(world, switch, on):
    """Frames for host 2 wait until all have come; those that leave a longer queue are marked."""
    frames = [outer(family, 2) / vxlan(10100) / inner(world, 2) / Raw(bytes(900))
              for _ in range(20) for family in (4, 6)]

    def queued():
        return sum(q["length_packets"] for q in switch.show("queues")["queues"])

    def send():
        switch.ctl("set", "port", "p2", "tx", "off")
        send_raw(world, "h1", "e1", None, frames, link(world, "h2", "e2")["address"])
        eventually(lambda: queued() == len(frames), "all frames wait")
        switch.ctl("set", "port", "p2", "tx", "on")
        eventually(lambda: queued() == 0, "all frames have left")

    path = captured(world, "h2", "e2", ["udp port 4789"], send, f"transit-{on}")
    rows = tshark(path, "ip.dsfield.ecn", "ipv6.tclass.ecn", "ip.checksum.status",
                  "udp.checksum.status")
    want(len(rows) == len(frames), f"{len(rows)} frames of {len(frames)}")
    fields = [(r["ipv6.tclass.ecn"] + "," + r["ip.dsfield.ecn"]).strip(",").split(",")
              for r in rows]
    marked = [inner_ecn for outer_ecn, inner_ecn in fields if outer_ecn == "3"]
    print(f"        mark_inner {on}: {len(marked)} marks in {len(rows)} frames")
    want(len(marked) == len(rows) - UNMARKED, f"all but the last ones are marked: {fields}")
    want(set(marked) == {"3" if on == "on" else "2"}, f"the inner field of those: {fields}")
    want({i for o, i in fields if o != "3"} == {"2"}, f"and of the others: {fields}")
    want(switch.show("vxlan")["vxlan"]["inner_marked"] == (len(marked) if on == "on" else 0),
         "the counter")
    for r in rows:
        want({*r["ip.checksum.status"].split(","), *r["udp.checksum.status"].split(",")} == {"1"},
             f"checksums: {r}")


def marks_on_the_way():
    for on in ("on", "off"):
        with World(2, mtu=MTU) as world:
            switch = Switch(world, PROGRAMS, switch_name(),
                            TRANSIT % {"name": switch_name(), "mark_inner": on})
            for i in (1, 2):
                world.run(f"h{i}", "ip", "addr", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
            want(ping(world, "h1", "10.0.0.2", count=1) == 1, "the switch bridges")
            a_switch_in_the_middle_marks_the_inner_header_where_it_marks_the_outer(world, switch,
                                                                                   on)
            want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


LONG = 9000 # of the stations; a frame takes three of the kernel's buffers


def frames_of_9000_bytes_cross_a_tunnel_from_a_port_and_a_trunk(family, workers):
    """Hosts 1 and 2 are in VLAN 100, host 2 with a tag. Short frames go between the long ones."""
    with World(4, mtu=LONG + 200, ipv6=True) as world:
        for i in (3, 4):
            kernel_vtep(world, i, family, LONG)
        world.run("h1", "ip", "addr", "add", "192.168.100.1/24", "dev", "e1")
        world.run("h1", "ip", "link", "set", "e1", "mtu", str(LONG))
        world.spawn("h2", "trunk", "/usr/bin/python3", "-B", os.path.join(HERE, "..", "live",
                    "trunk.py"), "e2", "100").wait_line("ready")
        world.run("h2", "ip", "addr", "add", "192.168.100.2/24", "dev", "e2.100")
        world.run("h2", "ip", "link", "set", "e2.100", "mtu", str(LONG), "up")
        text = policy(family, workers).replace("untagged: 200", "tagged: [100]")
        text = text.replace("mtu: 1500", f"mtu: {LONG}").replace("mtu: 1600", f"mtu: {LONG + 200}")
        switch = Switch(world, PROGRAMS, switch_name(), text)
        meet(switch, family)

        def send():
            for host, to in (("h1", "192.168.100.3"), ("h2", "192.168.100.3"),
                             ("h1", "192.168.100.2")):
                for payload in ("18", "4072", "8972"):
                    want(ping(world, host, to, "-M", "do", "-s", payload) == 5,
                         f"{host} to {to}, {payload} bytes")

        path = captured(world, "h3", "e3", ["udp port 4789"], send, f"long-{family}")
        ip, overhead = ("ip", 50) if family == 4 else ("ipv6", 70)
        rows = tshark(path, "frame.cap_len", "icmp.type", "icmp.checksum.status", f"{ip}.src")
        echoes = [r for r in rows if r["icmp.type"] == "8"]
        sizes = collections.Counter(int(r["frame.cap_len"]) for r in echoes)
        want(sizes == {p + 28 + 14 + overhead: 10 for p in (18, 4072, 8972)}, f"{sizes}")
        want({r["icmp.checksum.status"] for r in echoes} == {"1"}, "nothing in them has changed")
        tcp(world, "h1", "192.168.100.3", "h3")
        tcp(world, "h2", "192.168.100.3", "h3")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def long_frames_over_ipv4():
    frames_of_9000_bytes_cross_a_tunnel_from_a_port_and_a_trunk(4, 2)


def long_frames_over_ipv6():
    frames_of_9000_bytes_cross_a_tunnel_from_a_port_and_a_trunk(6, 1)


def tunnels_over_ipv4():
    with_family(4, 1)


def tunnels_over_ipv6_with_two_workers():
    with_family(6, 2)


live.need_root("iperf3", "ping", "tcpdump", "tshark")
try:
    from scapy.all import (Dot1Q, Ether, IP, IPv6, IPv6ExtHdrFragment, Raw, UDP,
                           VXLAN) # noqa: E402
except ImportError:
    sys.exit("scapy is missing: apt-get install python3-scapy")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import Failed, World, switch_name # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PROGRAMS = Programs(BUILD)
sys.exit(live.run_tests([the_page_has_commands_that_work, marks_on_the_way, tunnels_over_ipv4,
                         tunnels_over_ipv6_with_two_workers, long_frames_over_ipv4,
                         long_frames_over_ipv6]))
