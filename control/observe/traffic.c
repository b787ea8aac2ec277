// SPDX-License-Identifier: Apache-2.0
// Rows about what passed: ports, queues, pauses, time spent in the switch.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const struct field port_rows[] = {
	FIELD(port_counters, rx_packets, FIELD_CTR),
	FIELD(port_counters, rx_bytes, FIELD_CTR),
	FIELD(port_counters, tx_packets, FIELD_CTR),
	FIELD(port_counters, tx_bytes, FIELD_CTR),
	FIELD(port_counters, bad_l3, FIELD_CTR),
	FIELD(port_counters, tx_pending_bytes, FIELD_GAUGE),
	FIELD(port_counters, rx_depth, FIELD_GAUGE),
	FIELD(port_counters, queued, FIELD_GAUGE),
};
const struct field_table port_fields = FIELD_TABLE(port_rows);

static const struct field queue_rows[] = {
	FIELD(queue_counters, length_bytes, FIELD_GAUGE),
	FIELD(queue_counters, length_packets, FIELD_GAUGE),
	FIELD(queue_counters, max_bytes, FIELD_GAUGE),
	FIELD(queue_counters, tx_packets, FIELD_CTR),
	FIELD(queue_counters, tx_bytes, FIELD_CTR),
	FIELD(queue_counters, ecn_marked, FIELD_CTR),
	FIELD(queue_counters, dropped_packets, FIELD_CTR),
	FIELD(queue_counters, dropped_bytes, FIELD_CTR),
};
const struct field_table queue_fields = FIELD_TABLE(queue_rows);

static uint64_t rate(const struct show *s, const struct rate_series *r, const ctr_t *now)
{
	return rate_per_s(&s->o->clock, r, ctr_get(now), s->now_ns);
}

static void port_row(const struct show *s, unsigned port, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct policy_port *pp = &o->policy->ports[port];
	const struct switch_port *sp = switch_port(o->sw, port);
	const struct port_counters *c = switch_port_counters(o->sw, port);
	const struct port_rates *r = &o->rates[port];
	struct port_drv_stats drv = {0};

	sp->ops->stats(sp->drv, &drv);
	row_text(row, "name", pp->name);
	row_text(row, "device", pp->device);
	row_u64(row, "speed_bps", pp->speed_bps);
	row_u64(row, "mtu", pp->mtu);
	row_bool(row, "up", switch_link_up(o->sw, port));
	field_emit(row, &port_fields, c, &o->base[port].port);
	row_u64(row, "rx_missed", drv.rx_missed - o->base[port].drv.rx_missed);
	row_u64(row, "tx_errors", drv.tx_errors - o->base[port].drv.tx_errors);
	row_u64(row, "rx_to_kernel", drv.rx_to_kernel - o->base[port].drv.rx_to_kernel);
	row_u64(row, "rx_pps", rate(s, &r->rx_packets, &c->rx_packets));
	row_u64(row, "rx_bps", 8 * rate(s, &r->rx_bytes, &c->rx_bytes));
	row_u64(row, "tx_pps", rate(s, &r->tx_packets, &c->tx_packets));
	row_u64(row, "tx_bps", 8 * rate(s, &r->tx_bytes, &c->tx_bytes));
	row_bool(row, "tx_enabled", switch_tx_enabled(o->sw, port, -1));
	row_bool(row, "pfc_rx", sp->facts.pfc_rx);
	row_bool(row, "pfc_tx", sp->facts.pfc_tx);
	row_bool(row, "rx_guard", gauge_get(&c->rx_guard) != 0);
	row_bool(row, "rx_guard_possible", sp->facts.rx_depth_readable);
}

void show_ports(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "ports");

	for (unsigned port = s->first; port < s->last; port++)
		port_row(s, port, row_in(list));
}

static void queue_row(const struct show *s, unsigned port, unsigned q, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct queue_counters *c = switch_queue_counters(o->sw, port, q);
	const struct port_rates *r = &o->rates[port];

	row_text(row, "port", port_name(o, port));
	row_u64(row, "queue", q);
	row_u64(row, "class", class_of(o->policy->ports[port].classify.class_to_queue, q));
	field_emit(row, &queue_fields, c, &o->base[port].queue[q]);
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
	const struct pfc_counts *b = &s->o->base[port].pfc[dir][cls];

	c.frames -= b->frames;
	c.transitions -= b->transitions;
	c.duration_ns = c.duration_ns > b->duration_ns ? c.duration_ns - b->duration_ns : 0;
	return c;
}

static void pfc_row(const struct show *s, unsigned port, unsigned cls, struct json_object *list)
{
	static const struct {
		const char *frames, *duration, *transitions;
	} key[N_PFC_DIRS] = {
		[PFC_RX] = {"rx_pause", "rx_pause_duration_us", "rx_pause_transition"},
		[PFC_TX] = {"tx_pause", "tx_pause_duration_us", "tx_pause_transition"},
	};
	const struct classify_params *cp = &s->o->policy->ports[port].classify;
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
	}
	row_bool(row, "xoff", pg_in_xoff(switch_pg_state(s->o->sw, port, cp->class_to_pg[cls])));
}

void show_pfc(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "pfc");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			pfc_row(s, port, cls, list);
}

// ---- residence time

// Upper end of the bucket that holds the frame of the given rank (in thousandths of all), or the
// longest time itself where that lies in the same bucket.
static uint64_t quantile_ns(const uint64_t n[RESIDENCE_BUCKETS], uint64_t total,
			    unsigned per_mille, uint64_t max_ns)
{
	uint64_t rank = (total * per_mille + 999) / 1000;
	uint64_t seen = 0;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		seen += n[b];
		if (seen >= rank)
			return residence_bucket(max_ns) == b ? max_ns : residence_bucket_max(b);
	}
	return 0;
}

static void latency_row(const struct show *s, unsigned port, unsigned q, struct json_object *list)
{
	const struct queue_counters *live = switch_queue_counters(s->o->sw, port, q);
	const struct queue_counters *base = &s->o->base[port].queue[q];
	uint64_t n[RESIDENCE_BUCKETS], total = 0, max_ns = gauge_get(&live->residence_max_ns);
	struct json_object *row;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		n[b] = ctr_get(&live->residence[b]) - ctr_get(&base->residence[b]);
		total += n[b];
	}
	if (total == 0)
		return;
	row = row_in(list);
	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "queue", q);
	row_u64(row, "class", class_of(s->o->policy->ports[port].classify.class_to_queue, q));
	row_u64(row, "packets", total);
	row_u64(row, "p50_ns", quantile_ns(n, total, 500, max_ns));
	row_u64(row, "p99_ns", quantile_ns(n, total, 990, max_ns));
	row_u64(row, "max_ns", max_ns);
}

void show_latency(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "latency");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			latency_row(s, port, q, list);
}
