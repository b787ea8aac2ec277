// SPDX-License-Identifier: Apache-2.0
// The luck of the traffic: integer logarithm, Poisson arrivals, even choices, bytes on the wire.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/lab/workload.h"
#include "control/lab/workload.h"
#include "drivers/nic/requester.h"

static void the_integer_logarithm_is_exact_to_2_to_the_minus_30(void **state)
{
	static const uint64_t edges[] = {1, 2, 3, 1ull << 31, (1ull << 32) - 1, 1ull << 32,
					 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 1, UINT64_MAX};
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t u = i < 10 ? edges[i] : rng_next64(&r) >> (i % 60);
		long double want = 64 * logl(2) - logl((long double)(u == 0 ? 1 : u));
		long double got = (long double)workload_neg_ln(u) / 4294967296.0L;

		assert_true(fabsl(want - got) < ldexpl(1, -30));
	}
	assert_int_equal(workload_neg_ln(0), workload_neg_ln(1));
	assert_int_equal(workload_neg_ln(UINT64_MAX), 0);
}

// These very numbers on every compiler: a change of the generator changes every experiment.
static void a_seed_gives_the_same_arrivals_everywhere(void **state)
{
	static const uint64_t want[] = {1731, 1789, 3493, 3924, 5972, 6308, 6687, 9182};
	struct arrivals a = arrivals_of(1000ull << 16, 500000, 8000000000, 1000);
	struct rng r = workload_rng(1, 0);

	(void)state;
	assert_int_equal(a.mean_q16, 2000ull << 16);
	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(arrivals_next(&a, &r), want[i]);
}

// Number of arrivals in a time: mean n, and so is the variance. The seed is fixed.
static void arrivals_are_as_many_as_the_load_says(void **state)
{
	static const struct {
		uint64_t bytes, load, speed;
	} rows[] = {
		{100, 1000000, 400000000000}, // a gap of 2 ns
		{1500, 300000, 100000000000}, {1711250, 800000, 10000000000},
		{64, 10000, 25000000000},
	};
	enum { N = 200000 };

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arrivals a =
			arrivals_of(rows[i].bytes << 16, rows[i].load, rows[i].speed, 0);
		double gap = (double)rows[i].bytes * 8e15 / (double)rows[i].load /
			     (double)rows[i].speed, sum, squares = 0, last = 0;
		struct rng r = workload_rng(7, i);

		for (int k = 0; k < N; k++) {
			uint64_t t = arrivals_next(&a, &r);
			double g = (double)a.next_q16 / 65536 - last;

			assert_int_equal(t, a.next_q16 >> 16);
			last += g;
			squares += g * g;
		}
		sum = last;
		// Three standard deviations of the mean are 0.67 %.
		assert_true(fabs(sum / N / gap - 1) < 0.0067);
		// The variance of an exponential gap is its mean's square; of this estimate, 0.63
		// %.
		assert_true(fabs((squares / N - sum / N * (sum / N)) / gap / gap - 1) < 0.019);
	}
}

static void no_load_never_arrives_and_time_does_not_overflow(void **state)
{
	struct arrivals a = arrivals_of(1ull << 46, 1, 1000, 5);
	struct rng r = workload_rng(1, 1);
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t t = arrivals_next(&a, &r);

		assert_true(t >= last);
		last = t;
	}
	assert_true(last > 3600ull * 1000000000);
	a = arrivals_of(1000 << 16, 0, 1000000000, 5);
	assert_true(arrivals_next(&a, &r) > 3600ull * 1000000000);
}

// Chi-square of 15 degrees of freedom: 30.6 is its 1 % bound.
static void choices_are_even(void **state)
{
	enum { WAYS = 16, N = 160000 };
	uint32_t count[WAYS] = {0}, within[WAYS] = {0};
	struct rng r = workload_rng(3, 0);
	double chi = 0, chi_within = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		count[workload_pick(&r, WAYS)]++;
		within[workload_within(&r, WAYS)]++;
	}
	for (int i = 0; i < WAYS; i++) {
		double off = (double)count[i] - N / WAYS;
		double off_within = (double)within[i] - N / WAYS;

		chi += off * off / (N / WAYS);
		chi_within += off_within * off_within / (N / WAYS);
	}
	assert_true(chi < 30.6);
	assert_true(chi_within < 30.6);
	assert_int_equal(workload_pick(&r, 1), 0);
	assert_int_equal(workload_within(&r, 0), 0);
}

