// SPDX-License-Identifier: Apache-2.0
// Which windows form a burst, what is kept, and how it is shown.
#include <string.h>

#include "control/ctl/show.h"
#include "control/microbursts/burstlog.h"
#include "dataplane/base/units.h"
#include "tests/unit/observe/rows.h"

enum { QUEUE_3 = 3, GROUP_3 = MICROBURST_GROUPS + 3, KMAX = 100000 };

static struct burstlog *new_log(struct bench *b)
{
	struct burstlog *l;

	assert_int_equal(burstlog_create(FAKE_PORTS, &l), 0);
	b->sw->policy->microbursts = (struct microburst_params){MS_NS, 500};
	b->sw->in.service[SERVICE_MICROBURSTS] = l;
	return l;
}

static void end_log(struct bench *b, struct burstlog *l)
{
	b->sw->in.service[SERVICE_MICROBURSTS] = NULL;
	burstlog_destroy(l);
}

// The part held so many bytes in window n, of a limit of KMAX.
static void saw(struct bench *b, struct burstlog *l, unsigned part, uint64_t n, uint64_t bytes)
{
	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.t_ns = n * MS_NS, .windows = 1, .port = 1, .part = part & 0xfu,
		.peak_bytes = bytes, .share = microburst_share(bytes, KMAX)};
	burstlog_poll(l, b->sw, &(struct burst_clock){(n + 1) * MS_NS, 5ull * SECOND_NS, 1});
}

static void shares_are_per_mille_of_a_limit_that_exists(void **state)
{
	(void)state;
	assert_int_equal(microburst_share(500, 1000), 500);
	assert_int_equal(microburst_share(5000, 1000), 5000); // a queue may exceed kmax
	assert_int_equal(microburst_share(5, 0), MICROBURST_NO_LIMIT);
	assert_int_equal(microburst_share(1ull << 40, 1), MICROBURST_NO_LIMIT - 1);
	assert_int_equal(microburst_group_share(1100, 1000, true, false), MICROBURST_FULL - 1);
	assert_int_equal(microburst_group_share(10, 1000, true, true), MICROBURST_FULL);
	assert_int_equal(microburst_group_share(1100, 1000, false, false), 1100);
}

static void windows_at_the_share_or_above_that_follow_each_other_are_one_burst(void **state)
{
	static const uint64_t peaks[] = {49999, 50000, 90000, 70000, 10000, 60000};
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	const struct burst *one;

	for (unsigned i = 0; i < 6; i++)
		saw(b, l, QUEUE_3, 100 + i, peaks[i]);
	assert_int_equal(burstlog_total(l), 2);
	one = burstlog_latest(l, 1);
	assert_int_equal(one->t_ns, 101 * MS_NS);
	assert_int_equal(one->span_ns, 3 * MS_NS);
	assert_int_equal(one->peak_bytes, 90000);
	assert_int_equal(one->share, 900);
	assert_int_equal(burstlog_latest(l, 0)->t_ns, 105 * MS_NS);
	assert_null(burstlog_latest(l, 2));
	assert_int_equal(burstlog_counts(l, 1, QUEUE_3, true).bursts, 2);
	assert_int_equal(burstlog_counts(l, 1, QUEUE_3, true).over_ns, 4 * MS_NS);
	end_log(b, l);
}

static void a_window_without_a_record_ends_a_burst(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);

	saw(b, l, QUEUE_3, 100, 60000);
	saw(b, l, QUEUE_3, 102, 60000);
	saw(b, l, GROUP_3, 103, 60000); // another part
	saw(b, l, QUEUE_3, 103, 60000);
	assert_int_equal(burstlog_total(l), 3);
	assert_int_equal(burstlog_latest(l, 1)->span_ns, 2 * MS_NS);
	end_log(b, l);
}

static void a_record_of_several_windows_counts_them_all(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	uint32_t peak[8];

	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.t_ns = 50 * MS_NS, .windows = 5, .port = 1, .part = QUEUE_3, .peak_bytes = 70000,
		.share = 700};
	burstlog_poll(l, b->sw, &(struct burst_clock){55 * MS_NS, SECOND_NS, 1});
	assert_int_equal(burstlog_latest(l, 0)->span_ns, 5 * MS_NS);
	assert_int_equal(burstlog_windows(l, 1, QUEUE_3, 8, peak), 70000);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(peak[i], i < 3 ? 0 : 70000);
	end_log(b, l);
}

