// SPDX-License-Identifier: Apache-2.0
// Every reason for which the switch discards a frame: one row each. Enum, name on the command line
// and in JSON all come from this table. `loss` says that the frame was wanted and could not be
// kept: in a lossless class that is an alarm. The other reasons are the bridge's and the link's
// ordinary business, whatever the class.
#pragma once

#include <stdbool.h>

#define DROP_REASONS(X)                                                                            \
	X(RX_RUNT, "rx-runt", false, "shorter than an Ethernet header")                            \
	X(RX_OVERSIZE, "rx-oversize", false,                                                       \
	  "longer than the port's frame limit, or in several segments")                            \
	X(BAD_SOURCE, "bad-source", false, "source address is a group address or zero")            \
	X(STICKY, "sticky-mac", false,                                                             \
	  "the source address belongs to a sticky port, and the frame arrived by another port")    \
	X(VLAN_INGRESS, "vlan-ingress", false, "the port is not a member of the frame's VLAN")     \
	X(VLAN_EGRESS, "vlan-egress", false,                                                       \
	  "the port sends the VLAN untagged, and another 802.1Q tag or a link-local protocol "     \
	  "follows the tag")                                                                       \
	X(TAGGED_CONTROL, "tagged-mac-control", false,                                             \
	  "MAC control frame (PFC, PAUSE) with a VLAN tag")                                        \
	X(LINK_PROTOCOL, "link-protocol", false,                                                   \
	  "LLDP or a slow protocol (LACP) to a single station, or, with inof, EtherType 0x88A7 "   \
	  "to another address than 01-80-C2-00-00-0D: the station would take the frame for one "   \
	  "of its switch")                                                                         \
	X(ZONE, "zone", false,                                                                     \
	  "hard zoning: from an iNOF host to another that shares no zone with it: put both into "  \
	  "one zone with `weirctl inof zone add ZONE HOST ...`; or from initiator to initiator "   \
	  "or target to target, which never exchange frames: see ROLE in `weirctl show inof "      \
	  "hosts`")                                                                                \
	X(NO_EGRESS, "no-egress", false, "no other port may carry the frame")                      \
	X(LOSSLESS_UNKNOWN, "lossless-unknown", false,                                             \
	  "to an unknown address or to a group, in a lossless class that is not flooded: enter "   \
	  "the address into fdb (a group into multicast), let the station send first, or set "     \
	  "flood: on")                                                                             \
	X(HAIRPIN, "hairpin", false,                                                               \
	  "the destination is behind the port by which the frame arrived")                         \
	X(NOT_FOR_ROUTER, "not-for-router", false,                                                 \
	  "on a routed port, and none of: IP to the router's MAC address, ARP, neighbour "         \
	  "discovery")                                                                             \
	X(TO_ROUTER, "to-router", false,                                                           \
	  "to an address of the switch itself, which answers only ARP, neighbour discovery "       \
	  "and ping")                                                                              \
	X(BAD_L3, "bad-l3", false, "invalid IP header, or wrong checksum")                         \
	X(MARTIAN, "martian", false, "from or to an IP address that no router may forward")        \
	X(TTL_EXPIRED, "ttl-expired", false, "TTL or hop limit used up")                           \
	X(NO_ROUTE, "no-route", false, "no route to the destination")                              \
	X(BLACKHOLE, "blackhole", false,                                                           \
	  "the route to the destination discards: blackhole, unreachable or prohibit")             \
	X(NO_NEIGHBOUR, "no-neighbour", false,                                                     \
	  "the MAC address of the next hop did not become known while the frame waited")           \
	X(COPP, "copp", false,                                                                     \
	  "frames to the switch itself, with an expired TTL, or too long to be routed, beyond "    \
	  "the port's rate for their reason (key copp)")                                           \
	X(VXLAN_TRUNCATED, "vxlan-truncated", false,                                               \
	  "UDP or VXLAN header not whole, or a UDP length that does not fit the packet")           \
	X(VXLAN_FRAGMENT, "vxlan-fragment", false,                                                 \
	  "first fragment of a VXLAN packet, which the switch does not reassemble: the MTU of "    \
	  "the underlay is too small")                                                             \
	X(VXLAN_FLAGS, "vxlan-flags", false,                                                       \
	  "VXLAN header without a VNI, or with flags of an extension")                             \
	X(VXLAN_VNI, "vxlan-vni", false, "VXLAN frame of a VNI that the policy does not have")     \
	X(VXLAN_OWN, "vxlan-own", false, "VXLAN frame from the address of this VTEP itself")       \
	X(VXLAN_PEER, "vxlan-peer", false,                                                         \
	  "VXLAN frame from an address that is no peer of its VNI")                                \
	X(VXLAN_INNER, "vxlan-inner", false,                                                       \
	  "the frame in the tunnel is shorter than an Ethernet header, has an 802.1Q tag, is "     \
	  "MAC control, a link-protocol frame, or goes to a link-local group")                     \
	X(VXLAN_ECN, "vxlan-ecn", true,                                                            \
	  "CE in the outer header of a VXLAN frame whose inner header is Not-ECT (RFC 6040)")      \
	X(STORM_CONTROL, "storm-control", false,                                                   \
	  "broadcast, unknown unicast or multicast beyond the port's storm_control rate, or "      \
	  "BPDUs beyond 1,000 per second where multicast has none")                                \
	X(EGRESS_MTU, "egress-mtu", false,                                                         \
	  "longer than the MTU of the egress port or VLAN: a bridged frame, a frame in a tunnel, " \
	  "or a routed frame that may have no ICMP answer")                                        \
	X(INGRESS_POOL, "ingress-pool", true,                                                      \
	  "lossy priority group beyond its limit or the ingress pool")                             \
	X(HEADROOM, "headroom-overrun", true,                                                      \
	  "the headroom of a lossless priority group was full: the peer ignores PAUSE, or the "    \
	  "headroom is too small")                                                                 \
	X(EGRESS_TAIL, "egress-tail", true,                                                        \
	  "lossy queue beyond its limit or the lossy egress pool")                                 \
	X(WRED, "wred", true, "Not-ECT, and WRED decided to drop it")                              \
	X(PORT_DOWN, "port-down", false,                                                           \
	  "queued for, or received from, a port whose link is down; or flooded, or to a group, "   \
	  "and the link of each port that may carry it is down")                                   \
	X(WATCHDOG, "watchdog", false,                                                             \
	  "the PFC watchdog found a storm of the class, or an operator discards the class "        \
	  "(watchdog drop-all)")                                                                   \
	X(IMPAIRED, "impaired", false,                                                             \
	  "a rule of `weirctl impair` drops the frame: see `weirctl show impairments`")            \
	X(NO_MBUF, "no-mbuf", true, "no memory for a flood copy")                                  \
	X(SHUTDOWN, "shutdown", false, "still queued when the switch was stopped")

enum drop_reason {
#define X(id, name, loss, help) DROP_##id,
	DROP_REASONS(X)
#undef X
	N_DROP_REASONS,
};

struct drop_info {
	const char *name;
	bool loss;
	const char *help;
};

// Indexed by enum drop_reason.
extern const struct drop_info drop_info[N_DROP_REASONS];
