// SPDX-License-Identifier: Apache-2.0
// Auto ECN of a switch: the agent (control/autoecn/agent.h) on the switch's own time, and its
// changes as events.
#include <errno.h>
#include <stdio.h>

#include "control/autoecn/agent.h"
#include "control/instance/service.h"
#include "dataplane/event.h"
#include "dataplane/switch.h"

enum { ERR_LEN = 256, ABOUT_LEN = AUTOECN_FEATURES_LEN + 64 };

static uint32_t bytes_to_u32(uint64_t bytes)
{
	return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

static void tell_curve_change(void *arg, const struct autoecn_change *c)
{
	const struct instance *in = arg;
	const struct event e = {
		.t_ns = c->t_ns, .type = EVENT_ECN_AUTO, .port = c->port, .cls = c->cls,
		.a = event_ecn_a((uint8_t)c->why, (uint8_t)c->mode, c->on),
		.b = bytes_to_u32(c->before.kmin_bytes) |
		     (uint64_t)bytes_to_u32(c->after.kmin_bytes) << 32};
	char features[AUTOECN_FEATURES_LEN], about[ABOUT_LEN];

	autoecn_features_print(&c->features, features);
	snprintf(about, sizeof(about), "%s; kmax %llu B, pmax %g %%", features,
		 (unsigned long long)c->after.kmax_bytes, (double)c->after.pmax_ppm / 1e4);
	instance_tell_switch_event(in, &e, about);
}

static int open_auto_ecn(struct instance *in, char *err, size_t err_len)
{
	struct autoecn *a = NULL;
	char why[ERR_LEN];
	int rc = autoecn_create(in->sw, tell_curve_change, in, &a, why, sizeof(why));

	in->service[SERVICE_AUTO_ECN] = a;
	if (rc == -EINVAL)
		snprintf(err, err_len, "ecn: %s", why);
	return rc;
}

static void close_auto_ecn(struct instance *in)
{
	autoecn_destroy(in->service[SERVICE_AUTO_ECN]);
}

static void search_thresholds(struct instance *in)
{
	autoecn_look(in->service[SERVICE_AUTO_ECN], instance_reloads(in), instance_switch_ns(in));
	if (!switch_requests_done(in->sw))
		instance_wake(in);
}

static void carry_thresholds(const struct instance *in, struct policy *next)
{
	autoecn_carry(in->service[SERVICE_AUTO_ECN], next);
}

static void take_auto_ecn_policy(struct instance *in)
{
	char err[ERR_LEN];

	if (!autoecn_new_policy(in->service[SERVICE_AUTO_ECN], instance_switch_ns(in), err,
				sizeof(err)))
		instance_trouble(in, TROUBLE_WARNING,
				 "ecn: %s; the switch searches without this model", err);
}

const struct service auto_ecn_service = {
	.open = open_auto_ecn, .close = close_auto_ecn, .act = search_thresholds,
	.carry = carry_thresholds, .new_policy = take_auto_ecn_policy,
};
