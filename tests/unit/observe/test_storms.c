// SPDX-License-Identifier: Apache-2.0
// What the operator sees of storms: rows of the watchdog, of the guard, and the chain of causes.
#include <string.h>

#include "tests/unit/observe/rows.h"

enum { SECOND = 1000000000, MS = 1000000 };

// ---- the watchdog

// 100.25 ms to the finding, of two storms the second lasts.
static void storm(struct bench *b)
{
	struct watchdog_class *c = &b->sw->port[1].watchdog[3];

	b->sw->port[1].status[3] = WATCHDOG_IN_STORM;
	gauge_set(&c->state, WATCHDOG_STORMED);
	gauge_set(&c->since_ns, 2ull * SECOND);
	gauge_set(&c->measured_ns, 100250000);
	gauge_set(&c->storm_longest_ns, 300 * MS);
	ctr_add(&c->detected, 2);
	ctr_add(&c->restored, 1);
	ctr_add(&c->total.tx_ok, 10);
	ctr_add(&c->total.tx_dropped, 20);
	ctr_add(&c->total.rx_ok, 30);
	ctr_add(&c->total.rx_dropped, 40);
	ctr_add(&c->last.tx_ok, 1);
	ctr_add(&c->last.tx_dropped, 2);
	ctr_add(&c->last.rx_ok, 3);
	ctr_add(&c->last.rx_dropped, 4);
}

static void a_row_of_the_watchdog_has_state_settings_and_counters(void **state)
{
	static const struct {
		const char *key;
		uint64_t v;
	} want[] = {
		{"class", 3}, {"detect_ms", 100}, {"restore_ms", 200}, {"limit_storms", 30},
		{"limit_window_ms", 20000}, {"detected", 2}, {"restored", 1}, {"tx_ok", 10},
		{"tx_dropped", 20}, {"rx_ok", 30}, {"rx_dropped", 40}, {"tx_ok_last", 1},
		{"tx_dropped_last", 2}, {"rx_ok_last", 3}, {"rx_dropped_last", 4},
		{"last_measured_us", 100250}, {"storm_us", 100000}, {"longest_storm_us", 300000},
	};
	struct bench *b = *state;
	struct json_object *data, *r;

	storm(b);
	data = observe_show(b->o, "watchdog", 1, 2ull * SECOND + 100 * MS);
	assert_int_equal(json_object_array_length(list(data, "watchdog")), 1);
	r = row(data, "watchdog", 0);
	assert_string_equal(text(r, "port"), "p2");
	assert_string_equal(text(r, "status"), "stormed");
	assert_string_equal(text(r, "stormed"), "true");
	assert_string_equal(text(r, "mode"), "progress");
	assert_string_equal(text(r, "action"), "forward");
	assert_string_equal(text(r, "limit_then"), "port-down");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (number(r, want[i].key) != want[i].v)
			fail_msg("%s is %s", want[i].key, text(r, want[i].key));
	json_object_put(data);
	data = observe_show(b->o, "watchdog", 1, 3ull * SECOND); // the storm that lasts counts
	assert_int_equal(number(row(data, "watchdog", 0), "longest_storm_us"), 1000000);
	json_object_put(data);
}

static void a_clear_restarts_the_counters_and_not_the_last_storm(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	storm(b);
	observe_clear(b->o, 2ull * SECOND);
	ctr_add(&b->sw->port[1].watchdog[3].total.tx_dropped, 5);
	data = observe_show(b->o, "watchdog", 1, 2ull * SECOND);
	r = row(data, "watchdog", 0);
	assert_int_equal(number(r, "detected"), 0);
	assert_int_equal(number(r, "rx_ok"), 0);
	assert_int_equal(number(r, "tx_dropped"), 5);
	assert_int_equal(number(r, "tx_dropped_last"), 2);
	json_object_put(data);
	data = observe_rows(b->o, "watchdog", 1, OBSERVE_RAW, 2ull * SECOND);
	assert_int_equal(number(row(data, "watchdog", 0), "detected"), 2);
	json_object_put(data);
}

