// SPDX-License-Identifier: Apache-2.0
// Peaks of queues and groups by windows of a millisecond, exact to the frame, and the watermarks
// that outlive the windows.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"

#include <stdio.h>

#include "dataplane/base/units.h"
#include "dataplane/switch_microbursts.h"

enum { RECORDS = 4096, CELL = 256, GROUP_3 = MICROBURST_GROUPS + 3 };

// Class 3 is lossless and has kmax 51,200; class 0 is lossy.
static const char *policy(const char *of_switch)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "switch: {name: b, buffer: {size: 1MB, cell: 256B}%s}\n"
		 "ports:\n  - {name: \"p[1-4]\", device: \"wire:w[1-4]\", speed: 10G, mtu: 1500, "
		 "profile: x}\nfdb:\n"
		 "  - {mac: \"02:00:00:00:00:01\", port: p1}\n"
		 "  - {mac: \"02:00:00:00:00:04\", port: p4}\n"
		 "profiles:\n  x:\n    classes:\n"
		 "      0: {egress: {static: 102400B}}\n"
		 "      3: {lossless: true,\n"
		 "          ingress: {min: 0, alpha: 1, xon_offset: 200KB, headroom: 20KB},\n"
		 "          wred: {ecn: on, kmin: 10KB, kmax: 51200B, pmax: 1%%}}\n",
		 of_switch);
	return text;
}

static const struct bench_frame frame = {.to = 3, .dscp = 24, .len = CELL};

// Records of one part, the oldest first.
struct records {
	unsigned n;
	struct microburst_record all[RECORDS];
};

static struct records *taken(struct bench *b, unsigned port, unsigned part)
{
	static struct records of;
	static struct microburst_record r[RECORDS];
	unsigned n = switch_microburst_records(b->sw, r, RECORDS);

	of.n = 0;
	for (unsigned i = 0; i < n; i++)
		if (r[i].port == port && r[i].part == part)
			of.all[of.n++] = r[i];
	return &of;
}

static void to_next_window(struct bench *b)
{
	bench_run(b, MS_NS - b->clock.now_ns % MS_NS);
}

static uint64_t window_now(const struct bench *b)
{
	return b->clock.now_ns - b->clock.now_ns % MS_NS;
}

// n frames wait for p4, and then leave.
static void burst(struct bench *b, const struct bench_frame *f, unsigned n)
{
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, f, n);
	bench_tx(b, 3, -1, true);
}

static void a_burst_is_one_record_of_its_window_exact_to_the_frame(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: on"), 0);
	struct records *r;
	uint64_t t_ns;

	(void)state;
	to_next_window(b);
	t_ns = window_now(b);
	burst(b, &frame, 100);
	bench_run(b, 3 * MS_NS);
	r = taken(b, 3, 3);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->all[0].t_ns, t_ns);
	assert_int_equal(r->all[0].windows, 1);
	assert_int_equal(r->all[0].peak_bytes, 100 * CELL);
	assert_int_equal(r->all[0].share, 500); // of kmax
	assert_int_equal(r->all[0].headroom_bytes, 0);
	to_next_window(b);
	t_ns = window_now(b);
	burst(b, &frame, 1000);
	bench_run(b, MS_NS);
	r = taken(b, 0, GROUP_3);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->all[0].t_ns, t_ns);
	assert_int_equal(r->all[0].peak_bytes, 1000 * CELL);
	assert_int_equal(r->all[0].share,
			 1000 * 1000 / (b->policy->buffer.ingress_pool_cells - 1000));
	assert_int_equal(switch_microburst_records_lost(b->sw), 0);
	bench_close(b);
}

static void a_queue_that_stands_has_a_record_of_each_window(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: on"), 0);
	uint64_t t_ns;
	struct records *r;

	(void)state;
	to_next_window(b);
	t_ns = window_now(b);
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &frame, 10);
	bench_run(b, 20 * MS_NS);
	r = taken(b, 3, 3);
	assert_int_equal(r->n, 20);
	for (unsigned i = 0; i < r->n; i++) {
		assert_int_equal(r->all[i].t_ns, t_ns + i * MS_NS);
		assert_int_equal(r->all[i].windows, 1);
		assert_int_equal(r->all[i].peak_bytes, 10 * CELL);
	}
	bench_tx(b, 3, -1, true);
	bench_run(b, 20 * MS_NS);
	assert_int_equal(taken(b, 3, 3)->n, 1); // the window in which it left
	bench_close(b);
}

