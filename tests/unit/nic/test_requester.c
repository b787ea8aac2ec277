// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/packet/wire.h"
#include "drivers/nic/requester.h"

static struct requester r;
static struct req_msg msgs[REQ_MAX_MSGS];
static struct req_stats stats;

static void start(uint8_t op, uint32_t first_psn, uint32_t window)
{
	const struct req_params p = {.op = op, .mtu = 1024, .window = window, .rto_ns = 1000,
				     .first_psn = first_psn, .dest_qp = 7, .rkey = 9, .va = 0x1000,
				     .region_bytes = 1 << 20};
	const struct req_memory m = {msgs, REQ_MAX_MSGS, &stats};

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

static void answer(uint8_t syndrome, uint32_t psn, uint64_t now_ns)
{
	const struct roce_pkt pkt = {.opcode = RC_ACK, .syndrome = syndrome, .psn = psn};

	req_on_ack(&r, &pkt, now_ns);
}

static void message_is_cut_into_first_middle_last(void **state)
{
	struct roce_pkt pkt;

	(void)state;
	start(REQ_WRITE, 0xffffff, 100);
	assert_true(req_post(&r, 2049, 0, 0));
	pkt = send(0);
	assert_int_equal(pkt.opcode, RC_WRITE_FIRST);
	assert_int_equal(pkt.psn, 0xffffff);
	assert_int_equal(pkt.va, 0x1000);
	assert_int_equal(pkt.dma_len, 2049);
	assert_int_equal(pkt.rkey, 9);
	assert_int_equal(pkt.payload_len, 1024);
	assert_false(pkt.ack_req);
	pkt = send(0);
	assert_int_equal(pkt.opcode, RC_WRITE_MIDDLE);
	assert_int_equal(pkt.psn, 0);
	pkt = send(0);
	assert_int_equal(pkt.opcode, RC_WRITE_LAST);
	assert_int_equal(pkt.payload_len, 1);
	assert_true(pkt.ack_req);
	assert_false(req_can_send(&r));
	assert_true(req_post(&r, 1024, 0, 0));
	assert_int_equal(send(0).opcode, RC_WRITE_ONLY);
}

static void every_sixteenth_packet_asks_for_an_answer(void **state)
{
	(void)state;
	start(REQ_SEND, 0, 1000);
	assert_true(req_post(&r, 40 * 1024, 0, 0));
	for (unsigned i = 1; i <= 40; i++)
		assert_int_equal(send(0).ack_req, i % 16 == 0 || i == 40);
}

static void as_many_packets_as_said_share_an_answer(void **state)
{
	static const uint16_t every[] = {1, 3, 16, 256};

	(void)state;
	for (unsigned k = 0; k < sizeof(every) / sizeof(every[0]); k++) {
		start(REQ_WRITE, 0xfffffe, 1000);
		r.p.ack_every = every[k];
		assert_true(req_post(&r, 300 * 1024, 0, 0));
		for (unsigned i = 1; i <= 300; i++)
			assert_int_equal(send(0).ack_req, i % every[k] == 0 || i == 300);
	}
}

static void window_closes_with_a_packet_that_asks(void **state)
{
	(void)state;
	start(REQ_SEND, 0, 5);
	assert_true(req_post(&r, 10 * 1024, 0, 0));
	for (unsigned i = 1; i <= 5; i++)
		assert_int_equal(send(0).ack_req, i == 5);
	assert_false(req_can_send(&r));
	answer(AETH_ACK, 1, 0);
	send(0);
	send(0);
	assert_false(req_can_send(&r));
}

static void nak_goes_back_to_its_psn_and_acks_those_before(void **state)
{
	struct req_msg m;

	(void)state;
	start(REQ_WRITE, 0xfffffe, 100);
	for (unsigned i = 0; i < 3; i++)
		assert_true(req_post(&r, 2048, 0, i));
	for (unsigned i = 0; i < 6; i++)
		send(0);
	answer(AETH_NAK | NAK_PSN_SEQUENCE, 1, 50); // the fourth packet
	assert_int_equal(stats.naks, 1);
	assert_true(req_complete(&r, &m));
	assert_false(req_complete(&r, &m));
	assert_int_equal(send(60).psn, 1);
	assert_int_equal(send(60).psn, 2);
	assert_int_equal(send(60).psn, 3);
	assert_int_equal(stats.retransmissions, 3);
	answer(AETH_ACK | AETH_NO_CREDITS, 3, 70);
	assert_true(req_complete(&r, &m));
	assert_true(req_complete(&r, &m));
	assert_int_equal(req_outstanding(&r), 0);
}

static void answers_to_what_was_never_sent_are_ignored(void **state)
{
	(void)state;
	start(REQ_WRITE, 0, 100);
	assert_true(req_post(&r, 4096, 0, 0));
	send(0);
	answer(AETH_ACK, 1, 0);
	answer(AETH_ACK, 0xffffff, 0);
	answer(AETH_NAK, 0x800000, 0);
	assert_int_equal(stats.ignored, 3);
	assert_int_equal(r.una, 0);
}

static void late_ack_after_going_back_is_believed(void **state)
{
	(void)state;
	start(REQ_WRITE, 0, 100);
	assert_true(req_post(&r, 4096, 0, 0));
	for (unsigned i = 0; i < 4; i++)
		send(0);
	req_on_timer(&r, 1000);
	assert_int_equal(stats.timeouts, 1);
	answer(AETH_ACK, 2, 1001);
	assert_int_equal(send(1002).psn, 3);
	assert_false(req_can_send(&r));
}

static void timer_counts_from_the_last_question_or_progress(void **state)
{
	(void)state;
	start(REQ_SEND, 0, 1000);
	assert_true(req_post(&r, 20 * 1024, 0, 0));
	for (unsigned i = 0; i < 15; i++)
		send(i);
	assert_int_equal(req_deadline(&r), UINT64_MAX);
	send(100);
	assert_int_equal(req_deadline(&r), 1100);
	answer(AETH_ACK, 3, 500);
	assert_int_equal(req_deadline(&r), 1500);
	answer(AETH_ACK, 15, 600);
	assert_int_equal(req_deadline(&r), UINT64_MAX);
	for (unsigned i = 0; i < 4; i++)
		send(700);
	assert_int_equal(req_deadline(&r), 1700);
	req_on_timer(&r, 1699);
	assert_int_equal(stats.timeouts, 0);
	req_on_timer(&r, 1700);
	assert_int_equal(stats.timeouts, 1);
	assert_int_equal(send(1700).psn, 16);
}

static void refusal_ends_the_queue_pair(void **state)
{
	(void)state;
	start(REQ_WRITE, 0, 100);
	assert_true(req_post(&r, 4096, 0, 0));
	send(0);
	answer(AETH_NAK | NAK_REMOTE_ACCESS, 0, 0);
	assert_true(r.failed);
	assert_int_equal(r.failed_syndrome, AETH_NAK | NAK_REMOTE_ACCESS);
	assert_false(req_can_send(&r));
	assert_int_equal(req_deadline(&r), UINT64_MAX);
}

static enum req_read_verdict response(uint32_t psn, uint32_t len, uint64_t *offset)
{
	const struct roce_pkt pkt = {.opcode = RC_READ_RESPONSE_MIDDLE, .psn = psn,
				     .payload_len = len};

	return req_on_read(&r, &pkt, 0, offset);
}

static void read_asks_once_per_gap_for_the_rest(void **state)
{
	struct roce_pkt pkt;
	uint64_t offset = 0;

	(void)state;
	start(REQ_READ, 10, 100);
	assert_true(req_post(&r, 5000, 0, 0));
	pkt = send(0);
	assert_int_equal(pkt.opcode, RC_READ_REQUEST);
	assert_int_equal(pkt.dma_len, 5000);
	assert_false(req_can_send(&r));
	assert_int_equal(response(10, 1024, &offset), REQ_READ_TAKEN);
	assert_int_equal(offset, 0);
	assert_int_equal(response(12, 1024, &offset), REQ_READ_GAP);
	assert_int_equal(response(13, 1024, &offset), REQ_READ_GAP);
	pkt = send(0);
	assert_int_equal(pkt.psn, 11);
	assert_int_equal(pkt.va, 0x1000 + 1024);
	assert_int_equal(pkt.dma_len, 5000 - 1024);
	assert_false(req_can_send(&r));
	assert_int_equal(response(14, 904, &offset), REQ_READ_GAP);
	assert_false(req_can_send(&r));
	assert_int_equal(response(11, 1000, &offset), REQ_READ_IGNORED); // a wrong length
	for (uint32_t psn = 11; psn < 14; psn++)
		assert_int_equal(response(psn, 1024, &offset), REQ_READ_TAKEN);
	assert_int_equal(stats.duplicates, 0);
	assert_int_equal(response(13, 1024, &offset), REQ_READ_IGNORED);
	assert_int_equal(stats.duplicates, 1);
	assert_int_equal(response(14, 904, &offset), REQ_READ_TAKEN);
	assert_int_equal(offset, 4096);
	assert_int_equal(stats.read_gaps, 1);
}

static void nak_of_a_read_request_keeps_the_responses_owed(void **state)
{
	struct req_msg m;
	uint64_t offset;

	(void)state;
	start(REQ_READ, 0, 100);
	assert_true(req_post(&r, 2048, 0, 0));
	assert_true(req_post(&r, 2048, 0, 0));
	send(0);
	send(0);
	answer(AETH_NAK | NAK_PSN_SEQUENCE, 2, 0);
	assert_false(req_complete(&r, &m));
	assert_int_equal(send(0).psn, 2);
	assert_int_equal(response(0, 1024, &offset), REQ_READ_TAKEN);
	assert_int_equal(response(1, 1024, &offset), REQ_READ_TAKEN);
	assert_true(req_complete(&r, &m));
}

static void messages_wrap_in_the_region(void **state)
{
	struct roce_pkt pkt;
	uint64_t offset;

	(void)state;
	start(REQ_WRITE, 0, 2000);
	assert_true(req_post(&r, (1 << 20) - 1000, 0, 0));
	assert_true(req_post(&r, 1001, 0, 0));
	for (unsigned i = 0; i < 1024; i++)
		send(0);
	req_peek(&r, &pkt, &offset);
	assert_int_equal(pkt.opcode, RC_WRITE_ONLY);
	assert_int_equal(pkt.va, 0x1000);
	assert_int_equal(offset, 0);
}

static void ring_of_messages_has_an_end(void **state)
{
	(void)state;
	start(REQ_WRITE, 0, 2000);
	for (unsigned i = 0; i < REQ_MAX_MSGS; i++)
		assert_true(req_post(&r, 0, 0, 0));
	assert_false(req_post(&r, 0, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_is_cut_into_first_middle_last),
		cmocka_unit_test(every_sixteenth_packet_asks_for_an_answer),
		cmocka_unit_test(as_many_packets_as_said_share_an_answer),
		cmocka_unit_test(window_closes_with_a_packet_that_asks),
		cmocka_unit_test(nak_goes_back_to_its_psn_and_acks_those_before),
		cmocka_unit_test(answers_to_what_was_never_sent_are_ignored),
		cmocka_unit_test(late_ack_after_going_back_is_believed),
		cmocka_unit_test(timer_counts_from_the_last_question_or_progress),
		cmocka_unit_test(refusal_ends_the_queue_pair),
		cmocka_unit_test(read_asks_once_per_gap_for_the_rest),
		cmocka_unit_test(nak_of_a_read_request_keeps_the_responses_owed),
		cmocka_unit_test(messages_wrap_in_the_region),
		cmocka_unit_test(ring_of_messages_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
