// SPDX-License-Identifier: Apache-2.0
// Flow table, pairing and notifications (IPCC) of a configuration: the rules between their keys,
// and their part of the compiled policy.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/compile.h"
#include "control/config/plan.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/roce/flow.h"
#include "dataplane/roce/ipcc.h"
#include "dataplane/roce/pairing.h"

enum {
	Q16 = 1 << 16,
	// Bytes that are taken beside table and feeds, at most.
	QUEUE_BYTES = 1 << 10,
	WORKER_BYTES = 1 << 20, // rings from and to control
	NOTES_BYTES = 256 << 10, // ring to each other worker
};

static bool any_port_has_ipcc(const struct config *c)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			if (cfg_ipcc_is_on(&c->ports[i].profile->classes[cls]))
				return true;
	return false;
}

static uint8_t sources_of(const struct cfg_pairing *p)
{
	uint8_t set = 0;

	for (unsigned i = 0; i < p->sources.n; i++)
		set |= (uint8_t)(1u << (PAIR_STATIC + p->sources.items[i].n));
	for (unsigned i = PAIR_STATIC; !p->sources.map.given && i < N_PAIR_SOURCES; i++)
		set |= (uint8_t)(1u << i);
	return set;
}

// ---- rules of one class
static void few_is_not_above_many(const struct subject *x)
{
	const struct cfg_ipcc *i = &x->cls->ipcc;
	const struct cfg_map many = {.path = i->map.path, .at = i->many.at};

	if (i->few.n > i->many.n && !i->few.bad && !i->many.bad)
		check_report(x->s, DIAG_ERROR, &i->few, &many, "few", "%u is above many %u",
			     (unsigned)i->few.n, (unsigned)i->many.n);
}

static void ipcc_has_curve_and_table(const struct subject *x)
{
	const struct cfg_map *ipcc = &x->cls->ipcc.map;

	if (!cfg_ipcc_is_on(x->cls))
		return;
	if (cfg_ecn_is_auto(x->cls))
		REFUSE(x->s, ipcc,
		       "IPCC needs a fixed kmin and kmax, and this class has `ecn: auto`" CURE
		       "give the class wred in place of ecn, or remove ipcc");
	else if (!x->cls->wred.map.given)
		REFUSE(x->s, ipcc,
		       "IPCC needs kmin and kmax of wred, and this class has no wred" CURE
		       "give the class wred, with ecn: off if it must not mark");
	if (!cfg_has_flow_table(x->c))
		REFUSE(x->s, ipcc,
		       "IPCC needs the flow table, which is off" CURE
		       "remove switch.flows, or give it a max above 0");
	else if (sources_of(&x->c->root.sw.pairing) == 0)
		WARN(x->s, ipcc,
		     "the switch sends no CNP for this class: switch.pairing.sources is empty");
}

// ---- rules of the class in which CNPs leave
// The place of messages about a profile's CNPs: the key that gives the class, or the profile. The
// built-in profile has no place, but the port that uses it has one.
static struct cfg_map place_of_cnp(const struct config *c, const struct cfg_profile *p,
				   char path[PATH_LEN])
{
	if (p->cnp.cls.given)
		return (struct cfg_map){.path = p->cnp.cls.path, .at = p->cnp.cls.at};
	if (p->cnp.map.given)
		return p->cnp.map;
	for (unsigned i = 0; p == c->builtin && i < c->n_ports; i++) {
		const struct cfg_port *item = c->ports[i].item;

		if (c->ports[i].profile != p)
			continue;
		snprintf(path, PATH_LEN, "%s.profile", item->map.path);
		return (struct cfg_map){
			.path = path, .at = item->profile.given ? item->profile.at : item->map.at};
	}
	return p->map;
}

