// SPDX-License-Identifier: Apache-2.0
// Who is told of whom, when, and by which reason; and what hosts cannot do.
#include "tests/unit/inof/three_hosts.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "control/inof/parted.h"
#include "dataplane/base/rng.h"

static unsigned n_registered(void)
{
	struct inof_host_view v;
	unsigned n = 0;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		n += inof_host(w.r, i, w.now_ns, &v);
	return n;
}

static void hosts_of_the_default_zone_are_told_of_each_other_once(void **state)
{
	(void)state;
	register_all();
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	expect(&h[2], &h[0], true, INOF_NO_FAULT);
	expect(&h[0], &h[1], true, INOF_NO_FAULT);
	expect(&h[0], &h[2], true, INOF_NO_FAULT);
	world_run(&w, w.now_ns + 60 * S);
	assert_int_equal(h[0].n, 2);
	assert_int_equal(h[1].n, 1);
	assert_int_equal(count(1)->acks, 1);
	assert_int_equal(count(1)->bad_acks, 0);
}

static void an_initiator_is_not_told_of_initiators(void **state)
{
	(void)state;
	register_all();
	assert_null(world_told(&h[1], h[2].ip));
}

static void a_link_that_goes_down_is_told_at_once_by_reason_1(void **state)
{
	uint64_t down_ns;

	(void)state;
	register_all();
	down_ns = w.now_ns;
	inof_link(w.r, 0, false, down_ns);
	world_run(&w, down_ns); // no time passes
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	expect(&h[2], &h[0], false, INOF_LINK_DOWN);
	assert_int_equal(w.n_events[EVENT_INOF_HOST_GONE], 1);
	assert_int_equal(w.last_a[EVENT_INOF_HOST_GONE], INOF_LINK_DOWN);
}

// The link alone shows nothing: another host may be behind it.
static void after_a_link_has_come_up_a_host_is_online_when_it_registers_or_asks(void **state)
{
	(void)state;
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + S);
	inof_link(w.r, 0, true, w.now_ns);
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	world_query(&w, &h[0]);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	inof_link(w.r, 0, false, w.now_ns);
	inof_link(w.r, 0, true, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	world_forget(&h[0]);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	expect(&h[0], &h[1], true, INOF_NO_FAULT); // told again, as it has forgotten
}

// The switch looks at its links every few milliseconds. An older frame may be of another host.
static void a_registration_counts_that_comes_just_before_the_switch_sees_the_link(void **state)
{
	(void)state;
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + S);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 101 * MS);
	inof_link(w.r, 0, true, w.now_ns);
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	inof_link(w.r, 0, false, w.now_ns);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 100 * MS);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	inof_link(w.r, 0, true, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	assert_int_equal(count(0)->registrations, 2);
}

static void a_storm_takes_the_hosts_of_a_port_offline_by_reason_2_until_it_is_over(void **state)
{
	(void)state;
	register_all();
	inof_fault(w.r, 0, INOF_PFC_STORM, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], false, INOF_PFC_STORM);
	world_register(&w, &h[0], 120); // it still speaks
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], false, INOF_PFC_STORM);
	inof_fault(w.r, 0, INOF_NO_FAULT, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

// Other switches take the reason for the state.
static void a_host_that_registers_in_a_storm_is_offline_by_reason_2(void **state)
{
	struct inof_host_view v;

	(void)state;
	inof_fault(w.r, 0, INOF_PFC_STORM, w.now_ns);
	register_all();
	assert_true(inof_host(w.r, 0, w.now_ns, &v));
	assert_false(v.online);
	assert_int_equal(v.reason, INOF_PFC_STORM);
	assert_int_equal(h[1].n, 0);
	inof_fault(w.r, 0, INOF_NO_FAULT, w.now_ns);
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	assert_true(inof_host(w.r, 0, w.now_ns, &v));
	assert_int_equal(v.reason, INOF_NO_FAULT);
}

static void a_host_that_says_nothing_for_its_ttl_is_offline_by_reason_6(void **state)
{
	(void)state;
	register_all();
	world_run(&w, S + 119 * S);
	world_register(&w, &h[1], 120);
	world_run(&w, S + 120 * S - 1);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	world_run(&w, S + 120 * S);
	expect(&h[1], &h[0], false, INOF_AGED_OUT);
}

static void a_goodbye_ends_a_registration_and_is_also_for_lldp(void **state)
{
	(void)state;
	register_all();
	world_register(&w, &h[0], 0); // asserts that LLDP gets the frame
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], false, INOF_AGED_OUT);
}

