// SPDX-License-Identifier: Apache-2.0
// What a host knows of others: after queries, other services, and times in which the switch could
// send it nothing. And whom the registry takes a host for.
#include "tests/unit/inof/three_hosts.h"

// More hosts change than a host has notices on their way.
static void a_new_service_of_many_hosts_reaches_a_host_that_answers_late(void **state)
{
	enum { TARGETS = 40 };
	struct host_model many[TARGETS + 1];

	(void)state;
	for (unsigned i = 0; i < TARGETS; i++)
		many[i] = world_host(10 + i, 0, INOF_TARGET);
	many[TARGETS] = world_host(9, 1, INOF_INITIATOR);
	world_end(&w);
	world_begin(&w, many, TARGETS + 1);
	for (unsigned i = 0; i <= TARGETS; i++)
		world_register(&w, &many[i], 120);
	world_run(&w, w.now_ns + S);
	many[TARGETS].silent = true;
	for (unsigned i = 0; i < TARGETS; i++) {
		many[i].service.port = 4421;
		world_register(&w, &many[i], 120);
	}
	world_run(&w, w.now_ns + S + S / 2);
	many[TARGETS].silent = false;
	world_run(&w, w.now_ns + 20 * S);
	for (unsigned i = 0; i < TARGETS; i++) {
		const struct told *t = world_told(&many[TARGETS], many[i].ip);

		assert_true(t->online);
		assert_int_equal(t->service_port, 4421);
		assert_int_equal(t->n_offline, 1); // each went through "offline"
	}
	world_end(&w);
	world_begin(&w, h, N(h));
}

// Of 41 targets one is among the first 64 hosts, which are compared with the others word by word.
static void a_host_whose_window_is_full_misses_nothing_when_others_change(void **state)
{
	enum { FIRST = 64, TARGETS = 40, ALL = FIRST + TARGETS + 1 };
	static struct host_model many[ALL];
	struct host_model *last = &many[ALL - 1];

	(void)state;
	for (unsigned i = 0; i < ALL; i++) {
		bool target = i == 0 || (i >= FIRST && i < ALL - 1);

		many[i] = world_host(10 + i, i % 4, target ? INOF_TARGET : INOF_INITIATOR);
		many[i].unsubscribed = i != ALL - 1;
	}
	last->port = 5;
	last->silent = true;
	world_end(&w);
	world_begin(&w, many, ALL);
	for (unsigned i = 0; i < ALL; i++)
		world_register(&w, &many[i], 120);
	world_run(&w, w.now_ns + S);
	for (unsigned ttl = 0; ttl <= 120; ttl += 120) {
		world_register(&w, &many[0], (uint16_t)ttl);
		world_run(&w, w.now_ns + S);
	}
	last->silent = false;
	world_run(&w, w.now_ns + 20 * S);
	for (unsigned i = 0; i < ALL - 1; i++)
		if (many[i].service.role == INOF_TARGET)
			expect(last, &many[i], true, INOF_NO_FAULT);
	world_end(&w);
	world_begin(&w, h, N(h));
}

// Its link has not gone down, so it still has its connections.
static void a_host_that_aged_out_is_told_what_it_missed(void **state)
{
	struct inof_conf without = {.default_zone = true, .ports = {~(1ull << 2), 0}};
	struct inof_conf with = {.default_zone = true, .ports = {UINT64_MAX, 0}};

	(void)state;
	for (unsigned i = 0; i < N(h); i++)
		world_register(&w, &h[i], i == 1 ? 10 : 500);
	world_run(&w, w.now_ns + S);
	inof_set_conf(w.r, &without, w.now_ns);
	world_run(&w, w.now_ns + 11 * S); // h[1] has aged out, h[2] is excluded
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + S);
	inof_set_conf(w.r, &with, w.now_ns);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	for (unsigned i = 1; i < N(h); i++) {
		world_register(&w, &h[i], 120);
		world_run(&w, w.now_ns + S);
		expect(&h[i], &h[0], false, INOF_LINK_DOWN);
	}
}

// A notice that it had not acknowledged when it aged out is sent again.
static void a_host_that_aged_out_gets_the_notices_that_it_had_not_acknowledged(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N(h); i++)
		world_register(&w, &h[i], i == 1 ? 10 : 500);
	world_run(&w, w.now_ns + S);
	h[1].silent = true;
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + 10 * S);
	h[1].silent = false;
	world_forget(&h[1]); // as if all of them had been lost
	world_register(&w, &h[1], 120);
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	assert_int_equal(count(1)->acks, 2);
}

// Another host, or the same one after its link was down, knows nothing.
static void what_a_host_knew_is_not_known_to_the_next_one_with_its_address(void **state)
{
	(void)state;
	for (unsigned other = 0; other < 2; other++) {
		for (unsigned i = 0; i < N(h); i++)
			world_register(&w, &h[i], i == 1 ? 10 : 500);
		world_run(&w, w.now_ns + 11 * S);
		h[1].number += 10 * other;
		if (!other) {
			inof_link(w.r, 1, false, w.now_ns);
			inof_link(w.r, 1, true, w.now_ns);
		}
		world_forget(&h[1]);
		world_register(&w, &h[1], 10);
		world_run(&w, w.now_ns + S);
		expect(&h[1], &h[0], true, INOF_NO_FAULT);
	}
}

