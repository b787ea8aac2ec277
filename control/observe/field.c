// SPDX-License-Identifier: Apache-2.0
#include "control/observe/field.h"

static struct json_object *json_of(struct value v)
{
	switch (v.type) {
	case VALUE_U64: return json_object_new_uint64(v.u64);
	case VALUE_I64: return json_object_new_int64(v.i64);
	case VALUE_DOUBLE: return json_object_new_double(v.number);
	case VALUE_YES: return json_object_new_boolean(v.yes);
	case VALUE_TEXT: return v.text != NULL ? json_object_new_string(v.text) : NULL;
	case VALUE_JSON: return v.json;
	case VALUE_ABSENT:
	case VALUE_NULL: break;
	}
	return NULL;
}

void emit_fact(struct json_object *row, enum fact_id f, struct value v)
{
	if (v.type != VALUE_ABSENT)
		json_object_object_add(row, fact_rows[f].key, json_of(v));
}

void emit_facts(struct json_object *row, unsigned list,
		struct value (*value)(enum fact_id f, const void *at), const void *at)
{
	const struct fact_list *l = &fact_lists[list];

	for (size_t i = 0; i < l->n; i++) {
		enum fact_id f = (enum fact_id)(&l->rows[i] - fact_rows);

		emit_fact(row, f, value(f, at));
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
