# SPDX-License-Identifier: Apache-2.0
"""Numbered UDP datagrams between two hosts, so that every lost or reordered one is known.

usage: flow.py send ADDRESS PORT TOS SIZE PER_SECOND [BOOK]   prints how many it sent
       flow.py receive PORT [BOOK]                            prints what came, as JSON

Both go on until SIGTERM.

BOOK is a file of 16 bytes, in which the two keep count. With it, at most WINDOW datagrams are on
their way, so no ring runs over, whoever a busy machine keeps waiting; and the receiver waits for
the last one.
"""
import json
import mmap
import signal
import socket
import struct
import sys
import time

TICK_S = 0.005
WINDOW = 200 # less than the 256 frames that wait at one end of a veth
BUFFER = 32 << 20
LATE_S = 20
SO_RCVBUFFORCE = 33
COUNT = struct.Struct("=Q")
stop = False


def on_term(*_):
    global stop
    stop = True


class Book:
    """What the receiver has seen, and one more than what was sent in all, once that is known."""

    def __init__(self, path):
        with open(path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 2 * COUNT.size)

    def seen(self):
        return COUNT.unpack_from(self.memory)[0]

    def see(self, n):
        COUNT.pack_into(self.memory, 0, n)

    def end(self, n):
        COUNT.pack_into(self.memory, COUNT.size, n + 1)

    def wanted(self, received):
        n = COUNT.unpack_from(self.memory, COUNT.size)[0]
        return n == 0 or received < n - 1


class NoBook:
    """Neither waits for the other."""

    def seen(self):
        return 1 << 62

    def see(self, n):
        pass

    end = see

    def wanted(self, _):
        return False


def book_of(path):
    return Book(*path) if path else NoBook()


def send(address, port, tos, size, per_second, *path):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(tos, 0))
    to, pad, n, book = (address, int(port)), bytes(int(size) - 8), 0, book_of(path)
    began = time.monotonic()
    print("ready", flush=True)
    while not stop:
        due = min(int((time.monotonic() - began) * int(per_second)), book.seen() + WINDOW)
        while n < due and not stop:
            s.sendto(struct.pack("!Q", n) + pad, to)
            n += 1
        time.sleep(TICK_S)
    book.end(n)
    print(n)


def receive(port, *path):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    s.bind(("", int(port)))
    s.settimeout(0.1)
    got = {"received": 0, "missing": 0, "disordered": 0}
    want, book, late = 0, book_of(path), None
    print("ready", flush=True)
    while True:
        try:
            n, = struct.unpack("!Q", s.recv(9000)[:8])
        except socket.timeout:
            if stop:
                late = late or time.monotonic() + LATE_S
                if time.monotonic() > late or not book.wanted(got["received"]):
                    break
            continue
        got["received"] += 1
        got["missing"] += max(n - want, 0)
        got["disordered"] += n < want
        want = max(want, n + 1)
        book.see(want)
    print(json.dumps(got))


signal.signal(signal.SIGTERM, on_term)
{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
