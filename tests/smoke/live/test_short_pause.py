#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The shortest PAUSE that the switch takes, live, for as long as a storm holds up its receiver. The
switch and its hosts are slowed, so that a busy machine is not late. (On a veth no frame waits in a
ring before the PAUSE. The unit test of pfc.c has full rings.)

usage: test_short_pause.py BUILD_DIR
"""
import os
import re
import subprocess
import sys

import live
from live import eventually, want

from switch import Host, Programs, Switch, pick # noqa: E402
from world import World, switch_name # noqa: E402

SCALE = 1000
SLOWED = ["--time-scale", str(SCALE), "--speed", "1G"]
POLICY = """\
switch: {name: %(name)s, time_scale: %(scale)d, buffer: {size: 4MB}}
ports: [{name: "p[1-3]", device: "xdp:sw[1-3]", speed: 1G, mtu: 1500, profile: roce}]
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  roce:
    pfc: {quanta: %(quanta)d}
    classes: {3: {lossless: true, ingress: {static: 20KB}}}
"""
STORM_MS = 8 # of the model


def check(programs, folder, quanta):
    path = os.path.join(folder, "check.yaml")
    with open(path, "w") as f:
        f.write(POLICY % {"name": "check", "scale": SCALE, "quanta": quanta})
    done = subprocess.run([programs.weirctl, "check", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def least_in(text):
    found = re.search(r"(\d+) quanta are the least", text)
    want(found, text)
    return int(found[1])


def the_least_pause_that_check_takes_loses_nothing():
    programs = Programs(sys.argv[1])
    with World(3) as world:
        status, text = check(programs, world.logs, 1)
        of_cards = least_in(text)
        want(status != 0, text)
        want(check(programs, world.logs, of_cards - 1)[0] != 0, "one less is refused")
        status, text = check(programs, world.logs, of_cards)
        least = least_in(text)
        want(status == 0 and least > of_cards, text)
        want("refuse" not in check(programs, world.logs, least)[1], "as many as a veth takes")
        one_pause(world, programs, least)


def a_veth_that_shall_be_fast_is_told_of_the_time_scale():
    programs = Programs(sys.argv[1])
    note = "note: p1, p2, p3 have no card"
    with World(3) as world:
        path = os.path.join(world.logs, "fast.yaml")
        for speed, scale, told in ("100G", 1, True), ("1G", 1, False), ("100G", 1000, False):
            text = POLICY % {"name": "fast", "scale": scale, "quanta": 65535}
            with open(path, "w") as f:
                f.write(text.replace("speed: 1G", f"speed: {speed}"))
            done = subprocess.run(world.inside("sw", programs.weirctl, "check", path),
                                  capture_output=True, text=True)
            want(done.returncode == 0 and (note in done.stdout) == told, f"{speed} {done}")
            want(("with switch.time_scale: 1000 " in done.stdout) == told, f"{speed} {done}")


def one_pause(world, programs, quanta):
    name = switch_name()
    switch = Switch(world, programs, name,
                    POLICY % {"name": name, "scale": SCALE, "quanta": quanta})
    receiver = Host(world, programs, 3, "receiver", "--listen", "--class", "3", "--storm-at",
                    "500us", "--for", f"{STORM_MS}ms", *SLOWED).ready()
    sender = Host(world, programs, 1, "sender", "--to", "10.0.0.3", "--class", "3", "--time",
                  f"{STORM_MS + 2}ms", "--rto", "100ms", *SLOWED).ready()

    def pfc():
        return pick(switch.show("pfc")["pfc"], port="p1", **{"class": 3})

    eventually(lambda: pfc()["tx_pause"] >= 8, "PAUSE again and again", 120)
    eventually(lambda: not pick(switch.show("queues")["queues"], port="p3", queue=3)["paused"],
               "the storm is over", 120)
    lost = [d for d in switch.show("drops")["drops"] if d["class"] == 3]
    print(f"        {quanta} quanta: {pfc()['tx_pause']} PAUSE frames")
    want(lost == [], f"lost: {lost}")
    sender.process.stop()
    receiver.process.stop()
    want(switch.stop() == 0, switch.process.said())


sys.exit(live.run_tests([the_least_pause_that_check_takes_loses_nothing,
                         a_veth_that_shall_be_fast_is_told_of_the_time_scale]))
