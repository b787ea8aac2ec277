// SPDX-License-Identifier: Apache-2.0
#include "dataplane/policy_change.h"

#include "dataplane/bits.h"
#include "dataplane/qos/headroom.h"

enum { ALL = 0xff };

struct moves {
	uint8_t paused; // classes that the policy before sends PFC for
	uint8_t moved; // classes whose frames, group, queue or PFC change
	uint8_t gained; // classes that get frames of classes that are not in `paused`
};

static uint8_t sends_pfc(const struct policy_port *pp)
{
	return pp->pfc.lossless & pp->pfc.tx;
}

// Frames of class `from` are of class `to` in the next policy.
static void move(struct moves *m, unsigned from, unsigned to)
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
		move(m, a->dscp_to_class[i], b->dscp_to_class[i]);
	for (unsigned i = 0; i < sizeof(a->pcp_to_class); i++)
		move(m, a->pcp_to_class[i], b->pcp_to_class[i]);
	move(m, a->default_class, b->default_class);
}

static struct moves moves_of(const struct policy_port *old, const struct policy_port *next)
{
	const struct classify_params *a = &old->classify, *b = &next->classify;
	struct moves m = {.paused = sends_pfc(old)};
	uint8_t turned = (uint8_t)(sends_pfc(old) ^ sends_pfc(next));

	m.moved = turned | (a->lossless ^ b->lossless);
	m.gained = turned & sends_pfc(next);
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (a->class_to_pg[c] != b->class_to_pg[c] ||
		    a->class_to_queue[c] != b->class_to_queue[c])
			m.moved |= (uint8_t)(1u << c);
	move_frames(&m, a, b);
	return m;
}

uint8_t policy_change_on_port(const struct policy_port *old, const struct policy_port *next,
			      uint8_t classes)
{
	return classes & (sends_pfc(old) | sends_pfc(next));
}

// A class that moves on one port is paused on all ports: its frames cross the switch.
uint8_t policy_change_classes(const struct policy *old, const struct policy *next)
{
	uint8_t classes = 0;

	for (unsigned i = 0; i < next->n_ports; i++)
		classes |= policy_change_on_port(&old->ports[i], &next->ports[i],
						 moves_of(&old->ports[i], &next->ports[i]).moved);
	return classes;
}

uint8_t policy_change_unpaused(const struct policy_port *old, const struct policy_port *next)
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

uint64_t policy_change_response_ns(const struct policy *old, const struct policy *next,
				   unsigned port)
{
	uint64_t a = fill_ns(old, port), b = fill_ns(next, port);

	return a > b ? a : b;
}
