// SPDX-License-Identifier: Apache-2.0
// What a host does badly, decision by decision: the receive buffer of a slow one, the guard against
// its own storms, and messages that are started over.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/pausing.h"
#include "drivers/nic/requester.h"
#include "drivers/nic/responder.h"

// ---- the receive buffer

static void buffer_has_defaults_and_an_order(void **state)
{
	static const struct {
		uint64_t rate;
		uint32_t capacity, xoff, xon;
		bool good;
		struct rxbuf_params want;
	} t[] = {
		{1000000000, 0, 0, 0, true, {8ull << 24, 262144, 131072, 65536}},
		{4000000000, 1000, 999, 999, true, {2ull << 24, 1000, 999, 999}},
		{1000000000, 1000, 0, 0, true, {8ull << 24, 1000, 500, 250}},
		{1000000000, 1000, 1000, 10, false, {0}},
		{1000000000, 1000, 500, 501, false, {0}},
		{0, 0, 0, 0, false, {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct rxbuf_params p = {0};

		assert_int_equal(rxbuf_params_init(&p, t[i].rate, t[i].capacity, t[i].xoff,
						   t[i].xon), t[i].good);
		if (!t[i].good)
			continue;
		assert_int_equal(p.q24_per_byte, t[i].want.q24_per_byte);
		assert_int_equal(p.capacity, t[i].want.capacity);
		assert_int_equal(p.xoff, t[i].want.xoff);
		assert_int_equal(p.xon, t[i].want.xon);
	}
}

static void frames_are_taken_at_the_rate_and_keep_the_remainder(void **state)
{
	struct rxbuf_params p;
	struct rxbuf b = {0};

	(void)state;
	// 100 B at 3 Gb/s: 266.67 ns.
	assert_true(rxbuf_params_init(&p, 3000000000, 100000, 0, 0));
	assert_int_equal(rxbuf_due(&b), UINT64_MAX);
	for (unsigned i = 0; i < 30; i++)
		assert_true(rxbuf_add(&p, &b, 100, 3, 1000));
	for (unsigned i = 1; i <= 30; i++) {
		assert_int_equal(rxbuf_due(&b), 1000 + (i * 800 + 2) / 3);
		rxbuf_taken(&p, &b, 100, i == 30 ? 0 : 100);
	}
	assert_int_equal(rxbuf_due(&b), UINT64_MAX);
	assert_int_equal(b.used_bytes, 0);
	// After a rest it starts from the arrival.
	assert_true(rxbuf_add(&p, &b, 100, 3, 50000));
	assert_int_equal(rxbuf_due(&b), 50267);
}

static void classes_pause_above_xoff_and_go_on_below_xon(void **state)
{
	const struct rxbuf_params p = {.q24_per_byte = 1 << 24, .capacity = 1000, .xoff = 500,
				       .xon = 300};
	struct rxbuf b = {0};

	(void)state;
	assert_true(rxbuf_add(&p, &b, 400, 5, 0));
	assert_true(rxbuf_add(&p, &b, 100, 3, 0));
	assert_int_equal(b.want, 0);
	assert_true(rxbuf_add(&p, &b, 100, 3, 0));
	assert_int_equal(b.want, 1 << 3);
	assert_true(rxbuf_add(&p, &b, 100, 4, 0));
	assert_int_equal(b.want, 1 << 3 | 1 << 4);
	rxbuf_taken(&p, &b, 400, 100);
	assert_int_equal(b.used_bytes, 300);
	assert_int_equal(b.want, 1 << 3 | 1 << 4);
	rxbuf_taken(&p, &b, 100, 100);
	assert_int_equal(b.want, 0);
}

static void full_buffer_takes_what_fits(void **state)
{
	const struct rxbuf_params p = {.q24_per_byte = 1 << 24, .capacity = 1000, .xoff = 500,
				       .xon = 300};
	struct rxbuf b = {0};

	(void)state;
	assert_true(rxbuf_add(&p, &b, 901, 3, 0));
	assert_false(rxbuf_add(&p, &b, 100, 3, 0));
	assert_true(rxbuf_add(&p, &b, 99, 3, 0));
	assert_false(rxbuf_add(&p, &b, 1, 3, 0));
	assert_int_equal(b.used_bytes, 1000);
}

// ---- the cache of queue pairs

static void the_queue_pair_used_longest_ago_leaves_the_cache(void **state)
{
	// Of three places: queue pairs in the order of their frames, and whether each misses.
	static const struct {
		uint32_t qpn;
		bool missed;
	} t[] = {{1, true}, {2, true}, {1, false}, {3, true}, {4, true}, {1, false}, {2, true},
		 {4, false}, {1, false}, {3, true}, {2, true}, {3, false}, {1, false}};
	uint32_t qpns[3];
	struct qp_cache c = {.size = 3, .qpns = qpns};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(qp_cache_misses(&c, t[i].qpn), t[i].missed);
}

// ---- the guard

static bool pause_at(struct guard *g, unsigned cls, uint16_t quanta, uint64_t now_ns)
{
	struct pfc_times f = {.enable = (uint8_t)(1u << cls)};

	f.quanta[cls] = quanta;
	// A quantum at 512 Mb/s is a microsecond.
	return guard_allows(g, 100000, 512000000, &f, now_ns);
}

static void guard_trips_after_pauses_without_a_break(void **state)
{
	struct guard g = {0};

	(void)state;
	for (unsigned t = 5000; t < 105000; t += 10000)
		assert_true(pause_at(&g, 3, 10, t));
	assert_false(pause_at(&g, 3, 10, 105000));
	assert_true(g.tripped);
	// Neither other classes nor XON, ever.
	assert_false(pause_at(&g, 5, 10, 500000));
	assert_false(pause_at(&g, 3, 0, 900000));
}

static void guard_forgives_breaks(void **state)
{
	struct guard g = {0};

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		// Each runs out a nanosecond before the next.
		assert_true(pause_at(&g, 3, 10, i * 10001));
		// Classes are no help to each other.
		assert_true(pause_at(&g, i & 1, 10, i * 10001));
	}
	for (unsigned i = 100; i < 150; i++) {
		assert_true(pause_at(&g, 3, 65535, i * 10000));
		assert_true(pause_at(&g, 3, 0, i * 10000 + 9999));
	}
	assert_false(g.tripped);
}

static void guard_of_no_limit_allows_all(void **state)
{
	const struct pfc_times f = {.enable = 8, .quanta = {[3] = 65535}};
	struct guard g = {0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_true(guard_allows(&g, 0, 40000000000, &f, i * 100000));
}

// ---- storms

// What a storm says up to a time, one frame a word: 'P' or 'X' and when; looked at each nanosecond
// but in the gap, as a NIC without room is.
static const char *said(const struct storm_params *p, uint64_t until_ns, uint64_t gap_from,
			uint64_t gap_to)
{
	static char text[400];
	char *end = text;
	struct storm s;

	*text = '\0';
	storm_start(&s, p);
	for (uint64_t t = 0; t < until_ns; t++) {
		struct pfc_times f;

		if ((t >= gap_from && t < gap_to) || !storm_due(&s, t, &f))
			continue;
		assert_int_equal(f.enable, p->classes);
		assert_int_equal(f.quanta[5], 0);
		end += sprintf(end, "%c%u ", f.quanta[3] != 0 ? 'P' : 'X', (unsigned)t);
		storm_sent(&s, t);
	}
	return text;
}

static void a_late_nic_says_how_many_pauses_it_missed(void **state)
{
	static const struct {
		uint64_t at_ns[3]; // when it looks
		uint64_t want[3];
	} rows[] = {
		{{100, 120, 140}, {0, 0, 0}}, // PAUSE at 100, 120, 140, XON at 150
		{{100, 120, 150}, {0, 0, 1}},
		{{139, 140, 150}, {1, 0, 0}},
		{{100, 145, 150}, {0, 1, 0}},
		{{100, 150, 150}, {0, 2, 0}}, // only the XON is left to say
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storm s;
		struct pfc_times f;

		storm_start(&s, &(struct storm_params){8, 9, 100, 20, 50, 0, 0, false});
		for (unsigned k = 0; k < 3; k++)
			if (storm_due(&s, rows[i].at_ns[k], &f))
				assert_int_equal(storm_sent(&s, rows[i].at_ns[k]),
						 rows[i].want[k]);
	}
}

static void storms_pause_at_exact_instants(void **state)
{
	static const struct {
		struct storm_params p;
		uint64_t gap_from, gap_to;
		const char *want;
	} rows[] = {
		{{8, 9, 100, 20, 50, 0, 0, false}, 0, 0, "P100 P120 P140 X150 "},
		{{8, 9, 100, 20, 50, 0, 0, true}, 0, 0, "P100 P120 P140 "},
		{{8, 0, 100, 20, 50, 0, 0, false}, 0, 0, "X100 X120 X140 X150 "},
		// Bursts of 30 in each 100.
		{{8, 9, 100, 20, 230, 30, 100, false}, 0, 0,
		 "P100 P120 X130 P200 P220 X230 P300 P320 X330 "},
		{{8, 9, 100, 20, 230, 30, 100, true}, 0, 0, "P100 P120 P200 P220 P300 P320 "},
		{{8, 0, 100, 20, 130, 30, 100, false}, 0, 0,
		 "X100 X120 X130 X200 X220 X230 "},
		// The end cuts a burst short, or falls between two.
		{{8, 9, 100, 20, 110, 30, 100, false}, 0, 0, "P100 P120 X130 P200 X210 "},
		{{8, 9, 100, 20, 170, 30, 100, false}, 0, 0, "P100 P120 X130 P200 P220 X230 "},
		{{8, 9, 100, 20, 200, 30, 100, false}, 0, 0, "P100 P120 X130 P200 P220 X230 "},
		// What was missed is not made up for, but an XON is said before the next burst.
		{{8, 9, 100, 20, 330, 30, 100, false}, 110, 222, "P100 X222 P223 X230 "
								 "P300 P320 X330 P400 P420 X430 "},
		{{8, 9, 100, 20, 230, 30, 100, false}, 125, 290, "P100 P120 X290 P300 P320 X330 "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(said(&rows[i].p, 600, rows[i].gap_from, rows[i].gap_to),
				    rows[i].want);
}

static void a_storm_that_is_stopped_takes_its_pause_back_once(void **state)
{
	static const struct {
		uint64_t stop_ns;
		bool xon;
	} rows[] = {{115, true}, {150, false}, {210, true}, {235, false}};
	const struct storm_params p = {8, 9, 100, 20, UINT64_MAX, 30, 100, false};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pfc_times f;
		struct storm s;

		storm_start(&s, &p);
		for (uint64_t t = 0; t < rows[i].stop_ns; t++)
			if (storm_due(&s, t, &f))
				storm_sent(&s, t);
		storm_stop(&s, rows[i].stop_ns);
		assert_int_equal(storm_due(&s, rows[i].stop_ns, &f), rows[i].xon);
		if (rows[i].xon) {
			assert_int_equal(f.quanta[3], 0);
			storm_sent(&s, rows[i].stop_ns);
		}
		assert_true(s.next_ns == UINT64_MAX);
	}
}

// ---- starting over

static struct requester r;
static struct req_msg msgs[8], more[16];
static struct req_stats stats;

static void start(uint8_t op, bool go_back_0, bool fence)
{
	const struct req_params p = {.op = op, .go_back_0 = go_back_0, .fence = fence, .mtu = 1024,
				     .window = 100, .rto_ns = 1000, .dest_qp = 7,
				     .region_bytes = 1 << 20};
	const struct req_memory m = {msgs, 8, &stats};

	stats = (struct req_stats){0};
	req_init(&r, &p, &m);
}

static struct roce_pkt send(uint64_t now_ns)
{
	struct roce_pkt pkt;
	uint64_t offset;

	assert_true(req_can_send(&r));
	req_peek(&r, &pkt, &offset);
	req_sent(&r, &pkt, now_ns);
	return pkt;
}

static void answer(uint8_t syndrome, uint32_t psn)
{
	const struct roce_pkt pkt = {.opcode = RC_ACK, .syndrome = syndrome, .psn = psn};

	req_on_ack(&r, &pkt, 0);
}

static void nak_throws_its_message_back_to_the_first_packet(void **state)
{
	struct req_msg m;

	(void)state;
	start(REQ_SEND, true, false);
	assert_true(req_post(&r, 4 * 1024, 0, 0));
	assert_true(req_post(&r, 30 * 1024, 0, 0));
	for (unsigned i = 0; i < 30; i++)
		send(0);
	answer(AETH_ACK, 19); // the first message and half of the second
	assert_true(req_complete(&r, &m));
	answer(AETH_NAK | NAK_PSN_SEQUENCE, 22);
	assert_false(req_complete(&r, &m));
	assert_int_equal(req_done_bytes(&r), 4 * 1024);
	assert_int_equal(send(0).psn, 4);
	// What the responder had said before it starts over counts no more.
	answer(AETH_ACK, 19);
	assert_int_equal(send(0).psn, 5);
	assert_int_equal(send(0).opcode, RC_SEND_MIDDLE);
	answer(AETH_ACK, 5);
	assert_int_equal(r.una, 6);
}

static void timer_throws_the_message_back_too(void **state)
{
	(void)state;
	start(REQ_WRITE, true, false);
	assert_true(req_post(&r, 20 * 1024, 0, 0));
	for (unsigned i = 0; i < 20; i++)
		send(0);
	answer(AETH_ACK, 15);
	req_on_timer(&r, 1000);
	assert_int_equal(send(1000).psn, 0);
	assert_int_equal(req_deadline(&r), UINT64_MAX); // nothing has asked for an answer yet
}

static void fence_waits_for_the_message_before(void **state)
{
	struct req_msg m;

	(void)state;
	start(REQ_SEND, false, true);
	for (unsigned i = 0; i < 3; i++)
		assert_true(req_post(&r, 2048, 0, 0));
	for (uint32_t i = 0; i < 3; i++) {
		send(0);
		send(0);
		assert_false(req_can_send(&r));
		answer(AETH_ACK, 2 * i + 1);
		assert_true(req_complete(&r, &m));
	}
}

static void messages_know_when_they_left(void **state)
{
	struct req_msg m;

	(void)state;
	start(REQ_SEND, false, false);
	assert_true(req_post(&r, 3072, 55, 5));
	for (uint64_t t = 10; t <= 30; t += 10)
		send(t);
	answer(AETH_NAK | NAK_PSN_SEQUENCE, 0);
	for (uint64_t t = 40; t <= 60; t += 10)
		send(t);
	answer(AETH_ACK, 2);
	assert_true(req_complete(&r, &m));
	assert_int_equal(m.tag, 55);
	assert_int_equal(m.posted_ns, 5);
	assert_int_equal(m.first_tx_ns, 10); // for the first time
	assert_int_equal(m.last_tx_ns, 60); // for the last time
}

static void ring_of_messages_grows(void **state)
{
	struct req_msg m;

	(void)state;
	start(REQ_SEND, false, false);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(req_post(&r, 1024, i, 0));
	for (unsigned i = 0; i < 4; i++)
		send(0);
	answer(AETH_ACK, 2);
	for (unsigned i = 0; i < 3; i++)
		assert_true(req_complete(&r, &m));
	for (uint64_t i = 5; req_post(&r, 1024, i, 0); i++)
		;
	assert_int_equal(req_outstanding(&r), 8);
	req_move(&r, more, 16);
	memset(msgs, 0xff, sizeof(msgs));
	assert_true(req_post(&r, 1024, 11, 0));
	while (req_can_send(&r))
		send(0);
	answer(AETH_ACK, 11);
	for (uint64_t i = 3; i < 12; i++) {
		assert_true(req_complete(&r, &m));
		assert_int_equal(m.tag, i);
		assert_int_equal(m.first_seq, i);
	}
	assert_false(req_complete(&r, &m));
}

static struct responder to;
static struct resp_stats to_stats;

static void listen_at(bool go_back_0)
{
	const struct resp_params p = {.mtu = 1024, .first_psn = 0xfffffe,
				      .region_bytes = 100000, .go_back_0 = go_back_0};
	const struct resp_memory m = {.stats = &to_stats};

	to_stats = (struct resp_stats){0};
	resp_init(&to, &p, &m);
}

static enum resp_verdict request(uint8_t opcode, uint32_t psn, uint64_t *offset)
{
	const struct roce_pkt pkt = {.opcode = opcode, .psn = psn, .payload_len = 1024};

	return resp_on_request(&to, &pkt, offset);
}

static void responder_begins_a_message_anew(void **state)
{
	uint64_t offset;

	(void)state;
	for (int old = 0; old < 2; old++) {
		listen_at(old);
		assert_int_equal(request(RC_SEND_ONLY, 0xfffffe, &offset), RESP_TAKEN);
		assert_int_equal(request(RC_SEND_FIRST, 0xffffff, &offset), RESP_TAKEN);
		assert_int_equal(request(RC_SEND_MIDDLE, 0, &offset), RESP_TAKEN);
		assert_int_equal(offset, 2048);
		assert_int_equal(request(RC_SEND_MIDDLE, 2, &offset), RESP_GAP);
		// Only old ones take it again.
		assert_int_equal(request(RC_SEND_FIRST, 0xffffff, &offset),
				 old ? RESP_TAKEN : RESP_DUPLICATE);
		assert_int_equal(request(RC_SEND_MIDDLE, 0, &offset),
				 old ? RESP_TAKEN : RESP_DUPLICATE);
		assert_int_equal(offset, 2048);
		assert_int_equal(request(RC_SEND_LAST, 1, &offset), RESP_TAKEN);
		assert_int_equal(offset, 3072);
		assert_int_equal(to.msg_bytes, 3072);
		assert_int_equal(to_stats.messages, 2);
		// A message that is whole stays whole.
		assert_int_equal(request(RC_SEND_FIRST, 0xffffff, &offset), RESP_DUPLICATE);
	}
}

static void responder_without_room_for_reads_refuses_them(void **state)
{
	uint64_t offset;
	const struct roce_pkt pkt = {.opcode = RC_READ_REQUEST, .psn = 0xfffffe, .dma_len = 100};

	(void)state;
	listen_at(false);
	assert_int_equal(resp_on_request(&to, &pkt, &offset), RESP_REFUSED);
}

// ---- frames without payload

static void headers_alone_say_the_same_as_the_frame(void **state)
{
	static const uint8_t opcodes[] = {RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_ONLY,
					  RC_WRITE_FIRST, RC_WRITE_LAST, RC_WRITE_ONLY,
					  RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_MIDDLE};
	static uint8_t payload[1021], whole[1200], head[ROCE_MAX_HEADERS];
	const struct frame_addr addr = {.src_ip = ip_key_v4(1), .dst_ip = ip_key_v4(2),
					.sport = 3, .tos = 0x62};
	struct pkt_info info;
	struct roce_pkt a, b;

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		const struct roce_pkt pkt = {.opcode = opcodes[i], .dest_qp = 77, .psn = 99,
					     .va = 0x1234, .rkey = 5, .dma_len = 6, .msn = 8,
					     .ack_req = true, .payload = payload,
					     .payload_len = sizeof(payload)};
		uint32_t len = roce_frame_len(&pkt);

		memset(payload, 0, sizeof(payload));
		memset(head, 0xaa, sizeof(head));
		roce_build(whole, len, &addr, &pkt);
		roce_build(head, sizeof(head), &addr, &pkt);
		assert_memory_equal(head, whole, sizeof(head));
		assert_true(parse(head, len, &info));
		assert_int_equal(roce_read(whole, len, len, &info, &a), FRAME_OK);
		assert_int_equal(roce_read(head, len, sizeof(head), &info, &b), FRAME_OK);
		assert_null(b.payload);
		a.payload = NULL;
		assert_memory_equal(&a, &b, sizeof(a));
		// One byte less than the headers is too few.
		for (uint32_t n = ROCE_MIN_LEN - 4; n <= sizeof(head); n++)
			assert_int_equal(roce_read(head, len, n, &info, &b) == FRAME_OK,
					 n >= len - sizeof(payload) - 3 - 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_has_defaults_and_an_order),
		cmocka_unit_test(frames_are_taken_at_the_rate_and_keep_the_remainder),
		cmocka_unit_test(classes_pause_above_xoff_and_go_on_below_xon),
		cmocka_unit_test(full_buffer_takes_what_fits),
		cmocka_unit_test(the_queue_pair_used_longest_ago_leaves_the_cache),
		cmocka_unit_test(guard_trips_after_pauses_without_a_break),
		cmocka_unit_test(guard_forgives_breaks),
		cmocka_unit_test(guard_of_no_limit_allows_all),
		cmocka_unit_test(a_late_nic_says_how_many_pauses_it_missed),
		cmocka_unit_test(storms_pause_at_exact_instants),
		cmocka_unit_test(a_storm_that_is_stopped_takes_its_pause_back_once),
		cmocka_unit_test(nak_throws_its_message_back_to_the_first_packet),
		cmocka_unit_test(timer_throws_the_message_back_too),
		cmocka_unit_test(fence_waits_for_the_message_before),
		cmocka_unit_test(messages_know_when_they_left),
		cmocka_unit_test(ring_of_messages_grows),
		cmocka_unit_test(responder_begins_a_message_anew),
		cmocka_unit_test(responder_without_room_for_reads_refuses_them),
		cmocka_unit_test(headers_alone_say_the_same_as_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