static void the_last_windows_are_kept_and_older_ones_are_not_mistaken_for_them(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	uint32_t peak[BURSTLOG_WINDOWS];

	saw(b, l, QUEUE_3, 10, 1000);
	saw(b, l, QUEUE_3, 12, 2000);
	assert_int_equal(burstlog_windows(l, 1, QUEUE_3, 4, peak), 2000);
	assert_memory_equal(peak, ((uint32_t[]){0, 1000, 0, 2000}), 4 * sizeof(peak[0]));
	// Quiet for so long that the places come round.
	burstlog_poll(l, b->sw,
		      &(struct burst_clock){(13 + BURSTLOG_WINDOWS) * MS_NS, SECOND_NS, 1});
	assert_int_equal(burstlog_windows(l, 1, QUEUE_3, BURSTLOG_WINDOWS, peak), 0);
	saw(b, l, QUEUE_3, 5 * BURSTLOG_WINDOWS, 3000);
	burstlog_windows(l, 1, QUEUE_3, BURSTLOG_WINDOWS, peak);
	for (unsigned i = 0; i < BURSTLOG_WINDOWS; i++)
		assert_int_equal(peak[i], i == BURSTLOG_WINDOWS - 1 ? 3000 : 0);
	end_log(b, l);
}

static void the_peak_is_of_the_last_seconds(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);

	saw(b, l, QUEUE_3, 20000, 9000);
	saw(b, l, QUEUE_3, 25000, 4000);
	assert_int_equal(burstlog_peak(l, 1, QUEUE_3), 9000);
	saw(b, l, GROUP_3, 20000 + 1000 * BURSTLOG_PEAK_S, 1);
	assert_int_equal(burstlog_peak(l, 1, QUEUE_3), 9000);
	saw(b, l, GROUP_3, 20000 + 1000 * (BURSTLOG_PEAK_S + 1), 1);
	assert_int_equal(burstlog_peak(l, 1, QUEUE_3), 4000);
	end_log(b, l);
}

static void the_last_bursts_are_kept_and_one_that_lasts_does_not_write_into_another(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);

	saw(b, l, QUEUE_3, 0, 60000);
	for (unsigned i = 0; i < BURSTLOG_KEPT; i++)
		saw(b, l, GROUP_3, 2 * i, 50000 + i);
	saw(b, l, QUEUE_3, 1, 99000); // it goes on, and its place is another's
	assert_int_equal(burstlog_total(l), BURSTLOG_KEPT + 1);
	for (unsigned i = 0; i < BURSTLOG_KEPT; i++)
		assert_int_equal(burstlog_latest(l, i)->peak_bytes, 50000 + BURSTLOG_KEPT - 1 - i);
	assert_null(burstlog_latest(l, BURSTLOG_KEPT));
	end_log(b, l);
}

static void windows_of_another_length_begin_anew(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	uint32_t peak[4];

	saw(b, l, QUEUE_3, 1000, 60000);
	b->sw->policy->microbursts.window_ns = 2 * MS_NS;
	burstlog_poll(l, b->sw, &(struct burst_clock){1002 * MS_NS, SECOND_NS, 1});
	assert_int_equal(burstlog_windows(l, 1, QUEUE_3, 4, peak), 0);
	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.t_ns = 1002 * MS_NS, .windows = 1, .port = 1, .part = QUEUE_3,
		.peak_bytes = 70000, .share = 700};
	burstlog_poll(l, b->sw, &(struct burst_clock){1004 * MS_NS, SECOND_NS, 1});
	assert_int_equal(burstlog_total(l), 2);
	assert_int_equal(burstlog_latest(l, 0)->span_ns, 2 * MS_NS);
	end_log(b, l);
}

static void a_while_later(void *arg, struct burst_clock *now)
{
	(void)arg;
	now->switch_ns += 100 * MS_NS;
}

static void records_made_after_control_read_its_clock_are_kept(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);

	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.t_ns = 60 * MS_NS, .windows = 8, .port = 1, .part = QUEUE_3,
		.peak_bytes = 70000, .share = 700};
	burstlog_poll(l, b->sw, &(struct burst_clock){50 * MS_NS, 5ull * SECOND_NS, 1,
						      .again = a_while_later});
	assert_int_equal(burstlog_total(l), 1);
	assert_int_equal(burstlog_latest(l, 0)->span_ns, 8 * MS_NS);
	end_log(b, l);
}

static void the_time_of_day_of_a_slowed_switch_is_stretched(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);

	b->sw->microbursts[b->sw->n_microbursts++] = (struct microburst_record){
		.t_ns = 10 * MS_NS, .windows = 1, .port = 1, .part = QUEUE_3,
		.peak_bytes = 70000, .share = 700};
	burstlog_poll(l, b->sw, &(struct burst_clock){12 * MS_NS, 5ull * SECOND_NS, 100});
	assert_int_equal(burstlog_latest(l, 0)->wall_ns, 5ull * SECOND_NS - 200 * MS_NS);
	end_log(b, l);
}

