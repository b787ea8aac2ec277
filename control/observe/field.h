// SPDX-License-Identifier: Apache-2.0
// From rows of facts (fact.h) to rows of JSON: reads the counters of one object and writes them
// under their keys, and keeps what they were at a clear. Decides nothing. Called by the control
// thread.
#pragma once

#include <stdint.h>

#include "control/observe/fact.h"

struct json_object;

// The counters and the gauges of a list have their places in the struct that the list is about; a
// list about two structs keeps its counters in one and its gauges in the other.
// live and base are two such objects: what is shown is the difference.
void facts_emit_counters(struct json_object *row, const struct fact_list *l, const void *live,
			 const void *base);
// scale: 1, or the bytes of a cell.
void facts_emit_gauges(struct json_object *row, const struct fact_list *l, const void *live,
		       uint64_t scale);
void facts_take_baseline(const struct fact_list *l, const void *live, void *base);

void row_u64(struct json_object *row, const char *key, uint64_t v);
void row_bool(struct json_object *row, const char *key, _Bool v);
void row_text(struct json_object *row, const char *key, const char *v);

// Adds an empty list under key, and an empty row to a list.
struct json_object *list_in(struct json_object *out, const char *key);
struct json_object *row_in(struct json_object *list);
