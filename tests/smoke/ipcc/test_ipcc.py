#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Flows of live endpoints: shown, told by the switch, paired and unpaired by hand, across reloads.
Only the senders have DCQCN: the receiver sends no CNP, so each one that arrives is the switch's.

usage: test_ipcc.py BUILD_DIR
"""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}, %(flows)s, %(switch)s}
ports: [{name: "p[1-3]", device: "xdp:sw[1-3]", speed: 80M, mtu: 1500, profile: roce}]
profiles:
  roce:
    cnp: {dscp: 48, class: 6, max_rate: 1000}
    classes:
      3:
        lossless: true
        ingress: {alpha: 1}
        wred: {ecn: on, kmin: 10KB, kmax: 200KB, pmax: 100%%}
        ipcc: %(ipcc)s
      6: {schedule: strict}
"""
# A sender that the machine lets wait for seconds has the same flows afterwards.
FLOWS = "flows: {age: 100s}"
# What is microseconds at 40 Gb/s is milliseconds here.
IPCC = "{interval: 5ms, drain: 50ms, min_gap: 10ms}"
CC = ["--cc", "dcqcn"] + [w for p in ("n=2ms", "k=2ms", "t_inc=2ms", "ai=2M", "hai=4M", "rmin=4M",
                                      "b=1MB") for w in ("--cc-set", p)]
SENDER = ["--to", "10.0.0.3", "--time", "600s", "--class", "3", "--qps", "2", "--depth", "16",
          "--speed", "80M", "--rto", "3s", "--drain", "30s", *CC]
N_FLOWS = 4


def want_eq(a, b, text):
    want(a == b, f"{text}: {a!r} is not {b!r}")