static void classes_without_a_watchdog_are_shown_on_request_or_after_a_storm(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	for (unsigned port = 0; port < FAKE_PORTS; port++) {
		b->sw->port[port].status[3] = WATCHDOG_OFF;
		b->sw->policy->ports[port].watchdog = (struct watchdog_params){0};
	}
	data = observe_show(b->o, "watchdog", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "watchdog")), 0);
	json_object_put(data);
	data = observe_rows(b->o, "watchdog", OBSERVE_ALL_PORTS, OBSERVE_ALL_ROWS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "watchdog")), 2); // class 3 of each
	r = row(data, "watchdog", 0);
	assert_string_equal(text(r, "status"), "off");
	assert_null(text(r, "action"));
	assert_int_equal(number(r, "detect_ms"), 0);
	json_object_put(data);
	ctr_inc(&b->sw->port[1].watchdog[3].detected);
	data = observe_show(b->o, "watchdog", OBSERVE_ALL_PORTS, SECOND);
	assert_string_equal(text(row(data, "watchdog", 0), "port"), "p2");
	json_object_put(data);
}

static void people_see_the_storm_as_sonic_shows_it(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	char *out;

	storm(b);
	data = observe_show(b->o, "watchdog", OBSERVE_ALL_PORTS, 2ull * SECOND + 1500 * MS);
	out = printed("watchdog", data);
	want_line(out, "QUEUE  STATUS       STORM DETECTED/RESTORED  TX OK/DROP  RX OK/DROP  "
		       "TX LAST OK/DROP  RX LAST OK/DROP\n");
	want_line(out, "\np1:3   operational  0/0                      0/0         0/0         "
		       "0/0              0/0\n");
	want_line(out, "\np2:3   stormed      2/1                      10/20       30/40       "
		       "1/2              3/4\n");
	want_line(out, "100 ms");
	free(out);
	json_object_put(data);
}

static void settings_are_shown_of_watched_classes_only(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	char *out;

	for (unsigned port = 0; port < 2; port++) {
		b->sw->port[port].status[3] = WATCHDOG_DROPS_ALL;
		b->sw->policy->ports[port].watchdog = (struct watchdog_params){0};
	}
	b->sw->drops_all = true;
	data = observe_show(b->o, "watchdog", OBSERVE_ALL_PORTS, SECOND);
	out = printed("watchdog", data);
	want_line(out, "\np2:3   drop-all");
	assert_null(strstr(out, "DETECT "));
	free(out);
	json_object_put(data);
}

// ---- the guard

static void the_guard_counts_by_port_and_rule_from_the_clear(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;

	b->sw->port[0].remapped[0] = 100;
	observe_clear(b->o, SECOND);
	b->sw->port[0].remapped[0] = 107;
	data = observe_show(b->o, "guard", OBSERVE_ALL_PORTS, SECOND);
	assert_int_equal(json_object_array_length(list(data, "guard")), 1);
	r = row(data, "guard", 0);
	assert_string_equal(text(r, "port"), "p1");
	assert_string_equal(text(r, "group"), "up");
	assert_int_equal(number(r, "dscp"), 26);
	assert_int_equal(number(r, "to_class"), 4);
	assert_int_equal(number(r, "to_dscp"), 34);
	assert_int_equal(number(r, "packets"), 7);
	json_object_put(data);
}

// ---- causes

static void xoff(struct bench *b, unsigned port, struct pause_cause c, uint64_t since_ns)
{
	struct fake_port *p = &b->sw->port[port];

	atomic_store(&p->pg[3].xoff, true);
	gauge_set(&p->pfc_tx.stats[3].since_ns, since_ns);
	p->now[3] = c;
	p->last[3] = c;
	p->last[3].t_ns = since_ns;
}

static char *why(struct bench *b, uint64_t now_ns, struct json_object **data)
{
	*data = observe_show(b->o, "causes", OBSERVE_ALL_PORTS, now_ns);
	return printed("causes", *data);
}

static const struct pause_cause by_p2 = {.kind = CAUSE_QUEUE, .out_port = 1, .queue = 3, .cls = 3,
					 .held_cells = 1600};

