// SPDX-License-Identifier: Apache-2.0
// Scheduling of a whole switch: conformance rows S1 and S2.
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

static unsigned class_of(const struct bench_rx *rx)
{
	return rx->data[15] >> 5;
}

static const char *weights(unsigned w3, unsigned w4)
{
	static char classes[256];

	snprintf(classes, sizeof(classes),
		 "      3: {lossless: true, schedule: {dwrr: %u}}\n"
		 "      4: {schedule: {dwrr: %u}}\n",
		 w3, w4);
	return lab_yaml(3, "10G", "", "", classes);
}

// Byte shares of classes 3 and 4 over the next n frames at host 2.
static double share_of_3(struct bench *b, unsigned n)
{
	uint32_t from = b->host[2].n_rx;
	uint64_t bytes[8] = {0};

	while (b->host[2].n_rx < from + n)
		bench_run(b, 10000);
	for (uint32_t i = from; i < from + n; i++)
		bytes[class_of(&b->host[2].rx[i])] += b->host[2].rx[i].len;
	return (double)bytes[3] / (double)(bytes[3] + bytes[4]);
}

static void near(double got, double want)
{
	assert_true(got > want * 0.98 && got < want * 1.02);
}

static void s1_byte_shares_follow_the_weights_and_new_weights_lose_nothing(void **state)
{
	struct bench *b = bench_open(weights(14, 15), 0);
	struct bench_frame f3 = {.to = 2, .dscp = 24, .len = 1500};
	struct bench_frame f4 = {.to = 2, .dscp = 32, .len = 400};

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f3, 700);
	bench_inject(b, 1, &f4, 3000);
	bench_tx(b, 2, -1, true);
	near(share_of_3(b, 1000), 14.0 / 29);
	near(share_of_3(b, 1000), 14.0 / 29);
	bench_publish(b, weights(8, 30));
	near(share_of_3(b, 1000), 8.0 / 38);
	bench_run(b, 100000000);
	assert_int_equal(b->host[2].n_rx, 3700);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		assert_int_equal(bench_drops(b, r), 0);
	bench_close(b);
}

// Classes of weight 1 that send nothing must not make the turns of the others long.
static void s1_shares_hold_in_every_window_beside_light_classes(void **state)
{
	static const unsigned w[][2] = {{50, 50}, {8, 30}, {200, 200}, {1, 3}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bench *b = bench_open(weights(w[i][0], w[i][1]), 0);
		struct bench_frame f3 = {.to = 2, .dscp = 24, .len = 1000};
		struct bench_frame f4 = {.to = 2, .dscp = 32, .len = 1000};
		double want = (double)w[i][0] / (w[i][0] + w[i][1]);

		bench_tx(b, 2, -1, false);
		bench_inject(b, 0, &f3, 1200);
		bench_inject(b, 1, &f4, 1800);
		bench_tx(b, 2, -1, true);
		bench_run(b, 1000000);
		for (unsigned from = 0; from < 200; from++) {
			unsigned n = 0;

			for (unsigned k = from; k < from + 1000; k++)
				n += class_of(&b->host[2].rx[k]) == 3;
			near(n / 1000.0, want);
		}
		bench_close(b);
	}
}

static bool strict_traffic(struct bench_host *h, struct bench_frame *out)
{
	(void)h;
	*out = (struct bench_frame){.to = 2, .dscp = 48, .len = 1000};
	return true;
}

static bool shared_traffic(struct bench_host *h, struct bench_frame *out)
{
	*out = (struct bench_frame){.to = 2, .dscp = (uint8_t)(h->sent % 2 ? 8 : 16), .len = 1000};
	return true;
}

