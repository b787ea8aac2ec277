// SPDX-License-Identifier: Apache-2.0
// Rows about the threads that move the frames: what they own, and whether they come round in time.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/units.h"

static bool owns_shown(const struct show *s, unsigned worker)
{
	for (unsigned port = s->first; port < s->last; port++)
		if (switch_port_owner(s->o->sw, port) == worker)
			return true;
	return s->first == 0 && s->last == policy_of(s->o)->n_ports; // all: also one without ports
}

static void add_ports(const struct observe *o, unsigned worker, struct json_object *row)
{
	struct json_object *ports = list_in(row, "ports");

	for (unsigned port = 0; port < policy_of(o)->n_ports; port++)
		if (switch_port_owner(o->sw, port) == worker)
			json_object_array_add(ports, json_object_new_string(port_name(o, port)));
}

uint64_t worker_turn_ns(const struct show *s, unsigned worker)
{
	const struct worker_rates *r = &s->o->worker_rates[worker];
	const struct worker_counters *c = switch_worker_counters(s->o->sw, worker);
	const struct rate_clock *clock = &s->o->clock;
	uint64_t loops = rate_per_s(clock, &r->loops, ctr_get(&c->loops), s->real_ns);
	uint64_t waited_ns = rate_per_s(clock, &r->waited_ns, worker_waited_ns(s->o, worker),
					s->real_ns);

	if (loops == 0 || waited_ns >= SECOND_NS)
		return 0;
	return (SECOND_NS - waited_ns) / loops / s->o->time_scale;
}

static void worker_row(const struct show *s, unsigned i, struct json_object *row)
{
	const struct observe *o = s->o;
	const struct policy *p = policy_of(o);
	const struct worker_counters *c = switch_worker_counters(o->sw, i);
	const struct worker_rates *r = &o->worker_rates[i];
	const struct worker_counters *base =
		s->flags & OBSERVE_RAW ? &o->worker_zero : &o->worker_base[i];
	uint64_t loops = rate_per_s(&o->clock, &r->loops, ctr_get(&c->loops), s->real_ns);
	uint64_t busy = rate_per_s(&o->clock, &r->busy_loops, ctr_get(&c->busy_loops), s->real_ns);

	row_u64(row, "worker", i);
	json_object_object_add(row, "core", i < p->n_worker_cores && i < 64
						    ? json_object_new_int(p->worker_cores[i])
						    : NULL);
	add_ports(o, i, row);
	facts_emit_counters(row, &fact_lists[FACTS_WORKERS], c, base);
	facts_emit_gauges(row, &fact_lists[FACTS_WORKERS], c, 1);
	emit_worker_stalls(s, i, row);
	row_u64(row, "loops_per_s", loops);
	row_u64(row, "busy_percent", loops != 0 ? 100 * busy / loops : 0);
}

void show_workers(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "workers");

	for (unsigned i = 0; i < switch_n_workers(s->o->sw); i++)
		if (owns_shown(s, i))
			worker_row(s, i, row_in(list));
	row_bool(out, "admission_held", switch_admission_held(s->o->sw));
}
