// SPDX-License-Identifier: Apache-2.0
// weir-host refuses options that contradict each other.
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/host/args.h"

static bool takes(const char *words)
{
	char line[256] = "weir-host --device xdp:e --ip 10.0.0.1 ", *argv[32];
	struct host_args a;
	int argc = 0;

	strcat(line, words);
	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	optind = 0; // getopt begins anew
	return host_args_parse(argc, argv, &a);
}

static void a_code_is_of_one_class(void **state)
{
	(void)state;
	assert_true(takes("--listen --vlan 5 --class 3,5 --pcp 3,2"));
	assert_false(takes("--listen --vlan 5 --class 3,5 --pcp 3,3"));
	assert_true(takes("--listen --vlan 5 --class 3,3 --pcp 2,2"));
	assert_true(takes("--listen --class 3,5 --dscp 26,34"));
	assert_false(takes("--listen --class 3,5 --dscp 26,26"));
}

static void cnps_need_a_pcp(void **state)
{
	(void)state;
	assert_true(takes("--listen --vlan 5 --class 3 --pcp 6"));
	assert_true(takes("--listen --cc dcqcn --vlan 5 --class 3 --pcp 2"));
	assert_false(takes("--listen --cc dcqcn --vlan 5 --class 3 --pcp 6"));
	assert_true(takes("--listen --cc dcqcn --vlan 5 --class 3,6 --pcp 6,3"));
	assert_true(takes("--listen --cc dcqcn --cc-set cnp_dscp=40 --vlan 5 --class 3 --pcp 6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_is_of_one_class),
		cmocka_unit_test(cnps_need_a_pcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
