#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two cables from the switch to one Linux bridge: with STP one of them blocks, without STP loop
detection takes a port down, also where the other way is a VXLAN tunnel. A forged probe does
nothing. A thief of addresses who also broadcasts takes nothing from a flow of others. A flood of
ARP on one routed port leaves the next hops of another port alone.

usage: test_loops.py BUILD_DIR [TEST...]
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402
from hosts import ping # noqa: E402

BRIDGED = """\
switch: {name: %s, buffer: {size: 8MB}}
ports:
  - {name: "p[1-4]", device: "xdp:sw[1-4]", speed: 1G%s}
"""
ROUTED = """\
switch: {name: %s, buffer: {size: 8MB}}
ports:
  - {name: "p[3-4]", device: "xdp:sw[3-4]", speed: 1G, ip: "10.[3-4].0.254/16"}
routes: [%s]
"""
TUNNEL = """\
switch: {name: %s, buffer: {size: 8MB}}
vlans: [{id: 100}]
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 1G, mtu: 1500, vlan: {untagged: 100}%s}
  - {name: p3, device: "xdp:sw3", speed: 1G, mtu: 1600, ip: 10.0.3.254/24}
  - {name: p4, device: "xdp:sw4", speed: 1G, mtu: 1500, vlan: {untagged: 100}}
vxlan: {source: 10.0.3.254, vnis: {7: {vlan: 100, peers: 10.0.3.3}}}
"""
ALARM = ", loop_detect: on"
PORT_DOWN = ", loop_detect: {action: port_down, recover: 5s}"
MARK = b"weir"
BROADCASTS = 100 # a second
ROUNDS = 3 # a nonce holds for two
NEXT_HOPS, STATIONS = 24, 9000

# Runs in a host's namespace. Sends frames given as hex lines.
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for line in sys.stdin:
    s.send(bytes.fromhex(line))
"""

# Sends the frames of standard input in turn, n in all, at most pps a second. The sender makes no
# burst when it is late, because a burst overruns the receive ring of the switch.
PACED = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
frames, pps, n = [bytes.fromhex(line) for line in sys.stdin], int(sys.argv[2]), int(sys.argv[3])
burst = max(1, pps // 100)
for i in range(0, n, burst):
    began = time.monotonic()
    for k in range(i, min(i + burst, n)):
        s.send(frames[k % len(frames)])
    time.sleep(max(0, burst / pps - (time.monotonic() - began)))
"""


def send(world, host, device, frames):
    subprocess.run(world.inside(host, sys.executable, "-c", SEND, device), check=True, text=True,
                   input="\n".join(f.hex() for f in frames))


def arp(last, target=b"\x0a\x03\x00\xfe"):
    """A question from station `last` of 10.3.0.0/16."""
    station = last.to_bytes(2, "big")
    mac, ip = b"\x02\x00\x00\x03" + station, b"\x0a\x03" + station
    body = bytes.fromhex("00010800060400 01".replace(" ", "")) + mac + ip + bytes(6) + target
    return (b"\xff" * 6 + mac + b"\x08\x06" + body).ljust(60, b"\0")


def ports(switch):
    return {p["name"]: p for p in switch.show("ports")["ports"]}


def events(switch, name):
    return [e for e in switch.show("events")["events"] if e["event"] == name]


def hint(switch, port, key):
    return [h[key] for h in switch.show("hints")["hints"] if h["port"] == port][0]


def two_cables(world, stp):
    """e1 and e2 become ports of one bridge in h1."""
    world.run("h2", "ip", "link", "set", "e2", "netns", world.ns("h1"))
    world.run("h1", "ip", "link", "add", "br0", "type", "bridge", "stp_state", str(stp),
              "forward_delay", "200" if stp else "0", "hello_time", "100")
    for dev in ("e1", "e2", "br0"):
        if dev != "br0":
            world.run("h1", "ip", "link", "set", dev, "master", "br0")
        world.run("h1", "ip", "link", "set", dev, "up")


