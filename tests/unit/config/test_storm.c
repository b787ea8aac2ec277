// SPDX-License-Identifier: Apache-2.0
// Watchdog, early warning and guard: from the file to what the dataplane and the plan are told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/config/model.h"
#include "control/config/plan.h"
#include "dataplane/policy.h"

#define MS 1000000ull
#define S 1000000000ull

enum { TEXT_LEN = 2048 };

// said: what the file's messages were, one a line.
static struct policy *compiled(const char *text, char said[TEXT_LEN])
{
	struct config *c = NULL;
	struct policy *p = NULL;
	struct diags d = {0};
	int err = config_parse("t", text, strlen(text), &c, &d);
	size_t at = 0;

	if (err == 0)
		err = config_compile(c, NULL, &p, &d);
	said[0] = '\0';
	for (unsigned i = 0; i < d.n; i++)
		at += (size_t)snprintf(said + at, TEXT_LEN - at, "%s\n", d.lines[i]);
	if (err != 0)
		print_message("%s", said);
	assert_int_equal(err, 0);
	config_destroy(c);
	diags_fini(&d);
	return p;
}

static struct policy *policy_of(const char *text)
{
	char said[TEXT_LEN];
	struct policy *p = compiled(text, said);

	assert_string_equal(said, "");
	return p;
}

static void expect_watchdog(const struct watchdog_params *w, struct watchdog_params want)
{
	assert_int_equal(w->classes, want.classes);
	assert_int_equal(w->mode, want.mode);
	assert_int_equal(w->action, want.action);
	assert_int_equal(w->then, want.then);
	assert_int_equal(w->detect_ns, want.detect_ns);
	assert_int_equal(w->restore_ns, want.restore_ns);
	assert_int_equal(w->limit_count, want.limit_count);
	assert_int_equal(w->limit_window_ns, want.limit_window_ns);
}

static const struct watchdog_params defaults = {
	1 << 3, WATCHDOG_PROGRESS, WATCHDOG_DROP, WATCHDOG_PFC_OFF, 100 * MS, 100 * MS, 30, 20 * S};

static void a_watchdog_that_is_on_has_the_usual_times(void **state)
{
	static const char *const on[] = {"watchdog: {}", "watchdog: on", "watchdog: true",
					 "watchdog: {limit: {}}"};

	(void)state;
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		char text[512];
		struct policy *p;

		snprintf(text, sizeof(text),
			 "ports: [{name: a, device: \"wire:a\", speed: 1G, profile: q}]\n"
			 "profiles: {q: {%s, classes: {3: {lossless: on}}}}\n",
			 on[i]);
		p = policy_of(text);
		expect_watchdog(&p->ports[0].watchdog, defaults);
		policy_destroy(p);
	}
}

static void without_the_key_there_is_no_watchdog(void **state)
{
	struct policy *p = policy_of(
		"ports:\n"
		"  - {name: a, device: \"wire:a\", speed: 1G, profile: q}\n"
		"  - {name: b, device: \"wire:b\", speed: 1G, profile: r}\n"
		"  - {name: c, device: \"wire:c\", speed: 1G, profile: s, watchdog: off}\n"
		"  - {name: d, device: \"wire:d\", speed: 1G}\n"
		"profiles:\n"
		"  q: {classes: {3: {lossless: on}}}\n"
		"  r: {watchdog: off, classes: {3: {lossless: on}}}\n"
		"  s: {watchdog: {action: alert}, classes: {3: {lossless: on}}}\n");

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		expect_watchdog(&p->ports[i].watchdog, (struct watchdog_params){0});
		assert_int_equal(p->ports[i].pfc_warning.in_pps, 0);
		assert_int_equal(p->ports[i].pfc_warning.paused_us, 950000);
		assert_int_equal(p->ports[i].pfc_warning.out_pps, 0);
		assert_int_equal(p->ports[i].guard.group, 0);
	}
	assert_int_equal(p->n_guard_groups, 0);
	policy_destroy(p);
}

