// SPDX-License-Identifier: Apache-2.0
// What `show vxlan` says, and `show fdb` of an address behind a tunnel.
#include "dataplane/packet/parse.h"
#include "tests/unit/observe/rows.h"

enum { SECOND = 1000000000 };

// This end is 10.0.0.1. VNI 10010 is VLAN 10 and has both peers, VNI 10020 has the second one.
static void tunnels(struct bench *b)
{
	struct vtep *v = &b->sw->vtep;

	*v = (struct vtep){.here = true, .port = 4789, .dscp = 46, .n_vnis = 2, .n_peers = 2,
			   .source = {10, 0, 0, 1},
			   .peers = {{10, 0, 0, 2}, {10, 0, 0, 3}}};
	v->vnis[0] = (struct vtep_vni){.vni = 10010, .vid = 10, .peers = {3}};
	v->vnis[1] = (struct vtep_vni){.vni = 10020, .vid = 20, .peers = {2}};
	b->sw->policy->vtep = v;
	b->sw->place = VTEP_FIRST + 1;
	ctr_add(&b->sw->tunnel[1].tx_packets, 12345);
	ctr_add(&b->sw->tunnels.ecn[ECN_ECT0][ECN_CE], 7);
	ctr_add(&b->sw->tunnels.ecn[ECN_ECT1][ECN_CE], 1);
	ctr_add(&b->sw->tunnels.ecn[ECN_NOT_ECT][ECN_ECT0], 2);
	ctr_add(&b->sw->tunnels.ecn[ECN_NOT_ECT][ECN_ECT1], 3);
	ctr_add(&b->sw->tunnels.ecn[ECN_NOT_ECT][ECN_CE], 4);
	ctr_add(&b->sw->tunnels.ecn[ECN_ECT1][ECN_ECT0], 5);
	ctr_add(&b->sw->tunnels.ecn[ECN_CE][ECN_ECT1], 6);
}

static void vnis_and_peers_are_shown_with_their_numbers(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;
	char *out;

	tunnels(b);
	data = observe_show(b->o, "vxlan", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "vnis", 0), "learned"), 1);
	assert_int_equal(number(row(data, "vnis", 1), "learned"), 0);
	assert_string_equal(text(row(data, "vxlan_peers", 1), "peer"), "10.0.0.3");
	r = list(data, "vxlan");
	assert_string_equal(text(r, "source"), "10.0.0.1");
	assert_string_equal(text(r, "ecn"), "rfc6040");
	assert_string_equal(text(r, "dscp"), "46");
	assert_int_equal(number(r, "ce_delivered"), 8);
	assert_int_equal(number(r, "ecn_not_ect_ect0"), 2);
	assert_int_equal(number(r, "ecn_not_ect_ect1"), 3);
	assert_int_equal(number(r, "ecn_not_ect_ce"), 4);
	assert_int_equal(number(r, "ecn_ect1_ect0"), 5);
	assert_int_equal(number(r, "ecn_ce_ect1"), 6);
	out = printed("vxlan", data);
	want_line(out, "10.0.0.2 10.0.0.3\n");
	want_line(out, "12,345");
	free(out);
	json_object_put(data);
}

static void an_address_behind_a_peer_is_shown_with_the_peer(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	tunnels(b);
	data = observe_show(b->o, "fdb", OBSERVE_ALL_PORTS, SECOND);
	assert_string_equal(text(row(data, "fdb", 0), "port"), "10.0.0.3");
	json_object_put(data);
	data = observe_show(b->o, "fdb", 1, SECOND);
	assert_int_equal(json_object_array_length(list(data, "fdb")), 0);
	json_object_put(data);
}

static void counts_begin_anew_at_a_clear_and_where_a_peer_is_another(void **state)
{
	struct bench *b = *state;
	struct json_object *data;

	tunnels(b);
	observe_clear(b->o, SECOND);
	ctr_add(&b->sw->tunnel[1].tx_packets, 2);
	data = observe_show(b->o, "vxlan", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "vxlan_peers", 1), "tx_packets"), 2);
	assert_int_equal(number(list(data, "vxlan"), "ce_delivered"), 0);
	json_object_put(data);
	gauge_set((gauge_t *)&b->sw->tunnel[1].tx_packets, 1); // as switch_vxlan_peer counts anew
	data = observe_show(b->o, "vxlan", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(number(row(data, "vxlan_peers", 1), "tx_packets"), 1);
	json_object_put(data);
}

static void a_switch_without_tunnels_says_so(void **state)
{
	struct bench *b = *state;
	struct json_object *data = observe_show(b->o, "vxlan", OBSERVE_ALL_PORTS, SECOND);
	char *out = printed("vxlan", data);

	want_line(out, "no VNI: the policy has no `vxlan`\n");
	free(out);
	json_object_put(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(vnis_and_peers_are_shown_with_their_numbers, begin,
						end),
		cmocka_unit_test_setup_teardown(an_address_behind_a_peer_is_shown_with_the_peer,
						begin, end),
		cmocka_unit_test_setup_teardown(
			counts_begin_anew_at_a_clear_and_where_a_peer_is_another, begin, end),
		cmocka_unit_test_setup_teardown(a_switch_without_tunnels_says_so, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
