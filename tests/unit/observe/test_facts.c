// SPDX-License-Identifier: Apache-2.0
// The tables of numbers as such: every row is complete, every metric has one name.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/observe/fact.h"

enum { MAX_METRICS = 512 };

static void every_row_has_a_key_and_a_meaning(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		const struct fact_list *l = &fact_lists[i];

		assert_non_null(l->what);
		assert_true(l->n > 0 && strlen(l->help) > 0);
		for (size_t k = 0; k < l->n; k++) {
			assert_true(strlen(l->rows[k].key) > 0);
			if (l->rows[k].help == NULL || strchr(l->rows[k].help, '\n') != NULL ||
			    strchr(l->rows[k].help, '\\') != NULL ||
			    strchr(l->rows[k].help, '|') != NULL)
				fail_msg("%s.%s: its meaning cannot stand in a table", l->list,
					 l->rows[k].key);
			for (size_t j = 0; j < k; j++)
				assert_string_not_equal(l->rows[k].key, l->rows[j].key);
		}
	}
}

static void a_row_that_is_one_of_many_has_an_id(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		bool id = false;

		for (size_t k = 0; k < fact_lists[i].n; k++)
			id |= fact_lists[i].rows[k].kind == FACT_ID;
		assert_int_equal(id, !fact_lists[i].single);
	}
}

// `/weir/KEY` of DPDK's telemetry answers with the first list of this key.
static void every_list_with_metrics_has_a_key_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		for (unsigned k = 0; fact_lists[i].prefix != NULL && k < i; k++)
			if (fact_lists[k].prefix != NULL)
				assert_string_not_equal(fact_lists[i].list, fact_lists[k].list);
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len > n && strcmp(name + len - n, suffix) == 0;
}

// The rules of `promtool check metrics`.
static void suffixes_are_those_of_prometheus(void **state)
{
	static const char *const of_histograms[] = {"_count", "_sum", "_bucket"};

	(void)state;
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		for (size_t k = 0; k < fact_lists[i].n; k++) {
			const struct fact *f = &fact_lists[i].rows[k];
			char name[METRIC_NAME_LEN];

			if (!fact_metric(&fact_lists[i], f, name))
				continue;
			if (ends_in(name, "_total") != (f->kind == FACT_COUNTER))
				fail_msg("%s: only counters end in _total", name);
			for (unsigned s = 0; s < 3; s++)
				if (ends_in(name, of_histograms[s]))
					fail_msg("%s: %s is of histograms", name, of_histograms[s]);
		}
	for (unsigned i = 0; i < N_FACT_METRICS; i++)
		assert_int_equal(ends_in(fact_metrics[i].name, "_total"),
				 strcmp(fact_metrics[i].type, "counter") == 0);
}

static void every_metric_has_a_name_of_its_own(void **state)
{
	static char names[MAX_METRICS][METRIC_NAME_LEN];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < N_FACT_METRICS; i++)
		snprintf(names[n++], METRIC_NAME_LEN, "%s", fact_metrics[i].name);
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		for (size_t k = 0; k < fact_lists[i].n; k++)
			if (n < MAX_METRICS &&
			    fact_metric(&fact_lists[i], &fact_lists[i].rows[k], names[n]))
				n++;
	assert_in_range(n, 60, MAX_METRICS - 1);
	for (unsigned i = 0; i < n; i++) {
		for (const char *c = names[i]; *c != '\0'; c++)
			assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
				    *c == '_');
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
}

static void names_say_unit_and_kind(void **state)
{
	static const struct {
		unsigned list;
		const char *key, *metric; // metric NULL: none
	} rows[] = {
		{FACTS_PORTS, "rx_packets", "weir_port_rx_packets_total"},
		{FACTS_PORTS, "speed_bps", "weir_port_speed_bps"},
		{FACTS_PORTS, "up", "weir_port_up"},
		{FACTS_PORTS, "rx_pps", NULL},
		{FACTS_PORTS, "name", NULL},
		{FACTS_PFC, "rx_pause_duration_us", "weir_pfc_rx_pause_duration_seconds_total"},
		{FACTS_LATENCY, "max_ns", "weir_queue_residence_max_seconds"},
		{FACTS_LATENCY, "p99_ns", NULL},
		{FACTS_BALANCE, "queued", "weir_balance_queued"},
		{FACTS_DROP_TOTAL, "packets", NULL},
	};
	char name[METRIC_NAME_LEN];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fact_list *l = &fact_lists[rows[i].list];
		size_t k = 0;

		while (strcmp(l->rows[k].key, rows[i].key) != 0)
			assert_true(++k < l->n);
		assert_int_equal(fact_metric(l, &l->rows[k], name), rows[i].metric != NULL);
		if (rows[i].metric != NULL)
			assert_string_equal(name, rows[i].metric);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_a_key_and_a_meaning),
		cmocka_unit_test(a_row_that_is_one_of_many_has_an_id),
		cmocka_unit_test(every_list_with_metrics_has_a_key_of_its_own),
		cmocka_unit_test(suffixes_are_those_of_prometheus),
		cmocka_unit_test(every_metric_has_a_name_of_its_own),
		cmocka_unit_test(names_say_unit_and_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