// Of a profile, or of the built-in one.
static void cnps_leave_in_time(const struct subject *x)
{
	const struct cfg_profile *p = x->profile != NULL ? x->profile : x->c->builtin;
	unsigned cls = (unsigned)p->cnp.cls.n, dscp = (unsigned)p->cnp.dscp.n;
	int q = check_class_of_queue(p, cfg_mapped(&p->class_to_queue, cls));
	const struct cfg_class *queue = &p->classes[q];
	char path[PATH_LEN];
	struct cfg_map at = place_of_cnp(x->c, p, path);

	// The keys of a profile without cnp matter only if CNPs can leave by its ports.
	if (p->cnp.cls.bad ||
	    (!p->cnp.map.given && !(any_port_has_ipcc(x->c) && cfg_profile_runs(x->c, p))))
		return;
	if (p->classes[cls].lossless.n)
		REFUSE(x->s, &at,
		       "the switch sends CNPs in class %u, which is lossless: the congestion "
		       "that they report can pause them" CURE "choose a lossy class",
		       cls);
	else if (!queue->schedule.strict.given)
		WARN(x->s, &at,
		     "the switch sends CNPs in class %u, which is not strict: they wait behind "
		     "the congestion that they report",
		     cls);
	if (!p->classes[cls].lossless.n && queue->wred.map.given)
		WARN(x->s, &at,
		     "the switch sends CNPs in class %u, which has wred: wred counts them, and "
		     "drops CNPs of receivers",
		     cls);
	if (p->remark.dscp.set >> cls & 1 && p->remark.dscp.v[cls] != dscp)
		WARN(x->s, &at,
		     "remark gives frames of class %u DSCP %u: CNPs of receivers get it, but "
		     "CNPs of the switch keep DSCP %u",
		     cls, p->remark.dscp.v[cls], dscp);
	if (p->trust.n == TRUST_DSCP && cfg_dscp_class(p, dscp) != cls)
		WARN(x->s, &at,
		     "the switch sends CNPs in class %u with DSCP %u, but a switch with this "
		     "profile puts them into class %u",
		     cls, dscp, cfg_dscp_class(p, dscp));
}

// ---- rules of the switch
static void each_worker_has_a_flow(const struct subject *x)
{
	const struct cfg_flows *f = &x->c->root.sw.flows;
	unsigned workers = config_n_workers(x->c);

	if (f->on.n != 0 && f->max.n != 0 && f->max.n < workers)
		REFUSE(x->s, &f->max,
		       "%u flows are too few for %u workers" CURE
		       "give at least one flow to each worker",
		       (unsigned)f->max.n, workers);
}

static void sources_are_given_once(const struct subject *x)
{
	const struct cfg_words *sources = &x->c->root.sw.pairing.sources;

	for (unsigned i = 0; i < sources->n; i++)
		for (unsigned j = 0; j < i; j++)
			if (sources->items[i].n == sources->items[j].n) {
				REFUSE(x->s, &sources->items[i], "names a source twice");
				break;
			}
}

static void keys_have_an_effect(const struct subject *x)
{
	const struct cfg_pairing *p = &x->c->root.sw.pairing;
	const struct cfg_list *pairs = &x->c->root.pairs;
	bool table = cfg_has_flow_table(x->c);

	if (p->map.given && !table)
		WARN(x->s, &p->map, "has no effect: switch.flows is off");
	if (pairs->n != 0 && !table)
		WARN(x->s, &pairs->map, "has no effect: switch.flows is off");
	else if (pairs->n != 0 && !(sources_of(p) >> PAIR_STATIC & 1))
		WARN(x->s, &pairs->map,
		     "has no effect: switch.pairing.sources does not name static");
}

// ---- static pairs
// The address of one host. It may be link-local, because RoCEv2 works between such addresses too.
static bool pair_addr(const struct cfg_val *v, struct policy_addr *out)
{
	static const uint8_t zero[15];

	if (v->text == NULL || !addr_parse(v->text, out) || strchr(v->text, '/') != NULL)
		return false;
	if (out->family == FAMILY_V4)
		return addr_is_station(out);
	return out->ip[0] != 0xff && (memcmp(out->ip, zero, sizeof(zero)) != 0 || out->ip[15] > 1);
}

static bool host_makes_sense(const struct cfg_val *v, struct policy_addr *out, struct diag_sink *s)
{
	if (pair_addr(v, out))
		return true;
	if (v->text != NULL)
		REFUSE(s, v, "\"%s\": expected the address of one host, such as 10.0.0.1", v->text);
	return false;
}

struct addresses {
	struct policy_addr from, to;
};

static bool addresses_make_sense(const struct cfg_pair *p, struct addresses *a, struct diag_sink *s)
{
	bool ok = host_makes_sense(&p->from, &a->from, s);

	ok = host_makes_sense(&p->to, &a->to, s) && ok;
	if (!ok)
		return false;
	if (a->from.family != a->to.family)
		REFUSE(s, &p->to, "%s is not of the same family as %s", p->to.text, p->from.text);
	else if (addr_same(&a->from, &a->to))
		REFUSE(s, &p->to, "a flow goes from one host to another: %s is both", p->to.text);
	else
		return true;
	return false;
}

// One queue pair has one peer.
static void contradictions(const struct cfg_pair *all, const struct addresses *a, unsigned i,
			   struct diag_sink *s)
{
	const struct cfg_pair *p = &all[i];

