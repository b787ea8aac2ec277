#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One host makes up MAC addresses as fast as this machine can send. Storms of another port are
found and escalate, alarms stay in the log, metrics answer, and the switch stops in time.

usage: test_flood.py BUILD_DIR [TEST...]
"""
import ctypes
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
from live import want # noqa: E402

DETECT_MS, LIMIT, METRICS_PORT = 100, 2, 9470
DRAIN_S = 2 # of weir, at most
FRAME_BYTES, BATCH = 60, 512
POLICY = """\
switch: {name: %s, stall: {pause_after: off}, buffer: {size: 1MB}}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 100M, mtu: 1500, profile: roce}
fdb: [{mac: "02:00:00:00:00:02", port: p2}, {mac: "02:00:00:00:00:03", port: p3}]
profiles:
  roce:
    watchdog: {mode: xoff, detect: 100ms, restore: 100ms, action: drop,
               limit: {count: 2, window: 60s, then: pfc_off}}
    classes: {3: {lossless: true}}
"""
SCRAPE = """\
import time, urllib.request
began = time.monotonic()
page = urllib.request.urlopen("http://127.0.0.1:%d/metrics", timeout=10).read()
print(time.monotonic() - began, len(page))
"""


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint32), ("iov", ctypes.c_void_p),
                ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p),
                ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", Msghdr), ("len", ctypes.c_uint)]


def flood(namespace, device, sent):
    """Sends frames of random sources to host 2 until it is killed."""
    out = socket_in(namespace, device)
    out.setblocking(True)
    frames = bytearray(b"\2\0\0\0\0\2" + b"\2" + bytes(5) + b"\x88\xb5" + bytes(46)) * BATCH
    start = ctypes.addressof(ctypes.c_char.from_buffer(frames))
    iov = (Iovec * BATCH)(*((start + i * FRAME_BYTES, FRAME_BYTES) for i in range(BATCH)))
    msgs = (Mmsghdr * BATCH)()
    for i in range(BATCH):
        msgs[i].hdr.iov = ctypes.addressof(iov[i])
        msgs[i].hdr.iovlen = 1
    libc = ctypes.CDLL(None)
    while True:
        for at in (8, 9, 10, 11):
            frames[at::FRAME_BYTES] = os.urandom(BATCH)
        n = libc.sendmmsg(out.fileno(), msgs, BATCH, socket.MSG_DONTWAIT)
        sent.value += max(n, 0)


class Flood:
    def __init__(self, world):
        self.sent = multiprocessing.Value("Q", 0, lock=False)
        self.process = multiprocessing.Process(
            target=flood, args=(world.ns("h1"), "e1", self.sent), daemon=True)

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

    def events(self, name):
        return [e for e in self.show("events")["events"] if e["event"] == name]

    def dog(self):
        return pick(self.show("watchdog")["watchdog"], port="p3", **{"class": 3})

    def learned(self):
        row = pick(self.show("fdb")["fdb_ports"], port="p1")
        return row["added"]

    def loops_gap_ms(self):
        return max(w["gap_max_ns"] for w in self.show("workers")["workers"]) / 1e6


def eventually(condition, text, timeout=10):
    end = time.monotonic() + timeout
    while not condition():
        want(time.monotonic() < end, f"not within {timeout} s: {text}")
        time.sleep(0.01)


def one_storm(weir, peers, nth):
    """Host 3 pauses its port for as long as it takes to be found."""
    peers.storm(3)
    eventually(lambda: weir.dog()["detected"] == nth, f"storm {nth} is found", 5)
    peers.calm(3)
    ms, most = weir.dog()["last_measured_us"] / 1e3, DETECT_MS + weir.loops_gap_ms()
    want(DETECT_MS <= ms <= most, f"storm {nth} is found after {ms} ms, at most {most}")
    eventually(lambda: weir.dog()["status"] != "stormed", "the storm is over")
    return ms


def storms_escalate_as_configured_while_addresses_are_made_up():
    with World(3) as world, Peers(world) as peers:
        weir = Weir(world)
        with Flood(world) as out:
            began = time.monotonic()
            eventually(lambda: weir.events("fdb-full"), "the table of addresses is full", 30)
            eventually(lambda: len(weir.events("mac-learned")) > 500, "the log is full of it", 30)
            found = [one_storm(weir, peers, n + 1) for n in range(LIMIT)]
            eventually(lambda: weir.dog()["status"] == "pfc-off", "PFC is off")
            want(weir.dog()["detected"] == LIMIT, f"it takes {LIMIT} storms: {weir.dog()}")
            time.sleep(2) # the flood fills the log once more
            for name, n in (("pfc-storm", LIMIT), ("pfc-storm-limit", 1)):
                want(len(weir.events(name)) == n, f"{n} events {name}: {weir.events(name)}")
            want(len(weir.events("fdb-full")) <= 1, "a full table is said once")
            took, size = world.run("sw", sys.executable, "-c",
                                   SCRAPE % METRICS_PORT).stdout.split()
            want(float(took) < 1 and int(size) > 1000, f"metrics took {took} s")
            seconds = time.monotonic() - began
            print(f"        {out.sent.value / seconds:,.0f} frames/s, "
                  f"{weir.learned() / seconds:,.0f} learned/s; storms found after "
                  f"{', '.join(f'{ms:.1f}' for ms in found)} ms; metrics in {took} s", flush=True)
            stopped = time.monotonic()
            status = weir.process.stop(seconds=DRAIN_S + 10)
            stopped = time.monotonic() - stopped
        want(status == 0, f"status {status}\n{weir.process.said()}")
        want(stopped < DRAIN_S + 1, f"it took {stopped:.1f} s to stop")


def an_interface_that_is_gone_is_said_once():
    with World(3) as world:
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
                         an_interface_that_is_gone_is_said_once]))
