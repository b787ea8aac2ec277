// SPDX-License-Identifier: Apache-2.0
// A flow table with its pairing, and the frames of one worker in few words. It does for them what
// the worker does: dataplane/flows.c.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/cm.h"
#include "dataplane/packet/wire.h"
#include "dataplane/roce/flow_seal.h"
#include "dataplane/roce/pairing.h"

struct bench {
	struct flow_table t;
	struct pairing *p;
	void *flows_mem, *pairing_mem;
	uint64_t now_ns;
};

struct end {
	uint32_t ip;
	port_no_t port;
};

static inline void bench_open(struct bench *b, uint32_t n, uint64_t age_ns, uint32_t seed)
{
	memset(b, 0, sizeof(*b));
	b->flows_mem = aligned_alloc(64, (flow_table_bytes(n) + 63) / 64 * 64);
	b->pairing_mem = aligned_alloc(64, (pairing_bytes(n) + 63) / 64 * 64);
	assert_true(b->flows_mem != NULL && b->pairing_mem != NULL);
	memset(b->flows_mem, 0, flow_table_bytes(n));
	memset(b->pairing_mem, 0, pairing_bytes(n));
	flow_table_init(&b->t, b->flows_mem, n, age_ns, seed);
	b->p = pairing_init(b->pairing_mem, &b->t, seed ^ 0x5bd1e995);
	b->now_ns = 1000000000;
}

static inline void bench_close(struct bench *b)
{
	free(b->flows_mem);
	free(b->pairing_mem);
}

static inline void bench_gone(void *arg, uint32_t id)
{
	struct bench *b = arg;

	pairing_flow_gone(b->p, id);
}

static inline void bench_age(struct bench *b)
{
	const struct flow_hooks hooks = {.gone = bench_gone, .arg = b};

	flow_age(&b->t, b->now_ns, 64, &hooks);
}

struct data {
	struct end from, to;
	uint32_t qp, psn;
	uint32_t n_psns; // 0: 1
	uint16_t sport;
	uint8_t kind; // enum flow_kind
	bool first, ce; // first: of READ responses
};

// Returns the flow's index, or FLOW_NONE.
static inline uint32_t bench_data(struct bench *b, const struct data *d)
{
	const struct flow_hooks hooks = {.gone = bench_gone, .arg = b};
	const struct flow_packet packet = {.psn = d->psn, .n_psns = d->n_psns ? d->n_psns : 1,
					   .len = 1000, .ce = d->ce, .may_skip = d->first};
	const struct roce_msg msg = {.role = ROCE_ROLE_READ_RESPONSE, .first = true,
				     .dest_qp = d->qp, .psn = d->psn};
	struct flow_key k = flow_key_v4(d->from.ip, d->to.ip, d->qp, KEY_FLOW);
	struct flow_way way = {.in_port = d->from.port, .out_port = FLOW_NO_PORT, .kind = d->kind};
	enum flow_news news, more;
	uint32_t id = flow_take(&b->t, &k, flow_hash_of(&b->t.map, &k),
				(struct flow_arrival){b->now_ns, d->from.port}, &hooks,
				&news);
	struct flow *f = &b->t.flows[id];

	if (id == FLOW_NONE) {
		pairing_flow_refused(b->p, &k, b->now_ns);
		return FLOW_NONE;
	}
	if (news == FLOW_BEGUN)
		gauge_set(&f->way, flow_pack_way(way));
	f->udp_sport = d->sport;
	more = flow_count(f, &packet, b->now_ns);
	if (news == FLOW_BEGUN)
		pairing_flow_begun(b->p, id, b->now_ns);
	else if (more >= FLOW_BROKEN)
		pairing_flow_jumped(b->p, id, b->now_ns);
	if (d->first)
		pairing_read_response(b->p, id, &msg, b->now_ns);
	way.out_port = d->to.port;
	if (gauge_get(&f->way) != flow_pack_way(way)) {
		gauge_set(&f->way, flow_pack_way(way));
		pairing_flow_way(b->p, id, b->now_ns);
	}
	if (d->kind == FLOW_DATA && !d->ce)
		seal_close(f, SEAL_CLOSED | d->sport);
	seal_close_departure(f, seal_departure(d->to.port, 0, 0));
	return id;
}

