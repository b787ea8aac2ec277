// SPDX-License-Identifier: Apache-2.0
// One end of a TCP connection against sequences worked out by hand: RFC 5681, 6582, 6298, 3168 and
// 8257. A segment has 1,000 bytes; segment n is the nth of the stream, from 1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "drivers/nic/tcp.h"

enum { MSS = 1000, ISS = 0xfffffff0, PEER_ISS = 77, PEER_WINDOW = 50000, PEER_SCALE = 4 };
static const uint64_t us = 1000, ms = 1000000;

static struct tcp_params params(enum tcp_cc cc, bool ecn)
{
	return (struct tcp_params){.cc = (uint8_t)cc, .ecn = ecn, .mss = MSS, .ack_every = 2,
				   .initial_segments = 10, .window_bytes = 1 << 20, .g_num = 1,
				   .g_den = 16, .rto_min_ns = 10 * ms, .rto_initial_ns = 1000 * ms,
				   .delayed_ack_ns = ms};
}

static void offer(struct tcp *t, unsigned segments)
{
	tcp_offer(t, (uint64_t)segments * MSS, 100 * us);
}

// Sends all that may go; returns how many segments those were. *first: the number of the first.
static unsigned send_all(struct tcp *t, uint64_t now_ns, unsigned *first, uint8_t *flags)
{
	struct tcp_seg s;
	unsigned n = 0;

	for (; tcp_next(t, &s); n++) {
		if (n == 0 && first != NULL)
			*first = (unsigned)(s.offset / MSS) + 1;
		if (n == 0 && flags != NULL)
			*flags = s.flags;
		tcp_sent(t, &s, now_ns);
	}
	return n;
}

// All segments up to n have arrived.
static void ack(struct tcp *t, unsigned n, uint8_t flags, uint64_t now_ns)
{
	const struct tcp_seg s = {.seq = PEER_ISS + 1, .ack = ISS + 1 + n * MSS,
				  .window = PEER_WINDOW, .flags = TCP_ACK | flags, .scale = -1};

	tcp_on_segment(t, &s, false, now_ns);
}

// The SYN leaves at 0, its answer comes at 100 us.
static void open_sender(struct tcp *t, const struct tcp_params *p)
{
	struct tcp_seg s, answer = {.seq = PEER_ISS, .ack = ISS + 1, .window = 65535, .mss = MSS,
				    .scale = PEER_SCALE, .sack_ok = p->sack,
				    .flags = TCP_SYN | TCP_ACK | (p->ecn ? TCP_ECE : 0)};

	tcp_init(t, p, true, ISS);
	assert_true(tcp_next(t, &s));
	tcp_sent(t, &s, 0);
	tcp_on_segment(t, &answer, false, 100 * us);
	assert_true(tcp_next(t, &s));
	assert_int_equal(s.flags, TCP_ACK);
	tcp_sent(t, &s, 100 * us);
	assert_int_equal(t->phase, TCP_OPEN);
	ack(t, 0, 0, 100 * us); // the window of a SYN is not scaled
}

// ---- the handshake

static void a_syn_asks_for_ecn_and_its_answer_agrees(void **state)
{
	static const struct {
		bool asks, agrees;
	} rows[] = {{false, false}, {true, false}, {false, true}, {true, true}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct tcp_params a = params(TCP_NEWRENO, rows[i].asks);
		const struct tcp_params b = params(TCP_NEWRENO, rows[i].agrees);
		bool both = rows[i].asks && rows[i].agrees;
		struct tcp client, server;
		struct tcp_seg s;

		tcp_init(&client, &a, true, ISS);
		tcp_init(&server, &b, false, PEER_ISS);
		assert_false(tcp_next(&server, &s));
		assert_true(tcp_next(&client, &s));
		assert_int_equal(s.flags, TCP_SYN | (rows[i].asks ? TCP_ECE | TCP_CWR : 0));
		assert_int_equal(s.mss, MSS);
		assert_int_equal(s.scale, 5); // 2^20 >> 5 is the first that 16 bits hold
		assert_int_equal(s.window, 65535);
		assert_false(s.ect);
		tcp_sent(&client, &s, 0);
		tcp_on_segment(&server, &s, false, 1);
		assert_true(tcp_next(&server, &s));
		assert_int_equal(s.flags, TCP_SYN | TCP_ACK | (both ? TCP_ECE : 0));
		assert_int_equal(s.ack, ISS + 1);
		tcp_sent(&server, &s, 1);
		tcp_on_segment(&client, &s, false, 2);
		assert_true(tcp_next(&client, &s));
		assert_int_equal(s.flags, TCP_ACK);
		assert_int_equal(s.ack, PEER_ISS + 1);
		assert_int_equal(s.window, 32768);
		tcp_sent(&client, &s, 2);
		tcp_on_segment(&server, &s, false, 3);
		assert_int_equal(client.phase, TCP_OPEN);
		assert_int_equal(server.phase, TCP_OPEN);
		assert_int_equal(client.ecn, both);
		assert_int_equal(server.ecn, both);
	}
}

