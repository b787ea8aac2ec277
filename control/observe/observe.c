// SPDX-License-Identifier: Apache-2.0
// The facts of ports, queues, pauses and times, of groups and pools, of drops, control frames and
// hints, of workers, addresses and the balance; the values at the last clear; the answer to `show`.
#include "control/observe/observe.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/iface.h"
#include "drivers/standin/standin.h"

struct at at_port(const struct show *s, unsigned port, unsigned i)
{
	const struct policy *pol = policy_of(s->o);

	return (struct at){.s = s, .o = s->o, .pol = pol, .pp = &pol->ports[port],
			   .base = s->flags & OBSERVE_RAW ? &baseline_zero : &s->o->port[port].base,
			   .pc = switch_port_counters(s->o->sw, port),
			   .has = &switch_port(s->o->sw, port)->facts, .cell = pol->cell.bytes,
			   .port = port, .i = i};
}

const char *port_name(const struct observe *o, unsigned port)
{
	return policy_of(o)->ports[port].name;
}

// Per second of model time.
static uint64_t series_rate_per_s(const struct at *a, const struct rate_series *r, const ctr_t *now)
{
	return instance_time_scale(a->o->in) *
	       rate_per_s(&a->o->clock, r, ctr_get(now), a->s->real_ns);
}

#define RATE(m) series_rate_per_s(a, &a->o->port[a->port].rates.m, &a->pc->m)
#define WATERMARK(which) switch_watermark(a->o->sw, a->port, WATERMARK_##which, a->i)
#define QUEUE_RATE(series, m)                                                                      \
	series_rate_per_s(a, &a->o->port[a->port].rates.series[a->i], &a->qc->m)

// Percent of the line, with what a frame takes there beyond its length.
static double utilisation(const struct at *a, uint64_t pps, uint64_t bps)
{
	uint64_t on_line = bps + 8 * LINK_OVERHEAD_BYTES * pps, speed_bps = a->pp->speed_bps;

	return speed_bps == 0 ? 0 : (double)(on_line * 10000 / speed_bps) / 100;
}

static bool is_class_lossless(const struct at *a)
{
	return a->pp->classify.lossless >> a->i & 1;
}

static uint64_t confirm_in_ms(const struct at *a)
{
	uint64_t end_ns = a->o->about.confirm_end_ns;

	return end_ns > a->s->real_ns ? (end_ns - a->s->real_ns) / MS_NS : 0;
}

// ---- time in the switch, from the histogram of each queue

struct residence {
	uint64_t n[RESIDENCE_BUCKETS], total, max_ns;
};

static struct residence residence_of(const struct queue_counters *live,
				     const struct queue_counters *base)
{
	struct residence r = {.max_ns = gauge_get(&live->residence_max_ns)};
	unsigned top = 0;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		r.n[b] = ctr_get(&live->residence[b]) - ctr_get(&base->residence[b]);
		r.total += r.n[b];
		if (r.n[b] != 0)
			top = b;
	}
	// The worker keeps one longest time. `clear counters` leaves it, `clear watermarks`
	// takes it back. In another bucket it says nothing of those frames.
	if (residence_bucket(r.max_ns) != top)
		r.max_ns = residence_bucket_max(top);
	return r;
}

// Upper end of the bucket that holds the frame of the given rank (in thousandths of all), or the
// longest time itself where that lies in the same bucket.
static uint64_t quantile_ns(const struct residence *r, unsigned per_mille)
{
	uint64_t rank = (r->total * per_mille + 999) / 1000;
	uint64_t seen = 0;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		seen += r->n[b];
		if (seen >= rank)
			return residence_bucket(r->max_ns) == b ? r->max_ns
								: residence_bucket_max(b);
	}
	return 0;
}

// ---- pauses

static const struct pfc_class_stats *pause_stats(const struct observe *o, unsigned port,
						 enum pfc_dir dir, unsigned cls)
{
	return dir == PFC_RX ? &switch_pfc_rx(o->sw, port)->stats[cls]
			     : &switch_pfc_tx(o->sw, port)->stats[cls];
}

