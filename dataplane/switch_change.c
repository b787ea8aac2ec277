// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_change.h"

#include "dataplane/base/bits.h"
#include "dataplane/policy.h"
#include "dataplane/qos/headroom.h"
#include "dataplane/switch_impl.h"

// ---- what a new policy changes for frames under way

enum { ALL = 0xff };

struct moves {
	uint8_t paused; // classes that the policy before sends PFC for
	uint8_t turned; // classes for which only one of the policies sends PFC
	uint8_t moved; // classes whose frames, group or queue change
	uint8_t gained; // classes that get frames of classes that are not in `paused`
};

static uint8_t sends_pfc(const struct policy_port *pp)
{
	return pp->pfc.lossless & pp->pfc.tx;
}

// Frames of class `from` are of class `to` in the next policy.
static void move_class_frames(struct moves *m, unsigned from, unsigned to)
{
	if (from == to)
		return;
	m->moved |= (uint8_t)(1u << from | 1u << to);
	if (!(m->paused >> from & 1))
		m->gained |= (uint8_t)(1u << to);
}

static void move_frames(struct moves *m, const struct classify_params *a,
			const struct classify_params *b)
{
	if (a->trust != b->trust) {
		m->moved = ALL;
		m->gained = ALL;
	}
	for (unsigned i = 0; i < sizeof(a->dscp_to_class); i++)
		move_class_frames(m, a->dscp_to_class[i], b->dscp_to_class[i]);
	for (unsigned i = 0; i < sizeof(a->pcp_to_class); i++)
		move_class_frames(m, a->pcp_to_class[i], b->pcp_to_class[i]);
	move_class_frames(m, a->default_class, b->default_class);
}

static struct moves moves_of(const struct policy_port *old, const struct policy_port *next)
{
	const struct classify_params *a = &old->classify, *b = &next->classify;
	struct moves m = {.paused = sends_pfc(old)};

	m.turned = (uint8_t)(sends_pfc(old) ^ sends_pfc(next));
	m.moved = a->lossless ^ b->lossless;
	m.gained = m.turned & sends_pfc(next);
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (a->class_to_pg[c] != b->class_to_pg[c] ||
		    a->class_to_queue[c] != b->class_to_queue[c])
			m.moved |= (uint8_t)(1u << c);
	move_frames(&m, a, b);
	return m;
}

// Those of the classes that either policy sends PFC for on the port.
static uint8_t on_port(const struct policy_port *old, const struct policy_port *next,
		       uint8_t classes)
{
	return classes & (sends_pfc(old) | sends_pfc(next));
}

// Classes, as a bitmap, that must not arrive by any port while the policy changes. A class is one
// of them when either policy sends PFC for the class on some port, and its frames, group or queue
// change there: its frames cross the switch. A class of which only PFC changes on a port is paused
// on that port alone, because PFC concerns the group of arrival.
static uint8_t classes_that_move(const struct policy *old, const struct policy *next)
{
	uint8_t classes = 0;

	for (unsigned i = 0; i < next->n_ports; i++)
		classes |= on_port(&old->ports[i], &next->ports[i],
						 moves_of(&old->ports[i], &next->ports[i]).moved);
	return classes;
}

uint8_t change_unpaused_pgs(const struct policy_port *old, const struct policy_port *next)
{
	uint8_t gained = moves_of(old, next).gained & next->classify.lossless, groups = 0;

	for_each_bit (c, gained)
		groups |= (uint8_t)(1u << next->classify.class_to_pg[c]);
	return groups;
}

static uint64_t fill_ns(const struct policy *p, unsigned port)
{
	const struct policy_port *pp = &p->ports[port];
	uint64_t cells = 0;

	for (unsigned g = 0; g < N_PGS; g++)
		if (pp->pg[g].xoff_cells > cells)
			cells = pp->pg[g].xoff_cells;
	return headroom_fill_ns(cells * p->cell.bytes, pp->speed_bps);
}

// How long the port's peer may still send after a PAUSE, as the headroom of both policies plans.
static uint64_t response_ns_of(const struct policy *old, const struct policy *next, unsigned port)
{
	uint64_t a = fill_ns(old, port), b = fill_ns(next, port);

	return a > b ? a : b;
}

// ---- the change

static_assert((int)CHANGE_MAX_WORKERS == (int)MAX_WORKERS, "each worker has its place");

static void set_wanted_pause(struct weir_switch *sw, unsigned port, uint8_t classes)
{
	atomic_store_explicit(&sw->want.pause[port], classes, memory_order_relaxed);
}

