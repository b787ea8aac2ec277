// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/recovery.h"

#include "dataplane/policy.h"

struct storm_setup recovery_setup(enum watchdog_action action)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);

	s.watchdog.action = (uint8_t)action;
	s.watchdog.limit_count = 0;
	return s;
}

const struct watchdog_class *class_3(const struct bench *b)
{
	return switch_watchdog(b->sw, 2, 3);
}

uint64_t dropped(const struct bench *b, enum drop_reason reason)
{
	return ctr_get(&switch_drops(b->sw, 2, 3, reason)->packets);
}

void expect_frames(const struct watchdog_frames *f, uint64_t tx_ok, uint64_t tx_dropped,
		   uint64_t rx_ok, uint64_t rx_dropped)
{
	assert_int_equal(ctr_get(&f->tx_ok), tx_ok);
	assert_int_equal(ctr_get(&f->tx_dropped), tx_dropped);
	assert_int_equal(ctr_get(&f->rx_ok), rx_ok);
	assert_int_equal(ctr_get(&f->rx_dropped), rx_dropped);
}

void expect_pfc(const struct bench *b, uint64_t left_ns, uint8_t enable, uint16_t quanta)
{
	const struct bench_host *h = &b->host[2];
	struct pfc_times t = bench_pfc_times(&h->pfc[h->n_pfc - 1]);

	assert_int_equal(h->pfc[h->n_pfc - 1].t_ns, left_ns + bench_wire_ns(b, 2, PFC_FRAME_LEN));
	assert_int_equal(t.enable, enable);
	assert_int_equal(t.quanta[3], quanta);
}

void expect_at_rest(struct bench *b)
{
	bench_storm(b, 2, BIT3 | BIT5, 0, MS);
	bench_storm(b, 2, 0, 0, 0);
	for (unsigned q = 0; q < N_QUEUES; q++)
		bench_tx(b, 0, (int)q, true);
	bench_run(b, 20 * MS);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned c = 0; c < N_CLASSES; c++) {
			assert_int_equal(gauge_get(&switch_pfc_rx(b->sw, i)->stats[c].since_ns), 0);
			assert_int_equal(gauge_get(&switch_pfc_tx(b->sw, i)->stats[c].since_ns), 0);
			assert_false(watchdog_stormed(switch_watchdog(b->sw, i, c)));
			assert_int_equal(pg_used(switch_pg_state(b->sw, i, c)), 0);
		}
	for (unsigned i = 0; i < 3; i++)
		for (unsigned c = 3; c <= 5; c++)
			expect_delivered(b, i, (i + 1) % 3, c, 10, 10);
	assert_int_equal(bench_drops(b, DROP_HEADROOM), 0);
}

void stand_in_xoff(struct bench *b, unsigned n)
{
	b->host[2].obey_after_ns = UINT64_MAX;
	bench_tx(b, 0, 3, false);
	send(b, 2, 0, 3, n);
	assert_int_equal(pg_in_xoff(switch_pg_state(b->sw, 2, 3)), n > FULL);
}

uint64_t storm_comes(struct bench *b)
{
	uint64_t found = pause_ns(b) + DETECT_NS;

	bench_storm(b, 2, BIT3, 65535, REFRESH_NS);
	bench_run(b, 10 * US);
	send(b, 0, 2, 3, 20);
	expect_delivered(b, 0, 2, 5, 20, 20);
	run_until(b, found - 1);
	assert_int_equal(gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets), 20);
	return found;
}
