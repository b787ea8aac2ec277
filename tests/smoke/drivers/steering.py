#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the XDP program of a port does before the ring: early PFC, and frames for the host's stack.

usage: steering.py PORTLOOP [TEST...]

    ns sw:  swa [portloop] swb
             |              |
    ns a:   ea         ns b: eb

Needs root; exit 77 without it.
"""
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from harness import LATE_S, Wire, equal, inside, ip, ns, until  # noqa: E402
from loop import LLDP, LLDP_DST, Loop, frame, pfc, run_tests  # noqa: E402

TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


def words(loop, port=0):
    got = [loop.ask(f"pause {port} {c}") for c in range(8)]
    equal([w["known"] for w in got], [1] * 8, "the driver knows")
    return [(w["seq"], w["quanta"]) for w in got]


# ---- early PFC

@test
def a_pfc_frame_is_known_by_class_and_still_received():
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb") as loop:
        equal(words(loop), [(0, 0)] * 8, "before")
        to_a_station, to_a_group = b"\2" * 6, b"\1\x80\xc2\0\0\2" # no address of PFC
        for sent in (pfc({3: 0xFFFF, 5: 258}), pfc({3: 0}, size=60), pfc({0: 1}, dst=to_a_station),
                     pfc({1: 1}, dst=to_a_group)):
            a.send(sent)
            equal(b.recv(), sent, "the frame")
        equal(words(loop), [(0, 0), (0, 0), (0, 0), (2, 0), (0, 0), (1, 258), (0, 0), (0, 0)],
              "the words of the port")
        equal(words(loop, 1), [(0, 0)] * 8, "the words of the other port")


@test
def a_pause_behind_a_full_ring_is_known_though_its_frame_is_lost():
    with Wire("a", "ea") as a, Wire("b", "eb") as b, \
            Loop("-r", "2048", "xdp:swa", "xdp:swb") as loop:
        loop.ask("hold 0")
        for i in range(2047):
            a.send(frame(100, i))
        until(lambda: loop.ask("depth 0")["depth"] == 2047, "the ring is all but full")
        a.send(pfc({4: 100}))
        until(lambda: words(loop)[4] == (1, 100), "seen before the frames that wait")
        equal(loop.ask("stats 0")["rx"], 0, "received so far")
        a.send(pfc({4: 0, 3: 7}))
        until(lambda: words(loop)[4] == (2, 0), "seen though the ring is full")
        equal(words(loop)[3], (1, 7), "class 3")
        until(lambda: loop.ask("stats 0")["missed"] == 1, "its frame is lost")
        loop.ask("go 0")
        got = b.recv_n(2048)
        equal((len(got), got[2047]), (2048, pfc({4: 100})), "what had room")



# ---- frames for the host's stack

IPV4, IPV6, ARP, SLOW = 0x0800, 0x86DD, 0x0806, 0x8809
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
BROADCAST, STATION, GROUP6 = b"\xff" * 6, b"\x02\0\0\0\0\x55", b"\x33\x33\xff\0\0\1"
SLOW_DST = bytes.fromhex("0180c2000002")
TAGS = (b"", b"\x81\x00\x60\x05", b"\x88\xa8\x00\x07\x81\x00\x60\x05")


def own(loop, port=0):
    return bytes.fromhex(loop.facts[port]["mac"].replace(":", ""))


def ether(dst, kind, body, tag=b""):
    return (dst + b"\2\0\0\0\0\2" + tag + struct.pack("!H", kind) + body).ljust(80, b"\0")


def v4(dst, proto, body, tag=b"", options=b"", frag=0):
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 60, 0, frag, 64, proto, 0,
                       b"\x0a\0\0\1", b"\x0a\0\0\2")
    return ether(dst, IPV4, head + options + body, tag)


def v6(dst, proto, body, tag=b""):
    head = struct.pack("!IHBB16s16s", 6 << 28, len(body), proto, 64, b"\xfd" * 16, b"\xfe" * 16)
    return ether(dst, IPV6, head + body, tag)


def ports(sport, dport):
    return struct.pack("!HHIIHHHH", sport, dport, 1, 0, 0x5002, 1000, 0, 0)


BOTH = "both"


def check(wires, sent, to_host, what):
    """One frame in at swa: at the host's stack, out of the other port, or at both."""
    a, b, host = wires
    a.send(sent)
    for place, wire, wanted in (("host", host, to_host), ("other port", b, to_host is not True)):
        equal(wire.recv(LATE_S if wanted else 0.02), sent if wanted else None,
              f"{what} at the {place}")