static void a_port_goes_over_its_profile_key_by_key(void **state)
{
	struct policy *p = policy_of(
		"ports:\n"
		"  - {name: a, device: \"wire:a\", speed: 1G, profile: q}\n"
		"  - {name: b, device: \"wire:b\", speed: 1G, profile: q,\n"
		"     watchdog: {action: alert, limit: {count: 7}}}\n"
		"  - {name: c, device: \"wire:c\", speed: 1G, profile: q, watchdog: on}\n"
		"  - {name: d, device: \"wire:d\", speed: 1G, profile: r, watchdog: {mode: xoff}}\n"
		"  - {name: e, device: \"wire:e\", speed: 1G, profile: r, watchdog: on}\n"
		"profiles:\n"
		"  q:\n"
		"    watchdog: {mode: xoff, action: forward, detect: 250ms, restore: 1500ms,\n"
		"               limit: {count: 5, window: 1000s, then: port_down}}\n"
		"    classes: {3: {lossless: on}}\n"
		"  r: {watchdog: off, classes: {3: {lossless: on}}}\n");
	struct watchdog_params want = {
		1 << 3, WATCHDOG_XOFF, WATCHDOG_FORWARD, WATCHDOG_PORT_DOWN, 250 * MS, 1500 * MS,
		5,	1000 * S};

	(void)state;
	expect_watchdog(&p->ports[0].watchdog, want);
	expect_watchdog(&p->ports[2].watchdog, want);
	want.action = WATCHDOG_ALERT;
	want.limit_count = 7;
	expect_watchdog(&p->ports[1].watchdog, want);
	expect_watchdog(&p->ports[4].watchdog, defaults);
	want = defaults;
	want.mode = WATCHDOG_XOFF;
	expect_watchdog(&p->ports[3].watchdog, want);
	policy_destroy(p);
}

static void a_class_may_have_times_of_its_own(void **state)
{
	char said[TEXT_LEN];
	struct policy *p = compiled(
		"ports:\n"
		"  - {name: a, device: \"wire:a\", speed: 10G, profile: q}\n"
		"  - {name: b, device: \"wire:b\", speed: 10G, profile: q,\n"
		"     watchdog: {detect: 1s}}\n"
		"  - {name: c, device: \"wire:c\", speed: 1G, profile: q}\n"
		"profiles:\n"
		"  q:\n"
		"    watchdog: on\n"
		"    classes: {3: {lossless: on, watchdog: {detect: 20ms}}, 4: {lossless: on}}\n",
		said);
	const struct watchdog_params *w = &p->ports[1].watchdog;

	(void)state;
	assert_int_equal(watchdog_detect_ns(w, 3), 20 * MS);
	assert_int_equal(watchdog_restore_ns(w, 3), 100 * MS);
	assert_int_equal(watchdog_detect_ns(w, 4), 1000 * MS);
	assert_int_equal(watchdog_detect_ns(&p->ports[0].watchdog, 4), 100 * MS);
	// A PAUSE lasts 34 ms at 1 Gb/s, and 3 ms at 10 Gb/s.
	assert_string_equal(said,
			    "t:9:52: warning: profiles.q.classes.3.watchdog.detect: 20ms is "
			    "shorter than a PAUSE of 65535 quanta at 1G, which lasts about 34ms: "
			    "one PAUSE frame counts as a storm\n");
	policy_destroy(p);
}

static void times_of_a_class_without_a_watchdog_have_no_effect(void **state)
{
	char said[TEXT_LEN];

	(void)state;
	policy_destroy(compiled(
		"ports: [{name: a, device: \"wire:a\", speed: 10G, profile: q}]\n"
		"profiles:\n"
		"  q: {classes: {3: {lossless: on, watchdog: {detect: 20ms}}}}\n", said));
	assert_string_equal(said,
			    "t:3:45: warning: profiles.q.classes.3.watchdog: has no effect: "
			    "neither the profile nor a port of it has a watchdog: set "
			    "watchdog: on in the profile, or remove it\n");
	policy_destroy(policy_of(
		"ports: [{name: a, device: \"wire:a\", speed: 10G, profile: q, watchdog: on}]\n"
		"profiles:\n"
		"  q: {classes: {3: {lossless: on, watchdog: {detect: 20ms}}}}\n"));
}

