// SPDX-License-Identifier: Apache-2.0
// Pairs that are told: by an operator, by connection management, by READ requests, by CNPs.
#include "dataplane/base/rng.h"
#include "tests/unit/roce/pairing_bench.h"

// ---- an operator

static void an_operators_word_holds_until_he_takes_it_back(void **state)
{
	const struct flow_key k = flow_key_v4(A.ip, B.ip, Q, KEY_FLOW);
	struct known_pair told = {.key = k, .qp = 0x99, .source = PAIR_STATIC};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	assert_true(pairing_order(b.p, &told, b.now_ns));
	id = data(&b, Q, 0);
	assert_pair(&b, id, PAIR_STATIC, 0x99);
	talk(&b, Q, SENDER, 1, 20);
	data(&b, Q, 5000000);
	ack(&b, 0x99, 7000000);
	assert_pair(&b, id, PAIR_STATIC, 0x99);
	told.qp = 0x98;
	assert_true(pairing_order(b.p, &told, b.now_ns));
	assert_pair(&b, id, PAIR_STATIC, 0x98);
	told.qp = FLOW_NONE;
	assert_true(pairing_order(b.p, &told, b.now_ns));
	assert_reason(&b, id, "an operator said to forget it");
	assert_int_equal(count_of(&b, dropped_static), 1);
	talk(&b, Q, SENDER, 5000001, 5);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	// Also of a flow that is there already, and over what was learnt.
	told.qp = 0x97;
	assert_true(pairing_order(b.p, &told, b.now_ns));
	assert_pair(&b, id, PAIR_STATIC, 0x97);
	bench_close(&b);
}

static void a_mistaken_operator_misleads_no_other_flow(void **state)
{
	struct known_pair told = {.key = flow_key_v4(A.ip, B.ip, Q, KEY_FLOW), .qp = 0x99,
				  .source = PAIR_STATIC};
	struct bench b;
	uint32_t other;

	(void)state;
	bench_open(&b, 64, 0, 1);
	pairing_order(b.p, &told, b.now_ns);
	// In truth Q's is SENDER. OTHER_Q has sent all that is acknowledged to it.
	other = data(&b, OTHER_Q, 0);
	for (uint32_t psn = 1; psn < 50; psn++)
		data(&b, OTHER_Q, psn);
	talk(&b, Q, SENDER, 0, 20);
	assert_pair(&b, other, PAIR_NONE, 0);
	bench_close(&b);
}

// ---- READ

static void read_request(struct bench *b, uint32_t qp, uint32_t psn, port_no_t port)
{
	struct answer a = {.from = B, .to = A, .qp = qp, .psn = psn,
			   .role = ROCE_ROLE_READ_REQUEST};

	a.from.port = port;
	bench_answer(b, &a);
}

static uint32_t response(struct bench *b, uint32_t qp, uint32_t psn, bool first)
{
	const struct data d = {.from = A, .to = B, .qp = qp, .psn = psn, .first = first,
			       .kind = FLOW_READ_RESPONSES};

	return bench_data(b, &d);
}

static void the_first_response_pairs_with_the_request_of_its_psn(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	read_request(&b, OTHER_SENDER, 500, B.port);
	read_request(&b, SENDER, 100, B.port);
	id = response(&b, Q, 100, true);
	assert_pair(&b, id, PAIR_READ, SENDER);
	response(&b, Q, 101, false);
	assert_pair(&b, response(&b, OTHER_Q, 500, true), PAIR_READ, OTHER_SENDER);
	bench_close(&b);
}

static void a_psn_that_several_asked_for_pairs_nobody(void **state)
{
	struct bench b;
	uint32_t one, two;

	(void)state;
	bench_open(&b, 64, 0, 1);
	read_request(&b, SENDER, 0, B.port);
	read_request(&b, OTHER_SENDER, 0, B.port);
	two = response(&b, OTHER_Q, 0, true);
	assert_pair(&b, two, PAIR_NONE, 0);
	one = response(&b, Q, 0, true);
	assert_pair(&b, one, PAIR_NONE, 0);
	// From here on they differ.
	read_request(&b, SENDER, 1, B.port);
	response(&b, Q, 1, true);
	assert_pair(&b, one, PAIR_READ, SENDER);
	read_request(&b, OTHER_SENDER, 1, B.port);
	response(&b, OTHER_Q, 1, true);
	assert_pair(&b, two, PAIR_READ, OTHER_SENDER);
	bench_close(&b);
}

