// SPDX-License-Identifier: Apache-2.0
// Why a PAUSE was sent: the queue that holds most of the group, and whether its peer pauses it.
// Every number is exact.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include <stdio.h>

enum { IN, OUT, OTHER, THIRD, PORTS, FRAME = 1000, FRAME_CELLS = 4 };

static const struct bench_frame to_out = {.to = OUT, .dscp = 24, .len = FRAME};
static const struct bench_frame to_other = {.to = OTHER, .dscp = 24, .len = FRAME};

static const char *yaml(void)
{
	return lab_yaml(PORTS, "10G", "", "",
			"      3: {lossless: true, ingress: {static: 40KB, headroom: 100KB}}\n"
			"      5: {lossless: true, ingress: {static: 40KB, headroom: 100KB}}\n");
}

// Host IN sends whatever it is told.
static struct bench *open_bench(void)
{
	struct bench *b = bench_open(yaml(), 0);

	b->host[IN].obey_after_ns = UINT64_MAX;
	return b;
}

static bool in_xoff(const struct bench *b, unsigned port, unsigned pg)
{
	return pg_in_xoff(switch_pg_state(b->sw, port, pg));
}

static uint64_t used(const struct bench *b, unsigned port, unsigned pg)
{
	return pg_used(switch_pg_state(b->sw, port, pg));
}

// Cells on their way to a port of another worker when a PAUSE leaves: those of the frame for which
// it does.
static uint32_t on_their_way(const struct bench *b, unsigned port)
{
	return switch_port_owner(b->sw, port) == switch_port_owner(b->sw, IN) ? 0 : FRAME_CELLS;
}

// Until the group of class 3 at IN is in XOFF.
static void inject_until_xoff(struct bench *b, const struct bench_frame *f)
{
	for (unsigned i = 0; i < 1000 && !in_xoff(b, IN, 3); i++)
		bench_inject(b, IN, f, 1);
	assert_true(in_xoff(b, IN, 3));
}

static void expect_queue(const struct pause_cause *c, unsigned port, unsigned queue, bool paused)
{
	assert_int_equal(c->kind, CAUSE_QUEUE);
	assert_int_equal(c->out_port, port);
	assert_int_equal(c->queue, queue);
	assert_int_equal(c->cls, queue);
	assert_int_equal(c->paused, paused);
}

static const struct event *last_xoff(struct bench *b)
{
	const struct event *e = NULL;

	bench_control(b);
	for (unsigned i = 0; i < b->n_events; i++)
		if (b->events[i].type == EVENT_XOFF)
			e = &b->events[i];
	assert_non_null(e);
	return e;
}

static void a_queue_that_its_peer_pauses_is_named_with_port_class_and_cells(void **state)
{
	struct bench *b = open_bench();
	struct pause_cause c;

	(void)state;
	assert_int_equal(switch_pause_cause(b->sw, IN, 3).kind, CAUSE_NONE);
	bench_pause(b, OUT, 1 << 3, 65535);
	inject_until_xoff(b, &to_out);
	c = switch_pause_cause(b->sw, IN, 3);
	expect_queue(&c, OUT, 3, true);
	assert_int_equal(c.held_cells, used(b, IN, 3) - on_their_way(b, OUT));
	assert_int_equal(c.t_ns, gauge_get(&switch_pfc_tx(b->sw, IN)->stats[3].since_ns));
	assert_int_equal(b->host[IN].n_pfc, 1);
	// Of other groups no PAUSE was sent.
	assert_int_equal(switch_pause_cause(b->sw, IN, 5).kind, CAUSE_NONE);
	assert_int_equal(switch_pause_cause(b->sw, OTHER, 3).kind, CAUSE_NONE);
	bench_close(b);
}