static void hosts_have_luck_of_their_own(void **state)
{
	struct rng a = workload_rng(1, 0), b = workload_rng(1, 1), c = workload_rng(2, 0);
	uint64_t x = rng_next64(&a), y = rng_next64(&b), z = rng_next64(&c);

	(void)state;
	assert_true(x != y && x != z && y != z);
}

// Ethernet 14, IP 20, UDP 8, BTH 12, iCRC 4, and 24 on the wire: 82. RETH 16 on a WRITE's first
// packet, AETH 4 on a READ's first and last response; payloads are padded to words.
static void every_header_counts_on_the_wire(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t mtu, n_bytes, wire;
	} rows[] = {
		{REQ_WRITE, 1024, 1000, 82 + 16 + 1000},
		{REQ_WRITE, 1024, 1024, 82 + 16 + 1024},
		{REQ_WRITE, 1024, 1025, 82 + 16 + 1024 + 82 + 1 + 3},
		{REQ_WRITE, 1000, 3500, 4 * 82 + 16 + 3500},
		{REQ_SEND, 4096, 1, 82 + 1 + 3},
		{REQ_SEND, 1024, 10240, 10 * 82 + 10240},
		{REQ_READ, 1024, 1024, 82 + 4 + 1024},
		{REQ_READ, 1024, 4096, 4 * 82 + 8 + 4096},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(workload_wire_bytes(rows[i].op, rows[i].mtu, rows[i].n_bytes, 0),
				 rows[i].wire);
}

static void a_storage_transfer_goes_by_its_size(void **state)
{
	static const struct storage_params p = {.small_bytes = 4096, .large_bytes = 65536,
						.chunk_bytes = 60000, .request_bytes = 256,
						.reply_bytes = 128};
	static const struct {
		uint32_t n_bytes;
		enum storage_mode mode;
		uint32_t write_request, write_reply, read_request, read_reply, first, second;
	} rows[] = {
		{1, STORAGE_SMALL, 257, 128, 256, 129, 0, 0},
		{4096, STORAGE_SMALL, 4352, 128, 256, 4224, 0, 0},
		{4097, STORAGE_DIRECT, 256, 128, 256, 128, 4097, 0},
		{65536, STORAGE_DIRECT, 256, 128, 256, 128, 65536, 0},
		{65537, STORAGE_CHUNKED, 256, 128, 256, 128, 60000, 5537},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t n = rows[i].n_bytes, first = storage_next_bytes(&p, n, 0);

		assert_int_equal(storage_mode_of(&p, n), rows[i].mode);
		assert_int_equal(storage_request_bytes(&p, false, n), rows[i].write_request);
		assert_int_equal(storage_reply_bytes(&p, false, n), rows[i].write_reply);
		assert_int_equal(storage_request_bytes(&p, true, n), rows[i].read_request);
		assert_int_equal(storage_reply_bytes(&p, true, n), rows[i].read_reply);
		assert_int_equal(first, rows[i].first);
		assert_int_equal(storage_next_bytes(&p, n, first), rows[i].second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_integer_logarithm_is_exact_to_2_to_the_minus_30),
		cmocka_unit_test(a_seed_gives_the_same_arrivals_everywhere),
		cmocka_unit_test(arrivals_are_as_many_as_the_load_says),
		cmocka_unit_test(no_load_never_arrives_and_time_does_not_overflow),
		cmocka_unit_test(choices_are_even),
		cmocka_unit_test(hosts_have_luck_of_their_own),
		cmocka_unit_test(every_header_counts_on_the_wire),
		cmocka_unit_test(a_storage_transfer_goes_by_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
