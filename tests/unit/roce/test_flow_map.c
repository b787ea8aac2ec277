// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/roce/flow_bucket.h"
#include "dataplane/roce/flow_map.h"

struct element {
	struct flow_key key;
	uint32_t number;
};

struct fixture {
	struct flow_map map;
	struct element *elements;
	void *buckets;
};

static struct fixture *open_map(uint32_t n, uint64_t seed)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->elements = calloc(n, sizeof(x->elements[0]));
	x->buckets = aligned_alloc(64, flow_map_bytes(n));
	assert_non_null(x->elements);
	assert_non_null(x->buckets);
	memset(x->buckets, 0, flow_map_bytes(n));
	x->map.seed = seed;
	flow_map_init(&x->map, x->buckets, n, x->elements, sizeof(x->elements[0]));
	return x;
}

static void close_map(struct fixture *x)
{
	free(x->elements);
	free(x->buckets);
	free(x);
}

// Flows as they are found: few addresses, queue pairs one after the other.
static struct flow_key key_of(uint32_t i)
{
	return flow_key_v4(0x0a000000 | i / 4096, 0x0a010000 | i % 16, 0x100 + i % 4096, KEY_FLOW);
}

static bool add(struct fixture *x, uint32_t i)
{
	x->elements[i].key = key_of(i);
	return flow_map_add(&x->map, flow_hash_of(&x->map, &x->elements[i].key), i);
}

static uint32_t find(const struct fixture *x, uint32_t i)
{
	struct flow_key k = key_of(i);

	return flow_map_find(&x->map, &k, flow_hash_of(&x->map, &k));
}

static void every_key_fits_and_is_found_up_to_the_size_asked_for(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 8, 64, 1000, 4096, 65536};

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct fixture *x = open_map(sizes[s], seed);

			for (uint32_t i = 0; i < sizes[s]; i++)
				assert_true(add(x, i));
			assert_int_equal(x->map.n, sizes[s]);
			for (uint32_t i = 0; i < sizes[s]; i++)
				assert_int_equal(find(x, i), i);
			assert_int_equal(find(x, sizes[s]), FLOW_NONE);
			close_map(x);
		}
	}
}

static void a_removed_key_is_gone_and_the_others_stay(void **state)
{
	enum { N = 4096 };
	struct fixture *x = open_map(N, 7);

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		assert_true(add(x, i));
	for (uint32_t i = 0; i < N; i += 2) {
		flow_map_remove(&x->map, flow_hash_of(&x->map, &x->elements[i].key), i);
		flow_map_remove(&x->map, flow_hash_of(&x->map, &x->elements[i].key), i); // nothing
	}
	assert_int_equal(x->map.n, N / 2);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(find(x, i), i % 2 == 0 ? FLOW_NONE : i);
	for (uint32_t i = 0; i < N; i += 2)
		assert_true(add(x, i));
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(find(x, i), i);
	close_map(x);
}

// A full table is churned: whatever comes and goes, keys that are in it are found.
static void churn_at_the_brim_loses_no_key(void **state)
{
	enum { N = 1024, ROUNDS = 20000 };
	struct fixture *x = open_map(N, 3);
	uint32_t lives[N];

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		lives[i] = i;
		assert_true(add(x, i));
	}
	for (uint32_t r = 0; r < ROUNDS; r++) {
		uint32_t at = r * 2654435761u % N, was = lives[at];
		struct flow_key k = key_of(was);

		flow_map_remove(&x->map, flow_hash_of(&x->map, &k), at);
		lives[at] = N + r;
		x->elements[at].key = key_of(lives[at]);
		assert_true(flow_map_add(
			&x->map, flow_hash_of(&x->map, &x->elements[at].key), at));
		assert_int_equal(find(x, was), FLOW_NONE);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(find(x, lives[i]), i);
	close_map(x);
}

static void keys_of_one_hash_are_told_apart_until_both_buckets_are_full(void **state)
{
	enum { HASH = 12345, MOST = 2 * FLOW_BUCKET_SLOTS };
	struct fixture *x = open_map(64, 1);

	(void)state;
	for (uint32_t i = 0; i <= MOST; i++) {
		x->elements[i].key = key_of(i);
		assert_int_equal(flow_map_add(&x->map, HASH, i), i < MOST);
	}
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(flow_map_find(&x->map, &x->elements[i].key, HASH), i);
	assert_int_equal(x->map.n, MOST);
	flow_map_remove(&x->map, HASH, 3);
	assert_int_equal(flow_map_find(&x->map, &x->elements[3].key, HASH), FLOW_NONE);
	assert_int_equal(flow_map_find(&x->map, &x->elements[MOST - 1].key, HASH), MOST - 1);
	assert_true(flow_map_add(&x->map, HASH, MOST));
	close_map(x);
}

static void the_first_guess_is_right_for_nearly_all_keys(void **state)
{
	enum { N = 65536 };
	struct fixture *x = open_map(N, 11);
	unsigned right = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		assert_true(add(x, i));
	for (uint32_t i = 0; i < N; i++)
		right += flow_map_guess(&x->map, flow_hash_of(&x->map, &x->elements[i].key)) == i;
	assert_in_range(right, N * 95 / 100, N);
	close_map(x);
}

