// SPDX-License-Identifier: Apache-2.0
// Random schedules of whole bursts, through a driver that gives and takes them, and a digest of all
// that a switch did: each frame that it sent, byte by byte and with its time, its events, and all
// counters after each event. test_quick_ways.py runs it with the dataplane as it is, and with a
// dataplane without its quick ways, which treats each frame by itself: the digests must be equal.
//
//   NAME --seeds FROM-TO [--events N] [--trace]     --trace: a digest after each event
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/tap.h"
#include "dataplane/worker.h"
#include "tests/lab/bench.h"
#include "tests/lab/schedule_policy.h"

enum { MOST = 64, EVENTS_OUT = 256, N = SCHEDULE_PORTS, BURST_NS = 100000 };

struct end {
	struct rte_mbuf *waiting[MOST];
	unsigned n_waiting;
	int32_t room;
	bool refuses, down;
	struct run_of_seed *run;
};

struct run_of_seed {
	struct rng rng;
	struct schedule_conf conf;
	struct weir_switch *sw;
	struct policy *policy;
	struct port_facts facts[N];
	struct end end[N];
	struct tap *tap;
	uint64_t now_ns, digest, sent;
	unsigned event;
	bool trace;
};

static unsigned pick(struct run_of_seed *r, unsigned n)
{
	return rng_next(&r->rng) % n;
}

// FNV-1a, eight bytes at a time.
static void digest(struct run_of_seed *r, const void *p, size_t len)
{
	const uint8_t *b = p;
	uint64_t word;

	for (size_t i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, b + i, len - i < sizeof(word) ? len - i : sizeof(word));
		r->digest = (r->digest ^ word) * 0x100000001b3u;
		r->digest ^= r->digest >> 29;
	}
}

static void digest_word(struct run_of_seed *r, uint64_t v)
{
	digest(r, &v, sizeof(v));
}

// The numbers of one thing. A trace names the thing.
static void digest_part(struct run_of_seed *r, const char *what, unsigned port, unsigned cls,
			const void *p, size_t len)
{
	uint64_t all = r->digest;

	if (r->trace) {
		r->digest = 0;
		digest(r, p, len);
		printf("  event %u at %lu ns: %s of port %u, class %u: %016lx\n", r->event,
		       r->now_ns, what, port + 1, cls, r->digest);
		r->digest = all;
	}
	digest(r, p, len);
}

// ---- the driver

static uint16_t end_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct end *e = drv;
	uint16_t got = e->n_waiting < n ? (uint16_t)e->n_waiting : n;

	memcpy(pkts, e->waiting, got * sizeof(pkts[0]));
	e->n_waiting -= got;
	memmove(e->waiting, e->waiting + got, e->n_waiting * sizeof(pkts[0]));
	return got;
}

static int32_t end_depth(void *drv)
{
	return (int32_t)((struct end *)drv)->n_waiting;
}

static int32_t end_room(void *drv)
{
	return ((struct end *)drv)->room;
}

static uint16_t end_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct end *e = drv;
	struct run_of_seed *r = e->run;
	uint16_t most = e->refuses ? (uint16_t)pick(r, 4) : n;

	n = n < most ? n : most;
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(pkts[i], const uint8_t *);

		digest_part(r, "a frame", (unsigned)(e - r->end), CLASS_NONE, bytes,
			    pkts[i]->pkt_len);
		e->room -= (int32_t)pkts[i]->pkt_len;
		rte_pktmbuf_free(pkts[i]);
	}
	r->sent += n;
	return n;
}

static uint32_t end_pending(void *drv)
{
	(void)drv;
	return 0;
}

static bool end_up(void *drv)
{
	return !((struct end *)drv)->down;
}