static void a_host_with_another_address_is_told_under_both_by_reason_5(void **state)
{
	struct host_model before = h[0];

	(void)state;
	register_all();
	h[0].ip = world_ip(77);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 10 * MS);
	expect(&h[1], &before, false, INOF_ADDRESS_CHANGE);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void a_host_with_another_port_goes_and_comes_with_the_new_one(void **state)
{
	(void)state;
	register_all();
	h[0].service.port = 4421;
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 10 * MS);
	assert_int_equal(h[1].n, 3); // online, offline, online
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	assert_int_equal(world_told(&h[1], h[0].ip)->service_port, 4421);
}

static void a_host_that_is_silent_delays_the_new_service_by_a_second_at_most(void **state)
{
	(void)state;
	register_all();
	h[1].silent = true;
	h[0].service.port = 4421;
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 10 * MS);
	expect(&h[2], &h[0], false, INOF_ADDRESS_CHANGE);
	world_run(&w, w.now_ns + S / 2);
	world_register(&w, &h[0], 120); // does not begin the wait again
	world_run(&w, w.now_ns + S / 2);
	expect(&h[2], &h[0], true, INOF_NO_FAULT);
	expect(&h[1], &h[0], false, INOF_ADDRESS_CHANGE); // it may still have the old connection
	h[1].silent = false;
	world_run(&w, w.now_ns + 20 * S);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	assert_int_equal(world_told(&h[1], h[0].ip)->service_port, 4421);
}

static void a_host_that_wants_no_notices_with_its_new_service_gets_none(void **state)
{
	unsigned before;

	(void)state;
	register_all();
	h[1].silent = true;
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + 10 * MS);
	h[1].service.port = 4421;
	h[1].unsubscribed = true;
	world_register(&w, &h[1], 120);
	world_run(&w, w.now_ns + INOF_BOUNCE_MS * MS + 100 * MS);
	before = h[1].n;
	world_run(&w, w.now_ns + 60 * S);
	assert_int_equal(h[1].n, before);
}

static void one_netdev_registers_several_addresses(void **state)
{
	struct host_model second = world_host(4, 0, INOF_TARGET);

	(void)state;
	register_all();
	world_register(&w, &second, 120);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	expect(&h[1], &second, true, INOF_NO_FAULT);
}

// ---- zones

static void a_zone_takes_its_hosts_out_of_the_default_zone_by_reason_4(void **state)
{
	const char *const members[] = {"10.0.0.1", "10.0.0.2", NULL};

	(void)state;
	register_all();
	world_zone(&w, "db", members);
	world_run(&w, w.now_ns);
	expect(&h[2], &h[0], false, INOF_ZONE_CHANGE);
	expect(&h[0], &h[2], false, INOF_ZONE_CHANGE);
	assert_int_equal(h[1].n, 1); // for it nothing has changed
	world_zone(&w, "db", NULL);
	world_run(&w, w.now_ns);
	expect(&h[2], &h[0], true, INOF_ZONE_CHANGE);
	assert_int_equal(h[1].n, 1);
}

static void pairs_that_a_zone_parts_are_named_once(void **state)
{
	const char *const members[] = {"10.0.0.1", "10.0.0.2", NULL};
	struct inof_sight *before, *after;
	struct inof_pair pairs[4];

	(void)state;
	h[0].service.role = h[2].service.role = INOF_BOTH;
	register_all();
	before = inof_sight_take(w.r);
	world_zone(&w, "db", members);
	after = inof_sight_take(w.r);
	assert_int_equal(inof_parted(w.r, before, before, pairs, 4), 0);
	// The second host has lost the third one as well, but finds the first one in both zones.
	assert_int_equal(inof_parted(w.r, before, after, pairs, 4), 2);
	assert_true(ip_key_same(pairs[0].initiator, h[0].ip));
	assert_true(ip_key_same(pairs[0].target, h[2].ip));
	assert_true(ip_key_same(pairs[1].initiator, h[1].ip));
	assert_true(ip_key_same(pairs[1].target, h[2].ip));
	assert_int_equal(inof_parted(w.r, before, after, pairs, 1), 1);
	assert_int_equal(inof_parted(w.r, after, before, pairs, 4), 0);
	free(before);
	free(after);
}

static void a_host_of_two_zones_is_told_of_both(void **state)
{
	const char *const members[] = {"10.0.0.1-10.0.0.2", NULL};
	struct inof_zone more = {.name = "more"};
	const struct inof_member third = {.first = world_ip(3), .last = world_ip(3)},
				 first = {.first = world_ip(1), .last = world_ip(1)};

	(void)state;
	register_all();
	world_zone(&w, "db", members);
	assert_int_equal(inof_zone_add(&more, "10.0.0.3", &third), 0);
	assert_int_equal(inof_zone_add(&more, "10.0.0.1", &first), 0);
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_RUNTIME, &more, 1, w.now_ns), 0);
	world_run(&w, w.now_ns);
	assert_int_equal(h[2].n, 1); // the zones came before the first poll: no notice between
	expect(&h[0], &h[1], true, INOF_NO_FAULT);
	expect(&h[0], &h[2], true, INOF_NO_FAULT);
	strcpy(more.name, "db"); // the policy's zone has the name
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_RUNTIME, &more, 1, w.now_ns), 0);
	world_run(&w, w.now_ns);
	expect(&h[2], &h[0], false, INOF_ZONE_CHANGE);
	inof_zone_fini(&more);
}

