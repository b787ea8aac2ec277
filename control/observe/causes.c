// SPDX-License-Identifier: Apache-2.0
// Rows about causes: why the peer of a port is, or was last, paused. A cause is the egress queue
// that holds most of the group's buffer. Where that queue is itself paused by its peer, and this
// switch has in turn paused that peer, the chain goes on; it ends at what this switch can see.
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

enum { MAX_HOPS = 16, PLACE_LEN = POLICY_NAME_LEN + 8 };

enum chain_end { END_CONGESTION, END_PEER, END_LOOP, END_RECEIVE_RING, END_TX_OFF, END_GONE };

static const char *const end_name[] = {
	[END_CONGESTION] = "congestion", [END_PEER] = "peer",     [END_LOOP] = "loop",
	[END_RECEIVE_RING] = "receive-ring", [END_TX_OFF] = "tx-off", [END_GONE] = "gone",
};
static const char *const kind_name[] = {
	[CAUSE_NONE] = "none", [CAUSE_QUEUE] = "queue", [CAUSE_RX_RING] = "receive-ring"};

struct place {
	uint8_t port, cls;
};

struct chain {
	unsigned n;
	struct place at[MAX_HOPS]; // the first is the port that paused its peer
	enum chain_end end;
};

static const struct classify_params *maps_of(const struct observe *o, unsigned port)
{
	return &policy_of(o)->ports[port].classify;
}

static bool in_xoff(const struct observe *o, struct place at)
{
	unsigned pg = maps_of(o, at.port)->class_to_pg[at.cls];

	return pg_in_xoff(switch_pg_state(o->sw, at.port, pg));
}

// A pause of ours that stands, also one by the receive ring.
static bool pauses_now(const struct observe *o, struct place at)
{
	return in_xoff(o, at) ||
	       gauge_get(&switch_pfc_tx(o->sw, at.port)->stats[at.cls].since_ns) != 0;
}

static struct pause_cause cause_of(const struct observe *o, struct place at, bool now)
{
	unsigned pg = maps_of(o, at.port)->class_to_pg[at.cls];
	struct pause_cause last = switch_pause_cause(o->sw, at.port, pg), c;

	if (!now || (last.kind == CAUSE_RX_RING && !in_xoff(o, at)))
		return last;
	c = switch_cause_now(o->sw, at.port, pg);
	return c.kind != CAUSE_NONE ? c : last;
}

static bool visited(const struct chain *ch, struct place at)
{
	for (unsigned i = 0; i < ch->n; i++)
		if (ch->at[i].port == at.port && ch->at[i].cls == at.cls)
			return true;
	return false;
}

// What stands at the end of a hop that is not followed further.
static enum chain_end end_of(const struct observe *o, const struct pause_cause *c, bool now)
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

		ch.end = end_of(o, &c, now);
		if (c.kind != CAUSE_QUEUE || ch.end == END_GONE || ch.n == MAX_HOPS)
			return ch;
		at = (struct place){c.out_port, c.cls};
		if (visited(&ch, at) && ch.end == END_PEER)
			ch.end = END_LOOP;
		ch.at[ch.n++] = at;
		// What the peer waits for may be this switch again.
		if (ch.end != END_PEER || !now || !pauses_now(o, at))
			return ch;
	}
}

static void emit_chain(const struct observe *o, const struct chain *ch, struct json_object *row)
{
	struct json_object *list = list_in(row, "chain");
	char text[PLACE_LEN];

	for (unsigned i = 0; i < ch->n; i++) {
		snprintf(text, sizeof(text), "%s:%u", port_name(o, ch->at[i].port), ch->at[i].cls);
		json_object_array_add(list, json_object_new_string(text));
	}
	row_text(row, "ends", end_name[ch->end]);
}

static uint64_t since_us(uint64_t since_ns, uint64_t now_ns)
{
	return since_ns != 0 && now_ns > since_ns ? (now_ns - since_ns) / 1000 : 0;
}

