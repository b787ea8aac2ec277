#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Devices of a running switch are deleted and made again, are made late, or are not fit for use.

usage: test_hotplug.py BUILD_DIR [CASE...]

WEIR_FLAPS (default 100) says how often the device of the last case is deleted and made again.
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live  # noqa: E402
from live import eventually, want # noqa: E402

live.need_root()
from switch import Programs, Switch, quiet, pick  # noqa: E402: the path is set by live
from world import World, switch_name  # noqa: E402

FLAPS = int(os.environ.get("WEIR_FLAPS", "100"))
BRIDGED = """\
switch: {name: %(name)s, buffer: {size: 1500KB}}
ports:
  - {name: p1, device: "xdp:sw1", speed: 1G}
  - {name: p2, device: "xdp:sw2", speed: 1G}
  - {name: p3, device: "xdp:sw3", speed: 1G%(more)s}
profiles:
  default:
    classes: {3: {lossless: true, ingress: {static: 20KB}}}
"""
AUTO_ECN = """\
switch: {name: %(name)s, buffer: {size: 1500KB}}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 1G}
profiles:
  default:
    classes: {3: {lossless: true, ecn: {mode: auto, floor: %(more)s}}}
"""
ROUTED = """\
switch: {name: %(name)s, buffer: {size: 1500KB}}
ports:
  - {name: p1, device: "xdp:sw1", speed: 1G, ip: [10.1.0.254/24]}
  - {name: p3, device: "xdp:sw3", speed: 1G, ip: [10.3.0.254/24]}
"""


