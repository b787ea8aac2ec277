// SPDX-License-Identifier: Apache-2.0
// What a NIC does to its link: pacing, fairness, obedience to PFC, storms, connections, and
// hostile frames.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/icrc.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/packet/wire.h"
#include "tests/lab/nic/loop.h"

static const uint64_t second = 1000000000;
static const uint64_t gbps = 1000000000;

enum { LINK_OVERHEAD = 24 };

// What side 0 sent of each class in a window of time.
struct window {
	uint64_t from_ns, to_ns;
	uint64_t bytes[8], frames[8]; // link bytes
	uint64_t first_ns[8];
};

static void window_tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	struct window *w = arg;
	struct pkt_info info;

	if (from != 0 || t_ns < w->from_ns || t_ns >= w->to_ns || !parse(frame, len, &info) ||
	    !info.roce)
		return;
	if (w->frames[info.dscp >> 3]++ == 0)
		w->first_ns[info.dscp >> 3] = t_ns;
	w->bytes[info.dscp >> 3] += len + LINK_OVERHEAD;
}

static uint32_t add(struct loop *l, uint8_t op, uint8_t cls, uint64_t rate_bps)
{
	const struct nic_flow f = {.dst_ip = ip_key_v4(LOOP_IP1), .op = op, .cls = cls,
				   .msg_bytes = 65536, .mtu = 1024, .rate_bps = rate_bps,
				   .first_psn = NIC_RANDOM_PSN};
	uint32_t id;

	assert_int_equal(nic_flow_add(l->nic[0], &f, &id), 0);
	return id;
}

static void assert_rate(uint64_t bytes, uint64_t ns, uint64_t want_bps)
{
	uint64_t bps = bytes * 8 * 1000 / (ns / 1000) * 1000;

	if (bps < want_bps - want_bps / 1000 || bps > want_bps + want_bps / 1000)
		fail_msg("%lu b/s instead of %lu", (unsigned long)bps, (unsigned long)want_bps);
}

static void rate_is_exact(void **state)
{
	static const uint64_t rate[] = {500000000, 1234567890, 10000000000, 39000000000, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(rate) / sizeof(rate[0]); i++) {
		struct window w = {.from_ns = 1000000, .to_ns = 21000000};
		struct loop l;

		loop_up(&l, 1, NULL);
		l.tap = window_tap;
		l.tap_arg = &w;
		add(&l, REQ_WRITE, 3, rate[i]);
		loop_run(&l, w.to_ns, 0);
		assert_rate(w.bytes[3], w.to_ns - w.from_ns,
			    rate[i] != 0 ? rate[i] : 100 * gbps);
		loop_down(&l);
	}
}

static void rates_of_several_queue_pairs_add_up(void **state)
{
	struct window w = {.from_ns = 1000000, .to_ns = 21000000};
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.tap = window_tap;
	l.tap_arg = &w;
	for (unsigned i = 0; i < 9; i++)
		add(&l, REQ_WRITE, 3, 11 * gbps);
	loop_run(&l, w.to_ns, 0);
	assert_rate(w.bytes[3], w.to_ns - w.from_ns, 99 * gbps);
	loop_down(&l);
}

static void queue_pairs_and_classes_take_turns(void **state)
{
	struct window w = {.from_ns = 1000000, .to_ns = 11000000};
	struct nic_flow_status s[16];
	uint32_t ids[16];
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.tap = window_tap;
	l.tap_arg = &w;
	for (unsigned i = 0; i < 16; i++)
		ids[i] = add(&l, REQ_WRITE, 3, 0);
	add(&l, REQ_WRITE, 5, 0);
	loop_run(&l, w.to_ns, 0);
	// Classes first, then the queue pairs within: class 5 has one, class 3 sixteen.
	assert_rate(w.bytes[3], w.to_ns - w.from_ns, 50 * gbps);
	assert_rate(w.bytes[5], w.to_ns - w.from_ns, 50 * gbps);
	for (unsigned i = 0; i < 16; i++) {
		s[i] = nic_flow_status(l.nic[0], ids[i]);
		assert_in_range(s[i].posted, s[0].posted - 1, s[0].posted + 1);
	}
	loop_down(&l);
}

