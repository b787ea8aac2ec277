// SPDX-License-Identifier: Apache-2.0
// Whole fabrics that stand still, and why: a healthy incast names nobody, a storm and a slow
// receiver are found behind two switches, a ring that waits for itself is named in order once it is
// stuck, and the faults that make such days act at their instants.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/lab/chain.h"
#include "dataplane/qos/watchdog.h"
#include "tests/lab/fabric/rig.h"

#define US 1000ull
#define MS 1000000ull

enum { S1, S2, S3, S4, H3 = 2, CLS = 3 };

static const struct chain *chain_of(const struct rig *r)
{
	return &r->f->chain->chain;
}

static void assert_chain(const struct rig *r, uint32_t finding, const char *want)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_true(finding < chain_of(r)->n);
	chain_fabric_text(r->sc, &chain_of(r)->findings[finding], out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static const struct pfc_class_stats *heard(const struct rig *r, uint32_t sw, unsigned port)
{
	return &switch_pfc_rx(r->f->switches[sw].in.sw, port)->stats[CLS];
}

// ---- who is named

static void a_healthy_incast_names_nobody(void **state)
{
	const struct sc_set sets[] = {{"flows", "[{from: \"h[1-3]\", to: h4, class: 3}]"},
				      {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	// Paused again and again over the link of the switches, but never for long.
	for (uint64_t t = 1; t <= 30; t++) {
		rig_run(&r, t * MS);
		assert_int_equal(chain_fabric_stuck(r.f, S1, -1, -1), 0);
	}
	assert_true(ctr_get(&heard(&r, S1, 2)->transitions) > 100);
	assert_int_equal(chain_of(&r)->n, 0);
	assert_int_equal(r.f->first_loss.count, 0);
	rig_free(&r);
}

static void a_storm_is_found_behind_two_switches(void **state)
{
	const struct sc_set sets[] = {
		{"faults[0]", "{at: 5ms, host: h3, pause_storm: {class: 3, for: 15ms}}"},
		{NULL, NULL}};
	const struct chain_finding *f;
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 30 * MS);
	assert_int_equal(chain_of(&r)->n, 1);
	assert_chain(&r, 0, "s1.p3.3 <- s2.p1.3 <- host h3 (storm since 5ms)");
	f = &chain_of(&r)->findings[0];
	assert_int_equal(f->kind, CHAIN_ROOT);
	assert_int_equal(f->host, H3);
	assert_in_range(f->first_ns, 5 * MS, 9 * MS); // once the buffers behind it are full
	assert_in_range(f->last_ns, 19 * MS, 20 * MS);
	assert_false(f->now);
	assert_int_equal(f->times, 1);
	rig_free(&r);
}

static void a_slow_receiver_is_told_from_a_storm(void **state)
{
	const struct sc_set sets[] = {
		{"faults[0]", "{at: 5ms, host: h3, slow_receiver: {rate: 100M}}"}, {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	assert_int_equal(fabric_run_until(r.f, 30 * MS), 0); // frames wait in the NIC
	assert_int_equal(chain_of(&r)->n, 1);
	assert_chain(&r, 0, "s1.p3.3 <- s2.p1.3 <- host h3 (slow receiver)");
	assert_true(chain_of(&r)->findings[0].now);
	rig_free(&r);
}

// Its last PAUSE stands alone for a while: still the storm's.
static void a_storm_that_fell_silent_is_a_storm_until_its_last_pause_has_run_out(void **state)
{
	const struct sc_set sets[] = {{"links[1].speed", "1G"},
				      {"faults[0]", "{at: 5ms, host: h3, pause_storm: {class: 3, "
						    "for: 1ms, silent_end: on}}"},
				      {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 30 * MS);
	assert_int_equal(chain_of(&r)->n, 1);
	assert_chain(&r, 0, "s1.p3.3 <- s2.p1.3 <- host h3 (storm since 5ms)");
	assert_in_range(chain_of(&r)->findings[0].last_ns, 29 * MS, 30 * MS); // 33 ms at 1 Gb/s
	rig_free(&r);
}

static void a_ring_that_waits_for_itself_is_named_in_order_once_it_is_stuck(void **state)
{
	const struct chain_finding *f;
	uint64_t stuck_ns;
	struct rig r;

	(void)state;
	rig_make(&r, "cycle.yaml", NULL);
	rig_run(&r, 60 * MS);
	stuck_ns = chain_of(&r)->stuck_ns;
	assert_int_equal(stuck_ns, 2 * 838848); // of PAUSE at 40 Gb/s
	assert_int_equal(chain_of(&r)->n, 1);
	f = &chain_of(&r)->findings[0];
	assert_int_equal(f->kind, CHAIN_DEADLOCK);
	assert_chain(&r, 0, "s1.p3.3 <- s2.p3.3 <- s3.p3.3 <- s4.p3.3 <- s1.p3.3");
	assert_true(f->now);
	assert_in_range(f->longest_ns, 50 * MS, 60 * MS);
	for (uint32_t s = 0; s < 4; s++) {
		assert_int_equal(chain_fabric_stuck(r.f, s, -1, -1), 1);
		assert_int_equal(chain_fabric_stuck(r.f, s, 2, CLS), 1);
		assert_int_equal(chain_fabric_stuck(r.f, s, 2, CLS + 1), 0);
		assert_int_equal(chain_fabric_stuck(r.f, s, 3, -1), 0);
	}
	rig_free(&r);
}

static void a_ring_is_stuck_for_as_long_as_the_file_wants(void **state)
{
	const struct sc_set sets[] = {{"stuck_after", "40ms"}, {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "cycle.yaml", sets);
	rig_run(&r, 40 * MS);
	assert_int_equal(chain_count(chain_of(&r), CHAIN_DEADLOCK, 0), 0);
	assert_int_equal(chain_count(chain_of(&r), CHAIN_CYCLIC, 0), 1);
	assert_int_equal(chain_fabric_stuck(r.f, S1, -1, -1), 0);
	rig_run(&r, 60 * MS);
	assert_int_equal(chain_count(chain_of(&r), CHAIN_DEADLOCK, 0), 1);
	assert_int_equal(chain_count(chain_of(&r), CHAIN_CYCLIC, 0), 0);
	rig_free(&r);
}

// With less traffic the same routes share the ring and nobody waits for himself.
static void a_ring_with_room_is_never_a_deadlock(void **state)
{
	const struct sc_set sets[] = {
		{"flows", "[{from: h1, to: h5, class: 3}, {from: h3, to: h7, class: 3}, {from: h5, "
			  "to: h1, class: 3}]"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "cycle.yaml", sets);
	rig_run(&r, 60 * MS);
	assert_int_equal(chain_count(chain_of(&r), CHAIN_DEADLOCK, 0), 0);
	assert_int_equal(chain_fabric_stuck(r.f, S1, -1, -1), 0);
	rig_free(&r);
}

static void looking_for_causes_changes_nothing_of_the_run(void **state)
{
	uint64_t digest[2];
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_make(&r, "cycle.yaml", NULL);
		for (uint64_t t = 1; t <= 10; t++) {
			rig_run(&r, t * MS - 500 * US);
			for (unsigned k = 0; k < i; k++)
				chain_fabric_look(r.f);
		}
		digest[i] = rig_digest(&r);
		rig_free(&r);
	}
	assert_true(digest[0] == digest[1]);
}

// ---- faults

static void bursts_come_and_go_as_often_as_they_are_counted(void **state)
{
	const struct sc_set sets[] = {
		{"faults[0]", "{at: 1ms, host: h3, pause_storm: {class: 3, burst: 200us, period: "
			      "1ms, count: 4}}"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 10 * MS);
	assert_int_equal(ctr_get(&heard(&r, S2, 0)->transitions), 4);
	assert_in_range(ctr_get(&heard(&r, S2, 0)->duration_ns), 799 * US, 801 * US);
	assert_int_equal(ctr_get(&heard(&r, S2, 0)->frames), 8); // 419 us apart, and an XON each
	rig_free(&r);
}

static void all_hosts_of_a_pattern_storm(void **state)
{
	const struct sc_set sets[] = {
		{"faults[0]", "{at: 1ms, host: \"h*\", pause_storm: {class: [3, 4], for: 2ms}}"},
		{"links[1].speed", "10G"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	assert_int_equal(r.sc->n_faults, 4);
	rig_run(&r, 5 * MS);
	// Half the time of the quanta at each link's own speed: 419 us, and 1.7 ms.
	assert_int_equal(ctr_get(&heard(&r, S1, 0)->frames), 6);
	assert_int_equal(ctr_get(&heard(&r, S1, 1)->frames), 6);
	assert_int_equal(ctr_get(&heard(&r, S2, 0)->frames), 3);
	assert_int_equal(ctr_get(&heard(&r, S2, 1)->frames), 3);
	rig_free(&r);
}

static void a_storm_of_xon_pauses_nobody(void **state)
{
	const struct sc_set sets[] = {{"faults[0]", "{at: 1ms, host: h3, pause_storm: {class: 3, "
						    "quanta: 0, every: 10us, for: 1ms}}"},
				      {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 5 * MS);
	assert_int_equal(ctr_get(&heard(&r, S2, 0)->frames), 101);
	assert_int_equal(ctr_get(&heard(&r, S2, 0)->transitions), 0);
	assert_int_equal(chain_of(&r)->n, 0);
	rig_free(&r);
}

#define WATCHDOG "{profiles: {roce: {watchdog: {detect: 100ms, restore: 100ms, action: drop}}}}"

static void drop_all_discards_until_its_end(void **state)
{
	const struct sc_set sets[] = {{"faults[0]", "{at: 2ms, switch: s2, drop_all: {for: 3ms}}"},
				      {NULL, NULL}};
	uint64_t dropped, sent;
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 2 * MS - 1);
	assert_int_equal(rig_drops(&r, S2, DROP_WATCHDOG), 0);
	rig_run(&r, 2 * MS + 10 * US);
	sent = ctr_get(&switch_queue_counters(r.f->switches[S2].in.sw, 0, CLS)->tx_packets);
	rig_run(&r, 5 * MS - 1);
	dropped = rig_drops(&r, S2, DROP_WATCHDOG);
	assert_true(dropped > 1000);
	assert_int_equal(
		ctr_get(&switch_queue_counters(r.f->switches[S2].in.sw, 0, CLS)->tx_packets), sent);
	assert_true(switch_watchdog_drops_all(r.f->switches[S2].in.sw));
	rig_run(&r, 5 * MS);
	assert_false(switch_watchdog_drops_all(r.f->switches[S2].in.sw));
	rig_run(&r, 30 * MS);
	assert_int_equal(rig_drops(&r, S2, DROP_WATCHDOG), dropped);
	assert_true(ctr_get(&switch_queue_counters(r.f->switches[S2].in.sw, 0, CLS)->tx_packets) >
		    sent);
	rig_free(&r);
}

static void recover_ends_a_storm_and_its_log_has_the_times(void **state)
{
	const struct sc_set sets[] = {
		{"duration", "200ms"},
		{"override", WATCHDOG},
		{"faults[0]", "{at: 5ms, host: h3, pause_storm: {class: 3}}"},
		{"faults[1]", "{at: 150ms, port: s2.p1, recover: {class: 3}}"},
		{"faults[2]",
		 "{at: 150ms, port: s2.p2, recover: {class: 3}}"}, // nothing to recover
		{NULL, NULL}};
	const struct watchdog_class *w;
	struct storm_pick p = {
		.sw = S2, .port = 0, .cls = CLS, .what = STORM_DETECTED, .to_ns = UINT64_MAX};
	uint64_t t_ns = 0;
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	w = switch_watchdog(r.f->switches[S2].in.sw, 0, CLS);
	rig_run(&r, 150 * MS - 1);
	assert_true(watchdog_stormed(w));
	assert_true(storm_log_nth(&r.f->storms, &p, 1, &t_ns));
	assert_in_range(t_ns, 105 * MS, 105 * MS + 10 * US);
	assert_int_equal(t_ns, gauge_get(&w->since_ns));
	rig_run(&r, 151 * MS);
	assert_false(watchdog_stormed(w));
	p.what = STORM_RESTORED;
	assert_true(storm_log_nth(&r.f->storms, &p, 1, &t_ns));
	assert_int_equal(t_ns, 150 * MS);
	assert_false(storm_log_nth(&r.f->storms, &p, 2, &t_ns));
	p.sw = S1;
	assert_int_equal(storm_log_count(&r.f->storms, &p), 0);
	rig_free(&r);
}

// As when the records did not fit into the ring of events.
static void what_events_did_not_tell_is_taken_from_the_counters(void **state)
{
	const struct sc_set sets[] = {{"duration", "200ms"},
				      {"override", WATCHDOG},
				      {"faults[0]", "{at: 5ms, host: h3, pause_storm: {class: 3}}"},
				      {NULL, NULL}};
	struct storm_pick p = {.sw = S2, .port = -1, .cls = -1, .to_ns = UINT64_MAX};
	struct storm_log log = {0};
	uint64_t told_ns = 0, known_ns = 1;
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 150 * MS);
	for (unsigned i = 0; i < 2; i++)
		storm_log_catch_up(&log, S2, r.f->switches[S2].in.sw);
	assert_int_equal(log.n, 1);
	assert_true(storm_log_nth(&log, &p, 1, &known_ns));
	assert_true(storm_log_nth(&r.f->storms, &p, 1, &told_ns));
	assert_int_equal(known_ns, told_ns);
	storm_log_catch_up(&r.f->storms, S2, r.f->switches[S2].in.sw);
	assert_int_equal(r.f->storms.n, 1);
	storm_log_fini(&log);
	rig_free(&r);
}

// One switch learns the new way before the others, as routing protocols have it.
static void a_loop_during_a_change_of_routes_heals(void **state)
{
	const struct sc_set sets[] = {
		{"hosts", "{\"*\": {nic: {cc: none, window: 20, rto: 4ms}}}"},
		{"flows", "[{from: h1, to: h5, class: 3}]"},
		{"faults[0]", "{at: 2ms, switch: s2, reload: {routes: [{to: h5, via: p4}]}}"},
		{"faults[1]", "{at: 3ms, switch: s2, reload: {override: {}}}"},
		{NULL, NULL}};
	uint64_t looped, served;
	struct rig r;

	(void)state;
	rig_make(&r, "cycle.yaml", sets);
	rig_run(&r, 2 * MS - 1);
	served = nic_stats_now(r.f->hosts[4].nic)->cls[CLS].goodput_bytes;
	assert_true(served > 1000000);
	assert_int_equal(rig_drops(&r, S1, DROP_TTL_EXPIRED) + rig_drops(&r, S2, DROP_TTL_EXPIRED),
			 0);
	rig_run(&r, 3 * MS);
	looped = rig_drops(&r, S1, DROP_TTL_EXPIRED) + rig_drops(&r, S2, DROP_TTL_EXPIRED);
	served = nic_stats_now(r.f->hosts[4].nic)->cls[CLS].goodput_bytes;
	assert_true(looped > 0);
	rig_run(&r, 30 * MS);
	assert_int_equal(rig_drops(&r, S1, DROP_TTL_EXPIRED) + rig_drops(&r, S2, DROP_TTL_EXPIRED),
			 looped);
	assert_true(nic_stats_now(r.f->hosts[4].nic)->cls[CLS].goodput_bytes > served + 1000000);
	assert_int_equal(chain_of(&r)->n, 0);
	rig_free(&r);
}

// The card gives up after 3 ms, long before a watchdog of the switch could look at it.
static void a_storm_guard_of_the_card_ends_its_storm(void **state)
{
	const struct sc_set sets[] = {{"hosts.h3", "{nic: {storm_guard: 3ms}}"},
				      {"faults[0]", "{at: 5ms, host: h3, pause_storm: {class: 3}}"},
				      {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "two.yaml", sets);
	rig_run(&r, 30 * MS);
	assert_int_equal(nic_stats_now(r.f->hosts[H3].nic)->storm_guard_trips, 1);
	assert_int_equal(chain_of(&r)->n, 1);
	assert_in_range(chain_of(&r)->findings[0].last_ns, 7 * MS, 9 * MS);
	assert_false(chain_of(&r)->findings[0].now);
	rig_free(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_incast_names_nobody),
		cmocka_unit_test(a_storm_is_found_behind_two_switches),
		cmocka_unit_test(a_slow_receiver_is_told_from_a_storm),
		cmocka_unit_test(
			a_storm_that_fell_silent_is_a_storm_until_its_last_pause_has_run_out),
		cmocka_unit_test(a_ring_that_waits_for_itself_is_named_in_order_once_it_is_stuck),
		cmocka_unit_test(a_ring_is_stuck_for_as_long_as_the_file_wants),
		cmocka_unit_test(a_ring_with_room_is_never_a_deadlock),
		cmocka_unit_test(looking_for_causes_changes_nothing_of_the_run),
		cmocka_unit_test(bursts_come_and_go_as_often_as_they_are_counted),
		cmocka_unit_test(all_hosts_of_a_pattern_storm),
		cmocka_unit_test(a_storm_of_xon_pauses_nobody),
		cmocka_unit_test(drop_all_discards_until_its_end),
		cmocka_unit_test(recover_ends_a_storm_and_its_log_has_the_times),
		cmocka_unit_test(what_events_did_not_tell_is_taken_from_the_counters),
		cmocka_unit_test(a_loop_during_a_change_of_routes_heals),
		cmocka_unit_test(a_storm_guard_of_the_card_ends_its_storm),
	};
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/tests/lab/fabric", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 1;
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
