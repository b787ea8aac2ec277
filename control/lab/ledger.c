// SPDX-License-Identifier: Apache-2.0
#include "control/lab/ledger.h"

#include <stdlib.h>

#include "control/lab/fabric.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"
#include "dataplane/qos/watchdog.h"

void storm_log_fini(struct storm_log *l)
{
	free(l->records);
	*l = (struct storm_log){0};
}

static void add_record(struct storm_log *l, const struct storm_record *r)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap == 0 ? 64 : 2 * l->cap;
		struct storm_record *more = realloc(l->records, cap * sizeof(*more));

		if (more == NULL) {
			l->short_of_memory = true;
			return;
		}
		l->records = more;
		l->cap = cap;
	}
	l->records[l->n++] = *r;
}

void storm_log_event(struct storm_log *l, uint32_t sw, const struct event *e)
{
	struct storm_record r = {.t_ns = e->t_ns, .sw = sw, .port = e->port, .cls = e->cls};

	if (e->type == EVENT_STORM)
		r.what = STORM_DETECTED;
	else if (e->type == EVENT_STORM_OVER)
		r.what = STORM_RESTORED;
	else if (e->type == EVENT_STORM_LIMIT)
		r.what = STORM_ESCALATED;
	else
		return;
	add_record(l, &r);
}

static void catch_up(struct storm_log *l, const struct storm_pick *p, uint64_t known, uint64_t t_ns)
{
	for (uint64_t n = storm_log_count(l, p); n < known; n++)
		add_record(l, &(struct storm_record){.t_ns = t_ns,
						     .sw = p->sw,
						     .port = (port_no_t)p->port,
						     .cls = (uint8_t)p->cls,
						     .what = (uint8_t)p->what});
}

void storm_log_catch_up(struct storm_log *l, uint32_t sw, const struct weir_switch *s)
{
	for (unsigned port = 0; port < switch_policy(s)->n_ports; port++)
		for (unsigned c = 0; c < N_CLASSES; c++) {
			const struct watchdog_class *w = switch_watchdog(s, port, c);
			struct storm_pick p = {.sw = sw,
					       .port = (int)port,
					       .cls = (int)c,
					       .what = STORM_DETECTED,
					       .to_ns = UINT64_MAX};

			catch_up(l, &p, ctr_get(&w->detected), gauge_get(&w->since_ns));
			p.what = STORM_RESTORED;
			catch_up(l, &p, ctr_get(&w->restored), gauge_get(&w->since_ns));
		}
}

static bool storm_record_matches(const struct storm_record *r, const struct storm_pick *p)
{
	return r->what == p->what && (p->sw == UINT32_MAX || r->sw == p->sw) &&
	       (p->port < 0 || r->port == p->port) && (p->cls < 0 || r->cls == p->cls) &&
	       r->t_ns >= p->from_ns && r->t_ns < p->to_ns;
}

uint64_t storm_log_count(const struct storm_log *l, const struct storm_pick *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += storm_record_matches(&l->records[i], p);
	return n;
}

// Several ports may be meant, whose records came in the order of switches: sorted by time here.
bool storm_log_nth(const struct storm_log *l, const struct storm_pick *p, uint64_t nth,
		   uint64_t *t_ns)
{
	uint64_t last = 0;

	for (uint64_t n = 0; n < nth;) {
		uint64_t next = UINT64_MAX, same = 0;

		for (uint32_t i = 0; i < l->n; i++) {
			uint64_t t = l->records[i].t_ns;

			if (!storm_record_matches(&l->records[i], p) || (n != 0 && t <= last) ||
			    t > next)
				continue;
			same = t == next ? same + 1 : 1;
			next = t;
		}
		if (same == 0)
			return false;
		last = next;
		n += same;
	}
	*t_ns = last;
	return nth != 0;
}

static enum pair_source source_of(const struct flow_row *r, const struct flow_seen *s, bool same)
{
	enum pair_source now = r->pair.source;

	if (same)
		return s->source == now ? now : PAIR_NONE;
	return now == PAIR_STATIC || now == PAIR_CM || now == PAIR_READ ? now : PAIR_NONE;
}

static void take_flow_row(void *arg, uint32_t place, const struct flow_row *r)
{
	struct flow_book *b = arg;
	struct flow_seen *s = &b->seen[place];
	bool same = s->first_ns == r->first_ns && flow_key_same(&s->key, &r->key) &&
		    s->bytes <= r->bytes;

	if (!(r->way.kind == FLOW_DATA || r->way.kind == FLOW_READ_RESPONSES))
		return;
	b->bytes[source_of(r, s, same)] += r->bytes - (same ? s->bytes : 0);
	*s = (struct flow_seen){r->key, r->first_ns, r->bytes, r->pair.source};
}

