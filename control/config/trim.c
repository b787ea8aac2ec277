// SPDX-License-Identifier: Apache-2.0
// Packet trimming of a configuration: the rules between its keys, and its part of the compiled
// policy.
#include "control/base/rows.h"
#include "control/config/compile.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/qos/shaper.h"

static bool class_trims(const struct cfg_class *c)
{
	return c->egress.discard.n == DISCARD_TRIM;
}

static bool from_class(const struct cfg_trim *t)
{
	return t->dscp.n == CFG_WORD_VALUE;
}

// Bitmap: the queues of a profile that trim frames.
static uint8_t trimming_queues(const struct cfg_profile *p)
{
	uint8_t queues = 0;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		int cls = check_class_of_queue(p, q);

		queues |= (uint8_t)(cls >= 0 && class_trims(&p->classes[cls]) ? 1u << q : 0);
	}
	return queues;
}

// Queue and class in which trimmed frames leave by ports of the profile. *cls: -1 where no class
// has the queue.
static unsigned trim_queue_of_profile(const struct cfg_trim *t, const struct cfg_profile *p,
				      int *cls)
{
	unsigned by_dscp = from_class(t) ? (unsigned)t->cls.n
					 : cfg_dscp_class(p, (unsigned)t->dscp.n);
	unsigned mapped = cfg_mapped(&p->class_to_queue, by_dscp);
	unsigned queue = t->queue.n == CFG_WORD_VALUE ? mapped : (unsigned)t->queue.n;

	*cls = mapped == queue ? (int)by_dscp : check_class_of_queue(p, queue);
	return queue;
}

// ---- rules

static void class_is_named(const struct subject *x)
{
	const struct cfg_trim *t = &x->c->root.sw.trim;

	if (!t->map.given || t->dscp.bad)
		return;
	if (from_class(t) && !t->cls.given)
		REFUSE(x->s, &t->dscp,
		       "from_class takes the DSCP of a class, and none is named" CURE
		       "add class: N");
	if (!from_class(t) && t->cls.given)
		WARN(x->s, &t->cls, "has no effect: dscp is a number" CURE
				    "write dscp: from_class, or remove class");
}

static void trimming_has_settings(const struct subject *x)
{
	if (class_trims(x->cls) && !x->cls->lossless.n && !x->c->root.sw.trim.map.given)
		REFUSE(x->s, &x->cls->egress.discard,
		       "trim needs the settings of trimming" CURE
		       "add switch.trim: {size: 128, dscp: 48}");
}

static void trimmed_frames_have_a_way(const struct subject *x)
{
	const struct cfg_trim *t = &x->c->root.sw.trim;
	const struct cfg_profile *p = x->profile;
	uint8_t queues = trimming_queues(p);
	unsigned queue;
	int cls;

	if (queues == 0 || !t->map.given || t->dscp.bad || (from_class(t) && !t->cls.given))
		return;
	queue = trim_queue_of_profile(t, p, &cls);
	if (cls < 0)
		REFUSE(x->s, &t->queue, "no class of profile %s has queue %u" CURE
					"choose a queue of its class_to_queue, or auto",
		       p->map.name, queue);
	if (queues >> queue & 1)
		REFUSE(x->s, &p->classes[check_class_of_queue(p, queue)].egress.discard,
		       "trimmed frames go to queue %u, so this queue cannot trim its own" CURE
		       "choose another switch.trim.queue, or remove discard here",
		       queue);
	if (from_class(t) && !(p->remark.dscp.set >> t->cls.n & 1))
		REFUSE(x->s, &t->dscp,
		       "remark.dscp of profile %s has no DSCP for class %u" CURE
		       "add remark: {dscp: {%u: DSCP}} to the profile",
		       p->map.name, (unsigned)t->cls.n, (unsigned)t->cls.n);
}

// A strict queue goes ahead of all that is not strict, and trimmed frames come as fast as senders
// without congestion control repeat.
static void trimmed_frames_leave_room(const struct subject *x)
{
	const struct cfg_trim *t = &x->c->root.sw.trim;
	const struct cfg_profile *p = x->profile;
	const struct cfg_class *c;
	unsigned queue;
	int cls;

	if (trimming_queues(p) == 0 || !t->map.given || t->dscp.bad || t->share.given)
		return;
	queue = trim_queue_of_profile(t, p, &cls);
	c = &p->classes[cls < 0 ? 0 : cls];
	if (cls < 0 || !c->schedule.strict.given || c->max_rate.n != 0)
		return;
	for_each_bit (other, cfg_lossless(p))
		if (other != (unsigned)cls && !p->classes[other].schedule.strict.given) {
			WARN(x->s, &t->map,
			     "trimmed frames leave profile %s by queue %u, which is strict: they "
			     "can take the line from lossless class %u" CURE
			     "add share: 10%%, or share: 100%% where that is wanted",
			     p->map.name, queue, other);
			return;
		}
}

void trim_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_POLICY, class_is_named},
		{OF_CLASS, trimming_has_settings},
		{OF_PROFILE, trimmed_frames_have_a_way},
		{OF_PROFILE, trimmed_frames_leave_room},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}

// ---- compile

enum { SHARE_BURST_FRAMES = 512 };

// The shaper of the share. A burst may be 512 trimmed frames, or a millisecond of the share if that
// is more.
static struct shaper_params share_of(const struct cfg_trim *t, uint64_t speed_bps)
{
	uint64_t rate_bps = speed_bps * (uint64_t)t->share.n / (uint64_t)PERCENT(100);
	uint64_t frames_ns = SHARE_BURST_FRAMES * 8ull *
			     ((uint64_t)t->size.n + LINK_OVERHEAD_BYTES) * SECOND_NS / rate_bps;

	if (t->share.n == PERCENT(100))
		return (struct shaper_params){0};
	return shaper_of(rate_bps, max_u64(frames_ns, MS_NS));
}

void compile_trim(struct compiler *k)
{
	const struct cfg_trim *t = &k->c->root.sw.trim;

	for (unsigned i = 0; t->map.given && i < k->p->n_ports; i++) {
		const struct cfg_profile *p = k->c->ports[i].profile;
		int cls;
		unsigned queue = trim_queue_of_profile(t, p, &cls);

		if (cls < 0) // the checks allow it where no queue trims
			continue;
		k->p->ports[i].trim = (struct trim_params){
			.queues = trimming_queues(p),
			.queue = (uint8_t)queue,
			.cls = (uint8_t)cls,
			.dscp = from_class(t) ? p->remark.dscp.v[t->cls.n] : (uint8_t)t->dscp.n,
			.size = (uint16_t)t->size.n,
			.exact = t->lengths.n == TRIM_EXACT,
		};
		k->p->ports[i].trim_share = share_of(t, k->p->ports[i].speed_bps);
	}
}
