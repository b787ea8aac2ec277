// SPDX-License-Identifier: Apache-2.0
// Rows about what passed: ports, queues, pauses.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const struct fact_list *const port_facts = &fact_lists[FACTS_PORTS];
static const struct fact_list *const queue_facts = &fact_lists[FACTS_QUEUES];

// Per second of model time.
static uint64_t rate(const struct show *s, const struct rate_series *r, const ctr_t *now)
{
	return s->o->time_scale * rate_per_s(&s->o->clock, r, ctr_get(now), s->real_ns);
}

static void show_clock(const struct show *s, struct json_object *out)
{
	struct json_object *row = json_object_new_object();

	row_u64(row, "time_scale", s->o->time_scale);
	json_object_object_add(out, "clock", row);
}

static void port_row(const struct show *s, unsigned port, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct policy_port *pp = &policy_of(o)->ports[port];
	const struct switch_port *sp = switch_port(o->sw, port);
	const struct port_counters *c = switch_port_counters(o->sw, port);
	const struct port_rates *r = &o->rates[port];
	const struct port_baseline *b = baseline(s, port);
	enum loop_state loop = switch_loop_state(o->sw, port);
	struct port_drv_stats drv = {0};

	switch_drv_stats(o->sw, port, &drv);
	row_text(row, "name", pp->name);
	row_text(row, "device", pp->device);
	row_u64(row, "speed_bps", pp->speed_bps);
	row_u64(row, "mtu", pp->mtu);
	row_bool(row, "up", switch_link_up(o->sw, port));
	row_bool(row, "no_device", switch_device_gone(o->sw, port));
	row_bool(row, "looped", loop == LOOP_FOUND || loop == LOOP_PORT_DOWN);
	row_bool(row, "loop_down", loop == LOOP_PORT_DOWN);
	facts_emit_counters(row, port_facts, c, &b->port);
	facts_emit_gauges(row, port_facts, c, 1);
	row_u64(row, "rx_missed", drv.rx_missed - b->drv.rx_missed);
	row_u64(row, "tx_errors", drv.tx_errors - b->drv.tx_errors);
	row_u64(row, "rx_to_kernel", drv.rx_to_kernel - b->drv.rx_to_kernel);
	row_u64(row, "rx_pps", rate(s, &r->rx_packets, &c->rx_packets));
	row_u64(row, "rx_bps", 8 * rate(s, &r->rx_bytes, &c->rx_bytes));
	row_u64(row, "tx_pps", rate(s, &r->tx_packets, &c->tx_packets));
	row_u64(row, "tx_bps", 8 * rate(s, &r->tx_bytes, &c->tx_bytes));
	row_bool(row, "tx_enabled", switch_tx_enabled(o->sw, port, -1));
	row_bool(row, "pfc_rx", sp->facts.pfc_rx);
	row_bool(row, "pfc_tx", sp->facts.pfc_tx);
	row_bool(row, "rx_guard", gauge_get(&c->rx_guard) != 0);
	row_bool(row, "rx_guard_possible", sp->facts.rx_depth_readable);
	emit_port_stalls(s, port, row);
}

void show_ports(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "ports");

	for (unsigned port = s->first; port < s->last; port++)
		port_row(s, port, row_in(list));
	show_clock(s, out);
}

// Percent of the line, with what a frame takes there beyond its length.
static double utilisation(uint64_t pps, uint64_t bps, uint64_t speed_bps)
{
	uint64_t on_line = bps + 8 * LINK_OVERHEAD_BYTES * pps;

	return speed_bps == 0 ? 0 : (double)(on_line * 10000 / speed_bps) / 100;
}

static void interface_row(const struct show *s, unsigned port, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct port_counters *c = switch_port_counters(o->sw, port);
	const struct port_counters *base = &baseline(s, port)->port;
	const struct port_rates *r = &o->rates[port];
	uint64_t speed_bps = policy_of(o)->ports[port].speed_bps;
	uint64_t rx_pps = rate(s, &r->rx_packets, &c->rx_packets);
	uint64_t rx_bps = 8 * rate(s, &r->rx_bytes, &c->rx_bytes);
	uint64_t tx_pps = rate(s, &r->tx_packets, &c->tx_packets);
	uint64_t tx_bps = 8 * rate(s, &r->tx_bytes, &c->tx_bytes);

	row_text(row, "port", port_name(o, port));
	row_bool(row, "up", switch_link_up(o->sw, port));
	row_u64(row, "speed_bps", speed_bps);
	row_u64(row, "rx_packets", ctr_get(&c->rx_packets) - ctr_get(&base->rx_packets));
	row_u64(row, "rx_bytes", ctr_get(&c->rx_bytes) - ctr_get(&base->rx_bytes));
	row_u64(row, "rx_pps", rx_pps);
	row_u64(row, "rx_bps", rx_bps);
	json_object_object_add(row, "rx_util_percent",
			       json_object_new_double(utilisation(rx_pps, rx_bps, speed_bps)));
	row_u64(row, "tx_packets", ctr_get(&c->tx_packets) - ctr_get(&base->tx_packets));
	row_u64(row, "tx_bytes", ctr_get(&c->tx_bytes) - ctr_get(&base->tx_bytes));
	row_u64(row, "tx_pps", tx_pps);
	row_u64(row, "tx_bps", tx_bps);
	json_object_object_add(row, "tx_util_percent",
			       json_object_new_double(utilisation(tx_pps, tx_bps, speed_bps)));
	row_u64(row, "t_ns", s->now_ns);
}

void show_interfaces(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "interfaces");

	for (unsigned port = s->first; port < s->last; port++)
		interface_row(s, port, row_in(list));
}

