// SPDX-License-Identifier: Apache-2.0
// Messages between two NICs over links that misbehave: all of them complete, once and whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/nic/loop.h"

enum { MAX_FLOWS = 64 };
static const uint64_t second = 1000000000;

struct transfer {
	const char *name;
	struct loop_faults faults;
	struct nic_flow flow;
	uint32_t n_flows;
	uint8_t selective; // bitmap of sides
};

#define FLOW(o, bytes, n, m, psn)                                                                  \
	{.op = o, .cls = 3, .msg_bytes = bytes, .n_messages = n, .mtu = m, .first_psn = psn}
#define LOSSY {.loss = 256, .repeat = 200, .corrupt = 300}
#define WILD {.loss = 40, .repeat = 50, .corrupt = 60, .reorder = 70, .ce = 5}

static const struct transfer transfers[] = {
	{"write, clean", {0}, FLOW(REQ_WRITE, 65536, 50, 1024, NIC_RANDOM_PSN), 4},
	{"send, clean", {0}, FLOW(REQ_SEND, 5000, 500, 1024, NIC_RANDOM_PSN), 4},
	{"read, clean", {0}, FLOW(REQ_READ, 65536, 50, 1024, NIC_RANDOM_PSN), 4},
	{"write, lossy", LOSSY, FLOW(REQ_WRITE, 65536, 300, 1024, NIC_RANDOM_PSN), 8},
	{"send, lossy", LOSSY, FLOW(REQ_SEND, 65537, 300, 1024, NIC_RANDOM_PSN), 8},
	{"read, lossy", LOSSY, FLOW(REQ_READ, 65535, 300, 1024, NIC_RANDOM_PSN), 8},
	{"write, wild", WILD, FLOW(REQ_WRITE, 33333, 100, 4096, NIC_RANDOM_PSN), 8},
	{"send, wild", WILD, FLOW(REQ_SEND, 3333, 1000, 256, NIC_RANDOM_PSN), 8},
	{"read, wild", WILD, FLOW(REQ_READ, 33333, 100, 512, NIC_RANDOM_PSN), 8},
	{"write over the PSN's end", LOSSY, FLOW(REQ_WRITE, 65536, 100, 256, 0xfffff0), 4},
	{"send over the PSN's end", LOSSY, FLOW(REQ_SEND, 65536, 100, 256, 0xffffff), 4},
	{"read over the PSN's end", LOSSY, FLOW(REQ_READ, 65536, 100, 256, 0xffff80), 4},
	{"empty writes", LOSSY, FLOW(REQ_WRITE, 0, 2000, 1024, NIC_RANDOM_PSN), 2},
	{"empty reads", LOSSY, FLOW(REQ_READ, 0, 2000, 1024, NIC_RANDOM_PSN), 2},
	{"one byte", LOSSY, FLOW(REQ_SEND, 1, 5000, 1024, NIC_RANDOM_PSN), 4},
	{"a large read", LOSSY, FLOW(REQ_READ, 20000000, 2, 1024, NIC_RANDOM_PSN), 1},
	{"many queue pairs", LOSSY, FLOW(REQ_WRITE, 4096, 100, 1024, NIC_RANDOM_PSN), 64},
	{"write, selective", LOSSY, FLOW(REQ_WRITE, 65536, 300, 1024, NIC_RANDOM_PSN), 8, 3},
	{"send, selective", LOSSY, FLOW(REQ_SEND, 65537, 300, 1024, NIC_RANDOM_PSN), 8, 3},
	{"write, selective, wild", WILD, FLOW(REQ_WRITE, 33333, 100, 4096, NIC_RANDOM_PSN), 8, 3},
	{"send, selective, wild", WILD, FLOW(REQ_SEND, 3333, 1000, 256, NIC_RANDOM_PSN), 8, 3},
	{"selective over the PSN's end", WILD, FLOW(REQ_WRITE, 65536, 100, 256, 0xfffff0), 4, 3},
	{"selective, one byte", WILD, FLOW(REQ_SEND, 1, 5000, 1024, NIC_RANDOM_PSN), 4, 3},
	{"selective, large", LOSSY, FLOW(REQ_WRITE, 20000000, 2, 1024, NIC_RANDOM_PSN), 1, 3},
	{"selective read", LOSSY, FLOW(REQ_READ, 65535, 300, 1024, NIC_RANDOM_PSN), 8, 3},
	{"selective read, wild", WILD, FLOW(REQ_READ, 33333, 100, 512, NIC_RANDOM_PSN), 8, 3},
	{"selective read, PSN's end", WILD, FLOW(REQ_READ, 65536, 100, 256, 0xffff80), 4, 3},
	{"selective large read", LOSSY, FLOW(REQ_READ, 20000000, 2, 1024, NIC_RANDOM_PSN), 1, 3},
	{"selective sender alone", WILD, FLOW(REQ_SEND, 33333, 100, 1024, NIC_RANDOM_PSN), 8, 1},
	{"selective listener alone", WILD, FLOW(REQ_WRITE, 33333, 100, 1024, NIC_RANDOM_PSN), 8, 2},
};

