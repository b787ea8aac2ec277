// SPDX-License-Identifier: Apache-2.0
#include "control/orders/impair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/config/impair.h"
#include "control/observe/fact.h"
#include "dataplane/base/rng.h"
#include "dataplane/base/units.h"
#include "dataplane/switch_impair.h"

enum { SEED_BITS = 31 }; // of a seed that was chosen here: easy to type again

static const char *mistake(const char *key, const struct impair_mistake *why,
			   char text[ORDER_TEXT_LEN])
{
	snprintf(text, ORDER_TEXT_LEN, "%s: column %u: %s", key, why->column, why->text);
	return text;
}

// How long, how often, which seed. NULL, or the error.
static const char *read_limits(struct json_object *req, uint64_t now_ns, struct impair_rule *r)
{
	int64_t most = number_in(req, KEY(IMPAIRMENTS, most), 0, INT64_MAX);
	int64_t seed = number_in(req, KEY(IMPAIRMENTS, rule_seed), 0, INT64_MAX);
	int64_t for_us = number_in(req, KEY(IMPAIRMENTS, for_us), IMPAIR_FOR_S * (int64_t)SECOND_US,
				   IMPAIR_FOR_MAX_S * (int64_t)SECOND_US);

	if (for_us <= 0)
		return "for is a time up to 24 hours (86400s), as 10s";
	if (most < 0 || seed < 0)
		return "count and seed are whole numbers";
	r->for_ns = (uint64_t)for_us * 1000;
	r->count = (uint64_t)most;
	r->seed = seed != 0 ? (uint64_t)seed : rng_mix(now_ns) >> (64 - SEED_BITS) | 1;
	return NULL;
}

const char *impair_request(struct weir_switch *sw, unsigned port, struct json_object *req,
			   uint64_t now_ns, struct json_object **data,
			   char text[ORDER_TEXT_LEN])
{
	const char *match = text_in(req, KEY(IMPAIRMENTS, match));
	const char *action = text_in(req, KEY(IMPAIRMENTS, action));
	const char *way = text_in(req, KEY(IMPAIRMENTS, way)), *error;
	struct impair_mistake why;
	struct impair_rule rule;
	uint32_t id;

	memset(&rule, 0, sizeof(rule));
	if (action == NULL)
		return "no action is given";
	if (!impair_parse_match(match != NULL ? match : "", &rule, &why))
		return mistake(KEY(IMPAIRMENTS, match), &why, text);
	if (!impair_parse_action(action, &rule, &why))
		return mistake(KEY(IMPAIRMENTS, action), &why, text);
	while (way != NULL && strcmp(way, impair_direction_name[rule.direction]) != 0)
		if (++rule.direction == N_IMPAIR_DIRECTIONS)
			return "the way is neither in nor out";
	error = read_limits(req, now_ns, &rule);
	if (error != NULL)
		return error;
	switch (switch_impair_add(sw, port, &rule, &id)) {
	case 0: break;
	case -ENOSPC: return "the port has 8 rules already: stop one of `show impairments`";
	default: return "out of memory";
	}
	*data = json_object_new_object();
	row_u64(*data, KEY(IMPAIRMENTS, rule), id);
	row_u64(*data, KEY(IMPAIRMENTS, rule_seed), rule.seed);
	return NULL;
}

const char *impair_request_stop(struct weir_switch *sw, struct json_object *req,
				struct json_object **data)
{
	int64_t id = number_in(req, KEY(IMPAIRMENTS, rule), 0, UINT32_MAX);
	unsigned n;

	if (id < 0)
		return "a rule is a number";
	n = switch_impair_stop(sw, (uint32_t)id);
	if (n == 0 && id != 0)
		return "no such rule is on: see `show impairments`";
	*data = json_object_new_object();
	row_u64(*data, "stopped", n);
	return NULL;
}
