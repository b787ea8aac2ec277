# SPDX-License-Identifier: Apache-2.0
"""The guest's side of a vhost-user port, which can leave at any point."""
import mmap
import os
import socket
import struct

GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, SET_VRING_KICK, SET_VRING_CALL = 8, 9, 10, 12, 13
F_VERSION_1 = 1 << 32
ENTRIES, AREA = 256, 1 << 16
DESC, AVAIL, USED = 0, 0x2000, 0x4000 # of a ring, in its area
BASE = 1 << 30 # the guest's own address of its memory


class VhostGuest:
    """At the socket of a path: one receive and one transmit ring, both ready."""

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.s.settimeout(10)
        self.s.connect(path)
        fd = os.memfd_create("guest")
        os.ftruncate(fd, 2 * AREA)
        self.memory = mmap.mmap(fd, 2 * AREA)
        self.send(SET_OWNER)
        self.send(GET_FEATURES)
        self.s.recv(20)
        self.send(SET_FEATURES, struct.pack("<Q", F_VERSION_1))
        self.send(SET_MEM_TABLE, struct.pack("<II4Q", 1, 0, 0, 2 * AREA, BASE, 0), fd)
        os.close(fd)
        for ring in (0, 1):
            self.ring(ring, BASE + ring * AREA)

    def ring(self, ring, at):
        self.send(SET_VRING_NUM, struct.pack("<II", ring, ENTRIES))
        self.send(SET_VRING_BASE, struct.pack("<II", ring, 0))
        self.send(SET_VRING_ADDR, struct.pack(
            "<II4Q", ring, 0, at + DESC, at + USED, at + AVAIL, 0))
        for what in (SET_VRING_CALL, SET_VRING_KICK):
            event = os.eventfd(0)
            self.send(what, struct.pack("<Q", ring), event)
            os.close(event)

    def send(self, what, payload=b"", fd=None):
        socket.send_fds(self.s, [struct.pack("<III", what, 1, len(payload)) + payload],
                        [] if fd is None else [fd])

    def leave(self):
        self.s.close()
