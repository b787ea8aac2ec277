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
)

can_fail.main(CASES)
