// SPDX-License-Identifier: Apache-2.0
// The sample policy with IPCC, and what `weirctl plan` says of flows and notifications.
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

// ---- the sample and its plan
static struct config *parsed(const char *text, struct diags *d)
{
	struct config *c = NULL;

	if (config_parse("t", text, strlen(text), &c, d) != 0)
		fail_msg("%s", d->lines[0]);
	return c;
}

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

static void the_ipcc_sample_is_the_plain_one_with_ipcc(void **state)
{
	struct policy *ipcc = policy_in("conf/ipcc.yaml"), *roce = policy_in("conf/roce.yaml");

	(void)state;
	assert_int_equal(ipcc->n_ports, 3);
	assert_memory_equal(&ipcc->flows, &roce->flows, sizeof(ipcc->flows));
	assert_memory_equal(&ipcc->pairing, &roce->pairing, sizeof(ipcc->pairing));
	assert_memory_equal(&ipcc->buffer, &roce->buffer, sizeof(ipcc->buffer));
	for (unsigned i = 0; i < 3; i++) {
		const struct policy_port *a = &ipcc->ports[i], *b = &roce->ports[i];

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->device, b->device);
		assert_memory_equal(&a->classify, &b->classify, sizeof(a->classify));
		assert_memory_equal(a->pg, b->pg, sizeof(a->pg));
		assert_memory_equal(&a->cnp, &b->cnp, sizeof(a->cnp));
		for (unsigned q = 0; q < N_QUEUES; q++) {
			assert_memory_equal(&a->queue[q].wred, &b->queue[q].wred,
					    sizeof(a->queue[q].wred));
			assert_int_equal(a->queue[q].ipcc.enabled, q == 3);
			assert_false(b->queue[q].ipcc.enabled);
		}
	}
	policy_destroy(ipcc);
	policy_destroy(roce);
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

static void the_plan_shows_thresholds_intervals_and_memory(void **state)
{
	struct policy *p = policy_in("conf/ipcc.yaml");
	char line[128], *text = plan_of(load("conf/ipcc.yaml"), false);
	struct diags d = {0};

	(void)state;
	snprintf(line, sizeof(line),
		 "\nflows: 65536, age 3s, 0 static pairs\n"
		 "  memory, with IPCC: %llu B\n",
		 (unsigned long long)config_flow_bytes(p));
	expect_line(text, line);
	// 200 us at 1 Gbit/s are 25,000 B.
	expect_line(text,
		    "\nipcc     queue       kmin       kmax       deep interval sent_in_it few"
		    " many\n"
		    "p1           3     150000    1500000     750000    200us      25000   2   64\n"
		    "  also p2 p3\n");
	// One group: min of 71 cells, and a third of 46518. Two: twice the min, and a half.
	expect_line(text,
		    "\nipcc     queue    cut    drain  min_gap    spare     deep_one     deep_all\n"
		    "p1           3    50%      2ms    400us        0      3987712      5990656\n");
	expect_line(text, "\np1          48     6       1000      64\n  also p2 p3\n");
	policy_destroy(p);
	free(text);
	text = plan_of(load("conf/roce.yaml"), false);
	expect_line(text, "\nflows: 65536, ");
	assert_null(strstr(text, "\nipcc"));
	assert_null(strstr(text, "\ncnp"));
	free(text);
	text = plan_of(parsed("switch: {flows: off}\nports: [{name: a, device: \"wire:a\","
			      " speed: 40G}]\n",
			      &d),
		       false);
	expect_line(text, "\nflows: no table\n");
	free(text);
	diags_fini(&d);
}

static void expect_member(struct json_object *o, const char *key, const char *json)
{
	struct json_object *v = NULL;

	assert_true(json_object_object_get_ex(o, key, &v));
	assert_string_equal(json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN), json);
}

static void the_plan_tells_programs_the_same(void **state)
{
	struct policy *p = policy_in("conf/ipcc.yaml");
	char want[256], *text = plan_of(load("conf/ipcc.yaml"), true);
	struct json_object *o = json_tokener_parse(text), *list = NULL;

	(void)state;
	snprintf(want, sizeof(want),
		 "{\"max\":65536,\"age_ns\":3000000000,\"memory_bytes\":%llu,\"pairs\":0}",
		 (unsigned long long)config_flow_bytes(p));
	expect_member(o, "flows", want);
	assert_true(json_object_object_get_ex(o, "ipcc", &list));
	assert_int_equal(json_object_array_length(list), 3);
	assert_string_equal(json_object_to_json_string_ext(json_object_array_get_idx(list, 2),
							   JSON_C_TO_STRING_PLAIN),
			    "{\"port\":\"p3\",\"queue\":3,\"kmin_bytes\":150000,\"kmax_bytes\":"
			    "1500000,\"deep_bytes\":750000,\"deep_one_bytes\":3987712,"
			    "\"deep_all_bytes\":5990656,\"interval_ns\":200000,"
			    "\"interval_bytes\":25000,\"few\":2,\"many\":64,\"cut_learnt\":false,"
			    "\"cut_ppm\":500000,\"drain_ns\":2000000,\"min_gap_ns\":400000,"
			    "\"spare_ns\":0}");
	assert_true(json_object_object_get_ex(o, "ports", &list));
	expect_member(json_object_array_get_idx(list, 1), "cnp",
		      "{\"dscp\":48,\"class\":6,\"max_per_ms\":1000,\"burst\":64}");
	json_object_put(o);
	policy_destroy(p);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ipcc_sample_is_the_plain_one_with_ipcc),
		cmocka_unit_test(the_plan_shows_thresholds_intervals_and_memory),
		cmocka_unit_test(the_plan_tells_programs_the_same),
	};

	if (argc != 2 || chdir(argv[1]) != 0) {
		fprintf(stderr, "usage: %s SOURCE_ROOT\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
