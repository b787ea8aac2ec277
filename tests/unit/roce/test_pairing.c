// SPDX-License-Identifier: Apache-2.0
// Every way by which a flow gets its pair, and every way by which it loses it, one by one.
#include <stdio.h>

#include "tests/unit/roce/pairing_bench.h"

// ---- ACK

static void the_only_flow_is_paired_at_the_third_match(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = data(&b, Q, 7);
	assert_reason(&b, id, "no answer seen");
	assert_int_equal(pairing_candidates(b.p, id), 0);
	ack(&b, SENDER, 7);
	assert_reason(&b, id, "answers are being matched");
	assert_int_equal(pairing_candidates(b.p, id), 1);
	ack(&b, SENDER, 7); // says nothing new
	ack(&b, SENDER, 7);
	talk(&b, Q, SENDER, 8, 1);
	assert_pair(&b, id, PAIR_NONE, 0);
	talk(&b, Q, SENDER, 9, 1);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	assert_int_equal(gauge_get(&pairing_counters(b.p)->n_paired), 1);
	assert_int_equal(count_of(&b, paired[PAIR_ACK]), 1);
	bench_close(&b);
}

static void as_many_matches_as_configured(void **state)
{
	(void)state;
	for (uint8_t k = 1; k <= 5; k++) {
		const struct pair_params params = {.matches = k};
		struct bench b;
		uint32_t id;

		bench_open(&b, 64, 0, 1);
		pairing_set_params(b.p, &params);
		id = data(&b, Q, 100);
		talk(&b, Q, SENDER, 101, k - 1u);
		assert_pair(&b, id, PAIR_NONE, 0);
		talk(&b, Q, SENDER, 100u + k, 1);
		assert_pair(&b, id, PAIR_ACK, SENDER);
		bench_close(&b);
	}
}

static void a_source_that_is_off_pairs_nobody(void **state)
{
	const struct pair_params params = {.sources = 1 << PAIR_CM | 1 << PAIR_STATIC};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	pairing_set_params(b.p, &params);
	id = talk(&b, Q, SENDER, 0, 20);
	assert_reason(&b, id, "what was seen is no source that may pair");
	pairing_set_params(b.p, &(const struct pair_params){.sources = 1 << PAIR_NONE});
	id = talk(&b, Q, SENDER, 20, 20);
	assert_reason(&b, id, "what was seen is no source that may pair");
	bench_close(&b);
}

static void an_acknowledged_psn_that_was_not_sent_rules_a_flow_out(void **state)
{
	struct bench b;
	uint32_t slow, fast;

	(void)state;
	bench_open(&b, 64, 0, 1);
	slow = data(&b, Q, 0);
	for (uint32_t psn = 0; psn < 10; psn++)
		fast = data(&b, OTHER_Q, psn);
	ack(&b, OTHER_SENDER, 0);
	assert_reason(&b, slow, "several candidates");
	assert_int_equal(pairing_candidates(b.p, slow), 1);
	for (uint32_t psn = 1; psn < 4; psn++)
		ack(&b, OTHER_SENDER, psn);
	assert_int_equal(pairing_candidates(b.p, slow), 0);
	assert_int_equal(count_of(&b, eliminations), 1);
	assert_pair(&b, fast, PAIR_ACK, OTHER_SENDER);
	// With the fast one gone there is only one left.
	talk(&b, Q, SENDER, 1, 3);
	assert_pair(&b, slow, PAIR_ACK, SENDER);
	bench_close(&b);
}

// A packet each millisecond.
static void an_answer_may_be_as_late_as_the_queue_is_long(void **state)
{
	static const struct {
		uint32_t late_ms, stay_ms; // of answers; of the latest frame in the queue
		uint32_t every; // packets to an ACK
		bool pairs;
	} t[] = {{0, 0, 40, true},     {5, 0, 40, true},     {60, 0, 40, false},
		 {60, 50, 40, true},   {400, 5, 40, false},  {400, 390, 40, true},
		 {900, 880, 40, true}, {2500, 2400, 600, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_ACK,
				   .stay_ns = t[i].stay_ms * (uint64_t)MS};
		struct bench b;
		uint32_t id = 0;

		print_message("%u ms late, %u ms in the queue\n", t[i].late_ms, t[i].stay_ms);
		bench_open(&b, 64, 0, 1);
		for (uint32_t psn = 0; psn < 6000; psn++) {
			id = data(&b, Q, psn);
			a.psn = psn - t[i].late_ms;
			if (psn >= t[i].late_ms && psn % t[i].every == 0)
				bench_answer(&b, &a);
			b.now_ns += MS;
		}
		if (t[i].pairs)
			assert_pair(&b, id, PAIR_ACK, SENDER);
		else
			assert_reason(&b, id, "answers do not follow its packets");
		bench_close(&b);
	}
}

