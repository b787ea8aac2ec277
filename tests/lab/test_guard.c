// SPDX-License-Identifier: Apache-2.0
// The deadlock guard of a whole switch: a frame that turns back leaves in another class, and stays
// in the account of the one it arrived in. Every number is exact.
#include "dataplane/policy.h"
#include "tests/lab/router.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/wire.h"
#include "dataplane/tap.h"

// UP1, UP2 and UP3 are one group, DOWN is in none, FAR and FAR2 are another.
enum { UP1, UP2, UP3, DOWN, FAR, FAR2, HOSTS };
// DSCP 26 is class 3 and turns into 34, of class 4; that into 16, of class 2, which is lossy.
enum { DSCP = 26, TURNED = 34, LAST = 16 };

#define GUARD(group)                                                                               \
	"guard: {group: " group ", remap: [{dscp: 26, to_class: 4, to_dscp: 34}, "                 \
	"{dscp: 34, to_class: 2, to_dscp: 16}]}"

// more: further keys of the profile.
static struct bench *open_bench(const char *more)
{
	static char text[4096];
	int n = snprintf(
		text, sizeof(text),
		"switch: {name: g, buffer: {size: 4MB, cell: 256B}}\n"
		"ports:\n"
		"  - {name: \"p[1-3]\", device: \"wire:w[1-3]\", speed: 10G, profile: x, " GUARD(
			"up") "}\n"
		"  - {name: p4, device: \"wire:w4\", speed: 10G, profile: x}\n"
		"  - {name: \"p[5-6]\", device: \"wire:w[5-6]\", speed: 10G, profile: x, " GUARD(
			"far") "}\n"
		"fdb:\n");

