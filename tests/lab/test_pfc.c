// SPDX-License-Identifier: Apache-2.0
// PFC of a whole switch in both directions, exact to the nanosecond: conformance rows P1 to P5.
#include "dataplane/packet/pfc_frame.h"
#include "dataplane/policy.h"
#include "dataplane/tap.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <string.h>

#define TWO_LOSSLESS                                                                               \
	"      3: {lossless: true, ingress: {headroom: 30KB}}\n"                                   \
	"      5: {lossless: true, ingress: {headroom: 30KB}}\n"

static unsigned class_of(const struct bench_rx *rx)
{
	return rx->data[15] >> 5;
}

static bool all_but_3(struct bench_host *h, struct bench_frame *out)
{
	static const uint8_t classes[] = {0, 1, 2, 4, 5, 6, 7};
	uint64_t n = h->sent;

	*out = (struct bench_frame){.to = 2, .dscp = (uint8_t)(8 * classes[n % 7]), .len = 1000};
	return true;
}

static bool only_3(struct bench_host *h, struct bench_frame *out)
{
	(void)h;
	*out = (struct bench_frame){.to = 2, .dscp = 24, .len = 1000};
	return true;
}

static void start(struct bench *b, unsigned host,
		  bool (*source)(struct bench_host *, struct bench_frame *))
{
	b->host[host].source = source;
	actor_poke(&b->host[host].actor);
}

static void count_classes(const struct bench_host *h, uint32_t from, unsigned n[8])
{
	memset(n, 0, 8 * sizeof(n[0]));
	for (uint32_t i = from; i < h->n_rx; i++)
		n[class_of(&h->rx[i])]++;
}

static void p1_a_paused_class_stands_still_and_the_others_keep_their_rate(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	uint32_t from;
	unsigned n[8];

	(void)state;
	start(b, 0, all_but_3);
	start(b, 1, only_3);
	bench_run(b, 1000000);
	bench_pause(b, 2, 1 << 3, 65535);
	bench_run(b, 10000); // the frame on the wire, and the PAUSE itself
	from = b->host[2].n_rx;
	for (unsigned i = 0; i < 5; i++) {
		bench_pause(b, 2, 1 << 3, 65535);
		bench_run(b, 2000000);
	}
	count_classes(&b->host[2], from, n);
	assert_int_equal(n[3], 0);
	// 10 ms of a full line, less nothing: 1024 bytes of link time a frame.
	for (unsigned c = 0; c < 8; c++)
		if (c != 3)
			assert_in_range(n[c], 12207 / 7 - 20, 12207 / 7 + 20);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	assert_true(b->host[1].n_pfc > 0);
	for (unsigned i = 0; i < b->host[1].n_pfc; i++)
		assert_int_equal(bench_pfc_times(&b->host[1].pfc[i]).enable, 1 << 3);
	bench_close(b);
}

// A frame of class 3 that waits behind a disabled port shows whether the class is paused.
static bool leaves_at_once(struct bench *b)
{
	uint32_t before = b->host[2].n_rx;
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 100};

	bench_inject(b, 0, &f, 1);
	bench_run(b, 1000);
	return b->host[2].n_rx == before + 1;
}