static void requests_from_another_port_neither_pair_nor_confuse(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	read_request(&b, OTHER_SENDER, 100, 7);
	id = response(&b, Q, 100, true);
	assert_pair(&b, id, PAIR_NONE, 0);
	read_request(&b, OTHER_SENDER, 101, 7);
	read_request(&b, SENDER, 101, B.port);
	response(&b, Q, 101, true);
	assert_pair(&b, id, PAIR_READ, SENDER);
	bench_close(&b);
}

static void requests_that_were_forgotten_leave_reads_unpaired(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	response(&b, Q, 5, true);
	for (uint32_t psn = 0; psn < 5000; psn++)
		read_request(&b, OTHER_SENDER, 1000 + psn, B.port);
	read_request(&b, SENDER, 7, B.port); // there is no room for it
	assert_pair(&b, response(&b, Q, 1000, true), PAIR_NONE, 0);
	bench_close(&b);
}

// PSNs of responses tell nothing of a flow that has sent requests. So where the request for one is
// not known the queue pair may be another connection's.
static void a_response_that_nobody_knows_of_may_be_of_another_life(void **state)
{
	const struct roce_msg first = {.role = ROCE_ROLE_READ_RESPONSE, .first = true,
				       .dest_qp = Q, .psn = 7};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 0, 5);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	// As long as all requests are known there is another way.
	pairing_read_response(b.p, id, &first, b.now_ns);
	assert_pair(&b, id, PAIR_ACK, SENDER);
	for (uint32_t psn = 0; psn < 5000; psn++)
		read_request(&b, OTHER_SENDER, 1000 + psn, B.port);
	read_request(&b, OTHER_SENDER, 7, B.port); // there is no room for it
	pairing_read_response(b.p, id, &first, b.now_ns);
	assert_pair(&b, id, PAIR_NONE, 0);
	bench_close(&b);
}

// ---- CNP

static void a_cnp_pairs_the_only_flow_while_it_is_marked(void **state)
{
	struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_CNP};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = data(&b, Q, 0);
	for (unsigned i = 0; i < 5; i++)
		bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_NONE, 0);
	gauge_set(&b.t.flows[id].marked_ns, b.now_ns);
	b.now_ns += MS + 1;
	for (unsigned i = 0; i < 5; i++)
		bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_NONE, 0);
	gauge_set(&b.t.flows[id].marked_ns, b.now_ns);
	bench_answer(&b, &a);
	bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_NONE, 0);
	bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_CNP, SENDER);
	bench_close(&b);
}

static void a_cnp_rules_nobody_out(void **state)
{
	struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_CNP};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	data(&b, OTHER_Q, 0);
	id = data(&b, Q, 0);
	for (unsigned i = 0; i < 20; i++) {
		gauge_set(&b.t.flows[id].marked_ns, b.now_ns);
		bench_answer(&b, &a);
	}
	assert_pair(&b, id, PAIR_NONE, 0);
	assert_int_equal(count_of(&b, eliminations), 0);
	bench_close(&b);
}

static void a_cnp_may_be_for_a_datagram(void **state)
{
	struct answer a = {.from = B, .to = A, .qp = SENDER, .role = ROCE_ROLE_CNP};
	struct data d = {.from = A, .to = B, .qp = 99, .kind = FLOW_DATAGRAM};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	assert_reason(&b, bench_data(&b, &d), "datagrams have no pair");
	id = data(&b, Q, 0);
	for (unsigned i = 0; i < 20; i++) {
		gauge_set(&b.t.flows[id].marked_ns, b.now_ns);
		bench_answer(&b, &a);
	}
	assert_pair(&b, id, PAIR_NONE, 0);
	bench_close(&b);
}

// ---- connection management

static struct cm_msg req(uint32_t id, uint32_t qpn, uint32_t psn)
{
	return (struct cm_msg){.attr = CM_REQ, .local_id = id, .qpn = qpn, .psn = psn, .mtu = 1024};
}

static struct cm_msg rep(uint32_t id, uint32_t remote_id, uint32_t qpn, uint32_t psn)
{
	return (struct cm_msg){.attr = CM_REP, .local_id = id, .remote_id = remote_id, .qpn = qpn,
			       .psn = psn};
}

