#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weir-host --storm` as a tester of other switches: tshark counts its frames, and a switch with a
watchdog finds the storms and restores them as the report of the generator says.

usage: test_generator.py BUILD_DIR
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

SPEED = 1e9
LIFETIME_US = 65535 * 512e6 / SPEED
DETECT_MS, RESTORE_MS = 100, 200
POLICY = """\
switch: {name: %s, buffer: {size: 1MB}, lldp: off, stall: {pause_after: off}}
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 1G, mtu: 1500, profile: roce}
profiles:
  roce:
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    watchdog: {action: drop, mode: progress, detect: 100ms, restore: 200ms}
    classes:
      0: {schedule: {dwrr: 50}}
      3: {lossless: true, schedule: {dwrr: 50}, ingress: {alpha: 1}}
      6: {schedule: strict}
"""
FIELDS = ("frame.time_epoch", "eth.dst", "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3")


def storm_of(host, status=0):
    """The report's part about the storm, once the program has ended."""
    want(host.process.wait(60) == status, f"its status\n{host.process.said()}")
    report = host.report()
    return report["storm"]


def generator(world, i, *words):
    return Host(world, PROGRAMS, i, f"storm{len(world.processes)}", "--storm", "--speed", "1G",
                *words)


def frames_are_as_many_and_as_fast_as_the_report_says():
    with QuickWorld(1, tapped=True) as world:
        made = []

        def send():
            h = generator(world, 1, "--class", "3", "--storm-rate", "1000", "--for", "2s")
            made.append(storm_of(h))
        path = captured(world, "tap", "t1", ["ether", "proto", "0x8808"], send, "storm")
        rows = tshark(path, *FIELDS)
    s = made[0]
    pauses = [float(r["frame.time_epoch"]) for r in rows if r[FIELDS[4]] == "65535"]
    want({r["eth.dst"] for r in rows} == {"01:80:c2:00:00:01"}, f"addresses: {rows[0]}")
    want({int(r["macc.cbfc.enbv"], 0) for r in rows} == {1 << 3}, f"classes: {rows[0]}")
    want((len(pauses), len(rows) - len(pauses)) == (s["pause_frames"], s["xon_frames"]),
         f"tshark sees {len(pauses)} PAUSE of {len(rows)} frames: {s}")
    want(s["pause_frames"] + s["missed"] == 2000 and s["xon_frames"] == 1, f"the plan: {s}")
    seen = (len(pauses) - 1) / (pauses[-1] - pauses[0])
    gap_us = max(b - a for a, b in zip(pauses, pauses[1:])) * 1e6
    print(f"        {len(pauses)} frames, {s['missed']} missed, {seen:.2f} a second on the wire, "
          f"{s['frames_per_second']:.2f} in the report; longest gap {gap_us:.0f} us, "
          f"{s['gap_max_us']:.0f} in the report, error {s['error_us']:.0f} us")
    if s["missed"] == 0:
        want(abs(seen / 1000 - 1) < 0.01, f"{seen} frames a second")
    want(abs(seen / s["frames_per_second"] - 1) < 0.01, f"{seen} frames a second: {s}")
    want(abs(pauses[0] - s["first_unix_ns"] / 1e9) < 0.01 and
         abs(pauses[-1] - s["last_unix_ns"] / 1e9) < 0.01, f"{pauses[0]}, {pauses[-1]}: {s}")
    want(gap_us <= s["gap_max_us"] + SLACK_US, f"a gap of {gap_us} us is longer than said: {s}")
    want(abs(s["lifetime_us"] - LIFETIME_US) < 1, f"{s}")
    want((s["holes"] > 0) == (s["gap_max_us"] > s["lifetime_us"]), f"{s}")


class Bench:
    """A switch, a listener that storms at p3, and a sender to it."""

    def __init__(self, world):
        self.world = world
        self.switch = Switch(world, PROGRAMS, switch_name(), POLICY % switch_name())

    def storm(self, *words, seconds=5):
        """The storm of a listener that h1 sends to; the switch's watchdog and PFC of p3."""
        self.switch.ctl("clear", "counters")
        self.switch.ctl("clear", "watermarks")
        h3 = Host(self.world, PROGRAMS, 3, f"h3-{len(self.world.processes)}", "--listen", "--speed",
                  "1G", "--class", "3", "--storm-at", "1500ms", *words)
        h1 = Host(self.world, PROGRAMS, 1, f"h1-{len(self.world.processes)}", "--to", "10.0.0.3",
                  "--speed", "1G", "--rate", "20M", "--time", f"{seconds}s", "--rto", "300ms",
                  "--drain", "20s")
        return h1, h3

    def end(self, h1, h3):
        want(h1.process.wait(60) == 0, f"the sender: {h1.process.said()}")
        h3.process.stop()
        return h3.report()["storm"]

    def dog(self):
        return pick(self.switch.show("watchdog")["watchdog"], port="p3", **{"class": 3})

    def pfc(self):
        return pick(self.switch.show("pfc")["pfc"], port="p3", **{"class": 3})

    def gap_ms(self):
        return max(w["gap_max_ns"] for w in self.switch.show("workers")["workers"]) / 1e6


