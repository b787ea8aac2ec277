// SPDX-License-Identifier: Apache-2.0
// A router on the bench: six routed ports, static neighbours, routes of every kind, and frames for
// it. p1 and p2 are hosts' subnets; p3 to p6 lead to next hops with given addresses. Port i has the
// MAC 02:00:00:00:01:0i, its host 02:00:00:00:00:0i.
#pragma once

#include "tests/lab/bench.h"

enum { P1, P2, P3, P4, P5, P6, N_PORTS, FRAME_MAX = 1600 };

extern const char router_routes[];

// The policy with these routes; hash: more keys of switch.ecmp, beginning with a comma.
const char *router_policy(const char *hash, const char *routes);
struct bench *router_open(const char *routes);

struct router_packet {
	const char *src, *dst; // text; a ':' says IPv6
	uint8_t ttl; // 0: 64
	uint16_t sport, dport;
	uint16_t len; // of the frame; 0: 100
	uint8_t proto; // 0: UDP
	bool options; // IPv4: 4 bytes of them
	uint16_t frag; // IPv4
	uint16_t tag; // not 0: an 802.1Q tag with this TCI
	uint32_t qp; // not 0: RoCE
	uint8_t dscp; // IPv4
};

void router_ip(const char *text, uint8_t *out); // 4 or 16 bytes
uint16_t router_csum(const uint8_t *p, unsigned n);
// From the host at a port, to the router. Returns the length.
uint16_t router_build(uint8_t *out, unsigned from, const struct router_packet *k);
void router_send(struct bench *b, unsigned from, const struct router_packet *k);
void router_settle(struct bench *b); // a millisecond
uint32_t router_received(const struct bench *b); // by all hosts
void router_neighbour(struct bench *b, unsigned port, const char *ip, const uint8_t *mac);
