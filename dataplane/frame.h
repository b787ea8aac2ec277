// SPDX-License-Identifier: Apache-2.0
// A frame on its way through the switch: a descriptor beside its mbuf. Scheduler and marker read
// the descriptor only. The mbuf, which has gone cold in a long queue, is first touched when the
// frame leaves.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/compiler.h"

struct rte_mbuf;

// Also what crosses from worker to worker (handoff.h).
struct frame {
	struct rte_mbuf *m;
	uint64_t arrival_ns; // of one of several copies: its record (replica.h)
	uint16_t len; // bytes as it will leave
	uint16_t cells; // as charged on arrival
	uint8_t in_port, pg; // whose account it is charged to
	uint8_t out_port, queue;
	uint8_t cls, color; // as it arrived; drops at ingress count under cls
	uint8_t kind, ecn; // enum pkt_kind, enum ecn
	uint8_t l3_off;
	bool marked : 1; // CE was set here
	bool at_egress : 1; // dropped beyond the hand-over: `queue` is where
	bool own : 1; // made by the switch: never marked
	bool routed : 1; // into a VLAN: it may leave by its port of arrival
	bool answer : 1; // RoCEv2 that pairing wants to read, where it leaves
	bool tunnelled : 1; // came out of a tunnel, and goes into none (vxlan.h)
	bool trimmed : 1; // here (trim.h); it goes to another queue than it was for
	union {
		uint8_t hint; // of a row of policy_port: RoCEv2 data should not come so
		uint8_t trim_from; // of a trimmed frame: the class and the queue it was for
	};
	uint8_t out_cls; // the class it leaves in: cls, unless the guard or a tunnel changed it
};
static_assert(sizeof(struct frame) == 32, "two descriptors to a cache line");

// Account and queue in one word.
static inline uint32_t frame_way(const struct frame *f)
{
	uint32_t way;

	static_assert(offsetof(struct frame, queue) == offsetof(struct frame, in_port) + 3,
		      "in_port, pg, out_port and queue are side by side");
	memcpy(&way, (const uint8_t *)f + offsetof(struct frame, in_port), sizeof(way));
	return way;
}

static inline bool frame_alike(const struct frame *a, const struct frame *b)
{
	return frame_way(a) == frame_way(b) && a->arrival_ns == b->arrival_ns;
}
