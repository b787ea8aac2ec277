// SPDX-License-Identifier: Apache-2.0
// The flow table of a whole switch: which frames make entries, what is counted of them, their way
// through bridge and router, age, and what a full table does and does not do.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/packet/cm.h"
#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/flow_rows.h"
#include "tests/lab/lab_yaml.h"
#include "tests/lab/roce_frame.h"
#include "tests/lab/router.h"

enum { MS = 1000000 };

// ---- frames

static void send_one(struct bench *b, const struct roce *r)
{
	uint8_t bytes[FRAME_MAX];
	uint16_t len = roce_build(bytes, r);

	bench_send_raw(b, r->from, bytes, len);
	bench_run(b, 5000);
}

// n of them, each with the PSN after the one before.
static void send_n(struct bench *b, struct roce r, unsigned n)
{
	for (unsigned i = 0; i < n; i++, r.psn = psn_add(r.psn, 1))
		send_one(b, &r);
}

// ---- what the switch knows

static struct flow_row row_of(struct bench *b, uint32_t qp)
{
	struct rows all = walk(b);

	for (unsigned i = 0; i < all.n; i++)
		if (flow_key_qp(&all.row[i].key) == qp)
			return all.row[i];
	fail_msg("there is no flow to queue pair %u", qp);
	return all.row[0];
}

static struct flow_totals totals(const struct bench *b)
{
	struct flow_totals t;

	switch_flow_totals(b->sw, &t);
	return t;
}

static void set_table(struct policy *p, void *arg)
{
	p->flows = *(const struct flow_params *)arg;
}

// max: per worker.
static struct bench *open_with(const char *yaml, uint32_t max, uint64_t age_ns)
{
	static struct flow_params params;
	const struct bench_opts o = {.seed = 1, .adjust = set_table, .adjust_arg = &params};

	params = (struct flow_params){.max = max * bench_workers(), .age_ns = age_ns};
	return bench_open_with(yaml, &o);
}

static struct bench *open(uint32_t max)
{
	return open_with(lab_yaml(4, "10G", "", "", "      3: {lossless: true}\n"), max, 0);
}

// ---- entries

static void a_data_frame_makes_an_entry_that_knows_its_way(void **state)
{
	static const struct {
		struct roce r;
		uint8_t kind;
	} t[] = {
		{{.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 0x11, .psn = 7}, FLOW_DATA},
		{{.from = 1, .to = 2, .opcode = RC_WRITE_MIDDLE, .qp = 0x12, .v6 = true},
		 FLOW_DATA},
		{{.from = 1, .to = 3, .opcode = RC_SEND_ONLY, .qp = 0x13, .tagged = true},
		 FLOW_DATA},
		{{.from = 2, .to = 0, .opcode = RC_READ_REQUEST, .qp = 0x14, .read_bytes = 4096},
		 FLOW_READ_REQUESTS},
		{{.from = 0, .to = 2, .opcode = RC_READ_RESPONSE_MIDDLE, .qp = 0x15},
		 FLOW_READ_RESPONSES},
		{{.from = 3, .to = 1, .opcode = UD_SEND_ONLY, .qp = 0x16, .sport = 777},
		 FLOW_DATAGRAM},
		{{.from = 3, .to = 1, .opcode = 0x24, .qp = 0x17}, FLOW_UNRELIABLE}, // UC
	};
	enum { N = sizeof(t) / sizeof(t[0]) };
	struct bench *b = open(16);

	(void)state;
	for (unsigned i = 0; i < N; i++)
		send_n(b, t[i].r, 3);
	assert_int_equal(walk(b).n, N);
	assert_int_equal(totals(b).used, N);
	assert_int_equal(totals(b).made, N);
	for (unsigned i = 0; i < N; i++) {
		const struct roce *r = &t[i].r;
		struct flow_row row = row_of(b, r->qp);
		uint8_t src[16], dst[16], bytes[FRAME_MAX];

		assert_int_equal(flow_key_addresses(&row.key, src, dst), r->v6 ? 6 : 4);
		assert_int_equal(src[r->v6 ? 15 : 3], r->from + 1);
		assert_int_equal(dst[r->v6 ? 15 : 3], r->to + 1);
		assert_int_equal(row.way.in_port, r->from);
		assert_int_equal(row.way.out_port, r->to);
		assert_int_equal(row.way.cls, 3);
		assert_int_equal(row.way.queue, 3);
		assert_int_equal(row.way.kind, t[i].kind);
		assert_int_equal(row.packets, 3);
		assert_int_equal(row.bytes, 3 * roce_build(bytes, r));
		assert_int_equal(row.udp_sport, r->sport != 0 ? r->sport : 50000);
		assert_int_equal(row.pair.source, PAIR_NONE);
		assert_true(row.reason[0] != 0);
		assert_true(row.first_ns <= row.seen_ns && row.seen_ns <= b->clock.now_ns);
	}
	assert_int_equal(row_of(b, 0x11).psn, 10);
	// SEND, WRITE, and READ responses.
	assert_int_equal(totals(b).pairing.n_unpaired, 4);
	bench_close(b);
}