// A asks, B agrees. B states the PSN with which A begins, and A states 7 for B.
static void connect_by_cm(struct bench *b, uint32_t id, uint32_t sender, uint32_t qp, uint32_t psn)
{
	const struct cm_msg q = req(id, sender, 7), p = rep(id + 1000, id, qp, psn);

	bench_cm(b, A, B, &q);
	bench_cm(b, B, A, &p);
}

// InfiniBand Architecture volume 1, 12.6.5 and 12.6.8, with fields in the places of tables 99 and
// 103. Each field is 4 bytes, from the first byte of the MAD.
static void put_field(uint8_t *mad, unsigned at, uint32_t v)
{
	be32_put(mad + at, v);
}

static void bytes_of_management(uint8_t mad[CM_MAD_LEN], uint32_t attribute, uint32_t local_id,
				uint32_t remote_id)
{
	memset(mad, 0, CM_MAD_LEN);
	put_field(mad, 0, 0x01070203); // base version, class, class version, method Send
	put_field(mad, 16, attribute << 16);
	put_field(mad, 24, local_id);
	put_field(mad, 28, remote_id);
}

// Starting PSN: "the transport PSN at which the remote node should begin transmitting".
static void a_side_states_the_psn_with_which_the_other_side_starts(void **state)
{
	const struct data back = {.from = B, .to = A, .qp = 0xa1a1a1, .psn = 0x46e392};
	const struct data responses = {.from = A, .to = B, .qp = 0xb2b2b2, .psn = 0x46e392,
				       .first = true, .kind = FLOW_READ_RESPONSES};
	struct answer req = {.from = A, .to = B, .role = ROCE_ROLE_MANAGEMENT};
	struct answer rep = {.from = B, .to = A, .role = ROCE_ROLE_MANAGEMENT};
	struct answer rtu = {.from = A, .to = B, .role = ROCE_ROLE_MANAGEMENT};

	(void)state;
	bytes_of_management(req.mad, 0x0010, 0x588824fb, 0);
	put_field(req.mad, 56, 0xa1a1a1u << 8 | 16); // local QPN, responder resources
	put_field(req.mad, 68, 0x46e392 << 8 | 20 << 3 | 7); // Starting PSN, timeout, retries
	bytes_of_management(rep.mad, 0x0013, 0xfe528470, 0x588824fb);
	put_field(rep.mad, 36, 0xb2b2b2u << 8);
	put_field(rep.mad, 44, 0xee7e82u << 8);
	bytes_of_management(rtu.mad, 0x0014, 0x588824fb, 0xfe528470);
	for (unsigned reads = 0; reads < 2; reads++) {
		struct bench b;

		bench_open(&b, 64, 0, 1);
		bench_answer(&b, &req);
		bench_answer(&b, &rep);
		bench_answer(&b, &rtu);
		assert_pair(&b, reads ? bench_data(&b, &responses) : data(&b, 0xb2b2b2, 0xee7e82),
			    PAIR_CM, 0xa1a1a1);
		assert_pair(&b, bench_data(&b, &back), PAIR_CM, 0xb2b2b2);
		assert_int_equal(count_of(&b, cm_refused), 0);
		bench_close(&b);
	}
}

