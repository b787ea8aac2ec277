// SPDX-License-Identifier: Apache-2.0
#include "control/config/sonic.h"

#include "dataplane/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
	SAME, // the number as it stands
	POWER, // the exponent of a power of two
	BYTES,
	PERCENT,
	MILLISECONDS,
	BYTES_PER_S, // of a rate in bits per second
	REFERENCE, // the name of another table: no value to translate
};

enum { MAX_EXPONENT = 8, NUMBER_LEN = 32 };

static const int64_t MAX_VALUE = 1000000000000;

// key: where the map has it, else `within: {key}`.
static const struct {
	const char *sonic, *key, *within;
	enum value_kind kind;
} rows[] = {
	{"dynamic_th", "alpha", "ingress", POWER},
	{"static_th", "static", "ingress", BYTES},
	{"size", "min", "ingress", BYTES},
	{"xoff", "headroom", "ingress", BYTES},
	{"green_min_threshold", "kmin", "wred", BYTES},
	{"green_max_threshold", "kmax", "wred", BYTES},
	{"green_drop_probability", "pmax", "wred", PERCENT},
	{"detection_time", "detect", "watchdog", MILLISECONDS},
	{"restoration_time", "restore", "watchdog", MILLISECONDS},
	{"weight", "dwrr", "schedule", SAME},
	{"cir", "min_rate", "", BYTES_PER_S},
	{"pir", "max_rate", "", BYTES_PER_S},
	{"dscp_to_tc_map", "dscp_to_class", "", REFERENCE},
	{"tc_to_queue_map", "class_to_queue", "", REFERENCE},
	{"tc_to_pg_map", "class_to_pg", "", REFERENCE},
	{"pfc_enable", "lossless: on in the classes of the profile", "classes", REFERENCE},
};

bool sonic_gives(const struct node *map, const char *key)
{
	for (const struct node *v = map->first; v != NULL; v = v->next)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (strcmp(rows[i].key, key) == 0 &&
			    strcmp(rows[i].sonic, v->key->text) == 0)
				return true;
	return false;
}

static bool has_key(const struct cfg_schema *s, const char *key)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->rows[i].key, key) == 0)
			return true;
	return false;
}

static const char *printed(struct arena *a, enum unit_kind unit, int64_t n)
{
	char text[NUMBER_LEN];

	unit_print(unit, n, text, sizeof(text));
	return arena_printf(a, "%s", text);
}

// The value as a policy writes it, or NULL.
static const char *value_of(struct arena *a, enum value_kind kind, const char *text)
{
	char *end;
	int64_t n = strtoll(text, &end, 10);

	if (end == text || *end != '\0' || n > MAX_VALUE || (n < 0 && kind != POWER))
		return NULL;
	switch (kind) {
	case SAME: return arena_printf(a, "%" PRId64, n);
	case BYTES: return printed(a, UNIT_BYTES, n);
	case PERCENT: return arena_printf(a, "%" PRId64 "%%", n);
	case MILLISECONDS: return printed(a, UNIT_TIME, n * MS_NS);
	case BYTES_PER_S: return printed(a, UNIT_RATE, n * 8);
	case POWER:
		if (n < -MAX_EXPONENT || n >= MAX_EXPONENT)
			return NULL;
		return arena_printf(a, n < 0 ? "1/%d" : "%d", 1 << (n < 0 ? -n : n));
	default: return NULL;
	}
}

const char *sonic_translate(struct arena *a, const struct cfg_schema *s, const struct node *value)
{
	const char *sonic = value->key->text, *to = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool here = has_key(s, rows[i].key);

		if (strcmp(rows[i].sonic, sonic) != 0 || (!here && !has_key(s, rows[i].within)))
			continue;
		if (value->kind == NODE_SCALAR)
			to = value_of(a, rows[i].kind, value->text);
		if (to == NULL)
			return arena_printf(a, "SONiC's %s is %s", sonic, rows[i].key);
		to = arena_printf(a, "%s: %s", rows[i].key, to);
		return arena_printf(a, here ? "SONiC's %s %s is %s" : "SONiC's %s %s is %s: {%s}",
				    sonic, value->text, here ? to : rows[i].within, to);
	}
	return NULL;
}