static void p2_what_is_no_valid_pause_is_ignored_and_counted(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	const struct port_counters *c = switch_port_counters(b->sw, 2);
	const struct pfc_rx_state *rx = switch_pfc_rx(b->sw, 2);
	struct pfc_times t = {.enable = 1 << 3, .quanta = {0, 0, 0, 65535}};
	uint8_t f[PFC_FRAME_LEN];

	(void)state;
	bench_pause(b, 2, 1 << 4, 65535);
	assert_true(leaves_at_once(b));
	assert_int_equal(ctr_get(&rx->ignored_lossy), 1);
	bench_pause(b, 2, 0, 0);
	assert_true(leaves_at_once(b));
	assert_int_equal(ctr_get(&rx->empty_vector), 1);

	pfc_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 3}, &t);
	f[15] = 0x01; // opcode 0x0001: 802.3x global pause
	f[14] = 0x00;
	bench_send_raw(b, 2, f, sizeof(f));
	assert_true(leaves_at_once(b));
	assert_int_equal(ctr_get(&c->pause_8023x), 1);
	f[14] = 0x02;
	bench_send_raw(b, 2, f, sizeof(f));
	assert_true(leaves_at_once(b));
	assert_int_equal(ctr_get(&c->other_control), 1);

	pfc_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 3}, &t);
	bench_send_raw(b, 2, f, PFC_MIN_RX_LEN - 1);
	assert_true(leaves_at_once(b));
	assert_int_equal(ctr_get(&c->pfc_malformed), 1);

	pfc_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 3}, &t);
	for (unsigned i = 0; i < 6; i++) { // to any other address, which bridges forward
		f[i] ^= 0x04;
		bench_send_raw(b, 2, f, sizeof(f));
		assert_true(leaves_at_once(b));
		f[i] ^= 0x04;
	}
	assert_int_equal(ctr_get(&c->pfc_misaddressed), 6);
	assert_int_equal(ctr_get(&rx->stats[3].frames), 0);
	assert_int_equal(ctr_get(&c->consumed), 11);
	assert_int_equal(ctr_get(&c->rx_packets), 0);

	// Unpadded, from the zero address: honoured.
	memset(f + 6, 0, 6);
	bench_send_raw(b, 2, f, PFC_MIN_RX_LEN);
	bench_run(b, 1000);
	assert_false(leaves_at_once(b));
	assert_int_equal(ctr_get(&rx->stats[3].frames), 1);
	for (unsigned p = 0; p < 2; p++)
		assert_int_equal(b->host[p].n_rx, 0); // never forwarded
	bench_close(b);
}

static void p3_a_pause_of_q_quanta_ends_after_exactly_q_times_512_bits(void **state)
{
	static const struct {
		const char *speed;
		uint64_t bps;
	} speeds[] = {{"10G", 10000000000}, {"25G", 25000000000}, {"100G", 100000000000}};
	static const uint16_t quanta[] = {1, 7, 1000, 65535};

	(void)state;
	for (unsigned s = 0; s < 3; s++) {
		for (unsigned i = 0; i < 4; i++) {
			struct bench *b =
				bench_open(lab_yaml(3, speeds[s].speed, "", "", TWO_LOSSLESS), 0);
			struct bench_frame f = {.to = 2, .dscp = 24, .len = 200};
			uint64_t arrived, want;

			bench_tx(b, 2, 3, false);
			bench_inject(b, 0, &f, 1);
			bench_pause(b, 2, 1 << 3, quanta[i]);
			arrived = b->clock.now_ns + bench_wire_ns(b, 2, PFC_FRAME_LEN);
			switch_set_tx(b->sw, 2, 3, true);
			bench_run(b, 2 * pfc_quanta_ns(speeds[s].bps, quanta[i]) + 100000);
			want = arrived +
			       (quanta[i] * 512000000000ull + speeds[s].bps - 1) / speeds[s].bps +
			       bench_wire_ns(b, 2, 200);
			assert_int_equal(b->host[2].n_rx, 1);
			assert_int_equal(b->host[2].rx[0].t_ns, want);
			assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].duration_ns),
					 want - arrived - bench_wire_ns(b, 2, 200));
			assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].transitions),
					 1);
			bench_close(b);
		}
	}
}

static void p3_xon_ends_a_pause_at_once(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);

	(void)state;
	bench_pause(b, 2, 1 << 3, 65535);
	bench_run(b, 1000);
	assert_false(leaves_at_once(b));
	bench_pause(b, 2, 1 << 3, 0);
	bench_run(b, 1000);
	assert_int_equal(b->host[2].n_rx, 1);
	assert_int_equal(ctr_get(&switch_pfc_rx(b->sw, 2)->stats[3].frames), 2);
	bench_close(b);
}

