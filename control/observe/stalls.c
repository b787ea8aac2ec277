// SPDX-License-Identifier: Apache-2.0
// Members of rows about workers that stand still, and about the stand-in that pauses their peers.
#include "control/observe/observe_impl.h"
#include "drivers/standin/standin.h"

static const struct standin_shared *shared_of(const struct observe *o)
{
	static const struct standin_shared none;

	return o->standin != NULL ? o->standin->shared : &none;
}

struct stall_counts stall_counts_now(const struct observe *o, unsigned worker)
{
	const struct standin_worker *w = &shared_of(o)->workers[worker];

	return (struct stall_counts){.stalls = ctr_get(&w->beat.stalls),
				     .stalled_ns = ctr_get(&w->beat.stalled_ns),
				     .late = ctr_get(&w->beat.late),
				     .episodes = ctr_get(&w->episodes)};
}

uint64_t standin_sent(const struct observe *o, unsigned port)
{
	return ctr_get(&shared_of(o)->ports[port].sent);
}

uint64_t worker_waited_ns(const struct observe *o, unsigned worker)
{
	return ctr_get(&shared_of(o)->workers[worker].beat.waited_ns);
}

void emit_worker_stalls(const struct show *s, unsigned worker, struct json_object *row)
{
	static const struct stall_counts start;
	struct stall_counts now = stall_counts_now(s->o, worker);
	const struct stall_counts *base =
		s->flags & OBSERVE_RAW ? &start : &s->o->stall_base[worker];

	row_u64(row, "stalls", now.stalls - base->stalls);
	row_u64(row, "stalled_ns", now.stalled_ns - base->stalled_ns);
	row_u64(row, "stand_in_gaps", now.late - base->late);
	row_u64(row, "stand_ins", now.episodes - base->episodes);
}

// What the peer is told while the port's worker stands still.
static const char *when_stalled(const struct observe *o, unsigned port)
{
	const struct policy *p = policy_of(o);
	const struct pfc_params *pfc = &p->ports[port].pfc;

	if ((pfc->tx & pfc->lossless) == 0 || !switch_port(o->sw, port)->facts.pfc_tx)
		return "no PFC";
	if (p->stall.pause_after_ns == 0)
		return "no PAUSE: off";
	if (o->standin == NULL || o->standin->pid == 0)
		return "no PAUSE: no stand-in";
	if (o->standin->shared->ports[port].ifindex == 0)
		return "no PAUSE: no interface";
	return "PAUSE";
}

void emit_port_stalls(const struct show *s, unsigned port, struct json_object *row)
{
	row_u64(row, "pfc_standin_sent",
		standin_sent(s->o, port) - baseline(s, port)->standin_sent);
	row_text(row, "when_stalled", when_stalled(s->o, port));
}
