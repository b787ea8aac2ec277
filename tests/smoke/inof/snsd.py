#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A host of iNOF for tests: the second implementation of the wire format. It shares no code with
control/inof and needs the standard library only.

The host registers its addresses by LLDP, asks for its zone after the link comes up, acknowledges
notices, and keeps a table of its peers. The log is JSON, one event a line: `ns` is CLOCK_MONOTONIC,
the clock of all programs of the machine.
"""
import argparse
import fcntl
import heapq
import ipaddress
import itertools
import json
import selectors
import signal
import socket
import struct
import sys
import time

# ---- the wire format

LLDP_TO = bytes.fromhex("0180c200000e")
INOF_TO = bytes.fromhex("0180c200000d")
LLDP, INOF = 0x88cc, 0x88a7
OUI, SUBTYPE = bytes.fromhex("001882"), 101
FRAME_LEAST = 60
NOTICE, ACK, QUERY = 0x21, 0x22, 0x23
SRC4, DST4, SRC6, DST6, SEQ, STATE, REASON, MORE = range(1, 9)
ADDRESSES = {4: (SRC4, DST4), 6: (SRC6, DST6)}
MASKS = {0xf3: 4, 0xfc: 6} # bit n - 1 stands for sub-TLV n: all of them, and no address more
ROLES = {"target": 1, "initiator": 2, "both": 3}
PROTOCOLS = {"roce": 1, "tcp": 2, "iscsi": 3}
ZONE, ADDRESS, AGED = 4, 5, 6
REASONS = {1: "link-down", 2: "pfc-storm", 3: "packet-error", ZONE: "zone-change",
           ADDRESS: "address-change", AGED: "aged", 7: "bfd-down"}
FORCED = (ZONE, ADDRESS, AGED)
SUBSCRIBE = 0x80


class Malformed(Exception):
    """Bytes that are no frame of iNOF."""


def ethernet(to, mac, kind, payload):
    return (to + mac + struct.pack(">H", kind) + payload).ljust(FRAME_LEAST, b"\0")


def lldp_tlv(kind, value):
    return struct.pack(">H", kind << 9 | len(value)) + value


def registration(mac, port_id, ip, role, proto, port, nqn, ttl=120, subscribe=True):
    """The frame of LLDP that announces one address."""
    ip, nqn = ipaddress.ip_address(ip), nqn.encode()
    service = (1 if ip.version == 4 else 2) | (SUBSCRIBE if subscribe else 0)
    value = OUI + bytes([SUBTYPE, 1, service, 0, 0]) + ip.packed.ljust(16, b"\0") + struct.pack(
        ">BBHHB", role, proto, 0x0101, port, len(nqn)) + nqn
    return lldp(mac, port_id, ttl, lldp_tlv(127, value))


def goodbye(mac, port_id):
    """The frame of LLDP that ends what its station has announced (IEEE 802.1AB, shutdown)."""
    return lldp(mac, port_id, 0, b"")


def lldp(mac, port_id, ttl, more):
    return ethernet(LLDP_TO, mac, LLDP, b"".join([
        lldp_tlv(1, b"\4" + mac), lldp_tlv(2, b"\5" + port_id.encode()),
        lldp_tlv(3, struct.pack(">H", ttl)), more, lldp_tlv(0, b"")]))


def tlv(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


def frame(mac, version, *roots):
    tlvs = b"".join(roots)
    return ethernet(INOF_TO, mac, INOF, struct.pack(">BBHI", version, 0, len(tlvs), 0) + tlvs)


def query(ip):
    ip = ipaddress.ip_address(ip)
    return tlv(QUERY, tlv(ADDRESSES[ip.version][1], ip.packed))


def ack(src, dst, seq):
    """The answer to a notice: its addresses and its sequence number."""
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    kinds = ADDRESSES[src.version]
    return tlv(ACK, tlv(kinds[0], src.packed) + tlv(kinds[1], dst.packed) +
               tlv(SEQ, struct.pack(">I", seq)))


def tlvs_of(data):
    while data:
        if len(data) < 3:
            raise Malformed("the head of a TLV is cut")
        kind, length = struct.unpack_from(">BH", data)
        if len(data) < 3 + length:
            raise Malformed(f"TLV {kind} is longer than its frame")
        yield kind, data[3:3 + length]
        data = data[3 + length:]


def roots_of(data):
    """The version and the root TLVs of a whole frame."""
    if len(data) < 22 or data[12:14] != struct.pack(">H", INOF):
        raise Malformed("no frame of iNOF")
    version, _, length, _ = struct.unpack_from(">BBHI", data, 14)
    if version > 1:
        raise Malformed(f"version {version}")
    if len(data) < 22 + length:
        raise Malformed("the TLVs are longer than the frame")
    return version, list(tlvs_of(data[22:22 + length]))


def more_of(value):
    """Sub-TLV 8: what else is known of the peer."""
    if len(value) < 7 or len(value) < 7 + value[6]:
        raise Malformed("sub-TLV 8 is cut")
    role, proto, _, port, length = struct.unpack_from(">BBHHB", value)
    return {"role": role, "proto": proto, "port": port,
            "nqn": value[7:7 + length].decode("ascii", "replace")}


def sized(subs, kind, length):
    if len(subs[kind]) != length:
        raise Malformed(f"sub-TLV {kind} has {len(subs[kind])} bytes")
    return subs[kind]


def notice_of(version, value):
    """A root TLV 0x21. A notice without a required sub-TLV is malformed."""
    subs = dict(tlvs_of(value))
    mask = sum(1 << kind - 1 for kind in subs if SRC4 <= kind <= MORE)
    if mask not in MASKS:
        raise Malformed(f"mask 0x{mask:02x}")
    family = MASKS[mask]
    src, dst = (str(ipaddress.ip_address(sized(subs, kind, 4 if family == 4 else 16)))
                for kind in ADDRESSES[family])
    width = 4 if version == 1 else 1
    state, reason = (int.from_bytes(sized(subs, kind, width), "big") for kind in (STATE, REASON))
    if state > 1:
        raise Malformed(f"state {state}")
    return {"src": src, "dst": dst, "seq": int.from_bytes(sized(subs, SEQ, 4), "big"),
            "online": state == 1, "reason": reason, **more_of(subs[MORE])}


# ---- the host

IFF_RUNNING, RTM_NEWLINK = 0x40, 16


class FloodGuard:
    """Counts frames in windows of 500 ms. A window with 500 frames closes the port for 10 s."""
    FRAMES, WINDOW, CLOSED = 500, 500_000_000, 10_000_000_000

    def __init__(self):
        self.begin_ns = self.closed_ns = -self.CLOSED
        self.n = 0

    def admit(self, now_ns):
        """Whether the host reads a frame that arrives now."""
        if now_ns < self.closed_ns:
            return False
        if now_ns - self.begin_ns >= self.WINDOW:
            self.begin_ns, self.n = now_ns, 0
        self.n += 1
        if self.n < self.FRAMES:
            return True
        self.closed_ns = now_ns + self.CLOSED
        return False


class Peers:
    """The peers of each own address, as the last notice says."""

    def __init__(self, own):
        self.own, self.known = own, {}

    def take(self, notice):
        """What the host does about a notice for one of its addresses, or None."""
        key = notice["dst"], notice["src"]
        who = {"local": key[0], "peer": key[1]}
        if notice["online"] and key not in self.known:
            self.known[key] = notice
            return {"event": "connect", **who, "nqn": notice["nqn"], "port": notice["port"]}
        if not notice["online"] and self.known.pop(key, None):
            reason = notice["reason"]
            return {"event": "disconnect", **who, "reason": REASONS.get(reason, str(reason)),
                    "how": "forced" if reason in FORCED else "path"}
        return None


class Agent:
    def __init__(self, args):
        self.a = args
        self.device = args.device
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(INOF))
        self.socket.bind((self.device, INOF))
        self.index = socket.if_nametoindex(self.device)
        # PACKET_ADD_MEMBERSHIP of PACKET_MR_MULTICAST
        self.socket.setsockopt(263, 1, struct.pack("=iHH8s", self.index, 0, 6, INOF_TO))
        self.mac = self.socket.getsockname()[4]
        self.links = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.links.bind((0, 1)) # RTMGRP_LINK
        self.guard, self.peers = FloodGuard(), Peers(args.ip)
        self.up, self.timers, self.order = False, [], itertools.count()

    def log(self, event, **fields):
        print(json.dumps({"ns": time.monotonic_ns(), "event": event, **fields}), flush=True)

    def later(self, seconds, call):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.order), call))

    def send(self, data):
        """A link that is down sends nothing, and that is no error of the snsd."""
        try:
            self.socket.send(data)
        except OSError as e:
            self.log("send-failed", why=str(e))

    def register(self):
        if self.up:
            for i, ip in enumerate(self.a.ip):
                self.send(registration(self.mac, f"snsd_{self.device}_{i:02}", ip,
                                       ROLES[self.a.role], PROTOCOLS[self.a.proto], self.a.port,
                                       self.a.nqn, self.a.ttl, not self.a.no_subscribe))
                self.log("register", ip=ip)

    def register_again(self):
        self.register()
        self.later(self.a.every, self.register_again)

    def link(self, flags):
        """Acts when the link comes or goes; flags: those of the interface."""
        up = bool(flags & IFF_RUNNING)
        if up == self.up:
            return
        self.up = up
        self.log("link", up=up)
        if up:
            self.register()
            for ip in self.a.ip:
                self.send(frame(self.mac, self.a.version, query(ip)))
                self.log("query", ip=ip)

    def first_link(self):
        """SIOCGIFFLAGS: sysfs has the interfaces of another network namespace."""
        got = fcntl.ioctl(self.links, 0x8913, struct.pack("16s24x", self.device.encode()))
        self.link(struct.unpack_from("=H", got, 16)[0])

    def read_links(self):
        """Each message holds a header of 16 octets and a struct ifinfomsg."""
        data = self.links.recv(65536)
        while len(data) >= 32:
            length, kind = struct.unpack_from("=IH", data)
            index, flags = struct.unpack_from("=iI", data, 20)
            if kind == RTM_NEWLINK and index == self.index:
                self.link(flags)
            data = data[length + 3 & ~3:]

    def acknowledge(self, notice):
        src, dst, seq = (notice[key] for key in ("src", "dst", "seq"))
        if self.a.ack == "wrong":
            seq ^= 1 << 31
        self.send(frame(self.mac, self.a.version, ack(src, dst, seq)))
        self.log("ack", src=src, dst=dst, seq=seq)

    def take(self, version, value):
        notice = notice_of(version, value)
        if notice["dst"] not in self.a.ip:
            raise Malformed(f"{notice['dst']} is not mine")
        self.log("notice", version=version, **notice)
        if self.a.ack == "late":
            self.later(self.a.late, lambda: self.acknowledge(notice))
        elif self.a.ack != "never":
            self.acknowledge(notice)
        done = self.peers.take(notice)
        if done:
            self.log(**done)

    def receive(self):
        data, where = self.socket.recvfrom(65536)
        if where[2] == socket.PACKET_OUTGOING:
            return
        was_open = time.monotonic_ns() >= self.guard.closed_ns
        if not self.guard.admit(time.monotonic_ns()):
            if was_open:
                self.log("closed", seconds=FloodGuard.CLOSED // 10**9)
            return
        try:
            version, roots = roots_of(data)
        except Malformed as e:
            self.log("ignored", why=str(e))
            return
        for kind, value in roots:
            try:
                if kind == NOTICE:
                    self.take(version, value)
            except Malformed as e:
                self.log("ignored", why=str(e))

    def run(self):
        pick = selectors.DefaultSelector()
        pick.register(self.socket, selectors.EVENT_READ, self.receive)
        pick.register(self.links, selectors.EVENT_READ, self.read_links)
        self.first_link()
        self.later(self.a.every, self.register_again)
        while True:
            wait = max(0, self.timers[0][0] - time.monotonic())
            for key, _ in pick.select(wait):
                try:
                    key.data()
                except OSError as e: # the interface went down, or netlink has lost a message
                    self.log("receive-failed", why=str(e))
            while self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()


def main():
    p = argparse.ArgumentParser(description="A host of iNOF for tests.")
    p.add_argument("device")
    p.add_argument("--ip", action="append", required=True, help="may be given several times")
    p.add_argument("--role", choices=ROLES, required=True)
    p.add_argument("--proto", choices=PROTOCOLS, default="roce")
    p.add_argument("--port", type=int, default=4420)
    p.add_argument("--nqn", required=True)
    p.add_argument("--every", type=float, default=30, help="seconds between registrations")
    p.add_argument("--ttl", type=int, default=120, help="seconds of a registration")
    p.add_argument("--version", type=int, choices=(0, 1), default=1, help="of what the host sends")
    p.add_argument("--no-subscribe", action="store_true")
    p.add_argument("--ack", choices=("at-once", "late", "never", "wrong"), default="at-once")
    p.add_argument("--late", type=float, default=1, help="seconds before a late ACK")
    args = p.parse_args()
    args.ip = [str(ipaddress.ip_address(ip)) for ip in args.ip]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Agent(args).run()


if __name__ == "__main__":
    main()