static void lossless_classes_that_obey_pfc_are_watched(void **state)
{
	char said[TEXT_LEN];
	struct policy *p =
		compiled("ports:\n"
			 "  - {name: a, device: \"wire:a\", speed: 1G, profile: q}\n"
			 "  - {name: b, device: \"wire:b\", speed: 1G, profile: deaf}\n"
			 "profiles:\n"
			 "  q: {pfc: {tx: off}, watchdog: on, classes: {1: {schedule: strict},\n"
			 "      3: {lossless: on}, 4: {lossless: on}}}\n"
			 "  deaf: {pfc: {rx: off}, watchdog: on, classes: {3: {lossless: on}}}\n",
			 said);

	(void)state;
	assert_int_equal(p->ports[0].watchdog.classes, 1 << 3 | 1 << 4);
	assert_int_equal(p->ports[1].watchdog.classes, 0);
	assert_string_equal(said,
			    "t:7:36: warning: profiles.deaf.watchdog: has nothing to watch: profile"
			    " deaf ignores PAUSE, because pfc.rx is off\n");
	policy_destroy(p);
}

// 30 storms are 29 times 100 ms + 100 ms apart: 5.8 s.
static void a_limit_that_is_just_reached_is_no_mistake(void **state)
{
	static const struct {
		const char *window;
		bool reached;
	} rows[] = {{"5800ms", true}, {"5799999999ns", false}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[512], said[TEXT_LEN];

		snprintf(text, sizeof(text),
			 "ports: [{name: a, device: \"wire:a\", speed: 1G, profile: q}]\n"
			 "profiles: {q: {watchdog: {limit: {window: %s}},\n"
			 "  classes: {3: {lossless: on}}}}\n",
			 rows[i].window);
		policy_destroy(compiled(text, said));
		assert_int_equal(*said == '\0', rows[i].reached);
	}
}

// 65535 quanta of 512 bits are 33,553,920 bits: 100 ms at 335,539,200 bit/s.
static void a_pause_as_long_as_the_times_is_no_mistake(void **state)
{
	static const struct {
		const char *speed;
		bool longer;
	} rows[] = {{"335539200", false}, {"335539199", true}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[512], said[TEXT_LEN];

		snprintf(text, sizeof(text),
			 "ports: [{name: a, device: \"wire:a\", speed: %s, profile: q}]\n"
			 "profiles: {q: {watchdog: on, classes: {3: {lossless: on}}}}\n",
			 rows[i].speed);
		policy_destroy(compiled(text, said));
		assert_int_equal(strstr(said, "one PAUSE frame counts as a storm") != NULL,
				 rows[i].longer);
		assert_int_equal(strstr(said, "may still last when the class is restored") != NULL,
				 rows[i].longer);
	}
}

static void early_warnings_reach_every_port_of_the_profile(void **state)
{
	struct policy *p =
		policy_of("ports:\n"
			  "  - {name: \"a[1-2]\", device: \"wire:a[1-2]\", speed: 1G, profile: q}\n"
			  "profiles: {q: {pfc: {warning: {in: 1000, out: 77, paused: 1.25%}}, "
			  "classes: {3: {lossless: on}}}}\n");

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p->ports[i].pfc_warning.in_pps, 1000);
		assert_int_equal(p->ports[i].pfc_warning.out_pps, 77);
		assert_int_equal(p->ports[i].pfc_warning.paused_us, 12500);
	}
	policy_destroy(p);
}

