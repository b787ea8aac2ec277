// SPDX-License-Identifier: Apache-2.0
// The state machines of 802.1Q 38.4, row by row.
#include "tests/unit/lldp/test.h"

enum { OWN = 0x08, PEERS = 0x18, LOW = 1, HIGH = 2 };

static const struct dcbx_pdu nothing;

static struct dcbx_pdu pfc_of(bool given, bool willing, uint8_t enable)
{
	return (struct dcbx_pdu){
		.pfc = {.given = given, .willing = willing, .max = 8, .enable = enable}};
}

static struct dcbx_link link_of(const struct dcbx_pdu *local, const struct dcbx_pdu *peer,
				uint8_t local_mac, uint8_t peer_mac)
{
	return (struct dcbx_link){.local = local, .peer = peer, .local_mac = {local_mac},
				  .peer_mac = {peer_mac}, .possible = local->pfc.enable};
}

static void pfc_is_the_peers_by_willingness_and_mac(void **state)
{
	static const struct {
		bool willing, peer, given, peer_willing;
		uint8_t mac, peer_mac;
		bool follows;
	} rows[] = {
		// No peer, or one that says nothing of PFC.
		{true, false, false, false, LOW, HIGH, false},
		{true, true, false, false, LOW, HIGH, false},
		{false, false, false, false, LOW, HIGH, false},
		// The peer is not willing.
		{false, true, true, false, LOW, HIGH, false},
		{true, true, true, false, LOW, HIGH, true},
		{true, true, true, false, HIGH, LOW, true},
		// The peer is willing and we are not.
		{false, true, true, true, LOW, HIGH, false},
		{false, true, true, true, HIGH, LOW, false},
		// Both are: the lower MAC address has the settings.
		{true, true, true, true, LOW, HIGH, false},
		{true, true, true, true, HIGH, LOW, true},
		{true, true, true, true, LOW, LOW, false}, // one station
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct dcbx_pdu local = pfc_of(true, rows[i].willing, 0x0c);
		struct dcbx_pdu peer = pfc_of(rows[i].given, rows[i].peer_willing, PEERS);
		struct dcbx_link l = link_of(&local, rows[i].peer ? &peer : NULL, rows[i].mac,
					     rows[i].peer_mac);

		if (dcbx_follows(&l) != rows[i].follows)
			fail_msg("row %zu", i);
		// Class 4 of the peer is lossy here.
		assert_int_equal(dcbx_pfc_oper(&l), rows[i].follows ? 0x08 : 0x0c);
	}
}

static void ets_is_the_recommended_one_only_where_we_are_willing(void **state)
{
	struct dcbx_pdu local = {.ets = {.given = true}}, peer = {.ets_recommended = {0}};
	struct dcbx_link l = link_of(&local, &peer, LOW, HIGH);

	(void)state;
	assert_ptr_equal(dcbx_ets_oper(&l), &local.ets);
	peer.ets_recommended.given = true;
	assert_ptr_equal(dcbx_ets_oper(&l), &local.ets);
	local.ets.willing = true;
	assert_ptr_equal(dcbx_ets_oper(&l), &peer.ets_recommended);
	peer.ets_recommended.given = false; // its configuration is no recommendation
	peer.ets.given = true;
	assert_ptr_equal(dcbx_ets_oper(&l), &local.ets);
	l.peer = NULL;
	assert_ptr_equal(dcbx_ets_oper(&l), &local.ets);
}

static void the_class_of_roce_is_that_of_udp_4791(void **state)
{
	static const struct {
		struct dcbx_app app[2];
		int cls;
	} rows[] = {
		{{{3, DCBX_TCP_UDP, 4791}}, 3},
		{{{4, DCBX_UDP, 4791}}, 4},
		{{{3, 2, 4791}}, -1}, // TCP
		{{{3, 1, 0x8915}}, -1}, // RoCEv1 by EtherType
		{{{3, DCBX_DSCP, 26}}, -1},
		{{{1, DCBX_UDP, 4790}, {5, DCBX_UDP, 4791}}, 5},
		{{{5, DCBX_UDP, 4791}, {6, DCBX_TCP_UDP, 4791}}, 5}, // the first one
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct dcbx_pdu d = {.app_given = true, .n_apps = 2};

		memcpy(d.app, rows[i].app, sizeof(rows[i].app));
		if (dcbx_roce_class(&d) != rows[i].cls)
			fail_msg("row %zu: %d", i, dcbx_roce_class(&d));
	}
	assert_int_equal(dcbx_roce_class(&nothing), -1);
}

