#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Captures of a live switch with two workers, beside what tcpdump sees on the other ends of its
links, what its own counters say, and what tshark makes of the files.

usage: test_capture.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without. Each test is one sentence of behaviour; they run in the order written,
against one running switch. Leaves nothing behind.
"""
import collections
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SMOKE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SMOKE, "daemon")) # its `world` comes before that of scripts/netlab
sys.path.append(os.path.join(SMOKE, "..", "..", "scripts", "netlab"))
import pcapng
from world import (HOSTS, ID, LATE_S, NAME, SOCK, WEIRCTL, Switch, World, ctl, eventually, host, ns,
                   row, sh, show, want, want_eq, write_policy)

# Class 0: a queue that is soon full; 1: WRED drops; 2: a priority group that is soon full; 3:
# lossless, marked, and soon in XOFF. Every address is known, so that nothing is flooded by chance.
# On a busy machine the stand-in would send PAUSE that is in no capture of the switch. LLDP would be
# in some captures and not in others.
POLICY = f"""\
switch:
  name: {NAME}
  workers: 2
  buffer: {{size: 4MB, headroom_pool: 400KB}}
  stall: {{pause_after: off}}
  lldp: off
ports:
  - {{name: p1, device: "xdp:{ID}s1", speed: 1G, mtu: 1500, profile: t, keep: [], rx_guard: off,
     vlan: {{tagged: [10, 20]}}}}
  - {{name: p2, device: "xdp:{ID}s2", speed: 1G, mtu: 1500, profile: t, keep: [], rx_guard: off,
     vlan: {{tagged: [10, 20]}}}}
  - {{name: p3, device: "xdp:{ID}s3", speed: 1G, mtu: 1000, profile: t, keep: [], rx_guard: off,
     vlan: {{tagged: [10, 20]}}}}
vlans:
  - {{id: 1}}
  - {{id: 10}}
  - {{id: 20, flood: off}}
fdb:
""" + "".join(f'  - {{mac: "02:00:00:00:00:0{n}", port: p{n}, vlan: {v}}}\n'
              for n in range(1, HOSTS + 1) for v in (1, 10)) + """\
profiles:
  t:
    classes:
      0: {egress: {static: 64KB}}
      1: {wred: {ecn: on, kmin: 10KB, kmax: 20KB, pmax: 100%}}
      2: {ingress: {static: 20KB}}
      3:
        lossless: true
        ingress: {static: 30KB, headroom: 20KB}
        wred: {ecn: on, kmin: 20KB, kmax: 40KB, pmax: 100%}
      6: {schedule: strict}