static void flows_in_lock_step_stay_apart_for_ever(void **state)
{
	struct bench b;
	uint32_t one, two;

	(void)state;
	bench_open(&b, 64, 0, 1);
	for (uint32_t psn = 0; psn < 1000; psn++) {
		one = data(&b, Q, psn);
		two = data(&b, OTHER_Q, psn);
		ack(&b, SENDER, psn);
		ack(&b, OTHER_SENDER, psn);
	}
	assert_reason(&b, one, "several candidates");
	assert_reason(&b, two, "several candidates");
	assert_int_equal(pairing_candidates(b.p, one), 2);
	bench_close(&b);
}

static void psns_far_from_a_flows_first_rule_it_out(void **state)
{
	static const struct {
		int32_t from_first;
		bool out;
	} t[] = {{1, true}, {0, false}, {-100, false}, {-FLOW_JUMP, false}, {-FLOW_JUMP - 1, true},
		 {PSN_MASK / 2, true}, {-PSN_MASK / 2, true}};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench b;
		uint32_t psn = psn_add(5, (uint64_t)(int64_t)t[i].from_first);

		bench_open(&b, 64, 0, 1);
		data(&b, Q, 5);
		data(&b, OTHER_Q, psn);
		ack(&b, OTHER_SENDER, psn);
		print_message("%d\n", t[i].from_first);
		assert_int_equal(count_of(&b, eliminations), t[i].out);
		bench_close(&b);
	}
}

static void what_a_read_request_may_use_up_counts_as_sent(void **state)
{
	struct data d = {.from = A, .to = B, .qp = Q, .psn = 0, .kind = FLOW_READ_REQUESTS,
			 .n_psns = 16};
	struct bench b;

	(void)state;
	bench_open(&b, 64, 0, 1);
	bench_data(&b, &d);
	ack(&b, SENDER, 15);
	assert_int_equal(count_of(&b, eliminations), 0);
	ack(&b, SENDER, 16);
	assert_int_equal(count_of(&b, eliminations), 1);
	bench_close(&b);
}

// ---- loss of a pair

static void an_answer_beyond_what_was_sent_drops_the_pair(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 0, 5);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	ack(&b, SENDER, 5);
	assert_reason(&b, id, "its pair was dropped: a contradiction");
	assert_int_equal(count_of(&b, dropped_ack), 1);
	// And it is learnt again, of the queue pair that fits.
	talk(&b, Q, OTHER_SENDER, 5, 3);
	assert_pair(&b, id, PAIR_ACK, OTHER_SENDER);
	bench_close(&b);
}

static void old_answers_that_grow_are_of_another_life(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 100, 50);
	ack(&b, SENDER, 100); // late ones
	ack(&b, SENDER, 101);
	ack(&b, SENDER, 149);
	ack(&b, SENDER, 101);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	talk(&b, Q, SENDER, 150, 1);
	ack(&b, SENDER, 101);
	ack(&b, SENDER, 102);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	ack(&b, SENDER, 103);
	assert_pair(&b, id, PAIR_NONE, 0);
	assert_int_equal(count_of(&b, dropped_ack), 1);
	bench_close(&b);
}

