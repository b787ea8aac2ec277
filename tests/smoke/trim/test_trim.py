#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packet trimming on live ports: tshark and scapy judge the frames that leave the switch, the
counters agree with the frames that arrived, settings change under traffic, and weir-host asks for
trimmed packets again.

usage: test_trim.py BUILD_DIR
"""
import os
import re
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402
from hosts import captured # noqa: E402

try:
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.utils import rdpcap
except ImportError:
    live.skip("scapy is not installed")

FILL, FULL = 1000, 20 # bytes and frames: 4 cells each, in a queue of 80 cells
BYTES = 1400
ATTEMPTS = 4
POLICY = """\
switch: {name: %(name)s, workers: %(workers)s, trim: {%(trim)s}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: %(speed)s, profile: x}
  - {name: p3, device: "xdp:sw3", speed: 100M, profile: x}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  x:
    classes:
      0: {egress: {static: 20480, discard: %(discard)s}}
      6: {schedule: strict}
"""
# A port of 100M, with a lossless class and one that drops or trims, half of the line for each.
# Trimmed frames take the weight of their class.
BESIDE = """\
switch: {name: %(name)s, workers: 1, trim: {dscp: 40, queue: 5}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 200M, profile: x}
  - {name: p3, device: "xdp:sw3", speed: 100M, profile: x}
profiles:
  x:
    dscp_to_class: {default: 0, 24-31: 3, 32-39: 4, 40-47: 5, 48-55: 6}
    classes:
      3: {lossless: on, schedule: {dwrr: 40}}
      4: {schedule: {dwrr: 34}, egress: {static: 51200, discard: %(discard)s}}
      5: {schedule: {dwrr: 6}}
      6: {schedule: strict}
"""
SENDER = """import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
data = sys.stdin.buffer.read()
at = 0
while at < len(data):
    n = struct.unpack_from("<H", data, at)[0]
    s.send(data[at + 2:at + 2 + n])
    at += 2 + n
    time.sleep(0.0005)
