// SPDX-License-Identifier: Apache-2.0
// Whole fabrics from scenario files: the same seed gives the same run, faults act at their
// instants, a reload takes hold while frames move, losses are told by switch, port, class and time,
// and every frame is accounted for at every look.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "dataplane/policy.h"
#include "tests/lab/fabric/rig.h"

#define US 1000ull
#define MS 1000000ull

enum { S1, RECEIVER_PORT = 2, RECEIVER = 2 };

static uint64_t digest_of(const char *file, const struct sc_set *sets, uint64_t until_ns,
			  uint64_t slice_ns)
{
	struct rig r;
	uint64_t h;

	rig_make(&r, file, sets);
	for (uint64_t t = 0; t < until_ns; t += slice_ns)
		rig_run(&r, t + slice_ns);
	h = rig_digest(&r);
	rig_free(&r);
	return h;
}

static struct wire_counts sent_by_port(const struct rig *r, uint32_t sw, uint32_t port)
{
	const struct sc_port *p = &r->sc->switches[sw].ports[port];

	return wire_counts(wire_end(r->f->links[p->link].wire, p->side));
}

static struct wire_counts sent_by_host(const struct rig *r, uint32_t host)
{
	const struct sc_link *l = &r->sc->links[r->sc->hosts[host].link];

	return wire_counts(
		wire_end(r->f->links[r->sc->hosts[host].link].wire, l->end[0].is_switch ? 1 : 0));
}

// ---- workers

// At one instant all workers of a switch have done what is to be done: how many they are is seen in
// nothing that leaves.
static void several_workers_send_what_one_sends(void **state)
{
	struct sc_set sets[] = {{"flows[0]", "{from: h2, to: h1, class: 3, size: 1KB}"},
				{"policy.switch.workers", "1"},
				{NULL, NULL}};
	struct wire_counts sent[2];
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		sets[1].value = i == 0 ? "1" : "2";
		rig_make(&r, "pair.yaml", sets);
		rig_run(&r, 100 * US);
		sent[i] = sent_by_port(&r, S1, 0);
		rig_free(&r);
	}
	assert_in_range(sent[0].frames, 150, 200); // one in some 580 ns
	assert_int_equal(sent[1].frames, sent[0].frames);
	assert_int_equal(sent[1].bytes, sent[0].bytes);
}

// ---- determinism
static void the_same_seed_gives_the_same_run_in_any_slices(void **state)
{
	const struct sc_set other[] = {{"seed", "2"}, {NULL, NULL}};
	uint64_t first = digest_of("pair.yaml", NULL, 2 * MS, 2 * MS);

	(void)state;
	assert_true(first == digest_of("pair.yaml", NULL, 2 * MS, 2 * MS));
	assert_true(first == digest_of("pair.yaml", NULL, 2 * MS, 7 * US) ||
		    2 * MS % (7 * US) != 0);
	assert_true(first == digest_of("pair.yaml", NULL, 2 * MS, 10 * US));
	assert_true(first != digest_of("pair.yaml", other, 2 * MS, 2 * MS));
}

static void a_routed_fabric_repeats_too_and_its_ecmp_follows_the_seed(void **state)
{
	const struct sc_set other[] = {{"switches", "{\"*\": {ecmp_seed: 99}}"}, {NULL, NULL}};
	uint64_t first = digest_of("ring.yaml", NULL, MS, MS);

	(void)state;
	assert_true(first == digest_of("ring.yaml", NULL, MS, MS));
	assert_true(first != digest_of("ring.yaml", other, MS, MS));
}