// ---- guard
static const char groups[] =
	"ports:\n"
	"  - {name: a, device: \"wire:a\", speed: 1G, profile: q, guard: {group: up}}\n"
	"  - {name: b, device: \"wire:b\", speed: 1G, profile: q}\n"
	"  - {name: c, device: \"wire:c\", speed: 1G, profile: q, guard: {group: up, remap: [\n"
	"      {dscp: 34, to_class: 2, to_dscp: 18}, {dscp: 26, to_class: 4, to_dscp: 34}]}}\n"
	"  - {name: d, device: \"wire:d\", speed: 1G, profile: q, guard: {group: up, remap: [\n"
	"      {dscp: 26, to_class: 4, to_dscp: 34}, {dscp: 34, to_class: 2, to_dscp: 18}]}}\n"
	"  - {name: e, device: \"wire:e\", speed: 1G, profile: side}\n"
	"  - {name: f, device: \"wire:f\", speed: 1G, profile: side, guard: {remap: [\n"
	"      {dscp: 27, to_class: 1, to_dscp: 8}]}}\n"
	"  - {name: g, device: \"wire:g\", speed: 1G, profile: side, guard: off}\n"
	"profiles:\n"
	"  q: {classes: {3: {lossless: on}, 4: {lossless: on}}}\n"
	"  side:\n"
	"    guard: {group: side, remap: [{dscp: 27, to_class: 1, to_dscp: 8}]}\n"
	"    classes: {3: {lossless: on}}\n";

static void expect_rule(const struct guard_params *g, unsigned i, struct guard_rule want)
{
	assert_int_equal(g->rules[i].dscp, want.dscp);
	assert_int_equal(g->rules[i].to_class, want.to_class);
	assert_int_equal(g->rules[i].to_dscp, want.to_dscp);
	assert_int_equal(g->rule_of_dscp[want.dscp], i);
}

static void ports_of_a_group_have_its_rules_in_one_order(void **state)
{
	static const uint8_t group_of[] = {1, 0, 1, 1, 2, 2, 0};
	struct policy *p = policy_of(groups);

	(void)state;
	assert_int_equal(p->n_guard_groups, 2);
	assert_string_equal(p->guard_groups[0], "up");
	assert_string_equal(p->guard_groups[1], "side");
	for (unsigned i = 0; i < 7; i++) {
		const struct guard_params *g = &p->ports[i].guard;

		assert_int_equal(g->group, group_of[i]);
		assert_int_equal(g->n_rules, group_of[i] == 1 ? 2 : group_of[i] == 2 ? 1 : 0);
		if (group_of[i] == 1) {
			expect_rule(g, 0, (struct guard_rule){34, 2, 18});
			expect_rule(g, 1, (struct guard_rule){26, 4, 34});
		} else if (group_of[i] == 2) {
			expect_rule(g, 0, (struct guard_rule){27, 1, 8});
		}
		for (unsigned d = 0; d < 64; d++) {
			bool ruled = group_of[i] == 1	? d == 26 || d == 34
				     : group_of[i] == 2 ? d == 27
							: false;

			assert_int_equal(g->rule_of_dscp[d] != GUARD_NO_RULE, ruled);
		}
	}
	assert_ptr_equal(guard_match(&p->ports[0].guard, &p->ports[3].guard, 26),
			 &p->ports[0].guard.rules[1]);
	assert_null(guard_match(&p->ports[0].guard, &p->ports[4].guard, 26));
	assert_null(guard_match(&p->ports[1].guard, &p->ports[6].guard, 26));
	policy_destroy(p);
}

static void a_guard_takes_sixteen_rules(void **state)
{
	char text[2048] = "ports: [{name: \"a[1-2]\", device: \"wire:a[1-2]\", speed: 1G,\n"
			  "  profile: q, guard: {group: g, remap: [";
	struct policy *p;

	(void)state;
	for (unsigned i = 0; i < GUARD_MAX_RULES; i++)
		sprintf(text + strlen(text), "{dscp: %u, to_class: 0, to_dscp: 0},\n", 24 + i);
	strcat(text, "]}}]\nprofiles: {q: {classes: {3: {lossless: on}, 4: {lossless: on}}}}\n");
	p = policy_of(text);
	assert_int_equal(p->ports[1].guard.n_rules, GUARD_MAX_RULES);
	expect_rule(&p->ports[1].guard, 15, (struct guard_rule){39, 0, 0});
	policy_destroy(p);
}

