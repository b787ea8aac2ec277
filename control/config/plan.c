// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "control/config/advice.h"
#include "control/config/compile.h"
#include "control/config/memory.h"
#include "control/config/plan_ecn.h"
#include "control/config/plan_ipcc.h"
#include "control/config/plan_stall.h"
#include "control/config/plan_storm.h"
#include "control/config/terminal.h"

enum { BAD = 2 };

// The slowest speed that the headroom table knows asks for the least headroom, so what does not fit
// with it never fits.
static const uint64_t LEAST_SPEED_BPS = 1000000000;

// ---- check
struct check_verdict {
	bool ok, strict;
	unsigned n_errors, n_warnings;
};

static struct json_object *text_or_null(const char *text)
{
	return text == NULL ? NULL : json_object_new_string(text);
}

static struct json_object *place_or_null(uint32_t n)
{
	return n == 0 ? NULL : json_object_new_int64(n);
}

static struct json_object *message_json(const struct diag_message *m, bool strict)
{
	struct json_object *o = json_object_new_object();
	bool error = m->is_error || strict;

	json_object_object_add(o, "file", text_or_null(m->file));
	json_object_object_add(o, "line", place_or_null(m->line));
	json_object_object_add(o, "column", place_or_null(m->column));
	json_object_object_add(o, "key", text_or_null(m->key));
	json_object_object_add(o, "severity", text_or_null(error ? "error" : "warning"));
	json_object_object_add(o, "text", text_or_null(m->text));
	json_object_object_add(o, "hint", text_or_null(m->hint));
	return o;
}

static void print_check_json(const char *path, const struct check_verdict *v,
			     const struct diags *d, FILE *out)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (unsigned i = 0; i < d->n_messages; i++)
		json_object_array_add(list, message_json(&d->messages[i], v->strict));
	json_object_object_add(o, "file", json_object_new_string(path));
	json_object_object_add(o, "ok", json_object_new_boolean(v->ok));
	json_object_object_add(o, "errors", json_object_new_int((int)v->n_errors));
	json_object_object_add(o, "messages", list);
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static unsigned n_lossless(const struct policy *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++)
		n += (unsigned)__builtin_popcount(p->ports[i].classify.lossless);
	return n;
}

