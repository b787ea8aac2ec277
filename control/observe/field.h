// SPDX-License-Identifier: Apache-2.0
// From facts (fact.h) to rows of JSON. A file that computes facts gives one function that returns
// the value of each; emit_facts writes all of a list under their keys. Decides nothing. Called by
// the control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "control/observe/fact.h"

// What a fact is worth at one place.
struct value {
	enum {
		VALUE_ABSENT, // the row has no such key
		VALUE_NULL,
		VALUE_U64,
		VALUE_I64,
		VALUE_DOUBLE,
		VALUE_YES,
		VALUE_TEXT, // NULL: null. Lives as long as the switch
		VALUE_JSON, // the receiver's; NULL: null
	} type;
	union {
		uint64_t u64;
		int64_t i64;
		double number;
		bool yes;
		const char *text;
		struct json_object *json;
	};
};

#define VALUE_FUNCTION(name, type_, id, member)                                                    \
	static inline struct value name(type_ v)                                                   \
	{                                                                                          \
		return (struct value){.type = id, .member = v};                                    \
	}
VALUE_FUNCTION(value_of_u64, uint64_t, VALUE_U64, u64)
VALUE_FUNCTION(value_of_i64, int64_t, VALUE_I64, i64)
VALUE_FUNCTION(value_of_double, double, VALUE_DOUBLE, number)
VALUE_FUNCTION(value_of_yes, bool, VALUE_YES, yes)
VALUE_FUNCTION(value_of_text, const char *, VALUE_TEXT, text)
VALUE_FUNCTION(value_of_json, struct json_object *, VALUE_JSON, json)
#undef VALUE_FUNCTION

static inline struct value value_same(struct value v)
{
	return v;
}

// A value of the type that the expression has.
#define VALUE(e)                                                                                   \
	_Generic((e), struct value: value_same, struct json_object *: value_of_json,               \
		 const char *: value_of_text, char *: value_of_text, double: value_of_double,      \
		 bool: value_of_yes, int: value_of_i64, long: value_of_i64,                        \
		 default: value_of_u64)(e)
// Of the kinds of facts: only those that are true or false have a type of their own.
#define VALUE_OF_YES(e) value_of_yes((e) != 0)
#define VALUE_OF_ID(e) VALUE(e)
#define VALUE_OF_LABEL(e) VALUE(e)
#define VALUE_OF_TEXT(e) VALUE(e)
#define VALUE_OF_COUNTER(e) VALUE(e)
#define VALUE_OF_GAUGE(e) VALUE(e)
#define VALUE_OF_DERIVED(e) VALUE(e)
// Null, or no key at all, where the condition does not hold.
#define MAYBE(condition, e) ((condition) ? VALUE(e) : (struct value){.type = VALUE_NULL})
#define IF(condition, e) ((condition) ? VALUE(e) : (struct value){.type = VALUE_ABSENT})

// ROW of facts.def where a function computes the values: `switch (f)` over the facts, with `a` in
// scope.
#define VALUE_CASE(list, key, kind, value)                                                         \
	case F_##list##_##key:                                                                     \
		return VALUE_OF_##kind(value);

// Adds all facts of a list (enum in fact.h) to the row. at: what the row is about, of the type that
// `value` knows.
void emit_facts(struct json_object *row, unsigned list,
		struct value (*value)(enum fact_id f, const void *at), const void *at);

// Adds one of them.
void emit_fact(struct json_object *row, enum fact_id f, struct value v);

void row_u64(struct json_object *row, const char *key, uint64_t v);
void row_bool(struct json_object *row, const char *key, _Bool v);
void row_text(struct json_object *row, const char *key, const char *v);

// Adds an empty list under key, and an empty row to a list.
struct json_object *list_in(struct json_object *out, const char *key);
struct json_object *row_in(struct json_object *list);