static void a_lost_syn_is_sent_again_after_the_initial_rto_and_leaves_one_segment(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp_seg answer = {.seq = PEER_ISS, .ack = ISS + 1, .window = 65535, .mss = MSS,
				 .scale = PEER_SCALE, .flags = TCP_SYN | TCP_ACK};
	struct tcp_seg s;
	struct tcp t;

	(void)state;
	tcp_init(&t, &p, true, ISS);
	send_all(&t, 0, NULL, NULL);
	assert_int_equal(tcp_deadline(&t), 1000 * ms);
	tcp_on_timer(&t, 1000 * ms);
	assert_true(tcp_next(&t, &s));
	assert_int_equal(s.flags, TCP_SYN);
	tcp_sent(&t, &s, 1000 * ms);
	assert_int_equal(tcp_deadline(&t), 3000 * ms); // backed off to 2 s
	tcp_on_segment(&t, &answer, false, 1001 * ms);
	assert_int_equal(t.cwnd, MSS); // RFC 5681, 3.1
	assert_int_equal(t.srtt_ns, 0); // Karn: which of both was answered?
	assert_int_equal(t.rto_ns, 2000 * ms);
}

// ---- RFC 5681

static void slow_start_grows_by_a_segment_for_each_ack(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;
	unsigned first;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	assert_int_equal(send_all(&t, 200 * us, &first, NULL), 10);
	assert_int_equal(first, 1);
	for (unsigned i = 1; i <= 5; i++) { // an ACK for two segments lets three go
		ack(&t, 2 * i, 0, 300 * us);
		assert_int_equal(t.cwnd, (10 + i) * MSS);
		assert_int_equal(send_all(&t, 300 * us, &first, NULL), 3);
		assert_int_equal(first, 8 + 3 * i);
	}
	for (unsigned i = 1; i <= 15; i++) { // one for each segment: two
		ack(&t, 10 + i, 0, 400 * us);
		assert_int_equal(t.cwnd, (15 + i) * MSS);
		assert_int_equal(send_all(&t, 400 * us, NULL, NULL), 2);
	}
}

static void a_sender_that_does_not_use_its_window_does_not_grow_it(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 8);
	assert_int_equal(send_all(&t, 200 * us, NULL, NULL), 8);
	ack(&t, 4, 0, 300 * us);
	ack(&t, 8, 0, 300 * us);
	assert_int_equal(t.cwnd, 10 * MSS);
}

static void congestion_avoidance_grows_by_a_segment_for_each_window(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	open_sender(&t, &p);
	t.ssthresh = 10 * MSS;
	offer(&t, 1000);
	send_all(&t, 200 * us, NULL, NULL);
	for (unsigned i = 1; i < 10; i++) {
		ack(&t, i, 0, 300 * us);
		send_all(&t, 300 * us, NULL, NULL);
		assert_int_equal(t.cwnd, 10 * MSS);
	}
	ack(&t, 10, 0, 300 * us);
	send_all(&t, 300 * us, NULL, NULL);
	assert_int_equal(t.cwnd, 11 * MSS);
	ack(&t, 20, 0, 400 * us);
	send_all(&t, 400 * us, NULL, NULL);
	assert_int_equal(t.cwnd, 11 * MSS); // 10,000 of 11,000 bytes
	ack(&t, 21, 0, 400 * us);
	assert_int_equal(t.cwnd, 12 * MSS);
}

static void the_window_is_the_initial_one_again_after_an_idle_rto(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 20);
	send_all(&t, 200 * us, NULL, NULL);
	for (unsigned i = 1; i <= 20; i++) {
		ack(&t, i, 0, 300 * us);
		send_all(&t, 300 * us, NULL, NULL);
	}
	assert_int_equal(t.cwnd, 16 * MSS); // five ACKs and one sent the twenty
	tcp_offer(&t, 21 * MSS, 300 * us + 10 * ms); // not longer than an RTO
	assert_int_equal(t.cwnd, 16 * MSS);
	send_all(&t, 300 * us + 10 * ms, NULL, NULL);
	ack(&t, 21, 0, 400 * us + 10 * ms);
	tcp_offer(&t, 22 * MSS, 301 * us + 20 * ms);
	assert_int_equal(t.cwnd, 10 * MSS);
}

