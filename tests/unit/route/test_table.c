// SPDX-License-Identifier: Apache-2.0
// The neighbours' state machine, step by step in time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/neighbours/neighbour_table.h"

#define S 1000000000ull
enum { PORT = 3, ROUNDS = 8 }; // ticks until every slot has had its turn

static const uint8_t mac1[6] = {2, 0, 0, 0, 0, 1}, mac2[6] = {2, 0, 0, 0, 0, 2};

// What the table did: "ask" everybody, "ask1" the first address, "set2", "unset".
struct log {
	char text[4096];
	unsigned n_probes, n_sets;
	bool no_room; // for probes
};

static struct policy_addr addr(unsigned last)
{
	return (struct policy_addr){FAMILY_V4, 32, {10, 0, (uint8_t)(last >> 8), (uint8_t)last}};
}

static void say(struct log *l, const char *what, const uint8_t *mac)
{
	size_t n = strlen(l->text);

	if (n + 16 < sizeof(l->text))
		snprintf(l->text + n, sizeof(l->text) - n, mac == NULL ? " %s" : " %s%u", what,
			 mac == NULL ? 0 : mac[5]);
}

static bool on_probe(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct log *l = arg;

	(void)port;
	assert_int_equal(a->len, 32);
	if (l->no_room)
		return false;
	say(l, "ask", mac);
	l->n_probes++;
	return true;
}

static void on_set(void *arg, port_no_t port, const struct policy_addr *a, const uint8_t *mac)
{
	struct log *l = arg;

	(void)port;
	(void)a;
	say(l, mac == NULL ? "unset" : "set", mac);
	l->n_sets++;
}

static void on_next_hop(void *arg, port_no_t port, const struct policy_addr *a, bool answers)
{
	assert_int_equal(port, PORT);
	assert_int_equal(a->len, 32);
	say(arg, answers ? "back" : "lost", NULL);
}

static struct neighbour_table *table(struct log *l)
{
	static const struct neighbour_ops ops = {
		.probe = on_probe, .set = on_set, .next_hop = on_next_hop};
	struct neighbour_table *t = NULL;

	*l = (struct log){0};
	assert_int_equal(neighbour_table_create(&ops, l, &t), 0);
	return t;
}

static void at(struct neighbour_table *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		neighbour_tick(t, now_ns);
}

static void expect(struct log *l, const char *text)
{
	assert_string_equal(l->text, text);
	l->text[0] = '\0';
}

static int state_of(struct neighbour_table *t, unsigned last)
{
	struct policy_addr a = addr(last);
	const struct neighbour *n = neighbour_find(t, PORT, &a);

	return n == NULL ? -1 : n->state;
}

static void want(struct neighbour_table *t, unsigned last, bool as_route, uint64_t now_ns)
{
	struct policy_addr a = addr(last);

	neighbour_want(t, PORT, &a, as_route, now_ns);
}

static void heard(struct neighbour_table *t, unsigned last, const uint8_t *mac,
		  enum neighbour_rx how, uint64_t now_ns)
{
	struct policy_addr a = addr(last);

	neighbour_receive(t, PORT, &a, mac, how, true, now_ns);
}

static void a_station_is_asked_for_three_times_and_then_forgotten(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	want(t, 1, false, 0);
	expect(&l, " ask");
	want(t, 1, false, S / 2); // no second question for a second frame
	at(t, S - 1);
	expect(&l, "");
	at(t, S);
	at(t, 2 * S);
	expect(&l, " ask ask");
	at(t, 3 * S - 1);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_INCOMPLETE);
	at(t, 3 * S);
	expect(&l, "");
	assert_int_equal(state_of(t, 1), -1);
	assert_int_equal(neighbour_stats(t).failed, 1);
	neighbour_table_destroy(t);
}

static void an_answer_holds_for_thirty_seconds_and_is_then_checked(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	want(t, 1, false, 0);
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, S);
	expect(&l, " ask set1");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_REACHABLE);
	at(t, 31 * S - 1);
	expect(&l, "");
	at(t, 31 * S);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STALE);
	expect(&l, " ask1"); // it alone
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 31 * S + 1);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_REACHABLE);
	at(t, 61 * S);
	expect(&l, "");
	at(t, 61 * S + 1);
	at(t, 62 * S + 1);
	at(t, 63 * S + 1);
	expect(&l, " ask1 ask1 ask1");
	at(t, 64 * S + 1);
	expect(&l, " unset");
	assert_int_equal(state_of(t, 1), -1);
	neighbour_table_destroy(t);
}