static void the_event_of_xoff_carries_the_cause_at_that_moment(void **state)
{
	struct bench *b = open_bench();
	const struct event *e;
	struct pause_cause c;

	(void)state;
	bench_pause(b, OUT, 1 << 3, 65535);
	inject_until_xoff(b, &to_out);
	e = last_xoff(b);
	assert_int_equal(e->port, IN);
	c = cause_unpack(e->t_ns, e->b);
	expect_queue(&c, OUT, 3, true);
	assert_int_equal(c.held_cells, used(b, IN, 3)); // the frame that began it is one of them
	bench_close(b);
}

static bool endless(struct bench_host *h, struct bench_frame *out)
{
	(void)h;
	*out = to_out;
	return true;
}

static void in_an_incast_nobody_pauses_the_queue(void **state)
{
	struct bench *b = bench_open(yaml(), 0);

	(void)state;
	for (unsigned host = 0; host < PORTS; host++) {
		if (host == OUT)
			continue;
		b->host[host].source = endless;
		actor_poke(&b->host[host].actor);
	}
	bench_run(b, 1000000);
	for (unsigned port = 0; port < PORTS; port++) {
		struct pause_cause c = switch_pause_cause(b->sw, port, 3);

		if (port == OUT) {
			assert_int_equal(c.kind, CAUSE_NONE);
			continue;
		}
		assert_true(b->host[port].n_pfc > 10);
		expect_queue(&c, OUT, 3, false);
	}
	bench_close(b);
}

static void of_two_queues_the_one_that_holds_more_is_named_paused_or_not(void **state)
{
	static const struct {
		unsigned to_out, to_other; // frames held already
		const struct bench_frame *then; // until XOFF
		unsigned port;
	} rows[] = {
		{2, 0, &to_other, OTHER}, {0, 2, &to_out, OUT}, {30, 0, &to_other, OUT},
		{0, 30, &to_out, OTHER},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench *b = open_bench();
		struct pause_cause c;
		uint32_t held;

		bench_pause(b, OUT, 1 << 3, 65535);
		bench_tx(b, OTHER, 3, false);
		bench_inject(b, IN, &to_out, rows[i].to_out);
		bench_inject(b, IN, &to_other, rows[i].to_other);
		assert_false(in_xoff(b, IN, 3));
		inject_until_xoff(b, rows[i].then);
		c = switch_pause_cause(b->sw, IN, 3);
		expect_queue(&c, rows[i].port, 3, rows[i].port == OUT);
		assert_true(c.held_cells > used(b, IN, 3) / 2 && c.held_cells < used(b, IN, 3));
		held = switch_held_cells(b->sw, rows[i].port, 3, IN, 3);
		if (rows[i].then->to == rows[i].port)
			held -= on_their_way(b, rows[i].port);
		assert_int_equal(c.held_cells, held);
		bench_close(b);
	}
}

static void of_equals_the_lower_port_is_named_however_they_filled(void **state)
{
	struct bench *b = open_bench();
	struct pause_cause c;

	(void)state;
	bench_tx(b, OUT, 3, false);
	bench_tx(b, OTHER, 3, false);
	bench_inject(b, IN, &to_other, 5);
	bench_inject(b, IN, &to_out, 5);
	c = switch_cause_now(b->sw, IN, 3);
	expect_queue(&c, OUT, 3, false);
	assert_int_equal(c.held_cells, 5 * FRAME_CELLS);
	bench_inject(b, IN, &to_other, 1);
	c = switch_cause_now(b->sw, IN, 3);
	expect_queue(&c, OTHER, 3, false);
	bench_close(b);
}

// What one group waits for is not what holds most of all.
static void frames_of_others_in_a_queue_say_nothing(void **state)
{
	struct bench *b = open_bench();
	struct pause_cause c;

	(void)state;
	bench_tx(b, OUT, 3, false);
	bench_tx(b, OTHER, 3, false);
	bench_inject(b, THIRD, &to_out, 30);
	bench_inject(b, IN, &to_out, 1);
	bench_inject(b, IN, &to_other, 2);
	c = switch_cause_now(b->sw, IN, 3);
	expect_queue(&c, OTHER, 3, false);
	c = switch_cause_now(b->sw, THIRD, 3);
	expect_queue(&c, OUT, 3, false);
	assert_int_equal(switch_held_cells(b->sw, OUT, 3, THIRD, 3), 30 * FRAME_CELLS);
	assert_int_equal(switch_held_cells(b->sw, OUT, 3, IN, 3), FRAME_CELLS);
	assert_int_equal(switch_held_cells(b->sw, OUT, 3, IN, 5), 0);
	bench_close(b);
}

