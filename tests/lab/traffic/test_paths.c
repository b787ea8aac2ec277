// SPDX-License-Identifier: Apache-2.0
// Flows with `inof`: what becomes of messages when their path ends, with notices and without. h1
// sends to the subsystem of h2 and h3, a message of 1000 B each 8.64 ms.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#define MS 1000000ull

static const char *root;

// The log of 60 ms, and counters of the flow.
static void run(const char *hosts, const char *flow, const char *faults, const char *want,
		struct traffic_paths *out)
{
	struct world w;
	char yaml[4096], *got;

	snprintf(yaml, sizeof(yaml),
		 "topology: {star: {hosts: 3, speed: 10G}}\n"
		 "override: {inof: {zones: {all: {members: [10.0.0.0/24]}}}, switch: {lldp: on}}\n"
		 "hosts:\n  h1: {inof: {role: initiator, keep_alive: 20ms}}\n"
		 "  \"h[2-3]\": {inof: {role: target, nqn: disk}}\n%s"
		 "flows:\n  - {from: h1, to: [h2, h3], size: 1000, rate: 1M, inof: on%s}\n"
		 "faults: [%s]\n",
		 hosts, flow, faults);
	world_create(&w, root, yaml);
	world_run(&w, 60 * MS);
	got = world_log(&w);
	assert_string_equal(got, want);
	free(got);
	*out = traffic_flow_paths(w.t, 0);
	world_destroy(&w);
}

static const char without[] = "  \"h*\": {inof: {notices: off}}\n";
static const char cut[] = "{at: 10ms, link: h2, link_down: {}}";

static void a_message_of_a_path_that_was_cut_is_sent_again_on_the_next(void **state)
{
	struct traffic_paths p;

	(void)state;
	run("", "", cut,
	    "h1 > h2 1000 B: posted 2000146, done 2002221\n"
	    "h1 > h3 1000 B: posted 2002221, done 13002172\n"
	    "h1 > h3 1000 B: posted 13002172, done 21784373\n"
	    "h1 > h3 1000 B: posted 21784373, done 30568373\n"
	    "h1 > h3 1000 B: posted 30568373, done 39352373\n"
	    "h1 > h3 1000 B: posted 39352373, done 48136373\n"
	    "h1 > h3 1000 B: posted 48136373, done 56920373\n",
	    &p);
	assert_int_equal(p.moves, 1);
	assert_int_equal(p.failed, 0);
}

// Messages of iNOF have no tag, as they go to the neighbour only: notices come where the port has
// tagged VLANs alone.
static void hosts_with_tags_follow_notices(void **state)
{
	static const char yaml[] =
		"topology: {star: {hosts: 3, speed: 10G}}\n"
		"override: {inof: on, switch: {lldp: on}, vlans: [{id: 9}], "
		"ports: [{name: \"p[1-3]\", vlan: {tagged: [9]}}]}\n"
		"hosts:\n  \"h*\": {vlan: 9}\n"
		"  h1: {inof: {role: initiator, keep_alive: 1s}}\n"
		"  \"h[2-3]\": {inof: {role: target, nqn: disk}}\n"
		"flows:\n  - {from: h1, to: [h2, h3], size: 1000, rate: 1M, inof: on}\n"
		"faults: [{at: 10ms, link: h2, link_down: {}}]\n";
	struct world w;

	(void)state;
	world_create(&w, root, yaml);
	world_run(&w, 60 * MS);
	assert_int_equal(traffic_flow_paths(w.t, 0).moves, 1);
	assert_int_equal(traffic_flow_paths(w.t, 0).failed, 0);
	world_destroy(&w);
}

static void without_notices_a_host_waits_for_its_keep_alive(void **state)
{
	struct traffic_paths p;

	(void)state;
	run(without, "", cut,
	    "h1 > h2 1000 B: posted 0, done 2000\n"
	    "h1 > h2 1000 B: posted 2000, done 8786000\n"
	    "h1 > h3 1000 B: posted 8786000, done 28788000\n"
	    "h1 > h3 1000 B: posted 28788000, done 37570200\n"
	    "h1 > h3 1000 B: posted 37570200, done 46354200\n"
	    "h1 > h3 1000 B: posted 46354200, done 55138200\n",
	    &p);
	assert_int_equal(p.moves, 1);
	assert_int_equal(p.failed, 0);
}

