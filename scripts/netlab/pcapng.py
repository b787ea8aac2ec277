# SPDX-License-Identifier: Apache-2.0
"""Reads what the tests capture: the switch's pcapng files, block by block and with its own eyes,
and tcpdump's pcap files."""
import struct

SECTION, INTERFACE, STATISTICS, FRAME = 0x0A0D0D0A, 1, 5, 6
IF_NAME, IF_SPEED, IF_TSRESOL, IF_FILTER = 2, 8, 9, 11
COMMENT, FLAGS, QUEUE = 1, 2, 6
COUNTS = {4: "received", 5: "dropped", 6: "accepted", 8: "delivered"}


class Frame:
    def __init__(self, interface, t_ns, size, data, options):
        self.port, self.t_ns, self.size, self.data = interface["name"], t_ns, size, data
        self.comment = options[COMMENT].decode()
        self.said = dict(word.split("=") for word in self.comment.split())
        self.dir = self.said["dir"]
        flags = struct.unpack("<I", options[FLAGS])[0] if FLAGS in options else 0
        if flags != {"in": 1, "out": 2, "drop": 0}[self.dir]:
            raise ValueError(f"direction {flags} of {self.comment}")
        queue = struct.unpack("<I", options[QUEUE])[0] if QUEUE in options else None
        if queue != (int(self.said["queue"]) if "queue" in self.said else None):
            raise ValueError(f"queue {queue} of {self.comment}")

    def is_pfc(self):
        return self.data[12:16] == b"\x88\x08\x01\x01"


def options_of(block, at):
    out = {}
    while at < len(block):
        code, size = struct.unpack_from("<HH", block, at)
        if code == 0:
            break
        out[code] = block[at + 4:at + 4 + size]
        at += 4 + (size + 3 & ~3)
    return out


def blocks(data):
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if size % 4 or struct.unpack_from("<I", data, at + size - 4)[0] != size:
            raise ValueError(f"block of {size} bytes at {at}")
        yield kind, data[at + 8:at + size - 4]
        at += size


class Capture:
    """frames in the order of the file, interfaces by name with what they say and count."""

    def __init__(self, data):
        self.frames, interfaces = [], []
        for kind, body in blocks(data):
            if kind == INTERFACE:
                o = options_of(body, 8)
                interfaces.append({"name": o[IF_NAME].decode(), "tsresol": o[IF_TSRESOL][0],
                                   "speed": struct.unpack("<Q", o[IF_SPEED])[0],
                                   "filter": o.get(IF_FILTER, b"\0")[1:].decode()})
            elif kind == FRAME:
                i, high, low, here, size = struct.unpack_from("<5I", body)
                self.frames.append(Frame(interfaces[i], high << 32 | low, size, body[20:20 + here],
                                         options_of(body, 20 + (here + 3 & ~3))))
            elif kind == STATISTICS:
                counts = options_of(body, 12)
                interfaces[struct.unpack_from("<I", body)[0]]["counts"] = {
                    name: struct.unpack("<Q", counts[code])[0] for code, name in COUNTS.items()}
            elif kind != SECTION:
                raise ValueError(f"block of kind {kind}")
        self.ports = {i["name"]: i for i in interfaces}

    def of(self, port, direction):
        return [f for f in self.frames if f.port == port and f.dir == direction]


def pcap_frames(path):
    """The frames of a tcpdump file that may still grow; a cut one at its end is left out."""
    with open(path, "rb") as f:
        data = f.read()
    at, out = 24, []
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + size > len(data):
            break
        out.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return out