static void zones_beyond_a_thousand_are_refused_and_nothing_changes(void **state)
{
	static struct inof_zone many[INOF_ZONES + 1];

	(void)state;
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_RUNTIME, many, INOF_ZONES + 1, 0), -ENOSPC);
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_RUNTIME, many, INOF_ZONES, 0), 0);
	assert_int_equal(inof_set_zones(w.r, INOF_ZONES_POLICY, many, 1, 0), -ENOSPC);
	register_all();
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void a_port_that_takes_part_no_more_loses_its_hosts(void **state)
{
	struct inof_conf conf = {.default_zone = true, .ports = {~1ull, 0}};

	(void)state;
	register_all();
	inof_set_conf(w.r, &conf, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], false, INOF_ZONE_CHANGE);
	assert_int_equal(n_registered(), 2);
}

static void without_a_default_zone_only_zones_count(void **state)
{
	struct inof_conf conf = {.ports = {UINT64_MAX, 0}};

	(void)state;
	register_all();
	inof_set_conf(w.r, &conf, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], false, INOF_ZONE_CHANGE);
}

// ---- acknowledgements

static void a_notice_is_repeated_until_it_is_acknowledged(void **state)
{
	uint64_t t;

	(void)state;
	h[1].silent = true;
	register_all();
	t = S;
	assert_int_equal(h[1].n, 1);
	world_run(&w, t + 100 * MS - 1);
	assert_int_equal(h[1].n, 1);
	world_run(&w, t + 100 * MS);
	assert_int_equal(h[1].n, 2);
	world_run(&w, t + 300 * MS);
	assert_int_equal(h[1].n, 3);
	assert_int_equal(w.n_events[EVENT_INOF_SILENT], 0);
	world_run(&w, t + 3100 * MS); // at 0, 0.1, 0.3, 0.7, 1.5 and 3.1 s
	assert_int_equal(h[1].n, 6);
	assert_int_equal(w.n_events[EVENT_INOF_SILENT], 1);
	assert_int_equal(count(1)->repeated, 5);
	h[1].silent = false;
	world_run(&w, t + 60 * S);
	assert_int_equal(count(1)->acks, 1);
	assert_int_equal(h[1].n, 7);
}

static void a_host_that_has_said_no_version_gets_both_in_turn(void **state)
{
	(void)state;
	h[1].silent = true;
	world_register(&w, &h[0], 120);
	world_register(&w, &h[1], 120);
	h[0].silent = true;
	world_run(&w, S);
	assert_int_equal(w.last_version, 1);
	world_run(&w, S + 100 * MS);
	assert_int_equal(w.last_version, 0);
	world_run(&w, S + 300 * MS);
	assert_int_equal(w.last_version, 1);
	world_send(&w, 1, INOF_QUERY, 0, (struct inof_message){.dst = h[1].ip});
	world_send(&w, 0, INOF_QUERY, 0, (struct inof_message){.dst = h[0].ip});
	world_run(&w, S + 300 * MS);
	assert_int_equal(w.last_version, 0);
}

static void a_forged_acknowledgement_is_counted_and_changes_nothing(void **state)
{
	struct inof_message ack;

	(void)state;
	h[1].silent = h[0].silent = true;
	register_all();
	ack = (struct inof_message){.src = h[0].ip, .dst = h[1].ip};
	ack.seq = inof_told(w.r, 1)->seq;
	for (uint64_t i = 1; i <= inof_last_told(w.r); i++)
		if (ip_key_same(inof_told(w.r, i)->receiver, h[1].ip))
			ack.seq = inof_told(w.r, i)->seq;
	world_send(&w, 2, INOF_ACK, 1, ack); // from another port
	assert_int_equal(count(2)->bad_acks, 1);
	ack.seq++;
	world_send(&w, 1, INOF_ACK, 1, ack);
	ack.seq--;
	ack.src = h[2].ip;
	world_send(&w, 1, INOF_ACK, 1, ack);
	assert_int_equal(count(1)->bad_acks, 2);
	assert_int_equal(count(1)->acks, 0);
	ack.src = h[0].ip;
	world_send(&w, 1, INOF_ACK, 1, ack);
	assert_int_equal(count(1)->acks, 1);
	world_send(&w, 1, INOF_ACK, 1, ack); // replayed
	assert_int_equal(count(1)->bad_acks, 3);
}

