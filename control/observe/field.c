// SPDX-License-Identifier: Apache-2.0
#include "control/observe/field.h"

#include <json-c/json.h>

#include "dataplane/counter.h"

static uint64_t value_at(const void *object, const struct field *f)
{
	return ctr_get((const ctr_t *)(const void *)((const char *)object + f->off));
}

void field_emit(struct json_object *row, const struct field_table *t, const void *live,
		const void *base)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->rows[i];
		uint64_t v = value_at(live, f);

		row_u64(row, f->key, f->kind == FIELD_CTR ? v - value_at(base, f) : v);
	}
}

void field_take_baseline(const struct field_table *t, const void *live, void *base)
{
	for (size_t i = 0; i < t->n; i++) {
		gauge_t *to = (gauge_t *)(void *)((char *)base + t->rows[i].off);

		if (t->rows[i].kind == FIELD_CTR)
			gauge_set(to, value_at(live, &t->rows[i]));
	}
}

void row_u64(struct json_object *row, const char *key, uint64_t v)
{
	json_object_object_add(row, key, json_object_new_uint64(v));
}

void row_bool(struct json_object *row, const char *key, _Bool v)
{
	json_object_object_add(row, key, json_object_new_boolean(v));
}

void row_text(struct json_object *row, const char *key, const char *v)
{
	json_object_object_add(row, key, json_object_new_string(v));
}
