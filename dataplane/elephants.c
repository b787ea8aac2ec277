// SPDX-License-Identifier: Apache-2.0
#include "dataplane/elephants.h"

#include "dataplane/base/units.h"

enum {
	LOOKS_PER_LOOP = 64,
	LOOKS_IN_END_AGE = 8, // at each elephant
};

// ---- the list

static uint64_t next_look_ns(const struct worker *w)
{
	return w->now_ns + w->flows->elephants.params.end_age_ns / LOOKS_IN_END_AGE;
}

static gauge_t *elephants_of_port(struct worker_flows *wf, const struct flow *fl)
{
	return &wf->table.ports[flow_way_of(gauge_get(&fl->way)).in_port % FLOW_PORTS].elephants;
}

static void joins(struct worker *w, struct flow *fl)
{
	struct worker_flows *wf = w->flows;
	struct worker_elephants *e = &wf->elephants;
	struct flow_way way = flow_way_of(gauge_get(&fl->way));
	uint64_t n = gauge_get(&e->now);

	if (n == ELEPHANTS_MAX) {
		ctr_inc(&e->refused);
		return;
	}
	if (n == 0) {
		e->look_ns = next_look_ns(w);
		e->cursor = 0;
	}
	fl->elephant_place = (uint32_t)n;
	e->places[n] = (uint32_t)(fl - wf->table.flows);
	gauge_set(&e->now, n + 1);
	gauge_set(elephants_of_port(wf, fl), gauge_get(elephants_of_port(wf, fl)) + 1);
	ctr_inc(&e->began);
	e->latest_port = way.in_port;
	e->latest_cls = way.cls;
	fl->stretch = (struct elephant_stretch){w->now_ns, flow_frame_bytes(fl)};
	gauge_set(&fl->elephant_ns, w->now_ns);
	gauge_set(&fl->bytes, gauge_get(&fl->bytes) | FLOW_ELEPHANT);
}

// The last one of the list takes the place. It has been looked at in this round if the cursor is
// behind it; else it is looked at later in the round, or in the next one.
static void leaves(struct worker_flows *wf, const struct flow *fl)
{
	struct worker_elephants *e = &wf->elephants;
	uint64_t last = gauge_get(&e->now) - 1;
	uint32_t moved = e->places[last];

	e->places[fl->elephant_place] = moved;
	wf->table.flows[moved].elephant_place = fl->elephant_place;
	gauge_set(&e->now, last);
	gauge_set(elephants_of_port(wf, fl), gauge_get(elephants_of_port(wf, fl)) - 1);
	ctr_inc(&e->ended);
}

static void ends(struct worker_flows *wf, struct flow *fl)
{
	leaves(wf, fl);
	gauge_set(&fl->elephant_ns, 0);
	gauge_set(&fl->bytes, gauge_get(&fl->bytes) & ~FLOW_ELEPHANT);
}

// ---- from frames

static void is_none_any_more(struct worker *w, struct flow *fl)
{
	fl->stretch = (struct elephant_stretch){w->now_ns, flow_frame_bytes(fl)};
	ends(w->flows, fl);
}

void elephants_paused(struct worker *w, struct flow *fl, uint64_t ns)
{
	const struct elephant_params *p = &w->flows->elephants.params;
	uint64_t mice = p->mice_packets;

	if (flow_is_elephant(fl)) {
		if (ns < p->end_age_ns)
			return;
		is_none_any_more(w, fl);
	}
	gauge_set(&fl->bytes, (gauge_get(&fl->bytes) & ~FLOW_MICE_FIELD) | mice << FLOW_MICE_BIT);
}

void elephants_look(struct worker *w, struct flow *fl)
{
	const struct elephant_params *p = &w->flows->elephants.params;

	if (!flow_is_elephant(fl) &&
	    elephant_begins(p, &fl->stretch, flow_frame_bytes(fl), w->now_ns))
		joins(w, fl);
}

