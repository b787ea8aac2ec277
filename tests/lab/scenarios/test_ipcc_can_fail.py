#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scenarios of notifications expect can fail: each is run with one thing taken away or turned
round, and must miss just that."""
import can_fail

IPCC = "policy.profiles.{}.classes.3.ipcc={}"
ROCE = IPCC.format("roce", "{}")
# A queue pair of h1's receiver in ipcc-cm, and one of h1 that is another's.
WRONG_PAIR = "policy.pairs=[{from: 10.0.0.1, to: 10.0.0.9, qp: 0xe3140, sender_qp: 0x5821c1}]"

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("ipcc-incast", (IPCC.format("ipcc", "off"), IPCC.format("both", "off")),
     ("queue(s1.p35.3, max) <= 0.5 * queue(s1.p33.3, max)", "cnps_sent(s1.p35.3) > 0",
      "3 * (min(first_cut_at(h[17-24])) - first_crossing_at(s1.p35.3)) <= "
      "min(first_cut_at(h[1-8])) - first_crossing_at(s1.p33.3)",
      "queue(s1.p36.3, max) <= 0.5 * queue(s1.p33.3, max)",
      "3 * (min(first_cut_at(h[25-32])) - first_crossing_at(s1.p36.3)) <= "
      "min(first_cut_at(h[1-8])) - first_crossing_at(s1.p33.3)")),
    ("ipcc-incast", (IPCC.format("ipcc", "{few: 64, cut: 1%}"),
                     IPCC.format("both", "{few: 64, cut: 1%}")),
     ("utilisation(s1.p35, 20ms, 60ms) >= 0.99 * utilisation(s1.p33, 20ms, 60ms)",
      "utilisation(s1.p36, 20ms, 60ms) >= 0.99 * utilisation(s1.p33, 20ms, 60ms)")),
    ("ipcc-incast", ("hosts.h17.nic.cc=none", "hosts.h25.nic.cc=none"),
     ("jain(rate(h[17-24]), 20ms, 60ms) >= 0.98", "jain(rate(h[25-32]), 20ms, 60ms) >= 0.98")),
    ("ipcc-regimes", (ROCE.format("{deep: 100%}"),), ("cnp_looks(s1.p9.3, growing) == 1",)),
    ("ipcc-regimes", (ROCE.format("{few: 4}"),), ("cnps_sent(s1.p9.3, 0us, 106us) == 2",)),
    ("ipcc-regimes", (ROCE.format("{many: 2}"),),
     ("cnps_sent(s1.p9.3, 106us, 136us) >= 16", "quadrant(s1.p9.3, 0us, 240us) == 1",
      "cnps_sent(s1.p9.3, 230us, 400us) == 0")),
    ("ipcc-regimes", (ROCE.format("off"),), ("quadrant(s1.p9.3, 0us, 120us) == 4",)),
    ("ipcc-cm", (WRONG_PAIR,), ("wrong_cnps == 0", "paired(s1, cm) == 64")),
    ("ipcc-cm", ("connect=direct",), ("paired_share(s1, cm) == 100%",)),
    ("ipcc-read", ("policy.switch.pairing={sources: [cm, ack]}",),
     ("paired_share(s1, read) == 100%", "cnps_sent(s1.p9.3) > 0")),
    ("ipcc-sports", ("policy.switch.pairing={sources: [static, cm]}",),
     ("paired_share(s1, 10ms, 20ms) >= 95%",)),
    ("ipcc-qps-64", ("faults[0].link_lossy.rate=100%",), ("paired_share(s1, 10ms, 30ms) >= 95%",)),
    ("ipcc-qps-1024", ("faults[0].link_lossy.rate=100%",),
     ("paired_share(s1, 10ms, 30ms) >= 95%",)),
    ("ipcc-lock-step", ("connect=cm",), ("paired_share(s1) == 0%", "cnps_sent(s1.p3.3) == 0")),
    ("ipcc-reuse", ("flows[1].reuse={after: 1000000}",), ("pairs_dropped(s1) > 150",)),
    ("ipcc-asymmetric", ("switches.s2.routes=[]",),
     ("paired(s2, 0us, 10ms) == 1", "paired(s1, 0us, 10ms) == 0")),
    ("ipcc-asymmetric", ("faults=[]",), ("paired(s2) == 3", "paired(s1) == 2")),
    ("ipcc-asymmetric", ("hosts.h4.nic.udp_sport=linux",),
     ("paired(s2, 0us, 10ms) == 1", "paired(s2) == 3")),
    ("ipcc-long-path", (ROCE.format("off"),),
     ("first_cut_at(a*) - first_crossing_at(s1.p5.3) <= 10us",
      "queue(s1.p5.3, max) <= 0.25 * queue(s2.p5.3, max)")),
    ("ipcc-long-path", ("switches.s2.override={}",),
     ("first_cut_at(b*) - first_crossing_at(s2.p5.3) >= 200us",)),
    ("ipcc-victim", ("faults=[]",),
     ("cnp_looks(s1.p3.3, muted, 5ms, 6ms) > 100", "queue(s1.p3.3, max, 5ms, 6ms) > 1MB")),
    ("ipcc-victim", ("flows[0].rate=line",), ("cnps_sent(s1.p3.3) == 0",)),
)

can_fail.main(CASES)
