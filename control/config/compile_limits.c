// SPDX-License-Identifier: Apache-2.0
// Limits of each port: token buckets in frames per second, and the probes for loop detection.
#include "control/config/check.h"
#include "control/config/compile.h"
#include "control/config/model_limits.h"

// A ring of control's takes COPP_MAX_BURST at least (switch_routes.c).
enum { BURSTS_PER_S = 4, COPP_MAX_BURST = 250 };

static struct policer_params rate(const struct cfg_val *pps, int64_t max_burst)
{
	int64_t burst = pps->n / BURSTS_PER_S;

	return policer_of((uint32_t)pps->n, (uint32_t)(burst < max_burst ? burst : max_burst));
}

static bool loop_on(const struct cfg_loop_detect *l)
{
	return l->on.given ? l->on.n != 0 : l->map.given;
}

static void of_routed(struct compiler *k, const struct cfg_port *p)
{
	if (p->storm_control.map.given)
		check_report(k->s, DIAG_WARNING, &p->map, "storm_control", p->storm_control.map.at,
			     "limits nothing: a port with ip replicates no frame");
	if (loop_on(&p->loop_detect))
		check_report(k->s, DIAG_WARNING, &p->map, "loop_detect", p->map.at,
			     "finds nothing: a port with ip is no part of the bridge");
}

static void compile_port(struct compiler *k, const struct cfg_port *p, struct policy_port *out)
{
	out->limit[LIMIT_COPP] = rate(&p->copp, COPP_MAX_BURST);
	out->limit[LIMIT_BROADCAST] = rate(&p->storm_control.broadcast, UINT32_MAX);
	out->limit[LIMIT_UNKNOWN_UNICAST] = rate(&p->storm_control.unknown_unicast, UINT32_MAX);
	out->limit[LIMIT_MULTICAST] = rate(&p->storm_control.multicast, UINT32_MAX);
	out->loop = (struct loop_params){
		.on = loop_on(&p->loop_detect) && !out->routed,
		.port_down = p->loop_detect.action.n == LOOP_ACTION_PORT_DOWN,
		.recover_ns = (uint64_t)p->loop_detect.recover.n,
	};
	k->p->loop_detect |= out->loop.on;
}

void compile_limits(struct compiler *k)
{
	for (unsigned i = 0; i < k->p->n_ports; i++) {
		const struct cfg_port *p = k->c->ports[i].item;

		compile_port(k, p, &k->p->ports[i]);
		if (k->p->ports[i].routed && (i == 0 || k->c->ports[i - 1].item != p))
			of_routed(k, p);
		else if (!k->p->ports[i].routed && p->copp.given)
			check_report(k->s, DIAG_WARNING, &p->map, "copp", p->copp.at,
				     "limits nothing: a port without ip hands no ARP to control");
	}
	k->p->control_sends = k->p->loop_detect || k->p->routes.any;
}
