// SPDX-License-Identifier: Apache-2.0
// Tests of what `show` answers: an observer over the fake switch, and the rows of an
// answer. Failures end the test by cmocka's assertions.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <json-c/json.h>

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
	return observe_create(b->sw, &b->o);
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