static void end_stats(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static const struct port_ops end_ops = {
	.rx = end_rx, .rx_depth = end_depth, .tx_room = end_room, .tx = end_tx,
	.tx_pending = end_pending, .stats = end_stats, .link_up = end_up,
};

// ---- frames

static void spoil(struct run_of_seed *r, uint8_t *f, unsigned len)
{
	for (unsigned n = 1 + pick(r, 3); n != 0; n--)
		f[pick(r, len < 70 ? len : 70)] ^= (uint8_t)(1 << pick(r, 8));
}

// RoCEv2 of some connections: PSNs that follow, ACKs, now and then something else.
static void make_roce(struct run_of_seed *r, const struct bench_frame *f, uint8_t *bytes)
{
	static const uint8_t opcodes[] = {RC_SEND_MIDDLE, RC_SEND_MIDDLE, RC_SEND_MIDDLE,
					  RC_SEND_ONLY, RC_ACK, ROCE_CNP};
	uint8_t *l4 = bytes + 14 + (f->tagged ? 4 : 0) + (f->ipv6 ? 40 : 20);
	struct bth_hdr *bth = (void *)(l4 + sizeof(struct udp_hdr));

	be16_put(l4 + 2, ROCE_UDP_PORT);
	*bth = (struct bth_hdr){.opcode = opcodes[pick(r, sizeof(opcodes))]};
	be24_put(&bth->dest_qp, 16 + pick(r, 6));
	be24_put(&bth->psn, (uint32_t)(r->now_ns / 1000));
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
}

static void arrive(struct run_of_seed *r, unsigned port, struct bench_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	uint8_t bytes[2048];

	bench_build(bytes, port, f);
	if (f->ether_type == 0 && pick(r, 3) != 0)
		make_roce(r, f, bytes);
	else if (f->ether_type == 0 && pick(r, 4) == 0)
		bytes[14 + (f->tagged ? 4 : 0) + (f->ipv6 ? 6 : 9)] = IP_PROTO_TCP;
	if (pick(r, 24) == 0)
		spoil(r, bytes, f->len);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, f->len), bytes, f->len);
	r->end[port].waiting[r->end[port].n_waiting++] = m;
}

static void draw_frame(struct run_of_seed *r, struct bench_frame *f)
{
	*f = (struct bench_frame){
		.to = pick(r, 4) == 0 ? pick(r, N + 1) : N - 1,
		.dscp = (uint8_t)(pick(r, 2) ? 24 + pick(r, 3) : pick(r, 64)),
		.ecn = (uint8_t)pick(r, 4),
		.len = (uint16_t)(SCHEDULE_MIN_LEN + pick(r, pick(r, 2) ? 1430 : 200)),
		.tagged = pick(r, 10) == 0,
		.vid = 7,
		.pcp = (uint8_t)pick(r, 8),
		.ipv6 = pick(r, 3) == 0,
		.broadcast = pick(r, 40) == 0,
		.ether_type = pick(r, 20) == 0 ? ETYPE_ARP : 0,
	};
	if (pick(r, 60) == 0)
		f->len = 1518 + (uint16_t)pick(r, 8); // at the longest that is allowed, and beyond
}

static void frames_arrive(struct run_of_seed *r)
{
	unsigned port = pick(r, N), most = 1 + pick(r, MOST);
	struct bench_frame f;

	draw_frame(r, &f);
	while (r->end[port].n_waiting < most) {
		if (pick(r, 6) == 0)
			draw_frame(r, &f);
		if (pick(r, 3) == 0)
			f.ecn = (uint8_t)pick(r, 4);
		arrive(r, port, &f);
	}
}

// ---- what happens

static void control(struct run_of_seed *r)
{
	struct event events[EVENTS_OUT];
	unsigned n;

	do {
		n = switch_control_step(r->sw, r->now_ns, events, EVENTS_OUT);
		for (unsigned i = 0; i < n; i++) {
			const struct event *e = &events[i];
			uint64_t words[] = {e->t_ns, e->type, e->a, e->b};

			digest_part(r, event_info[e->type].name, e->port, e->cls, words,
				    sizeof(words));
		}
	} while (n == EVENTS_OUT);
}

static void step(struct run_of_seed *r)
{
	for (unsigned i = 0; i < r->conf.n_workers; i++)
		digest_word(r, worker_step(switch_worker(r->sw, i), r->now_ns));
}

static void time_passes(struct run_of_seed *r)
{
	static const unsigned rates[] = {0, 1, 1, 1, 8};

	r->now_ns += pick(r, pick(r, 16) == 0 ? 200000 : 4000);
	for (unsigned p = 0; p < N; p++) {
		int32_t room = (int32_t)(rates[pick(r, 5)] * pick(r, 60000));

		r->end[p].room = room > r->end[p].room ? room : r->end[p].room;
	}
	step(r);
}

static void peer_pauses(struct run_of_seed *r)
{
	unsigned port = pick(r, N);
	struct rte_mbuf *m;
	struct pfc_times t = {.enable = (uint8_t)rng_next(&r->rng)};

	if (r->end[port].n_waiting == MOST)
		return;
	for (unsigned c = 0; c < 8; c++)
		t.quanta[c] = (uint16_t)pick(r, 3) * 100;
	m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	assert_non_null(m);
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN),
			(uint8_t[]){2, 0, 0, 0, 0, 9}, &t);
	r->end[port].waiting[r->end[port].n_waiting++] = m;
}