// Segments 1 and 4 of ten are lost (RFC 6582, section 3.2).
static void newreno_sends_a_lost_segment_again_for_each_partial_ack(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;
	unsigned first;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	assert_int_equal(send_all(&t, 200 * us, NULL, NULL), 10);
	for (unsigned i = 0; i < 2; i++) { // of 2 and 3: limited transmit
		ack(&t, 0, 0, 300 * us);
		assert_int_equal(send_all(&t, 300 * us, &first, NULL), 1);
		assert_int_equal(first, 11 + i);
		assert_int_equal(t.cwnd, 10 * MSS);
	}
	ack(&t, 0, 0, 300 * us); // of 5
	assert_int_equal(t.ssthresh, 5 * MSS); // 11 and 12 do not count
	assert_int_equal(t.cwnd, 8 * MSS);
	assert_int_equal(send_all(&t, 300 * us, &first, NULL), 1);
	assert_int_equal(first, 1);
	for (unsigned i = 0; i < 4; i++) { // of 6 to 9: the window is inflated to the flight
		ack(&t, 0, 0, 300 * us);
		assert_int_equal(send_all(&t, 300 * us, NULL, NULL), 0);
	}
	for (unsigned i = 0; i < 3; i++) { // of 10, 11 and 12: one goes for each that left
		ack(&t, 0, 0, 300 * us);
		assert_int_equal(send_all(&t, 300 * us, &first, NULL), 1);
		assert_int_equal(first, 13 + i);
	}
	assert_int_equal(t.cwnd, 15 * MSS);
	ack(&t, 3, 0, 400 * us); // partial: of 1, and 4 is missing
	assert_int_equal(t.cwnd, 13 * MSS); // less 3,000, and a segment
	assert_int_equal(send_all(&t, 400 * us, &first, NULL), 2);
	assert_int_equal(first, 4); // and 16
	assert_true(t.in_recovery);
	ack(&t, 15, 0, 500 * us); // full
	assert_false(t.in_recovery);
	assert_int_equal(t.cwnd, 2 * MSS); // 16 is in flight, and a segment may go
	assert_int_equal(t.stats.retransmissions, 2);
	assert_int_equal(t.stats.fast_retransmits, 1);
	assert_int_equal(t.stats.timeouts, 0);
	assert_int_equal(t.stats.duplicate_acks, 10);
}

// Up to n have arrived, and what the blocks say: first and last segment of each, 0: none.
static void sack(struct tcp *t, unsigned n, const unsigned blocks[TCP_MAX_SACKS][2])
{
	struct tcp_seg s = {.seq = PEER_ISS + 1, .ack = ISS + 1 + n * MSS, .window = PEER_WINDOW,
			    .flags = TCP_ACK, .scale = -1};

	for (; s.n_sacks < TCP_MAX_SACKS && blocks[s.n_sacks][0] != 0; s.n_sacks++)
		s.sacks[s.n_sacks] =
			(struct tcp_block){ISS + 1 + (blocks[s.n_sacks][0] - 1) * MSS,
					   ISS + 1 + blocks[s.n_sacks][1] * MSS};
	tcp_on_segment(t, &s, false, 300 * us);
}

// Segments 1, 4 and 5 of ten are lost (RFC 6675, section 5). cwnd is 5 from the third duplicate on.
static void sack_sends_all_lost_segments_again_in_one_round_trip(void **state)
{
	// What has arrived, and the segment that goes.
	static const struct {
		unsigned ack, blocks[TCP_MAX_SACKS][2];
		unsigned goes;
	} rows[] = {
		{0, {{2, 2}}, 11}, // limited transmit
		{0, {{2, 3}}, 12},
		{0, {{6, 6}, {2, 3}}, 1}, // 1 is lost; 4, 5 and 7 to 12 are under way
		{0, {{6, 7}, {2, 3}}, 0}, // 1 is under way again
		{0, {{6, 8}, {2, 3}}, 0}, // three behind 4 and 5: they are lost
		{0, {{6, 9}, {2, 3}}, 4},
		{0, {{6, 10}, {2, 3}}, 5},
		{0, {{6, 11}, {2, 3}}, 13}, // no hole is left: new data
		{0, {{6, 12}, {2, 3}}, 14},
		{3, {{6, 12}}, 15}, // 1 came: 4, 5, 13 and 14 are under way
		{4, {{6, 12}}, 16},
		{12, {{0, 0}}, 17}, // all that was sent before the loss
	};
	struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	p.sack = true;
	open_sender(&t, &p);
	offer(&t, 1000);
	assert_int_equal(send_all(&t, 200 * us, NULL, NULL), 10);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned first = 0;

		sack(&t, rows[i].ack, rows[i].blocks);
		assert_int_equal(t.in_recovery, i >= 2 && i < 11);
		assert_int_equal(send_all(&t, 300 * us, &first, NULL), rows[i].goes != 0);
		assert_int_equal(first, rows[i].goes);
		if (i >= 2)
			assert_int_equal(t.cwnd, 5 * MSS);
	}
	assert_int_equal(t.stats.retransmissions, 3);
	assert_int_equal(t.stats.fast_retransmits, 1);
	assert_int_equal(t.stats.timeouts, 0);
}