class Steered:
    """A loop with rules, and a look at all three places a frame can be."""

    def __init__(self, *keep):
        self.args = [arg for word in keep for arg in ("-k", word)]

    def __enter__(self):
        self.wires = [Wire("a", "ea"), Wire("b", "eb")]
        self.loop = Loop(*self.args, "xdp:swa", "xdp:swb").__enter__()
        self.wires.append(Wire("sw", "swa"))
        return self.loop, self.wires

    def __exit__(self, *exc):
        for wire in self.wires:
            wire.__exit__()
        self.loop.__exit__(*exc)


@test
def ports_are_kept_only_in_frames_to_the_own_address():
    with Steered("tcp/22", "udp/53") as (loop, wires):
        mac = own(loop)
        for tag in TAGS:
            for make in (v4, v6):
                for what, sent, to_host in (
                        ("to tcp/22", make(mac, TCP, ports(9999, 22), tag), True),
                        ("from tcp/22", make(mac, TCP, ports(22, 9999), tag), True),
                        ("to udp/53", make(mac, UDP, ports(9999, 53), tag), True),
                        ("to udp/22", make(mac, UDP, ports(9999, 22), tag), False),
                        ("to tcp/53", make(mac, TCP, ports(9999, 53), tag), False),
                        ("to tcp/23", make(mac, TCP, ports(9999, 23), tag), False),
                        ("to tcp/86", make(mac, TCP, ports(9999, 86), tag), False),
                        ("RoCE", make(mac, UDP, ports(9999, 4791), tag), False),
                        ("ICMP", make(mac, ICMP, b"\x08\0", tag), False),
                        ("a station's tcp/22", make(STATION, TCP, ports(9, 22), tag), False)):
                    check(wires, sent, to_host, f"{make.__name__} {tag.hex()} {what}")
        got = loop.ask("reasons 0")
        equal((got["kept_tcp"], got["kept_udp"], got["kept_icmp"]), (12, 6, 0), "reasons")
        equal(loop.ask("stats 0")["to_kernel"], 18, "to_kernel")


@test
def ip_options_are_stepped_over_and_later_fragments_are_switched():
    with Steered("tcp/22") as (loop, wires):
        mac = own(loop)
        tcp22 = ports(9999, 22)
        check(wires, v4(mac, TCP, tcp22, options=b"\1" * 8), True, "options")
        check(wires, v4(mac, TCP, tcp22, frag=0x2000), True, "first fragment")
        check(wires, v4(mac, TCP, tcp22, frag=0x0010), False, "later fragment")
        cut = v4(mac, TCP, b"")[:14 + 20 + 3]
        check(wires, cut, False, "cut before its ports")


@test
def link_layer_words_keep_their_protocol_whoever_it_is_for():
    lacp, marker, other = (ether(SLOW_DST, SLOW, bytes([n])) for n in (1, 2, 3))
    rows = {"lldp": (ether(LLDP_DST, LLDP, b"x"),), "lacp": (lacp, marker)}
    with Steered("udp/1") as (loop, wires):
        for keep in rows:
            equal(loop.ask(f"keep 0 {keep}")["rc"], 0, "rc")
            for word, frames in rows.items():
                for sent in frames:
                    check(wires, sent, keep == word, f"{word} under keep: {keep}")
            check(wires, other, False, "another slow protocol")
        got = loop.ask("reasons 0")
        equal((got["kept_lldp"], got["kept_lacp"]), (1, 2), "reasons")


@test
def arp_to_a_group_goes_both_ways_and_to_a_station_only_there():
    with Steered("arp") as (loop, wires):
        for tag in TAGS:
            for dst, where in ((BROADCAST, BOTH), (own(loop), True), (STATION, False)):
                check(wires, ether(dst, ARP, b"\0\1", tag), where, f"ARP {dst.hex()} {tag.hex()}")
        got = loop.ask("reasons 0")
        equal((got["kept_arp"], got["copy_lost"]), (6, 0), "reasons")


@test
def copies_that_the_switch_is_late_for_are_counted_as_lost():
    with Steered("arp") as (loop, (a, b, host)):
        loop.ask("hold 0")
        sent = [ether(BROADCAST, ARP, i.to_bytes(2, "big")) for i in range(200)]
        for f in sent:
            a.send(f)
        until(lambda: loop.ask("reasons 0")["copy_lost"] == 72, "72 of 200 lost")
        equal(loop.ask("stats 0")["missed"], 72, "missed")
        loop.ask("go 0")
        equal(b.recv_n(128), sent[:128], "copies that had room")
        equal(host.recv_n(200), sent, "the host has them all")


