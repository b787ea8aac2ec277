// SPDX-License-Identifier: Apache-2.0
// At which port an address belongs: while links blink, while the tables of the switch have its host
// elsewhere, and where the operator pins it.
#include "tests/unit/inof/three_hosts.h"

// A host of another port that claims what host 0 has.
static struct host_model thief_at(unsigned port)
{
	struct host_model thief = h[0];

	thief.port = port;
	thief.number = 99;
	return thief;
}

// The host at the address, as the registry has it.
static struct inof_host_view view_of(struct ip_key ip)
{
	struct inof_host_view v;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_host(w.r, i, w.now_ns, &v) && ip_key_same(v.ip, ip))
			return v;
	fail();
	return v;
}

static void blink(unsigned port, uint64_t down_ns)
{
	inof_link(w.r, port, false, w.now_ns);
	world_run(&w, w.now_ns + down_ns);
	inof_link(w.r, port, true, w.now_ns);
}

// ---- links that blink

// Whatever the other host claims: the address, the IDs, or both.
static void a_host_whose_link_blinks_keeps_its_address_for_its_port(void **state)
{
	struct host_model thief = thief_at(5);

	(void)state;
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	for (unsigned i = 0; i < 10; i++) {
		thief.ip = h[0].ip;
		thief.number = i % 2 == 0 ? 99 : h[0].number;
		world_register(&w, &thief, UINT16_MAX);
		thief.ip = world_ip(88);
		thief.number = h[0].number;
		world_register(&w, &thief, UINT16_MAX);
		world_run(&w, w.now_ns + 100 * MS);
	}
	assert_int_equal(count(5)->registrations, 0);
	assert_int_equal(count(5)->refused[INOF_ADDRESS_HELD], 5);
	assert_int_equal(count(5)->refused[INOF_KEY_HELD], 15);
	assert_true(w.n_events[EVENT_INOF_REFUSED] > 0);
	inof_link(w.r, 0, true, w.now_ns);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 10 * MS);
	assert_int_equal(view_of(h[0].ip).port, 0);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void after_two_minutes_without_a_link_the_address_is_free(void **state)
{
	struct host_model thief = thief_at(5);

	(void)state;
	register_all();
	world_run(&w, w.now_ns + 30 * S);
	world_register(&w, &h[0], 4); // whatever its own time is
	inof_link(w.r, 0, false, w.now_ns);
	world_run(&w, w.now_ns + INOF_KEEP_S * S - 1);
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->refused[INOF_ADDRESS_HELD], 1);
	world_run(&w, w.now_ns + 1);
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->registrations, 1);
	assert_int_equal(view_of(h[0].ip).port, 5);
}

static void another_host_of_the_port_may_have_the_address_at_once(void **state)
{
	struct host_model next = thief_at(0);

	(void)state;
	register_all();
	blink(0, S);
	world_register(&w, &next, 120);
	world_run(&w, w.now_ns + 10 * MS);
	assert_int_equal(count(0)->refused[INOF_ADDRESS_HELD], 0);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void another_switch_does_not_get_the_address_meanwhile(void **state)
{
	const struct inof_registration reg = {h[0].ip, true, h[0].service};

	(void)state;
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	assert_false(inof_peer_host(w.r, 1, &reg, w.now_ns));
	world_run(&w, w.now_ns + INOF_KEEP_S * S);
	assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
}

static void a_name_that_belongs_to_one_port_stays_there_too(void **state)
{
	struct inof_conf conf = {.default_zone = true, .unique_nqn = true,
				 .ports = {UINT64_MAX, 0}};
	struct host_model second = world_host(9, 5, INOF_TARGET);

	(void)state;
	inof_set_conf(w.r, &conf, w.now_ns);
	h[0].service.nqn = second.service.nqn = (struct inof_nqn){9, "nqn.array"};
	register_all();
	inof_link(w.r, 0, false, w.now_ns);
	world_register(&w, &second, 120);
	assert_int_equal(count(5)->refused[INOF_NQN_HELD], 1);
	world_run(&w, w.now_ns + INOF_KEEP_S * S);
	world_register(&w, &second, 120);
	assert_int_equal(count(5)->registrations, 1);
}

// A goodbye gives the address up.
static void a_host_that_said_goodbye_keeps_nothing(void **state)
{
	struct host_model thief = thief_at(5);

	(void)state;
	register_all();
	world_register(&w, &h[0], 0);
	inof_link(w.r, 0, false, w.now_ns);
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->registrations, 1);
}

static void a_registration_lasts_two_minutes_at_most(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N(h); i++)
		world_register(&w, &h[i], i == 0 ? UINT16_MAX : 120);
	assert_int_equal(view_of(h[0].ip).left_ns, 120 * S);
	world_run(&w, w.now_ns + 60 * S);
	world_register(&w, &h[1], 120);
	world_run(&w, w.now_ns + 60 * S);
	expect(&h[1], &h[0], false, INOF_AGED_OUT);
}

// ---- pins

static void pin(const struct inof_pin *pins, unsigned n)
{
	struct inof_conf conf = {.default_zone = true, .ports = {UINT64_MAX, 0}, .pins = pins,
				 .n_pins = n};

	inof_set_conf(w.r, &conf, w.now_ns);
}