// Fills class c of port 0 until one more PFC frame arrives.
static void congest(struct bench *b, unsigned from, uint8_t dscp)
{
	struct bench_frame f = {.to = 2, .dscp = dscp, .len = 1500};
	uint32_t before = b->host[from].n_pfc;

	for (unsigned n = 0; b->host[from].n_pfc == before; n++) {
		bench_inject(b, from, &f, 1);
		assert_true(n < 10000);
	}
}

static void p4_own_frames_say_what_changes_and_nothing_else(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	struct bench_host *h = &b->host[0];
	struct pfc_times t;

	(void)state;
	h->obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	congest(b, 0, 40);
	assert_int_equal(h->n_pfc, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct bench_rx *rx = &h->pfc[i];

		assert_memory_equal(rx->data, ((uint8_t[]){0x01, 0x80, 0xc2, 0, 0, 1}), 6);
		assert_memory_equal(rx->data + 6, ((uint8_t[]){2, 0, 0, 0, 1, 1}), 6);
		assert_memory_equal(rx->data + 12, ((uint8_t[]){0x88, 0x08, 0x01, 0x01}), 4);
		assert_int_equal(rx->len, 60);
		for (unsigned k = 34; k < 60; k++)
			assert_int_equal(rx->data[k], 0);
	}
	t = bench_pfc_times(&h->pfc[0]);
	assert_int_equal(t.enable, 1 << 3);
	assert_int_equal(t.quanta[3], 65535);
	t = bench_pfc_times(&h->pfc[1]);
	assert_int_equal(t.enable, 1 << 5);
	for (unsigned c = 0; c < 8; c++)
		assert_int_equal(t.quanta[c], c == 5 ? 65535 : 0);
	assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, 0)->stats[3].frames), 1);
	assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, 0)->stats[5].frames), 1);
	bench_tx(b, 2, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(ctr_get(&switch_pfc_tx(b->sw, 0)->stats[3].frames), 2);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

static void p2_a_pause_of_the_whole_link_acts_where_the_policy_has_it(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(3, "10G", "", "    pfc: {whole_link: on}\n", TWO_LOSSLESS), 0);
	const struct port_counters *c = switch_port_counters(b->sw, 2);
	struct pfc_times t = {.enable = 1, .quanta = {65535}};
	struct bench_host *h = &b->host[0];
	uint8_t f[PFC_FRAME_LEN];

	(void)state;
	pause_frame_build(f, (uint8_t[]){2, 0, 0, 0, 0, 3}, &t);
	f[5] = 2; // to another station
	bench_send_raw(b, 2, f, sizeof(f));
	bench_run(b, 1000);
	assert_true(leaves_at_once(b));
	f[5] = 1;
	bench_send_raw(b, 2, f, sizeof(f));
	bench_run(b, 1000);
	assert_int_equal(switch_pfc_rx(b->sw, 2)->paused, 1 << 3 | 1 << 5);
	assert_false(leaves_at_once(b));
	f[16] = f[17] = 0;
	bench_send_raw(b, 2, f, sizeof(f));
	bench_run(b, 1000);
	assert_int_equal(b->host[2].n_rx, 2);
	assert_int_equal(ctr_get(&c->pause_8023x), 3);

	// It sends such frames for all lossless classes, where one is in XOFF.
	h->obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	assert_int_equal(h->n_pfc, 1);
	assert_memory_equal(h->pfc[0].data + 12, ((uint8_t[]){0x88, 8, 0, 1, 0xff, 0xff, 0, 0}), 8);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 1 << 3 | 1 << 5);
	bench_tx(b, 2, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(h->n_pfc, 2);
	assert_memory_equal(h->pfc[1].data + 12, ((uint8_t[]){0x88, 8, 0, 1, 0, 0, 0, 0}), 8);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

static const char *yaml_of_form(bool whole_link, const char *classes)
{
	return lab_yaml(3, "10G", "", whole_link ? "    pfc: {whole_link: on}\n" : "", classes);
}

// Of the nth MAC control frame to host 0: its opcode, and a time of class 3.
static void expect_sent(const struct bench *b, unsigned nth, uint16_t opcode, uint16_t quanta)
{
	const struct bench_rx *rx = &b->host[0].pfc[nth];
	struct pfc_times t = bench_pfc_times(rx);

	assert_true(nth < b->host[0].n_pfc);
	assert_int_equal(rx->data[14] << 8 | rx->data[15], opcode);
	assert_true(t.enable >> 3 & 1);
	assert_int_equal(t.quanta[3], quanta);
}

static void a_class_that_turns_lossy_does_not_resume_the_whole_link(void **state)
{
	struct bench *b = bench_open(yaml_of_form(true, TWO_LOSSLESS), 0);

	(void)state;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 1 << 3 | 1 << 5);
	bench_publish(b, yaml_of_form(true, "      3: {lossless: true}\n"));
	bench_run(b, 1000);
	expect_sent(b, 1, MAC_CTRL_OPCODE_PAUSE, 65535);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 1 << 3);
	bench_tx(b, 2, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(b->host[0].n_pfc, 3);
	expect_sent(b, 2, MAC_CTRL_OPCODE_PAUSE, 0);
	bench_close(b);
}