static uint64_t whole_mb(uint64_t bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

// The memory of the policy on live ports. An error where no machine could hold it.
static int check_memory(const struct config *c, struct memory_plan *out, struct diags *d)
{
	struct diag_sink s = {.file = c->file};
	struct diags said = {0};
	struct policy *p = NULL;
	char why[MEMORY_WHY_LEN];
	int err = memory_compile(c, &p, &said);
	bool fits = true;

	diags_fini(&said); // said already, or due to facts that only the devices know
	if (err == 0) {
		*out = memory_plan(c, p);
		fits = memory_fits_dpdk(out, p, why);
	}
	if (!fits)
		diag_add(&s, DIAG_ERROR, c->root.sw.workers.count.at, "switch.workers", "%s", why);
	diag_finish(&s, d);
	policy_destroy(p);
	return fits ? 0 : -EINVAL;
}

static struct check_verdict judge(bool loads, bool strict, const struct diags *d)
{
	unsigned n_warnings = d->n_messages - d->n_errors;

	return (struct check_verdict){
		.ok = loads && !(strict && n_warnings > 0),
		.strict = strict,
		.n_errors = strict ? d->n_messages : d->n_errors,
		.n_warnings = n_warnings,
	};
}

static void print_ok(const char *path, unsigned n_warnings, const struct policy *p,
		     const struct memory_plan *memory, FILE *out)
{
	char warnings[32] = "";

	if (n_warnings > 0)
		snprintf(warnings, sizeof(warnings), ", %u warning%s", n_warnings,
			 n_warnings == 1 ? "" : "s");
	terminal_printf(
		out,
		"%s: ok%s (%u port%s, %u lossless group%s, %" PRIu64 " B of headroom, "
		"%" PRIu64 " MB of hugepages)\n",
		path, warnings, p->n_ports, p->n_ports == 1 ? "" : "s", n_lossless(p),
		n_lossless(p) == 1 ? "" : "s",
		(uint64_t)p->buffer.headroom_pool_cells * p->cell.bytes,
		whole_mb(memory->huge_bytes));
}

int check_print(const char *path, bool json, bool strict, FILE *out)
{
	struct check_verdict v;
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;
	struct memory_plan memory = {0};
	int err = config_load(path, &c, &d);

	if (err == 0)
		err = compile_policy(c, NULL, LEAST_SPEED_BPS, &p, &d);
	if (err == 0)
		err = check_memory(c, &memory, &d);
	if (err == 0)
		advice_add(c, NULL, p, advice_processors(), &d);
	v = judge(err == 0, strict, &d);
	if (json)
		print_check_json(path, &v, &d, out);
	else
		diags_print(&d);
	if (!json && v.ok)
		print_ok(path, v.n_warnings, p, &memory, out);
	else if (!json && err == 0)
		terminal_printf(stderr, "%s: %u warning%s, and --strict takes them as mistakes\n",
				path, v.n_warnings, v.n_warnings == 1 ? "" : "s");
	else if (!json && d.messages[0].line != 0)
		terminal_printf(stderr, "%s: more warnings may come when there is no error\n",
				path);
	policy_destroy(p);
	config_destroy(c);
	diags_fini(&d);
	return v.ok ? 0 : BAD;
}

// ---- plan
struct plan_pg {
	const struct policy *p;
	const char *port;
	unsigned port_index, cls, pg;
	uint64_t xoff_cells;
	uint64_t min, shared, xoff, xoff_at, xoff_alone, xon_at, t_flight, neighbour; // bytes
	bool headroom_holds; // what is configured takes what can be in flight
};

// min + F*a/(1+a): where one group alone, in an empty switch, enters XOFF.
static uint64_t alone_cells(const struct policy *p, const struct pg_params *pg)
{
	uint64_t f = p->buffer.ingress_pool_cells, shared = pg->shared.static_cells;
	int log2 = pg->shared.alpha_log2;

	if (pg->shared.dynamic && log2 >= 0)
		shared = (f << log2) / (1 + (1ull << log2));
	else if (pg->shared.dynamic)
		shared = f / (1 + (1ull << -log2));
	return pg->min_cells + (shared < f ? shared : f);
}

static uint64_t at_most(uint64_t most, uint64_t v)
{
	return v < most ? v : most;
}

static struct plan_pg plan_pg(const struct config *c, const struct policy *p, unsigned port,
			      unsigned cls)
{
	const struct policy_port *pp = &p->ports[port];
	unsigned pg = pp->classify.class_to_pg[cls];
	const struct pg_params *params = &pp->pg[pg];
	uint64_t free_cells = p->buffer.ingress_pool_cells, cell = p->cell.bytes;
	struct plan_pg r = {.p = p, .port = pp->name, .port_index = port, .cls = cls, .pg = pg};

	r.xoff_cells = params->xoff_cells;
	r.min = params->min_cells * cell;
	r.xoff = compile_xoff_bytes(c, &c->ports[port], pg, pp->speed_bps);
	r.shared = at_most(free_cells, threshold_cells(&params->shared, free_cells)) * cell;
	r.xoff_at = r.min + r.shared;
	r.xoff_alone = alone_cells(p, params) * cell;
	r.xon_at = r.min + at_most(free_cells, pg_xon_at(params, free_cells)) * cell;
	r.t_flight = compile_flight_bytes(c, &c->ports[port], pg, pp->speed_bps);
	r.neighbour = (uint64_t)pp->tx_ring_bytes + pp->max_frame;
	r.headroom_holds = r.xoff >= r.t_flight;
	return r;
}

typedef void plan_fn(const struct plan_pg *pg, void *to);

static void each_pg(const struct config *c, const struct policy *p, plan_fn *fn, void *to)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			if (p->ports[i].classify.lossless >> cls & 1) {
				struct plan_pg pg = plan_pg(c, p, i, cls);

				fn(&pg, to);
			}
}