// The number of the last notice to a host.
static uint32_t last_seq(const struct host_model *to)
{
	for (uint64_t no = inof_last_told(w.r); no > 0; no--)
		if (ip_key_same(inof_told(w.r, no)->receiver, to->ip))
			return inof_told(w.r, no)->seq;
	return 0;
}

static void an_acknowledgement_of_an_older_notice_does_not_end_the_newer_one(void **state)
{
	struct inof_message ack = {.src = h[0].ip, .dst = h[1].ip};

	(void)state;
	register_all();
	ack.seq = last_seq(&h[1]);
	h[1].silent = true;
	inof_fault(w.r, 0, INOF_PFC_STORM, w.now_ns);
	world_run(&w, w.now_ns);
	assert_int_equal(last_seq(&h[1]), ack.seq + 1);
	world_send(&w, 1, INOF_ACK, 1, ack);
	assert_int_equal(count(1)->bad_acks, 1);
	assert_int_equal(count(1)->acks, 1); // the one of before
	world_run(&w, w.now_ns + 100 * MS);
	assert_int_equal(count(1)->repeated, 1);
	ack.seq++;
	world_send(&w, 1, INOF_ACK, 1, ack);
	assert_int_equal(count(1)->acks, 2);
	world_run(&w, w.now_ns + 60 * S);
	assert_int_equal(count(1)->repeated, 1);
}

static void after_the_number_2_32_less_1_comes_0(void **state)
{
	struct inof_message ack = {.src = h[0].ip, .dst = h[1].ip, .seq = UINT32_MAX};

	(void)state;
	register_all();
	host_by_ip(w.r, h[1].ip)->seq = UINT32_MAX - 2;
	for (uint32_t i = 0; i < 6; i++) {
		inof_fault(w.r, 0, i % 2 == 0 ? INOF_PFC_STORM : INOF_NO_FAULT, w.now_ns);
		world_run(&w, w.now_ns);
		assert_int_equal(last_seq(&h[1]), (uint32_t)(UINT32_MAX - 1 + i));
		assert_int_equal(count(1)->acks, 2 + i);
		expect(&h[1], &h[0], i % 2 != 0, i % 2 == 0 ? INOF_PFC_STORM : INOF_NO_FAULT);
	}
	h[1].silent = true;
	inof_fault(w.r, 0, INOF_PFC_STORM, w.now_ns);
	world_run(&w, w.now_ns);
	world_send(&w, 1, INOF_ACK, 1, ack); // of a notice before 0
	assert_int_equal(count(1)->bad_acks, 1);
	h[1].silent = false;
	world_run(&w, w.now_ns + S);
	assert_int_equal(count(1)->acks, 8);
	assert_int_equal(count(1)->repeated, 1);
}

static void news_that_are_out_of_date_are_not_repeated(void **state)
{
	(void)state;
	register_all();
	h[1].silent = true;
	inof_fault(w.r, 0, INOF_PFC_STORM, w.now_ns);
	world_run(&w, w.now_ns);
	inof_fault(w.r, 0, INOF_NO_FAULT, w.now_ns);
	world_run(&w, w.now_ns);
	world_run(&w, w.now_ns + 100 * MS);
	assert_int_equal(h[1].n, 4); // online, offline, online twice
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	h[1].silent = false;
	world_run(&w, w.now_ns + S);
	assert_int_equal(h[1].n, 5);
	assert_int_equal(count(1)->acks, 2);
}

static void a_query_has_everything_told_again(void **state)
{
	(void)state;
	register_all();
	world_forget(&h[0]);
	world_query(&w, &h[0]);
	world_run(&w, w.now_ns);
	expect(&h[0], &h[1], true, INOF_NO_FAULT);
	expect(&h[0], &h[2], true, INOF_NO_FAULT);
	assert_int_equal(count(0)->queries, 1);
	world_send(&w, 0, INOF_QUERY, 1, (struct inof_message){.dst = h[1].ip});
	assert_int_equal(count(0)->unknown_queries, 1); // of a host at another port
}

static void the_log_says_who_was_told_when_why_and_who_acknowledged(void **state)
{
	const struct inof_told *t;

	(void)state;
	register_all();
	h[2].silent = true;
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns);
	for (unsigned i = 0; i < 2; i++) {
		t = inof_told(w.r, inof_last_told(w.r) - i);
		assert_non_null(t);
		assert_true(ip_key_same(t->about, h[0].ip));
		assert_false(t->online);
		assert_int_equal(t->reason, INOF_LINK_DOWN);
		assert_int_equal(t->first_ns, w.now_ns);
		assert_int_equal(t->acked_ns, t->port == 1 ? w.now_ns : 0);
		assert_int_equal(t->sent, 1);
	}
	assert_null(inof_told(w.r, 0));
	assert_null(inof_told(w.r, inof_last_told(w.r) + 1));
}

