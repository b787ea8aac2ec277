#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One host makes up MAC addresses as fast as this machine can send. Storms of another port are
found and escalate, alarms stay in the log, metrics answer, and the switch stops in time. Of a time
of control those moments do not count in which the machine gave it no processor.

usage: test_flood.py BUILD_DIR [TEST...]
"""
import ctypes
import json
import multiprocessing
import os
import socket
import struct
import subprocess
import sys
import time

LIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live")
sys.path.insert(0, LIVE)
import live # noqa: E402
from live import eventually, stop_time, want # noqa: E402

DETECT_MS, LIMIT, METRICS_PORT = 100, 2, 9470
SECOND = 1.0 # of control's own time
LOG_ROWS = 1000 # of one grade
DRAIN_S = 2 # of weir, at most
FRAME_BYTES, BATCH = 60, 512
POLICY = """\
switch: {name: %s, stall: {pause_after: off}, lldp: off, buffer: {size: 1MB}}
ports:
  - {name: "p[1-4]", device: "xdp:sw[1-4]", speed: 100M, mtu: 1500, profile: roce}
fdb: [{mac: "02:00:00:00:00:02", port: p2}, {mac: "02:00:00:00:00:03", port: p3}]
profiles:
  roce:
    watchdog: {mode: xoff, detect: 100ms, restore: 100ms, action: drop,
               limit: {count: 2, window: 60s, then: pfc_off}}
    classes: {3: {lossless: true}}
"""
# The seconds that a page takes, without those in which control or this program had no processor;
# and its bytes.
SCRAPE = """\
import sys, time, urllib.request
sys.path.insert(0, "%s")
from live import kept_waiting
def machines_share():
    return kept_waiting() + kept_waiting(%d)