// A peer may keep the two forms apart: the old PAUSE stands until the new one ends, then both end.
static void a_pause_whose_form_changes_ends_in_both_forms(void **state)
{
	static const uint16_t opcode[] = {MAC_CTRL_OPCODE_PFC, MAC_CTRL_OPCODE_PAUSE};

	(void)state;
	for (unsigned old = 0; old < 2; old++) {
		struct bench *b = bench_open(yaml_of_form(old, TWO_LOSSLESS), 0);

		bench_tx(b, 2, -1, false);
		congest(b, 0, 24);
		expect_sent(b, 0, opcode[old], 65535);
		bench_publish(b, yaml_of_form(!old, TWO_LOSSLESS));
		bench_run(b, 1000);
		expect_sent(b, 1, opcode[!old], 65535);
		bench_tx(b, 2, -1, true);
		bench_run(b, 10000000);
		expect_sent(b, b->host[0].n_pfc - 2, opcode[old], 0);
		expect_sent(b, b->host[0].n_pfc - 1, opcode[!old], 0);
		assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
		// The next one has no past.
		bench_tx(b, 2, -1, false);
		congest(b, 0, 24);
		bench_tx(b, 2, -1, true);
		bench_run(b, 10000000);
		expect_sent(b, b->host[0].n_pfc - 2, opcode[!old], 65535);
		expect_sent(b, b->host[0].n_pfc - 1, opcode[!old], 0);
		bench_close(b);
	}
}

static void a_capture_has_the_pause_that_was_sent(void **state)
{
	struct bench *b = bench_open(yaml_of_form(true, TWO_LOSSLESS), 0);
	struct tap_params params = {.n_workers = switch_n_workers(b->sw), .n_records = 16,
				    .snaplen = PFC_FRAME_LEN, .ports = {1}};
	const struct tap_record *r[16];
	unsigned n, seen = 0;
	struct tap *tap;

	(void)state;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	assert_int_equal(tap_create(&params, &tap), 0);
	switch_set_tap(b->sw, tap);
	actor_poke(&b->actor);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	n = tap_read(tap, 0, r, 16);
	for (unsigned i = 0; i < n; i++) {
		if (r[i]->meta.direction != TAP_OUT)
			continue;
		seen++;
		assert_memory_equal(r[i]->data, b->host[0].pfc[1].data, PFC_FRAME_LEN);
	}
	assert_int_equal(seen, 1);
	bench_close(b);
	tap_destroy(tap);
}

