// SPDX-License-Identifier: Apache-2.0
// Known topologies by their numbers, and the ways through them.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/lab/routes.h"
#include "control/lab/scenario.h"

static struct scenario *with(const char *topology, const char *forwarding)
{
	const struct sc_set sets[] = {{"topology", topology}, {"forwarding", forwarding}};
	struct diags d = {0};
	struct scenario *sc = NULL;
	int err = scenario_load("bare.yaml", sets, 2, &sc, &d);

	for (unsigned i = 0; i < d.n; i++)
		print_message("%s\n", d.lines[i]);
	assert_int_equal(err, 0);
	diags_fini(&d);
	return sc;
}

// All links as text: "h1-s1.p1 40G 26 ns".
static void assert_links(const struct scenario *sc, const char *const *want)
{
	for (uint32_t i = 0; i < sc->n_links; i++) {
		assert_non_null(want[i]);
		assert_string_equal(sc->links[i].name, want[i]);
	}
	assert_null(want[sc->n_links]);
}

// The ports by which a switch sends to a host: "1,2".
static void assert_way(const struct routes *r, const char *sw, const char *host, const char *want)
{
	struct way w = routes_way(r, (uint32_t)scenario_switch(r->sc, sw),
				  (uint32_t)scenario_host(r->sc, host), NULL, 0);
	char got[256] = "", *end = got;

	for (unsigned i = 0; i < w.n; i++)
		end += sprintf(end, "%s%u", i == 0 ? "" : ",", w.ports[i] + 1u);
	if (strcmp(got, want) != 0)
		fail_msg("%s to %s: by %s, not %s", sw, host, got, want);
}

static void a_star_has_its_hosts_on_the_ports_in_order(void **state)
{
	static const char *const links[] = {"h1-s1.p1", "h2-s1.p2", "h3-s1.p3", NULL};
	struct scenario *sc = with("{star: {hosts: 3, speed: 40G, length: 100m}}", "auto");

	(void)state;
	assert_int_equal(sc->n_switches, 1);
	assert_links(sc, links);
	assert_int_equal(sc->links[2].speed_bps, 40000000000);
	assert_int_equal(sc->links[2].cable_cm, 10000);
	assert_false(sc->routed);
	scenario_destroy(sc);
}

static void a_leaf_spine_links_every_leaf_to_every_spine(void **state)
{
	static const char *const links[] = {"h1-l1.p1",	   "h2-l1.p2",	  "h3-l2.p1",
					    "h4-l2.p2",	   "l1.p3-s1.p1", "l1.p4-s2.p1",
					    "l1.p5-s3.p1", "l2.p3-s1.p2", "l2.p4-s2.p2",
					    "l2.p5-s3.p2", NULL};
	struct scenario *sc = with("{leaf-spine: {leaves: 2, spines: 3, hosts_per_leaf: 2, "
				   "host_speed: 25G, fabric_speed: 100G, fabric_length: 300m}}",
				   "auto");
	struct routes r;

	(void)state;
	assert_links(sc, links);
	assert_int_equal(sc->links[3].speed_bps, 25000000000);
	assert_int_equal(sc->links[4].speed_bps, 100000000000);
	assert_int_equal(sc->links[3].cable_cm, 500);
	assert_int_equal(sc->links[4].cable_cm, 30000);
	assert_true(sc->routed);
	routes_derive(sc, &r);
	assert_way(&r, "l1", "h2", "2");
	assert_way(&r, "l1", "h3", "3,4,5");
	assert_way(&r, "s2", "h1", "1");
	assert_way(&r, "s2", "h4", "2");
	scenario_destroy(sc);
}

static const char *profile_of(const struct scenario *sc, uint32_t link)
{
	const struct node *n = sc->links[link].profile;

	return n == NULL ? "the policy's" : n->text;
}

