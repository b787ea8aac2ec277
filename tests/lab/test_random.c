// SPDX-License-Identifier: Apache-2.0
// Random schedules on the virtual wire: traffic of all classes and sizes, pauses, reloads of the
// policy, links down and up, TX-disable, held admission, cleared watermarks, with 1 to 3 workers.
//
//   lab_random [SEED | --seeds FROM-TO] [--events N] [--workers N] [--bisect]
//
// However it goes: accounts agree after each step and the balance after each event; in the end,
// with everything on and drained, nothing is in use, nothing is paused, and a frame crosses between
// any two hosts in each lossless class and in class 0. A failure prints the command that replays
// it; with --bisect a seed is tried with fewer events until one less passes.
//
// Half of the schedules carry a promise (schedule_policy.h): all hosts obey PFC, and then no frame
// of a lossless class may be dropped for want of room. Truly not promised, hence legal, is only:
//   - what a link loses that is down (reason port-down, no alarm);
//   - an overrun of a group whose headroom is still occupied from before: headroom is what one
//     PAUSE takes to act. The sender is let loose a second time when a link comes up again (both
//     ends forget their pauses), or when a reload moves DSCPs or classes so that what is on its
//     way was not stopped by the pause that stands. Such a group is exempt until it has left
//     XOFF with its headroom empty;
//   - what waits unseen in a receive ring: admission is held only where the ring's depth can be
//     read, so that the guard pauses the senders; and a class that turns lossless while it is held
//     is exempt as above, for the ring was filled without a guard.
// A reload that changes a port's speed keeps the promise: a PFC frame may be on its way meanwhile,
// so the host counts quanta at the slower of the speeds before and after.
#include "tests/lab/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEDS = 40, EVENTS = 150, EVENTS_OUT = 256, CONTROL_NS = 100000000 };

static struct {
	uint64_t from, to;
	unsigned n_events, n_workers;
	bool bisect;
} options = {.from = 1, .to = SEEDS, .n_events = EVENTS};

static uint64_t running_seed; // 0: none
static unsigned running_events;

static struct schedule_totals seen;

static unsigned pick(struct schedule *s, unsigned n)
{
	return rng_next(&s->rng) % n;
}

static bool traffic(struct bench_host *h, struct bench_frame *out)
{
	struct schedule *s = h->source_arg;
	bool copies;

	if (s->silent || s->quiet[h - h->bench->host])
		return false;
	copies = pick(s, 30) == 0;
	*out = (struct bench_frame){
		.to = pick(s, 4) == 0 ? pick(s, SCHEDULE_PORTS) : SCHEDULE_PORTS - 1,
		.dscp = (uint8_t)pick(s, 64),
		.ecn = (uint8_t)pick(s, 4),
		.len = (uint16_t)(SCHEDULE_MIN_LEN + pick(s, pick(s, 2) ? 1430 : 200)),
		.tagged = pick(s, 10) == 0,
		.vid = 7,
		.ipv6 = pick(s, 3) == 0,
		.broadcast = copies && pick(s, 2),
	};
	if (copies && !out->broadcast)
		out->to = SCHEDULE_PORTS; // nobody
	if (copies && s->conf.promise)
		out->dscp &= 7;
	return true;
}