static void p4_pause_goes_ahead_of_every_queue(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	struct bench_frame big = {.to = 0, .dscp = 56, .len = 1500};
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 1500};
	uint64_t xoff_ns = 0;

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	// Port 0 sends a full line of other traffic while its own host runs into XOFF.
	for (unsigned n = 0; n < 6000; n++)
		bench_send(b, 1, &big);
	for (unsigned n = 0; n < 4000 && b->host[0].n_pfc == 0; n++)
		bench_inject(b, 0, &f, 1);
	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == EVENT_XOFF)
			xoff_ns = b->events[i].t_ns;
	assert_true(xoff_ns != 0);
	assert_int_equal(b->host[0].n_pfc, 1);
	// At worst one whole frame had just begun.
	assert_true(b->host[0].pfc[0].t_ns <= xoff_ns + bench_wire_ns(b, 0, 1500) +
						       bench_wire_ns(b, 0, PFC_FRAME_LEN) + 1);
	bench_close(b);
}

// Headroom of `headroom` bytes; the sender obeys a fixed time after the PAUSE came. Returns the
// drops.
static uint64_t late_sender(const char *headroom, uint64_t obey_after_ns, uint64_t *max_headroom)
{
	char classes[128];
	struct bench *b;
	uint64_t drops;

	snprintf(classes, sizeof(classes), "      3: {lossless: true, ingress: {headroom: %s}}\n",
		 headroom);
	b = bench_open(lab_yaml(3, "10G", "", "", classes), 1000);
	b->host[0].obey_after_ns = obey_after_ns;
	bench_tx(b, 2, -1, false);
	start(b, 0, only_3);
	bench_run(b, 20000000);
	drops = bench_drops(b, DROP_HEADROOM);
	*max_headroom = gauge_get(&switch_pg_state(b->sw, 0, 3)->max_headroom);
	bench_close(b);
	return drops;
}

static void p5_a_late_sender_loses_nothing_up_to_the_planned_response(void **state)
{
	uint64_t used, used_again;
	char exact[32];

	(void)state;
	// 1000 B frames take 4 cells and 819.2 ns; PAUSE and last frame take 1 us each on the wire.
	assert_int_equal(late_sender("100KB", 10000, &used), 0);
	assert_true(used >= 4 * 12 && used <= 4 * 16);
	snprintf(exact, sizeof(exact), "%u", (unsigned)used * 256);
	assert_int_equal(late_sender(exact, 10000, &used_again), 0);
	assert_int_equal(used_again, used);
	// One frame's cells less: exactly one frame is lost, and as headroom-overrun.
	snprintf(exact, sizeof(exact), "%u", (unsigned)(used - 4) * 256);
	assert_int_equal(late_sender(exact, 10000, &used_again), 1);
}

static void a_pause_outlives_held_admission(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	struct bench_frame f3 = {.to = 2, .dscp = 24, .len = 500};
	struct bench_frame f0 = {.to = 2, .dscp = 0, .len = 500};

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f3, 5);
	bench_inject(b, 0, &f0, 5);
	bench_pause(b, 2, 1 << 3, 1000);
	bench_run(b, 1000);
	// While no refresh can be heard, what was paused stays so; the rest leaves.
	switch_hold_admission(b->sw, true);
	bench_tx(b, 2, -1, true);
	for (unsigned i = 0; i < 10; i++) {
		actor_poke(&b->actor);
		bench_run(b, 1000000);
	}
	assert_int_equal(b->host[2].n_rx, 5);
	assert_int_equal(switch_balance(b->sw).queued, 5);
	switch_hold_admission(b->sw, false);
	actor_poke(&b->actor);
	bench_run(b, 100000);
	assert_int_equal(b->host[2].n_rx, 10);
	bench_close(b);
}

static void pfc_switched_off_sends_none_and_obeys_none(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(3, "10G", "", "    pfc: {rx: off, tx: off}\n", TWO_LOSSLESS), 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 1500};

	(void)state;
	bench_pause(b, 2, 1 << 3, 65535);
	bench_run(b, 1000);
	assert_true(leaves_at_once(b));
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 3000);
	assert_int_equal(b->host[0].n_pfc, 0);
	assert_true(bench_drops(b, DROP_HEADROOM) > 0);
	bench_close(b);
}

