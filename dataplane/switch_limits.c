// SPDX-License-Identifier: Apache-2.0
// Control's side of the rates that a port may exceed: the owner drops and counts, control reads the
// counters and tells once that it began and once that it is over. A flood of drops makes no flood
// of events, and nothing depends on a worker's event ring.
#include "dataplane/switch_impl.h"

enum { LOOK_EVERY_NS = 100000000 };
static const uint64_t CALM_NS = 5000000000;

// True: *e is to be told. An event that finds no room is told at the next look.
static bool look(struct limit_watch *l, uint64_t drops, uint64_t now_ns, bool *began)
{
	if (drops != l->seen) {
		*began = true;
		if (!l->exceeded)
			l->before = l->seen;
		l->seen = drops;
		l->last_ns = now_ns;
		if (l->exceeded)
			return false;
		return l->exceeded = true;
	}
	*began = false;
	if (!l->exceeded || now_ns - l->last_ns < CALM_NS)
		return false;
	l->exceeded = false;
	return true;
}

static struct event event_of(const struct limit_watch *l, unsigned port, unsigned kind, bool began,
			     uint64_t now_ns)
{
	struct event e = {.t_ns = now_ns, .port = (uint8_t)port, .cls = 0xff, .a = kind,
			  .b = l->seen - l->before};

	if (kind == LIMIT_COPP)
		e.type = began ? EVENT_COPP : EVENT_COPP_OVER;
	else
		e.type = began ? EVENT_STORM_CONTROL : EVENT_STORM_CONTROL_OVER;
	return e;
}

unsigned limits_look(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	unsigned k = 0;

	if (sw->limits_ns != 0 && now_ns - sw->limits_ns < LOOK_EVERY_NS)
		return 0;
	sw->limits_ns = now_ns;
	for (unsigned i = 0; i < sw->n_ports * N_LIMIT_KINDS && k < n; i++) {
		unsigned port = i / N_LIMIT_KINDS, kind = i % N_LIMIT_KINDS;
		struct limit_watch *l = &sw->limits[port][kind];
		bool began;

		if (look(l, ctr_get(&sw->rt[port]->c.limited[kind]), now_ns, &began))
			events[k++] = event_of(l, port, kind, began, now_ns);
	}
	return k;
}