def states(world):
    out = world.run("h1", "bridge", "link", "show").stdout
    return sorted(line.split(" state ")[1].split()[0] for line in out.splitlines())


def frames_at(switch):
    """Frames that the switch has received at the two cables."""
    return sum(p["rx_packets"] for n, p in ports(switch).items() if n in ("p1", "p2"))


def frames_in(switch, seconds):
    before = frames_at(switch)
    time.sleep(seconds)
    return frames_at(switch) - before


def stp_finds_the_loop_through_the_switch():
    with World(4) as world:
        switch = Switch(world, PROGRAMS, switch_name(), BRIDGED % (switch_name(), ""))
        two_cables(world, stp=1)
        eventually(lambda: states(world) == ["blocking", "forwarding"],
                   f"one of the two cables blocks: {states(world)}")
        time.sleep(5) # twice forward_delay and more: a port that hears nothing forwards by now
        want(states(world) == ["blocking", "forwarding"], f"and stays so: {states(world)}")
        send(world, "h3", "e3", [arp(1)])
        n = frames_in(switch, 1) # a loop has thousands
        want(n < 50, f"one ARP broadcast does not circulate: {n} frames came back")
        want(switch.stop() == 0, switch.process.said())


def a_probe_that_comes_back_is_an_alarm_and_takes_the_port_down():
    with World(4) as world:
        switch = Switch(world, PROGRAMS, switch_name(), BRIDGED % (switch_name(), ALARM))
        two_cables(world, stp=0)
        eventually(lambda: events(switch, "loop-detected"), "the alarm")
        e = events(switch, "loop-detected")[0]
        want({e["port"], e["sent_by"]} == {"p1", "p2"} and e["severity"] == "alarm", f"{e}")
        had = frames_at(switch)
        send(world, "h3", "e3", [arp(1)])
        eventually(lambda: frames_at(switch) > had + 1000, "the alarm alone leaves the storm")
        with open(switch.path, "w") as f:
            f.write(BRIDGED % (switch_name(), PORT_DOWN))
        switch.ctl("reload")
        eventually(lambda: ports(switch)["p2"]["loop_down"], "p2 is taken down")
        want(ports(switch)["p1"]["up"] and not ports(switch)["p2"]["up"], "p2 alone")
        eventually(lambda: frames_in(switch, 1) < 50, "the storm ends")
        world.run("h1", "ip", "link", "set", "e2", "nomaster")
        eventually(lambda: ports(switch)["p2"]["up"], "p2 comes up when the loop has gone")
        want(switch.stop() == 0, switch.process.said())


def peer_with_a_cable(world):
    """e1 and the tunnel become ports of one bridge in h3."""
    world.run("h1", "ip", "link", "set", "e1", "netns", world.ns("h3"))
    for words in ("addr add 10.0.3.3/24 dev e3",
                  "link add vx7 type vxlan id 7 local 10.0.3.3 remote 10.0.3.254 dstport 4789 "
                  "dev e3",
                  "link add br0 type bridge forward_delay 0",
                  "link set e1 master br0", "link set vx7 master br0",
                  "link set e1 up", "link set vx7 up", "link set br0 up"):
        world.run("h3", "ip", *words.split())