static void each_tier_has_a_delay_and_a_profile_of_its_own(void **state)
{
	struct scenario *sc =
		with("{clos: {pods: 1, tors_per_pod: 1, leaves_per_pod: 1, spines: 1, "
		     "hosts_per_tor: 1, host_speed: 40G, host_delay: 2us, fabric_delay: 50us, "
		     "spine_length: 100m, host_profile: roce}}",
		     "auto");

	(void)state;
	assert_int_equal(sc->links[0].delay_ns, 2000);
	assert_int_equal(sc->links[1].delay_ns, 50000);
	assert_int_equal(sc->links[1].cable_cm, 990000);
	assert_int_equal(sc->links[2].delay_ns, 506); // of the length: 100 m
	assert_int_equal(sc->links[2].cable_cm, 10000);
	assert_string_equal(profile_of(sc, 0), "roce");
	assert_string_equal(profile_of(sc, 1), "the policy's");
	assert_string_equal(profile_of(sc, 2), "the policy's");
	scenario_destroy(sc);
	sc = with("{clos: {pods: 1, tors_per_pod: 1, leaves_per_pod: 1, spines: 1, "
		  "hosts_per_tor: 1, host_speed: 40G, host_delay: 2us, fabric_profile: roce}}",
		  "auto");
	assert_int_equal(sc->links[2].delay_ns, 2000);
	assert_string_equal(profile_of(sc, 0), "the policy's");
	assert_string_equal(profile_of(sc, 2), "roce"); // as the fabric
	scenario_destroy(sc);
	sc = with("{star: {hosts: 1, speed: 40G, delay: 3us, profile: roce}}", "auto");
	assert_int_equal(sc->links[0].delay_ns, 3000);
	assert_string_equal(profile_of(sc, 0), "roce");
	scenario_destroy(sc);
}

static void a_leaf_spine_with_one_spine_is_a_tree_and_bridges(void **state)
{
	struct scenario *sc = with("{leaf-spine: {leaves: 3, spines: 1, hosts_per_leaf: 1, "
				   "host_speed: 25G}}",
				   "auto");

	(void)state;
	assert_false(sc->routed);
	scenario_destroy(sc);
	sc = with("{leaf-spine: {leaves: 3, spines: 1, hosts_per_leaf: 1, host_speed: 25G}}",
		  "route");
	assert_true(sc->routed);
	scenario_destroy(sc);
}

// The testbed of the DCQCN paper (SIGCOMM 2015, figure 2): two pods of two ToRs and two leaves
// each.
static void a_clos_has_pods_of_tors_and_leaves_below_its_spines(void **state)
{
	static const char *const links[] = {
		"h1-t1.p1",    "h2-t2.p1",    "h3-t3.p1",    "h4-t4.p1",    "t1.p2-l1.p1",
		"t1.p3-l2.p1", "t2.p2-l1.p2", "t2.p3-l2.p2", "t3.p2-l3.p1", "t3.p3-l4.p1",
		"t4.p2-l3.p2", "t4.p3-l4.p2", "l1.p3-s1.p1", "l1.p4-s2.p1", "l2.p3-s1.p2",
		"l2.p4-s2.p2", "l3.p3-s1.p3", "l3.p4-s2.p3", "l4.p3-s1.p4", "l4.p4-s2.p4",
		NULL};
	struct scenario *sc =
		with("{clos: {pods: 2, tors_per_pod: 2, leaves_per_pod: 2, spines: 2, "
		     "hosts_per_tor: 1, host_speed: 40G}}",
		     "auto");
	struct routes r;

	(void)state;
	assert_int_equal(sc->n_switches, 10);
	assert_links(sc, links);
	assert_int_equal(sc->links[19].speed_bps, 40000000000);
	routes_derive(sc, &r);
	assert_way(&r, "t1", "h1", "1");
	assert_way(&r, "t1", "h2", "2,3"); // within the pod: by either leaf
	assert_way(&r, "l1", "h2", "2"); // and not by a spine
	assert_way(&r, "t1", "h4", "2,3");
	assert_way(&r, "l1", "h4", "3,4");
	assert_way(&r, "s1", "h4", "3,4"); // by either leaf of the other pod
	assert_way(&r, "l4", "h4", "2");
	scenario_destroy(sc);
}

static void a_ring_goes_the_shorter_way_round_or_both(void **state)
{
	static const char *const links[] = {"h1-s1.p1",	   "h2-s2.p1",	  "h3-s3.p1",
					    "h4-s4.p1",	   "s1.p2-s2.p3", "s2.p2-s3.p3",
					    "s3.p2-s4.p3", "s4.p2-s1.p3", NULL};
	struct scenario *sc =
		with("{ring: {switches: 4, hosts_per_switch: 1, host_speed: 40G}}", "auto");
	struct routes r;

	(void)state;
	assert_links(sc, links);
	routes_derive(sc, &r);
	assert_way(&r, "s1", "h2", "2");
	assert_way(&r, "s1", "h4", "3");
	assert_way(&r, "s1", "h3", "2,3");
	scenario_destroy(sc);
}

