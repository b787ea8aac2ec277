// SPDX-License-Identifier: Apache-2.0
// Random schedules of PFC storms on the virtual wire: hosts that pause without end, in bursts
// shorter than detection, or with XON only; meanwhile traffic, reloads, other actions, modes, times
// and limits, watchdogs that are taken away, classes that turn lossy, links down and up,
// TX-disable, held admission, drop-all, recovery by operators.
//
// However it goes, besides what test_random.c asks: each storm begins and ends at the nanosecond
// that the policy says, a class in recovery gets one XON at most and obeys nobody, the counters of
// a storm agree with those of its queue and group, control escalates exactly when a plain list of
// storms says so, and no lossless frame is dropped that the watchdog did not order. In the end,
// when all storms have stopped and all was recovered, nothing is paused either way, nothing is in
// use, and a frame of each lossless class crosses between any two hosts.
//
// In half of the schedules the times are those of policy files, on slow links; in the others they
// are some microseconds. Three quarters carry the promise of test_random.c (hosts obey PFC), with
// the same exemptions; a port that is taken down is one whose link is.
#include "tests/lab/schedule_program.h"
#include "tests/lab/storm_schedule.h"

enum {
	SEEDS = 40,
	EVENTS = 100,
	FAST_PACE_NS = 40000,
	SLOW_PACE_NS = 40000000,
	FAST_UNIT_NS = 1000,
	SLOW_UNIT_NS = 1000000,
	MAX_STORM_FRAMES = 60,
};

#define PICK(s, table) ((table)[pick((s), sizeof(table) / sizeof((table)[0]))])

static struct schedule_totals seen;
static struct storm_totals storms_seen;

static struct storm_schedule *of(struct schedule *s)
{
	return (struct storm_schedule *)s;
}

// ---- policies

static uint64_t draw_ns(struct storm_schedule *x)
{
	if (x->fast)
		return (3 + pick(&x->s, 200)) * (uint64_t)FAST_UNIT_NS;
	return (100 + pick(&x->s, 300)) * (uint64_t)SLOW_UNIT_NS;
}

static void draw_limit(struct storm_schedule *x, struct watchdog_params *wp)
{
	static const uint8_t counts[] = {0, 0, 1, 2, 3, 5};

	wp->limit_count = PICK(&x->s, counts);
	wp->limit_window_ns = (1 + pick(&x->s, 20)) * draw_ns(x);
	wp->then = pick(&x->s, 3) == 0 ? WATCHDOG_PORT_DOWN : WATCHDOG_PFC_OFF;
}

static void draw_watchdog(struct storm_schedule *x, unsigned port)
{
	struct watchdog_params *wp = &x->watchdog[port];

	*wp = (struct watchdog_params){
		.mode = (uint8_t)pick(&x->s, 2),
		.action = (uint8_t)pick(&x->s, 3),
		.detect_ns = draw_ns(x),
		.restore_ns = draw_ns(x),
	};
	draw_limit(x, wp);
	x->watched[port] = pick(&x->s, 8) != 0;
}

static void draw_watchdogs(struct storm_schedule *x)
{
	bool alike = pick(&x->s, 3) != 0;

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		draw_watchdog(x, port);
		if (alike)
			x->watchdog[port] = x->watchdog[0];
	}
	x->warning = (struct pfc_warning_params){pick(&x->s, 2) * pick(&x->s, 100),
						 pick(&x->s, 2) * pick(&x->s, 100)};
}

static void disturb(struct schedule *s)
{
	of(s)->disturbed_ns = s->b->clock.now_ns;
}

static void publish(struct schedule *s, const char *yaml)
{
	s->before_policy = disturb;
	schedule_publish(s, yaml);
	storm_new_policy(of(s));
}

static void all_of_the_policy_changes(struct schedule *s)
{
	draw_watchdogs(of(s));
	publish(s, schedule_policy(&s->conf, &s->rng, false));
}

// One key of one port's watchdog, or all of them.
static void a_watchdog_changes(struct schedule *s)
{
	struct storm_schedule *x = of(s);
	unsigned port = pick(s, SCHEDULE_PORTS);
	struct watchdog_params *wp = &x->watchdog[port];

	switch (pick(s, 8)) {
	case 0:
	case 1:
	case 2:
		wp->action = (uint8_t)pick(s, 3);
		break;
	case 3:
		wp->mode ^= 1;
		break;
	case 4:
		wp->detect_ns = draw_ns(x);
		break;
	case 5:
		wp->restore_ns = draw_ns(x);
		break;
	case 6:
		draw_limit(x, wp);
		break;
	default:
		x->watched[port] = !x->watched[port];
		break;
	}
	publish(s, s->yaml);
}

// ---- storms

static void storm_frame(void *arg, uint64_t now_ns)
{
	struct storm_maker *m = arg;

	bench_pause(m->x->s.b, (unsigned)(m - m->x->maker), m->classes, m->quanta);
	if (now_ns + m->period_ns < m->until_ns)
		vtimer_set(&m->timer, now_ns + m->period_ns);
}