static void queue_row(const struct show *s, unsigned port, unsigned q, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct queue_counters *c = switch_queue_counters(o->sw, port, q);
	const struct port_rates *r = &o->rates[port];

	row_text(row, "port", port_name(o, port));
	row_u64(row, "queue", q);
	row_u64(row, "class", class_of(policy_of(o)->ports[port].classify.class_to_queue, q));
	facts_emit_counters(row, queue_facts, c, &baseline(s, port)->queue[q]);
	facts_emit_gauges(row, queue_facts, c, 1);
	row_u64(row, "tx_pps", rate(s, &r->queue_packets[q], &c->tx_packets));
	row_u64(row, "tx_bps", 8 * rate(s, &r->queue_bytes[q], &c->tx_bytes));
	row_bool(row, "paused", switch_queue_paused(o->sw, port, q));
	row_bool(row, "tx_enabled", switch_tx_enabled(o->sw, port, (int)q));
}

void show_queues(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "queues");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			queue_row(s, port, q, row_in(list));
	emit_pools(s, out); // a queue is judged by them
}

// ---- PFC

struct pfc_counts pfc_counts_now(const struct observe *o, unsigned port, enum pfc_dir dir,
				 unsigned cls, uint64_t now_ns)
{
	const struct pfc_class_stats *st = dir == PFC_RX ? switch_pfc_rx(o->sw, port)->stats
							 : switch_pfc_tx(o->sw, port)->stats;
	struct pfc_counts c;
	uint64_t since, until;

	st += cls;
	c.frames = ctr_get(&st->frames);
	c.transitions = ctr_get(&st->transitions);
	c.duration_ns = ctr_get(&st->duration_ns);
	// The pause that still lasts counts as far as it has gone. The worker may end it between
	// these reads; then one answer is off by that pause, the next is right again.
	since = gauge_get(&st->since_ns);
	until = gauge_get(&st->until_ns);
	if (until > now_ns)
		until = now_ns;
	if (since != 0 && until > since)
		c.duration_ns += until - since;
	return c;
}

static struct pfc_counts pfc_since_clear(const struct show *s, unsigned port, enum pfc_dir dir,
					 unsigned cls)
{
	struct pfc_counts c = pfc_counts_now(s->o, port, dir, cls, s->now_ns);
	const struct pfc_counts *b = &baseline(s, port)->pfc[dir][cls];

	c.frames -= b->frames;
	c.transitions -= b->transitions;
	c.duration_ns = c.duration_ns > b->duration_ns ? c.duration_ns - b->duration_ns : 0;
	return c;
}

// Longest pause since the last clear watermarks. A pause that lasts counts as far as it has gone.
// Then how long ago a pause last began or ended; null: never.
static void pfc_times_row(const struct show *s, const struct pfc_class_stats *st,
			  const char *longest_key, const char *change_key,
			  struct json_object *row)
{
	uint64_t longest = gauge_get(&st->longest_ns), changed = gauge_get(&st->last_change_ns);
	uint64_t since = gauge_get(&st->since_ns), until = gauge_get(&st->until_ns);

	if (until > s->now_ns)
		until = s->now_ns;
	if (since != 0 && until > since && until - since > longest)
		longest = until - since;
	row_u64(row, longest_key, longest / 1000);
	if (changed == 0)
		json_object_object_add(row, change_key, NULL);
	else
		row_u64(row, change_key, s->now_ns > changed ? (s->now_ns - changed) / 1000 : 0);
}

static void pfc_row(const struct show *s, unsigned port, unsigned cls, struct json_object *list)
{
	static const struct {
		const char *frames, *duration, *transitions, *longest, *change;
	} key[N_PFC_DIRS] = {
		[PFC_RX] = {"rx_pause", "rx_pause_duration_us", "rx_pause_transition",
			    "rx_pause_longest_us", "rx_pause_last_change_us"},
		[PFC_TX] = {"tx_pause", "tx_pause_duration_us", "tx_pause_transition",
			    "tx_pause_longest_us", "tx_pause_last_change_us"},
	};
	const struct pfc_class_stats *st[N_PFC_DIRS] = {
		[PFC_RX] = &switch_pfc_rx(s->o->sw, port)->stats[cls],
		[PFC_TX] = &switch_pfc_tx(s->o->sw, port)->stats[cls],
	};
	const struct classify_params *cp = &policy_of(s->o)->ports[port].classify;
	struct pfc_counts c[N_PFC_DIRS];
	struct json_object *row;

	for (unsigned dir = 0; dir < N_PFC_DIRS; dir++)
		c[dir] = pfc_since_clear(s, port, dir, cls);
	if (!(cp->lossless >> cls & 1) && c[PFC_RX].frames == 0 && c[PFC_TX].frames == 0)
		return;
	row = row_in(list);
	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "class", cls);
	row_bool(row, "lossless", cp->lossless >> cls & 1);
	for (unsigned dir = 0; dir < N_PFC_DIRS; dir++) {
		row_u64(row, key[dir].frames, c[dir].frames);
		row_u64(row, key[dir].duration, c[dir].duration_ns / 1000);
		row_u64(row, key[dir].transitions, c[dir].transitions);
		pfc_times_row(s, st[dir], key[dir].longest, key[dir].change, row);
	}
	row_bool(row, "xoff", pg_in_xoff(switch_pg_state(s->o->sw, port, cp->class_to_pg[cls])));
}

void show_pfc(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "pfc"), *stand_in = json_object_new_object();
	uint64_t sent = 0;

	for (unsigned port = s->first; port < s->last; port++) {
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			pfc_row(s, port, cls, list);
		sent += standin_sent(s->o, port) - baseline(s, port)->standin_sent;
	}
	row_u64(stand_in, "frames", sent);
	json_object_object_add(out, "stand_in", stand_in);
}
