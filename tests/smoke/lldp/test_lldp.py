#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""LLDP and DCBX between the switch and stock lldpd, tshark's view of each frame, the commands of
docs/dcbx.md, and hosts that flood or come and go.

usage: test_lldp.py BUILD_DIR
"""
import json
import os
import re
import shlex
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

QAZ = {"ets": "9", "recommendation": "10", "pfc": "11", "app": "12"}


RUN = "/run/lldpd" # where lldpd goes after it has given up its privileges


class Lldpd:
    """Stock lldpd on link i."""

    def __init__(self, world, i):
        self.world, self.where, self.dev = world, f"h{i}", f"e{i}"
        self.socket = os.path.join(RUN, f"{i}.sock")
        self.process = world.spawn(self.where, f"lldpd{i}", "lldpd", "-d", "-I", self.dev, "-C",
                                   self.dev, "-u", self.socket, "-O", "/dev/null")
        eventually(lambda: os.path.exists(self.socket), "lldpd listens")
        eventually(lambda: self.cli("show", "configuration", check=False).returncode == 0,
                   "lldpd answers")

    def cli(self, *words, **kw):
        return self.world.run(self.where, "lldpcli", "-u", self.socket, "-f", "json0", *words, **kw)

    def neighbours(self):
        rows = json.loads(self.cli("show", "neighbors", "details").stdout)["lldp"]
        return rows[0].get("interface", []) if rows else []

    def say(self, subtype, *value, add="add"):
        """Sends a TLV of 802.1Qaz from now on."""
        self.cli("configure", "lldp", "custom-tlv", add, "oui", "00,80,c2", "subtype", str(subtype),
                 "oui-info", ",".join(f"{b:02x}" for b in value))

    def stop(self):
        self.process.stop()


def lldpd_sees_the_switch(world, switch, host):
    eventually(host.neighbours, "lldpd has a neighbour")
    got = host.neighbours()[0]
    text = json.dumps(got)
    want(got["chassis"][0]["name"][0]["value"] == switch.name, text)
    want(got["port"][0]["id"][0]["value"] == "p1" and got["port"][0]["id"][0]["type"] == "ifname",
         text)
    want(got["port"][0]["descr"][0]["value"] == "xdp:sw1", text)
    want(got["port"][0]["ttl"][0]["value"] == "121", text)
    bridge = [c for c in got["chassis"][0]["capability"] if c["type"] == "Bridge"]
    want(bridge[0]["enabled"] is True, text)
    unknown = {t["subtype"]: t["value"] for t in got["unknown-tlvs"][0]["unknown-tlv"]
               if t["oui"] == "00,80,C2"}
    # Class 0 has a share of 1, class 3 of 3, and the others of 1 each but the strict class 6.
    want(unknown[QAZ["pfc"]].lower() == "08,08", text)
    want(unknown[QAZ["app"]].lower() == "00,64,12,b7", text)
    ets = [int(b, 16) for b in unknown[QAZ["ets"]].split(",")]
    want(ets[:5] == [0, 0x01, 0x23, 0x45, 0x67], text)
    want(sum(ets[5:13]) == 100 and ets[11] == 0 and ets[8] in (33, 34), f"{ets}")
    want(ets[13:] == [2, 2, 2, 2, 2, 2, 0, 2], text)
    want(unknown[QAZ["recommendation"]] == unknown[QAZ["ets"]], text)


def the_switch_sees_lldpd(world, switch, host):
    eventually(lambda: switch.show("lldp")["lldp"], "the switch has a neighbour")
    got = switch.show("lldp")["lldp"]
    want(len(got) == 1 and got[0]["port"] == "p1" and got[0]["dcbx"] == "none", f"{got}")
    want(len(events(switch, "lldp-neighbour")) == 1, "one event")
    want(dcbx(switch)["state"] == "silent", "lldpd has said nothing of DCBX")


def a_host_with_other_pfc_is_named_with_its_cure(world, switch, host):
    host.say(11, 0x08, 0x10)
    eventually(lambda: dcbx(switch)["state"] == "mismatch", "the host has PFC on 4")
    row = dcbx(switch)
    want(row["host_pfc"] == [4] and row["switch_pfc"] == [3], f"{row}")
    want("the host has PFC on 4, the switch on 3" in row["cure"], row["cure"])
    want("--pfc 0,0,0,1,0,0,0,0" in row["cure"], row["cure"])
    eventually(lambda: events(switch, "dcbx-mismatch"), "the event")
    got = events(switch, "dcbx-mismatch")[-1]
    want(got["host_pfc"] == [4] and got["switch_pfc"] == [3], f"{got}")


def a_host_that_follows_agrees(world, switch, host):
    host.cli("unconfigure", "lldp", "custom-tlv")
    host.say(11, 0x08, 0x08)
    host.say(12, 0x00, 0x64, 0x12, 0xb7)
    eventually(lambda: dcbx(switch)["state"] == "agreed", "the host has PFC on 3")
    row = dcbx(switch)
    want(row["host_roce"] == 3 and row["switch_roce"] == 3 and "cure" not in row, f"{row}")
    eventually(lambda: events(switch, "dcbx-agreed"), "the event")
    want("agreed" in switch.ctl("show", "dcbx", "p1"), "the table")


def the_neighbour_is_gone_when_lldpd_ends(world, switch, host):
    host.stop()
    eventually(lambda: not switch.show("lldp")["lldp"], "lldpd has said goodbye")
    want(len(events(switch, "lldp-neighbour-gone")) == 1, "one event")


ONE_HOST = [lldpd_sees_the_switch, the_switch_sees_lldpd,
            a_host_with_other_pfc_is_named_with_its_cure, a_host_that_follows_agrees,
            the_neighbour_is_gone_when_lldpd_ends]


def lldpd_and_the_switch_know_each_other():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy())
        host = Lldpd(world, 1)
        for test in ONE_HOST:
            test(world, switch, host)
            print(f"        {test.__name__.replace('_', ' ')}", flush=True)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def auto_has_pfc_while_the_host_has_it():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy("auto"))

        def classes():
            return [r["class"] for r in switch.show("pfc-status")["pfc_status"]
                    if r["port"] == "p1" and r["tx_policy"]]
        want(classes() == [], "no host has spoken")
        want("p1: pfc.mode is auto and no neighbour speaks DCBX" in switch.ctl("show", "dcbx"),
             "the table says why")
        host = Lldpd(world, 1)
        host.say(11, 0x08, 0x08)
        eventually(lambda: classes() == [3], "the host has PFC on 3")
        port = switch.show("pfc", "p1")["pfc_ports"][0]
        want((port["mode"], port["dcbx"], port["host_pfc"], port["in_force"]) ==
             ("auto", "agreed", [3], [3]), f"{port}")
        want(events(switch, "dcbx-pfc")[-1]["active"] == [3], "the event")
        host.stop()
        eventually(lambda: classes() == [], "the host is gone", seconds=40)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def tshark_reads_every_tlv():
    with World(3) as world:
        path = os.path.join(world.logs, "lldp.pcap")
        dump = world.spawn("h2", "tcpdump", "tcpdump", "-i", "e2", "-U", "-w", path, "-c", "1",
                           "ether", "proto", "0x88cc")
        eventually(lambda: os.path.exists(path), "tcpdump listens")
        switch = Switch(world, PROGRAMS, switch_name(), policy())
        eventually(lambda: not dump.running(), "a frame", seconds=40)
        text = run("tshark", "-n", "-r", path, "-V").stdout
        for part in ("Chassis Subtype = MAC address", "Port Id: p2", "Time To Live = 121 sec",
                     f"System Name = {switch.name}", "ETS Configuration", "ETS Recommendation",
                     "Priority Flow Control Configuration", "Application Protocol",
                     "End of LLDPDU"):
            want(part in text, f"{part} is not in\n{text}")
        want("alformed" not in text, text)
        want("= PFC for Priority 3: Enabled" in text and "Protocol Id: 0x12b7" in text, text)
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def a_switch_that_stops_is_forgotten():
    with World(3) as world:
        path = os.path.join(world.logs, "bye.pcap")
        switch = Switch(world, PROGRAMS, switch_name(), policy())
        host = Lldpd(world, 1)
        eventually(host.neighbours, "lldpd has a neighbour")
        dump = world.spawn("h1", "tcpdump", "tcpdump", "-i", "e1", "--immediate-mode", "-U", "-w",
                           path, "ether", "proto", "0x88cc")
        eventually(lambda: os.path.exists(path), "tcpdump listens")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")
        eventually(lambda: not host.neighbours(), "lldpd has forgotten the switch before 121 s")
        dump.stop()
        said = run("tshark", "-n", "-r", path, "-Y", "lldp.time_to_live == 0 && !_ws.malformed",
                   "-T", "fields", "-e", "lldp.port.id").stdout.split()
        want(said == ["p1"], f"{said}")
        host.stop()


FLOOD = """
import socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
head = bytes.fromhex("0180c200000e" "020000000099" "88cc")
tlv = lambda kind, value: struct.pack(">H", kind << 9 | len(value)) + value
for i in range(*map(int, sys.argv[2:])):
    identity = tlv(1, b"\\7h%d" % i) + tlv(2, b"\\5eth0") + tlv(3, struct.pack(">H", 120))
    s.send(head + identity + tlv(127, bytes.fromhex("0080c20b0808")))
    s.send(head + identity + tlv(4, b"") * 400)
    s.send(head + identity + b"\\xfe\\xff")
    s.send(head + bytes(46))
