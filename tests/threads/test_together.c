// SPDX-License-Identifier: Apache-2.0
// All features of feature_pairs.h on one switch with real threads: one to three workers, neighbours
// that obey PFC and send the frames of schedule_net.h, and control, which in each round does
// something else: it publishes a policy that is drawn, lets a link fail, switches TX, holds
// admission, sets zones, impairs, reads every number.
//
// No order of events is fixed, so what is asserted holds in every order: ends never exceed
// beginnings, no frame crosses between hosts that zones keep apart, and at rest the books close to
// the frame, no cell is in use, and no lossless frame was lost for want of headroom.
//
//   NAME [SEED | --seeds FROM-TO] [--events N] [--workers N]      --events: rounds of each seed
#include "dataplane/policy.h"
#include "tests/threads/thread_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "control/observe/observe.h"
#include "dataplane/base/bits.h"
#include "dataplane/switch_impair.h"
#include "dataplane/switch_zones.h"
#include "tests/lab/feature_pairs.h"
#include "tests/lab/schedule_program.h"

enum {
	SEEDS = 8,
	ROUNDS = 30, // of each seed
	GLANCES = 100, // at the balance, in each round
	ZONE_CHANGES = 4096,
	COPY_FRAMES = 2000,
	WATCHDOG_NS = 300000,
	WIRE_NS = 5000, // for the headroom: rings have no length
	SPEED_MBPS = 10000,
};
static const uint64_t rule_ns = 1000000000000; // until it is stopped
static const uint8_t lossless = 1 << 3 | 1 << 5;

struct mixed {
	struct thread_rig *r;
	struct schedule_conf conf;
	struct rng rng;
	struct net_zones zones[ZONE_CHANGES]; // every second one forbids nothing
	bool reloaded, down, held;
};

static struct {
	struct feature_pairs pairs;
	uint64_t rounds, frames, pauses, zoned, impaired;
} seen;

static unsigned pick(struct mixed *x, unsigned n)
{
	return rng_next(&x->rng) % n;
}

// ---- policies

static void adjust(const struct thread_rig *r, struct policy *p)
{
	(void)r;
	p->copy_frames = COPY_FRAMES;
	for (unsigned i = 0; i < PEERS_PORTS; i++)
		p->ports[i].watchdog.detect_ns = p->ports[i].watchdog.restore_ns = WATCHDOG_NS;
}

static void draw_conf(struct mixed *x, const struct schedule_program *p)
{
	struct schedule_conf *c = &x->conf;

	schedule_conf_draw(c, &x->rng);
	c->promise = c->together = c->same_classes = c->flows = c->elephants = true;
	c->full = c->moves_groups = false;
	c->buffer_kb = 1500;
	c->cell_bytes = 256;
	c->delay_ns = WIRE_NS;
	for (unsigned port = 0; port < SCHEDULE_PORTS; port++)
		c->speed_mbps[port] = SPEED_MBPS;
	if (p->n_workers != 0)
		c->n_workers = p->n_workers;
}

// The neighbours may see it a little later.
static void see_policy(struct mixed *x)
{
	uint32_t on = features_of_policy(switch_policy(x->r->sw));
	unsigned view = switch_policy(x->r->sw)->vlan_aware ? PEERS_SEE_VLANS : 0;

	if (on >> FEATURE_SVI & 1)
		view |= PEERS_SEE_ROUTES;
	if (on >> FEATURE_VXLAN & 1)
		view |= PEERS_SEE_TUNNELS;
	atomic_store(&x->r->peers.view, (uint8_t)view);
}

static void policy_is_replaced(struct mixed *x)
{
	thread_rig_publish(x->r, schedule_policy(&x->conf, &x->rng, false));
	see_policy(x);
	x->reloaded = true;
}

// ---- other events

static void link_goes_down_or_up(struct mixed *x)
{
	if (x->down)
		thread_rig_link_up(x->r);
	else
		thread_rig_link_down(x->r);
	x->down = !x->down;
}