void change_begin(struct weir_switch *sw, const struct policy *next, uint64_t now_ns,
		  uint64_t late_ns, struct policy_change *c)
{
	const struct policy *old = sw->policy_mem;
	uint8_t moved = classes_that_move(old, next);

	*c = (struct policy_change){.next = next, .began_ns = now_ns, .late_ns = late_ns};
	for (unsigned i = 0; i < sw->n_ports; i++) {
		const struct policy_port *a = &old->ports[i], *b = &next->ports[i];
		uint8_t classes = on_port(a, b, moved) | moves_of(a, b).turned;

		set_wanted_pause(sw, i, classes);
		c->classes |= classes;
		c->n_ports += classes != 0;
	}
	if (c->classes == 0)
		return;
	c->stage = CHANGE_PAUSING;
	control_request(sw);
	c->request = atomic_load(&sw->want.seq);
}

void change_end(struct weir_switch *sw, const struct policy_change *c)
{
	if (c->classes == 0)
		return;
	for (unsigned i = 0; i < sw->n_ports; i++)
		set_wanted_pause(sw, i, 0);
	control_request(sw);
}

// Whether all that was sent before the port's pauses has arrived.
static bool port_has_stopped(const struct weir_switch *sw, const struct policy_change *c,
			   unsigned port, uint64_t now_ns)
{
	uint64_t response_ns = response_ns_of(sw->policy_mem, c->next, port);
	uint8_t left = atomic_load_explicit(&sw->want.pause[port], memory_order_relaxed);

	for_each_bit (cls, left) {
		uint64_t since_ns = gauge_get(&sw->port[port]->pfc_tx.stats[cls].since_ns);

		if (switch_watchdog_recovers(sw, port, cls))
			continue;
		if (since_ns == 0 || now_ns < since_ns + response_ns)
			return false;
	}
	return true;
}

static bool all_have_stopped(const struct weir_switch *sw, const struct policy_change *c,
			   uint64_t now_ns)
{
	if (!switch_request_done(sw, c->request))
		return false;
	for (unsigned i = 0; i < sw->n_ports; i++)
		if (switch_link_up(sw, i) && !port_has_stopped(sw, c, i, now_ns))
			return false;
	return true;
}

// Each loop takes a burst out of each ring of n frames; one loop is under way.
static void expect_loops(struct weir_switch *sw, struct policy_change *c, unsigned worker,
			 uint32_t n)
{
	c->loops[worker] = ctr_get(&sw->workers[worker]->c.loops) + 2 + n / BURST;
}

static void expect_receiving(struct weir_switch *sw, struct policy_change *c)
{
	uint32_t longest = 0;

	for (unsigned i = 0; i < sw->n_ports; i++)
		if (sw->ports[i].facts.rx_ring > longest)
			longest = sw->ports[i].facts.rx_ring;
	for (unsigned i = 0; i < sw->n_workers; i++)
		expect_loops(sw, c, i, longest);
}

static void expect_handing(struct weir_switch *sw, struct policy_change *c)
{
	for (unsigned to = 0; to < sw->n_workers; to++) {
		uint32_t longest = 0;

		for (unsigned from = 0; from < sw->n_workers; from++) {
			const struct handoff *h = sw->workers[from]->out[to];

			if (h != NULL && handoff_waiting(h) > longest)
				longest = handoff_waiting(h);
		}
		expect_loops(sw, c, to, longest);
	}
}

static bool loops_done(const struct weir_switch *sw, const struct policy_change *c)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (ctr_get(&sw->workers[i]->c.loops) < c->loops[i])
			return false;
	return true;
}

static void advance(struct weir_switch *sw, struct policy_change *c, uint64_t now_ns)
{
	if (c->stage == CHANGE_PAUSING && all_have_stopped(sw, c, now_ns)) {
		expect_receiving(sw, c);
		c->stage = CHANGE_RECEIVING;
	} else if (c->stage == CHANGE_RECEIVING && loops_done(sw, c)) {
		expect_handing(sw, c);
		c->stage = CHANGE_HANDING;
	} else if (c->stage == CHANGE_HANDING && loops_done(sw, c)) {
		c->stage = CHANGE_READY;
	}
}

bool change_ready(struct weir_switch *sw, struct policy_change *c, uint64_t now_ns)
{
	if (c->stage == CHANGE_READY)
		return true;
	advance(sw, c, now_ns);
	if (c->stage != CHANGE_READY && now_ns - c->began_ns >= c->late_ns) {
		c->late = true;
		c->stage = CHANGE_READY;
	}
	c->lasted_ns = now_ns - c->began_ns;
	return c->stage == CHANGE_READY;
}