// Each answer fills the log.
static void a_host_that_asks_all_the_time_gets_one_answer_a_second(void **state)
{
	uint64_t before;

	(void)state;
	register_all();
	world_query(&w, &h[0]);
	world_run(&w, w.now_ns);
	before = inof_last_told(w.r);
	for (unsigned i = 0; i < 500; i++) {
		world_query(&w, &h[0]);
		world_run(&w, w.now_ns + MS);
	}
	assert_int_equal(inof_last_told(w.r), before);
	world_forget(&h[0]);
	world_query(&w, &h[0]);
	world_run(&w, w.now_ns + S); // the answer comes late, and it comes
	expect(&h[0], &h[1], true, INOF_NO_FAULT);
	assert_int_equal(inof_last_told(w.r), before + 2);
}

static void all_that_hosts_send_just_before_the_switch_sees_the_link_counts(void **state)
{
	struct host_model more[4];

	(void)state;
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + S);
	world_query(&w, &h[0]); // it is registered
	for (unsigned i = 0; i < N(more); i++) {
		more[i] = world_host(20 + i, 0, INOF_TARGET);
		world_register(&w, &more[i], 120);
	}
	for (unsigned i = 0; i < 1000; i++) // there is an end to it
		world_register(&w, &more[0], 120);
	world_run(&w, w.now_ns + 4 * MS);
	inof_link(w.r, 0, true, w.now_ns);
	world_run(&w, w.now_ns + S);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	for (unsigned i = 0; i < N(more); i++)
		expect(&h[1], &more[i], true, INOF_NO_FAULT);
}

// The MAC address of a host, which hard zoning judges frames without IP by. NULL: none.
static const uint8_t *mac_of_host(const struct host_model *of)
{
	struct inof_host_view v;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_host(w.r, i, w.now_ns, &v) && ip_key_same(v.ip, of->ip))
			return v.mac;
	return NULL;
}

static void nobody_takes_the_mac_address_of_another(void **state)
{
	struct host_model thief = world_host(9, 5, INOF_TARGET);

	(void)state;
	register_all();
	assert_non_null(mac_of_host(&h[0]));
	// A MAC address that the frame does not come from.
	thief.other_source = 1;
	world_register(&w, &thief, 120);
	assert_null(mac_of_host(&thief));
	// That of a host at another port, with a forged source.
	thief.other_source = 0;
	thief.number = h[0].number;
	thief.name = "snsd_eth9_01";
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->registrations, 2);
	assert_null(mac_of_host(&thief));
	world_register(&w, &h[0], 120);
	assert_non_null(mac_of_host(&h[0]));
}

static void a_query_does_not_bring_back_a_name_that_another_port_has(void **state)
{
	struct inof_conf conf = {.default_zone = true, .unique_nqn = true,
				 .ports = {UINT64_MAX, 0}};
	struct host_model second = world_host(9, 5, INOF_TARGET);

	(void)state;
	h[0].service.nqn = second.service.nqn = (struct inof_nqn){9, "nqn.array"};
	register_all();
	world_register(&w, &second, 120);
	world_run(&w, w.now_ns + S);
	inof_link(w.r, 0, false, w.now_ns);
	inof_set_conf(w.r, &conf, w.now_ns);
	inof_link(w.r, 0, true, w.now_ns);
	world_query(&w, &h[0]);
	world_run(&w, w.now_ns + S);
	assert_int_equal(count(0)->refused[INOF_NQN_HELD], 1);
	expect(&h[1], &h[0], false, INOF_LINK_DOWN);
	expect(&h[1], &second, true, INOF_NO_FAULT);
}

// A host that comes back begins with other numbers.
static void an_acknowledgement_of_a_former_life_does_not_count(void **state)
{
	struct inof_message old;

	(void)state;
	register_all();
	world_register(&w, &h[1], 0); // goodbye
	world_run(&w, w.now_ns + S);
	world_forget(&h[1]);
	world_register(&w, &h[1], 120);
	world_run(&w, w.now_ns + S);
	old = w.last;
	for (unsigned life = 0; life < 3; life++) {
		world_register(&w, &h[1], 0);
		world_run(&w, w.now_ns + S);
		world_forget(&h[1]);
		h[1].silent = true;
		world_register(&w, &h[1], 120);
		world_run(&w, w.now_ns + MS);
		old.src = h[0].ip;
		old.dst = h[1].ip;
		for (unsigned k = 0; k < 8; k++, old.seq--)
			world_send(&w, 1, INOF_ACK, 1, old);
		old.seq += 8;
		assert_int_equal(count(1)->bad_acks, 8 * (life + 1));
		h[1].silent = false;
		world_run(&w, w.now_ns + S);
		expect(&h[1], &h[0], true, INOF_NO_FAULT);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_new_service_of_many_hosts_reaches_a_host_that_answers_late),
		TEST(a_host_whose_window_is_full_misses_nothing_when_others_change),
		TEST(a_host_that_aged_out_is_told_what_it_missed),
		TEST(a_host_that_aged_out_gets_the_notices_that_it_had_not_acknowledged),
		TEST(what_a_host_knew_is_not_known_to_the_next_one_with_its_address),
		TEST(a_host_that_asks_all_the_time_gets_one_answer_a_second),
		TEST(all_that_hosts_send_just_before_the_switch_sees_the_link_counts),
		TEST(nobody_takes_the_mac_address_of_another),
		TEST(a_query_does_not_bring_back_a_name_that_another_port_has),
		TEST(an_acknowledgement_of_a_former_life_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
