// SPDX-License-Identifier: Apache-2.0
// The page of metrics: names and units from the rows, escaping, and the rules of the format.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/observe/prometheus.h"
#include "tests/unit/observe/fake_switch.h"

enum { SECOND = 1000000000, NAME_LEN = 128 };

struct bench {
	struct weir_switch *sw;
	struct observe *o;
	struct prometheus_about about;
	char *page;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->sw = fake_switch_create();
	b->about.version = "1.2.3";
	*state = b;
	return observe_create(&b->sw->in, &b->o);
}

static int end(void **state)
{
	struct bench *b = *state;

	observe_destroy(b->o);
	fake_switch_destroy(b->sw);
	free(b->page);
	free(b);
	return 0;
}

static const char *page(struct bench *b)
{
	size_t len;

	free(b->page);
	b->page = prometheus_page(b->o, &b->about, SECOND, &len);
	assert_non_null(b->page);
	assert_int_equal(strlen(b->page), len);
	return b->page;
}

#define HAS(b, line) assert_non_null(strstr(page(b), line "\n"))
#define LACKS(b, part) assert_null(strstr(page(b), part))

static void a_counter_has_help_type_labels_and_value(void **state)
{
	struct bench *b = *state;

	ctr_add(&b->sw->port[1].c.rx_packets, 42);
	HAS(b, "# HELP weir_port_rx_packets_total frames received, MAC control not counted\n"
	       "# TYPE weir_port_rx_packets_total counter\n"
	       "weir_port_rx_packets_total{port=\"p1\"} 0\n"
	       "weir_port_rx_packets_total{port=\"p2\"} 42");
	HAS(b, "# TYPE weir_queue_length_bytes gauge");
	HAS(b, "weir_port_up{port=\"p1\"} 1\nweir_port_up{port=\"p2\"} 0");
	HAS(b, "weir_pool_used_bytes{pool=\"headroom\"} 2816");
	HAS(b, "weir_info{switch=\"sw1\",version=\"1.2.3\"} 1");
	LACKS(b, "rx_pps");
}

static void times_are_seconds_exactly(void **state)
{
	struct bench *b = *state;
	struct pfc_class_stats *st = &b->sw->port[0].pfc_rx.stats[3];

	ctr_add(&st->duration_ns, 1500017000);
	gauge_set(&b->sw->worker[0].gap_max_ns, 2000000001);
	HAS(b, "weir_pfc_rx_pause_duration_seconds_total{port=\"p1\",class=\"3\"} 1.500017");
	HAS(b, "weir_worker_gap_max_seconds{worker=\"0\"} 2.000000001");
	HAS(b, "weir_worker_late_loops_total{worker=\"0\"} 0");
}

static void label_values_are_escaped(void **state)
{
	struct bench *b = *state;
	char *out = NULL;
	size_t len;
	FILE *f;

	HAS(b, "weir_port_info{port=\"p1\",device=\"xdp:a\\\"b\\\\\",when_stalled=\"no PFC\"} 1");
	f = open_memstream(&out, &len);
	prometheus_label(f, "a\nb\"c\\d{}=,");
	fclose(f);
	assert_string_equal(out, "a\\nb\\\"c\\\\d{}=,");
	free(out);
}

static void a_list_of_words_is_one_label_and_null_an_empty_one(void **state)
{
	HAS(*state, "weir_worker_info{worker=\"0\",core=\"5\",ports=\"p1\"} 1\n"
		    "weir_worker_info{worker=\"1\",core=\"\",ports=\"p2\"} 1");
}

static void a_clear_does_not_make_counters_fall(void **state)
{
	struct bench *b = *state;

	ctr_add(&b->sw->port[0].c.tx_bytes, 1000);
	observe_clear(b->o, SECOND);
	HAS(b, "weir_port_tx_bytes_total{port=\"p1\"} 1000");
}

static void losses_of_lossless_classes_are_there_before_they_happen(void **state)
{
	struct bench *b = *state;

	HAS(b, "weir_drop_packets_total{port=\"p1\",class=\"3\",reason=\"headroom-overrun\","
	       "lossless=\"true\"} 0");
	LACKS(b, "reason=\"hairpin\"");
	ctr_add(&b->sw->port[0].drops[0][DROP_HAIRPIN].packets, 9);
	HAS(b, "weir_drop_packets_total{port=\"p1\",class=\"0\",reason=\"hairpin\","
	       "lossless=\"false\"} 9");
}