static void each_refresh_records_what_is_true_by_then(void **state)
{
	struct bench *b = open_bench();
	uint64_t lifetime_ns = b->policy->ports[IN].pfc.lifetime_ns;
	struct pause_cause first, c;

	(void)state;
	bench_tx(b, OUT, 3, false);
	inject_until_xoff(b, &to_out);
	first = switch_pause_cause(b->sw, IN, 3);
	expect_queue(&first, OUT, 3, false);
	bench_inject(b, IN, &to_out, 7);
	bench_pause(b, OUT, 1 << 3, 65535);
	bench_run(b, lifetime_ns / 4);
	c = switch_pause_cause(b->sw, IN, 3);
	assert_int_equal(c.t_ns, first.t_ns); // no PAUSE has left since
	assert_false(c.paused);
	bench_run(b, lifetime_ns / 2);
	c = switch_pause_cause(b->sw, IN, 3);
	assert_int_equal(b->host[IN].n_pfc, 2);
	assert_int_equal(c.t_ns, first.t_ns + lifetime_ns / 2);
	expect_queue(&c, OUT, 3, true);
	assert_int_equal(c.held_cells, used(b, IN, 3));
	bench_close(b);
}

// Nobody was woken at its end, because nothing waited for it.
static void a_pause_that_ran_out_over_an_empty_queue_pauses_nothing(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(PORTS, "10G", "", "", "      3: {lossless: true, ingress: {min: 0, "
						   "static: 0, headroom: 10KB}}\n"),
		0);
	struct pause_cause c;

	(void)state;
	bench_pause(b, OUT, 1 << 3, 100); // 5120 ns
	bench_run(b, 20000);
	bench_inject(b, IN, &to_out, 1);
	c = cause_unpack(0, last_xoff(b)->b);
	expect_queue(&c, OUT, 3, false);
	c = switch_pause_cause(b->sw, IN, 3);
	expect_queue(&c, OUT, 3, false);
	bench_close(b);
}

static void an_xon_records_nothing(void **state)
{
	struct bench *b = open_bench();
	struct pause_cause before, after;

	(void)state;
	bench_tx(b, OUT, 3, false);
	inject_until_xoff(b, &to_out);
	before = switch_pause_cause(b->sw, IN, 3);
	bench_tx(b, OUT, 3, true);
	bench_run(b, 1000000);
	assert_int_equal(bench_pfc_times(&b->host[IN].pfc[b->host[IN].n_pfc - 1]).quanta[3], 0);
	after = switch_pause_cause(b->sw, IN, 3);
	assert_int_equal(after.t_ns, before.t_ns);
	expect_queue(&after, OUT, 3, false);
	// Nothing is held any more, and so nothing is the cause of anything now.
	assert_int_equal(switch_cause_now(b->sw, IN, 3).kind, CAUSE_NONE);
	for (unsigned port = 0; port < PORTS; port++)
		assert_int_equal(switch_held_cells(b->sw, port, 3, IN, 3), 0);
	bench_close(b);
}

