#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""iperf3 between two hosts, while the switch looks for elephants and gives each size of flow a
queue of its own: the flow stays an elephant, and no frame overtakes another one.

The receiving kernel counts segments that arrive out of order, and the sending one counts those that
it sends again. It does so without a reason, too, when the processor comes late to one of the hosts.
Timeouts and loss probes are therefore no fault of the switch, and neither are lost frames.

usage: test_elephants.py BUILD_DIR
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

SECONDS = "4"
MOST_TURNS, MOST_LATE = 2, 5
POLICY = """\
switch: {name: %s, buffer: {size: 12MB}, elephants: {%s}}
ports: [{name: "p[1-2]", device: "xdp:sw[1-2]", speed: 1G, profile: x}]
profiles:
  x:
    classes:
      0: {mice: {class: 2}, elephants: {class: 1}, schedule: {dwrr: 20}}
      1: {schedule: {dwrr: 5}}
      2: {schedule: strict}
"""
DEFAULTS = ""
HASTY = "rate: 20M, bytes: 10KB, age: 20us, end_age: 20us, mice_packets: 8"


def iperf(world, *args):
    listener = world.spawn("h2", "iperf3", "iperf3", "-s", "-1", "--forceflush")
    eventually(lambda: "listening" in listener.out(), "iperf3 listens")
    done = world.run("h1", "iperf3", "-J", "-c", "10.9.0.2", "-t", SECONDS, *args, check=False,
                     timeout=60)
    listener.kill()
    report = json.loads(done.stdout)
    want("error" not in report, f"iperf3: {report.get('error')}")
    return report["end"]["sum_sent"]


def tcp(world, host, *names):
    """Sum of the kernel's counters."""
    rows = [line.split() for line in world.run(host, "cat", "/proc/net/netstat").stdout.splitlines()
            if line.startswith("TcpExt:")]
    found = dict(zip(*rows))
    return sum(int(found[name]) for name in names)


def lost(switch):
    return (sum(d["packets"] for d in switch.show("drops")["drops"])
            + sum(p["rx_missed"] for p in switch.show("ports")["ports"]))


def flow_under(elephants, *args):
    """Turns from and to an elephant, segments out of order, and segments that were sent again; of
    both those that no loss and no timeout explains."""
    with World(2) as world:
        for i in (1, 2):
            world.run(f"h{i}", "ip", "addr", "add", f"10.9.0.{i}/24", "dev", f"e{i}")
        switch = Switch(world, PROGRAMS, switch_name(), POLICY % (switch_name(), elephants))
        sent = iperf(world, *args)
        e, gone = switch.show("flows", "--elephants")["elephants"], lost(switch)
        late = tcp(world, "h2", "TCPOFOQueue")
        timeouts = tcp(world, "h1", "TCPTimeouts", "TCPLossProbes", "TCPSlowStartRetrans")
        want(switch.stop() == 0, "weir accounts for every frame at its end")
    print(f"        {' '.join(args) or 'full rate'}: {sent['bits_per_second'] / 1e6:.0f} Mb/s,"
          f" elephant {e['began']} times, ended {e['ended']}; {late} segments out of order,"
          f" {sent['retransmits']} sent again, {timeouts} after a timeout; {gone} frames lost")
    return e["began"] + e["ended"], late - gone, sent["retransmits"] - timeouts - gone


def in_order(late, again):
    want(late <= MOST_LATE and again <= MOST_LATE, f"{late} out of order, {again} sent again")


def stays_an_elephant(*args):
    turns, late, again = flow_under(DEFAULTS, *args)
    want(1 <= turns <= MOST_TURNS, f"{turns} turns")
    in_order(late, again)


def a_flow_at_full_rate_becomes_an_elephant_once():
    stays_an_elephant()


def a_flow_at_a_limited_rate_becomes_an_elephant_once():
    stays_an_elephant("-b", "200M")


def a_flow_that_turns_all_the_time_stays_in_order():
    turns, late, again = flow_under(HASTY)
    want(turns > 20, f"{turns} turns")
    in_order(late, again)


live.need_root("iperf3")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([
    a_flow_at_full_rate_becomes_an_elephant_once,
    a_flow_at_a_limited_rate_becomes_an_elephant_once,
    a_flow_that_turns_all_the_time_stays_in_order,
]))