// ---- the plan as JSON
static void add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static void add_text(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

static void pg_json(const struct plan_pg *g, void *list)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "port", g->port);
	add_u64(o, "class", g->cls);
	add_u64(o, "pg", g->pg);
	add_u64(o, "min_bytes", g->min);
	add_u64(o, "shared_bytes", g->shared);
	add_u64(o, "headroom_bytes", g->xoff);
	add_u64(o, "xoff_bytes", g->xoff);
	add_u64(o, "xoff_cells", g->xoff_cells);
	add_u64(o, "xoff_at_bytes", g->xoff_at);
	add_u64(o, "xoff_alone_bytes", g->xoff_alone);
	add_u64(o, "xon_at_bytes", g->xon_at);
	add_u64(o, "t_flight_bytes", g->t_flight);
	json_object_object_add(o, "headroom_holds", json_object_new_boolean(g->headroom_holds));
	add_u64(o, "neighbour_must_reserve_bytes", g->neighbour);
	plan_ecn_pg_json(g->p, g->port_index, g->cls, o);
	json_object_array_add(list, o);
}

static struct json_object *ports_json(const struct config *c, const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < p->n_ports; i++) {
		struct json_object *o = json_object_new_object();

		add_text(o, "name", p->ports[i].name);
		add_text(o, "device", p->ports[i].device);
		add_u64(o, "speed_bps", p->ports[i].speed_bps);
		add_u64(o, "mtu_bytes", p->ports[i].mtu);
		add_u64(o, "max_frame_bytes", p->ports[i].max_frame);
		add_u64(o, "tx_ring_bytes", p->ports[i].tx_ring_bytes);
		plan_storm_port_json(&p->ports[i], o);
		plan_ipcc_port_json(&p->ports[i], o);
		plan_stall_port_json(c, p, i, o);
		json_object_array_add(list, o);
	}
	return list;
}

struct pool_line {
	const char *name;
	uint64_t bytes;
};

enum { N_POOLS = 6 };

static void pools(const struct policy *p, struct pool_line out[N_POOLS])
{
	uint64_t cell = p->cell.bytes;
	const struct buffer_params *b = &p->buffer;

	out[0] = (struct pool_line){"buffer", b->total_cells * cell};
	out[1] = (struct pool_line){
		"min",
		(b->total_cells - b->ingress_pool_cells - (uint64_t)b->headroom_pool_cells) * cell};
	out[2] = (struct pool_line){"headroom", b->headroom_pool_cells * cell};
	out[3] = (struct pool_line){"ingress", b->ingress_pool_cells * cell};
	out[4] = (struct pool_line){"egress_lossy", b->egress_lossy_cells * cell};
	out[5] = (struct pool_line){"egress_lossless", b->total_cells * cell};
}

static void memory_json(const struct memory_plan *m, struct json_object *out)
{
	struct json_object *o = json_object_new_object();

	add_u64(o, "frames", m->n_frames);
	add_u64(o, "frame_bytes", m->frame_bytes);
	add_u64(o, "pool_bytes", m->pool_bytes);
	add_u64(o, "record_bytes", m->record_bytes);
	add_u64(o, "table_bytes", m->table_bytes);
	add_u64(o, "flow_bytes", m->flow_bytes);
	add_u64(o, "hugepage_bytes", m->huge_bytes);
	add_u64(o, "ordinary_page_bytes", m->normal_bytes);
	json_object_object_add(out, "memory", o);
}

