// SPDX-License-Identifier: Apache-2.0
// One message of rtnetlink (RFC 3549, linux/rtnetlink.h) as plain values: links, routes, next-hop
// objects and neighbours. Pure: no socket, no state. Messages are not trusted: an attribute that is
// too short, or a message that is cut off, makes the message KERNEL_MALFORMED. Attributes that are
// not known are skipped.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/forward/route_params.h"

struct nlmsghdr;

enum kernel_msg_kind {
	KERNEL_MALFORMED,
	KERNEL_OTHER, // of no interest
	KERNEL_LINK,
	KERNEL_ADDR, // some address of a link: no more is known of it
	KERNEL_ROUTE,
	KERNEL_NEXTHOP,
	KERNEL_NEIGHBOUR,
};

// One way of a route.
struct kernel_hop {
	uint32_t ifindex; // 0: none
	uint16_t weight; // 1 to 256
	bool dead; // its link is down
	struct policy_addr via; // family 0: the destination is on the link
};

enum { KERNEL_HOPS = MAX_NEXTHOPS };

struct kernel_link {
	uint32_t ifindex;
	bool up; // IFF_UP
	char name[16];
};

enum kernel_route_type {
	KERNEL_UNICAST,
	KERNEL_SELF, // local, broadcast, anycast: the kernel takes the frames in
	KERNEL_BLACKHOLE, // also unreachable, prohibit
	KERNEL_UNUSED, // multicast and others
};

struct kernel_route {
	struct policy_addr to;
	uint32_t table; // RT_TABLE_MAIN and others
	uint32_t metric;
	uint32_t nexthop_id; // 0: the hops are given here
	uint8_t tos;
	uint8_t type; // enum kernel_route_type
	uint8_t protocol; // RTPROT_BGP and others
	uint8_t n_hops;
	uint16_t n_left_out; // hops beyond KERNEL_HOPS
	struct kernel_hop hops[KERNEL_HOPS];
};

// A next-hop object (`ip nexthop`): one hop, or a group of other objects.
struct kernel_nexthop {
	uint32_t id;
	bool blackhole;
	bool group;
	uint8_t n_members;
	uint16_t n_left_out;
	struct kernel_hop hop; // not of a group
	struct {
		uint32_t id;
		uint16_t weight;
	} members[KERNEL_HOPS];
};

struct kernel_neighbour {
	uint32_t ifindex;
	struct policy_addr addr;
	uint16_t state; // NUD_REACHABLE and others
	bool has_mac;
	bool managed; // the kernel keeps it resolved
	bool learned; // by a routing daemon
	uint8_t mac[6];
};

struct kernel_msg {
	uint8_t kind; // enum kernel_msg_kind
	bool gone; // deleted
	uint16_t flags; // of the message: NLM_F_REPLACE, NLM_F_APPEND and others
	union {
		struct kernel_link link;
		struct kernel_route route;
		struct kernel_nexthop nexthop;
		struct kernel_neighbour neighbour;
	};
};

// The first message of a buffer, and the one behind a message; NULL: none is left. *len: bytes of
// the buffer from there on.
const struct nlmsghdr *kernel_msg_first(const void *bytes, size_t *len);
const struct nlmsghdr *kernel_msg_next(const struct nlmsghdr *h, size_t *len);

// h: a message of the two above.
enum kernel_msg_kind kernel_msg_parse(const struct nlmsghdr *h, struct kernel_msg *out);

// "bgp", "static", "kernel" and others by their number (etc/iproute2/rt_protos); NULL: no name.
const char *kernel_protocol_name(uint8_t protocol);