"""
BEFORE = {} # what arrived() said at first
TMP = tempfile.mkdtemp(prefix="weir-capture-")
# A source address that is a group is one of the reasons for a drop.
WARNINGS = '_ws.malformed || (_ws.expert.severity >= "Warning" && eth.src.ig == 0)'


# ---- frames

def mac(n):
    return bytes([2, 0, 0, 0, 0, n])


def checksum(data):
    s = sum(struct.unpack(f">{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def udp4(src, dst, size, cls=0, ecn=0, port=7, serial=0, vlan=None, to=None, source=None):
    """An Ethernet frame of `size` bytes: IPv4, UDP, a serial number."""
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    payload = struct.pack(">I", serial) + bytes(size - 14 - len(tag) - 28 - 4)
    udp = struct.pack(">HHHH", 49152, port, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, cls << 5 | ecn, 20 + len(udp), serial & 0xFFFF, 0, 64,
                     17, 0, bytes([10, 9, 0, src]), bytes([10, 9, 0, dst]))
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return (to or mac(dst)) + (source or mac(src)) + tag + b"\x08\x00" + ip + udp


def roce(src, dst, size, serial, ecn=2):
    """A RoCEv2 WRITE middle of class 3; the iCRC is for others to judge."""
    f = udp4(src, dst, size, cls=3, ecn=ecn, port=4791, serial=0)
    bth = struct.pack(">BBHII", 0x07, 0x40, 0xFFFF, 0x11, serial)
    return f[:42] + bth + bytes(size - 42 - len(bth))


def udp6(src, dst, size, cls):
    payload = bytes(size - 14 - 40 - 8)
    a, b = (b"\xfd\0" + bytes(13) + bytes([n]) for n in (src, dst))
    udp = struct.pack(">HHHH", 49152, 7, 8 + len(payload), 0) + payload
    pseudo = a + b + struct.pack(">II", len(udp), 17) + udp
    udp = udp[:6] + struct.pack(">H", checksum(pseudo)) + udp[8:]
    ip = struct.pack(">IHBB", 6 << 28 | cls << 25, len(udp), 17, 64) + a + b
    return mac(dst) + mac(src) + b"\x86\xdd" + ip + udp


def lldp(src):
    tlvs = bytes.fromhex("0207 04") + mac(src) + bytes.fromhex("0402 0731 0602 0078 0000")
    f = bytes.fromhex("0180c200000e") + mac(src) + b"\x88\xcc" + tlvs
    return f + bytes(60 - len(f))


def pfc(src, cls, quanta):
    return (bytes.fromhex("0180c2000001") + mac(src) + bytes.fromhex("88080101") +
            struct.pack(">H", 1 << cls) + b"".join(struct.pack(">H", quanta if c == cls else 0)
                                                   for c in range(8)) + bytes(26))


# A pause now and then: the kernel gives the frames on, of which 256 may wait at a link.
SENDER = """import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
data = sys.stdin.buffer.read()
at, sent = 0, 0
while at < len(data):
    n = struct.unpack_from("<H", data, at)[0]
    s.send(data[at + 2:at + 2 + n])
    at += 2 + n
    sent += 1
    if sent % 100 == 0:
        time.sleep(0.001)
