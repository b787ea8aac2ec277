// SPDX-License-Identifier: Apache-2.0
#include "control/observe/observe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

// By a list of the answer.
static const struct {
	unsigned list;
	show_fn *fn;
} kinds[] = {
	{FACTS_VERSION, show_version}, {FACTS_INTERFACES, show_interfaces},
	{FACTS_VLAN, show_vlan}, {FACTS_QOS, show_qos}, {FACTS_PFC_STATUS, show_pfc_status},
	{FACTS_ECN, show_ecn}, {FACTS_PG_CONFIG, show_buffers_config}, {FACTS_PORTS, show_ports},
	{FACTS_QUEUES, show_queues}, {FACTS_PFC, show_pfc}, {FACTS_PGS, show_buffers},
	{FACTS_DROPS, show_drops}, {FACTS_CONTROL, show_control},
	{FACTS_QUEUE_MARKS, show_watermarks}, {FACTS_HINTS, show_hints},
	{FACTS_BALANCE, show_balance}, {FACTS_LATENCY, show_latency}, {FACTS_FDB, show_fdb},
	{FACTS_WORKERS, show_workers}, {FACTS_WATCHDOG, show_watchdog}, {FACTS_GUARD, show_guard},
	{FACTS_CAUSES, show_causes}, {FACTS_IPCC, show_ipcc}, {FACTS_FLOW_TABLE, show_flow_sums},
};

int observe_create(struct weir_switch *sw, struct observe **out)
{
	unsigned n_ports = switch_policy(sw)->n_ports, n_workers = switch_n_workers(sw);
	struct observe *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return -ENOMEM;
	o->sw = sw;
	o->time_scale = 1;
	o->base = calloc(n_ports, sizeof(*o->base));
	o->zero = calloc(1, sizeof(*o->zero));
	o->rates = calloc(n_ports, sizeof(*o->rates));
	o->worker_base = calloc(n_workers, sizeof(*o->worker_base));
	o->worker_rates = calloc(n_workers, sizeof(*o->worker_rates));
	o->stall_base = calloc(n_workers, sizeof(*o->stall_base));
	if (o->base == NULL || o->zero == NULL || o->rates == NULL || o->worker_base == NULL ||
	    o->worker_rates == NULL || o->stall_base == NULL) {
		observe_destroy(o);
		return -ENOMEM;
	}
	*out = o;
	return 0;
}

void observe_destroy(struct observe *o)
{
	if (o == NULL)
		return;
	free(o->base);
	free(o->zero);
	free(o->rates);
	free(o->worker_base);
	free(o->worker_rates);
	free(o->stall_base);
	free(o);
}

void observe_set_standin(struct observe *o, const struct standin *standin)
{
	o->standin = standin;
}

void observe_set_about(struct observe *o, const struct observe_about *about)
{
	o->about = *about;
}

void observe_set_time_scale(struct observe *o, uint32_t time_scale)
{
	o->time_scale = time_scale;
}

uint32_t observe_time_scale(const struct observe *o)
{
	return o->time_scale;
}

static void sample_port(struct observe *o, unsigned port, unsigned at)
{
	const struct port_counters *c = switch_port_counters(o->sw, port);
	struct port_rates *r = &o->rates[port];

	r->rx_packets.v[at] = ctr_get(&c->rx_packets);
	r->rx_bytes.v[at] = ctr_get(&c->rx_bytes);
	r->tx_packets.v[at] = ctr_get(&c->tx_packets);
	r->tx_bytes.v[at] = ctr_get(&c->tx_bytes);
	for (unsigned q = 0; q < N_QUEUES; q++) {
		const struct queue_counters *qc = switch_queue_counters(o->sw, port, q);

		r->queue_packets[q].v[at] = ctr_get(&qc->tx_packets);
		r->queue_bytes[q].v[at] = ctr_get(&qc->tx_bytes);
	}
}

