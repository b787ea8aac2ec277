// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan_storm.h"

#include <inttypes.h>

#include "control/config/guards.h"
#include "control/config/units.h"

enum { MAX_QUANTA = 65535, TIME_LEN = 32, LIMIT_LEN = 96 };

static const char *const modes[] = {[WATCHDOG_XOFF] = "xoff", [WATCHDOG_PROGRESS] = "progress"};
static const char *const actions[] = {
	[WATCHDOG_DROP] = "drop", [WATCHDOG_FORWARD] = "forward", [WATCHDOG_ALERT] = "alert"};
static const char *const thens[] = {
	[WATCHDOG_PFC_OFF] = "pfc_off", [WATCHDOG_PORT_DOWN] = "port_down"};

static uint64_t longest_pause_ns(const struct policy_port *p)
{
	return pfc_quanta_ns(p->speed_bps, MAX_QUANTA);
}

// ---- as text
static bool warns(const struct policy_port *p)
{
	return p->pfc_warning.in_pps != 0 || p->pfc_warning.out_pps != 0;
}

static void print_limit(const struct watchdog_params *w, char out[LIMIT_LEN])
{
	char window[TIME_LEN];

	unit_print(UNIT_TIME, (int64_t)w->limit_window_ns, window, sizeof(window));
	if (w->limit_count == 0)
		snprintf(out, LIMIT_LEN, "never");
	else
		snprintf(out, LIMIT_LEN, "%u in %s, then %s", w->limit_count, window,
			 thens[w->then]);
}

static void print_classes(uint8_t classes, char out[2 * N_CLASSES + 1])
{
	char *end = out;

	for (unsigned c = 0; c < N_CLASSES; c++)
		if (classes >> c & 1)
			end += sprintf(end, "%s%u", end == out ? "" : ",", c);
}

static void watchdog_line(const struct policy_port *p, FILE *out)
{
	const struct watchdog_params *w = &p->watchdog;
	uint64_t pause_us = (longest_pause_ns(p) + 500) / 1000;
	char detect[TIME_LEN], restore[TIME_LEN], classes[2 * N_CLASSES + 1];

	print_classes(w->classes, classes);
	unit_print(UNIT_TIME, (int64_t)w->detect_ns, detect, sizeof(detect));
	unit_print(UNIT_TIME, (int64_t)w->restore_ns, restore, sizeof(restore));
	fprintf(out, "%-8s %7s %-9s %-8s %8s %8s %7" PRIu64 ".%03ums\n", p->name, classes,
		modes[w->mode], actions[w->action], detect, restore, pause_us / 1000,
		(unsigned)(pause_us % 1000));
}

static void limit_line(const struct policy_port *p, FILE *out)
{
	char limit[LIMIT_LEN];

	print_limit(&p->watchdog, limit);
	fprintf(out, "%-8s %s\n", p->name, limit);
}

static void watchdog_text(const struct policy *p, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		if (p->ports[i].watchdog.classes == 0)
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-8s %7s %-9s %-8s %8s %8s %13s\n", "watchdog", "classes",
				"mode", "action", "detect", "restore", "longest_pause");
		watchdog_line(&p->ports[i], out);
	}
	if (n == 0)
		return;
	fputs("\nwatchdog limit\n", out);
	for (unsigned i = 0; i < p->n_ports; i++)
		if (p->ports[i].watchdog.classes != 0)
			limit_line(&p->ports[i], out);
	fputs("\n"
	      "detect         a storm is detected so long after its clock began, and at most\n"
	      "               one turn of the worker's loop later: detect <= measured <=\n"
	      "               detect + its longest gap (`weirctl show workers`); likewise\n"
	      "               restore\n"
	      "longest_pause  what one PAUSE of 65535 quanta asks for at the port's speed:\n"
	      "               below it a single frame is a storm\n",
	      out);
}

static void warning_text(const struct policy *p, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct pfc_warning_params *w = &p->ports[i].pfc_warning;

		if (!warns(&p->ports[i]))
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-13s %9s %9s  PFC frames/s of a class; 0: no warning\n",
				"early_warning", "in", "out");
		fprintf(out, "%-13s %9u %9u\n", p->ports[i].name, w->in_pps, w->out_pps);
	}
}

static const struct policy_port *first_in(const struct policy *p, unsigned group)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		if (p->ports[i].guard.group == group)
			return &p->ports[i];
	return NULL;
}