static void plan_json(const struct config *c, const struct policy *p, const struct memory_plan *m,
		      FILE *out)
{
	struct json_object *o = json_object_new_object();
	struct json_object *pgs = json_object_new_array(), *list = json_object_new_array();
	struct pool_line lines[N_POOLS];

	pools(p, lines);
	for (unsigned i = 0; i < N_POOLS; i++) {
		struct json_object *pool = json_object_new_object();

		add_text(pool, "name", lines[i].name);
		add_u64(pool, "size_bytes", lines[i].bytes);
		json_object_array_add(list, pool);
	}
	each_pg(c, p, pg_json, pgs);
	add_text(o, "name", p->name);
	add_u64(o, "cell_bytes", p->cell.bytes);
	json_object_object_add(o, "ports", ports_json(c, p));
	json_object_object_add(o, "pgs", pgs);
	json_object_object_add(o, "ecn_traffic", plan_ecn_traffic_json());
	json_object_object_add(o, "pools", list);
	memory_json(m, o);
	json_object_object_add(o, "guards", plan_guards_json(p));
	json_object_object_add(o, "flows", plan_flows_json(p));
	json_object_object_add(o, "ipcc", plan_ipcc_json(p));
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

// ---- the plan as text
static void pfc_text(const struct plan_pg *g, void *file)
{
	fprintf(file,
		"%-8s %5u %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %11" PRIu64 " %11" PRIu64
		" %11" PRIu64 "\n",
		g->port, g->cls, g->min, g->xoff, g->t_flight, g->xoff_at, g->xoff_alone,
		g->xon_at);
	if (!g->headroom_holds)
		fputs("  headroom below what is in flight\n", file);
}

static void peer_text(const struct plan_pg *g, void *file)
{
	fprintf(file, "%-8s %5u %9" PRIu64 "\n", g->port, g->cls, g->neighbour);
}

static void memory_text(const struct memory_plan *m, FILE *out)
{
	fprintf(out,
		"\nmemory of live ports: %" PRIu64 " MB of hugepages, or up to %" PRIu64
		" MB of ordinary pages\n"
		"  frames     %8" PRIu64 " MB: %u of %u B, one for each cell, and in rings\n"
		"  records    %8" PRIu64 " MB: what queues and rings keep of each frame\n"
		"  tables     %8" PRIu64 " MB\n"
		"  flows      %8" PRIu64 " MB\n",
		whole_mb(m->huge_bytes), whole_mb(m->normal_bytes), whole_mb(m->pool_bytes),
		m->n_frames, m->frame_bytes, whole_mb(m->record_bytes), whole_mb(m->table_bytes),
		whole_mb(m->flow_bytes));
}

static void plan_text(const struct config *c, const struct policy *p, const struct memory_plan *m,
		      FILE *out)
{
	struct pool_line lines[N_POOLS];

	pools(p, lines);
	fprintf(out, "switch %s: %u ports, cells of %u B\n\n%-15s %12s %10s\n", p->name, p->n_ports,
		p->cell.bytes, "pool", "bytes", "cells");
	for (unsigned i = 0; i < N_POOLS; i++)
		fprintf(out, "%-15s %12" PRIu64 " %10" PRIu64 "\n", lines[i].name, lines[i].bytes,
			lines[i].bytes / p->cell.bytes);
	fprintf(out, "\n%-8s %5s %9s %9s %9s %11s %11s %11s\n", "pfc", "class", "min", "xoff",
		"t_flight", "xoff_at", "alone", "xon_at");
	each_pg(c, p, pfc_text, out);
	fprintf(out, "\n%-8s %5s %9s\n", "peer", "class", "neighbour");
	each_pg(c, p, peer_text, out);
	fprintf(out,
		"\nBytes throughout.\n"
		"xoff       headroom: what the group still takes after its PAUSE left\n"
		"t_flight   what can be in flight then, at worst: xoff must not be below it\n"
		"xoff_at    min + T while the shared pool is empty, T at most the pool\n"
		"alone      where one group alone, filling the switch, enters XOFF\n"
		"xon_at     min + shared use at or below which XON is sent, pool empty\n"
		"neighbour  what this port still sends after a PAUSE arrived: transmit ring and\n"
		"           the frame on the wire. The peer must reserve it beyond cable and\n"
		"           response.\n");
	plan_ecn_text(p, out);
	memory_text(m, out);
	plan_storm_text(p, out);
	plan_stall_text(c, p, out);
	plan_ipcc_text(p, out);
}

static void plan_folded(const struct config *c, const struct policy *p,
			const struct memory_plan *m, FILE *out)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return;
	plan_text(c, p, m, f);
	fclose(f);
	print_folded(out, text, TERMINAL_TEXT);
	free(text);
}

int plan_print(const struct config *c, bool json, FILE *out)
{
	struct diags d = {0};
	struct policy *p = NULL;
	struct memory_plan memory = {0};
	int err = config_compile(c, NULL, &p, &d);

	if (err == 0)
		err = check_memory(c, &memory, &d);
	diags_print(&d);
	diags_fini(&d);
	if (err != 0) {
		policy_destroy(p);
		return BAD;
	}
	if (json)
		plan_json(c, p, &memory, out);
	else
		plan_folded(c, p, &memory, out);
	policy_destroy(p);
	return 0;
}
