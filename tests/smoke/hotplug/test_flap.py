#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A RoCEv2 receiver speaks only when it receives. After its link was down, and after the switch was
killed and started again, it gets the frames of its sender without a word of its own.

usage: test_flap.py BUILD_DIR [CASE...]
"""
import glob
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live  # noqa: E402
from live import eventually, want # noqa: E402

live.need_root()
from switch import Host, Programs, Switch, pick  # noqa: E402: the path is set by live
from world import World, switch_name  # noqa: E402

POLICY = """\
switch: {name: %s, buffer: {size: 4MB}}
ports:
  - {name: p1, device: "xdp:sw1", speed: 1G}
  - {name: p2, device: "xdp:sw2", speed: 1G}
  - {name: p3, device: "xdp:sw3", speed: 1G}
profiles:
  default:
    classes: {3: {lossless: true, ingress: {alpha: 1}}}
"""
BACK = 200 # frames that say that the flow goes on
SENDER = ["--to", "10.0.0.3", "--time", "600s", "--class", "3", "--speed", "20M", "--rto", "200ms"]


class Lab:
    """h1 sends to h3 through the switch; h2 listens to what it should not get."""

    def __init__(self, world):
        self.world, self.name = world, switch_name()
        self.start()
        self.receiver = Host(world, PROGRAMS, 3, "receiver", "--listen").ready()
        self.sender = Host(world, PROGRAMS, 1, "sender", *SENDER)
        self.flows_on()

    def start(self):
        self.switch = Switch(self.world, PROGRAMS, self.name, POLICY % self.name)

    def kill(self):
        self.switch.process.p.send_signal(signal.SIGKILL)
        self.switch.process.p.wait(60)

    def sent(self, port):
        """Frames that left by a port: of the lossless class, and of the others."""
        rows = {r["queue"]: r["tx_packets"] for r in self.switch.show("queues")["queues"]
                if r["port"] == port}
        return [rows.get(3, 0), sum(n for q, n in rows.items() if q != 3)]

    def hints(self):
        row = pick(self.switch.show("hints")["hints"], port="p1")
        return row["lossless_unknown"], row["unknown_probes"]

    def flows_on(self):
        """Seconds until the receiver gets frames of the lossless class again."""
        began, before = time.monotonic(), self.sent("p3")[0]
        eventually(lambda: self.sent("p3")[0] >= before + BACK, "frames for the receiver", 120)
        return time.monotonic() - began

    def receiver_link(self, up):
        self.world.run("h3", "ip", "link", "set", "e3", "up" if up else "down")
        eventually(lambda: pick(self.switch.show("ports")["ports"], name="p3")["up"] == up,
                   "the link of p3")


def remember(lab):
    """Waits until the file has the table."""
    path = f"/run/weir/{lab.name}.fdb"
    eventually(lambda: os.path.exists(path) and len(open(path).readlines()) >= 2,
               "the addresses are written down")
    return path


def a_link_that_blinks_costs_no_frame_afterwards():
    with World(3) as world:
        lab = Lab(world)
        lab.receiver_link(False)
        time.sleep(0.5)
        lab.receiver_link(True)
        before = lab.hints()
        print(f"        back after {lab.flows_on():.2f} s")
        want(lab.hints() == before, f"lost or flooded with the link up: {before} {lab.hints()}")
        want(lab.sent("p2")[0] == 0, "frames of the lossless class for h2")


def a_switch_that_starts_again_knows_where_its_hosts_were():
    for after in ("kill", "stop"):
        with World(3) as world:
            lab = Lab(world)
            remember(lab)
            if after == "kill":
                lab.kill()
            else:
                want(lab.switch.stop() == 0, "the switch ends in order")
            lab.start()
            print(f"        {after}: back after {lab.flows_on():.2f} s")
            want(lab.hints() == (0, 0), f"lost or flooded after a start: {lab.hints()}")
            want(lab.sent("p2") == [0, 0], f"frames for h2: {lab.sent('p2')}")


def without_its_file_a_probe_finds_the_receiver():
    with World(3) as world:
        lab = Lab(world)
        path = remember(lab)
        lab.kill()
        os.unlink(path)
        lab.start()
        print(f"        back after {lab.flows_on():.2f} s")
        lost, probes = lab.hints()
        want(probes >= 1, "no probe")
        want(lab.sent("p2")[0] == 0 and lab.sent("p2")[1] <= probes, f"flooded: {lab.sent('p2')}")


def a_file_that_is_broken_or_old_does_no_harm():
    with World(3) as world:
        lab = Lab(world)
        path = remember(lab)
        for text, age_s in (("\0" * 5000 + "\n", 0), ("02:00 9 p3\n" * 1000, 0),
                            (open(path).read(), 7200)):
            lab.kill()
            with open(path, "w") as f:
                f.write(text)
            os.utime(path, (time.time() - age_s,) * 2)
            lab.start()
            lab.flows_on()
            want(lab.hints()[1] >= 1, f"an address of {text[:40]!r}, {age_s} s old")
            remember(lab)
        want(glob.glob(path + "*") == [path], f"left: {glob.glob(path + '*')}")


PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([
    a_link_that_blinks_costs_no_frame_afterwards,
    a_switch_that_starts_again_knows_where_its_hosts_were,
    without_its_file_a_probe_finds_the_receiver,
    a_file_that_is_broken_or_old_does_no_harm,
]))