static void pause(struct loop *l, unsigned side, uint8_t classes, uint16_t quanta)
{
	static const uint8_t mac[6] = {2, 9, 9, 9, 9, 9};
	struct pfc_times f = {.enable = classes};
	uint8_t frame[PFC_FRAME_LEN];

	for (unsigned c = 0; c < 8; c++)
		f.quanta[c] = quanta;
	pfc_frame_build(frame, mac, &f);
	loop_inject(l, side, frame, sizeof(frame));
}

static void paused_class_sends_nothing_until_the_quanta_run_out(void **state)
{
	// 1000 quanta of 512 bits at 100 Gb/s.
	const uint64_t lasts = 1000 * 512 / 100, at = 2000000;
	struct window during = {.from_ns = at, .to_ns = at + lasts};
	struct window after = {.from_ns = at + lasts, .to_ns = at + lasts + 10000};
	const struct pfc_class_stats *st;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	add(&l, REQ_WRITE, 3, 0);
	add(&l, REQ_WRITE, 5, 0);
	loop_run(&l, at, 0);
	l.tap = window_tap;
	l.tap_arg = &during;
	pause(&l, 0, 1u << 3, 1000);
	loop_run(&l, during.to_ns, 0);
	l.tap_arg = &after;
	loop_run(&l, after.to_ns, 0);
	assert_int_equal(during.frames[3], 0);
	assert_true(during.bytes[5] * 8 > lasts * 100 * 98 / 100);
	// Its turn comes with the frame on the line, at most.
	assert_in_range(after.first_ns[3], at + lasts, at + lasts + 100);
	st = &nic_pfc_rx(l.nic[0])->stats[3];
	assert_int_equal(ctr_get(&st->frames), 1);
	assert_int_equal(ctr_get(&st->duration_ns), lasts);
	assert_int_equal(ctr_get(&st->transitions), 1);
	loop_down(&l);
}

static void xon_resumes_at_once(void **state)
{
	struct window w = {.from_ns = 2000000, .to_ns = 3000000};
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	add(&l, REQ_WRITE, 3, 0);
	loop_run(&l, 2000000, 0);
	l.tap = window_tap;
	l.tap_arg = &w;
	pause(&l, 0, 1u << 3, 65535);
	loop_run(&l, 2050000, 0);
	assert_int_equal(w.frames[3], 0);
	pause(&l, 0, 1u << 3, 0);
	loop_run(&l, 2100000, 0);
	assert_int_equal(w.first_ns[3], 2050000);
	loop_down(&l);
}

static void acks_of_a_paused_class_wait_too(void **state)
{
	uint32_t id;
	struct loop l;
	struct nic_stats before;

	(void)state;
	loop_up(&l, 1, NULL);
	id = add(&l, REQ_WRITE, 3, gbps);
	loop_run(&l, 2000000, 0);
	before = loop_stats(&l, 1);
	pause(&l, 1, 1u << 3, 65535);
	loop_run(&l, 2300000, 0);
	assert_int_equal(loop_stats(&l, 1).tx_frames, before.tx_frames);
	pause(&l, 1, 1u << 3, 0);
	loop_run(&l, 2400000, 0);
	assert_true(loop_stats(&l, 1).tx_frames > before.tx_frames);
	nic_flow_stop(l.nic[0], id);
	assert_true(loop_finish(&l, &id, 1, second));
	loop_down(&l);
}

static void pauses_in_the_middle_lose_nothing(void **state)
{
	struct rng rng = {.state = 9};
	uint32_t ids[8];
	struct nic_stats a, b;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	for (unsigned i = 0; i < 8; i++)
		ids[i] = add(&l, (uint8_t)(i % 3), i & 1 ? 3 : 5, 0);
	for (unsigned i = 0; i < 400; i++) {
		loop_run(&l, l.now_ns + rng_next(&rng) % 20000, 0);
		pause(&l, rng_next(&rng) & 1, 1u << 3 | 1u << 5,
		      (uint16_t)(rng_next(&rng) % 5000));
	}
	for (unsigned i = 0; i < 8; i++)
		nic_flow_stop(l.nic[0], ids[i]);
	assert_true(loop_finish(&l, ids, 8, second));
	a = loop_stats(&l, 0);
	b = loop_stats(&l, 1);
	assert_int_equal(a.messages_posted, a.messages_completed);
	assert_int_equal(a.retransmissions + a.timeouts + a.out_of_sequence + b.out_of_sequence, 0);
	assert_int_equal(a.payload_errors + b.payload_errors, 0);
	for (unsigned c = 0; c < 8; c++) {
		assert_int_equal(a.cls[c].tx_packets, b.cls[c].rx_packets);
		assert_int_equal(b.cls[c].tx_packets, a.cls[c].rx_packets);
	}
	loop_down(&l);
}