static void only_the_first_partial_ack_restarts_the_timer(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	send_all(&t, ms, NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		ack(&t, 0, 0, 2 * ms);
	send_all(&t, 2 * ms, NULL, NULL);
	assert_int_equal(tcp_deadline(&t), 11 * ms);
	ack(&t, 2, 0, 3 * ms);
	assert_int_equal(tcp_deadline(&t), 13 * ms);
	send_all(&t, 3 * ms, NULL, NULL);
	ack(&t, 4, 0, 4 * ms);
	assert_int_equal(tcp_deadline(&t), 13 * ms);
}

// RFC 6582, 3.2, step 1: what was sent before the timeout causes no second recovery.
static void duplicates_of_what_a_timeout_sent_again_begin_no_recovery(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	send_all(&t, ms, NULL, NULL);
	tcp_on_timer(&t, 11 * ms);
	assert_int_equal(send_all(&t, 11 * ms, NULL, NULL), 1);
	ack(&t, 10, 0, 12 * ms); // all ten were there
	send_all(&t, 12 * ms, NULL, NULL);
	for (unsigned i = 0; i < 5; i++)
		ack(&t, 10, 0, 12 * ms);
	assert_int_equal(t.stats.fast_retransmits, 0);
	ack(&t, 11, 0, 13 * ms);
	send_all(&t, 13 * ms, NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		ack(&t, 11, 0, 13 * ms);
	assert_int_equal(t.stats.fast_retransmits, 1);
}

// ---- RFC 6298

static void the_rto_follows_the_round_trips(void **state)
{
	// Round trip in us, then SRTT, RTTVAR and RTO in ns after it.
	static const struct {
		unsigned rtt_us;
		uint64_t srtt, rttvar, rto;
	} rows[] = {{1000, 212500, 262500, 1262500},
		    {212, 212437, 197000, 1000437},
		    {20000, 2685882, 5094640, 23064442}};
	struct tcp_params p = params(TCP_NEWRENO, false);
	uint64_t now_ns = 0;
	struct tcp t;

	(void)state;
	p.rto_min_ns = ms;
	open_sender(&t, &p);
	assert_int_equal(t.srtt_ns, 100 * us);
	assert_int_equal(t.rttvar_ns, 50 * us);
	assert_int_equal(t.rto_ns, ms); // 300 us is below the least
	for (unsigned i = 0; i < 3; i++) {
		offer(&t, i + 1);
		send_all(&t, now_ns, NULL, NULL);
		now_ns += rows[i].rtt_us * us;
		ack(&t, i + 1, 0, now_ns);
		assert_int_equal(t.srtt_ns, rows[i].srtt);
		assert_int_equal(t.rttvar_ns, rows[i].rttvar);
		assert_int_equal(t.rto_ns, rows[i].rto);
	}
}

static void each_timeout_doubles_the_rto_and_only_the_first_halves_ssthresh(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	uint64_t now_ns = 200 * us, rto = 10 * ms;
	struct tcp t;
	unsigned first;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	send_all(&t, now_ns, NULL, NULL);
	for (unsigned i = 0; i < 14; i++) {
		assert_int_equal(tcp_deadline(&t), now_ns + rto);
		tcp_on_timer(&t, now_ns + rto - 1);
		assert_int_equal(t.stats.timeouts, i);
		now_ns += rto;
		tcp_on_timer(&t, now_ns);
		assert_int_equal(t.cwnd, MSS);
		assert_int_equal(t.ssthresh, 5 * MSS);
		assert_int_equal(send_all(&t, now_ns, &first, NULL), 1);
		assert_int_equal(first, 1);
		rto = 2 * rto < 60000 * ms ? 2 * rto : 60000 * ms;
	}
	ack(&t, 1, 0, now_ns + 1); // Karn: no sample, the RTO stays
	assert_int_equal(t.rto_ns, 60000 * ms);
	assert_int_equal(t.cwnd, 2 * MSS); // slow start
	assert_int_equal(send_all(&t, now_ns + 1, &first, NULL), 2);
	assert_int_equal(first, 2);
}

// ---- the receiver

static void open_receiver(struct tcp *t, const struct tcp_params *p)
{
	struct tcp_seg s = {.seq = ISS, .window = 65535, .mss = MSS, .scale = PEER_SCALE,
			    .sack_ok = p->sack,
			    .flags = TCP_SYN | (p->ecn ? TCP_ECE | TCP_CWR : 0)};

	tcp_init(t, p, false, PEER_ISS);
	tcp_on_segment(t, &s, false, 0);
	assert_true(tcp_next(t, &s));
	tcp_sent(t, &s, 0);
	s = (struct tcp_seg){.seq = ISS + 1, .ack = PEER_ISS + 1, .window = PEER_WINDOW,
			     .flags = TCP_ACK, .scale = -1};
	tcp_on_segment(t, &s, false, 0);
}

// Segment n arrives; returns the ACKs that leave as "2 4e": up to which segment, e: with ECE.
static const char *arrive(struct tcp *t, unsigned n, bool ce, uint8_t flags, uint64_t now_ns)
{
	const struct tcp_seg data = {.seq = ISS + 1 + (n - 1) * MSS, .ack = PEER_ISS + 1,
				     .window = PEER_WINDOW, .len = MSS, .scale = -1,
				     .flags = TCP_ACK | flags};
	static char text[64];
	struct tcp_seg s;
	size_t at = 0;

	tcp_on_segment(t, &data, ce, now_ns);
	text[0] = '\0';
	while (tcp_next(t, &s)) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u%s", at != 0 ? " " : "",
				       (s.ack - ISS - 1) / MSS, s.flags & TCP_ECE ? "e" : "");
		assert_int_equal(s.len, 0);
		tcp_sent(t, &s, now_ns);
	}
	return text;
}