// The message passes the owners of two ports, or twice the owner of both.
static void a_management_message_is_counted_once(void **state)
{
	const struct cm_msg req = {.attr = CM_REQ, .local_id = 1, .qpn = 5, .psn = 6, .mtu = 1024};
	const struct roce r = {.from = 0, .to = 1, .opcode = UD_SEND_ONLY, .qp = CM_QP,
			       .payload = CM_MAD_LEN - 8}; // and 16 bytes, of which DETH takes 8
	struct bench *b = open(16);
	uint8_t bytes[FRAME_MAX];
	uint16_t len = roce_build(bytes, &r);

	(void)state;
	cm_build(bytes + len - ROCE_ICRC_LEN - CM_MAD_LEN, &req);
	for (unsigned n = 1; n <= 3; n++) {
		bench_send_raw(b, 0, bytes, len);
		bench_run(b, 5000);
		assert_int_equal(totals(b).pairing.cm_seen, n);
	}
	bench_close(b);
}

static void an_entry_follows_its_flow_to_another_class(void **state)
{
	struct bench *b = open(16);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 0x11};
	static const uint8_t dscp[] = {24, 8, 24, 0}, cls[] = {3, 1, 3, 3};

	(void)state;
	for (unsigned i = 0; i < sizeof(dscp); i++, r.psn += 3) {
		struct flow_row row;

		r.dscp = dscp[i];
		send_n(b, r, 3);
		row = row_of(b, r.qp);
		assert_int_equal(row.way.cls, cls[i]);
		assert_int_equal(row.way.queue, cls[i]);
		assert_int_equal(row.packets, 3 * (i + 1));
		assert_int_equal(row.gaps + row.rewinds, 0);
	}
	bench_close(b);
}

static void headers_are_those_of_the_latest_frame_of_any_kind(void **state)
{
	static const struct roce t[] = {
		{.opcode = RC_SEND_ONLY, .sport = 50001},
		{.opcode = RC_READ_REQUEST, .read_bytes = 256, .sport = 50002},
		{.opcode = RC_SEND_ONLY, .sport = 50001},
		{.opcode = RC_SEND_ONLY, .sport = 50003, .ecn = ECN_CE},
		{.opcode = RC_SEND_ONLY, .sport = 50001},
	};
	struct bench *b = open(16);

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct roce r = t[i];

		r.to = 2;
		r.qp = 0x11;
		r.psn = i;
		send_one(b, &r);
		assert_int_equal(row_of(b, 0x11).udp_sport, r.sport);
	}
	bench_close(b);
}

static void answers_and_other_frames_make_none(void **state)
{
	static const struct roce t[] = {
		{.from = 2, .to = 0, .opcode = RC_ACK, .qp = 5},
		{.from = 2, .to = 0, .opcode = RC_ATOMIC_ACK, .qp = 5},
		{.from = 2, .to = 0, .opcode = RC_ACK, .qp = 5, .syndrome = AETH_NAK},
		{.from = 2, .to = 0, .opcode = ROCE_CNP, .qp = 5},
		{.from = 2, .to = 0, .opcode = UD_SEND_ONLY, .qp = 1},
		{.from = 2, .to = 0, .opcode = 0xc5, .qp = 5},
	};
	const struct bench_frame other = {.to = 2, .dscp = 24, .len = 200};
	struct bench *b = open(16);

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		send_one(b, &t[i]);
	bench_inject(b, 0, &other, 3);
	assert_int_equal(walk(b).n, 0);
	assert_int_equal(totals(b).made, 0);
	assert_int_equal(b->host[0].n_rx, sizeof(t) / sizeof(t[0]));
	bench_close(b);
}