static void tx_goes_off_or_on(struct mixed *x)
{
	thread_rig_acknowledged(x->r, switch_set_tx(x->r->sw, pick(x, PEERS_PORTS),
						    pick(x, 2) ? -1 : (int)pick(x, N_QUEUES),
						    pick(x, 2)));
}

static void admission_is_held_or_resumed(struct mixed *x)
{
	x->held = !x->held && pick(x, 2);
	thread_rig_acknowledged(x->r, switch_hold_admission(x->r->sw, x->held));
}

static bool all_done(const struct thread_rig *r, uint64_t arg)
{
	(void)arg;
	return switch_requests_done(r->sw);
}

// Frames that are made before all workers have the zones are judged by nobody.
static void set_zones(struct mixed *x, bool draw)
{
	struct peers *p = &x->r->peers;
	uint16_t at = (uint16_t)(atomic_load(&p->zones_at) + 2);

	assert_true(at < ZONE_CHANGES);
	if (draw)
		net_zones_draw(&x->rng, &x->zones[at]);
	atomic_store_explicit(&p->zones_at, at - 1, memory_order_release);
	assert_int_equal(net_zones_set(x->r->sw, &x->zones[at]), 0);
	thread_rig_await(x->r, all_done, 0);
	atomic_store_explicit(&p->zones_at, at, memory_order_release);
}

static void zones_change(struct mixed *x)
{
	set_zones(x, true);
}

static void impairment_begins(struct mixed *x)
{
	struct impair_rule rule;
	uint32_t id;
	int err;

	net_rule_draw(&x->rng, true, rule_ns, &rule);
	err = switch_impair_add(x->r->sw, pick(x, PEERS_PORTS), &rule, &id);
	assert_true(err == 0 || err == -ENOSPC);
	thread_rig_await(x->r, all_done, 0);
}

static void impairments_stop(struct mixed *x)
{
	(void)switch_impair_stop(x->r->sw, 0);
	thread_rig_await(x->r, all_done, 0);
}

static void all_is_read(struct mixed *x)
{
	thread_rig_read_all(x->r);
}

static void frames_are_tapped(struct mixed *x)
{
	thread_rig_tap_for_a_while(x->r);
}

static void curves_are_ordered(struct mixed *x)
{
	thread_rig_order_curves(x->r, pick(x, 100));
}

static void watermarks_are_cleared(struct mixed *x)
{
	observe_clear(x->r->observe, x->r->control_ns);
	thread_rig_acknowledged(x->r, switch_clear_watermarks(x->r->sw));
}

static const struct {
	unsigned weight;
	void (*happen)(struct mixed *x);
} events[] = {
	{8, policy_is_replaced},     {3, link_goes_down_or_up},
	{4, tx_goes_off_or_on},	     {3, admission_is_held_or_resumed},
	{3, zones_change},	     {4, impairment_begins},
	{1, impairments_stop},	     {2, all_is_read},
	{1, frames_are_tapped},	     {2, curves_are_ordered},
	{1, watermarks_are_cleared},
};

static uint32_t in_force(const struct mixed *x)
{
	uint32_t on = features_of_policy(switch_policy(x->r->sw));
	struct impair_view v;

	for (unsigned port = 0; port < PEERS_PORTS; port++)
		for (int q = -1; q < N_QUEUES; q++)
			if (!switch_tx_enabled(x->r->sw, port, q))
				on |= feature_bit(FEATURE_TX_OFF);
	for (unsigned i = 0; switch_impair_get(x->r->sw, i, &v); i++)
		if (v.state == IMPAIR_ON)
			on |= feature_bit(FEATURE_IMPAIR);
	if (x->zones[atomic_load(&x->r->peers.zones_at)].on)
		on |= feature_bit(FEATURE_ZONES);
	return on | (x->reloaded ? feature_bit(FEATURE_RELOAD) : 0) |
	       (x->down ? feature_bit(FEATURE_LINK_DOWN) : 0) |
	       (x->held ? feature_bit(FEATURE_HOLD) : 0);
}