static void psns_of_another_life_drop_the_pair(void **state)
{
	static const struct {
		const char *what;
		uint32_t sent, answered, psn; // PSNs from 100 up to sent and to answered; then psn
		bool drops;
	} t[] = {
		{"the next", 110, 110, 111, false},
		{"a gap with packets under way", 112, 110, 113 + 64, false},
		{"a large gap with packets under way", 112, 110, 113 + 65, true},
		{"a gap with nothing under way", 110, 110, 112, true},
		{"go-back-N", 115, 110, 111, false},
		{"back to what is acknowledged", 215, 210, 210, false},
		{"far back to what is acknowledged", 1240, 1230, 1241 - 1024, false},
		{"too far back", 1240, 1230, 1240 - 1024, true},
		{"back to its beginning", 115, 110, 100, true},
		{"back to near its beginning", 215, 210, 163, true},
		{"far ahead", 115, 110, 116 + FLOW_JUMP, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench b;
		uint32_t id;

		print_message("%s\n", t[i].what);
		bench_open(&b, 64, 0, 1);
		id = talk(&b, Q, SENDER, 100, t[i].answered - 99);
		for (uint32_t psn = t[i].answered + 1; psn <= t[i].sent; psn++)
			data(&b, Q, psn);
		data(&b, Q, t[i].psn);
		assert_pair(&b, id, t[i].drops ? PAIR_NONE : PAIR_ACK, SENDER);
		assert_int_equal(count_of(&b, dropped_jump), t[i].drops);
		bench_close(&b);
	}
}

// The ACK was lost behind the switch, or came too late for the timer of the sender.
static void a_retransmission_after_its_ack_leaves_the_pair_alone(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 0, 300);
	for (uint32_t turn = 0; turn < 100; turn++) {
		for (uint32_t psn = 172; psn < 300; psn++)
			assert_int_equal(data(&b, Q, psn), id);
		ack(&b, SENDER, 299);
		b.now_ns += MS;
	}
	assert_pair(&b, id, PAIR_ACK, SENDER);
	assert_int_equal(count_of(&b, dropped_jump) + count_of(&b, dropped_ack), 0);
	assert_int_equal(count_of(&b, paired[PAIR_ACK]), 1);
	bench_close(&b);
}

// The eliminations of the other flow hold all the while.
static void a_retransmission_of_a_flow_without_a_pair_is_no_other_life(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	data(&b, OTHER_Q, 5000000);
	for (uint32_t psn = 0; psn < 200; psn++)
		id = data(&b, Q, psn);
	for (uint32_t psn = 180; psn < 183; psn++) {
		ack(&b, SENDER, psn);
		data(&b, Q, 150);
	}
	assert_pair(&b, id, PAIR_ACK, SENDER);
	assert_int_equal(count_of(&b, eliminations), 1);
	bench_close(&b);
}

static void a_queue_pair_that_fits_no_other_flow_drops_the_pair(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 0, 5);
	for (uint32_t psn = 5; psn < 7; psn++) {
		data(&b, Q, psn);
		ack(&b, OTHER_SENDER, psn);
	}
	assert_pair(&b, id, PAIR_ACK, SENDER);
	data(&b, Q, 7);
	ack(&b, OTHER_SENDER, 7);
	assert_pair(&b, id, PAIR_NONE, 0);
	assert_int_equal(count_of(&b, dropped_rival), 1);
	bench_close(&b);
}

static void a_flow_that_ages_loses_its_pair(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	talk(&b, Q, SENDER, 0, 5);
	b.now_ns += 11 * MS;
	id = data(&b, Q, 5);
	assert_reason(&b, id, "no answer seen");
	assert_int_equal(count_of(&b, dropped_age), 1);
	assert_int_equal(gauge_get(&pairing_counters(b.p)->n_paired), 0);
	talk(&b, Q, SENDER, 6, 3);
	assert_pair(&b, id, PAIR_ACK, SENDER); // nothing of it was under way
	bench_close(&b);
}

// Both are closed and begin anew with the other's queue pair, each where it began before.
static void queue_pairs_may_be_used_anew_crosswise(void **state)
{
	struct bench b;
	uint32_t one, two;

	(void)state;
	bench_open(&b, 64, 0, 1);
	one = data(&b, Q, 0);
	two = talk(&b, OTHER_Q, OTHER_SENDER, 0, 20);
	one = talk(&b, Q, SENDER, 1, 10);
	assert_pair(&b, one, PAIR_ACK, SENDER);
	assert_pair(&b, two, PAIR_ACK, OTHER_SENDER);
	data(&b, Q, 0);
	assert_pair(&b, one, PAIR_NONE, 0);
	data(&b, OTHER_Q, 0);
	assert_pair(&b, two, PAIR_NONE, 0);
	talk(&b, Q, OTHER_SENDER, 1, 100);
	assert_pair(&b, one, PAIR_ACK, OTHER_SENDER);
	talk(&b, OTHER_Q, SENDER, 1, 100);
	assert_pair(&b, two, PAIR_ACK, SENDER);
	bench_close(&b);
}