@test
def icmp_is_kept_to_the_own_address_and_neighbour_discovery_to_a_group_goes_both_ways():
    with Steered("icmp") as (loop, wires):
        mac = own(loop)
        for what, sent, to_host in (
                ("echo", v4(mac, ICMP, b"\x08\0"), True),
                ("echo6", v6(mac, ICMPV6, b"\x80\0\0\0"), True),
                ("solicitation", v6(GROUP6, ICMPV6, b"\x87\0\0\0"), BOTH),
                ("router advertisement", v6(GROUP6, ICMPV6, b"\x86\0\0\0"), BOTH),
                ("an own advertisement", v6(mac, ICMPV6, b"\x88\0\0\0"), True),
                ("multicast echo6", v6(GROUP6, ICMPV6, b"\x80\0\0\0"), False),
                ("a station's solicitation", v6(STATION, ICMPV6, b"\x87\0\0\0"), False),
                ("a station's echo", v4(STATION, ICMP, b"\x08\0"), False),
                ("tcp", v4(mac, TCP, ports(1, 22)), False)):
            check(wires, sent, to_host, what)


@test
def pfc_is_never_kept_and_rules_change_while_frames_pass():
    with Steered("lldp") as (loop, wires):
        mac = own(loop)
        check(wires, v4(mac, TCP, ports(1, 22)), False, "before")
        loop.ask("keep 0 tcp/22 arp icmp udp/4791 lldp lacp")
        check(wires, v4(mac, TCP, ports(1, 22)), True, "after")
        check(wires, pfc({3: 1}), False, "PFC")
        loop.ask("keep 0")
        for sent in (v4(mac, TCP, ports(1, 22)), ether(LLDP_DST, LLDP, b"x"),
                     ether(BROADCAST, ARP, b"\0\1")):
            check(wires, sent, False, "keep nothing")


# ---- a real host behind the port

SERVER = """import socket, sys
s = socket.create_server(("10.9.0.1", int(sys.argv[1])))
print("listening", flush=True)
c, _ = s.accept()
c.sendall(c.recv(100).upper())
c.close()
"""


def server(port):
    proc = subprocess.Popen(["ip", "netns", "exec", ns("sw"), "/usr/bin/python3", "-c", SERVER,
                             str(port)], stdout=subprocess.PIPE, text=True)
    equal(proc.stdout.readline().strip(), "listening", "server")
    return proc


def call(port, wait):
    """What a host behind the link gets from the switch machine's own TCP port."""
    code = ("import socket, sys\n"
            f"c = socket.create_connection(('10.9.0.1', {port}), timeout={wait})\n"
            "c.sendall(b'hello')\nprint(c.recv(100).decode())")
    return subprocess.run(["ip", "netns", "exec", ns("a"), "/usr/bin/python3", "-c", code],
                          capture_output=True, text=True).stdout.strip()


@test
def the_machine_answers_ping_and_tcp_22_on_a_switch_port_and_nothing_else():
    ip("sw", "addr", "add", "10.9.0.1/24", "dev", "swa")
    ip("a", "addr", "add", "10.9.0.2/24", "dev", "ea")
    inside("sw", "ethtool", "-K", "swa", "tx", "off")
    servers = []
    try:
        with Steered("arp", "icmp", "tcp/22") as (loop, (a, b, host)):
            servers = [server(22), server(23)]
            inside("a", "ping", "-q", "-c", "3", "-i", "0.1", "-W", "2", "10.9.0.1")
            for i in range(20):  # RoCE to the very same address goes on through the switch
                a.send(v4(own(loop), UDP, ports(50000 + i, 4791)))
            equal(call(22, 5), "HELLO", "tcp/22")
            equal(call(23, 1), "", "tcp/23")
            roce = [f for f in b.recv_n(1000, 0.2) if f[12:14] == b"\x08\0" and f[23] == UDP]
            equal(len(roce), 20, "RoCE frames at the other port")
            got = loop.ask("reasons 0")
            equal((got["kept_icmp"], got["kept_udp"]), (3, 0), "reasons")
    finally:
        for proc in servers:
            proc.kill()
            proc.wait()
        ip("sw", "addr", "flush", "dev", "swa")
        ip("a", "addr", "flush", "dev", "ea")


sys.exit(run_tests(TESTS, sys.argv[2:]))
