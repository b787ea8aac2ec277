#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What scenarios of iNOF expect can fail: each is run without notices, without the fault, or with
another thing turned round, and must miss just that."""
import can_fail

WITHOUT = ("hosts.h*.inof.notices=off",)

# Scenario, what is changed, expectations that must fail then (among others).
CASES = (
    ("inof-cut", WITHOUT,
     ("inof_hosts(s1, 0s, 1s) == 100", "outage(io) < 10ms", "notices(s1, 1s, 7s) == 90",
      "notice_acks(s1, 1s, 7s) == 90")),
    ("inof-cut", ("faults=[]",), ("inof_hosts(s1) == 99", "path_moves(io) == 90")),
    ("inof-cut", ("policy.inof=off",), ("inof_hosts(s1, 0s, 1s) == 100", "path_moves(io) == 90")),
    # Acknowledgements come after the switch has repeated its notices.
    ("inof-cut", ("hosts.h*.inof.delay=110ms",), ("outage(io) < 10ms", "notices_repeated == 0")),
    # Without a second path all I/O stands still.
    ("inof-cut", ("hosts.h6.inof.nqn=other",), ("outage(io) < 10ms", "path_moves(io) == 90")),
    ("inof-storm", WITHOUT, ("outage(io) between 100ms and 120ms", "notices(s1, 1s, 7s) == 90")),
    # Notices need the watchdog.
    ("inof-storm", ("policy.profiles.roce.watchdog=~",),
     ("storms(s1.p1.3) == 1", "inof_hosts(s1) == 99", "outage(io) between 100ms and 120ms")),
    ("inof-zone", WITHOUT, ("path_moves(io) == 90", "failed(io) == 90")),
    ("inof-zone", ("faults[0].reload.override.inof.zones.z.members=[10.0.0.2-10.0.0.99]",),
     ("path_moves(io) == 90", "notices(s1, 1s, 2s) == 180")),
    ("inof-fabric", WITHOUT,
     ("inof_peer_hosts(l2, 0s, 1s) == 50", "outage(near) < 10ms", "outage(far) < 15ms",
      "notices(l1, 1s, 7s) == 40", "notices(l2, 1s, 7s) == 50")),
    # Initiators of the other leaf know no target.
    ("inof-fabric", ("inof.peers=off",), ("inof_peer_hosts(l2, 0s, 1s) == 50",
                                          "path_moves(far) == 50", "notices(l2, 1s, 7s) == 50")),
    ("inof-fabric", ("inof.peers=0s",), ("outage(far) >= outage(near) + 3ms",)),
    ("inof-fabric", ("inof.peers=10ms",), ("outage(far) < 15ms",)),
    ("inof-cut-off", WITHOUT, ("outage(io) between 900ms and 920ms",
      "notices(l3, 1s, 3s) == 170")),
    ("inof-cut-off", ("inof.detect=1s",), ("outage(io) between 900ms and 920ms",)),
    # A switch that is heard, and whose links are down: nobody at other switches is told.
    ("inof-cut-off", ("faults[0].at=6.9s",), ("inof_peer_hosts(l3, 2s, 3s) == 5",
                                              "outage(io) between 900ms and 920ms")),
    ("inof-hard-zones", ("policy.inof.hard_zoning=off",),
     ("goodput(between) == 0", "goodput(far) == 0", "goodput(initiators) == 0",
      "drops(l1, zone) > 0")),
    # A leaf that is not told of the other's hosts stops none of their frames.
    ("inof-hard-zones", ("inof.peers=off",), ("goodput(far) == 0", "drops(l2, zone) > 0")),
    # In one zone the roles still hold.
    ("inof-hard-zones", ("policy.inof.zones.b.members=[10.0.0.2, 10.0.0.4-10.0.0.5]",),
     ("goodput(between) == 0",)),
    # An old registration ends the path before the keep-alive does, and by force.
    ("inof-silent", ("hosts.h*.inof.register=500ms",),
     ("inof_hosts(s1) == 100", "outage(io) between 5s and 5.1s", "notices(s1, 1s, 7s) == 0",
      "failed(io) == 0")),
    ("inof-silent", ("hosts.h*.inof.keep_alive=1s",), ("outage(io) between 5s and 5.1s",)),
)

can_fail.main(CASES)