static void a_queue_that_is_not_paused_is_congestion_and_the_root_is_here(void **state)
{
	struct bench *b = *state;
	struct json_object *data, *r;
	char *out;

	xoff(b, 0, by_p2, SECOND);
	out = why(b, SECOND + 5 * MS, &data);
	assert_string_equal(out, "p1 class 3 has paused its sender for 5.00 ms because p2 class 3 "
				 "holds 409.6 KB of it; p2 is not paused: more is offered to it "
				 "than it can send\n");
	r = row(data, "causes", 0);
	assert_string_equal(text(r, "ends"), "congestion");
	assert_int_equal(number(r, "held_bytes"), 409600);
	assert_int_equal(number(r, "pause_us"), 5000);
	assert_string_equal(text(r, "cause_port"), "p2");
	free(out);
	json_object_put(data);
}

static void a_queue_that_is_paused_names_the_port_behind_which_the_root_is(void **state)
{
	struct bench *b = *state;
	struct pause_cause c = by_p2;
	struct json_object *data, *r;
	char *out;

	c.paused = true;
	gauge_set(&b->sw->port[1].pfc_rx.stats[3].since_ns, SECOND - 2 * MS);
	xoff(b, 0, c, SECOND);
	out = why(b, SECOND + 1200000, &data);
	assert_string_equal(out, "p1 class 3 has paused its sender for 1.20 ms because p2 class 3 "
				 "holds 409.6 KB of it, and p2 is itself paused by its peer, for "
				 "3.20 ms\n"
				 "    the root is behind p2 class 3: look at its peer\n");
	r = row(data, "causes", 0);
	assert_string_equal(text(r, "ends"), "peer");
	assert_string_equal(text(r, "chain"), "[ \"p1:3\", \"p2:3\" ]");
	assert_int_equal(number(r, "cause_paused_us"), 3200);
	free(out);
	json_object_put(data);
}

// p1 waits for p2, whose peer has paused it; and that peer is itself paused by p2, which waits for
// p1, whose peer ... A chain that does not come back stops where nobody is paused.
static void a_chain_goes_on_through_a_peer_that_this_switch_has_paused(void **state)
{
	struct bench *b = *state;
	struct pause_cause c = by_p2;
	struct json_object *data;
	char *out;

	c.paused = true;
	xoff(b, 0, c, SECOND);
	c.out_port = 0;
	xoff(b, 1, c, SECOND);
	out = why(b, SECOND + MS, &data);
	assert_string_equal(text(row(data, "causes", 0), "ends"), "loop");
	assert_string_equal(text(row(data, "causes", 0), "chain"),
			    "[ \"p1:3\", \"p2:3\", \"p1:3\" ]");
	want_line(out, "    chain: p1:3 p2:3 p1:3\n"
		       "    the chain comes back to p1 class 3: a deadlock, if it lasts\n");
	free(out);
	json_object_put(data);
	c.paused = false;
	xoff(b, 1, c, SECOND);
	out = why(b, SECOND + MS, &data);
	assert_string_equal(text(row(data, "causes", 0), "ends"), "congestion");
	want_line(out, "    chain: p1:3 p2:3 p1:3\n"
		       "    the root is here: p1 class 3 is congested\n");
	free(out);
	json_object_put(data);
}

static void what_is_over_is_told_in_the_past_and_not_followed(void **state)
{
	struct bench *b = *state;
	struct pause_cause c = by_p2;
	struct json_object *data;
	char *out;

	c.paused = true;
	c.t_ns = SECOND;
	b->sw->port[0].last[3] = c;
	b->sw->port[0].now[3] = (struct pause_cause){.kind = CAUSE_QUEUE, .out_port = 0};
	xoff(b, 1, by_p2, 2ull * SECOND); // what is there now says nothing about then
	out = why(b, 3ull * SECOND, &data);
	want_line(out, "p1 class 3 last paused its sender 2.00 s ago because p2 class 3 held "
		       "409.6 KB of it, and p2 was itself paused by its peer\n"
		       "    the root is behind p2 class 3: look at its peer\n");
	assert_string_equal(text(row(data, "causes", 0), "chain"), "[ \"p1:3\", \"p2:3\" ]");
	assert_string_equal(text(row(data, "causes", 0), "now"), "false");
	assert_int_equal(number(row(data, "causes", 0), "cause_paused_us"), 0);
	free(out);
	json_object_put(data);
}