"""
FLOOD_STEP = 50 # 200 frames: a veth with XDP keeps 256, and drops further ones without a word


def a_host_that_floods_is_counted():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy())

        def port():
            return [r for r in switch.show("lldp")["lldp_ports"] if r["port"] == "p2"][0]

        def punts():
            return [r for r in switch.show("control")["punts"]
                    if r["port"] == "p2" and r["reason"] == "lldp"][0]
        for i in range(0, 1000, FLOOD_STEP):
            world.run("h2", "python3", "-c", FLOOD, "e2", str(i), str(i + FLOOD_STEP))
            eventually(lambda sent=4 * (i + FLOOD_STEP): punts()["frames"] == sent,
                       "all frames have come")
        eventually(lambda: port()["received"] == 4000 - punts()["limited"] - punts()["lost"],
                   "each is limited, lost or read")
        got = port()
        want(got["neighbours"] == 8 and got["too_many"] > 0 and got["malformed"] > 0, f"{got}")
        want(dcbx(switch, "p2")["state"] == "several", "none of them counts")
        for i in (1, 3):
            world.run(f"h{i}", "ip", "addr", "add", f"10.0.0.{i}/24", "dev", f"e{i}")
        world.run("h1", "ping", "-c", "1", "-W", "5", "10.0.0.3") # fails without an answer
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


# A neighbour speaks, with PFC in class 3. Or it comes and goes, as an LLDP neighbour and as an iNOF
# host, some 900 frames a second, and its link flaps.
NEIGHBOUR = """
import fcntl, socket, struct, sys, time
device = sys.argv[1]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((device, 0))
tlv = lambda kind, value: struct.pack(">H", kind << 9 | len(value)) + value
pfc = tlv(127, bytes.fromhex("0080c20b0808"))
inof = tlv(127, bytes.fromhex("0018826501810000" "0a000002" + 24 * "0" + "01010101114400"))
mac = bytes.fromhex("020000000099")
def frame(ttl, what):
    identity = tlv(1, b"\\4" + mac) + tlv(2, b"\\5snsd_e2_01") + tlv(3, struct.pack(">H", ttl))
    return bytes.fromhex("0180c200000e") + mac + b"\\x88\\xcc" + identity + what + bytes(2)