"""
SENT = collections.Counter() # frames of each host


def send(n, frames):
    r = subprocess.run([*ns(f"h{n}"), "/usr/bin/python3", "-c", SENDER, f"{ID}e{n}"],
                       input=b"".join(struct.pack("<H", len(f)) + f for f in frames),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LATE_S)
    want_eq(r.returncode, 0, r.stderr.decode())
    SENT[n] += len(frames)


# ---- the witnesses

class Watch:
    """weirctl capture, from "capturing" to its end."""

    def __init__(self, port, *words, stdout=None):
        self.path = os.path.join(TMP, f"{len(os.listdir(TMP))}.pcapng")
        self.p = subprocess.Popen([WEIRCTL, "-s", NAME, "capture", port,
                                   "-" if stdout else self.path, "--json", *words],
                                  stdout=stdout, stderr=subprocess.PIPE, text=True)
        self.first = self.p.stderr.readline()
        want_eq(self.first, f"capturing {port}\n", "the first line")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def wait(self, status=0, judge=True):
        err = self.p.communicate(timeout=LATE_S)[1]
        want_eq(self.p.returncode, status, f"exit; {err}")
        self.report = json.loads(err.splitlines()[-1])
        with open(self.path, "rb") as f:
            c = pcapng.Capture(f.read())
        return judged(self.path, c) if judge else c

    def end(self, **how):
        self.p.send_signal(signal.SIGINT)
        return self.wait(**how)


def judged(path, capture):
    """tshark finds all frames, nothing to warn of in them, and the same comments; in order."""
    fields = ["frame.interface_name", "frame.comment", "frame.packet_flags_direction"]
    r = sh("tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=|",
           *(w for f in fields for w in ("-e", f)))
    ours = [f"{f.port}|{f.comment}|" + {"in": "0x00000001", "out": "0x00000002", "drop": ""}[f.dir]
            for f in capture.frames]
    want_eq(r.stdout.splitlines(), ours, "frames as tshark sees them")
    want_eq(sh("tshark", "-n", "-o", "ip.check_checksum:TRUE", "-r", path, "-Y", WARNINGS).stdout,
            "", "tshark's warnings")
    times = [f.t_ns for f in capture.frames]
    want(times == sorted(times), "frames are in the order of time")
    for p in capture.ports.values():
        want_eq(p["tsresol"], 9, "nanoseconds")
        want("counts" in p, "every interface has its statistics")
    return capture


class Dump:
    """tcpdump on a host's end of a link, for one direction as the host sees it."""

    def __init__(self, n, direction):
        self.path = os.path.join(TMP, f"dump{len(os.listdir(TMP))}.pcap")
        self.p = subprocess.Popen([*ns(f"h{n}"), "tcpdump", "-i", f"{ID}e{n}", "-Q", direction,
                                   "-w", self.path, "-s", "0", "-U", "-Z", "root", "-B", "8192"],
                                  stderr=subprocess.PIPE, text=True)
        while "listening on" not in (line := self.p.stderr.readline()):
            want(line, "tcpdump listens")

    def frames(self):
        return pcapng.pcap_frames(self.path)

    def all(self, n):
        """At least n frames have come; tcpdump may be late."""
        eventually(lambda: len(self.frames()) >= n, f"{n} frames in {self.path}")
        return self.end()

    def end(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
            self.p.communicate(timeout=LATE_S)
        return self.frames()


class Dumps:
    """Both directions of all links: {(host, "in" or "out" of the switch): Dump}."""

    def __enter__(self):
        self.of = {(n, d): Dump(n, "out" if d == "in" else "in")
                   for n in range(1, HOSTS + 1) for d in ("in", "out")}
        return self

    def __exit__(self, *exc):
        for d in self.of.values():
            d.end()

    def agree(self, capture):
        """Every link carried exactly the frames of the capture, byte for byte, in this order."""
        for (n, d), dump in self.of.items():
            ours = [f.data for f in capture.of(f"p{n}", d)]
            theirs = dump.all(len(ours))
            want_eq(len(theirs), len(ours), f"frames of p{n} {d}")
            want(theirs == ours, f"bytes of the frames of p{n} {d}")


def dropped():
    """{reason: frames} so far."""
    out = collections.Counter()
    for d in show("drops")["drops"]:
        out[d["reason"]] += d["packets"]
    return out


def arrived():
    """Frames that the kernel has given to the switch, or lost, by host."""
    links = {r["ifname"]: r["stats64"]["rx"]
             for r in json.loads(sh(*ns("s"), "ip", "-s", "-j", "link").stdout)}
    return {n: sum(links[f"{ID}s{n}"][k] for k in ("packets", "dropped"))
            for n in range(1, HOSTS + 1)}


def shown(*kinds):
    """The rows of each, without the start of a program: a busy machine takes long for one."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(SOCK)
        with s.makefile("rw") as lines:
            lines.write("".join(json.dumps({"cmd": "show", "what": k}) + "\n" for k in kinds))
            lines.flush()
            return [json.loads(lines.readline())["data"][k] for k in kinds]


def settle():
    """Until the switch has done with all that was sent: it is there, each worker has looked at its
    ports again, and nothing has moved any more."""
    def moved():
        workers, ports, drops = shown("workers", "ports", "drops")
        return ([(p["rx_packets"], p["tx_packets"]) for p in ports], drops,
                [w["busy_loops"] for w in workers]), [w["loops"] for w in workers]

    eventually(lambda: all(k >= BEFORE[n] + SENT[n] for n, k in arrived().items()),
               "the frames arrive at the switch")
    last, loops = moved()
    end = time.monotonic() + LATE_S
    while True:
        time.sleep(0.05)
        now, later = moved()
        if now != last:
            last, loops = now, later
        elif all(b >= a + 3 for a, b in zip(loops, later)):
            return
        want(time.monotonic() < end, "the switch settles")


class Held:
    """A queue of p3 that keeps its frames."""

    def __init__(self, queue):
        self.queue = str(queue)

    def __enter__(self):
        ctl("set", "queue", "p3", self.queue, "tx", "off")

    def __exit__(self, *exc):
        ctl("set", "queue", "p3", self.queue, "tx", "on")


# ---- the tests

def t_every_kind_of_frame_is_captured_as_tcpdump_sees_it():
    with Dumps() as dumps, Watch("all") as w:
        for i in range(40):
            send(1, [roce(1, 3, 900, i), udp4(1, 3, 300, cls=2, serial=i, vlan=10),
                     udp6(1, 3, 200, 1), lldp(1)])
            if i % 8 == 0:
                send(3, [udp4(3, 2, 60 + i, serial=i), udp4(3, 1, 400, serial=i)])
                send(2, [udp4(2, 1, 1514, cls=6, serial=i), pfc(2, 3, 0)])
        settle()
        c = w.end()
        dumps.agree(c)
    want_eq(collections.Counter((f.port, f.dir) for f in c.frames),
            {("p1", "in"): 160, ("p3", "in"): 10, ("p2", "in"): 10, ("p3", "out"): 120,
             ("p2", "out"): 5, ("p1", "out"): 10}, "frames per port and direction")
    want_eq(collections.Counter(f.comment for f in c.of("p1", "in")),
            {"dir=in class=3": 40, "dir=in class=2": 40, "dir=in class=1": 40, "dir=in": 40},
            "what is said of what came in at p1")
    want(all(f.said["queue"] == f.said["class"] for f in c.of("p3", "out")), "queues of p3")
    want_eq(w.report, {"written": 315, "seen": 315, "matched": 315, "lost": 0}, "the report")
    want_eq({p["speed"] for p in c.ports.values()}, {10**9}, "if_speed")
    want_eq(c.ports["p1"]["counts"],
            {"received": 170, "dropped": 0, "accepted": 170, "delivered": 170}, "counts of p1")


def t_frames_agree_with_the_switchs_own_counters():
    def counters():
        return {p["name"]: (p["rx_packets"], p["tx_packets"]) for p in show("ports")["ports"]}
    settle()
    before = counters()
    with Watch("all") as w:
        send(1, [udp4(1, 2, 200, serial=i) for i in range(500)])
        send(2, [udp4(2, 3, 200, serial=i) for i in range(300)])
        settle()
        c = w.end()
    after = counters()
    for p in before:
        got = (len(c.of(p, "in")), len(c.of(p, "out")))
        want_eq(got, tuple(b - a for a, b in zip(before[p], after[p])), f"frames of {p}")
    want_eq(len(c.of("p1", "in")), 500, "frames of h1")


def t_marks_of_this_switch_are_told_and_the_peer_sees_ce():
    def marked():
        return row(show("queues", "p3")["queues"], **{"class": 3})["ecn_marked"]
    at = marked()
    with Dumps() as dumps, Watch("p3", "--filter", "udp") as w:
        with Held(3):
            # The first frames are marked already when they come in.
            send(1, [roce(1, 3, 1000, i, ecn=3 if i < 5 else 2) for i in range(60)])
            settle()
        settle()
        c = w.end()
        out = c.of("p3", "out")
        theirs = dumps.of[3, "out"].all(60)
    ce = [f for f in theirs if f[15] & 3 == 3]
    told = [f for f in out if f.said.get("mark") == "ce"]
    want_eq(len(out), 60, "frames sent")
    want_eq(len(told), marked() - at, "marks told and counted")
    want_eq(len(ce), len(told) + 5, "frames that arrive as CE")
    want(15 <= len(told) <= 45, f"{len(told)} of 60 frames are marked")
    want_eq([f.data for f in out], theirs, "frames at h3")
    lengths = [int(f.said["queue_bytes"]) for f in out]
    want_eq(lengths, [1000 * (59 - i) for i in range(60)], "the queue behind each frame")
    with Watch("p3", "--only", "marked") as w:
        with Held(3):
            send(1, [roce(1, 3, 1000, i) for i in range(60)])
            settle()
        settle()
        c = w.end()
    want(c.frames and all(f.said.get("mark") == "ce" for f in c.frames), "only marked frames")


def t_pauses_in_both_directions_are_captured_and_counted():
    def paused():
        r = row(show("pfc", "p1")["pfc"], **{"class": 3})
        return r["tx_pause"], r["rx_pause"]
    settle()
    before = paused()
    with Dumps() as dumps, Watch("p1", "--only", "pfc") as w:
        send(1, [pfc(1, 3, 100), pfc(1, 3, 0), pfc(1, 3, 65535), pfc(1, 3, 0)])
        with Held(3):
            send(1, [roce(1, 3, 1000, i) for i in range(50)])
            settle()
        settle()
        c = w.end()
        sent = dumps.of[1, "out"].all(len(c.of("p1", "out")))
    want(c.frames and all(f.is_pfc() for f in c.frames), "only PFC")
    want_eq([f.comment for f in c.of("p1", "in")], ["dir=in"] * 4, "PAUSE received")
    want_eq({f.comment for f in c.of("p1", "out")}, {"dir=out origin=switch"}, "PAUSE sent")
    want_eq([f.data for f in c.of("p1", "out")], sent, "PFC frames at h1")
    xoff = [f for f in sent if struct.unpack_from(">H", f, 18 + 2 * 3)[0] > 0]
    want(0 < len(xoff) < len(sent), "XOFF and XON")
    after = paused()
    # A PAUSE is a frame that pauses or, with time 0, lets go: both are counted.
    want_eq((after[0] - before[0], after[1] - before[1]), (len(sent), 4), "counted")


def drop_case(reason, count, frames, *words, hold=None, port="p1", at_egress=False):
    """The capture, the counter and the expectation agree on the frames dropped for a reason."""
    before = dropped()[reason]
    with Watch("all", "--only", "drops", *words) as w:
        if hold is None:
            send(1, frames)
            settle()
        else:
            with Held(hold):
                send(1, frames)
                settle()
            settle()
        c = w.end()
    of_reason = [f for f in c.frames if f.said["reason"] == reason]
    want_eq(len(of_reason), len(c.frames), f"{reason} only: {[f.comment for f in c.frames]}")
    want_eq(len(of_reason), dropped()[reason] - before, f"{reason}: frames captured and counted")
    if count is not None:
        want_eq(len(of_reason), count, reason)
    want(of_reason, f"{reason} happened")
    want(all(f.port == port for f in of_reason), f"{reason} at {port}")
    want(all(("queue" in f.said) == at_egress for f in of_reason), f"{reason}: queue told")
    sent = {f[:len(of_reason[0].data)] for f in frames}
    want(all(f.data in sent for f in of_reason), f"{reason}: the bytes")
    return of_reason


def t_every_drop_is_captured_with_its_reason():
    drop_case("bad-source", 5, [udp4(1, 3, 100, source=b"\x01\0\0\0\0\1")] * 5)
    drop_case("vlan-ingress", 4, [udp4(1, 3, 100, vlan=99)] * 4)
    drop_case("no-egress", 3, [udp4(1, 3, 100, vlan=20, to=bytes([2, 9, 9, 9, 9, 9]))] * 3)
    drop_case("hairpin", 6, [udp4(1, 1, 100)] * 6)
    drop_case("egress-mtu", 2, [udp4(1, 3, 1400)] * 2)
    tail = drop_case("egress-tail", None, [udp4(1, 3, 1000, serial=i) for i in range(80)], hold=0,
                     port="p3", at_egress=True)
    want(all(int(f.said["queue_bytes"]) >= 50000 for f in tail), "the queue was full")
    wred = drop_case("wred", None, [udp4(1, 3, 1000, cls=1, serial=i) for i in range(40)], hold=1,
                     port="p3", at_egress=True)
    want(all(int(f.said["queue_bytes"]) >= 9000 for f in wred), "the queue was above kmin")
    drop_case("ingress-pool", None, [udp4(1, 3, 1000, cls=2, serial=i) for i in range(40)], hold=2)


def t_a_sender_that_ignores_pause_is_seen_to_overrun_its_headroom():
    # The receive ring counts as room before the headroom; 2,048 frames and some fit.
    frames = [roce(1, 3, 1000, i) for i in range(7000)]
    seen = drop_case("headroom-overrun", None, frames, "--snaplen", "100", hold=3)
    want(all(f.said["class"] == "3" for f in seen), "class 3")


def t_frames_for_a_link_that_is_down_are_captured_as_dropped():
    host(2, "ip", "link", "set", f"{ID}e2", "down")
    try:
        eventually(lambda: not row(show("ports")["ports"], name="p2")["up"], "p2 is down")
        before = dropped()["port-down"]
        with Watch("all", "--only", "drops") as w:
            send(1, [udp4(1, 2, 100)] * 7)
            eventually(lambda: dropped()["port-down"] - before == 7, "seven frames dropped")
            c = w.end()
    finally:
        host(2, "ip", "link", "set", f"{ID}e2", "up")
        eventually(lambda: row(show("ports")["ports"], name="p2")["up"], "p2 is up")
    want_eq([f.said["reason"] for f in c.frames], ["port-down"] * 7, "drops")


def t_a_filter_chooses_and_a_bad_one_is_refused_in_libpcaps_words():
    expression = "udp and (port 4791 or ip[1] & 0xfc == 0x40)"
    with Watch("p1", "--filter", expression) as w:
        send(1, [roce(1, 3, 200, 1), udp4(1, 3, 100, cls=2), udp4(1, 3, 100, cls=1), lldp(1)] * 10)
        settle()
        c = w.end()
    want_eq(len(c.frames), 20, "frames that match")
    want_eq(w.report, {"written": 20, "seen": 40, "matched": 20, "lost": 0}, "the report")
    want_eq(c.ports["p1"]["filter"], expression, "if_filter")
    for bad, why in (("upd port 3", "syntax error"), ("port 99999", "99999"),
                     ("ip[", "syntax error"), ("x" * 1001, "1000 bytes")):
        r = ctl("capture", "p1", os.path.join(TMP, "never"), "--filter", bad, check=False)
        want_eq(r.returncode, 2, f"exit for {bad[:20]}")
        want(why in r.stderr and r.stderr.startswith("weirctl: "), r.stderr)
    want(not os.path.exists(os.path.join(TMP, "never")), "no file for a refused capture")


def t_count_last_time_and_snaplen_limit_a_capture():
    frames = [udp4(1, 3, 100 + i, serial=i) for i in range(50)]
    with Watch("p1", "--count", "7") as w:
        send(1, frames)
        c = w.wait()
    want_eq([f.data for f in c.frames], frames[:7], "the first seven")
    with Watch("p1", "--last", "9") as w:
        send(1, frames)
        settle()
        c = w.end()
    want_eq([f.data for f in c.frames], frames[-9:], "the last nine")
    want_eq(w.report["seen"], 50, "frames seen")
    with Watch("p1", "--snaplen", "40", "--filter", "udp[8:4] = 3 or udp[8:4] = 4") as w:
        send(1, frames)
        settle()
        c = w.end(judge=False)  # tshark misses what is not in the file
    want_eq([(f.data, f.size) for f in c.frames], [(f[:40], len(f)) for f in frames[3:5]],
            "bytes beyond the snaplen decide, and are not written")
    t0 = time.monotonic()
    with Watch("p1", "--time", "700ms") as w:
        send(1, frames)
        c = w.wait()
    want(time.monotonic() - t0 > 0.6, "it ends by itself, and not before its time")
    want_eq(len(c.frames), 50, "frames within the time")


def t_a_capture_until_drop_ends_with_the_frame_that_was_lost():
    with Watch("all", "--last", "20", "--until-drop") as w:
        send(1, [udp4(1, 1, 100)] * 3)  # filtered, not lost
        with Held(0):
            send(1, [udp4(1, 3, 1000, serial=i) for i in range(80)])
            c = w.wait()
        settle()
    want_eq(len(c.frames), 20, "the last twenty")
    want_eq(c.frames[-1].said.get("reason"), "egress-tail", "the last one is the one that was lost")
    want_eq([f.dir for f in c.frames].count("drop"), 1, "it is the first one")


def t_a_capture_flows_through_a_pipe_into_tshark():
    with Watch("p1", stdout=subprocess.PIPE) as w:
        t = subprocess.Popen(["tshark", "-n", "-l", "-r", "-", "-c", "6", "-T", "fields", "-e",
                              "frame.comment"], stdin=w.p.stdout, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        try:
            w.p.stdout.close()
            for i in range(6):
                send(1, [udp4(1, 3, 100)])
                # A frame is there before the next one is sent: nothing waits in a buffer.
                want_eq(t.stdout.readline(), "dir=in class=0\n", f"line {i}")
            want_eq(t.wait(LATE_S), 0, "tshark")
            # The reader is gone: the next frame ends the capture, in order.
            eventually(lambda: send(1, [udp4(1, 3, 100)]) or w.p.poll() is not None, "it ends")
            want_eq(w.p.returncode, 0, w.p.stderr.read())
        finally:
            t.kill()
            t.wait()


def t_there_is_one_capture_at_a_time_and_one_that_is_killed_makes_room():
    for _ in range(3):
        with Watch("p1") as w:
            r = ctl("capture", "p2", os.path.join(TMP, "never"), check=False)
            want(r.returncode == 1 and "another capture is running" in r.stderr, r.stderr)
            send(1, [udp4(1, 3, 100)] * 20)
            w.p.kill()
            w.p.wait()

        def free():
            return ctl("capture", "p2", os.path.join(TMP, "after"), "--time", "1ms",
                       check=False).returncode == 0
        eventually(free, "the next capture starts")
    r = ctl("capture", "p9", os.path.join(TMP, "never"), check=False)
    want(r.returncode == 1 and "the ports are: p1 p2 p3" in r.stderr, r.stderr)
    r = ctl("capture", "p1", "/nonexistent/x", check=False)
    want(r.returncode == 1 and "/nonexistent/x" in r.stderr, r.stderr)
    for words in (["capture"], ["capture", "p1"], ["capture", "p1", "x", "y"],
                  ["capture", "p1", "x", "--last", "0"], ["capture", "p1", "x", "--time", "soon"],
                  ["capture", "p1", "x", "--only", "some"],
                  ["capture", "p1", "x", "--snaplen", "a"]):
        want_eq(ctl(*words, check=False).returncode, 2, f"weirctl {' '.join(words)}")
    want(not os.path.exists(os.path.join(TMP, "never")), "no file for a refused capture")


def t_frames_that_find_no_room_are_counted_as_lost():
    before = row(show("ports")["ports"], name="p1")["rx_packets"]
    here, there = os.pipe()
    with Watch("p1", stdout=there) as w:
        os.close(there)
        # Nobody reads the pipe, so weirctl stands, and nobody fetches what the worker leaves.
        send(1, [udp4(1, 3, 60, serial=i) for i in range(40000)])
        copy = subprocess.Popen(["cp", "/dev/stdin", w.path], stdin=here)
        os.close(here)
        settle()
        w.p.send_signal(signal.SIGINT)
        want_eq(copy.wait(LATE_S), 0, "cp")
        c = w.wait()
    received = row(show("ports")["ports"], name="p1")["rx_packets"] - before
    counts = c.ports["p1"]["counts"]
    want(counts["dropped"] > 0, f"frames were lost: {w.report}")
    want_eq(len(c.frames) + counts["dropped"], received, "frames written and lost")
    want_eq(counts["received"], received, "isb_ifrecv")
    want_eq(w.report["lost"], counts["dropped"], "the report")
    want(ctl("show", "ports").returncode == 0, "the switch answers")


TESTS = [v for k, v in list(globals().items()) if k.startswith("t_")]


def run(failed, only, test):
    name = test.__name__[2:]
    if only and name not in only:
        return
    began = time.monotonic()
    try:
        test()
        print(f"ok   {name.replace('_', ' ')}, {time.monotonic() - began:.1f} s", flush=True)
    except (AssertionError, KeyError, IndexError, OSError, subprocess.SubprocessError,
            ValueError) as e:
        print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}"[:3000], flush=True)
        failed.append(name)


def main():
    if os.geteuid() != 0 or not shutil.which("tshark") or not shutil.which("tcpdump"):
        print("needs root for namespaces and AF_XDP, tshark and tcpdump")
        return 77
    failed, only = [], sys.argv[3:]
    policy = write_policy(POLICY)
    with World():
        sw = Switch(policy)
        try:
            sw.ready()
            eventually(lambda: all(p["up"] for p in show("ports")["ports"]), "all links are up")
            BEFORE.update(arrived())
            for test in TESTS:
                run(failed, only, test)
            want_eq(sw.stop(), 0, "the switch accounts for every frame")
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.err)[-3000:])
    os.unlink(policy)
    shutil.rmtree(TMP)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