static void the_receive_ring_and_an_operator_are_causes_too(void **state)
{
	struct bench *b = *state;
	struct pause_cause ring = {.kind = CAUSE_RX_RING}, c = by_p2;
	struct json_object *data;
	char *out;

	gauge_set(&b->sw->port[0].pfc_tx.stats[3].since_ns, SECOND);
	b->sw->port[0].last[3] = ring;
	out = why(b, SECOND + MS, &data);
	assert_string_equal(out, "p1 class 3 has paused its sender for 1.00 ms because its receive "
				 "ring was filling: the worker came late\n");
	assert_string_equal(text(row(data, "causes", 0), "ends"), "receive-ring");
	assert_null(text(row(data, "causes", 0), "cause_port"));
	free(out);
	json_object_put(data);
	c.queue = 7; // of p2: the fake has it TX-disabled
	xoff(b, 0, c, SECOND);
	out = why(b, SECOND + MS, &data);
	assert_string_equal(text(row(data, "causes", 0), "ends"), "tx-off");
	want_line(out, ", and an operator has stopped p2\n");
	free(out);
	json_object_put(data);
}

static void on_good_days_there_is_nothing_to_explain(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	char *out = why(b, SECOND, &data);

	assert_string_equal(out, "this switch has paused no peer\n");
	free(out);
	json_object_put(data);
	xoff(b, 0, by_p2, SECOND); // another port has
	data = observe_show(b->o, "causes", 1, SECOND);
	out = printed("causes", data);
	assert_string_equal(out, "this switch has paused no peer of p2\n");
	free(out);
	json_object_put(data);
}

static void a_peer_that_pauses_is_named_where_nothing_was_paused(void **state)
{
	struct bench *b = *state;
	struct json_object *data;
	char *out;

	gauge_set(&b->sw->port[0].pfc_rx.stats[4].since_ns, SECOND);
	storm(b);
	out = why(b, 2ull * SECOND + 1500 * MS, &data);
	assert_string_equal(
		out, "this switch has paused no peer\n"
		     "p1 class 4 is paused by its peer, for 2.50 s\n"
		     "p2 class 3 is paused by its peer: a storm for 1.50 s (weirctl show "
		     "watchdog)\n");
	free(out);
	json_object_put(data);
}

// ---- pauses

static void the_longest_pause_and_the_last_change_are_shown_by_direction(void **state)
{
	struct bench *b = *state;
	struct pfc_class_stats *rx = &b->sw->port[0].pfc_rx.stats[3];
	struct json_object *data, *r;

	gauge_set(&rx->longest_ns, 7 * MS);
	gauge_set(&rx->last_change_ns, SECOND);
	data = observe_show(b->o, "pfc", 0, SECOND + 3 * MS);
	r = row(data, "pfc", 0);
	assert_int_equal(number(r, "rx_pause_longest_us"), 7000);
	assert_int_equal(number(r, "rx_pause_last_change_us"), 3000);
	assert_int_equal(number(r, "tx_pause_longest_us"), 0);
	assert_null(text(r, "tx_pause_last_change_us"));
	json_object_put(data);
	gauge_set(&rx->since_ns, SECOND);
	gauge_set(&rx->until_ns, SECOND + 9 * MS);
	data = observe_show(b->o, "pfc", 0, SECOND + 8 * MS); // the present one is longer
	assert_int_equal(number(row(data, "pfc", 0), "rx_pause_longest_us"), 8000);
	json_object_put(data);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_row_of_the_watchdog_has_state_settings_and_counters),
		T(a_clear_restarts_the_counters_and_not_the_last_storm),
		T(classes_without_a_watchdog_are_shown_on_request_or_after_a_storm),
		T(people_see_the_storm_as_sonic_shows_it),
		T(settings_are_shown_of_watched_classes_only),
		T(the_guard_counts_by_port_and_rule_from_the_clear),
		T(a_queue_that_is_not_paused_is_congestion_and_the_root_is_here),
		T(a_queue_that_is_paused_names_the_port_behind_which_the_root_is),
		T(a_chain_goes_on_through_a_peer_that_this_switch_has_paused),
		T(what_is_over_is_told_in_the_past_and_not_followed),
		T(the_receive_ring_and_an_operator_are_causes_too),
		T(on_good_days_there_is_nothing_to_explain),
		T(a_peer_that_pauses_is_named_where_nothing_was_paused),
		T(the_longest_pause_and_the_last_change_are_shown_by_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
