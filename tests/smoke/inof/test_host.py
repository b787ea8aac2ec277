#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""weir-host with --inof against a switch made of a Linux bridge and the encoder of snsd.py, which
shares no code with weir-host: octets of all frames, and flows that follow notices.

usage: test_host.py BUILD_DIR [CASE...]
"""
import ctypes
import json
import os
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import want # noqa: E402
import snsd # noqa: E402
from switch import Host, Programs # noqa: E402: the path is set by live
from world import World # noqa: E402

ETH_P_ALL = 3
SWITCH = bytes.fromhex("02000000aa00")
DISK = "nqn.2026-11.org.example:disk"


class Port:
    """The switch's end of link i."""

    def __init__(self, world, i):
        self.dev, self.mac = f"sw{i}", bytes.fromhex(f"0200000000{i:02x}")
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net") as mine, open(f"/run/netns/{world.ns('sw')}") as there:
            want(libc.setns(there.fileno(), 0) == 0, "setns")
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                        socket.htons(ETH_P_ALL))
            self.socket.bind((self.dev, ETH_P_ALL))
            want(libc.setns(mine.fileno(), 0) == 0, "setns")
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.settimeout(0.5)

    def next(self, text, match, seconds=60):
        """The next frame from the host for which match() holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                data, where = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            if where[2] != socket.PACKET_OUTGOING and match(data):
                return data
        raise AssertionError(f"not within {seconds} s: {text}")

    def expect(self, text, wanted):
        """The next frame of its EtherType is this one."""
        got = self.next(text, lambda data: data[12:14] == wanted[12:14])
        want(got == wanted, f"{text}\n  got    {got.hex(' ')}\n  wanted {wanted.hex(' ')}")

    def notice(self, src, dst, seq, online, reason, nqn=DISK):
        """Tells the host, and waits for the ACK."""
        word = struct.Struct(">I").pack
        parts = [(snsd.SRC4, socket.inet_aton(src)), (snsd.DST4, socket.inet_aton(dst)),
                 (snsd.SEQ, word(seq)), (snsd.STATE, word(online)), (snsd.REASON, word(reason)),
                 (snsd.MORE, struct.pack(">BBHHB", 1, 1, 0, 4420, len(nqn)) + nqn.encode())]
        subs = b"".join(snsd.tlv(*part) for part in parts)
        self.socket.send(snsd.frame(SWITCH, 1, snsd.tlv(snsd.NOTICE, subs)))
        self.expect("the ACK", snsd.frame(self.mac, 1, snsd.ack(src, dst, seq)))

    def data_to(self, dst, n):
        """Waits for n frames of RoCEv2 from the host to an address."""
        wanted = socket.inet_aton(dst)
        for _ in range(n):
            self.next(f"a frame to {dst}", lambda data: data[12:14] == b"\x08\0" and
                      data[23] == 17 and data[30:34] == wanted)


class Bridge(World):
    """A world in which a bridge forwards data, and the test plays the switch's iNOF."""

    def build(self):
        super().build()
        self.run("sw", "ip", "link", "add", "name", "br0", "type", "bridge")
        self.run("sw", "ip", "link", "set", "br0", "up")
        self.ports = {i: Port(self, i) for i in range(1, self.n_hosts + 1)}
        for i in self.ports:
            self.run("sw", "ip", "link", "set", f"sw{i}", "master", "br0")

    def host(self, i, *args):
        h = Host(self, PROGRAMS, i, f"host{i}", *args)
        h.process.wait_line("ready")
        return h


    def initiator(self, *args):
        """Host 1 and its port; the host has asked for its zone."""
        host = self.host(1, "--inof", "initiator", "--size", "16KiB", "--rate", "100M", *args)
        port = self.ports[1]
        port.expect("the query", snsd.frame(port.mac, 1, snsd.query("10.0.0.1")))
        return host, port


def steps(host, step):
    """The keys of each such step of a host."""
    return [{k: v for k, v in s.items() if k not in ("t", "step")} for s in host.inof_log()
            if s["step"] == step]


def report(host):
    host.process.stop()
    return json.loads(host.process.out())


# ---- cases

