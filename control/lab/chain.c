// SPDX-License-Identifier: Apache-2.0
#include "control/lab/chain.h"

#include <stdlib.h>
#include <string.h>

#include "control/lab/expr.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"

const char *const chain_reason_name[N_CHAIN_REASONS] = {
	[REASON_UNKNOWN] = "host",
	[REASON_STORM] = "storm",
	[REASON_SLOW_RECEIVER] = "slow receiver",
};

const char *const chain_kind_name[N_CHAIN_KINDS] = {
	[CHAIN_DEADLOCK] = "deadlock",
	[CHAIN_CYCLIC] = "cyclic",
	[CHAIN_ROOT] = "root",
};

void chain_init(struct chain *c, uint64_t stuck_ns)
{
	*c = (struct chain){.stuck_ns = stuck_ns};
}

void chain_fini(struct chain *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->findings[i].queues);
	free(c->findings);
	*c = (struct chain){0};
}

void chain_begin(struct chain *c, uint64_t now_ns)
{
	c->look++;
	c->now_ns = now_ns;
}

// ---- queues

// Queues in one order, for the first of a cycle.
static uint64_t rank(struct chain_queue q)
{
	return (uint64_t)q.sw << 24 | (uint64_t)q.port << 8 | q.cls;
}

// ---- findings

static struct chain_finding *add_chain_finding(struct chain *c, const struct chain_finding *f)
{
	if (c->n == CHAIN_MAX_FINDINGS) {
		c->left_out++;
		return NULL;
	}
	if (c->n == c->cap) {
		uint32_t cap = c->cap == 0 ? 8 : 2 * c->cap;
		struct chain_finding *more = realloc(c->findings, cap * sizeof(*more));

		if (more == NULL) {
			c->short_of_memory = true;
			return NULL;
		}
		c->findings = more;
		c->cap = cap;
	}
	c->findings[c->n] = *f;
	return &c->findings[c->n++];
}

static void keep_queues(struct chain *c, struct chain_finding *f, const struct chain_queue *q,
			uint32_t n)
{
	struct chain_queue *more = realloc(f->queues, n * sizeof(*more));

	if (more == NULL) {
		c->short_of_memory = true;
		return;
	}
	memcpy(more, q, n * sizeof(*more));
	f->queues = more;
	f->n_queues = n;
}

// It is there, and has been since spell_ns if it was not at the last look.
static void seen(struct chain *c, struct chain_finding *f, uint64_t spell_ns)
{
	if (f->times == 0 || f->look + 1 < c->look) {
		f->spell_ns = spell_ns;
		f->times++;
	}
	if (f->times == 1)
		f->first_ns = f->spell_ns;
	f->look = c->look;
	f->last_ns = c->now_ns;
	f->now = true;
	if (c->now_ns - f->spell_ns > f->longest_ns)
		f->longest_ns = c->now_ns - f->spell_ns;
}

static void found_root(struct chain *c, const struct chain_pause *p, const struct chain_queue *path,
		       uint32_t n)
{
	struct chain_finding *f = NULL;
	uint8_t cls = path[n - 1].cls;

	for (uint32_t i = 0; i < c->n && f == NULL; i++) {
		struct chain_finding *known = &c->findings[i];

		if (known->kind == CHAIN_ROOT && known->host == p->host && known->cls == cls &&
		    known->reason == p->reason)
			f = known;
	}
	if (f == NULL)
		f = add_chain_finding(c, &(struct chain_finding){.kind = CHAIN_ROOT,
								 .cls = cls,
								 .reason = p->reason,
								 .host = p->host,
								 .since_ns = p->since_ns});
	if (f == NULL)
		return;
	if (n > f->n_queues)
		keep_queues(c, f, path, n);
	if (f->times == 0 || f->look != c->look)
		seen(c, f, c->now_ns);
}

