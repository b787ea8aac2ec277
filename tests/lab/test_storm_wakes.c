// SPDX-License-Identifier: Apache-2.0
// A worker with storms asks to be woken when a storm is to be found or over, and for nothing else:
// woken at every nanosecond, or at its own times alone, and looking at every port, or only where
// something happened, it does the same at the same times. With everything that begins, changes and
// ends a recovery, at random times that are the same in each world.
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/rng.h"
#include "dataplane/policy.h"
#include "tests/lab/lab_yaml.h"
#include "tests/lab/storm_bench.h"

enum { SEEDS = 6, TURNS = 110, US = 1000, ENDS_NS = 3 * MS };

static const char classes[] =
	"      3: {lossless: true, ingress: {static: 5KB, headroom: 20KB}}\n"
	"      4: {lossless: true, ingress: {headroom: 20KB}}\n"
	"      5: {lossless: true, ingress: {alpha: 1/64, headroom: 20KB}}\n"
	"      6: {schedule: strict, max_rate: 300M}\n";

struct world {
	struct bench *b;
	struct rng rng;
	struct storm_setup s;
	uint8_t beside_4; // the class whose queue and group class 4 shares
	bool dense, drops_all, held;
};

static unsigned pick(struct world *w, unsigned n)
{
	return rng_next(&w->rng) % n;
}

static bool mixture(struct bench_host *h, struct bench_frame *out)
{
	static const uint8_t dscps[] = {24, 32, 40, 0, 48, 24};

	*out = (struct bench_frame){.to = h->sent % 7 == 0 ? 1 : 2,
				    .dscp = dscps[h->sent % sizeof(dscps)],
				    .len = (uint16_t)(64 + h->sent * 37 % 1400)};
	return h->bench->clock.now_ns < START_NS + 300 * US;
}

static void draw_watchdog(struct world *w)
{
	struct watchdog_params *p = &w->s.watchdog;

	p->mode = (uint8_t)pick(w, 2);
	p->action = (uint8_t)pick(w, 3);
	p->then = (uint8_t)pick(w, 2);
	p->detect_ns = 2 * US + pick(w, 9000);
	p->restore_ns = 2 * US + pick(w, 9000);
	p->limit_count = pick(w, 3) == 0 ? 3 + pick(w, 5) : 0;
	p->limit_window_ns = 50 * US;
	w->beside_4 = (uint8_t)(3 + pick(w, 3));
}

static void orders(struct world *w)
{
	unsigned port = pick(w, 3);
	int err;

	switch (pick(w, 6)) {
	case 0:
		draw_watchdog(w);
		bench_publish(w->b,
			      lab_yaml(3, pick(w, 2) ? "10G" : "5G", "",
				       pick(w, 2) ? "    pfc: {quanta: 500}\n" : "", classes));
		break;
	case 1:
		bench_tx(w->b, 2, pick(w, 2) ? 3 : -1, pick(w, 2));
		break;
	case 2:
		w->drops_all = !w->drops_all && pick(w, 2);
		switch_watchdog_drop_all(w->b->sw, w->drops_all);
		break;
	case 3:
		// What waited on the wires comes in bursts, and is handed over in more loops than
		// the bench makes of several workers at a time.
		w->held = !w->held && pick(w, 2) && switch_n_workers(w->b->sw) == 1;
		switch_hold_admission(w->b->sw, w->held);
		break;
	case 4:
		wire_set_up(w->b->host[port].wire, pick(w, 2));
		switch_links_changed(w->b->sw);
		break;
	default:
		switch_watchdog_recover(w->b->sw, port, 3 + pick(w, 3), &err);
		break;
	}
}

static void turn(struct world *w)
{
	unsigned port = pick(w, 4) == 0 ? pick(w, 3) : 2, what = pick(w, 6);
	unsigned ns = 1 + pick(w, 6000);

	if (what < 3)
		bench_pause(w->b, port, (uint8_t)(1u << (3 + pick(w, 3)) | 1u << 3),
			    (uint16_t)pick(w, pick(w, 2) ? 100 : 400));
	else if (what == 3)
		orders(w);
	bench_control(w->b);
	actor_poke(&w->b->actor);
	for (unsigned i = 0; i < (w->dense ? ns : 1); i++) {
		if (w->dense)
			actor_poke(&w->b->actor);
		bench_run(w->b, w->dense ? 1 : ns);
	}
}

// All that can be told from outside.
struct seen {
	struct bench_rx *rx[3][2];
	uint32_t n[3][2];
	struct event *events;
	unsigned n_events;
	uint64_t storms;
	struct watchdog_class at[3][N_CLASSES];
};

static void take(struct world *w, struct seen *s)
{
	struct bench *b = w->b;

	for (unsigned i = 0; i < 3; i++) {
		s->rx[i][0] = b->host[i].rx;
		s->rx[i][1] = b->host[i].pfc;
		s->n[i][0] = b->host[i].n_rx;
		s->n[i][1] = b->host[i].n_pfc;
		b->host[i].rx = b->host[i].pfc = NULL;
		for (unsigned c = 0; c < N_CLASSES; c++) {
			s->at[i][c] = *switch_watchdog(b->sw, i, c);
			s->storms += ctr_get(&s->at[i][c].detected);
		}
	}
	s->n_events = b->n_events;
	s->events = malloc(sizeof(b->events));
	assert_non_null(s->events);
	memcpy(s->events, b->events, sizeof(b->events));
}

