#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scenarios of lossy traffic expect can fail: each is run with one thing taken away or turned
round, and must miss just that."""
import can_fail

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("wred-not-ect", ("flows[2].ecn=ect0",),
     ("drops(s1, wred) > 1000", "retransmissions(h1) == 0")),
    ("wred-not-ect", ("flows[1].ecn=not-ect",),
     ("retransmissions(h2) == 0", "marks(s1.p4.0) within 5% of 2 * drops(s1, wred)")),
    ("wred-not-ect", ("policy.profiles.roce.classes.0.wred.not_ect=pass",),
     ("drops(s1, wred) > 1000",)),
    ("dctcp-two-flows", ("flows[0].tcp={cc: dctcp, g: 1/1000}",),
     ("queue(s1.p3.0, 50ms, 200ms) within 10% of 91.7KB",
      "alpha(dctcp, 50ms, 200ms) within 10% of 16.3%")),
    ("dctcp-two-flows", ("flows[0].tcp=newreno", "flows[0].ecn=ect0"),
     ("queue(s1.p3.0, min, 50ms, 200ms) within 10% of 82.4KB",)),
    ("dctcp-two-flows", ("policy.profiles.roce.classes.0.wred.kmax=400KB",),
     ("queue(s1.p3.0, max, 50ms, 200ms) within 10% of 101KB",)),
    ("tcp-beside-rdma", ("flows[0].class=3",), ("retransmissions(tcp) > 0",
                                                "rate(s1.p5.0, 50ms, 300ms) within 3% of 5G")),
    ("tcp-lossless", ("flows[0].class=0",),
     ("retransmissions(tcp) == 0", "pauses(s1) > 100")),
    ("elephants-websearch", ("policy.switch.elephants=off",),
     ("slowdown(search, p99, size < 100KB) <= 26", "mice_frames(s1) > 100000")),
    ("elephants-websearch", ("policy.profiles.roce.classes.0.mice=~",
                             "policy.profiles.roce.classes.0.elephants=~"),
     ("slowdown(search, p99, size < 100KB) <= 26",)),
    ("elephants-lossless", ("policy.switch.elephants=off",),
     ("elephants_began(s1) > 100", "pauses(s1) < 70")),
    ("elephants-lossless", ("policy.profiles.roce.classes.3.elephants=~",),
     ("pauses(s1) < 70",)),
)

can_fail.main(CASES)