	for (unsigned i = 1; i <= HOSTS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	snprintf(text + n, sizeof(text) - (size_t)n,
		 "profiles:\n"
		 "  x:\n"
		 "    trust: dscp\n"
		 "    dscp_to_class: {default: 0, 26: 3, 34: 4, 16: 2}\n"
		 "%s"
		 "    classes:\n"
		 "      2: {egress: {static: 20KB}}\n"
		 "      3: {lossless: true, flood: on, ingress: {static: 40KB, headroom: 20KB}}\n"
		 "      4: {lossless: true, ingress: {static: 40KB, headroom: 20KB}}\n",
		 more);
	return bench_open(text, 0);
}

static void expect_remapped(const struct bench *b, unsigned port, uint64_t rule0, uint64_t rule1)
{
	assert_int_equal(switch_guard_remapped(b->sw, port, 0), rule0);
	assert_int_equal(switch_guard_remapped(b->sw, port, 1), rule1);
}

static uint64_t queue_sent(const struct bench *b, unsigned port, unsigned queue)
{
	return ctr_get(&switch_queue_counters(b->sw, port, queue)->tx_packets);
}

// What a frame must look like once its DSCP is `dscp`: built anew, not edited.
static void expect_frame(const struct bench_rx *rx, unsigned from, const struct bench_frame *sent,
			 uint8_t dscp)
{
	struct bench_frame want = *sent;
	uint8_t data[2048];

	want.dscp = dscp;
	bench_build(data, from, &want);
	assert_int_equal(rx->len, sent->len);
	assert_memory_equal(rx->data, data, sent->len < BENCH_KEEP ? sent->len : BENCH_KEEP);
}

// ---- which frames, and what becomes of them

static void a_frame_that_turns_back_leaves_by_its_rule_and_no_other_frame_is_touched(void **state)
{
	static const struct {
		unsigned from, to;
		uint8_t dscp, out_dscp;
		unsigned queue, pg;
		unsigned rule; // 2: none
		bool ipv6;
	} rows[] = {
		{UP1, UP2, DSCP, TURNED, 4, 3, 0, false}, {UP1, UP2, DSCP, TURNED, 4, 3, 0, true},
		{UP3, UP1, DSCP, TURNED, 4, 3, 0, false}, {UP1, UP2, TURNED, LAST, 2, 4, 1, false},
		{UP1, UP2, TURNED, LAST, 2, 4, 1, true},  {FAR, FAR2, DSCP, TURNED, 4, 3, 0, false},
		{UP1, DOWN, DSCP, DSCP, 3, 3, 2, false}, // down
		{DOWN, UP1, DSCP, DSCP, 3, 3, 2, false}, // up
		{UP1, FAR, DSCP, DSCP, 3, 3, 2, false},
		{FAR2, UP3, TURNED, TURNED, 4, 4, 2, true},
		{UP1, UP2, LAST, LAST, 2, 2, 2, false}, // the chain has ended
		{UP1, UP2, 0, 0, 0, 0, 2, false},	  {UP1, UP2, 27, 27, 0, 0, 2, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench *b = open_bench("");
		struct bench_frame f = {.to = rows[i].to, .dscp = rows[i].dscp, .len = 300,
					.ecn = i % 4, .ipv6 = rows[i].ipv6, .seq = i};

		bench_inject(b, rows[i].from, &f, 1);
		bench_run(b, 10000);
		assert_int_equal(b->host[rows[i].to].n_rx, 1);
		expect_frame(&b->host[rows[i].to].rx[0], rows[i].from, &f, rows[i].out_dscp);
		assert_int_equal(queue_sent(b, rows[i].to, rows[i].queue), 1);
		assert_int_equal(ctr_get(&switch_pg_counters(b->sw, rows[i].from, rows[i].pg)
						  ->rx_packets), 1);
		expect_remapped(b, rows[i].from, rows[i].rule == 0, rows[i].rule == 1);
		bench_close(b);
	}
}

static void what_is_not_ip_has_no_dscp_and_no_rule(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .len = 100, .ether_type = 0x88b5};
	uint8_t bad[128];

	(void)state;
	bench_inject(b, UP1, &f, 1);
	f = (struct bench_frame){.to = UP2, .dscp = DSCP, .len = 100};
	bench_build(bad, UP1, &f);
	bad[14] = 0x42; // a header of eight bytes is none
	bench_send_raw(b, UP1, bad, 100);
	bench_run(b, 10000);
	assert_int_equal(b->host[UP2].n_rx, 2);
	assert_memory_equal(b->host[UP2].rx[1].data, bad, 100);
	assert_int_equal(queue_sent(b, UP2, 0), 2);
	expect_remapped(b, UP1, 0, 0);
	bench_close(b);
}

static void one_hop_follows_one_rule_only(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 100};

	(void)state;
	bench_inject(b, UP1, &f, 5);
	bench_run(b, 10000);
	for (unsigned i = 0; i < 5; i++)
		expect_frame(&b->host[UP2].rx[i], UP1, &f, TURNED);
	expect_remapped(b, UP1, 5, 0);
	expect_remapped(b, UP2, 0, 0); // of the port of arrival alone
	bench_close(b);
}

// A tagged frame turns and gets PCP 4, the number of its new class. Another goes down the tree.
static void expect_tags(const char *remark, uint8_t down_pcp, uint8_t down_dscp)
{
	struct bench *b = open_bench(remark);
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 100, .tagged = true, .pcp = 3,
				.vid = 9};
	struct bench_frame down = {.to = DOWN, .dscp = DSCP, .len = 100, .tagged = true, .pcp = 6,
				   .vid = 9};

	bench_inject(b, UP1, &f, 1);
	bench_inject(b, UP1, &down, 1);
	bench_run(b, 10000);
	f.pcp = 4;
	expect_frame(&b->host[UP2].rx[0], UP1, &f, TURNED);
	down.pcp = down_pcp;
	expect_frame(&b->host[DOWN].rx[0], UP1, &down, down_dscp);
	bench_close(b);
}

static void the_rules_dscp_goes_before_the_remark_and_pcp_follows_the_new_class(void **state)
{
	(void)state;
	expect_tags("    remark: {pcp: class, dscp: {3: 7, 4: 50}}\n", 3, 7);
}

static void a_turned_frame_has_the_new_class_in_its_tag(void **state)
{
	(void)state;
	expect_tags("", 6, DSCP); // the other frame does not change
}