static void check_balance(const struct schedule *s)
{
	struct balance x = switch_balance(s->b->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
}

// ---- events

static void settle(struct schedule *s)
{
	actor_poke(&s->b->actor);
	bench_run(s->b, 1);
}

static void time_passes(struct schedule *s)
{
	bench_run(s->b, pick(s, pick(s, 16) == 0 ? 200000 : 20000));
}

static void control_steps(struct schedule *s)
{
	struct event events[EVENTS_OUT];

	s->control_ns += CONTROL_NS;
	switch_control_step(s->b->sw, s->control_ns, events, EVENTS_OUT);
	settle(s);
}

static void host_pauses(struct schedule *s)
{
	bench_pause(s->b, pick(s, SCHEDULE_PORTS), (uint8_t)rng_next(&s->rng),
		    (uint16_t)pick(s, pick(s, 2) ? 65536 : 300));
}

static void host_resumes(struct schedule *s)
{
	bench_pause(s->b, pick(s, SCHEDULE_PORTS), 0xff, 0);
}

static void host_is_heard_or_not(struct schedule *s)
{
	unsigned p = pick(s, SCHEDULE_PORTS);

	s->quiet[p] = !s->quiet[p];
	actor_poke(&s->b->host[p].actor);
}

static void host_sends_nonsense(struct schedule *s)
{
	uint8_t junk[128];

	for (unsigned i = 0; i < sizeof(junk); i++)
		junk[i] = (uint8_t)rng_next(&s->rng);
	if (pick(s, 2))
		memcpy(junk, (uint8_t[]){1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8}, 14);
	else
		junk[0] &= 0xfe; // to one unknown host
	bench_send_raw(s->b, pick(s, SCHEDULE_PORTS), junk, (uint16_t)(1 + pick(s, 127)));
}

static void tx_goes_off_or_on(struct schedule *s)
{
	bench_tx(s->b, pick(s, SCHEDULE_PORTS), pick(s, 2) ? -1 : (int)pick(s, 8), pick(s, 2));
}

// Control hears of it before the host does anything else.
static void set_link(struct schedule *s, unsigned port, bool up)
{
	struct bench_host *h = &s->b->host[port];

	if (wire_ops.link_up(h->end) == up)
		return;
	wire_set_up(h->wire, up);
	memset(h->pause_until_ns, 0, sizeof(h->pause_until_ns));
	control_steps(s);
	if (up)
		schedule_exempt_occupied_groups(s, port);
	actor_poke(&h->actor);
}

static void link_goes_down_or_up(struct schedule *s)
{
	set_link(s, pick(s, SCHEDULE_PORTS), pick(s, 3) != 0);
}

static void policy_is_replaced(struct schedule *s)
{
	struct classify_params before = s->b->policy->ports[0].classify;
	uint8_t exempt[SCHEDULE_PORTS];

	memcpy(exempt, s->exempt, sizeof(exempt));
	schedule_forget_losses(s);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		schedule_exempt_occupied_groups(s, p);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		s->b->host[p].pfc_speed_bps = s->b->policy->ports[p].speed_bps;
	bench_publish(s->b, schedule_policy(&s->conf, &s->rng, false));
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		if (s->b->policy->ports[p].speed_bps < s->b->host[p].pfc_speed_bps)
			s->b->host[p].pfc_speed_bps = 0;
	if (memcmp(&before, &s->b->policy->ports[0].classify, sizeof(before)) == 0)
		for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
			s->exempt[p] &= exempt[p];
}

static void hold(struct schedule *s, bool on)
{
	s->held = on;
	switch_hold_admission(s->b->sw, on);
	settle(s);
}

static void admission_is_held_or_resumed(struct schedule *s)
{
	if (s->conf.rx_ring != 0 || !s->conf.promise)
		hold(s, !s->held && pick(s, 2));
}

static void watermarks_are_cleared(struct schedule *s)
{
	switch_clear_watermarks(s->b->sw);
	settle(s);
}

static const struct {
	unsigned weight;
	void (*happen)(struct schedule *s);
} events[] = {
	{12, time_passes},	  {3, host_pauses},	      {1, host_resumes},
	{2, host_is_heard_or_not}, {1, host_sends_nonsense},  {3, tx_goes_off_or_on},
	{1, link_goes_down_or_up}, {2, policy_is_replaced},   {2, admission_is_held_or_resumed},
	{1, control_steps},	  {1, watermarks_are_cleared},
};

static void random_event(struct schedule *s)
{
	unsigned total = 0, at;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		total += events[i].weight;
	at = pick(s, total);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (at < events[i].weight) {
			events[i].happen(s);
			break;
		}
		at -= events[i].weight;
	}
	check_balance(s);
	// The hosts' records are not looked at before the end.
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		s->b->host[p].n_rx = s->b->host[p].n_pfc = 0;
}

