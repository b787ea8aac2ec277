// SPDX-License-Identifier: Apache-2.0
// The facts of storms (the PFC watchdog of each class, what the deadlock guard has turned) and of
// causes: why the peer of a port is, or was last, paused. A cause is the egress queue that holds
// most of the group's buffer. Where that queue is itself paused by its peer, and this switch has in
// turn paused that peer, the chain goes on; it ends at what this switch can see.
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

static const char *const status_name[] = {
	[WATCHDOG_OFF] = "off",
	[WATCHDOG_OPERATIONAL] = "operational",
	[WATCHDOG_IN_STORM] = "stormed",
	[WATCHDOG_IS_PFC_OFF] = "pfc-off",
	[WATCHDOG_IS_PORT_DOWN] = "port-down",
	[WATCHDOG_DROPS_ALL] = "drop-all",
};
static const char *const mode_name[] = {
	[WATCHDOG_XOFF] = "xoff", [WATCHDOG_PROGRESS] = "progress"};
static const char *const then_name[] = {
	[WATCHDOG_PFC_OFF] = "pfc-off", [WATCHDOG_PORT_DOWN] = "port-down"};
static const char *const action_name[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert"};

// Whether the policy has the watchdog look at the class.
static bool is_watched(const struct at *a)
{
	return a->pp->watchdog.classes >> a->i & 1;
}

static uint64_t storm_lasts_ns(const struct at *a)
{
	uint64_t since = gauge_get(&a->watchdog->since_ns);

	return watchdog_stormed(a->watchdog) && a->s->now_ns > since ? a->s->now_ns - since : 0;
}

// ---- causes

enum { MAX_HOPS = 16, PLACE_LEN = POLICY_NAME_LEN + 8 };

enum chain_end { END_CONGESTION, END_PEER, END_LOOP, END_RECEIVE_RING, END_TX_OFF, END_GONE };

static const char *const end_name[] = {
	[END_CONGESTION] = "congestion", [END_PEER] = "peer",     [END_LOOP] = "loop",
	[END_RECEIVE_RING] = "receive-ring", [END_TX_OFF] = "tx-off", [END_GONE] = "gone",
};
static const char *const kind_name[] = {
	[CAUSE_NONE] = "none", [CAUSE_QUEUE] = "queue", [CAUSE_RX_RING] = "receive-ring"};

struct place {
	port_no_t port;
	uint8_t cls;
};

struct chain {
	unsigned n;
	struct place at[MAX_HOPS]; // the first is the port that paused its peer
	enum chain_end end;
};

static unsigned pg_of(const struct observe *o, struct place at)
{
	return policy_of(o)->ports[at.port].classify.class_to_pg[at.cls];
}

static bool in_xoff(const struct observe *o, struct place at)
{
	return pg_in_xoff(switch_pg_state(o->sw, at.port, pg_of(o, at)));
}

// A pause of ours that stands, also one by the receive ring.
static bool pauses_now(const struct observe *o, struct place at)
{
	return in_xoff(o, at) ||
	       gauge_get(&switch_pfc_tx(o->sw, at.port)->stats[at.cls].since_ns) != 0;
}

static struct pause_cause cause_of(const struct observe *o, struct place at, bool now)
{
	struct pause_cause last = switch_pause_cause(o->sw, at.port, pg_of(o, at)), c;

	if (!now || (last.kind == CAUSE_RX_RING && !in_xoff(o, at)))
		return last;
	c = switch_cause_now(o->sw, at.port, pg_of(o, at));
	return c.kind != CAUSE_NONE ? c : last;
}

static bool visited(const struct chain *ch, struct place at)
{
	for (unsigned i = 0; i < ch->n; i++)
		if (ch->at[i].port == at.port && ch->at[i].cls == at.cls)
			return true;
	return false;
}

// The end of the chain, where a hop leads no further.
static enum chain_end chain_end_of_cause(const struct observe *o, const struct pause_cause *c,
					 bool now)
{
	if (c->kind == CAUSE_RX_RING)
		return END_RECEIVE_RING;
	if (c->kind == CAUSE_NONE || c->out_port >= policy_of(o)->n_ports)
		return END_GONE; // of a moment that has passed
	if (c->paused)
		return END_PEER;
	if (now && (!switch_tx_enabled(o->sw, c->out_port, -1) ||
		    !switch_tx_enabled(o->sw, c->out_port, c->queue)))
		return END_TX_OFF;
	return END_CONGESTION;
}

static struct chain chain_from(const struct observe *o, struct place at, bool now)
{
	struct chain ch = {.n = 1, .at = {at}};

	for (;;) {
		struct pause_cause c = cause_of(o, at, now);

		ch.end = chain_end_of_cause(o, &c, now);
		if (c.kind != CAUSE_QUEUE || ch.end == END_GONE || ch.n == MAX_HOPS)
			return ch;
		at = (struct place){c.out_port, c.cls};
		if (visited(&ch, at) && ch.end == END_PEER)
			ch.end = END_LOOP;
		ch.at[ch.n++] = at;
		// The peer may wait for this switch in turn.
		if (ch.end != END_PEER || !now || !pauses_now(o, at))
			return ch;
	}
}

static struct json_object *chain_list(const struct at *a)
{
	struct json_object *list = json_object_new_array();
	char text[PLACE_LEN];

	for (unsigned i = 0; i < a->chain->n; i++) {
		snprintf(text, sizeof(text), "%s:%u", port_name(a->o, a->chain->at[i].port),
			 a->chain->at[i].cls);
		json_object_array_add(list, json_object_new_string(text));
	}
	return list;
}

static struct place class_place(const struct at *a)
{
	return (struct place){(port_no_t)a->port, (uint8_t)a->i};
}

// 0: never.
static uint64_t ago_us(const struct at *a, uint64_t then_ns)
{
	return then_ns != 0 ? since_us(then_ns, a->s->now_ns) : 0;
}

static bool by_queue(const struct at *a)
{
	return a->cause.kind == CAUSE_QUEUE && a->cause.out_port < a->pol->n_ports;
}

static uint64_t cause_paused_us(const struct at *a)
{
	const struct pause_cause *c = &a->cause;

	if (!by_queue(a) || !a->pausing || !c->paused)
		return 0;
	return ago_us(a, gauge_get(&switch_pfc_rx(a->o->sw, c->out_port)->stats[c->cls].since_ns));
}

// ---- the values

#define FACTS_OF "control/observe/storms.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

struct value storms_value(enum fact_id f, const struct at *a)
{
	return fact_value(f, a);
}

// ---- the answers

void show_watchdog(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_WATCHDOG);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			struct at a = at_port(s, port, cls);

			a.watchdog = switch_watchdog(s->o->sw, port, cls);
			a.status = switch_watchdog_status(s->o->sw, port, cls);
			if (a.status != WATCHDOG_OFF ||
			    ctr_get(&a.watchdog->detected) !=
				    ctr_get(&a.base->watchdog[cls].detected) ||
			    (s->flags & OBSERVE_ALL_ROWS && a.pp->classify.lossless >> cls & 1))
				emit(row_in(rows), FACTS_WATCHDOG, &a);
		}
	row_bool(out, KEY(VERSION, drop_all), switch_watchdog_drops_all(s->o->sw));
}

