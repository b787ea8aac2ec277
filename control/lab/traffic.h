// SPDX-License-Identifier: Apache-2.0
// The traffic of the hosts: the `flows:` of a scenario, from one endless stream to Poisson
// arrivals out of a size distribution, incast, all-to-all, request and response, a storage
// service's transfers, and the flows of a trace. It decides when which host posts which message on
// which connection, makes the connections, and keeps a record of every finished message. Single
// thread; randomness from the scenario's seed and the flow's index.
#pragma once

#include "control/base/schema.h"
#include "control/lab/cdf.h"
#include "control/lab/fabric.h"
#include "control/lab/trace.h"
#include "control/lab/workload.h"
#include "dataplane/base/rng.h"

enum lab_pattern {
	PATTERN_EACH, // each of `from` to each of `to`: unlimited, or messages
	PATTERN_INCAST, // all of `from` to one of `to` at a time
	PATTERN_ALL_TO_ALL,
	PATTERN_POISSON,
	PATTERN_REQUEST, // request and response
	PATTERN_STORAGE,
	PATTERN_TRACE, // at the times and between the hosts of a file
	N_PATTERNS,
};

// ---- flows
// One item of `flows:`: what the file says, and what traffic_resolve makes of it.
struct lab_storage_keys {
	struct cfg_map map;
	struct cfg_val reads, small, large, chunk, credits, request, reply;
};

enum { TCP_ACK_EVERY = 2 }; // RFC 5681, 4.2

enum size_kind { SIZE_UNLIMITED, SIZE_FIXED, SIZE_CDF, SIZE_TRACE };

struct lab_reuse_keys {
	struct cfg_map map;
	struct cfg_val after, crossed, pause;
};

struct lab_tcp_keys {
	struct cfg_map map;
	struct cfg_val cc, sack, window, initial_window, rto_min, rto_initial, delayed_ack, g;
};

struct lab_flow {
	struct cfg_map map;
	struct cfg_val name, pattern, pairs, cls, dscp, ecn, op, size, count, depth, qps, rate,
		interval, start, stop, jitter, mtu, cc, load, idle, fan, request, think,
		first_psn, ack_every, inof, trace, vlan, pcp, ip6;
	struct cfg_words from, to;
	struct lab_storage_keys storage;
	struct lab_reuse_keys reuse;
	struct lab_tcp_keys tcp;

	// Resolved.
	const char *label;
	uint32_t *src, *dst; // hosts, in the file's order, each once
	uint32_t n_src, n_dst;
	enum size_kind size_kind;
	uint32_t n_bytes; // SIZE_FIXED
	struct cdf sizes; // SIZE_CDF
	const char *sizes_file; // of those, or NULL
	struct trace played; // SIZE_TRACE; its hosts are indexes of src
	uint8_t classes; // bitmap: those of its frames
	uint32_t n_tagged; // hosts of src and dst that send tagged frames
	bool has_ip6; // at some host of src
	struct storage_params store;
	struct tcp_params tcp_params; // of flow_is_tcp
	uint16_t payload; // of a packet; 0: as much as fits, set by traffic_check
};

static inline enum lab_pattern flow_pattern(const struct lab_flow *f)
{
	return (enum lab_pattern)f->pattern.n;
}

// Connections that are there from the start and never close.
static inline bool flow_standing(const struct lab_flow *f)
{
	return f->pattern.n <= PATTERN_ALL_TO_ALL;
}

// Of its frames of a class; all patterns but a trace have one class.
static inline uint8_t flow_class_dscp(const struct lab_flow *f, uint8_t cls)
{
	return (uint8_t)(f->dscp.n < 0 ? 8 * cls : f->dscp.n);
}

static inline uint8_t flow_dscp(const struct lab_flow *f)
{
	return flow_class_dscp(f, (uint8_t)f->cls.n);
}