// More new addresses than the ring to control has room for, each in two frames side by side.
static void many_speak(struct run_of_seed *r)
{
	unsigned port = pick(r, N);
	struct end *e = &r->end[port];
	struct bench_frame f = {.to = N - 1, .dscp = 1, .ecn = 1, .len = SCHEDULE_MIN_LEN};

	for (unsigned n = 0; n < 40; n++) {
		uint32_t address = rng_next(&r->rng);

		while (e->n_waiting < MOST) {
			struct rte_mbuf **m = &e->waiting[e->n_waiting];

			arrive(r, port, &f);
			be32_put(rte_pktmbuf_mtod_offset(*m, void *, 8),
				 address + e->n_waiting / 2);
		}
		step(r);
	}
}

// Full bursts, one after the other, by some ports, while others send as much or a little less.
static void load_stays(struct run_of_seed *r)
{
	unsigned loaded = rng_next(&r->rng), room = 20000 + pick(r, 60000);
	struct bench_frame f;

	draw_frame(r, &f);
	for (unsigned n = 0; n < 24; n++) {
		for (unsigned p = 0; p < N; p++) {
			while ((loaded >> p & 1) && r->end[p].n_waiting < MOST)
				arrive(r, p, &f);
			r->end[p].room = (int32_t)(room + pick(r, room));
		}
		r->now_ns += pick(r, 4000);
		step(r);
		control(r);
	}
}

static struct policy *draw_policy(struct run_of_seed *r, bool first)
{
	const char *yaml = schedule_policy(&r->conf, &r->rng, first);
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("bursts.yaml", yaml, strlen(yaml), &c, &d) != 0 ||
	    config_compile(c, r->facts, &p, &d) != 0)
		fail_msg("%s", d.n != 0 ? d.lines[0] : "the policy does not compile");
	config_small_flows(c, p);
	config_destroy(c);
	diags_fini(&d);
	p->copy_frames = 2000;
	return p;
}

static void policy_is_replaced(struct run_of_seed *r)
{
	struct policy *next = draw_policy(r, false), *old;
	uint64_t token;

	memcpy(next->name, r->policy->name, sizeof(next->name));
	switch_publish(r->sw, next, &old, &token);
	r->policy = next;
	while (!switch_grace_over(r->sw, token))
		step(r);
	control(r);
	policy_destroy(old);
}

static void a_switch_is_thrown(struct run_of_seed *r)
{
	struct end *e = &r->end[pick(r, N)];

	switch (pick(r, 6)) {
	case 0:
		e->down = pick(r, 4) == 0;
		break;
	case 1:
		e->refuses = pick(r, 3) == 0;
		break;
	case 2:
		switch_set_tx(r->sw, (unsigned)(e - r->end), pick(r, 2) ? -1 : (int)pick(r, 8),
			      pick(r, 3) != 0);
		break;
	case 3:
		switch_hold_admission(r->sw, pick(r, 4) == 0);
		break;
	case 4:
		switch_clear_watermarks(r->sw);
		break;
	default:
		switch_set_tap(r->sw, pick(r, 2) ? r->tap : NULL);
	}
	switch_links_changed(r->sw);
	control(r);
}

static void digest_class(struct run_of_seed *r, unsigned port, unsigned cls)
{
	const struct pg_state *pg = switch_pg_state(r->sw, port, cls);
	// Not the watermarks of groups and pools: a run is charged before the first of its frames
	// is dropped where it leaves, and one frame before the next.
	uint64_t cells[] = {gauge_get(&pg->min_used), gauge_get(&pg->shared),
			    gauge_get(&pg->headroom), gauge_get(&pg->skid)};

	digest_part(r, "cells", port, cls, cells, sizeof(cells));
	digest_part(r, "group", port, cls, switch_pg_counters(r->sw, port, cls),
		    sizeof(struct pg_counters));
	digest_part(r, "queue", port, cls, switch_queue_counters(r->sw, port, cls),
		    sizeof(struct queue_counters));
	digest_part(r, "drops", port, cls, switch_drops(r->sw, port, cls, 0),
		    N_DROP_REASONS * sizeof(struct drop_counters));
	digest_part(r, "PFC out", port, cls, &switch_pfc_tx(r->sw, port)->stats[cls],
		    sizeof(switch_pfc_tx(r->sw, port)->stats[cls]));
	digest_part(r, "PFC in", port, cls, &switch_pfc_rx(r->sw, port)->stats[cls],
		    sizeof(switch_pfc_rx(r->sw, port)->stats[cls]));
}

