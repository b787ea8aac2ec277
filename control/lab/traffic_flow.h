// SPDX-License-Identifier: Apache-2.0
// One item of `flows:` as structs: what the user wrote, and what traffic_resolve made of it. The
// rows are in traffic_flow.c. Private to traffic*.c and ideal.c.
#pragma once

#include "control/config/schema.h"
#include "control/lab/cdf.h"
#include "control/lab/workload.h"
#include "control/lab/traffic.h"
#include "dataplane/rng.h"

struct lab_storage_keys {
	struct cfg_map map;
	struct cfg_val reads, small, large, chunk, credits, request, reply;
};

enum { TCP_ACK_EVERY = 2 }; // RFC 5681, 4.2

enum size_kind { SIZE_UNLIMITED, SIZE_FIXED, SIZE_CDF };

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
		first_psn, ack_every;
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

static inline uint8_t flow_dscp(const struct lab_flow *f)
{
	return (uint8_t)(f->dscp.n < 0 ? 8 * f->cls.n : f->dscp.n);
}

static inline bool flow_is_tcp(const struct lab_flow *f)
{
	return f->tcp.map.given || f->tcp.cc.given;
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