static void a_gateway_is_never_forgotten(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	want(t, 1, true, 0);
	for (unsigned i = 1; i <= 3; i++)
		at(t, i * S);
	expect(&l, " ask ask ask lost");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_FAILED);
	want(t, 1, false, 4 * S); // frames that want it do not hurry it
	at(t, 8 * S - 1);
	expect(&l, "");
	at(t, 8 * S);
	at(t, 13 * S);
	expect(&l, " ask ask");
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 14 * S);
	expect(&l, " set1 back");
	at(t, 44 * S);
	at(t, 45 * S);
	at(t, 46 * S);
	at(t, 47 * S); // gone: whoever has the address now is asked at once
	expect(&l, " ask1 ask1 ask1 unset lost ask");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_INCOMPLETE);
	neighbour_table_destroy(t);
}

static void only_who_is_wanted_or_asks_us_becomes_a_neighbour(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	heard(t, 1, mac1, NEIGHBOUR_RX_CLAIM, 0);
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 0);
	assert_int_equal(state_of(t, 1), -1);
	heard(t, 1, mac1, NEIGHBOUR_RX_REQUEST, 0);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STALE); // its claim is checked
	at(t, 1);
	expect(&l, " set1 ask1");
	neighbour_table_destroy(t);
}

static void another_address_is_taken_over_and_checked(void **state)
{
	struct policy_addr a = addr(1);
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	want(t, 1, false, 0);
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 0);
	expect(&l, " ask set1");
	// An advertisement that does not override casts doubt, and no more.
	neighbour_receive(t, PORT, &a, mac2, NEIGHBOUR_RX_CLAIM, false, S);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STALE);
	expect(&l, "");
	heard(t, 1, mac2, NEIGHBOUR_RX_CLAIM, 2 * S);
	expect(&l, " set2");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STALE);
	at(t, 2 * S);
	expect(&l, " ask2");
	heard(t, 1, mac2, NEIGHBOUR_RX_ANSWER, 2 * S);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_REACHABLE);
	heard(t, 1, mac2, NEIGHBOUR_RX_CLAIM, 3 * S); // nothing new
	expect(&l, "");
	neighbour_table_destroy(t);
}

// Linux answers a question that was put to it alone without its MAC address.
static void an_answer_without_an_address_confirms_the_one_that_is_known(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	heard(t, 1, NULL, NEIGHBOUR_RX_REQUEST, 0);
	assert_int_equal(state_of(t, 1), -1);
	want(t, 1, false, 0);
	heard(t, 1, NULL, NEIGHBOUR_RX_ANSWER, 0);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_INCOMPLETE);
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 0);
	at(t, 30 * S);
	expect(&l, " ask set1 ask1");
	heard(t, 1, NULL, NEIGHBOUR_RX_CLAIM, 30 * S);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STALE);
	heard(t, 1, NULL, NEIGHBOUR_RX_ANSWER, 30 * S);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_REACHABLE);
	expect(&l, "");
	neighbour_table_destroy(t);
}

static void a_static_neighbour_believes_nobody(void **state)
{
	struct policy_addr a = addr(1);
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	neighbour_set_static(t, PORT, &a, mac1, 0);
	heard(t, 1, mac2, NEIGHBOUR_RX_ANSWER, S);
	heard(t, 1, mac2, NEIGHBOUR_RX_REQUEST, S);
	at(t, 1000 * S);
	expect(&l, " set1");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STATIC);
	neighbour_table_destroy(t);
}

static bool keep_low(void *arg, port_no_t port, const struct policy_addr *a)
{
	(void)arg;
	(void)port;
	return a->ip[3] < 10;
}

