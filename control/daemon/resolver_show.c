// SPDX-License-Identifier: Apache-2.0
// Routes and neighbours as people read them.
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "control/config/addr.h"
#include "control/daemon/neighbour_table.h"
#include "control/daemon/resolver.h"
#include "control/daemon/resolver_impl.h"
#include "control/observe/field.h"
#include "dataplane/switch_routes.h"

enum { MAC_LEN = 18 };

static void row_mac(struct json_object *row, const uint8_t *mac)
{
	char text[MAC_LEN];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	row_text(row, "mac", text);
}

// ---- routes

static void gateway(const struct resolver *r, const struct policy_nexthop *h,
		    struct json_object *row)
{
	const struct neighbour *n =
		r == NULL ? NULL : neighbour_find(r->table, h->port, &h->addr);
	char text[ADDR_TEXT_LEN];

	row_text(row, "via", addr_text(&h->addr, text));
	row_text(row, "state", n == NULL ? "incomplete" : neighbour_state_name[n->state]);
	if (n != NULL && n->state != NEIGHBOUR_INCOMPLETE && n->state != NEIGHBOUR_FAILED)
		row_mac(row, n->mac);
}

static void route_row(const struct resolver *r, const struct policy *p,
		      const struct policy_prefix *to, const struct policy_nexthop *h,
		      struct json_object *row)
{
	char text[ADDR_TEXT_LEN];

	row_text(row, "to", addr_text(&to->to, text));
	row_text(row, "port", p->ports[h->port].name);
	switch ((enum nexthop_kind)h->kind) {
	case NEXTHOP_SELF: row_text(row, "state", "self"); break;
	case NEXTHOP_LINK: row_text(row, "state", "connected"); break;
	case NEXTHOP_GATEWAY: gateway(r, h, row); break;
	case NEXTHOP_GIVEN:
		row_text(row, "state", "static");
		row_mac(row, h->mac);
		break;
	}
}

struct json_object *resolver_routes(const struct resolver *r, const struct weir_switch *sw,
				    int port)
{
	const struct policy *p = switch_policy(sw);
	struct json_object *out = json_object_new_object();
	struct json_object *list = list_in(out, "routes");

	for (uint32_t i = 0; i < p->routes.n_prefixes; i++) {
		const struct policy_prefix *to = &p->routes.prefixes[i];
		const struct policy_group *g = &p->routes.groups[to->group];

		for (uint32_t k = 0; k < g->n; k++) {
			const struct policy_nexthop *h = &p->routes.nexthops[g->first + k];

			if (port < 0 || h->port == port)
				route_row(r, p, to, h, row_in(list));
		}
	}
	return out;
}

// ---- neighbours

static void neighbour_row(const struct policy *p, const struct neighbour *n, uint64_t now_ns,
			  struct json_object *row)
{
	char text[ADDR_TEXT_LEN];

	row_text(row, "ip", addr_text(&n->addr, text));
	row_text(row, "port", p->ports[n->port].name);
	if (n->state != NEIGHBOUR_INCOMPLETE && n->state != NEIGHBOUR_FAILED)
		row_mac(row, n->mac);
	row_text(row, "state", neighbour_state_name[n->state]);
	row_bool(row, "gateway", n->wanted);
	row_u64(row, "age_s", now_ns > n->since_ns ? (now_ns - n->since_ns) / 1000000000 : 0);
}

static void totals(const struct resolver *r, struct json_object *out)
{
	struct neighbour_stats s = neighbour_stats(r->table);
	struct json_object *row = json_object_new_object();

	row_u64(row, "unanswered", s.failed);
	row_u64(row, "refused", s.refused + r->no_room);
	row_u64(row, "replaced", s.replaced);
	row_u64(row, "malformed", r->malformed);
	row_u64(row, "unsent", r->unsent);
	json_object_object_add(out, "totals", row);
}

struct json_object *resolver_neighbours(const struct resolver *r, const struct weir_switch *sw,
					int port, uint64_t now_ns)
{
	struct json_object *out = json_object_new_object();
	struct json_object *list = list_in(out, "neighbours");

	for (unsigned i = 0; r != NULL && i < NEIGHBOUR_MAX; i++) {
		const struct neighbour *n = neighbour_at(r->table, i);

		if (n != NULL && (port < 0 || n->port == port))
			neighbour_row(switch_policy(sw), n, now_ns, row_in(list));
	}
	if (r != NULL)
		totals(r, out);
	return out;
}
