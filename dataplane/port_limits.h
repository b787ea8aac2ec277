// SPDX-License-Identifier: Apache-2.0
// What one port may cost the others: control-plane policing, storm control, loop detection. The
// part of switch_impl.h that belongs to the modules of these names; the policy has the rates.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/drop.h"
#include "dataplane/policy.h"

struct event;
struct frame;
struct neighbour_ask;
struct pkt_info;
struct rte_ring;
struct weir_switch;
struct worker;

// Control takes answers before requests, whatever comes first.
enum punt_kind { PUNT_ANSWER, PUNT_REQUEST, PUNT_ASK, N_PUNT_KINDS };

// The way from a routed port to control. Each port has its own rings and token buckets, so that a
// flood on one port takes no room of another.
struct punt_port {
	struct rte_ring *ring[N_PUNT_KINDS]; // neighbour_frame; PUNT_ASK: neighbour_ask
	// The port's owner's.
	struct policer policer[N_PUNT_KINDS], icmp;
};

// Loop detection; made with the first policy that asks for it (switch_loop.c).
struct worker_loop {
	uint64_t id; // of the switch, in its probes
	struct rte_ring *sends; // of struct neighbour_frame, from control
	struct rte_ring *heard; // of struct loop_echo, to control
	struct policer policer[POLICY_MAX_PORTS]; // of probes that arrive
};

// A probe with this switch's id that arrived in the VLAN that it names.
struct loop_echo {
	uint64_t nonce;
	uint32_t round;
	uint16_t vid;
	uint8_t from_port, in_port; // as the probe says; as it is
};

// Control watches at each port (switch_limits.c) the drops beyond a rate, by enum limit_kind, and
// signs of a wrong configuration.
enum { WATCH_ROCE_LOSSY = N_LIMIT_KINDS, N_WATCHED };

struct limit_watch {
	uint64_t seen, before; // frames at the last look; before it began
	uint64_t last_ns; // when another was last seen
	bool exceeded;
};

// ---- worker_punt.c
// Hands ARP or neighbour discovery of a routed port to control. The frame has ended.
void punt_frame(struct worker *w, const struct frame *f, const struct pkt_info *pkt);
// Whether the port may tell control of another destination.
bool punt_may_ask(struct worker *w, unsigned port);
// Tells control of an address that a frame from `port` wants. False: the port's ring is full.
bool punt_ask(struct worker *w, unsigned port, const struct neighbour_ask *ask);

// ---- worker_icmp.c
// Makes the answer to an echo request of the frame itself. Else the reason to drop the frame.
enum drop_reason icmp_answer(struct worker *w, struct frame *f, const struct pkt_info *pkt);
// Makes a Time Exceeded message of the frame itself. Else the reason to drop the frame.
enum drop_reason icmp_time_exceeded(struct worker *w, struct frame *f, const struct pkt_info *pkt);

// ---- worker_storm_control.c
// Whether a frame that is about to be replicated is beyond its port's rate.
bool storm_control_drops(struct worker *w, const struct frame *f, const struct pkt_info *pkt);

// ---- worker_loop.c, switch_loop.c
// A frame to the group of the Configuration Testing Protocol. True: it is a probe of this switch
// and ends here.
bool loop_heard(struct worker *w, const struct frame *f, const struct pkt_info *pkt);
int loops_prepare(struct weir_switch *sw, const struct policy *p);
void loops_free(struct weir_switch *sw);
// Once per control step. Writes up to n events.
unsigned loops_control(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
bool loops_hold(const struct weir_switch *sw, unsigned port); // down for the sake of a loop

// ---- switch_limits.c
// Tells when a port begins to exceed a rate or to show a wrong configuration, and when that is
// over. Writes up to n events.
unsigned limits_look(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n);
