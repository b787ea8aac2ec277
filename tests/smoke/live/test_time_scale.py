#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A switch and its hosts slowed a thousand times: what they show is the model's, what people wait
for is not.

usage: test_time_scale.py BUILD_DIR
"""
import os
import re
import subprocess
import sys
import time

import live
from live import eventually, want

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, run, switch_name # noqa: E402

SCALE = 1000
POLICY = """\
switch: {name: %s, time_scale: %d, buffer: {size: 4MB}}
ports: [{name: "p[1-2]", device: "xdp:sw[1-2]", speed: 40G, mtu: 1500, profile: roce}]
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
profiles: {roce: {classes: {3: {lossless: true, ingress: {alpha: 1}}, 6: {schedule: strict}}}}
"""
SLOWED = ["--time-scale", str(SCALE), "--speed", "40G"]
PATIENCE_S = 20 # what is waited for in model time by mistake takes minutes


class Lab:
    def __init__(self, world):
        self.world = world
        self.programs = Programs(sys.argv[1])
        self.name = switch_name()
        self.switch = Switch(world, self.programs, self.name, POLICY % (self.name, SCALE))
        self.listener = Host(world, self.programs, 2, "listener", "--listen", *SLOWED).ready()

    def sender(self, *words):
        return Host(self.world, self.programs, 1, "sender", "--to", "10.0.0.2", *SLOWED,
                    *words).ready()

    def ctl(self, *args):
        return subprocess.run([self.programs.weirctl, "-s", self.name, *args], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)


def the_time_scale_is_told(lab):
    scale = lab.switch.show("ports")["clock"]["time_scale"]
    want(scale == SCALE, f"JSON says {scale}")
    table = lab.ctl("show", "ports").stdout
    want(f"time scale {SCALE}: " in table, table)
    want(f"time scale {SCALE}: " in lab.switch.process.out(), lab.switch.process.out())


def a_reload_refuses_another_one_by_name(lab):
    with open(lab.switch.path, "w") as f:
        f.write(POLICY % (lab.name, SCALE + 1))
    done = lab.ctl("reload")
    with open(lab.switch.path, "w") as f:
        f.write(POLICY % (lab.name, SCALE))
    want(done.returncode != 0, done.stdout)
    want("switch.time_scale: changes only by a restart" in done.stdout, done.stdout)


def rates_and_times_are_the_models(lab):
    """Whatever rate the machine holds: what is shown is a thousand times what passes."""
    began = time.monotonic()
    sender = lab.sender("--rate", "10G", "--time", "4ms", "--size", "64KiB")
    time.sleep(2)
    a, t_a = pick(lab.switch.show("ports")["ports"], name="p2"), time.monotonic()
    time.sleep(1.2)
    b, t_b = pick(lab.switch.show("ports")["ports"], name="p2"), time.monotonic()
    machine = 8 * (b["tx_bytes"] - a["tx_bytes"]) / (t_b - t_a)
    want(machine > 0, "nothing passed")
    want(0.7 < b["tx_bps"] / machine / SCALE < 1.4, f"{b['tx_bps']} shown, {machine:.0f} passed")
    want(sender.process.wait(60) == 0, sender.process.said())
    took = time.monotonic() - began
    report = sender.report()
    print(f"        {report['seconds'] * 1e3:.2f} ms of the model in {took:.1f} s, "
          f"{report['goodput_bps'] / 1e9:.1f} Gb/s")
    want(report["time_scale"] == SCALE, str(report["time_scale"]))
    want(0.5 < report["seconds"] * SCALE / took <= 1, f"{report['seconds']} s reported")
    want(report["timeouts"] == 0, "a retransmission timer ran out")


def quanta_last_a_thousand_times_longer(lab):
    """The switch is paused for a millisecond of the model, by a storm of exactly that length."""
    before = pick(lab.switch.show("pfc")["pfc"], port="p1", **{"class": 3})
    storm = Host(lab.world, lab.programs, 1, "storm", "--storm", "--class", "3", "--for", "1ms",
                 *SLOWED)
    want(storm.process.wait(60) == 0, storm.process.said())
    after = pick(lab.switch.show("pfc")["pfc"], port="p1", **{"class": 3})
    frames = after["rx_pause"] - before["rx_pause"]
    us = after["rx_pause_duration_us"] - before["rx_pause_duration_us"]
    print(f"        {frames} frames paused it for {us} us")
    want(3 <= frames <= 5, f"{frames} PFC frames: one for each half of 839 us, and XON")
    want(900 <= us <= 1300, f"paused for {us} us")


def a_capture_carries_model_time(lab):
    path = os.path.join(lab.world.logs, "capture.pcapng")
    sender = lab.sender("--rate", "1G", "--time", "3ms", "--size", "16KiB")
    began = time.monotonic()
    done = lab.ctl("capture", "p1", path, "--count", "150")
    took = time.monotonic() - began
    want(done.returncode == 0, done.stdout)
    sender.process.wait(60)
    text = run("tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch").stdout
    times = [float(t) for t in text.split()]
    want(len(times) >= 150, f"{len(times)} frames")
    span = max(times) - min(times)
    print(f"        {len(times)} frames within {span * 1e3:.3f} ms of the model, {took:.1f} s here")
    want(0 < span <= took / SCALE * 1.5, f"{span} s")
    want(abs(times[0] - time.time()) < 300, "it does not begin at the time of day")


def what_people_wait_for_is_real_time(lab):
    for words in (["set", "port", "p2", "tx", "off"], ["set", "port", "p2", "tx", "on"],
                  ["clear", "watermarks"], ["quiesce"]):
        done = lab.ctl(*words)
        want(done.returncode == 0, f"{words}: {done.stdout}")

    def up():
        return pick(lab.switch.show("ports")["ports"], name="p1")["up"]

    lab.world.run("h1", "ip", "link", "set", "e1", "down")
    eventually(lambda: not up(), "the link is down", PATIENCE_S)
    lab.world.run("h1", "ip", "link", "set", "e1", "up")
    eventually(up, "the link is up", PATIENCE_S)


def events_say_both_times(lab):
    rows = lab.switch.show("events")["events"]
    down = [e for e in rows if e["event"] == "link-down"]
    want(down, f"no event of the link: {[e['event'] for e in rows]}")
    want(re.match(r"\d{4}-\d\d-\d\dT", down[-1]["time"]), down[-1]["time"])
    # The switch began at one second, and less than one of the model has passed since.
    want(all(1e9 <= e["t_ns"] < 2e9 for e in rows), str([e["t_ns"] for e in rows]))


live.need_root("tshark")
with World(2) as w:
    LAB = Lab(w)
    TESTS = [the_time_scale_is_told, a_reload_refuses_another_one_by_name,
             rates_and_times_are_the_models, quanta_last_a_thousand_times_longer,
             a_capture_carries_model_time, what_people_wait_for_is_real_time,
             events_say_both_times]

    def bound(test):
        def call():
            test(LAB)
        call.__name__ = test.__name__
        return call

    status = live.run_tests([bound(t) for t in TESTS])
    if LAB.switch.stop() != 0:
        print(f"FAILED  weir accounts for every frame at its end\n{LAB.switch.process.said()}")
        status = 1
sys.exit(status)