class Bench:
    def __init__(self, world, switch):
        self.world, self.switch = world, switch
        self.learnt = []

    def ctl(self, *args, status=0):
        done = subprocess.run([PROGRAMS.weirctl, "-s", self.switch.name, *args], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=30)
        want_eq(done.returncode, status, f"exit status of {args}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def reload(self, ipcc=IPCC, switch=""):
        path = os.path.join(self.world.logs, "next.yaml")
        with open(path, "w") as f:
            f.write(POLICY % {"name": self.switch.name, "ipcc": ipcc, "flows": FLOWS,
                              "switch": switch})
        self.ctl("reload", path)

    def flows(self, *words):
        return self.switch.show("flows", *words)

    def states(self):
        return sorted({(f["state"], f["source"]) for f in self.flows()["flows"]})

    def ipcc(self):
        return self.switch.show("ipcc")

    def sent(self):
        return sum(p["cnps_sent"] for p in self.ipcc()["flow_ports"])

    def goes_on(self):
        had = self.sent()
        eventually(lambda: self.sent() > had, "the switch sends CNPs")

    def stands_still(self):
        """Though the queue is as full as it was: there is no CNP in many looks."""
        had, looks = self.sent(), self.looks()
        eventually(lambda: self.looks() > looks + 20, "the queue is looked at")
        want_eq(self.sent(), had, "CNPs")

    def looks(self):
        return sum(q[k] for q in self.ipcc()["ipcc"] for k in q if k.startswith("looks_"))


# ---- tests; each goes on where the one before ended


def flows_are_paired_by_connection_management(b):
    eventually(lambda: len(b.flows()["flows"]) == N_FLOWS, "all flows are there")
    data = b.flows()
    want_eq((data["all"], data["matching"], data["left_out"], data["unpaired"]),
            (N_FLOWS, N_FLOWS, 0, 0), "counts")
    want_eq(b.states(), [("paired", "cm")], "states")
    for f in data["flows"]:
        want_eq((f["to"], f["out_port"], f["class"], f["kind"]), ("10.0.0.3", "p3", 3, "data"), f)
        want_eq(f["in_port"], "p" + f["from"][-1], "where it enters")
        want(1e6 < f["rate_bps"] < 90e6 and f["packets"] > 0 and f["lasts_us"] > 0, f"{f}")
    rates = [f["rate_bps"] for f in data["flows"]]
    want_eq(rates, sorted(rates, reverse=True), "the fastest first")
    b.learnt = data["flows"]


def a_table_of_flows_is_cut_and_filtered(b):
    data = b.flows("--limit", "1")
    want_eq((len(data["flows"]), data["left_out"]), (1, N_FLOWS - 1), "limit 1")
    want("(3 more are not shown" in b.ctl("show", "flows", "--limit", "1"), "it is said")
    want_eq({f["from"] for f in b.flows("p1")["flows"]}, {"10.0.0.1"}, "flows of a port")
    want("all 4 flows are paired" in b.ctl("show", "flows", "--unpaired"), "none is unpaired")
    want("4 flows, room for 65,536; 0 unpaired" in b.ctl("show", "flows"), "the last line")


def elephants_are_known_while_the_policy_looks_for_them(b):
    want("switch.elephants is off" in b.ctl("show", "flows", "--elephants"), "none before")
    b.reload(switch="elephants: {rate: 1M, end_rate: 10K, bytes: 10KB, age: 10s, end_age: 10s}")
    eventually(lambda: b.flows("--elephants")["elephants"]["now"] == N_FLOWS, "all are elephants")
    data = b.flows("--elephants")
    want_eq({(f["size"], f["sport"]) for f in data["flows"]}, {("elephant", None)}, "rows")
    want_eq(len(data["flows"]), N_FLOWS, "the elephants")
    want_eq(sum(p["now"] for p in data["elephant_ports"]), N_FLOWS, "by port")
    want("QP_OR_PORTS" in b.ctl("show", "flows", "--elephants"), "the table")
    want("\nweir_elephants_now 4\n" in b.ctl("metrics"), "metrics")
    want(" elephants: flows became elephants" in b.ctl("show", "events"), "the event")
    b.reload()
    eventually(lambda: b.flows()["elephants"]["now"] == 0, "none is any more")
    want_eq(b.flows("--elephants")["flows"], [], "no rows")


def each_cnp_is_explained(b):
    b.goes_on()
    rows = b.switch.show("cnps", "--all")["cnps"]
    pairs = {(f["from"], f["qp"]): f["sender_qp"] for f in b.learnt}
    for c in rows:
        want_eq(pairs[c["from"], c["qp"]], c["sender_qp"], "the queue pair")
        want(c["length_bytes"] > c["kmin_bytes"] == 10000 and c["kmax_bytes"] == 200000, f"{c}")
        want(1 <= c["rank"] <= N_FLOWS and 1 <= c["told"] <= N_FLOWS, f"{c}")
        want_eq((c["port"], c["queue"], c["left_by"]), ("p3", 3, "p" + c["from"][-1]), f"{c}")
    want_eq(len(b.switch.show("cnps", "--count", "1")["cnps"]), 1, "the last one")
    text = b.ctl("show", "cnps", "--count", "1")
    want(re.search(r"  10\.0\.0\.[12] 10\.0\.0\.3 0x\w+ +0x\w+  cm +p[12] +p3:3 ", text), text)
    text = b.ctl("show", "ipcc", "p3")
    want("pairs made: static 0, cm 4, read 0, ack 0, cnp 0\n" in text, text)


def metrics_say_what_json_says(b):
    q = b.ipcc()["ipcc"][2] # of p3; each port has one
    want_eq(q["port"], "p3", "the third row")
    page = b.ctl("metrics")

    def metric(name, labels):
        found = re.search(rf"^{name}{{{labels}}} (\d+)$", page, re.MULTILINE)
        want(found, f"{name} is on no line")
        return int(found.group(1))

    want(metric("weir_ipcc_told_total", 'port="p3",queue="3",class="3"') >= q["told"] > 0, "told")
    want(sum(metric("weir_flow_port_cnps_sent_total", f'port="{p}"') for p in ("p1", "p2")) > 0,
         "sent by port")
    want("\nweir_pairing_paired 4\n" in page and "\nweir_flows_used 4\n" in page, "sums")
    want("weir_events_total{event=\"pair-dropped\"}" in page, "events")


def an_operator_takes_a_pair_back_and_gives_another(b):
    b.reload(switch="pairing: {sources: [static]}")
    for f in b.learnt:
        b.ctl("flow", "del", f["from"], f["to"], hex(f["qp"]))
    eventually(lambda: b.states() == [("unpaired", "none")], f"all are unpaired: {b.states()}")
    rows = b.flows("--unpaired")["flows"]
    want(len(rows) == N_FLOWS and all(f["reason"] and f["sender_qp"] is None for f in rows),
         f"the reasons: {rows}")
    b.stands_still()
    want(sum(q["silent_unpaired"] for q in b.ipcc()["ipcc"]) > 0, "the reason is counted")
    for f in b.learnt:
        b.ctl("flow", "add", f["from"], f["to"], str(f["qp"]), hex(f["sender_qp"]))
    eventually(lambda: b.states() == [("paired", "static")], f"all are static: {b.states()}")
    b.goes_on()
    sources = {c["source"] for c in b.switch.show("cnps", "--count", "1")["cnps"]}
    want_eq(sources, {"static"}, "the last CNP")


def a_reload_turns_it_off_and_on(b):
    b.reload(ipcc="off", switch="pairing: {sources: [static]}")
    had, looks = b.sent(), b.looks()
    time.sleep(0.5)
    want_eq((b.sent(), b.looks()), (had, looks), "CNPs and looks")
    want(not any(q["enabled"] for q in b.ipcc()["ipcc"]), "it is off")
    b.reload()
    b.goes_on()


def what_an_operator_gets_wrong_is_said(b):
    add = ("flow", "add")
    for args, status, says in (
            ((*add, "10.0.0.1", "10.0.0.3", "7"), 2, "flow add FROM TO QP SENDER_QP"),
            ((*add, "10.0.0.1", "10.0.0.3", "7", "seven"), 2, 'from 2 to 0xffffff, not "seven"'),
            ((*add, "10.0.0.1", "10.0.0.3", "1", "7"), 2, 'from 2 to 0xffffff, not "1"'),
            ((*add, "10.0.0.1", "fd00::3", "7", "7"), 1, "both IPv4 or both IPv6"),
            ((*add, "10.0.0.0/8", "10.0.0.3", "7", "7"), 1, "addresses of stations"),
            (("flow", "del", "h1", "10.0.0.3", "7"), 1, "addresses of stations"),
            (("flow", "del", "10.0.0.1", "10.0.0.3", "7"), 1, "no such flow or pair is known"),
            (("show", "ports", "--limit", "3"), 2, "--limit goes with show flows"),
            (("show", "flows", "--limit", "1001"), 2, "--limit is a number from 1 to 1000"),
            (("show", "flows", "p9"), 1, "no port named p9")):
        text = b.ctl(*args, status=status)
        want(says in text, f"{args}: {text}")


def every_cnp_arrived_at_its_queue_pair(b):
    """At the end, by the reports of the hosts."""
    for h in b.senders:
        h.process.stop()
    reports = [h.report() for h in b.senders]
    got = sum(r["cnps_received"] for r in reports)
    want_eq(got, b.sent(), "CNPs that arrived and that were sent")
    want_eq(sum(f["cnps"] for r in reports for f in r["flows"]), got, "by queue pair")
    for r in reports:
        want_eq((r["unknown_qp"], r["icrc_errors"], r["malformed"]), (0, 0, 0), "bad frames")
    want_eq([d for d in b.switch.show("drops")["drops"] if d["lossless"]], [], "lossless drops")
    b.receiver.process.stop()
    want_eq(b.receiver.report()["cnps_sent"], 0, "CNPs of the receiver")
    want(b.switch.stop() == 0, "the balance holds")


def a_switch_without_a_table_says_so(world):
    policy = POLICY % {"name": switch_name(), "ipcc": "off", "flows": "flows: off", "switch": ""}
    b = Bench(world, Switch(world, PROGRAMS, switch_name(), policy))
    want("no flow table: the policy has `switch.flows: off`" in b.ctl("show", "flows"), "flows")
    want("no queue sends notifications" in b.ctl("show", "ipcc"), "ipcc")
    want("the switch has sent no CNP" in b.ctl("show", "cnps"), "cnps")
    want_eq(b.flows()["flow_table"]["max"], 0, "room")
    text = b.ctl("flow", "add", "10.0.0.1", "10.0.0.3", "7", "8", status=1)
    want("there is no flow table" in text, text)
    want(b.switch.stop() == 0, "the balance holds")


TESTS = [flows_are_paired_by_connection_management, a_table_of_flows_is_cut_and_filtered,
         elephants_are_known_while_the_policy_looks_for_them,
         each_cnp_is_explained, metrics_say_what_json_says,
         an_operator_takes_a_pair_back_and_gives_another, a_reload_turns_it_off_and_on,
         what_an_operator_gets_wrong_is_said, every_cnp_arrived_at_its_queue_pair]


def named(test, *args):
    def call():
        test(*args)
    call.__name__ = test.__name__
    return call


def play(world):
    policy = POLICY % {"name": switch_name(), "ipcc": IPCC, "flows": FLOWS, "switch": ""}
    b = Bench(world, Switch(world, PROGRAMS, switch_name(), policy))
    b.receiver = Host(world, PROGRAMS, 3, "receiver", "--listen", "--speed", "80M").ready()
    b.senders = [Host(world, PROGRAMS, i, f"sender{i}", *SENDER).ready() for i in (1, 2)]
    for test in TESTS:
        began = time.monotonic()
        if live.run_tests([named(test, b)]):
            print(json.dumps(b.ipcc()))
            return 1 # the next would begin with what this one left
        print(f"        {time.monotonic() - began:.1f} s", flush=True)
    return 0


live.need_root()
from switch import Host, Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
with World(3) as WORLD:
    STATUS = play(WORLD) or live.run_tests([named(a_switch_without_a_table_says_so, WORLD)])
sys.exit(1 if STATUS else 0)