// ---- laid over by a scenario
static struct config *overlaid(const char *map)
{
	static const struct config_overlay_port ports[] = {{10000000000, 500}, {10000000000, 500}};
	const struct node *nodes[1];
	struct arena a = {0};
	struct diag_sink s = {.file = "lab.yaml"};
	struct config_overlay o = {.maps = nodes,
				   .n_maps = 1,
				   .file = "lab.yaml",
				   .switch_name = "s1",
				   .ports = ports,
				   .n_ports = 2};
	struct config *c = NULL;
	struct diags d = {0};

	nodes[0] = node_parse(&a, map, strlen(map), &s);
	assert_non_null(nodes[0]);
	assert_int_equal(config_load_overlay("conf/storm.yaml", &o, &c, &d), 0);
	assert_int_equal(d.n, 0);
	diags_fini(&d);
	arena_fini(&a);
	return c;
}

static struct policy *under(const char *map)
{
	struct config *c = overlaid(map);
	struct policy *p = NULL;
	struct diags d = {0};

	assert_int_equal(config_compile(c, NULL, &p, &d), 0);
	diags_fini(&d);
	config_destroy(c);
	return p;
}

static void a_scenario_changes_watchdogs_key_by_key_and_can_remove_them(void **state)
{
	static const struct watchdog_params off = {0}, merged = {1 << 3,
								 WATCHDOG_PROGRESS,
								 WATCHDOG_DROP,
								 WATCHDOG_PFC_OFF,
								 200 * MS,
								 100 * MS,
								 2,
								 20 * S};
	static const struct {
		const char *map;
		const struct watchdog_params *want;
	} rows[] = {
		{"{profiles: {roce: {watchdog: {detect: 200ms, limit: {count: 2}}}}}", &merged},
		{"{profiles: {roce: {watchdog: on}}}", &defaults},
		{"{profiles: {roce: {watchdog: off}}}", &off},
		{"{profiles: {roce: {watchdog: ~}}}", &off},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy *p = under(rows[i].map);

		for (unsigned port = 0; port < 2; port++)
			expect_watchdog(&p->ports[port].watchdog, *rows[i].want);
		policy_destroy(p);
	}
}

static void a_scenario_gives_its_ports_a_guard(void **state)
{
	struct policy *p =
		under("{profiles: {roce: {guard: {group: all, remap: [{dscp: 26, to_class: 1,\n"
		      "  to_dscp: 8}]}, dscp_to_class: {8: 1}}}}");

	(void)state;
	assert_int_equal(p->n_guard_groups, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p->ports[i].guard.group, 1);
		expect_rule(&p->ports[i].guard, 0, (struct guard_rule){26, 1, 8});
	}
	policy_destroy(p);
}

// ---- the samples and their plans
static struct config *load(const char *path)
{
	struct config *c = NULL;
	struct diags d = {0};

	assert_int_equal(config_load(path, &c, &d), 0);
	assert_int_equal(d.n, 0);
	diags_fini(&d);
	return c;
}

static struct policy *policy_in(const char *path)
{
	struct config *c = load(path);
	struct policy *p = NULL;
	struct diags d = {0};

	assert_int_equal(config_compile(c, NULL, &p, &d), 0);
	assert_int_equal(d.n, 0);
	diags_fini(&d);
	config_destroy(c);
	return p;
}

static void the_storm_sample_is_the_plain_one_with_a_watchdog(void **state)
{
	struct policy *storm = policy_in("conf/storm.yaml"), *roce = policy_in("conf/roce.yaml");

	(void)state;
	assert_int_equal(storm->n_ports, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct policy_port *a = &storm->ports[i], *b = &roce->ports[i];

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->device, b->device);
		assert_memory_equal(&a->classify, &b->classify, sizeof(a->classify));
		assert_memory_equal(a->pg, b->pg, sizeof(a->pg));
		expect_watchdog(&a->watchdog, defaults);
		expect_watchdog(&b->watchdog, (struct watchdog_params){0});
	}
	policy_destroy(storm);
	policy_destroy(roce);
}