static void each_difference_has_its_name(void **state)
{
	static const struct {
		uint8_t own, peers;
		bool given;
		int own_roce, peers_roce; // 0: none
		unsigned found;
	} rows[] = {
		{0x08, 0x08, true, 0, 0, 0},
		{0x08, 0x10, true, 0, 0, DCBX_PFC_DIFFERS},
		{0x08, 0x00, true, 0, 0, DCBX_PFC_DIFFERS},
		{0x08, 0x18, true, 0, 0, DCBX_PFC_DIFFERS},
		{0x00, 0x08, true, 0, 0, DCBX_PFC_DIFFERS},
		{0x08, 0x00, false, 0, 0, DCBX_NO_PFC_TLV},
		{0x00, 0x00, false, 0, 0, 0},
		{0x08, 0x08, true, 3, 3, 0},
		{0x08, 0x08, true, 3, 4, DCBX_APP_DIFFERS},
		{0x08, 0x08, true, 3, 0, 0},
		{0x08, 0x08, true, 0, 4, 0},
		{0x08, 0x10, true, 3, 4, DCBX_PFC_DIFFERS | DCBX_APP_DIFFERS},
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct dcbx_pdu own = pfc_of(true, false, rows[i].own);
		struct dcbx_pdu peer = pfc_of(rows[i].given, false, rows[i].peers);
		struct dcbx_link l = link_of(&own, &peer, LOW, HIGH);

		own.n_apps = rows[i].own_roce != 0;
		own.app[0] = (struct dcbx_app){(uint8_t)rows[i].own_roce, DCBX_TCP_UDP, 4791};
		peer.n_apps = rows[i].peers_roce != 0;
		peer.app[0] = (struct dcbx_app){(uint8_t)rows[i].peers_roce, DCBX_UDP, 4791};
		if (dcbx_differences(&l) != rows[i].found)
			fail_msg("row %zu: %#x", i, dcbx_differences(&l));
		l.peer = NULL;
		assert_int_equal(dcbx_differences(&l), 0);
	}
}

static void a_peer_that_we_follow_agrees_when_it_says_what_we_took(void **state)
{
	struct dcbx_pdu own = pfc_of(true, true, 0x18), peer = pfc_of(true, false, 0x08);
	struct dcbx_link l = link_of(&own, &peer, LOW, HIGH);

	(void)state;
	assert_int_equal(dcbx_differences(&l), 0);
	peer.pfc.enable = 0x0c; // class 2 is lossy here and cannot follow
	assert_int_equal(dcbx_differences(&l), DCBX_PFC_DIFFERS);
}

static void other_shares_are_no_fault(void **state)
{
	struct dcbx_pdu own = {.ets = {.given = true, .percent = {100}}}, peer = own;
	struct dcbx_link l = link_of(&own, &peer, LOW, HIGH);

	(void)state;
	assert_int_equal(dcbx_differences(&l), 0);
	peer.ets.percent[0] = 99;
	assert_int_equal(dcbx_differences(&l), DCBX_ETS_DIFFERS);
	assert_int_equal(dcbx_differences(&l) & DCBX_FAULTS, 0);
	peer.ets.given = false;
	assert_int_equal(dcbx_differences(&l), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pfc_is_the_peers_by_willingness_and_mac),
		cmocka_unit_test(ets_is_the_recommended_one_only_where_we_are_willing),
		cmocka_unit_test(the_class_of_roce_is_that_of_udp_4791),
		cmocka_unit_test(each_difference_has_its_name),
		cmocka_unit_test(a_peer_that_we_follow_agrees_when_it_says_what_we_took),
		cmocka_unit_test(other_shares_are_no_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
