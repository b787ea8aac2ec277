// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/base/units.h"
#include "control/config/addr.h"
#include "dataplane/base/rng.h"
#include "dataplane/policy.h"
#include "dataplane/qos/pg.h"

static const struct {
	enum unit_kind kind;
	const char *text;
	int64_t n; // -1: refused
} texts[] = {
	{UNIT_BYTES, "1500", 1500},
	{UNIT_BYTES, "12MB", 12000000},
	{UNIT_BYTES, "12MiB", 12582912},
	{UNIT_BYTES, "0.8KiB", 819},
	{UNIT_BYTES, "1.5KB", 1500},
	{UNIT_BYTES, "2 GB", 2000000000},
	{UNIT_BYTES, "1GiB", 1073741824},
	{UNIT_BYTES, "3B", 3},
	{UNIT_BYTES, "100kB", 100000},
	{UNIT_BYTES, "1kb", -1},
	{UNIT_BYTES, "1Mbit", -1},
	{UNIT_BYTES, "1k", -1},
	{UNIT_BYTES, "1 ", -1},
	{UNIT_BYTES, "", -1},
	{UNIT_BYTES, ".5KB", -1},
	{UNIT_BYTES, "5.KB", -1},
	{UNIT_BYTES, "-1", -1},
	{UNIT_BYTES, "1.2.3", -1},
	{UNIT_BYTES, "9000000000GB", -1},
	{UNIT_BYTES, "99999999999999999999999", -1},
	{UNIT_RATE, "40G", 40000000000},
	{UNIT_RATE, "2.5G", 2500000000},
	{UNIT_RATE, "9600bps", 9600},
	{UNIT_RATE, "1K", 1000},
	{UNIT_RATE, "40Gb", 40000000000},
	{UNIT_RATE, "1Gbps", 1000000000},
	{UNIT_RATE, "1.5 Gbit", 1500000000},
	{UNIT_RATE, "1Gbit/s", 1000000000},
	{UNIT_RATE, "1Gb/s", 1000000000},
	{UNIT_RATE, "10kbps", 10000},
	{UNIT_RATE, "10k", 10000},
	{UNIT_RATE, "9600b/s", 9600},
	{UNIT_RATE, "1GB/s", -1},
	{UNIT_RATE, "1GBps", -1},
	{UNIT_RATE, "1g", -1},
	{UNIT_RATE, "1mbps", -1},
	{UNIT_RATE, "1Gx", -1},
	{UNIT_RATE, "9600b", -1},
	{UNIT_TIME, "10us", 10000},
	{UNIT_TIME, "300s", 300000000000},
	{UNIT_TIME, "1.5ms", 1500000},
	{UNIT_TIME, "5", -1},
	{UNIT_TIME, "0", 0},
	{UNIT_TIME, "400a", -1},
	{UNIT_LENGTH, "5m", 500},
	{UNIT_LENGTH, "2km", 200000},
	{UNIT_LENGTH, "0.5m", 50},
	{UNIT_LENGTH, "5", -1},
	{UNIT_PERCENT, "100%", 1000000},
	{UNIT_PERCENT, "0.01%", 100},
	{UNIT_PERCENT, "1", -1},
	{UNIT_COUNT, "42", 42},
	{UNIT_COUNT, "4.2", -1},
	{UNIT_COUNT, "4.0", -1},
	{UNIT_COUNT, "0x10", -1},
	{UNIT_QP, "42", 42},
	{UNIT_QP, "0x10", 16},
	{UNIT_QP, "0XfFfFfF", 0xffffff},
	{UNIT_QP, "010", 10},
	{UNIT_QP, "0x7fffffffffffff", 0x7fffffffffffff},
	{UNIT_QP, "0x1000000000000000", -1},
	{UNIT_QP, "0x", -1},
	{UNIT_QP, "0x 1", -1},
	{UNIT_QP, "0x1g", -1},
	{UNIT_QP, "0x-1", -1},
	{UNIT_QP, "1.0", -1},
	{UNIT_QP, "ff", -1},
	{UNIT_RATIO, "1.5", 1500000},
};

static void units_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int64_t n = -1;
		const char *why = NULL;
		bool ok = unit_parse(texts[i].kind, texts[i].text, &n, &why);

		if (ok != (texts[i].n >= 0) || n != texts[i].n)
			fail_msg("row %zu, \"%s\": %d %" PRId64, i, texts[i].text, ok, n);
	}
}

