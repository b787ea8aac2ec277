// SPDX-License-Identifier: Apache-2.0
// Rows about storms: the PFC watchdog of each class, and what the deadlock guard has turned.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const struct fact_list *const facts = &fact_lists[FACTS_WATCHDOG];

static const char *const status_name[] = {
	[WATCHDOG_OFF] = "off",
	[WATCHDOG_OPERATIONAL] = "operational",
	[WATCHDOG_IN_STORM] = "stormed",
	[WATCHDOG_IS_PFC_OFF] = "pfc-off",
	[WATCHDOG_IS_PORT_DOWN] = "port-down",
	[WATCHDOG_DROPS_ALL] = "drop-all",
};
static const char *const mode_name[] = {
	[WATCHDOG_XOFF] = "xoff", [WATCHDOG_PROGRESS] = "progress"};
static const char *const then_name[] = {
	[WATCHDOG_PFC_OFF] = "pfc-off", [WATCHDOG_PORT_DOWN] = "port-down"};
static const char *const action_name[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert"};

// What the policy says; nothing where no watchdog looks at the class.
static void emit_params(const struct watchdog_params *p, bool watched, struct json_object *row)
{
	if (watched) {
		row_text(row, "mode", mode_name[p->mode]);
		row_text(row, "action", action_name[p->action]);
		row_text(row, "limit_then", then_name[p->then]);
	} else {
		json_object_object_add(row, "mode", NULL);
		json_object_object_add(row, "action", NULL);
		json_object_object_add(row, "limit_then", NULL);
	}
	row_u64(row, "detect_ms", watched ? p->detect_ns / 1000000 : 0);
	row_u64(row, "restore_ms", watched ? p->restore_ns / 1000000 : 0);
	row_u64(row, "limit_storms", watched ? p->limit_count : 0);
	row_u64(row, "limit_window_ms", watched ? p->limit_window_ns / 1000000 : 0);
}

static uint64_t storm_lasts_ns(const struct watchdog_class *c, uint64_t now_ns)
{
	uint64_t since = gauge_get(&c->since_ns);

	return watchdog_stormed(c) && now_ns > since ? now_ns - since : 0;
}

// The storm that lasts counts as far as it has gone.
static void emit_times(const struct watchdog_class *c, uint64_t now_ns, struct json_object *row)
{
	uint64_t longest = gauge_get(&c->storm_longest_ns), lasts = storm_lasts_ns(c, now_ns);

	row_u64(row, "last_measured_us", gauge_get(&c->measured_ns) / 1000);
	row_u64(row, "storm_us", lasts / 1000);
	row_u64(row, "longest_storm_us", (lasts > longest ? lasts : longest) / 1000);
}

static void watchdog_row(const struct show *s, unsigned port, unsigned cls,
			 struct json_object *list)
{
	const struct policy_port *pp = &policy_of(s->o)->ports[port];
	const struct watchdog_class *c = switch_watchdog(s->o->sw, port, cls);
	const struct watchdog_class *base = &baseline(s, port)->watchdog[cls];
	enum watchdog_status status = switch_watchdog_status(s->o->sw, port, cls);
	bool wanted = s->flags & OBSERVE_ALL_ROWS && pp->classify.lossless >> cls & 1;
	struct json_object *row;

	if (status == WATCHDOG_OFF && ctr_get(&c->detected) == ctr_get(&base->detected) && !wanted)
		return;
	row = row_in(list);
	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "class", cls);
	row_text(row, "status", status_name[status]);
	row_bool(row, "stormed", watchdog_stormed(c));
	emit_params(&pp->watchdog, pp->watchdog.classes >> cls & 1, row);
	facts_emit_counters(row, facts, c, base);
	facts_emit_gauges(row, facts, c, 1);
	emit_times(c, s->now_ns, row);
}

void show_watchdog(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "watchdog");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			watchdog_row(s, port, cls, list);
	row_bool(out, "drop_all", switch_watchdog_drops_all(s->o->sw));
}

// ---- the deadlock guard

static void guard_row(const struct show *s, unsigned port, unsigned rule, struct json_object *list)
{
	const struct policy *pol = policy_of(s->o);
	const struct guard_params *g = &pol->ports[port].guard;
	struct json_object *row = row_in(list);

	row_text(row, "port", port_name(s->o, port));
	row_text(row, "group", pol->guard_groups[g->group - 1]);
	row_u64(row, "dscp", g->rules[rule].dscp);
	row_u64(row, "to_class", g->rules[rule].to_class);
	row_u64(row, "to_dscp", g->rules[rule].to_dscp);
	row_u64(row, "packets", switch_guard_remapped(s->o->sw, port, rule) -
					baseline(s, port)->remapped[rule]);
}

void show_guard(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "guard");

	for (unsigned port = s->first; port < s->last; port++) {
		const struct guard_params *g = &policy_of(s->o)->ports[port].guard;

		for (unsigned rule = 0; g->group != 0 && rule < g->n_rules; rule++)
			guard_row(s, port, rule, list);
	}
}

void storms_take_baseline(const struct observe *o, unsigned port, struct port_baseline *b)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		facts_take_baseline(facts, switch_watchdog(o->sw, port, cls), &b->watchdog[cls]);
	for (unsigned rule = 0; rule < GUARD_MAX_RULES; rule++)
		b->remapped[rule] = switch_guard_remapped(o->sw, port, rule);
}