static void add_flows(struct loop *l, const struct nic_flow *f, uint32_t n, uint32_t *ids)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nic_flow flow = *f;

		flow.dst_ip = ip_key_v4(LOOP_IP1);
		assert_int_equal(nic_flow_add(l->nic[0], &flow, &ids[i]), 0);
	}
}

static uint8_t selective_sides;

static void set_selective(unsigned side, struct nic_config *c)
{
	c->selective = selective_sides >> side & 1;
}

static void run_transfer(const struct transfer *t, uint64_t seed)
{
	uint64_t messages = t->flow.n_messages * t->n_flows, bytes = messages * t->flow.msg_bytes;
	struct nic_stats a, b;
	uint32_t ids[MAX_FLOWS];
	struct loop l;

	selective_sides = t->selective;
	loop_up(&l, seed, set_selective);
	l.faults = t->faults;
	add_flows(&l, &t->flow, t->n_flows, ids);
	if (!loop_finish(&l, ids, t->n_flows, 20 * second))
		fail_msg("%s: not complete", t->name);
	a = loop_stats(&l, 0);
	b = loop_stats(&l, 1);
	assert_int_equal(a.messages_completed, messages);
	assert_int_equal(b.messages_served, messages);
	assert_int_equal(a.bytes_completed, bytes);
	// Every byte was taken exactly once, in order, and was right.
	assert_int_equal((t->flow.op == REQ_READ ? &a : &b)->cls[3].goodput_bytes, bytes);
	assert_int_equal(a.payload_errors + b.payload_errors, 0);
	assert_int_equal(a.refused + b.refused + a.no_mbuf + b.no_mbuf, 0);
	assert_int_equal(a.completion.n, messages);
	if (t->faults.loss == 0) {
		assert_int_equal(a.retransmissions + a.timeouts + b.out_of_sequence, 0);
		assert_int_equal(a.cls[3].tx_packets, b.cls[3].rx_packets);
	} else {
		assert_true(l.lost != 0);
		assert_true(a.retransmissions != 0);
	}
	// A flipped bit is found by the iCRC, or sat in a field that it does not cover.
	assert_true(a.icrc_errors + b.icrc_errors <= l.corrupted * 2);
	assert_true(l.corrupted < 100 || a.icrc_errors + b.icrc_errors > l.corrupted / 4);
	for (uint32_t i = 0; i < t->n_flows; i++)
		nic_flow_close(l.nic[0], ids[i]);
	loop_run(&l, l.now_ns + second, 0);
	for (uint32_t i = 0; i < t->n_flows; i++)
		assert_int_equal(nic_flow_status(l.nic[0], ids[i]).state, NIC_FLOW_CLOSED);
	loop_down(&l);
}

static void all_messages_complete_once_and_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++)
		run_transfer(&transfers[i], 1000 + i);
}

static void every_seed_completes(void **state)
{
	struct transfer t = {"seeds", WILD, FLOW(REQ_WRITE, 9000, 20, 1024, NIC_RANDOM_PSN), 3};

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		t.flow.op = (uint8_t)(seed % 3);
		run_transfer(&t, seed);
	}
}

