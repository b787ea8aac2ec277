// SPDX-License-Identifier: Apache-2.0
#include "control/lab/level.h"

#include <stdlib.h>
#include <string.h>

#include "control/lab/fabric.h"
#include "dataplane/policy.h"

static uint64_t level_queue_bytes(const struct weir_switch *sw, const struct level *l)
{
	unsigned first = l->port < 0 ? 0 : (unsigned)l->port;
	unsigned last = l->port < 0 ? switch_policy(sw)->n_ports : first + 1;
	uint64_t bytes = 0;

	for (unsigned p = first; p < last; p++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (l->queue < 0 || q == (unsigned)l->queue)
				bytes += gauge_get(&switch_queue_counters(sw, p, q)->length_bytes);
	return bytes;
}

static void count_time(struct level *l, uint64_t now_ns)
{
	uint64_t ns = now_ns - l->to_ns, bin, n;

	l->to_ns = now_ns;
	if (ns == 0)
		return;
	l->area += (level_area)l->bytes * ns;
	if (l->bytes > l->max_bytes)
		l->max_bytes = l->bytes;
	if (l->bytes > l->above_bytes)
		l->above_ns += ns;
	if (l->bin_bytes == 0)
		return;
	bin = l->bytes / l->bin_bytes;
	for (n = l->n_bins == 0 ? 64 : l->n_bins; n <= bin; n *= 2)
		;
	if (n != l->n_bins) {
		uint64_t *more = realloc(l->bin_ns, n * sizeof(*more));

		if (more == NULL) {
			l->out_of_memory = true;
			return;
		}
		memset(more + l->n_bins, 0, (n - l->n_bins) * sizeof(*more));
		l->bin_ns = more;
		l->n_bins = n;
	}
	l->bin_ns[bin] += ns;
}

void level_begin(struct fabric *f, struct level *l)
{
	struct fabric_switch *s = &f->switches[l->sw];

	l->from_ns = l->to_ns = f->clock.now_ns;
	l->max_bytes = l->above_ns = 0;
	l->area = 0;
	l->bytes = level_queue_bytes(s->in.sw, l);
	TAILQ_INSERT_TAIL(&s->levels, l, next);
}

void level_end(struct fabric *f, struct level *l)
{
	count_time(l, f->clock.now_ns);
	TAILQ_REMOVE(&f->switches[l->sw].levels, l, next);
}

void level_fini(struct level *l)
{
	free(l->bin_ns);
}

void level_switch_stepped(struct fabric *f, uint32_t sw)
{
	struct fabric_switch *s = &f->switches[sw];
	struct level *l;

	TAILQ_FOREACH(l, &s->levels, next)
	{
		count_time(l, f->clock.now_ns);
		l->bytes = level_queue_bytes(s->in.sw, l);
	}
}

double level_mean_bytes(const struct level *l)
{
	uint64_t ns = l->to_ns - l->from_ns;

	return ns == 0 ? __builtin_nan("") : (double)l->area / (double)ns;
}

double level_share_above(const struct level *l)
{
	uint64_t ns = l->to_ns - l->from_ns;

	return ns == 0 ? __builtin_nan("") : (double)l->above_ns / (double)ns;
}

// Bitmap of the queues of a port that are above kmin.
static uint8_t above(const struct weir_switch *sw, uint32_t port, int queue)
{
	const struct policy_port *p = &switch_policy(sw)->ports[port];
	uint8_t map = 0;

	for (int q = 0; q < (int)N_QUEUES; q++) {
		const struct wred_params *w = &p->queue[q].wred;

		if ((queue < 0 || q == queue) && w->enabled &&
		    gauge_get(&switch_queue_counters(sw, port, (unsigned)q)->length_bytes) >
			    w->curve[GREEN].kmin_bytes)
			map |= (uint8_t)(1u << q);
	}
	return map;
}

// True: a queue has risen since the last look.
static bool rose(struct watch *w, const struct weir_switch *sw)
{
	uint32_t n_ports = switch_policy(sw)->n_ports;
	bool any = false;

	for (uint32_t p = 0; p < n_ports; p++) {
		uint8_t now;

		if (!(w->port < 0 || (uint32_t)w->port == p))
			continue;
		now = above(sw, p, w->queue);
		any |= (now & ~w->above[p]) != 0;
		w->above[p] = now;
	}
	return any;
}

void watch_crossing(struct fabric *f, struct watch *w)
{
	struct fabric_switch *s = &f->switches[w->node];

	w->t_ns = UINT64_MAX;
	for (uint32_t p = 0; p < POLICY_MAX_PORTS; p++)
		w->above[p] = 0;
	(void)rose(w, s->in.sw);
	w->of = &s->crossings;
	TAILQ_INSERT_TAIL(w->of, w, next);
}

void watch_end(struct watch *w)
{
	if (w->t_ns == UINT64_MAX)
		TAILQ_REMOVE(w->of, w, next);
}

static void happened(struct watch *w, uint64_t now_ns)
{
	w->t_ns = now_ns;
	TAILQ_REMOVE(w->of, w, next);
}

void watch_switch_stepped(struct fabric *f, uint32_t sw)
{
	struct fabric_switch *s = &f->switches[sw];
	struct watch *w, *following;

	for (w = TAILQ_FIRST(&s->crossings); w != NULL; w = following) {
		following = TAILQ_NEXT(w, next);
		if (rose(w, s->in.sw))
			happened(w, f->clock.now_ns);
	}
}

// ---- cuts

void watch_cut(struct fabric *f, struct watch *w)
{
	w->t_ns = UINT64_MAX;
	w->of = &f->cuts;
	TAILQ_INSERT_TAIL(w->of, w, next);
}

void watch_host_cut(struct fabric *f, uint32_t host, uint64_t now_ns)
{
	struct watch *w, *following;

	for (w = TAILQ_FIRST(&f->cuts); w != NULL; w = following) {
		following = TAILQ_NEXT(w, next);
		if (w->node == UINT32_MAX || w->node == host)
			happened(w, now_ns);
	}
}
