#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Storms on live ports: found in time, survived as the policy says, over without residue. Peers are
packet sockets, so that every frame is counted outside the switch.

usage: test_storm.py BUILD_DIR
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

PORTS = (1, 2, 3, 4)
DETECT_MS, RESTORE_MS = 100, 200
POLICY = """\
switch: {name: %(name)s, buffer: {size: 1MB}}
ports:
  - {name: "p[1-4]", device: "xdp:sw[1-4]", speed: 80M, mtu: 1500, profile: roce}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
  - {mac: "02:00:00:00:00:04", port: p4}
profiles:
  roce:
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    pfc: {quanta: 8192, warning: {in: 10}}
    %(watchdog)s
    classes:
      0: {schedule: {dwrr: 50}}
      3: {lossless: true, schedule: {dwrr: 50}, ingress: {alpha: 1}}
      6: {schedule: strict}
"""
WATCHDOG = ("watchdog: {action: %s, mode: %s, detect: 100ms, restore: 200ms, "
            "limit: {count: %d, window: 60s, then: %s}}")


def watchdog(action="drop", mode="progress", count=0, then="pfc_off"):
    return WATCHDOG % (action, mode, count, then)


def want_eq(a, b, text):
    want(a == b, f"{text}: {a!r} is not {b!r}")