static void a_route_of_the_file_replaces_the_derived_one(void **state)
{
	const struct sc_set sets[] = {
		{"topology", "{ring: {switches: 4, hosts_per_switch: 2, host_speed: 40G}}"},
		{"switches",
		 "{s1: {routes: [{to: \"h[3-4]\", via: p4}, {to: h3, via: [p3, p4]}]}}"}};
	struct diags d = {0};
	struct scenario *sc = NULL;
	struct routes r;

	(void)state;
	assert_int_equal(scenario_load("bare.yaml", sets, 2, &sc, &d), 0);
	routes_derive(sc, &r);
	assert_way(&r, "s1", "h4", "4"); // the long way
	assert_way(&r, "s1", "h3", "3,4"); // the last entry counts
	assert_way(&r, "s1", "h5", "3,4");
	assert_way(&r, "s2", "h4", "2");
	scenario_destroy(sc);
}

static void of_two_lists_of_routes_for_a_switch_the_later_counts(void **state)
{
	const struct sc_set sets[] = {
		{"topology", "{ring: {switches: 4, hosts_per_switch: 2, host_speed: 40G}}"},
		{"switches", "{\"s*\": {routes: [{to: \"h[5-6]\", via: p3}, {to: h8, via: p3}]},"
			     " s1: {routes: [{to: \"h[3-4]\", via: [p3, p4]}]}}"}};
	struct diags d = {0};
	struct scenario *sc = NULL;

	(void)state;
	assert_int_equal(scenario_load("bare.yaml", sets, 2, &sc, &d), 0);
	assert_int_equal(sc->switches[0].n_routes, 2); // to h3 and h4
	assert_int_equal(sc->switches[0].routes[1].n_ports, 2);
	assert_int_equal(sc->switches[1].n_routes, 3);
	scenario_destroy(sc);
}

static void macs_name_switch_and_port_and_the_first_hop_is_the_router(void **state)
{
	static const uint8_t port[6] = {2, 1, 0, 1, 0, 2}, second[6] = {2, 0, 0, 0, 0, 1};
	static const uint8_t router[6] = {2, 1, 0, 0, 0, 0};
	struct scenario *sc =
		with("{ring: {switches: 3, hosts_per_switch: 1, host_speed: 40G}}", "auto");
	uint8_t mac[6];

	(void)state;
	routes_peer_mac(sc, 0, 1, mac); // s1.p2 goes to s2.p3
	assert_memory_equal(mac, port, 6);
	routes_peer_mac(sc, 1, 0, mac); // s2.p1 has h2
	assert_memory_equal(mac, second, 6);
	routes_first_hop_mac(sc, 0, 1, mac);
	assert_memory_equal(mac, router, 6);
	scenario_destroy(sc);
	sc = with("{star: {hosts: 2, speed: 40G}}", "auto");
	routes_first_hop_mac(sc, 0, 1, mac);
	assert_memory_equal(mac, second, 6);
	scenario_destroy(sc);
}

static void islands_are_hosts_that_reach_each_other(void **state)
{
	struct diags d = {0};
	struct scenario *sc = NULL;

	(void)state;
	assert_int_equal(scenario_load("islands.yaml", NULL, 0, &sc, &d), 0);
	assert_true(sc->hosts[0].island == sc->hosts[1].island);
	assert_true(sc->hosts[2].island == sc->hosts[3].island);
	assert_true(sc->hosts[0].island != sc->hosts[2].island);
	assert_true(sc->hosts[4].island == sc->hosts[5].island); // linked to each other
	scenario_destroy(sc);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_has_its_hosts_on_the_ports_in_order),
		cmocka_unit_test(a_leaf_spine_links_every_leaf_to_every_spine),
		cmocka_unit_test(each_tier_has_a_delay_and_a_profile_of_its_own),
		cmocka_unit_test(a_leaf_spine_with_one_spine_is_a_tree_and_bridges),
		cmocka_unit_test(a_clos_has_pods_of_tors_and_leaves_below_its_spines),
		cmocka_unit_test(a_ring_goes_the_shorter_way_round_or_both),
		cmocka_unit_test(a_route_of_the_file_replaces_the_derived_one),
		cmocka_unit_test(of_two_lists_of_routes_for_a_switch_the_later_counts),
		cmocka_unit_test(macs_name_switch_and_port_and_the_first_hop_is_the_router),
		cmocka_unit_test(islands_are_hosts_that_reach_each_other),
	};
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/tests/unit/lab/good", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
