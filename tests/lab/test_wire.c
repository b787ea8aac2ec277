// SPDX-License-Identifier: Apache-2.0
// The virtual wire and the residence time through a switch, to the nanosecond.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <stdlib.h>

static void a_frame_arrives_after_serialisation_and_propagation(void **state)
{
	static const struct {
		const char *speed;
		uint64_t bps;
	} t[] = {{"10G", 10000000000}, {"100G", 100000000000}, {"400G", 400000000000}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bench *b =
			bench_open(lab_yaml(3, t[i].speed, "", "", "      3: {}\n"), 1234);
		struct bench_frame f = {.to = 1, .len = 1000};
		uint64_t start = b->clock.now_ns;
		uint64_t wire = (1024 * 8 * 1000000000ull + t[i].bps - 1) / t[i].bps;

		bench_inject(b, 0, &f, 1);
		bench_run(b, 100000);
		// Two wires, and nothing in between: an idle switch forwards at once.
		assert_int_equal(b->host[1].rx[0].t_ns, start + 2 * (wire + 1234));
		bench_close(b);
	}
}

static void back_to_back_frames_take_exactly_their_time_on_the_average(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "100G", "", "", "      3: {}\n"), 0);
	struct bench_frame f = {.to = 1, .len = 60}; // 6.72 ns each
	uint64_t first;

	(void)state;
	for (unsigned i = 0; i < 10001; i++)
		bench_send(b, 0, &f);
	bench_run(b, 1000000);
	assert_int_equal(b->host[1].n_rx, 10001);
	first = b->host[1].rx[0].t_ns;
	assert_in_range(b->host[1].rx[10000].t_ns - first, 67199, 67201);
	for (unsigned i = 1; i <= 10000; i++)
		assert_in_range(b->host[1].rx[i].t_ns - b->host[1].rx[i - 1].t_ns, 6, 7);
	bench_close(b);
}

static void residence_is_recorded_per_queue(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "", "      3: {}\n"), 0);
	struct bench_frame f = {.to = 1, .len = 1000};
	const struct queue_counters *q = switch_queue_counters(b->sw, 1, 0);
	uint64_t waited;

	(void)state;
	bench_inject(b, 0, &f, 1);
	assert_int_equal(ctr_get(&q->residence[0]), 1);
	bench_tx(b, 1, -1, false);
	bench_inject(b, 0, &f, 1);
	bench_run(b, 5000);
	bench_tx(b, 1, -1, true);
	bench_run(b, 5000);
	// bench_inject waits for a PFC frame and 1 ns after the arrival.
	waited = bench_wire_ns(b, 0, PFC_FRAME_LEN) + 1 + 5000;
	assert_int_equal(gauge_get(&q->residence_max_ns), waited);
	assert_int_equal(ctr_get(&q->residence[residence_bucket(waited)]), 1);
	bench_close(b);
}

static void buckets_of_residence_are_in_order_and_hold_their_maximum(void **state)
{
	(void)state;
	for (unsigned b = 0; b + 1 < RESIDENCE_BUCKETS; b++) {
		assert_int_equal(residence_bucket(residence_bucket_max(b)), b);
		assert_int_equal(residence_bucket(residence_bucket_max(b) + 1), b + 1);
	}
	assert_int_equal(residence_bucket(UINT64_MAX), RESIDENCE_BUCKETS - 1);
}

static bool endless(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 2, .dscp = (uint8_t)(h->sent % 64), .ecn = 2,
				    .len = (uint16_t)(64 + h->sent * 37 % 1400)};
	return h->sent < 3000;
}

// The wake-ups that worker_step returns must be all it needs: waking it at every nanosecond, or at
// none but its own, sends the same frames at the same times.
static void stepping_on_wake_ups_equals_stepping_all_the_time(void **state)
{
	static const char classes[] =
		"      3: {lossless: true, ingress: {alpha: 1/64}, wred: {ecn: "
		"on, kmin: 5KB, kmax: 60KB, pmax: 20%}}\n"
		"      5: {lossless: true}\n"
		"      6: {schedule: strict, max_rate: 300M}\n"
		"      1: {schedule: {dwrr: 1}, min_rate: 2G}\n";
	struct bench_rx *rx[2];
	uint32_t n[2];

	(void)state;
	for (unsigned dense = 0; dense < 2; dense++) {
		struct bench *b = bench_open(lab_yaml(3, "10G", "", "", classes), 77);

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
		bench_run(b, 50000000);
		n[dense] = b->host[2].n_rx;
		rx[dense] = b->host[2].rx;
		b->host[2].rx = NULL;
		bench_close(b);
	}
	assert_true(n[0] > 3000);
	assert_int_equal(n[0], n[1]);
	for (uint32_t i = 0; i < n[0]; i++) {
		assert_int_equal(rx[0][i].t_ns, rx[1][i].t_ns);
		assert_memory_equal(rx[0][i].data, rx[1][i].data, BENCH_KEEP);
	}
	free(rx[0]);
	free(rx[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_arrives_after_serialisation_and_propagation),
		cmocka_unit_test(back_to_back_frames_take_exactly_their_time_on_the_average),
		cmocka_unit_test(residence_is_recorded_per_queue),
		cmocka_unit_test(buckets_of_residence_are_in_order_and_hold_their_maximum),
		cmocka_unit_test(stepping_on_wake_ups_equals_stepping_all_the_time),
	};

	return cmocka_run_group_tests_name("wire", tests, bench_eal, NULL);
}