static void cm_pairs_both_directions_at_the_first_packet(void **state)
{
	const struct data back = {.from = B, .to = A, .qp = SENDER, .psn = 7};
	struct bench b;

	(void)state;
	bench_open(&b, 64, 0, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	assert_pair(&b, data(&b, Q, 500), PAIR_CM, SENDER);
	assert_pair(&b, bench_data(&b, &back), PAIR_CM, Q);
	assert_pair(&b, talk(&b, Q, SENDER, 501, 50), PAIR_CM, SENDER);
	bench_close(&b);
}

// Each side of a connection may take its own from its flow label.
static void cm_pairs_whatever_the_udp_source_ports_are(void **state)
{
	const struct data there = {.from = A, .to = B, .qp = Q, .psn = 500, .sport = 62690};
	const struct data back = {.from = B, .to = A, .qp = SENDER, .psn = 7, .sport = 62691};
	struct answer a = {.from = B, .to = A, .qp = SENDER, .psn = 500, .sport = 62691,
			   .role = ROCE_ROLE_ACK, .routed = true};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	id = bench_data(&b, &there);
	bench_answer(&b, &a);
	assert_pair(&b, id, PAIR_CM, SENDER);
	assert_pair(&b, bench_data(&b, &back), PAIR_CM, Q);
	bench_close(&b);
}

static void messages_may_come_twice_late_or_of_any_implementation(void **state)
{
	const struct cm_msg q = req(1, SENDER, 7), p = rep(1001, 1, Q, 500);
	const struct cm_msg rtu = {.attr = CM_RTU, .local_id = 1, .remote_id = 1001};
	struct answer foreign = {.from = B, .to = A, .role = ROCE_ROLE_MANAGEMENT};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	cm_build(foreign.mad, &p);
	memset(foreign.mad + 60, 0xa5, CM_MAD_LEN - 60); // private data that says nothing to us
	bench_answer(&b, &foreign);
	bench_cm(&b, A, B, &q);
	bench_cm(&b, A, B, &q);
	bench_answer(&b, &foreign);
	bench_cm(&b, A, B, &rtu);
	id = data(&b, Q, 500);
	assert_pair(&b, id, PAIR_CM, SENDER);
	bench_answer(&b, &foreign);
	bench_cm(&b, A, B, &q);
	assert_pair(&b, id, PAIR_CM, SENDER);
	assert_int_equal(count_of(&b, cm_refused), 0);
	assert_int_equal(count_of(&b, paired[PAIR_CM]), 1);
	assert_int_equal(count_of(&b, cm_seen), 7);
	bench_close(&b);
}

static void flows_that_need_no_pair_are_not_counted_as_unpaired(void **state)
{
	static const struct {
		uint8_t kind;
		bool needs;
		const char *reason;
	} t[] = {{FLOW_DATA, true, "no answer seen"},
		 {FLOW_READ_RESPONSES, true, "no answer seen"},
		 {FLOW_READ_REQUESTS, false, "READ requests are too small to congest a queue"},
		 {FLOW_DATAGRAM, false, "datagrams have no pair"},
		 {FLOW_UNRELIABLE, false,
		  "UC has no ACKs: only cm or static can name its pair"}};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct data d = {.from = A, .to = B, .qp = Q, .psn = 500, .kind = t[i].kind};
		const struct pairing_counters *c;
		struct bench b;

		bench_open(&b, 64, 10 * MS, 1);
		c = pairing_counters(b.p);
		assert_reason(&b, bench_data(&b, &d), t[i].reason);
		assert_int_equal(gauge_get(&c->n_unpaired), t[i].needs);
		// All but datagrams may be paired, and lose the pair again.
		connect_by_cm(&b, 1, SENDER, Q, 500);
		assert_int_equal(gauge_get(&c->n_paired), t[i].kind != FLOW_DATAGRAM);
		assert_int_equal(gauge_get(&c->n_unpaired), 0);
		connect_by_cm(&b, 2, OTHER_SENDER, OTHER_Q, 1);
		bench_cm(&b, A, B,
			 &(const struct cm_msg){.attr = CM_DREQ, .local_id = 1, .remote_id = 1001,
						.qpn = Q});
		assert_int_equal(gauge_get(&c->n_paired), 0);
		assert_int_equal(gauge_get(&c->n_unpaired), t[i].needs);
		b.now_ns += 20 * MS;
		bench_age(&b);
		assert_int_equal(gauge_get(&c->n_unpaired), 0);
		bench_close(&b);
	}
}

// An unreliable flow would never be ruled out by an ACK, so it must not be a candidate.
static void an_unreliable_flow_keeps_nobody_from_a_pair(void **state)
{
	const struct data d = {.from = A, .to = B, .qp = OTHER_Q, .kind = FLOW_UNRELIABLE};
	struct bench b;

	(void)state;
	bench_open(&b, 64, 0, 1);
	bench_data(&b, &d);
	assert_pair(&b, talk(&b, Q, SENDER, 0, 5), PAIR_ACK, SENDER);
	bench_close(&b);
}

