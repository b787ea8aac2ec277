#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the CNPs that whole switches sent: scapy reads in each what the data frame before it asks
for, and agrees with its iCRC; tshark finds nothing to object to. Each judge is also shown a spoilt
file, which it has to refuse. Exit 77: a judge is not installed.

usage: judge.py WRITE_CNPS"""
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

try:
    from scapy.contrib.roce import BTH, CNPPadding
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
    from scapy.utils import rdpcap
except ImportError:
    print("scapy is not installed")
    sys.exit(77)

SHAPES = 14  # of write_cnps.c, two senders each
CNP, SENDER_QP, DSCP, PCP = 0x81, 0x1000, 48, 6
SERVICE, CUSTOMER = 0x88a8, 0x8100
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE",
          "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]


def tshark(pcap, *args):
    run = subprocess.run([*TSHARK, "-r", str(pcap), *args], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.stdout.splitlines()


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}:\n  got  {got}\n  want {want}")


def ip_of(frame):
    return frame[IP] if IP in frame else frame[IPv6]


def tags_of(frame):
    """(TPID, tag) of each, the outermost first."""
    out, at = [], frame[Ether]
    while isinstance(at.payload, (Dot1Q, Dot1AD)):
        out.append((at.type, at.payload))
        at = at.payload
    return out


def outer(frame):
    """Addresses, tags, ports: what a CNP has from its data frame, the other way round."""
    ip = ip_of(frame)
    return {"version": ip.version, "macs": (frame[Ether].dst, frame[Ether].src),
            "ips": (ip.dst, ip.src), "tags": [(t, tag.vlan, tag.id) for t, tag in tags_of(frame)],
            "sport": frame[UDP].sport, "dport": frame[UDP].dport, "pkey": frame[BTH].pkey}


def of_cnp(frame):
    ip, bth, v4 = ip_of(frame), frame[BTH], IP in frame
    out = {"tos": ip.tos if v4 else ip.tc, "ttl": ip.ttl if v4 else ip.hlim,
           "pcps": [tag.prio for _, tag in tags_of(frame)], "qp": bth.dqpn,
           "udp": (frame[UDP].len, frame[UDP].chksum), "becn": bth.becn, "fecn": bth.fecn,
           "flags": (bth.solicited, bth.migreq, bth.padcount, bth.version, bth.ackreq, bth.psn),
           "reserved": (bth.resv6, bth.resv7), "padding": bytes(frame[CNPPadding])[:16],
           "length": len(frame)}
    out["odd"] = (ip.id, str(ip.flags), ip.frag) if v4 else (ip.fl,)
    return out


def wanted(data):
    v4, n_tags = IP in data, len(tags_of(data))
    return {"tos": DSCP << 2 | 2, "ttl": 64, "pcps": [PCP] * n_tags,
            "qp": data[BTH].dqpn + SENDER_QP, "udp": (40, 0), "becn": 1, "fecn": 0,
            "flags": (0, 0, 0, 0, 0, 0), "reserved": (0, 0), "padding": bytes(16),
            "length": (74 if v4 else 94) + 4 * n_tags,
            "odd": (0, "DF", 0) if v4 else (0,)}


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


def icrc_is_wrong(frame):
    """By the text of the standard, and by scapy, which can judge IPv4 only."""
    ip = ip_of(frame)
    on_wire = bytes(ip)[-4:]
    bad = struct.unpack("<I", on_wire)[0] != icrc_by_the_standard(ip)
    if ip.version == 4:
        again = ip.copy()
        again[BTH].icrc = None
        bad |= bytes(again)[-4:] != on_wire
    return bad


def judge_fields(frames):
    """Returns the number of CNPs, by sender."""
    data, counts = None, []
    for f in frames:
        if f[BTH].opcode != CNP:
            data = f
            counts.append(0)
            continue
        counts[-1] += 1
        back = outer(f)
        back["macs"], back["ips"] = back["macs"][::-1], back["ips"][::-1]
        expect("what it has from the data frame", back, outer(data))
        expect("what makes it a CNP", of_cnp(f), wanted(data))
    return counts


def tags_by_tshark(pcap):
    """Of each CNP: VLAN IDs and PCPs of its service tags and of its customer tags."""
    fields = ["ieee8021ad.id", "ieee8021ad.priority", "vlan.id", "vlan.priority"]
    lines = tshark(pcap, "-Y", f"infiniband.bth.opcode == {CNP}", "-T", "fields",
                   *[a for f in fields for a in ("-e", f)])
    return [[[int(v, 0) for v in field.split(",") if v] for field in line.split("\t")]
            for line in lines]


def tags_by_scapy(frame):
    of = {tpid: [tag for t, tag in tags_of(frame) if t == tpid] for tpid in (SERVICE, CUSTOMER)}
    return [[getattr(tag, what) for tag in of[tpid]]
            for tpid in (SERVICE, CUSTOMER) for what in ("vlan", "prio")]


def spoil(pcap, to):
    """A copy in which one bit of the destination queue pair of each frame is wrong."""
    b, at = bytearray(pcap.read_bytes()), 24
    while at < len(b):
        size = struct.unpack_from("<I", b, at + 8)[0]
        b[at + 16 + size - 4 - 16 - 5] ^= 1
        at += 16 + size
    to.write_bytes(b)


def main():
    if not shutil.which("tshark"):
        print("tshark is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        pcap, spoilt = Path(tmp, "cnps.pcap"), Path(tmp, "spoilt.pcap")
        subprocess.run([sys.argv[1], str(pcap)], check=True)
        frames = list(rdpcap(str(pcap)))

        expect("tshark's complaints", tshark(pcap, "-Y", "_ws.expert || _ws.malformed"), [])
        counts = judge_fields(frames)
        expect("senders", len(counts), 2 * SHAPES)
        expect("senders that were not told", [n for n in counts if n == 0], [])
        cnps = [f for f in frames if f[BTH].opcode == CNP]
        expect("wrong iCRCs", [f.summary() for f in frames if icrc_is_wrong(f)], [])
        qps = tshark(pcap, "-Y", f"infiniband.bth.opcode == {CNP}", "-T", "fields",
                     "-e", "infiniband.bth.destqp")
        expect("queue pairs as tshark reads them", [int(q, 0) for q in qps],
               [f[BTH].dqpn for f in cnps])
        expect("tags as tshark reads them", tags_by_tshark(pcap), [tags_by_scapy(f) for f in cnps])
        expect("numbers of tags", {len(tags_of(f)) for f in cnps}, {0, 1, 2})

        spoil(pcap, spoilt)
        found = [f for f in rdpcap(str(spoilt)) if f[BTH].opcode == CNP and icrc_is_wrong(f)]
        expect("spoilt iCRCs that are found", len(found), len(cnps))
    print(f"{len(cnps)} CNPs of {len(counts)} senders are well-formed")


main()
