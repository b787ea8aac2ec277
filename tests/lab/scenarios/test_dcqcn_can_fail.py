#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scenarios of DCQCN and PFC expect can fail: each is run without the one or the other, and
must miss just that."""
import can_fail

NO_CC = ("hosts.h[1-3].nic.cc=none",)
NO_ECN = "policy.profiles.{}.classes.3.wred=~"
ROCE = NO_ECN.format("roce")
CURVE = "policy.profiles.roce.classes.3.wred.{}"
LOSSY = ("policy.profiles.roce.classes.3.lossless=false",
         "policy.profiles.roce.classes.3.ingress=~")
LOSSY_TWO = tuple(key.replace("roce", "two") for key in LOSSY)

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("first", NO_CC, ("cnps_received(h1) > 0", "queue(s1.p3.3, max, 40ms, 60ms) <= 400KB",
                      "xoffs(s1) == 0")),
    ("first", (ROCE,), ("marks(s1.p3.3) > 0",)),
    ("first", LOSSY, ("pause_time_received(s1.p3.3) == 300us",)),
    ("rtt-fairness", NO_CC, ("queue(s1.p3.3, 100ms, 800ms) <= 40KB", "xoffs == 0",
                             "cnps_received(far, 100ms, 800ms) > 0")),
    ("rtt-fairness", ("hosts.h2.nic.cc=none",),
     ("rate(near, 100ms, 800ms) within 10% of rate(far, 100ms, 800ms)",)),
    ("kmin-below-xoff", LOSSY,
     ("xoffs(s1.p1.3, 45ms, 50ms) > 0", "xoffs(s1.p2.3, 45ms, 50ms) > 0")),
    ("kmin-below-xoff", NO_CC, ("xoffs(s1, 5ms, 45ms) == 0",)),
    ("kmin-below-xoff", ("policy.profiles.roce.classes.3.wred={kmin: 150KB, kmax: 300KB}",),
     ("marks(s1.p3.3, 0us, 15us) > 0",)),
    ("kmin-above-xoff", ("policy.profiles.roce.classes.3.wred={kmin: 12KB, kmax: 162KB}",),
     ("marks(s1.p3.3, 0s, 50ms) == 0", "xoffs(s1.p1.3) > 0")),
    ("two-senders-no-rp", NO_CC, ("queue(s1.p3.3, 50ms, 100ms) <= 100KB", "xoffs(s1) == 0")),
    ("two-senders-no-rp", ("flows[1].cc=on",),
     ("drops(s1.p3.2) / frames(h2) within 10% of 17.7%",)),
    ("two-senders-ecn", NO_CC, ("drops == 0", "xoffs(s1) == 0")),
    ("two-senders-pfc", ("policy.profiles.two.classes.5.schedule.dwrr=10",),
     ("goodput(class3, 120ms, 200ms) within 5% of 4.3G",)),
    ("two-senders-weights", ("policy.profiles.two.classes.2.schedule.dwrr=125",),
     ("rate(class3, 50ms, 200ms) within 5% of 5G",
      "rate(class2, 50ms, 200ms) within 5% of 5G")),
    ("incast-dcqcn", (ROCE,), ("marks(s1.p33.3, 0s, 20us) > 0", "cnps > 1000", "xoffs == 0")),
    ("oversubscription", ("policy.switch.buffer.oversubscription=7",),
     ("lossless_drops == 0",)),
    ("fill-level", ("policy.profiles.roce.classes.3.ingress.alpha=1/8",),
     ("xoffs(0s, 20ms) == 0",)),
    ("curve-grid", (CURVE.format("pmax=0.2%"), CURVE.format("kmax=200KB")),
     ("queue(s1.p9.3, 20ms, 100ms) between 50KB and 100KB",)),
    ("ewma-weight", (CURVE.format("weight=9"),),
     ("utilisation(s1.p9, 50ms, 200ms) >= 99%", "queue(s1.p9.3, max) <= 1.3MB")),
    ("np-capacity", ("flows[0].from=h[1-96]",),
     ("queue(s1.p97.3, 10ms, 40ms) <= 10KB", "xoffs == 0")),
    ("rtt-2ms", NO_CC, ("xoffs == 0", "utilisation(s1.p3, 1s, 3s) between 85% and 95%")),
    ("region-line", ("hosts.h[1-4].nic.cc=none",),
     ("xoffs == 0", "queue(t2.p2.3, max) <= 8MB")),
    ("chunk-incast", ("flows[0].storage.chunk=1MB",),
     ("goodput(reads, 10ms, 40ms) >= 90G", "queue(s1.p17.3, max) <= 1MB")),
    ("generation-matrix", ("hosts.h5.nic.preset=gen2",),
     ("utilisation(s1.p5, 20ms, 100ms) between 85% and 93%",)),
    ("front-and-back", ("flows[1].class=3",), ("fct(front, p99, 5ms, 40ms) <= 10us",)),
    ("unfairness-clos", ("hosts.h*.nic.cc=paper",),
     ("rate(near, 20ms, 60ms) within 1% of 13.33G",)),
    ("loopback", ("hosts.h2.nic.receive.loopback=0G",),
     ("rate(slow, 20ms, 60ms) within 3% of 16G", "rooted(h2) == 1")),
    ("unfairness-pfc", LOSSY, ("rate(one, 20ms, 100ms) within 10% of 20G", "xoffs(s1.p1.3) > 0")),
    ("victim-pfc", LOSSY_TWO, ("rate(victim, 20ms, 100ms) within 10% of 10G",)),
)

can_fail.main(CASES)