// Unpaired, it begins anew where it began before: what others know of its former life is void.
static void another_life_of_an_unpaired_flow_is_a_candidate_again(void **state)
{
	struct bench b;
	uint32_t one, two;

	(void)state;
	bench_open(&b, 64, 0, 1);
	one = data(&b, Q, 0);
	for (uint32_t psn = 0; psn < 10; psn++)
		two = data(&b, OTHER_Q, psn);
	ack(&b, SENDER, 5); // of the other flow, by now
	assert_int_equal(count_of(&b, eliminations), 1);
	data(&b, Q, 0); // connected with SENDER from here on
	for (uint32_t psn = 10; psn < 13; psn++) {
		data(&b, OTHER_Q, psn);
		data(&b, Q, psn - 9);
	}
	// Both have sent these by now.
	for (uint32_t psn = 0; psn < 4; psn++)
		ack(&b, SENDER, psn);
	assert_pair(&b, one, PAIR_NONE, 0);
	assert_pair(&b, two, PAIR_NONE, 0);
	bench_close(&b);
}

// ---- completeness

static void answers_from_another_port_are_no_evidence(void **state)
{
	struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_ACK};
	struct bench b;
	uint32_t id = 0;

	(void)state;
	bench_open(&b, 64, 0, 1);
	for (a.psn = 0; a.psn < 20; a.psn++) {
		id = data(&b, Q, a.psn);
		a.from.port = 3;
		bench_answer(&b, &a);
	}
	assert_pair(&b, id, PAIR_NONE, 0);
	assert_int_equal(count_of(&b, wrong_port), 20);
	talk(&b, Q, SENDER, 20, 3);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	a.psn = 5000; // beyond what was sent
	bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	assert_int_equal(count_of(&b, wrong_port), 21);
	bench_close(&b);
}

static void answers_that_leave_by_another_port_than_data_came_in_by_are_no_evidence(void **state)
{
	struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_ACK};
	struct bench b;
	uint32_t id = 0;

	(void)state;
	bench_open(&b, 64, 0, 1);
	a.to.port = 4;
	for (a.psn = 0; a.psn < 20; a.psn++) {
		id = data(&b, Q, a.psn);
		bench_answer(&b, &a);
	}
	assert_reason(&b, id, "answers come from another port than it leaves by");
	bench_close(&b);
}

static void on_routed_ports_the_udp_source_port_must_tell(void **state)
{
	static const struct {
		const char *what;
		uint16_t data, answer; // 58766 is Linux's for 329 and 328
		bool pairs;
	} t[] = {
		{"both", 58766, 58766, true},
		{"constant 0", 0, 0, false},
		{"constant 49152", 49152, 49152, false},
		{"constant 4791", 4791, 4791, false},
		{"data only", 58766, 4791, false},
		{"answers only", 4791, 58766, false},
		{"by the flow label of CM", 62690, 62690, true},
		{"different flow labels", 62690, 62691, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct data d = {.from = A, .to = B, .qp = 329, .sport = t[i].data};
		struct answer a = {.from = B, .to = A, .qp = 328, .sport = t[i].answer,
				   .role = ROCE_ROLE_ACK, .routed = true};
		struct bench b;
		uint32_t id = 0;

		print_message("%s\n", t[i].what);
		bench_open(&b, 64, 0, 1);
		for (; d.psn < 10; d.psn++, a.psn++) {
			id = bench_data(&b, &d);
			bench_answer(&b, &a);
		}
		if (t[i].pairs)
			assert_pair(&b, id, PAIR_ACK, 328);
		else
			assert_reason(&b, id, "answers may go another way, and the UDP source "
					      "port does not tell");
		bench_close(&b);
	}
}

// By chance it is the one that Linux would give the flow and somebody else's queue pair, whose own
// flow goes another way. The flow's own answers give it away.
static void a_udp_source_port_that_all_have_tells_nothing(void **state)
{
	struct data d = {.from = A, .to = B, .qp = 329, .sport = 58766};
	struct answer own = {.from = B, .to = A, .qp = SENDER, .sport = 58766,
			     .role = ROCE_ROLE_ACK, .routed = true};
	struct answer other = own;
	struct bench b;
	uint32_t id = 0;

	(void)state;
	other.qp = 328;
	bench_open(&b, 64, 0, 1);
	for (; d.psn < 20; d.psn++, own.psn++, other.psn++) {
		id = bench_data(&b, &d);
		bench_answer(&b, &own);
		bench_answer(&b, &other);
	}
	assert_reason(&b, id, "answers may go another way, and the UDP source port does not tell");
	bench_close(&b);
}

// The NIC has one port for all. Answers of the other flow go another way.
static void a_udp_source_port_of_several_flows_tells_nothing(void **state)
{
	struct data d = {.from = A, .to = B, .qp = 329, .sport = 62690};
	struct answer a = {.from = B, .to = A, .qp = SENDER, .sport = 62690,
			   .role = ROCE_ROLE_ACK, .routed = true};
	struct data other = d;
	struct bench b;
	uint32_t id = 0;

	(void)state;
	other.qp = 330;
	other.psn = 5000000;
	bench_open(&b, 64, 0, 1);
	bench_data(&b, &other);
	for (; d.psn < 20; d.psn++, a.psn++) {
		id = bench_data(&b, &d);
		bench_answer(&b, &a);
	}
	assert_reason(&b, id, "answers may go another way, and the UDP source port does not tell");
	bench_close(&b);
}

static void a_refused_flow_blinds_its_addresses_until_it_would_have_aged(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 4, 10 * MS, 1);
	for (uint32_t qp = 100; qp < 103; qp++) {
		const struct data d = {.from = B, .to = A, .qp = qp};

		bench_data(&b, &d);
	}
	id = data(&b, Q, 0);
	assert_int_equal(data(&b, OTHER_Q, 0), FLOW_NONE);
	talk(&b, Q, SENDER, 1, 5);
	assert_reason(&b, id, "not all flows between the two hosts are known");
	b.now_ns += 9 * MS;
	talk(&b, Q, SENDER, 6, 1);
	assert_pair(&b, id, PAIR_NONE, 0);
	b.now_ns += 1 * MS;
	talk(&b, Q, SENDER, 7, 1);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	bench_close(&b);
}

