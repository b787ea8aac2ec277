#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run --ipcc`: both acts hold their checks, one that does not is told, and nothing is left
behind. Senders that a busy machine kept waiting send bursts, which the switch answers: what passes
the line then says how busy the machine was. So it is judged with `rates` only.

usage: test_story.py BUILD_DIR [rates]
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, *where) for where in (("..", "live"), ("..", "..", "lab"))]
import live # noqa: E402
from live import left_behind, want # noqa: E402

import ipcc # noqa: E402: the path is set by live
from readable import on_terminal, too_wide, zero_tables # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
RATES = sys.argv[2:] == ["rates"]
RUN = os.path.join(live.ROOT, "scripts", "run")
RECORDS = {} # act: what it left


def command(*args):
    return subprocess.run([RUN, "--no-setup", "--build", BUILD, *args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def both_acts_hold_and_nothing_is_left_behind():
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        status, shown = on_terminal([RUN, "--no-setup", "--build", BUILD, "--ipcc", "--json",
                                     f.name], 80, 24)
        text = f.read()
    want(text, shown)
    record = json.loads(text)
    want([a["act"] for a in record["acts"]] == [1, 2], "two acts")
    missed = [c["check"] for a in record["acts"] for c in a["checks"] if not c["ok"]]
    want(missed == [] or not RATES and missed == [ipcc.LINE_USED], shown)
    want(record["ok"] == (missed == []) == (status == 0), "what is missed is told")
    want(not too_wide(shown, 80) and not zero_tables(shown), shown)
    peaks = [f"longest queue of p4: {ipcc.kb(result_of(a).peak()):>8}" for a in record["acts"]]
    want(all(p in shown for p in peaks), f"{peaks}\n{shown}")
    RECORDS.update({a["act"]: a for a in record["acts"]})
    figures = {c["check"]: c["figures"] for c in record["acts"][1]["checks"]}
    for name in ("every CNP of the switch arrived, at every sender", "the queue is shorter",
                 "its peak is lower", ipcc.LINE_USED):
        print(f"        {name}: {figures[name]}")
    left = left_behind(live.RUNTIMES)
    want(left == [], f"left behind: {left}")


def result_of(record):
    """What the checks look at, as far as a record has it."""
    r = ipcc.Result()
    r.final, r.cnps, r.balance, r.status = (copy.deepcopy(record[k]) for k in (
        "switch", "cnps", "balance", "status"))
    r.senders = dict(enumerate(copy.deepcopy(record["senders"]), 1))
    r.receiver = copy.deepcopy(record["receiver"])
    r.samples, r.flows = record["samples"], copy.deepcopy(record["flows"])
    r.flows_end = copy.deepcopy(record["flows_end"])
    r.window = copy.deepcopy(record["window"])
    r.links = {i: [] for i in (*ipcc.SENDERS, ipcc.RECEIVER)}
    return r


def every_check_can_fail():
    """Each is broken by one number of the second act that is another."""
    ecn = result_of(RECORDS[1])

    def breaks(check, change, of=2):
        r = result_of(RECORDS[of])
        change(r)
        want(not check(r, ecn)[0], f"{check.__name__} holds all the same")

    breaks(ipcc.all_paired, lambda r: r.flows[0].update(sender_qp=2))
    breaks(ipcc.all_paired, lambda r: r.flows[0].update(source="ack"))
    breaks(ipcc.all_paired, lambda r: r.flows.pop())
    for of, key in ((1, "cnps_seen"), (2, "cnps_sent")):
        breaks(ipcc.flows_agree, lambda r, key=key: r.flows_end[0].update({key: 0}), of)
    breaks(ipcc.none_by_the_switch, lambda r: None)
    breaks(ipcc.marks_told, lambda r: r.receiver.update(cnps_sent=0), of=1)
    breaks(ipcc.marks_told, lambda r: r.final["flow_ports"][0].update(cnps_seen=0), of=1)
    breaks(ipcc.every_sender_told, lambda r: r.senders[1].update(cnps_received=0))
    breaks(ipcc.senders_obey, lambda r: r.senders[2].update(unknown_qp=1))
    breaks(ipcc.senders_obey, lambda r: r.senders[2]["flows"][0].update(cc_rate_bps=40 * 10**9))
    breaks(ipcc.explained, lambda r: r.cnps["cnps"][0].update(sender_qp=2))
    breaks(ipcc.explained, lambda r: r.cnps["cnps"][0].update(length_bytes=10))
    breaks(ipcc.explained, lambda r: r.cnps.update(total=r.cnps["total"] - 1))
    breaks(ipcc.on_the_links, lambda r: None)
    breaks(ipcc.scapy_agrees, lambda r: None)
    breaks(ipcc.tshark_agrees, lambda r: setattr(r, "against", "1 malformed"))
    breaks(ipcc.shorter, lambda r: setattr(r, "samples", ecn.samples))
    breaks(ipcc.peak_lower, lambda r: setattr(r, "peak", lambda: ecn.peak()))
    breaks(ipcc.as_fast, lambda r: setattr(r, "out_bps", lambda: ecn.out_bps() * 0.8))
    breaks(ipcc.no_drop, lambda r: r.final["drops"].append({"packets": 1}))
    breaks(ipcc.no_drop, lambda r: r.final["ports"][0].update(rx_missed=1))
    breaks(ipcc.balanced, lambda r: r.balance.update(consumed=r.balance["consumed"] + 1))


def a_forged_cnp_is_seen_through():
    """The judge of CNPs, with one that is right and each field that is wrong once."""
    from scapy.contrib.roce import cnp
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    def frame(dst="10.0.0.1", tos=0xC2, qp=7, **fields):
        packet = Ether(src="02:00:00:00:00:04", dst="02:00:00:00:00:01") / IP(
            src="10.0.0.4", dst=dst, tos=tos, flags="DF") / UDP(sport=49152, dport=4791) / cnp(qp)
        for name, value in fields.items():
            setattr(packet["BTH"], name, value)
        return bytes(packet)

    right = frame()
    want(wrong_with(right, 1, {7}) is None, wrong_with(right, 1, {7}))
    for name, wrong in (("iCRC", right[:-1] + bytes([right[-1] ^ 1])), ("DSCP", frame(tos=2)),
                        ("ECT(0)", frame(tos=0xC0)), ("BECN", frame(becn=0)),
                        ("destination", frame(dst="10.0.0.2")), ("queue pair", frame(qp=8)),
                        ("PSN", frame(psn=1)), ("length", right + b"\0")):
        said = wrong_with(wrong, 1, {7})
        want(said is not None and name in said, f"{name}: {said}")


def options_that_do_not_go_with_it_are_refused():
    for args in (["--act", "1"], ["--seconds", "3"], ["--virtual"], ["--storm"]):
        done = command("--ipcc", *args)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")


live.need_root("tshark", "tcpdump", "tc")
try:
    from cnps import wrong_with
    import scapy.contrib.roce # noqa: F401
except ImportError:
    live.skip("python3-scapy is not installed")
STATUS = live.run_tests([options_that_do_not_go_with_it_are_refused, a_forged_cnp_is_seen_through,
                         both_acts_hold_and_nothing_is_left_behind])
sys.exit(STATUS or live.run_tests([every_check_can_fail]))
