#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reloads that swap the groups and queues of two lossless classes under an incast lose no frame.

usage: test_move.py BUILD [--seconds N]

Two weir-host senders and a receiver on AF_XDP ports at 40 Mb/s, a reload every 200 ms. Needs root;
exits 77 without.
"""
import argparse
import os
import re
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts", "netlab"))

import acts  # noqa: E402
from play import Play, sample  # noqa: E402
from switch import Host, Programs, Switch  # noqa: E402
from world import World, run, switch_name  # noqa: E402

EVERY_S, DRAIN_S, SKIPPED = 0.2, 30, 77
CLASSES = (3, 5)
HOST_OPTIONS = ["--speed", "40M", "--rx-ring", "4096"]
TEXT = """\
switch: {name: %s, buffer: {size: 1500KB}}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 40M, mtu: 1500}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  default:
    dscp_to_class: {default: 0, 24-31: 3, 40-47: 5}
%s    classes:
      3: {lossless: true, schedule: {dwrr: 50}, ingress: {static: 20KB}}
      5: {lossless: true, schedule: {dwrr: 50}, ingress: {static: 20KB}}
"""
MOVES = ["    class_to_pg: {3: 5, 5: 3}\n",
         "    class_to_pg: {3: 5, 5: 3}\n    class_to_queue: {3: 5, 5: 3}\n",
         "    class_to_queue: {3: 5, 5: 3}\n", ""]
PAUSED = re.compile(r"^paused classes 3, 5 on 3 ports for (\d+) us before the change$", re.M)


def want(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def data(reports, key):
    return sum(c[key] for r in reports for c in r["classes"] if c["class"] in CLASSES)


def reload_all(switch, programs, seconds):
    """How long each reload paused the classes, in microseconds."""
    paused, end, n = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.monotonic()
        with open(switch.path, "w") as f:
            f.write(TEXT % (switch.name, MOVES[n % len(MOVES)]))
        said = run(programs.weirctl, "-s", switch.name, "reload", switch.path).stdout
        found = PAUSED.search(said)
        want(found, f"reload {n + 1} tells of no pause: {said}")
        paused.append(int(found.group(1)))
        n += 1
        time.sleep(max(began + EVERY_S - time.monotonic(), 0))
    return paused


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", metavar="BUILD", help="where the programs are built")
    p.add_argument("--seconds", type=int, default=10, metavar="N", help="default 10")
    args = p.parse_args()
    if os.geteuid() != 0:
        print("skipped: needs root")
        return SKIPPED
    programs = Programs(args.build)
    with World(3) as world:
        switch = Switch(world, programs, switch_name(), TEXT % (switch_name(), ""))
        receiver = Host(world, programs, 3, "receiver", "--listen", *HOST_OPTIONS).ready()
        senders = [Host(world, programs, i, f"sender{i}", "--to", "10.0.0.3", "--class", "3,5",
                        "--time", f"{args.seconds + 1}s", "--rto", "10s", "--drain", f"{DRAIN_S}s",
                        "--qps", "4", "--depth", "4", "--size", "65536", *HOST_OPTIONS)
                   for i in (1, 2)]
        for s in senders:
            s.ready()
        paused = reload_all(switch, programs, args.seconds)
        for s in senders:
            s.process.wait(2 * DRAIN_S)
        Play.at_rest(switch)
        balance, final = switch.quiesce(), sample(switch)
        receiver.process.stop()
        result = acts.Result({3: 50, 5: 50})
        result.balance, result.final = balance, final
        result.senders = [s.report() for s in senders]
        result.receiver = receiver.report()
        result.switch_status = switch.stop()
        drops = sum(d["packets"] for d in final["drops"] if d["class"] in CLASSES)
        pauses = sum(row["tx_pause"] for row in final["pfc"])
        print(f"{len(paused)} reloads, paused for {min(paused)} to {max(paused)} us; {pauses} PFC "
              f"frames; {drops} lossless frames dropped")
        want(len(paused) >= args.seconds, "too few reloads")
        want(pauses > 2 * len(paused), "hardly any PFC frame was sent")
        want(drops == 0, f"{drops} lossless frames were dropped")
        # A class that moves to another queue may overtake its own frames: some are sent again.
        missed = data(result.senders, "tx_packets") - data([result.receiver], "rx_packets")
        want(missed == 0, f"{missed} frames are missing on the RoCE wire")
        for name, check in (("messages did not complete", acts.messages_complete),
                            ("the balance is not exact", acts.balanced)):
            ok, figures = check(result)
            want(ok, f"{name}: {figures}")
    return 0


sys.exit(main())