static void a_new_policy_keeps_what_it_names_and_what_it_has_a_place_for(void **state)
{
	struct policy_addr s1 = addr(1), s2 = addr(2), s30 = addr(30);
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	neighbour_set_static(t, PORT, &s1, mac1, 0);
	neighbour_set_static(t, PORT, &s2, mac1, 0);
	neighbour_set_static(t, PORT, &s30, mac1, 0);
	for (unsigned i = 4; i <= 24; i += 10) {
		want(t, i, i == 24, 0);
		heard(t, i, mac1, NEIGHBOUR_RX_ANSWER, 0);
	}
	l.text[0] = '\0';
	neighbour_begin_policy(t);
	neighbour_set_static(t, PORT, &s1, mac2, S);
	want(t, 24, true, S);
	neighbour_end_policy(t, keep_low, S);
	expect(&l, " set2 unset unset");
	assert_int_equal(state_of(t, 1), NEIGHBOUR_STATIC);
	assert_int_equal(state_of(t, 2), NEIGHBOUR_STALE); // named no more, but still in place
	assert_int_equal(state_of(t, 4), NEIGHBOUR_REACHABLE);
	assert_int_equal(state_of(t, 14), -1);
	assert_int_equal(state_of(t, 24), NEIGHBOUR_REACHABLE);
	assert_int_equal(state_of(t, 30), -1);
	// A gateway that no route names any more fails as others do.
	neighbour_begin_policy(t);
	neighbour_set_static(t, PORT, &s1, mac2, S);
	neighbour_end_policy(t, keep_low, S);
	assert_int_equal(state_of(t, 24), -1);
	neighbour_table_destroy(t);
}

static void a_scan_of_the_subnet_is_bounded_and_leaves_room(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);
	unsigned n = 2 * NEIGHBOUR_MAX_INCOMPLETE;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		want(t, i, false, 0);
	assert_int_equal(neighbour_stats(t).replaced, n - NEIGHBOUR_MAX_INCOMPLETE);
	assert_int_equal(state_of(t, 0), -1);
	assert_int_equal(state_of(t, n - 1), NEIGHBOUR_INCOMPLETE);
	heard(t, n + 1, mac1, NEIGHBOUR_RX_REQUEST, 0); // somebody who is there gets in
	assert_int_equal(state_of(t, n + 1), NEIGHBOUR_STALE);
	for (unsigned i = 1; i <= 3; i++)
		at(t, i * S);
	assert_int_equal(neighbour_stats(t).failed, NEIGHBOUR_MAX_INCOMPLETE);
	assert_int_equal(neighbour_stats(t).refused, 0);
	l.n_probes = 0;
	want(t, n, false, 4 * S);
	assert_int_equal(l.n_probes, 1);
	neighbour_table_destroy(t);
}

static unsigned rows_of(const struct neighbour_table *t, unsigned port)
{
	unsigned n = 0;

	for (unsigned i = 0; i < NEIGHBOUR_MAX; i++) {
		const struct neighbour *row = neighbour_at(t, i);

		n += row != NULL && row->port == port;
	}
	return n;
}

static void claims(struct neighbour_table *t, uint8_t port, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		struct policy_addr a = addr(i);

		neighbour_receive(t, port, &a, mac1, NEIGHBOUR_RX_REQUEST, true, 0);
	}
}

static void a_full_table_gives_up_the_oldest_and_stays_whole(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	claims(t, PORT, 0, NEIGHBOUR_MAX);
	heard(t, 0, mac1, NEIGHBOUR_RX_ANSWER, 0); // confirmed: not the oldest any more
	claims(t, PORT, NEIGHBOUR_MAX, 100);
	assert_int_equal(rows_of(t, PORT), NEIGHBOUR_MAX);
	assert_int_equal(neighbour_stats(t).replaced, 100);
	assert_int_equal(neighbour_stats(t).refused, 0);
	assert_int_equal(state_of(t, 0), NEIGHBOUR_REACHABLE);
	assert_int_equal(state_of(t, 1), -1);
	assert_int_equal(state_of(t, 100), -1);
	assert_int_equal(state_of(t, 101), NEIGHBOUR_STALE);
	for (unsigned i = 0; i <= 34; i++)
		at(t, i * S);
	assert_int_equal(rows_of(t, PORT), 0);
	neighbour_table_destroy(t);
}

