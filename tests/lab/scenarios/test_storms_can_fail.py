#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the scenarios of storms and deadlocks expect can fail: each is run with one thing taken away
or turned round, and must miss just that."""
import can_fail

UNWATCHED = "policy.profiles.{}.watchdog=off"
TWO, ROCE = UNWATCHED.format("two"), UNWATCHED.format("roce")
PORTS = '[{name: "p[1-3]", device: "xdp:x[1-3]", speed: 1G, mtu: 1500, profile: roce}]'

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("storm-clos-drop", (TWO,), ("storms == 1", "rate(near, 210ms, 900ms) >= 0.95 * "
                                 "rate(near, 50ms, 100ms)")),
    ("storm-clos-drop", ("faults=[]",), ("rooted(h8) == 1", "causes == 1")),
    ("storm-clos-forward", ("policy.profiles.two.watchdog.action=drop",), ("drops == 0",)),
    ("storm-clos", (TWO.replace("off", "on"),), ("rate(far, 200ms, 600ms) == 0",)),
    ("storm-two-way-drop", ("policy.profiles.two.watchdog.action=alert",),
     ("pauses(s2.p2.3, 200.1ms, 585ms) == 0", "storm_received_drops(s2.p2.3) > 0")),
    ("storm-two-way-drop", ("policy.profiles.two.watchdog.action=forward",),
     ("storm_sent == 0", "storm_sent_drops(s2.p2.3) > 0")),
    ("storm-count", ("policy.ports[1].watchdog.action=drop",),
     ("storm_sent(s1.p3.3) == 1536", "storm_received_drops(s1.p3.3) == 0", "drops == 1536")),
    ("storm-count", (TWO,), ("storm_sent_drops(s1.p4.3) == 1024", "drops == 1536")),
    ("storm-timing", ("policy.profiles.two.watchdog.detect=101ms",),
     ("storm_detected_at(s1.p3.3) == 250.009002ms", "storm_detected_at(s1.p5.3) == 200.000698ms")),
    ("storm-timing", ("policy.profiles.two.watchdog.restore=101ms",),
     ("storm_restored_at(s1.p3.3) == 648.000698ms", "storm_restored_at(s1.p5.3) == 300.000698ms")),
    ("storm-timing", ("policy.ports[1].watchdog.mode=progress",),
     ("storms(s1.p5.3) == 2",)),
    ("storm-bursts-progress", ("faults[0].pause_storm.burst=120ms",), ("storms(0s, 4s) == 0",)),
    ("storm-bursts-xoff", ("faults[0].pause_storm.burst=101ms",), ("storms(0s, 4s) == 0",)),
    ("storm-xon", ("faults[0].pause_storm.quanta=1000",),
     ("storms(0s, 1s) == 0", "drops(0s, 1s) == 0")),
    ("storm-slow-guard", ("hosts.h4.nic.storm_guard=50ms",), ("storms == 1",)),
    ("storm-quick-guard", ("hosts.h4.nic.storm_guard=400ms",),
     ("storms(0s, 1s) == 0", "drops(0s, 1s) == 0")),
    ("storm-pfc-off", ("policy.profiles.two.watchdog.limit.count=6",),
     ("escalated(s1.p4.3) == 1", "storms == 3")),
    ("storm-port-down", ("policy.profiles.two.watchdog.limit.then=pfc_off",),
     ("rate(s1.p4, 820ms, 1600ms) == 0",)),
    ("storm-port-down", ("faults[1].at=1999ms",), ("goodput(h4, 1700ms, 2s) > 700M",)),
    ("storm-all-ports", ("faults[0].pause_storm.for=50ms",), ("storms(s1.p*.3) == 1",)),
    ("storm-healthy-incast", ("faults=[{at: 100ms, host: h8, pause_storm: {class: 3}}]",),
     ("storms(0s, 500ms) == 0", "causes(0s, 500ms) == 0")),
    ("link-down", ("withdraw=off",), ("utilisation(s2.p3, 12ms, 20ms) >= 99%", "drops < 100",
                                      "goodput(in, 12ms, 20ms) >= 21G",
                                      "goodput(out, 12ms, 20ms) >= 20.5G")),
    ("loop-2-below", ("flows[0].rate=3548K", "duration=60s"),
     ("pauses == 0", "causes == 0")),
    ("loop-2-above", ("flows[0].rate=2903K",), ("rate(h1, 5s, 60s) == 0", "deadlocks == 1")),
    ("loop-2-above", ('switches."s[1-2]".routes=[]',), ("deadlocks == 1", "cycle(s1, s2) == 1")),
    ("loop-2-drop", (ROCE,), ("storms == 5", "rate(h1, 5s, 30s) within 0.1% of 3548K")),
    ("loop-transient", ("faults[1].at=550ms",), ("causes == 0", "goodput(lost, 1s, 2s) within 3% "
                                                 "of 37M")),
    ("loop-transient-stuck", ("faults[1].at=520ms",), ("deadlocks == 1",)),
    ("loop-transient-drop", (ROCE,), ("storms == 1", "goodput(lost, 2s, 3s) within 3% of 37M")),
    ("ring-drop", (ROCE,), ("goodput(h*, 2s, 3s) > 1M",)),
    ("ring-guard", (f"policy.ports={PORTS}",), ("deadlocks == 0", "causes == 0", "stuck == 0")),
    ("ring-deadlock", ("flows[3].rate=1M", "flows[1].rate=1M"), ("deadlocks == 1",)),
    ("ring-room", ("flows[2].rate=20M", "duration=60s"), ("deadlocks == 0", "xoffs(s[2,4]) == 0")),
    ("ring-heals", (ROCE,), ("storms == 1", "goodput(one, 10s, 20s) within 3% of 46.3M")),
)

can_fail.main(CASES)