// ---- timers
static void the_timer_is_twice_the_round_trip_and_what_buffers_hold(void **state)
{
	static const struct {
		const char *file, *buffer, *link;
		uint64_t ms;
	} rows[] = {
		{"pair.yaml", "12MB", "40G", 5}, // 2 * (2.4 ms and some us)
		{"pair.yaml", "9.9MB", "40G", 4}, // 3.96 ms and some us
		{"pair.yaml", "2MB", "40G", 1}, // the least
		{"pair.yaml", "12MB", "10G", 20}, // 19.2 ms
		{"two.yaml", "12MB", "40G", 10}, // two switches
		{"ring.yaml", "12MB", "40G", 15}, // three of four
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sc_set sets[] = {{"policy.switch.buffer.size", rows[i].buffer},
					      {"seed", "1"},
					      {NULL, NULL}};
		const struct sc_set slow[] = {
			sets[0], {"links[0].speed", rows[i].link}, {NULL, NULL}};
		struct rig r;

		rig_make(&r, rows[i].file, strcmp(rows[i].link, "40G") == 0 ? sets : slow);
		if (r.f->rto_ns != rows[i].ms * MS)
			fail_msg("%s %s %s: %lu ns", rows[i].file, rows[i].buffer, rows[i].link,
				 r.f->rto_ns);
		rig_free(&r);
	}
}

// ---- the world
static void a_bridged_fabric_floods_nothing(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", NULL);
	rig_run(&r, MS);
	assert_int_equal(switch_balance(r.f->switches[S1].in.sw).replicated, 0);
	assert_true(nic_stats_now(r.f->hosts[RECEIVER].nic)->cls[3].goodput_bytes > 1000000);
	rig_free(&r);
}

// Cells of the ingress pool that the switch has at its start.
static uint64_t ingress_pool(const struct sc_set *sets)
{
	struct rig r;
	uint64_t cells;

	rig_make(&r, "pair.yaml", sets);
	cells = switch_pool(r.f->switches[S1].in.sw, POOL_INGRESS).size;
	rig_free(&r);
	return cells;
}

static void a_port_without_a_link_is_down_and_its_reserves_count(void **state)
{
	const struct sc_set fewer[] = {{"switches.s1.ports", "3"}, {NULL, NULL}};
	struct rig r;

	(void)state;
	assert_true(ingress_pool(NULL) < ingress_pool(fewer));
	rig_make(&r, "pair.yaml", NULL);
	rig_run(&r, 10 * US);
	assert_int_equal(r.f->switches[S1].in.policy->n_ports, 4);
	assert_false(switch_link_up(r.f->switches[S1].in.sw, 3));
	assert_true(switch_link_up(r.f->switches[S1].in.sw, 2));
	rig_free(&r);
}

static uint32_t headroom_bytes(const struct rig *r)
{
	const struct policy *p = r->f->switches[S1].in.policy;

	assert_string_equal(p->name, "s1");
	assert_string_equal(p->ports[1].name, "p2");
	return p->ports[1].pg[3].xoff_cells * 256;
}

static void the_policy_runs_with_the_speed_and_cable_of_the_link(void **state)
{
	const struct sc_set longer[] = {
		{"links[0].length", "2km"}, {"links[0].speed", "100G"}, {NULL, NULL}};
	struct rig r;
	uint32_t near;

	(void)state;
	rig_make(&r, "pair.yaml", NULL);
	assert_int_equal(r.f->switches[S1].in.policy->ports[1].speed_bps, 40000000000);
	near = headroom_bytes(&r);
	rig_free(&r);
	rig_make(&r, "pair.yaml", longer);
	assert_int_equal(r.f->switches[S1].in.policy->ports[1].speed_bps, 100000000000);
	assert_true(headroom_bytes(&r) > near + 252000); // 2 * 2 km at 100 Gb/s
	rig_free(&r);
}

static void every_flow_of_a_routed_fabric_arrives(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, "ring.yaml", NULL);
	assert_true(r.sc->routed);
	rig_run(&r, 2 * MS);
	for (uint32_t h = 0; h < r.sc->n_hosts; h++) {
		const struct nic_stats *s = nic_stats_now(r.f->hosts[h].nic);

		assert_true(s->messages_served >= 7); // one from each other host at least
		assert_int_equal(s->retransmissions, 0);
	}
	rig_free(&r);
}

