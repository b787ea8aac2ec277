#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges frames that the packet modules built or edited: tshark finds nothing to object to and
reads the fields that were meant, scapy and the standard's text agree with every iCRC. Each judge
is also shown a spoilt file, which it has to refuse. Exit 77: a judge is not installed.

usage: judge.py WRITE_FRAMES"""
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.utils import rdpcap
except ImportError:
    print("scapy is not installed")
    sys.exit(77)

# The enable vector and the times of the classes, as in write_frames.c.
PFC = [
    (0x08, {3: 0xffff}),
    (0x08, {}),
    (0x28, {5: 0x1234}),
    (0x80, {7: 1}),
    (0xff, {c: c + 1 for c in range(8)}),
]
# opcode, destination QP, PSN, ToS or traffic class, outer PCP (None: untagged)
ROCE = [
    (0x01, 0x11, 1, 0x6a, None),
    (0x01, 0x22, 2, 0x6a, None),
    (0x02, 0x33, 0xffffff, 0x69, 3),
    (0x81, 0x118, 0, 0xc2, None),
    (0x81, 0x19f, 0, 0xc2, 6),
    (0x04, 0x44, 3, 0x00, 1),
]
# UDP checksum 0 is right for RoCEv2 over IPv6 too: the iCRC does its work.
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE",
          "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]


def tshark(pcap, *args):
    run = subprocess.run([*TSHARK, "-r", str(pcap), *args], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.stdout.splitlines()


def complaints(pcap):
    return tshark(pcap, "-Y", "_ws.expert || _ws.malformed")


def columns(pcap, only, names):
    args = [a for n in names for a in ("-e", n)]
    rows = tshark(pcap, "-Y", only, "-T", "fields", "-E", "occurrence=f", *args)
    return [[int(v, 0) if v else None for v in row.split("\t")] for row in rows]


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}:\n  got  {got}\n  want {want}")


def judge_pfc(pcap):
    names = ["macc.opcode", "macc.cbfc.enbv", "frame.len"]
    names += [f"macc.cbfc.pause_time.c{c}" for c in range(8)]
    want = [[0x0101, vector, 60] + [times.get(c, 0) for c in range(8)] for vector, times in PFC]
    expect("PFC fields", columns(pcap, "macc", names), want)


def edits(tos, pcp):
    """ToS and PCP as built, marked, and marked and remarked."""
    marked = tos | 3
    return [(tos, pcp), (marked, pcp), (34 << 2 | marked & 3, None if pcp is None else 4)]


def judge_roce_fields(pcap):
    names = ["infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"]
    got = columns(pcap, "infiniband", names)
    expect("BTH fields", got, [[op, qp, psn] for op, qp, psn, _, _ in ROCE for _ in range(3)])

    names = ["ip.dsfield", "ipv6.tclass", "vlan.priority", "ieee8021ad.priority"]
    got = []
    for v4, v6, pcp, outer_pcp in columns(pcap, "infiniband", names):
        got.append((v4 if v4 is not None else v6, pcp if outer_pcp is None else outer_pcp))
    expect("ToS and PCP", got, [e for *_, tos, pcp in ROCE for e in edits(tos, pcp)])


def icrc_by_the_standard(ip):
    """zlib's CRC-32 over the packet with the bits masked that the standard names."""
    b = bytearray(bytes(ip))
    masked = [1, 8, 10, 11] if ip.version == 4 else [1, 2, 3, 7]
    l4 = ip.ihl * 4 if ip.version == 4 else 40
    if ip.version == 6:
        b[0] |= 0x0f
    for at in masked + [l4 + 6, l4 + 7, l4 + 12]:
        b[at] = 0xff
    return zlib.crc32(b"\xff" * 8 + bytes(b[:-4]))


def wrong_icrcs(frames):
    """How many RoCE frames a judge finds a wrong iCRC in; scapy can judge IPv4 only."""
    n = 0
    for f in frames:
        ip = f[IP] if IP in f else f[IPv6]
        on_wire = bytes(ip)[-4:]
        bad = struct.unpack("<I", on_wire)[0] != icrc_by_the_standard(ip)
        if ip.version == 4:
            again = ip.copy()
            again[BTH].icrc = None
            bad |= bytes(again)[-4:] != on_wire
        n += bad
    return n


def spoil(pcap, to, at_byte):
    """A copy in which one bit of each RoCE frame is wrong; at_byte counts in the frame."""
    b = bytearray(pcap.read_bytes())
    at, n = 24, 0
    while at < len(b):
        size = struct.unpack_from("<I", b, at + 8)[0]
        if n >= len(PFC):
            b[at + 16 + at_byte % size] ^= 1
        at, n = at + 16 + size, n + 1
    to.write_bytes(b)


def main():
    if not shutil.which("tshark"):
        print("tshark is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        pcap, spoilt = Path(tmp, "frames.pcap"), Path(tmp, "spoilt.pcap")
        subprocess.run([sys.argv[1], str(pcap)], check=True)

        expect("tshark's complaints", complaints(pcap), [])
        judge_pfc(pcap)
        judge_roce_fields(pcap)
        roce = [f for f in rdpcap(str(pcap)) if BTH in f]
        expect("RoCE frames", len(roce), 3 * len(ROCE))
        expect("wrong iCRCs", wrong_icrcs(roce), 0)

        spoil(pcap, spoilt, -1)
        found = wrong_icrcs(rdpcap(str(spoilt))[len(PFC):])
        expect("spoilt iCRCs that are found", found, 3 * len(ROCE))
        spoil(pcap, spoilt, 25)  # of an untagged IPv4 frame: the low byte of its checksum
        if not complaints(spoilt):
            sys.exit("tshark does not look at IPv4 checksums")
    print(f"{len(PFC)} PFC and {len(roce)} RoCE frames judged")


if __name__ == "__main__":
    main()