static void emit_queue(const struct show *s, const struct pause_cause *c, bool now,
		       struct json_object *row)
{
	const struct pfc_class_stats *rx = &switch_pfc_rx(s->o->sw, c->out_port)->stats[c->cls];

	row_text(row, "cause_port", port_name(s->o, c->out_port));
	row_u64(row, "cause_class", c->cls);
	row_u64(row, "cause_queue", c->queue);
	row_u64(row, "held_bytes", (uint64_t)c->held_cells * policy_of(s->o)->cell.bytes);
	row_bool(row, "paused", c->paused);
	row_u64(row, "cause_paused_us",
		now && c->paused ? since_us(gauge_get(&rx->since_ns), s->now_ns) : 0);
}

// The same keys where no queue is the cause.
static void emit_no_queue(struct json_object *row)
{
	static const char *const keys[] = {"cause_port", "cause_class", "cause_queue"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_object_add(row, keys[i], NULL);
	row_u64(row, "held_bytes", 0);
	row_bool(row, "paused", false);
	row_u64(row, "cause_paused_us", 0);
}

static void cause_row(const struct show *s, struct place at, struct json_object *list)
{
	const struct observe *o = s->o;
	bool now = pauses_now(o, at);
	struct pause_cause c = cause_of(o, at, now);
	struct chain ch = chain_from(o, at, now);
	const struct pfc_class_stats *tx = &switch_pfc_tx(o->sw, at.port)->stats[at.cls];
	struct pause_cause last =
		switch_pause_cause(o->sw, at.port, maps_of(o, at.port)->class_to_pg[at.cls]);
	struct json_object *row = row_in(list);

	row_text(row, "port", port_name(o, at.port));
	row_u64(row, "class", at.cls);
	row_bool(row, "now", now);
	row_bool(row, "xoff", in_xoff(o, at));
	row_u64(row, "pause_us", now ? since_us(gauge_get(&tx->since_ns), s->now_ns) : 0);
	row_u64(row, "last_pause_us", since_us(last.t_ns, s->now_ns));
	row_text(row, "kind", kind_name[c.kind]);
	if (c.kind == CAUSE_QUEUE && c.out_port < policy_of(o)->n_ports)
		emit_queue(s, &c, now, row);
	else
		emit_no_queue(row);
	emit_chain(o, &ch, row);
}

static bool has_cause(const struct observe *o, struct place at)
{
	unsigned pg = maps_of(o, at.port)->class_to_pg[at.cls];

	return maps_of(o, at.port)->lossless >> at.cls & 1 &&
	       (in_xoff(o, at) || switch_pause_cause(o->sw, at.port, pg).kind != CAUSE_NONE);
}

static void peer_row(const struct show *s, struct place at, struct json_object *list)
{
	uint64_t since_ns = gauge_get(&switch_pfc_rx(s->o->sw, at.port)->stats[at.cls].since_ns);
	const struct watchdog_class *w = switch_watchdog(s->o->sw, at.port, at.cls);
	struct json_object *row;

	if (since_ns == 0 && !watchdog_stormed(w))
		return;
	row = row_in(list);
	row_text(row, "port", port_name(s->o, at.port));
	row_u64(row, "class", at.cls);
	row_u64(row, "paused_us", since_us(since_ns, s->now_ns));
	row_bool(row, "stormed", watchdog_stormed(w));
	row_u64(row, "storm_us",
		watchdog_stormed(w) ? since_us(gauge_get(&w->since_ns), s->now_ns) : 0);
}

void show_causes(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "causes"), *peers = list_in(out, "peers");

	if (s->last - s->first < policy_of(s->o)->n_ports)
		row_text(out, "port", port_name(s->o, s->first)); // the only one that is shown
	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			struct place at = {(uint8_t)port, (uint8_t)cls};

			if (has_cause(s->o, at))
				cause_row(s, at, list);
			peer_row(s, at, peers);
		}
}
