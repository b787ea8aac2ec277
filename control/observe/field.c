// SPDX-License-Identifier: Apache-2.0
#include "control/observe/field.h"

#include <json-c/json.h>

#include "dataplane/counter.h"

static uint64_t value_at(const void *object, const struct fact *f)
{
	return ctr_get((const ctr_t *)(const void *)((const char *)object + f->off));
}

static bool held(const struct fact *f, enum fact_kind kind)
{
	return f->kind == kind && f->off != FACT_COMPUTED;
}

void facts_emit_counters(struct json_object *row, const struct fact_list *l, const void *live,
			 const void *base)
{
	for (size_t i = 0; i < l->n; i++)
		if (held(&l->rows[i], FACT_COUNTER))
			row_u64(row, l->rows[i].key,
				value_at(live, &l->rows[i]) - value_at(base, &l->rows[i]));
}

void facts_emit_gauges(struct json_object *row, const struct fact_list *l, const void *live,
		       uint64_t scale)
{
	for (size_t i = 0; i < l->n; i++)
		if (held(&l->rows[i], FACT_GAUGE))
			row_u64(row, l->rows[i].key, value_at(live, &l->rows[i]) * scale);
}

void facts_take_baseline(const struct fact_list *l, const void *live, void *base)
{
	for (size_t i = 0; i < l->n; i++)
		if (held(&l->rows[i], FACT_COUNTER))
			gauge_set((gauge_t *)(void *)((char *)base + l->rows[i].off),
				  value_at(live, &l->rows[i]));
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

struct json_object *list_in(struct json_object *out, const char *key)
{
	struct json_object *list = json_object_new_array();

	json_object_object_add(out, key, list);
	return list;
}

struct json_object *row_in(struct json_object *list)
{
	struct json_object *row = json_object_new_object();

	json_object_array_add(list, row);
	return row;
}