def a_loop_through_a_tunnel_takes_the_port_down_and_others_go_on():
    with World(4, mtu=1600) as world:
        for i in (2, 4):
            world.run(f"h{i}", "ip", "addr", "add", f"192.168.0.{i}/24", "dev", f"e{i}")
        switch = Switch(world, PROGRAMS, switch_name(), TUNNEL % (switch_name(), ALARM))
        peer_with_a_cable(world)
        eventually(lambda: events(switch, "loop-detected"), "the alarm")
        e = events(switch, "loop-detected")[0]
        want((e["port"], e["sent_by"], e["vlan"]) == ("p3", "p1", 100), f"{e}")
        had = frames_at(switch)
        send(world, "h2", "e2", [arp(1)])
        eventually(lambda: frames_at(switch) > had + 1000, "the alarm alone leaves the storm")
        with open(switch.path, "w") as f:
            f.write(TUNNEL % (switch_name(), PORT_DOWN))
        switch.ctl("reload")
        eventually(lambda: ports(switch)["p1"]["loop_down"], "p1 is taken down")
        want(all(p["up"] for n, p in ports(switch).items() if n != "p1"), "p1 alone")
        eventually(lambda: frames_in(switch, 1) < 50, "the storm ends")
        want(ping(world, "h2", "192.168.0.4") == 5, "the stations of the VLAN are as before")
        world.run("h3", "ip", "link", "set", "e1", "nomaster")
        eventually(lambda: ports(switch)["p1"]["up"], "p1 comes up when the loop has gone")
        want(switch.stop() == 0, switch.process.said())


def probe_of_old(world):
    """A probe that e3 has heard, and after it as many that its nonce does not hold any more."""
    path = os.path.join(world.logs, "probes.pcap")
    dump = world.spawn("h3", "tcpdump", "tcpdump", "-i", "e3", "-w", path, "-U", "-Z", "root")

    def data():
        with open(path, "rb") as f:
            return f.read()
    eventually(lambda: "listening on" in dump.err(), "tcpdump listens")
    eventually(lambda: data().count(MARK) > ROUNDS, f"more than {ROUNDS} probes")
    dump.stop()
    out = subprocess.run(["tshark", "-n", "-r", path, "-Y", "loop", "-T", "fields", "-e",
                          "loop.function", "-e", "_ws.malformed", "-e", "_ws.expert.message",
                          "-e", "eth.dst"], capture_output=True, text=True, check=True).stdout
    want(out.splitlines()[:2] == ["1\t\t\tcf:00:00:00:00:00"] * 2, f"tshark says: {out}")
    at = data().index(MARK) - 6 - 14
    return data()[at:at + 60]


def a_forged_probe_takes_no_port_down():
    with World(4) as world:
        switch = Switch(world, PROGRAMS, switch_name(), BRIDGED % (switch_name(), PORT_DOWN))
        heard = probe_of_old(world)
        for port in range(4): # byte 25 is the port; the nonce is that of p3
            send(world, "h3", "e3", [heard[:25] + bytes([port]) + heard[26:]])
        eventually(lambda: hint(switch, "p3", "loop_forged") == 4, "all four count as forged")
        want(all(p["up"] for p in ports(switch).values()), "and all ports are up")
        want(not events(switch, "loop-detected"), "without an alarm")
        want(switch.stop() == 0, switch.process.said())


def a_flood_of_arp_leaves_the_next_hops_of_another_port():
    with World(4) as world:
        hops = [f"10.4.0.{i + 1}" for i in range(NEXT_HOPS)]
        for ip in hops:
            world.run("h4", "ip", "addr", "add", f"{ip}/16", "dev", "e4")
        switch = Switch(world, PROGRAMS, switch_name(), ROUTED % (switch_name(), ""))

        def route(n):
            with open(switch.path, "w") as f:
                f.write(quiet(ROUTED % (switch_name(), ", ".join(
                    f"{{to: 10.9.{i}.0/24, via: {hops[i]}}}" for i in range(n)))))
            switch.ctl("reload")
            eventually(lambda: len(states()) == n and all_known(), f"{n} next hops: {states()}")

        def states():
            return [r["state"] for r in switch.show("routes")["routes"] if "via" in r]

        def all_known():
            return set(states()) <= {"reachable", "stale"}
        flood = paced(world, 3, [arp(256 + i) for i in range(STATIONS)], 10000, 1 << 40)
        eventually(lambda: hint(switch, "p3", "copp_dropped") > 0, "the flood is dropped at p3")
        for n in range(3, NEXT_HOPS + 1, 3):
            route(n)
        eventually(lambda: hint(switch, "p3", "copp_dropped") > 10000, "the flood goes on")
        want(all_known(), f"the next hops are {states()}")
        want(not events(switch, "next-hop-lost"), "no next hop was ever lost")
        want([e["port"] for e in events(switch, "copp-limit")] == ["p3"], "one event, of p3")
        want(hint(switch, "p4", "copp_dropped") == 0, "nothing of p4 is dropped")
        flood.kill()
        want(switch.stop() == 0, switch.process.said())


