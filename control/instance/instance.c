// SPDX-License-Identifier: Apache-2.0
#include "control/instance/instance.h"

#include <errno.h>
#include <stddef.h>

#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_routes.h"

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

static void publish_next(struct instance *in, uint64_t now_ns)
{
	switch_publish(in->sw, in->next, &in->retired, &in->token);
	in->policy = in->next;
	in->next = NULL;
	if (in->next_config != NULL) {
		in->retired_config = in->config;
		in->config = in->next_config;
		in->next_config = NULL;
	}
	if (in->ops->new_policy != NULL)
		in->ops->new_policy(in->arg, now_ns);
	// A worker that stands still would keep the pauses from ending.
	if (in->change.late)
		change_end(in->sw, &in->change);
}

static void free_retired_policy(struct instance *in, uint64_t now_ns)
{
	if (!in->change.late)
		change_end(in->sw, &in->change);
	policy_destroy(in->retired);
	config_destroy(in->retired_config);
	in->retired = NULL;
	in->retired_config = NULL;
	if (in->ops->settled != NULL)
		in->ops->settled(in->arg, now_ns); // last: it may begin the next reload
}

void instance_step(struct instance *in, uint64_t now_ns)
{
	if (in->next != NULL && change_ready(in->sw, &in->change, now_ns))
		publish_next(in, now_ns);
	if (in->retired != NULL && switch_grace_over(in->sw, in->token))
		free_retired_policy(in, now_ns);
}

void instance_reload(struct instance *in, struct config *config, struct policy *next,
		     uint64_t now_ns, uint64_t late_ns)
{
	in->next = next;
	in->next_config = config;
	change_begin(in->sw, next, now_ns, late_ns, &in->change);
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
