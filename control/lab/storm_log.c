// SPDX-License-Identifier: Apache-2.0
#include "control/lab/storm_log.h"

#include <stdlib.h>

#include "dataplane/qos/watchdog.h"

void storm_log_fini(struct storm_log *l)
{
	free(l->records);
	*l = (struct storm_log){0};
}

static void add(struct storm_log *l, const struct storm_record *r)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap == 0 ? 64 : 2 * l->cap;
		struct storm_record *more = realloc(l->records, cap * sizeof(*more));

		if (more == NULL) {
			l->short_of_memory = true;
			return;
		}
		l->records = more;
		l->cap = cap;
	}
	l->records[l->n++] = *r;
}

void storm_log_event(struct storm_log *l, uint32_t sw, const struct event *e)
{
	struct storm_record r = {.t_ns = e->t_ns, .sw = sw, .port = e->port, .cls = e->cls};

	if (e->type == EVENT_STORM)
		r.what = STORM_DETECTED;
	else if (e->type == EVENT_STORM_OVER)
		r.what = STORM_RESTORED;
	else if (e->type == EVENT_STORM_LIMIT)
		r.what = STORM_ESCALATED;
	else
		return;
	add(l, &r);
}

static void catch_up(struct storm_log *l, const struct storm_pick *p, uint64_t known, uint64_t t_ns)
{
	for (uint64_t n = storm_log_count(l, p); n < known; n++)
		add(l, &(struct storm_record){.t_ns = t_ns,
					      .sw = p->sw,
					      .port = (uint8_t)p->port,
					      .cls = (uint8_t)p->cls,
					      .what = (uint8_t)p->what});
}

void storm_log_catch_up(struct storm_log *l, uint32_t sw, const struct weir_switch *s)
{
	for (unsigned port = 0; port < switch_policy(s)->n_ports; port++)
		for (unsigned c = 0; c < N_CLASSES; c++) {
			const struct watchdog_class *w = switch_watchdog(s, port, c);
			struct storm_pick p = {.sw = sw,
					       .port = (int)port,
					       .cls = (int)c,
					       .what = STORM_DETECTED,
					       .to_ns = UINT64_MAX};

			catch_up(l, &p, ctr_get(&w->detected), gauge_get(&w->since_ns));
			p.what = STORM_RESTORED;
			catch_up(l, &p, ctr_get(&w->restored), gauge_get(&w->since_ns));
		}
}

static bool fits(const struct storm_record *r, const struct storm_pick *p)
{
	return r->what == p->what && (p->sw == UINT32_MAX || r->sw == p->sw) &&
	       (p->port < 0 || r->port == p->port) && (p->cls < 0 || r->cls == p->cls) &&
	       r->t_ns >= p->from_ns && r->t_ns < p->to_ns;
}

uint64_t storm_log_count(const struct storm_log *l, const struct storm_pick *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += fits(&l->records[i], p);
	return n;
}

// Several ports may be meant, whose records came in the order of switches: sorted by time here.
bool storm_log_nth(const struct storm_log *l, const struct storm_pick *p, uint64_t nth,
		   uint64_t *t_ns)
{
	uint64_t last = 0;

	for (uint64_t n = 0; n < nth;) {
		uint64_t next = UINT64_MAX, same = 0;

		for (uint32_t i = 0; i < l->n; i++) {
			uint64_t t = l->records[i].t_ns;

			if (!fits(&l->records[i], p) || (n != 0 && t <= last) || t > next)
				continue;
			same = t == next ? same + 1 : 1;
			next = t;
		}
		if (same == 0)
			return false;
		last = next;
		n += same;
	}
	*t_ns = last;
	return nth != 0;
}