static struct pfc_counts pfc_counts_now(const struct observe *o, unsigned port, enum pfc_dir dir,
				 unsigned cls, uint64_t now_ns)
{
	const struct pfc_class_stats *st = pause_stats(o, port, dir, cls);

	return (struct pfc_counts){
		.frames = ctr_get(&st->frames), .transitions = ctr_get(&st->transitions),
		.duration_ns = pfc_paused_ns(st, now_ns)};
}

static struct pfc_counts pauses_since_clear(const struct at *a, enum pfc_dir dir)
{
	struct pfc_counts c = pfc_counts_now(a->o, a->port, dir, a->i, a->s->now_ns);
	const struct pfc_counts *b = &a->base->pfc[dir][a->i];

	c.frames -= b->frames;
	c.transitions -= b->transitions;
	c.duration_ns = c.duration_ns > b->duration_ns ? c.duration_ns - b->duration_ns : 0;
	return c;
}

// Since the last clear watermarks. A pause that lasts counts as far as it has gone.
static uint64_t longest_pause_us(const struct at *a, enum pfc_dir dir)
{
	const struct pfc_class_stats *st = pause_stats(a->o, a->port, dir, a->i);

	return max_u64(gauge_get(&st->longest_ns), pfc_pause_so_far(st, a->s->now_ns)) / US_NS;
}

static struct value pause_change_us(const struct at *a, enum pfc_dir dir)
{
	uint64_t changed = gauge_get(&pause_stats(a->o, a->port, dir, a->i)->last_change_ns);

	return MAYBE(changed != 0, since_us(changed, a->s->now_ns));
}

// ---- groups

// The thresholds as they stand with the pool as it is filled now. Both count what the group holds
// outside headroom and skid: min is used first and given back last.
// With an alpha above 1 the arithmetic gives more than the pool, which no group can hold.
static uint64_t ingress_free(const struct at *a)
{
	struct pool_use pool = switch_pool(a->o->sw, POOL_INGRESS);

	return pool.size > pool.used ? pool.size - pool.used : 0;
}

static uint64_t xoff_at_cells(const struct at *a)
{
	const struct pg_params *p = &a->pp->pg[a->i];
	uint64_t most = switch_pool(a->o->sw, POOL_INGRESS).size;

	return p->min_cells + min_u64(threshold_cells(&p->shared, ingress_free(a)), most);
}

static uint64_t xon_at_cells(const struct at *a)
{
	const struct pg_params *p = &a->pp->pg[a->i];
	uint64_t most = switch_pool(a->o->sw, POOL_INGRESS).size;

	most = most > p->xon_offset_cells ? most - p->xon_offset_cells : 0;
	return p->min_cells + min_u64(pg_xon_at(p, ingress_free(a)), max_u64(most, p->xon_cells));
}

// ---- frames that met a port's driver and did not come through its receive ring: kept for the
// host's stack, or lost on the way, by reason

static struct port_steering steering_of(const struct observe *o, unsigned port)
{
	struct port_steering s;

	s.n = switch_drv_reasons(o->sw, port, s.reasons, PORT_REASONS_MAX);
	return s;
}

static uint64_t frames_since(const struct port_steering *now, const struct port_steering *base,
			     unsigned i)
{
	return now->reasons[i].frames - (i < base->n ? base->reasons[i].frames : 0);
}

// Frames of one of the driver's reasons; 0 where the driver has no such reason.
static uint64_t steering_count(const struct at *a, const char *reason)
{
	const struct port_steering now = steering_of(a->o, a->port);

	for (unsigned i = 0; i < now.n; i++)
		if (strcmp(now.reasons[i].name, reason) == 0)
			return frames_since(&now, &a->base->steering, i);
	return 0;
}

// ---- workers that stand still, and the stand-in that pauses their peers

static const struct standin_shared *shared_of(const struct observe *o)
{
	static const struct standin_shared none;

	return o->standin != NULL ? o->standin->shared : &none;
}

static struct stall_counts stall_counts_now(const struct observe *o, unsigned worker)
{
	const struct standin_worker *w = &shared_of(o)->workers[worker];

	return (struct stall_counts){.stalls = ctr_get(&w->beat.stalls),
				     .stalled_ns = ctr_get(&w->beat.stalled_ns),
				     .late = ctr_get(&w->beat.late),
				     .episodes = ctr_get(&w->episodes)};
}