static void loss_and_congestion_are_seen_per_flow_and_port(void **state)
{
	struct bench *b = open(16);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 5, .psn = 0xfffffe};
	struct roce other = {.from = 0, .to = 3, .opcode = RC_SEND_ONLY, .qp = 6};
	struct roce ack = {.from = 2, .to = 0, .opcode = RC_ACK, .qp = 50};
	const struct port_flow_counters *c = switch_port_flows(b->sw, 0);
	struct flow_row row;

	(void)state;
	send_n(b, r, 3); // .. 0
	r.psn = 4; // 1, 2, 3 are lost upstream
	send_n(b, r, 2);
	r.psn = 1; // go-back-N
	r.ecn = ECN_CE;
	send_n(b, r, 5);
	send_n(b, other, 2);
	other.psn = 3;
	send_n(b, other, 1);
	row = row_of(b, 5);
	assert_int_equal(row.gaps, 1);
	assert_int_equal(row.gap_packets, 3);
	assert_int_equal(row.rewinds, 1);
	assert_int_equal(row.ce, 5);
	assert_int_equal(row.packets, 10);
	assert_int_equal(row_of(b, 6).gaps, 1);
	assert_int_equal(ctr_get(&c->gaps), 2);
	assert_int_equal(ctr_get(&c->gap_packets), 4);
	assert_int_equal(ctr_get(&c->rewinds), 1);
	assert_int_equal(ctr_get(&c->ce), 5);
	// Back to the sender, by its port.
	send_one(b, &ack);
	ack.syndrome = AETH_NAK;
	send_n(b, ack, 2);
	ack.opcode = ROCE_CNP;
	send_n(b, ack, 4);
	assert_int_equal(ctr_get(&c->naks), 2);
	assert_int_equal(ctr_get(&c->cnps_seen), 4);
	for (unsigned port = 1; port < 4; port++) {
		c = switch_port_flows(b->sw, port);
		assert_int_equal(ctr_get(&c->naks) + ctr_get(&c->cnps_seen) + ctr_get(&c->gaps), 0);
	}
	bench_close(b);
}

static void bytes_of_roce_are_counted_where_they_enter(void **state)
{
	struct bench *b = open(16);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 5};
	struct roce ack = {.from = 2, .to = 0, .opcode = RC_ACK, .qp = 50};

	(void)state;
	send_n(b, r, 3);
	send_one(b, &ack);
	for (unsigned port = 0; port < 4; port++)
		assert_int_equal(ctr_get(&switch_port_flows(b->sw, port)->roce_bytes),
				 ctr_get(&switch_port_counters(b->sw, port)->rx_bytes));
	assert_true(ctr_get(&switch_port_flows(b->sw, 0)->roce_bytes) > 0);
	assert_true(ctr_get(&switch_port_flows(b->sw, 2)->roce_bytes) > 0);
	bench_send(b, 0, &(struct bench_frame){.to = 2, .dscp = 24, .len = 500});
	bench_run(b, 10000);
	assert_int_equal(ctr_get(&switch_port_counters(b->sw, 0)->rx_bytes) -
				 ctr_get(&switch_port_flows(b->sw, 0)->roce_bytes), 500);
	bench_close(b);
}

