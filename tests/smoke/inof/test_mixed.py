#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts of two implementations (weir-host and snsd.py) find each other through Weir, and I/O
follows its notices. Order, reasons and counts are judged, no times.

usage: test_mixed.py BUILD_DIR [CASE...]
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import eventually, want # noqa: E402
from routers import PAUSER # noqa: E402: the path is set by live
from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

DISK = "nqn.2026-11.org.example:disk"
INITIATOR, FIRST, SECOND, OTHER = 1, 2, 3, 4
LONG_US = 200_000 # the bridge looks at a known source again after 100 ms
POLICY = """\
switch: {name: %s, lldp: on}
ports:
  - {name: "p[1-4]", device: "xdp:sw[1-4]", speed: 1G, profile: roce}
profiles:
  roce:
    watchdog: {action: drop, detect: 100ms, restore: 200ms}
    classes:
      0: {schedule: {dwrr: 1}}
      3: {lossless: on, schedule: {dwrr: 3}}
inof: on
"""


class Snsd:
    """The Python host on link i."""

    def __init__(self, world, i, role, *args):
        self.process = world.spawn(f"h{i}", f"snsd{i}", sys.executable, "-B",
                                   os.path.join(HERE, "snsd.py"), f"e{i}", "--ip", f"10.0.0.{i}",
                                   "--role", role, "--nqn", f"nqn.2026-11.org.example:host{i}",
                                   *args)

    def steps(self, *events):
        rows = [json.loads(line) for line in self.process.out().splitlines()]
        return [r for r in rows if r["event"] in events]

    def peers(self):
        """The peers that are online, by its log."""
        last = {r["peer"]: r["event"] for r in self.steps("connect", "disconnect")}
        return {peer for peer, event in last.items() if event == "connect"}


def steps(host, step):
    """Such steps of weir-host."""
    return [s for s in host.inof_log() if s["step"] == step]


class Fabric(World):
    """Two targets with one NQN, a host of the other implementation, and the switch between."""

    def __init__(self):
        super().__init__(4)

    def build(self):
        super().build()
        self.switch = Switch(self, PROGRAMS, switch_name(), POLICY % switch_name())
        self.targets = {}
        for i in (FIRST, SECOND):
            self.targets[f"10.0.0.{i}"] = self.host(i, "target", "--nqn", DISK)
            eventually(lambda i=i: f"10.0.0.{i}" in self.online(), f"target {i} is online")

    def online(self):
        return {r["ip"] for r in self.switch.show("inof", "hosts")["hosts"]
                if r["state"] == "online"}

    def online_us(self, ip):
        """How long a host has been online; 0: it is not."""
        row = pick(self.switch.show("inof", "hosts")["hosts"], ip=ip)
        return row["since_us"] if row["state"] == "online" else 0

    def host(self, i, role, *args):
        h = Host(self, PROGRAMS, i, f"host{i}", "--inof", role, *args)
        h.process.wait_line("ready")
        return h

    def initiator(self, *args):
        h = self.host(INITIATOR, "initiator", "--size", "16KiB", "--rate", "100M", *args)
        eventually(lambda: steps(h, "start"), "messages arrive")
        return h

    def other(self, *args):
        host = Snsd(self, OTHER, "initiator", *args)
        eventually(lambda: host.peers() >= {"10.0.0.2", "10.0.0.3"}, "it knows both targets")
        return host

    def cut(self, i):
        """Takes the link of a host down. Both ends see it."""
        self.run(f"h{i}", "ip", "link", "set", f"e{i}", "down")

    def end(self):
        want(self.switch.stop() == 0, f"the balance holds\n{self.switch.process.said()}")


# ---- cases

def io_stops_by_notice_and_goes_on_over_the_second_path():
    with Fabric() as f:
        other = f.other()
        host = f.initiator("--count", "2000", "--qps", "2")
        used = steps(host, "connect")[0]["peer"]
        spare = ({"10.0.0.2", "10.0.0.3"} - {used}).pop()
        f.cut(int(used[-1]))
        eventually(lambda: steps(host, "resume"), "messages go on")
        want(host.process.wait(120) == 0, host.process.said())
        got = json.loads(host.process.out())
        want(got["messages_completed"] == 4000 and got["inof"]["messages_failed"] == 0 and
             got["inof"]["moves"] == 1, f"{got}")
        text = host.process.err()
        [gone] = steps(host, "disconnect")
        want((gone["peer"], gone["reason"], gone["how"]) == (used, "link-down", "path"), text)
        [resumed] = steps(host, "resume")
        want(resumed["peer"] == spare, text)
        eventually(lambda: other.peers() == {spare, "10.0.0.1"} or other.peers() == {spare},
                   "the other implementation knows it, too")
        [lost] = [r for r in other.steps("disconnect") if r["peer"] == used]
        want(lost["reason"] == "link-down" and lost["how"] == "path", f"{lost}")
        print(f"        outage {int(resumed['outage_us']) / 1e3:.1f} ms")
        f.end()