// Pauses that last pause_ns each.
static void storm(struct storm_schedule *x, unsigned port, uint64_t pause_ns, uint64_t for_ns)
{
	static const uint8_t classes[] = {1 << 3, 1 << 3, 1 << 5, 1 << 3 | 1 << 5, 0xff};
	struct storm_maker *m = &x->maker[port];
	uint64_t quanta = pause_ns * x->s.b->policy->ports[port].speed_bps / 512000000000;
	uint64_t now_ns = x->s.b->clock.now_ns;

	m->classes = PICK(&x->s, classes);
	m->quanta = (uint16_t)(quanta > 65535 ? 65535 : quanta);
	m->until_ns = now_ns + for_ns;
	if (for_ns / m->period_ns > MAX_STORM_FRAMES)
		m->period_ns = for_ns / MAX_STORM_FRAMES;
	vtimer_set(&m->timer, now_ns);
}

// Most frames go to the last port.
static unsigned pick_port(struct schedule *s)
{
	return pick(s, 2) ? SCHEDULE_PORTS - 1 : pick(s, SCHEDULE_PORTS);
}

static void a_host_storms(struct schedule *s)
{
	struct storm_schedule *x = of(s);
	unsigned port = pick_port(s);
	uint64_t detect_ns = s->b->policy->ports[port].watchdog.detect_ns;
	uint64_t pause_ns = detect_ns * (1 + pick(s, 30)) / 10;

	x->maker[port].period_ns = pause_ns / (1 + pick(s, 3)) + 1;
	storm(x, port, pause_ns, detect_ns * (1 + pick(s, 80)) / 10);
}

static void all_hosts_storm(struct schedule *s)
{
	struct storm_schedule *x = of(s);

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		uint64_t detect_ns = s->b->policy->ports[port].watchdog.detect_ns;

		x->maker[port].period_ns = detect_ns / 2 + 1;
		storm(x, port, detect_ns, detect_ns * 4);
	}
}

// Half of what is detected, every second time of it.
static void bursts_too_short_to_be_detected(struct schedule *s)
{
	struct storm_schedule *x = of(s);
	unsigned port = pick_port(s);
	uint64_t detect_ns = s->b->policy->ports[port].watchdog.detect_ns;

	x->maker[port].period_ns = 2 * detect_ns;
	storm(x, port, detect_ns / 2, 10 * detect_ns);
}

static void a_storm_of_xon(struct schedule *s)
{
	struct storm_schedule *x = of(s);
	unsigned port = pick(s, SCHEDULE_PORTS);
	uint64_t detect_ns = s->b->policy->ports[port].watchdog.detect_ns;

	x->maker[port].period_ns = detect_ns / (1 + pick(s, 40)) + 1;
	storm(x, port, 0, 3 * detect_ns);
}

static void a_storm_stops(struct schedule *s)
{
	vtimer_cancel(&of(s)->maker[pick(s, SCHEDULE_PORTS)].timer);
}

// ---- other events

static void hosts_may_send(struct schedule *s)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		s->may_send[port] += pick(s, pick(s, 4) == 0 ? 300 : 30);
		actor_poke(&s->b->host[port].actor);
	}
}

static void time_passes_under_control(struct schedule *s)
{
	hosts_may_send(s);
	time_passes(s);
	if (pick(s, 3) != 0)
		return;
	schedule_control(s);
	storm_check_escalations(of(s));
}

static void control_looks(struct schedule *s)
{
	schedule_control(s);
	storm_check_escalations(of(s));
}

static void a_link_goes_down_or_up(struct schedule *s)
{
	link_goes_down_or_up(s);
	storm_check_escalations(of(s));
}

static void hold(struct schedule *s)
{
	of(s)->disturbed_ns = s->b->clock.now_ns;
	admission_is_held_or_resumed(s);
	of(s)->disturbed_ns = s->b->clock.now_ns;
}

static void drop_all(struct storm_schedule *x, bool on)
{
	x->drops_all = on;
	x->disturbed_ns = x->s.b->clock.now_ns;
	(void)switch_watchdog_drop_all(x->s.b->sw, on);
	schedule_settle(&x->s);
}

static void an_operator_discards_all_or_no_longer(struct schedule *s)
{
	drop_all(of(s), !of(s)->drops_all && pick(s, 3) == 0);
}

static void an_operator_recovers(struct schedule *s)
{
	static const uint8_t classes[] = {2, 3, 3, 3, 5, 5, 0};
	unsigned port = pick_port(s);

	storm_recover(of(s), port, PICK(s, classes));
}

static const struct schedule_event events[] = {
	{24, time_passes_under_control},
	{8, a_host_storms},
	{1, all_hosts_storm},
	{2, bursts_too_short_to_be_detected},
	{1, a_storm_of_xon},
	{1, a_storm_stops},
	{2, host_pauses},
	{1, host_resumes},
	{1, host_is_heard_or_not},
	{3, tx_goes_off_or_on},
	{2, a_link_goes_down_or_up},
	{2, all_of_the_policy_changes},
	{4, a_watchdog_changes},
	{1, hold},
	{1, an_operator_discards_all_or_no_longer},
	{4, an_operator_recovers},
	{2, control_looks},
};

