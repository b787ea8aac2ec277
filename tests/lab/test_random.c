// SPDX-License-Identifier: Apache-2.0
// Random schedules on the virtual wire: traffic of all classes and sizes, pauses, reloads of the
// policy, links down and up, TX-disable, held admission, cleared watermarks, with 1 to 3 workers.
//
// However it goes: accounts agree after each step and the balance after each event; in the end,
// with everything on and drained, nothing is in use, nothing is paused, and a frame crosses between
// any two hosts in each lossless class and in class 0.
//
// Half of the schedules carry a promise (schedule_policy.h): all hosts obey PFC, and then no frame
// of a lossless class may be dropped for want of room, whatever a reload moves and whichever link
// comes up. Truly not promised, hence legal, is only:
//   - what a link loses that is down (reason port-down, no alarm);
//   - what waits unseen in a receive ring: admission is held only where the ring's depth can be
//     read, so that the guard pauses the senders. Where frames of lossy classes turn lossless while
//     admission is held, the ring was filled without a guard. Their group is exempt until the group
//     has left XOFF with its headroom empty, and the ring is empty. The exempt time is bounded.
// Frames to unknown addresses, and to groups, are dropped where their lossless class is not flooded
// (reason lossless-unknown, no alarm): never one whose destination is known (schedule_flood.h).
// In the other half some hosts obey nobody.
//
// Half of the schedules put all features together (schedule_together.h). There a promise also
// leaves out what an impairment holds, or copies, of a lossless class on its way in.
//
// In a fifth of the schedules some policies have `pfc.whole_link`, so reloads also change the form
// of a PAUSE that stands.
//
// A reload that changes a port's speed keeps the promise: a PFC frame may be on its way meanwhile,
// so the host counts quanta at the slower of the speeds before and after.
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/switch_flows.h"
#include "tests/lab/schedule_program.h"
#include "tests/lab/schedule_together.h"

#include <string.h>

enum { SEEDS = 40, EVENTS = 150, PACE_NS = 20000, EXEMPT_PERCENT = 10, DETECT_NS = 50000 };

static struct schedule_totals seen;

static const struct schedule_event events[] = {
	{12, time_passes},	  {3, host_pauses},	      {1, host_resumes},
	{2, host_is_heard_or_not}, {1, host_sends_nonsense},  {3, tx_goes_off_or_on},
	{1, link_goes_down_or_up}, {2, policy_is_replaced},   {2, admission_is_held_or_resumed},
	{1, schedule_control},	  {1, watermarks_are_cleared}, {1, host_speaks_as_another},
	// Of schedules with all features.
	{2, zones_change},	  {3, impairment_begins},     {1, impairments_stop},
	{2, a_probe_comes_back},
};
enum { N_EVENTS = sizeof(events) / sizeof(events[0]), N_TOGETHER = 4 };

static void count(const struct schedule *s)
{
	const struct weir_switch *sw = s->b->sw;

	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		seen.frames += ctr_get(&switch_port_counters(sw, p)->received);
		for (unsigned c = 0; c < N_CLASSES; c++)
			seen.pauses += ctr_get(&switch_pfc_tx(sw, p)->stats[c].transitions);
	}
}

static struct together_totals together;
static uint64_t elephants, mice, trimmed;

// With everything on and drained no trimmed frame waits.
static void count_trims(const struct schedule *s)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		uint64_t n = 0, ended = 0;

		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct queue_counters *c = switch_queue_counters(s->b->sw, p, q);

			n += ctr_get(&c->trimmed);
			ended += ctr_get(&c->trim_sent) + ctr_get(&c->trim_dropped);
		}
		assert_int_equal(n, ended);
		assert_int_equal(gauge_get(&switch_port_counters(s->b->sw, p)->trims), 0);
		trimmed += n;
	}
}

static void count_elephants(const struct schedule *s)
{
	struct flow_totals t;

	switch_flow_totals(s->b->sw, &t);
	elephants += t.elephants.began;
	mice += t.elephants.packets[SIZE_MOUSE];
	assert_true(t.elephants.began - t.elephants.ended == t.elephants.now);
	assert_true(t.used <= t.max);
}