static void ignore_pause(unsigned side, struct nic_config *c)
{
	c->ignore_pause = side == 0;
}

static void nic_that_ignores_pause_counts_pauses_and_goes_on(void **state)
{
	struct window w = {.from_ns = 2000000, .to_ns = 2100000};
	struct loop l;

	(void)state;
	loop_up(&l, 1, ignore_pause);
	add(&l, REQ_WRITE, 3, 0);
	loop_run(&l, w.from_ns, 0);
	l.tap = window_tap;
	l.tap_arg = &w;
	pause(&l, 0, 1u << 3, 65535);
	loop_run(&l, w.to_ns, 0);
	assert_rate(w.bytes[3], w.to_ns - w.from_ns, 100 * gbps);
	assert_int_equal(ctr_get(&nic_pfc_rx(l.nic[0])->stats[3].frames), 1);
	loop_down(&l);
}

// ---- storms

struct pauses {
	uint64_t n, first_ns, last_ns, xon_ns;
	uint16_t quanta;
};

static void pause_tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	struct pauses *p = arg;
	struct pfc_times f;

	if (from != 0 || be16_get(frame + 12) != ETYPE_MAC_CONTROL)
		return;
	assert_int_equal(len, PFC_FRAME_LEN);
	assert_int_equal(mac_ctrl_parse(frame, len, &f), MAC_CTRL_PFC);
	assert_int_equal(f.enable, 1u << 3);
	if (f.quanta[3] == 0) {
		p->xon_ns = t_ns;
		return;
	}
	p->quanta = f.quanta[3];
	if (p->n++ == 0)
		p->first_ns = t_ns;
	p->last_ns = t_ns;
}

static void storm_keeps_its_times(void **state)
{
	const struct storm_params storm = {.classes = 1u << 3, .quanta = 65535,
					   .start_ns = 1000000, .every_ns = 100000,
					   .for_ns = 5000000};
	struct pauses p = {0};
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	add(&l, REQ_WRITE, 3, 0);
	l.tap = pause_tap;
	l.tap_arg = &p;
	nic_storm_start(l.nic[0], &storm);
	loop_run(&l, 10000000, 0);
	assert_int_equal(p.n, 50);
	assert_int_equal(p.quanta, 65535);
	assert_int_equal(p.first_ns, 1000000);
	assert_int_equal(p.last_ns, 5900000);
	assert_int_equal(p.xon_ns, 6000000);
	assert_true(nic_storm_over(l.nic[0]));
	assert_int_equal(ctr_get(&nic_pfc_tx(l.nic[0])->stats[3].frames), 51);
	assert_int_equal(ctr_get(&nic_pfc_tx(l.nic[0])->stats[3].duration_ns), 5000000);
	// 100 us apart they hold the class (a PAUSE lasts 335 us) until the XON arrives.
	assert_int_equal(ctr_get(&nic_pfc_rx(l.nic[1])->stats[3].duration_ns), 5000000);
	loop_down(&l);
}

static void silent_storm_ends_without_xon(void **state)
{
	const struct storm_params storm = {.classes = 1u << 3, .quanta = 100, .start_ns = 1000,
					   .every_ns = 1000, .for_ns = 3500, .silent_end = true};
	struct pauses p = {0};
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.tap = pause_tap;
	l.tap_arg = &p;
	nic_storm_start(l.nic[0], &storm);
	loop_run(&l, 100000, 0);
	assert_int_equal(p.n, 4);
	assert_int_equal(p.last_ns, 4000);
	assert_int_equal(p.xon_ns, 0);
	loop_down(&l);
}

// ---- connections