static void a_second_connection_replaces_the_first(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	id = talk(&b, Q, SENDER, 500, 5);
	connect_by_cm(&b, 2, OTHER_SENDER, Q, 9000000);
	assert_pair(&b, id, PAIR_CM, OTHER_SENDER);
	data(&b, Q, 9000000);
	assert_pair(&b, id, PAIR_CM, OTHER_SENDER);
	assert_pair(&b, talk(&b, Q, OTHER_SENDER, 9000001, 5), PAIR_CM, OTHER_SENDER);
	// SENDER is somebody else's now.
	connect_by_cm(&b, 3, SENDER, OTHER_Q, 0);
	assert_pair(&b, data(&b, OTHER_Q, 0), PAIR_CM, SENDER);
	bench_close(&b);
}

// The rest of the second connection is lost, or there is no room for it.
static void a_new_connection_of_a_queue_pair_ends_what_was_known_of_it(void **state)
{
	const struct cm_msg p = rep(2002, 2, Q, 7);
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	id = talk(&b, Q, SENDER, 500, 5);
	bench_cm(&b, B, A, &p);
	assert_pair(&b, id, PAIR_NONE, 0);
	b.now_ns += 11 * MS;
	assert_pair(&b, data(&b, Q, 505), PAIR_NONE, 0);
	bench_close(&b);
}