static void more_flows_than_are_followed_blind_their_addresses(void **state)
{
	struct bench b;
	uint32_t id = 0;

	(void)state;
	bench_open(&b, 4096, 0, 1);
	for (uint32_t qp = 0; qp < PAIR_MAX_BETWEEN; qp++)
		id = data(&b, 1000 + qp, 0);
	assert_int_equal(count_of(&b, crowded), 0);
	id = data(&b, 5000, 0);
	assert_int_equal(count_of(&b, crowded), 1);
	assert_reason(&b, id, "too many flows between the two hosts");
	// One of the others moves on, alone.
	id = data(&b, 1000, 1);
	for (uint32_t psn = 2; psn < 2000; psn++)
		talk(&b, 1000, SENDER, psn, 1);
	assert_reason(&b, id, "too many flows between the two hosts");
	bench_close(&b);
}

static void any_number_of_flows_between_two_hosts_is_told_apart(void **state)
{
	static const uint32_t numbers[] = {1, 2, 7, 8, 9, 10, 63, 64, 65, 66, 130, 1023, 1024};

	(void)state;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint32_t n = numbers[i], ids[1024];
		struct bench b;

		bench_open(&b, 4096, 0, 1);
		for (uint32_t f = 0; f < n; f++)
			ids[f] = data(&b, 1000 + f, 0);
		// One after the other sends more than any before.
		for (uint32_t f = 0; f < n; f++) {
			for (uint32_t psn = 1; psn < 10 + n / 4; psn++) {
				data(&b, 1000 + f, psn);
				if (psn > 1)
					ack(&b, 5000 + f, psn);
			}
			assert_pair(&b, ids[f], PAIR_ACK, 5000 + f);
		}
		assert_int_equal(gauge_get(&pairing_counters(b.p)->n_paired), n);
		bench_close(&b);
	}
}

static void hosts_with_more_than_a_few_flows_share_the_memory_for_them(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 4096, 0, 1);
	for (uint32_t host = 0; host < 300; host++) {
		const struct end from = {.ip = 0x0b000000 + host, .port = 1};
		struct data d = {.from = from, .to = B};

		for (d.qp = 0; d.qp < 12; d.qp++)
			bench_data(&b, &d);
	}
	assert_int_equal(count_of(&b, crowded), 0);
	bench_close(&b);
}

static void answers_of_no_flow_blind_their_addresses(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	id = data(&b, Q, 0);
	ack(&b, OTHER_SENDER, 77); // of a flow that passes elsewhere
	talk(&b, Q, SENDER, 1, 5);
	assert_reason(&b, id, "not all flows between the two hosts are known");
	b.now_ns += 9 * MS;
	data(&b, Q, 6);
	b.now_ns += 2 * MS;
	talk(&b, Q, SENDER, 7, 3);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	bench_close(&b);
}

