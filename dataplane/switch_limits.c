// SPDX-License-Identifier: Apache-2.0
// Control's side of the rates that a port may exceed, and of what should not come in at all: the
// owner counts, control reads the counters and tells once that it began and once that it is over. A
// flood of frames makes no flood of events, and nothing depends on a worker's event ring.
#include "dataplane/switch_impl.h"

enum { LOOK_EVERY_NS = 100000000 };
static const uint64_t CALM_NS = 5000000000;

// True: *e is to be given out. An event that finds no room is given out at the next look.
static bool look(struct limit_watch *l, uint64_t frames, uint64_t now_ns, bool *began)
{
	if (frames != l->seen) {
		*began = true;
		if (!l->exceeded)
			l->before = l->seen;
		l->seen = frames;
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

// A switch without lossless classes has RoCE in lossy ones on purpose.
static uint64_t counted(const struct weir_switch *sw, unsigned port, unsigned kind)
{
	const struct port_counters *c = &sw->port[port]->c;

	if (kind < N_LIMIT_KINDS)
		return ctr_get(&c->limited[kind]);
	return sw->policy_mem->ports[port].classify.lossless != 0 ? ctr_get(&c->roce_in_lossy_class)
								  : 0;
}

static struct event event_of(const struct weir_switch *sw, unsigned port, unsigned kind, bool began,
			     uint64_t now_ns)
{
	const struct limit_watch *l = &sw->limits[port][kind];
	struct event e = {.t_ns = now_ns, .port = (uint8_t)port, .cls = CLASS_NONE, .a = kind,
			  .b = l->seen - l->before};

	if (kind == WATCH_ROCE_LOSSY) {
		uint64_t latest = gauge_get(&sw->port[port]->c.roce_lossy_latest);

		e.type = began ? EVENT_ROCE_LOSSY : EVENT_ROCE_LOSSY_OVER;
		e.a = (uint32_t)(latest >> 8);
		e.cls = (uint8_t)latest;
	} else if (kind == LIMIT_COPP) {
		e.type = began ? EVENT_COPP : EVENT_COPP_OVER;
	} else {
		e.type = began ? EVENT_STORM_CONTROL : EVENT_STORM_CONTROL_OVER;
	}
	return e;
}

unsigned limits_look(struct weir_switch *sw, uint64_t now_ns, struct event *events, unsigned n)
{
	unsigned k = 0;

	if (sw->limits_ns != 0 && now_ns - sw->limits_ns < LOOK_EVERY_NS)
		return 0;
	sw->limits_ns = now_ns;
	for (unsigned i = 0; i < sw->n_ports * N_WATCHED && k < n; i++) {
		unsigned port = i / N_WATCHED, kind = i % N_WATCHED;
		bool began;

		if (look(&sw->limits[port][kind], counted(sw, port, kind), now_ns, &began))
			events[k++] = event_of(sw, port, kind, began, now_ns);
	}
	return k;
}