struct answer {
	struct end from, to; // as the answer goes
	uint32_t qp, psn;
	uint16_t sport;
	uint8_t role; // enum roce_role
	uint32_t read_bytes;
	uint64_t stay_ns; // of the latest frame in the queue of the flow
	bool routed;
	uint8_t mad[CM_MAD_LEN];
	uint32_t mad_len; // stored of it; 0: all
};

static inline uint64_t bench_stay_ns(const void *port, uint8_t queue)
{
	(void)queue;
	return *(const uint64_t *)port;
}

static inline void bench_answer(struct bench *b, const struct answer *an)
{
	struct ipv4_hdr ip = {0};
	const struct roce_msg msg = {.role = an->role, .dest_qp = an->qp, .psn = an->psn,
				     .read_bytes = an->read_bytes, .mad = an->mad,
				     .mad_len = an->mad_len != 0 ? an->mad_len : sizeof(an->mad)};
	const struct pair_answer a = {.msg = &msg, .l3 = (const uint8_t *)&ip, .kind = PKT_IPV4,
				      .in_port = an->from.port, .left_by = an->to.port,
				      .udp_sport = an->sport, .one_way = !an->routed,
				      .stay_ns = bench_stay_ns, .port = &an->stay_ns};

	be32_put(&ip.src, an->from.ip);
	be32_put(&ip.dst, an->to.ip);
	if (an->role == ROCE_ROLE_MANAGEMENT)
		pairing_management(b->p, &a, true, b->now_ns);
	else
		pairing_answer(b->p, &a, b->now_ns);
}

static inline void bench_cm(struct bench *b, struct end from, struct end to, const struct cm_msg *m)
{
	struct answer an = {.from = from, .to = to, .qp = CM_QP, .role = ROCE_ROLE_MANAGEMENT};

	cm_build(an.mad, m);
	bench_answer(b, &an);
}

static inline struct flow_pair bench_pair(const struct bench *b, uint32_t id)
{
	return flow_pair_of(gauge_get(&b->t.flows[id].pair));
}

// ---- two hosts, and flows from the first to the second

enum { Q = 0x12, SENDER = 0x34, OTHER_Q = 0x13, OTHER_SENDER = 0x35, MS = 1000000 };

static const struct end A = {.ip = 0x0a000001, .port = 1}, B = {.ip = 0x0a000002, .port = 2};

#define count_of(b, counter) ctr_get(&pairing_counters((b)->p)->counter)

static inline uint32_t data(struct bench *b, uint32_t qp, uint32_t psn)
{
	const struct data d = {.from = A, .to = B, .qp = qp, .psn = psn, .sport = 49152};

	return bench_data(b, &d);
}

static inline void ack(struct bench *b, uint32_t qp, uint32_t psn)
{
	const struct answer a = {.from = B, .to = A, .qp = qp, .psn = psn, .role = ROCE_ROLE_ACK,
				 .sport = 49152};

	bench_answer(b, &a);
}

// n packets, each acknowledged. Returns the flow.
static inline uint32_t talk(struct bench *b, uint32_t qp, uint32_t sender, uint32_t psn, uint32_t n)
{
	uint32_t id = FLOW_NONE;

	for (; n != 0; n--, psn++) {
		id = data(b, qp, psn);
		ack(b, sender, psn);
		b->now_ns += 1000;
	}
	return id;
}

static inline void assert_pair(const struct bench *b, uint32_t id, enum pair_source source,
			       uint32_t qp)
{
	assert_int_equal(bench_pair(b, id).source, source);
	assert_int_equal(bench_pair(b, id).qp, source == PAIR_NONE ? 0 : qp);
}

static inline void assert_reason(const struct bench *b, uint32_t id, const char *words)
{
	assert_pair(b, id, PAIR_NONE, 0);
	assert_string_equal(pairing_reason(b->p, id), words);
}
