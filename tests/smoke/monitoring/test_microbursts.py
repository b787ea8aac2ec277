#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Microbursts on live ports: bursts of so many frames come out as their peak, to the byte.

usage: test_microbursts.py BUILD_DIR [TEST ...]
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "storm")]
import live # noqa: E402
from live import eventually, want # noqa: E402

live.need_root()
from peers import FRAME_BYTES, Peers # noqa: E402
from switch import Programs, Switch, pick # noqa: E402: the path is set by live
from world import QuickWorld, run, switch_name # noqa: E402

POLICY = """\
switch: {name: %s, buffer: {size: 1MB}%s}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 1G, mtu: 1500, profile: roce}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  roce:
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    classes:
      0: {schedule: {dwrr: 50}}
      3:
        lossless: true
        schedule: {dwrr: 50}
        ingress: {alpha: 1}
        wred: {ecn: on, kmin: 50KB, kmax: 200KB, pmax: 1%%}
"""


def want_eq(a, b, text):
    want(a == b, f"{text}: {a!r} is not {b!r}")


class Bench:
    def __init__(self, world, peers, switch):
        self.world, self.peers, self.switch = world, peers, switch

    def shown(self, *words):
        return self.switch.show("microbursts", *words)

    def queued(self):
        return pick(self.switch.show("queues")["queues"], port="p3", queue=3)["length_packets"]

    def hold(self, n, for_s=0.05):
        """n frames of class 3 from h1 wait for p3 so long, and then leave."""
        self.switch.ctl("set", "queue", "p3", "3", "tx", "off")
        try:
            self.peers.send_now(1, 3, n)
            eventually(lambda: self.queued() == n, f"{n} frames wait: {self.queued()}")
            time.sleep(for_s)
        finally:
            self.switch.ctl("set", "queue", "p3", "3", "tx", "on")
        eventually(lambda: self.queued() == 0, "they leave")

    def bursts(self, kind):
        return [r for r in self.shown()["bursts"] if r["kind"] == kind]

    def reload(self, key):
        path = os.path.join(self.world.logs, "next.yaml")
        with open(path, "w") as f:
            f.write(POLICY % (self.switch.name, key))
        self.switch.ctl("reload", path)


# ---- tests, in this order


def a_burst_has_the_bytes_of_its_frames_and_lasts_as_long_as_they_wait(b):
    began = time.time()
    b.hold(150)
    b.hold(99) # 99,000 bytes: below half of kmax
    queue = b.bursts("queue")
    want_eq(len(queue), 1, f"bursts: {queue}")
    r = queue[0]
    want_eq((r["port"], r["number"], r["class"]), ("p3", 3, 3), "where")
    want_eq((r["peak_bytes"], r["share_percent"], r["limit"]), (150 * FRAME_BYTES, 75, "kmax"),
            "how much")
    want(50000 <= r["duration_us"] < 10e6, f"how long: {r}")
    shown = time.mktime(time.strptime(r["time"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    want(began - 1 <= shown <= time.time() + 1, f"when: {r['time']}")
    row = pick(b.shown()["burst_queues"], port="p3", queue=3)
    want_eq((row["bursts"], row["over_us"], row["peak_bytes"]),
            (1, r["duration_us"], 150 * FRAME_BYTES), "the row of the queue")


def a_group_in_xoff_is_a_burst_of_the_port_of_arrival(b):
    b.hold(700) # alpha 1: XOFF at half of 1 MB; the rest goes to headroom and skid
    group = b.bursts("pg")
    want_eq(len(group), 1, f"bursts: {group}")
    r = group[0]
    want_eq((r["port"], r["number"], r["limit"], r["share_percent"]), ("p1", 3, "xoff", 100),
            "the group")
    want(r["headroom_bytes"] > 0, f"headroom: {r}")
    want_eq(b.bursts("queue")[0]["peak_bytes"], 700 * FRAME_BYTES, "the queue, latest first")


def the_history_has_a_value_for_each_window_and_the_table_a_bar(b):
    b.switch.ctl("set", "queue", "p3", "3", "tx", "off")
    try:
        b.peers.send_now(1, 3, 20)
        time.sleep(0.3)
        row = pick(b.shown()["burst_queues"], port="p3", queue=3)
        want_eq(row["history_bytes"][-90:-20], [20 * FRAME_BYTES] * 70, "windows")
        every = pick(b.shown("--all")["burst_queues"], port="p3", queue=3)["history_bytes"]
        want_eq((len(row["history_bytes"]), len(every)), (100, 1024), "how many")
        text = run("env", "LC_ALL=C", b.switch.programs.weirctl, "-s", b.switch.name, "show",
                   "microbursts", "--count", "1").stdout
    finally:
        b.switch.ctl("set", "queue", "p3", "3", "tx", "on")
    want(f"p3        q3       20.0 KB  |{'8' * 70}" in text, text)
    want("(the latest 1 of " in text, text)


def watermarks_since_the_clear_are_those_of_all_windows(b):
    row = pick(b.switch.show("watermarks")["queues"], port="p3", queue=3)
    want_eq(row["max_bytes"], 700 * FRAME_BYTES, "the highest of all")
    b.switch.ctl("clear", "watermarks")
    row = pick(b.switch.show("watermarks")["queues"], port="p3", queue=3)
    want_eq(row["max_bytes"], 0, "after the clear")
    b.hold(30)
    time.sleep(0.05)
    row = pick(b.switch.show("queues")["queues"], port="p3", queue=3)
    want_eq(row["max_bytes"], 30 * FRAME_BYTES, "since the clear")


def a_reload_turns_it_off_and_on(b):
    b.reload("")
    want_eq((b.shown()["burst_queues"], b.shown()["burst_window"]["window_us"]), ([], 0), "off")
    want("off: the policy has no `microbursts: on`" in b.switch.ctl("show", "microbursts"), "off")
    n = len(b.shown()["bursts"])
    b.hold(150)
    want_eq(len(b.shown()["bursts"]), n, "bursts while it is off")
    b.reload(", microbursts: {window: 2ms, from: 80%}")
    b.hold(150)
    want_eq(len(b.shown()["bursts"]), n, "bursts below 80 %")
    b.hold(170)
    eventually(lambda: len(b.bursts("queue")) > 2, "a burst of 85 %")
    want_eq(b.bursts("queue")[0]["duration_us"] % 2000, 0, "windows of 2 ms")
    want_eq(b.shown()["burst_window"]["records_lost"], 0, "records lost")


TESTS = [a_burst_has_the_bytes_of_its_frames_and_lasts_as_long_as_they_wait,
         a_group_in_xoff_is_a_burst_of_the_port_of_arrival,
         the_history_has_a_value_for_each_window_and_the_table_a_bar,
         watermarks_since_the_clear_are_those_of_all_windows, a_reload_turns_it_off_and_on]


def named(test, *args):
    def call():
        test(*args)
    call.__name__ = test.__name__
    return call


PROGRAMS = Programs(sys.argv[1])
with QuickWorld(3) as WORLD:
    SWITCH = Switch(WORLD, PROGRAMS, switch_name(),
                    POLICY % (switch_name(), ", microbursts: on"))
    with Peers(WORLD) as PEERS:
        STATUS = live.run_tests([named(t, Bench(WORLD, PEERS, SWITCH)) for t in TESTS])
    want(SWITCH.stop() == 0, "the balance holds at the end")
sys.exit(STATUS)
