// SPDX-License-Identifier: Apache-2.0
// What control asks a switch about RoCEv2 flows, their pairs and the notifications that it sent.
// Control thread only. Rows are read while workers write them: each number is true, the row as a
// whole is of one flow (its generation is checked), sums are exact at rest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/qos/elephant.h"
#include "dataplane/roce/flow.h"
#include "dataplane/roce/ipcc.h"

struct policy;
struct weir_switch;

struct flow_row {
	struct flow_key key;
	struct flow_way way;
	struct flow_pair pair;
	uint64_t packets, bytes, gaps, gap_packets, rewinds, ce, naks, cnps_seen, cnps_sent;
	uint64_t silences; // looks at which it fed a queue above kmin and was sent no CNP
	uint8_t silence; // enum cnp_silence, of the last of them
	uint64_t first_ns, seen_ns, cnp_ns;
	uint64_t elephant_ns; // since when it is an elephant
	uint8_t size; // enum flow_size of its next frame
	uint32_t psn; // expected next
	uint16_t udp_sport;
	// Of flows without a pair.
	uint32_t candidates;
	const char *reason;
};

// For tests: calls fn for every flow that lives; it may return false to end the walk. why:
// candidates and reason are worked out, which costs a look at every queue pair between two
// addresses.
void switch_flows_walk(struct weir_switch *sw, uint64_t now_ns, bool why,
		       bool (*fn)(void *arg, const struct flow_row *row), void *arg);

// The same in steps, for a caller that must not take long: a flow stays at its place, where another
// may follow it.
struct flows_look {
	uint64_t now_ns;
	uint32_t first, n; // places to look at
	bool why;
	void (*fn)(void *arg, uint32_t place, const struct flow_row *row);
	void *arg;
};
void switch_flows_look(struct weir_switch *sw, const struct flows_look *look);
uint32_t switch_flows_places(const struct weir_switch *sw); // 0: no flow table

struct flow_totals {
	uint64_t max, used, made, aged, evicted, refused;
	struct {
		uint64_t paired[N_PAIR_SOURCES];
		uint64_t dropped_jump, dropped_ack, dropped_rival, dropped_dreq, dropped_age,
			dropped_static;
		uint64_t wrong_port, eliminations, matches, crowded, cm_seen, cm_refused, n_paired,
			n_unpaired;
	} pairing;
	struct {
		uint64_t now, began, ended, refused;
		uint64_t packets[N_SIZES], bytes[N_SIZES];
	} elephants;
};
void switch_flow_totals(const struct weir_switch *sw, struct flow_totals *out);

// Of flows that entered by a port: loss and congestion as the middle of the network sees them.
struct port_flow_counters {
	ctr_t gaps, gap_packets, rewinds, ce; // of data that entered here
	ctr_t naks, cnps_seen; // that left here, on their way to the sender
	ctr_t cnps_sent, cnps_capped; // by the switch, that left here; left out for the cap
	ctr_t roce_bytes; // of all RoCEv2 frames that entered here
};
// Room in the flow table. Zeros where there is no table.
const struct flow_port *switch_flow_port(const struct weir_switch *sw, unsigned port);
const struct port_flow_counters *switch_port_flows(const struct weir_switch *sw, unsigned port);

// An IPCC queue. Written by its owner.
struct ipcc_counters {
	ctr_t looks[N_QUADRANTS];
	ctr_t muted; // looks that were left out: the queue was paused
	ctr_t notified; // flows chosen, also those whose owner then sent none
	ctr_t silences[N_CNP_SILENCES]; // flows that were not
	ctr_t spared; // frames that were not marked because a CNP for their flow had just been sent
	gauge_t len_bytes, kmax_bytes, share_q16, excess_bps, quadrant; // at the last look
	_Atomic int64_t trend_bytes;
	gauge_t looked_ns;
};
// NULL: the queue sends no notifications, now or ever.
const struct ipcc_counters *switch_ipcc(const struct weir_switch *sw, unsigned port,
					unsigned queue);

// CNPs that were sent since the last call, in order of each worker. Returns how many.
unsigned switch_cnp_records(struct weir_switch *sw, struct cnp_record *out, unsigned n);
uint64_t switch_cnp_records_lost(const struct weir_switch *sw);

// An operator's order about a pair, to all workers: k->qp FLOW_NONE forgets the pair. 0, -ENOTSUP
// (no flow table), -EAGAIN (too many at once).
int switch_order_pair(struct weir_switch *sw, const struct known_pair *k);
// True: all workers have taken all orders. *found: orders since the start that forgot a pair, or
// named a flow without a pair.
bool switch_pair_orders_done(const struct weir_switch *sw, uint64_t *found);

// ---- parts of create, publish, destroy
int flows_create(struct weir_switch *sw); // -ENOMEM
// Memory for queues that the policy gives IPCC, before it is published. -ENOMEM: not to be.
int flows_prepare(struct weir_switch *sw, const struct policy *p);
// Pairs by hand: the workers get those of the policy, and forget those that it no longer has.
void flows_published(struct weir_switch *sw, const struct policy *old);
void flows_destroy(struct weir_switch *sw);
