#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges trimmed frames: tshark has no complaint about frames with exact lengths, and one about
frames with kept lengths; scapy computes the same lengths and the same checksum of IPv4, and finds
no other byte changed. A spoilt file has to be refused. Exit 77: a judge is not installed.

usage: judge.py WRITE_TRIMS"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.utils import rdpcap, wrpcap
except ImportError:
    print("scapy is not installed")
    sys.exit(77)

SIZE, DSCP = 128, 48
N_SPECS = 5 # of write_trims.c, each as RoCEv2 and as TCP, in three forms
SHORT = 4 # the spec whose frame is shorter than SIZE
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE",
          "-o", "udp.ignore_ipv6_zero_checksum:TRUE",
          "-o", "tcp.analyze_sequence_numbers:FALSE"] # three forms of one segment


def tshark(pcap, *args):
    run = subprocess.run([*TSHARK, "-r", str(pcap), *args], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.stdout.splitlines()


def complaints(pcap):
    """Number of the frame and what is said of it."""
    rows = tshark(pcap, "-Y", "_ws.expert || _ws.malformed", "-T", "fields", "-e", "frame.number",
                  "-e", "_ws.expert.message")
    return {int(row.split("\t")[0]): row.split("\t")[1] for row in rows}


def want(right, what):
    if not right:
        sys.exit(what)


def header(frame):
    return frame[IP] if IP in frame else frame[IPv6]


def tos(ip):
    return ip.tos if ip.version == 4 else ip.tc


def judge_frame(whole, kept, exact, short):
    size = len(whole) if short else SIZE
    want(len(kept) == len(exact) == size, f"{len(kept)} and {len(exact)} bytes, not {size}")
    l3 = bytes(whole).index(bytes(header(whole))[:1], 14)
    for frame, lengths in ((kept, False), (exact, True)):
        ip, before = header(frame), header(whole)
        want(tos(ip) == DSCP << 2 | tos(before) & 3, f"DSCP and ECN are {tos(ip):#x}")
        room = size - l3
        said = ip.len if ip.version == 4 else ip.plen + 40
        want(said == (room if lengths else len(before)), f"length {said}: {ip.summary()}")
        if UDP in whole:
            payload = room - (ip.ihl * 4 if ip.version == 4 else 40)
            want(frame[UDP].len == (payload if lengths else whole[UDP].len),
                 f"UDP length {frame[UDP].len}")
            want(frame[UDP].chksum == whole[UDP].chksum, "the checksum of UDP has changed")
        if ip.version == 4:
            again = IP(bytes(ip)[:ip.ihl * 4])
            again.remove_payload()
            del again.chksum
            want(IP(bytes(again)).chksum == ip.chksum, f"checksum {ip.chksum:#x}")
        # Every byte that is none of these fields is as it was.
        fields = ({1, 2, 3, 10, 11, 24, 25} if ip.version == 4 else {0, 1, 4, 5, 44, 45})
        changed = {i - l3 for i in range(size) if bytes(frame)[i] != bytes(whole)[i]}
        want(changed <= fields, f"bytes {changed - fields} of IP have changed")


def judge(pcap):
    frames = rdpcap(str(pcap))
    want(len(frames) == N_SPECS * 2 * 3, f"{len(frames)} frames")
    for i in range(0, len(frames), 3):
        judge_frame(*frames[i:i + 3], i // 6 == SHORT)
    said = complaints(pcap)
    for i in range(len(frames)):
        kept, short = i % 3 == 1, i // 6 == SHORT
        text = said.get(i + 1, "")
        want(bool(text) == (kept and not short), f"frame {i + 1}: tshark says \"{text}\"")
        want(not text or "exceeds" in text or "Length" in text or "length" in text, text)


def refuses(pcap):
    done = subprocess.run([sys.executable, "-B", __file__, "--judge", str(pcap)], check=False,
                          capture_output=True, text=True)
    return done.returncode == 1


def main():
    if sys.argv[1] == "--judge":
        judge(Path(sys.argv[2]))
        return
    if not shutil.which("tshark"):
        print("tshark is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        pcap, spoilt = Path(tmp, "trims.pcap"), Path(tmp, "spoilt.pcap")
        subprocess.run([sys.argv[1], str(pcap)], check=True)
        judge(pcap)
        for at in (15, 17, 24, 38, 60): # DSCP, length, checksum, UDP length, payload
            frames = [bytearray(bytes(f)) for f in rdpcap(str(pcap))]
            frames[2][at] ^= 4
            wrpcap(str(spoilt), [bytes(f) for f in frames], linktype=1)
            want(refuses(spoilt), f"a wrong byte {at} is not found")
    print("tshark and scapy agree with all trimmed frames")


main()
