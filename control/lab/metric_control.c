// SPDX-License-Identifier: Apache-2.0
#include "control/lab/metric_control.h"

#include "control/inof/registry.h"
#include "control/lab/discovery.h"
#include "control/lab/inof.h"
#include "control/observe/burstlog.h"

// Of a port as a whole: class 0 stands for all of them.
static double dcbx_is(const struct metric_part *at, enum dcbx_state state)
{
	return at->cls == 0 &&
	       discovery_state(at->w->fabric->discovery, at->o->node, at->port) == state;
}

double metric_dcbx_agreed(const struct metric_part *at)
{
	return dcbx_is(at, DCBX_AGREED);
}

double metric_dcbx_mismatches(const struct metric_part *at)
{
	return dcbx_is(at, DCBX_MISMATCH);
}

double metric_dcbx_events(const struct metric_part *at)
{
	return at->cls != 0 ? 0
			    : (double)discovery_mismatches(at->w->fabric->discovery, at->o->node,
							   at->port);
}

// None for another class of the queue than the lowest.
double metric_bursts(const struct metric_part *at)
{
	const struct burstlog *l = at->w->fabric->switches[at->o->node].bursts;
	const uint8_t *to = switch_policy(at->sw)->ports[at->port].classify.class_to_queue;

	for (unsigned cls = 0; cls < at->cls; cls++)
		if (to[cls] == to[at->cls])
			return 0;
	return l == NULL ? 0
			 : (double)burstlog_counts(l, at->port, to[at->cls], true).bursts;
}

// NULL: the switch has no iNOF, or the number is not that of the port as a whole.
static const struct inof_counters *inof_at(const struct metric_part *at)
{
	const struct inof_registry *r = lab_inof_registry(at->w->fabric->inof, at->o->node);

	return at->cls != 0 || r == NULL ? NULL : inof_counters(r, at->port);
}

double metric_notices(const struct metric_part *at)
{
	const struct inof_counters *n = inof_at(at);

	return n == NULL ? 0 : (double)n->notices;
}

double metric_notices_repeated(const struct metric_part *at)
{
	const struct inof_counters *n = inof_at(at);

	return n == NULL ? 0 : (double)n->repeated;
}

double metric_notice_acks(const struct metric_part *at)
{
	const struct inof_counters *n = inof_at(at);

	return n == NULL ? 0 : (double)n->acks;
}

// Hosts that are online: of other switches, or at the port.
static double hosts_of(const struct metric_part *at, enum inof_origin origin)
{
	const struct inof_registry *r = lab_inof_registry(at->w->fabric->inof, at->o->node);
	struct inof_host_view h;
	double n = 0;

	for (unsigned i = 0; r != NULL && i < INOF_HOSTS; i++)
		n += inof_host(r, i, at->w->fabric->clock.now_ns, &h) && h.origin == origin &&
		     (origin == INOF_AT_PEER || h.port == at->port) && h.online;
	return n;
}

double metric_inof_hosts(const struct metric_part *at)
{
	return at->cls != 0 ? 0 : hosts_of(at, INOF_AT_PORT);
}

double metric_inof_peer_hosts(const struct metric_part *at)
{
	return hosts_of(at, INOF_AT_PEER);
}

double metric_outage(const struct metric_world *w, uint32_t flow)
{
	return (double)traffic_flow_paths(w->traffic, flow).outage_ns;
}

double metric_path_moves(const struct metric_world *w, uint32_t flow)
{
	return (double)traffic_flow_paths(w->traffic, flow).moves;
}

double metric_failed(const struct metric_world *w, uint32_t flow)
{
	return (double)traffic_flow_paths(w->traffic, flow).failed;
}