began, without = time.monotonic(), machines_share()
page = urllib.request.urlopen("http://127.0.0.1:%d/metrics", timeout=60).read()
print(time.monotonic() - began - machines_share() + without, len(page))
"""


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint32), ("iov", ctypes.c_void_p),
                ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p),
                ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", Msghdr), ("len", ctypes.c_uint)]


STRANGER = (b"\2\0\0\0\0\2" + b"\2" + bytes(5) + b"\x88\xb5" + bytes(46), (8, 9, 10, 11))


def unfinished():
    """A TCP frame to host 2 as a veth sends it, with the sum of the pseudo header only, and the
    places of its source port."""
    addresses = socket.inet_aton("10.9.0.1") + socket.inet_aton("10.9.0.2")
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 6, 0) + addresses
    ip = ip[:10] + struct.pack("!H", folded(ip) ^ 0xffff) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", 7, 9, 0, 0, 0x50, 0x10, 512,
                      folded(addresses + struct.pack("!HH", 6, 26)), 0)
    return STRANGER[0][:7] + b"\0\0\0\0\1\x08\0" + ip + tcp + bytes(6), (34, 35)


def folded(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return (total & 0xffff) + (total >> 16)


def flood(namespace, device, sent, frame, random):
    """Sends the frame to host 2 until it is killed, with random bytes at some places."""
    out = socket_in(namespace, device)
    out.setblocking(True)
    frames = bytearray(frame) * BATCH
    start = ctypes.addressof(ctypes.c_char.from_buffer(frames))
    iov = (Iovec * BATCH)(*((start + i * FRAME_BYTES, FRAME_BYTES) for i in range(BATCH)))
    msgs = (Mmsghdr * BATCH)()
    for i in range(BATCH):
        msgs[i].hdr.iov = ctypes.addressof(iov[i])
        msgs[i].hdr.iovlen = 1
    libc = ctypes.CDLL(None)
    while True:
        for at in random:
            frames[at::FRAME_BYTES] = os.urandom(BATCH)
        n = libc.sendmmsg(out.fileno(), msgs, BATCH, socket.MSG_DONTWAIT)
        sent.value += max(n, 0)


class Flood:
    def __init__(self, world, frame=STRANGER):
        self.sent = multiprocessing.Value("Q", 0, lock=False)
        self.process = multiprocessing.Process(
            target=flood, args=(world.ns("h1"), "e1", self.sent, *frame), daemon=True)

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.join()


class Weir:
    def __init__(self, world):
        self.world, self.name = world, switch_name()
        path = os.path.join(world.logs, "policy.yaml")
        with open(path, "w") as f:
            f.write(POLICY % self.name)
        world.run("sw", "ip", "link", "set", "lo", "up") # for the metrics
        self.process = world.spawn("sw", "weir", PROGRAMS.weir, "-c", path,
                                   "--metrics", str(METRICS_PORT))
        self.process.wait_line("ready")

    def show(self, what):
        done = subprocess.run([PROGRAMS.weirctl, "-s", self.name, "show", what, "--json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=30,
                              check=True)
        return json.loads(done.stdout)

    def scrape(self):
        """Control answers, whatever else it has to do; the seconds that it took for it."""
        took, size = self.world.run("sw", sys.executable, "-B", "-c", SCRAPE % (
            LIVE, self.process.p.pid, METRICS_PORT)).stdout.split()
        want(float(took) < SECOND and int(size) > 1000, f"{size} bytes of metrics took {took} s")
        return float(took)

    def stop(self):
        """In time; the seconds."""
        took = stop_time(self.process.p)
        want(self.process.stop() == 0, f"its status\n{self.process.said()}")
        want(took < DRAIN_S + SECOND, f"it took {took:.1f} s to stop")
        return took

    def events(self, name):
        return [e for e in self.show("events")["events"] if e["event"] == name]

    def last_event(self):
        return self.show("events")["events"][-1]["seq"]

    def dog(self):
        return pick(self.show("watchdog")["watchdog"], port="p3", **{"class": 3})

    def learned(self):
        row = pick(self.show("fdb")["fdb_ports"], port="p1")
        return row["added"]

    def finished(self):
        return sum(r["packets"] for r in self.show("control")["steering"]
                   if r["reason"] == "sums_finished")

    def loops_gap_ms(self):
        return max(w["gap_max_ns"] for w in self.show("workers")["workers"]) / 1e6


def one_storm(weir, peers, nth):
    """Host 3 pauses its port for as long as it takes to be found."""
    peers.storm(3)
    eventually(lambda: weir.dog()["detected"] == nth, f"storm {nth} is found")
    peers.calm(3)
    ms, most = weir.dog()["last_measured_us"] / 1e3, DETECT_MS + weir.loops_gap_ms()
    want(DETECT_MS <= ms <= most, f"storm {nth} is found after {ms} ms, at most {most}")
    eventually(lambda: weir.dog()["status"] != "stormed", "the storm is over")
    return ms


def storms_escalate_as_configured_while_addresses_are_made_up():
    with World(4) as world, Peers(world, hosts=(3,)) as peers:
        weir = Weir(world)
        with Flood(world) as out:
            began = time.monotonic()
            eventually(lambda: weir.events("fdb-full"), "the table of addresses is full")
            eventually(lambda: len(weir.events("mac-learned")) > 500, "the log is full of it")
            found = [one_storm(weir, peers, n + 1) for n in range(LIMIT)]
            eventually(lambda: weir.dog()["status"] == "pfc-off", "PFC is off")
            want(weir.dog()["detected"] == LIMIT, f"it takes {LIMIT} storms: {weir.dog()}")
            had = weir.last_event()
            eventually(lambda: weir.last_event() > had + 2 * LOG_ROWS, "the log is full once more")
            for name, n in (("pfc-storm", LIMIT), ("pfc-storm-limit", 1)):
                want(len(weir.events(name)) == n, f"{n} events {name}: {weir.events(name)}")
            want(len(weir.events("fdb-full")) <= 1, "a full table is said once")
            took = weir.scrape()
            seconds = time.monotonic() - began
            print(f"        {out.sent.value / seconds:,.0f} frames/s, "
                  f"{weir.learned() / seconds:,.0f} learned/s; storms found after "
                  f"{', '.join(f'{ms:.1f}' for ms in found)} ms; metrics in {took:.2f} s",
                  flush=True)
            print(f"        stopped in {weir.stop():.2f} s", flush=True)


def unfinished_checksums_at_full_rate_harm_no_other_port():
    with World(4) as world, Peers(world, hosts=(3, 4)) as peers:
        weir = Weir(world)
        lines = len(weir.process.said().splitlines())
        began = time.monotonic()
        with Flood(world, unfinished()) as out:
            eventually(lambda: weir.finished() > 1000, "checksums are finished")
            before = weir.finished()
            flows = [peers.flow(src, dst, 0, per_s=50, n=100) for src, dst in ((3, 4), (4, 3))]
            for f in flows:
                eventually(lambda f=f: peers.received(f.dst, f.src, 0) == f.n,
                           f"{f.n} frames of h{f.src} at h{f.dst}")
            took = weir.scrape()
            eventually(lambda: weir.finished() > before + 10000, "and more checksums are finished")
            print(f"        {out.sent.value} frames sent, {weir.finished()} checksums finished in "
                  f"{time.monotonic() - began:.1f} s; metrics in {took:.2f} s", flush=True)
        seconds = time.monotonic() - began
        names = [e["event"] for e in weir.show("events")["events"]]
        missed = names.count("rx-missed") # the ring of p1 overflows: at most ten events a second
        want(missed <= 10 * seconds + 20, f"{missed} events rx-missed in {seconds:.1f} s")
        want(len(names) - missed < 20, f"events: {names}")
        weir.stop()
        said = weir.process.said()
        want(len(said.splitlines()) - lines <= 10 * seconds + 100, said)


def an_interface_that_is_gone_is_said_once():
    with World(4) as world:
        weir = Weir(world)
        world.run("sw", "ip", "link", "del", "sw3")
        eventually(lambda: weir.events("interface-gone"), "the event")
        time.sleep(0.5)
        rows = weir.events("interface-gone")
        want([(e["port"], e["severity"]) for e in rows] == [("p3", "alarm")], f"{rows}")
        want("uses it again" in rows[0]["text"], rows[0]["text"])
        want(weir.process.stop() == 0, weir.process.said())


live.need_root()
from peers import Peers, socket_in # noqa: E402
from switch import Programs, pick # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([storms_escalate_as_configured_while_addresses_are_made_up,
                         unfinished_checksums_at_full_rate_harm_no_other_port,
                         an_interface_that_is_gone_is_said_once]))
