// SPDX-License-Identifier: Apache-2.0
// Metrics of storms, of the deadlock guard, and of what chains of PAUSE were found (metric.h).
#include "control/lab/chain.h"
#include "control/lab/metric.h"
#include "dataplane/qos/watchdog.h"

static double remapped(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	double sum = 0;

	if (cls != 0)
		return 0; // its rules are the port's
	for (unsigned rule = 0; rule < GUARD_MAX_RULES; rule++)
		sum += (double)switch_guard_remapped(sw, port, rule);
	return sum;
}

double metric_watchdog(const struct weir_switch *sw, enum metric m, unsigned port, unsigned cls)
{
	const struct watchdog_class *c = switch_watchdog(sw, port, cls);

	switch (m) {
	case METRIC_STORMS:
		return (double)ctr_get(&c->detected);
	case METRIC_STORMS_RESTORED:
		return (double)ctr_get(&c->restored);
	case METRIC_STORM_TX:
		return (double)ctr_get(&c->total.tx_ok);
	case METRIC_STORM_TX_DROPS:
		return (double)ctr_get(&c->total.tx_dropped);
	case METRIC_STORM_RX:
		return (double)ctr_get(&c->total.rx_ok);
	case METRIC_STORM_RX_DROPS:
		return (double)ctr_get(&c->total.rx_dropped);
	default:
		return remapped(sw, port, cls);
	}
}

double metric_storm(const struct metric_world *w, const struct expr_leaf *leaf,
		    const struct expr_object *o, uint64_t from_ns, uint64_t to_ns)
{
	const struct storm_log *log = &w->fabric->storms;
	bool all = o->kind == OBJ_ALL_SWITCHES, port = o->kind == OBJ_PORT || o->kind == OBJ_QUEUE;
	struct storm_pick p = {.sw = all ? UINT32_MAX : o->node,
			       .port = port ? o->port : -1,
			       .cls = o->cls,
			       .what = STORM_ESCALATED,
			       .from_ns = from_ns,
			       .to_ns = to_ns};
	uint64_t t_ns;

	if (leaf->fn->metric == METRIC_ESCALATED)
		return (double)storm_log_count(log, &p);
	p.what = leaf->fn->metric == METRIC_DETECTED_AT ? STORM_DETECTED : STORM_RESTORED;
	return storm_log_nth(log, &p, leaf->number, &t_ns) ? (double)t_ns : __builtin_nan("");
}

static double cycle(const struct chain *c, const struct expr_object *objects, uint32_t n,
		    uint64_t from_ns)
{
	uint32_t switches[SC_MAX_SWITCHES], n_switches = 0;

	for (uint32_t i = 0; i < n && n_switches < SC_MAX_SWITCHES; i++)
		switches[n_switches++] = objects[i].node;
	return chain_count_cycle(c, switches, n_switches, from_ns);
}

static double rooted(const struct chain *c, const struct expr_object *objects, uint32_t n,
		     uint64_t from_ns)
{
	double sum = 0;

	if (objects[0].kind == OBJ_ALL_HOSTS)
		return chain_count(c, CHAIN_ROOT, from_ns);
	for (uint32_t i = 0; i < n; i++)
		sum += chain_count_host(c, objects[i].node, from_ns);
	return sum;
}

double metric_found(const struct metric_world *w, enum metric m, const struct expr_object *objects,
		    uint32_t n, uint64_t from_ns)
{
	const struct chain *c = &w->fabric->chain->chain;

	switch (m) {
	case METRIC_CAUSES:
		return chain_count(c, N_CHAIN_KINDS, from_ns);
	case METRIC_DEADLOCKS:
		return chain_count(c, CHAIN_DEADLOCK, from_ns);
	case METRIC_CYCLIC:
		return chain_count(c, CHAIN_CYCLIC, from_ns);
	case METRIC_CYCLE:
		return cycle(c, objects, n, from_ns);
	default:
		return rooted(c, objects, n, from_ns);
	}
}