static void the_receive_ring_alone_is_named_as_such(void **state)
{
	const struct bench_opts o = {.seed = 1, .rx_ring = 40};
	struct bench *b = bench_open_with(
		lab_yaml(PORTS, "10G", ", rx_guard: 50%", "",
			 "      3: {lossless: true, ingress: {headroom: 10KB}}\n"
			 "      5: {lossless: true, ingress: {headroom: 10KB}}\n"), &o);
	struct pause_cause c;

	(void)state;
	b->host[IN].obey_after_ns = UINT64_MAX;
	bench_tx(b, OUT, 3, false);
	bench_inject(b, IN, &to_out, 3); // held by a queue, which is not the reason
	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	bench_inject(b, IN, &to_out, 21);
	assert_int_equal(b->host[IN].n_pfc, 1);
	for (unsigned cls = 3; cls <= 5; cls += 2) {
		c = switch_pause_cause(b->sw, IN, cls);
		assert_int_equal(c.kind, CAUSE_RX_RING);
		assert_int_equal(c.cls, cls);
		assert_int_equal(c.held_cells, 0);
		assert_false(c.paused);
		assert_int_equal(c.t_ns, b->host[IN].pfc[0].t_ns -
						 bench_wire_ns(b, IN, PFC_FRAME_LEN));
	}
	assert_int_equal(switch_pause_cause(b->sw, IN, 0).kind, CAUSE_NONE);
	bench_close(b);
}

static void a_group_in_xoff_is_named_by_its_queue_although_the_ring_is_full_too(void **state)
{
	const struct bench_opts o = {.seed = 1, .rx_ring = 40};
	struct bench *b = bench_open_with(
		lab_yaml(PORTS, "10G", ", rx_guard: 50%", "",
			 "      3: {lossless: true, ingress: {static: 40KB, headroom: 10KB}}\n"
			 "      5: {lossless: true, ingress: {headroom: 10KB}}\n"), &o);
	struct pause_cause c;

	(void)state;
	b->host[IN].obey_after_ns = UINT64_MAX;
	bench_tx(b, OUT, 3, false);
	inject_until_xoff(b, &to_out);
	switch_hold_admission(b->sw, true);
	actor_poke(&b->actor);
	bench_inject(b, IN, &to_out, 21);
	bench_run(b, b->policy->ports[IN].pfc.lifetime_ns);
	c = switch_pause_cause(b->sw, IN, 3);
	expect_queue(&c, OUT, 3, false);
	assert_int_equal(switch_pause_cause(b->sw, IN, 5).kind, CAUSE_RX_RING);
	bench_close(b);
}

// With two workers nothing is held yet when the PAUSE leaves: the frame is on its way to the other.
static void the_first_frame_alone_can_be_the_cause(void **state)
{
	struct bench *b = bench_open(
		lab_yaml(PORTS, "10G", "", "", "      3: {lossless: true, ingress: {min: 0, "
						   "static: 0, headroom: 10KB}}\n"),
		0);
	struct pause_cause c;

	(void)state;
	bench_tx(b, OUT, 3, false);
	bench_inject(b, IN, &to_out, 1);
	assert_int_equal(b->host[IN].n_pfc, 1);
	c = switch_pause_cause(b->sw, IN, 3);
	expect_queue(&c, OUT, 3, false);
	c = cause_unpack(0, last_xoff(b)->b);
	expect_queue(&c, OUT, 3, false);
	assert_int_equal(c.held_cells, FRAME_CELLS);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_that_its_peer_pauses_is_named_with_port_class_and_cells),
		cmocka_unit_test(the_event_of_xoff_carries_the_cause_at_that_moment),
		cmocka_unit_test(in_an_incast_nobody_pauses_the_queue),
		cmocka_unit_test(of_two_queues_the_one_that_holds_more_is_named_paused_or_not),
		cmocka_unit_test(of_equals_the_lower_port_is_named_however_they_filled),
		cmocka_unit_test(frames_of_others_in_a_queue_say_nothing),
		cmocka_unit_test(each_refresh_records_what_is_true_by_then),
		cmocka_unit_test(a_pause_that_ran_out_over_an_empty_queue_pauses_nothing),
		cmocka_unit_test(an_xon_records_nothing),
		cmocka_unit_test(the_receive_ring_alone_is_named_as_such),
		cmocka_unit_test(
			a_group_in_xoff_is_named_by_its_queue_although_the_ring_is_full_too),
		cmocka_unit_test(the_first_frame_alone_can_be_the_cause),
	};

	return cmocka_run_group_tests(tests, bench_eal, NULL);
}
