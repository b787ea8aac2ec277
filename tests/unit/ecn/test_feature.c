// SPDX-License-Identifier: Apache-2.0
// Features from two snapshots of a queue.
#include "tests/unit/ecn/test.h"

#include "control/autoecn/feature.h"

enum { N = 8, GBPS = 1000000000 };

// Buckets end at 1, 2, 4, ... us.
static uint64_t bucket_max(unsigned b)
{
	return 1000ull << b;
}

static void features_are_of_what_happened_in_between(void **state)
{
	static struct ecn_snapshot from = {.t_ns = 5000, .tx_packets = 10, .tx_bytes = 7000,
					   .marked = 3, .pauses = 2, .paused_ns = 50,
					   .length_sum = 100, .lengths = 1, .residence = {10},
					   .marked_bytes = 1, .marked_ns = 9, .places = 5,
					   .flows = 2, .flow_bytes = 70, .elephant_bytes = 30,
					   .flow_squares = 2500};
	static struct ecn_snapshot to;
	struct ecn_features f;

	(void)state;
	to = from;
	to.t_ns += 1000000;
	to.tx_packets += 200;
	to.tx_bytes += 62500; // half of 1 Gb/s for 1 ms
	to.marked += 50;
	to.pauses += 4;
	to.paused_ns += 250000;
	to.length_sum += 3000;
	to.lengths += 2;
	to.residence[0] += 197;
	to.residence[3] += 3; // the 99th percentile is among these
	to.marked_bytes += 10000;
	to.marked_ns += 100000;
	to.table = 64;
	to.places += 48; // 8 of 64, if all had been looked at
	to.flows += 6;
	to.flow_bytes += 4000;
	to.elephant_bytes += 1000;
	to.flow_squares += 4000000;
	f = ecn_features_between(&from, &to, GBPS, bucket_max, N);
	assert_float_equal(f.utilisation, 0.5, 1e-9);
	assert_float_equal(f.marked_use, 0.8, 1e-9);
	assert_float_equal(f.mark_share, 0.25, 1e-9);
	assert_float_equal(f.paused_share, 0.25, 1e-9);
	assert_float_equal(f.queue_bytes, 1500, 1e-9);
	assert_float_equal(f.delay_p99_ns, 8000, 1e-9);
	assert_float_equal(f.delay_mean_ns, (197 * 1000 + 3 * 8000) / 200.0, 1e-9);
	assert_float_equal(f.flows, 8, 1e-9);
	assert_float_equal(f.elephants, 0.25, 1e-9);
	assert_float_equal(f.fairness, 2 / 3.0f, 1e-6);
	assert_int_equal(f.packets, 200);
	assert_int_equal(f.pauses, 4);
}

static void the_99th_percentile_leaves_one_frame_in_a_hundred_out(void **state)
{
	static struct ecn_snapshot from, to;
	static const struct {
		uint64_t fast, slow;
		double p99_ns;
	} rows[] = {{99, 1, 1000}, {98, 2, 8000}, {1, 0, 1000}, {0, 1, 8000}, {0, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		to.residence[0] = rows[i].fast;
		to.residence[3] = rows[i].slow;
		assert_float_equal(
			ecn_features_between(&from, &to, GBPS, bucket_max, N).delay_p99_ns,
			rows[i].p99_ns, 1e-9);
	}
}

static void an_idle_queue_has_features_without_a_division_by_zero(void **state)
{
	static const struct ecn_snapshot none;
	const struct ecn_features f = ecn_features_between(&none, &none, GBPS, bucket_max, N);

	(void)state;
	assert_float_equal(f.utilisation, 0, 0);
	assert_float_equal(f.marked_use, 1, 0); // no mark, so no mark has cost anything
	assert_float_equal(f.mark_share, 0, 0);
	assert_float_equal(f.queue_bytes, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_of_what_happened_in_between),
		cmocka_unit_test(the_99th_percentile_leaves_one_frame_in_a_hundred_out),
		cmocka_unit_test(an_idle_queue_has_features_without_a_division_by_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