void elephants_begun(struct worker *w, struct flow *fl)
{
	uint64_t mice = w->flows->elephants.params.mice_packets;

	fl->stretch = (struct elephant_stretch){w->now_ns, flow_frame_bytes(fl)};
	fl->astray = false;
	fl->kept.packets = 0;
	gauge_set(&fl->bytes, gauge_get(&fl->bytes) | mice << FLOW_MICE_BIT |
				      (uint64_t)(mice != 0 ? SIZE_MOUSE : SIZE_PLAIN)
					      << FLOW_ACTING_BIT);
}

void elephants_gone(struct worker_flows *wf, const struct flow *fl)
{
	if (flow_is_elephant(fl))
		leaves(wf, fl);
}

void elephants_add(struct worker_flows *wf, unsigned port, const struct sizes *s)
{
	struct worker_elephants *e = &wf->elephants;
	struct flow_port *p = &wf->table.ports[port];

	for (unsigned size = SIZE_MOUSE; size < N_SIZES; size++) {
		ctr_add(&e->packets[size], s->sum[size] / SIZES_FRAME);
		ctr_add(&e->bytes[size], s->sum[size] % SIZES_FRAME);
	}
	if (s->sum[SIZE_ELEPHANT] != 0) {
		ctr_add(&p->elephant_packets, s->sum[SIZE_ELEPHANT] / SIZES_FRAME);
		ctr_add(&p->elephant_bytes, s->sum[SIZE_ELEPHANT] % SIZES_FRAME);
	}
}

// ---- from one class to another

static uint8_t class_by_size(const struct policy_port *pp, uint8_t cls, enum flow_size size)
{
	uint8_t by_size = pp->sized[size][cls].cls;

	return by_size == ELEPHANT_KEEP ? cls : by_size;
}

// Whether frames leave in another class. The frames of a flow may arrive in several classes, and
// the turn is one of all of them.
static bool classes_differ(const struct policy_port *pp, enum flow_size a, enum flow_size b)
{
	bool differ = false;

	for (uint8_t cls = 0; cls < N_CLASSES; cls++)
		differ |= class_by_size(pp, cls, a) != class_by_size(pp, cls, b);
	return differ;
}

static bool some_waits(const struct worker *w, unsigned in_port)
{
	for (unsigned i = 0; w->l3 != NULL && i < w->l3->waiting.n; i++)
		if (w->l3->waiting.all[i].f.in_port == in_port)
			return true;
	return false;
}

// No frame that arrived by the port is anywhere in the switch.
static bool all_have_left(const struct worker *w, unsigned in_port)
{
	uint64_t cells = 0;

	for (unsigned g = 0; g < N_PGS; g++) {
		const struct pg_state *s = &worker_port(w, in_port)->pg[g].state;

		cells |= gauge_get(&s->min_used) | gauge_get(&s->shared) |
			 gauge_get(&s->headroom) | gauge_get(&s->skid);
	}
	return cells == 0 && !some_waits(w, in_port);
}

// The queue holds no frame that arrived by the port.
static bool holds_none(const struct port *out, unsigned in_port, unsigned queue)
{
	uint64_t cells = 0;

	for (unsigned g = 0; g < N_PGS; g++)
		cells |= atomic_load_explicit(&out->held_cells[account_index(in_port, g)][queue],
					      memory_order_relaxed);
	return cells == 0;
}

// Whether the owner of the port has put into its queues all frames that this worker handed over
// until before_ns.
static bool is_queued(const struct worker *w, unsigned out_port, uint64_t before_ns)
{
	unsigned to = w->sw->owner[out_port];
	const struct handoff *h = w->out[to];

	return to == w->id ||
	       atomic_load_explicit(&h->entered, memory_order_acquire) == ctr_get(&h->put) ||
	       atomic_load_explicit(&h->entered_ns, memory_order_acquire) > before_ns;
}

static bool has_left(const struct worker *w, struct flow *fl, const struct frame *f,
		     uint64_t before_ns)
{
	struct flow_way way = flow_way_of(gauge_get(&fl->way));
	const struct port *out;

	if (fl->astray || way.out_port == FLOW_NO_PORT)
		return all_have_left(w, f->in_port);
	out = worker_port(w, way.out_port);
	if (gauge_get(&out->departed_ns[f->in_port][way.queue]) > before_ns)
		return true;
	return is_queued(w, way.out_port, before_ns) && holds_none(out, f->in_port, way.queue);
}