static void a_policy_that_stops_obeying_ends_the_pause(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);

	(void)state;
	bench_pause(b, 2, 1 << 3, 65535);
	bench_run(b, 1000);
	assert_false(leaves_at_once(b));
	bench_publish(b, lab_yaml(3, "10G", "", "    pfc: {rx: off}\n", TWO_LOSSLESS));
	assert_int_equal(switch_pfc_rx(b->sw, 2)->paused, 0);
	bench_run(b, 1000);
	assert_int_equal(b->host[2].n_rx, 1); // what waited
	assert_true(leaves_at_once(b));
	bench_close(b);
}

static void a_group_in_xoff_that_turns_lossy_sends_xon_and_admits_again(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 1500};
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	const struct bench_host *h = &b->host[0];
	uint64_t shared, headroom;

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	bench_inject(b, 0, &f, 2);
	shared = gauge_get(&pg->shared);
	headroom = gauge_get(&pg->headroom);
	assert_true(pg_in_xoff(pg));
	assert_int_equal(headroom, 3 * 6);
	bench_publish(b, lab_yaml(3, "10G", "", "", "      5: {lossless: true}\n"));
	assert_false(pg_in_xoff(pg));
	bench_run(b, 1000);
	assert_int_equal(h->n_pfc, 2);
	assert_int_equal(bench_pfc_times(&h->pfc[1]).enable, 1 << 3);
	assert_int_equal(bench_pfc_times(&h->pfc[1]).quanta[3], 0);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	// Lossy now: the group keeps no headroom, and the shared pool has it all.
	bench_inject(b, 0, &f, 1);
	assert_int_equal(gauge_get(&pg->shared), shared + headroom + 6);
	assert_int_equal(gauge_get(&pg->headroom), 0);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		assert_int_equal(bench_drops(b, r), 0);
	bench_tx(b, 2, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(pg_used(pg), 0);
	assert_int_equal(h->n_pfc, 2);
	bench_close(b);
}

// Also where it holds more than the new policy allows a lossy group.
static void a_group_that_turns_lossy_above_its_limit_leaves_xoff(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	const struct bench_host *h = &b->host[0];

	(void)state;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	assert_true(pg_in_xoff(pg));
	bench_publish(b, lab_yaml(3, "10G", "", "", "      3: {ingress: {static: 4KB}}\n"
							 "      5: {lossless: true}\n"));
	assert_true(gauge_get(&pg->shared) * 256 > 4000);
	assert_false(pg_in_xoff(pg));
	bench_run(b, 1000);
	assert_int_equal(bench_pfc_times(&h->pfc[h->n_pfc - 1]).quanta[3], 0);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

// Nobody remembers a pause over a lost link: neither the host nor the switch, although it would
// have had to be refreshed much later (at 10 Mb/s a PAUSE lives for 3 s).
static void a_link_that_comes_back_is_paused_anew(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10M", "", "", TWO_LOSSLESS), 0);
	const struct bench_host *h = &b->host[0];

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	congest(b, 0, 24);
	for (unsigned up = 0; up < 2; up++) {
		wire_set_up(b->host[0].wire, up);
		bench_run(b, 100000000);
		bench_control(b);
		actor_poke(&b->actor);
		b->host[0].n_pfc = 0;
		bench_run(b, 100000); // a PFC frame takes 67 us
		assert_int_equal(h->n_pfc, up);
	}
	assert_int_equal(bench_pfc_times(&h->pfc[0]).quanta[3], 65535);
	bench_close(b);
}

static void a_policy_without_guard_ends_the_guards_pause(void **state)
{
	const char *yaml = lab_yaml(3, "10G", "", "", TWO_LOSSLESS);
	struct bench *b = bench_open(yaml, 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 100};

	(void)state;
	// A wire reports no depth to the compiler, yet frames wait in it while admission is held.
	b->policy->ports[0].rx_guard_on = 4;
	b->policy->ports[0].rx_guard_off = 2;
	// They wait on: only the policy can end the pause.
	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	for (unsigned i = 0; i < 10; i++)
		bench_send(b, 0, &f);
	bench_run(b, 10000);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 1 << 3 | 1 << 5);
	bench_publish(b, yaml);
	bench_run(b, 1000);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

// The ring fills while admission is held, and is empty again when admission goes on.
static void fill_the_ring(struct bench *b)
{
	const struct bench_frame f = {.to = 2, .dscp = 24, .len = 100};

	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	for (unsigned i = 0; i < 10; i++)
		bench_send(b, 0, &f);
	bench_run(b, 10000);
	assert_int_equal(gauge_get(&switch_port_counters(b->sw, 0)->rx_guard), 1);
	switch_hold_admission(b->sw, false);
	actor_poke(&b->actor);
	bench_run(b, 1000000);
	assert_int_equal(gauge_get(&switch_port_counters(b->sw, 0)->rx_guard), 0);
}

static void expect_guard_event(struct bench *b, unsigned n, uint64_t count)
{
	unsigned seen = 0;

	b->n_events = 0;
	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++) {
		const struct event *e = &b->events[i];

		if (e->type != EVENT_RX_GUARD)
			continue;
		seen++;
		assert_int_equal(e->port, 0);
		assert_int_equal(e->a, 5);
		assert_int_equal(e->b, count);
	}
	assert_int_equal(seen, n);
}

