#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A host of iNOF, written from docs/inof.md alone: registers, asks, acknowledges, and prints each
notice as a line of JSON.

usage: agent.py DEVICE ADDRESS target|initiator [NQN] [--silent]
"""
import fcntl
import json
import socket
import struct
import sys
import time

ROLES = {"target": 1, "initiator": 2}
TO_LLDP, TO_SWITCH = bytes.fromhex("0180c200000e"), bytes.fromhex("0180c200000d")
NOTICE, ACK, QUERY = 0x21, 0x22, 0x23
PARTS = {1: "src", 2: "dst", 3: "src", 4: "dst", 5: "seq", 6: "state", 7: "reason", 8: "service"}


def lldp_tlv(kind, value):
    return struct.pack(">H", kind << 9 | len(value)) + value


def tlv(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


class Host:
    def __init__(self, device, address, role, nqn):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88a7))
        self.socket.bind((device, 0x88a7))
        index = socket.if_nametoindex(device)
        # The membership of the group: PACKET_ADD_MEMBERSHIP, PACKET_MR_MULTICAST.
        self.socket.setsockopt(263, 1, struct.pack("IHH8s", index, 0, 6, TO_SWITCH))
        self.mac = self.socket.getsockname()[4]
        self.device, self.role, self.nqn = device, role, nqn.encode()
        self.name = device # in its port ID
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.address = socket.inet_pton(self.family, address)

    def wait_until_up(self):
        """What is sent before is gone. SIOCGIFFLAGS, IFF_RUNNING."""
        request = struct.pack("16s16x", self.device.encode())
        while not struct.unpack("16xH", fcntl.ioctl(self.socket, 0x8913, request)[:18])[0] & 0x40:
            time.sleep(0.01)

    def send(self, to, ether_type, payload):
        frame = to + self.mac + struct.pack(">H", ether_type) + payload
        self.socket.send(frame + bytes(max(0, 60 - len(frame))))

    def register(self):
        v6 = self.family == socket.AF_INET6
        value = bytes.fromhex("001882") + struct.pack(
            ">BBBH16sBBHHB", 101, 1, 0x80 | (2 if v6 else 1), 0, self.address, ROLES[self.role],
            1, 0x0101, 4420, len(self.nqn)) + self.nqn
        port_id = b"\5snsd_" + self.name.encode() + b"_01"
        self.send(TO_LLDP, 0x88cc,
                  lldp_tlv(1, b"\4" + self.mac) + lldp_tlv(2, port_id) +
                  lldp_tlv(3, struct.pack(">H", 120)) + lldp_tlv(127, value) + lldp_tlv(0, b""))

    def message(self, tlvs):
        self.send(TO_SWITCH, 0x88a7, struct.pack(">BBHI", 1, 0, len(tlvs), 0) + tlvs)

    def query(self):
        self.message(tlv(QUERY, tlv(2 if len(self.address) == 4 else 4, self.address)))

    def notices(self):
        """Each frame as a list of its notices for this host: (parts by name, acknowledgement)."""
        frame = self.socket.recv(2048)
        version, _, length, _ = struct.unpack(">BBHI", frame[14:22])
        rest, found = frame[22:22 + length], []
        while rest:
            kind, size = struct.unpack(">BH", rest[:3])
            inner, rest, parts, ack = rest[3:3 + size], rest[3 + size:], {}, b""
            while inner:
                part, n = struct.unpack(">BH", inner[:3])
                parts[PARTS[part]] = inner[3:3 + n]
                ack += inner[:3 + n] if part <= 5 else b""
                inner = inner[3 + n:]
            if kind == NOTICE and parts["dst"] == self.address:
                assert len(parts["state"]) == len(parts["reason"]) == (1, 4)[version]
                found.append((parts, ack))
        return found


def main():
    silent = "--silent" in sys.argv
    words = [w for w in sys.argv[1:] if w != "--silent"]
    host = Host(*words[:3], words[3] if len(words) > 3 else "")
    host.wait_until_up()
    host.register()
    host.query()
    print("ready", flush=True)
    while True:
        acks = b""
        for parts, ack in host.notices():
            acks += tlv(ACK, ack)
            role, _, _, port, n = struct.unpack(">BBHHB", parts["service"][:7])
            print(json.dumps({"time": time.clock_gettime(time.CLOCK_MONOTONIC),
                              "host": socket.inet_ntop(host.family, parts["src"]),
                              "online": parts["state"][-1] == 1, "reason": parts["reason"][-1],
                              "role": role, "port": port, "seq": parts["seq"].hex(),
                              "nqn": parts["service"][7:7 + n].decode()}), flush=True)
        if acks and not silent:
            host.message(acks)


if __name__ == "__main__":
    main()
