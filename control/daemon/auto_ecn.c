// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/auto_ecn.h"

#include <stdio.h>

#include "control/autoecn/agent.h"
#include "control/daemon/daemon.h"

enum { ERR_LEN = 256, ABOUT_LEN = AUTOECN_FEATURES_LEN + 64 };

static uint32_t bytes_to_u32(uint64_t bytes)
{
	return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

static void log_change(void *arg, const struct autoecn_change *c)
{
	const struct daemon *d = arg;
	const struct event e = {
		.t_ns = c->t_ns, .type = EVENT_ECN_AUTO, .port = c->port, .cls = c->cls,
		.a = event_ecn_a((uint8_t)c->why, (uint8_t)c->mode, c->on),
		.b = bytes_to_u32(c->before.kmin_bytes) |
		     (uint64_t)bytes_to_u32(c->after.kmin_bytes) << 32};
	char features[AUTOECN_FEATURES_LEN], about[ABOUT_LEN];

	autoecn_features_print(&c->features, features);
	snprintf(about, sizeof(about), "%s; kmax %llu B, pmax %g %%", features,
		 (unsigned long long)c->after.kmax_bytes, (double)c->after.pmax_ppm / 1e4);
	eventlog_add_about(d->log, &e, about, clock_now_ns(&d->clock));
}

int auto_ecn_open(struct daemon *d, char *err, unsigned err_len)
{
	return autoecn_create(d->in.sw, log_change, d, &d->auto_ecn, err, err_len);
}

void auto_ecn_loop(struct daemon *d, uint64_t now_ns)
{
	autoecn_look(d->auto_ecn, reload_pending(d->reload),
		     model_time_ns(config_time_scale(d->in.config), now_ns));
}

void auto_ecn_new_policy(struct daemon *d, uint64_t now_ns)
{
	char err[ERR_LEN];

	if (!autoecn_new_policy(d->auto_ecn, model_time_ns(config_time_scale(d->in.config), now_ns),
				err, sizeof(err)))
		log_line("%s warning ecn: %s; the switch searches without this model",
			 d->in.policy->name, err);
}