static struct stall_counts stalls_since_clear(const struct at *a)
{
	static const struct stall_counts start;
	const struct stall_counts *base =
		a->s->flags & OBSERVE_RAW ? &start : &a->o->worker[a->i].stall_base;
	struct stall_counts c = stall_counts_now(a->o, a->i);

	c.stalls -= base->stalls;
	c.stalled_ns -= base->stalled_ns;
	c.late -= base->late;
	c.episodes -= base->episodes;
	return c;
}

static uint64_t standin_sent(const struct observe *o, unsigned port)
{
	return ctr_get(&shared_of(o)->ports[port].sent);
}

static uint64_t standin_sent_shown(const struct show *s)
{
	uint64_t sent = 0;

	for (unsigned port = s->first; port < s->last; port++)
		sent += standin_sent(s->o, port) - at_port(s, port, 0).base->standin_sent;
	return sent;
}

static uint64_t worker_waited_ns(const struct observe *o, unsigned worker)
{
	return ctr_get(&shared_of(o)->workers[worker].beat.waited_ns);
}

// What the peer receives while the port's worker stands still.
static const char *when_stalled(const struct observe *o, unsigned port)
{
	const struct policy *p = policy_of(o);
	const struct pfc_params *pfc = &p->ports[port].pfc;

	if ((pfc->tx & pfc->lossless) == 0 || !switch_port(o->sw, port)->facts.pfc_tx)
		return "no PFC";
	if (p->stall.pause_after_ns == 0)
		return "no PAUSE: off";
	if (o->standin == NULL || o->standin->pid == 0)
		return "no PAUSE: no stand-in";
	if (o->standin->shared->ports[port].ifindex == 0)
		return "no PAUSE: no interface";
	return "PAUSE";
}

// ---- workers

#define WORKER(m) (ctr_get(&a->worker->m) - ctr_get(&a->worker_base->m))
#define WORKER_RATE(m)                                                                             \
	rate_per_s(&a->o->clock, &a->o->worker[a->i].rates.m, ctr_get(&a->worker->m), a->s->real_ns)

// Model time of a mean turn over the last second, without waits for a frame. 0: not known.
static uint64_t worker_turn_ns(const struct show *s, unsigned worker)
{
	const struct worker_rates *r = &s->o->worker[worker].rates;
	const struct worker_counters *c = switch_worker_counters(s->o->sw, worker);
	const struct rate_clock *clock = &s->o->clock;
	uint64_t loops = rate_per_s(clock, &r->loops, ctr_get(&c->loops), s->real_ns);
	uint64_t waited_ns = rate_per_s(clock, &r->waited_ns, worker_waited_ns(s->o, worker),
					s->real_ns);

	if (loops == 0 || waited_ns >= SECOND_NS)
		return 0;
	return (SECOND_NS - waited_ns) / loops / instance_time_scale(s->o->in);
}

static uint64_t busy_percent(uint64_t busy, uint64_t loops)
{
	return loops != 0 ? 100 * busy / loops : 0;
}

static struct json_object *ports_of(const struct at *a)
{
	struct json_object *ports = json_object_new_array();

	for (unsigned port = 0; port < a->pol->n_ports; port++)
		if (switch_port_owner(a->o->sw, port) == a->i)
			json_object_array_add(ports,
					      json_object_new_string(port_name(a->o, port)));
	return ports;
}

static bool owns_shown(const struct show *s, unsigned worker)
{
	for (unsigned port = s->first; port < s->last; port++)
		if (switch_port_owner(s->o->sw, port) == worker)
			return true;
	return s->first == 0 && s->last == policy_of(s->o)->n_ports; // all: also one without ports
}

// ---- drops and addresses

static struct value leads_to(const struct at *a)
{
	const struct policy *p = policy_of(a->o);
	port_no_t port = a->address->port;

	if (vtep_peer_at(p->vtep, port) != NULL)
		return value_of_json(peer_json(p->vtep, port - VTEP_FIRST));
	return value_of_text(
		iface_name(p, port == FDB_ROUTER ? policy_svi_of(p, a->address->vid) : port));
}

// The sums of one answer, by reason and in all.
struct drop_sums {
	struct frames reason[N_DROP_REASONS], all, alarm;
};

// ---- the values