static void each_copy_of_a_flooded_frame_goes_by_its_own_port(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.broadcast = true, .dscp = DSCP, .ecn = 2, .len = 200};

	(void)state;
	bench_inject(b, UP2, &f, 1);
	bench_run(b, 10000);
	assert_int_equal(b->host[UP2].n_rx, 0);
	for (unsigned to = 0; to < HOSTS; to++) {
		bool turned = to == UP1 || to == UP3;

		if (to == UP2)
			continue;
		assert_int_equal(b->host[to].n_rx, 1);
		expect_frame(&b->host[to].rx[0], UP2, &f, turned ? TURNED : DSCP);
		assert_int_equal(queue_sent(b, to, turned ? 4 : 3), 1);
	}
	expect_remapped(b, UP2, 2, 0);
	bench_close(b);
}

static void set_dscp(uint8_t *l3, bool v6)
{
	if (v6) {
		be16_put(l3, 0x6000 | DSCP << 6);
		return;
	}
	l3[1] = DSCP << 2;
	be16_put(l3 + 10, 0);
	be16_put(l3 + 10, router_csum(l3, 20));
}

static void guard_ports(const struct bench *b, unsigned one, unsigned other)
{
	for (unsigned i = 0; i < 2; i++) {
		struct policy_port *pp = &b->policy->ports[i == 0 ? one : other];

		memset(pp->guard.rule_of_dscp, GUARD_NO_RULE, sizeof(pp->guard.rule_of_dscp));
		pp->guard.group = 1;
		pp->guard.rule_of_dscp[DSCP] = 0;
		pp->guard.rules[0] = (struct guard_rule){DSCP, 4, TURNED};
		pp->edits = true;
	}
}

// The iCRC of RoCE covers no DSCP.
static void routed_frames_turn_back_too(void **state)
{
	static const struct {
		const char *src, *dst;
		unsigned to; // of P1
		bool turned;
	} rows[] = {
		{"10.0.1.2", "10.9.0.1", P3, true},   {"fd00:1::2", "fd00:9::1", P3, true},
		{"10.0.1.2", "10.0.1.2", P1, true}, // by the very port it came in by
		{"10.0.1.2", "10.9.7.1", P4, false},  {"fd00:1::2", "fd00:9:0:7::1", P4, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct router_packet k = {.src = rows[i].src, .dst = rows[i].dst, .qp = 5};
		bool v6 = strchr(k.dst, ':') != NULL;
		uint8_t sent[FRAME_MAX], *l3 = sent + 14;
		struct pkt_info pkt;
		const uint8_t *got;
		struct bench *b;
		uint16_t len;

		b = router_open(router_routes);
		guard_ports(b, P1, P3);
		len = router_build(sent, P1, &k);
		set_dscp(l3, v6);
		icrc_put(sent + len - 4, icrc(l3, len - 18u, v6 ? PKT_IPV6 : PKT_IPV4));
		bench_send_raw(b, P1, sent, len);
		router_settle(b);
		assert_int_equal(b->host[rows[i].to].n_rx, 1);
		got = b->host[rows[i].to].rx[0].data + 14;
		assert_int_equal(v6 ? be16_get(got) >> 6 & 63 : got[1] >> 2,
				 rows[i].turned ? TURNED : DSCP);
		if (!v6)
			assert_int_equal(router_csum(got, 20), 0);
		assert_true(parse(got - 14, len, &pkt) && icrc_check(got - 14, len, &pkt));
		assert_int_equal(got[v6 ? 7 : 8], 63); // and one hop less
		assert_int_equal(queue_sent(b, rows[i].to, rows[i].turned ? 4 : 3), 1);
		assert_int_equal(switch_guard_remapped(b->sw, P1, 0), rows[i].turned);
		bench_close(b);
	}
}

// ---- whose account

static void the_pause_names_the_class_of_arrival_and_its_cause_the_new_queue(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 1000};
	struct pause_cause c;

	(void)state;
	b->host[UP1].obey_after_ns = UINT64_MAX;
	bench_pause(b, UP2, 1 << 4, 65535);
	for (unsigned i = 0; i < 200 && b->host[UP1].n_pfc == 0; i++)
		bench_inject(b, UP1, &f, 1);
	assert_int_equal(b->host[UP1].n_pfc, 1);
	assert_int_equal(bench_pfc_times(&b->host[UP1].pfc[0]).enable, 1 << 3);
	assert_true(bench_pfc_times(&b->host[UP1].pfc[0]).quanta[3] != 0);
	assert_int_equal(pg_used(switch_pg_state(b->sw, UP1, 4)), 0);
	c = switch_pause_cause(b->sw, UP1, 3);
	assert_int_equal(c.kind, CAUSE_QUEUE);
	assert_int_equal(c.out_port, UP2);
	assert_int_equal(c.queue, 4);
	assert_int_equal(c.cls, 4);
	assert_true(c.paused);
	// The class they came in is not held up: frames that go elsewhere in it pass.
	f.to = DOWN;
	bench_inject(b, UP3, &f, 1);
	bench_run(b, 10000);
	assert_int_equal(b->host[DOWN].n_rx, 1);
	bench_pause(b, UP2, 1 << 4, 0);
	bench_run(b, 10000000);
	assert_int_equal(pg_used(switch_pg_state(b->sw, UP1, 3)), 0);
	assert_int_equal(b->host[UP1].n_pfc, 2);
	bench_close(b);
}