// ---- the end

static void recover_all(struct storm_schedule *x)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			storm_recover(x, port, cls);
}

// What the last storms left may still be detected, and even escalate, once all is on again.
static void all_calms_down(struct storm_schedule *x)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		vtimer_cancel(&x->maker[port].timer);
	drop_all(x, false);
	recover_all(x);
	x->disturbed_ns = x->s.b->clock.now_ns;
	schedule_everything_on(&x->s);
	bench_run(x->s.b, 3000000000);
	control_looks(&x->s);
	recover_all(x);
	bench_run(x->s.b, 1000000);
	control_looks(&x->s);
}

static void no_storm_is_left(const struct storm_schedule *x)
{
	uint64_t detected = 0, restored = 0;

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		assert_true(switch_link_up(x->s.b->sw, port));
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			enum watchdog_status st = switch_watchdog_status(x->s.b->sw, port, cls);
			const struct watchdog_class *w = switch_watchdog(x->s.b->sw, port, cls);

			assert_true(st == WATCHDOG_OPERATIONAL || st == WATCHDOG_OFF);
			detected += ctr_get(&w->detected);
			restored += ctr_get(&w->restored);
		}
	}
	assert_int_equal(detected, restored);
	if (x->lost_events != 0)
		return;
	assert_int_equal(x->storm_records, detected);
	assert_int_equal(x->over_records, restored);
}

static void draw(struct storm_schedule *x, const struct schedule_program *p)
{
	static const unsigned speeds[] = {100, 200, 200, 1000};
	struct schedule *s = &x->s;

	schedule_conf_draw(&s->conf, &s->rng);
	s->conf.promise |= pick(s, 2);
	s->conf.learned &= !s->conf.promise;
	if (p->n_workers != 0)
		s->conf.n_workers = p->n_workers;
	x->fast = pick(s, 2);
	s->pace_ns = x->fast ? FAST_PACE_NS : SLOW_PACE_NS;
	for (unsigned port = 0; !x->fast && port < SCHEDULE_PORTS; port++)
		s->conf.speed_mbps[port] = PICK(s, speeds);
	draw_watchdogs(x);
}

static void open_schedule(struct storm_schedule *x, uint64_t seed)
{
	const struct bench_opts o = {.seed = seed, .adjust = storm_adjust, .adjust_arg = x};

	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		x->s.was_up[port] = true;
	schedule_open(&x->s, &o);
	x->s.b->after_step = storm_after_step;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		x->maker[port].x = x;
		vtimer_init(&x->maker[port].timer, &x->s.b->clock, storm_frame, &x->maker[port]);
	}
}

static void count(const struct schedule *s)
{
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++) {
		seen.frames += ctr_get(&switch_port_counters(s->b->sw, port)->received);
		for (unsigned c = 0; c < N_CLASSES; c++)
			seen.pauses +=
				ctr_get(&switch_pfc_tx(s->b->sw, port)->stats[c].transitions);
	}
}

static void run_schedule(struct schedule_program *p, uint64_t seed)
{
	struct storm_schedule x = {.totals = &storms_seen,
				   .s = {.totals = &seen, .on_event = storm_on_event}};

	rng_init(&x.s.rng, seed);
	draw(&x, p);
	open_schedule(&x, seed);
	for (unsigned i = 0; i < p->n_events; i++)
		schedule_happen(&x.s, events, sizeof(events) / sizeof(events[0]));
	all_calms_down(&x);
	no_storm_is_left(&x);
	schedule_nothing_is_left(&x.s);
	schedule_frames_cross(&x.s);
	no_storm_is_left(&x);
	count(&x.s);
	seen.events += p->n_events;
	autoecn_destroy(x.s.ecn);
	bench_close(x.s.b);
}

static void finish(struct schedule_program *p)
{
	const struct storm_totals *t = &storms_seen;

	print_message("%lu schedules, %lu events, %lu frames, %lu pauses; %lu storms, %lu ended "
		      "by themselves, %lu escalated, %lu recoveries; %lu frames discarded, after "
		      "a storm in %lu steps; lossless frames lost: %lu without a promise, %lu "
		      "exempt\n",
		      p->to - p->from + 1, seen.events, seen.frames, seen.pauses, t->storms,
		      t->exact, t->escalated, t->recovered, t->discarded, t->excused,
		      seen.lost_without_promise, seen.lost_exempt);
	if (!p->as_in_the_suite)
		return;
	assert_true(t->storms > 150);
	assert_true(t->exact > 50);
	assert_true(t->escalated > 10);
	assert_true(t->recovered > 20);
	assert_true(t->discarded > 1000);
	assert_true(seen.pauses > 100);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "lab_storms",
		.claim = "random_storms_end_as_the_policy_says_with_nothing_stuck",
		.run = run_schedule,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = EVENTS,
	};

	return schedule_main(&p, argc, argv);
}