// A counter of trimming, of all queues of the port.
static uint64_t sum_of_queues(const struct at *a, size_t off)
{
	uint64_t sum = 0;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		const char *live = (const void *)switch_queue_counters(a->o->sw, a->port, q);
		const char *base = (const void *)&a->base->queue[q];

		sum += ctr_get((const ctr_t *)(live + off)) - ctr_get((const ctr_t *)(base + off));
	}
	return sum;
}
#define TRIMS(member) sum_of_queues(a, offsetof(struct queue_counters, member))

#define FACTS_OF "control/observe/traffic.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

// ---- the answers

static void show_version(const struct show *s, struct json_object *out)
{
	emit(single_in(out, FACTS_VERSION), FACTS_VERSION,
	     &(struct at){.s = s, .o = s->o, .pol = policy_of(s->o)});
}

static void pauses_read(struct at *a)
{
	for (unsigned dir = 0; dir < N_PFC_DIRS; dir++)
		a->pauses[dir] = pauses_since_clear(a, dir);
}

// A port and its queue, class and group i.
static struct at part_at(const struct show *s, unsigned port, unsigned i)
{
	struct at a = at_port(s, port, i);

	a.qc = switch_queue_counters(s->o->sw, port, i);
	a.pgc = switch_pg_counters(s->o->sw, port, i);
	a.pg = switch_pg_state(s->o->sw, port, i);
	pauses_read(&a);
	return a;
}

static void port_rows(const struct show *s, struct json_object *out, unsigned list)
{
	struct json_object *rows = rows_in(out, list);

	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);

		a.rx = switch_pfc_rx(s->o->sw, port);
		a.fdb = switch_fdb_port(s->o->sw, port);
		a.loop = switch_loop_state(s->o->sw, port);
		switch_drv_stats(s->o->sw, port, &a.drv);
		emit(row_in(rows), list, &a);
	}
}

// The queues of all ports, or the groups.
static void part_rows(const struct show *s, struct json_object *out, unsigned list)
{
	struct json_object *rows = rows_in(out, list);

	static_assert((int)N_QUEUES == (int)N_PGS, "as many queues as groups");
	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned i = 0; i < N_QUEUES; i++) {
			struct at a = part_at(s, port, i);

			emit(row_in(rows), list, &a);
		}
}

static void show_ports(const struct show *s, struct json_object *out)
{
	port_rows(s, out, FACTS_PORTS);
	emit(single_in(out, FACTS_CLOCK), FACTS_CLOCK, &(struct at){.o = s->o});
}

static void pool_rows(const struct show *s, struct json_object *out, unsigned list)
{
	struct json_object *rows = rows_in(out, list);

	for (unsigned i = 0; i < N_POOLS; i++)
		emit(row_in(rows), list,
		     &(struct at){.i = i, .pool = switch_pool(s->o->sw, i),
				  .cell = policy_of(s->o)->cell.bytes});
}

static void show_latency(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_LATENCY);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			struct at a = at_port(s, port, q);
			struct residence stay = residence_of(
				switch_queue_counters(s->o->sw, port, q), &a.base->queue[q]);

			a.stay = &stay;
			if (stay.total != 0)
				emit(row_in(rows), FACTS_LATENCY, &a);
		}
}

static void show_pfc(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_PFC);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			struct at a = part_at(s, port, cls);

			if (is_class_lossless(&a) || a.pauses[PFC_RX].frames != 0 ||
			    a.pauses[PFC_TX].frames != 0)
				emit(row_in(rows), FACTS_PFC, &a);
		}
	show_pfc_ports(s, out);
	emit(single_in(out, FACTS_STAND_IN), FACTS_STAND_IN, &(struct at){.s = s});
}

static void add_frames(struct frames *sum, struct frames f)
{
	sum->packets += f.packets;
	sum->bytes += f.bytes;
}

static void drop_row(const struct show *s, struct at *a, struct json_object *rows,
		     struct drop_sums *sums)
{
	const struct drop_counters *live = switch_drops(s->o->sw, a->port, a->i, a->reason);
	const struct drop_counters *base = &a->base->drops[a->i][a->reason];

