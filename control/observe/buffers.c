// SPDX-License-Identifier: Apache-2.0
// Rows about the shared buffer: priority groups, pools and watermarks.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const struct field pg_rows[] = {
	FIELD(pg_counters, rx_packets, FIELD_CTR),
	FIELD(pg_counters, rx_bytes, FIELD_CTR),
	FIELD(pg_counters, dropped_packets, FIELD_CTR),
	FIELD(pg_counters, dropped_bytes, FIELD_CTR),
};
const struct field_table pg_fields = FIELD_TABLE(pg_rows);

static const struct field pg_cell_rows[] = {
	{"min_bytes", FIELD_GAUGE, offsetof(struct pg_state, min_used)},
	{"shared_bytes", FIELD_GAUGE, offsetof(struct pg_state, shared)},
	{"headroom_bytes", FIELD_GAUGE, offsetof(struct pg_state, headroom)},
	{"skid_bytes", FIELD_GAUGE, offsetof(struct pg_state, skid)},
};

static const struct field pg_max_rows[] = {
	{"max_shared_bytes", FIELD_GAUGE, offsetof(struct pg_state, max_shared)},
	{"max_headroom_bytes", FIELD_GAUGE, offsetof(struct pg_state, max_headroom)},
};

static void emit_cells(struct json_object *row, const struct field *f, size_t n, uint32_t cell,
		       const struct pg_state *st)
{
	for (size_t i = 0; i < n; i++) {
		const char *at = (const char *)st + f[i].off;

		row_u64(row, f[i].key, gauge_get((const gauge_t *)(const void *)at) * cell);
	}
}

static void pg_name(const struct observe *o, unsigned port, unsigned pg, struct json_object *row)
{
	row_text(row, "port", port_name(o, port));
	row_u64(row, "pg", pg);
	row_u64(row, "class", class_of(o->policy->ports[port].classify.class_to_pg, pg));
}

// The thresholds as they stand with the pool as it is filled now. Both count what the group holds
// outside headroom and skid: min is used first and given back last.
static void emit_thresholds(const struct show *s, const struct pg_params *p,
			    struct json_object *row)
{
	struct pool_use pool = switch_pool(s->o->sw, POOL_INGRESS);
	uint64_t free_cells = pool.size > pool.used ? pool.size - pool.used : 0;
	uint64_t cell = s->o->policy->cell.bytes;

	row_u64(row, "xoff_at_bytes",
		(p->min_cells + threshold_cells(&p->shared, free_cells)) * cell);
	row_u64(row, "xon_at_bytes", (p->min_cells + pg_xon_at(p, free_cells)) * cell);
}

static void pg_row(const struct show *s, unsigned port, unsigned pg, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct pg_params *p = &o->policy->ports[port].pg[pg];
	const struct pg_state *st = switch_pg_state(o->sw, port, pg);
	uint32_t cell = o->policy->cell.bytes;

	pg_name(o, port, pg, row);
	row_bool(row, "lossless", p->lossless);
	field_emit(row, &pg_fields, switch_pg_counters(o->sw, port, pg), &o->base[port].pg[pg]);
	emit_cells(row, pg_cell_rows, sizeof(pg_cell_rows) / sizeof(pg_cell_rows[0]), cell, st);
	emit_cells(row, pg_max_rows, sizeof(pg_max_rows) / sizeof(pg_max_rows[0]), cell, st);
	emit_thresholds(s, p, row);
	row_bool(row, "xoff", pg_in_xoff(st));
}

void show_buffers(const struct show *s, struct json_object *out)
{
	struct json_object *pgs = list_in(out, "pgs");
	struct json_object *pools = list_in(out, "pools");
	uint64_t cell = s->o->policy->cell.bytes;

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			pg_row(s, port, pg, row_in(pgs));
	for (unsigned i = 0; i < N_POOLS; i++) {
		struct pool_use u = switch_pool(s->o->sw, i);
		struct json_object *row = row_in(pools);

		row_text(row, "name", pool_name[i]);
		row_u64(row, "size_bytes", u.size * cell);
		row_u64(row, "used_bytes", u.used * cell);
		row_u64(row, "max_bytes", u.max * cell);
	}
}

static void watermarks_of_port(const struct show *s, unsigned port, struct json_object *queues,
			       struct json_object *pgs)
{
	const struct observe *o = s->o;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		struct json_object *row = row_in(queues);

		row_text(row, "port", port_name(o, port));
		row_u64(row, "queue", q);
		row_u64(row, "class", class_of(o->policy->ports[port].classify.class_to_queue, q));
		row_u64(row, "max_bytes",
			gauge_get(&switch_queue_counters(o->sw, port, q)->max_bytes));
	}
	for (unsigned pg = 0; pg < N_PGS; pg++) {
		struct json_object *row = row_in(pgs);

		pg_name(o, port, pg, row);
		emit_cells(row, pg_max_rows, sizeof(pg_max_rows) / sizeof(pg_max_rows[0]),
			   o->policy->cell.bytes, switch_pg_state(o->sw, port, pg));
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
			switch_pool(s->o->sw, i).max * s->o->policy->cell.bytes);
	}
}