static void the_end_of_a_connection_ends_its_pairs(void **state)
{
	static const struct {
		const char *what;
		bool by_b;
		uint32_t local_id, remote_id;
		uint16_t attr;
		port_no_t port;
		bool ends;
	} t[] = {
		{"DREQ of A", false, 1, 1001, CM_DREQ, 1, true},
		{"DREQ of B", true, 1001, 1, CM_DREQ, 2, true},
		{"DREP of B", true, 1001, 1, CM_DREP, 2, true},
		{"REJ of A", false, 1, 1001, CM_REJ, 1, true},
		{"DREQ from another port", false, 1, 1001, CM_DREQ, 7, false},
		{"RTU", false, 1, 1001, CM_RTU, 1, false},
		{"DREQ of nobody's ids", false, 55, 66, CM_DREQ, 7, false},
		{"DREQ whose beginning was not seen", false, 55, 66, CM_DREQ, 1, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct cm_msg m = {.attr = t[i].attr, .local_id = t[i].local_id,
					 .remote_id = t[i].remote_id,
					 .qpn = t[i].by_b ? SENDER : Q};
		struct end from = t[i].by_b ? B : A;
		struct bench b;
		uint32_t id;

		print_message("%s\n", t[i].what);
		bench_open(&b, 64, 0, 1);
		connect_by_cm(&b, 1, SENDER, Q, 500);
		id = data(&b, Q, 500);
		from.port = t[i].port;
		bench_cm(&b, from, t[i].by_b ? A : B, &m);
		assert_pair(&b, id, t[i].ends ? PAIR_NONE : PAIR_CM, SENDER);
		assert_int_equal(count_of(&b, dropped_dreq), t[i].ends);
		bench_close(&b);
	}
}

static void dreq_drops_what_was_learnt_otherwise(void **state)
{
	const struct cm_msg m = {.attr = CM_DREQ, .local_id = 5, .remote_id = 6, .qpn = Q};
	struct bench b;
	uint32_t id;

	(void)state;
	bench_open(&b, 64, 0, 1);
	id = talk(&b, Q, SENDER, 0, 5);
	bench_cm(&b, A, B, &m);
	assert_reason(&b, id, "its connection was closed");
	assert_int_equal(count_of(&b, dropped_dreq), 1);
	bench_close(&b);
}

static void messages_from_elsewhere_pair_nobody(void **state)
{
	static const struct {
		const char *what;
		uint8_t req_port, rep_port;
		bool first; // before the true ones
	} t[] = {
		{"both, first", 7, 7, true},   {"both, later", 7, 7, false},
		{"REP, first", 1, 7, true},    {"REP, later", 1, 7, false},
		{"REQ, first", 7, 2, true},    {"REQ, later", 7, 2, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct cm_msg q = req(9, 0x66, 7), p = rep(10, 9, Q, 500);
		const struct end from = {.ip = A.ip, .port = t[i].req_port};
		const struct end to = {.ip = B.ip, .port = t[i].rep_port};
		struct bench b;
		uint32_t id;

		print_message("%s\n", t[i].what);
		bench_open(&b, 64, 0, 1);
		if (!t[i].first)
			connect_by_cm(&b, 1, SENDER, Q, 500);
		bench_cm(&b, from, B, &q);
		bench_cm(&b, to, A, &p);
		id = data(&b, Q, 500);
		assert_pair(&b, id, t[i].first ? PAIR_NONE : PAIR_CM, SENDER);
		bench_cm(&b, from, B, &q);
		bench_cm(&b, to, A, &p);
		assert_pair(&b, id, t[i].first ? PAIR_NONE : PAIR_CM, SENDER);
		assert_true(count_of(&b, cm_refused) > 0);
		talk(&b, Q, SENDER, 501, 5);
		assert_int_equal(bench_pair(&b, id).qp, SENDER);
		bench_close(&b);
	}
}

static void what_cm_told_outlives_the_flow_for_a_while(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	talk(&b, Q, SENDER, 500, 5);
	b.now_ns += 11 * MS;
	assert_pair(&b, data(&b, Q, 505), PAIR_CM, SENDER);
	b.now_ns += 11 * MS;
	// Another life, of which nothing was heard.
	assert_pair(&b, data(&b, Q, 9000000), PAIR_NONE, 0);
	b.now_ns += 31000ull * MS;
	for (unsigned i = 0; i < 200; i++)
		ack(&b, SENDER, 9000000);
	assert_pair(&b, data(&b, Q, 505), PAIR_NONE, 0);
	bench_close(&b);
}

static void only_the_connection_that_cm_told_of_goes_on(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 64, 10 * MS, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	talk(&b, Q, SENDER, 500, 5);
	b.now_ns += 11 * MS;
	// Begins where that one began, but nobody announced it.
	assert_pair(&b, data(&b, Q, 500), PAIR_NONE, 0);
	bench_close(&b);
	bench_open(&b, 64, 10 * MS, 1);
	connect_by_cm(&b, 1, SENDER, Q, 500);
	talk(&b, Q, SENDER, 500, 5);
	assert_pair(&b, data(&b, Q, 500), PAIR_NONE, 0);
	assert_int_equal(count_of(&b, dropped_jump), 1);
	bench_close(&b);
}

// From a REQ or REP that ends before the Starting PSN does nothing is read.
static void cut_messages_pair_nobody(void **state)
{
	const struct cm_msg q = req(1, SENDER, 7), p = rep(1001, 1, Q, 500);
	struct answer first = {.from = A, .to = B, .role = ROCE_ROLE_MANAGEMENT};
	struct answer second = {.from = B, .to = A, .role = ROCE_ROLE_MANAGEMENT};

	(void)state;
	cm_build(first.mad, &q);
	cm_build(second.mad, &p);
	for (uint32_t len = 1; len <= CM_MAD_LEN; len++) {
		for (unsigned which = 0; which < 2; which++) {
			struct bench b;

			first.mad_len = which == 0 ? len : CM_MAD_LEN;
			second.mad_len = which == 1 ? len : CM_MAD_LEN;
			bench_open(&b, 64, 0, 1);
			bench_answer(&b, &first);
			bench_answer(&b, &second);
			assert_pair(&b, data(&b, Q, 500), len < 72 ? PAIR_NONE : PAIR_CM, SENDER);
			assert_int_equal(count_of(&b, cm_seen), len < 72 ? 1 : 2);
			bench_close(&b);
		}
	}
}

// The first packet is not where the message says: the pair is not believed, and that is counted.
static void a_turned_psn_pairs_nobody(void **state)
{
	static const uint32_t starts[] = {0xf40100, 0x1f4 - 1, 0x1f4 + 64, 7, 0x8001f4};

	(void)state;
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct bench b;

		bench_open(&b, 64, 0, 1);
		connect_by_cm(&b, 1, SENDER, Q, 0x1f4);
		assert_pair(&b, data(&b, Q, starts[i]), PAIR_NONE, 0);
		assert_int_equal(count_of(&b, cm_refused), 1);
		bench_close(&b);
	}
}

// Right heads, random bytes behind them: no queue pair of a flow is among 2^24 by chance.
static void random_messages_pair_nobody(void **state)
{
	static const uint16_t attrs[] = {CM_REQ, CM_REP, CM_RTU, CM_DREQ, CM_DREP, CM_REJ, 0x11, 0};
	struct rng rng;
	struct bench b;
	uint32_t id;

	(void)state;
	rng_init(&rng, 1);
	bench_open(&b, 64, 0, 1);
	id = data(&b, Q, 500);
	for (unsigned i = 0; i < 100000; i++) {
		struct answer a = {.from = i % 2 ? A : B, .to = i % 2 ? B : A,
				   .role = ROCE_ROLE_MANAGEMENT,
				   .mad_len = 1 + rng_next(&rng) % CM_MAD_LEN};
		const struct cm_msg m = {.attr = attrs[rng_next(&rng) % 8]};

		cm_build(a.mad, &m);
		for (unsigned at = 24; at < CM_MAD_LEN; at++)
			a.mad[at] = (uint8_t)rng_next(&rng);
		// Communication ids that meet.
		be32_put(a.mad + 24, rng_next(&rng) % 4);
		be32_put(a.mad + 28, rng_next(&rng) % 4);
		bench_answer(&b, &a);
	}
	assert_pair(&b, id, PAIR_NONE, 0);
	assert_true(count_of(&b, cm_seen) > 10000);
	assert_pair(&b, talk(&b, Q, SENDER, 501, 5), PAIR_ACK, SENDER);
	bench_close(&b);
}

static void short_or_strange_messages_are_not_read(void **state)
{
	struct cm_msg m;
	uint8_t mad[CM_MAD_LEN];
	const struct cm_msg q = req(1, SENDER, 500);

	(void)state;
	cm_build(mad, &q);
	for (uint32_t len = 0; len <= CM_MAD_LEN; len++)
		assert_int_equal(cm_read(mad, len, &m), len >= CM_READ_LEN);
	assert_int_equal(m.qpn, SENDER);
	assert_int_equal(m.psn, 500);
	for (unsigned at = 0; at < 4; at++) {
		mad[at] ^= 0x40;
		assert_false(cm_read(mad, sizeof(mad), &m));
		mad[at] ^= 0x40;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cnp_pairs_the_only_flow_while_it_is_marked),
		cmocka_unit_test(a_cnp_rules_nobody_out),
		cmocka_unit_test(a_cnp_may_be_for_a_datagram),
		cmocka_unit_test(an_operators_word_holds_until_he_takes_it_back),
		cmocka_unit_test(a_mistaken_operator_misleads_no_other_flow),
		cmocka_unit_test(the_first_response_pairs_with_the_request_of_its_psn),
		cmocka_unit_test(a_psn_that_several_asked_for_pairs_nobody),
		cmocka_unit_test(requests_from_another_port_neither_pair_nor_confuse),
		cmocka_unit_test(a_side_states_the_psn_with_which_the_other_side_starts),
		cmocka_unit_test(cm_pairs_both_directions_at_the_first_packet),
		cmocka_unit_test(cm_pairs_whatever_the_udp_source_ports_are),
		cmocka_unit_test(messages_may_come_twice_late_or_of_any_implementation),
		cmocka_unit_test(flows_that_need_no_pair_are_not_counted_as_unpaired),
		cmocka_unit_test(an_unreliable_flow_keeps_nobody_from_a_pair),
		cmocka_unit_test(cut_messages_pair_nobody),
		cmocka_unit_test(a_turned_psn_pairs_nobody),
		cmocka_unit_test(random_messages_pair_nobody),
		cmocka_unit_test(a_second_connection_replaces_the_first),
		cmocka_unit_test(a_new_connection_of_a_queue_pair_ends_what_was_known_of_it),
		cmocka_unit_test(the_end_of_a_connection_ends_its_pairs),
		cmocka_unit_test(dreq_drops_what_was_learnt_otherwise),
		cmocka_unit_test(messages_from_elsewhere_pair_nobody),
		cmocka_unit_test(what_cm_told_outlives_the_flow_for_a_while),
		cmocka_unit_test(requests_that_were_forgotten_leave_reads_unpaired),
		cmocka_unit_test(a_response_that_nobody_knows_of_may_be_of_another_life),
		cmocka_unit_test(only_the_connection_that_cm_told_of_goes_on),
		cmocka_unit_test(short_or_strange_messages_are_not_read),
	};

	return cmocka_run_group_tests_name("pairing_told", tests, NULL, NULL);
}
