// SPDX-License-Identifier: Apache-2.0
#include "control/observe/route_rows.h"

#include <json-c/json.h>

#include "control/config/addr.h"
#include "control/neighbours/neighbour_table.h"
#include "control/neighbours/resolver.h"
#include "control/observe/fact.h"
#include "dataplane/iface.h"
#include "dataplane/switch.h"

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

// ---- of the switch's own resolver

// NULL: not known.
static const uint8_t *neighbour_mac(const struct neighbour *n)
{
	return n == NULL || n->state == NEIGHBOUR_INCOMPLETE || n->state == NEIGHBOUR_FAILED
		       ? NULL
		       : n->mac;
}

// n: of a gateway, NULL before the first question.
static void list_policy_route(struct json_object *list, const struct policy *p,
			      const struct policy_addr *to, const struct policy_nexthop *h,
			      const struct neighbour *n)
{
	struct route_row row = {.to = to, .port = iface_name(p, h->port), .source = "policy",
				.weight = 1};

	switch ((enum nexthop_kind)h->kind) {
	case NEXTHOP_SELF: row.state = "self"; break;
	case NEXTHOP_LINK: row.state = "connected"; break;
	case NEXTHOP_GIVEN:
		row.state = neighbour_state_name[NEIGHBOUR_STATIC];
		row.mac = h->mac;
		break;
	case NEXTHOP_GATEWAY:
		row.state = neighbour_state_name[n == NULL ? NEIGHBOUR_INCOMPLETE : n->state];
		row.mac = neighbour_mac(n);
		row.via = &h->addr;
		break;
	case NEXTHOP_NONE:
	case NEXTHOP_BLACKHOLE: return; // the kernel's alone
	}
	route_row_add(list, &row);
}

struct json_object *rows_of_routes(const struct resolver *r, const struct weir_switch *sw,
				    int port)
{
	const struct policy *p = switch_policy(sw);
	struct json_object *out = json_object_new_object();
	struct json_object *list = rows_in(out, FACTS_ROUTES);

	for (uint32_t i = 0; i < p->routes.n_prefixes; i++) {
		const struct policy_prefix *to = &p->routes.prefixes[i];
		const struct policy_group *g = &p->routes.groups[to->group];

		for (uint32_t k = 0; k < g->n; k++) {
			const struct policy_nexthop *h = &p->routes.nexthops[g->first + k];
			const struct neighbour *n = NULL;

			if (r != NULL && h->kind == NEXTHOP_GATEWAY)
				n = neighbour_find(resolver_table(r), h->port, &h->addr);
			if (port < 0 || h->port == port)
				list_policy_route(list, p, &to->to, h, n);
		}
	}
	return out;
}

struct json_object *rows_of_neighbours(const struct resolver *r, const struct weir_switch *sw,
					int port, uint64_t now_ns)
{
	struct json_object *out = json_object_new_object();
	struct json_object *list = rows_in(out, FACTS_NEIGHBOURS);
	struct neighbour_stats stats = {0};
	struct resolver_counts counts = {0};

	for (unsigned i = 0; r != NULL && i < NEIGHBOUR_MAX; i++) {
		const struct neighbour *n = neighbour_at(resolver_table(r), i);

		if (n == NULL || (port >= 0 && n->port != port))
			continue;
		neighbour_row_add(list, &(struct neighbour_row){
			.addr = &n->addr, .port = iface_name(switch_policy(sw), n->port),
			.mac = neighbour_mac(n), .state = neighbour_state_name[n->state],
			.gateway = n->wanted,
			.age_s = (now_ns - min_u64(n->since_ns, now_ns)) / SECOND_NS});
	}
	if (r != NULL) {
		stats = neighbour_stats(resolver_table(r));
		counts = resolver_counts(r);
	}
	neighbour_totals_add(out, &(struct neighbour_totals){
		.unanswered = stats.failed, .refused = stats.refused + counts.no_room,
		.replaced = stats.replaced, .malformed = counts.malformed,
		.unsent = counts.unsent});
	return out;
}