def io_goes_back_to_a_target_whose_cable_was_cut():
    """The switch has forgotten where the target is, and drops lossless frames to unknown
    addresses."""
    with Fabric() as f:
        host = f.initiator()
        used = steps(host, "connect")[0]["peer"]
        spare = ({"10.0.0.2", "10.0.0.3"} - {used}).pop()
        f.cut(int(used[-1]))
        eventually(lambda: len(steps(host, "resume")) == 1, "messages go on")
        f.run(f"h{used[-1]}", "ip", "link", "set", f"e{used[-1]}", "up")
        eventually(lambda: f.online_us(used) > LONG_US, "the target is back")
        f.cut(int(spare[-1]))
        eventually(lambda: len(steps(host, "resume")) == 2, "messages go on at the first target")
        want([s["peer"] for s in steps(host, "resume")] == [spare, used], host.process.err())
        host.process.stop()
        f.end()


def a_target_that_ends_says_goodbye_and_initiators_leave_at_once():
    with Fabric() as f:
        other = f.other()
        host = f.initiator()
        used = steps(host, "connect")[0]["peer"]
        f.targets[used].process.stop()
        eventually(lambda: steps(host, "resume"), "messages go on")
        [gone] = steps(host, "disconnect")
        want((gone["peer"], gone["reason"], gone["how"]) == (used, "aged-out", "forced"),
             host.process.err())
        eventually(lambda: used not in other.peers(), "the other implementation knows it, too")
        want(used not in f.online(), f"{f.switch.show('inof', 'hosts')}")
        host.process.stop()
        f.end()


def the_commands_of_the_page_move_io_to_the_second_path():
    """docs/inof.md, with the links of this lab."""
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), POLICY.replace("[1-4]", "[1-3]") %
                        switch_name())
        for program, *words in page.commands("inof.md", "The host's side"):
            want(program == "weir-host", program)
            i = int(words[words.index("--ip") + 1][-1])
            host = Host(world, PROGRAMS, i, f"host{i}",
                        *[w.replace("xdp:eth", "xdp:e") for w in words]).ready()
        eventually(lambda: steps(host, "start"), "messages arrive")
        used = steps(host, "connect")[0]["peer"]
        eventually(lambda: len({s["peer"] for s in steps(host, "notice")}) == 2, "the second path")
        world.run(f"h{used[-1]}", "ip", "link", "set", f"e{used[-1]}", "down")
        eventually(lambda: steps(host, "resume"), "messages go on")
        host.process.stop()
        want(switch.stop() == 0, f"the balance holds\n{switch.process.said()}")


def a_storm_of_a_target_moves_io_and_is_its_reason():
    with Fabric() as f:
        other = f.other()
        host = f.initiator()
        used = steps(host, "connect")[0]["peer"]
        storm = f.spawn(f"h{used[-1]}", "storm", sys.executable, "-c", PAUSER, f"e{used[-1]}",
                        "3600")
        eventually(lambda: steps(host, "resume"), "messages go on")
        [gone] = steps(host, "disconnect")
        want((gone["peer"], gone["reason"], gone["how"]) == (used, "pfc-storm", "path"),
             host.process.err())
        eventually(lambda: used not in other.peers(), "the other implementation knows it, too")
        want([r["reason"] for r in other.steps("disconnect")] == ["pfc-storm"], other.process.out())
        storm.kill()
        eventually(lambda: [r["peer"] for r in other.steps("connect")].count(used) == 2,
                   "the storm is over")
        host.process.stop()
        f.end()


def a_zone_change_ends_io_by_force():
    with Fabric() as f:
        other = f.other()
        host = f.initiator()
        used = steps(host, "connect")[0]["peer"]
        spare = ({"10.0.0.2", "10.0.0.3"} - {used}).pop()
        f.switch.ctl("inof", "zone", "add", "a", "10.0.0.1", spare)
        eventually(lambda: len(steps(host, "connect")) == 2, "the second path")
        [gone] = steps(host, "disconnect")
        want((gone["peer"], gone["reason"], gone["how"]) == (used, "zone-change", "forced"),
             host.process.err())
        eventually(lambda: spare not in other.peers(), "the other host is in another zone")
        lost = [r for r in other.steps("disconnect") if r["peer"] == spare]
        want([r["how"] for r in lost] == ["forced"], f"{lost}")
        host.process.stop()
        f.end()


def a_notice_without_an_ack_is_repeated_and_delays_no_other_host():
    with Fabric() as f:
        other = f.other("--ack", "never")
        host = f.initiator()
        used = steps(host, "connect")[0]["peer"]
        f.cut(int(used[-1]))
        eventually(lambda: steps(host, "resume"), "messages go on")
        eventually(lambda: len([r for r in other.steps("notice") if r["src"] == used and
                                not r["online"]]) >= 3, "the notice is repeated")
        seqs = {r["seq"] for r in other.steps("notice") if r["src"] == used and not r["online"]}
        want(len(seqs) == 1, f"a repeated notice has its number: {seqs}")
        host.process.stop()
        f.end()


live.need_root()
PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([io_stops_by_notice_and_goes_on_over_the_second_path,
                         the_commands_of_the_page_move_io_to_the_second_path,
                         io_goes_back_to_a_target_whose_cable_was_cut,
                         a_target_that_ends_says_goodbye_and_initiators_leave_at_once,
                         a_storm_of_a_target_moves_io_and_is_its_reason,
                         a_zone_change_ends_io_by_force,
                         a_notice_without_an_ack_is_repeated_and_delays_no_other_host]))