// ACKs, CNPs and responses that share a flow's addresses and queue pair must not disturb its PSNs.
static void responses_among_requests_are_counted_and_not_followed(void **state)
{
	struct bench *b = open(16);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_READ_RESPONSE_ONLY, .qp = 5, .psn = 900};

	(void)state;
	send_n(b, r, 2);
	assert_int_equal(row_of(b, 5).way.kind, FLOW_READ_RESPONSES);
	assert_int_equal(row_of(b, 5).psn, 902);
	r.opcode = RC_SEND_ONLY;
	r.psn = 10;
	send_n(b, r, 2);
	assert_int_equal(row_of(b, 5).way.kind, FLOW_DATA);
	assert_int_equal(row_of(b, 5).psn, 12);
	r.opcode = RC_READ_RESPONSE_ONLY;
	r.psn = 902;
	send_n(b, r, 2);
	r.opcode = RC_READ_RESPONSE_MIDDLE;
	r.psn = 12; // by chance that of the next request
	send_n(b, r, 1);
	send_n(b, r, 1);
	r.opcode = UD_SEND_ONLY;
	send_n(b, r, 2);
	assert_int_equal(row_of(b, 5).way.kind, FLOW_DATA);
	assert_int_equal(row_of(b, 5).psn, 12);
	assert_int_equal(row_of(b, 5).packets, 10);
	assert_int_equal(row_of(b, 5).gaps + row_of(b, 5).rewinds, 0);
	bench_close(b);
}

static void a_flooded_flow_has_no_way_until_its_receiver_is_known(void **state)
{
	static const char yaml[] =
		"switch: {name: br, flows: {max: 64}}\n"
		"ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, mtu: 1500}\n";
	struct bench *b = bench_open(yaml, 0);
	const struct bench_frame hello = {.to = 0, .len = 100};
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 5};
	struct roce nak = {.from = 1, .to = 3, .opcode = RC_ACK, .qp = 9, .syndrome = AETH_NAK};

	(void)state;
	send_n(b, r, 2);
	assert_int_equal(row_of(b, 5).way.out_port, FLOW_NO_PORT);
	assert_int_equal(walk(b).n, 1);
	send_n(b, nak, 1); // nobody knows by which port it leaves
	for (unsigned port = 0; port < 4; port++)
		assert_int_equal(ctr_get(&switch_port_flows(b->sw, port)->naks), 0);
	bench_inject(b, 2, &hello, 1);
	bench_run(b, 10000);
	bench_control(b);
	send_n(b, r, 1);
	assert_int_equal(row_of(b, 5).way.out_port, 2);
	assert_int_equal(row_of(b, 5).packets, 3);
	bench_close(b);
}

static void a_routed_flow_keeps_its_entry_and_leaves_by_its_next_hop(void **state)
{
	static struct flow_params params = {.max = 64};
	const struct bench_opts o = {.seed = 1, .adjust = set_table, .adjust_arg = &params};
	struct bench *b = bench_open_with(router_policy("", router_routes), &o);
	const struct router_packet k = {
		.src = "10.0.1.2", .dst = "10.0.2.2", .dport = 4791, .sport = 5, .qp = 0x77};
	struct flow_row row;

	(void)state;
	router_send(b, P1, &k);
	router_settle(b);
	row = row_of(b, 0x77);
	assert_int_equal(row.way.in_port, P1);
	assert_int_equal(row.packets, 1);
	assert_int_equal(row.way.out_port, b->host[P2].n_rx == 1 ? P2 : FLOW_NO_PORT);
	assert_int_equal(b->host[P2].n_rx, 1);
	bench_close(b);
}

// ---- room and age

static void a_full_table_refuses_counts_and_forwards(void **state)
{
	enum { ROOM = 8, MORE = 20 };
	struct bench *b = open(ROOM);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY};
	unsigned n_events = 0;

	(void)state;
	for (r.qp = 100; r.qp < 100 + ROOM + MORE; r.qp++)
		send_one(b, &r);
	assert_int_equal(totals(b).used, ROOM);
	assert_int_equal(totals(b).refused, MORE);
	assert_int_equal(totals(b).max, ROOM * bench_workers());
	assert_int_equal(b->host[2].n_rx, ROOM + MORE);
	// Those that were there first go on; a flow that enters elsewhere may have its own shard.
	r.qp = 100;
	r.psn = 1;
	send_one(b, &r);
	assert_int_equal(row_of(b, 100).packets, 2);
	// One event, then one a second, which says how many.
	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++)
		n_events += b->events[i].type == EVENT_FLOWS_FULL;
	assert_int_equal(n_events, 1);
	b->n_events = 0;
	bench_run(b, 1000ull * MS);
	send_one(b, &r);
	bench_control(b);
	assert_int_equal(b->n_events, 1);
	assert_int_equal(b->events[0].type, EVENT_FLOWS_FULL);
	assert_int_equal(b->events[0].b, MORE - 1);
	bench_close(b);
}

