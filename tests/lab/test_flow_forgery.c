// SPDX-License-Identifier: Apache-2.0
// Frames that are not what they say, or come by a way that nobody expected, and a whole switch
// that must not believe them: no flow gets a queue pair that was never its own, and nobody else
// moves it.
//
// A (port 0) sends to B (port 1); C (port 2) lies.
#include <string.h>

#include "dataplane/packet/wire.h"
#include "tests/lab/ipcc_bench.h"

enum { A, B, C, Q1 = 11, Q2, Q3, SENDER1 = 21, SENDER2, SENDER3, NOBODY = 0x99,
       US = 1000 };

// Sent by one port as if from another. MAC addresses: the last byte, 0: the true one.
struct lie {
	unsigned by;
	uint8_t src_mac, dst_mac;
};

static void send_as(struct bench *b, struct ipcc_data d, const struct lie *lie)
{
	uint8_t frame[IPCC_MAX_LEN];
	uint16_t len;

	d.len = d.len != 0 ? d.len : 100;
	d.sport = 49152;
	len = ipcc_build(frame, &d);
	if (lie->src_mac != 0)
		frame[11] = lie->src_mac;
	if (lie->dst_mac != 0)
		frame[5] = lie->dst_mac;
	bench_send_raw(b, lie->by, frame, len);
	bench_run(b, 3 * US);
}

static void data(struct bench *b, uint32_t qp, uint32_t psn)
{
	send_as(b, (struct ipcc_data){.from = A, .to = B, .qp = qp, .psn = psn,
				      .opcode = RC_SEND_MIDDLE}, &(struct lie){.by = A});
}

static void ack(struct bench *b, uint32_t qp, uint32_t psn)
{
	send_as(b, (struct ipcc_data){.from = B, .to = A, .qp = qp, .psn = psn, .opcode = RC_ACK},
		&(struct lie){.by = B});
}

// Everybody has been heard, and is where he was learnt.
static struct bench *open_world(void)
{
	struct bench *b = bench_open("switch: {name: sw, flows: {max: 64}}\n"
				     "ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", "
				     "speed: 10G, mtu: 1500}\n", 0);

	for (unsigned from = A; from <= C; from++)
		send_as(b, (struct ipcc_data){.from = from, .to = (from + 1) % 3, .qp = 1,
					      .opcode = RC_ACK}, &(struct lie){.by = from});
	bench_control(b);
	return b;
}

struct wanted {
	uint32_t qp;
	unsigned from;
	struct flow_row row;
};

static bool pick(void *arg, const struct flow_row *row)
{
	struct wanted *w = arg;

	if (flow_key_qp(&row->key) != w->qp ||
	    row->key.w[0] >> 32 != 0x0a000002u + ((w->from + 1) << 8))
		return true;
	w->row = *row;
	return false;
}

static struct flow_row row_from(struct bench *b, unsigned from, uint32_t qp)
{
	struct wanted w = {.qp = qp, .from = from};

	switch_flows_walk(b->sw, b->clock.now_ns, true, pick, &w);
	assert_int_not_equal(w.row.packets, 0);
	return w.row;
}

static void assert_pair_of(struct bench *b, uint32_t qp, enum pair_source source, uint32_t sender)
{
	const struct flow_row row = row_from(b, A, qp);

	assert_int_equal(row.pair.source, source);
	assert_int_equal(row.pair.qp, sender);
}

static void talk(struct bench *b, uint32_t qp, uint32_t sender, uint32_t psn, unsigned n)
{
	for (; n != 0; n--, psn++) {
		data(b, qp, psn);
		ack(b, sender, psn);
	}
}

// ---- data

// One frame in A's name, far from the flow's PSNs, to a station that nobody knows: by it the flow
// would seem never to have sent what is acknowledged next.
static void data_by_another_port_rules_no_flow_out(void **state)
{
	struct bench *b = open_world();

	(void)state;
	for (uint32_t psn = 0; psn < 6; psn++) {
		data(b, Q1, psn);
		data(b, Q2, psn);
	}
	send_as(b, (struct ipcc_data){.from = A, .to = B, .qp = Q2, .psn = 0x800000,
				      .opcode = RC_SEND_MIDDLE},
		&(struct lie){.by = C, .src_mac = C + 1, .dst_mac = NOBODY});
	for (uint32_t psn = 1; psn < 6; psn++)
		ack(b, SENDER2, psn);
	assert_pair_of(b, Q1, PAIR_NONE, 0);
	assert_pair_of(b, Q2, PAIR_NONE, 0);
	bench_close(b);
}

static void a_flow_stays_with_its_port_and_its_pair(void **state)
{
	static const uint8_t opcodes[] = {RC_SEND_MIDDLE, UD_SEND_ONLY, RC_READ_RESPONSE_FIRST};

	(void)state;
	for (unsigned i = 0; i < sizeof(opcodes); i++) {
		struct bench *b = open_world();

		talk(b, Q1, SENDER1, 0, 5);
		assert_pair_of(b, Q1, PAIR_ACK, SENDER1);
		for (uint32_t psn = 5; psn < 8; psn++)
			send_as(b, (struct ipcc_data){.from = A, .to = B, .qp = Q1, .psn = psn,
						      .opcode = opcodes[i]},
				&(struct lie){.by = C, .src_mac = C + 1});
		assert_pair_of(b, Q1, PAIR_ACK, SENDER1);
		assert_int_equal(row_from(b, A, Q1).way.in_port, A);
		assert_int_equal(row_from(b, A, Q1).packets, 5);
		talk(b, Q1, SENDER1, 5, 5);
		assert_pair_of(b, Q1, PAIR_ACK, SENDER1);
		bench_close(b);
	}
}

