// SPDX-License-Identifier: Apache-2.0
// Whole frames between workers and control, both ways, as control sees them. Workers hand frames
// to control for the reasons that the port's policy names (policy_port.punts). Control sends frames
// through the queue of their class. Called by the control thread only.
//
// A frame for control is a copy in the ring of its port and reason, which has a token bucket of its
// own (the port key `copp`). So it holds no buffer, and a flood of one reason at one port takes
// nothing from the others.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/port_no.h"

struct weir_switch;

// X(name, text, bytes of a port's ring, what it is). Control takes the first ones first.
#define PUNT_REASONS(X)                                                                            \
	X(ROUTING, "routing", 65536, "BGP, BFD, OSPF and IPv6 router discovery")                   \
	X(LACP, "lacp", 4096, "LACP and other slow protocols")                                     \
	X(LLDP, "lldp", 32768, "LLDP, and registrations of iNOF hosts")                            \
	X(INOF, "inof", 32768, "iNOF: what hosts of NVMe over Fabrics answer and ask")             \
	X(ANSWER, "neighbour-answer", 32768, "ARP replies and neighbour advertisements")           \
	X(NEIGHBOUR, "neighbour", 32768, "ARP requests and neighbour solicitations")               \
	X(LOCAL, "local", 65536, "other frames to an address of the switch")                       \
	X(TTL, "ttl", 16384, "frames whose TTL or hop limit has run out")

enum punt_reason {
#define PUNT_NAME(name, text, bytes, help) PUNT_##name,
	PUNT_REASONS(PUNT_NAME)
#undef PUNT_NAME
	N_PUNT_REASONS,
};
// The frames that the resolver of the switch reads (control/neighbours/resolver.h).
enum { NEIGHBOUR_REASONS = 1 << PUNT_ANSWER | 1 << PUNT_NEIGHBOUR };

static inline const char *punt_reason_name(enum punt_reason reason)
{
	static const char *const name[N_PUNT_REASONS] = {
#define PUNT_TEXT(name, text, bytes, help) [PUNT_##name] = text,
		PUNT_REASONS(PUNT_TEXT)
#undef PUNT_TEXT
	};

	return name[reason];
}

// The longest frame of a port, tags included.
// Memory of a port's rings for these reasons.
static inline uint32_t punt_ring_bytes(unsigned punts)
{
	static const uint32_t bytes_of[N_PUNT_REASONS] = {
#define PUNT_BYTES(name, text, bytes, help) [PUNT_##name] = bytes,
		PUNT_REASONS(PUNT_BYTES)
#undef PUNT_BYTES
	};
	uint32_t sum = 0;

	for (unsigned r = 0; r < N_PUNT_REASONS; r++)
		sum += punts >> r & 1 ? bytes_of[r] : 0;
	return sum;
}

enum { CONTROL_FRAME_MAX = 9216 + 22 };

struct control_frame {
	uint16_t len;
	uint16_t vid; // of a frame for control: the VLAN that it came in; 0: none
	port_no_t port; // or the number of an SVI (iface.h)
	uint8_t reason; // enum punt_reason, of a frame for control
	uint8_t bytes[CONTROL_FRAME_MAX]; // of a frame for control: without tags
};

// Of one reason at one port.
struct punt_counters {
	ctr_t frames; // that asked for control
	ctr_t limited; // of those: beyond the port's rate
	ctr_t lost; // of those: too long, or control was too slow
};

// The next frame for one of these reasons, a bitmap; false: none. The ports take turns.
bool switch_next_punt(struct weir_switch *sw, uint32_t reasons, struct control_frame *out);

// The worker sends all frames of one kind before the first of the next.
enum send_kind { SEND_LOOP_PROBE, SEND_PROBE, SEND_ANSWER, SEND_OTHER, N_SEND_KINDS };
// Sends a frame by its port, through the queue of its class: of link-local groups the control
// class, of others what the port's policy says of the frame. Of an SVI: by the port of the VLAN
// that leads to the destination, or by all of them. False: too many are on their way.
bool switch_send(struct weir_switch *sw, const struct control_frame *f, enum send_kind kind);
// Whether frames that control has put there wait for a worker, which takes a few of them in each
// loop. For a caller that runs the workers itself.
bool switch_sends_wait(const struct weir_switch *sw);