"""


def policy(trim="dscp: 48", discard="trim", workers=1, speed="1G"):
    return POLICY % {"name": switch_name(), "trim": trim, "discard": discard, "workers": workers,
                     "speed": speed}


def send(world, frames):
    subprocess.run(world.inside("h1", "/usr/bin/python3", "-c", SENDER, "e1"), check=True,
                   timeout=60, input=b"".join(struct.pack("<H", len(f)) + f for f in frames))


def packets():
    """Frames of all kinds for the host of p2, BYTES long; their checksums are right."""
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    tagged = ether / Dot1Q(vlan=0, prio=0)
    v4, v6 = IP(src="10.0.0.1", dst="10.0.0.2", tos=2), IPv6(src="fd00::1", dst="fd00::2", tc=1)
    tcp, udp = TCP(sport=40000, dport=80, flags="A", seq=1), UDP(sport=40000, dport=5001)
    heads = [ether / v4 / tcp, ether / v4 / udp, ether / v6 / tcp, ether / v6 / udp,
             tagged / v4 / udp, tagged / v6 / udp]
    return [bytes(h / bytes(i & 0xff for i in range(BYTES - len(h)))) for h in heads]


def fill(world, switch):
    switch.ctl("set", "queue", "p2", "0", "tx", "off")
    plain = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(dst="10.0.0.2") / UDP()
    send(world, [bytes(plain / bytes(FILL - len(plain)))] * FULL)
    eventually(lambda: queue(switch, 0)["length_packets"] == FULL, "the queue is full")


def queue(switch, n, port="p2"):
    return [q for q in switch.show("queues")["queues"] if (q["port"], q["queue"]) == (port, n)][0]


def complaints(path):
    out = subprocess.run(["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-o",
                          "tcp.analyze_sequence_numbers:FALSE", "-r", path, "-Y",
                          "_ws.expert || _ws.malformed", "-T", "fields", "-e",
                          "_ws.expert.message"], check=True, text=True, capture_output=True)
    return out.stdout.splitlines()


def judge(whole, got, size, exact):
    want(len(got) == min(size, len(whole)), f"{len(got)} bytes, not {size}")
    before = Ether(whole)
    after = Ether(got)
    ip, was = [f[IP] if IP in f else f[IPv6] for f in (after, before)]
    tos, tos_was = [i.tos if i.version == 4 else i.tc for i in (ip, was)]
    want(tos == 48 << 2 | tos_was & 3, f"DSCP and ECN: {tos:#x}")
    length, room = (ip.len, len(ip)) if ip.version == 4 else (ip.plen, len(ip) - 40)
    want(length == (room if exact else was.len if ip.version == 4 else was.plen),
         f"length {length}: {ip.summary()}")
    if ip.version == 4:
        again = IP(bytes(ip)[:20])
        del again.chksum
        want(IP(bytes(again)).chksum == ip.chksum, "the checksum of IPv4")
    if UDP in before:
        want(after[UDP].chksum == before[UDP].chksum, "the checksum of UDP stays")
        want(after[UDP].len == (room - (20 if ip.version == 4 else 0) if exact
                                else before[UDP].len), f"UDP length {after[UDP].len}")
    if Dot1Q in before:
        want(after[Dot1Q].prio == 0, "the tag stays")


def frames_that_leave_are_clean(trim, size, exact, workers):
    with World(3, ipv6=False) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy(trim, workers=workers))
        fill(world, switch)
        sent = packets()
        path = captured(world, "h2", "e2", ["ip or ip6 or vlan"], lambda: send(world, sent), "cut")
        got = [bytes(f) for f in rdpcap(path)]
        want(len(got) == len(sent), f"{len(got)} of {len(sent)} frames arrived")
        for whole, frame in zip(sent, got):
            judge(whole, frame, size, exact)
        said = complaints(path)
        want(len(said) == (0 if exact or size >= BYTES else len(sent)), f"tshark says {said}")
        q0, q6 = queue(switch, 0), queue(switch, 6)
        want((q0["trimmed"], q0["trim_sent"], q0["trim_dropped"]) == (len(sent), len(sent), 0),
             f"{q0}")
        want(q0["dropped_packets"] == 0 and q6["tx_packets"] == len(sent), f"{q6}")
        want(q0["trim_cut_bytes"] == sum(len(f) for f in sent) - sum(len(f) for f in got), f"{q0}")
        port = [p for p in switch.show("ports")["ports"] if p["name"] == "p2"][0]
        want((port["trimmed"], port["trim_sent"], port["trim_waiting"]) ==
             (len(sent), len(sent), 0), f"{port}")
        like_sonic = switch.ctl("show", "interfaces", "counters", "trim", "--style", "sonic")
        want(["p2", "U", f"{len(sent)}", f"{len(sent)}", "0"] in
             [line.split() for line in like_sonic.splitlines()], like_sonic)
        heads = switch.ctl("show", "queues", "p2").split("\n")[0].split()
        want({"TRIM", "TRIM_TX", "TRIM_DRP"} <= set(heads), f"the table has {heads}")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def exact_frames_are_clean():
    frames_that_leave_are_clean("dscp: 48", 128, True, 1)
    frames_that_leave_are_clean("dscp: 48, size: 256, queue: 6", 256, True, 2)


def kept_lengths_are_kept():
    frames_that_leave_are_clean("dscp: 48, lengths: keep", 128, False, 1)


def whole_frames_get_the_dscp():
    frames_that_leave_are_clean("dscp: 48, size: 1400", 1400, True, 1)


def a_capture_of_the_switch_says_which_frames_are_trimmed():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy())
        fill(world, switch)
        path = os.path.join(world.logs, "said.pcapng")
        capture = world.spawn("sw", "capture", PROGRAMS.weirctl, "-s", switch.name, "capture", "p2",
                              path, "--count", "6")
        eventually(lambda: "capturing" in capture.err(), "the capture runs")
        send(world, packets())
        want(capture.wait(20) == 0, capture.said())
        out = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.comment", "-e",
                              "frame.len"], check=True, capture_output=True, text=True).stdout
        # On a busy machine a frame may find the one before it in the queue.
        said = re.sub(r"queue_bytes=(0|128|256|384|512|640) ", "queue_bytes=N ", out)
        want(said.splitlines() == ["dir=out class=6 queue=6 queue_bytes=N trim=0\t128"] * 6, out)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def settings_change_under_traffic():
    """Rows 8 and 10 of the test plan: reload, and trim, drop, trim."""
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy(workers=2))
        fill(world, switch)
        path = os.path.join(world.logs, "next.yaml")
        flood = world.spawn("h1", "flood", "/usr/bin/python3", "-c", f"""
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("e1", 0))
frames = {packets()!r}
while True:
    for f in frames:
        s.send(f)
