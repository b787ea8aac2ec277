// SPDX-License-Identifier: Apache-2.0
// Several workers in one switch: what is handed from one to another, and what they see of each
// other.
#include "tests/lab/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "dataplane/base/rng.h"
#include "dataplane/handoff.h"
#include "dataplane/packet/parse.h"
#include "dataplane/worker.h"

static const char *policy(unsigned n_workers, unsigned n_ports, const char *classes)
{
	static char text[2048];
	int n = snprintf(text, sizeof(text),
			 "switch: {name: lab, workers: %u, buffer: {size: 12MB}}\n"
			 "ports:\n  - {name: \"p[1-%u]\", device: \"wire:w[1-%u]\", speed: 10G, "
			 "profile: x}\nfdb:\n",
			 n_workers, n_ports, n_ports);

	for (unsigned i = 1; i <= n_ports; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	snprintf(text + n, sizeof(text) - (size_t)n, "profiles:\n  x:\n    classes:\n%s", classes);
	return text;
}

static const char one_lossless[] = "      3: {lossless: true}\n";

static void hold(struct bench *b, bool on)
{
	switch_hold_admission(b->sw, on);
	actor_poke(&b->actor);
}

// More than one burst waits in the hand-off ring: the worker must come back for it by itself.
static void all_that_was_handed_over_is_taken(void **state)
{
	enum { SENDERS = 5, EACH = 31 };
	struct bench *b = bench_open(policy(2, 2 * SENDERS, one_lossless), 0);
	struct bench_frame f = {.to = 1, .dscp = 24, .len = 100};

	(void)state;
	bench_tx(b, 1, -1, false);
	hold(b, true);
	for (unsigned from = 0; from < 2 * SENDERS; from += 2)
		for (unsigned i = 0; i < EACH; i++)
			bench_send(b, from, &f);
	bench_run(b, 100000);
	hold(b, false);
	bench_run(b, 1);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 1, 3)->length_packets),
			 SENDERS * EACH);
	bench_close(b);
}

// Two workers read their clocks one after the other: a frame may arrive after the loop began in
// which it leaves.
static void a_frame_from_a_later_clock_has_waited_no_time(void **state)
{
	struct bench *b = bench_open(policy(2, 2, one_lossless), 0);
	struct bench_frame f = {.to = 1, .dscp = 24, .len = 100};

	(void)state;
	hold(b, true);
	bench_send(b, 0, &f);
	bench_run(b, 10000);
	switch_hold_admission(b->sw, false);
	worker_step(switch_worker(b->sw, 0), b->clock.now_ns + 500);
	worker_step(switch_worker(b->sw, 1), b->clock.now_ns);
	bench_run(b, 10000);
	assert_int_equal(b->host[1].n_rx, 1);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 1, 3)->residence_max_ns), 0);
	bench_close(b);
}

static bool to_the_last(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = h->bench->n_ports - 1,
				    .dscp = (uint8_t)(h->sent % 3 * 24), // classes 0, 3 and 6
				    .len = (uint16_t)(64 + h->sent * 97 % 900),
				    .seq = (uint32_t)h->sent};
	return true;
}

// Seven senders on three workers, one receiver: congestion, PAUSE, hand-over between all of them;
// in bursts, because admission is held now and then.
static void frames_of_a_flow_stay_in_order_across_workers(void **state)
{
	enum { PORTS = 8 };
	const struct bench_opts o = {.delay_ns = 300, .seed = 1, .rx_ring = 512};
	struct bench *b = bench_open_with(policy(3, PORTS, one_lossless), &o);
	const struct bench_host *to = &b->host[PORTS - 1];
	uint32_t last[PORTS][8] = {{0}}, n[8] = {0};

	(void)state;
	for (unsigned p = 0; p < PORTS - 1; p++) {
		b->host[p].source = to_the_last;
		actor_poke(&b->host[p].actor);
	}
	for (unsigned i = 0; i < 100; i++) {
		hold(b, i % 2);
		bench_run(b, i % 2 ? 20000 : 380000);
	}
	assert_true(to->n_rx > 20000);
	for (uint32_t i = 0; i < to->n_rx; i++) {
		const struct bench_rx *rx = &to->rx[i];
		unsigned from = rx->data[11] - 1u, cls = rx->data[15] >> 5;

		assert_true(bench_seq(rx) >= last[from][cls]);
		last[from][cls] = bench_seq(rx) + 1;
		n[cls]++;
	}
	assert_true(n[0] > 1000 && n[3] > 1000 && n[6] > 1000);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
	bench_close(b);
}

