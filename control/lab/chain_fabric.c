// SPDX-License-Identifier: Apache-2.0
#include "control/lab/chain_fabric.h"

#include <stdlib.h>

#include "control/lab/expr.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/qos/pg.h"

enum { LONGEST_QUANTA = 65535, LIFETIMES = 2 };

// Twice the longest PAUSE that any link knows.
static uint64_t default_stuck_ns(const struct scenario *sc)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < sc->n_links; i++) {
		uint64_t t = pfc_quanta_ns(sc->links[i].speed_bps, LONGEST_QUANTA);

		longest = t > longest ? t : longest;
	}
	return LIFETIMES * longest;
}

struct chain_fabric *chain_fabric_create(const struct scenario *sc)
{
	struct chain_fabric *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	chain_init(&c->chain, sc->stuck_ns != 0 ? sc->stuck_ns : default_stuck_ns(sc));
	c->still = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->still));
	c->walked = calloc((size_t)sc->n_ports * N_CLASSES + 1, sizeof(*c->walked));
	if (c->still == NULL || c->walked == NULL) {
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
	const struct weir_switch *sw = f->switches[at.sw].sw;
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

static void look_at_pauses(const struct fabric *f, uint32_t sw)
{
	for (uint32_t p = 0; p < f->sc->switches[sw].n_ports; p++) {
		if (switch_pfc_rx(f->switches[sw].sw, p)->paused == 0)
			continue;
		for (unsigned c = 0; c < N_CLASSES; c++)
			if (is_paused(f->switches[sw].sw, p, c))
				look_at_queue(f, (struct chain_queue){sw, (uint8_t)p, (uint8_t)c});
	}
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
				still_since(f, (struct chain_queue){sw, (uint8_t)p, (uint8_t)k});

			n += (port < 0 || (uint32_t)port == p) && (cls < 0 || (unsigned)cls == k) &&
			     since <= c->now_ns && c->now_ns - since >= c->stuck_ns;
		}
	return n;
}

// ---- who pauses whom

// What holds most of a group in XOFF. False: nothing, or frames in the receive ring.
static bool cause_of(const struct fabric *f, uint32_t sw, unsigned port, unsigned pg,
		     struct chain_queue *out)
{
	const struct weir_switch *s = f->switches[sw].sw;
	struct pause_cause c;

	if (!pg_in_xoff(switch_pg_state(s, port, pg)))
		return false;
	c = switch_cause_now(s, port, pg);
	*out = (struct chain_queue){sw, c.out_port, c.cls};
	return c.kind == CAUSE_QUEUE;
}

static struct chain_pause by_host(const struct fabric *f, uint32_t host, unsigned cls)
{
	static const uint8_t reasons[] = {[NIC_PAUSES_NOT] = REASON_UNKNOWN,
					  [NIC_PAUSES_BY_STORM] = REASON_STORM,
					  [NIC_PAUSES_SLOWLY] = REASON_SLOW_RECEIVER};
	struct chain_pause p = {.by = CHAIN_BY_HOST, .host = host};

	p.reason = reasons[nic_pausing(f->hosts[host].nic, cls, &p.since_ns)];
	return p;
}

static struct chain_pause paused_by(const void *arg, struct chain_queue q)
{
	const struct fabric *f = arg;
	const struct sc_port *port = &f->sc->switches[q.sw].ports[q.port];
	struct chain_pause p = {.by = CHAIN_BY_NOBODY};
	const struct sc_end *peer;
	unsigned pg;

	if (port->link == SC_NO_LINK || !is_paused(f->switches[q.sw].sw, q.port, q.cls))
		return p;
	peer = &f->sc->links[port->link].end[1 - port->side];
	if (!peer->is_switch)
		return by_host(f, peer->node, q.cls);
	pg = switch_policy(f->switches[peer->node].sw)
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

static void walk_from(struct fabric *f, uint32_t sw, unsigned port, unsigned pg)
{
	const struct chain_view view = {paused_by, still_since, f};
	struct chain_fabric *c = f->chain;
	struct chain_queue from;

	if (!pauses(f->switches[sw].sw, port, pg) || !cause_of(f, sw, port, pg, &from) ||
	    c->walked[index_of(f, from)] == c->chain.look)
		return;
	c->walked[index_of(f, from)] = c->chain.look;
	chain_walk(&c->chain, &view, from);
}

void chain_fabric_look(struct fabric *f)
{
	struct chain *c = &f->chain->chain;

	chain_begin(c, f->clock.now_ns);
	for (uint32_t s = 0; s < f->sc->n_switches; s++)
		look_at_pauses(f, s);
	for (uint32_t s = 0; s < f->sc->n_switches; s++)
		for (uint32_t p = 0; p < f->sc->switches[s].n_ports; p++) {
			if (switch_pfc_tx(f->switches[s].sw, p)->paused == 0)
				continue;
			for (unsigned pg = 0; pg < N_PGS; pg++)
				walk_from(f, s, p, pg);
		}
	chain_end(c);
	if (c->short_of_memory)
		f->out_of_memory = true;
}

// ---- for people

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
