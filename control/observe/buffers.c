// SPDX-License-Identifier: Apache-2.0
// Rows about the shared buffer: priority groups, pools and watermarks.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static void pg_name(const struct observe *o, unsigned port, unsigned pg, struct json_object *row)
{
	row_text(row, "port", port_name(o, port));
	row_u64(row, "pg", pg);
	row_u64(row, "class", class_of(policy_of(o)->ports[port].classify.class_to_pg, pg));
}

// The thresholds as they stand with the pool as it is filled now. Both count what the group holds
// outside headroom and skid: min is used first and given back last.
static void emit_thresholds(const struct show *s, const struct pg_params *p,
			    struct json_object *row)
{
	struct pool_use pool = switch_pool(s->o->sw, POOL_INGRESS);
	uint64_t free_cells = pool.size > pool.used ? pool.size - pool.used : 0;
	uint64_t cell = policy_of(s->o)->cell.bytes;

	row_u64(row, "xoff_at_bytes",
		(p->min_cells + threshold_cells(&p->shared, free_cells)) * cell);
	row_u64(row, "xon_at_bytes", (p->min_cells + pg_xon_at(p, free_cells)) * cell);
}

static void pg_row(const struct show *s, unsigned port, unsigned pg, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct pg_params *p = &policy_of(o)->ports[port].pg[pg];
	const struct pg_state *st = switch_pg_state(o->sw, port, pg);

	pg_name(o, port, pg, row);
	row_bool(row, "lossless", p->lossless);
	facts_emit_counters(row, &fact_lists[FACTS_PGS], switch_pg_counters(o->sw, port, pg),
			    &baseline(s, port)->pg[pg]);
	facts_emit_gauges(row, &fact_lists[FACTS_PGS], st, policy_of(o)->cell.bytes);
	emit_thresholds(s, p, row);
	row_bool(row, "xoff", pg_in_xoff(st));
}

void emit_pools(const struct show *s, struct json_object *out)
{
	struct json_object *pools = list_in(out, "pools");
	uint64_t cell = policy_of(s->o)->cell.bytes;

	for (unsigned i = 0; i < N_POOLS; i++) {
		struct pool_use u = switch_pool(s->o->sw, i);
		struct json_object *row = row_in(pools);

		row_text(row, "name", pool_name[i]);
		row_u64(row, "size_bytes", u.size * cell);
		row_u64(row, "used_bytes", u.used * cell);
		row_u64(row, "max_bytes", u.max * cell);
	}
}

void show_buffers(const struct show *s, struct json_object *out)
{
	struct json_object *pgs = list_in(out, "pgs");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			pg_row(s, port, pg, row_in(pgs));
	emit_pools(s, out);
}

static void watermarks_of_port(const struct show *s, unsigned port, struct json_object *queues,
			       struct json_object *pgs)
{
	const struct observe *o = s->o;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		struct json_object *row = row_in(queues);

		row_text(row, "port", port_name(o, port));
		row_u64(row, "queue", q);
		row_u64(row, "class",
			class_of(policy_of(o)->ports[port].classify.class_to_queue, q));
		facts_emit_gauges(row, &fact_lists[FACTS_QUEUE_MARKS],
				  switch_queue_counters(o->sw, port, q), 1);
	}
	for (unsigned pg = 0; pg < N_PGS; pg++) {
		struct json_object *row = row_in(pgs);

		pg_name(o, port, pg, row);
		facts_emit_gauges(row, &fact_lists[FACTS_PG_MARKS],
				  switch_pg_state(o->sw, port, pg), policy_of(o)->cell.bytes);
	}
}

void show_watermarks(const struct show *s, struct json_object *out)
{
	struct json_object *queues = list_in(out, "queues");
	struct json_object *pgs = list_in(out, "pgs");
	struct json_object *pools = list_in(out, "pools");

	for (unsigned port = s->first; port < s->last; port++)
		watermarks_of_port(s, port, queues, pgs);
	for (unsigned i = 0; i < N_POOLS; i++) {
		struct json_object *row = row_in(pools);

		row_text(row, "name", pool_name[i]);
		row_u64(row, "max_bytes",
			switch_pool(s->o->sw, i).max * policy_of(s->o)->cell.bytes);
	}
}
