# SPDX-License-Identifier: Apache-2.0
"""Numbered UDP datagrams between two hosts, so that every lost or reordered one is known.

usage: flow.py send ADDRESS PORT TOS SIZE PER_SECOND      until SIGTERM; prints how many it sent
       flow.py receive PORT                               until SIGTERM; prints what came as JSON
"""
import json
import signal
import socket
import struct
import sys
import time

TICK_S = 0.005
BUFFER = 32 << 20
SO_RCVBUFFORCE = 33
stop = False


def on_term(*_):
    global stop
    stop = True


def send(address, port, tos, size, per_second):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(tos, 0))
    to, pad, n = (address, int(port)), bytes(int(size) - 8), 0
    began = time.monotonic()
    print("ready", flush=True)
    while not stop:
        due = int((time.monotonic() - began) * int(per_second))
        while n < due and not stop:
            s.sendto(struct.pack("!Q", n) + pad, to)
            n += 1
        time.sleep(TICK_S)
    print(n)


def receive(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    s.bind(("", int(port)))
    s.settimeout(0.1)
    got = {"received": 0, "missing": 0, "disordered": 0}
    want = 0
    print("ready", flush=True)
    while True:
        try:
            n, = struct.unpack("!Q", s.recv(9000)[:8])
        except socket.timeout:
            if stop:
                break
            continue
        got["received"] += 1
        got["missing"] += max(n - want, 0)
        got["disordered"] += n < want
        want = max(want, n + 1)
    print(json.dumps(got))


signal.signal(signal.SIGTERM, on_term)
{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
