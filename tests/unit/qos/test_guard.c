// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "dataplane/qos/guard.h"
#include "tests/unit/qos/test.h"

// Rules of a port: 26 becomes class 4 and 34, 34 becomes class 2 and 16.
static struct guard_params params(unsigned group)
{
	struct guard_params p = {.group = (uint8_t)group, .n_rules = 2};

	memset(p.rule_of_dscp, GUARD_NO_RULE, sizeof(p.rule_of_dscp));
	p.rule_of_dscp[26] = 0;
	p.rule_of_dscp[34] = 1;
	p.rules[0] = (struct guard_rule){.dscp = 26, .to_class = 4, .to_dscp = 34};
	p.rules[1] = (struct guard_rule){.dscp = 34, .to_class = 2, .to_dscp = 16};
	return p;
}

static void only_a_frame_that_stays_within_one_group_and_has_a_rule_is_remapped(void **state)
{
	static const struct {
		unsigned in, out; // groups
		uint8_t dscp;
		int rule; // -1: none
	} rows[] = {
		{1, 1, 26, 0},	{1, 1, 34, 1},	{2, 2, 26, 0}, // turns back
		{1, 2, 26, -1}, {2, 1, 34, -1}, // from group to group
		{1, 0, 26, -1}, {0, 1, 26, -1}, // up or down
		{0, 0, 26, -1}, // two ports in no group are not in the same one
		{1, 1, 0, -1},	{1, 1, 25, -1}, {1, 1, 27, -1}, {1, 1, 63, -1}, // no rule
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct guard_params in = params(rows[i].in), out = params(rows[i].out);
		const struct guard_rule *r = guard_match(&in, &out, rows[i].dscp);

		assert_row(i, r == NULL ? -1 : (int)(r - in.rules), rows[i].rule);
	}
}

static void the_rules_are_those_of_the_port_of_arrival(void **state)
{
	struct guard_params in = params(1), out = params(1);

	(void)state;
	out.rules[0].to_class = 7;
	out.rule_of_dscp[26] = GUARD_NO_RULE;
	assert_ptr_equal(guard_match(&in, &out, 26), &in.rules[0]);
	assert_null(guard_match(&out, &in, 26));
}

static void a_chain_ends_where_no_rule_knows_the_last_dscp(void **state)
{
	struct guard_params p = params(1);
	uint8_t dscp = 26;
	unsigned hops = 0;

	(void)state;
	for (const struct guard_rule *r; (r = guard_match(&p, &p, dscp)) != NULL; hops++)
		dscp = r->to_dscp;
	assert_int_equal(hops, 2);
	assert_int_equal(dscp, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			only_a_frame_that_stays_within_one_group_and_has_a_rule_is_remapped),
		cmocka_unit_test(the_rules_are_those_of_the_port_of_arrival),
		cmocka_unit_test(a_chain_ends_where_no_rule_knows_the_last_dscp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
