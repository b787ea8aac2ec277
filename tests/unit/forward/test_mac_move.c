// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/forward/mac_move.h"

#define S 1000000000ull

enum { A, B, C, D, E, N_PORTS, NOWHERE = 99 };

static const struct mac_move_params five = {.limit = 5, .hold_ns = 60 * S};
static const bool all[N_PORTS] = {true, true, true, true, true};

// The address moves from one port to another.
static void expect_move(struct mac_move *m, uint8_t from, uint64_t t_ns)
{
	assert_int_equal(mac_move_decide(&five, m, from, t_ns), MAC_MOVE);
}

// Moves to and fro between two ports until the address is pinned; its home. *n: moves.
static port_no_t flap(struct mac_move *m, port_no_t from, port_no_t to, uint64_t at_ns, unsigned *n)
{
	for (*n = 1; *n < 100; ++*n) {
		port_no_t was = from;

		if (mac_move_decide(&five, m, from, at_ns) != MAC_MOVE)
			return mac_move_home(m, to, all, at_ns);
		from = to;
		to = was;
		at_ns += S / 100;
	}
	return NOWHERE;
}

static void the_move_above_the_limit_pins_to_the_older_port(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	assert_int_equal(flap(&m, A, B, 100 * S, &n), A);
	assert_int_equal(n, 6);
	m = (struct mac_move){.since_ns = S};
	assert_int_equal(flap(&m, B, A, 100 * S, &n), B);
}

static void moves_in_ten_seconds_count_and_no_others(void **state)
{
	struct mac_move m = {.since_ns = S};
	uint64_t t = 100 * S;

	(void)state;
	for (unsigned i = 0; i < 40; i++, t += 2 * S)
		expect_move(&m, i % 2, t);
	m = (struct mac_move){.since_ns = S};
	t = 100 * S;
	for (unsigned i = 0; i < 5; i++)
		expect_move(&m, i % 2, t);
	assert_int_equal(mac_move_decide(&five, &m, B, t + MAC_MOVE_WINDOW_NS - 1), MAC_PIN);
}

static void a_pinned_address_stays_until_its_time_is_over(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	flap(&m, A, B, 100 * S, &n);
	for (uint64_t t = 101 * S; t < 160 * S; t += S)
		assert_int_equal(mac_move_decide(&five, &m, A, t), MAC_STAY);
	expect_move(&m, A, 161 * S);
}

// A thief took the address while the station was silent: the station's stay was longer.
static void the_port_of_the_longest_stay_is_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	expect_move(&m, A, 1000 * S);
	assert_int_equal(flap(&m, B, A, 1020 * S, &n), A);
}

// The station went from A to B for good; then a thief speaks at C.
static void a_port_that_the_station_has_left_is_no_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	expect_move(&m, A, 1000 * S);
	assert_int_equal(flap(&m, B, C, 1100 * S, &n), B);
}

// Each stay is shorter than the stay before. An old stay leaves its slot to the last stay.
static void a_station_that_moved_often_keeps_its_last_port(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	expect_move(&m, A, 1000 * S);
	expect_move(&m, B, 1900 * S);
	expect_move(&m, C, 2700 * S);
	assert_int_equal(flap(&m, D, E, 3400 * S, &n), D);
}

// The station moved from A to C. A thief at B holds the address when a new window begins.
static void a_thief_that_holds_the_address_as_a_window_begins_is_no_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	const uint64_t t = 1100 * S;
	unsigned n;

	(void)state;
	expect_move(&m, A, 1000 * S);
	expect_move(&m, C, t);
	expect_move(&m, B, t + S);
	expect_move(&m, C, t + 99 * S / 10);
	assert_int_equal(flap(&m, B, C, t + 101 * S / 10, &n), C);
	assert_int_equal(n, 6);
	// The station was silent for 20 s.
	m = (struct mac_move){.since_ns = S};
	expect_move(&m, A, 1000 * S);
	expect_move(&m, C, t);
	assert_int_equal(flap(&m, B, C, t + 20 * S, &n), C);
	assert_int_equal(n, 6);
}

// The thief at B takes the address back 10 ms after each frame of the station at C.
static void a_thief_that_answers_each_frame_at_once_is_no_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	uint64_t t = 1100 * S;

	(void)state;
	expect_move(&m, A, 1000 * S);
	expect_move(&m, C, t);
	for (unsigned i = 0; i < 2; i++) {
		expect_move(&m, B, t += S);
		expect_move(&m, C, t += S / 100);
	}
	assert_int_equal(mac_move_decide(&five, &m, B, t += S), MAC_PIN);
	assert_int_equal(mac_move_home(&m, C, all, t), C);
}

// The thief has two ports: the address lived at the station's port when the moves began.
static void two_ports_of_a_thief_gain_nothing(void **state)
{
	struct mac_move m = {.since_ns = S};
	unsigned n;

	(void)state;
	expect_move(&m, A, 1000 * S);
	expect_move(&m, C, 1100 * S);
	assert_int_equal(flap(&m, B, D, 1101 * S, &n), C);
	assert_int_equal(n, 5);
}

static void an_address_is_not_pinned_to_a_port_that_is_not_usable(void **state)
{
	static const bool not_a[N_PORTS] = {[B] = true, [C] = true, [D] = true, [E] = true};
	struct mac_move m = {.since_ns = S};

	(void)state;
	expect_move(&m, A, 1000 * S);
	expect_move(&m, B, 1002 * S);
	expect_move(&m, C, 1003 * S);
	assert_int_equal(mac_move_home(&m, D, all, 1003 * S), A);
	assert_int_equal(mac_move_home(&m, D, not_a, 1003 * S), B);
}

static void without_a_limit_addresses_move(void **state)
{
	static const struct mac_move_params none = {.hold_ns = 60 * S};
	struct mac_move m = {.since_ns = S};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(mac_move_decide(&none, &m, A, 100 * S), MAC_MOVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_move_above_the_limit_pins_to_the_older_port),
		cmocka_unit_test(moves_in_ten_seconds_count_and_no_others),
		cmocka_unit_test(a_pinned_address_stays_until_its_time_is_over),
		cmocka_unit_test(the_port_of_the_longest_stay_is_home),
		cmocka_unit_test(a_port_that_the_station_has_left_is_no_home),
		cmocka_unit_test(a_station_that_moved_often_keeps_its_last_port),
		cmocka_unit_test(
			a_thief_that_holds_the_address_as_a_window_begins_is_no_home),
		cmocka_unit_test(a_thief_that_answers_each_frame_at_once_is_no_home),
		cmocka_unit_test(two_ports_of_a_thief_gain_nothing),
		cmocka_unit_test(an_address_is_not_pinned_to_a_port_that_is_not_usable),
		cmocka_unit_test(without_a_limit_addresses_move),
	};

	return cmocka_run_group_tests_name("mac_move", tests, NULL, NULL);
}