// Others lead there already.
static bool begins_chain(const struct guard_params *g, uint8_t dscp)
{
	for (unsigned i = 0; i < g->n_rules; i++)
		if (g->rules[i].to_dscp == dscp)
			return false;
	return true;
}

static void chain_line(const struct policy_port *p, uint8_t dscp, FILE *out)
{
	uint8_t chain[GUARD_CHAIN_MAX];
	unsigned n = guard_chain(&p->guard, dscp, chain);

	for (unsigned i = 0; i < n; i++) {
		unsigned cls = p->classify.dscp_to_class[chain[i]];

		fprintf(out, "%s%u (class %u%s)", i == 0 ? "  DSCP " : " -> ", chain[i], cls,
			p->classify.lossless >> cls & 1 ? "" : ", lossy");
	}
	fputc('\n', out);
}

static void guard_text(const struct policy *p, FILE *out)
{
	for (unsigned group = 1; group <= p->n_guard_groups; group++) {
		const struct policy_port *first = first_in(p, group);

		fprintf(out, "\nguard %s:", p->guard_groups[group - 1]);
		for (unsigned i = 0; i < p->n_ports; i++)
			if (p->ports[i].guard.group == group)
				fprintf(out, " %s", p->ports[i].name);
		fputc('\n', out);
		for (unsigned i = 0; first != NULL && i < first->guard.n_rules; i++)
			if (begins_chain(&first->guard, first->guard.rules[i].dscp))
				chain_line(first, first->guard.rules[i].dscp, out);
	}
}

void plan_storm_text(const struct policy *p, FILE *out)
{
	watchdog_text(p, out);
	warning_text(p, out);
	guard_text(p, out);
}

// ---- as JSON
static void add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static struct json_object *watchdog_json(const struct policy_port *p)
{
	const struct watchdog_params *w = &p->watchdog;
	struct json_object *o = json_object_new_object(), *classes = json_object_new_array();

	for (int c = 0; c < N_CLASSES; c++)
		if (w->classes >> c & 1)
			json_object_array_add(classes, json_object_new_int(c));
	json_object_object_add(o, "classes", classes);
	json_object_object_add(o, "mode", json_object_new_string(modes[w->mode]));
	json_object_object_add(o, "action", json_object_new_string(actions[w->action]));
	add_u64(o, "detect_ns", w->detect_ns);
	add_u64(o, "restore_ns", w->restore_ns);
	add_u64(o, "longest_pause_ns", longest_pause_ns(p));
	add_u64(o, "limit_count", w->limit_count);
	add_u64(o, "limit_window_ns", w->limit_window_ns);
	json_object_object_add(o, "limit_then", json_object_new_string(thens[w->then]));
	return o;
}

void plan_storm_port_json(const struct policy_port *p, struct json_object *port)
{
	struct json_object *o;

	if (p->watchdog.classes != 0)
		json_object_object_add(port, "watchdog", watchdog_json(p));
	if (!warns(p))
		return;
	o = json_object_new_object();
	add_u64(o, "in_pps", p->pfc_warning.in_pps);
	add_u64(o, "out_pps", p->pfc_warning.out_pps);
	json_object_object_add(port, "pfc_warning", o);
}

static struct json_object *rule_json(const struct guard_params *g, const struct guard_rule *r)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	uint8_t chain[GUARD_CHAIN_MAX];
	unsigned n = guard_chain(g, r->dscp, chain);

	add_u64(o, "dscp", r->dscp);
	add_u64(o, "to_class", r->to_class);
	add_u64(o, "to_dscp", r->to_dscp);
	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(chain[i]));
	json_object_object_add(o, "chain", list);
	return o;
}

static struct json_object *group_json(const struct policy *p, unsigned group)
{
	const struct policy_port *first = first_in(p, group);
	struct json_object *o = json_object_new_object();
	struct json_object *ports = json_object_new_array(), *rules = json_object_new_array();

	for (unsigned i = 0; i < p->n_ports; i++)
		if (p->ports[i].guard.group == group)
			json_object_array_add(ports, json_object_new_string(p->ports[i].name));
	for (unsigned i = 0; first != NULL && i < first->guard.n_rules; i++)
		json_object_array_add(rules, rule_json(&first->guard, &first->guard.rules[i]));
	json_object_object_add(o, "group", json_object_new_string(p->guard_groups[group - 1]));
	json_object_object_add(o, "ports", ports);
	json_object_object_add(o, "rules", rules);
	return o;
}

struct json_object *plan_guards_json(const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned group = 1; group <= p->n_guard_groups; group++)
		json_object_array_add(list, group_json(p, group));
	return list;
}