// Its old port has been silent for a while: it begins anew, and is paired again when all that was
// sent before is out of the way.
static void a_sender_that_moved_begins_anew(void **state)
{
	struct bench *b = open_world();

	(void)state;
	talk(b, Q1, SENDER1, 0, 5);
	bench_run(b, 20000 * US);
	for (uint32_t psn = 5; psn < 10; psn++) {
		send_as(b, (struct ipcc_data){.from = A, .to = B, .qp = Q1, .psn = psn,
					      .opcode = RC_SEND_MIDDLE}, &(struct lie){.by = C});
		ack(b, SENDER1, psn);
	}
	assert_int_equal(row_from(b, A, Q1).way.in_port, C);
	assert_pair_of(b, Q1, PAIR_NONE, 0);
	bench_close(b);
}

// ---- answers

// C says that it is B's station, and so A's frames, and the answers, are C's for a moment.
static void who_takes_the_receivers_place_pairs_nobody(void **state)
{
	struct bench *b = open_world();

	(void)state;
	for (uint32_t psn = 0; psn < 3; psn++)
		data(b, Q1, psn);
	send_as(b, (struct ipcc_data){.from = C, .to = A, .qp = 1, .opcode = RC_ACK},
		&(struct lie){.by = C, .src_mac = B + 1});
	bench_control(b);
	for (uint32_t psn = 3; psn < 9; psn++) {
		data(b, Q1, psn);
		send_as(b, (struct ipcc_data){.from = B, .to = A, .qp = SENDER3, .psn = psn,
					      .opcode = RC_ACK}, &(struct lie){.by = C});
	}
	assert_int_equal(row_from(b, A, Q1).way.out_port, C);
	assert_pair_of(b, Q1, PAIR_NONE, 0);
	bench_close(b);
}

// What he says was acknowledged rules a flow out, until the receiver is back.
static void what_was_said_in_the_receivers_place_is_forgotten(void **state)
{
	struct bench *b = open_world();
	uint32_t psn = 0;

	(void)state;
	for (; psn < 3; psn++) {
		data(b, Q1, psn);
		data(b, Q2, psn);
	}
	send_as(b, (struct ipcc_data){.from = C, .to = A, .qp = 1, .opcode = RC_ACK},
		&(struct lie){.by = C, .src_mac = B + 1});
	bench_control(b);
	data(b, Q1, psn);
	// More than Q1 has sent: the queue pair that it has would not be its own.
	send_as(b, (struct ipcc_data){.from = B, .to = A, .qp = SENDER1, .psn = 10,
				      .opcode = RC_ACK}, &(struct lie){.by = C});
	send_as(b, (struct ipcc_data){.from = B, .to = A, .qp = 1, .opcode = RC_ACK},
		&(struct lie){.by = B});
	bench_control(b);
	data(b, Q2, psn);
	for (psn++; psn < 30; psn++) {
		data(b, Q1, psn);
		data(b, Q2, psn);
		if (psn > 10)
			ack(b, SENDER1, psn);
		bench_run(b, 200000 * US);
	}
	assert_pair_of(b, Q2, PAIR_NONE, 0);
	bench_close(b);
}

// ---- READ

static void ask(struct bench *b, uint32_t qp, uint32_t psn, uint8_t station)
{
	send_as(b, (struct ipcc_data){.from = B, .to = A, .qp = qp, .psn = psn,
				      .opcode = RC_READ_REQUEST},
		&(struct lie){.by = B, .dst_mac = station});
}

static void respond(struct bench *b, uint32_t qp)
{
	send_as(b, (struct ipcc_data){.from = A, .to = B, .qp = qp,
				      .opcode = RC_READ_RESPONSE_FIRST}, &(struct lie){.by = A});
}

// Two ask for the same PSN; the second request is flooded, and answered first.
static void a_flooded_request_is_heard(void **state)
{
	struct bench *b = open_world();

	(void)state;
	ask(b, SENDER1, 0, 0);
	ask(b, SENDER2, 0, NOBODY);
	respond(b, Q2);
	assert_pair_of(b, Q2, PAIR_NONE, 0);
	bench_close(b);
}

static void a_request_and_its_response_pair(void **state)
{
	struct bench *b = open_world();

	(void)state;
	ask(b, SENDER1, 0, 0);
	respond(b, Q1);
	assert_pair_of(b, Q1, PAIR_READ, SENDER1);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_by_another_port_rules_no_flow_out),
		cmocka_unit_test(a_flow_stays_with_its_port_and_its_pair),
		cmocka_unit_test(a_sender_that_moved_begins_anew),
		cmocka_unit_test(who_takes_the_receivers_place_pairs_nobody),
		cmocka_unit_test(what_was_said_in_the_receivers_place_is_forgotten),
		cmocka_unit_test(a_request_and_its_response_pair),
		cmocka_unit_test(a_flooded_request_is_heard),
	};

	return cmocka_run_group_tests_name("flow_forgery", tests, bench_eal, NULL);
}