static void adjust(struct policy *p, void *arg)
{
	const struct world *w = arg;

	for (uint32_t i = 0; i < p->n_ports; i++) {
		p->ports[i].watchdog = w->s.watchdog;
		p->ports[i].watchdog.classes = p->ports[i].pfc.rx;
		p->ports[i].classify.class_to_queue[4] = w->beside_4;
		p->ports[i].classify.class_to_pg[4] = w->beside_4;
	}
}

static struct seen run_world(uint64_t seed, bool dense, bool polled)
{
	struct world w = {.dense = dense};
	const struct bench_opts o = {
		.delay_ns = 77, .seed = 1, .polled = polled, .adjust = adjust, .adjust_arg = &w};
	struct seen s = {0};

	rng_init(&w.rng, seed);
	draw_watchdog(&w);
	w.b = bench_open_with(lab_yaml(3, "10G", "", "", classes), &o);
	for (unsigned i = 0; i < 3; i++) {
		w.b->host[i].source = mixture;
		actor_poke(&w.b->host[i].actor);
	}
	for (unsigned i = 0; i < TURNS; i++)
		turn(&w);
	switch_hold_admission(w.b->sw, false);
	actor_poke(&w.b->actor);
	bench_run(w.b, ENDS_NS);
	bench_control(w.b);
	take(&w, &s);
	bench_close(w.b);
	return s;
}

static void same_frames(const struct seen *a, const struct seen *b)
{
	for (unsigned i = 0; i < 6; i++) {
		const struct bench_rx *x = a->rx[i / 2][i % 2], *y = b->rx[i / 2][i % 2];

		assert_int_equal(a->n[i / 2][i % 2], b->n[i / 2][i % 2]);
		for (uint32_t k = 0; k < a->n[i / 2][i % 2]; k++) {
			assert_int_equal(x[k].t_ns, y[k].t_ns);
			assert_memory_equal(x[k].data, y[k].data, BENCH_KEEP);
		}
	}
}

static void same_storms(const struct seen *a, const struct seen *b)
{
	assert_int_equal(a->n_events, b->n_events);
	assert_memory_equal(a->events, b->events, a->n_events * sizeof(*a->events));
	assert_memory_equal(a->at, b->at, sizeof(a->at));
}

static void forget(struct seen *s)
{
	for (unsigned i = 0; i < 6; i++)
		free(s->rx[i / 2][i % 2]);
	free(s->events);
}

static void compare(bool dense, bool polled)
{
	uint64_t storms = 0, pauses = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct seen a = run_world(seed, false, false), b = run_world(seed, dense, polled);

		storms += a.storms;
		pauses += a.n[0][1] + a.n[1][1];
		same_storms(&a, &b);
		same_frames(&a, &b);
		forget(&a);
		forget(&b);
	}
	print_message("%lu storms, %lu PFC frames\n", storms, pauses);
	assert_true(storms > 10 * SEEDS);
	assert_true(pauses > 10 * SEEDS);
}

static void stepping_on_wake_ups_equals_stepping_all_the_time(void **state)
{
	(void)state;
	compare(true, false);
}

static void looking_where_something_happened_equals_looking_everywhere(void **state)
{
	(void)state;
	compare(false, true);
}

// Else the cause of a PAUSE, and whoever looks for deadlocks, would take it for paused.
static void a_pause_of_waiting_frames_ends_in_time_where_the_port_is_switched_off(void **state)
{
	struct storm_setup s = storm_setup(WATCHDOG_PFC_OFF);
	struct bench *b = storm_open(&s);
	const struct pfc_class_stats *rx = &switch_pfc_rx(b->sw, 2)->stats[3];
	uint64_t ends;

	(void)state;
	bench_tx(b, 2, -1, false);
	send(b, 0, 2, 3, 5);
	ends = pause_ns(b) + 51200;
	bench_pause(b, 2, BIT3, 1000);
	run_until(b, ends - 1);
	assert_true(switch_queue_paused(b->sw, 2, 3));
	run_until(b, ends);
	assert_false(switch_queue_paused(b->sw, 2, 3));
	assert_int_equal(ctr_get(&rx->duration_ns), 51200);
	assert_int_equal(gauge_get(&rx->until_ns), 0);
	bench_tx(b, 2, -1, true);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_pause_of_waiting_frames_ends_in_time_where_the_port_is_switched_off),
		cmocka_unit_test(stepping_on_wake_ups_equals_stepping_all_the_time),
		cmocka_unit_test(looking_where_something_happened_equals_looking_everywhere),
	};

	return cmocka_run_group_tests_name("storm_wakes", tests, bench_eal, NULL);
}