static void every_second_segment_is_acknowledged_and_gaps_are_at_once(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	static const struct {
		unsigned n;
		uint8_t flags;
		const char *acks;
	} rows[] = {
		{1, 0, ""}, {2, 0, "2"}, {3, 0, ""}, {5, 0, "3"}, {6, 0, "3"}, {8, 0, "3"},
		{4, 0, "6"}, {4, 0, "6"}, {7, 0, "8"}, {9, 0, ""}, {10, TCP_PSH, "10"},
		{11, TCP_PSH, "11"},
	};
	struct tcp t;

	(void)state;
	open_receiver(&t, &p);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(arrive(&t, rows[i].n, false, rows[i].flags, 0), rows[i].acks);
	assert_int_equal(tcp_received(&t), 11 * MSS);
	assert_int_equal(t.stats.duplicates, 1);
	assert_int_equal(t.stats.out_of_order, 3);
}

// The block of the segment that came stands first (RFC 2018, section 4).
static void what_came_behind_gaps_is_told_in_blocks(void **state)
{
	static const struct {
		unsigned n, n_blocks, blocks[TCP_MAX_SACKS][2];
	} rows[] = {
		{3, 1, {{3, 3}}},
		{5, 2, {{5, 5}, {3, 3}}},
		{9, 3, {{9, 9}, {5, 5}, {3, 3}}},
		{7, 3, {{7, 7}, {9, 9}, {5, 5}}},
		{4, 3, {{3, 5}, {9, 9}, {7, 7}}},
		{1, 3, {{3, 5}, {9, 9}, {7, 7}}},
		{2, 2, {{9, 9}, {7, 7}}},
	};
	struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp t;

	(void)state;
	for (unsigned how = 0; how < 2; how++) {
		p.sack = how == 1;
		open_receiver(&t, &p);
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct tcp_seg data = {.seq = ISS + 1 + (rows[i].n - 1) * MSS,
						     .ack = PEER_ISS + 1, .window = PEER_WINDOW,
						     .len = MSS, .scale = -1, .flags = TCP_ACK};
			struct tcp_seg s;

			tcp_on_segment(&t, &data, false, 0);
			assert_true(tcp_next(&t, &s));
			assert_int_equal(s.n_sacks, p.sack ? rows[i].n_blocks : 0);
			for (unsigned k = 0; k < s.n_sacks; k++) {
				assert_int_equal(s.sacks[k].begin,
						 ISS + 1 + (rows[i].blocks[k][0] - 1) * MSS);
				assert_int_equal(s.sacks[k].end,
						 ISS + 1 + rows[i].blocks[k][1] * MSS);
			}
			tcp_sent(&t, &s, 0);
		}
	}
}

static void a_delayed_ack_waits_for_its_time(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	struct tcp_seg s;
	struct tcp t;

	(void)state;
	open_receiver(&t, &p);
	assert_string_equal(arrive(&t, 1, false, 0, 5 * us), "");
	assert_int_equal(tcp_deadline(&t), 5 * us + ms);
	tcp_on_timer(&t, 5 * us + ms - 1);
	assert_false(tcp_next(&t, &s));
	tcp_on_timer(&t, 5 * us + ms);
	assert_true(tcp_next(&t, &s));
	assert_int_equal(s.ack, ISS + 1 + MSS);
	tcp_sent(&t, &s, 5 * us + ms);
	assert_int_equal(tcp_deadline(&t), UINT64_MAX);
}