// Whoever knows all but the seed cannot know which keys share a bucket.
static void another_seed_is_another_order(void **state)
{
	struct flow_map a = {.seed = 1, .mask = 0xff}, b = {.seed = 2, .mask = 0xff};
	unsigned same = 0;

	(void)state;
	for (uint32_t i = 0; i < 65536; i++) {
		struct flow_key k = key_of(i);

		same += (flow_hash_of(&a, &k) & 0xff) == (flow_hash_of(&b, &k) & 0xff);
	}
	assert_in_range(same, 128, 512); // 256 by chance
}

// Each bit of an address or a queue pair moves about half of the hash.
static void every_bit_of_a_key_counts(void **state)
{
	static const unsigned bits_v4[] = {0, 31, 32, 63, 256, 279}, bits_v6[] = {
		0, 63, 64, 127, 128, 191, 192, 255, 256, 279};
	struct flow_map m = {.seed = 99};

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const unsigned *bits = v6 ? bits_v6 : bits_v4;
		unsigned n = v6 ? 10 : 6;

		for (unsigned i = 0; i < n; i++) {
			unsigned moved = 0;

			for (uint32_t k = 0; k < 64; k++) {
				struct flow_key a = key_of(k), b;

				if (v6)
					a.w[4] = (a.w[4] & 0xffffff) | 6ull << 24;
				b = a;
				b.w[bits[i] / 64] ^= 1ull << bits[i] % 64;
				moved += (unsigned)__builtin_popcount(flow_hash_of(&m, &a) ^
								      flow_hash_of(&m, &b));
			}
			assert_in_range(moved, 64 * 13, 64 * 19);
		}
	}
}

static void keys_of_ports_say_what_they_are_made_of(void **state)
{
	uint8_t src[16] = {10, 0, 0, 1, 5, 6, 7, 8, 9}, dst[16] = {10, 0, 0, 2, 4, 3};
	const uint8_t l4[4] = {0x12, 0x34, 0xab, 0xcd};
	const enum flow_key_kind kinds[] = {KEY_TCP, KEY_UDP};
	struct flow_key seen[8];
	uint8_t a[16], b[16];
	unsigned n = 0;

	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned i = 0; i < 2; i++) {
			struct flow_key k = flow_key_ports(v6, src, dst, l4, kinds[i]);

			assert_true(flow_key_has_ports(&k));
			assert_int_equal(flow_key_is_tcp(&k), kinds[i] == KEY_TCP);
			assert_int_equal(flow_key_sport(&k), 0x1234);
			assert_int_equal(flow_key_dport(&k), 0xabcd);
			assert_int_equal(flow_key_addresses(&k, a, b), v6 ? 6 : 4);
			assert_memory_equal(a, src, v6 ? 16 : 4);
			assert_memory_equal(b, dst, v6 ? 16 : 4);
			assert_int_equal(k.w[4] >> 36, 0); // a seal's
			seen[n++] = k;
		}
	// No queue pair of the same addresses has a key that is alike.
	seen[n++] = flow_key_of(false, src, dst, 0x34abcd, KEY_FLOW);
	seen[n++] = flow_key_of(true, src, dst, 0x34abcd, KEY_FLOW);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			assert_int_equal(flow_key_alike(&seen[i], &seen[j], UINT64_MAX << 36),
					 i == j);
	assert_false(flow_key_has_ports(&seen[n - 1]));
}

static void keys_say_what_they_are_made_of(void **state)
{
	uint8_t src[16] = {0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t dst[16] = {0xfe, 0x80, 9, 9}, a[16], b[16], v4[16] = {10, 0, 0, 1};
	struct flow_key k = flow_key_of(true, src, dst, 0xabcdef, KEY_FLOW), back;

	(void)state;
	assert_int_equal(flow_key_addresses(&k, a, b), 6);
	assert_memory_equal(a, src, 16);
	assert_memory_equal(b, dst, 16);
	assert_int_equal(flow_key_qp(&k), 0xabcdef);
	back = flow_key_back(k, 5, KEY_REVERSE);
	flow_key_addresses(&back, a, b);
	assert_memory_equal(a, dst, 16);
	assert_memory_equal(b, src, 16);
	assert_int_equal(flow_key_qp(&back), 5);
	k = flow_key_of(false, v4, dst, 7, KEY_FLOW);
	assert_true(flow_key_same(&k, &(struct flow_key){{0x0a000001fe800909, 0, 0, 0,
							  7 | 4ull << 24}}));
	assert_int_equal(flow_key_addresses(&k, a, b), 4);
	assert_memory_equal(a, v4, 16);
	back = flow_key_back(k, 7, KEY_FLOW);
	assert_true(back.w[0] == 0xfe8009090a000001);
	back = flow_key_with(k, 0, KEY_ADDRESSES);
	assert_false(flow_key_same(&k, &back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_fits_and_is_found_up_to_the_size_asked_for),
		cmocka_unit_test(a_removed_key_is_gone_and_the_others_stay),
		cmocka_unit_test(churn_at_the_brim_loses_no_key),
		cmocka_unit_test(keys_of_one_hash_are_told_apart_until_both_buckets_are_full),
		cmocka_unit_test(the_first_guess_is_right_for_nearly_all_keys),
		cmocka_unit_test(another_seed_is_another_order),
		cmocka_unit_test(every_bit_of_a_key_counts),
		cmocka_unit_test(keys_of_ports_say_what_they_are_made_of),
		cmocka_unit_test(keys_say_what_they_are_made_of),
	};

	return cmocka_run_group_tests_name("flow map", tests, NULL, NULL);
}