static void the_guard_sample_has_two_steps_on_its_uplinks(void **state)
{
	struct policy *p = policy_in("conf/guard.yaml");

	(void)state;
	assert_int_equal(p->n_ports, 6);
	assert_int_equal(p->n_guard_groups, 1);
	assert_string_equal(p->guard_groups[0], "uplinks");
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(p->ports[i].guard.group, i < 4 ? 0 : 1);
		assert_int_equal(p->ports[i].watchdog.classes, 1 << 3 | 1 << 4);
	}
	expect_rule(&p->ports[5].guard, 0, (struct guard_rule){26, 4, 34});
	expect_rule(&p->ports[5].guard, 1, (struct guard_rule){34, 2, 18});
	policy_destroy(p);
}

static char *plan_of(struct config *c, bool json)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(plan_print(c, json, NULL, f), 0);
	fclose(f);
	config_destroy(c);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	if (strstr(text, line) == NULL)
		fail_msg("\"%s\" is missing in:\n%s", line, text);
}

static void the_plan_shows_times_warnings_and_chains(void **state)
{
	char *text = plan_of(load("conf/storm.yaml"), false);

	(void)state;
	expect_line(text, "\nwatchdog classes mode      action     detect  restore longest_pause\n"
			  "p1             3 progress  drop        100ms    100ms      33.554ms\n");
	expect_line(text, "\nwatchdog limit\np1       30 in 20s, then pfc_off\n");
	expect_line(text, "detect <= measured <= detect + longest gap");
	expect_line(text, "\np1                 1000      1000\n  also p2 p3\n");
	assert_null(strstr(text, "\nguard "));
	free(text);
	text = plan_of(load("conf/guard.yaml"), false);
	expect_line(text, "\nup1          3,4 progress  drop        100ms    100ms       0.336"
			  "ms\n");
	expect_line(text, "\nh1       30 in 20s, then pfc_off\n  also h2 to h4, up1 up2\n");
	expect_line(text, "\nguard uplinks: up1 up2\n"
			  "  DSCP 26 (class 3) -> 34 (class 4) -> 18 (class 2, lossy)\n");
	assert_null(strstr(text, "early_warning"));
	free(text);
	text = plan_of(load("conf/roce.yaml"), false);
	assert_null(strstr(text, "watchdog"));
	free(text);
}

static void the_plan_has_a_line_for_classes_with_other_times(void **state)
{
	static const char policy[] =
		"ports: [{name: a, device: \"wire:a\", speed: 10G, profile: q}]\n"
		"profiles: {q: {watchdog: on, classes: {2: {lossless: on}, 4: {lossless: on},\n"
		"  3: {lossless: on, watchdog: {detect: 20ms}}}}}\n";

	(void)state;
	for (unsigned json = 0; json < 2; json++) {
		struct config *c = NULL;
		struct diags d = {0};
		char *text;

		assert_int_equal(config_parse("t", policy, strlen(policy), &c, &d), 0);
		text = plan_of(c, json);
		expect_line(text, json ? "\"own_times\":[\n          {\n            \"class\":3,\n"
					 "            \"detect_ns\":20000000,\n"
					 "            \"restore_ns\":100000000\n"
				       : "\na            2,4 progress  drop        100ms    100ms"
					 "       3.355ms\n"
					 "a              3 progress  drop         20ms    100ms");
		free(text);
		diags_fini(&d);
	}
}

static struct json_object *at(struct json_object *o, const char *list, size_t i)
{
	struct json_object *l = NULL;

	assert_true(json_object_object_get_ex(o, list, &l));
	return json_object_array_get_idx(l, i);
}

static void expect_member(struct json_object *o, const char *key, const char *json)
{
	struct json_object *v = NULL;

	assert_true(json_object_object_get_ex(o, key, &v));
	assert_string_equal(json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN), json);
}