static void idle_flows_leave_and_make_room(void **state)
{
	enum { ROOM = 8 };
	struct bench *b = open_with(lab_yaml(4, "10G", "", "", "      3: {lossless: true}\n"), ROOM,
				    10 * MS);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY};

	(void)state;
	for (r.qp = 100; r.qp < 100 + ROOM; r.qp++)
		send_one(b, &r);
	bench_run(b, 9 * MS);
	assert_int_equal(walk(b).n, ROOM);
	r.qp = 100;
	r.psn = 1;
	send_one(b, &r); // one is alive
	bench_run(b, 9 * MS);
	assert_int_equal(walk(b).n, 1);
	// Found when it is dead: a new life, in which nothing was lost.
	r.qp = 101;
	r.psn = 5000;
	send_one(b, &r);
	assert_int_equal(row_of(b, 101).packets, 1);
	assert_int_equal(row_of(b, 101).gaps, 0);
	// Ageing passes by each place once in an age.
	bench_run(b, 10 * MS);
	for (r.qp = 200; r.qp < 200 + ROOM - 1; r.qp++)
		send_one(b, &r);
	assert_int_equal(totals(b).refused, 0);
	assert_int_equal(walk(b).n, ROOM - 1);
	bench_close(b);
}

static void step(struct bench *b)
{
	actor_poke(&b->actor);
}

// Loops in which nothing happens change nothing: neither what ages, nor when.
static void ageing_is_the_same_however_often_the_switch_looks(void **state)
{
	struct flow_totals t[2];

	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		struct bench *b = open_with(
			lab_yaml(4, "10G", "", "", "      3: {lossless: true}\n"), 20, MS);
		struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY};

		for (unsigned i = 0; i < 200; i++) {
			r.qp = 100 + i * i % 23;
			r.from = i % 2;
			send_one(b, &r);
			for (unsigned k = 0; k < 20; k++) {
				if (v == 1)
					step(b);
				bench_run(b, 5003);
			}
		}
		bench_run(b, 10 * MS);
		send_one(b, &r);
		t[v] = totals(b);
		bench_close(b);
	}
	assert_true(t[0].aged > 20);
	assert_int_equal(t[0].aged, t[1].aged);
	assert_int_equal(t[0].made, t[1].made);
	assert_int_equal(t[0].used, t[1].used);
	assert_int_equal(t[0].refused, t[1].refused);
}

// ---- control

struct places {
	unsigned n;
	uint32_t place[KEPT], qp[KEPT];
};

static void at_place(void *arg, uint32_t place, const struct flow_row *row)
{
	struct places *all = arg;

	assert_true(all->n < KEPT);
	all->place[all->n] = place;
	all->qp[all->n++] = flow_key_qp(&row->key);
}

static void looking_in_steps_finds_each_flow_once_at_its_place(void **state)
{
	enum { N = 12 };
	struct bench *b = open(16);
	struct places all = {0}, again = {0};
	struct flows_look look = {.n = 5, .fn = at_place, .arg = &all};
	struct roce r = {.opcode = RC_SEND_ONLY};
	uint32_t end = switch_flows_places(b->sw), seen = 0;

	(void)state;
	assert_int_equal(end, 16 * bench_workers());
	for (unsigned i = 0; i < N; i++) {
		r.from = i % 4;
		r.to = (i + 1) % 4;
		r.qp = i;
		send_one(b, &r);
	}
	look.now_ns = b->clock.now_ns;
	for (look.first = 0; look.first < end; look.first += look.n)
		switch_flows_look(b->sw, &look);
	assert_int_equal(all.n, N);
	for (unsigned i = 0; i < N; i++) {
		assert_in_range(all.place[i], i == 0 ? 0 : all.place[i - 1] + 1, end - 1);
		seen |= 1u << all.qp[i];
	}
	assert_int_equal(seen, (1u << N) - 1);
	look = (struct flows_look){.now_ns = b->clock.now_ns, .n = end, .fn = at_place,
				   .arg = &again};
	switch_flows_look(b->sw, &look);
	assert_memory_equal(&all, &again, sizeof(all));
	bench_close(b);
}