def a_watchdog_finds_and_restores_the_storm_when_the_report_says():
    with QuickWorld(3) as world:
        b = Bench(world)
        before = b.dog()
        s = b.end(*b.storm("--storm-rate", "500", "--for", "1500ms"))
        d, pfc, gap = b.dog(), b.pfc(), b.gap_ms()
        want((d["detected"] - before["detected"], d["status"]) == (1, "operational"), f"{d}, {s}")
        ms = d["last_measured_us"] / 1e3
        want(DETECT_MS <= ms <= DETECT_MS + gap, f"found after {ms} ms, loops {gap} ms")
        lasted = d["longest_storm_us"] / 1e3
        # The frame that the clock of the watchdog starts with comes a little later than the storm.
        planned = s["seconds"] * 1e3 - DETECT_MS + RESTORE_MS
        print(f"        found after {ms:.2f} ms; in recovery for {lasted:.1f} ms, by the report "
              f"{planned:.1f} ms; {s['pause_frames']} PAUSE, {s['missed']} missed")
        if s["holes"] == 0: # a machine that stalls for longer than a PAUSE lasts makes holes
            want(abs(lasted - planned) < 2 * gap + 30, f"{lasted} ms, planned {planned}: {s}")
        # A switch that stalls for the rest of a PAUSE makes a hole of its own.
        if s["gap_max_us"] + gap * 1e3 < LIFETIME_US:
            want(pfc["rx_pause_transition"] - 1 <= s["holes"], f"no hole unseen: {pfc}: {s}")
        want(pfc["rx_pause"] == s["pause_frames"] + s["xon_frames"], f"{pfc}: {s}")
        want(s["pause_frames"] + s["missed"] == 750, f"{s}")


def a_storm_with_holes_says_so():
    with QuickWorld(3) as world:
        b = Bench(world)
        h1, h3 = b.storm("--storm-rate", "100", "--for", "1s", seconds=4)
        eventually(lambda: b.pfc()["rx_pause"] > 20, "the storm is there", 10)
        h3.process.p.send_signal(signal.SIGSTOP)
        time.sleep(0.15)
        h3.process.p.send_signal(signal.SIGCONT)
        s = b.end(h1, h3)
        print(f"        {s['holes']} holes, {s['unpaused_max_us'] / 1e3:.1f} ms at most, "
              f"{s['missed']} frames missed")
        want(s["holes"] >= 1 and s["missed"] >= 10, f"it was stopped for 150 ms: {s}")
        want(150e3 - LIFETIME_US - 20e3 < s["unpaused_max_us"], f"a hole of 116 ms: {s}")
        # A PAUSE of 1000 quanta lasts half a millisecond.
        s = storm_of(generator(world, 2, "--every", "20ms", "--quanta", "1000", "--for", "200ms"))
        want(s["holes"] == s["pause_frames"], f"each PAUSE runs out: {s}")
        want(s["unpaused_us"] > 0.9 * (s["holes"] * (20e3 - 512)), f"{s}")


def turns_pause_and_release_and_are_no_storm():
    with QuickWorld(3) as world:
        b = Bench(world)
        before = b.dog()["detected"]
        s = b.end(*b.storm("--on", "20ms", "--off", "30ms", "--for", "1s", seconds=3))
        want(b.dog()["detected"] == before, f"{b.dog()}")
        pfc = b.pfc()
        print(f"        {s['pause_frames']} PAUSE, {s['xon_frames']} XON, "
              f"{pfc['rx_pause_duration_us'] / 1e3:.0f} ms paused, {s['holes']} holes")
        want(15 <= s["xon_frames"] <= 20 and pfc["rx_pause_transition"] == s["xon_frames"],
             f"{pfc}: {s}")
        want(pfc["rx_pause"] == s["pause_frames"] + s["xon_frames"], f"{pfc}: {s}")


