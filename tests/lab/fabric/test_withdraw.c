// SPDX-License-Identifier: Apache-2.0
// Derived routes of a leaf-spine fabric follow its links: on all switches in the instant in which a
// port goes down, and back in the instant in which it comes up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lab/fabric/rig.h"

#define US 1000ull
#define MS 1000000ull

// Frames that were under way at the cut have ended, and none has been sent again.
#define UNDER_WAY_NS (20 * US)

enum { L1, L2, L3, SPINE1, SPINE2, BY_SPINE1 = 1, BY_SPINE2 = 2, TO_L3 = 2 };

static uint64_t sent(const struct rig *r, uint32_t sw, uint32_t port)
{
	const struct sc_port *p = &r->sc->switches[sw].ports[port];

	return wire_counts(wire_end(r->f->links[p->link].wire, p->side)).frames;
}

static uint64_t sent_again(const struct rig *r)
{
	return nic_stats_now(r->f->hosts[0].nic)->retransmissions;
}

// Frames of l1 by each spine, what it dropped for want of a route, what the spines dropped.
struct seen {
	uint64_t by_spine1, by_spine2, to_l3, no_route, at_spines;
};

static uint64_t dropped_by(const struct rig *r, uint32_t spine)
{
	return rig_drops(r, spine, DROP_PORT_DOWN) + rig_drops(r, spine, DROP_NO_ROUTE);
}

static struct seen look(const struct rig *r)
{
	return (struct seen){sent(r, L1, BY_SPINE1), sent(r, L1, BY_SPINE2),
			     sent(r, SPINE1, TO_L3) + sent(r, SPINE2, TO_L3),
			     rig_drops(r, L1, DROP_NO_ROUTE),
			     dropped_by(r, SPINE1) + dropped_by(r, SPINE2)};
}

static struct seen between(struct rig *r, uint64_t from_ns, uint64_t to_ns)
{
	struct seen a, b;

	rig_run(r, from_ns);
	a = look(r);
	rig_run(r, to_ns);
	b = look(r);
	return (struct seen){b.by_spine1 - a.by_spine1, b.by_spine2 - a.by_spine2,
			     b.to_l3 - a.to_l3, b.no_route - a.no_route,
			     b.at_spines - a.at_spines};
}

static void a_leaf_leaves_out_the_spine_that_has_lost_its_way(void **state)
{
	const struct sc_set sets[] = {
		{"faults", "[{at: 1ms, link: l3.p2, link_down: {for: 4ms}}]"}, {NULL, NULL}};
	struct seen cut, back;
	uint64_t again;
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	cut = between(&r, 1 * MS + UNDER_WAY_NS, 5 * MS);
	assert_int_equal(cut.at_spines + cut.no_route, 0);
	assert_true(cut.by_spine1 > 0); // to l2
	assert_true(cut.by_spine2 > 2 * cut.by_spine1);
	again = sent_again(&r);
	back = between(&r, 5 * MS, 9 * MS);
	assert_true(back.by_spine1 > 2 * cut.by_spine1);
	assert_int_equal(back.at_spines + back.no_route, 0);
	assert_int_equal(sent_again(&r), again); // coming back loses nothing
	rig_free(&r);
}

static void without_withdrawal_the_spine_drops_what_comes_for_the_leaf(void **state)
{
	const struct sc_set sets[] = {
		{"withdraw", "off"},
		{"faults", "[{at: 1ms, link: l3.p2, link_down: {for: 4ms}}]"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	assert_true(between(&r, 1 * MS + UNDER_WAY_NS, 5 * MS).at_spines > 100);
	rig_free(&r);
}

// Each spine has a way to one of the two leaves, and neither has one to both.
static void two_cuts_leave_no_way_and_the_first_switch_says_so(void **state)
{
	const struct sc_set sets[] = {
		{"faults", "[{at: 1ms, link: l1.p2, link_down: {for: 3ms}}, "
			   "{at: 1ms, link: l3.p3, link_down: {}}]"},
		{NULL, NULL}};
	struct seen both, one;
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	both = between(&r, 1 * MS + UNDER_WAY_NS, 4 * MS);
	assert_int_equal(both.to_l3 + both.at_spines + both.by_spine1, 0);
	assert_true(both.no_route > 0);
	assert_true(both.by_spine2 > 0); // to l2
	one = between(&r, 4 * MS, 9 * MS);
	assert_int_equal(one.no_route + one.at_spines, 0);
	assert_true(one.to_l3 > 1000);
	rig_free(&r);
}

static void a_leaf_that_is_cut_off_has_no_route_anywhere(void **state)
{
	const struct sc_set sets[] = {
		{"faults", "[{at: 1ms, link: l3.p2, link_down: {for: 4ms}}, "
			   "{at: 1ms, link: l3.p3, link_down: {for: 4ms}}]"},
		{NULL, NULL}};
	struct seen off;
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	off = between(&r, 1 * MS + UNDER_WAY_NS, 5 * MS);
	assert_int_equal(off.to_l3 + off.at_spines, 0);
	assert_true(off.no_route > 0);
	assert_int_equal(r.f->first_loss.count, 0); // no alarm: the links are the cause
	assert_true(between(&r, 5 * MS, 9 * MS).to_l3 > 1000);
	rig_free(&r);
}

#define RELOAD "switch: l1, reload: {override: {switch: {ecmp: {seed: 9}}}}"

static void a_reload_keeps_withdrawn_routes_withdrawn(void **state)
{
	const struct sc_set sets[] = {
		{"faults", "[{at: 1ms, link: l3.p2, link_down: {}}, {at: 2ms, " RELOAD "}]"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	assert_int_equal(between(&r, 1 * MS + UNDER_WAY_NS, 6 * MS).at_spines, 0);
	rig_free(&r);
}

static void a_reload_in_a_sound_fabric_withdraws_nothing(void **state)
{
	const struct sc_set sets[] = {{"faults", "[{at: 1ms, " RELOAD "}]"}, {NULL, NULL}};
	struct seen s;
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	s = between(&r, 2 * MS, 4 * MS);
	assert_int_equal(s.no_route, 0);
	assert_true(s.by_spine1 > 0 && s.by_spine2 > 0);
	rig_free(&r);
}

static void routes_of_the_file_stay_as_they_are_written(void **state)
{
	const struct sc_set sets[] = {
		{"switches.l1.routes", "[{to: h3, via: [p2, p3]}]"},
		{"faults", "[{at: 1ms, link: l3.p2, link_down: {}}]"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "cut.yaml", sets);
	assert_true(between(&r, 1 * MS + UNDER_WAY_NS, 5 * MS).at_spines > 100);
	rig_free(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf_leaves_out_the_spine_that_has_lost_its_way),
		cmocka_unit_test(without_withdrawal_the_spine_drops_what_comes_for_the_leaf),
		cmocka_unit_test(two_cuts_leave_no_way_and_the_first_switch_says_so),
		cmocka_unit_test(a_leaf_that_is_cut_off_has_no_route_anywhere),
		cmocka_unit_test(a_reload_keeps_withdrawn_routes_withdrawn),
		cmocka_unit_test(a_reload_in_a_sound_fabric_withdraws_nothing),
		cmocka_unit_test(routes_of_the_file_stay_as_they_are_written),
	};
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/tests/lab/fabric", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
