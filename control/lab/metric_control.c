// SPDX-License-Identifier: Apache-2.0
#include "control/lab/metric_control.h"

#include "control/autoecn/agent.h"
#include "control/inof/registry.h"
#include "control/lldp/agent.h"
#include "control/microbursts/burstlog.h"
#include "dataplane/policy.h"

static const struct instance *switch_instance(const struct metric_part *at)
{
	return &at->w->fabric->switches[at->o->node].in;
}

// Of a port as a whole: class 0 stands for all of them.
static double dcbx_is(const struct metric_part *at, enum dcbx_state state)
{
	struct dcbx_view v;

	if (at->cls != 0)
		return 0;
	lldp_dcbx(instance_lldp(switch_instance(at)), at->port, &v);
	return v.state == state;
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
			    : (double)at->w->fabric->switches[at->o->node].mismatches[at->port];
}

// None for another class of the queue than the lowest.
double metric_bursts(const struct metric_part *at)
{
	const struct burstlog *l = instance_microbursts(switch_instance(at));
	const uint8_t *to = switch_policy(at->sw)->ports[at->port].classify.class_to_queue;

	for (unsigned cls = 0; cls < at->cls; cls++)
		if (to[cls] == to[at->cls])
			return 0;
	return l == NULL ? 0
			 : (double)burstlog_counts(l, at->port, to[at->cls], true).bursts;
}

// None for another class of the queue than the lowest.
double metric_ecn_changes(const struct metric_part *at)
{
	const uint8_t *to = switch_policy(at->sw)->ports[at->port].classify.class_to_queue;
	struct autoecn_view v;

	return autoecn_view(instance_auto_ecn(switch_instance(at)), at->port, to[at->cls], &v) &&
			       v.cls == at->cls && v.on
		       ? (double)v.n_changes
		       : 0;
}

static struct wred_params wred_in_force(const struct metric_part *at)
{
	const struct policy *p = switch_policy(at->sw);

	return autoecn_wred(instance_auto_ecn(switch_instance(at)), p, at->port,
			    p->ports[at->port].classify.class_to_queue[at->cls]);
}

double metric_kmin(const struct metric_part *at)
{
	return (double)wred_in_force(at).curve[GREEN].kmin_bytes;
}

double metric_kmax(const struct metric_part *at)
{
	return (double)wred_in_force(at).curve[GREEN].kmax_bytes;
}

// NULL: the switch has no iNOF, or the number is not that of the port as a whole.
static const struct inof_counters *inof_at(const struct metric_part *at)
{
	const struct inof_registry *r = instance_inof(switch_instance(at));

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
	const struct inof_registry *r = instance_inof(switch_instance(at));
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
