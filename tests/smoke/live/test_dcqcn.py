#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""DCQCN live: two endpoints send to a third through a switch that marks early. Marks become CNPs,
CNPs become rates, and the queue that stands without them goes. tshark and scapy judge the CNPs as
they were on the links.

usage: test_dcqcn.py BUILD_DIR
"""
import os
import statistics
import struct
import subprocess
import sys
import time

import live
from live import want

POLICY = """\
switch: {name: %s, buffer: {size: 12MB}}
ports: [{name: "p[1-3]", device: "xdp:sw[1-3]", speed: 80M, mtu: 1500, profile: roce}]
profiles:
  roce:
    classes:
      3:
        lossless: true
        ingress: {alpha: 1}
        wred: {ecn: on, kmin: 10KB, kmax: 200KB, pmax: 100%%}
      6: {schedule: strict}
"""
# Times and rates of a slow line: what is microseconds at 40 Gb/s is milliseconds here.
CC = ["--cc", "dcqcn"] + [w for p in ("n=2ms", "k=2ms", "t_inc=2ms", "ai=500K", "hai=2M", "rmin=1M",
                                      "b=1MB") for w in ("--cc-set", p)]
WORDS = ["--to", "10.0.0.3", "--time", "4s", "--class", "3", "--qps", "2", "--depth", "16",
         "--speed", "80M", "--rto", "3s", "--drain", "30s"]
PCAP_HEADER, RECORD_HEADER = 24, 16
CNP, CNP_LEN = 0x81, 74
WARNINGS = '_ws.malformed || _ws.expert.severity >= "Warning"'


def capture(world, i):
    path = os.path.join(world.logs, f"link{i}.pcap")
    dump = world.spawn("tap", f"tcpdump{i}", "tcpdump", "-i", f"t{i}", "-w", path, "-s", "0", "-B",
                       "65536", "-U", "-Z", "root", "udp port 4791")
    end = time.monotonic() + 10
    while "listening on" not in dump.err():
        want(dump.running() and time.monotonic() < end, f"tcpdump\n{dump.said()}")
        time.sleep(0.05)
    return path, dump


def queue_samples(switch, senders):
    """Lengths of the receiver's queue while both send."""
    found = []
    while all(s.process.running() for s in senders):
        row = pick(switch.show("queues")["queues"], port="p3", **{"class": 3})
        found.append(row["length_bytes"])
        time.sleep(0.05)
    return found


