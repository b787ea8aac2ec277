// SPDX-License-Identifier: Apache-2.0
// Selective repeat, decision by decision, and both ends over a way that loses, trims, repeats and
// reorders packets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/psn.h"
#include "dataplane/packet/wire.h"
#include "drivers/nic/requester.h"
#include "drivers/nic/responder.h"

enum { MTU = 256, RTO = 100000, REGION = 1 << 20 };

static struct requester from;
static struct req_msg msgs[16];
static struct req_stats from_stats;
static struct req_again again;

static struct responder to;
static struct resp_stats to_stats;
static struct reorder window;

static void start(uint8_t op, uint32_t psn)
{
	const struct req_params q = {.op = op, .mtu = MTU, .window = 1 << 20, .rto_ns = RTO,
				     .first_psn = psn, .region_bytes = REGION};
	const struct req_memory qm = {.msgs = msgs, .n_msgs = 16, .again = &again,
				      .stats = &from_stats};
	const struct resp_params p = {.mtu = MTU, .first_psn = psn, .region_bytes = REGION};
	const struct resp_memory pm = {.window = &window, .stats = &to_stats};

	from_stats = (struct req_stats){0};
	to_stats = (struct resp_stats){0};
	req_init(&from, &q, &qm);
	resp_init(&to, &p, &pm);
}

static struct roce_pkt send(void)
{
	struct roce_pkt pkt;
	uint64_t offset;

	assert_true(req_can_send(&from));
	req_peek(&from, &pkt, &offset);
	req_sent(&from, &pkt, 0);
	return pkt;
}

static enum resp_verdict packet_arrives(const struct roce_pkt *pkt)
{
	uint64_t offset;

	return resp_on_request(&to, pkt, &offset);
}

// The PSN of the NAK or, with AETH_ACK, of the ACK that leaves.
static uint32_t answer_leaves(uint8_t kind)
{
	struct roce_pkt pkt;
	uint64_t offset;

	assert_true(resp_can_send(&to));
	resp_peek(&to, &pkt, &offset);
	resp_sent(&to, &pkt);
	assert_int_equal(pkt.syndrome & AETH_KIND_MASK, kind);
	req_on_ack(&from, &pkt, 0);
	return pkt.psn;
}

static uint32_t take_held(void)
{
	struct roce_pkt pkt;
	uint64_t offset;
	uint32_t n = 0;

	while (resp_take_held(&to, &pkt, &offset))
		n++;
	return n;
}

static void packets_behind_a_gap_are_held(void **state)
{
	struct roce_pkt p[6];

	(void)state;
	start(REQ_WRITE, 0xfffffe);
	assert_true(req_post(&from, 6 * MTU, 0, 0));
	for (unsigned i = 0; i < 6; i++)
		p[i] = send();
	assert_int_equal(packet_arrives(&p[0]), RESP_TAKEN);
	assert_int_equal(packet_arrives(&p[2]), RESP_HELD);
	assert_false(resp_take_middle(&to, ROCE_WRITE, p[1].psn, MTU)); // what is held would wait
	assert_int_equal(packet_arrives(&p[4]), RESP_HELD);
	assert_int_equal(packet_arrives(&p[4]), RESP_DUPLICATE);
	assert_int_equal(packet_arrives(&p[5]), RESP_HELD);
	assert_int_equal(answer_leaves(AETH_NAK), 0xffffff);
	assert_int_equal(answer_leaves(AETH_NAK), 1);
	assert_false(resp_can_send(&to));
	// A NAK acknowledges nothing. The two packets go again, and no other.
	assert_int_equal(from.una, 0);
	assert_int_equal(send().psn, 0xffffff);
	assert_int_equal(send().psn, 1);
	assert_false(req_can_send(&from));
	assert_int_equal(from_stats.retransmissions, 2);
	assert_int_equal(packet_arrives(&p[1]), RESP_TAKEN);
	assert_int_equal(take_held(), 1);
	assert_int_equal(packet_arrives(&p[3]), RESP_TAKEN);
	assert_int_equal(take_held(), 2);
	assert_int_equal(answer_leaves(AETH_ACK), 3);
	assert_true(req_head_complete(&from));
	assert_int_equal(to_stats.messages, 1);
}