static void a_pinned_address_registers_at_its_port_alone(void **state)
{
	const struct inof_pin pins[] = {{.ip = world_ip(1), .ports = {1 << 0}},
					{.ip = world_ip(50), .ports = {1 << 6}},
					{.ip = world_ip(51)}};
	struct host_model thief = thief_at(5);

	(void)state;
	pin(pins, N(pins));
	world_register(&w, &thief, 120);
	assert_int_equal(count(5)->refused[INOF_PINNED], 1);
	assert_int_equal(w.last_a[EVENT_INOF_REFUSED], INOF_PINNED);
	for (unsigned last = 50; last <= 52; last++) {
		thief.ip = world_ip(last);
		thief.number++;
		world_register(&w, &thief, 120);
	}
	assert_int_equal(count(5)->refused[INOF_PINNED], 3);
	assert_int_equal(count(5)->registrations, 1); // 10.0.0.52 has no pin
	register_all();
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

static void a_pin_ends_what_has_registered_elsewhere(void **state)
{
	const struct inof_pin pins[] = {{.ip = world_ip(1), .ports = {1 << 0}},
					{.ip = world_ip(2), .ports = {1 << 7}},
					{.ip = world_ip(70), .ports = {1 << 0}}};
	const struct inof_registration reg = {world_ip(70), true, h[0].service};
	const struct host_model remote = {.ip = world_ip(70)};
	uint64_t before;

	(void)state;
	register_all();
	assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
	world_run(&w, w.now_ns + 10 * MS);
	expect(&h[2], &remote, true, INOF_NO_FAULT);
	before = inof_pins(w.r);
	pin(pins, N(pins));
	assert_int_not_equal(inof_pins(w.r), before); // weir-inof must say all again
	world_run(&w, w.now_ns + 10 * MS);
	expect(&h[2], &remote, false, INOF_ZONE_CHANGE);
	expect(&h[0], &h[1], false, INOF_ZONE_CHANGE);
	expect(&h[2], &h[0], true, INOF_NO_FAULT);
	assert_false(inof_peer_host(w.r, 1, &reg, w.now_ns));
	pin(NULL, 0);
	assert_int_equal(inof_pins(w.r), before);
	assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
}

// A bond, and a host that may be at another switch.
static void between_the_places_of_a_pin_an_address_moves_at_once(void **state)
{
	const struct inof_pin pins[] = {{.ip = world_ip(1), .ports = {1 << 0 | 1 << 5},
					 .peer = true}};
	const struct inof_registration reg = {h[0].ip, true, h[0].service};
	struct host_model second = h[0];

	(void)state;
	second.port = 5;
	pin(pins, 1);
	register_all();
	world_register(&w, &second, 120);
	assert_int_equal(count(5)->refused[INOF_KEY_HELD], 1); // the first port has its link
	inof_link(w.r, 0, false, w.now_ns);
	world_register(&w, &second, 120);
	world_run(&w, w.now_ns + 10 * MS);
	assert_int_equal(view_of(h[0].ip).port, 5);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
	assert_false(inof_peer_host(w.r, 1, &reg, w.now_ns));
	inof_link(w.r, 5, false, w.now_ns);
	assert_true(inof_peer_host(w.r, 1, &reg, w.now_ns));
}

// ---- the tables of the switch

static void a_host_that_the_switch_has_at_another_port_is_refused(void **state)
{
	const struct inof_pin pins[] = {{.ip = world_ip(1), .ports = {1 << 0}}};

	(void)state;
	w.elsewhere = h[0].ip;
	register_all();
	assert_int_equal(count(0)->refused[INOF_ELSEWHERE], 1);
	assert_int_equal(w.last_a[EVENT_INOF_REFUSED], INOF_ELSEWHERE);
	assert_null(world_told(&h[1], h[0].ip));
	pin(pins, 1); // the operator knows better than the tables
	world_register(&w, &h[0], 120);
	assert_int_equal(count(0)->registrations, 1);
}

// Somebody who takes the MAC address of a host does not end its registration.
static void a_host_that_has_registered_stays_whatever_the_tables_say_then(void **state)
{
	(void)state;
	register_all();
	w.elsewhere = h[0].ip;
	world_run(&w, w.now_ns + 30 * S);
	world_register(&w, &h[0], 120);
	blink(0, S);
	world_register(&w, &h[0], 120);
	world_run(&w, w.now_ns + 10 * MS);
	assert_int_equal(count(0)->registrations, 3);
	expect(&h[1], &h[0], true, INOF_NO_FAULT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_host_whose_link_blinks_keeps_its_address_for_its_port),
		TEST(after_two_minutes_without_a_link_the_address_is_free),
		TEST(another_host_of_the_port_may_have_the_address_at_once),
		TEST(another_switch_does_not_get_the_address_meanwhile),
		TEST(a_name_that_belongs_to_one_port_stays_there_too),
		TEST(a_host_that_said_goodbye_keeps_nothing),
		TEST(a_registration_lasts_two_minutes_at_most),
		TEST(a_pinned_address_registers_at_its_port_alone),
		TEST(a_pin_ends_what_has_registered_elsewhere),
		TEST(between_the_places_of_a_pin_an_address_moves_at_once),
		TEST(a_host_that_the_switch_has_at_another_port_is_refused),
		TEST(a_host_that_has_registered_stays_whatever_the_tables_say_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
