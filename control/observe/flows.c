// SPDX-License-Identifier: Apache-2.0
// Rows about notifications by queue, RoCEv2 flows by port, and the sums of table and pairing.
// Single flows are too many for a builder: control/daemon/flow_scan.h.
#include <string.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

// ---- sums

static uint64_t sum_at(const struct flow_totals *t, const struct fact *f)
{
	uint64_t v;

	memcpy(&v, (const char *)t + f->off, sizeof(v));
	return v;
}

static void sums_emit(struct json_object *out, unsigned which, const struct flow_totals *now,
		      const struct flow_totals *base)
{
	const struct fact_list *l = &fact_lists[which];
	struct json_object *row = json_object_new_object();

	for (size_t i = 0; i < l->n; i++) {
		uint64_t v = sum_at(now, &l->rows[i]);

		if (l->rows[i].kind == FACT_COUNTER)
			v -= sum_at(base, &l->rows[i]);
		row_u64(row, l->rows[i].key, v);
	}
	json_object_object_add(out, l->list, row);
}

void show_flow_sums(const struct show *s, struct json_object *out)
{
	static const struct flow_totals start;
	const struct flow_totals *base = s->flags & OBSERVE_RAW ? &start : &s->o->flow_base;
	struct flow_totals now;

	switch_flow_totals(s->o->sw, &now);
	sums_emit(out, FACTS_FLOW_TABLE, &now, base);
	sums_emit(out, FACTS_PAIRING, &now, base);
}

// ---- notifications by queue

static void emit_look(const struct show *s, const struct ipcc_counters *c, struct json_object *row)
{
	uint64_t looked_ns = gauge_get(&c->looked_ns), quadrant = gauge_get(&c->quadrant);
	int64_t trend = atomic_load_explicit(&c->trend_bytes, memory_order_relaxed);

	row_u64(row, "threshold_percent", gauge_get(&c->share_q16) * 100 >> 16);
	json_object_object_add(row, "trend_bytes", json_object_new_int64(trend));
	if (looked_ns == 0 || quadrant >= N_QUADRANTS) {
		json_object_object_add(row, "quadrant", NULL);
		json_object_object_add(row, "look_age_us", NULL);
		return;
	}
	row_text(row, "quadrant", ipcc_quadrant_name[quadrant]);
	row_u64(row, "look_age_us", s->now_ns > looked_ns ? (s->now_ns - looked_ns) / 1000 : 0);
}

static void ipcc_row(const struct show *s, unsigned port, unsigned q, struct json_object *list)
{
	const struct policy_port *pp = &policy_of(s->o)->ports[port];
	const struct ipcc_params *p = &pp->queue[q].ipcc;
	const struct ipcc_counters *c = switch_ipcc(s->o->sw, port, q);
	struct json_object *row;

	if (c == NULL)
		return;
	row = row_in(list);
	row_text(row, "port", pp->name);
	row_u64(row, "queue", q);
	row_u64(row, "class", class_of(pp->classify.class_to_queue, q));
	row_bool(row, "enabled", p->enabled);
	row_u64(row, "length_bytes",
		gauge_get(&switch_queue_counters(s->o->sw, port, q)->length_bytes));
	row_u64(row, "kmin_bytes", p->kmin_bytes);
	row_u64(row, "kmax_bytes", p->kmax_bytes);
	row_bool(row, "paused", switch_queue_paused(s->o->sw, port, q));
	emit_look(s, c, row);
	facts_emit_gauges(row, &fact_lists[FACTS_IPCC], c, 1);
	facts_emit_counters(row, &fact_lists[FACTS_IPCC], c, &baseline(s, port)->ipcc[q]);
}

static void flow_port_row(const struct show *s, unsigned port, struct json_object *list)
{
	const struct flow_port *room = switch_flow_port(s->o->sw, port);
	const struct port_baseline *base = baseline(s, port);
	struct json_object *row = row_in(list);

	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "flows_used", gauge_get(&room->used));
	row_u64(row, "flows_refused", ctr_get(&room->refused) - base->flows_refused);
	row_u64(row, "flows_evicted", ctr_get(&room->evicted) - base->flows_evicted);
	facts_emit_counters(row, &fact_lists[FACTS_FLOW_PORTS], switch_port_flows(s->o->sw, port),
			    &base->flows);
}

void show_ipcc(const struct show *s, struct json_object *out)
{
	struct json_object *queues = list_in(out, "ipcc"), *ports = list_in(out, "flow_ports");

	for (unsigned port = s->first; port < s->last; port++) {
		for (unsigned q = 0; q < N_QUEUES; q++)
			ipcc_row(s, port, q, queues);
		flow_port_row(s, port, ports);
	}
	show_flow_sums(s, out);
}

// ---- from here on counters count

void flows_take_baseline(const struct observe *o, unsigned port, struct port_baseline *b)
{
	for (unsigned q = 0; q < N_QUEUES; q++) {
		const struct ipcc_counters *c = switch_ipcc(o->sw, port, q);

		if (c != NULL)
			facts_take_baseline(&fact_lists[FACTS_IPCC], c, &b->ipcc[q]);
	}
	facts_take_baseline(&fact_lists[FACTS_FLOW_PORTS], switch_port_flows(o->sw, port),
			    &b->flows);
	b->flows_refused = ctr_get(&switch_flow_port(o->sw, port)->refused);
	b->flows_evicted = ctr_get(&switch_flow_port(o->sw, port)->evicted);
}
