// SPDX-License-Identifier: Apache-2.0
// What other threads read: the numbers of one moment, and the pages of long lists.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/observe/snapshot.h"
#include "tests/unit/observe/fake_switch.h"

enum { SECOND = 1000000000, ALL_BYTES = 1 << 20 };

struct bench {
	struct weir_switch *sw;
	struct observe *o;
	struct snapshot *s;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	int err;

	b->sw = fake_switch_create();
	ctr_add(&b->sw->port[0].c.rx_packets, 11);
	err = observe_create(b->sw, &b->o);
	*state = b;
	b->s = snapshot_take(b->o, SECOND);
	return err;
}

static int end(void **state)
{
	struct bench *b = *state;

	snapshot_free(b->s);
	observe_destroy(b->o);
	fake_switch_destroy(b->sw);
	free(b);
	return 0;
}

static const struct snapshot_cell *cell(const struct snapshot_row *row, const char *key)
{
	for (unsigned i = 0; i < row->n_cells; i++)
		if (strcmp(row->cells[i].key, key) == 0)
			return &row->cells[i];
	fail_msg("no cell %s", key);
	return NULL;
}

static void it_keeps_the_numbers_of_its_moment(void **state)
{
	struct bench *b = *state;
	const struct snapshot_list *ports = &b->s->lists[FACTS_PORTS];

	ctr_add(&b->sw->port[0].c.rx_packets, 5);
	assert_int_equal(ports->n_rows, 2);
	assert_int_equal(cell(&ports->rows[0], "rx_packets")->n, 11);
	assert_int_equal(cell(&ports->rows[0], "up")->n, 1);
	assert_int_equal(cell(&ports->rows[1], "up")->n, 0);
	assert_string_equal(cell(&ports->rows[0], "device")->text, "xdp:a\"b\\");
	assert_string_equal(cell(&b->s->lists[FACTS_WORKERS].rows[0], "ports")->text, "p1");
	assert_int_equal(b->s->lists[FACTS_FDB].n_rows, 0);
	assert_int_equal(b->s->lists[FACTS_BALANCE].n_rows, 1);
}

static void a_row_is_named_by_its_ids(void **state)
{
	struct bench *b = *state;
	struct snapshot_list list = {0};
	struct json_object *rows = json_tokener_parse(
		"[{\"port\": \"up-1.a\", \"class\": 3, \"reason\": \"rx-runt\", \"packets\": 1}]");

	assert_string_equal(b->s->lists[FACTS_QUEUES].rows[9].key, "p2_1");
	assert_string_equal(b->s->lists[FACTS_QUEUES].rows[9].port, "p2");
	assert_string_equal(b->s->lists[FACTS_POOLS].rows[2].key, "egress_lossy");
	assert_null(b->s->lists[FACTS_POOLS].rows[2].port);
	assert_true(snapshot_add(&list, &fact_lists[FACTS_DROPS], rows));
	assert_string_equal(list.rows[0].key, "up_1_a_3_rx_runt");
	json_object_put(rows);
	free(list.rows[0].cells[0].text);
	free(list.rows[0].cells[2].text);
	free(list.rows[0].cells);
	free(list.rows[0].key);
	free(list.rows[0].port);
	free(list.rows);
}

static void pages_hold_every_row_once(void **state)
{
	struct bench *b = *state;
	const struct snapshot_list *queues = &b->s->lists[FACTS_QUEUES];
	struct snapshot_page p;
	const char *why = NULL;
	unsigned next = 0;

	for (unsigned i = 1; i <= 4; i++) {
		char params[8];

		snprintf(params, sizeof(params), "%u", i);
		assert_true(snapshot_page(b->s, queues, params, 5, ALL_BYTES, &p, &why));
		assert_int_equal(p.n_pages, 4);
		assert_int_equal(p.first, next);
		next = p.last;
	}
	assert_int_equal(next, 2 * N_QUEUES);
	assert_false(snapshot_page(b->s, queues, "5", 5, ALL_BYTES, &p, &why));
	assert_true(snapshot_page(b->s, queues, "p2,2", 5, ALL_BYTES, &p, &why));
	assert_int_equal(p.first, 13);
	assert_int_equal(p.last, 16);
	assert_false(snapshot_page(b->s, queues, "p2,3", 5, ALL_BYTES, &p, &why));
}

static void a_page_ends_before_the_reply_would_be_too_long(void **state)
{
	struct bench *b = *state;
	const struct snapshot_list *queues = &b->s->lists[FACTS_QUEUES];
	struct snapshot_page p;
	const char *why = NULL;

	assert_true(snapshot_page(b->s, queues, NULL, 200, 1000, &p, &why));
	assert_in_range(p.last, 3, 5);
	assert_true(snapshot_page(b->s, queues, NULL, 200, 1, &p, &why)); // at least one row
	assert_int_equal(p.last, 1);
	assert_int_equal(p.n_pages, 16);
}

static void a_port_comes_first_even_if_its_name_is_a_number(void **state)
{
	struct bench *b = *state;
	const struct snapshot_list *queues;
	struct snapshot_page p;
	const char *why = NULL;

	strcpy(b->sw->policy->ports[1].name, "2");
	snapshot_free(b->s);
	b->s = snapshot_take(b->o, SECOND);
	queues = &b->s->lists[FACTS_QUEUES];
	assert_true(snapshot_page(b->s, queues, "2", 5, ALL_BYTES, &p, &why));
	assert_string_equal(p.port, "2");
	assert_int_equal(p.n_pages, 2);
	assert_false(snapshot_matches(&queues->rows[0], &p));
	assert_true(snapshot_matches(&queues->rows[8], &p));
	assert_true(snapshot_page(b->s, queues, "1", 5, ALL_BYTES, &p, &why));
	assert_null(p.port);
}

static void other_parameters_are_refused_with_a_sentence(void **state)
{
	static const char *const bad[] = {"p9", "0", "-1", "1x", "p1,x", "p1,2,3", "3,p1", "p1,,",
					  " ", ",", ",,", "1e3", "999999", "18446744073709551617"};
	struct bench *b = *state;
	struct snapshot_page p;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = NULL;

		if (snapshot_page(b->s, &b->s->lists[FACTS_QUEUES], bad[i], 200, ALL_BYTES, &p,
				  &why))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_non_null(why);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_keeps_the_numbers_of_its_moment),
		T(a_row_is_named_by_its_ids),
		T(pages_hold_every_row_once),
		T(a_page_ends_before_the_reply_would_be_too_long),
		T(a_port_comes_first_even_if_its_name_is_a_number),
		T(other_parameters_are_refused_with_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