static void a_message_of_a_path_that_ended_by_force_fails(void **state)
{
	struct traffic_paths p;

	(void)state;
	run("", "", "{at: 10ms, switch: s1, reload: {override: {inof: {zones: {all: {members: "
	    "[10.0.0.1, 10.0.0.3]}}}}}}",
	    "h1 > h2 1000 B: posted 2000146, done 2002221\n"
	    "h1 > h2 1000 B: posted 2002221, done 10784422\n"
	    "h1 > h3 1000 B: posted 11000105, done 11002172\n"
	    "h1 > h3 1000 B: posted 11002172, done 19784373\n"
	    "h1 > h3 1000 B: posted 19784373, done 28568373\n"
	    "h1 > h3 1000 B: posted 28568373, done 37352373\n"
	    "h1 > h3 1000 B: posted 37352373, done 46136373\n"
	    "h1 > h3 1000 B: posted 46136373, done 54920373\n",
	    &p);
	assert_int_equal(p.moves, 1);
	assert_int_equal(p.failed, 1);
}

static void without_a_second_path_messages_wait_for_the_first(void **state)
{
	struct traffic_paths p;

	(void)state;
	run("  h3: {inof: {nqn: other}}\n", ", stop: 35ms",
	    "{at: 10ms, link: h2, link_down: {for: 20ms}}",
	    "h1 > h2 1000 B: posted 2000147, done 2002222\n"
	    "h1 > h3 1000 B: posted 2000147, done 2003100\n"
	    "h1 > h3 1000 B: posted 2003100, done 10785301\n"
	    "h1 > h3 1000 B: posted 10785301, done 19569301\n"
	    "h1 > h3 1000 B: posted 19569301, done 28353301\n"
	    "h1 > h2 1000 B: posted 2002222, done 33002172\n"
	    "h1 > h3 1000 B: posted 28353301, done 37137301\n"
	    "h1 > h2 1000 B: posted 33002172, done 41784373\n",
	    &p);
	assert_int_equal(p.moves, 0);
	assert_int_equal(p.failed, 0);
}

static void all_connections_move_with_all_their_messages(void **state)
{
	struct traffic_paths p;

	(void)state;
	run(without, ", qps: 2, depth: 2", cut,
	    "h1 > h2 1000 B: posted 0, done 2000\n"
	    "h1 > h2 1000 B: posted 0, done 2878\n"
	    "h1 > h2 1000 B: posted 0, done 8786000\n"
	    "h1 > h2 1000 B: posted 0, done 8786878\n"
	    "h1 > h3 1000 B: posted 8786000, done 28788878\n"
	    "h1 > h3 1000 B: posted 2000, done 28789756\n"
	    "h1 > h3 1000 B: posted 8786878, done 37571078\n"
	    "h1 > h3 1000 B: posted 2878, done 37571956\n"
	    "h1 > h3 1000 B: posted 28788878, done 46355078\n"
	    "h1 > h3 1000 B: posted 28789756, done 46355956\n"
	    "h1 > h3 1000 B: posted 37571078, done 55139078\n"
	    "h1 > h3 1000 B: posted 37571956, done 55139956\n",
	    &p);
	assert_int_equal(p.moves, 1);
	assert_int_equal(p.failed, 0);
}

static void a_path_that_begins_again_before_the_flow_does_has_one_message(void **state)
{
	struct traffic_paths p;

	(void)state;
	run("", ", start: 40ms", "{at: 10ms, link: h1, link_down: {for: 10ms}}",
	    "h1 > h2 1000 B: posted 40000000, done 40002000\n"
	    "h1 > h2 1000 B: posted 40002000, done 48784200\n"
	    "h1 > h2 1000 B: posted 48784200, done 57568200\n",
	    &p);
	assert_int_equal(p.moves, 0);
	assert_int_equal(p.failed, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_of_a_path_that_was_cut_is_sent_again_on_the_next),
		cmocka_unit_test(hosts_with_tags_follow_notices),
		cmocka_unit_test(without_notices_a_host_waits_for_its_keep_alive),
		cmocka_unit_test(a_message_of_a_path_that_ended_by_force_fails),
		cmocka_unit_test(without_a_second_path_messages_wait_for_the_first),
		cmocka_unit_test(all_connections_move_with_all_their_messages),
		cmocka_unit_test(a_path_that_begins_again_before_the_flow_does_has_one_message),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