static void a_late_loop_is_recorded_with_the_longest_gap(void **state)
{
	struct bench *b = bench_open(policy(1, 2, one_lossless), 0);
	const struct worker_counters *c = switch_worker_counters(b->sw, 0);
	struct worker *w = switch_worker(b->sw, 0);
	uint64_t t = b->clock.now_ns, loops, late;

	(void)state;
	switch_clear_watermarks(b->sw);
	worker_step(w, t += 50);
	loops = ctr_get(&c->loops);
	late = ctr_get(&c->gaps_over_1ms);
	assert_int_equal(gauge_get(&c->gap_max_ns), 0);
	worker_step(w, t += 700);
	assert_int_equal(gauge_get(&c->gap_max_ns), 700);
	worker_step(w, t += 1000000);
	assert_int_equal(ctr_get(&c->gaps_over_1ms), late);
	worker_step(w, t += 1000001);
	worker_step(w, t += 300);
	assert_int_equal(ctr_get(&c->gaps_over_1ms), late + 1);
	assert_int_equal(gauge_get(&c->gap_max_ns), 1000001);
	assert_int_equal(ctr_get(&c->loops), loops + 4);
	switch_clear_watermarks(b->sw);
	worker_step(w, t += 5000000);
	assert_int_equal(gauge_get(&c->gap_max_ns), 0);
	assert_int_equal(ctr_get(&c->gaps_over_1ms), late + 2);
	bench_close(b);
}

// Busy is a loop in which a frame came in, was taken over, or left.
static void only_loops_that_move_a_frame_are_busy(void **state)
{
	struct bench *b = bench_open(policy(2, 2, one_lossless), 0);
	const struct worker_counters *c0 = switch_worker_counters(b->sw, 0);
	const struct worker_counters *c1 = switch_worker_counters(b->sw, 1);
	struct bench_frame f = {.to = 1, .dscp = 24, .len = 100};
	uint64_t t;

	(void)state;
	bench_run(b, 1000);
	assert_int_equal(ctr_get(&c0->busy_loops) + ctr_get(&c1->busy_loops), 0);
	hold(b, true);
	bench_send(b, 0, &f);
	bench_run(b, 10000);
	assert_int_equal(ctr_get(&c0->busy_loops) + ctr_get(&c1->busy_loops), 0);
	switch_hold_admission(b->sw, false);
	t = b->clock.now_ns;
	worker_step(switch_worker(b->sw, 1), t); // nothing is handed to it yet
	assert_int_equal(ctr_get(&c1->busy_loops), 0);
	worker_step(switch_worker(b->sw, 0), t); // receives
	assert_int_equal(ctr_get(&c0->busy_loops), 1);
	worker_step(switch_worker(b->sw, 1), t); // takes over and sends
	assert_int_equal(ctr_get(&c1->busy_loops), 1);
	worker_step(switch_worker(b->sw, 0), t);
	worker_step(switch_worker(b->sw, 1), t);
	assert_int_equal(ctr_get(&c0->busy_loops), 1);
	assert_int_equal(ctr_get(&c1->busy_loops), 1);
	bench_run(b, 1000);
	assert_int_equal(b->host[1].n_rx, 1);
	bench_close(b);
}

static bool endless(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 2, .dscp = (uint8_t)(h->sent * 7 % 8 * 8),
				    .ecn = ECN_ECT0, .len = (uint16_t)(80 + h->sent * 131 % 1400),
				    .seq = (uint32_t)h->sent};
	return true;
}

