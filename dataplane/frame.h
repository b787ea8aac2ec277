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

#include "dataplane/base/compiler.h"
#include "dataplane/base/port_no.h"

struct rte_mbuf;

// Also what crosses from worker to worker (handoff.h).
struct frame {
	struct rte_mbuf *m;
	uint64_t arrival_ns; // of one of several copies: its record (replica.h)
	port_no_t in_port, out_port;
	uint8_t pg; // of in_port: the account that it is charged to
	uint8_t queue; // of out_port
	uint16_t len; // bytes as it will leave
	uint16_t cells; // as charged on arrival
	uint8_t cls; // as it arrived; drops at ingress count under it
	uint8_t out_cls; // the class it leaves in: cls, unless the guard or a tunnel changed it
	union {
		uint8_t kind_alone; // of a frame that is not trimmed: `kind`, for frame_set_kind
		struct {
			uint8_t kind : 2; // enum pkt_kind
			uint8_t trim_from : 6; // of a trimmed frame: class and queue it was for
		};
	};
	uint8_t color : 4, ecn : 4; // as it arrived; enum color, enum ecn
	uint8_t l3_off;
	bool marked : 1; // CE was set here
	bool at_egress : 1; // dropped beyond the hand-over: `queue` is where
	bool own : 1; // made by the switch: never marked
	bool routed : 1; // into a VLAN: it may leave by its port of arrival
	bool answer : 1; // RoCEv2 that pairing wants to read, where it leaves
	bool tunnelled : 1; // came out of a tunnel, and goes into none (vxlan.h)
	bool trimmed : 1; // here (trim.h); it goes to another queue than it was for
	bool hint : 1; // of a row of policy_port: RoCEv2 data should not come so
};
static_assert(sizeof(struct frame) == 32, "two descriptors to a cache line");

// Of a frame that is not trimmed. A store, where a bit field would be read first.
static inline void frame_set_kind(struct frame *f, uint8_t kind)
{
	f->kind_alone = kind;
}

// Account and queue in one word. The two bytes behind them, the length, are shifted out.
static inline uint64_t frame_way(const struct frame *f)
{
	uint64_t way;

	static_assert(offsetof(struct frame, len) == offsetof(struct frame, in_port) + 6,
		      "in_port, out_port, pg and queue are side by side");
	memcpy(&way, (const uint8_t *)f + offsetof(struct frame, in_port), sizeof(way));
	return way << 16;
}

static inline bool frame_alike(const struct frame *a, const struct frame *b)
{
	return frame_way(a) == frame_way(b) && a->arrival_ns == b->arrival_ns;
}
