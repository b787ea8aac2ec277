// SPDX-License-Identifier: Apache-2.0
// The rings between the workers and a capture: what goes in comes out, in order, or is counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "dataplane/tap.h"

enum { PORT = 300, MANY = 200000 };

static struct tap *new_tap(uint32_t n_workers, uint32_t n_records, uint32_t snaplen)
{
	struct tap_params p = {.n_workers = n_workers, .n_records = n_records, .snaplen = snaplen};
	struct tap *t = NULL;

	p.ports[PORT / 64] = 1ull << (PORT % 64);
	assert_int_equal(tap_create(&p, &t), 0);
	return t;
}

static void only_the_ports_asked_for_are_wanted(void **state)
{
	struct tap *t = new_tap(1, 8, 64);

	(void)state;
	for (unsigned port = 0; port < POLICY_MAX_PORTS; port++)
		assert_int_equal(tap_wants(t, port), port == PORT);
	tap_destroy(t);
}

static void a_record_keeps_the_frame_up_to_the_snaplen_and_all_that_is_said_of_it(void **state)
{
	static const struct {
		uint32_t len, captured;
	} row[] = {{0, 0}, {1, 1}, {63, 63}, {64, 64}, {65, 64}, {9000, 64}};
	const struct tap_meta meta = {.port = PORT, .direction = TAP_DROP, .cls = 3, .queue = 4,
				      .has_queue = true, .marked = true, .reason = 7,
				      .queue_bytes = 0xfffffffe};
	struct tap *t = new_tap(1, 8, 64);
	uint8_t frame[9000];

	(void)state;
	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct tap_record *r;

		tap_bytes(t, 0, 1000 + i, frame, row[i].len, &meta);
		assert_int_equal(tap_read(t, 0, &r, 1), 1);
		assert_int_equal(r->t_ns, 1000 + i);
		assert_int_equal(r->len, row[i].len);
		assert_int_equal(r->captured, row[i].captured);
		assert_memory_equal(&r->meta, &meta, sizeof(meta));
		assert_memory_equal(r->data, frame, r->captured);
		tap_release(t, 0, 1);
	}
	tap_destroy(t);
}

static void a_full_ring_counts_what_it_loses_and_keeps_what_it_has(void **state)
{
	const struct tap_meta meta = {.port = PORT};
	const struct tap_record *r[16];
	struct tap *t = new_tap(2, 5, 64); // 5 become 8

	(void)state;
	for (uint8_t i = 0; i < 11; i++)
		tap_bytes(t, 1, i, &i, 1, &meta);
	assert_int_equal(tap_lost_of(t, PORT), 3);
	assert_int_equal(tap_lost_of(t, 0), 0);
	assert_int_equal(tap_read(t, 0, r, 16), 0);
	assert_int_equal(tap_read(t, 1, r, 16), 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(r[i]->t_ns, i);
	tap_release(t, 1, 2);
	for (uint8_t i = 20; i < 23; i++)
		tap_bytes(t, 1, i, &i, 1, &meta);
	assert_int_equal(tap_lost_of(t, PORT), 4);
	assert_int_equal(tap_read(t, 1, r, 16), 8);
	assert_int_equal(r[5]->t_ns, 7);
	assert_int_equal(r[7]->t_ns, 21);
	tap_destroy(t);
}

static void reading_takes_nothing_until_it_is_released(void **state)
{
	const struct tap_meta meta = {.port = PORT};
	const struct tap_record *r[4];
	struct tap *t = new_tap(1, 4, 64);

	(void)state;
	for (uint8_t i = 0; i < 4; i++)
		tap_bytes(t, 0, i, &i, 1, &meta);
	assert_int_equal(tap_read(t, 0, r, 2), 2);
	assert_int_equal(tap_read(t, 0, r, 4), 4);
	assert_int_equal(r[0]->t_ns, 0);
	tap_release(t, 0, 3);
	assert_int_equal(tap_read(t, 0, r, 4), 1);
	assert_int_equal(r[0]->t_ns, 3);
	tap_destroy(t);
}

static void impossible_sizes_are_refused(void **state)
{
	static const struct tap_params bad[] = {
		{.n_workers = 0, .n_records = 8, .snaplen = 64},
		{.n_workers = 1, .n_records = 0, .snaplen = 64},
		{.n_workers = 1, .n_records = TAP_MAX_RECORDS + 1, .snaplen = 64},
		{.n_workers = 1, .n_records = 8, .snaplen = 0},
		{.n_workers = 1, .n_records = 8, .snaplen = TAP_MAX_SNAPLEN + 1},
	};
	struct tap *t = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tap_create(&bad[i], &t), -22);
	assert_null(t);
	tap_destroy(NULL);
}

struct shared {
	struct tap *t;
	_Atomic bool done;
};

static void *produce(void *arg)
{
	const struct tap_meta meta = {.port = PORT};
	struct shared *s = arg;

	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t word[8] = {i, i, i, i, i, i, i, i};

		tap_bytes(s->t, 0, i, word, sizeof(word), &meta);
	}
	atomic_store(&s->done, true);
	return NULL;
}

// Of two threads: what is read is whole and in order, and with what was lost it is all.
static void a_worker_and_control_share_a_ring_without_a_lock(void **state)
{
	struct shared s = {.t = new_tap(1, 64, 64)};
	uint64_t read = 0, next = 0;
	bool over = false;
	pthread_t worker;

	(void)state;
	assert_int_equal(pthread_create(&worker, NULL, produce, &s), 0);
	while (!over) {
		const struct tap_record *r[32];
		bool done = atomic_load(&s.done);
		unsigned n = tap_read(s.t, 0, r, 32);

		over = done && n == 0;
		for (unsigned i = 0; i < n; i++) {
			uint32_t word[8];

			memcpy(word, r[i]->data, sizeof(word));
			assert_true(r[i]->t_ns >= next);
			for (unsigned k = 0; k < 8; k++)
				assert_int_equal(word[k], r[i]->t_ns);
			next = r[i]->t_ns + 1;
		}
		tap_release(s.t, 0, n);
		read += n;
		if (n == 0)
			sched_yield();
	}
	pthread_join(worker, NULL);
	assert_int_equal(read + tap_lost_of(s.t, PORT), MANY);
	assert_true(read >= 64);
	tap_destroy(s.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_ports_asked_for_are_wanted),
		cmocka_unit_test(
			a_record_keeps_the_frame_up_to_the_snaplen_and_all_that_is_said_of_it),
		cmocka_unit_test(a_full_ring_counts_what_it_loses_and_keeps_what_it_has),
		cmocka_unit_test(reading_takes_nothing_until_it_is_released),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(a_worker_and_control_share_a_ring_without_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
