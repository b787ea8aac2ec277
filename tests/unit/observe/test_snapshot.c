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
	err = observe_create(&b->sw->in, &b->o);
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

static uint64_t number(const struct snapshot *s, unsigned list, unsigned i, enum fact_id f)
{
	char text[SNAPSHOT_TEXT_LEN];
	bool is_text;
	uint64_t n;

	assert_true(snapshot_value(&fact_rows[f], snapshot_row(s, list, i), &n, text, &is_text));
	assert_false(is_text);
	return n;
}

static void want_text(const struct snapshot *s, unsigned list, enum fact_id f, const char *want)
{
	char text[SNAPSHOT_TEXT_LEN];
	bool is_text;
	uint64_t n;

	assert_true(snapshot_value(&fact_rows[f], snapshot_row(s, list, 0), &n, text, &is_text));
	assert_true(is_text);
	assert_string_equal(text, want);
}

static void it_keeps_the_numbers_of_its_moment(void **state)
{
	struct bench *b = *state;

	ctr_add(&b->sw->port[0].c.rx_packets, 5);
	assert_int_equal(json_object_array_length(b->s->lists[FACTS_PORTS]), 2);
	assert_int_equal(number(b->s, FACTS_PORTS, 0, F_PORTS_rx_packets), 11);
	assert_int_equal(number(b->s, FACTS_PORTS, 0, F_PORTS_up), 1);
	assert_int_equal(number(b->s, FACTS_PORTS, 1, F_PORTS_up), 0);
	want_text(b->s, FACTS_PORTS, F_PORTS_device, "xdp:a\"b\\");
	want_text(b->s, FACTS_WORKERS, F_WORKERS_ports, "p1");
	want_text(b->s, FACTS_INTERFACES, F_INTERFACES_rx_util_percent, "0.0");
	assert_null(b->s->lists[FACTS_FDB]);
	assert_non_null(b->s->lists[FACTS_BALANCE]);
}

static void want_key(unsigned list, struct json_object *row, const char *want)
{
	char key[SNAPSHOT_KEY_LEN];

	snapshot_key(list, row, key);
	assert_string_equal(key, want);
}

static void a_row_is_named_by_its_ids(void **state)
{
	struct bench *b = *state;
	struct json_object *row = json_tokener_parse(
		"{\"port\": \"up-1.a\", \"class\": 3, \"reason\": \"rx-runt\", \"packets\": 1}");
	const struct snapshot_page p2 = {.port = "p2"};

	want_key(FACTS_QUEUES, snapshot_row(b->s, FACTS_QUEUES, 9), "p2_1");
	assert_true(snapshot_matches(FACTS_QUEUES, snapshot_row(b->s, FACTS_QUEUES, 9), &p2));
	want_key(FACTS_POOLS, snapshot_row(b->s, FACTS_POOLS, 2), "egress_lossy");
	assert_false(snapshot_matches(FACTS_POOLS, snapshot_row(b->s, FACTS_POOLS, 2), &p2));
	want_key(FACTS_DROPS, row, "up_1_a_3_rx_runt");
	json_object_put(row);
}

static void pages_hold_every_row_once(void **state)
{
	struct bench *b = *state;
	struct snapshot_page p;
	const char *why = NULL;
	unsigned next = 0;

	for (unsigned i = 1; i <= 4; i++) {
		char params[8];

		snprintf(params, sizeof(params), "%u", i);
		assert_true(snapshot_page(b->s, FACTS_QUEUES, params, 5, ALL_BYTES, &p, &why));
		assert_int_equal(p.n_pages, 4);
		assert_int_equal(p.first, next);
		next = p.last;
	}
	assert_int_equal(next, 2 * N_QUEUES);
	assert_false(snapshot_page(b->s, FACTS_QUEUES, "5", 5, ALL_BYTES, &p, &why));
	assert_true(snapshot_page(b->s, FACTS_QUEUES, "p2,2", 5, ALL_BYTES, &p, &why));
	assert_int_equal(p.first, 13);
	assert_int_equal(p.last, 16);
	assert_false(snapshot_page(b->s, FACTS_QUEUES, "p2,3", 5, ALL_BYTES, &p, &why));
}

static void a_page_ends_before_the_reply_would_be_too_long(void **state)
{
	struct bench *b = *state;
	struct snapshot_page p;
	const char *why = NULL;

	assert_true(snapshot_page(b->s, FACTS_QUEUES, NULL, 200, 1000, &p, &why));
	assert_in_range(p.last, 3, 5);
	assert_true(snapshot_page(b->s, FACTS_QUEUES, NULL, 200, 1, &p, &why)); // at least one row
	assert_int_equal(p.last, 1);
	assert_int_equal(p.n_pages, 16);
}

static void a_port_comes_first_even_if_its_name_is_a_number(void **state)
{
	struct bench *b = *state;
	struct snapshot_page p;
	const char *why = NULL;

	strcpy(b->sw->policy->ports[1].name, "2");
	snapshot_free(b->s);
	b->s = snapshot_take(b->o, SECOND);
	assert_true(snapshot_page(b->s, FACTS_QUEUES, "2", 5, ALL_BYTES, &p, &why));
	assert_string_equal(p.port, "2");
	assert_int_equal(p.n_pages, 2);
	assert_false(snapshot_matches(FACTS_QUEUES, snapshot_row(b->s, FACTS_QUEUES, 0), &p));
	assert_true(snapshot_matches(FACTS_QUEUES, snapshot_row(b->s, FACTS_QUEUES, 8), &p));
	assert_true(snapshot_page(b->s, FACTS_QUEUES, "1", 5, ALL_BYTES, &p, &why));
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

		if (snapshot_page(b->s, FACTS_QUEUES, bad[i], 200, ALL_BYTES, &p, &why))
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
