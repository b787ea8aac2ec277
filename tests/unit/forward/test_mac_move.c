// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/forward/mac_move.h"

#define S 1000000000ull

enum { A, B, C, NOWHERE = 99 };

static const struct mac_move_params five = {.limit = 5, .hold_ns = 60 * S};

// Moves to and fro between two ports until the address is pinned; its home. *n: moves.
static uint8_t flap(struct mac_move *m, uint8_t from, uint8_t to, uint64_t at_ns, unsigned *n)
{
	uint8_t home = NOWHERE;

	for (*n = 1; *n < 100; ++*n) {
		enum mac_move_verdict v = mac_move_decide(&five, m, from, to, at_ns, &home);
		uint8_t was = from;

		if (v != MAC_MOVE)
			return home;
		assert_int_equal(home, NOWHERE);
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
	uint8_t home = NOWHERE;
	uint64_t t = 100 * S;

	(void)state;
	for (unsigned i = 0; i < 40; i++, t += 2 * S)
		assert_int_equal(mac_move_decide(&five, &m, i % 2, 1 - i % 2, t, &home), MAC_MOVE);
	m = (struct mac_move){.since_ns = S};
	t = 100 * S;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(mac_move_decide(&five, &m, i % 2, 1 - i % 2, t, &home), MAC_MOVE);
	assert_int_equal(mac_move_decide(&five, &m, B, A, t + MAC_MOVE_WINDOW_NS - 1, &home),
			 MAC_PIN);
}

static void a_pinned_address_stays_until_its_time_is_over(void **state)
{
	struct mac_move m = {.since_ns = S};
	uint8_t home;
	unsigned n;

	(void)state;
	flap(&m, A, B, 100 * S, &n);
	for (uint64_t t = 101 * S; t < 160 * S; t += S)
		assert_int_equal(mac_move_decide(&five, &m, A, B, t, &home), MAC_STAY);
	assert_int_equal(mac_move_decide(&five, &m, A, B, 161 * S, &home), MAC_MOVE);
}

// A thief took the address while the station was silent: the station's stay was longer.
static void the_port_of_the_longest_stay_is_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	uint8_t home;
	unsigned n;

	(void)state;
	assert_int_equal(mac_move_decide(&five, &m, A, B, 1000 * S, &home), MAC_MOVE);
	assert_int_equal(flap(&m, B, A, 1020 * S, &n), A);
}

// The station went from A to B for good; then a thief speaks at C.
static void a_port_that_the_station_has_left_is_no_home(void **state)
{
	struct mac_move m = {.since_ns = S};
	uint8_t home;
	unsigned n;

	(void)state;
	assert_int_equal(mac_move_decide(&five, &m, A, B, 1000 * S, &home), MAC_MOVE);
	assert_int_equal(flap(&m, B, C, 1100 * S, &n), B);
}

static void without_a_limit_addresses_move(void **state)
{
	static const struct mac_move_params none = {.hold_ns = 60 * S};
	struct mac_move m = {.since_ns = S};
	uint8_t home;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(mac_move_decide(&none, &m, A, B, 100 * S, &home), MAC_MOVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_move_above_the_limit_pins_to_the_older_port),
		cmocka_unit_test(moves_in_ten_seconds_count_and_no_others),
		cmocka_unit_test(a_pinned_address_stays_until_its_time_is_over),
		cmocka_unit_test(the_port_of_the_longest_stay_is_home),
		cmocka_unit_test(a_port_that_the_station_has_left_is_no_home),
		cmocka_unit_test(without_a_limit_addresses_move),
	};

	return cmocka_run_group_tests_name("mac_move", tests, NULL, NULL);
}