static void a_pause_of_the_class_of_arrival_does_not_stop_what_has_left_it(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 1000};

	(void)state;
	bench_pause(b, UP2, 1 << 3, 65535);
	bench_inject(b, UP1, &f, 3);
	bench_run(b, 10000);
	assert_int_equal(b->host[UP2].n_rx, 3);
	bench_close(b);
}

static uint64_t dropped(const struct bench *b, unsigned port, unsigned cls, enum drop_reason r)
{
	return ctr_get(&switch_drops(b->sw, port, cls, r)->packets);
}

static unsigned events_of(struct bench *b, enum event_type type, unsigned *cls)
{
	unsigned n = 0;

	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++) {
		if (b->events[i].type != type)
			continue;
		n++;
		*cls = b->events[i].cls;
	}
	return n;
}

static void a_drop_on_the_way_in_counts_in_the_class_of_arrival(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 1000};
	unsigned cls = 0;

	(void)state;
	b->host[UP1].obey_after_ns = UINT64_MAX;
	bench_tx(b, UP2, -1, false);
	bench_inject(b, UP1, &f, 100);
	assert_true(bench_drops(b, DROP_HEADROOM) > 0);
	assert_int_equal(dropped(b, UP1, 3, DROP_HEADROOM), bench_drops(b, DROP_HEADROOM));
	assert_true(events_of(b, EVENT_LOSSLESS_DROP, &cls) > 0);
	assert_int_equal(cls, 3);
	bench_close(b);
}

static void a_frame_too_long_to_leave_is_not_counted_as_remapped(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 1000};

	(void)state;
	b->policy->ports[UP2].max_frame = 999;
	bench_inject(b, UP1, &f, 1);
	assert_int_equal(dropped(b, UP1, 3, DROP_EGRESS_MTU), 1);
	expect_remapped(b, UP1, 0, 0);
	bench_close(b);
}

// Where the chain ends, frames of a lossless class leave in a lossy one: a full queue drops them,
// nobody is paused, and no alarm is raised.
static void a_drop_at_the_queue_counts_in_the_new_class_and_is_no_alarm_in_a_lossy_one(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = TURNED, .len = 1000};
	unsigned cls;

	(void)state;
	bench_tx(b, UP2, 2, false);
	bench_inject(b, UP1, &f, 100);
	assert_int_equal(dropped(b, UP2, 2, DROP_EGRESS_TAIL), 100 - 19); // 19 * 4 cells of 78
	assert_int_equal(bench_drops(b, DROP_EGRESS_TAIL), 100 - 19);
	assert_int_equal(b->host[UP1].n_pfc, 0);
	assert_int_equal(events_of(b, EVENT_LOSSLESS_DROP, &cls), 0);
	assert_int_equal(pg_used(switch_pg_state(b->sw, UP1, 4)), 19 * 4);
	assert_int_equal(switch_held_cells(b->sw, UP2, 2, UP1, 4), 19 * 4);
	expect_remapped(b, UP1, 0, 100);
	bench_close(b);
}