// Two ports flood. The third port and all ports together keep what the table is divided by.
static void a_port_keeps_its_share_of_a_full_table(void **state)
{
	enum { OTHER = 5, QUIET = 7, SHARE = NEIGHBOUR_MAX / 3 };
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	claims(t, PORT, 0, 2 * NEIGHBOUR_MAX);
	claims(t, QUIET, 0, 200);
	assert_int_equal(rows_of(t, QUIET), 200);
	claims(t, OTHER, 0, 2 * NEIGHBOUR_MAX);
	assert_int_equal(rows_of(t, QUIET), 200);
	assert_in_range(rows_of(t, OTHER), (NEIGHBOUR_MAX - 200) / 2, NEIGHBOUR_MAX / 2);
	claims(t, QUIET, 200, SHARE - 200);
	claims(t, PORT, 0, NEIGHBOUR_MAX);
	claims(t, OTHER, 0, NEIGHBOUR_MAX);
	assert_int_equal(rows_of(t, QUIET), SHARE);
	assert_int_equal(rows_of(t, PORT) + rows_of(t, OTHER) + SHARE, NEIGHBOUR_MAX);
	assert_int_equal(neighbour_stats(t).refused, 0);
	neighbour_table_destroy(t);
}

static void next_hops_and_static_rows_are_never_given_up(void **state)
{
	struct policy_addr s = addr(2);
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	want(t, 1, true, 0);
	heard(t, 1, mac1, NEIGHBOUR_RX_ANSWER, 0);
	want(t, 3, true, 0);
	neighbour_set_static(t, PORT, &s, mac1, 0);
	claims(t, PORT, 10, 2 * NEIGHBOUR_MAX);
	for (unsigned i = 0; i < 2 * NEIGHBOUR_MAX_INCOMPLETE; i++)
		want(t, 20000 + i, false, 0);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_REACHABLE);
	assert_int_equal(state_of(t, 2), NEIGHBOUR_STATIC);
	assert_int_equal(state_of(t, 3), NEIGHBOUR_INCOMPLETE);
	neighbour_table_destroy(t);
}

// More next hops than unanswered rows may be: a limit for strangers is none for routes.
static void every_next_hop_is_asked_for(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);
	unsigned n = 2 * NEIGHBOUR_MAX_INCOMPLETE;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		want(t, i, true, 0);
	assert_int_equal(l.n_probes, n);
	assert_int_equal(neighbour_stats(t).refused, 0);
	neighbour_table_destroy(t);
}

// Many stations are wanted at once: a question that finds no room is none of the three.
static void a_question_without_room_is_asked_soon(void **state)
{
	struct log l;
	struct neighbour_table *t = table(&l);

	(void)state;
	l.no_room = true;
	want(t, 1, false, 0);
	at(t, 1);
	assert_int_equal(l.n_probes, 0);
	l.no_room = false;
	at(t, 2);
	assert_int_equal(l.n_probes, 1);
	for (unsigned i = 1; i <= 2; i++)
		at(t, i * S + 3);
	assert_int_equal(l.n_probes, 3);
	assert_int_equal(state_of(t, 1), NEIGHBOUR_INCOMPLETE);
	neighbour_table_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_station_is_asked_for_three_times_and_then_forgotten),
		cmocka_unit_test(an_answer_holds_for_thirty_seconds_and_is_then_checked),
		cmocka_unit_test(a_gateway_is_never_forgotten),
		cmocka_unit_test(only_who_is_wanted_or_asks_us_becomes_a_neighbour),
		cmocka_unit_test(another_address_is_taken_over_and_checked),
		cmocka_unit_test(an_answer_without_an_address_confirms_the_one_that_is_known),
		cmocka_unit_test(a_static_neighbour_believes_nobody),
		cmocka_unit_test(a_new_policy_keeps_what_it_names_and_what_it_has_a_place_for),
		cmocka_unit_test(a_scan_of_the_subnet_is_bounded_and_leaves_room),
		cmocka_unit_test(a_full_table_gives_up_the_oldest_and_stays_whole),
		cmocka_unit_test(a_port_keeps_its_share_of_a_full_table),
		cmocka_unit_test(next_hops_and_static_rows_are_never_given_up),
		cmocka_unit_test(every_next_hop_is_asked_for),
		cmocka_unit_test(a_question_without_room_is_asked_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