static void a_group_in_xoff_is_full_and_no_other_is(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: on"), 0);
	unsigned half = b->policy->buffer.ingress_pool_cells / 2;
	struct records *r;

	(void)state;
	b->host[0].obey_after_ns = UINT64_MAX;
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &frame, half);
	to_next_window(b);
	r = taken(b, 0, GROUP_3);
	assert_int_equal(r->all[r->n - 1].share, MICROBURST_FULL - 1);
	assert_int_equal(r->all[r->n - 1].peak_bytes, half * CELL);
	bench_inject(b, 0, &frame, 7); // into the headroom
	to_next_window(b);
	r = taken(b, 0, GROUP_3);
	assert_int_equal(r->all[0].share, MICROBURST_FULL);
	assert_int_equal(r->all[0].headroom_bytes, 7 * CELL);
	// Its headroom is free when the next window begins, and it leaves XOFF in that window.
	bench_run(b, MS_NS - 20 * US_NS - b->clock.now_ns % MS_NS);
	bench_tx(b, 3, -1, true);
	to_next_window(b);
	assert_int_equal(gauge_get(&switch_pg_state(b->sw, 0, 3)->headroom), 0);
	assert_true(pg_in_xoff(switch_pg_state(b->sw, 0, 3)));
	(void)taken(b, 0, GROUP_3);
	to_next_window(b);
	assert_false(pg_in_xoff(switch_pg_state(b->sw, 0, 3)));
	r = taken(b, 0, GROUP_3);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->all[0].headroom_bytes, 0);
	assert_int_equal(r->all[0].share, MICROBURST_FULL);
	bench_run(b, 5 * MS_NS);
	(void)taken(b, 0, GROUP_3);
	burst(b, &frame, 1);
	bench_run(b, MS_NS);
	assert_true(taken(b, 0, GROUP_3)->all[0].share < 10);
	bench_close(b);
}

static void the_limit_of_a_lossy_queue_is_its_threshold(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: on"), 0);
	struct bench_frame lossy = frame;
	struct records *r;

	(void)state;
	lossy.dscp = 0;
	to_next_window(b);
	burst(b, &lossy, 300); // of 400
	bench_run(b, 2 * MS_NS);
	r = taken(b, 3, 0);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->all[0].share, 750);
	bench_close(b);
}

static void watermarks_outlive_the_windows_until_they_are_cleared(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: on"), 0);

	(void)state;
	burst(b, &frame, 100);
	bench_run(b, 5 * MS_NS);
	burst(b, &frame, 30);
	bench_run(b, 5 * MS_NS);
	assert_int_equal(switch_watermark(b->sw, 3, WATERMARK_QUEUE, 3), 100 * CELL);
	assert_int_equal(switch_watermark(b->sw, 0, WATERMARK_SHARED, 3), 100);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, 100);
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &frame, 120);
	assert_int_equal(switch_watermark(b->sw, 3, WATERMARK_QUEUE, 3), 120 * CELL); // at once
	bench_tx(b, 3, -1, true);
	bench_run(b, 5 * MS_NS);
	switch_clear_watermarks(b->sw);
	actor_poke(&b->actor);
	bench_run(b, 1);
	assert_int_equal(switch_watermark(b->sw, 3, WATERMARK_QUEUE, 3), 0);
	assert_int_equal(switch_watermark(b->sw, 0, WATERMARK_SHARED, 3), 0);
	assert_int_equal(switch_pool(b->sw, POOL_INGRESS).max, 0);
	bench_close(b);
}

static void a_reload_turns_the_windows_on_and_off(void **state)
{
	struct bench *b = bench_open(policy(""), 0);
	struct records *r;

	(void)state;
	burst(b, &frame, 100);
	bench_run(b, 2 * MS_NS);
	assert_int_equal(taken(b, 3, 3)->n, 0);
	bench_publish(b, policy(", microbursts: {window: 500us}"));
	bench_run(b, 2 * MS_NS);
	assert_int_equal(taken(b, 3, 3)->n, 0); // the peak is from before
	assert_int_equal(switch_watermark(b->sw, 3, WATERMARK_QUEUE, 3), 100 * CELL);
	burst(b, &frame, 20);
	bench_run(b, 2 * MS_NS);
	r = taken(b, 3, 3);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->all[0].peak_bytes, 20 * CELL);
	assert_int_equal(r->all[0].t_ns % (MS_NS / 2), 0);
	bench_publish(b, policy(""));
	burst(b, &frame, 30);
	bench_run(b, 2 * MS_NS);
	assert_int_equal(taken(b, 3, 3)->n, 0);
	assert_int_equal(switch_watermark(b->sw, 3, WATERMARK_QUEUE, 3), 100 * CELL);
	bench_close(b);
}

static void records_that_find_no_room_are_counted(void **state)
{
	struct bench *b = bench_open(policy(", microbursts: {window: 100us}"), 0);
	uint64_t lost;

	(void)state;
	bench_tx(b, 3, -1, false);
	bench_inject(b, 0, &frame, 10);
	bench_run(b, 1000 * MS_NS);
	lost = switch_microburst_records_lost(b->sw);
	assert_true(lost > 10000); // of 10,000 windows of a queue and a group, less the rings
	assert_true(taken(b, 3, 3)->n > 100);
	bench_tx(b, 3, -1, true);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_one_record_of_its_window_exact_to_the_frame),
		cmocka_unit_test(a_queue_that_stands_has_a_record_of_each_window),
		cmocka_unit_test(a_group_in_xoff_is_full_and_no_other_is),
		cmocka_unit_test(the_limit_of_a_lossy_queue_is_its_threshold),
		cmocka_unit_test(watermarks_outlive_the_windows_until_they_are_cleared),
		cmocka_unit_test(a_reload_turns_the_windows_on_and_off),
		cmocka_unit_test(records_that_find_no_room_are_counted),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
