// SPDX-License-Identifier: Apache-2.0
// A worker between wires looks only at ports that something happened to. Nobody can tell: frames
// and PFC leave as if it looked at every port in every loop.
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/qos/pg.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

static const char classes[] =
	"      3: {lossless: true, ingress: {alpha: 1/64}, wred: {ecn: "
	"on, kmin: 5KB, kmax: 60KB, pmax: 20%}}\n"
	"      5: {lossless: true}\n"
	"      6: {schedule: strict, max_rate: 300M}\n"
	"      1: {schedule: {dwrr: 1}, min_rate: 2G}\n";

static bool mixture(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 2, .dscp = (uint8_t)(h->sent % 64), .ecn = 2,
				    .len = (uint16_t)(64 + h->sent * 37 % 1400)};
	return h->sent < 3000;
}

static void hold(struct bench *b, bool on)
{
	switch_hold_admission(b->sw, on);
	actor_poke(&b->actor);
	bench_run(b, 1);
}

// Everything that makes a port need attention beside its own frames.
static void disturb(struct bench *b, unsigned i, const char *other_policy)
{
	if (i % 20 == 10)
		bench_pause(b, 2, 1 << 3 | 1 << 5, (uint16_t)(300 + i));
	if (i % 50 == 20)
		bench_tx(b, 2, i % 100 == 20 ? 3 : -1, false);
	if (i % 50 == 23)
		bench_tx(b, 2, i % 100 == 23 ? 3 : -1, true);
	if (i == 130)
		bench_publish(b, other_policy);
	// So long that more than a burst waits on each wire.
	if (i == 170 || i == 174)
		hold(b, i == 170);
}

// What host h received: data, then MAC control.
struct seen {
	struct bench_rx *rx[2];
	uint32_t n[2];
};

static void take(struct bench_host *h, struct seen *s)
{
	*s = (struct seen){{h->rx, h->pfc}, {h->n_rx, h->n_pfc}};
	h->rx = h->pfc = NULL;
}

static void run_world(bool polled, struct seen seen[3])
{
	const struct bench_opts o = {.delay_ns = 77, .seed = 1, .polled = polled};
	char *policy = strdup(lab_yaml(3, "10G", "", "", classes));
	struct bench *b = bench_open_with(policy, &o);

	b->host[0].source = b->host[1].source = mixture;
	actor_poke(&b->host[0].actor);
	actor_poke(&b->host[1].actor);
	for (unsigned i = 0; i < 400; i++) {
		disturb(b, i, lab_yaml(3, "10G", "", "    pfc: {quanta: 2000}\n", classes));
		bench_run(b, 10000);
	}
	bench_run(b, 50000000);
	for (unsigned i = 0; i < 3; i++)
		take(&b->host[i], &seen[i]);
	bench_close(b);
	free(policy);
}

static void looking_where_something_happened_equals_looking_everywhere(void **state)
{
	struct seen seen[2][3];

	(void)state;
	run_world(false, seen[0]);
	run_world(true, seen[1]);
	assert_true(seen[0][2].n[0] > 3000);
	assert_true(seen[0][0].n[1] > 10 && seen[0][1].n[1] > 10); // PFC to both senders
	for (unsigned i = 0; i < 6; i++) {
		const struct seen *a = &seen[0][i / 2], *b = &seen[1][i / 2];

		assert_int_equal(a->n[i % 2], b->n[i % 2]);
		for (uint32_t k = 0; k < a->n[i % 2]; k++) {
			assert_int_equal(a->rx[i % 2][k].t_ns, b->rx[i % 2][k].t_ns);
			assert_memory_equal(a->rx[i % 2][k].data, b->rx[i % 2][k].data, BENCH_KEEP);
		}
		free(a->rx[i % 2]);
		free(b->rx[i % 2]);
	}
}

// Takes all frames of the pool but n.
static unsigned exhaust(struct rte_mempool *pool, struct rte_mbuf **all, unsigned n)
{
	unsigned taken = rte_mempool_avail_count(pool) - n;

	for (unsigned i = 0; i < taken; i++)
		assert_non_null(all[i] = rte_pktmbuf_alloc(pool));
	return taken;
}

static void a_pause_that_found_no_memory_leaves_with_the_next_loop(void **state)
{
	static const char small[] = "      3: {lossless: true, ingress: {static: 20KB}}\n";
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", small), 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .len = 1514}, other = {.to = 1, .len = 64};
	struct rte_mbuf **all = calloc(b->pool_frames, sizeof(*all));
	struct rte_mempool *pool = rte_mempool_lookup("bench");
	unsigned taken, sent = 0;

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 2, -1, false);
	while (!pg_in_xoff(switch_pg_state(b->sw, 0, 3))) {
		taken = exhaust(pool, all, 1); // for the frame itself
		bench_inject(b, 0, &f, 1);
		rte_pktmbuf_free_bulk(all, taken);
		sent++;
	}
	assert_true(sent > 10);
	assert_int_equal(b->host[0].n_pfc, 0);
	// Nothing happens to port 0, but the worker is called for another.
	bench_inject(b, 2, &other, 1);
	bench_run(b, bench_wire_ns(b, 0, PFC_FRAME_LEN));
	assert_int_equal(b->host[0].n_pfc, 1);
	free(all);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_where_something_happened_equals_looking_everywhere),
		cmocka_unit_test(a_pause_that_found_no_memory_leaves_with_the_next_loop),
	};

	return cmocka_run_group_tests_name("due", tests, bench_eal, NULL);
}