// ---- what hosts cannot do

static void an_address_that_another_port_holds_stays_there(void **state)
{
	struct host_model thief = h[0];

	(void)state;
	register_all();
	thief.port = 5;
	thief.number = 99;
	world_register(&w, &thief, 120);
	thief.number = h[0].number; // with the same chassis and port ID
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->refused[INOF_ADDRESS_HELD], 1);
	assert_int_equal(count(5)->refused[INOF_KEY_HELD], 1);
	assert_int_equal(w.n_events[EVENT_INOF_REFUSED], 1); // one in ten seconds
	inof_link(w.r, 5, false, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void a_chassis_and_port_id_that_another_port_holds_stay_there(void **state)
{
	struct host_model thief = h[0];

	(void)state;
	register_all();
	thief.port = 5;
	thief.ip = world_ip(88);
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->refused[INOF_KEY_HELD], 1);
	world_run(&w, w.now_ns);
	assert_null(world_told(&h[1], thief.ip));
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void a_name_may_be_at_two_ports_unless_the_operator_says_unique(void **state)
{
	struct inof_conf conf = {.default_zone = true, .unique_nqn = true,
				 .ports = {UINT64_MAX, 0}};
	struct host_model second = world_host(9, 5, INOF_TARGET), third = world_host(10, 6, 1);

	(void)state;
	h[0].service.nqn = second.service.nqn = third.service.nqn =
		(struct inof_nqn){9, "nqn.array"};
	register_all();
	world_register(&w, &second, 120);
	assert_int_equal(count(5)->registrations, 1);
	inof_set_conf(w.r, &conf, w.now_ns);
	world_register(&w, &third, 120);
	assert_int_equal(count(6)->refused[INOF_NQN_HELD], 1);
	assert_int_equal(w.n_events[EVENT_INOF_REFUSED], 1);
}

static void a_port_takes_at_most_half_of_the_table(void **state)
{
	struct host_model many = world_host(0, 5, INOF_TARGET);

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		many.ip = world_ip(256 + i);
		many.number = 100 + i;
		world_register(&w, &many, 120);
	}
	assert_int_equal(inof_n_hosts(w.r), 4000);
	assert_int_equal(count(5)->refused[INOF_NO_ROOM], 6000);
	assert_int_equal(w.n_events[EVENT_INOF_REFUSED], 1);
	register_all(); // the others find room
	assert_int_equal(inof_n_hosts(w.r), 4003);
}

static void a_ghost_is_forgotten_even_if_a_host_never_acknowledges(void **state)
{
	(void)state;
	register_all();
	h[1].silent = true;
	world_register(&w, &h[0], 0);
	for (unsigned i = 0; i < 4; i++) {
		world_register(&w, &h[1], 200);
		world_register(&w, &h[2], 200);
		world_run(&w, w.now_ns + 100 * S - MS);
		assert_int_equal(inof_n_hosts(w.r), i < 3 ? 3 : 2);
	}
}

// When the last notices about ghosts are given up, the window of the host has room again.
static void a_host_that_was_silent_is_told_of_others_after_its_ghosts_are_forgotten(void **state)
{
	enum { MANY = INOF_WINDOW_ALL + 2 };
	static struct host_model many[MANY + 2];
	static struct world big;

	(void)state;
	for (unsigned i = 0; i < N(many); i++)
		many[i] = world_host(i + 1, i == 0 ? 1 : 0, i == 0 ? INOF_INITIATOR : INOF_TARGET);
	world_begin(&big, many, N(many));
	for (unsigned i = 0; i <= MANY; i++)
		world_register(&big, &many[i], 120);
	world_run(&big, big.now_ns + S);
	assert_int_equal(many[0].n_told, MANY);
	many[0].silent = true;
	for (unsigned i = 1; i <= MANY; i++)
		world_register(&big, &many[i], 0);
	for (unsigned i = 0; i < 3; i++) {
		world_register(&big, &many[0], 120);
		world_register(&big, &many[MANY + 1], 120);
		world_run(&big, big.now_ns + INOF_GHOST_S * S / 3 - S / 3);
	}
	assert_null(world_told(&many[0], many[MANY + 1].ip));
	world_run(&big, big.now_ns + 2 * S);
	assert_int_equal(inof_n_hosts(big.r), 2);
	expect(&many[0], &many[MANY + 1], true, INOF_NO_FAULT);
	world_end(&big);
}