static void s2_a_strict_class_keeps_exactly_its_maximum_rate(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "",
					      "      6: {schedule: strict, max_rate: 500M}\n"
					      "      1: {schedule: {dwrr: 30}}\n"
					      "      2: {schedule: {dwrr: 70}}\n"),
				     0);
	uint64_t n[8] = {0};
	uint32_t from;

	(void)state;
	b->host[0].source = strict_traffic;
	b->host[1].source = shared_traffic;
	actor_poke(&b->host[0].actor);
	actor_poke(&b->host[1].actor);
	bench_run(b, 10000000);
	from = b->host[2].n_rx;
	bench_run(b, 100000000);
	for (uint32_t i = from; i < b->host[2].n_rx; i++)
		n[class_of(&b->host[2].rx[i])]++;
	// 500 Mb/s of 8,000-bit frames for 100 ms: 6,250, to the frame.
	assert_in_range(n[6], 6249, 6251);
	// The line is full: the rest of 1,024-byte slots.
	assert_in_range(n[1] + n[2] + n[6], 122069, 122072);
	bench_close(b);
}

static void strict_goes_first_and_the_higher_class_before_the_lower(void **state)
{
	struct bench *b =
		bench_open(lab_yaml(3, "10G", "", "",
				    "      6: {schedule: strict}\n      7: {schedule: strict}\n"),
			   0);

	(void)state;
	bench_tx(b, 2, -1, false);
	for (unsigned i = 0; i < 30; i++) {
		struct bench_frame f = {.to = 2,
					.dscp = (uint8_t)(i % 3 == 0   ? 0
							  : i % 3 == 1 ? 48
								       : 56),
					.len = 100};

		bench_inject(b, 0, &f, 1);
	}
	bench_tx(b, 2, -1, true);
	bench_run(b, 100000);
	assert_int_equal(b->host[2].n_rx, 30);
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(class_of(&b->host[2].rx[i]), i < 10 ? 7 : i < 20 ? 6 : 0);
	bench_close(b);
}

static void a_minimum_rate_is_kept_against_a_heavier_weight(void **state)
{
	struct bench *b = bench_open(lab_yaml(3, "10G", "", "",
					      "      1: {schedule: {dwrr: 1}, min_rate: 3G}\n"
					      "      2: {schedule: {dwrr: 99}}\n"),
				     0);
	struct bench_frame f1 = {.to = 2, .dscp = 8, .len = 1000};
	struct bench_frame f2 = {.to = 2, .dscp = 16, .len = 1000};
	uint64_t n1 = 0;

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f1, 1500);
	bench_inject(b, 1, &f2, 1500);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	for (uint32_t i = 0; i < b->host[2].n_rx; i++)
		n1 += class_of(&b->host[2].rx[i]) == 1;
	assert_in_range(n1, 370, 390); // 3 Gb/s for 1 ms: 375
	bench_close(b);
}

static void tx_disable_of_a_queue_stops_only_that_queue(void **state)
{
	struct bench *b = bench_open(weights(1, 1), 0);
	struct bench_frame f3 = {.to = 2, .dscp = 24, .len = 500};
	struct bench_frame f4 = {.to = 2, .dscp = 32, .len = 500};

	(void)state;
	bench_tx(b, 2, 3, false);
	bench_inject(b, 0, &f3, 10);
	bench_inject(b, 0, &f4, 10);
	bench_run(b, 100000);
	assert_int_equal(b->host[2].n_rx, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(class_of(&b->host[2].rx[i]), 4);
	bench_tx(b, 2, 3, true);
	bench_run(b, 100000);
	assert_int_equal(b->host[2].n_rx, 20);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s1_byte_shares_follow_the_weights_and_new_weights_lose_nothing),
		cmocka_unit_test(s1_shares_hold_in_every_window_beside_light_classes),
		cmocka_unit_test(s2_a_strict_class_keeps_exactly_its_maximum_rate),
		cmocka_unit_test(strict_goes_first_and_the_higher_class_before_the_lower),
		cmocka_unit_test(a_minimum_rate_is_kept_against_a_heavier_weight),
		cmocka_unit_test(tx_disable_of_a_queue_stops_only_that_queue),
	};

	return cmocka_run_group_tests_name("sched", tests, bench_eal, NULL);
}
