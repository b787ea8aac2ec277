#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scenarios of auto ECN expect can fail: each is run with the static default in place of auto
ECN, or with another thing turned round, and must miss just that."""
import can_fail

CLASS = "policy.profiles.roce.classes.3"
# The static default, 5 KB, 200 KB and 1 % at 40 Gb/s, at 25 Gb/s.
STATIC = (f"{CLASS}.ecn=~", f"{CLASS}.wred={{kmin: 3125B, kmax: 125KB, pmax: 1%}}")
# Another workload from 1.5 s on.
BULK = ('{name: bulk, from: "h[1-8]", to: h18, class: 3, size: 5MB, interval: 40ms, '
        "stop: 1500ms}")
LONG = '{name: long, from: "h[1-4]", to: h18, class: 3, start: 1500ms}'

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("auto-incast", STATIC,
     ("kmin(s1.p18.3) >= 100KB", "kmax(s1.p18.3) / kmin(s1.p18.3) == 4",
      "ecn_changes(s1.p18.3, 0s, 200ms) >= 3", "goodput(h18, 300ms, 1s) >= 15G")),
    ("auto-incast", (f"{CLASS}.ecn.action=advise",), ("goodput(h18, 300ms, 1s) >= 15G",)),
    ("auto-incast", (f"{CLASS}.ecn.ceiling=50KB",), ("kmin(s1.p18.3) >= 100KB",)),
    ("auto-incast", (f"{CLASS}.ecn.step=100ms",), ("ecn_changes(s1, 200ms, 1s) == 0",)),
    ("auto-long", STATIC, ("slowdown(mice, p99, 300ms, 1s) <= 4",)),
    ("auto-long", (f"{CLASS}.ecn.floor=20KB",),
     ("kmin(s1.p10.3) <= 7KB", "slowdown(mice, p99, 300ms, 1s) <= 4")),
    ("auto-change", STATIC,
     ("kmin(s1.p18.3, 0s, 1s) >= 100KB", "slowdown(mice, p99, 1.5s, 3s) <= 4")),
    ("auto-change", (f"{CLASS}.ecn.step=200ms",),
     ("ecn_changes(s1.p18.3, 200ms, 1s) == 0", "ecn_changes(s1.p18.3, 1s, 1.25s) >= 3")),
    ("auto-mice", (f"{CLASS}.ecn.floor=100KB",),
     ("kmax(s1.p9.3) <= 40KB", "slowdown(p99, size < 100KB, 200ms, 600ms) <= 1200")),
    ("auto-mice", ("policy.switch.flows=off",), ("kmax(s1.p9.3) <= 40KB",)),
    ("auto-elephants", STATIC,
     ("kmin(s1.p9.3) >= 100KB", "slowdown(p99, 200ms, 600ms) <= 25")),
    ("auto-elephants", ("policy.switch.flows=off",), ("kmin(s1.p9.3) >= 100KB",)),
    ("auto-ignored", ("hosts.h*.nic.cc=dcqcn",), ("xoffs(s1) > 0",)),
    ("auto-ignored", (f"{CLASS}.ecn.step=100ms",), ("ecn_changes(s1, 300ms, 1s) == 0",)),
    ("auto-ignored", (f"{CLASS}.ecn.floor=1500B",), ("kmin(s1.p5.3) >= 3044B",)),
    ("auto-alternating", (f"flows=[{BULK}, {LONG}]",), ("ecn_changes(s1, 800ms, 4s) == 0",)),
    ("auto-storm", ("faults=[]",),
     ("storms(s1.p10.3) == 1", "ecn_changes(s1, 85ms, 370ms) == 0")),
)

can_fail.main(CASES)
