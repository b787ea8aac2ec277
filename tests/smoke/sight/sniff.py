# SPDX-License-Identifier: Apache-2.0
"""Frames counted outside the switch: tcpdump on a host's end of a link, its file read back."""
import os
import re
import signal
import struct
import subprocess
import tempfile

from world import ID, eventually, ns, want

PFC = 0x8808


class Sniff:
    """tcpdump at host n, of what it receives ("in") or sends ("out"). frames: after the block."""

    def __init__(self, n, direction):
        self.file = tempfile.NamedTemporaryFile(suffix=".pcap", delete=False)
        self.log = tempfile.TemporaryFile("w+")
        self.cmd = [*ns(f"h{n}"), "tcpdump", "-i", f"{ID}e{n}", "-Q", direction, "-U",
                    "--immediate-mode", "-B", "65536", "-Z", "root", "-s", "128", "-w",
                    self.file.name]

    def text(self):
        return os.pread(self.log.fileno(), 1 << 16, 0).decode(errors="replace")

    def __enter__(self):
        self.p = subprocess.Popen(self.cmd, stdout=subprocess.DEVNULL, stderr=self.log)
        eventually(lambda: "listening on" in self.text(), "tcpdump listens", 10)
        return self

    def __exit__(self, *exc):
        self.p.send_signal(signal.SIGINT)
        self.p.wait(10)
        self.frames = list(read_pcap(self.file.name))
        os.unlink(self.file.name)
        if exc[0] is None:
            want(re.search(r"^0 packets dropped by kernel", self.text(), re.M), self.text())


def read_pcap(path):
    """(length on the wire, first bytes) of each frame."""
    with open(path, "rb") as f:
        data = f.read()
    at = 24
    while at + 16 <= len(data):
        captured, length = struct.unpack_from("<II", data, at + 8)
        yield length, data[at + 16:at + 16 + captured]
        at += 16 + captured


def ethertype(frame):
    return struct.unpack_from(">H", frame, 12)[0]


def of_tos(frames, tos):
    """Those that are IPv4 with this TOS, whatever the ECN field says."""
    return [(n, f) for n, f in frames if ethertype(f) == 0x0800 and f[15] & 0xfc == tos & 0xfc]


def pfc_of(frames, cls):
    """PFC frames that enable a class."""
    return [f for _, f in frames
            if ethertype(f) == PFC and f[14:16] == b"\x01\x01" and f[17] >> cls & 1]