static void bits_are_no_bytes(void **state)
{
	static const struct {
		enum unit_kind kind;
		const char *text, *why;
	} rows[] = {
		{UNIT_BYTES, "100kb",
		 "is unclear, b is a bit and B a byte: a size is in bytes, such as 150KB"},
		{UNIT_BYTES, "12mb",
		 "is unclear, b is a bit and B a byte: a size is in bytes, such as 150KB"},
		{UNIT_BYTES, "12 apart", "expected a size such as 150KB (B KB MB GB KiB MiB GiB)"},
		{UNIT_RATE, "1GB/s",
		 "is in bytes: a rate is in bits per second, and 1GB/s is 8G"},
		{UNIT_RATE, "1GG", "expected a rate such as 40G (bps K M G)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = NULL;
		int64_t n;

		assert_false(unit_parse(rows[i].kind, rows[i].text, &n, &why));
		assert_string_equal(why, rows[i].why);
	}
}

static void alpha_is_a_power_of_two(void **state)
{
	static const struct {
		const char *text;
		int64_t log2;
		const char *why;
	} rows[] = {
		{"1/8", -3, NULL},
		{"0.125", -3, NULL},
		{"1", 0, NULL},
		{"2", 1, NULL},
		{"128", 7, NULL},
		{"1/256", -8, NULL},
		{"0.00390625", -8, NULL},
		{"4/2", 1, NULL},
		{"1.0", 0, NULL},
		{"0.5/4", -3, NULL},
		{"3", 0, "is not a power of two: use 2 or 4"},
		{"0.3", 0, "is not a power of two: use 1/4 or 1/2"},
		{"1/3", 0, "is not a power of two: use 1/4 or 1/2"},
		{"0.7", 0, "is not a power of two: use 1/2 or 1"},
		{"1.0000001", 0, "is not a power of two: use 1 or 2"},
		{"256", 0, "is above the largest alpha: use 128"},
		{"0.001", 0, "is below the smallest alpha: use 1/256"},
		{"0", 0, "expected a power of two from 1/256 to 128, such as 1/8 or 1"},
		{"1/0", 0, "expected a power of two from 1/256 to 128, such as 1/8 or 1"},
		{"1/", 0, "expected a power of two from 1/256 to 128, such as 1/8 or 1"},
		{"-1", 0, "expected a power of two from 1/256 to 128, such as 1/8 or 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t log2 = 99;
		char why[96] = "";
		bool ok = unit_parse_alpha(rows[i].text, &log2, why, sizeof(why));

		assert_int_equal(ok, rows[i].why == NULL);
		if (ok)
			assert_int_equal(log2, rows[i].log2);
		else
			assert_string_equal(why, rows[i].why);
	}
}

static void numbers_print_in_the_shortest_exact_unit(void **state)
{
	static const struct {
		enum unit_kind kind;
		int64_t n;
		const char *text;
	} rows[] = {
		{UNIT_BYTES, 12000000, "12MB"},
		{UNIT_BYTES, 500000, "500KB"},
		{UNIT_BYTES, 1048576, "1MiB"},
		{UNIT_BYTES, 9216, "9216B"},
		{UNIT_BYTES, 0, "0"},
		{UNIT_BYTES, 1501, "1501B"},
		{UNIT_RATE, 40000000000, "40G"},
		{UNIT_TIME, 1500, "1500ns"},
		{UNIT_LENGTH, 500, "5m"},
		{UNIT_LENGTH, 250, "2.5m"},
		{UNIT_LENGTH, 1234, "12.34m"},
		{UNIT_LENGTH, 5, "0.05m"},
		{UNIT_LENGTH, 100000, "1km"},
		{UNIT_LENGTH, 100050, "1000.5m"},
		{UNIT_PERCENT, 500000, "50%"},
		{UNIT_PERCENT, 15000, "1.5%"},
		{UNIT_PERCENT, 1, "0.0001%"},
		{UNIT_RATIO, 1500000, "1.5"},
		{UNIT_RATIO, 1, "0.000001"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[32];

		unit_print(rows[i].kind, rows[i].n, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

static void must_return(enum unit_kind kind, int64_t n)
{
	const char *text = UNIT_TEXT(kind, n), *why;
	int64_t back = -1;

	if (!unit_parse(kind, text, &back, &why) || back != n)
		fail_msg("unit %d: %" PRId64 " is printed as %s, which is %" PRId64, kind, n, text,
			 back);
}

static void what_is_printed_is_parsed_as_the_same(void **state)
{
	enum { N_RANDOM = 20000, MOST_BITS = 55 };
	struct rng r;

	(void)state;
	rng_init(&r, 1);
	for (unsigned kind = 0; kind <= UNIT_RATIO; kind++) {
		for (int64_t ten = 1; ten < 1ll << MOST_BITS; ten *= 10)
			for (int64_t n = ten - 1; n <= ten + 1; n++) {
				must_return(kind, n);
				must_return(kind, n * 2);
			}
		for (unsigned bit = 0; bit < MOST_BITS; bit++)
			for (int64_t n = (1ll << bit) - 1; n <= (1ll << bit) + 1; n++)
				must_return(kind, n);
		for (unsigned i = 0; i < N_RANDOM; i++)
			must_return(kind, (int64_t)(rng_next64(&r) >> (10 + rng_next(&r) % 54)));
	}
}

static void a_printed_alpha_is_parsed_as_the_same(void **state)
{
	char text[UNIT_TEXT_LEN], why[96];
	int64_t back;

	(void)state;
	for (int log2 = ALPHA_LOG2_MIN; log2 <= ALPHA_LOG2_MAX; log2++) {
		unit_print_alpha(log2, text, sizeof(text));
		assert_true(unit_parse_alpha(text, &back, why, sizeof(why)));
		assert_int_equal(back, log2);
	}
}

static void a_printed_address_is_parsed_as_the_same(void **state)
{
	struct policy_addr a, back;
	char text[ADDR_TEXT_LEN];
	struct rng r;

	(void)state;
	rng_init(&r, 2);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned zeros = rng_next(&r) % 16;

		a = (struct policy_addr){.family = i % 2 == 0 ? FAMILY_V4 : FAMILY_V6};
		// Zeros in front and at the end are what IPv6 writes shorter.
		for (unsigned k = i % 4 < 2 ? zeros : 0; k < addr_bits(&a) / 8; k++)
			a.ip[k] = (uint8_t)(k < zeros || i % 3 != 0 ? rng_next(&r) : 0);
		a.len = (uint8_t)(rng_next(&r) % (addr_bits(&a) + 1));
		if (!addr_parse(addr_text(&a, text), &back) || memcmp(&a, &back, sizeof(a)) != 0)
			fail_msg("%s is read as another address", text);
	}
}

#define X60 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X124 X60 X60 "xxxx"

static void ranges_in_names_expand(void **state)
{
	static const struct {
		const char *text, *first, *last;
		unsigned n; // 0: refused
	} rows[] = {
		{"p1", "p1", "p1", 1},
		{"p[1-3]", "p1", "p3", 3},
		{"eth[01-12]x", "eth01x", "eth12x", 12},
		{"p[1,4-6]", "p1", "p6", 4},
		{"a[1-2]b[3-4]", "a1b3", "a2b4", 2},
		{"p[5]", "p5", "p5", 1},
		{"p[1-512]", "p1", "p512", 512},
		{"p[1-513]", NULL, NULL, 0},
		{"p[3-1]", NULL, NULL, 0},
		{"p[1-3", NULL, NULL, 0},
		{"p[]", NULL, NULL, 0},
		{"p[a]", NULL, NULL, 0},
		{"p[1-2]q[1-3]", NULL, NULL, 0},
		{"p[0-4294967295]", NULL, NULL, 0},
		{X124 "[1-9]", X124 "1", X124 "9", 9},
		{X124 "[099-100]", X124 "099", X124 "100", 2},
		{X124 "[99-100]y", NULL, NULL, 0},
		{X124 "x[99-100]", NULL, NULL, 0},
		{"[1-2]" X124 "xx", "1" X124 "xx", "2" X124 "xx", 2},
		{"[1-2]" X124 "xxx", NULL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct expansion e;
		const char *why;
		bool ok = expand(rows[i].text, &e, &why);

		assert_int_equal(ok, rows[i].n != 0);
		if (ok) {
			assert_int_equal(e.n, rows[i].n);
			assert_string_equal(e.items[0], rows[i].first);
			assert_string_equal(e.items[e.n - 1], rows[i].last);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_exact),
		cmocka_unit_test(bits_are_no_bytes),
		cmocka_unit_test(alpha_is_a_power_of_two),
		cmocka_unit_test(numbers_print_in_the_shortest_exact_unit),
		cmocka_unit_test(what_is_printed_is_parsed_as_the_same),
		cmocka_unit_test(a_printed_alpha_is_parsed_as_the_same),
		cmocka_unit_test(a_printed_address_is_parsed_as_the_same),
		cmocka_unit_test(ranges_in_names_expand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