// The tag of its frames of a class, as a host sends them.
static inline struct frame_tag flow_tag(const struct lab_flow *f, const struct sc_host *h,
					uint8_t cls)
{
	int64_t vid = f->vlan.n < 0 ? h->vlan : f->vlan.n;

	return (struct frame_tag){.on = vid >= 0, .vid = (uint16_t)(vid < 0 ? 0 : vid),
				  .pcp = f->pcp.n < 0 ? cls : (uint8_t)f->pcp.n};
}

// Whether the connections that a host opens use IPv6.
static inline bool flow_is_ip6(const struct lab_flow *f, const struct sc_host *h)
{
	return f->ip6.given ? f->ip6.n != 0 : h->ip6;
}

// Of frame_extra: of the frames that a host sends.
static inline uint32_t flow_extra(const struct lab_flow *f, const struct sc_host *h)
{
	struct frame_tag tag = flow_tag(f, h, 0);

	return frame_extra(&tag, flow_is_ip6(f, h));
}

// Each operation is one message, on a connection of its own.
static inline bool flow_is_single(const struct lab_flow *f)
{
	return f->pattern.n == PATTERN_POISSON || f->pattern.n == PATTERN_TRACE;
}

static inline bool flow_is_tcp(const struct lab_flow *f)
{
	return f->tcp.map.given || f->tcp.cc.given;
}

static inline bool flow_endless(const struct lab_flow *f) // it has no last message
{
	return f->size_kind == SIZE_UNLIMITED ||
	       (f->count.n < 0 && f->stop.n < 0 && f->size_kind != SIZE_TRACE);
}

static inline enum nic_ecn flow_ecn(const struct lab_flow *f)
{
	if (!f->ecn.given && flow_is_tcp(f) && f->tcp.cc.n == TCP_NEWRENO)
		return NIC_NOT_ECT;
	return (enum nic_ecn)f->ecn.n;
}

static inline uint16_t flow_ack_every(const struct lab_flow *f)
{
	return flow_is_tcp(f) && !f->ack_every.given ? TCP_ACK_EVERY : (uint16_t)f->ack_every.n;
}

// The time from which on nothing is posted.
static inline uint64_t flow_stop_ns(const struct lab_flow *f)
{
	return f->stop.n < 0 ? UINT64_MAX : (uint64_t)f->stop.n;
}

// The next size of a message.
uint32_t flow_draw_size(const struct lab_flow *f, struct rng *r);

// Calls fn for each pair of hosts that a standing flow connects, in the order of its rows, until
// fn returns something else than 0; returns that.
typedef int flow_pair_fn(void *arg, uint32_t src, uint32_t dst);
int flow_each_pair(const struct lab_flow *f, flow_pair_fn *fn, void *arg);

// ---- what they do
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

// The rules that need the switches' policies: packets that are too long for a port on the way
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
// For tests: messages and operations begun and not done.
uint64_t traffic_n_open(const struct traffic *t);
// When the last message of a flow was acknowledged; UINT64_MAX: the flow is not done. All: whether
// every flow that ends is done; with `until: done` the clock stops there.
uint64_t traffic_flow_done_ns(const struct traffic *t, uint32_t flow);
bool traffic_all_done(const struct traffic *t);
// Of a flow with `inof`: see traffic_paths.c.
struct traffic_paths {
	uint64_t moves; // times that I/O went on by another path
	uint64_t failed; // messages of paths that ended by force
	uint64_t outage_ns; // the longest time in which a sender completed no message
};
struct traffic_paths traffic_flow_paths(const struct traffic *t, uint32_t flow);
uint64_t traffic_flow_open(const struct traffic *t, uint32_t flow); // as traffic_n_open
// The time the message would take alone in the fabric: see ideal.h.
uint64_t traffic_ideal_ns(const struct traffic *t, const struct traffic_done *d);

// The rows of one item of `flows:`, and what they fill. scenario.c reads the list; traffic_resolve
// then finds the hosts, reads size distributions and makes the hosts' NICs large enough for their
// connections (mistakes into the sink). 0, -EINVAL.
extern const struct cfg_schema lab_flow_schema;
__attribute__((warn_unused_result)) int traffic_resolve(struct scenario *sc, struct diag_sink *s);
