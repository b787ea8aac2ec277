// SPDX-License-Identifier: Apache-2.0
// The facts of auto ECN, from the agent of the switch.
#include <json-c/json.h>
#include <math.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

static struct json_object *ecn_text(const char *text)
{
	return json_object_new_string(text);
}

// Hundredths of a percent are enough.
#define ROUND_PERCENT(share) (round(1e4 * (share)) / 100)
#define FACTS_OF "control/observe/auto_ecn.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

void show_auto_ecn(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_ECN_AUTO);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			struct at a = at_port(s, port, q);
			struct autoecn_view view;

			if (!autoecn_view(instance_auto_ecn(s->o->in), port, q, &view))
				continue;
			a.ecn = &view;
			emit(row_in(rows), FACTS_ECN_AUTO, &a);
		}
}
