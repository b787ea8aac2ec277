// SPDX-License-Identifier: Apache-2.0
// The values of a request by key. Each reader checks the type, since a client may send anything;
// each has a result for an absent key. Also prints a value. Called by the control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

// NULL: no text there.
static inline const char *text_in(struct json_object *req, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(req, key, &v) ||
	    !json_object_is_type(v, json_type_string))
		return NULL;
	return json_object_get_string(v);
}

static inline bool true_in(struct json_object *req, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(req, key, &v) && json_object_get_boolean(v);
}

// A value of an event behind " key=". The words of a list have commas between.
static inline void value_print(FILE *out, struct json_object *v)
{
	size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;

	if (!json_object_is_type(v, json_type_array))
		fputs(json_object_get_string(v), out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "",
			json_object_get_string(json_object_array_get_idx(v, i)));
}

// 0 where the key is absent.
static inline uint64_t count_in(struct json_object *req, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(req, key, &v) ? json_object_get_uint64(v) : 0;
}

// dflt where the key is absent; -1 where there is no whole number from 0 to most.
static inline int64_t number_in(struct json_object *req, const char *key, int64_t dflt,
				int64_t most)
{
	struct json_object *v;
	int64_t n;

	if (!json_object_object_get_ex(req, key, &v))
		return dflt;
	n = json_object_get_int64(v);
	return json_object_is_type(v, json_type_int) && n >= 0 && n <= most ? n : -1;
}