""")
        forms = [policy("dscp: 40, size: 256, lengths: keep", workers=2),
                 policy(discard="drop", workers=2),
                 policy("dscp: 48, queue: 5", workers=2), policy(workers=2)]
        for i in range(20):
            with open(path, "w", encoding="utf-8") as f:
                f.write(forms[i % len(forms)])
            switch.ctl("reload", path)
            time.sleep(0.05)
        bad = run(PROGRAMS.weirctl, "-s", switch.name, "reload",
                  os.path.join(live.ROOT, "tests/unit/config/bad/trim.yaml"), check=False)
        want(bad.returncode != 0 and "switch.trim.size" in bad.stderr + bad.stdout,
             f"a wrong policy is refused: {bad}")
        before = queue(switch, 0)["trimmed"]
        eventually(lambda: queue(switch, 0)["trimmed"] > before + 100, "it goes on trimming")
        flood.kill()
        eventually(lambda: queue(switch, 0)["trimmed"] ==
                   queue(switch, 0)["trim_sent"] + queue(switch, 0)["trim_dropped"],
                   "every trimmed frame has ended")
        q = queue(switch, 0)
        want(q["dropped_packets"] > 100 and q["trimmed"] > 100, f"{q}")
        switch.ctl("set", "queue", "p2", "0", "tx", "on")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def a_host_asks_for_trimmed_packets_again():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy(workers=2, speed="200M"))
        listener = Host(world, PROGRAMS, 3, "listener", "--listen", "--class", "0",
                        "--trimmed-dscp", "48", "--speed", "100M").ready()
        senders = [Host(world, PROGRAMS, i, f"sender{i}", "--to", "10.0.0.3", "--class", "0",
                        "--speed", "200M", "--count", "40", "--size", "64KiB", "--rto", "2s",
                        "--drain", "30s") for i in (1, 2)]
        for s in senders:
            want(s.process.wait(60) == 0, s.process.said())
        listener.process.stop()
        r = listener.report()
        want(r["rx_trimmed"] > 50 and r["naks_sent"] > 10, f"{r}")
        want(r["icrc_errors"] == r["payload_errors"] == r["malformed"] == 0, f"{r}")
        want(r["messages_served"] == 80, f"{r['messages_served']} messages")
        q = queue(switch, 0, "p3")
        want(q["trim_sent"] >= r["rx_trimmed"] > 0, f"{q}")
        print(f"        {r['rx_trimmed']} trimmed packets, {r['naks_sent']} NAKs, "
              f"{sum(s.report()['timeouts'] for s in senders)} timeouts")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def beside(discard, *options):
    """Goodput of class 3 and of class 4, of one sender each; and the report of the receiver."""
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(),
                        BESIDE % {"name": switch_name(), "discard": discard})
        listener = Host(world, PROGRAMS, 3, "listener", "--listen", "--class", "3,4",
                        "--trimmed-dscp", "40", "--speed", "100M", *options).ready()
        senders = [Host(world, PROGRAMS, i, f"sender{i}", "--to", "10.0.0.3", "--class", f"{cls}",
                        "--speed", "200M", "--qps", "4", "--time", "4s", *options)
                   for i, cls in ((1, 3), (2, 4))]
        for s in senders:
            want(s.process.wait(60) == 0, s.process.said())
        listener.process.stop()
        r = listener.report()
        want(r["icrc_errors"] == r["payload_errors"] == r["malformed"] == 0, f"{r}")
        want(not [q for q in switch.show("queues")["queues"]
                  if q["class"] == 3 and q["dropped_packets"]], "class 3 loses nothing")
        q = queue(switch, 4, "p3")
        want(q["trimmed"] == q["trim_sent"] + q["trim_dropped"], f"{q}")
        longest = [m["max_bytes"] for m in switch.show("watermarks")["queues"]
                   if (m["port"], m["queue"]) == ("p3", 5)][0]
        # With weights 36 and 4: 550 KB.
        want(longest < 300000, f"{longest} bytes of trimmed frames waited")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")
        goodput = {c["class"]: c["goodput_bps"] / 1e6 for c in r["classes"]}
        print(f"        {discard} {' '.join(options)}: {goodput[3]:.1f} and {goodput[4]:.1f} Mb/s, "
              f"{r['rx_trimmed']} trimmed, {longest} bytes waited, "
              f"{senders[1].report()['timeouts']} timeouts")
        return goodput[3], goodput[4], r


def a_lossless_class_keeps_its_half_beside_trimming():
    """A switch that gives trimmed frames the line does so in each attempt. A machine that gives a
    host too little of its time to fill the line does not."""
    for _ in range(ATTEMPTS):
        dropped3, dropped4, _ = beside("drop")
        kept3, kept4, r = beside("trim", "--selective")
        want(r["rx_trimmed"] > 100 and r["naks_sent"] > 100, f"{r}")
        if kept3 >= 0.95 * min(dropped3, 46) and kept4 >= dropped4:
            return
    want(False, f"classes 3 and 4 have {kept3} and {kept4}, with drops {dropped3} and {dropped4}")


live.need_root("tshark", "tcpdump")
from switch import Host, Programs, Switch # noqa: E402: the path is set by live
from world import World, run, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([exact_frames_are_clean, kept_lengths_are_kept, whole_frames_get_the_dscp,
                         a_capture_of_the_switch_says_which_frames_are_trimmed,
                         settings_change_under_traffic, a_host_asks_for_trimmed_packets_again,
                         a_lossless_class_keeps_its_half_beside_trimming]))