def station(host):
    return bytes([2, 0, 0, 0, 1, host])


def paced(world, host, frames, pps, n):
    """Sends n frames from a host in the background."""
    path = os.path.join(world.logs, f"frames{len(world.processes)}")
    with open(path, "w") as f:
        f.write("\n".join(frame.hex() for frame in frames))
    return world.spawn(f"h{host}", f"paced{len(world.processes)}", "sh", "-c",
                       'exec "$@" <"$0"', path, sys.executable, "-c", PACED, f"e{host}", str(pps),
                       str(n))


def frame(source, to):
    return to + source + b"\x88\xb5" + bytes(46)


def theft_and_broadcast_take_nothing_from_a_flow_of_others():
    with World(4) as world:
        switch = Switch(world, PROGRAMS, switch_name(),
                        BRIDGED % (switch_name(), f", storm_control: {{broadcast: {BROADCASTS}}}"))
        owner = paced(world, 3, [frame(station(3), station(2))], 100, 1 << 40)
        eventually(lambda: ports(switch)["p3"]["rx_packets"] >= 20, "the owner is heard")
        sender = paced(world, 2, [frame(station(2), station(3))], 500, 1 << 40)
        thief = paced(world, 1, [frame(station(3), station(9))], 1000, 1 << 40)
        eventually(lambda: events(switch, "mac-flapping"), "the alarm")
        e = events(switch, "mac-flapping")[0]
        want(e["port"] == "p3" and e["severity"] == "alarm", f"{e}")
        began, before = time.monotonic(), ports(switch)

        def more(port, key):
            return after[port][key] - before[port][key]
        everybody = paced(world, 1, [frame(station(1), b"\xff" * 6)], 5000, 10000)
        want(everybody.wait(200) == 0, everybody.said())
        eventually(lambda: ports(switch)["p2"]["rx_packets"] - before["p2"]["rx_packets"] > 1000,
                   "a thousand frames of the flow")
        for process in (sender, thief):
            process.kill()
        time.sleep(0.5) # what is under way arrives
        after = ports(switch)
        seconds = time.monotonic() - began
        # The thief's own frames and BROADCASTS a second, with 25 at once, are flooded.
        flooded = more("p4", "tx_packets")
        sent = more("p2", "rx_packets")
        got = more("p3", "tx_packets") - flooded
        dropped, missed = hint(switch, "p1", "storm_broadcast"), more("p1", "rx_missed")
        print(f"        {sent} sent, {got} got, {flooded} flooded, {dropped} broadcasts dropped, "
              f"{missed} missed in {seconds:.1f} s", flush=True)
        want(got >= sent * 0.98, f"the owner got {got} of {sent} frames beside {flooded} flooded")
        thiefs = more("p1", "rx_packets") - dropped
        want(flooded <= thiefs + 50, f"{flooded} flooded, {thiefs} of them may be")
        want(dropped >= 10000 - missed - 25 - BROADCASTS * seconds, f"{dropped} were dropped")
        want(events(switch, "storm-control"), "and that is said")
        owner.kill()
        want(switch.stop() == 0, switch.process.said())


live.need_root("bridge", "tcpdump", "tshark")
from switch import Programs, Switch, quiet # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([stp_finds_the_loop_through_the_switch,
                         a_probe_that_comes_back_is_an_alarm_and_takes_the_port_down,
                         a_loop_through_a_tunnel_takes_the_port_down_and_others_go_on,
                         a_forged_probe_takes_no_port_down,
                         theft_and_broadcast_take_nothing_from_a_flow_of_others,
                         a_flood_of_arp_leaves_the_next_hops_of_another_port]))