static void connections_can_be_made_on_the_wire(void **state)
{
	const struct sc_set cm[] = {{"connect", "cm"}, {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "ring.yaml", cm);
	rig_run(&r, 2 * MS);
	assert_true(nic_stats_now(r.f->hosts[0].nic)->connections_accepted > 0);
	assert_true(nic_stats_now(r.f->hosts[0].nic)->messages_served > 0);
	rig_free(&r);
}

// ---- faults
// A bit of the last byte before the iCRC changes in every frame that is under way.
static void damage(struct rte_mempool *pool, void *arg, void *obj, unsigned i)
{
	struct rte_mbuf *m = obj;

	(void)pool;
	(void)arg;
	(void)i;
	if (m->data_len > 64)
		*rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - 5) ^= 1;
}

static uint64_t damage_seen(const struct sc_set *sets)
{
	const struct nic_stats *s;
	struct rig r;
	uint64_t n;

	rig_make(&r, "pair.yaml", sets);
	rig_run(&r, MS);
	s = nic_stats_now(r.f->hosts[RECEIVER].nic);
	assert_true(s->rx_frames > 1000);
	assert_int_equal(s->icrc_errors + s->payload_errors, 0);
	rte_mempool_obj_iter(r.f->pool, damage, NULL);
	rig_run(&r, 2 * MS);
	n = nic_stats_now(r.f->hosts[RECEIVER].nic)->icrc_errors;
	rig_free(&r);
	return n;
}

static void only_whole_frames_are_checked_to_their_end(void **state)
{
	const struct sc_set whole[] = {{"frames", "whole"}, {NULL, NULL}};
	uint64_t n = damage_seen(whole);

	(void)state;
	assert_true(n > 0);
	assert_true(n < 1000);
	assert_int_equal(damage_seen(NULL), 0);
}

static void a_storm_pauses_from_its_first_to_its_last_instant(void **state)
{
	const struct sc_set storm[] = {{"faults[0]",
					"{at: 500us, host: h3, pause_storm: {class: 3, "
					"for: 300us}}"},
				       {NULL, NULL}};
	const struct pfc_rx_state *rx;
	struct rig r;
	uint64_t sent;

	(void)state;
	rig_make(&r, "pair.yaml", storm);
	rx = switch_pfc_rx(r.f->switches[S1].in.sw, RECEIVER_PORT);
	rig_run(&r, 500 * US - 1);
	sent = nic_stats_now(r.f->hosts[RECEIVER].nic)->tx_frames;
	assert_int_equal(ctr_get(&rx->stats[3].frames), 0);
	// A 64 B frame and its overhead take 17 ns at 40 Gb/s, the cable 26.
	rig_run(&r, 500 * US + 18 + 26 + 17);
	assert_int_equal(ctr_get(&rx->stats[3].frames), 1);
	assert_true(nic_stats_now(r.f->hosts[RECEIVER].nic)->tx_frames > sent);
	assert_true(switch_queue_paused(r.f->switches[S1].in.sw, RECEIVER_PORT, 3));
	rig_run(&r, 800 * US - 1);
	assert_true(switch_queue_paused(r.f->switches[S1].in.sw, RECEIVER_PORT, 3));
	rig_run(&r, 801 * US);
	assert_false(switch_queue_paused(r.f->switches[S1].in.sw, RECEIVER_PORT, 3));
	assert_int_equal(r.f->first_loss.count, 0);
	rig_free(&r);
}