static void one_round(struct mixed *x)
{
	unsigned total = 0, at, i = 0;

	for (unsigned k = 0; k < sizeof(events) / sizeof(events[0]); k++)
		total += events[k].weight;
	for (at = pick(x, total); at >= events[i].weight; i++)
		at -= events[i].weight;
	x->reloaded = false;
	events[i].happen(x);
	thread_rig_time_passes(x->r);
	for (unsigned k = 0; k < GLANCES; k++) {
		thread_rig_check_balance(x->r);
		sched_yield(); // frames move
	}
	feature_pairs_count(&seen.pairs, in_force(x));
}

// ---- the end

// One bridge, and no other feature.
static void all_calms_down(struct mixed *x)
{
	atomic_store(&x->r->peers.silent, true);
	impairments_stop(x);
	set_zones(x, false);
	thread_rig_acknowledged(x->r, switch_hold_admission(x->r->sw, false));
	for (unsigned port = 0; port < PEERS_PORTS; port++)
		for (int q = -1; q < N_QUEUES; q++)
			thread_rig_acknowledged(x->r, switch_set_tx(x->r->sw, port, q, true));
	if (x->down)
		link_goes_down_or_up(x);
	x->conf.together = false;
	policy_is_replaced(x);
	thread_rig_await(x->r, thread_rig_drained, 0);
}

static void count(const struct mixed *x)
{
	const struct weir_switch *sw = x->r->sw;

	seen.frames += ctr_get(&x->r->peers.sent);
	for (unsigned port = 0; port < PEERS_PORTS; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			seen.pauses += ctr_get(&switch_pfc_tx(sw, port)->stats[cls].transitions);
			seen.zoned += ctr_get(&switch_drops(sw, port, cls, DROP_ZONE)->packets);
			seen.impaired +=
				ctr_get(&switch_drops(sw, port, cls, DROP_IMPAIRED)->packets);
		}
}

static void run_seed(struct schedule_program *p, uint64_t seed)
{
	struct mixed *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	rng_init(&x->rng, seed);
	draw_conf(x, p);
	x->r = thread_rig_open(schedule_policy(&x->conf, &x->rng, true), adjust, NULL);
	x->r->peers.zones = x->zones;
	rng_init(&x->r->peers.rng, seed);
	see_policy(x);
	thread_rig_start(x->r);
	for (unsigned i = 0; i < p->n_events; i++)
		one_round(x);
	all_calms_down(x);
	thread_rig_check_rest(x->r);
	thread_rig_check_lossless(x->r, lossless);
	assert_int_equal(ctr_get(&x->r->peers.not_apart), 0);
	count(x);
	seen.rounds += p->n_events;
	thread_rig_close(x->r);
	free(x);
}

static void finish(struct schedule_program *p)
{
	unsigned n_pairs;

	print_message("%lu switches, %lu rounds, %lu frames, %lu pauses; dropped %lu for zones, "
		      "%lu by impairments\n",
		      p->to - p->from + 1, seen.rounds, seen.frames, seen.pauses, seen.zoned,
		      seen.impaired);
	n_pairs = feature_pairs_report(&seen.pairs, p->as_in_the_suite);
	if (!p->as_in_the_suite)
		return;
	assert_int_equal(n_pairs, N_FEATURE_PAIRS);
	assert_true(seen.zoned > 0 && seen.impaired > 0 && seen.pauses > 0);
}

int main(int argc, char **argv)
{
	struct schedule_program p = {
		.name = "threads_together",
		.claim = "all_features_together_leave_nothing_behind_while_workers_run",
		.setup = thread_rig_eal,
		.run = run_seed,
		.finish = finish,
		.from = 1,
		.to = SEEDS,
		.n_events = ROUNDS,
	};

	return schedule_main(&p, argc, argv);
}
