// SPDX-License-Identifier: Apache-2.0
// LLDP and DCBX of a switch: gives the agent (control/lldp/agent.h) frames, links and time, tells
// its events, and asks for the policy once more when a peer changes PFC of a port.
#include <errno.h>
#include <stdlib.h>

#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/lldp/local.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_punt.h"

enum { ERR_LEN = 256, TAKEN_A_LOOK = 64 };
static const uint64_t RETRY_NS = 5 * (uint64_t)SECOND_NS; // after a policy that was refused

static bool describe_switch_port(void *arg, unsigned port, struct lldp_local *out)
{
	const struct instance *in = arg;

	return lldp_describe(in->policy, port, switch_port(in->sw, 0)->facts.mac,
			     switch_port(in->sw, port)->facts.mac, out);
}

static bool send_lldp_frame(void *arg, unsigned port, const uint8_t *bytes, uint16_t len)
{
	return instance_send(arg, port, bytes, len);
}

static void tell_lldp_event(void *arg, const struct event *e, const char *about)
{
	instance_tell_event(arg, e, about);
}

static int open_lldp(struct instance *in, char *err, size_t err_len)
{
	static const struct lldp_agent_ops ops = {describe_switch_port, send_lldp_frame,
						  tell_lldp_event};
	struct lldp_state *s = calloc(1, sizeof(*s));

	(void)err, (void)err_len;
	in->service[SERVICE_LLDP] = s;
	if (s == NULL || lldp_agent_create(in->policy->n_ports, &ops, in, &s->agent) != 0)
		return -ENOMEM;
	lldp_local_changed(s->agent, in->now_ns);
	return 0;
}

static void close_lldp(struct instance *in)
{
	struct lldp_state *s = in->service[SERVICE_LLDP];

	if (s != NULL)
		lldp_agent_destroy(s->agent);
	free(s);
}

// The frames of hosts that speak iNOF are the registry's. While it has enough to do, frames wait.
static void hear_lldp(struct instance *in)
{
	struct lldp_state *s = in->service[SERVICE_LLDP];
	struct inof_registry *registry = instance_inof(in);
	struct control_frame f;

	for (unsigned i = 0; in->takes_all || (i < TAKEN_A_LOOK && (registry == NULL ||
								    !inof_is_busy(registry)));
	     i++) {
		if (!switch_next_punt(in->sw, 1 << PUNT_LLDP, &f))
			break;
		if (registry != NULL && inof_lldp(registry, f.port, f.bytes, f.len, in->now_ns))
			continue;
		if (lldp_is_on(s->agent, f.port))
			lldp_receive(s->agent, f.port, f.bytes, f.len, in->now_ns);
		else if (in->ops->leave_lldp != NULL)
			in->ops->leave_lldp(in->arg, &f);
	}
	for (unsigned i = 0; i < in->policy->n_ports; i++)
		lldp_link(s->agent, i, switch_link_up(in->sw, i), in->now_ns);
}

// PFC of a port changes as by a reload: classes that gain or lose PFC are paused before.
static void act_on_peers(struct instance *in)
{
	struct lldp_state *s = in->service[SERVICE_LLDP];
	char err[ERR_LEN];

	lldp_poll(s->agent, in->now_ns);
	if (instance_reloads(in) || in->now_ns < s->retry_ns ||
	    !lldp_pfc_has_changed(in->policy, s->agent) || in->ops->renew_policy == NULL ||
	    in->ops->renew_policy(in->arg, in->now_ns, err, sizeof(err)) == 0)
		return;
	s->retry_ns = in->now_ns + RETRY_NS;
	instance_trouble(in, TROUBLE_ERROR, "dcbx: %s; the next attempt is in 5 s", err);
}

static void narrow_pfc(const struct instance *in, struct policy *next)
{
	lldp_narrow_pfc(next, instance_lldp(in));
}

static void describe_ports_anew(struct instance *in)
{
	struct lldp_state *s = in->service[SERVICE_LLDP];

	lldp_local_changed(s->agent, in->now_ns);
}

static void say_goodbye(struct instance *in)
{
	struct lldp_state *s = in->service[SERVICE_LLDP];

	lldp_shutdown(s->agent);
}

const struct service lldp_service = {
	.open = open_lldp, .close = close_lldp, .hear = hear_lldp, .act = act_on_peers,
	.carry = narrow_pfc, .new_policy = describe_ports_anew, .end = say_goodbye,
};
