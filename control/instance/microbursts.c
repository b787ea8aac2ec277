// SPDX-License-Identifier: Apache-2.0
// Microbursts of a switch: a log (control/microbursts/burstlog.h) takes the records of the workers
// from the first policy on that asks for them.
#include <errno.h>

#include "control/instance/service.h"
#include "control/microbursts/burstlog.h"
#include "dataplane/policy.h"

static int make_burstlog(struct instance *in)
{
	struct burstlog *log = NULL;

	if (in->policy->microbursts.window_ns == 0 || in->service[SERVICE_MICROBURSTS] != NULL)
		return 0;
	if (burstlog_create(in->policy->n_ports, &log) != 0)
		return -ENOMEM;
	in->service[SERVICE_MICROBURSTS] = log;
	return 0;
}

static int open_microbursts(struct instance *in, char *err, size_t err_len)
{
	(void)err, (void)err_len;
	return make_burstlog(in);
}

static void close_microbursts(struct instance *in)
{
	burstlog_destroy(in->service[SERVICE_MICROBURSTS]);
}

static void take_records(struct instance *in)
{
	struct burst_clock now = {instance_switch_ns(in), in->now_ns, instance_time_scale(in),
				  in->ops->read_clocks, in->arg};

	if (in->service[SERVICE_MICROBURSTS] != NULL)
		burstlog_poll(in->service[SERVICE_MICROBURSTS], in->sw, &now);
}

static void begin_log(struct instance *in)
{
	if (make_burstlog(in) != 0)
		instance_trouble(in, TROUBLE_ALARM, "microbursts: out of memory: none is kept");
}

const struct service microbursts_service = {
	.open = open_microbursts, .close = close_microbursts, .collect = take_records,
	.new_policy = begin_log,
};
