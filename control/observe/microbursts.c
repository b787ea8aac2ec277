// SPDX-License-Identifier: Apache-2.0
// The facts of microbursts, from the log of the switch.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"
#include "dataplane/switch_microbursts.h"

enum { SHOWN_WINDOWS = 100 };

static bool burst_is_group(const struct at *a)
{
	return a->burst->part >= MICROBURST_GROUPS;
}

static const struct policy_port *burst_port_policy(const struct at *a)
{
	return &a->pol->ports[a->burst->port];
}

static unsigned burst_class(const struct at *a)
{
	const struct classify_params *c = &burst_port_policy(a)->classify;

	return lowest_class_mapped_to(burst_is_group(a) ? c->class_to_pg : c->class_to_queue,
				      a->burst->part % MICROBURST_GROUPS);
}

// As the policy is now.
static const char *burst_limit(const struct at *a)
{
	unsigned i = a->burst->part % MICROBURST_GROUPS;

	if (burst_is_group(a))
		return burst_port_policy(a)->pg[i].lossless ? "xoff" : "threshold";
	return burst_port_policy(a)->queue[i].wred.enabled ? "kmax" : "threshold";
}

#define FACTS_OF "control/observe/microbursts.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

static struct value history_of(const struct show *s, unsigned port, unsigned part)
{
	unsigned n = s->flags & OBSERVE_ALL_ROWS ? BURSTLOG_WINDOWS : SHOWN_WINDOWS;
	uint32_t peak[BURSTLOG_WINDOWS];
	struct json_object *list;

	if ((s->flags & OBSERVE_HISTORY) == 0 ||
	    burstlog_windows(instance_microbursts(s->o->in), port, part, n, peak) == 0)
		return (struct value){.type = VALUE_NULL};
	list = json_object_new_array_ext((int)n);
	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_uint64(peak[i]));
	return value_of_json(list);
}

static void parts(const struct show *s, struct json_object *out, unsigned list, unsigned first)
{
	const struct burstlog *log = instance_microbursts(s->o->in);
	struct json_object *rows = rows_in(out, list);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned i = 0; i < MICROBURST_GROUPS; i++) {
			struct at a = at_port(s, port, i);

			if (a.pol->microbursts.window_ns == 0 || log == NULL)
				return;
			a.part.counts = burstlog_counts(log, port, first + i,
							(s->flags & OBSERVE_RAW) != 0);
			a.part.peak_bytes = burstlog_peak(log, port, first + i);
			a.part.history = history_of(s, port, first + i);
			emit(row_in(rows), list, &a);
		}
}

void show_microbursts(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_BURSTS);
	struct at a = {.s = s, .o = s->o, .pol = policy_of(s->o)};
	const struct burstlog *log = instance_microbursts(s->o->in);

	for (unsigned i = 0; log != NULL && (s->flags & OBSERVE_HISTORY) != 0 &&
			     (a.burst = burstlog_latest(log, i)) != NULL; i++)
		if (a.burst->port >= s->first && a.burst->port < s->last)
			emit(row_in(rows), FACTS_BURSTS, &a);
	parts(s, out, FACTS_BURST_QUEUES, 0);
	parts(s, out, FACTS_BURST_PGS, MICROBURST_GROUPS);
	if ((s->flags & OBSERVE_RAW) == 0)
		a.records_lost_base = s->o->records_lost_base;
	emit(single_in(out, FACTS_BURST_WINDOW), FACTS_BURST_WINDOW, &a);
}

void microbursts_clear(struct observe *o)
{
	if (instance_microbursts(o->in) == NULL)
		return;
	burstlog_clear(instance_microbursts(o->in));
	o->records_lost_base = switch_microburst_records_lost(o->sw);
}
