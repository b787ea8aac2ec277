# SPDX-License-Identifier: Apache-2.0
"""The client side of a memif link (protocol 2.0), which can leave at any point."""
import mmap
import os
import socket
import struct

MESSAGE = 128
VERSION = 2 << 8
COOKIE = 0x3E31F20
HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED = 2, 3, 4, 5, 6, 7
LOG2_RING, RING_HEADER, DESCRIPTOR, BUFFER = 10, 128, 16, 2048
SLOTS = 1 << LOG2_RING
RING = RING_HEADER + SLOTS * DESCRIPTOR
TO_SERVER = 1


class MemifPeer:
    """At the socket of a path. It has greeted the server when the constructor returns."""

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.connect(path)
        self.s.settimeout(10)
        self.memory = None

    def send(self, kind, fmt="", *values, fd=None):
        bytes_ = (struct.pack("<H", kind) + struct.pack("<" + fmt, *values)).ljust(MESSAGE, b"\0")
        socket.send_fds(self.s, [bytes_], [] if fd is None else [fd])

    def wait(self, kind):
        while True:
            got = self.s.recv(MESSAGE)
            if not got:
                raise AssertionError(f"the server left before message {kind}")
            if struct.unpack_from("<H", got)[0] == kind:
                return

    def connect(self):
        """Two rings in one region, and a buffer for each slot."""
        size = 2 * RING + 2 * SLOTS * BUFFER
        fd = os.memfd_create("memif", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        self.memory = mmap.mmap(fd, size)
        for ring in (0, 1):
            struct.pack_into("<IHH", self.memory, ring * RING, COOKIE, 1, 0)
            for slot in range(SLOTS):
                struct.pack_into("<HHIII", self.memory,
                                 ring * RING + RING_HEADER + slot * DESCRIPTOR, 0, 0,
                                 1500 if ring == 0 else BUFFER,
                                 2 * RING + (ring * SLOTS + slot) * BUFFER, 0)
        self.wait(HELLO)
        self.send(INIT, "HIB24s32s", VERSION, 0, 0, b"", b"peer")
        self.send(ADD_REGION, "HQ", 0, size, fd=fd)
        for ring, flags in ((0, TO_SERVER), (1, 0)):
            event = os.eventfd(0)
            self.send(ADD_RING, "HHHIBH", flags, 0, 0, ring * RING, LOG2_RING, 0, fd=event)
            os.close(event)
        self.send(CONNECT, "32s", b"peer")
        os.close(fd)
        self.wait(CONNECTED)
        return self

    def post_all(self):
        """The server finds a ring full of frames."""
        struct.pack_into("<H", self.memory, 6, SLOTS)

    def taken(self):
        """Frames that the server has taken off the ring."""
        return struct.unpack_from("<H", self.memory, 64)[0]

    def leave(self):
        self.s.close()