void show_guard(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_GUARD);

	for (unsigned port = s->first; port < s->last; port++) {
		const struct guard_params *g = &policy_of(s->o)->ports[port].guard;

		for (unsigned rule = 0; g->group != 0 && rule < g->n_rules; rule++) {
			struct at a = at_port(s, port, rule);

			emit(row_in(rows), FACTS_GUARD, &a);
		}
	}
}

static void cause_row(struct at *a, struct json_object *rows)
{
	const struct observe *o = a->o;
	struct place at = class_place(a);
	struct chain chain;

	a->last_pause_ns = switch_pause_cause(o->sw, at.port, pg_of(o, at)).t_ns;
	a->pausing = pauses_now(o, at);
	a->cause = cause_of(o, at, a->pausing);
	chain = chain_from(o, at, a->pausing);
	a->chain = &chain;
	a->own_pause = &switch_pfc_tx(o->sw, at.port)->stats[at.cls];
	emit(row_in(rows), FACTS_CAUSES, a);
}

void show_causes(const struct show *s, struct json_object *out)
{
	struct json_object *causes = rows_in(out, FACTS_CAUSES);
	struct json_object *peers = rows_in(out, FACTS_PEERS);

	if (s->last - s->first < policy_of(s->o)->n_ports) // the only one that is shown
		row_text(out, KEY(CAUSES, port), port_name(s->o, s->first));
	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			struct at a = at_port(s, port, cls);

			a.peer_pause = &switch_pfc_rx(s->o->sw, port)->stats[cls];
			a.watchdog = switch_watchdog(s->o->sw, port, cls);
			if (a.pp->classify.lossless >> cls & 1 &&
			    (in_xoff(s->o, class_place(&a)) ||
			     switch_pause_cause(s->o->sw, port, pg_of(s->o, class_place(&a)))
					     .kind != CAUSE_NONE))
				cause_row(&a, causes);
			if (gauge_get(&a.peer_pause->since_ns) != 0 ||
			    watchdog_stormed(a.watchdog))
				emit(row_in(peers), FACTS_PEERS, &a);
		}
}
