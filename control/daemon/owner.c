// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/owner.h"

#include "control/daemon/daemon.h"
#include "control/microbursts/burstlog.h"
#include "dataplane/policy.h"

// The parts of the daemon that keep the policy take the new one. The services have taken it before.
// Their events of that moment have the port names of the old policy.
static void spread_new_policy(void *arg, uint64_t now_ns)
{
	struct daemon *d = arg;

	plane_new_policy(d->plane, now_ns);
	eventlog_new_policy(d->log, d->in.policy);
	observe_new_policy(d->observe);
	reload_published(d->reload);
	daemon_set_pace(d);
}

static void tell_settled(void *arg, uint64_t now_ns)
{
	const struct daemon *d = arg;

	reload_settled(d->reload, now_ns);
}

static void log_event(void *arg, const struct event *e, const char *about, uint64_t now_ns)
{
	const struct daemon *d = arg;

	eventlog_add_about(d->log, e, about, now_ns);
}

static void log_trouble(void *arg, enum trouble_severity severity, const char *text)
{
	static const char *const word[N_TROUBLE_SEVERITIES] = {
		[TROUBLE_WARNING] = "warning", [TROUBLE_ERROR] = "error", [TROUBLE_ALARM] = "alarm",
	};
	const struct daemon *d = arg;

	log_line("%s %s %s", d->in.policy->name, word[severity], text);
}

static int renew_policy(void *arg, uint64_t now_ns, char *err, size_t err_len)
{
	const struct daemon *d = arg;

	return reload_for_ports(d->reload, now_ns, err, err_len);
}

static void read_clocks(void *arg, struct burst_clock *now)
{
	const struct daemon *d = arg;

	now->time_scale = instance_time_scale(&d->in);
	now->switch_ns = model_time_ns(now->time_scale, clock_now_ns(&d->clock));
	now->wall_ns = wall_now_ns();
}

static void give_lldp_to_kernel(void *arg, const struct control_frame *f)
{
	const struct daemon *d = arg;

	plane_give(d->plane, f);
}

static void choose_inof_seeds(void *arg, uint32_t *seq, uint64_t *hash)
{
	(void)arg;
	*seq = (uint32_t)(wall_now_ns() >> 10);
	*hash = daemon_any_seed();
}

const struct instance_ops daemon_instance_ops = {
	.new_policy = spread_new_policy,
	.settled = tell_settled,
	.event = log_event,
	.trouble = log_trouble,
	.renew_policy = renew_policy,
	.read_clocks = read_clocks,
	.leave_lldp = give_lldp_to_kernel,
	.inof_seeds = choose_inof_seeds,
};