static void a_capture_shows_the_old_class_coming_in_and_the_new_one_going_out(void **state)
{
	struct bench *b = open_bench("");
	struct tap_params params = {.n_workers = switch_n_workers(b->sw), .n_records = 16,
				    .snaplen = 64, .ports = {1 << UP1 | 1 << UP2}};
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 1000};
	unsigned seen = 0; // bitmap of directions
	struct tap *tap;

	(void)state;
	assert_int_equal(tap_create(&params, &tap), 0);
	switch_set_tap(b->sw, tap);
	actor_poke(&b->actor);
	bench_inject(b, UP1, &f, 1);
	bench_run(b, 10000);
	for (unsigned w = 0; w < switch_n_workers(b->sw); w++) {
		const struct tap_record *r[16];
		unsigned n = tap_read(tap, w, r, 16);

		for (unsigned i = 0; i < n; i++) {
			seen |= 1u << r[i]->meta.direction;
			assert_int_equal(r[i]->meta.cls, r[i]->meta.direction == TAP_IN ? 3 : 4);
		}
	}
	assert_int_equal(seen, 1 << TAP_IN | 1 << TAP_OUT);
	bench_close(b);
	tap_destroy(tap);
}

static void a_reload_without_guard_ends_it(void **state)
{
	struct bench *b = open_bench("");
	struct bench_frame f = {.to = UP2, .dscp = DSCP, .len = 300};
	char text[2048];
	int n;

	(void)state;
	bench_inject(b, UP1, &f, 1);
	n = snprintf(text, sizeof(text),
		     "switch: {name: g, buffer: {size: 4MB, cell: 256B}}\n"
		     "ports:\n  - {name: \"p[1-6]\", device: \"wire:w[1-6]\", speed: 10G}\nfdb:\n");
	for (unsigned i = 1; i <= HOSTS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "  - {mac: \"02:00:00:00:00:%02x\", port: p%u}\n", i, i);
	bench_publish(b, text);
	bench_inject(b, UP1, &f, 1);
	bench_run(b, 10000);
	assert_int_equal(b->host[UP2].n_rx, 2);
	expect_frame(&b->host[UP2].rx[0], UP1, &f, TURNED);
	expect_frame(&b->host[UP2].rx[1], UP1, &f, DSCP);
	expect_remapped(b, UP1, 1, 0);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_frame_that_turns_back_leaves_by_its_rule_and_no_other_frame_is_touched),
		cmocka_unit_test(what_is_not_ip_has_no_dscp_and_no_rule),
		cmocka_unit_test(one_hop_follows_one_rule_only),
		cmocka_unit_test(
			the_rules_dscp_goes_before_the_remark_and_pcp_follows_the_new_class),
		cmocka_unit_test(a_turned_frame_has_the_new_class_in_its_tag),
		cmocka_unit_test(each_copy_of_a_flooded_frame_goes_by_its_own_port),
		cmocka_unit_test(routed_frames_turn_back_too),
		cmocka_unit_test(
			the_pause_names_the_class_of_arrival_and_its_cause_the_new_queue),
		cmocka_unit_test(
			a_pause_of_the_class_of_arrival_does_not_stop_what_has_left_it),
		cmocka_unit_test(a_drop_on_the_way_in_counts_in_the_class_of_arrival),
		cmocka_unit_test(a_frame_too_long_to_leave_is_not_counted_as_remapped),
		cmocka_unit_test(
			a_drop_at_the_queue_counts_in_the_new_class_and_is_no_alarm_in_a_lossy_one),
		cmocka_unit_test(
			a_capture_shows_the_old_class_coming_in_and_the_new_one_going_out),
		cmocka_unit_test(a_reload_without_guard_ends_it),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
