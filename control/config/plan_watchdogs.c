// SPDX-License-Identifier: Apache-2.0
// The watchdogs of a plan. Private to control/config.
#include <inttypes.h>

#include <json-c/json.h>

#include "control/base/units.h"
#include "control/config/model.h"
#include "control/config/plan.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"

static uint64_t longest_pause_ns(const struct policy_port *p)
{
	return pfc_quanta_ns(p->speed_bps, PFC_MAX_QUANTA);
}

// The watched classes with the times of this one.
static uint8_t same_times(const struct watchdog_params *w, unsigned cls)
{
	uint8_t same = 0;

	for_each_bit (other, w->classes)
		if (watchdog_detect_ns(w, other) == watchdog_detect_ns(w, cls) &&
		    watchdog_restore_ns(w, other) == watchdog_restore_ns(w, cls))
			same |= (uint8_t)(1u << other);
	return same;
}

// "3,4".
static const char *class_names(uint8_t classes, char out[2 * N_CLASSES + 1])
{
	char *end = out;

	for_each_bit (cls, classes)
		end += sprintf(end, "%s%u", end == out ? "" : ",", cls);
	return out;
}

void plan_watchdog_text(const struct policy *p, int name_width, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct watchdog_params *w = &p->ports[i].watchdog;
		uint64_t pause_us = (longest_pause_ns(&p->ports[i]) + 500) / 1000;
		if (w->classes == 0)
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-*s %7s %-9s %-8s %8s %8s %13s\n", name_width,
				"watchdog", "classes", "mode", "action", "detect", "restore",
				"longest_pause");
		for (uint8_t left = w->classes, same; left != 0; left &= (uint8_t)~same) {
			unsigned cls = (unsigned)__builtin_ctz(left);
			char classes[2 * N_CLASSES + 1];

			same = left & same_times(w, cls);
			fprintf(out, PLAN_ROW "%-*s %7s %-9s %-8s %8s %8s %7" PRIu64 ".%03ums\n",
				name_width, p->ports[i].name, class_names(same, classes),
				cfg_watchdog_modes[w->mode], cfg_watchdog_actions[w->action],
				UNIT_TEXT(UNIT_TIME, (int64_t)watchdog_detect_ns(w, cls)),
				UNIT_TEXT(UNIT_TIME, (int64_t)watchdog_restore_ns(w, cls)),
				pause_us / 1000, (unsigned)(pause_us % 1000));
		}
	}
	if (n == 0)
		return;
	fputs("\nwatchdog limit\n", out);
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct watchdog_params *w = &p->ports[i].watchdog;

		if (w->classes != 0 && w->limit_count == 0)
			fprintf(out, PLAN_ROW "%-*s never\n", name_width, p->ports[i].name);
		else if (w->classes != 0)
			fprintf(out, PLAN_ROW "%-*s %u in %s, then %s\n", name_width,
				p->ports[i].name, w->limit_count,
				UNIT_TEXT(UNIT_TIME, (int64_t)w->limit_window_ns),
				cfg_watchdog_thens[w->then]);
	}
	fputs("\n"
	      "detect         the worker detects a storm in its first loop after this time:\n"
	      "               detect <= measured <= detect + longest gap between two loops\n"
	      "               (`weirctl show workers`). The same holds for restore\n"
	      "longest_pause  the time of one PAUSE of 65535 quanta at the port's speed. With\n"
	      "               a shorter detect, one PAUSE frame counts as a storm\n",
	      out);
}

static void add_number(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_uint64(n));
}

static void add_word(struct json_object *o, const char *key, const char *word)
{
	json_object_object_add(o, key, json_object_new_string(word));
}

static bool has_own_times(const struct watchdog_params *w, unsigned cls)
{
	return (w->own[cls].detect_ns | w->own[cls].restore_ns) != 0;
}

static void own_times_json(const struct watchdog_params *w, struct json_object *o)
{
	struct json_object *list = json_object_new_array();

	for_each_bit (cls, w->classes) {
		struct json_object *row;

		if (!has_own_times(w, cls))
			continue;
		row = json_object_new_object();
		add_number(row, "class", cls);
		add_number(row, "detect_ns", watchdog_detect_ns(w, cls));
		add_number(row, "restore_ns", watchdog_restore_ns(w, cls));
		json_object_array_add(list, row);
	}
	if (json_object_array_length(list) != 0)
		json_object_object_add(o, "own_times", list);
	else
		json_object_put(list);
}

void plan_watchdog_json(const struct policy_port *p, struct json_object *port)
{
	const struct watchdog_params *w = &p->watchdog;
	struct json_object *o, *classes;

	if (w->classes == 0)
		return;
	o = json_object_new_object();
	classes = json_object_new_array();
	for_each_bit (cls, w->classes)
		json_object_array_add(classes, json_object_new_int((int)cls));
	json_object_object_add(o, "classes", classes);
	add_word(o, "mode", cfg_watchdog_modes[w->mode]);
	add_word(o, "action", cfg_watchdog_actions[w->action]);
	add_number(o, "detect_ns", w->detect_ns);
	add_number(o, "restore_ns", w->restore_ns);
	add_number(o, "longest_pause_ns", longest_pause_ns(p));
	add_number(o, "limit_count", w->limit_count);
	add_number(o, "limit_window_ns", w->limit_window_ns);
	add_word(o, "limit_then", cfg_watchdog_thens[w->then]);
	own_times_json(w, o);
	json_object_object_add(port, "watchdog", o);
}