// ---- ECN

static void ece_is_echoed_until_cwr(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, true);
	static const struct {
		bool ce;
		uint8_t flags;
		const char *acks;
	} rows[] = {
		{false, 0, ""}, {true, 0, "2e"}, {false, 0, ""}, {false, 0, "4e"},
		{false, TCP_CWR, ""}, {false, 0, "6"}, {true, TCP_CWR, ""}, {false, 0, "8e"},
	};
	struct tcp t;

	(void)state;
	open_receiver(&t, &p);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(arrive(&t, i + 1, rows[i].ce, rows[i].flags, 0),
				    rows[i].acks);
}

static void newreno_reacts_to_ece_once_a_window(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, true);
	struct tcp t;
	uint8_t flags;

	(void)state;
	open_sender(&t, &p);
	offer(&t, 1000);
	send_all(&t, 200 * us, NULL, NULL);
	ack(&t, 2, TCP_ECE, 300 * us);
	assert_int_equal(t.cwnd, 5 * MSS);
	assert_int_equal(t.ssthresh, 5 * MSS);
	for (unsigned i = 3; i <= 10; i++) { // all of the window that was under way
		ack(&t, i, TCP_ECE, 300 * us);
		assert_int_equal(t.cwnd, 5 * MSS); // and none of them lets it grow
		if (i == 6) { // the first new segment says that the window was reduced
			assert_int_equal(send_all(&t, 300 * us, NULL, &flags), 1);
			assert_int_equal(flags, TCP_ACK | TCP_CWR);
		} else if (i > 6) {
			assert_int_equal(send_all(&t, 300 * us, NULL, &flags), 1);
			assert_int_equal(flags, TCP_ACK);
		}
	}
	ack(&t, 11, TCP_ECE, 400 * us);
	assert_int_equal(t.cwnd, 2500);
	assert_int_equal(t.stats.ecn_cuts, 2);
	assert_int_equal(t.stats.ece_received, 10);
}

static void data_is_ect_and_what_is_sent_again_is_not_but_of_dctcp(void **state)
{
	(void)state;
	for (unsigned cc = 0; cc < N_TCP_CCS; cc++) {
		const struct tcp_params p = params((enum tcp_cc)cc, true);
		struct tcp_seg s;
		struct tcp t;

		open_sender(&t, &p);
		offer(&t, 1000);
		assert_true(tcp_next(&t, &s));
		assert_true(s.ect);
		send_all(&t, 200 * us, NULL, NULL);
		tcp_on_timer(&t, 300 * us + 10 * ms);
		assert_true(tcp_next(&t, &s));
		assert_int_equal(s.offset, 0);
		assert_int_equal(s.ect, cc == TCP_DCTCP);
	}
}

// ---- DCTCP

// RFC 8257, 3.2, two segments an ACK: when CE changes, the run before it is acknowledged.
static void dctcp_echoes_ce_of_just_the_segments_that_had_it(void **state)
{
	const struct tcp_params p = params(TCP_DCTCP, true);
	static const struct {
		bool ce;
		const char *acks;
	} rows[] = {
		{false, ""}, {false, "2"}, // a run of 0: every second
		{true, "3e"}, {true, ""}, {true, "5e"}, // nothing waits: the first 1 at once
		{true, ""}, {false, "6e 7"}, // 6 waits: it is told as marked, 7 as not
		{false, ""}, {true, "8 9e"}, {false, "10"}, {true, "11e"},
	};
	struct tcp t;

	(void)state;
	open_receiver(&t, &p);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(arrive(&t, i + 1, rows[i].ce, 0, 0), rows[i].acks);
}