static void connections_survive_a_bad_link(void **state)
{
	uint32_t ids[32];
	struct loop l;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		loop_up(&l, seed, NULL);
		l.faults = (struct loop_faults){.loss = 2, .repeat = 3};
		for (unsigned i = 0; i < 32; i++) {
			const struct nic_flow f = {.dst_ip = ip_key_v4(LOOP_IP1), .cls = 3,
						   .msg_bytes = 100, .n_messages = 3, .mtu = 256,
						   .first_psn = NIC_RANDOM_PSN};

			assert_int_equal(nic_flow_add(l.nic[0], &f, &ids[i]), 0);
		}
		assert_true(loop_finish(&l, ids, 32, 10 * second));
		for (unsigned i = 0; i < 32; i++)
			nic_flow_close(l.nic[0], ids[i]);
		loop_run(&l, l.now_ns + second, 0);
		assert_int_equal(loop_stats(&l, 1).messages_served, 96);
		loop_down(&l);
	}
}

// PSNs in the bytes of the frames, at the offsets of InfiniBand Architecture volume 1, 12.6.
struct starts {
	uint32_t stated, first; // Starting PSN of REP; PSN of the first frame of side 0
	bool has_first;
};

static void starts_tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	const uint32_t bth = 42, mad = bth + 12 + 8;
	struct starts *s = arg;

	(void)t_ns;
	if (len < bth + 12 || be16_get(frame + 12) != 0x0800)
		return;
	if (from == 1 && be24_get(frame + bth + 5) == 1 && be16_get(frame + mad + 16) == 0x0013)
		s->stated = be24_get(frame + mad + 44);
	if (from != 0 || be24_get(frame + bth + 5) == 1 || s->has_first)
		return;
	s->has_first = true;
	s->first = be24_get(frame + bth + 9);
}

static void a_requester_starts_at_the_psn_that_the_other_side_states(void **state)
{
	(void)state;
	for (uint8_t op = REQ_WRITE; op <= REQ_READ; op++) {
		struct starts s = {.stated = UINT32_MAX};
		struct loop l;

		loop_up(&l, op, NULL);
		l.tap = starts_tap;
		l.tap_arg = &s;
		add(&l, op, 3, 0);
		loop_run(&l, 1000000, 0);
		assert_true(s.has_first);
		assert_int_equal(s.first, s.stated);
		loop_down(&l);
	}
}

static void not_listening(unsigned side, struct nic_config *c)
{
	(void)side;
	c->listen = false;
}

static void nobody_listens(void **state)
{
	struct nic_flow_status s;
	struct loop l;
	uint32_t id;

	(void)state;
	loop_up(&l, 1, not_listening);
	id = add(&l, REQ_WRITE, 3, 0);
	loop_run(&l, 1000000, 0);
	s = nic_flow_status(l.nic[0], id);
	assert_int_equal(s.state, NIC_FLOW_REJECTED);
	assert_int_equal(s.reason, 8);
	assert_int_equal(loop_stats(&l, 1).connections_rejected, 1);
	loop_down(&l);
}

static void four_queue_pairs(unsigned side, struct nic_config *c)
{
	c->max_qps = side == 1 ? 4 : 8;
}

static void full_responder_rejects_and_takes_others_later(void **state)
{
	uint32_t ids[6];
	struct loop l;
	unsigned up = 0;

	(void)state;
	loop_up(&l, 1, four_queue_pairs);
	for (unsigned i = 0; i < 5; i++)
		ids[i] = add(&l, REQ_WRITE, 3, 0);
	loop_run(&l, 1000000, 0);
	for (unsigned i = 0; i < 5; i++)
		up += nic_flow_status(l.nic[0], ids[i]).state == NIC_FLOW_UP;
	assert_int_equal(up, 4);
	assert_int_equal(nic_flow_status(l.nic[0], ids[4]).state, NIC_FLOW_REJECTED);
	nic_flow_stop(l.nic[0], ids[0]);
	assert_true(loop_finish(&l, ids, 1, second));
	nic_flow_close(l.nic[0], ids[0]);
	loop_run(&l, l.now_ns + 1000000, 0);
	ids[5] = add(&l, REQ_WRITE, 3, 0);
	loop_run(&l, l.now_ns + 1000000, 0);
	assert_int_equal(nic_flow_status(l.nic[0], ids[5]).state, NIC_FLOW_UP);
	loop_down(&l);
}

