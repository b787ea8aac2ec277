// SPDX-License-Identifier: Apache-2.0
// Tests of what `show` answers: an observer over the fake switch, and the rows of an
// answer. Failures end the test by cmocka's assertions.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/ctl/show.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "tests/unit/observe/fake_switch.h"

struct bench {
	struct weir_switch *sw;
	struct observe *o;
};

static inline int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->sw = fake_switch_create();
	*state = b;
	return observe_create(&b->sw->in, &b->o);
}

static inline int end(void **state)
{
	struct bench *b = *state;

	observe_destroy(b->o);
	fake_switch_destroy(b->sw);
	free(b);
	return 0;
}

static inline struct json_object *list(struct json_object *data, const char *name)
{
	struct json_object *rows;

	assert_true(json_object_object_get_ex(data, name, &rows));
	return rows;
}

static inline struct json_object *row(struct json_object *data, const char *name, size_t i)
{
	struct json_object *r = json_object_array_get_idx(list(data, name), i);

	assert_non_null(r);
	return r;
}

static inline uint64_t number(struct json_object *r, const char *key)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(r, key, &v));
	return json_object_get_uint64(v);
}

static inline const char *text(struct json_object *r, const char *key)
{
	struct json_object *v;

	assert_true(json_object_object_get_ex(r, key, &v));
	return json_object_get_string(v);
}

// ---- tables

static inline void want_line(char *out, const char *line)
{
	if (strstr(out, line) == NULL)
		fail_msg("\"%s\" is not in\n%s", line, out);
}

// What a person reads of an answer to `show what`.
static inline char *printed_as(const char *what, struct json_object *data,
			       const struct show_wish *wish)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	assert_true(show_tables(f, what, data, wish));
	fclose(f);
	return out;
}

// With --all.
static inline char *printed(const char *what, struct json_object *data)
{
	return printed_as(what, data, &(struct show_wish){.all = true});
}

// ---- keys and facts

static inline bool is_fact(const struct fact_list *l, const char *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->rows[i].key, key) == 0)
			return true;
	return false;
}

// Each key of the row is a fact of the list, and each fact is a key.
static inline void compare_keys(const struct fact_list *l, struct json_object *r)
{
	json_object_object_foreach(r, key, v) {
		(void)v;
		if (!is_fact(l, key))
			fail_msg("%s.%s is shown and has no row in the tables", l->list, key);
	}
	for (size_t i = 0; i < l->n; i++)
		if (!json_object_object_get_ex(r, l->rows[i].key, NULL))
			fail_msg("%s.%s has a row in the tables and is not shown", l->list,
				 l->rows[i].key);
}