void flow_book_look(struct flow_book *b, struct weir_switch *sw, uint64_t now_ns)
{
	const struct flows_look look = {
		.now_ns = now_ns, .n = switch_flows_places(sw), .fn = take_flow_row, .arg = b};

	if (b->seen == NULL && look.n != 0) {
		b->seen = calloc(look.n, sizeof(*b->seen));
		b->n_places = look.n;
		b->short_of_memory = b->seen == NULL;
	} else if (b->looked_ns == now_ns) {
		return;
	}
	b->looked_ns = now_ns;
	if (b->seen != NULL && look.n == b->n_places)
		switch_flows_look(sw, &look);
}

void flow_book_fini(struct flow_book *b)
{
	free(b->seen);
}

enum { AT_ONCE = 32 };

struct cnp_judge *cnp_judge_create(const struct scenario *sc)
{
	struct cnp_judge *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->sc = sc;
	j->queues = calloc((size_t)(sc->n_ports + 1) * N_QUEUES, sizeof(*j->queues));
	if (j->queues == NULL) {
		free(j);
		return NULL;
	}
	return j;
}

void cnp_judge_destroy(struct cnp_judge *j)
{
	if (j != NULL)
		free(j->queues);
	free(j);
}

static enum nic_pair verdict(const struct fabric *f, const struct cnp_record *r)
{
	const struct sc_host *hosts = f->sc->hosts;
	uint8_t src[16], dst[16];
	bool v6 = flow_key_addresses(&r->key, src, dst) == 6;
	struct ip_key from = v6 ? ip_key_v6(src) : ip_key_v4(be32_get(src));
	struct ip_key to = v6 ? ip_key_v6(dst) : ip_key_v4(be32_get(dst));
	uint32_t i;

	// Addresses follow one another in the order of the hosts.
	i = f->sc->n_hosts == 0 ? 0 : (uint32_t)from.lo - hosts[0].ip;
	if (i >= f->sc->n_hosts ||
	    !ip_key_same(from, v6 ? sc_host_ip6(&hosts[i]) : ip_key_v4(hosts[i].ip)))
		return NIC_PAIR_WRONG;
	return nic_pair_now(f->hosts[i].nic, r->sender_qp, to, flow_key_qp(&r->key));
}

static void count_cnp(struct cnp_counts *c, const struct cnp_record *r, enum nic_pair v)
{
	c->sent++;
	c->late += v == NIC_PAIR_LATE;
	c->wrong += v == NIC_PAIR_WRONG;
	c->by_source[r->source < N_PAIR_SOURCES ? r->source : 0]++;
}

void cnp_judge_look(struct fabric *f, uint32_t sw)
{
	struct cnp_judge *j = f->cnps;
	struct cnp_counts *queues = &j->queues[j->sc->switches[sw].first_port * N_QUEUES];
	struct cnp_record records[AT_ONCE];
	unsigned n;

	do {
		n = switch_cnp_records(f->switches[sw].in.sw, records, AT_ONCE);
		for (unsigned i = 0; i < n; i++) {
			const struct cnp_record *r = &records[i];
			enum nic_pair v = verdict(f, r);

			count_cnp(&queues[(uint32_t)r->port * N_QUEUES + r->queue], r, v);
			count_cnp(&j->all, r, v);
			j->kept[j->n_kept++ % CNPS_KEPT] = (struct cnp_kept){sw, *r};
			if (v != NIC_PAIR_WRONG || j->seen)
				continue;
			j->seen = true;
			j->first_sw = sw;
			j->first = *r;
		}
	} while (n == AT_ONCE);
}

struct cnp_counts cnp_judge_counts(const struct cnp_judge *j, uint32_t sw, int port, int queue)
{
	struct cnp_counts sum = {0};
	const struct cnp_counts *queues;

	if (sw == UINT32_MAX)
		return j->all;
	queues = &j->queues[j->sc->switches[sw].first_port * N_QUEUES];
	for (uint32_t p = 0; p < j->sc->switches[sw].n_ports; p++)
		for (uint32_t q = 0; q < N_QUEUES; q++) {
			const struct cnp_counts *c = &queues[p * N_QUEUES + q];

			if ((port >= 0 && p != (uint32_t)port) ||
			    (queue >= 0 && q != (uint32_t)queue))
				continue;
			sum.sent += c->sent;
			sum.late += c->late;
			sum.wrong += c->wrong;
			for (unsigned s = 0; s < N_PAIR_SOURCES; s++)
				sum.by_source[s] += c->by_source[s];
		}
	return sum;
}