def link(up):
    name = device.encode()
    flags, = struct.unpack_from("H", fcntl.ioctl(s, 0x8913, struct.pack("16s16x", name)), 16)
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", name, flags & ~1 | up))
if len(sys.argv) == 2:
    sys.exit(s.send(frame(120, pfc)) == 0)
while True:
    for i in range(20):
        for what in (pfc, inof):
            for ttl in (120, 0):
                try:
                    s.send(frame(ttl, what).ljust(60, b"\\0"))
                except OSError: # the link was down
                    pass
        time.sleep(0.004)
    link(False)
    time.sleep(0.006)
    link(True)
"""
NEW_EVENTS = 1750 # of them more infos than the switch keeps


def a_host_that_comes_and_goes_takes_nothing_from_other_ports():
    with World(3) as world:
        switch = Switch(world, PROGRAMS, switch_name(), policy("auto", more="inof: on\n"))

        def rows(*ports):
            return [e for e in switch.show("events")["events"] if e.get("port") in ports]

        def latest():
            return switch.show("events")["events"][-1]["seq"]

        def speak(i):
            world.run(f"h{i}", "python3", "-c", NEIGHBOUR, f"e{i}")
            eventually(lambda: dcbx(switch, f"p{i}")["active"] == [3], f"host {i} has PFC on 3")
        speak(1)
        others, n_before = rows(None, "p1", "p3"), len(rows("p3"))
        began, first = time.monotonic(), latest()
        host = world.spawn("h2", "comes-and-goes", "python3", "-c", NEIGHBOUR, "e2", "flood")
        eventually(lambda: latest() > first + NEW_EVENTS, "the flood of events")
        for up in ("down", "up"):
            world.run("h3", "ip", "link", "set", "e3", up)
            eventually(lambda up=up: [e for e in rows("p3")[n_before:]
                                      if e["event"] == f"link-{up}"], f"p3 is {up}")
        speak(3)
        eventually(lambda: latest() > first + 2 * NEW_EVENTS, "and it goes on")
        host.kill()
        after = rows(None, "p1", "p3")
        want(after[:len(others)] == others, f"{others} are kept: {after}")
        new = [(e["port"], e["event"]) for e in after[len(others):] if "port" in e]
        want(new == [("p3", name) for name in ("link-down", "link-up", "lldp-neighbour",
                                               "dcbx-agreed", "dcbx-pfc")], f"{new}")
        for port, name in new:
            want(re.search(rf" {name}: .* port={port}\b", switch.process.err()),
                 f"{name} of {port} is in the log")
        changes = [e for e in rows("p2") if e["event"] == "dcbx-pfc"]
        want(len(changes) <= 2 + (time.monotonic() - began) / 10, f"PFC of p2: {changes}")
        want(dcbx(switch, "p1")["active"] == [3], "PFC of p1 is as before")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


COMMAND = re.compile(r"(?m)^    ((?:weir|weirctl|weir-lab|lldpcli) .*)$")


def the_commands_of_the_page_work():
    with open(os.path.join(live.ROOT, "docs", "dcbx.md")) as f:
        commands = [shlex.split(c) for c in COMMAND.findall(f.read())]
    want(len(commands) == 8, f"{commands}")
    weir_lab = os.path.join(sys.argv[1], "control/lab/weir-lab")
    with World(3) as world:
        said = []
        for program, *words in commands:
            if program == "weir":
                switch = world.spawn("sw", "weir", PROGRAMS.weir, "-c",
                                     os.path.join(live.ROOT, words[1]))
                switch.wait_line("ready")
                host = Lldpd(world, 1)
            elif program == "lldpcli":
                host.cli(*words)
                eventually(lambda: "mismatch" in run(PROGRAMS.weirctl, "-s", "sw1", "show",
                                                     "events").stdout, "the event")
            elif program == "weir-lab":
                run(weir_lab, words[0], os.path.join(live.ROOT, words[1]))
            else:
                said.append(run(PROGRAMS.weirctl, "-s", "sw1", *words).stdout)
        want(re.search(r"(?m)^p1 +mismatch .* 3 +4 +3 ", said[2]), said[2])
        want("dcbx-mismatch" in said[3] and "host_pfc=4" in said[3], said[3])
        host.stop()
        want(switch.stop() == 0, switch.said())


live.need_root()
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, run, switch_name # noqa: E402
from agents import dcbx, events, need, policy, private # noqa: E402

need("lldpd", "lldpcli", "tshark", "tcpdump")
private(RUN)
PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([lldpd_and_the_switch_know_each_other, auto_has_pfc_while_the_host_has_it,
                         tshark_reads_every_tlv, a_switch_that_stops_is_forgotten,
                         a_host_that_floods_is_counted,
                         a_host_that_comes_and_goes_takes_nothing_from_other_ports,
                         the_commands_of_the_page_work]))