// ---- what floods cannot do

static void made_up_flows_and_answers_leave_pairs_alone(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 256, 0, 1);
	id = talk(&b, Q, SENDER, 0, 5);
	for (uint32_t i = 0; i < 20000; i++) {
		const struct end liar = {.ip = 0xac100000 + i, .port = 9};
		const struct data d = {.from = liar, .to = B, .qp = i, .psn = i};
		const struct answer a = {.from = B, .to = A, .qp = i, .psn = i,
					 .role = i % 3 ? ROCE_ROLE_ACK : ROCE_ROLE_READ_REQUEST};

		bench_data(&b, &d);
		if (i % 4096 != SENDER)
			bench_answer(&b, &a);
	}
	assert_pair(&b, id, PAIR_ACK, SENDER);
	assert_pair(&b, talk(&b, Q, SENDER, 5, 5), PAIR_ACK, SENDER);
	bench_close(&b);
}

static void tables_are_free_again_when_all_is_over(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	for (uint32_t turn = 0; turn < 50; turn++) {
		for (uint32_t i = 0; i < 64; i++) {
			const struct end from = {.ip = 0x0b000000 + turn * 64 + i, .port = 1};
			const struct data d = {.from = from, .to = B, .qp = i, .psn = 0};
			const struct answer a = {.from = B, .to = from, .qp = i, .psn = 0,
						 .role = ROCE_ROLE_ACK};

			bench_data(&b, &d);
			bench_answer(&b, &a);
		}
		b.now_ns += 21 * MS;
		for (unsigned n = 0; n < 20; n++)
			bench_age(&b);
	}
	assert_int_equal(gauge_get(&b.t.used), 0);
	id = talk(&b, Q, SENDER, 0, 5);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_only_flow_is_paired_at_the_third_match),
		cmocka_unit_test(as_many_matches_as_configured),
		cmocka_unit_test(a_source_that_is_off_pairs_nobody),
		cmocka_unit_test(an_acknowledged_psn_that_was_not_sent_rules_a_flow_out),
		cmocka_unit_test(an_answer_may_be_as_late_as_the_queue_is_long),
		cmocka_unit_test(flows_in_lock_step_stay_apart_for_ever),
		cmocka_unit_test(psns_far_from_a_flows_first_rule_it_out),
		cmocka_unit_test(what_a_read_request_may_use_up_counts_as_sent),
		cmocka_unit_test(an_answer_beyond_what_was_sent_drops_the_pair),
		cmocka_unit_test(old_answers_that_grow_are_of_another_life),
		cmocka_unit_test(psns_of_another_life_drop_the_pair),
		cmocka_unit_test(a_retransmission_after_its_ack_leaves_the_pair_alone),
		cmocka_unit_test(a_retransmission_of_a_flow_without_a_pair_is_no_other_life),
		cmocka_unit_test(a_queue_pair_that_fits_no_other_flow_drops_the_pair),
		cmocka_unit_test(a_flow_that_ages_loses_its_pair),
		cmocka_unit_test(queue_pairs_may_be_used_anew_crosswise),
		cmocka_unit_test(another_life_of_an_unpaired_flow_is_a_candidate_again),
		cmocka_unit_test(answers_from_another_port_are_no_evidence),
		cmocka_unit_test(
			answers_that_leave_by_another_port_than_data_came_in_by_are_no_evidence),
		cmocka_unit_test(on_routed_ports_the_udp_source_port_must_tell),
		cmocka_unit_test(a_udp_source_port_that_all_have_tells_nothing),
		cmocka_unit_test(a_udp_source_port_of_several_flows_tells_nothing),
		cmocka_unit_test(a_refused_flow_blinds_its_addresses_until_it_would_have_aged),
		cmocka_unit_test(more_flows_than_are_followed_blind_their_addresses),
		cmocka_unit_test(any_number_of_flows_between_two_hosts_is_told_apart),
		cmocka_unit_test(hosts_with_more_than_a_few_flows_share_the_memory_for_them),
		cmocka_unit_test(answers_of_no_flow_blind_their_addresses),
		cmocka_unit_test(made_up_flows_and_answers_leave_pairs_alone),
		cmocka_unit_test(tables_are_free_again_when_all_is_over),
	};

	return cmocka_run_group_tests_name("pairing", tests, NULL, NULL);
}