	a->lost.packets = ctr_get(&live->packets) - ctr_get(&base->packets);
	a->lost.bytes = ctr_get(&live->bytes) - ctr_get(&base->bytes);
	a->alarm = drop_info[a->reason].loss && is_class_lossless(a);
	add_frames(&sums->reason[a->reason], a->lost);
	add_frames(&sums->all, a->lost);
	if (a->alarm)
		add_frames(&sums->alarm, a->lost);
	if (a->lost.packets != 0 || (s->flags & OBSERVE_ALL_ROWS) != 0 ||
	    (a->alarm && (s->flags & OBSERVE_ALARM_ROWS) != 0))
		emit(row_in(rows), FACTS_DROPS, a);
}

static void show_drops(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_DROPS);
	struct drop_sums sums = {0};

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			for (unsigned r = 0; r < N_DROP_REASONS; r++) {
				struct at a = at_port(s, port, cls);

				a.reason = r;
				drop_row(s, &a, rows, &sums);
			}
	rows = rows_in(out, FACTS_DROP_REASONS);
	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		if (sums.reason[r].packets != 0 || (s->flags & OBSERVE_ALL_ROWS) != 0)
			emit(row_in(rows), FACTS_DROP_REASONS,
			     &(struct at){.reason = r, .lost = sums.reason[r]});
	emit(single_in(out, FACTS_DROP_TOTAL), FACTS_DROP_TOTAL, &(struct at){.sums = &sums});
}

static void show_control(const struct show *s, struct json_object *out)
{
	struct json_object *rows;

	port_rows(s, out, FACTS_CONTROL);
	rows = rows_in(out, FACTS_PUNTS);
	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned reason = 0; reason < N_PUNT_REASONS; reason++) {
			struct at a = at_port(s, port, reason);

			if (a.pp->punts >> reason & 1)
				emit(row_in(rows), FACTS_PUNTS, &a);
		}
	rows = rows_in(out, FACTS_STEERING);
	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);
		const struct port_steering now = steering_of(s->o, port);

		for (unsigned i = 0; i < now.n; i++) {
			a.steered = &now.reasons[i];
			a.lost.packets = frames_since(&now, &a.base->steering, i);
			emit(row_in(rows), FACTS_STEERING, &a);
		}
	}
}

static void show_workers(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_WORKERS);

	for (unsigned i = 0; i < switch_n_workers(s->o->sw); i++) {
		struct at a = {.s = s, .o = s->o, .pol = policy_of(s->o), .i = i,
			       .worker = switch_worker_counters(s->o->sw, i),
			       .worker_base = s->flags & OBSERVE_RAW ? &s->o->worker_zero
								     : &s->o->worker[i].base};

		a.stalls = stalls_since_clear(&a);
		if (owns_shown(s, i))
			emit(row_in(rows), FACTS_WORKERS, &a);
	}
	row_bool(out, "admission_held", switch_admission_held(s->o->sw));
}

struct fdb_show {
	const struct show *s;
	struct json_object *rows;
};

// An answer about all ports has the switch's own addresses, and those behind peers of tunnels.
static bool is_of_no_port(const struct show *s, const struct fdb_row *r)
{
	const struct policy *p = policy_of(s->o);

	return s->first == 0 && s->last == p->n_ports &&
	       (r->port == FDB_ROUTER ? policy_svi_of(p, r->vid) != 0
				      : vtep_peer_at(p->vtep, r->port) != NULL);
}

static void fdb_row_out(void *arg, const struct fdb_row *r)
{
	const struct fdb_show *f = arg;

	if ((r->port >= f->s->first && r->port < f->s->last) || is_of_no_port(f->s, r))
		emit(row_in(f->rows), FACTS_FDB, &(struct at){.o = f->s->o, .address = r});
}

static void show_fdb(const struct show *s, struct json_object *out)
{
	struct fdb_show f = {.s = s, .rows = rows_in(out, FACTS_FDB)};

	switch_fdb_walk(s->o->sw, s->now_ns, fdb_row_out, &f);
	port_rows(s, out, FACTS_FDB_PORTS);
}

#define IS_OF(list) (f >= F_##list##_FIRST && f <= F_##list##_LAST)