static void a_cut_link_loses_frames_from_the_cut_to_the_repair(void **state)
{
	const struct sc_set cut[] = {
		{"faults[0]", "{at: 400us, link: h1, link_down: {for: 100us}}"}, {NULL, NULL}};
	struct rig r;
	uint64_t delivered;

	(void)state;
	rig_make(&r, "pair.yaml", cut);
	rig_run(&r, 400 * US - 1);
	assert_int_equal(sent_by_host(&r, 0).lost[WIRE_LOST_CUT], 0);
	assert_true(switch_link_up(r.f->switches[S1].in.sw, 0));
	rig_run(&r, 400 * US);
	delivered = sent_by_host(&r, 0).delivered;
	assert_false(switch_link_up(r.f->switches[S1].in.sw, 0)); // seen at once
	rig_run(&r, 500 * US - 1);
	assert_true(sent_by_host(&r, 0).lost[WIRE_LOST_CUT] > 0);
	assert_int_equal(sent_by_host(&r, 0).delivered, delivered);
	rig_run(&r, 500 * US);
	assert_true(switch_link_up(r.f->switches[S1].in.sw, 0));
	rig_run(&r, 4 * MS);
	assert_true(sent_by_host(&r, 0).delivered > delivered);
	assert_int_equal(r.f->first_loss.count, 0); // a link's business, no lossless drop
	rig_free(&r);
}