static void one_queue_pair(unsigned side, struct nic_config *c)
{
	(void)side;
	c->max_qps = 1;
}

static void a_forgotten_flow_has_its_place_until_the_peer_has_answered(void **state)
{
	const struct nic_flow f = {.dst_ip = ip_key_v4(LOOP_IP1), .cls = 3, .msg_bytes = 100,
				   .n_messages = 1, .mtu = 256, .first_psn = NIC_RANDOM_PSN};
	struct loop l;
	uint32_t id;

	(void)state;
	loop_up(&l, 1, one_queue_pair);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(nic_flow_add(l.nic[0], &f, &id), 0);
		assert_true(loop_finish(&l, &id, 1, l.now_ns + second));
		nic_flow_close(l.nic[0], id);
		nic_flow_forget(l.nic[0], id);
		assert_true(nic_is_full(l.nic[0]));
		loop_run(&l, l.now_ns + 1000000, 0);
		assert_false(nic_is_full(l.nic[0]) || nic_is_full(l.nic[1]));
	}
	assert_int_equal(loop_stats(&l, 1).messages_served, 3);
	loop_down(&l);
}

// ---- hostile frames

enum { N_SAMPLES = 64, MAX_SAMPLE = 1200 };

struct samples {
	uint32_t n, seen;
	uint32_t len[N_SAMPLES];
	uint8_t frame[N_SAMPLES][MAX_SAMPLE];
};

static void sample_tap(void *arg, unsigned from, uint64_t t_ns, const uint8_t *frame, uint32_t len)
{
	struct samples *s = arg;

	(void)t_ns;
	if (from != 0 || s->n == N_SAMPLES || len > MAX_SAMPLE || s->seen++ % 3 != 0)
		return;
	memcpy(s->frame[s->n], frame, len);
	s->len[s->n++] = len;
}

// Flips some bytes, and mends the iCRC where the frame still has one, so that the change is
// believed.
static uint32_t mutate(struct rng *rng, const struct samples *s, uint8_t *out)
{
	uint32_t i = rng_next(rng) % s->n, len = s->len[i];
	struct pkt_info info;

	memcpy(out, s->frame[i], len);
	for (uint32_t k = rng_next(rng) % 6; k != 0; k--)
		out[rng_next(rng) % (k & 1 ? 80 : len)] = (uint8_t)rng_next(rng);
	if (rng_next(rng) % 4 == 0)
		len = rng_next(rng) % (len + 1);
	if (parse(out, len, &info) && info.roce && info.kind == PKT_IPV4) {
		uint32_t l3_len = be16_get(out + info.l3_off + 2);

		if (info.l3_off + l3_len <= len &&
		    l3_len >= (uint32_t)info.l4_off - info.l3_off + 8 + 12 + 4)
			icrc_put(out + info.l3_off + l3_len - 4,
				 icrc(out + info.l3_off, l3_len - 4, PKT_IPV4));
	}
	return len;
}

static void hostile_frames_are_counted_and_harmless(void **state)
{
	static struct samples s;
	struct rng rng = {.state = 4242};
	uint8_t frame[MAX_SAMPLE];
	struct nic_stats b;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.tap = sample_tap;
	l.tap_arg = &s;
	for (uint8_t i = 0; i < 6; i++)
		add(&l, i % 3, i % 8, 5 * gbps);
	loop_run(&l, 100000, 0);
	assert_true(s.n > 20);
	for (unsigned i = 0; i < 60000; i++) {
		uint32_t len = mutate(&rng, &s, frame);

		loop_inject(&l, rng_next(&rng) & 1, frame, len);
		if (i % 16 == 0)
			loop_run(&l, l.now_ns + 200, 0);
	}
	b = loop_stats(&l, 1);
	assert_true(b.malformed != 0 && b.ignored != 0 && b.unknown_qp != 0);
	loop_down(&l);
}

// Frames without payload are believed only where all headers are there.
static void slow_and_whole_link(unsigned side, struct nic_config *c)
{
	c->whole_link = true;
	if (side == 1)
		c->faults = (struct nic_faults){.rx_rate_bps = 10 * gbps};
}

