#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What one host can take from others by iNOF (docs/security.md): it registers addresses of others,
sends forged notices, and floods the switch. Host 4 is hostile; the others go on as before.

usage: test_hostile.py BUILD_DIR [TEST...]
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("ping", "tcpdump")
from test_inof import Agent, PROGRAMS, cut, run # noqa: E402: the path is set by live
from switch import Switch # noqa: E402
from world import World, switch_name # noqa: E402

POLICY = """
switch: {{name: {name}, buffer: {{size: 2MB}}, lldp: on}}
ports:
  - {{name: "p[1-4]", device: "xdp:sw[1-4]", speed: 1G, mtu: 1500}}
inof: {inof}
"""
# What host 4 does, until it is killed. Arguments: the directory of agent.py, and more.
HOSTILE = """\
import socket, struct, sys, time
sys.path.insert(0, sys.argv[1])
from agent import ACK, NOTICE, QUERY, TO_SWITCH, Host, tlv
host = Host('e4', '10.0.0.4', 'initiator', 'nqn.x:4')
host.wait_until_up()
print('ready', flush=True)
"""
REGISTERS = HOSTILE + """\
host.address, host.role = socket.inet_aton(sys.argv[2]), sys.argv[3]
while True:
    host.register()
    time.sleep(0.05)
"""
FLOODS_REGISTRATIONS = HOSTILE + """\
n = 0
while True:
    for i in range(20):
        n += 1
        host.address = socket.inet_aton(f'10.1.{n >> 8 & 255}.{n & 255}' if i % 2 else
                                        f'10.0.0.{n % 8}')
        host.name = f'e4_{n % 500}'
        host.role = 'target' if i % 3 else 'initiator'
        host.register()
    time.sleep(0.01)
"""
FLOODS_NOTICES = HOSTILE + """\
a, b = socket.inet_aton('10.0.0.1'), socket.inet_aton('10.0.0.2')
n = 0
while True:
    for kind in (NOTICE, ACK, QUERY) * 10:
        n += 1
        host.message(tlv(kind, (tlv(1, a) if kind != QUERY else b'') + tlv(2, b) +
                         (tlv(5, struct.pack('>I', n)) if kind != QUERY else b'')))
    time.sleep(0.01)
"""
# A notice that host 1 is offline, as the switch would send it, to host 2 alone and to all; and LLDP
# and LACP to host 2. Each with up to two tags.
FORGES = HOSTILE + """\
notice = tlv(NOTICE, tlv(1, socket.inet_aton('10.0.0.1')) + tlv(2, socket.inet_aton('10.0.0.2')) +
             tlv(5, bytes(4)) + tlv(6, bytes(4)) + tlv(7, struct.pack('>I', 1)) +
             tlv(8, struct.pack('>BBHHB', 1, 1, 0, 4420, 0)))
notice = struct.pack('>BBHI', 1, 0, len(notice), 0) + notice
mac = bytes.fromhex(sys.argv[2].replace(':', ''))
for tags in (b'', bytes.fromhex('81000000'), bytes.fromhex('8100000081000000')):
    for to, kind, payload in ((mac, 0x88a7, notice), (b'\\xff' * 6, 0x88a7, notice),
                              (mac, 0x88cc, bytes(50)), (mac, 0x8809, bytes(50))):
        frame = to + host.mac + tags + struct.pack('>H', kind) + payload
        host.socket.send(frame + bytes(max(0, 60 - len(frame))))
        time.sleep(0.01)
"""
FORGED = 12