struct value observe_value(struct weir_switch *sw, enum fact_id f, unsigned port, unsigned i,
			   uint64_t now_ns)
{
	static const struct flow_totals start;
	static const struct instance none;
	struct observe o = {.in = &none, .sw = sw};
	const struct show s = {.o = &o, .flags = OBSERVE_RAW, .now_ns = now_ns, .real_ns = now_ns};
	struct at a = at_port(&s, port, i);

	if (IS_OF(QUEUES)) {
		a.qc = switch_queue_counters(sw, port, i);
	} else if (IS_OF(PGS)) {
		a.pgc = switch_pg_counters(sw, port, i);
		a.pg = switch_pg_state(sw, port, i);
	} else if (IS_OF(PFC)) {
		pauses_read(&a);
	} else if (IS_OF(POOLS)) {
		a.pool = switch_pool(sw, i);
	} else if (IS_OF(WATCHDOG) || IS_OF(GUARD)) {
		if (IS_OF(WATCHDOG))
			a.watchdog = switch_watchdog(sw, port, i);
		return storms_value(f, &a);
	} else if (IS_OF(IPCC)) {
		a.ipcc = switch_ipcc(sw, port, i);
		a.qc = switch_queue_counters(sw, port, i);
		return flows_value(f, &a);
	} else if (IS_OF(FLOW_TABLE) || IS_OF(ELEPHANTS) || IS_OF(PAIRING)) {
		switch_flow_totals(sw, &o.flow_base);
		a.totals = &o.flow_base;
		a.totals_base = &start;
		return flows_value(f, &a);
	}
	return fact_value(f, &a);
}

void observe_facts(struct weir_switch *sw, struct json_object *row, const enum fact_id *facts,
		   unsigned port, unsigned i, uint64_t now_ns)
{
	for (; *facts != F_NONE; facts++)
		emit_fact(row, *facts, observe_value(sw, *facts, port, i, now_ns));
}

// ---- the balance

struct json_object *observe_balance(const struct weir_switch *sw)
{
	struct json_object *row = json_object_new_object();

	emit(row, FACTS_BALANCE, &(struct at){.balance = switch_balance(sw)});
	return row;
}

static void show_balance(const struct show *s, struct json_object *out)
{
	json_object_object_add(out, fact_lists[FACTS_BALANCE].list, observe_balance(s->o->sw));
}

static const char *waiting_reason(const struct weir_switch *sw, unsigned port, unsigned q)
{
	if (!switch_link_up(sw, port))
		return "link down";
	if (!switch_tx_enabled(sw, port, -1))
		return "port TX-disabled";
	if (!switch_tx_enabled(sw, port, (int)q))
		return "queue TX-disabled";
	if (switch_queue_paused(sw, port, q))
		return "paused by the peer";
	return "waiting for the port's turn, rate or driver";
}

static void waiting_row(struct json_object *list, const char *port, int queue, uint64_t packets,
			const char *reason)
{
	struct json_object *row;

	if (packets == 0)
		return;
	row = row_in(list);
	row_text(row, KEY(QUEUES, port), port);
	json_object_object_add(row, KEY(QUEUES, queue), json_object_new_int(queue));
	row_u64(row, KEY(DROPS, packets), packets);
	row_text(row, KEY(DROPS, reason), reason);
}

static uint64_t impair_held(const struct weir_switch *sw, unsigned port)
{
	struct impair_view v;
	uint64_t n = 0;

	for (unsigned i = 0; switch_impair_get(sw, i, &v); i++)
		n += v.port == port ? v.held : 0;
	return n;
}

struct json_object *observe_waiting(const struct weir_switch *sw)
{
	const struct policy *pol = switch_policy(sw);
	struct json_object *list = json_object_new_array();

	for (unsigned port = 0; port < pol->n_ports; port++) {
		uint64_t all = gauge_get(&switch_port_counters(sw, port)->queued), held;
		const char *name = pol->ports[port].name;

		for (unsigned q = 0; q < N_QUEUES; q++) {
			uint64_t n = gauge_get(&switch_queue_counters(sw, port, q)->length_packets);

			waiting_row(list, name, (int)q, n, waiting_reason(sw, port, q));
			all = all > n ? all - n : 0;
		}
		held = impair_held(sw, port);
		waiting_row(list, name, -1, held, "held by a rule of impair");
		all = all > held ? all - held : 0;
		waiting_row(list, name, -1, all, "refused by the driver, sent when it has room");
	}
	return list;
}

// ---- the answer to `show`

