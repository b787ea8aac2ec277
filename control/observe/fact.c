// SPDX-License-Identifier: Apache-2.0
#include "control/observe/fact.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct fact fact_rows[] = {
#define LIST(...)
#define ROW(list, key_, kind_, unit_, place_, head_, rank_, label_, value, help_)                  \
	[F_##list##_##key_] = {.key = #key_, .kind = FACT_##kind_, .unit = CELL_##unit_,           \
			       .place = place_, .rank = rank_, .head = head_, .label = label_,     \
			       .help = help_},
#define END(list)
#include "control/observe/facts.def"
};
static_assert(sizeof(fact_rows) / sizeof(fact_rows[0]) == N_FACTS, "a row for each fact");

enum { ONE = true, MANY = false };

const struct fact_list fact_lists[] = {
#define LIST(list_, what_, key_, prefix_, shape, help_)                                            \
	[FACTS_##list_] = {.what = what_, .list = key_, .prefix = prefix_, .single = shape,        \
			   .help = help_, .rows = &fact_rows[F_##list_##_FIRST],                   \
			   .n = F_##list_##_END - F_##list_##_FIRST},
#define ROW(...)
#define END(list)
#include "control/observe/facts.def"
};
static_assert(sizeof(fact_lists) / sizeof(fact_lists[0]) == N_FACT_LISTS, "a row for each list");

const struct fact_metric_row fact_metrics[] = {
	[METRIC_INFO] = {"weir_info", "gauge", "always 1; the labels say which switch and version"},
	[METRIC_EVENTS] = {"weir_events_total", "counter", "events by name"},
	[METRIC_EVENTS_LOST] = {"weir_events_lost_total", "counter",
				"events that found no room in the ring to control"},
	[METRIC_LOG_LOST] = {"weir_log_lost_total", "counter",
			     "lines of standard error that were not read in time"},
	[METRIC_RESIDENCE] = {"weir_queue_residence_seconds", "histogram",
			      "time that frames spent in the switch; no sum is kept"},
};
static_assert(sizeof(fact_metrics) / sizeof(fact_metrics[0]) == N_FACT_METRICS,
	      "a row for each metric");

unsigned fact_per_unit(const struct fact *f)
{
	switch (f->unit) {
	case CELL_MS:
	case CELL_UPTIME: return 1000;
	case CELL_US: return 1000000;
	case CELL_NS: return 1000000000;
	default: return 1;
	}
}

bool fact_metric(const struct fact_list *l, const struct fact *f, char out[METRIC_NAME_LEN])
{
	bool time = fact_per_unit(f) != 1;

	if (l->prefix == NULL ||
	    (f->kind != FACT_COUNTER && f->kind != FACT_GAUGE && f->kind != FACT_YES))
		return false;
	snprintf(out, METRIC_NAME_LEN, "%s_%.*s%s%s", l->prefix,
		 (int)(strlen(f->key) - (time ? strlen("_ns") : 0)), f->key,
		 time ? "_seconds" : "", f->kind == FACT_COUNTER ? "_total" : "");
	return true;
}

// ---- rows of JSON

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

struct json_object *mac_json(const uint8_t mac[6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_object_new_string(text);
}

struct json_object *list_in(struct json_object *out, const char *key)
{
	struct json_object *list = json_object_new_array();

	json_object_object_add(out, key, list);
	return list;
}

struct json_object *rows_in(struct json_object *out, unsigned list)
{
	return list_in(out, fact_lists[list].list);
}

struct json_object *single_in(struct json_object *out, unsigned list)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(out, fact_lists[list].list, row);
	return row;
}

struct json_object *row_in(struct json_object *list)
{
	struct json_object *row = json_object_new_object();

	json_object_array_add(list, row);
	return row;
}