def run_once(world, programs, switch, words):
    listener = Host(world, programs, 3, "listener", "--listen", "--speed", "80M", *words).ready()
    senders = [Host(world, programs, i, f"sender{i}", *WORDS, *words) for i in (1, 2)]
    lengths = queue_samples(switch, senders)
    for s in senders:
        status = s.process.wait(60)
        want(status == 0, f"{s.name} ended with {status}\n{s.process.said()}")
    listener.process.stop()
    return {"listener": listener.report(), "senders": [s.report() for s in senders],
            # The middle half: it begins with everybody at line rate, and ends with one alone.
            "queue": statistics.median(lengths[len(lengths) // 4:len(lengths) * 3 // 4])}


def records(path):
    with open(path, "rb") as f:
        pcap = f.read()
    at = PCAP_HEADER
    while at + RECORD_HEADER <= len(pcap):
        size = struct.unpack_from("<I", pcap, at + 8)[0]
        yield pcap[at:at + RECORD_HEADER], pcap[at + RECORD_HEADER:at + RECORD_HEADER + size]
        at += RECORD_HEADER + size


def opcode(frame):
    return frame[42] if len(frame) > 54 and frame[36:38] == b"\x12\xb7" else None


def play():
    programs = Programs(sys.argv[1])
    with World(3, tapped=True) as world:
        switch = Switch(world, programs, switch_name(), POLICY % switch_name())
        without = run_once(world, programs, switch, [])
        path, dump = capture(world, 1)
        with_cc = run_once(world, programs, switch, CC)
        time.sleep(0.5)
        drops = [d for d in switch.show("drops")["drops"] if d["lossless"]]
        dump.stop()
        frames = list(records(path))
        with open(path, "rb") as f:
            head = f.read(PCAP_HEADER)
        want(switch.stop() == 0, "weir accounts for every frame at its end")
    return without, with_cc, drops, head, frames


# ---- tests

def marks_become_cnps_of_both_senders():
    r = WITH["listener"]
    print(f"        {r['ce_marked']} marks, {r['cnps_sent']} CNPs, queue {WITH['queue']:.0f} B "
          f"against {WITHOUT['queue']:.0f} B without")
    want(r["ce_marked"] > 0 and r["cnps_sent"] > 0, "marks and CNPs")
    want(r["cnps_sent"] <= r["ce_marked"], "no CNP without a mark")
    got = [s["cnps_received"] for s in WITH["senders"]]
    want(all(got) and sum(got) == r["cnps_sent"], f"{got} CNPs arrived of {r['cnps_sent']}")
    for s in WITH["senders"]:
        want(sum(f["cnps"] for f in s["flows"]) == s["cnps_received"], "each has its queue pair")
    for s in WITHOUT["senders"]:
        want(s["cnps_received"] == 0, "none are sent without --cc")


def the_queue_that_stood_is_gone_and_the_line_is_used():
    # Each frame is marked by the queue that it meets. The samples of the queue also depend on when
    # the machine let the programs run, so the marks judge.
    sums = [sum(s["bytes"] for s in r["senders"]) for r in (WITHOUT, WITH)]
    want(sums[1] > sums[0] / 2, f"bytes {sums}")
    marks = [r["listener"]["ce_marked"] for r in (WITHOUT, WITH)]
    want(marks[1] / sums[1] < marks[0] / sums[0] * 2 / 3, f"marks {marks} of bytes {sums}")
    for s in WITH["senders"]:
        want(s["bytes"] > sums[1] / 10, f"a sender starved: {s['bytes']} of {sums[1]}")


def nothing_is_lost_or_sent_again():
    want(sum(d["packets"] for d in DROPS) == 0, f"lossless drops: {DROPS}")
    for s in WITH["senders"]:
        want(s["naks_received"] == 0, "no NAK")


def the_cnps_are_what_foreign_judges_expect():
    cnps = [(r, f) for r, f in FRAMES if opcode(f) == CNP]
    data_ports = {f[34:36] for _, f in FRAMES if opcode(f) in (0x06, 0x07, 0x08, 0x0A)}
    pairs = {f["qp"] for f in WITH["senders"][0]["flows"]}
    want(cnps, "no CNP was captured")
    for _, f in cnps:
        packet = Ether(f)
        again = packet[IP].copy()
        again[BTH].icrc = None
        want(len(f) == CNP_LEN and f[15] & 0xFC == 48 << 2, f"length and class of {f.hex()}")
        want(bytes(again)[-4:] == f[-4:], f"iCRC of {f.hex()}")
        want(packet[BTH].dqpn in pairs, f"queue pair {packet[BTH].dqpn} is none of {pairs}")
        want(f[34:36] in data_ports, "it has the source port of the data")
    path = os.path.join(TMP, "cnps.pcap")
    with open(path, "wb") as out:
        out.write(HEAD + b"".join(r + f for r, f in cnps))
    done = subprocess.run(["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-r", path, "-Y",
                           WARNINGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    want(done.returncode == 0 and not done.stdout, f"tshark: {done.stdout[:2000]}{done.stderr}")
    print(f"        {len(cnps)} CNPs judged")


live.need_root("tshark", "tcpdump", "tc")
try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    from scapy.layers.l2 import Ether
except ImportError:
    live.skip("python3-scapy is not installed")
import tempfile # noqa: E402: the path is set by live

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

WITHOUT, WITH, DROPS, HEAD, FRAMES = play()
with tempfile.TemporaryDirectory() as TMP:
    status = live.run_tests([
        marks_become_cnps_of_both_senders,
        the_queue_that_stood_is_gone_and_the_line_is_used,
        nothing_is_lost_or_sent_again,
        the_cnps_are_what_foreign_judges_expect,
    ])
sys.exit(status)