static void buckets_of_residence_are_cumulative(void **state)
{
	struct bench *b = *state;
	struct queue_counters *q = &b->sw->port[0].queue[3];

	ctr_add(&q->tx_packets, 7);
	ctr_add(&q->residence[residence_bucket(100)], 2);
	ctr_add(&q->residence[residence_bucket(1023)], 3);
	ctr_add(&q->residence[residence_bucket(1024)], 1);
	ctr_add(&q->residence[residence_bucket(1ull << 40)], 1);
	HAS(b, "# TYPE weir_queue_residence_seconds histogram");
	HAS(b, "weir_queue_residence_seconds_bucket{port=\"p1\",queue=\"3\",le=\"0.000000255\"} 2\n"
	       "weir_queue_residence_seconds_bucket{port=\"p1\",queue=\"3\",le=\"0.000000511\"} 2\n"
	       "weir_queue_residence_seconds_bucket{port=\"p1\",queue=\"3\",le=\"0.000001023\"} 5\n"
	       "weir_queue_residence_seconds_bucket{port=\"p1\",queue=\"3\",le=\"0.000002047\"} 6");
	HAS(b, "weir_queue_residence_seconds_bucket{port=\"p1\",queue=\"3\",le=\"+Inf\"} 7\n"
	       "weir_queue_residence_seconds_count{port=\"p1\",queue=\"3\"} 7");
	LACKS(b, "residence_seconds_sum");
	LACKS(b, "residence_seconds_bucket{port=\"p1\",queue=\"2\"");
}

static void events_are_counted_by_name(void **state)
{
	struct bench *b = *state;

	b->about.events[EVENT_XOFF] = 3;
	b->sw->events_lost = 4;
	HAS(b, "weir_events_total{event=\"pfc-xoff\"} 3");
	HAS(b, "weir_events_lost_total 4");
}

// ---- the rules of the format, on the whole page

static bool name_char(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static size_t name_length(const char *at)
{
	size_t n = 0;

	while (name_char(at[n], n == 0))
		n++;
	return n;
}

// A histogram's samples carry its name and an end.
static bool belongs(const char *sample, size_t len, const char *family)
{
	size_t n = strlen(family);

	return strncmp(sample, family, n) == 0 &&
	       (len == n || strncmp(sample + n, "_bucket{", 8) == 0 ||
		strncmp(sample + n, "_count{", 7) == 0);
}

static void each_sample_stands_below_its_type_and_each_type_stands_once(void **state)
{
	struct bench *b = *state;
	char family[NAME_LEN] = "", mark[2 * NAME_LEN];
	const char *line = page(b);

	ctr_add(&b->sw->port[0].queue[3].tx_packets, 1);
	line = page(b);
	for (; *line != '\0'; line = strchr(line, '\n') + 1) {
		size_t len;

		if (strncmp(line, "# HELP ", 7) == 0)
			continue;
		if (strncmp(line, "# TYPE ", 7) == 0) {
			len = name_length(line + 7);
			assert_in_range(len, 1, NAME_LEN - 1);
			snprintf(family, sizeof(family), "%.*s", (int)len, line + 7);
			snprintf(mark, sizeof(mark), "# TYPE %s ", family);
			assert_null(strstr(line + 7, mark));
			continue;
		}
		len = name_length(line);
		if (len == 0 || !belongs(line, len, family))
			fail_msg("not below its type: %.60s", line);
		assert_true(line[len] == '{' || line[len] == ' ');
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_counter_has_help_type_labels_and_value),
		T(times_are_seconds_exactly),
		T(label_values_are_escaped),
		T(a_list_of_words_is_one_label_and_null_an_empty_one),
		T(a_clear_does_not_make_counters_fall),
		T(losses_of_lossless_classes_are_there_before_they_happen),
		T(buckets_of_residence_are_cumulative),
		T(events_are_counted_by_name),
		T(each_sample_stands_below_its_type_and_each_type_stands_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