static void a_registration_that_cannot_be_read_is_counted(void **state)
{
	static const uint8_t frame[60] = {
		0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc, 0x02, 2, 7, 'c',
		0x04, 2, 7, 'p', 0x06, 2, 0, 120, 0xfe, 4, 0x00, 0x18, 0x82, 101};

	(void)state;
	assert_true(inof_lldp(w.r, 0, frame, sizeof(frame), w.now_ns));
	assert_int_equal(count(0)->refused[INOF_BAD_TLV], 1);
	inof_receive(w.r, 0, frame, sizeof(frame), w.now_ns);
	assert_int_equal(count(0)->malformed, 1);
}

static void a_notice_from_a_host_is_counted_and_told_to_nobody(void **state)
{
	(void)state;
	register_all();
	world_send(&w, 1, INOF_NOTICE, 1, (struct inof_message){
		.src = h[0].ip, .dst = h[2].ip, .service = h[0].service});
	world_run(&w, w.now_ns + S);
	assert_int_equal(count(1)->from_hosts, 1);
	expect(&h[2], &h[0], true, INOF_NO_FAULT);
}

// ---- hosts of other switches

static void hosts_of_a_peer_are_told_of_and_keep_room_for_local_ones(void **state)
{
	struct inof_registration reg = {world_ip(70), true, h[0].service};
	struct host_model remote = {.ip = reg.ip};

	(void)state;
	register_all();
	assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
	world_run(&w, w.now_ns);
	expect(&h[1], &remote, true, INOF_NO_FAULT);
	assert_false(inof_peer_host(w.r, 2, &reg, w.now_ns)); // the first holder stays
	inof_peer_gone(w.r, 2, reg.ip, INOF_LINK_DOWN, w.now_ns);
	inof_peer_gone(w.r, 1, reg.ip, INOF_BFD_DOWN, w.now_ns);
	world_run(&w, w.now_ns);
	expect(&h[1], &remote, false, INOF_BFD_DOWN);
	for (unsigned i = 0; i < INOF_HOSTS - INOF_LOCAL; i++) {
		reg.ip = world_ip(1000 + i);
		assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
	}
	reg.ip = world_ip(20000);
	assert_false(inof_peer_host(w.r, 1, &reg, w.now_ns));
}

static bool send_nowhere(void *arg, unsigned port, const struct inof_frame *f)
{
	(void)arg;
	(void)port;
	(void)f;
	return true;
}

static void keep_event(void *arg, const struct event *e, const char *about)
{
	struct event *last = arg;

	(void)about;
	*last = *e;
}

// Numbers of 8 bits do not name the ports of this switch.
static void hosts_of_other_switches_are_at_no_port(void **state)
{
	static const struct inof_ops ops = {.send = send_nowhere, .event = keep_event};
	struct inof_conf conf = {.default_zone = true};
	struct inof_registration reg = {world_ip(70), true, h[0].service};
	struct inof_reflector reflector = {.ip = world_ip(1), .up = true, .hosts = 3};
	struct event last = {0};
	struct inof_registry *r;

	(void)state;
	memset(conf.ports, 0xff, sizeof(conf.ports));
	assert_int_equal(inof_create(INOF_PORTS, &ops, &last, 7, 7, &r), 0);
	inof_set_conf(r, &conf, S);
	for (unsigned p = 0; p < INOF_PORTS; p++)
		inof_link(r, p, true, S);
	inof_set_reflectors(r, &reflector, 1, S);
	assert_int_equal(last.type, EVENT_INOF_REFLECTOR);
	assert_int_equal(last.port, PORT_NONE);
	assert_true(inof_peer_host(r, 1, &reg, S));
	assert_int_equal(last.type, EVENT_INOF_HOST);
	assert_int_equal(last.port, PORT_NONE);
	for (unsigned p = 0; p < INOF_PORTS; p++)
		inof_link(r, p, false, S);
	assert_int_equal(last.type, EVENT_INOF_HOST);
	inof_destroy(r);
}

static void sessions_with_reflectors_are_events_and_end_when_weir_inof_is_silent(void **state)
{
	struct inof_reflector list[] = {{.ip = world_ip(1), .up = true, .hosts = 3},
					{.ip = world_ip(2)}};
	const struct inof_reflector *got;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		inof_set_reflectors(w.r, list, 2, w.now_ns);
	assert_int_equal(w.n_events[EVENT_INOF_REFLECTOR], 1);
	assert_int_equal(w.n_events[EVENT_INOF_REFLECTOR_GONE], 0);
	world_run(&w, w.now_ns + INOF_PEERS_S * S - 1);
	assert_int_equal(w.n_events[EVENT_INOF_REFLECTOR_GONE], 0);
	inof_poll(w.r, w.now_ns + 1);
	assert_int_equal(w.n_events[EVENT_INOF_REFLECTOR_GONE], 1);
	assert_int_equal(w.last_a[EVENT_INOF_REFLECTOR_GONE], 3);
	assert_int_equal(inof_reflectors(w.r, &got), 2);
	assert_false(got[0].up);
	inof_set_reflectors(w.r, list, 1, w.now_ns + 2);
	assert_int_equal(w.n_events[EVENT_INOF_REFLECTOR], 2);
	assert_int_equal(inof_reflectors(w.r, &got), 1);
}