static void digest_all(struct run_of_seed *r)
{
	for (unsigned p = 0; p < N; p++) {
		digest_part(r, "counters", p, CLASS_NONE, switch_port_counters(r->sw, p),
			    sizeof(struct port_counters));
		for (unsigned c = 0; c < N_CLASSES; c++)
			digest_class(r, p, c);
	}
	for (unsigned i = 0; i < r->conf.n_workers; i++) {
		const struct tap_record *records[64];
		unsigned n = tap_read(r->tap, i, records, 64);

		for (unsigned k = 0; k < n; k++)
			digest_part(r, "a captured frame", records[k]->meta.port,
				    records[k]->meta.cls, records[k],
				    sizeof(*records[k]) + records[k]->captured);
		tap_release(r->tap, i, n);
	}
	for (unsigned pool = 0; pool < N_POOLS; pool++) {
		uint64_t used = switch_pool(r->sw, pool).used;

		digest_part(r, pool_name[pool], PORT_NONE, CLASS_NONE, &used, sizeof(used));
	}
}

static void happen(struct run_of_seed *r)
{
	static void (*const events[])(struct run_of_seed *) = {
		frames_arrive, frames_arrive, frames_arrive, frames_arrive, time_passes,
		time_passes,   time_passes,   time_passes,   time_passes,   peer_pauses,
		control,
	};

	if (pick(r, 60) == 0)
		policy_is_replaced(r);
	else if (pick(r, 30) == 0)
		a_switch_is_thrown(r);
	else if (pick(r, 100) == 0)
		many_speak(r);
	else if (pick(r, 40) == 0)
		load_stays(r);
	else
		events[pick(r, sizeof(events) / sizeof(events[0]))](r);
	digest_all(r);
}

// ---- a schedule

static void open_switch(struct run_of_seed *r, uint64_t seed)
{
	struct switch_port ports[N];
	uint32_t burst_ns = pick(r, 2) * BURST_NS;

	for (unsigned p = 0; p < N; p++) {
		r->end[p] = (struct end){.run = r, .room = 20000};
		r->facts[p] = (struct port_facts){
			.mac = {2, 0, 0, 0, 1, (uint8_t)p}, .max_frame = 9216,
			.rx_ring = r->conf.rx_ring, .rx_depth_readable = true,
			.shaper_burst_ns = burst_ns,
			.pfc_rx = true, .pfc_tx = true};
		ports[p] = (struct switch_port){
			.ops = &end_ops, .drv = &r->end[p], .facts = r->facts[p]};
	}
	r->policy = draw_policy(r, true);
	snprintf(r->policy->name, sizeof(r->policy->name), "b%lu", (unsigned long)seed);
	assert_int_equal(switch_create(r->policy, ports, rte_mempool_lookup("bench"), seed, &r->sw),
			 0);
	assert_int_equal(tap_create(&(struct tap_params){.ports = {0x15},
							 .n_workers = r->conf.n_workers,
							 .n_records = 256, .snaplen = 128},
				    &r->tap), 0);
	control(r);
	step(r);
}

static void close_switch(struct run_of_seed *r)
{
	struct balance x = switch_balance(r->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
	switch_destroy(r->sw);
	for (unsigned p = 0; p < N; p++)
		rte_pktmbuf_free_bulk(r->end[p].waiting, r->end[p].n_waiting);
	tap_destroy(r->tap);
	policy_destroy(r->policy);
}

static void run_seed(uint64_t seed, unsigned n_events, bool trace)
{
	struct run_of_seed *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now_ns = 1000000;
	r->trace = trace;
	r->digest = seed;
	rng_init(&r->rng, seed);
	schedule_conf_draw(&r->conf, &r->rng);
	r->conf.n_workers = 1 + pick(r, 2);
	r->conf.moves_groups = pick(r, 2);
	r->conf.together = pick(r, 2);
	r->conf.flows = r->conf.elephants = r->conf.together || pick(r, 2);
	open_switch(r, seed);
	for (r->event = 0; r->event < n_events; r->event++)
		happen(r);
	printf("seed %lu: %lu frames sent, digest %016lx\n", seed, r->sent, r->digest);
	close_switch(r);
	free(r);
}

static uint64_t from = 1, to = 40;
static unsigned n_events = 400;
static bool trace;

static void all(void **state)
{
	(void)state;
	for (uint64_t seed = from; seed <= to; seed++)
		run_seed(seed, n_events, trace);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all)};

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--trace") == 0)
			trace = true;
		else if (strcmp(argv[i], "--seeds") == 0 &&
			 sscanf(value, "%lu-%lu", &from, &to) == 2)
			i++;
		else if (strcmp(argv[i], "--events") == 0 && sscanf(value, "%u", &n_events) == 1)
			i++;
		else
			return fprintf(stderr, "%s: see the head of its source\n", argv[0]), 2;
	}
	return cmocka_run_group_tests_name("bursts", tests, bench_eal, NULL);
}
