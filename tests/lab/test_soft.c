// SPDX-License-Identifier: Apache-2.0
// Ports with a receive ring, as software drivers have: skid for what the ring may still deliver
// after a PAUSE, and the guard that pauses the senders when the worker is late.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

enum { RING = 40, BURST_FRAMES = 64, SKID_FRAMES = RING + BURST_FRAMES, FRAME_CELLS = 6 };

static struct bench *open_soft(const char *port_keys)
{
	const struct bench_opts o = {.seed = 1, .rx_ring = RING};

	return bench_open_with(lab_yaml(3, "10G", port_keys, "",
					"      3: {lossless: true, ingress: {headroom: 10KB}}\n"),
			       &o);
}

// Fills port 0's group until its headroom is full.
static void fill(struct bench *b, const struct bench_frame *f)
{
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	uint32_t cap = b->policy->ports[0].pg[3].xoff_cells;
	uint32_t c = cells_of(&b->policy->cell, f->len);

	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	while (gauge_get(&pg->headroom) + c <= cap)
		bench_inject(b, 0, f, 1);
	assert_int_equal(switch_skid_used(b->sw, 0), 0);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
}

static void skid_holds_as_many_frames_as_the_ring_whatever_their_size(void **state)
{
	static const uint16_t sizes[] = {64, 256, 257, 1514};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bench *b = open_soft("");
		struct bench_frame f = {.to = 2, .dscp = 24, .len = sizes[i]};

		fill(b, &f);
		for (unsigned n = 1; n <= SKID_FRAMES; n++) {
			bench_inject(b, 0, &f, 1);
			assert_int_equal(switch_skid_used(b->sw, 0), n * FRAME_CELLS);
			assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
		}
		bench_inject(b, 0, &f, 3);
		assert_int_equal(bench_drops(b, DROP_HEADROOM), 3);
		assert_int_equal(switch_skid_used(b->sw, 1), 0);
		bench_close(b);
	}
}

static void skid_is_given_back_to_the_cell_before_xon(void **state)
{
	struct bench *b = open_soft("");
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 300};
	const struct pg_state *pg = switch_pg_state(b->sw, 0, 3);
	uint32_t n;

	(void)state;
	fill(b, &f);
	bench_inject(b, 0, &f, 10);
	n = (uint32_t)switch_balance(b->sw).queued;
	bench_tx(b, 2, -1, true);
	bench_run(b, 10000000);
	assert_int_equal(b->host[2].n_rx, n);
	assert_int_equal(switch_skid_used(b->sw, 0), 0);
	assert_int_equal(pg_used(pg), 0);
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(b->sw, pool).used, 0);
	assert_int_equal(switch_pfc_tx(b->sw, 0)->paused, 0);
	bench_close(b);
}

static void the_guard_pauses_above_its_share_and_resumes_below_half_of_it(void **state)
{
	struct bench *b = open_soft(", rx_guard: 50%");
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 100};

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	bench_inject(b, 0, &f, RING / 2);
	assert_int_equal(b->host[0].n_pfc, 0);
	bench_inject(b, 0, &f, 1);
	assert_int_equal(b->host[0].n_pfc, 1);
	assert_int_equal(bench_pfc_times(&b->host[0].pfc[0]).enable, 1 << 3);
	assert_int_equal(gauge_get(&switch_port_counters(b->sw, 0)->rx_guard), 1);
	// No group is in XOFF for it.
	assert_false(pg_in_xoff(switch_pg_state(b->sw, 0, 3)));
	switch_hold_admission(b->sw, false);
	actor_poke(&b->actor);
	bench_run(b, 100000);
	assert_int_equal(b->host[0].n_pfc, 2);
	assert_int_equal(bench_pfc_times(&b->host[0].pfc[1]).quanta[3], 0);
	assert_int_equal(b->host[2].n_rx, RING / 2 + 1);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skid_holds_as_many_frames_as_the_ring_whatever_their_size),
		cmocka_unit_test(skid_is_given_back_to_the_cell_before_xon),
		cmocka_unit_test(the_guard_pauses_above_its_share_and_resumes_below_half_of_it),
	};

	return cmocka_run_group_tests_name("soft", tests, bench_eal, NULL);
}