static void the_plan_has_the_margin_of_a_short_pause(void **state)
{
	static const char yaml[] =
		"ports: [{name: p1, device: \"wire:a\", speed: 1G, profile: r}, {name: p2, device: "
		"\"wire:b\", speed: 1G, profile: s}]\n"
		"profiles: {r: {pfc: {quanta: 300}, classes: {3: {lossless: true}}},\n"
		"  s: {classes: {3: {lossless: true}}}}\n";
	char *text;

	(void)state;
	for (unsigned json = 0; json < 2; json++) {
		struct diags d = {0};
		struct config *c;

		assert_int_equal(config_parse("p", yaml, strlen(yaml), &c, &d), 0);
		text = plan_of(c, json);
		// 153.6 us of life, 13,026 bytes before it: 2/3 of what is left, and 1/3.
		expect_line(text, json ? "\"lasts_ns\":153600,\n        \"repeated_ns\":32928,\n"
					 "        \"margin_ns\":16464\n"
				       : "\np1           300   153600ns    32928ns    16464ns\n");
		assert_null(strstr(text, json ? "65535,\n        \"lasts" : "\np2         65535"));
		free(text);
	}
}

static void the_plan_tells_programs_the_same(void **state)
{
	char *text = plan_of(load("conf/storm.yaml"), true);
	struct json_object *o = json_tokener_parse(text);

	(void)state;
	expect_member(at(o, "ports", 2), "watchdog",
		      "{\"classes\":[3],\"mode\":\"progress\",\"action\":\"drop\",\"detect_ns\":"
		      "100000000,\"restore_ns\":100000000,\"longest_pause_ns\":33553920,"
		      "\"limit_count\":30,\"limit_window_ns\":20000000000,"
		      "\"limit_then\":\"pfc_off\"}");
	expect_member(at(o, "ports", 0), "pfc_warning", "{\"in_pps\":1000,\"out_pps\":1000}");
	expect_member(o, "guards", "[]");
	json_object_put(o);
	free(text);
	text = plan_of(load("conf/guard.yaml"), true);
	o = json_tokener_parse(text);
	expect_member(at(o, "guards", 0), "ports", "[\"up1\",\"up2\"]");
	expect_member(at(at(o, "guards", 0), "rules", 0), "chain", "[26,34,18]");
	expect_member(at(at(o, "guards", 0), "rules", 1), "to_class", "2");
	json_object_put(o);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watchdog_that_is_on_has_the_usual_times),
		cmocka_unit_test(without_the_key_there_is_no_watchdog),
		cmocka_unit_test(a_port_goes_over_its_profile_key_by_key),
		cmocka_unit_test(a_class_may_have_times_of_its_own),
		cmocka_unit_test(times_of_a_class_without_a_watchdog_have_no_effect),
		cmocka_unit_test(lossless_classes_that_obey_pfc_are_watched),
		cmocka_unit_test(a_limit_that_is_just_reached_is_no_mistake),
		cmocka_unit_test(a_pause_as_long_as_the_times_is_no_mistake),
		cmocka_unit_test(early_warnings_reach_every_port_of_the_profile),
		cmocka_unit_test(ports_of_a_group_have_its_rules_in_one_order),
		cmocka_unit_test(a_guard_takes_sixteen_rules),
		cmocka_unit_test(a_scenario_changes_watchdogs_key_by_key_and_can_remove_them),
		cmocka_unit_test(a_scenario_gives_its_ports_a_guard),
		cmocka_unit_test(the_storm_sample_is_the_plain_one_with_a_watchdog),
		cmocka_unit_test(the_guard_sample_has_two_steps_on_its_uplinks),
		cmocka_unit_test(the_plan_shows_times_warnings_and_chains),
		cmocka_unit_test(the_plan_has_a_line_for_classes_with_other_times),
		cmocka_unit_test(the_plan_has_the_margin_of_a_short_pause),
		cmocka_unit_test(the_plan_tells_programs_the_same),
	};

	if (argc != 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