static void an_operators_word_waits_for_room_and_is_not_lost(void **state)
{
	struct bench *b = open(16);
	struct known_pair k = {.source = PAIR_STATIC, .qp = 3};
	unsigned told = 0;

	(void)state;
	k.key = flow_key_v4(0x0a000001, 0x0a000003, 5, KEY_KNOWN);
	while (switch_order_pair(b->sw, &k) == 0)
		told++;
	assert_int_equal(told, 1024);
	assert_int_equal(switch_order_pair(b->sw, &k), -EAGAIN);
	for (unsigned i = 0; i < 2; i++) {
		step(b);
		bench_run(b, 1);
	}
	assert_int_equal(switch_order_pair(b->sw, &k), 0);
	bench_close(b);
}

static void to_forget_a_flow_finds_it_or_says_not(void **state)
{
	static const struct {
		const char *what;
		uint32_t qp;
		bool tell, found;
	} t[] = {{"nothing", 6, false, false},
		 {"a flow without a pair", 5, false, true},
		 {"a pair without a flow", 7, true, true}};
	const struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 5};
	struct bench *b = open(16);
	uint64_t before, found;

	(void)state;
	send_one(b, &r);
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct known_pair k = {.source = PAIR_STATIC, .qp = 3};

		print_message("%s\n", t[i].what);
		k.key = flow_key_v4(0x0a000001, 0x0a000003, t[i].qp, KEY_KNOWN);
		if (t[i].tell)
			assert_int_equal(switch_order_pair(b->sw, &k), 0);
		switch_pair_orders_done(b->sw, &before);
		k.qp = FLOW_NONE;
		assert_int_equal(switch_order_pair(b->sw, &k), 0);
		assert_false(switch_pair_orders_done(b->sw, &found));
		for (unsigned n = 0; n < 2; n++) {
			step(b);
			bench_run(b, 1);
		}
		assert_true(switch_pair_orders_done(b->sw, &found));
		assert_int_equal(found != before, t[i].found);
	}
	bench_close(b);
}

static void without_a_table_there_is_nothing_to_see(void **state)
{
	struct bench *b = open(0);
	struct roce r = {.from = 0, .to = 2, .opcode = RC_SEND_ONLY, .qp = 5};
	const struct known_pair k = {.qp = 3};

	(void)state;
	send_n(b, r, 3);
	assert_int_equal(b->host[2].n_rx, 3);
	assert_int_equal(switch_flows_places(b->sw), 0);
	assert_int_equal(walk(b).n, 0);
	assert_int_equal(totals(b).max, 0);
	assert_int_equal(switch_order_pair(b->sw, &k), -ENOTSUP);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_data_frame_makes_an_entry_that_knows_its_way),
		cmocka_unit_test(a_management_message_is_counted_once),
		cmocka_unit_test(an_entry_follows_its_flow_to_another_class),
		cmocka_unit_test(headers_are_those_of_the_latest_frame_of_any_kind),
		cmocka_unit_test(answers_and_other_frames_make_none),
		cmocka_unit_test(loss_and_congestion_are_seen_per_flow_and_port),
		cmocka_unit_test(bytes_of_roce_are_counted_where_they_enter),
		cmocka_unit_test(responses_among_requests_are_counted_and_not_followed),
		cmocka_unit_test(a_flooded_flow_has_no_way_until_its_receiver_is_known),
		cmocka_unit_test(a_routed_flow_keeps_its_entry_and_leaves_by_its_next_hop),
		cmocka_unit_test(a_full_table_refuses_counts_and_forwards),
		cmocka_unit_test(idle_flows_leave_and_make_room),
		cmocka_unit_test(ageing_is_the_same_however_often_the_switch_looks),
		cmocka_unit_test(looking_in_steps_finds_each_flow_once_at_its_place),
		cmocka_unit_test(an_operators_word_waits_for_room_and_is_not_lost),
		cmocka_unit_test(to_forget_a_flow_finds_it_or_says_not),
		cmocka_unit_test(without_a_table_there_is_nothing_to_see),
	};

	return cmocka_run_group_tests_name("flows", tests, bench_eal, NULL);
}