static void trimmed_packet_asks_for_itself_alone(void **state)
{
	struct roce_pkt p[4];

	(void)state;
	start(REQ_SEND, 10);
	assert_true(req_post(&from, 4 * MTU, 0, 0));
	for (unsigned i = 0; i < 4; i++)
		p[i] = send();
	resp_on_trimmed(&to, 12); // it overtakes 10 and 11
	assert_false(resp_can_send(&to));
	assert_int_equal(packet_arrives(&p[0]), RESP_TAKEN); // it has left the queue
	assert_int_equal(answer_leaves(AETH_NAK), 12);
	assert_int_equal(packet_arrives(&p[1]), RESP_TAKEN);
	assert_int_equal(packet_arrives(&p[3]), RESP_HELD);
	assert_false(resp_can_send(&to));
	resp_on_trimmed(&to, 12); // once more, and nothing else is on its way
	assert_int_equal(answer_leaves(AETH_NAK), 12);
	assert_int_equal(packet_arrives(&p[2]), RESP_TAKEN);
	assert_int_equal(take_held(), 1);
	resp_on_trimmed(&to, 12);
	assert_int_equal(answer_leaves(AETH_ACK), 13);
}

static void naks_wait_for_packets_that_come(void **state)
{
	struct roce_pkt p[40];

	(void)state;
	start(REQ_SEND, 0);
	assert_true(req_post(&from, 40 * MTU, 0, 0));
	for (unsigned i = 0; i < 40; i++)
		p[i] = send();
	for (uint32_t psn = 20; psn < 40; psn++)
		resp_on_trimmed(&to, psn);
	assert_false(resp_can_send(&to));
	for (unsigned i = 0; i < 8; i++) {
		packet_arrives(&p[i]);
		assert_int_equal(answer_leaves(AETH_NAK), 20 + i);
		if (i == 7) // one more
			assert_int_equal(answer_leaves(AETH_NAK), 28);
		assert_false(resp_can_send(&to));
	}
}

// Packets come again in the order of the NAKs; so 1 was lost again.
static void packet_lost_again_is_asked_for_again(void **state)
{
	struct roce_pkt p[8];

	(void)state;
	start(REQ_SEND, 0);
	assert_true(req_post(&from, 8 * MTU, 0, 0));
	for (unsigned i = 0; i < 8; i++)
		p[i] = send();
	packet_arrives(&p[0]);
	packet_arrives(&p[4]);
	packet_arrives(&p[6]);
	packet_arrives(&p[7]);
	assert_int_equal(answer_leaves(AETH_NAK), 1);
	assert_int_equal(answer_leaves(AETH_NAK), 2);
	assert_int_equal(answer_leaves(AETH_NAK), 3);
	assert_false(resp_can_send(&to)); // 5 waits
	assert_int_equal(send().psn, 1);
	assert_int_equal(send().psn, 2);
	assert_int_equal(packet_arrives(&p[2]), RESP_HELD);
	assert_int_equal(answer_leaves(AETH_NAK), 1);
	assert_int_equal(send().psn, 3); // first in, first out
	assert_int_equal(send().psn, 1);
}

// So many packets in order that where the last gap was seems to lie ahead.
static void gap_is_seen_long_after_another(void **state)
{
	struct roce_pkt k = {.opcode = RC_SEND_FIRST, .payload_len = MTU};

	(void)state;
	start(REQ_SEND, 0);
	assert_int_equal(packet_arrives(&k), RESP_TAKEN);
	k = (struct roce_pkt){.opcode = RC_SEND_MIDDLE, .payload_len = MTU, .psn = 2};
	assert_int_equal(packet_arrives(&k), RESP_HELD);
	k.psn = 1;
	assert_int_equal(packet_arrives(&k), RESP_TAKEN);
	assert_int_equal(take_held(), 1);
	for (uint32_t n = 0; n < (1 << 23) + 10; n++)
		assert_true(resp_take_middle(&to, ROCE_SEND, to.epsn, MTU));
	k.psn = psn_add(to.epsn, 1);
	assert_int_equal(packet_arrives(&k), RESP_HELD);
	assert_int_equal(answer_leaves(AETH_NAK), to.epsn);
}

static void timer_repeats_the_missing_packet_and_more_as_acks_come(void **state)
{
	struct roce_pkt p[6], again_pkt;

	(void)state;
	start(REQ_SEND, 0);
	assert_true(req_post(&from, 6 * MTU, 0, 0));
	for (unsigned i = 0; i < 6; i++)
		p[i] = send();
	assert_int_equal(packet_arrives(&p[1]), RESP_HELD);
	assert_int_equal(packet_arrives(&p[2]), RESP_HELD);
	req_on_timer(&from, RTO);
	again_pkt = send();
	assert_int_equal(again_pkt.psn, 0);
	assert_false(req_can_send(&from));
	assert_int_equal(packet_arrives(&again_pkt), RESP_TAKEN);
	assert_int_equal(take_held(), 2);
	assert_int_equal(answer_leaves(AETH_ACK), 2);
	for (uint32_t psn = 3; psn < 5; psn++) {
		again_pkt = send();
		assert_int_equal(again_pkt.psn, psn);
		assert_int_equal(packet_arrives(&again_pkt), RESP_TAKEN);
	}
	assert_false(req_can_send(&from));
	assert_int_equal(answer_leaves(AETH_ACK), 4);
	assert_int_equal(send().psn, 5);
	assert_false(req_can_send(&from));
	assert_int_equal(from_stats.retransmissions, 4);
}