static bool same_cycle(const struct chain_finding *f, const struct chain_queue *q, uint32_t n)
{
	if (f->kind == CHAIN_ROOT || f->n_queues != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (rank(f->queues[i]) != rank(q[i]))
			return false;
	return true;
}

static void found_cycle(struct chain *c, const struct chain_view *v, const struct chain_queue *q,
			uint32_t n)
{
	struct chain_queue turned[CHAIN_MAX_HOPS];
	struct chain_finding *f = NULL;
	uint64_t since = 0; // when the last of the queues moved; UINT64_MAX: some does
	uint32_t low = 0;

	// Wherever a chain enters a cycle, its lowest queue comes first.
	for (uint32_t i = 1; i < n; i++)
		if (rank(q[i]) < rank(q[low]))
			low = i;
	for (uint32_t i = 0; i < n; i++)
		turned[i] = q[(low + i) % n];
	for (uint32_t i = 0; i < c->n && f == NULL; i++)
		if (same_cycle(&c->findings[i], turned, n))
			f = &c->findings[i];
	if (f == NULL) {
		f = add_chain_finding(c, &(struct chain_finding){.kind = CHAIN_CYCLIC});
		if (f == NULL)
			return;
		keep_queues(c, f, turned, n);
	}
	if (f->times != 0 && f->look == c->look)
		return;
	for (uint32_t i = 0; i < n; i++)
		since = max_u64(since, v->still_since(v->arg, turned[i]));
	if (since <= c->now_ns && c->now_ns - since >= c->stuck_ns) {
		// The times of the mere dependency are dropped.
		if (f->kind != CHAIN_DEADLOCK)
			f->times = 0;
		if (f->kind != CHAIN_DEADLOCK)
			f->longest_ns = 0;
		f->kind = CHAIN_DEADLOCK;
		seen(c, f, since);
	} else if (f->kind == CHAIN_CYCLIC) {
		seen(c, f, c->now_ns);
	}
}

// ---- one chain

void chain_walk(struct chain *c, const struct chain_view *v, struct chain_queue from)
{
	struct chain_queue path[CHAIN_MAX_HOPS];
	uint32_t n = 0;

	path[n++] = from;
	for (;;) {
		struct chain_pause p = v->paused_by(v->arg, path[n - 1]);

		if (p.by == CHAIN_BY_HOST)
			found_root(c, &p, path, n);
		if (p.by == CHAIN_BY_NONE)
			v->congested(v->arg, path[n - 1]);
		if (p.by != CHAIN_BY_SWITCH)
			return;
		for (uint32_t i = 0; i < n; i++)
			if (rank(path[i]) == rank(p.next)) {
				found_cycle(c, v, &path[i], n - i);
				return;
			}
		if (n == CHAIN_MAX_HOPS)
			return;
		path[n++] = p.next;
	}
}

void chain_end(struct chain *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->findings[i].now = c->findings[i].look == c->look;
}

// ---- questions

static bool there_since(const struct chain_finding *f, uint64_t from_ns)
{
	return f->times != 0 && f->last_ns >= from_ns;
}

uint32_t chain_count(const struct chain *c, enum chain_kind kind, uint64_t from_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += (kind == N_CHAIN_KINDS || c->findings[i].kind == kind) &&
		     there_since(&c->findings[i], from_ns);
	return n;
}

uint32_t chain_count_host(const struct chain *c, uint32_t host, uint64_t from_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += c->findings[i].kind == CHAIN_ROOT && c->findings[i].host == host &&
		     there_since(&c->findings[i], from_ns);
	return n;
}

// Whether a cycle goes through exactly these switches.
static bool passes_exactly(const struct chain_finding *f, const uint32_t *switches, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;

		while (k < f->n_queues && f->queues[k].sw != switches[i])
			k++;
		if (k == f->n_queues)
			return false;
	}
	for (uint32_t i = 0; i < f->n_queues; i++) {
		uint32_t k = 0;

		while (k < n && switches[k] != f->queues[i].sw)
			k++;
		if (k == n)
			return false;
	}
	return true;
}

uint32_t chain_count_cycle(const struct chain *c, const uint32_t *switches, uint32_t n,
			   uint64_t from_ns)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < c->n; i++)
		found += c->findings[i].kind == CHAIN_DEADLOCK &&
			 there_since(&c->findings[i], from_ns) &&
			 passes_exactly(&c->findings[i], switches, n);
	return found;
}

// Few findings, once a report.
void chain_rank(const struct chain *c, uint32_t *order)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t k = i;

		for (; k > 0 && c->findings[order[k - 1]].longest_ns < c->findings[i].longest_ns;
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

enum { LONGEST_QUANTA = 65535, LIFETIMES = 2 };

struct chain_fabric *chain_fabric_create(const struct scenario *sc)
{
	struct chain_fabric *c = calloc(1, sizeof(*c));
	uint64_t longest = 0; // PAUSE that any link knows

	if (c == NULL)
		return NULL;
	for (uint32_t i = 0; i < sc->n_links; i++)
		longest = max_u64(longest, pfc_quanta_ns(sc->links[i].speed_bps, LONGEST_QUANTA));
	chain_init(&c->chain, sc->stuck_ns != 0 ? sc->stuck_ns : LIFETIMES * longest);
	c->still = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->still));
	c->walked = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->walked));
	c->congested = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->congested));
	c->stopped = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->stopped));
	if (c->still == NULL || c->walked == NULL || c->congested == NULL || c->stopped == NULL) {
		chain_fabric_destroy(c);
		return NULL;
	}
	return c;
}

