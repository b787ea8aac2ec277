#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the switch and its endpoints put on real links, before foreign judges: tshark finds nothing
malformed and nothing to warn of in any frame, scapy confirms the iCRC of every kind of RoCE frame.
Each judge is also shown a spoilt file, which it has to refuse.

usage: test_judge.py BUILD_DIR
"""
import collections
import os
import signal
import struct
import subprocess
import sys
import time

import live
from live import eventually, want

HOSTS = (1, 2, 3)
ENOUGH = 1000 # frames of each sender
SAMPLES = 25 # frames per opcode, ECN codepoint and link that scapy looks at
PCAP_HEADER, RECORD_HEADER = 24, 16
# Opcodes that must be seen, by name; RC but the last.
OPCODES = {
    0x00: "SEND first", 0x01: "SEND middle", 0x02: "SEND last", 0x04: "SEND only",
    0x06: "WRITE first", 0x07: "WRITE middle", 0x08: "WRITE last", 0x0A: "WRITE only",
    0x0C: "READ request", 0x0D: "READ response first", 0x0E: "READ response middle",
    0x0F: "READ response last", 0x10: "READ response only", 0x11: "ACK", 0x64: "UD SEND only",
}
BTH_ACK, SYNDROME_NAK = 0x11, 0x60
ECT0, CE = 2, 3
# It takes the payload of every SEND for an RPC message, and stumbles over one of 7 bytes. It also
# takes one that begins like `08 00 00 00` for an IP packet, so none is short enough to do so with
# its padding.
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE", "--disable-protocol", "rpcordma"]
# As conf/lab.yaml: 40 Gb/s and its times, five hundred times slower.
SLOWED = ["--time-scale", "500", "--speed", "40G"]
# A tail that is lost waits for --rto. A lossy class loses many, so its --rto is short: a second
# of real time, and ten times what the buffer needs to drain.
RTO, RTO_LOSSY = ["--rto", "4ms"], ["--rto", "2ms"]
WARNINGS = '_ws.malformed || _ws.expert.severity >= "Warning"'


# ---- capture

def capture(world, i):
    path = os.path.join(world.logs, f"link{i}.pcap")
    dump = world.spawn("tap", f"tcpdump{i}", "tcpdump", "-i", f"t{i}", "-w", path, "-s", "0", "-B",
                       "65536", "-U", "-Z", "root")
    eventually(lambda: "listening on" in dump.err(), "tcpdump listens")
    return path, dump


def hosts(world, programs, *commands, until=None):
    """Runs an endpoint per (link, words...) side by side until all have ended. With `until` each is
    told to end once that holds and all have their queue pairs: in a class that loses frames, one
    may still ask for its own while another fills the queue."""
    started = [Host(world, programs, i, f"host{i}", *SLOWED, *words) for i, *words in commands]
    if until:
        eventually(lambda: not all(h.process.running() for h in started) or
                   until() and all("connected\n" in h.process.err() for h in started),
                   "the senders are in each other's way")
        for h in started:
            h.process.p.send_signal(signal.SIGTERM)
    for h in started:
        status = h.process.wait(90)
        want(status == 0, f"{h.name} ended with {status}\n{h.process.said()}")
    return [h.report() for h in started]


def traffic(world, programs, switch):
    def arrived():
        return [pick(switch.show("ports")["ports"], name=p)["rx_packets"] for p in ("p1", "p2")]

    def enough():
        return all(now > before + ENOUGH for now, before in zip(arrived(), had))

    def paused():
        frames = {r["port"]: r["tx_pause"] for r in switch.show("pfc")["pfc"] if r["class"] == 3}
        return enough() and min(frames["p1"], frames["p2"]) > 3

    def dropped():
        return enough() and sum(d["packets"] for d in switch.show("drops")["drops"]) > 100
    to = ["--to", "10.0.0.3", "--drain", "60s"]
    congested = [*to, "--time", "300ms", "--qps", "4", "--depth", "8"]
    had = arrived()
    hosts(world, programs, (1, *congested, *RTO, "--class", "3,5"),
          (2, *congested, *RTO, "--class", "3,5"), until=paused)
    had = arrived()
    lossy = hosts(world, programs, (1, *congested, *RTO_LOSSY, "--class", "0"),
                  (2, *congested, *RTO_LOSSY, "--class", "0"), until=dropped)
    want(sum(r["naks_received"] for r in lossy) > 0, "a lossy class makes NAKs")
    to += RTO
    for words in (["send", "--size", "5000"], ["send", "--size", "7"], ["write", "--size", "5"],
                  ["read", "--size", "9000"], ["read", "--size", "6"]):
        hosts(world, programs, (1, *to, "--count", "20", "--class", "3", "--op", *words),
              (2, *to, "--count", "20", "--class", "5", "--mtu", "256", "--op", *words))
    hosts(world, programs, (1, "--storm", "--class", "3", "--for", "40us"))


def record():
    """Plays all of it; returns what each link carried: {link: pcap bytes}."""
    programs = Programs(sys.argv[1])
    with open(os.path.join(live.ROOT, "conf/lab.yaml")) as f:
        policy = policy_of(1, f.read(), switch_name())
    with World(len(HOSTS), tapped=True) as world:
        captures = {i: capture(world, i) for i in HOSTS}
        switch = Switch(world, programs, switch_name(), policy)
        listener = Host(world, programs, 3, "listener", "--listen", *SLOWED).ready()
        traffic(world, programs, switch)
        time.sleep(0.5)
        listener.process.stop()
        want(switch.stop() == 0, "weir accounts for every frame at its end")
        out = {}
        for i, (path, dump) in captures.items():
            dump.stop()
            want(" 0 packets dropped by kernel" in "\n" + dump.err().replace("\n", "\n "),
                 f"the capture is whole\n{dump.said()}")
            with open(path, "rb") as f:
                out[i] = f.read()
    return out


# ---- judges

def records(pcap):
    """(offset, frame) of each record."""
    at = PCAP_HEADER
    while at < len(pcap):
        size = struct.unpack_from("<I", pcap, at + 8)[0]
        yield at + RECORD_HEADER, pcap[at + RECORD_HEADER:at + RECORD_HEADER + size]
        at += RECORD_HEADER + size


def is_pfc(frame):
    return frame[:6] == bytes.fromhex("0180c2000001") and frame[12:16] == b"\x88\x08\x01\x01"


def roce_kind(frame):
    """(opcode, is a NAK, ECN codepoint) of an untagged IPv4 RoCEv2 frame; None for others."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 17 or frame[36:38] != b"\x12\xb7":
        return None
    opcode = frame[42]
    nak = opcode == BTH_ACK and frame[54] & 0x60 == SYNDROME_NAK
    return opcode, nak, frame[15] & 3