static void stepping_on_wake_ups_equals_stepping_all_the_time(void **state)
{
	static const char classes[] =
		"      3: {lossless: true, ingress: {alpha: 1/64}, wred: {ecn: on, kmin: 5KB, "
		"kmax: 60KB, pmax: 20%}}\n"
		"      5: {lossless: true}\n"
		"      6: {schedule: strict, max_rate: 300M}\n"
		"      1: {schedule: {dwrr: 1}, min_rate: 2G}\n";
	struct bench_rx *rx[2];
	uint32_t n[2];

	(void)state;
	for (unsigned dense = 0; dense < 2; dense++) {
		struct bench *b = bench_open(policy(3, 3, classes), 77);

		b->host[0].source = b->host[1].source = endless;
		actor_poke(&b->host[0].actor);
		actor_poke(&b->host[1].actor);
		for (unsigned i = 0; i < 400; i++) {
			if (i % 20 == 10)
				bench_pause(b, 2, 1 << 3 | 1 << 5, (uint16_t)(300 + i));
			for (unsigned k = 0; k < (dense ? 10000 : 1); k++) {
				if (dense)
					actor_poke(&b->actor);
				bench_run(b, dense ? 1 : 10000);
			}
		}
		n[dense] = b->host[2].n_rx;
		rx[dense] = b->host[2].rx;
		b->host[2].rx = NULL;
		bench_close(b);
	}
	assert_true(n[0] > 1000);
	assert_int_equal(n[0], n[1]);
	for (uint32_t i = 0; i < n[0]; i++) {
		assert_int_equal(rx[0][i].t_ns, rx[1][i].t_ns);
		assert_memory_equal(rx[0][i].data, rx[1][i].data, BENCH_KEEP);
	}
	free(rx[0]);
	free(rx[1]);
}

// ---- the hand-off itself

// A few kinds, so that some neighbours differ in their mbuf alone. Each member of a frame that
// matters to others is told from another by some kind.
static struct frame any_frame(struct rng *rng, uint64_t no)
{
	static const struct frame kinds[] = {{.len = 100}, {.len = 100, .marked = true},
					     {.len = 200}, {.len = 100, .out_cls = 7}};
	struct frame f = kinds[rng_next(rng) % 8 < 5 ? 0 : rng_next(rng) % 4];

	f.m = (struct rte_mbuf *)(uintptr_t)(no << 6);
	return f;
}

static void frames_cross_in_order_however_alike_they_are(void **state)
{
	enum { HELD = 100, BURST_MAX = 40, FRAMES = 100000 };
	static struct frame sent[FRAMES + 2 * BURST_MAX];
	struct handoff *h = handoff_create(HELD);
	uint64_t n_sent = 0, n_taken = 0;
	struct frame got[BURST_MAX];
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	while (n_taken < FRAMES) {
		unsigned n = 1 + rng_next(&rng) % BURST_MAX, most = 1 + rng_next(&rng) % BURST_MAX;

		for (unsigned i = 0; i < n; i++)
			sent[n_sent + i] = any_frame(&rng, n_sent + i + 1);
		if (n_sent < FRAMES && handoff_put(h, &sent[n_sent], n))
			n_sent += n;
		else
			assert_true(n_sent >= FRAMES || n_sent - n_taken + n > HELD);
		assert_int_equal(handoff_waiting(h), n_sent - n_taken);
		n = handoff_take(h, got, most);
		assert_int_equal(n, RTE_MIN(most, n_sent - n_taken));
		assert_memory_equal(got, &sent[n_taken], n * sizeof(got[0]));
		ctr_add(&h->taken, n);
		n_taken += n;
	}
	handoff_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_was_handed_over_is_taken),
		cmocka_unit_test(a_frame_from_a_later_clock_has_waited_no_time),
		cmocka_unit_test(frames_of_a_flow_stay_in_order_across_workers),
		cmocka_unit_test(a_late_loop_is_recorded_with_the_longest_gap),
		cmocka_unit_test(frames_cross_in_order_however_alike_they_are),
		cmocka_unit_test(only_loops_that_move_a_frame_are_busy),
		cmocka_unit_test(stepping_on_wake_ups_equals_stepping_all_the_time),
	};

	return cmocka_run_group_tests_name("workers", tests, bench_eal, NULL);
}
