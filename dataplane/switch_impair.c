// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_impair.h"

#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/impair.h"

// The port's, made when it is first of use.
static struct impair *impair_of(struct weir_switch *sw, unsigned port)
{
	struct impair *im = atomic_load(&sw->want.impair[port]);

	if (im != NULL)
		return im;
	im = rte_zmalloc("impair", sizeof(*im), RTE_CACHE_LINE_SIZE);
	if (im != NULL)
		atomic_store_explicit(&sw->want.impair[port], im, memory_order_release);
	return im;
}

static uint8_t state_of(const struct impair_slot *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire);
}

// One that was never used, else the rule that has been known longest of those that are over. A rule
// that is over may still hold frames.
static struct impair_slot *free_slot(struct impair *im)
{
	struct impair_slot *best = NULL;

	for (unsigned i = 0; i < IMPAIR_SLOTS; i++) {
		struct impair_slot *s = &im->slot[i];

		if (state_of(s) == IMPAIR_FREE)
			return s;
		if (state_of(s) == IMPAIR_OVER && gauge_get(&s->held) == 0 &&
		    (best == NULL || s->id < best->id))
			best = s;
	}
	return best;
}

int switch_impair_add(struct weir_switch *sw, unsigned port, const struct impair_rule *rule,
		      uint32_t *id)
{
	struct impair *im = impair_of(sw, port);
	struct impair_slot *s;

	if (im == NULL)
		return -ENOMEM;
	s = free_slot(im);
	if (s == NULL)
		return -ENOSPC;
	s->rule = *rule;
	s->id = ++sw->n_impairments;
	s->base.hits = ctr_get(&s->hits);
	s->base.changed = ctr_get(&s->changed);
	s->base.unable = ctr_get(&s->unable);
	relaxed_set(&s->stop, false);
	atomic_store_explicit(&s->state, IMPAIR_ORDERED, memory_order_release);
	control_request(sw);
	*id = s->id;
	return 0;
}

unsigned switch_impair_stop(struct weir_switch *sw, uint32_t id)
{
	unsigned n = 0;

	for (unsigned port = 0; port < sw->n_ports; port++) {
		struct impair *im = atomic_load(&sw->want.impair[port]);

		for (unsigned i = 0; im != NULL && i < IMPAIR_SLOTS; i++) {
			struct impair_slot *s = &im->slot[i];
			uint8_t state = state_of(s);

			if ((id != 0 && s->id != id) ||
			    (state != IMPAIR_ORDERED && state != IMPAIR_ON &&
			     gauge_get(&s->held) == 0))
				continue;
			relaxed_set(&s->stop, true);
			n++;
		}
	}
	if (n != 0)
		control_request(sw);
	return n;
}

static void view(const struct impair_slot *s, unsigned port, struct impair_view *out)
{
	*out = (struct impair_view){
		.rule = &s->rule, .id = s->id, .port = port, .state = state_of(s),
		.why = relaxed_get(&s->why), .hits = ctr_get(&s->hits) - s->base.hits,
		.changed = ctr_get(&s->changed) - s->base.changed,
		.unable = ctr_get(&s->unable) - s->base.unable,
		.end_ns = gauge_get(&s->end_ns), .held = gauge_get(&s->held)};
}

bool switch_impair_get(const struct weir_switch *sw, unsigned i, struct impair_view *out)
{
	for (unsigned port = 0; port < sw->n_ports; port++) {
		const struct impair *im = atomic_load(&sw->want.impair[port]);

		for (unsigned k = 0; im != NULL && k < IMPAIR_SLOTS; k++)
			if (state_of(&im->slot[k]) != IMPAIR_FREE && i-- == 0) {
				view(&im->slot[k], port, out);
				return true;
			}
	}
	return false;
}

void impair_free(struct impair *im)
{
	rte_free(im);
}
