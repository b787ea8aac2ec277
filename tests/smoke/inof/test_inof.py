#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""iNOF on one switch: hosts on veth register by LLDP, are told of each other, of a cut link and of
zones, and acknowledge. The commands of docs/inof.md, and tshark's view of the frames.

usage: test_inof.py BUILD_DIR
"""
import json
import os
import re
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

POLICY = """
switch: {{name: {name}, buffer: {{size: 2MB}}, lldp: on}}
ports:
  - {{name: "p[1-3]", device: "xdp:sw[1-3]", speed: 1G, mtu: 1500}}
inof: {inof}
"""


QUERY_S = 0.5 # an agent that starts registers, and asks at once


class Agent:
    """A host on link i with address 10.0.0.i, or another one."""

    def __init__(self, world, i, role, *words, ip=None):
        self.process = world.spawn(f"h{i}", f"agent{i}", sys.executable, "-B",
                                   os.path.join(HERE, "agent.py"), f"e{i}", ip or f"10.0.0.{i}",
                                   role, *words)
        self.process.wait_line("ready")

    def told(self):
        lines = self.process.out().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def notices(self):
        """Each once: one that was answered late has come again, with its number. The query of an
        agent brings the words anew, if the switch has told them between the two frames."""
        got = list({(n["host"], n["seq"]): n for n in self.told()}.values())

        def repeats(n, earlier):
            return all(n[k] == earlier[k] for k in ("host", "online", "reason")) and \
                n["time"] - earlier["time"] < QUERY_S

        return [n for i, n in enumerate(got) if not any(repeats(n, m) for m in got[:i])]

    def last(self, host):
        """(online, reason) of the last notice about a host."""
        got = [(n["online"], n["reason"]) for n in self.told() if n["host"] == host]
        return got[-1] if got else None


def rows(switch, what):
    return switch.show("inof", what)[{"log": "notices", "ports": "inof_ports"}.get(what, what)]


def refused(switch, *words):
    return run(PROGRAMS.weirctl, "-s", switch.name, "inof", "zone", *words, check=False).stderr


def cut(world, i):
    world.run(f"h{i}", "ip", "link", "set", f"e{i}", "down")


def start(world, inof="on"):
    return Switch(world, PROGRAMS, switch_name(), POLICY.format(name=switch_name(), inof=inof))


def end(switch):
    want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def hosts_are_told_of_each_other_and_of_a_cut_link():
    with World(3) as world:
        switch = start(world)
        target = Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        first, second = (Agent(world, i, "initiator") for i in (2, 3))
        eventually(lambda: first.last("10.0.0.1") == (True, 0), "the first is told")
        eventually(lambda: second.last("10.0.0.1") == (True, 0), "the second is told")
        eventually(lambda: target.last("10.0.0.3") == (True, 0), "the target is told")
        want(first.told()[0] | {"time": 0, "seq": ""} ==
             {"time": 0, "seq": "", "host": "10.0.0.1", "online": True, "reason": 0, "role": 1,
              "port": 4420, "nqn": "nqn.2014-08.org:disk1"}, f"{first.told()}")
        got = {r["ip"]: r for r in rows(switch, "hosts")}
        want(got["10.0.0.1"]["port"] == "p1" and got["10.0.0.1"]["state"] == "online", f"{got}")
        want(got["10.0.0.2"]["zones"] == ["default"], f"{got}")
        want(switch.show("lldp")["lldp"] == [], "agents are no LLDP neighbours")
        cut(world, 1)
        eventually(lambda: first.last("10.0.0.1") == (False, 1), "link down, to the first")
        eventually(lambda: second.last("10.0.0.1") == (False, 1), "link down, to the second")
        eventually(lambda: len([r for r in rows(switch, "log") if r["reason"] == "link-down" and
                                r["answered_us"] is not None]) == 2, "both have acknowledged")
        log = [r for r in rows(switch, "log") if r["reason"] == "link-down"]
        want(sorted(r["receiver"] for r in log) == ["10.0.0.2", "10.0.0.3"], f"{log}")
        want({r["about"] for r in log} == {"10.0.0.1"}, f"{log}")
        ports = {r["port"]: r for r in rows(switch, "ports")}
        # An answer that crosses the query on the wire is of a notice that the query has ended.
        want(ports["p2"]["bad_acks"] <= ports["p2"]["queries"] and ports["p2"]["acks"] >= 2,
             f"{ports}")
        want("link-down" in switch.ctl("show", "inof", "log"), "the table")
        last = json.loads(switch.ctl("show", "inof", "log", "--count", "1", "--json"))["notices"]
        want([r["sequence"] for r in last] == [rows(switch, "log")[-1]["sequence"]], f"{last}")
        events = switch.show("events")["events"]
        gone = [e for e in events if e["event"] == "inof-host-gone"]
        want([(e["ip"], e["reason"]) for e in gone] == [("10.0.0.1", "link-down")], f"{gone}")
        world.run("h1", "ip", "link", "set", "e1", "up")
        target.process.stop()
        target = Agent(world, 1, "target")
        eventually(lambda: first.last("10.0.0.1") == (True, 0), "the target is back")
        end(switch)


def registrations_in_a_burst_are_all_taken():
    """An interface with 64 addresses: an agent sends all registrations at once."""
    burst = ("import sys; sys.path.insert(0, sys.argv[1]); from agent import Host\n"
             "hosts = [Host('e1', f'10.0.1.{i}', 'target', 'nqn.' + 60 * 'x') for i in range(64)]\n"
             "for i, h in enumerate(hosts): h.name = f'e1_{i}'\n"
             "for h in hosts: h.register()\n")
    with World(3) as world:
        switch = start(world)
        eventually(lambda: switch.show("ports")["ports"][0]["up"], "the link is up")
        world.run("h1", sys.executable, "-B", "-c", burst, HERE)
        eventually(lambda: len(rows(switch, "hosts")) == 64, "64 hosts")
        ports = {r["port"]: r for r in rows(switch, "ports")}
        want(ports["p1"]["registrations"] == 64, f"{ports}")
        end(switch)


def zones_change_while_the_switch_runs():
    with World(3) as world:
        switch = start(world)
        Agent(world, 1, "target")
        first, second = (Agent(world, i, "initiator") for i in (2, 3))
        for agent in (first, second):
            eventually(lambda: agent.last("10.0.0.1") == (True, 0), "plug and play") # noqa: B023
        said = switch.ctl("inof", "zone", "add", "db", "10.0.0.1", "10.0.0.2").splitlines()
        want(said[1:] == ["10.0.0.3 no longer finds 10.0.0.1"], f"{said}")
        eventually(lambda: second.last("10.0.0.1") == (False, 4), "the second is in another zone")
        want(len(first.notices()) == 1, f"for the first nothing has changed: {first.told()}")
        got = {r["zone"]: r for r in rows(switch, "zones")}
        want(got["db"]["ips"] == ["10.0.0.1", "10.0.0.2"], f"{got}")
        want(got["db"]["from"] == "weirctl", f"{got}")
        want(got["default"]["ips"] == ["10.0.0.3"], f"{got}")
        # The policy has a zone of the name now, with another member.
        with open(switch.path, "w") as f:
            f.write(POLICY.format(name=switch.name,
                                  inof="{zones: {db: {members: [p1, 10.0.0.3]}}}"))
        switch.ctl("reload")
        eventually(lambda: second.last("10.0.0.1") == (True, 4), "the second is in the zone")
        eventually(lambda: first.last("10.0.0.1") == (False, 4), "the first is not")
        want("zone db is the policy's" in refused(switch, "add", "db", "10.0.0.2"), "the cure")
        want("write its first address" in refused(switch, "add", "x", "10.0.0.1/8"), "the cure")
        want("no zone y was added" in refused(switch, "remove", "y"), "the cure")
        end(switch)


def reaches(world, i, k):
    return world.run(f"h{i}", "ping", "-c", "1", "-W", "1", f"10.0.0.{k}",
                     check=False).returncode == 0


def zone_drops(switch):
    return sum(r["packets"] for r in switch.show("drops")["drops"] if r["reason"] == "zone")


def hard_zoning_stops_frames_between_zones_and_within_a_role():
    with World(3) as world:
        for i in (1, 2, 3):
            world.run(f"h{i}", "ip", "address", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
        switch = start(world, "{hard_zoning: on}")
        Agent(world, 1, "target")
        first, second = (Agent(world, i, "initiator") for i in (2, 3))
        for agent in (first, second):
            eventually(lambda: agent.last("10.0.0.1") == (True, 0), "plug and play") # noqa: B023
        want(reaches(world, 2, 1) and reaches(world, 3, 1), "initiators reach the target")
        want(zone_drops(switch) == 0, "and nothing is dropped")
        want(not reaches(world, 2, 3), "an initiator does not reach an initiator")
        want(zone_drops(switch) == 1, "by the reason zone")
        want("weirctl inof zone add" in switch.ctl("show", "drops", "--explain"), "the cure")
        switch.ctl("inof", "zone", "add", "db", "10.0.0.1", "10.0.0.2")
        eventually(lambda: second.last("10.0.0.1") == (False, 4), "the second is in another zone")
        want(not reaches(world, 3, 1), "and does not reach the target")
        want(reaches(world, 2, 1), "which the first does")
        with open(switch.path, "w") as f:
            f.write(POLICY.format(name=switch.name, inof="on"))
        switch.ctl("reload")
        eventually(lambda: reaches(world, 2, 3), "off: hosts are not restricted")
        want(reaches(world, 3, 1), "all of them")
        end(switch)


def a_host_that_never_acknowledges_is_told_again_and_named():
    with World(3) as world:
        switch = start(world)
        Agent(world, 1, "target")
        silent = Agent(world, 2, "initiator", "--silent")
        eventually(lambda: "inof-silent" in switch.ctl("show", "events"), "the event")
        eventually(lambda: len(silent.told()) >= 6, "the host has got it six times")
        got = {r["ip"]: r["told"] for r in rows(switch, "hosts")}
        want(got == {"10.0.0.1": "yes", "10.0.0.2": "silent"}, f"{got}")
        end(switch)


def frames_are_well_formed_to_tshark():
    with World(3) as world:
        path = os.path.join(world.logs, "inof.pcap")
        dump = world.spawn("h2", "tcpdump", "tcpdump", "-i", "e2", "-U", "-w", path, "-c", "6",
                           "ether", "proto", "0x88a7", "or", "ether", "proto", "0x88cc")
        eventually(lambda: os.path.exists(path), "tcpdump listens")
        switch = start(world)
        Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        agent = Agent(world, 2, "initiator")
        eventually(lambda: agent.last("10.0.0.1"), "a notice")
        cut(world, 1)
        eventually(lambda: not dump.running(), "six frames", seconds=60)
        text = run("tshark", "-n", "-r", path, "-V").stdout
        want("alformed" not in text, text)
        want("Organization Unique Code: 00:18:82" in text, text)
        payloads = [bytes.fromhex(p) for p in
                    run("tshark", "-n", "-r", path, "-Y", "eth.type == 0x88a7", "-T", "fields",
                        "-e", "data.data").stdout.split()]
        notices = [p for p in payloads if p[8] == 0x21]
        want(notices and all(p[0] in (0, 1) and p[1] == 0 and p[4:8] == bytes(4) for p in notices),
             f"{payloads}")
        end(switch)


COMMAND = re.compile(r"(?m)^    ((?:weir|weirctl) .*)$")


def the_commands_of_the_page_work():
    with open(os.path.join(live.ROOT, "docs", "inof.md")) as f:
        commands = [shlex.split(c) for c in COMMAND.findall(f.read())]
    want(len(commands) == 9, f"{commands}")
    with World(3) as world:
        said = []
        for program, *words in commands:
            if program == "weir":
                switch = world.spawn("sw", "weir", PROGRAMS.weir, "-c",
                                     os.path.join(live.ROOT, words[1]))
                switch.wait_line("ready")
                agents = [Agent(world, i, role) for i, role in
                          enumerate(("target", "initiator", "initiator"), 1)]
                eventually(lambda: agents[2].last("10.0.0.1"), "the last host is told")
            else:
                said.append(run(PROGRAMS.weirctl, "-s", "sw1", *words).stdout)
        want(re.search(r"(?m)^ *HOST +PORT +ROLE +STATE +REASON +SINCE", said[0]), said[0])
        want(re.search(r"(?m)^10.0.0.1 +p1 +target +online +none ", said[0]), said[0])
        want(re.search(r"(?m)^default +switch ", said[1]), said[1])
        want(re.search(r"(?m)^ *AGO +RECEIVER +PORT +ABOUT +STATE +REASON", said[2]), said[2])
        want(re.search(r"(?m)^ *PORT +REGISTERED +NOTICES", said[3]), said[3])
        want(switch.stop() == 0, switch.said())


live.need_root("ping", "tcpdump", "tshark")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, run, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
if __name__ == "__main__":
    sys.exit(live.run_tests([
        hosts_are_told_of_each_other_and_of_a_cut_link,
        registrations_in_a_burst_are_all_taken,
        zones_change_while_the_switch_runs,
        hard_zoning_stops_frames_between_zones_and_within_a_role,
        a_host_that_never_acknowledges_is_told_again_and_named,
        frames_are_well_formed_to_tshark,
        the_commands_of_the_page_work,
    ]))
