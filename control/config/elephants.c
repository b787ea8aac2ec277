// SPDX-License-Identifier: Apache-2.0
// Elephants and mice of a configuration: the rules between their keys, and their part of the
// compiled policy.
#include "control/config/compile.h"

#include "dataplane/base/units.h"
#include "dataplane/policy.h"

enum { DEFAULT_RATE_PART = 10 }; // of the slowest port, at most

static bool are_on(const struct config *c)
{
	return cfg_is_on(&c->root.sw.elephants.on, &c->root.sw.elephants.map);
}

// A flow cannot reach 1 Gb/s by a port of 1 Gb/s.
static uint64_t rate_of_elephants(const struct compiler *k, const struct cfg_elephants *e)
{
	uint64_t bps = (uint64_t)e->rate.n;

	for (unsigned i = 0; !e->rate.given && i < k->p->n_ports; i++)
		bps = min_u64(bps, k->p->ports[i].speed_bps / DEFAULT_RATE_PART);
	return bps;
}

static uint64_t end_rate_of(const struct cfg_elephants *e, uint64_t rate_bps)
{
	return e->end_rate.given ? min_u64((uint64_t)e->end_rate.n, rate_bps) : rate_bps / 2;
}

// ---- rules of the switch
static void elephants_make_sense(const struct subject *x)
{
	const struct cfg_elephants *e = &x->c->root.sw.elephants;

	if (!are_on(x->c))
		return;
	if (e->end_rate.n > e->rate.n && !e->end_rate.bad && !e->rate.bad)
		REFUSE(x->s, &e->end_rate, "%s is above rate %s: an elephant would end at once",
		       UNIT_TEXT(UNIT_RATE, e->end_rate.n), UNIT_TEXT(UNIT_RATE, e->rate.n));
	if (!cfg_has_flow_table(x->c))
		REFUSE(x->s, &e->map,
		       "elephants need the flow table, which is off" CURE
		       "remove switch.flows, or give it a max above 0");
}

// ---- rules of a class

// The first port on which the class is lossless. NULL: the class is lossy on all ports.
static const struct config_port *lossless_on(const struct config *c, unsigned cls)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		if (c->ports[i].profile->classes[cls].lossless.n)
			return &c->ports[i];
	return NULL;
}

static void check_target(const struct subject *x, const struct cfg_val *to)
{
	const struct config_port *p =
		to->given && !to->bad ? lossless_on(x->c, (unsigned)to->n) : NULL;

	if (p != NULL && !x->cls->lossless.n)
		REFUSE(x->s, to,
		       "class %u is lossless on port %s, and class %u is lossy: no PAUSE stops "
		       "its frames" CURE "choose a lossy class",
		       (unsigned)to->n, p->name, x->n);
}

static void check_color(const struct subject *x, const struct cfg_val *color)
{
	const struct cfg_wred *w = &x->cls->wred;

	if (color->given && !color->bad && color->n != GREEN && !w->curve[color->n].map.given)
		WARN(x->s, color,
		     "changes nothing: wred of the class has no curve for %s frames" CURE
		     "give wred the map %s",
		     cfg_color_words[color->n], cfg_color_words[color->n]);
}

static void check_sized(const struct subject *x, const struct cfg_sized *a)
{
	static const char overtakes[] =
		"class %u is lossless: a frame in another queue overtakes earlier frames of its "
		"flow, and RoCEv2 sends all of them again" CURE "use color";
	const struct cfg_val *moves[] = {&a->cls, &a->dscp};

	if (!a->map.given)
		return;
	if (!are_on(x->c))
		WARN(x->s, &a->map, "has no effect: switch.elephants is off");
	for (unsigned i = 0; i < 2; i++)
		if (moves[i]->given && x->cls->lossless.n)
			REFUSE(x->s, moves[i], overtakes, x->n);
	check_target(x, &a->cls);
	check_color(x, &a->color);
}

static void sizes_make_sense(const struct subject *x)
{
	check_sized(x, &x->cls->elephants);
	check_sized(x, &x->cls->mice);
}

void elephants_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_POLICY, elephants_make_sense},
		{OF_CLASS, sizes_make_sense},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}

// ---- compile

static bool acts(const struct elephant_action *a)
{
	return a->color != ELEPHANT_KEEP || a->cls != ELEPHANT_KEEP || a->dscp != ELEPHANT_KEEP;
}

static struct elephant_action action_of(const struct cfg_sized *a)
{
	return (struct elephant_action){
		.color = a->color.given ? (uint8_t)a->color.n : ELEPHANT_KEEP,
		.cls = a->cls.given ? (uint8_t)a->cls.n : ELEPHANT_KEEP,
		.dscp = a->dscp.given ? (uint8_t)a->dscp.n : ELEPHANT_KEEP,
	};
}

void compile_elephants(struct compiler *k)
{
	static const struct cfg_sized none;
	const struct cfg_elephants *e = &k->c->root.sw.elephants;
	uint64_t rate_bps = rate_of_elephants(k, e);

	k->p->elephants = (struct elephant_params){
		.enabled = are_on(k->c),
		.look_shift = elephant_look_shift((uint64_t)e->bytes.n),
		.mice_packets = (uint16_t)e->mice_packets.n,
		.bytes = (uint64_t)e->bytes.n,
		.rate_bps = rate_bps,
		.end_rate_bps = end_rate_of(e, rate_bps),
		.age_ns = (uint64_t)e->age.n,
		.end_age_ns = (uint64_t)e->end_age.n,
	};
	for (unsigned i = 0; i < k->p->n_ports; i++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			const struct cfg_class *c = &k->c->ports[i].profile->classes[cls];
			struct policy_port *out = &k->p->ports[i];

			out->sized[SIZE_PLAIN][cls] = action_of(&none);
			out->sized[SIZE_MOUSE][cls] = action_of(&c->mice);
			out->sized[SIZE_ELEPHANT][cls] = action_of(&c->elephants);
			out->acts_by_size |= acts(&out->sized[SIZE_MOUSE][cls]) ||
					     acts(&out->sized[SIZE_ELEPHANT][cls]);
		}
}