def turns_of_a_list_come_at_their_times():
    with QuickWorld(1, tapped=True) as world:
        made = []

        def send():
            h = generator(world, 1, "--class", "3", "--turns", "40ms/60ms,10ms/90ms,80ms/20ms")
            made.append(storm_of(h))
        path = captured(world, "tap", "t1", ["ether", "proto", "0x8808"], send, "turns")
        rows = tshark(path, *FIELDS)
    turns = [] # [begin, end]
    for r in rows:
        at = float(r["frame.time_epoch"]) * 1e3
        if r[FIELDS[4]] == "0":
            turns[-1][1] = at
        elif not turns or turns[-1][1] is not None:
            turns.append([at, None])
    print(f"        {[(round(a - turns[0][0]), round(b - a)) for a, b in turns]} ms; {made[0]}")
    slack = 5 + made[0]["gap_max_us"] / 1e3
    for (begin, end), (at, lasts) in zip(turns, ((0, 40), (100, 10), (200, 80)), strict=True):
        want(abs(begin - turns[0][0] - at) < slack and abs(end - begin - lasts) < slack, f"{turns}")
    want(made[0]["xon_frames"] == 3 and made[0]["holes"] == 0 or slack > 20, f"{made}")


def a_storm_that_is_late_fails_where_it_must_be_exact():
    with QuickWorld(1) as world:
        for exact in (False, True):
            h = generator(world, 1, "--storm-rate", "1000", "--for", "1s",
                          *["--exact"] if exact else [])
            eventually(lambda h=h: "ready" in h.process.said(), "it storms", 10)
            time.sleep(0.2)
            h.process.p.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            h.process.p.send_signal(signal.SIGCONT)
            s = storm_of(h, status=int(exact))
            want(s["missed"] > 100 and s["holes"] > 0, f"it was stopped for 200 ms: {s}")
            want(("the storm was not as planned" in h.process.said()) == exact, h.process.said())


def xon_after_the_storm_does_not_prolong_it():
    with QuickWorld(3) as world:
        b = Bench(world)
        s = b.end(*b.storm("--storm-rate", "200", "--for", "500ms", "--then-xon", "1500ms"))
        d = b.dog()
        lasted = d["longest_storm_us"] / 1e3
        want(d["status"] == "operational" and s["xon_frames"] > 150, f"{d}: {s}")
        want(lasted < 500 - DETECT_MS + RESTORE_MS + 2 * b.gap_ms() + 30, f"{lasted} ms: {s}")


def wrong_options_are_refused():
    for words, says in (
            (["--storm", "--storm-rate", "10", "--every", "1ms"], "say the same thing"),
            (["--storm", "--on", "1ms"], "--on and --off go together"),
            (["--storm", "--turns", "1ms/2ms,3ms"], "is no pause and silence such as 20ms/80ms"),
            (["--storm", "--turns", "1ms/2"], "--turns: \"2\""),
            (["--storm", "--turns", "1ms/2ms", "--for", "1s"], "leave "),
            (["--listen", "--ip", "10.0.0.1", "--exact"], "go with --storm or --storm-at"),
            (["--storm", "--then-xon", "1s"], "needs a storm of PAUSE that ends"),
            (["--storm", "--for", "1s", "--no-xon", "--then-xon", "1s"], "no --no-xon"),
            (["--listen", "--ip", "10.0.0.1", "--storm-rate", "5"], "with --storm or --storm-at"),
            (["--storm", "--storm-rate", "2000000"], "is outside 1 .. 1000000"),
            (["--storm", "--storm-rate", "0"], "is outside")):
        done = live.run(PROGRAMS.weir_host, "--device", "xdp:nowhere", *words, check=False)
        want(done.returncode == 2 and says in done.stderr, f"{words}: {done}")
    with QuickWorld(1) as world:
        done = world.run("h1", PROGRAMS.weir_host, "--device", "xdp:e1", "--speed", "10M",
                         "--storm", "--storm-rate", "20000", check=False)
        want(done.returncode == 1 and "at most 14880 a second fit" in done.stderr, f"{done}")


live.need_root("tcpdump", "tshark")
from hosts import captured, tshark # noqa: E402: the path is set by live
from switch import Host, Programs, Switch, pick # noqa: E402
from world import QuickWorld, switch_name # noqa: E402

SLACK_US = 5000 # a frame waits for the kernel on its way to the capture
PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([frames_are_as_many_and_as_fast_as_the_report_says,
                         a_watchdog_finds_and_restores_the_storm_when_the_report_says,
                         a_storm_with_holes_says_so, turns_pause_and_release_and_are_no_storm,
                         turns_of_a_list_come_at_their_times,
                         a_storm_that_is_late_fails_where_it_must_be_exact,
                         xon_after_the_storm_does_not_prolong_it, wrong_options_are_refused]))
