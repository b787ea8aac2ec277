// SPDX-License-Identifier: Apache-2.0
// Every reason for which the switch discards a frame: one row each. Enum, name on the command line
// and in JSON, and the generated manual all come from this table.
#pragma once

#include <assert.h>

#define DROP_REASONS(X)                                                                            \
	X(RX_RUNT, "rx-runt", "shorter than an Ethernet header")                                   \
	X(RX_OVERSIZE, "rx-oversize",                                                              \
	  "longer than the port's frame limit, or in several segments")                            \
	X(BAD_SOURCE, "bad-source", "source address is a group address or zero")                   \
	X(VLAN_INGRESS, "vlan-ingress", "the port is not a member of the frame's VLAN")            \
	X(NO_EGRESS, "no-egress", "no other port may carry the frame")                             \
	X(HAIRPIN, "hairpin", "the destination lives on the port the frame came from")             \
	X(EGRESS_MTU, "egress-mtu", "longer than the frame limit of the egress port")              \
	X(INGRESS_POOL, "ingress-pool",                                                            \
	  "lossy priority group beyond its limit or the ingress pool")                             \
	X(HEADROOM, "headroom-overrun",                                                            \
	  "lossless priority group overran its PFC headroom: the peer ignores PAUSE, or headroom " \
	  "is too small")                                                                          \
	X(EGRESS_TAIL, "egress-tail", "lossy queue beyond its limit or the lossy egress pool")     \
	X(WRED, "wred", "not ECN-capable, and chosen by WRED")                                     \
	X(PORT_DOWN, "port-down", "queued for, or received from, a port whose link is down")       \
	X(NO_MBUF, "no-mbuf", "no memory for a flood copy")                                        \
	X(SHUTDOWN, "shutdown", "still queued when the switch was stopped")

enum drop_reason {
#define X(id, name, help) DROP_##id,
	DROP_REASONS(X)
#undef X
	N_DROP_REASONS,
};

struct drop_info {
	const char *name;
	const char *help;
};

// Indexed by enum drop_reason.
extern const struct drop_info drop_info[N_DROP_REASONS];
