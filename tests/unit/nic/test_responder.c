// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/responder.h"

static struct responder r;
static struct resp_read reads[RESP_MAX_READS];
static struct resp_stats stats;

enum { KEY = 99, VA = 0x10000, REGION = 100000 };

static void start(uint32_t psn)
{
	const struct resp_params p = {.mtu = 1024, .first_psn = psn, .dest_qp = 5, .rkey = KEY,
				      .va = VA, .region_bytes = REGION};
	const struct resp_memory m = {reads, RESP_MAX_READS, &stats};

	stats = (struct resp_stats){0};
	resp_init(&r, &p, &m);
}

static enum resp_verdict request(uint8_t opcode, uint32_t psn, uint32_t len, bool ack_req)
{
	const struct roce_pkt pkt = {.opcode = opcode, .psn = psn, .payload_len = len,
				     .ack_req = ack_req, .rkey = KEY, .va = VA + 100,
				     .dma_len = 3000};
	uint64_t offset;

	return resp_on_request(&r, &pkt, &offset);
}

static struct roce_pkt answer(void)
{
	struct roce_pkt pkt;
	uint64_t offset;

	assert_true(resp_can_send(&r));
	resp_peek(&r, &pkt, &offset);
	resp_sent(&r, &pkt);
	return pkt;
}

static void one_ack_answers_all_that_arrived(void **state)
{
	struct roce_pkt ack;

	(void)state;
	start(0xffffff);
	assert_int_equal(request(RC_SEND_ONLY, 0xffffff, 5, true), RESP_TAKEN);
	assert_int_equal(request(RC_SEND_ONLY, 0, 5, true), RESP_TAKEN);
	assert_int_equal(request(RC_SEND_ONLY, 1, 5, false), RESP_TAKEN);
	ack = answer();
	assert_int_equal(ack.opcode, RC_ACK);
	assert_int_equal(ack.psn, 1);
	assert_int_equal(ack.syndrome, AETH_ACK | AETH_NO_CREDITS);
	assert_int_equal(ack.msn, 3);
	assert_int_equal(ack.dest_qp, 5);
	assert_false(resp_can_send(&r));
}

static void one_nak_per_gap(void **state)
{
	struct roce_pkt nak;

	(void)state;
	start(10);
	assert_int_equal(request(RC_SEND_ONLY, 12, 5, true), RESP_GAP);
	nak = answer();
	assert_int_equal(nak.syndrome, AETH_NAK | NAK_PSN_SEQUENCE);
	assert_int_equal(nak.psn, 10);
	assert_int_equal(request(RC_SEND_ONLY, 13, 5, true), RESP_GAP);
	assert_false(resp_can_send(&r));
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	assert_false(resp_can_send(&r));
	assert_int_equal(request(RC_SEND_ONLY, 12, 5, false), RESP_GAP);
	assert_int_equal(answer().psn, 11);
	assert_int_equal(stats.out_of_sequence, 3);
	assert_int_equal(stats.naks, 2);
}

static void gap_that_closes_before_its_nak_left_needs_none(void **state)
{
	(void)state;
	start(10);
	assert_int_equal(request(RC_SEND_ONLY, 11, 5, true), RESP_GAP);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	assert_false(resp_can_send(&r));
}

static void trimmed_packet_is_asked_for_at_once(void **state)
{
	struct roce_pkt nak;

	(void)state;
	start(10);
	resp_on_trimmed(&r, 10);
	nak = answer();
	assert_int_equal(nak.syndrome, AETH_NAK | NAK_PSN_SEQUENCE);
	assert_int_equal(nak.psn, 10);
	// Packets behind it ask for nothing more; the packet itself does, where it is cut again.
	assert_int_equal(request(RC_SEND_ONLY, 11, 5, true), RESP_GAP);
	assert_false(resp_can_send(&r));
	resp_on_trimmed(&r, 10);
	assert_int_equal(answer().psn, 10);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	resp_on_trimmed(&r, 10); // it is here
	assert_false(resp_can_send(&r));
}

static void trimmed_packet_waits_for_those_before_it(void **state)
{
	(void)state;
	start(10);
	resp_on_trimmed(&r, 14);
	resp_on_trimmed(&r, 12);
	resp_on_trimmed(&r, 13);
	assert_false(resp_can_send(&r));
	assert_int_equal(request(RC_SEND_FIRST, 10, 1024, false), RESP_TAKEN);
	assert_false(resp_can_send(&r));
	assert_false(resp_take_middle(&r, ROCE_SEND, 11, 1024)); // the quick way leaves it alone
	assert_int_equal(request(RC_SEND_MIDDLE, 11, 1024, false), RESP_TAKEN);
	assert_int_equal(answer().psn, 12);
	// 13 and 14 come again behind 12, so nothing more is asked for.
	for (uint32_t psn = 12; psn < 15; psn++)
		assert_int_equal(request(RC_SEND_MIDDLE, psn, 1024, false), RESP_TAKEN);
	assert_false(resp_can_send(&r));
	assert_int_equal(stats.naks, 1);
	assert_true(resp_take_middle(&r, ROCE_SEND, 15, 1024));
}