void chain_fabric_destroy(struct chain_fabric *c)
{
	if (c == NULL)
		return;
	chain_fini(&c->chain);
	free(c->still);
	free(c->walked);
	free(c->congested);
	free(c->stopped);
	free(c);
}

static size_t index_of(const struct fabric *f, struct chain_queue q)
{
	return (size_t)(f->sc->switches[q.sw].first_port + q.port) * N_CLASSES + q.cls;
}

// ---- queues that stand still

static bool is_paused(const struct weir_switch *sw, unsigned port, unsigned cls)
{
	return gauge_get(&switch_pfc_rx(sw, port)->stats[cls].until_ns) != 0;
}

static void look_at_queue(const struct fabric *f, struct chain_queue at)
{
	const struct weir_switch *sw = f->switches[at.sw].in.sw;
	unsigned q = switch_policy(sw)->ports[at.port].classify.class_to_queue[at.cls];
	const struct queue_counters *n = switch_queue_counters(sw, at.port, q);
	struct chain_still *s = &f->chain->still[index_of(f, at)];
	uint64_t look = f->chain->chain.look, sent;

	if (gauge_get(&n->length_packets) == 0)
		return;
	sent = ctr_get(&n->tx_packets) +
	       ctr_get(&switch_pfc_rx(sw, at.port)->stats[at.cls].transitions);
	if (s->look + 1 != look || s->sent != sent)
		s->since_ns = f->clock.now_ns;
	s->sent = sent;
	s->look = look;
}

static uint64_t still_since(const void *arg, struct chain_queue q)
{
	const struct fabric *f = arg;
	const struct chain_still *s = &f->chain->still[index_of(f, q)];

	return s->look == f->chain->chain.look ? s->since_ns : UINT64_MAX;
}

uint32_t chain_fabric_stuck(const struct fabric *f, uint32_t sw, int port, int cls)
{
	const struct chain *c = &f->chain->chain;
	uint32_t n = 0;

	for (uint32_t p = 0; p < f->sc->switches[sw].n_ports; p++)
		for (unsigned k = 0; k < N_CLASSES; k++) {
			uint64_t since =
				still_since(f, (struct chain_queue){sw, (port_no_t)p, (uint8_t)k});

			n += (port < 0 || (uint32_t)port == p) && (cls < 0 || (unsigned)cls == k) &&
			     since <= c->now_ns && c->now_ns - since >= c->stuck_ns;
		}
	return n;
}

// ---- who pauses whom

// The queue that holds most of a group in XOFF. False: none, or frames in the receive ring.
static bool cause_of(const struct fabric *f, uint32_t sw, unsigned port, unsigned pg,
		     struct chain_queue *out)
{
	const struct weir_switch *s = f->switches[sw].in.sw;
	struct pause_cause c;

	if (!pg_in_xoff(switch_pg_state(s, port, pg)))
		return false;
	c = switch_cause_now(s, port, pg);
	*out = (struct chain_queue){sw, c.out_port, c.cls};
	return c.kind == CAUSE_QUEUE;
}

static struct chain_pause paused_by(const void *arg, struct chain_queue q)
{
	static const uint8_t reasons[] = {[NIC_PAUSES_NOT] = REASON_UNKNOWN,
					  [NIC_PAUSES_BY_STORM] = REASON_STORM,
					  [NIC_PAUSES_SLOWLY] = REASON_SLOW_RECEIVER};
	const struct fabric *f = arg;
	const struct sc_port *port = &f->sc->switches[q.sw].ports[q.port];
	struct chain_pause p = {.by = CHAIN_BY_NONE};
	const struct sc_end *peer;
	unsigned pg;

	if (port->link == SC_NO_LINK || !is_paused(f->switches[q.sw].in.sw, q.port, q.cls))
		return p;
	peer = &f->sc->links[port->link].end[1 - port->side];
	if (!peer->is_switch) {
		p.by = CHAIN_BY_HOST;
		p.host = peer->node;
		p.reason = reasons[nic_pausing(f->hosts[peer->node].nic, q.cls, &p.since_ns)];
		return p;
	}
	pg = switch_policy(f->switches[peer->node].in.sw)
		     ->ports[peer->port]
		     .classify.class_to_pg[q.cls];
	if (cause_of(f, peer->node, peer->port, pg, &p.next))
		p.by = CHAIN_BY_SWITCH;
	return p;
}