static void dctcp_estimates_alpha_once_a_window_and_cuts_by_half_of_it(void **state)
{
	const struct tcp_params p = params(TCP_DCTCP, true);
	const uint32_t one = 1u << TCP_ALPHA_Q;
	struct tcp t;
	uint64_t alpha, cwnd;

	(void)state;
	open_sender(&t, &p);
	t.ssthresh = 10 * MSS; // congestion avoidance
	assert_int_equal(t.alpha, one);
	offer(&t, 1000);
	send_all(&t, 200 * us, NULL, NULL);
	ack(&t, 1, 0, 300 * us); // ends the first window: no byte of it was marked
	alpha = one - one / 16;
	assert_int_equal(t.alpha, alpha);
	assert_int_equal(t.window_end, 1 + 10 * MSS);
	send_all(&t, 300 * us, NULL, NULL); // 11
	for (unsigned i = 2; i <= 7; i++) {
		ack(&t, i, 0, 300 * us);
		send_all(&t, 300 * us, NULL, NULL);
	}
	assert_int_equal(t.cwnd, 10 * MSS);
	ack(&t, 8, TCP_ECE, 300 * us); // the first mark: cut by the alpha that there is
	cwnd = 10 * MSS - 10 * MSS * 15 / 32;
	assert_int_equal(t.cwnd, cwnd); // 5,313
	assert_int_equal(t.ssthresh, cwnd);
	ack(&t, 9, TCP_ECE, 300 * us);
	ack(&t, 10, 0, 300 * us);
	assert_int_equal(t.alpha, alpha); // byte 10,000 is the last of the window
	assert_int_equal(t.cwnd, cwnd); // once a window
	ack(&t, 11, 0, 300 * us); // two of ten segments were marked: M = 2/10 of 2 to 11
	alpha = alpha - (alpha - (uint64_t)one * 2 / 10) / 16;
	assert_in_range(t.alpha, alpha - 1, alpha + 1);
	assert_int_equal(t.stats.ecn_cuts, 1);
}

// alpha of windows in which a fixed share is marked comes to be that share: (15/16)^n is left.
static void dctcp_alpha_comes_to_be_the_share_of_marks(void **state)
{
	const struct tcp_params p = params(TCP_DCTCP, true);
	double expected = 1;
	struct tcp t;
	unsigned n = 0;

	(void)state;
	open_sender(&t, &p);
	t.ssthresh = 10 * MSS;
	t.peer_window = 10 * MSS;
	offer(&t, 10000);
	for (unsigned w = 0; w < 60; w++) {
		send_all(&t, (w + 1) * ms, NULL, NULL);
		// A window of ten: its first segment ends the one before.
		t.cwnd = 10 * MSS;
		for (unsigned i = 0; i < 10; i++)
			ack(&t, ++n, i < 4 && w > 0 ? TCP_ECE : 0, (w + 1) * ms);
		t.cwnd = 10 * MSS;
	}
	for (unsigned w = 1; w <= 60; w++)
		expected += ((w == 1 ? 0 : w == 2 ? 0.1 : 0.4) - expected) / 16;
	assert_in_range(t.alpha, (uint64_t)(expected * (1 << TCP_ALPHA_Q)) - 100,
			(uint64_t)(expected * (1 << TCP_ALPHA_Q)) + 100);
}

// ---- a hostile peer

static void assert_ranges(const struct tcp_ranges *r, uint64_t above, uint64_t most)
{
	assert_true(r->n <= TCP_MAX_RANGES);
	for (uint32_t i = 0; i < r->n; i++) {
		assert_true(r->at[i].begin < r->at[i].end && r->at[i].end <= most);
		assert_true(r->at[i].begin > (i == 0 ? above : r->at[i - 1].end));
	}
}

static void assert_holds(const struct tcp *t)
{
	assert_true(t->una <= t->nxt && t->nxt <= t->max && t->max <= t->end);
	assert_true(t->cwnd != 0 && t->cwnd <= TCP_MAX_WINDOW + 3u * MSS);
	assert_true(t->alpha <= 1u << TCP_ALPHA_Q);
	assert_true(t->n_acks <= TCP_MAX_ACKS);
	assert_ranges(&t->kept, t->rcv_nxt, t->rcv_nxt + t->p.window_bytes);
	assert_ranges(&t->sacked, t->una, t->max);
}

static uint32_t near(struct rng *r, uint32_t at)
{
	return at + (rng_next(r) % 8 == 0 ? rng_next(r) : rng_next(r) % (40 * MSS) - 20 * MSS);
}

static void attack(struct tcp *t, struct rng *r, uint64_t now_ns)
{
	static const uint8_t flags[] = {TCP_ACK, TCP_ACK, TCP_ACK, TCP_ACK | TCP_ECE, 0,
					TCP_ACK | TCP_CWR | TCP_PSH, TCP_SYN, TCP_SYN | TCP_ACK,
					TCP_RST, TCP_FIN | TCP_ACK, 0xff};
	bool repeat = rng_next(r) % 2;
	const struct tcp_seg s = {
		.seq = near(r, t->irs + (uint32_t)t->rcv_nxt),
		.ack = repeat ? t->iss + (uint32_t)t->una : near(r, t->iss + (uint32_t)t->nxt),
		.window = repeat ? 50000 : (uint16_t)rng_next(r),
		.flags = flags[rng_next(r) % sizeof(flags)],
		.mss = (uint16_t)(rng_next(r) % 3 * 500),
		.scale = (int8_t)(rng_next(r) % 130 - 1),
		.sack_ok = true,
		.len = rng_next(r) % 3 == 0 ? rng_next(r) % (3 * MSS) : 0,
		.n_sacks = (uint8_t)(rng_next(r) % 4),
		.sacks = {{near(r, t->iss + (uint32_t)t->una), near(r, t->iss + (uint32_t)t->max)},
			  {near(r, t->iss + (uint32_t)t->una), near(r, t->iss + (uint32_t)t->max)},
			  {near(r, t->iss + (uint32_t)t->una), near(r, t->iss + (uint32_t)t->max)}},
	};

	tcp_on_segment(t, &s, rng_next(r) % 4 == 0, now_ns);
}