// FNV-1a over time, direction and bytes of every frame.
static void hash_tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	uint64_t *h = arg;

	*h = (*h ^ (t_ns * 2 + from)) * 0x100000001b3;
	for (uint32_t i = 0; i < len; i++)
		*h = (*h ^ frame[i]) * 0x100000001b3;
}

static uint64_t trace(uint64_t seed, uint64_t step_ns, uint64_t run_ns)
{
	const struct nic_flow f = {.dst_ip = ip_key_v4(LOOP_IP1), .cls = 3, .msg_bytes = 10000,
				   .mtu = 1024, .rate_bps = 7000000000,
				   .first_psn = NIC_RANDOM_PSN};
	uint64_t h = 0xcbf29ce484222325;
	uint32_t ids[3];
	struct loop l;

	loop_up(&l, seed, NULL);
	l.faults = (struct loop_faults)WILD;
	l.tap = hash_tap;
	l.tap_arg = &h;
	add_flows(&l, &f, 3, ids);
	loop_run(&l, run_ns, step_ns);
	loop_down(&l);
	return h;
}

static void same_seed_gives_the_same_frames(void **state)
{
	(void)state;
	assert_true(trace(5, 0, 4000000) == trace(5, 0, 4000000));
	assert_true(trace(5, 0, 4000000) != trace(6, 0, 4000000));
}

static void stepping_on_wake_ups_equals_stepping_every_nanosecond(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++)
		assert_true(trace(seed, 0, 300000) == trace(seed, 1, 300000));
}

// Time from the loss to completion shows who noticed: a NAK, or the timer.
static void lost_tail_waits_for_the_timer(void **state)
{
	const struct nic_flow f = {.cls = 3, .msg_bytes = 1024, .n_messages = 1, .mtu = 1024,
				   .start_ns = 50000, .first_psn = NIC_RANDOM_PSN};
	struct nic_stats a;
	uint32_t id;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	add_flows(&l, &f, 1, &id);
	loop_run(&l, 40000, 0);
	assert_int_equal(nic_flow_status(l.nic[0], id).state, NIC_FLOW_UP);
	l.faults.loss = 1;
	loop_run(&l, 60000, 0);
	assert_int_equal(l.lost, 1);
	l.faults.loss = 0;
	loop_run(&l, 1050000 - 1, 0);
	assert_int_equal(loop_stats(&l, 0).timeouts, 0);
	loop_run(&l, 1050000 + 3000, 0);
	a = loop_stats(&l, 0);
	assert_int_equal(a.timeouts, 1);
	assert_int_equal(a.retransmissions, 1);
	assert_int_equal(a.messages_completed, 1);
	assert_int_equal(a.completion.max_ns, 1002000);
	loop_down(&l);
}

static void ce_marks_are_counted_and_break_no_icrc(void **state)
{
	const struct nic_flow f = {.cls = 5, .msg_bytes = 4096, .n_messages = 100, .mtu = 1024,
				   .first_psn = NIC_RANDOM_PSN};
	struct nic_stats b;
	uint32_t id;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.faults.ce = 1;
	add_flows(&l, &f, 1, &id);
	assert_true(loop_finish(&l, &id, 1, second));
	b = loop_stats(&l, 1);
	assert_int_equal(b.icrc_errors, 0);
	assert_int_equal(b.cls[5].rx_packets, 400);
	assert_int_equal(b.cls[5].ce_marked, 400);
	loop_down(&l);
}

static void other_classes(unsigned side, struct nic_config *c)
{
	(void)side;
	assert_int_equal(c->class_of_dscp[26], 3); // as by default
	c->class_of_dscp[26] = 4;
	c->class_of_dscp[0] = 5;
}

// Of all frames that are no connection management, a bit each.
static void see_dscp(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	uint64_t *dscps = arg;
	struct pkt_info info;

	(void)from;
	(void)t_ns;
	if (parse(frame, len, &info) && info.roce && info.bth_opcode != UD_SEND_ONLY)
		*dscps |= 1ull << (frame[info.l3_off + 1] >> 2);
}