// ---- a look

// Classes of a group, of those for which a PAUSE of ours stands.
static bool pauses(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	const uint8_t *class_to_pg = switch_policy(sw)->ports[port].classify.class_to_pg;
	uint8_t paused = switch_pfc_tx(sw, port)->paused;

	for (; paused != 0; paused &= (uint8_t)(paused - 1))
		if (class_to_pg[__builtin_ctz(paused)] == pg)
			return true;
	return false;
}

static void count_congested(const void *arg, struct chain_queue q)
{
	const struct fabric *f = arg;
	const struct weir_switch *sw = f->switches[q.sw].in.sw;
	int queue = switch_policy(sw)->ports[q.port].classify.class_to_queue[q.cls];

	f->chain->congested[index_of(f, q)]++;
	f->chain->stopped[index_of(f, q)] = !switch_tx_enabled(sw, q.port, -1) ||
					    !switch_tx_enabled(sw, q.port, queue);
}

void chain_fabric_look(struct fabric *f)
{
	const struct chain_view view = {paused_by, still_since, count_congested, f};
	struct chain *c = &f->chain->chain;

	chain_begin(c, f->clock.now_ns);
	for (uint32_t s = 0; s < f->sc->n_switches; s++)
		for (uint32_t p = 0; p < f->sc->switches[s].n_ports; p++)
			for (unsigned k = 0; k < N_CLASSES; k++)
				if (switch_pfc_rx(f->switches[s].in.sw, p)->paused != 0 &&
				    is_paused(f->switches[s].in.sw, p, k))
					look_at_queue(
						f,
						(struct chain_queue){s, (port_no_t)p,
								     (uint8_t)k});
	for (uint32_t s = 0; s < f->sc->n_switches; s++)
		for (uint32_t p = 0; p < f->sc->switches[s].n_ports; p++)
			for (unsigned pg = 0; pg < N_PGS; pg++) {
				struct chain_queue from;

				if (!pauses(f->switches[s].in.sw, p, pg) ||
				    !cause_of(f, s, p, pg, &from) ||
				    f->chain->walked[index_of(f, from)] == c->look)
					continue;
				f->chain->walked[index_of(f, from)] = c->look;
				chain_walk(c, &view, from);
			}
	chain_end(c);
	if (c->short_of_memory)
		f->out_of_memory = true;
}

// ---- for people

// Puts a queue into its place among those that are listed; the last one may fall out.
static void insert_congested(struct chain_congested *list, uint32_t n, uint32_t room,
			     struct chain_congested x)
{
	uint32_t i = n < room ? n : room;

	for (; i > 0 && list[i - 1].chains < x.chains; i--)
		if (i < room)
			list[i] = list[i - 1];
	if (i < room)
		list[i] = x;
}

uint32_t chain_fabric_congested(const struct fabric *f, struct chain_congested *out, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < f->sc->n_switches; s++)
		for (uint32_t p = 0; p < f->sc->switches[s].n_ports; p++)
			for (unsigned k = 0; k < N_CLASSES; k++) {
				struct chain_congested x = {{s, (port_no_t)p, (uint8_t)k}, 0, 0};

				x.chains = f->chain->congested[index_of(f, x.queue)];
				x.stopped = f->chain->stopped[index_of(f, x.queue)];
				if (x.chains != 0)
					insert_congested(out, n++, room, x);
			}
	return n;
}

static void queue_text(const struct scenario *sc, struct chain_queue q, FILE *out)
{
	fprintf(out, "%s.p%u.%u", sc->switches[q.sw].name, q.port + 1u, q.cls);
}

void chain_fabric_text(const struct scenario *sc, const struct chain_finding *f, FILE *out)
{
	char since[EXPR_VALUE_LEN];

	for (uint32_t i = 0; i < f->n_queues; i++) {
		fputs(i == 0 ? "" : " <- ", out);
		queue_text(sc, f->queues[i], out);
	}
	fputs(" <- ", out);
	if (f->kind != CHAIN_ROOT) {
		if (f->n_queues != 0)
			queue_text(sc, f->queues[0], out);
		return;
	}
	fprintf(out, "host %s", sc->hosts[f->host].name);
	if (f->reason == REASON_STORM) {
		expr_print(EXPR_TIME, (double)f->since_ns, since, sizeof(since));
		fprintf(out, " (storm since %s)", since);
	} else if (f->reason == REASON_SLOW_RECEIVER) {
		fputs(" (slow receiver)", out);
	}
}