// By a list of the answer. A kind has a function, or lists with a row for each port, for each queue
// or group, or for each pool.
static const struct {
	unsigned list;
	show_fn *fn;
	struct {
		void (*fn)(const struct show *s, struct json_object *out, unsigned list);
		unsigned list;
	} parts[3];
} kinds[] = {
	{FACTS_VERSION, show_version}, {FACTS_VLAN, show_vlan}, {FACTS_QOS, show_qos},
	{FACTS_PFC_STATUS, show_pfc_status}, {FACTS_ECN, show_ecn}, {FACTS_ECN_AUTO, show_auto_ecn},
	{FACTS_PG_CONFIG, show_buffers_config}, {FACTS_PORTS, show_ports}, {FACTS_PFC, show_pfc},
	{FACTS_DROPS, show_drops}, {FACTS_CONTROL, show_control}, {FACTS_BALANCE, show_balance},
	{FACTS_LATENCY, show_latency}, {FACTS_FDB, show_fdb}, {FACTS_WORKERS, show_workers},
	{FACTS_WATCHDOG, show_watchdog}, {FACTS_GUARD, show_guard}, {FACTS_CAUSES, show_causes},
	{FACTS_IMPAIRMENTS, show_impairments},
	{FACTS_LLDP, show_lldp}, {FACTS_DCBX, show_dcbx},
	{FACTS_INOF_HOSTS, show_inof_hosts}, {FACTS_INOF_ZONES, show_inof_zones},
	{FACTS_INOF_LOG, show_inof_log}, {FACTS_INOF_PORTS, show_inof_ports},
	{FACTS_INOF_PEERS, show_inof_peers},
	{FACTS_VNIS, show_vxlan}, {FACTS_BURSTS, show_microbursts},
	{FACTS_IPCC, show_ipcc}, {FACTS_LINUX_TAPS, show_linux}, {FACTS_FLOW_TABLE, show_flows},
	{FACTS_INTERFACES, NULL, {{port_rows, FACTS_INTERFACES}}},
	{FACTS_HINTS, NULL, {{port_rows, FACTS_HINTS}}},
	// A queue is judged by the pools.
	{FACTS_QUEUES, NULL, {{part_rows, FACTS_QUEUES}, {pool_rows, FACTS_POOLS}}},
	{FACTS_PGS, NULL, {{part_rows, FACTS_PGS}, {pool_rows, FACTS_POOLS}}},
	{FACTS_QUEUE_MARKS, NULL, {{part_rows, FACTS_QUEUE_MARKS}, {part_rows, FACTS_PG_MARKS},
				   {pool_rows, FACTS_POOL_MARKS}}},
};

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
			 .now_ns = model_time_ns(instance_time_scale(o->in), now_ns),
			 .real_ns = now_ns};
	struct json_object *out;

	if (port != OBSERVE_ALL_PORTS) {
		s.first = (unsigned)port;
		s.last = (unsigned)port + 1;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(fact_lists[kinds[i].list].what, what) != 0)
			continue;
		out = json_object_new_object();
		if (kinds[i].fn != NULL)
			kinds[i].fn(&s, out);
		for (unsigned k = 0; k < 3 && kinds[i].parts[k].fn != NULL; k++)
			kinds[i].parts[k].fn(&s, out, kinds[i].parts[k].list);
		return out;
	}
	return NULL;
}

// ---- samples, and the values at the last clear

const struct port_baseline baseline_zero;

int observe_create(const struct instance *in, struct observe **out)
{
	struct observe *o = calloc(1, sizeof(*o));
	struct weir_switch *sw = in->sw;

	if (o == NULL)
		return -ENOMEM;
	o->in = in;
	o->sw = sw;
	o->port = calloc(switch_policy(sw)->n_ports, sizeof(o->port[0]));
	o->worker = calloc(switch_n_workers(sw), sizeof(o->worker[0]));
	if (o->port == NULL || o->worker == NULL) {
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
	free(o->port);
	free(o->worker);
	free(o);
}

void observe_set_standin(struct observe *o, const struct standin *standin)
{
	o->standin = standin;
}

void observe_set_linux(struct observe *o, observe_linux_fn *numbers, void *arg)
{
	o->linux_numbers = numbers;
	o->linux_arg = arg;
}

// Another registry counts from 0.
void observe_new_policy(struct observe *o)
{
	for (unsigned port = 0; instance_inof(o->in) == NULL && port < policy_of(o)->n_ports;
	     port++)
		o->port[port].base.inof = (struct inof_counters){0};
}

void observe_set_about(struct observe *o, const struct observe_about *about)
{
	o->about = *about;
}

static void sample_port(struct observe *o, unsigned port, unsigned at)
{
	const struct port_counters *c = switch_port_counters(o->sw, port);
	struct port_rates *r = &o->port[port].rates;

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

		o->worker[i].rates.loops.v[o->clock.next] = ctr_get(&c->loops);
		o->worker[i].rates.busy_loops.v[o->clock.next] = ctr_get(&c->busy_loops);
		o->worker[i].rates.waited_ns.v[o->clock.next] = worker_waited_ns(o, i);
	}
	rate_clock_advance(&o->clock, now_ns);
}