def tshark_complaints(pcap, name):
    path = os.path.join(TMP, name)
    with open(path, "wb") as f:
        f.write(pcap)
    done = subprocess.run([*TSHARK, "-r", path, "-Y", WARNINGS],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    want(done.returncode == 0, f"tshark: {done.stderr}")
    return done.stdout.splitlines()


def icrc_holds(frame):
    """scapy builds the frame's iCRC again from its other fields."""
    ip = Ether(frame)[IP]
    again = ip.copy()
    again[BTH].icrc = None
    return bytes(again)[-4:] == bytes(ip)[-4:]


def sample(pcap):
    """Up to SAMPLES frames of each kind."""
    kinds = collections.defaultdict(list)
    for _, frame in records(pcap):
        kind = roce_kind(frame)
        if kind and len(kinds[kind]) < SAMPLES:
            kinds[kind].append(frame)
    return kinds


# ---- tests

def the_links_carried_all_that_is_to_be_judged():
    kinds = [sample(p) for p in LINKS.values()]
    opcodes = {k[0] for s in kinds for k in s}
    missing = [name for op, name in OPCODES.items() if op not in opcodes]
    want(not missing, f"not seen: {missing}")
    want(any(k[1] for s in kinds for k in s), "no NAK was seen")
    want({k[2] for k in kinds[2]} >= {ECT0, CE}, "no CE mark on the receiver's link")
    pfc = {i: sum(is_pfc(f) for _, f in records(p)) for i, p in LINKS.items()}
    print(f"        frames {[sum(1 for _ in records(p)) for p in LINKS.values()]}, PFC {pfc}")
    want(pfc[1] >= 2 and pfc[2] >= 2, f"PFC on both senders' links: {pfc}")


def tshark_finds_nothing_malformed_and_nothing_to_warn_of():
    for i, pcap in LINKS.items():
        found = tshark_complaints(pcap, f"link{i}.pcap")
        want(not found, f"link {i}: {len(found)} frames\n" + "\n".join(found[:20]))


def scapy_confirms_the_icrc_of_every_kind_of_frame():
    judged = 0
    for i, pcap in LINKS.items():
        for kind, frames in sample(pcap).items():
            wrong = sum(not icrc_holds(f) for f in frames)
            want(wrong == 0, f"link {i}, opcode 0x{kind[0]:02x}: {wrong} wrong iCRCs")
            judged += len(frames)
    print(f"        {judged} frames judged")


def both_judges_refuse_what_was_spoilt():
    pcap = LINKS[3]
    at, frame = next((at, f) for at, f in records(pcap) if roce_kind(f))
    end = at + len(frame)
    spoilt = bytearray(pcap[:PCAP_HEADER] + pcap[at - RECORD_HEADER:end])
    spoilt[-1] ^= 1
    want(not icrc_holds(bytes(spoilt[-len(frame):])), "scapy looks at the iCRC")
    spoilt[-len(frame) + 25] ^= 1 # the low byte of the IPv4 checksum
    want(tshark_complaints(bytes(spoilt), "spoilt.pcap"), "tshark looks at checksums")


live.need_root("tshark", "tcpdump", "tc")
try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    from scapy.layers.l2 import Ether
except ImportError:
    live.skip("python3-scapy is not installed")
import tempfile # noqa: E402: the path is set by live

from acts import policy_of # noqa: E402
from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

LINKS = record()
with tempfile.TemporaryDirectory() as TMP:
    status = live.run_tests([
        the_links_carried_all_that_is_to_be_judged,
        tshark_finds_nothing_malformed_and_nothing_to_warn_of,
        scapy_confirms_the_icrc_of_every_kind_of_frame,
        both_judges_refuse_what_was_spoilt,
    ])
sys.exit(status)