static void slow_alone_has_whole_link(unsigned side, struct nic_config *c)
{
	slow_and_whole_link(side, c);
	c->whole_link = side == 1;
}

static void a_pause_of_the_whole_link_stops_all_classes(void **state)
{
	struct loop l;

	(void)state;
	loop_up(&l, 1, slow_and_whole_link);
	add(&l, REQ_SEND, 3, 0);
	add(&l, REQ_SEND, 5, 0);
	loop_run(&l, 3000000, 0);
	for (unsigned cls = 0; cls < 8; cls++)
		assert_true(ctr_get(&nic_pfc_rx(l.nic[0])->stats[cls].transitions) > 1);
	assert_int_equal(loop_stats(&l, 1).rx_dropped, 0);
	loop_down(&l);
	// A NIC with PFC has no use for it.
	loop_up(&l, 1, slow_alone_has_whole_link);
	add(&l, REQ_SEND, 3, 0);
	loop_run(&l, 3000000, 0);
	assert_true(loop_stats(&l, 0).ignored > 1);
	assert_int_equal(ctr_get(&nic_pfc_rx(l.nic[0])->stats[3].frames), 0);
	assert_true(loop_stats(&l, 1).rx_dropped != 0);
	loop_down(&l);
}

static void snapped_frames_without_their_headers_are_malformed(void **state)
{
	static struct samples s;
	uint64_t malformed, refused = 0;
	struct loop l;

	(void)state;
	loop_up(&l, 1, NULL);
	l.tap = sample_tap;
	l.tap_arg = &s;
	add(&l, REQ_SEND, 3, 5 * gbps);
	loop_run(&l, 100000, 0);
	l.tap = NULL;
	malformed = loop_stats(&l, 1).malformed;
	for (uint32_t i = 0; i < s.n; i++) {
		uint8_t frame[MAX_SAMPLE];

		memcpy(frame, s.frame[i], s.len[i]);
		if (s.len[i] < 200)
			continue;
		for (uint32_t stored = 0; stored < ROCE_MAX_HEADERS; stored += 7, refused++)
			loop_inject_stored(&l, 1, frame, stored, s.len[i]);
		loop_inject_stored(&l, 1, frame, ROCE_MAX_HEADERS, s.len[i]);
		// Options could hide the transport header behind what is stored; other protocols
		// are not snapped.
		frame[14] = 0x46;
		loop_inject_stored(&l, 1, frame, ROCE_MAX_HEADERS, s.len[i]);
		frame[14] = 0x45;
		frame[23] = 6;
		loop_inject_stored(&l, 1, frame, ROCE_MAX_HEADERS, s.len[i]);
		refused += 2;
		loop_run(&l, l.now_ns + 200, 0);
	}
	assert_true(refused > 100);
	assert_int_equal(loop_stats(&l, 1).malformed - malformed, refused);
	assert_int_equal(loop_stats(&l, 1).payload_errors, 0);
	loop_down(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_exact),
		cmocka_unit_test(rates_of_several_queue_pairs_add_up),
		cmocka_unit_test(queue_pairs_and_classes_take_turns),
		cmocka_unit_test(paused_class_sends_nothing_until_the_quanta_run_out),
		cmocka_unit_test(xon_resumes_at_once),
		cmocka_unit_test(acks_of_a_paused_class_wait_too),
		cmocka_unit_test(pauses_in_the_middle_lose_nothing),
		cmocka_unit_test(nic_that_ignores_pause_counts_pauses_and_goes_on),
		cmocka_unit_test(storm_keeps_its_times),
		cmocka_unit_test(silent_storm_ends_without_xon),
		cmocka_unit_test(connections_survive_a_bad_link),
		cmocka_unit_test(a_requester_starts_at_the_psn_that_the_other_side_states),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(full_responder_rejects_and_takes_others_later),
		cmocka_unit_test(a_forgotten_flow_has_its_place_until_the_peer_has_answered),
		cmocka_unit_test(hostile_frames_are_counted_and_harmless),
		cmocka_unit_test(a_pause_of_the_whole_link_stops_all_classes),
		cmocka_unit_test(snapped_frames_without_their_headers_are_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
