# SPDX-License-Identifier: Apache-2.0
"""UDP datagrams of many flows, told apart by their source port.

usage: flows.py send ADDRESS PORT FIRST-SOURCE-PORT FLOWS EACH
       flows.py receive ADDRESS PORT      until SIGTERM; prints {source port: datagrams} as JSON
"""
import collections
import json
import signal
import socket
import sys
import time

SO_RCVBUFFORCE = 33
PAUSE_S = 0.002 # between flows: nothing may be lost
stop = False


def on_term(*_):
    global stop
    stop = True


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def send(address, port, first, flows, each):
    for source in range(int(first), int(first) + int(flows)):
        s = socket.socket(family(address), socket.SOCK_DGRAM)
        s.bind(("", source))
        for _ in range(int(each)):
            s.sendto(bytes(64), (address, int(port)))
        s.close()
        time.sleep(PAUSE_S)


def receive(address, port):
    s = socket.socket(family(address), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    s.bind((address, int(port)))
    s.settimeout(0.1)
    seen = collections.Counter()
    print("ready", flush=True)
    while True:
        try:
            _, sender = s.recvfrom(2048)
        except socket.timeout:
            if stop:
                break
            continue
        seen[sender[1]] += 1
    print(json.dumps(seen), flush=True)


signal.signal(signal.SIGTERM, on_term)
{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