class Bench:
    """The switch, its peers, and what the tests ask of both."""

    def __init__(self, world, peers, switch):
        self.world, self.peers, self.switch = world, peers, switch

    def ctl(self, *args, status=0):
        done = subprocess.run([PROGRAMS.weirctl, "-s", self.switch.name, *args], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=30)
        want_eq(done.returncode, status, f"exit status of {args}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def reload(self, text, status=0):
        path = os.path.join(self.world.logs, "next.yaml")
        with open(path, "w") as f:
            f.write(POLICY % {"name": self.switch.name, "watchdog": text})
        return self.ctl("reload", path, status=status)

    def dog(self, port=3):
        return pick(self.switch.show("watchdog")["watchdog"], port=f"p{port}", **{"class": 3})

    def await_status(self, status, *ports):
        for p in ports or (3,):
            eventually(lambda p=p: self.dog(p).get("status") == status, f"p{p} is {status}: "
                       f"{self.dog(p)}")

    def pfc(self, port, cls=3):
        return pick(self.switch.show("pfc")["pfc"], port=f"p{port}", **{"class": cls})

    def paused(self, port):
        return pick(self.switch.show("queues")["queues"], port=f"p{port}", queue=3)["paused"]

    def drops(self):
        by = collections.Counter()
        for d in self.switch.show("drops")["drops"]:
            by[d["reason"]] += d["packets"]
        return dict(by)

    def events(self, name=None):
        rows = self.switch.show("events")["events"]
        return [e for e in rows if e["seq"] > self.seen and name in (None, e["event"])]

    def gap_ms(self):
        return max(w["gap_max_ns"] for w in self.switch.show("workers")["workers"]) / 1e6

    def begin(self):
        """Counts from here."""
        self.ctl("clear", "counters")
        self.ctl("clear", "watermarks")
        self.peers.got.clear()
        self.peers.pfc.clear()
        rows = self.switch.show("events")["events"]
        self.seen = rows[-1]["seq"] if rows else 0

    def pause(self, *ports):
        """These peers go mad, and the switch knows. Nothing waits for them: a storm that is found
        ends the pause, maybe before it is seen."""
        self.peers.storm(*ports)
        for p in ports:
            eventually(lambda p=p: self.paused(p), f"p{p} is paused")

    def arrived(self, n, host, src=None, cls=3):
        """n frames, and no more once all is at rest."""
        eventually(lambda: self.peers.received(host, src, cls) >= n,
                   f"{n} frames at h{host}: {self.peers.received(host, src, cls)}, "
                   f"drops {self.drops()}")
        want_eq(self.peers.received(host, src, cls), n, f"frames of class {cls} at h{host}")

    def works(self, src, dst):
        self.peers.got.clear()
        self.peers.flow(src, dst, n=50)
        self.arrived(50, dst, src)

    def at_rest(self):
        """Nothing waits, nothing is paused by the switch, and every frame is accounted for."""
        answer = json.loads(self.ctl("quiesce", "--json"))
        b = answer["balance"]
        want(b["balanced"] and b["queued"] == 0, f"the balance: {answer}")
        for p in PORTS:
            want(not self.paused(p), f"p{p} is still paused by its peer")
        for row in self.switch.show("causes")["causes"]:
            want(not row["now"] and not row["xoff"], f"a PAUSE still stands: {row}")
        missed = [p["rx_missed"] for p in self.switch.show("ports")["ports"]]
        want_eq(missed, [0] * len(PORTS), "frames that the receive rings missed")

    def measured(self, port=3):
        ms, gap = self.dog(port)["last_measured_us"] / 1e3, self.gap_ms()
        want(DETECT_MS <= ms <= DETECT_MS + gap,
             f"found after {ms} ms, not within {DETECT_MS} .. {DETECT_MS + gap}")
        return ms


# ---- tests; each begins with every class at work


def drop_discards_what_the_storm_concerns_and_nothing_else(b):
    b.reload(watchdog("drop"))
    b.begin()
    b.pause(3)
    to_h3 = b.peers.flow(1, 3, per_s=800, n=1200)
    others = [b.peers.flow(2, 4, per_s=800, n=1200), b.peers.flow(1, 3, 0, per_s=400, n=600)]
    b.await_status("stormed")
    ms = b.measured()
    from_h3 = b.peers.flow(3, 4, per_s=400, n=200)
    eventually(lambda: all(f.done() for f in [to_h3, from_h3, *others]), "all is sent")
    b.arrived(1200, 4, 2) # the same class, other ports
    b.arrived(600, 3, 1, 0) # another class, the same port
    b.await_status("stormed")
    b.peers.calm(3)
    b.await_status("operational")
    want(time.monotonic() - b.peers.paused_at[3] >= RESTORE_MS / 1e3,
         "it is over no sooner than `restore` after the last PAUSE")
    d = b.dog()
    print(f"        found after {ms:.2f} ms; tx {d['tx_ok_last']}/{d['tx_dropped_last']}, "
          f"rx {d['rx_ok_last']}/{d['rx_dropped_last']}")
    want_eq((d["detected"], d["restored"]), (1, 1), "storms")
    want_eq((d["tx_ok_last"], d["tx_dropped_last"]), (0, 1200), "frames to h3, ok and dropped")
    want_eq((d["rx_ok_last"], d["rx_dropped_last"]), (0, 200), "frames from h3, ok and dropped")
    want_eq(b.peers.received(3) + b.peers.received(4, 3), 0, "those arrive nowhere")
    want_eq(b.drops(), {"watchdog": 1400}, "drops")
    want(not [x for x in b.switch.show("drops")["drops"] if x["lossless"]], "it is no alarm")
    b.at_rest()
    b.works(1, 3) # again, both ways
    b.works(3, 4)


def events_and_counters_tell_the_same_story(b):
    """Of the test before."""
    found, over = b.events("pfc-storm"), b.events("pfc-storm-over")
    d = b.dog()
    want_eq((len(found), len(over)), (d["detected"], d["restored"]), "events")
    want_eq((found[0]["port"], found[0]["class"], found[0]["action"], found[0]["severity"]),
            ("p3", 3, "drop", "alarm"), "the event")
    want_eq(found[0]["measured_us"], d["last_measured_us"], "measured")
    want_eq(over[0]["storm_us"], d["longest_storm_us"], "the storm's length")
    want_eq(over[0]["t_ns"] // 1000 - found[0]["t_ns"] // 1000 in
            range(over[0]["storm_us"] - 1, over[0]["storm_us"] + 2), True, "the times")
    want_eq([(e["port"], e["direction"]) for e in b.events("pfc-rate-high")], [("p3", "in")],
            "the early warning")
    want("1/1" in b.ctl("show", "watchdog", "p3"), "the table")
    page = b.ctl("metrics")
    for line in ('weir_watchdog_stormed{port="p3",class="3"} 0',
                 'weir_watchdog_detect_seconds{port="p3",class="3"} 0.100',
                 'status="operational",mode="progress",action="drop",limit_then="pfc-off"'):
        want(line in page, f"{line} is in the metrics")


def forward_sends_on_and_no_pfc_leaves_the_port(b):
    b.reload(watchdog("forward"))
    b.begin()
    b.ctl("set", "port", "p4", "tx", "off")
    b.peers.flow(3, 4, per_s=4000, n=600) # p3 has to pause h3, which does not listen
    eventually(lambda: b.pfc(3)["xoff"], "p3 is in XOFF")
    eventually(lambda: b.peers.pfc_of(3, 3), "PAUSE arrived at h3")
    b.pause(3)
    to_h3 = b.peers.flow(1, 3, per_s=800, n=600)
    b.await_status("stormed")
    b.measured()
    eventually(lambda: b.peers.pfc_of(3, 3)[-1:] == [0], "one XON ends the pause of h3")
    before = b.peers.pfc_of(3, 3)
    want_eq(before.count(0), 1, "XON frames")
    b.peers.flow(3, 4, per_s=4000, n=4000) # more than buffer and receive ring hold
    eventually(to_h3.done, "all is sent")
    b.arrived(600, 3, 1)
    eventually(lambda: b.dog()["rx_ok_last"] + b.dog()["rx_dropped_last"] == 4000,
               f"all have arrived: {b.dog()}")
    want(b.dog()["rx_dropped_last"] > 0, "an unprotected group overruns")
    b.await_status("stormed")
    want_eq(b.peers.pfc_of(3, 3)[len(before):], [], "PFC of class 3 at h3 in the storm")
    b.peers.calm(3)
    b.await_status("operational")
    eventually(lambda: any(b.peers.pfc_of(3, 3)[len(before):]),
               "p3 is still in XOFF and pauses h3 again")
    b.ctl("set", "port", "p4", "tx", "on")
    eventually(lambda: not b.pfc(3)["xoff"], "p3 drains")
    d, lost = b.dog(), b.drops()
    print(f"        tx {d['tx_ok_last']}/{d['tx_dropped_last']}, "
          f"rx {d['rx_ok_last']}/{d['rx_dropped_last']}, drops {lost}")
    want_eq((d["tx_ok_last"], d["tx_dropped_last"]), (600, 0), "frames to h3")
    want_eq(lost, {"watchdog": d["rx_dropped_last"]}, "drops")
    want_eq(d["rx_ok_last"] + d["rx_dropped_last"], 4000, "frames of h3 in the storm")
    b.arrived(4600 - d["rx_dropped_last"], 4, 3)
    b.at_rest()


def forward_counts_what_passes(b):
    b.begin()
    b.pause(3)
    to_h3 = b.peers.flow(1, 3, per_s=500)
    b.await_status("stormed")
    b.peers.flow(3, 4, per_s=1000, n=200)
    b.arrived(200, 4, 3)
    b.peers.stop(to_h3)
    b.arrived(to_h3.sent, 3, 1)
    b.peers.calm(3)
    b.await_status("operational")
    d = b.dog()
    want_eq((d["rx_ok_last"], d["rx_dropped_last"]), (200, 0), "frames from h3")
    want_eq((d["tx_ok_last"], d["tx_dropped_last"]), (to_h3.sent, 0), "frames to h3")
    want_eq((d["tx_ok"], d["rx_ok"]), (to_h3.sent, 200), "since the clear")
    want_eq(b.drops(), {}, "drops")
    b.at_rest()


def alert_tells_and_changes_nothing(b):
    b.reload(watchdog("alert"))
    b.begin()
    b.pause(3)
    flow = b.peers.flow(1, 3, per_s=800, n=100)
    b.await_status("stormed")
    b.measured()
    eventually(flow.done, "all is sent")
    want_eq(b.peers.received(3), 0, "frames of a class that is paused")
    want(b.paused(3), "the class obeys PFC")
    b.peers.calm(3)
    b.arrived(100, 3, 1)
    b.await_status("operational")
    want_eq(b.drops(), {}, "drops")
    want_eq((len(b.events("pfc-storm")), len(b.events("pfc-storm-over"))), (1, 1), "events")
    b.at_rest()


def bursts_and_storms_of_an_empty_queue_are_no_storms(b):
    b.reload(watchdog("drop"))
    b.begin()
    b.peers.storm(4) # nothing waits there
    flow = b.peers.flow(1, 3, per_s=800)
    for _ in range(4): # half of detect, every other detect
        b.peers.pause_once(3, 65535 * 50 // 420)
        time.sleep(2 * DETECT_MS / 1e3)
    for _ in range(100): # and a storm of XON
        b.peers.pause_once(3, 0)
        time.sleep(0.003)
    b.peers.stop(flow)
    b.peers.calm(4)
    b.arrived(flow.sent, 3, 1)
    want_eq([d["detected"] for d in b.switch.show("watchdog")["watchdog"]], [0] * 4, "storms")
    want(b.pfc(3)["rx_pause_transition"] == 4, f"the pauses were seen: {b.pfc(3)}")
    want_eq(b.drops(), {}, "drops")
    b.at_rest()


def a_reload_in_the_storm_acts_at_once(b):
    b.reload(watchdog("drop"))
    b.begin()
    b.pause(3)
    flow = b.peers.flow(1, 3, per_s=500)
    b.await_status("stormed")
    b.reload(watchdog("forward"))
    want_eq(b.dog()["action"], "forward", "the new action")
    eventually(lambda: b.peers.received(3) > 50, "frames are sent on")
    before = b.drops()["watchdog"]
    b.reload(watchdog("drop"))
    eventually(lambda: b.drops()["watchdog"] > before + 20, "frames are dropped again")
    want_eq((b.dog()["detected"], b.dog()["restored"]), (1, 0), "it is still the same storm")
    b.reload("watchdog: off")
    want_eq((b.dog()["status"], b.dog()["restored"]), ("off", 1), "not watched: it is over")
    eventually(lambda: b.paused(3), "the class obeys its peer again")
    b.reload(watchdog("drop"))
    b.await_status("stormed")
    b.peers.stop(flow)
    b.peers.calm(3)
    b.await_status("operational")
    d = b.dog()
    want_eq((d["detected"], d["restored"]), (2, 2), "storms")
    want_eq(b.peers.received(3) + b.drops()["watchdog"], flow.sent, "frames sent on or dropped")
    b.at_rest()


def a_wrong_watchdog_is_refused_and_the_storm_goes_on(b):
    b.reload(watchdog("drop"))
    b.begin()
    b.pause(3)
    flow = b.peers.flow(1, 3, per_s=500)
    b.await_status("stormed")
    for wrong, says in (("{detect: 0ms}", "watchdog.detect"), ("{detect: 400a}", "400a"),
                        ("{action: invalid}", "invalid")):
        text = b.reload(f"watchdog: {wrong}", status=2)
        want(says in text and "next.yaml:13:" in text, f"{wrong}: {text}")
    want_eq((b.dog()["status"], b.dog()["detect_ms"], b.dog()["action"]), ("stormed", 100, "drop"),
            "the old policy holds")
    b.peers.stop(flow)
    b.peers.calm(3)
    b.await_status("operational")
    want_eq(b.drops(), {"watchdog": flow.sent}, "drops")
    b.at_rest()


def a_link_that_goes_down_ends_the_storm_and_one_that_comes_up_is_watched(b):
    b.begin()
    b.pause(3)
    flow = b.peers.flow(1, 3, per_s=500)
    b.await_status("stormed")
    b.world.run("h3", "ip", "link", "set", "e3", "down")
    b.await_status("operational")
    want_eq(b.dog()["restored"], 1, "restored")
    b.world.run("h3", "ip", "link", "set", "e3", "up")
    b.await_status("stormed") # its peer is as mad as before
    b.measured()
    b.peers.stop(flow)
    b.peers.calm(3)
    b.await_status("operational")
    want_eq((b.dog()["detected"], b.dog()["restored"]), (2, 2), "storms")
    b.at_rest()
    b.works(1, 3)


def all_ports_storm_and_nothing_stays_stuck(b):
    b.reload(watchdog("drop", mode="xoff"))
    b.begin()
    flows = [b.peers.flow(i, i % 4 + 1, per_s=300) for i in PORTS]
    b.peers.storm(*PORTS)
    eventually(lambda: all(b.dog(p)["detected"] for p in PORTS), "all are found")
    for p in PORTS:
        b.measured(p)
    b.peers.calm(*PORTS)
    eventually(lambda: all(d["detected"] == d["restored"] and d["status"] == "operational"
                           for d in map(b.dog, PORTS)), "all are restored")
    lasted = [e["storm_us"] / 1e3 for e in b.events("pfc-storm-over")]
    want(len(lasted) >= 4 and RESTORE_MS <= min(lasted) and
         max(lasted) <= RESTORE_MS + b.gap_ms(), f"mode xoff restores after {lasted} ms")
    b.peers.stop(*flows)
    sent = sum(f.sent for f in flows)
    eventually(lambda: sum(b.peers.received(p) for p in PORTS) + b.drops().get("watchdog", 0)
               == sent, f"{sent} frames went or were dropped: {b.drops()}")
    want_eq(set(b.drops()) <= {"watchdog"}, True, "drops")
    b.at_rest()


def too_many_storms_turn_pfc_off_until_recovered(b):
    b.reload(watchdog("drop", count=2))
    b.begin()
    flow = b.peers.flow(1, 3, per_s=500)
    for n in (1, 2):
        b.peers.storm(3)
        eventually(lambda n=n: b.dog()["detected"] == n, f"storm {n}")
        if n == 1:
            b.peers.calm(3)
            b.await_status("operational")
    b.await_status("pfc-off")
    limit = b.events("pfc-storm-limit")
    want_eq([(e["port"], e["class"], e["then"], e["storms"]) for e in limit],
            [("p3", 3, "pfc-off", 2)], "the event")
    had = b.peers.received(3)
    eventually(lambda: b.peers.received(3) > had + 50, "it sends, though its peer pauses it")
    want("PFC-OFF  p3 class 3" in b.ctl("watch", "--count", "1"), "weirctl watch")
    b.ctl("watchdog", "recover", "p3", "3")
    eventually(lambda: b.dog()["detected"] == 3, "the class is watched again")
    want_eq(len(b.events("pfc-recovered")), 1, "events of the recovery")
    want("STORM  p3 class 3" in b.ctl("watch", "--count", "1"), "weirctl watch")
    b.ctl("watchdog", "recover", "p3", "3") # of a storm, by hand
    eventually(lambda: b.dog()["detected"] == 4, "its peer goes on, and that is a new storm")
    b.peers.stop(flow)
    b.peers.calm(3)
    b.ctl("watchdog", "recover", "p3", "3") if b.dog()["status"] == "pfc-off" else None
    b.await_status("operational")
    b.at_rest()


def too_many_storms_take_the_port_down_until_recovered(b):
    b.reload(watchdog("drop", count=1, then="port_down"))
    b.begin()
    flow = b.peers.flow(1, 3, per_s=500)
    b.peers.storm(3)
    b.await_status("port-down")
    eventually(lambda: not pick(b.switch.show("ports")["ports"], name="p3")["up"], "p3 is down")
    b.peers.calm(3)
    b.peers.stop(flow)
    want_eq(b.events("pfc-storm-limit")[0]["then"], "port-down", "the event")
    b.ctl("watchdog", "recover", "p3", "3")
    eventually(lambda: pick(b.switch.show("ports")["ports"], name="p3")["up"], "p3 is up")
    b.works(1, 3)
    b.at_rest()


def drop_all_is_a_switch_of_its_own(b):
    b.reload(watchdog("drop"))
    b.begin()
    b.ctl("watchdog", "drop-all", "on")
    want_eq({b.dog(p)["status"] for p in PORTS}, {"drop-all"}, "status")
    b.peers.flow(1, 3, per_s=2000, n=300)
    b.peers.flow(1, 3, 0, per_s=2000, n=300)
    b.arrived(300, 3, 1, 0)
    eventually(lambda: b.drops() == {"watchdog": 300}, f"drops {b.drops()}")
    want("drop-all is on" in b.ctl("watchdog", "recover", "p3", "3", status=1), "says what it is")
    want("DROP-ALL" in b.ctl("show", "watchdog") and "DROP-ALL" in b.ctl("watch", "--count", "1"),
         "people see it")
    b.ctl("watchdog", "drop-all", "off")
    b.works(1, 3)
    want_eq([e["drop_all"] for e in b.events("watchdog-drop-all")], ["on", "off"], "events")
    b.at_rest()


def the_cause_of_a_pause_is_told(b):
    b.reload("watchdog: off")
    b.begin()
    b.pause(3)
    b.peers.flow(1, 3, per_s=4000, n=1200)
    eventually(lambda: b.pfc(1)["xoff"], "p1 is in XOFF")
    row = pick(b.switch.show("causes")["causes"], port="p1", **{"class": 3})
    keys = ("now", "kind", "cause_port", "cause_class", "paused", "ends", "chain")
    want_eq([row[k] for k in keys], [True, "queue", "p3", 3, True, "peer", ["p1:3", "p3:3"]],
            "the cause")
    want(row["held_bytes"] > 200000, f"it holds the buffer: {row}")
    text = b.ctl("show", "pfc", "--why")
    want("because p3 class 3 holds" in text and "the root is behind p3 class 3" in text, text)
    xoff = b.events("pfc-xoff")
    want_eq({(e["port"], e["cause_port"], e["cause_paused"]) for e in xoff}, {("p1", "p3", True)},
            "the event")
    b.peers.calm(3)
    b.arrived(1200, 3, 1)
    b.at_rest()
    want("last paused its sender" in b.ctl("show", "pfc", "--why"), "it is told afterwards")
    want(b.pfc(3)["rx_pause_longest_us"] > 1000, "the longest pause")


def what_cannot_be_recovered_is_said(b):
    for args, status, says in (
            (("recover", "p3", "3"), 1, "nothing to recover"),
            (("recover", "p3", "0"), 1, "class 0 of p3 is lossy; its lossless classes are: 3"),
            (("recover", "p9", "3"), 1, "no port named p9; the ports are: p1 p2 p3 p4"),
            (("recover", "p3", "8"), 2, "a class is a number from 0 to 7"),
            (("recover", "p3"), 2, "watchdog recover PORT CLASS"),
            (("drop-all", "maybe"), 2, "watchdog drop-all on|off"), ((), 2, "watchdog recover")):
        text = b.ctl("watchdog", *args, status=status)
        want(says in text, f"{args}: {text}")
    want("--why goes with show pfc" in b.ctl("show", "ports", "--why", status=2), "--why")


def tshark_has_nothing_against_the_pfc_that_was_sent(path):
    """All that h3 received: a foreign decoder sees the PFC frames that the peers counted."""
    done = subprocess.run(["tshark", "-n", "-r", path, "-Y", "macc", "-T", "fields", "-e",
                           "macc.opcode", "-e", "macc.cbfc.enbv", "-e", "_ws.expert.severity"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    want_eq(done.returncode, 0, done.stderr)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    want(rows and all(r[0] == "0x0101" and r[1] == "0x0008" and not r[2] for r in rows),
         f"{rows[:5]}")
    print(f"        {len(rows)} PFC frames")


TESTS = [drop_discards_what_the_storm_concerns_and_nothing_else,
         events_and_counters_tell_the_same_story,
         forward_sends_on_and_no_pfc_leaves_the_port,
         forward_counts_what_passes,
         alert_tells_and_changes_nothing,
         bursts_and_storms_of_an_empty_queue_are_no_storms,
         a_reload_in_the_storm_acts_at_once,
         a_wrong_watchdog_is_refused_and_the_storm_goes_on,
         a_link_that_goes_down_ends_the_storm_and_one_that_comes_up_is_watched,
         all_ports_storm_and_nothing_stays_stuck,
         too_many_storms_turn_pfc_off_until_recovered,
         too_many_storms_take_the_port_down_until_recovered,
         drop_all_is_a_switch_of_its_own,
         the_cause_of_a_pause_is_told,
         what_cannot_be_recovered_is_said]


def play(world, peers):
    policy = POLICY % {"name": switch_name(), "watchdog": watchdog()}
    b = Bench(world, peers, Switch(world, PROGRAMS, switch_name(), policy))
    failed = 0
    for test in TESTS:
        began = time.monotonic()
        failed += live.run_tests([named(test, b)])
        print(f"        {time.monotonic() - began:.1f} s", flush=True)
        if failed:
            break # the next would begin with what this one left
    want(b.switch.stop() == 0, f"the balance holds at the end\n{b.switch.process.said()}")
    return failed


def named(test, *args):
    def call():
        test(*args)
    call.__name__ = test.__name__
    return call


live.need_root("tshark", "tcpdump")
from peers import Peers # noqa: E402
from switch import Programs, Switch, pick # noqa: E402: the path is set by live
from world import QuickWorld, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
with QuickWorld(len(PORTS)) as WORLD, tempfile.TemporaryDirectory() as TMP:
    PCAP = os.path.join(TMP, "h3.pcap")
    DUMP = WORLD.spawn("h3", "tcpdump", "tcpdump", "-i", "e3", "-Q", "in", "-w", PCAP, "-U", "-Z",
                       "root", "ether proto 0x8808")
    with Peers(WORLD) as PEERS:
        STATUS = play(WORLD, PEERS)
    DUMP.stop()
    if not STATUS:
        STATUS = live.run_tests([named(tshark_has_nothing_against_the_pfc_that_was_sent, PCAP)])
sys.exit(1 if STATUS else 0)
