// SPDX-License-Identifier: Apache-2.0
// What hosts say to each other: the `flows:` of a scenario, from one endless stream to Poisson
// arrivals out of a size distribution, incast, all-to-all, request and response, and a storage
// service's transfers. It decides when which host posts which message on which connection, makes
// the connections, and keeps a record of every finished message. Single thread; randomness from
// the scenario's seed and the flow's index.
#pragma once

#include "control/config/schema.h"
#include "control/lab/fabric.h"

enum lab_pattern {
	PATTERN_EACH, // each of `from` to each of `to`: unlimited, or messages
	PATTERN_INCAST, // all of `from` to one of `to` at a time
	PATTERN_ALL_TO_ALL,
	PATTERN_POISSON,
	PATTERN_REQUEST, // request and response
	PATTERN_STORAGE,
	N_PATTERNS,
};

// A connection as measure.h and the report see it: one row per queue pair. Rows are never taken
// back; those of one endless stream or round are there from the start, others come when they are
// first used. Idle connections may be closed and opened again, with another id in the same row.
#define TRAFFIC_NOT_OPEN UINT32_MAX
struct traffic_conn {
	uint32_t flow; // index of lab_flow
	uint32_t src, dst; // hosts: who posts, and to whom
	uint8_t cls;
	uint32_t id; // of nic_flow_status at src; TRAFFIC_NOT_OPEN: closed for now
};

// A finished message. For request-response and storage: the whole operation, src is the client, and
// last_tx_ns is when the server posted its answer. Endless streams finish nothing.
struct traffic_done {
	uint32_t flow : 31; // index of lab_flow
	uint32_t is_read : 1; // storage: a disk read
	uint32_t src, dst;
	uint32_t n_bytes; // of an operation: its payload
	uint64_t posted_ns, first_tx_ns, last_tx_ns, done_ns;
};
static_assert(sizeof(struct traffic_done) == 48, "millions of them are kept");

struct traffic;

// hooks: what fabric_create needs; filled before the fabric is made.
__attribute__((warn_unused_result)) int traffic_create(const struct scenario *sc,
						       struct traffic **out);
void traffic_hooks(struct traffic *t, struct fabric_hooks *hooks);

// What only the switches' policies can tell: packets that are too long for a port on the way
// (an error), classes that the policy takes for others (a warning). 0, -EINVAL.
__attribute__((warn_unused_result)) int traffic_check(struct traffic *t, const struct fabric *f,
						      struct diag_sink *s);

// Connects and schedules everything. 0, -ENOMEM, -ENOSPC (a NIC has no queue pair left).
__attribute__((warn_unused_result)) int traffic_start(struct traffic *t, struct fabric *f);
void traffic_destroy(struct traffic *t); // NULL is fine

uint32_t traffic_n_conns(const struct traffic *t);
const struct traffic_conn *traffic_conn(const struct traffic *t, uint32_t i);
// Of all that was ever connected in this row: see struct nic_flow_status.
struct traffic_counts {
	uint64_t tx_packets, tx_bytes, acked_bytes, cnps, posted, completed;
	uint64_t retransmissions, timeouts, fast_retransmits, ece; // of TCP
};
struct traffic_counts traffic_conn_counts(const struct traffic *t, uint32_t i);
uint64_t traffic_n_done(const struct traffic *t);
const struct traffic_done *traffic_done(const struct traffic *t, uint64_t i); // in order of done_ns
// Messages and operations begun and not done.
uint64_t traffic_n_open(const struct traffic *t);
// When the last message of a flow was acknowledged; UINT64_MAX: the flow is not done. All: whether
// every flow that ends is done; with `until: done` the clock stops there.
uint64_t traffic_flow_done_ns(const struct traffic *t, uint32_t flow);
bool traffic_all_done(const struct traffic *t);
uint64_t traffic_flow_open(const struct traffic *t, uint32_t flow); // as traffic_n_open
// The time the message would take alone in the fabric: see ideal.h.
uint64_t traffic_ideal_ns(const struct traffic *t, const struct traffic_done *d);

// The rows of one item of `flows:`, and what they fill. scenario.c reads the list; traffic_resolve
// then finds the hosts, reads size distributions and makes the hosts' NICs large enough for their
// connections (mistakes into the sink). 0, -EINVAL.
extern const struct cfg_schema lab_flow_schema;
bool lab_flow_is_tcp(const struct lab_flow *f);
const char *lab_flow_name(const struct lab_flow *f);
bool lab_flow_endless(const struct lab_flow *f); // it has no last message
const struct lab_flow *lab_flow_of(const struct scenario *sc, uint32_t i);
__attribute__((warn_unused_result)) int traffic_resolve(struct scenario *sc, struct diag_sink *s);