// Copies counters word by word, because their owner goes on writing.
static void take_baseline(void *base, const void *live, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(ctr_t); i++)
		gauge_set((gauge_t *)base + i, ctr_get((const ctr_t *)live + i));
}

static void clear_port(struct observe *o, unsigned port, uint64_t now_ns)
{
	struct port_baseline *b = &o->port[port].base;
	const struct pfc_rx_state *rx = switch_pfc_rx(o->sw, port);
	const struct flow_port *room = switch_flow_port(o->sw, port);

	take_baseline(&b->port, switch_port_counters(o->sw, port), sizeof(b->port));
	for (unsigned i = 0; i < N_QUEUES; i++) {
		const struct ipcc_counters *ipcc = switch_ipcc(o->sw, port, i);

		take_baseline(&b->queue[i], switch_queue_counters(o->sw, port, i),
			      sizeof(b->queue[i]));
		take_baseline(&b->pg[i], switch_pg_counters(o->sw, port, i), sizeof(b->pg[i]));
		if (ipcc != NULL)
			take_baseline(&b->ipcc[i], ipcc, sizeof(b->ipcc[i]));
	}
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		for (unsigned r = 0; r < N_DROP_REASONS; r++)
			take_baseline(&b->drops[cls][r], switch_drops(o->sw, port, cls, r),
				      sizeof(b->drops[cls][r]));
		for (unsigned dir = 0; dir < N_PFC_DIRS; dir++)
			b->pfc[dir][cls] = pfc_counts_now(o, port, dir, cls, now_ns);
		take_baseline(&b->watchdog[cls], switch_watchdog(o->sw, port, cls),
			      sizeof(b->watchdog[cls]));
	}
	for (unsigned rule = 0; rule < GUARD_MAX_RULES; rule++)
		b->remapped[rule] = switch_guard_remapped(o->sw, port, rule);
	take_baseline(&b->flows, switch_port_flows(o->sw, port), sizeof(b->flows));
	b->flows_refused = ctr_get(&room->refused);
	b->flows_evicted = ctr_get(&room->evicted);
	b->elephant_frames = ctr_get(&room->elephant_packets);
	b->elephant_bytes = ctr_get(&room->elephant_bytes);
	take_baseline(&b->fdb, &switch_fdb_port(o->sw, port)->c, sizeof(b->fdb));
	b->pfc_ignored_lossy = ctr_get(&rx->ignored_lossy);
	b->pfc_empty_vector = ctr_get(&rx->empty_vector);
	b->pause_ignored = switch_pause_ignored(o->sw, port);
	switch_drv_stats(o->sw, port, &b->drv);
	b->steering = steering_of(o, port);
	b->standin_sent = standin_sent(o, port);
	if (instance_lldp(o->in) != NULL)
		b->lldp = *lldp_counters(instance_lldp(o->in), port);
	if (instance_inof(o->in) != NULL)
		b->inof = *inof_counters(instance_inof(o->in), port);
}

void observe_clear(struct observe *o, uint64_t now_ns)
{
	for (unsigned port = 0; port < policy_of(o)->n_ports; port++)
		clear_port(o, port, model_time_ns(instance_time_scale(o->in), now_ns));
	for (unsigned i = 0; i < switch_n_workers(o->sw); i++) {
		take_baseline(&o->worker[i].base, switch_worker_counters(o->sw, i),
			      sizeof(o->worker[i].base));
		o->worker[i].stall_base = stall_counts_now(o, i);
	}
	switch_flow_totals(o->sw, &o->flow_base);
	tunnels_clear(o);
	microbursts_clear(o);
}