	for (unsigned j = 0; j < i; j++) {
		if (a[j].from.family != a[i].from.family || !addr_same(&a[j].from, &a[i].from) ||
		    !addr_same(&a[j].to, &a[i].to))
			continue;
		if (p->qp.n == all[j].qp.n) {
			REFUSE(s, &p->qp,
			       "the flow from %s to %s, queue pair 0x%" PRIx64
			       ", is given twice, first on line %u",
			       p->from.text, p->to.text, (uint64_t)p->qp.n, all[j].map.at.line);
			return;
		}
		if (p->sender_qp.n == all[j].sender_qp.n) {
			REFUSE(s, &p->sender_qp,
			       "queue pair 0x%" PRIx64 " of %s already sends to 0x%" PRIx64
			       " of %s, as line %u says: one queue pair has one peer",
			       (uint64_t)p->sender_qp.n, p->from.text, (uint64_t)all[j].qp.n,
			       p->to.text, all[j].map.at.line);
			return;
		}
	}
}

static void pairs_make_sense(const struct subject *x)
{
	const struct cfg_pair *all = x->c->root.pairs.items;
	unsigned n = x->c->root.pairs.n;
	struct addresses *a = calloc(n + 1, sizeof(*a));

	for (unsigned i = 0; a != NULL && i < n; i++) {
		if (!addresses_make_sense(&all[i], &a[i], x->s))
			a[i] = (struct addresses){0}; // of no family
		else if (!all[i].qp.bad && !all[i].sender_qp.bad && all[i].qp.given &&
			 all[i].sender_qp.given)
			contradictions(all, a, i, x->s);
	}
	free(a);
}

void ipcc_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_CLASS, few_is_not_above_many},   {OF_CLASS, ipcc_has_curve_and_table},
		{OF_PROFILE, cnps_leave_in_time},    {OF_POLICY, cnps_leave_in_time},
		{OF_POLICY, each_worker_has_a_flow}, {OF_POLICY, sources_are_given_once},
		{OF_POLICY, pairs_make_sense},	     {OF_POLICY, keys_have_an_effect},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}

// ---- compile
static void compile_pairs(struct compiler *k)
{
	const struct cfg_pair *p = k->c->root.pairs.items;
	unsigned n = cfg_has_flow_table(k->c) ? k->c->root.pairs.n : 0;

	if (n == 0)
		return;
	k->p->pairs = calloc(n, sizeof(*k->p->pairs));
	for (unsigned i = 0; k->p->pairs != NULL && i < n; i++) {
		struct addresses a;

		// The check has refused what is no address.
		if (pair_addr(&p[i].from, &a.from) && pair_addr(&p[i].to, &a.to))
			k->p->pairs[k->p->n_pairs++] = (struct known_pair){
				.key = flow_key_of(a.from.family == FAMILY_V6, a.from.ip, a.to.ip,
						   (uint32_t)p[i].qp.n, KEY_KNOWN),
				.qp = (uint32_t)p[i].sender_qp.n,
				.source = PAIR_STATIC};
	}
}

static uint32_t q16_of(const struct cfg_val *share)
{
	return (uint32_t)((uint64_t)share->n * Q16 / PPM);
}

static void queue_has_quadrants(struct compiler *k, const struct cfg_ipcc *i, unsigned port,
				unsigned queue)
{
	const struct policy_queue *q = &k->p->ports[port].queue[queue];
	const struct ipcc_params *out = &q->ipcc;
	const struct ipcc_depth full = plan_ipcc_depth(k->p, port, queue, Q16);
	const struct ipcc_depth half = plan_ipcc_depth(k->p, port, queue, out->deep_q16);
	uint64_t deep = out->kmax_bytes * out->deep_q16 / Q16;
	const char *share = UNIT_TEXT(UNIT_PERCENT, i->deep.n);

	if (out->kmax_bytes == 0)
		REFUSE(k->s, &i->map, "needs a kmax above 0");
	else if (deep <= out->kmin_bytes)
		WARN(k->s, &i->map,
		     "the queue is never shallow: it is deep from %" PRIu64
		     " B, %s of kmax %" PRIu64 " B, and IPCC looks at it only above kmin %" PRIu64
		     " B",
		     deep, share, out->kmax_bytes, out->kmin_bytes);
	else if (q->egress.lossless && full.all != 0 && full.all <= out->kmin_bytes)
		WARN(k->s, &i->map,
		     "no CNP comes before PAUSE: IPCC looks at the queue only above kmin %" PRIu64
		     " B, and PFC has paused all senders at %" PRIu64 " B" CURE
		     "lower kmin, or raise alpha or static",
		     out->kmin_bytes, full.all);
	else if (half.all != 0 && half.all <= out->kmin_bytes)
		WARN(k->s, &i->map,
		     "the queue is never shallow: its memory reaches %s of the threshold at "
		     "%" PRIu64 " B or less, and IPCC looks at it only above kmin %" PRIu64 " B",
		     share, half.all, out->kmin_bytes);
}