static void a_nearly_full_receive_ring_makes_one_event_a_second(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", TWO_LOSSLESS), 0);

	(void)state;
	b->policy->ports[0].rx_guard_on = 4;
	b->policy->ports[0].rx_guard_off = 2;
	fill_the_ring(b);
	expect_guard_event(b, 1, 1);
	for (unsigned i = 0; i < 3; i++)
		fill_the_ring(b);
	expect_guard_event(b, 0, 0);
	bench_run(b, 1000000000);
	fill_the_ring(b);
	expect_guard_event(b, 1, 4);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p1_a_paused_class_stands_still_and_the_others_keep_their_rate),
		cmocka_unit_test(p2_what_is_no_valid_pause_is_ignored_and_counted),
		cmocka_unit_test(p2_a_pause_of_the_whole_link_acts_where_the_policy_has_it),
		cmocka_unit_test(a_class_that_turns_lossy_does_not_resume_the_whole_link),
		cmocka_unit_test(a_pause_whose_form_changes_ends_in_both_forms),
		cmocka_unit_test(a_capture_has_the_pause_that_was_sent),
		cmocka_unit_test(p3_a_pause_of_q_quanta_ends_after_exactly_q_times_512_bits),
		cmocka_unit_test(p3_xon_ends_a_pause_at_once),
		cmocka_unit_test(p4_own_frames_say_what_changes_and_nothing_else),
		cmocka_unit_test(p4_pause_goes_ahead_of_every_queue),
		cmocka_unit_test(p5_a_late_sender_loses_nothing_up_to_the_planned_response),
		cmocka_unit_test(a_pause_outlives_held_admission),
		cmocka_unit_test(pfc_switched_off_sends_none_and_obeys_none),
		cmocka_unit_test(a_policy_that_stops_obeying_ends_the_pause),
		cmocka_unit_test(a_group_in_xoff_that_turns_lossy_sends_xon_and_admits_again),
		cmocka_unit_test(a_group_that_turns_lossy_above_its_limit_leaves_xoff),
		cmocka_unit_test(a_link_that_comes_back_is_paused_anew),
		cmocka_unit_test(a_policy_without_guard_ends_the_guards_pause),
		cmocka_unit_test(a_nearly_full_receive_ring_makes_one_event_a_second),
	};

	return cmocka_run_group_tests_name("pfc", tests, bench_eal, NULL);
}
