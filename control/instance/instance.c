// SPDX-License-Identifier: Apache-2.0
#include "control/instance/instance.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/base/model_time.h"
#include "control/config/config.h"
#include "control/instance/service.h"
#include "dataplane/event.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_routes.h"

enum { EVENTS_A_CALL = 256, TROUBLE_LEN = 512 };

// In the order in which they have their turn.
static const struct service *const services[N_SERVICES] = {
	[SERVICE_MICROBURSTS] = &microbursts_service,
	[SERVICE_NEIGHBOURS] = &neighbours_service,
	[SERVICE_LLDP] = &lldp_service,
	[SERVICE_INOF] = &inof_service,
	[SERVICE_AUTO_ECN] = &auto_ecn_service,
};

// ---- services

int instance_open(struct instance *in, char *err, size_t err_len)
{
	snprintf(err, err_len, "out of memory");
	for (unsigned i = 0; i < N_SERVICES; i++) {
		int rc = services[i]->open(in, err, err_len);

		if (rc != 0)
			return rc;
	}
	return 0;
}

void instance_close(struct instance *in)
{
	for (unsigned i = N_SERVICES; i-- > 0;) {
		services[i]->close(in);
		in->service[i] = NULL;
	}
}

void instance_collect(struct instance *in, uint64_t now_ns)
{
	struct event events[EVENTS_A_CALL];
	unsigned n;

	in->now_ns = now_ns;
	do {
		n = switch_control_step(in->sw, instance_switch_ns(in), events, EVENTS_A_CALL);
		for (unsigned i = 0; i < n; i++)
			instance_tell_switch_event(in, &events[i], "");
	} while (in->takes_all && n == EVENTS_A_CALL);
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->collect != NULL)
			services[i]->collect(in);
}

void instance_hear(struct instance *in, uint64_t now_ns)
{
	in->now_ns = now_ns;
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->hear != NULL)
			services[i]->hear(in);
}

void instance_act(struct instance *in, uint64_t now_ns)
{
	in->now_ns = now_ns;
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->act != NULL)
			services[i]->act(in);
}

void instance_carry(const struct instance *in, struct policy *next)
{
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->carry != NULL)
			services[i]->carry(in, next);
}

void instance_end(struct instance *in)
{
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->end != NULL)
			services[i]->end(in);
}

// ---- for services

static uint64_t switch_time(const struct instance *in, uint64_t control_ns)
{
	return model_time_ns(in->time_scale, control_ns);
}

uint64_t instance_switch_ns(const struct instance *in)
{
	return switch_time(in, in->now_ns);
}

bool instance_send(struct instance *in, unsigned port, const uint8_t *bytes, uint16_t len)
{
	struct control_frame f = {.port = (port_no_t)port, .len = len};

	memcpy(f.bytes, bytes, len);
	instance_wake(in);
	return switch_send(in->sw, &f, SEND_OTHER);
}

void instance_wake(const struct instance *in)
{
	if (in->ops->wake != NULL)
		in->ops->wake(in->arg);
}

void instance_tell_switch_event(const struct instance *in, const struct event *e,
				const char *about)
{
	if (in->ops->event != NULL)
		in->ops->event(in->arg, e, about, in->now_ns);
}

void instance_tell_event(const struct instance *in, const struct event *e, const char *about)
{
	struct event of_switch = *e;

	of_switch.t_ns = switch_time(in, e->t_ns);
	instance_tell_switch_event(in, &of_switch, about);
}

void instance_trouble(const struct instance *in, enum trouble_severity severity, const char *fmt,
		      ...)
{
	char text[TROUBLE_LEN];
	va_list ap;

	if (in->ops->trouble == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	in->ops->trouble(in->arg, severity, text);
}

// ---- reload

int instance_prepare(const struct instance *in, struct policy *next)
{
	if (next->copy_frames > switch_copy_frames(in->sw))
		return -EINVAL;
	return switch_prepare(in->sw, next);
}

const char *instance_prepare_text(int err)
{
	if (err == -EINVAL)
		return "classes: flood: on in a lossless class, and multicast beside one, need "
		       "memory for more copies than there was at the start: restart weir";
	return "routes: there is no memory for their table; give fewer routes, or more memory at "
	       "the start";
}

static void publish_next(struct instance *in)
{
	switch_publish(in->sw, in->next, &in->retired, &in->token);
	in->policy = in->next;
	in->next = NULL;
	if (in->next_config != NULL) {
		in->retired_config = in->config;
		in->config = in->next_config;
		in->next_config = NULL;
	}
	for (unsigned i = 0; i < N_SERVICES; i++)
		if (services[i]->new_policy != NULL)
			services[i]->new_policy(in);
	if (in->ops->new_policy != NULL)
		in->ops->new_policy(in->arg, in->now_ns);
	// A worker that stands still would keep the pauses from ending.
	if (in->change.late)
		change_end(in->sw, &in->change);
}

static void free_retired_policy(struct instance *in)
{
	if (!in->change.late)
		change_end(in->sw, &in->change);
	policy_destroy(in->retired);
	config_destroy(in->retired_config);
	in->retired = NULL;
	in->retired_config = NULL;
	if (in->ops->settled != NULL)
		in->ops->settled(in->arg, in->now_ns); // last: it may begin the next reload
}

void instance_step(struct instance *in, uint64_t now_ns)
{
	in->now_ns = now_ns;
	if (in->next != NULL && change_ready(in->sw, &in->change, instance_switch_ns(in)))
		publish_next(in);
	if (in->retired != NULL && switch_grace_over(in->sw, in->token))
		free_retired_policy(in);
}

void instance_reload(struct instance *in, struct config *config, struct policy *next,
		     uint64_t now_ns, uint64_t late_ns)
{
	uint64_t switch_ns = switch_time(in, now_ns);

	in->next = next;
	in->next_config = config;
	change_begin(in->sw, next, switch_ns, switch_time(in, now_ns + late_ns) - switch_ns,
		     &in->change);
}

void instance_fini(struct instance *in)
{
	if (in->next != NULL)
		switch_unprepare(in->next);
	policy_destroy(in->next);
	policy_destroy(in->retired);
	policy_destroy(in->policy);
	config_destroy(in->next_config);
	config_destroy(in->retired_config);
	config_destroy(in->config);
	*in = (struct instance){0};
}
