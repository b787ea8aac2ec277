#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Early PFC and frames for the host's stack, through the whole switch.

usage: test_steering.py WEIR WEIRCTL

    h1, h2, h3 --- the switch, AF_XDP ports p1 to p3

Needs root; exit 77 without it.
"""
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from world import (ID, NAME, POLICY, Switch, World, blast, ctl, eventually, host, ns,  # noqa: E402
                   ping, row, sh, show, want, want_eq)

# Slow ports: the longest PAUSE lasts 34 s, so it stands while we look.
SLOW = POLICY.replace("speed: 1G", "speed: 1M").replace(
    'name: "p[1-3]", device: "xdp:%ss[1-3]"' % ID,
    'name: "p[1-3]", device: "xdp:%ss[1-3]", keep: [lldp, arp, icmp, tcp/22]' % ID)
SEND = """import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    s.send(bytes.fromhex(frame))
"""
SERVE = """import socket
s = socket.create_server(("10.77.0.100", %d))
print("listening", flush=True)
c, _ = s.accept()
c.sendall(c.recv(100).upper())
"""
CALL = """import socket
c = socket.create_connection(("10.77.0.100", %d), timeout=%s)
c.sendall(b"hello")
print(c.recv(100).decode())
"""


def send(n, *frames):
    """Raw frames of host n."""
    host(n, "/usr/bin/python3", "-c", SEND, f"{ID}e{n}", *(f.hex() for f in frames))


def pfc(**quanta):
    """pfc(c3=100): a PFC frame of 60 bytes."""
    times = [quanta.get(f"c{c}", 0) for c in range(8)]
    vector = sum(1 << int(c[1]) for c in quanta)
    return (bytes.fromhex("0180c2000001 020000000009 8808 0101")
            + struct.pack("!9H", vector, *times)).ljust(60, b"\0")


def class3(n):
    """The PFC row of class 3 of port n, and its queue."""
    port = f"p{n}"
    return (row(show("pfc", port)["pfc"], port=port, **{"class": 3}),
            row(show("queues", port)["queues"], port=port, queue=3))


def reasons(n):
    rows = show("control", f"p{n}")["steering"]
    return {r["reason"]: r["packets"] for r in rows}


def control(n):
    return row(show("control", f"p{n}")["control"], port=f"p{n}")


def a_pause_acts_once_and_its_end_lets_the_queue_go():
    ctl("clear", "counters")
    send(3, pfc(c3=0xFFFF))
    eventually(lambda: class3(3)[1]["paused"], "the queue is paused")
    want_eq(class3(3)[0]["rx_pause"], 1, "PFC frames")
    blast(20, 100)
    eventually(lambda: class3(3)[1]["length_packets"] == 20, "class 3 waits")
    send(3, pfc(c3=0))
    eventually(lambda: class3(3)[1]["length_packets"] == 0, "class 3 goes on",
               timeout=20)
    p, q = class3(3)
    want_eq((p["rx_pause"], p["rx_pause_transition"], q["paused"], q["tx_packets"]),
            (2, 1, False, 20), "rx_pause, transitions, paused, sent")
    want_eq(control(3)["early_pauses"], 2, "early pauses")
    want_eq(reasons(3)["pfc_early"], 2, "PFC frames that the program saw")


def frames_that_pause_nothing_are_counted_as_what_they_are():
    ctl("clear", "counters")
    send(3, pfc(), pfc(c5=100), pfc(c3=0)[:33], pfc(c3=0, c5=9))
    eventually(lambda: control(3)["pfc_malformed"] == 1, "the cut frame")
    got = control(3)
    want_eq((got["pfc_empty_vector"], got["pfc_ignored_lossy"], got["early_pauses"]), (1, 2, 1),
            "empty, lossy, early")
    p, q = class3(3)
    want_eq((p["rx_pause"], q["paused"]), (1, False), "rx_pause, paused")


def lldp_counts_once_wherever_it_goes():
    ctl("clear", "counters")
    send(1, bytes.fromhex("0180c200000e 020000000009 88cc").ljust(60, b"\0"))
    eventually(lambda: control(1)["lldp"] == 1, "LLDP")
    want_eq(reasons(1)["kept_lldp"], 1, "given to the host's stack")
    send(1, bytes.fromhex("ffffffffffff 020000000009 0806").ljust(60, b"\0"))
    eventually(lambda: reasons(1)["kept_arp"] >= 1, "ARP")
    want_eq(control(1)["lldp"], 1, "LLDP after ARP")
    text = ctl("show", "control", "p1").stdout
    want("kept_lldp" in text and "LLDP frames given to the host's stack" in text, text)


def call(port, wait):
    return host(1, "/usr/bin/python3", "-c", CALL % (port, wait), check=False).stdout.strip()


def serve(port):
    p = subprocess.Popen([*ns("s"), "/usr/bin/python3", "-c", SERVE % port],
                         stdout=subprocess.PIPE, text=True)
    want_eq(p.stdout.readline().strip(), "listening", "server")
    return p


def the_machine_is_reached_through_a_port_that_switches():
    """h1 talks TCP 22 to the switch's machine while its class 3 frames are switched to h3."""
    servers = []
    sh(*ns("s"), "ip", "addr", "add", "10.77.0.100/24", "dev", f"{ID}s1")
    try:
        servers = [serve(22), serve(23)]
        host(1, "ping", "-q", "-c", "2", "-i", "0.1", "-W", "20", "10.77.0.100")
        before = class3(3)[1]["tx_packets"]
        blast(20, 100)
        want_eq(call(22, 30), "HELLO", "tcp/22")
        want_eq(call(23, 1), "", "tcp/23, which is switched and not kept")
        eventually(lambda: class3(3)[1]["tx_packets"] == before + 20, "class 3 to h3")
    finally:
        for p in servers:
            p.kill()
            p.wait()
        sh(*ns("s"), "ip", "addr", "flush", "dev", f"{ID}s1")


def hosts_that_share_arp_with_the_machine_still_find_each_other():
    for n in (1, 2, 3):
        host(n, "ip", "neigh", "flush", "all")
    want(ping(3, 1, count=1) and ping(3, 2, count=1), "hosts reach each other")
    want(reasons(3)["kept_arp"] >= 2, "the machine saw the questions")


def main():
    if os.geteuid() != 0:
        print("skipped: namespaces and AF_XDP need root")
        return 77
    failed = 0
    with World(), tempfile.TemporaryDirectory() as d:
        policy = os.path.join(d, "policy.yaml")
        with open(policy, "w", encoding="ascii") as f:
            f.write(SLOW)
        switch = Switch(policy).ready()
        try:
            for test in (hosts_that_share_arp_with_the_machine_still_find_each_other,
                         a_pause_acts_once_and_its_end_lets_the_queue_go,
                         frames_that_pause_nothing_are_counted_as_what_they_are,
                         lldp_counts_once_wherever_it_goes,
                         the_machine_is_reached_through_a_port_that_switches):
                start = time.monotonic()
                try:
                    test()
                    print(f"{test.__name__} ({time.monotonic() - start:.1f} s): ok", flush=True)
                except AssertionError as e:
                    failed += 1
                    print(f"{test.__name__}: FAILED: {e}", flush=True)
        finally:
            status = switch.stop()
        if status != 0:
            failed += 1
            print(f"{NAME} ended with {status}: {switch.text(switch.out)}")
    print(f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