void observe_sample(struct observe *o, uint64_t now_ns)
{
	if (!rate_due(&o->clock, now_ns))
		return;
	for (unsigned port = 0; port < policy_of(o)->n_ports; port++)
		sample_port(o, port, o->clock.next);
	for (unsigned i = 0; i < switch_n_workers(o->sw); i++) {
		const struct worker_counters *c = switch_worker_counters(o->sw, i);

		o->worker_rates[i].loops.v[o->clock.next] = ctr_get(&c->loops);
		o->worker_rates[i].busy_loops.v[o->clock.next] = ctr_get(&c->busy_loops);
		o->worker_rates[i].waited_ns.v[o->clock.next] = worker_waited_ns(o, i);
	}
	rate_clock_advance(&o->clock, now_ns);
}

// Copies counters word by word: the owner writes on.
static void take(void *base, const void *live, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(ctr_t); i++)
		gauge_set((gauge_t *)base + i, ctr_get((const ctr_t *)live + i));
}

static void clear_port(struct observe *o, unsigned port, uint64_t now_ns)
{
	struct port_baseline *b = &o->base[port];
	const struct pfc_rx_state *rx = switch_pfc_rx(o->sw, port);
	const struct flow_port *room = switch_flow_port(o->sw, port);

	take(&b->port, switch_port_counters(o->sw, port), sizeof(b->port));
	for (unsigned i = 0; i < N_QUEUES; i++) {
		const struct ipcc_counters *ipcc = switch_ipcc(o->sw, port, i);

		take(&b->queue[i], switch_queue_counters(o->sw, port, i), sizeof(b->queue[i]));
		take(&b->pg[i], switch_pg_counters(o->sw, port, i), sizeof(b->pg[i]));
		if (ipcc != NULL)
			take(&b->ipcc[i], ipcc, sizeof(b->ipcc[i]));
	}
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		for (unsigned r = 0; r < N_DROP_REASONS; r++)
			take(&b->drops[cls][r], switch_drops(o->sw, port, cls, r),
			     sizeof(b->drops[cls][r]));
		for (unsigned dir = 0; dir < N_PFC_DIRS; dir++)
			b->pfc[dir][cls] = pfc_counts_now(o, port, dir, cls, now_ns);
		take(&b->watchdog[cls], switch_watchdog(o->sw, port, cls),
		     sizeof(b->watchdog[cls]));
	}
	for (unsigned rule = 0; rule < GUARD_MAX_RULES; rule++)
		b->remapped[rule] = switch_guard_remapped(o->sw, port, rule);
	take(&b->flows, switch_port_flows(o->sw, port), sizeof(b->flows));
	b->flows_refused = ctr_get(&room->refused);
	b->flows_evicted = ctr_get(&room->evicted);
	take(&b->fdb, &switch_fdb_port(o->sw, port)->c, sizeof(b->fdb));
	b->pfc_ignored_lossy = ctr_get(&rx->ignored_lossy);
	b->pfc_empty_vector = ctr_get(&rx->empty_vector);
	switch_drv_stats(o->sw, port, &b->drv);
	steering_read(o, port, &b->steering);
	b->standin_sent = standin_sent(o, port);
}

void observe_clear(struct observe *o, uint64_t now_ns)
{
	for (unsigned port = 0; port < policy_of(o)->n_ports; port++)
		clear_port(o, port, model_time_ns(o->time_scale, now_ns));
	for (unsigned i = 0; i < switch_n_workers(o->sw); i++) {
		take(&o->worker_base[i], switch_worker_counters(o->sw, i),
		     sizeof(o->worker_base[i]));
		o->stall_base[i] = stall_counts_now(o, i);
	}
	switch_flow_totals(o->sw, &o->flow_base);
}

struct json_object *observe_show(struct observe *o, const char *what, int port, uint64_t now_ns)
{
	return observe_rows(o, what, port, 0, now_ns);
}

struct weir_switch *observe_switch(const struct observe *o)
{
	return o->sw;
}

struct json_object *observe_rows(struct observe *o, const char *what, int port, unsigned flags,
				 uint64_t now_ns)
{
	struct show s = {.o = o, .flags = flags, .last = policy_of(o)->n_ports,
			 .now_ns = model_time_ns(o->time_scale, now_ns), .real_ns = now_ns};
	struct json_object *out;

	if (port != OBSERVE_ALL_PORTS) {
		s.first = (unsigned)port;
		s.last = (unsigned)port + 1;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(fact_lists[kinds[i].list].what, what) != 0)
			continue;
		out = json_object_new_object();
		kinds[i].fn(&s, out);
		return out;
	}
	return NULL;
}