static void trimmed_packet_that_a_gap_covers_is_forgotten(void **state)
{
	(void)state;
	start(10);
	resp_on_trimmed(&r, 11);
	assert_int_equal(request(RC_SEND_ONLY, 12, 5, true), RESP_GAP);
	assert_int_equal(answer().psn, 10);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	assert_false(resp_can_send(&r));
	// One that is cut on its second way is not.
	start(10);
	resp_on_trimmed(&r, 10);
	assert_int_equal(answer().psn, 10);
	resp_on_trimmed(&r, 11);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	assert_int_equal(answer().psn, 11);
}

static void duplicate_is_acknowledged_and_not_taken(void **state)
{
	(void)state;
	start(10);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_TAKEN);
	assert_int_equal(request(RC_SEND_ONLY, 10, 5, false), RESP_DUPLICATE);
	assert_int_equal(answer().psn, 10);
	assert_int_equal(stats.messages, 1);
}

static void read_is_served_first_middle_last(void **state)
{
	struct roce_pkt pkt;

	(void)state;
	start(10);
	assert_int_equal(request(RC_READ_REQUEST, 10, 0, true), RESP_READ);
	pkt = answer();
	assert_int_equal(pkt.opcode, RC_READ_RESPONSE_FIRST);
	assert_int_equal(pkt.psn, 10);
	assert_int_equal(pkt.payload_len, 1024);
	assert_int_equal(answer().opcode, RC_READ_RESPONSE_MIDDLE);
	pkt = answer();
	assert_int_equal(pkt.opcode, RC_READ_RESPONSE_LAST);
	assert_int_equal(pkt.payload_len, 3000 - 2048);
	assert_false(resp_can_send(&r));
	// The next request's PSN comes after the responses'.
	assert_int_equal(request(RC_SEND_ONLY, 13, 1, false), RESP_TAKEN);
}

static void repeated_read_replaces_what_was_left(void **state)
{
	(void)state;
	start(10);
	request(RC_READ_REQUEST, 10, 0, true);
	request(RC_READ_REQUEST, 13, 0, true);
	assert_int_equal(answer().psn, 10);
	assert_int_equal(request(RC_READ_REQUEST, 10, 0, true), RESP_READ);
	for (uint32_t psn = 10; psn < 13; psn++)
		assert_int_equal(answer().psn, psn);
	assert_false(resp_can_send(&r));
	assert_int_equal(stats.duplicates, 1);
}

// A request the responder must not serve.
struct refusal {
	const char *what;
	struct roce_pkt pkt;
	uint8_t nak;
};

static void bad_requests_are_refused(void **state)
{
	static const struct refusal t[] = {
		{"key", {.opcode = RC_WRITE_ONLY, .payload_len = 8, .va = VA, .dma_len = 8},
		 NAK_REMOTE_ACCESS},
		{"below", {.opcode = RC_WRITE_ONLY, .payload_len = 8, .va = VA - 1, .dma_len = 8,
			   .rkey = KEY}, NAK_REMOTE_ACCESS},
		{"beyond", {.opcode = RC_WRITE_ONLY, .payload_len = 8, .va = VA + REGION - 7,
			    .dma_len = 8, .rkey = KEY}, NAK_REMOTE_ACCESS},
		{"wrap", {.opcode = RC_READ_REQUEST, .va = UINT64_MAX, .dma_len = 8, .rkey = KEY},
		 NAK_REMOTE_ACCESS},
		{"read too long", {.opcode = RC_READ_REQUEST, .va = VA, .dma_len = UINT32_MAX,
				   .rkey = KEY}, NAK_REMOTE_ACCESS},
		{"length", {.opcode = RC_WRITE_ONLY, .payload_len = 9, .va = VA, .dma_len = 8,
			    .rkey = KEY}, NAK_INVALID_REQUEST},
		{"short", {.opcode = RC_WRITE_ONLY, .payload_len = 7, .va = VA, .dma_len = 8,
			   .rkey = KEY}, NAK_INVALID_REQUEST},
		{"middle", {.opcode = RC_SEND_MIDDLE, .payload_len = 1024}, NAK_INVALID_REQUEST},
		{"first not full", {.opcode = RC_SEND_FIRST, .payload_len = 1023},
		 NAK_INVALID_REQUEST},
		{"above the MTU", {.opcode = RC_SEND_ONLY, .payload_len = 1025},
		 NAK_INVALID_REQUEST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct roce_pkt nak;
		uint64_t offset;

		start(0);
		if (resp_on_request(&r, &t[i].pkt, &offset) != RESP_REFUSED)
			fail_msg("%s: not refused", t[i].what);
		nak = answer();
		assert_int_equal(nak.syndrome, AETH_NAK | t[i].nak);
		assert_int_equal(nak.psn, 0);
		assert_int_equal(request(RC_SEND_ONLY, 0, 1, true), RESP_REFUSED);
		assert_false(resp_can_send(&r));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_ack_answers_all_that_arrived),
		cmocka_unit_test(one_nak_per_gap),
		cmocka_unit_test(gap_that_closes_before_its_nak_left_needs_none),
		cmocka_unit_test(trimmed_packet_is_asked_for_at_once),
		cmocka_unit_test(trimmed_packet_waits_for_those_before_it),
		cmocka_unit_test(trimmed_packet_that_a_gap_covers_is_forgotten),
		cmocka_unit_test(duplicate_is_acknowledged_and_not_taken),
		cmocka_unit_test(read_is_served_first_middle_last),
		cmocka_unit_test(repeated_read_replaces_what_was_left),
		cmocka_unit_test(bad_requests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