// ---- a thousand hosts in a zone

static void of_a_thousand_hosts_one_goes_and_each_is_told_once_within_the_pace(void **state)
{
	enum { MANY = 1000 };
	static struct host_model many[MANY];
	static struct world big;
	unsigned before = 0;
	uint64_t acks = 0;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		many[i] = i == 0 ? world_host(1, 1, INOF_TARGET)
				 : world_host(i + 1, 0, INOF_INITIATOR);
	world_begin(&big, many, MANY);
	for (unsigned i = 0; i < MANY; i++)
		world_register(&big, &many[i], 120);
	world_run(&big, 20 * S);
	for (unsigned i = 1; i < MANY; i++) {
		assert_int_equal(many[i].n, 1);
		before += many[i].n;
	}
	assert_int_equal(before, MANY - 1);
	inof_link(big.r, 1, false, big.now_ns);
	world_run(&big, 30 * S); // ten seconds
	acks = inof_counters(big.r, 0)->acks;
	for (unsigned i = 1; i < MANY; i++)
		assert_int_equal(many[i].n, 2);
	assert_int_equal(acks, 2 * (MANY - 1));
	world_end(&big);
}

// Of notices and of acknowledgements one in eight is lost.
static void a_thousand_hosts_at_a_lossy_port_have_acknowledged_a_loss_within_10_s(void **state)
{
	enum { MANY = 1000 };
	static struct host_model many[MANY];
	static struct world big;
	uint64_t first, down_ns;
	struct rng luck;

	(void)state;
	rng_init(&luck, 1);
	for (unsigned i = 0; i < MANY; i++)
		many[i] = i == 0 ? world_host(1, 1, INOF_TARGET)
				 : world_host(i + 1, 0, INOF_INITIATOR);
	world_begin(&big, many, MANY);
	big.rng = &luck;
	for (unsigned i = 0; i < MANY; i++)
		world_register(&big, &many[i], 120);
	world_run(&big, 20 * S);
	first = inof_last_told(big.r);
	down_ns = big.now_ns;
	big.loss = big.acks_lost = UINT32_MAX / 8;
	inof_link(big.r, 1, false, down_ns);
	world_run(&big, down_ns + 10 * S);
	assert_int_equal(inof_last_told(big.r), first + MANY - 1);
	for (uint64_t no = first + 1; no < first + MANY; no++)
		assert_in_range(inof_told(big.r, no)->acked_ns, down_ns, down_ns + 10 * S);
	assert_true(big.n_lost > 0 && big.n_acks_lost > 0);
	for (unsigned i = 1; i < MANY; i++)
		assert_false(world_told(&many[i], many[0].ip)->online);
	world_end(&big);
}

// Some 700 frames. deliver() of world.c has the assertion about the pace.
static void of_many_notices_at_least_350_frames_and_at_most_400_go_out_in_500_ms(void **state)
{
	enum { MANY = 1000, TARGETS = 20 };
	static struct host_model many[MANY];
	static struct world big;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		many[i] = i < TARGETS ? world_host(i + 1, 1, INOF_TARGET)
				      : world_host(i + 1, 0, INOF_INITIATOR);
	world_begin(&big, many, MANY);
	for (unsigned i = 0; i < MANY; i++)
		world_register(&big, &many[i], 120);
	world_run(&big, big.now_ns + 500 * MS);
	assert_in_range(big.n_frames[0], 350, 400);
	world_run(&big, 20 * S);
	for (unsigned i = TARGETS; i < MANY; i++)
		assert_int_equal(many[i].n_told, TARGETS);
	world_end(&big);
}

// ---- memory