static void rows_name_part_limit_and_share_and_count_from_the_clear(void **state)
{
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	struct json_object *data, *r;

	b->sw->policy->ports[1].queue[3].wred.enabled = true;
	b->sw->policy->ports[1].pg[3].lossless = true;
	saw(b, l, QUEUE_3, 100, 150000);
	saw(b, l, GROUP_3, 100, 60000);
	data = observe_rows(b->o, "microbursts", OBSERVE_ALL_PORTS, OBSERVE_HISTORY, SECOND_NS);
	r = row(data, "bursts", 0);
	assert_string_equal(text(r, "kind"), "pg");
	assert_string_equal(text(r, "limit"), "xoff");
	r = row(data, "bursts", 1);
	assert_string_equal(text(r, "time"), "1970-01-01T00:00:04.999000Z");
	assert_string_equal(text(r, "port"), "p2");
	assert_string_equal(text(r, "kind"), "queue");
	assert_int_equal(number(r, "number"), 3);
	assert_string_equal(text(r, "limit"), "kmax");
	assert_int_equal(number(r, "share_percent"), 150);
	assert_int_equal(number(r, "duration_us"), 1000);
	r = row(data, "burst_queues", 8 + 3);
	assert_int_equal(number(r, "bursts"), 1);
	assert_int_equal(json_object_array_length(json_object_object_get(r, "history_bytes")), 100);
	assert_null(json_object_object_get(row(data, "burst_queues", 8 + 4), "history_bytes"));
	json_object_put(data);
	observe_clear(b->o, SECOND_NS);
	data = observe_show(b->o, "microbursts", 1, SECOND_NS);
	assert_int_equal(number(row(data, "burst_queues", 3), "bursts"), 0);
	assert_null(json_object_object_get(row(data, "burst_queues", 3), "history_bytes"));
	json_object_put(data);
	data = observe_rows(b->o, "microbursts", 0, OBSERVE_HISTORY, SECOND_NS);
	assert_int_equal(json_object_array_length(list(data, "bursts")), 0); // of the other port
	json_object_put(data);
	end_log(b, l);
}

// As weirctl prints the answer, in a terminal of 80 columns.
static char *tables_of(struct bench *b, const struct show_wish *wish)
{
	struct json_object *data = observe_rows(b->o, "microbursts", OBSERVE_ALL_PORTS,
						OBSERVE_HISTORY, SECOND_NS);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_true(show_tables(out, "microbursts", data, wish));
	fclose(out);
	json_object_put(data);
	return text;
}

static void tables_have_the_latest_burst_first_and_a_bar_for_each_window(void **state)
{
	const struct show_wish narrow = {.width = 80, .count = 1};
	struct bench *b = *state;
	struct burstlog *l = new_log(b);
	char *text;

	setenv("LC_ALL", "C", 1); // bars without blocks
	for (unsigned i = 1; i <= 8; i++)
		saw(b, l, QUEUE_3, 100 + i, i * 10000);
	saw(b, l, QUEUE_3, 110, 80000);
	text = tables_of(b, &narrow);
	assert_non_null(strstr(text, "(the latest 1 of 2; "));
	assert_non_null(strstr(text, "at 50 % of its limit or more"));
	assert_non_null(strstr(text, "p2        q3       80.0 KB  |"));
	assert_non_null(strstr(text, "...12345678.8|\n"));
	free(text);
	b->sw->policy->microbursts.window_ns = 0;
	text = tables_of(b, &narrow);
	assert_non_null(strstr(text, "off: the policy has no `microbursts: on`"));
	free(text);
	end_log(b, l);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_per_mille_of_a_limit_that_exists),
		T(windows_at_the_share_or_above_that_follow_each_other_are_one_burst),
		T(a_window_without_a_record_ends_a_burst),
		T(a_record_of_several_windows_counts_them_all),
		T(the_last_windows_are_kept_and_older_ones_are_not_mistaken_for_them),
		T(the_peak_is_of_the_last_seconds),
		T(the_last_bursts_are_kept_and_one_that_lasts_does_not_write_into_another),
		T(windows_of_another_length_begin_anew),
		T(records_made_after_control_read_its_clock_are_kept),
		T(the_time_of_day_of_a_slowed_switch_is_stretched),
		T(rows_name_part_limit_and_share_and_count_from_the_clear),
		T(tables_have_the_latest_burst_first_and_a_bar_for_each_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