// No schedule reaches the times that a file may say. With a promise no storm is found: PFC goes on.
static void adjust(struct policy *p, void *arg)
{
	const struct schedule_conf *c = arg;
	uint64_t detect_ns = c->promise ? UINT32_MAX * (uint64_t)SECOND_NS : DETECT_NS;

	p->copy_frames = SCHEDULE_COPY_FRAMES;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		p->ports[port].watchdog.detect_ns = p->ports[port].watchdog.restore_ns = detect_ns;
}

static void run_schedule(struct schedule_program *p, uint64_t seed)
{
	struct schedule s = {.totals = &seen, .pace_ns = PACE_NS};
	const struct bench_opts o = {.seed = seed, .adjust = adjust, .adjust_arg = &s.conf};
	unsigned n_events = N_EVENTS - N_TOGETHER;

	rng_init(&s.rng, seed);
	schedule_conf_draw(&s.conf, &s.rng);
	s.conf.moves_groups = pick(&s, 2);
	s.conf.together = seed / 2 % 2;
	s.conf.whole_link = seed % 5 == 0;
	s.conf.flows = s.conf.elephants = s.conf.together || seed % 2;
	if (p->n_workers != 0)
		s.conf.n_workers = p->n_workers;
	memset(s.may_send, 0xff, sizeof(s.may_send));
	schedule_open(&s, &o);
	schedule_flood_open(&s);
	if (s.conf.together) {
		together_open(&s, &together);
		n_events = N_EVENTS;
	}
	for (unsigned i = 0; i < p->n_events; i++)
		schedule_happen(&s, events, n_events);
	schedule_everything_on(&s);
	schedule_nothing_is_left(&s);
	schedule_frames_cross(&s);
	count(&s);
	schedule_flood_count(&s);
	count_elephants(&s);
	count_trims(&s);
	seen.events += p->n_events;
	if (s.together != NULL)
		together_close(&s);
	autoecn_destroy(s.ecn);
	bench_close(s.b);
	schedule_flood_close(&s);
}

static void finish(struct schedule_program *p)
{
	unsigned n_pairs;

	print_message("%lu schedules, %lu events, %lu frames, %lu pauses, %lu reloads that move "
		      "classes; lossless frames lost: %lu without a promise, %lu exempt; "
		      "%lu of %lu us exempt; %lu copies, %lu frames to unknown addresses refused; "
		      "%lu elephants, %lu frames of mice, %lu frames trimmed\n",
		      p->to - p->from + 1, seen.events, seen.frames, seen.pauses, seen.changes,
		      seen.lost_without_promise, seen.lost_exempt, seen.exempt_ns / 1000,
		      seen.group_ns / 1000, seen.copies, seen.refused, elephants, mice,
		      trimmed);
	print_message("all features together: dropped %lu for zones, %lu by impairments, %lu by "
		      "storm control, %lu as sticky; %lu ports taken down for a loop, %lu CNPs, "
		      "%lu frames turned, %lu out of tunnels\n",
		      together.zoned, together.impaired, together.limited, together.refused,
		      together.ports_down, together.cnps, together.turned, together.tunnelled);
	n_pairs = feature_pairs_report(&together.pairs, p->as_in_the_suite);
	if (p->to - p->from + 1 >= SEEDS)
		assert_true(seen.exempt_ns * 100 <= seen.group_ns * EXEMPT_PERCENT);
	if (!p->as_in_the_suite)
		return;
	assert_true(seen.pauses > 200);
	assert_true(seen.lost_without_promise > 100);
	assert_true(seen.refused > 100 && seen.copies > 1000);
	assert_true(seen.changes > 200);
	assert_true(elephants > 100 && mice > 1000 && trimmed > 1000);
	assert_true(seen.thresholds > 30);
	assert_int_equal(n_pairs, N_FEATURE_PAIRS);
	assert_true(together.zoned > 100 && together.impaired > 100 && together.limited > 100);
	assert_true(together.refused > 10 && together.ports_down > 0 && together.cnps > 10);
	assert_true(together.turned > 100 && together.tunnelled > 1000);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "lab_random",
		.claim = "random_schedules_end_balanced_with_nothing_stuck",
		.run = run_schedule,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = EVENTS,
	};

	return schedule_main(&p, argc, argv);
}