static size_t bytes_allocated(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

// Under a sanitizer nothing is counted.
static void all_hosts_and_zones_take_25_MB_at_most(void **state)
{
	enum { REMOTE = INOF_HOSTS - INOF_LOCAL, MEGABYTE = 1000 * 1000 };
	struct inof_zone *zones = calloc(INOF_ZONES, sizeof(*zones));
	struct inof_registration reg = {world_ip(0), true, h[0].service};
	struct host_model local = world_host(0, 0, INOF_TARGET);
	static struct world full;
	struct inof_member m;
	size_t before, used;

	(void)state;
	assert_non_null(zones);
	assert_null(inof_member_parse("10.0.0.0/8", NULL, NULL, &m));
	for (unsigned z = 0; z < INOF_ZONES; z++) {
		snprintf(zones[z].name, sizeof(zones[z].name), "zone-%u", z);
		assert_int_equal(inof_zone_add(&zones[z], "10.0.0.0/8", &m), 0);
	}
	before = bytes_allocated();
	world_begin(&full, NULL, 0);
	assert_int_equal(inof_set_zones(full.r, INOF_ZONES_POLICY, zones, INOF_ZONES, S), 0);
	for (unsigned i = 0; i < REMOTE; i++) {
		reg.ip = world_ip(10000 + i);
		assert_true(inof_peer_host(full.r, 1, &reg, S));
	}
	for (unsigned i = 0; i < INOF_LOCAL; i++) {
		local.ip = world_ip(i);
		local.number = i;
		local.port = i % WORLD_PORTS;
		world_register(&full, &local, 120);
	}
	used = bytes_allocated() - before;
	// Each port takes half of the places that are free, and the last is never taken.
	assert_in_range(inof_n_hosts(full.r), INOF_HOSTS - 120, INOF_HOSTS);
	print_message("%zu bytes\n", used);
	assert_true(used < 25 * MEGABYTE);
	assert_true(bytes_allocated() == 0 || used > 20 * MEGABYTE);
	world_end(&full);
	for (unsigned z = 0; z < INOF_ZONES; z++)
		inof_zone_fini(&zones[z]);
	free(zones);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(hosts_of_the_default_zone_are_told_of_each_other_once),
		TEST(an_initiator_is_not_told_of_initiators),
		TEST(a_link_that_goes_down_is_told_at_once_by_reason_1),
		TEST(after_a_link_has_come_up_a_host_is_online_when_it_registers_or_asks),
		TEST(a_registration_counts_that_comes_just_before_the_switch_sees_the_link),
		TEST(a_storm_takes_the_hosts_of_a_port_offline_by_reason_2_until_it_is_over),
		TEST(a_host_that_registers_in_a_storm_is_offline_by_reason_2),
		TEST(a_host_that_says_nothing_for_its_ttl_is_offline_by_reason_6),
		TEST(a_goodbye_ends_a_registration_and_is_also_for_lldp),
		TEST(a_host_with_another_address_is_told_under_both_by_reason_5),
		TEST(a_host_with_another_port_goes_and_comes_with_the_new_one),
		TEST(a_host_that_is_silent_delays_the_new_service_by_a_second_at_most),
		TEST(a_host_that_wants_no_notices_with_its_new_service_gets_none),
		TEST(one_netdev_registers_several_addresses),
		TEST(a_zone_takes_its_hosts_out_of_the_default_zone_by_reason_4),
		TEST(pairs_that_a_zone_parts_are_named_once),
		TEST(a_host_of_two_zones_is_told_of_both),
		TEST(zones_beyond_a_thousand_are_refused_and_nothing_changes),
		TEST(a_port_that_takes_part_no_more_loses_its_hosts),
		TEST(without_a_default_zone_only_zones_count),
		TEST(a_notice_is_repeated_until_it_is_acknowledged),
		TEST(a_host_that_has_said_no_version_gets_both_in_turn),
		TEST(a_forged_acknowledgement_is_counted_and_changes_nothing),
		TEST(an_acknowledgement_of_an_older_notice_does_not_end_the_newer_one),
		TEST(after_the_number_2_32_less_1_comes_0),
		TEST(news_that_are_out_of_date_are_not_repeated),
		TEST(a_query_has_everything_told_again),
		TEST(the_log_says_who_was_told_when_why_and_who_acknowledged),
		TEST(an_address_that_another_port_holds_stays_there),
		TEST(a_chassis_and_port_id_that_another_port_holds_stay_there),
		TEST(a_name_may_be_at_two_ports_unless_the_operator_says_unique),
		TEST(a_port_takes_at_most_half_of_the_table),
		TEST(a_ghost_is_forgotten_even_if_a_host_never_acknowledges),
		TEST(a_host_that_was_silent_is_told_of_others_after_its_ghosts_are_forgotten),
		TEST(a_registration_that_cannot_be_read_is_counted),
		TEST(a_notice_from_a_host_is_counted_and_told_to_nobody),
		TEST(hosts_of_a_peer_are_told_of_and_keep_room_for_local_ones),
		TEST(hosts_of_other_switches_are_at_no_port),
		TEST(sessions_with_reflectors_are_events_and_end_when_weir_inof_is_silent),
		TEST(of_a_thousand_hosts_one_goes_and_each_is_told_once_within_the_pace),
		TEST(a_thousand_hosts_at_a_lossy_port_have_acknowledged_a_loss_within_10_s),
		TEST(all_hosts_and_zones_take_25_MB_at_most),
		TEST(of_many_notices_at_least_350_frames_and_at_most_400_go_out_in_500_ms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