// Between two looks a queue that holds its length still grows and shrinks by a frame.
static void interval_holds_a_frame(struct compiler *k, const struct cfg_ipcc *i,
				   const struct policy_port *p)
{
	int64_t frame_ns = (int64_t)(p->max_frame * 8ull * SECOND_NS / p->speed_bps);

	if (i->interval.n < frame_ns)
		check_report(k->s, DIAG_WARNING, &i->interval, &i->map, "interval",
			     "%s is shorter than the time of a frame of %u B at %s: the trend "
			     "is that of single frames" CURE "use at least %s",
			     UNIT_TEXT(UNIT_TIME, i->interval.n), p->max_frame,
			     UNIT_TEXT(UNIT_RATE, (int64_t)p->speed_bps),
			     UNIT_TEXT(UNIT_TIME, (frame_ns / US_NS + 1) * US_NS));
}

static void compile_queue(const struct cfg_ipcc *i, struct policy_queue *q)
{
	const struct wred_curve *curve = &q->wred.curve[GREEN];
	bool learnt = i->cut.n == CFG_WORD_VALUE;
	uint32_t cut = learnt ? Q16 / 2 : q16_of(&i->cut);

	q->ipcc = (struct ipcc_params){
		.enabled = true,
		.cut_learnt = learnt,
		.cut_q16 = (uint16_t)(cut < Q16 ? cut : Q16 - 1),
		.few = (uint16_t)i->few.n,
		.many = (uint16_t)i->many.n,
		.deep_q16 = q16_of(&i->deep),
		.interval_ns = (uint64_t)i->interval.n,
		.drain_ns = (uint64_t)i->drain.n,
		.min_gap_ns = (uint64_t)i->min_gap.n,
		.spare_ns = (uint64_t)i->spare.n,
		.kmin_bytes = curve->kmin_bytes,
		.kmax_bytes = curve->kmax_bytes,
	};
}

static void compile_cnps(struct compiler *k, unsigned port)
{
	const struct cfg_profile *p = k->c->ports[port].profile;
	struct policy_port *out = &k->p->ports[port];

	out->cnp = (struct cnp_params){.dscp = (uint8_t)p->cnp.dscp.n,
				       .cls = (uint8_t)p->cnp.cls.n,
				       .max_per_ms = (uint32_t)p->cnp.max_rate.n,
				       .burst = (uint32_t)p->cnp.burst.n};
	for (unsigned q = 0; q < N_QUEUES; q++) {
		int cls = check_class_of_queue(p, q);

		if (cls < 0 || !cfg_ipcc_is_on(&p->classes[cls]))
			continue;
		compile_queue(&p->classes[cls].ipcc, &out->queue[q]);
		queue_has_quadrants(k, &p->classes[cls].ipcc, port, q);
		interval_holds_a_frame(k, &p->classes[cls].ipcc, out);
	}
}

void compile_ipcc(struct compiler *k)
{
	const struct cfg_switch *sw = &k->c->root.sw;
	struct policy *p = k->p;

	p->flows = (struct flow_params){
		.max = cfg_has_flow_table(k->c) ? (uint32_t)sw->flows.max.n : 0,
		.age_ns = (uint64_t)sw->flows.age.n};
	p->pairing = (struct pair_params){.matches = (uint8_t)sw->pairing.matches.n,
					  .sources = sources_of(&sw->pairing)};
	if (p->pairing.sources == 0) // none, and not: as it likes
		p->pairing.sources = 1u << PAIR_NONE;
	compile_pairs(k);
	for (unsigned i = 0; i < p->n_ports; i++)
		compile_cnps(k, i);
}

// ---- many switches in one process
void config_small_flows(const struct config *c, struct policy *p)
{
	const struct cfg_flows *f = &c->root.sw.flows;
	bool asked = f->map.given || f->on.given || c->root.pairs.n != 0 ||
		     any_port_has_ipcc(c) || p->elephants.enabled;

	if (p->flows.max != 0 && !f->max.given)
		p->flows.max = asked ? CONFIG_FEW_FLOWS : 0;
}

uint64_t config_flow_bytes(const struct policy *p)
{
	unsigned n = 0, queues;
	uint32_t workers = p->n_workers, shard = (p->flows.max + workers - 1) / workers;
	uint64_t of_worker = flow_table_bytes(shard) + pairing_bytes(shard) + WORKER_BYTES +
			     (uint64_t)(workers - 1) * NOTES_BYTES;

	if (p->flows.max == 0)
		return 0;
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			n += p->ports[i].queue[q].ipcc.enabled;
	queues = n > p->n_ports ? n : p->n_ports;
	return workers * of_worker + (uint64_t)queues * (sizeof(struct feed) + QUEUE_BYTES);
}