// ---- the end

static void everything_on(struct schedule *s)
{
	s->silent = true;
	hold(s, false);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		set_link(s, p, true);
		bench_tx(s->b, p, -1, true);
		for (int q = 0; q < N_QUEUES; q++)
			bench_tx(s->b, p, q, true);
	}
	// The longest pause, and the whole buffer through the slowest port, take less.
	bench_run(s->b, 2000000000);
	control_steps(s);
}

static void nothing_is_left(const struct schedule *s)
{
	const struct weir_switch *sw = s->b->sw;

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		for (unsigned g = 0; g < N_PGS; g++) {
			assert_int_equal(pg_used(switch_pg_state(sw, p, g)), 0);
			assert_false(pg_in_xoff(switch_pg_state(sw, p, g)));
			assert_int_equal(
				gauge_get(&switch_queue_counters(sw, p, g)->length_bytes), 0);
			assert_false(switch_queue_paused(sw, p, g));
		}
		assert_int_equal(switch_skid_used(sw, p), 0);
		assert_int_equal(switch_pfc_tx(sw, p)->paused, 0);
		assert_int_equal(switch_pfc_rx(sw, p)->paused, 0);
		assert_int_equal(gauge_get(&switch_port_counters(sw, p)->rx_guard), 0);
		assert_int_equal(s->b->host[p].q_head, s->b->host[p].q_tail);
	}
	for (unsigned pool = 0; pool < N_POOLS; pool++)
		assert_int_equal(switch_pool(sw, pool).used, 0);
	assert_int_equal(switch_balance(sw).queued, 0);
}

static void probe(struct schedule *s, uint8_t dscp)
{
	struct bench_frame f = {.dscp = dscp, .ecn = 1, .len = 100};

	for (unsigned from = 0; from < SCHEDULE_PORTS; from++) {
		for (f.to = 0; f.to < SCHEDULE_PORTS; f.to++) {
			struct bench_host *h = &s->b->host[f.to];

			if (f.to == from)
				continue;
			h->n_rx = 0;
			bench_send(s->b, from, &f);
			bench_run(s->b, 100000000);
			if (h->n_rx != 1)
				fail_msg("a frame of DSCP %u from %u to %u does not arrive", dscp,
					 from + 1, f.to + 1);
		}
	}
}

static void frames_cross_again(struct schedule *s)
{
	const struct classify_params *c = &s->b->policy->ports[0].classify;

	probe(s, 0);
	for (uint8_t dscp = 8; s->conf.promise && dscp < 64; dscp += 8)
		if (c->lossless >> c->dscp_to_class[dscp] & 1)
			probe(s, dscp);
}

static void open_schedule(struct schedule *s, uint64_t seed)
{
	struct bench_opts o = {.seed = seed};

	rng_init(&s->rng, seed);
	schedule_conf_draw(&s->conf, &s->rng);
	if (options.n_workers != 0)
		s->conf.n_workers = options.n_workers;
	o.delay_ns = s->conf.delay_ns;
	o.rx_ring = s->conf.rx_ring;
	s->b = bench_open_with(schedule_policy(&s->conf, &s->rng, true), &o);
	s->control_ns = s->b->clock.now_ns;
	s->b->after_step = schedule_after_step;
	s->b->after_step_arg = s;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		struct bench_host *h = &s->b->host[p];

		h->source = traffic;
		h->source_arg = s;
		if (!s->conf.promise && pick(s, 3) == 0)
			h->obey_after_ns = UINT64_MAX;
		actor_poke(&h->actor);
	}
}