def start(world, inof):
    for i in (1, 2, 3, 4):
        world.run(f"h{i}", "ip", "address", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
    switch = Switch(world, PROGRAMS, switch_name(), POLICY.format(name=switch_name(), inof=inof))
    eventually(lambda: all(p["up"] for p in switch.show("ports")["ports"]), "the links are up")
    return switch


def hostile(world, script, *words):
    process = world.spawn("h4", "hostile", sys.executable, "-B", "-c", script, HERE, *words)
    process.wait_line("ready")
    return process


def end(switch):
    want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def mac_of(world, i):
    said = world.run(f"h{i}", "ip", "-j", "link", "show", f"e{i}").stdout
    return json.loads(said)[0]["address"]


def loss(world, i, k):
    """The percentage of pings from host i to host k that got no answer."""
    said = world.run(f"h{i}", "ping", "-c", "20", "-i", "0.1", "-W", "1", f"10.0.0.{k}",
                     check=False).stdout
    return float(re.search(r"([\d.]+)% packet loss", said).group(1))


def reasons(switch, event):
    return {e.get("reason") for e in switch.show("events")["events"] if e["event"] == event}


def dropped(switch, reason):
    return sum(r["packets"] for r in switch.show("drops")["drops"] if r["reason"] == reason)


def port_of(switch, ip):
    rows = {r["ip"]: r for r in switch.show("inof", "hosts")["hosts"]}
    return rows[ip]["port"] if ip in rows else None


def a_station_is_reachable_whatever_host_4_registers():
    """Host 3 is no host of iNOF: a gateway, say."""
    with World(4) as world:
        switch = start(world, "{hard_zoning: on}")
        Agent(world, 1, "initiator")
        want(loss(world, 1, 3) == 0, "before")
        hostile(world, REGISTERS, "10.0.0.3", "initiator")
        eventually(lambda: port_of(switch, "10.0.0.3") == "p4", "host 4 has registered it")
        want(loss(world, 1, 3) == 0, f"meanwhile: {switch.show('drops')['drops']}")
        rows = [e for e in switch.show("events")["events"] if e["event"] == "inof-elsewhere"]
        want(rows and rows[0]["port"] == "p3" and rows[0]["other_port"] == "p4" and
             rows[0]["severity"] == "alarm", f"{rows}")
        with open(switch.path, "w") as f:
            f.write(POLICY.format(name=switch.name,
                                  inof="{hard_zoning: on, hosts: {10.0.0.3: p3}}"))
        switch.ctl("reload")
        eventually(lambda: port_of(switch, "10.0.0.3") is None, "the pin ends it")
        eventually(lambda: "address-pinned" in reasons(switch, "inof-refused"), "and refuses more",
                   seconds=30) # one alarm in ten seconds
        Agent(world, 3, "target")
        eventually(lambda: port_of(switch, "10.0.0.3") == "p3", "the station registers itself")
        end(switch)


def a_target_whose_link_blinks_keeps_its_address():
    with World(4) as world:
        switch = start(world, "{hard_zoning: on}")
        target, initiator = Agent(world, 1, "target"), Agent(world, 2, "initiator")
        eventually(lambda: initiator.last("10.0.0.1") == (True, 0), "the initiator is told")
        hostile(world, REGISTERS, "10.0.0.1", "target")
        eventually(lambda: "address-held" in reasons(switch, "inof-refused"), "it is refused")
        cut(world, 1)
        eventually(lambda: initiator.last("10.0.0.1") == (False, 1), "link down")
        live.time.sleep(1)
        want(port_of(switch, "10.0.0.1") == "p1", "the address is the port's")
        world.run("h1", "ip", "link", "set", "e1", "up")
        target.process.stop()
        Agent(world, 1, "target")
        eventually(lambda: initiator.last("10.0.0.1") == (True, 0), "the target is back")
        want(port_of(switch, "10.0.0.1") == "p1", "at its port")
        want(loss(world, 2, 1) == 0, f"{switch.show('drops')['drops']}")
        end(switch)


def forged_frames_of_the_switch_reach_no_other_host():
    with World(4) as world:
        switch = start(world, "on")
        Agent(world, 1, "target")
        initiator = Agent(world, 2, "initiator")
        eventually(lambda: initiator.last("10.0.0.1") == (True, 0), "the initiator is told")
        dump = world.spawn("h2", "tcpdump", "tcpdump", "-n", "-e", "-l", "-i", "e2", "ether", "src",
                           mac_of(world, 4))
        eventually(lambda: "listening" in dump.err(), "tcpdump listens")
        world.run("h4", sys.executable, "-B", "-c", FORGES, HERE, mac_of(world, 2))
        eventually(lambda: dropped(switch, "link-protocol") == FORGED,
                   f"all are dropped: {switch.show('drops')['drops']}")
        want(loss(world, 4, 2) == 0, "other frames of host 4 arrive")
        want("ICMP" in dump.out() and not re.search("0x88a7|LLDP|Slow|0x8809", dump.out()),
             dump.out())
        want(all(n["online"] for n in initiator.told()), f"{initiator.told()}")
        end(switch)


def flooded(script, counter):
    """While host 4 floods the switch, a target is cut and comes back, and a host registers."""
    with World(4) as world:
        # The first port that registers an address has it, so a host that is not there yet has a
        # pin.
        switch = start(world, "{hosts: {10.0.0.3: p3}}")
        target, first = Agent(world, 1, "target"), Agent(world, 2, "initiator")
        eventually(lambda: first.last("10.0.0.1") == (True, 0), "the first is told")
        process = hostile(world, script)

        def counted():
            return {r["port"]: r for r in switch.show("inof", "ports")["inof_ports"]}["p4"][counter]

        eventually(lambda: counted() > 1000, f"host 4 floods: {counter}")
        for _ in range(3):
            before = counted()
            cut(world, 1)
            eventually(lambda: first.last("10.0.0.1") == (False, 1), "the first is told of a cut")
            world.run("h1", "ip", "link", "set", "e1", "up")
            target.process.stop()
            target = Agent(world, 1, "target")
            eventually(lambda: first.last("10.0.0.1") == (True, 0), "and of the host that is back")
            want(counted() > before, "host 4 floods on")
        second = Agent(world, 3, "initiator")
        eventually(lambda: second.last("10.0.0.1") == (True, 0), "another host finds the target")
        want(all(port_of(switch, f"10.0.0.{i}") == f"p{i}" for i in (1, 2, 3)), "at their ports")
        ports = {r["port"]: r for r in switch.show("inof", "ports")["inof_ports"]}
        want(all(ports[f"p{i}"]["refused"] == 0 for i in (1, 2, 3)), f"{ports}")
        want(process.running(), "host 4 floods to the end")
        end(switch)


def a_flood_of_registrations_takes_nothing_from_others():
    flooded(FLOODS_REGISTRATIONS, "registrations")


def a_flood_of_frames_of_inof_takes_nothing_from_others():
    flooded(FLOODS_NOTICES, "bad_acks")


if __name__ == "__main__":
    sys.exit(live.run_tests([
        a_station_is_reachable_whatever_host_4_registers,
        a_target_whose_link_blinks_keeps_its_address,
        forged_frames_of_the_switch_reach_no_other_host,
        a_flood_of_registrations_takes_nothing_from_others,
        a_flood_of_frames_of_inof_takes_nothing_from_others,
    ]))
