// SPDX-License-Identifier: Apache-2.0
#include "control/lab/watch.h"

#include "control/lab/fabric.h"

enum { QUEUES = 8 };

// Bitmap of the queues of a port that are above kmin.
static uint8_t above(const struct weir_switch *sw, uint32_t port, int queue)
{
	const struct policy_port *p = &switch_policy(sw)->ports[port];
	uint8_t map = 0;

	for (int q = 0; q < QUEUES; q++) {
		const struct wred_params *w = &p->queue[q].wred;

		if ((queue < 0 || q == queue) && w->enabled &&
		    gauge_get(&switch_queue_counters(sw, port, (unsigned)q)->length_bytes) >
			    w->curve[GREEN].kmin_bytes)
			map |= (uint8_t)(1u << q);
	}
	return map;
}

static bool has_port(const struct watch *w, uint32_t port)
{
	return w->port < 0 || (uint32_t)w->port == port;
}

// True: a queue has risen since the last look.
static bool rose(struct watch *w, const struct weir_switch *sw)
{
	uint32_t n_ports = switch_policy(sw)->n_ports;
	bool any = false;

	for (uint32_t p = 0; p < n_ports; p++) {
		uint8_t now;

		if (!has_port(w, p))
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
	(void)rose(w, s->sw);
	TAILQ_INSERT_TAIL(&s->crossings, w, next);
}

void watch_crossing_end(struct fabric *f, struct watch *w)
{
	if (w->t_ns == UINT64_MAX)
		TAILQ_REMOVE(&f->switches[w->node].crossings, w, next);
}

void watch_switch_stepped(struct fabric *f, uint32_t sw)
{
	struct fabric_switch *s = &f->switches[sw];
	struct watch *w, *following;

	for (w = TAILQ_FIRST(&s->crossings); w != NULL; w = following) {
		following = TAILQ_NEXT(w, next);
		if (!rose(w, s->sw))
			continue;
		w->t_ns = f->clock.now_ns;
		TAILQ_REMOVE(&s->crossings, w, next);
	}
}

// ---- cuts

void watch_cut(struct fabric *f, struct watch *w)
{
	w->t_ns = UINT64_MAX;
	TAILQ_INSERT_TAIL(&f->cuts, w, next);
}

void watch_cut_end(struct fabric *f, struct watch *w)
{
	if (w->t_ns == UINT64_MAX)
		TAILQ_REMOVE(&f->cuts, w, next);
}

void watch_host_cut(struct fabric *f, uint32_t host, uint64_t now_ns)
{
	struct watch *w, *following;

	for (w = TAILQ_FIRST(&f->cuts); w != NULL; w = following) {
		following = TAILQ_NEXT(w, next);
		if (w->node != UINT32_MAX && w->node != host)
			continue;
		w->t_ns = now_ns;
		TAILQ_REMOVE(&f->cuts, w, next);
	}
}
