#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Impairment of live RoCEv2 between two endpoints: each link is captured on both sides of the
switch. What differs between both captures must be what the rule says, and nothing else. tshark and
scapy judge the frames; the endpoints must notice what a NIC notices.

usage: test_impair.py BUILD_DIR
"""
import collections
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import want # noqa: E402

POLICY = """\
switch: {name: %s, workers: 2, stall: {pause_after: off}, lldp: off}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 1G, profile: roce}
profiles:
  roce:
    dscp_to_class: {default: 0, 24: 3}
    classes: {3: {lossless: on}}
"""
MESSAGES, PACKETS = 20, 64 # of an endpoint, of a message
WARNINGS = '_ws.malformed || _ws.expert.severity >= "Warning"'
FIELDS = ("frame.time_epoch", "infiniband.bth.opcode", "infiniband.bth.psn", "ip.dsfield.ecn",
          "ip.src")
WRITE = range(6, 12)
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"

Packet = collections.namedtuple("Packet", "t opcode psn ecn src")


# ---- one run

def tshark(path, *words):
    done = subprocess.run(["tshark", "-n", "-o", "ip.check_checksum:TRUE", "--disable-protocol",
                           "rpcordma", "-r", path, *words], capture_output=True, text=True,
                          check=False)
    want(done.returncode == 0, f"tshark: {done.stderr}")
    return done.stdout.splitlines()


def packets(path):
    rows = tshark(path, "-Y", "infiniband.bth", "-T", "fields", "-E", "separator=,",
                  *(w for f in FIELDS for w in ("-e", f)))
    out = []
    for row in rows:
        t, opcode, psn, ecn, src = row.split(",")
        out.append(Packet(float(t), int(opcode, 0), int(psn, 0), int(ecn, 0), src))
    return out


class Run:
    """MESSAGES of a queue pair from link 1 to link 2 while `rules` are in force: what each link
    carried, what both endpoints report, and the rules at the end."""
    n = 0

    def __init__(self, world, switch, *rules):
        Run.n += 1
        self.switch = switch
        captures = [self.capture(world, i) for i in (1, 2)]
        receiver = Host(world, PROGRAMS, 2, f"to{Run.n}", "--listen").ready()
        numbers = [json.loads(switch.ctl("impair", *rule, "--json"))["rule"] for rule in rules]
        sender = Host(world, PROGRAMS, 1, f"from{Run.n}", "--to", RECEIVER, "--count",
                      str(MESSAGES), "--size", str(PACKETS * 1024), "--class", "3", "--drain",
                      "20s")
        status = sender.process.wait(40)
        want(status == 0, f"the sender ended with {status}\n{sender.process.said()}")
        self.rules = [r for n in numbers for r in switch.show("impairments")["impairments"]
                      if r["rule"] == n]
        switch.ctl("impair", "stop", "all")
        time.sleep(0.3)
        receiver.process.stop()
        for _, dump in captures:
            dump.stop()
            n = dict(reversed(line.split(" packets ")) for line in dump.err().splitlines()
                     if " packets " in line)
            want(n["captured"] == n["received by filter"] and n["dropped by kernel"] == "0",
                 f"the capture is whole: {n}")
        self.sent, self.received = sender.report(), receiver.report()
        self.paths = [path for path, _ in captures]
        PATHS.extend(self.paths)
        self.link = [packets(path) for path in self.paths]

    @staticmethod
    def capture(world, i):
        path = os.path.join(world.logs, f"run{Run.n}-{i}.pcap")
        dump = world.spawn("tap", f"tcpdump{Run.n}-{i}", "tcpdump", "-i", f"t{i}", "-w", path, "-s",
                           "0", "-B", "65536", "-U", "--immediate-mode", "-Z", "root")
        end = time.monotonic() + 10
        while "listening on" not in dump.err():
            want(dump.running() and time.monotonic() < end, f"tcpdump\n{dump.said()}")
            time.sleep(0.05)
        return path, dump

    def data(self, link):
        return [p for p in self.link[link] if p.opcode in WRITE and p.src == SENDER]

    def psns(self, link):
        return collections.Counter(p.psn for p in self.data(link))


# ---- tests

def packets_are_lost_by_their_psn_once_and_sent_again():
    run = Run(WORLD, SWITCH, ["p1", "--match", "data && psn%64 == 0 && once", "--action", "drop"])
    before, after = run.psns(0), run.psns(1)
    lost = {psn for psn in before if psn % 64 == 0}
    want(len(lost) == MESSAGES, f"{len(lost)} packets with such a PSN")
    missing = {p: before[p] - after[p] for p in before if before[p] != after[p]}
    want(missing == {p: 1 for p in lost},
         f"exactly these are missing behind the switch, once each: {missing}, {lost}")
    rule, = run.rules
    want((rule["hits"], rule["impaired"], rule["unable"]) == (MESSAGES, MESSAGES, 0), f"{rule}")
    naks = [p for p in run.link[1] if p.src == RECEIVER]
    want(run.sent["naks_received"] >= 1 and naks, f"{run.sent}")
    reasons = {r["reason"]: r for r in SWITCH.show("drops")["drops"]}
    want(reasons["impaired"]["packets"] == MESSAGES and reasons["impaired"]["class"] == 3,
         f"{reasons}")
    want(not [e for e in SWITCH.show("events")["events"] if e["event"] == "lossless-drop"],
         "a frame that a rule drops raises no alarm")


def copies_are_seen_twice_behind_the_switch():
    run = Run(WORLD, SWITCH, ["p2", "--match", "data && every 50", "--action", "duplicate",
                              "--out"])
    before, after = run.psns(0), run.psns(1)
    rule, = run.rules
    want(rule["impaired"] >= MESSAGES * PACKETS // 50, f"{rule}")
    want(sum((after - before).values()) == rule["impaired"] and not before - after,
         f"{sum((after - before).values())} copies, {rule}")


def a_wrong_icrc_is_what_scapy_and_the_endpoint_say():
    run = Run(WORLD, SWITCH, ["p1", "--match", "data && psn%16 == 3", "--action", "corrupt", "icrc",
                              "--count", "5"],
              ["p2", "--match", "data && psn%16 == 9", "--action", "corrupt payload", "--out",
               "--count", "4"])
    wrong = [p for p in rdpcap(run.paths[1]) if BTH in p and not icrc_holds(p)]
    want(len(wrong) == 9, f"scapy finds {len(wrong)} wrong iCRCs")
    want(sorted(p[BTH].psn % 16 for p in wrong) == [3] * 5 + [9] * 4, "of other packets")
    want(not [p for p in rdpcap(run.paths[0]) if BTH in p and not icrc_holds(p)],
         "in front of the switch all hold")
    want(run.received["icrc_errors"] == 9, f"{run.received}")
    want([r["state"] for r in run.rules] == ["count", "count"], f"{run.rules}")


def ce_is_set_and_the_checksum_holds():
    run = Run(WORLD, SWITCH, ["p1", "--match", "data", "--action", "ce", "20%", "--seed", "7"])
    rule, = run.rules
    marked = [sum(p.ecn == 3 for p in run.data(i)) for i in (0, 1)]
    want(marked[0] == 0 and marked[1] == rule["impaired"], f"{marked}, {rule}")
    want(0.13 < rule["impaired"] / rule["hits"] < 0.27, f"a share of 20 %: {rule}")
    want(rule["rule_seed"] == 7, f"{rule}")


def a_delayed_packet_comes_as_much_later():
    run = Run(WORLD, SWITCH, ["p2", "--match", "data && psn%64 == 9", "--action", "delay 40ms",
                              "--out", "--count", "3"])
    first = [{}, {}]
    for link in (0, 1):
        for p in run.data(link):
            first[link].setdefault(p.psn, p.t)
    late = sorted(first[1][psn] - first[0][psn] for psn in first[0] if psn % 64 == 9)[-3:]
    # Both taps are on one clock. A busy machine adds to the time, and takes nothing away.
    want(late[0] >= 0.040 or run.sent["naks_received"] > 0, f"{late}")
    rule, = run.rules
    want(rule["impaired"] == 3 and rule["held"] == 0, f"{rule}")


def tshark_has_nothing_to_warn_of_in_all_that_was_carried():
    merged = os.path.join(WORLD.logs, "all.pcap")
    subprocess.run(["mergecap", "-w", merged, *PATHS], check=True)
    found = tshark(merged, "-Y", WARNINGS)
    want(not found, f"{len(found)} frames\n" + "\n".join(found[:10]))


def rules_are_logged_and_end_by_themselves():
    SWITCH.ctl("impair", "p1", "--match", "nak", "--action", "drop", "--for", "300ms")
    shown = SWITCH.ctl("impair", "list")
    want("nak" in shown and "drop" in shown, shown)
    time.sleep(0.6)
    last = max(SWITCH.show("impairments")["impairments"], key=lambda r: r["rule"])
    want(last["state"] == "time" and last["left_us"] is None, f"{last}")
    events = [e for e in SWITCH.show("events")["events"] if e["event"].startswith("impair")]
    want([(e["event"], e["port"], e["rule"]) for e in events[-2:]] ==
         [(name, "p1", last["rule"]) for name in ("impair", "impair-over")], f"{events[-2:]}")
    want(events[-2]["action"] == "drop" and events[-1]["state"] == "time" and
         events[-1]["impaired"] == 0, f"{events[-2:]}")


def a_mistake_is_shown_at_its_place_and_changes_nothing():
    before = SWITCH.show("impairments")
    for words, says in (
            (["p1", "--match", "psn%1000 == 1000", "--action", "drop"],
             "weirctl: --match: column 13: a remainder of 1000 is at most 999\n"
             "  psn%1000 == 1000\n              ^\n"),
            (["p1", "--match", "roce.psn = 100", "--action", "drop"],
             "weirctl: --match: column 10: write == to compare: = is no comparison\n"
             "  roce.psn = 100\n           ^\n"),
            (["p1", "--action", "delay", "2s"], "--action: column 7: expected a time up to 1s"),
            (["p1", "--match", "nak"], "usage: weirctl impair PORT"),
            (["p1", "--action", "drop", "--for", "soon"], "--for is a time"),
            (["p1", "--action", "drop", "--for", "25h"], None),
            (["p9", "--action", "drop"], "no port"),
            (["stop", "0"], "impair stop wants the number of a rule"),
            (["stop", "99"], "no such rule is on")):
        done = subprocess.run([PROGRAMS.weirctl, "-s", SWITCH.name, "impair", *words],
                              capture_output=True, text=True, check=False)
        want(done.returncode != 0 and (says or "") in done.stderr,
             f"{words}: {done.returncode} {done.stdout}{done.stderr}")
    want([r["rule"] for r in SWITCH.show("impairments")["impairments"]] ==
         [r["rule"] for r in before["impairments"]], "no rule was made")


def the_balance_holds_with_frames_held():
    SWITCH.ctl("impair", "p1", "--match", "udp", "--action", "delay 900ms")
    SWITCH.ctl("impair", "p2", "--match", "udp", "--action", "delay 900ms", "--out")
    host = Host(WORLD, PROGRAMS, 1, "asks", "--to", RECEIVER, "--count", "1", "--drain", "1s")
    host.process.wait(30)
    balance = SWITCH.quiesce()
    want(balance["received"] + balance["generated"] + balance["replicated"] ==
         balance["transmitted"] + balance["consumed"] + balance["dropped"] + balance["queued"],
         f"{balance}")
    want(SWITCH.stop() == 0, f"the balance holds at the end\n{SWITCH.process.said()}")


live.need_root("tshark", "mergecap", "tcpdump")
try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    from scapy.utils import rdpcap
except ImportError:
    live.skip("python3-scapy is not installed")
from switch import Host, Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402


def icrc_holds(frame):
    """scapy builds the frame's iCRC again from its other fields."""
    again = frame[IP].copy()
    again[BTH].icrc = None
    return bytes(again)[-4:] == bytes(frame[IP])[-4:]


PROGRAMS = Programs(sys.argv[1])
PATHS = [] # of all captures
with World(2, tapped=True) as WORLD:
    SWITCH = Switch(WORLD, PROGRAMS, switch_name(), POLICY % switch_name())
    status = live.run_tests([
        packets_are_lost_by_their_psn_once_and_sent_again,
        copies_are_seen_twice_behind_the_switch,
        a_wrong_icrc_is_what_scapy_and_the_endpoint_say,
        ce_is_set_and_the_checksum_holds,
        a_delayed_packet_comes_as_much_later,
        tshark_has_nothing_to_warn_of_in_all_that_was_carried,
        rules_are_logged_and_end_by_themselves,
        a_mistake_is_shown_at_its_place_and_changes_nothing,
        the_balance_holds_with_frames_held,
    ])
sys.exit(status)