enum flow_size elephants_turn(struct worker *w, struct flow *fl, const struct frame *f,
			      enum flow_size size, uint64_t before_ns)
{
	enum flow_size acting = elephants_acting_size(fl);

	if (fl->kept.packets + 1 == flow_packets(fl))
		before_ns = fl->kept.ns;
	if (classes_differ(&w->pol->ports[f->in_port], acting, size)) {
		if (before_ns >= w->now_ns || !has_left(w, fl, f, before_ns)) {
			fl->kept.packets = flow_packets(fl);
			fl->kept.ns = w->now_ns;
			return acting;
		}
		fl->astray = false;
	}
	gauge_set(&fl->bytes, (gauge_get(&fl->bytes) & ~FLOW_ACTING_FIELD) |
				      (uint64_t)size << FLOW_ACTING_BIT);
	return size;
}

void elephants_astray(const struct worker *w, const struct frame *f)
{
	if (w->elephants && w->flows != NULL && frame_flow(f) < w->flows->table.n)
		w->flows->table.flows[frame_flow(f)].astray = true;
}

// ---- once per loop

static bool is_elephant_over(const struct worker *w, struct flow *fl)
{
	const struct elephant_params *p = &w->flows->elephants.params;

	return w->now_ns - flow_seen_ns(fl, w->now_ns) >= p->end_age_ns ||
	       elephant_ends(p, &fl->stretch, flow_frame_bytes(fl), w->now_ns);
}

static void look_at_all(struct worker *w)
{
	struct worker_flows *wf = w->flows;
	struct worker_elephants *e = &wf->elephants;

	for (unsigned n = 0; n < LOOKS_PER_LOOP && e->cursor < gauge_get(&e->now); n++) {
		struct flow *fl = &wf->table.flows[e->places[e->cursor]];

		if (is_elephant_over(w, fl))
			is_none_any_more(w, fl); // another one is at the cursor now
		else
			e->cursor++;
	}
	if (e->cursor < gauge_get(&e->now))
		return;
	e->cursor = 0;
	e->look_ns = next_look_ns(w);
}

// What happened since the last events, at most once a second.
static void say_events(struct worker *w)
{
	struct worker_elephants *e = &w->flows->elephants;
	uint64_t began = ctr_get(&e->began), ended = ctr_get(&e->ended);

	if ((began == e->began_said && ended == e->ended_said) ||
	    (e->said_ns != 0 && w->now_ns - e->said_ns < SECOND_NS))
		return;
	if (began != e->began_said)
		worker_event(w, EVENT_ELEPHANTS, e->latest_port, e->latest_cls,
			     (uint32_t)gauge_get(&e->now), began - e->began_said);
	if (ended != e->ended_said)
		worker_event(w, EVENT_ELEPHANTS_OVER, PORT_NONE, CLASS_NONE,
			     (uint32_t)gauge_get(&e->now), ended - e->ended_said);
	e->began_said = began;
	e->ended_said = ended;
	e->said_ns = w->now_ns;
}

void elephants_tick(struct worker *w)
{
	struct worker_elephants *e = &w->flows->elephants;

	if (gauge_get(&e->now) != 0 && w->now_ns >= e->look_ns)
		look_at_all(w);
	say_events(w);
}

void elephants_new_policy(struct worker *w)
{
	struct worker_elephants *e = &w->flows->elephants;

	e->params = w->pol->elephants;
	e->look_mask = (((uint64_t)1 << FLOW_MICE_BIT) - 1) &
		       ~(((uint64_t)1 << e->params.look_shift) - 1);
	while (!e->params.enabled && gauge_get(&e->now) != 0)
		ends(w->flows, &w->flows->table.flows[e->places[0]]);
	if (gauge_get(&e->now) != 0)
		e->look_ns = next_look_ns(w);
}