// The class at both ends is that of the map, whatever the DSCP: of data, of READ responses too.
static void a_flow_may_have_a_dscp_of_its_own(void **state)
{
	static const struct {
		uint8_t cls, dscp;
	} rows[] = {{4, 26}, {5, 0}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct nic_flow f = {.op = i & 1 ? REQ_READ : REQ_WRITE,
					   .cls = rows[i / 2].cls, .has_dscp = true,
					   .dscp = rows[i / 2].dscp, .msg_bytes = 4096,
					   .n_messages = 100, .mtu = 1024,
					   .first_psn = NIC_RANDOM_PSN};
		unsigned to = i & 1 ? 0 : 1; // who gets the data
		uint64_t dscps = 0;
		struct nic_stats s;
		uint32_t id;
		struct loop l;

		loop_up(&l, 1, other_classes);
		l.tap = see_dscp;
		l.tap_arg = &dscps;
		add_flows(&l, &f, 1, &id);
		assert_true(loop_finish(&l, &id, 1, second));
		s = loop_stats(&l, to);
		assert_int_equal(s.cls[f.cls].rx_packets, 400);
		assert_int_equal(dscps, 1ull << f.dscp);
		loop_down(&l);
	}
}

// Of all frames that are no connection management, a bit for each codepoint.
static void see_ecn(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	unsigned *codepoints = arg;
	struct pkt_info info;

	(void)from;
	(void)t_ns;
	if (parse(frame, len, &info) && info.roce && info.bth_opcode != UD_SEND_ONLY)
		*codepoints |= 1u << info.ecn;
}

static void a_flow_sends_the_ecn_codepoint_that_it_names(void **state)
{
	static const uint8_t codepoint[N_NIC_ECNS] = {
		[NIC_ECT0] = ECN_ECT0, [NIC_ECT1] = ECN_ECT1, [NIC_NOT_ECT] = ECN_NOT_ECT};

	(void)state;
	for (unsigned i = 0; i < 2 * N_NIC_ECNS; i++) {
		const struct nic_flow f = {.op = i & 1 ? REQ_READ : REQ_WRITE, .cls = 3,
					   .ecn = (uint8_t)(i / 2), .msg_bytes = 4096,
					   .n_messages = 100, .mtu = 1024,
					   .first_psn = NIC_RANDOM_PSN};
		unsigned codepoints = 0;
		uint32_t id;
		struct loop l;

		loop_up(&l, 1, NULL);
		l.tap = see_ecn;
		l.tap_arg = &codepoints;
		add_flows(&l, &f, 1, &id);
		assert_true(loop_finish(&l, &id, 1, second));
		assert_int_equal(codepoints, 1u << codepoint[f.ecn]);
		loop_down(&l);
	}
}

static void messages_by_interval_offer_their_rate(void **state)
{
	// 12.5 kB every 10 us are 10 Gb/s.
	const struct nic_flow f = {.cls = 3, .msg_bytes = 12500, .mtu = 1024, .interval_ns = 10000,
				   .first_psn = NIC_RANDOM_PSN};
	uint64_t from, to;
	uint32_t id;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	add_flows(&l, &f, 1, &id);
	loop_run(&l, 1000000, 0);
	from = loop_stats(&l, 0).messages_completed;
	loop_run(&l, 11000000, 0);
	to = loop_stats(&l, 0).messages_completed;
	assert_int_equal(to - from, 1000);
	nic_flow_stop(l.nic[0], id);
	loop_run(&l, 12000000, 0);
	assert_true(loop_finish(&l, &id, 1, second));
	assert_true(loop_stats(&l, 0).messages_completed <= to + 1);
	loop_down(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_messages_complete_once_and_whole),
		cmocka_unit_test(every_seed_completes),
		cmocka_unit_test(same_seed_gives_the_same_frames),
		cmocka_unit_test(stepping_on_wake_ups_equals_stepping_every_nanosecond),
		cmocka_unit_test(lost_tail_waits_for_the_timer),
		cmocka_unit_test(ce_marks_are_counted_and_break_no_icrc),
		cmocka_unit_test(a_flow_may_have_a_dscp_of_its_own),
		cmocka_unit_test(a_flow_sends_the_ecn_codepoint_that_it_names),
		cmocka_unit_test(messages_by_interval_offer_their_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