// ---- READs

static struct reorder from_window;
static struct resp_read reads[RESP_MAX_READS];

static void start_reads(void)
{
	start(REQ_READ, 0);
	from.m.window = &from_window;
	reorder_init(&from_window, 0);
	to.m.reads = reads;
	to.m.max_reads = RESP_MAX_READS;
}

static struct roce_pkt response_leaves(void)
{
	struct roce_pkt pkt;
	uint64_t offset;

	assert_true(resp_can_send(&to));
	resp_peek(&to, &pkt, &offset);
	resp_sent(&to, &pkt);
	assert_int_equal(roce_op_of(pkt.opcode)->kind, ROCE_READ_RESP);
	return pkt;
}

static void trimmed_response_is_requested_alone(void **state)
{
	struct roce_pkt pkt;
	struct req_msg m;
	uint64_t offset;

	(void)state;
	start_reads();
	assert_true(req_post(&from, 3 * MTU + 1, 0, 0));
	pkt = send();
	assert_int_equal(packet_arrives(&pkt), RESP_READ);
	for (uint32_t psn = 0; psn < 4; psn++) {
		pkt = response_leaves();
		assert_int_equal(pkt.psn, psn);
		if (psn == 1)
			req_on_trimmed(&from, psn);
		else
			assert_int_equal(req_on_read(&from, &pkt, 0, &offset),
					 psn == 0 ? REQ_READ_TAKEN : REQ_READ_HELD);
	}
	pkt = send();
	assert_int_equal(pkt.psn, 1);
	assert_int_equal(pkt.va, MTU);
	assert_int_equal(pkt.dma_len, MTU);
	assert_false(req_can_send(&from));
	assert_int_equal(packet_arrives(&pkt), RESP_READ);
	pkt = response_leaves();
	assert_int_equal(req_on_read(&from, &pkt, 0, &offset), REQ_READ_TAKEN);
	assert_int_equal(offset, MTU);
	for (uint32_t psn = 2; psn < 4; psn++) {
		assert_true(req_take_held(&from, &pkt, 0, &offset));
		assert_int_equal(offset, psn * MTU);
	}
	assert_false(req_take_held(&from, &pkt, 0, &offset));
	assert_true(req_complete(&from, &m));
	assert_false(resp_can_send(&to));
}

// Else all that waits before it would come first, more than the requester can hold.
static void packets_that_are_missing_overtake_long_reads(void **state)
{
	static const uint32_t order[] = {1, 2, 4, 5};
	struct roce_pkt pkt;
	uint64_t offset;

	(void)state;
	start_reads();
	for (unsigned i = 0; i < 2; i++) {
		assert_true(req_post(&from, 9 * MTU, 0, 0));
		pkt = send();
		assert_int_equal(packet_arrives(&pkt), RESP_READ);
	}
	for (uint32_t psn = 0; psn < 4; psn++) {
		pkt = response_leaves();
		if (psn == 1 || psn == 2)
			req_on_trimmed(&from, psn);
		else
			(void)req_on_read(&from, &pkt, 0, &offset);
	}
	while (req_can_send(&from)) {
		pkt = send();
		assert_int_equal(packet_arrives(&pkt), RESP_READ);
	}
	for (unsigned i = 0; i < 4; i++) {
		pkt = response_leaves();
		assert_int_equal(pkt.psn, order[i]);
		if (i == 1)
			continue;
		(void)req_on_read(&from, &pkt, 0, &offset);
	}
}

// The responder keeps room for READs that it does not know yet.
static void requests_for_single_packets_leave_room_for_others(void **state)
{
	struct roce_pkt pkt, first;

	(void)state;
	start_reads();
	assert_true(req_post(&from, MTU, 0, 0));
	assert_true(req_post(&from, MTU, 0, 0));
	first = send();
	for (unsigned i = 0; i < RESP_MAX_READS; i++)
		assert_int_equal(packet_arrives(&first),
				 i < RESP_MAX_READS / 2 ? RESP_READ : RESP_DUPLICATE);
	pkt = send();
	assert_int_equal(packet_arrives(&pkt), RESP_READ);
	assert_int_equal(to_stats.refused, 0);
}

