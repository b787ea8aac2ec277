// SPDX-License-Identifier: Apache-2.0
#include "control/observe/route_rows.h"

#include <json-c/json.h>

#include "control/config/addr.h"
#include "control/observe/fact.h"

// One of them; the others are NULL.
struct at {
	const struct route_row *route;
	const struct neighbour_row *n;
	const struct neighbour_totals *totals;
};

static struct json_object *addr_json(const struct policy_addr *addr)
{
	char text[ADDR_TEXT_LEN];

	return json_object_new_string(addr_text(addr, text));
}

#define FACTS_OF "control/observe/routes.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

void route_row_add(struct json_object *list, const struct route_row *r)
{
	emit(row_in(list), FACTS_ROUTES, &(struct at){.route = r});
}

void neighbour_row_add(struct json_object *list, const struct neighbour_row *n)
{
	emit(row_in(list), FACTS_NEIGHBOURS, &(struct at){.n = n});
}

void neighbour_totals_add(struct json_object *out, const struct neighbour_totals *t)
{
	struct json_object *totals = json_object_new_object();

	emit(totals, FACTS_NEIGHBOUR_TOTALS, &(struct at){.totals = t});
	json_object_object_add(out, fact_lists[FACTS_NEIGHBOUR_TOTALS].list, totals);
}