static void a_link_that_was_cut_twice_is_up_when_both_cuts_are_over(void **state)
{
	const struct sc_set cuts[] = {
		{"faults[0]", "{at: 400us, link: h1, link_down: {for: 300us}}"},
		{"faults[1]", "{at: 500us, link: h1, link_down: {for: 100us}}"},
		{"faults[2]", "{at: 800us, link: h1, link_slow: {speed: 2G}}"},
		{"faults[3]", "{at: 900us, link: h1, link_slow: {speed: 1G, for: 100us}}"},
		{NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", cuts);
	rig_run(&r, 700 * US - 1);
	assert_false(switch_link_up(r.f->switches[S1].in.sw, 0));
	rig_run(&r, 700 * US);
	assert_true(switch_link_up(r.f->switches[S1].in.sw, 0));
	rig_run(&r, 1000 * US - 1);
	assert_int_equal(wire_speed(r.f->links[0].wire), 1000000000);
	rig_run(&r, 1000 * US);
	assert_int_equal(wire_speed(r.f->links[0].wire), 2000000000);
	rig_free(&r);
}

static void a_lossy_direction_loses_only_what_leaves_there(void **state)
{
	const struct sc_set lossy[] = {{"faults[0]", "{at: 100us, from: s1.p3, link_lossy: "
						     "{every_nth: 100, longer_than: 500B}}"},
				       {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", lossy);
	rig_run(&r, 100 * US - 1);
	assert_int_equal(sent_by_port(&r, S1, 2).lost[WIRE_LOST_FAULT], 0);
	rig_run(&r, 2 * MS);
	assert_true(sent_by_port(&r, S1, 2).lost[WIRE_LOST_FAULT] > 5);
	assert_int_equal(sent_by_host(&r, RECEIVER).lost[WIRE_LOST_FAULT], 0);
	assert_true(nic_stats_now(r.f->hosts[0].nic)->retransmissions > 0);
	rig_free(&r);
}

static void a_lossy_link_loses_both_ways_by_chance(void **state)
{
	const struct sc_set lossy[] = {
		{"faults[0]", "{at: 0us, link: s1.p3, link_lossy: {rate: 10%}}"}, {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", lossy);
	rig_run(&r, 2 * MS);
	assert_true(sent_by_port(&r, S1, 2).lost[WIRE_LOST_FAULT] > 0);
	assert_true(sent_by_host(&r, RECEIVER).lost[WIRE_LOST_FAULT] > 0);
	rig_free(&r);
}

static void a_slow_link_is_slow_meanwhile_and_then_as_before(void **state)
{
	const struct sc_set slow[] = {{"faults[0]",
				       "{at: 100us, link: s1.p3, link_slow: {speed: 1G, "
				       "for: 400us}}"},
				      {NULL, NULL}};
	struct rig r;
	uint64_t before, slowed, after;

	(void)state;
	rig_make(&r, "pair.yaml", slow);
	rig_run(&r, 100 * US - 1);
	before = sent_by_port(&r, S1, 2).bytes;
	rig_run(&r, 500 * US - 1);
	slowed = sent_by_port(&r, S1, 2).bytes - before;
	rig_run(&r, 900 * US - 1);
	after = sent_by_port(&r, S1, 2).bytes - before - slowed;
	assert_in_range(slowed, 45000, 51100); // 400 us at 1 Gb/s, less gaps
	assert_true(after > 5 * slowed);
	rig_free(&r);
}

static void a_slow_receiver_pauses_the_switch_until_it_is_well(void **state)
{
	const struct sc_set slow[] = {{"faults[0]",
				       "{at: 0us, host: h3, slow_receiver: {rate: 2G, for: "
				       "500us}}"},
				      {NULL, NULL}};
	const struct pfc_rx_state *rx;
	uint64_t good;
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", slow);
	rx = switch_pfc_rx(r.f->switches[S1].in.sw, RECEIVER_PORT);
	assert_int_equal(fabric_run_until(r.f, 500 * US - 1), 0);
	assert_true(ctr_get(&rx->stats[3].frames) > 0);
	good = nic_stats_now(r.f->hosts[RECEIVER].nic)->cls[3].goodput_bytes;
	assert_true(good < 140000); // 500 us at 2 Gb/s: 125 kB
	rig_run(&r, 2 * MS);
	assert_true(nic_stats_now(r.f->hosts[RECEIVER].nic)->cls[3].goodput_bytes > 10 * good);
	rig_free(&r);
}

static void tx_off_stops_a_queue_and_its_end_starts_it(void **state)
{
	const struct sc_set off[] = {{"faults[0]",
				      "{at: 200us, port: s1.p3, tx_off: {class: 3, for: "
				      "100us}}"},
				     {NULL, NULL}};
	struct rig r;
	uint64_t sent;

	(void)state;
	rig_make(&r, "pair.yaml", off);
	rig_run(&r, 201 * US);
	sent = ctr_get(&switch_queue_counters(r.f->switches[S1].in.sw, 2, 3)->tx_packets);
	rig_run(&r, 300 * US - 1);
	assert_int_equal(ctr_get(&switch_queue_counters(r.f->switches[S1].in.sw, 2, 3)->tx_packets),
			 sent);
	rig_run(&r, 302 * US);
	assert_true(ctr_get(&switch_queue_counters(r.f->switches[S1].in.sw, 2, 3)->tx_packets) >
		    sent);
	rig_free(&r);
}

static void a_host_that_ignores_pause_overruns_the_headroom_and_is_reported(void **state)
{
	const struct sc_set deaf[] = {{"hosts", "{\"h[1-3]\": {nic: {cc: none, deaf: on}}}"},
				      {"faults[0]", "{at: 100us, port: s1.p3, tx_off: {}}"},
				      {"policy.switch.buffer.size", "1MB"},
				      {NULL, NULL}};
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", deaf);
	rig_run(&r, 100 * US);
	assert_false(r.f->first_loss.seen);
	rig_run(&r, 2 * MS);
	assert_true(r.f->first_loss.seen);
	assert_int_equal(r.f->first_loss.sw, S1);
	assert_true(r.f->first_loss.port < 2);
	assert_int_equal(r.f->first_loss.cls, 3);
	// Two ports at 40 Gb/s have filled what 1 MB leaves to them, and fill it twice as fast now.
	assert_in_range(r.f->first_loss.t_ns, 100 * US, 130 * US);
	assert_true(rig_drops(&r, S1, DROP_HEADROOM) > 0);
	rig_free(&r);
}

// ---- reload
static void a_reload_takes_hold_while_frames_move(void **state)
{
	const struct sc_set reload[] = {
		{"hosts", "{\"h[1-3]\": {nic: {cc: none}}}"},
		{"policy.profiles.roce.classes.3.wred", "~"},
		{"faults[0]",
		 "{at: 500us, switch: s1, reload: {override: {profiles: {roce: {classes: {3: "
		 "{wred: {ecn: on, kmin: 5KB, kmax: 200KB, pmax: 1%}}}}}}}}"},
		{"faults[1]",
		 "{at: 501us, switch: s1, reload: {override: {profiles: {roce: {classes: {3: "
		 "{wred: {ecn: on, kmin: 6KB, kmax: 200KB, pmax: 1%}}}}}}}}"},
		{NULL, NULL}};
	const struct queue_counters *q;
	uint64_t packets;
	struct rig r;

	(void)state;
	rig_make(&r, "pair.yaml", reload);
	q = switch_queue_counters(r.f->switches[S1].in.sw, 2, 3);
	rig_run(&r, 500 * US - 1);
	assert_int_equal(ctr_get(&q->ecn_marked), 0);
	assert_true(gauge_get(&q->length_bytes) > 200000);
	packets = ctr_get(&q->tx_packets);
	rig_run(&r, 600 * US);
	assert_true(ctr_get(&q->ecn_marked) > 300); // every frame: the queue is beyond kmax
	assert_true(ctr_get(&q->tx_packets) > packets);
	assert_int_equal(r.f->first_loss.count, 0);
	rig_run(&r, 3 * MS);
	assert_null(r.f->switches[S1].in.retired); // the policy before is freed
	assert_int_equal(switch_policy(r.f->switches[S1].in.sw)->version, 3);
	rig_free(&r);
}

// ---- routes
static void a_loop_that_the_file_asks_for_wears_the_frames_out(void **state)
{
	const struct sc_set loop[] = {
		{"flows", "[{from: h1, to: h5, class: 3, size: 20KB, count: 1}]"},
		{"switches",
		 "{s1: {routes: [{to: h5, via: p3}]}, s2: {routes: [{to: h5, via: p4}]}}"},
		{NULL, NULL}};
	uint64_t expired;
	struct rig r;

	(void)state;
	rig_make(&r, "ring.yaml", loop);
	rig_run(&r, 500 * US);
	expired = rig_drops(&r, 0, DROP_TTL_EXPIRED) + rig_drops(&r, 1, DROP_TTL_EXPIRED);
	assert_true(expired > 0);
	assert_int_equal(nic_stats_now(r.f->hosts[4].nic)->messages_served, 0);
	rig_free(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_workers_send_what_one_sends),
		cmocka_unit_test(the_same_seed_gives_the_same_run_in_any_slices),
		cmocka_unit_test(a_routed_fabric_repeats_too_and_its_ecmp_follows_the_seed),
		cmocka_unit_test(the_timer_is_twice_the_round_trip_and_what_buffers_hold),
		cmocka_unit_test(a_bridged_fabric_floods_nothing),
		cmocka_unit_test(a_port_without_a_link_is_down_and_its_reserves_count),
		cmocka_unit_test(the_policy_runs_with_the_speed_and_cable_of_the_link),
		cmocka_unit_test(every_flow_of_a_routed_fabric_arrives),
		cmocka_unit_test(connections_can_be_made_on_the_wire),
		cmocka_unit_test(only_whole_frames_are_checked_to_their_end),
		cmocka_unit_test(a_storm_pauses_from_its_first_to_its_last_instant),
		cmocka_unit_test(a_cut_link_loses_frames_from_the_cut_to_the_repair),
		cmocka_unit_test(a_link_that_was_cut_twice_is_up_when_both_cuts_are_over),
		cmocka_unit_test(a_lossy_direction_loses_only_what_leaves_there),
		cmocka_unit_test(a_lossy_link_loses_both_ways_by_chance),
		cmocka_unit_test(a_slow_link_is_slow_meanwhile_and_then_as_before),
		cmocka_unit_test(a_slow_receiver_pauses_the_switch_until_it_is_well),
		cmocka_unit_test(tx_off_stops_a_queue_and_its_end_starts_it),
		cmocka_unit_test(a_host_that_ignores_pause_overruns_the_headroom_and_is_reported),
		cmocka_unit_test(a_reload_takes_hold_while_frames_move),
		cmocka_unit_test(a_loop_that_the_file_asks_for_wears_the_frames_out),
	};
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/tests/lab/fabric", argc > 1 ? argv[1] : ".");
	if (chdir(dir) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