// ---- a bad way

enum { WAY = 64 };
struct way {
	struct rng rng;
	struct roce_pkt pkts[WAY];
	unsigned n;
	uint64_t taken; // bytes
	uint64_t now_ns;
};

static void taken(struct way *w, const struct roce_pkt *pkt, uint64_t offset)
{
	assert_int_equal(offset, w->taken % REGION);
	w->taken += pkt->payload_len;
}

static void come(struct way *w, const struct roce_pkt *pkt)
{
	struct roce_pkt k = *pkt;
	uint64_t offset;

	if (rng_next(&w->rng) % 4 == 0) {
		resp_on_trimmed(&to, pkt->psn);
		return;
	}
	if (resp_take_middle(&to, roce_op_of(k.opcode)->kind, k.psn, k.payload_len)) {
		taken(w, &k, to.offset - k.payload_len);
		return;
	}
	if (resp_on_request(&to, &k, &offset) != RESP_TAKEN)
		return;
	do
		taken(w, &k, offset);
	while (resp_take_held(&to, &k, &offset));
}

static void step_way(struct way *w)
{
	struct roce_pkt pkt;
	uint64_t offset;
	unsigned i;

	w->now_ns += 100;
	req_on_timer(&from, w->now_ns);
	for (unsigned n = 0; n < 3 && w->n < WAY && req_can_send(&from); n++) {
		req_peek(&from, &pkt, &offset);
		req_sent(&from, &pkt, w->now_ns);
		if (rng_next(&w->rng) % 8 != 0) // else it is lost
			w->pkts[w->n++] = pkt;
	}
	if (w->n != 0) {
		// Mostly the oldest. One in eight comes once more, later.
		i = rng_next(&w->rng) % 4 == 0 ? rng_next(&w->rng) % w->n : 0;
		come(w, &w->pkts[i]);
		if (rng_next(&w->rng) % 8 != 0) {
			for (w->n--; i < w->n; i++)
				w->pkts[i] = w->pkts[i + 1];
		}
	}
	if (resp_can_send(&to)) {
		resp_peek(&to, &pkt, &offset);
		resp_sent(&to, &pkt);
		if (rng_next(&w->rng) % 16 != 0)
			req_on_ack(&from, &pkt, w->now_ns);
	}
}

static void every_byte_is_taken_once_and_in_order(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct way w = {0};
		uint64_t bytes = 0, done = 0;
		struct req_msg m;

		rng_init(&w.rng, seed);
		start(seed % 2 ? REQ_SEND : REQ_WRITE, psn_add(0xffffff, 0u - seed));
		while (done < 60) {
			uint32_t n = rng_next(&w.rng) % (20 * MTU);

			// A region's end would move the offset.
			if (bytes + n < REGION && req_post(&from, n, 0, w.now_ns))
				bytes += n;
			step_way(&w);
			while (req_complete(&from, &m))
				done++;
			assert_true(w.now_ns < 1000000000);
			assert_false(from.failed);
		}
		assert_true(w.taken <= bytes && w.taken >= from.complete_bytes);
		assert_int_equal(to_stats.refused, 0);
		assert_true(to_stats.messages >= done);
	}
}

// What no requester sends: it is refused, or waits, and never reads or writes elsewhere.
static void hostile_packets_do_no_harm(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < 300; i++) {
		start(REQ_SEND, 0xfffff0);
		for (unsigned n = 0; n < 3000 && !to.dead; n++) {
			static const uint8_t opcodes[] = {RC_SEND_FIRST, RC_SEND_MIDDLE,
							  RC_SEND_LAST, RC_SEND_ONLY,
							  RC_WRITE_ONLY, RC_READ_REQUEST};
			uint32_t psn = psn_add(to.epsn, rng_next(&rng) % 4096 - 1024u);
			struct roce_pkt k = {.opcode = opcodes[rng_next(&rng) % (i % 6 + 1)],
					     .psn = psn, .payload_len = MTU, .dma_len = MTU};
			uint64_t offset;

			if (rng_next(&rng) % 2 == 0)
				resp_on_trimmed(&to, psn);
			else if (resp_on_request(&to, &k, &offset) == RESP_TAKEN)
				take_held();
			assert_true(window.n_due <= window.n_asked);
			assert_true(window.n_asked + window.n_held <= REORDER_PKTS);
			if (resp_can_send(&to) && to.n_reads == 0) {
				resp_peek(&to, &k, &offset);
				resp_sent(&to, &k);
			}
		}
	}
}