class Weir(Switch):
    """`weir` on sw1 to sw3, and the hosts' addresses."""

    def __init__(self, world, policy, more="", args=(), ready=True):
        self.world, self.programs, self.name = world, PROGRAMS, switch_name()
        self.path = os.path.join(world.logs, "policy.yaml")
        with open(self.path, "w") as f:
            f.write(quiet(policy % {"name": self.name, "more": more}))
        self.process = world.spawn("sw", "weir", PROGRAMS.weir, "-c", self.path, *args)
        if ready:
            self.process.wait_line("ready")

    def events(self, name):
        return [e for e in self.show("events")["events"] if e["event"] == name]

    def port(self, name):
        return pick(self.show("ports")["ports"], name=name)

    def delete(self, i):
        self.world.run("sw", "ip", "link", "del", f"sw{i}")

    def make(self, i):
        self.world.link(i)
        address(self.world, i)

    def back(self, times=1):
        eventually(lambda: len(self.events("interface-back")) == times and self.port("p3")["up"],
                   f"the port is back {times} times")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.p.pid}/fd"))

    def threads(self):
        names = []
        for task in os.listdir(f"/proc/{self.process.p.pid}/task"):
            with open(f"/proc/{self.process.p.pid}/task/{task}/comm") as f:
                names.append(f.read().strip())
        return names

    def memory_kb(self):
        with open(f"/proc/{self.process.p.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def address(world, i, net=0):
    world.run(f"h{i}", "ip", "addr", "add", f"10.{net}.0.{i}/24", "dev", f"e{i}")


def addresses(world):
    for i in range(1, world.n_hosts + 1):
        address(world, i)


def pings(world, a, to, n=3, every=0.05):
    return world.spawn(f"h{a}", f"ping{a}", "ping", "-q", "-c", str(n), "-i", str(every), "-W", "1",
                       to)


def lost(ping, seconds=60):
    ping.wait(seconds)
    sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", ping.out()).groups()
    return int(sent) - int(received)


def a_device_that_is_made_again_forwards_again():
    with World(3) as world:
        addresses(world)
        sw = Weir(world, BRIDGED)
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3")
        # Before weirctl asks: its connection is a file, too, and may stay for a moment.
        files, before = sw.descriptors(), sw.port("p3")
        others = pings(world, 1, "10.0.0.2", 400, 0.01)
        sw.delete(3)
        eventually(lambda: sw.events("interface-gone"), "the event")
        want("no device" in sw.ctl("show", "ports", "p3"), sw.ctl("show", "ports", "p3"))
        want("p3   no-dev" in sw.ctl("watch", "--count", "1"), sw.ctl("watch", "--count", "1"))
        want(sw.port("p3")["no_device"] and not sw.port("p2")["no_device"], f"{sw.port('p3')}")
        sw.ctl("reload", sw.path) # while there is no device
        sw.make(3)
        sw.back()
        want("no device" not in sw.ctl("show", "ports", "p3"), sw.ctl("show", "ports", "p3"))
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3 again")
        want(lost(others) == 0, "pings between other hosts are lost")
        eventually(lambda: sw.descriptors() == files, f"as many files are open as before: {files}")
        after = sw.port("p3")
        for key in ("rx_packets", "tx_packets", "rx_missed", "tx_errors", "rx_to_kernel"):
            want(after[key] >= before[key], f"{key} goes from {before[key]} to {after[key]}")
        want(sw.stop() == 0, sw.process.said())


def mac_of(world, i):
    with_link = world.run("sw", "ip", "-j", "link", "show", f"sw{i}").stdout
    return json.loads(with_link)[0]["address"]


def a_routed_port_has_the_mac_address_of_the_new_device():
    with World(3) as world:
        sw = Weir(world, ROUTED)
        for i in (1, 3):
            address(world, i, i)
            world.run(f"h{i}", "ip", "route", "add", "default", "via", f"10.{i}.0.254")
        eventually(lambda: lost(pings(world, 1, "10.3.0.3")) == 0, "h1 reaches h3")
        old = mac_of(world, 3)
        sw.delete(3)
        eventually(lambda: sw.events("interface-gone"), "the event")
        world.link(3)
        address(world, 3, 3)
        world.run("h3", "ip", "route", "add", "default", "via", "10.3.0.254")
        want(mac_of(world, 3) != old, "the new device has a MAC address of its own")
        sw.back()
        eventually(lambda: lost(pings(world, 1, "10.3.0.3")) == 0, "h1 reaches h3 again")
        near = json.loads(world.run("h3", "ip", "-j", "neigh", "show", "10.3.0.254").stdout)
        want(near[0]["lladdr"] == mac_of(world, 3), f"{near}")
        want(sw.stop() == 0, sw.process.said())


def auto_ecn_keeps_the_thresholds_of_a_queue_without_a_device():
    with World(3) as world:
        sw = Weir(world, AUTO_ECN, "40KB")

        def state():
            auto = {r["port"]: (r["mode"], r["kmin_bytes"])
                    for r in sw.show("ecn-auto")["ecn_auto"]}
            return auto, {r["port"]: r["kmin_bytes"] for r in sw.show("ecn")["ecn"]
                          if r["queue"] == 3}
        before = state()
        want(before == ({p: ("start", 40000) for p in ("p1", "p2", "p3")},
                        {p: 40000 for p in ("p1", "p2", "p3")}), f"{before}")
        sw.delete(3)
        eventually(lambda: sw.events("interface-gone"), "the event")
        want(state() == before, f"without the device: {state()}")
        want(sw.ctl("show", "ecn", "auto").count("p3") == 1, "the table has the port")
        sw.ctl("reload", sw.path) # while there is no device
        want(state() == before, f"after a reload without the device: {state()}")
        sw.make(3)
        sw.back()
        want(state() == before, f"with the next device: {state()}")
        want(sw.events("ecn-auto") == [], f"{sw.events('ecn-auto')}")
        want(sw.stop() == 0, sw.process.said())


def a_device_that_is_not_fit_is_said_once_and_tried_again():
    with World(3) as world:
        addresses(world)
        sw = Weir(world, BRIDGED)
        sw.delete(3)
        eventually(lambda: sw.events("interface-gone"), "the event")
        world.mtu = 1400
        sw.make(3)
        eventually(lambda: sw.events("interface-refused"), "the event")
        time.sleep(2)
        want(len(sw.events("interface-refused")) == 1, f"{sw.events('interface-refused')}")
        said = [line for line in sw.process.err().splitlines() if "mtu 1500" in line]
        want(len(said) == 1 and "port p3: sw3: its MTU is 1400" in said[0], f"{said}")
        world.run("sw", "ip", "link", "set", "sw3", "down")
        eventually(lambda: len(sw.events("interface-refused")) == 2, "it is down")
        want("ip link set dev sw3 up" in sw.process.err(), sw.process.said())
        world.run("sw", "ip", "link", "set", "sw3", "mtu", "1500", "up")
        sw.back()
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3 again")
        want(sw.stop() == 0, sw.process.said())


def an_optional_device_may_be_made_after_the_start():
    with World(3) as world:
        addresses(world)
        world.run("sw", "ip", "link", "del", "sw3")
        sw = Weir(world, BRIDGED, ready=False)
        want(sw.process.wait(20) == 1, "weir does not start")
        for word in ("sw3: no such interface", "`optional: on`", "`weir --wait SECONDS`"):
            want(word in sw.process.err(), f"{word} is not in\n{sw.process.said()}")
        sw = Weir(world, BRIDGED, ", optional: on")
        want("p3 note: xdp:sw3 does not exist" in sw.process.out(), sw.process.said())
        want(sw.port("p3")["no_device"] and sw.events("interface-gone") == [], "no alarm")
        want(lost(pings(world, 1, "10.0.0.2")) == 0, "h1 reaches h2")
        sw.make(3)
        sw.back()
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3")
        want(sw.stop() == 0, sw.process.said())


def a_device_that_visits_another_namespace_comes_back():
    with World(3) as world:
        addresses(world)
        sw = Weir(world, BRIDGED)
        world.run("sw", "ip", "link", "set", "sw3", "netns", world.ns("h2"))
        eventually(lambda: sw.events("interface-gone"), "the event")
        eventually(lambda: "prog/xdp" not in world.run("h2", "ip", "link", "show", "sw3").stdout,
                   "the program is off the device")
        world.run("h2", "ip", "link", "set", "sw3", "netns", world.ns("sw"))
        world.run("sw", "ip", "link", "set", "sw3", "up")
        sw.back()
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3 again")
        want(sw.stop() == 0, sw.process.said())


def weir_waits_for_a_device():
    with World(3) as world:
        addresses(world)
        world.run("sw", "ip", "link", "del", "sw3")
        sw = Weir(world, BRIDGED, args=("--wait", "30"), ready=False)
        sw.process.wait_line("waiting for xdp:sw3")
        time.sleep(0.5)
        want(sw.process.running(), "it waits")
        # A card that comes may need EAL in another mode.
        want("eal-intr-thread" not in sw.threads(), f"EAL has started: {sw.threads()}")
        sw.make(3)
        sw.process.wait_line("ready")
        want("eal-intr-thread" in sw.threads(), f"{sw.threads()}")
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3")
        want(sw.stop() == 0, sw.process.said())


# The pool has frames for nine receive rings more than the ports have: a device that kept its frames
# could not come back ten times.
def a_device_that_flaps_leaks_nothing():
    with World(3) as world:
        addresses(world)
        sw = Weir(world, BRIDGED)
        before = None
        others = pings(world, 1, "10.0.0.2", 100000, 0.01)
        floods = world.spawn("h2", "flood", "ping", "-q", "-f", "-s", "1000", "10.0.0.3")
        returned = 0
        for n in range(FLAPS):
            if n == FLAPS // 2 // 6 * 6: # after it came back, with all memory touched that will be
                time.sleep(1) # the event may be that of the device before, which was deleted
                eventually(lambda: sw.port("p3")["up"], "the port is up")
                before = (sw.descriptors(), sw.memory_kb())
            sw.delete(3)
            if n % 3 == 0:
                sw.ctl("reload", sw.path)
            sw.make(3)
            if n % 2 == 1: # the other half is deleted again while it is taken back, or before
                eventually(lambda: len(sw.events("interface-back")) > returned, "it is back", 30)
                returned = len(sw.events("interface-back"))
        eventually(lambda: sw.port("p3")["up"], "the port is up")
        floods.kill()
        want(lost(pings(world, 1, "10.0.0.3")) == 0, "h1 reaches h3")
        others.stop(2)
        want(lost(others) == 0, "pings between other hosts are lost")
        eventually(lambda: sw.descriptors() <= before[0], "no more files are open than before")
        grown = sw.memory_kb() - before[1]
        print(f"        {FLAPS} times, back {returned} times; {grown} KB more", flush=True)
        want(grown < 4096, f"{grown} KB of memory more")
        want(sw.stop() == 0, sw.process.said())


PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([
    a_device_that_is_made_again_forwards_again,
    a_routed_port_has_the_mac_address_of_the_new_device,
    auto_ecn_keeps_the_thresholds_of_a_queue_without_a_device,
    a_device_that_is_not_fit_is_said_once_and_tried_again,
    an_optional_device_may_be_made_after_the_start,
    a_device_that_visits_another_namespace_comes_back,
    weir_waits_for_a_device,
    a_device_that_flaps_leaks_nothing,
]))
