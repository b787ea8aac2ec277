// SPDX-License-Identifier: Apache-2.0
// ARP and neighbour discovery of a switch: a resolver (control/neighbours/resolver.h) from the
// first policy on that routes, unless the kernel is the control plane.
#include <errno.h>

#include "control/config/config.h"
#include "control/instance/service.h"
#include "control/neighbours/resolver.h"
#include "dataplane/policy.h"

static void tell_next_hop(void *arg, const struct event *e, const char *ip)
{
	instance_tell_event(arg, e, ip);
}

static int make_resolver(struct instance *in)
{
	const struct resolver_listener listener = {tell_next_hop, in};
	struct resolver *r = NULL;
	const char *netns;

	if (!in->policy->routes.any ||
	    (in->config != NULL && config_control_by_linux(in->config, &netns)))
		return 0;
	if (resolver_create(in->sw, in->now_ns, &r) != 0)
		return -ENOMEM;
	resolver_listen(r, &listener);
	in->service[SERVICE_NEIGHBOURS] = r;
	return 0;
}

static int open_neighbours(struct instance *in, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	return make_resolver(in);
}

static void close_neighbours(struct instance *in)
{
	resolver_destroy(in->service[SERVICE_NEIGHBOURS]);
}

// Questions leave in the look that hears of them.
static void resolve_neighbours(struct instance *in)
{
	if (resolver_poll(in->service[SERVICE_NEIGHBOURS], in->takes_all, in->now_ns))
		instance_wake(in);
}

static void take_routes(struct instance *in)
{
	if (in->service[SERVICE_NEIGHBOURS] != NULL)
		resolver_new_policy(in->service[SERVICE_NEIGHBOURS], in->now_ns);
	else if (make_resolver(in) != 0)
		instance_trouble(in, TROUBLE_ALARM,
				 "routes: out of memory: no neighbour is resolved");
}

const struct service neighbours_service = {
	.open = open_neighbours, .close = close_neighbours, .hear = resolve_neighbours,
	.new_policy = take_routes,
};