// Answers that no responder gives: what goes next was sent before and has not arrived, or is the
// first new packet.
static void hostile_answers_do_no_harm(void **state)
{
	uint64_t now_ns = 0, offset;
	struct roce_pkt k;
	struct req_msg m;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	start(REQ_WRITE, 0xfffff0);
	for (unsigned i = 0; i < 200000; i++) {
		req_post(&from, rng_next(&rng) % (300 * MTU), 0, now_ns);
		for (unsigned n = rng_next(&rng) % 8; n > 0 && req_can_send(&from); n--) {
			req_peek(&from, &k, &offset);
			assert_in_range(psn_diff(k.psn, psn_add(from.p.first_psn, from.una)), 0,
					from.nxt - from.una);
			assert_in_range(k.payload_len, 0, MTU);
			req_sent(&from, &k, now_ns);
		}
		k = (struct roce_pkt){.opcode = RC_ACK, .syndrome = AETH_NAK | NAK_PSN_SEQUENCE};
		k.psn = psn_add(from.p.first_psn,
				from.una + rng_next(&rng) % (REQ_AGAIN_PKTS + 64) - 32);
		if (rng_next(&rng) % 64 == 0)
			k.syndrome = AETH_ACK;
		req_on_ack(&from, &k, now_ns);
		now_ns += rng_next(&rng) % 2048 == 0 ? RTO : 1;
		req_on_timer(&from, now_ns);
		while (req_complete(&from, &m))
			;
		assert_true(from.n_again <= again.n && again.n <= REQ_AGAIN_PKTS);
		assert_true(from.nxt - from.una <= REQ_AGAIN_PKTS);
	}
	assert_true(from_stats.timeouts > 10 && from_stats.retransmissions > 10000);
}

// Responses that no responder gives: each byte is taken at most once, and none is asked for that
// was not requested.
static void hostile_responses_do_no_harm(void **state)
{
	uint64_t now_ns = 0, offset, taken = 0, posted = 0;
	struct roce_pkt k;
	struct req_msg m;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	start_reads();
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t bytes = rng_next(&rng) % (300 * MTU);
		uint32_t near = rng_next(&rng) % 2 ? rng_next(&rng) % 4
						    : rng_next(&rng) % (REORDER_PKTS + 64) - 32;
		uint32_t psn = psn_add(from.p.first_psn, from.una + near);

		if (req_post(&from, bytes, 0, now_ns))
			posted += bytes;
		for (unsigned n = rng_next(&rng) % 8; n > 0 && req_can_send(&from); n--) {
			req_peek(&from, &k, &offset);
			assert_true(offset + k.dma_len <= posted);
			req_sent(&from, &k, now_ns);
		}
		k = (struct roce_pkt){.opcode = RC_READ_RESPONSE_MIDDLE, .psn = psn,
				      .payload_len = rng_next(&rng) % 4 ? MTU
									: rng_next(&rng) % MTU};
		if (rng_next(&rng) % 4 == 0)
			req_on_trimmed(&from, psn);
		else if (req_on_read(&from, &k, now_ns, &offset) == REQ_READ_TAKEN)
			do {
				assert_int_equal(offset, taken % REGION);
				taken += k.payload_len;
			} while (req_take_held(&from, &k, now_ns, &offset));
		assert_true(from_window.n_asked + from_window.n_held <= REORDER_PKTS);
		assert_true(from.n_again <= again.n && again.n <= REQ_AGAIN_PKTS);
		now_ns += rng_next(&rng) % 2048 == 0 ? RTO : 1;
		req_on_timer(&from, now_ns);
		while (req_complete(&from, &m))
			;
	}
	assert_true(taken > 1000 * MTU && from_stats.timeouts > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_behind_a_gap_are_held),
		cmocka_unit_test(trimmed_packet_asks_for_itself_alone),
		cmocka_unit_test(naks_wait_for_packets_that_come),
		cmocka_unit_test(packet_lost_again_is_asked_for_again),
		cmocka_unit_test(gap_is_seen_long_after_another),
		cmocka_unit_test(timer_repeats_the_missing_packet_and_more_as_acks_come),
		cmocka_unit_test(trimmed_response_is_requested_alone),
		cmocka_unit_test(packets_that_are_missing_overtake_long_reads),
		cmocka_unit_test(requests_for_single_packets_leave_room_for_others),
		cmocka_unit_test(every_byte_is_taken_once_and_in_order),
		cmocka_unit_test(hostile_packets_do_no_harm),
		cmocka_unit_test(hostile_answers_do_no_harm),
		cmocka_unit_test(hostile_responses_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