def each_frame_has_the_octets_of_the_description():
    with Bridge(1) as b:
        port = b.ports[1]
        host = b.host(1, "--inof", "target", "--nqn", DISK, "--register", "1s")
        first = snsd.registration(port.mac, "snsd_e1_00", "10.0.0.1", 1, 1, 4420, DISK, 4)
        port.expect("the registration", first)
        port.expect("the query", snsd.frame(port.mac, 1, snsd.query("10.0.0.1")))
        port.expect("the next registration", first)
        port.notice("10.0.0.9", "10.0.0.1", 0xfffffffe, 1, 0, "")
        got = report(host)["inof"]
        want(got["notices"] == 1 and got["acks"] == 1 and got["queries"] == 1 and
             got["begins"] == 0, f"{got}")
        goodbye = snsd.goodbye(port.mac, "snsd_e1_00")
        port.next("the goodbye", lambda data: data == goodbye)


def messages_go_on_over_the_second_path_and_none_is_missing():
    with Bridge(3) as b:
        for i in (2, 3):
            b.host(i, "--inof", "target", "--nqn", DISK)
        host, port = b.initiator("--count", "400", "--qps", "2")
        port.notice("10.0.0.2", "10.0.0.1", 1, 1, 0)
        port.notice("10.0.0.3", "10.0.0.1", 2, 1, 0)
        port.data_to("10.0.0.2", 100)
        b.run("h2", "ip", "link", "set", "e2", "down")
        port.notice("10.0.0.2", "10.0.0.1", 3, 0, 1)
        port.data_to("10.0.0.3", 100)
        want(host.process.wait(60) == 0, host.process.said())
        got = json.loads(host.process.out())
        want(got["messages_completed"] == 800 and got["inof"]["messages_failed"] == 0, f"{got}")
        want(got["inof"]["moves"] == 1 and got["inof"]["begins"] == 2, f"{got}")
        want(steps(host, "disconnect") == [{"peer": "10.0.0.2", "reason": "link-down",
                                            "how": "path"}], host.process.err())
        want([s["peer"] for s in steps(host, "resume")] == ["10.0.0.3"], host.process.err())


def a_zone_change_ends_io_by_force_and_nothing_takes_its_place():
    with Bridge(2) as b:
        b.host(2, "--inof", "target", "--nqn", DISK)
        host, port = b.initiator()
        port.notice("10.0.0.2", "10.0.0.1", 1, 1, 0)
        port.data_to("10.0.0.2", 100)
        port.notice("10.0.0.2", "10.0.0.1", 2, 0, 4)
        got = report(host)
        want(steps(host, "disconnect") == [{"peer": "10.0.0.2", "reason": "zone-change",
                                            "how": "forced"}], host.process.err())
        want(got["flows"] == [] and got["inof"]["messages_failed"] ==
             got["messages_posted"] - got["messages_completed"] > 0, f"{got}")


def a_path_without_an_answer_is_left_without_a_notice():
    with Bridge(3) as b:
        for i in (2, 3):
            b.host(i, "--inof", "target", "--nqn", DISK)
        host, port = b.initiator("--keep-alive", "1s")
        port.notice("10.0.0.2", "10.0.0.1", 1, 1, 0)
        port.notice("10.0.0.3", "10.0.0.1", 2, 1, 0)
        port.data_to("10.0.0.2", 100)
        b.run("h2", "ip", "link", "set", "e2", "down")
        port.data_to("10.0.0.3", 100)
        got = report(host)
        want(steps(host, "disconnect") == [{"peer": "10.0.0.2", "reason": "no-answer",
                                            "how": "path"}], host.process.err())
        want(got["inof"]["longest_outage_us"] >= 1_000_000, f"{got}")


def without_a_target_the_host_says_where_to_look():
    with Bridge(1) as b:
        host = b.host(1, "--inof", "initiator", "--time", "100ms")
        want(host.process.wait(60) == 1, host.process.said())
        want("weirctl show inof" in host.process.err(), host.process.err())


live.need_root()
PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([each_frame_has_the_octets_of_the_description,
                         messages_go_on_over_the_second_path_and_none_is_missing,
                         a_zone_change_ends_io_by_force_and_nothing_takes_its_place,
                         a_path_without_an_answer_is_left_without_a_notice,
                         without_a_target_the_host_says_where_to_look]))