static void count(const struct schedule *s)
{
	const struct weir_switch *sw = s->b->sw;

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		seen.frames += ctr_get(&switch_port_counters(sw, p)->received);
		for (unsigned c = 0; c < N_CLASSES; c++)
			seen.pauses += ctr_get(&switch_pfc_tx(sw, p)->stats[c].transitions);
	}
}

static void run_schedule(uint64_t seed, unsigned n_events)
{
	struct schedule s = {.totals = &seen};

	running_seed = seed;
	running_events = n_events;
	open_schedule(&s, seed);
	for (unsigned i = 0; i < n_events; i++)
		random_event(&s);
	everything_on(&s);
	nothing_is_left(&s);
	frames_cross_again(&s);
	count(&s);
	seen.events += n_events;
	bench_close(s.b);
	running_seed = 0;
}

// ---- the program

static void random_schedules_end_balanced_with_nothing_stuck(void **state)
{
	(void)state;
	for (uint64_t seed = options.from; seed <= options.to; seed++)
		run_schedule(seed, options.n_events);
	print_message("%lu schedules, %lu events, %lu frames, %lu pauses; lossless frames lost: "
		      "%lu without a promise, %lu exempt\n",
		      options.to - options.from + 1, seen.events, seen.frames, seen.pauses,
		      seen.lost_without_promise, seen.lost_exempt);
	if (options.to - options.from + 1 < SEEDS || options.n_events < EVENTS)
		return;
	assert_true(seen.pauses > 200);
	assert_true(seen.lost_without_promise > 100);
}

static int say_how_to_replay(void **state)
{
	char workers[32] = "";

	(void)state;
	if (options.n_workers != 0)
		snprintf(workers, sizeof(workers), " --workers %u", options.n_workers);
	if (running_seed != 0)
		print_error("replay: lab_random %lu --events %u%s\n", running_seed, running_events,
			    workers);
	return 0;
}

static int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(random_schedules_end_balanced_with_nothing_stuck,
					  say_how_to_replay),
	};

	return cmocka_run_group_tests_name("random", tests, bench_eal, NULL);
}

// In a process of its own, silently: a failed schedule leaves its switch behind.
static bool passes(unsigned n_events)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		options.n_events = n_events;
		if (freopen("/dev/null", "w", stdout) == NULL ||
		    freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		_exit(run_group() == 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

// The smallest number of events with which the seed fails, where one less passes.
static int bisect(void)
{
	unsigned good = 0, bad = options.n_events;

	options.to = options.from;
	if (passes(bad)) {
		printf("seed %lu passes with %u events\n", options.from, bad);
		return 0;
	}
	while (bad - good > 1) {
		unsigned middle = good + (bad - good) / 2;

		if (passes(middle))
			good = middle;
		else
			bad = middle;
	}
	options.n_events = bad;
	printf("seed %lu fails from event %u on:\n", options.from, bad);
	fflush(stdout);
	return run_group() == 0 ? 0 : 1;
}

static bool parse_seeds(const char *arg)
{
	char *end;

	options.from = options.to = strtoull(arg, &end, 10);
	if (*end == '-')
		options.to = strtoull(end + 1, &end, 10);
	return end != arg && *end == '\0' && options.from > 0 && options.from <= options.to;
}

static bool parse_args(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--bisect") == 0)
			options.bisect = true;
		else if (strcmp(argv[i], "--events") == 0 && atoi(value) > 0 && ++i)
			options.n_events = (unsigned)atoi(value);
		else if (strcmp(argv[i], "--workers") == 0 && atoi(value) > 0 && ++i)
			options.n_workers = (unsigned)atoi(value);
		else if (strcmp(argv[i], "--seeds") == 0 ? !parse_seeds(argv[++i])
							 : !parse_seeds(argv[i]))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (!parse_args(argc, argv)) {
		fprintf(stderr, "usage: lab_random [SEED | --seeds FROM-TO] [--events N] "
				"[--workers N] [--bisect]\n");
		return 2;
	}
	return options.bisect ? bisect() : run_group();
}
