// SPDX-License-Identifier: Apache-2.0
// The plane in the answers to `show`.
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <json-c/json.h>

#include "control/linux/plane_impl.h"
#include "control/observe/fact.h"
#include "control/observe/route_rows.h"
#include "dataplane/base/units.h"
#include "dataplane/switch.h"

struct list {
	const struct plane *p;
	struct json_object *rows;
	int port; // -1: all
	uint64_t now_ns;
};

static const char *iface_name(const struct plane *p, port_no_t iface)
{
	return p->iface[iface].tap.name;
}

static const char *neighbour_state(uint16_t state)
{
	static const struct {
		uint16_t state;
		const char *name;
	} rows[] = {
		{NUD_INCOMPLETE, "incomplete"}, {NUD_REACHABLE, "reachable"},
		{NUD_STALE, "stale"},		{NUD_DELAY, "delay"},
		{NUD_PROBE, "probe"},		{NUD_FAILED, "failed"},
		{NUD_NOARP, "noarp"},		{NUD_PERMANENT, "permanent"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (state & rows[i].state)
			return rows[i].name;
	return "none";
}

static void list_kernel_route(void *arg, const struct mirror_route *r)
{
	const struct list *l = arg;
	const char *source = kernel_protocol_name(r->protocol);
	struct route_row row = {.to = &r->to, .via = r->via, .port = r->device,
				.source = source != NULL ? source : "other",
				.weight = r->weight};
	struct mirror_neighbour n;

	if (l->port >= 0 && r->iface != l->port)
		return;
	if (r->iface != PORT_NONE)
		row.port = iface_name(l->p, r->iface);
	if (r->no_room) {
		row.state = "no-room";
	} else if (r->refused) {
		row.state = "not-taken";
	} else if (r->type == KERNEL_SELF) {
		row.state = "self";
	} else if (r->type == KERNEL_BLACKHOLE) {
		row.state = "blackhole";
	} else if (r->iface == PORT_NONE) {
		row.state = "not-taken";
	} else if (r->dead) {
		row.state = "link-down";
	} else if (r->via == NULL) {
		row.state = "connected";
	} else {
		row.state = "incomplete";
		if (mirror_find_neighbour(l->p->mirror, r->iface, r->via, &n)) {
			row.state = neighbour_state(n.state);
			row.mac = n.mac;
		}
	}
	route_row_add(l->rows, &row);
}

struct json_object *plane_routes(const struct plane *p, int port)
{
	struct json_object *out = json_object_new_object();
	struct list l = {.p = p, .rows = rows_in(out, FACTS_ROUTES), .port = port};

	mirror_walk_routes(p->mirror, list_kernel_route, &l);
	return out;
}

static void add_neighbour(void *arg, const struct mirror_neighbour *n)
{
	const struct list *l = arg;

	if (l->port >= 0 && n->iface != l->port)
		return;
	neighbour_row_add(l->rows, &(struct neighbour_row){
		.addr = &n->addr, .port = iface_name(l->p, n->iface), .mac = n->mac,
		.state = neighbour_state(n->state), .gateway = n->managed,
		.age_s = (l->now_ns - min_u64(n->since_ns, l->now_ns)) / SECOND_NS});
}

struct json_object *plane_neighbours(const struct plane *p, int port, uint64_t now_ns)
{
	struct json_object *out = json_object_new_object();
	struct list l = {.p = p, .rows = rows_in(out, FACTS_NEIGHBOURS), .port = port,
			 .now_ns = now_ns};

	mirror_walk_neighbours(p->mirror, add_neighbour, &l);
	neighbour_totals_add(out, &(struct neighbour_totals){.refused = p->n.neighbours_refused});
	return out;
}