static void an_answer_to_a_syn_that_has_not_left_is_ignored(void **state)
{
	const struct tcp_params p = params(TCP_NEWRENO, false);
	const struct tcp_seg syn = {.seq = ISS, .window = 65535, .scale = -1, .flags = TCP_SYN};
	const struct tcp_seg guessed = {.seq = ISS + 1, .ack = PEER_ISS + 1, .window = 1000,
					.flags = TCP_ACK, .scale = -1};
	struct tcp t;

	(void)state;
	tcp_init(&t, &p, false, PEER_ISS);
	tcp_on_segment(&t, &syn, false, 0);
	tcp_on_segment(&t, &guessed, false, 0);
	assert_int_equal(t.phase, TCP_SYN_RCVD);
	assert_int_equal(t.stats.ignored, 1);
	assert_holds(&t);
	assert_int_equal(send_all(&t, 0, NULL, NULL), 1);
	tcp_on_segment(&t, &guessed, false, 0);
	assert_int_equal(t.phase, TCP_OPEN);
	assert_holds(&t);
}

static void whatever_arrives_positions_and_windows_hold(void **state)
{
	struct rng r;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct tcp_params p = params(seed % 2 ? TCP_DCTCP : TCP_NEWRENO, seed % 3);
		uint64_t now_ns = 0, offered = 0;
		struct tcp_seg s;
		struct tcp t;

		p.sack = seed % 4 < 2;
		rng_init(&r, seed);
		tcp_init(&t, &p, seed % 5 != 0, (uint32_t)rng_next(&r));
		for (unsigned i = 0; i < 2000; i++) {
			now_ns += rng_next(&r) % (200 * us);
			offered += rng_next(&r) % (2 * MSS);
			tcp_offer(&t, offered, now_ns);
			attack(&t, &r, now_ns);
			if (tcp_deadline(&t) <= now_ns)
				tcp_on_timer(&t, now_ns);
			for (unsigned n = 0; n < 5 && tcp_next(&t, &s); n++)
				tcp_sent(&t, &s, now_ns);
			assert_holds(&t);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_syn_asks_for_ecn_and_its_answer_agrees),
		cmocka_unit_test(
			a_lost_syn_is_sent_again_after_the_initial_rto_and_leaves_one_segment),
		cmocka_unit_test(slow_start_grows_by_a_segment_for_each_ack),
		cmocka_unit_test(a_sender_that_does_not_use_its_window_does_not_grow_it),
		cmocka_unit_test(congestion_avoidance_grows_by_a_segment_for_each_window),
		cmocka_unit_test(the_window_is_the_initial_one_again_after_an_idle_rto),
		cmocka_unit_test(newreno_sends_a_lost_segment_again_for_each_partial_ack),
		cmocka_unit_test(sack_sends_all_lost_segments_again_in_one_round_trip),
		cmocka_unit_test(what_came_behind_gaps_is_told_in_blocks),
		cmocka_unit_test(only_the_first_partial_ack_restarts_the_timer),
		cmocka_unit_test(duplicates_of_what_a_timeout_sent_again_begin_no_recovery),
		cmocka_unit_test(the_rto_follows_the_round_trips),
		cmocka_unit_test(each_timeout_doubles_the_rto_and_only_the_first_halves_ssthresh),
		cmocka_unit_test(every_second_segment_is_acknowledged_and_gaps_are_at_once),
		cmocka_unit_test(a_delayed_ack_waits_for_its_time),
		cmocka_unit_test(ece_is_echoed_until_cwr),
		cmocka_unit_test(newreno_reacts_to_ece_once_a_window),
		cmocka_unit_test(data_is_ect_and_what_is_sent_again_is_not_but_of_dctcp),
		cmocka_unit_test(dctcp_echoes_ce_of_just_the_segments_that_had_it),
		cmocka_unit_test(dctcp_estimates_alpha_once_a_window_and_cuts_by_half_of_it),
		cmocka_unit_test(dctcp_alpha_comes_to_be_the_share_of_marks),
		cmocka_unit_test(an_answer_to_a_syn_that_has_not_left_is_ignored),
		cmocka_unit_test(whatever_arrives_positions_and_windows_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
