// SPDX-License-Identifier: Apache-2.0
// The facts of impairments, from the rules of the switch.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const char *impair_state_name(const struct impair_view *v)
{
	return v->state == IMPAIR_OVER ? impair_why_name[v->why] : "on";
}

#define FACTS_OF "control/observe/impair.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

void show_impairments(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_IMPAIRMENTS);
	struct at a = {.s = s, .o = s->o, .pol = policy_of(s->o)};
	struct impair_view v;

	a.impair = &v;
	for (unsigned i = 0; switch_impair_get(s->o->sw, i, &v); i++)
		if (v.port >= s->first && v.port < s->last)
			emit(row_in(rows), FACTS_IMPAIRMENTS, &a);
}
