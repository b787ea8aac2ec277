# SPDX-License-Identifier: Apache-2.0
"""A hostile neighbour: sends what a port may have to bear, until SIGTERM.

usage: hostile.py DEVICE FRAMES_PER_SECOND [--kinds NAME,...] [--seed N]

One burst of a kind after the other: made-up sources, stolen sources, floods of every sort, ARP and
neighbour solicitations, bridge PDUs, PFC plain and hidden behind tags, new queue pairs, junk.
Prints `ready`, and at the end how many frames of each kind it sent, as JSON.
"""
import argparse
import json
import random
import signal
import socket
import struct
import time

BURST_S = 0.02
OWN = bytes.fromhex("020000000006")
KNOWN = [bytes.fromhex("0200000000%02x" % i) for i in range(1, 6)]
BROADCAST = b"\xff" * 6
PAUSE_ADDRESS = bytes.fromhex("0180c2000001")
LOSSLESS_TOS, LOSSY_TOS = (0x62, 0xa2), 0x02
stop = False


def on_term(*_):
    global stop
    stop = True


def made_up(r):
    return bytes([2 | r.randrange(64) << 2]) + r.randbytes(5)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(tos, payload, protocol, source, destination):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(payload), 0, 0x4000, 64, protocol, 0,
                       source, destination)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp_frame(r, to, source, tos, port=9, payload=bytes(64)):
    udp = struct.pack("!HHHH", r.randrange(0xc000, 0x10000), port, 8 + len(payload), 0) + payload
    return to + source + b"\x08\x00" + ipv4(tos, udp, 17, r.randbytes(4), bytes([10, 0, 0, 9]))


def roce_frame(r):
    bth = bytes([4, 0, 0xff, 0xff, 0]) + r.randbytes(3) + b"\0" + r.randbytes(3)
    return udp_frame(r, made_up(r), OWN, r.choice(LOSSLESS_TOS), 4791, bth + r.randbytes(68))


def arp(r):
    return (BROADCAST + OWN + bytes.fromhex("08060001080006040001") + OWN + r.randbytes(4) +
            bytes(6) + bytes([10, 0, 0, r.randrange(256)]) + bytes(18))


def solicitation(r):
    to, source = r.randbytes(16), r.randbytes(16)
    body = bytes(4) + to + b"\1\1" + OWN
    icmp = b"\x87\0" + bytes(2) + body
    pseudo = source + to + struct.pack("!II", len(icmp), 58)
    icmp = icmp[:2] + struct.pack("!H", checksum(pseudo + icmp)) + body
    return (b"\x33\x33\xff" + to[-3:] + OWN + b"\x86\xdd\x60\0\0\0" +
            struct.pack("!HBB", len(icmp), 58, 255) + source + to + icmp)


def pfc(classes, quanta=0xffff):
    return (b"\x88\x08\x01\x01" + struct.pack("!H", classes) + struct.pack("!H", quanta) * 8 +
            bytes(28))


def tags(r):
    return b"".join(r.choice([b"\x81\0", b"\x88\xa8"]) + struct.pack("!H", r.randrange(65536))
                    for _ in range(r.randrange(1, 6)))


KINDS = {
    "new-sources": lambda r: udp_frame(r, r.choice(KNOWN), made_up(r), LOSSY_TOS),
    "stolen-sources": lambda r: udp_frame(r, OWN, r.choice(KNOWN), LOSSY_TOS),
    "unknown-lossless": lambda r: udp_frame(r, made_up(r), OWN, r.choice(LOSSLESS_TOS)),
    "broadcast-lossless": lambda r: udp_frame(r, BROADCAST, OWN, r.choice(LOSSLESS_TOS)),
    "unknown": lambda r: udp_frame(r, made_up(r), OWN, LOSSY_TOS),
    "multicast": lambda r: udp_frame(r, b"\x01\0\x5e" + r.randbytes(3), OWN, LOSSY_TOS),
    "arp": arp,
    "solicitations": solicitation,
    "bpdus": lambda r: b"\x01\x80\xc2\0\0\0" + OWN + b"\0\x26\x42\x42\x03" + r.randbytes(43),
    "reserved": lambda r: (b"\x01\x80\xc2\0\0" + bytes([r.randrange(2, 16)]) + OWN +
                           r.choice([b"\x88\x09", b"\x88\xcc", b"\x88\x8e"]) + r.randbytes(46)),
    "pfc": lambda r: PAUSE_ADDRESS + OWN + pfc(r.randrange(256), r.randrange(65536)),
    "pfc-to-hosts": lambda r: r.choice(KNOWN + [BROADCAST]) + OWN + pfc(0xff),
    "pfc-behind-tags": lambda r: r.choice(KNOWN + [BROADCAST]) + OWN + tags(r) + pfc(0xff),
    "new-queue-pairs": roce_frame,
    "junk": lambda r: r.choice(KNOWN + [BROADCAST]) + OWN + r.randbytes(r.randrange(2, 1488)),
    "short": lambda r: made_up(r) + OWN + r.randbytes(r.randrange(2, 40)),
}


def options():
    p = argparse.ArgumentParser(description="Sends what a port may have to bear.")
    p.add_argument("device")
    p.add_argument("per_second", type=int, metavar="FRAMES_PER_SECOND")
    p.add_argument("--kinds", default=",".join(KINDS), metavar="NAME,...",
                   help="of " + ", ".join(KINDS))
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    args.kinds = args.kinds.split(",")
    unknown = sorted(set(args.kinds) - set(KINDS))
    if unknown:
        p.error(f"no such kind: {', '.join(unknown)}")
    return args


def main():
    args = options()
    for s in (signal.SIGTERM, signal.SIGINT):
        signal.signal(s, on_term)
    r = random.Random(args.seed)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((args.device, 0))
    sent = dict.fromkeys(args.kinds, 0)
    began, due = time.monotonic(), 0
    print("ready", flush=True)
    while not stop:
        kind = r.choice(args.kinds)
        due += max(1, round(args.per_second * BURST_S))
        while sum(sent.values()) < due and not stop:
            s.send(KINDS[kind](r))
            sent[kind] += 1
        time.sleep(max(0, began + due / args.per_second - time.monotonic()))
    print(json.dumps(sent))


main()
