// SPDX-License-Identifier: Apache-2.0
#include "dataplane/policy.h"
#include "tests/lab/schedule_together.h"

#include <string.h>

#include "control/config/config.h"
#include "dataplane/switch_ecn.h"

enum { EVENTS_OUT = 256, CONTROL_NS = 100000000, HELD_FRAMES = 256 };

// The switch takes no frame, and its port has no bound. The bench's memory has one.
static bool waits_for_admission(const struct schedule *s, const struct bench_host *h)
{
	return s->held && wire_ops.rx_depth(wire_end(h->wire, 0)) >= HELD_FRAMES;
}

bool schedule_traffic(struct bench_host *h, struct bench_frame *out)
{
	struct schedule *s = h->source_arg;
	unsigned port = (unsigned)(h - h->bench->host);
	bool copies;

	if (s->silent || s->quiet[port] || s->may_send[port] == 0 ||
	    waits_for_admission(s, h))
		return false;
	s->may_send[port] -= s->may_send[port] != UINT32_MAX;
	if (s->together != NULL)
		return together_traffic(s, port, out);
	copies = pick(s, s->conf.copies_one_in) == 0;
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
	return true;
}

static void check_balance(const struct schedule *s)
{
	struct balance x = switch_balance(s->b->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
}

static void on_change(void *arg, const struct autoecn_change *c)
{
	struct schedule *s = arg;

	if (s->on_thresholds != NULL)
		s->on_thresholds(s, c);
}

void schedule_open(struct schedule *s, const struct bench_opts *o)
{
	struct bench_opts opts = *o;
	char err[256];

	opts.delay_ns = s->conf.delay_ns;
	opts.rx_ring = s->conf.rx_ring;
	s->yaml = schedule_policy(&s->conf, &s->rng, true);
	s->b = bench_open_with(s->yaml, &opts);
	s->control_ns = s->b->clock.now_ns;
	assert_int_equal(
		autoecn_create(s->b->sw, on_change, s, &s->ecn, err, sizeof(err)), 0);
	s->b->after_step = schedule_after_step;
	s->b->after_step_arg = s;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		struct bench_host *h = &s->b->host[p];

		h->source = schedule_traffic;
		h->source_arg = s;
		if (!s->conf.promise && pick(s, 3) == 0)
			h->obey_after_ns = UINT64_MAX;
		actor_poke(&h->actor);
	}
}

// ---- events

void schedule_settle(struct schedule *s)
{
	actor_poke(&s->b->actor);
	bench_run(s->b, 1);
}

void time_passes(struct schedule *s)
{
	bench_run(s->b, pick(s, pick(s, 16) == 0 ? 10 * s->pace_ns : s->pace_ns));
}

static void check_within(const struct ecn_thresholds *t, const struct ecn_rails *r)
{
	assert_in_range(t->kmin_bytes, r->floor_bytes, r->ceiling_bytes);
	assert_true(t->kmax_bytes >= t->kmin_bytes);
}

static void look(struct schedule *s, bool policy_changes)
{
	autoecn_look(s->ecn, policy_changes, s->b->clock.now_ns);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			struct autoecn_view v;

			if (!autoecn_view(s->ecn, p, q, &v))
				continue;
			check_within(&v.now, &v.rails);
			check_within(&v.advice, &v.rails);
		}
}

void schedule_look(struct schedule *s)
{
	look(s, false);
	schedule_settle(s);
}

// Somebody else changes the thresholds of a queue.
static void draw_thresholds(struct schedule *s)
{
	unsigned port = pick(s, SCHEDULE_PORTS), q = pick(s, N_QUEUES);
	uint64_t kmin = pick(s, 40000);
	struct wred_curve c = wred_curve_of(kmin, kmin + pick(s, 100000), pick(s, 1000001));
	struct autoecn_view v;

	if (autoecn_view(s->ecn, port, q, &v))
		s->totals->thresholds += switch_set_curve(s->b->sw, port, q, &c);
}

// Stations may be forgotten.
static bool table_changes(const struct schedule *s)
{
	return s->link_falls || (s->together != NULL && together_table_changes(s));
}

void schedule_control(struct schedule *s)
{
	struct event events[EVENTS_OUT];
	unsigned n;

	s->control_ns += CONTROL_NS;
	do {
		n = switch_control_step(s->b->sw, s->control_ns, events, EVENTS_OUT);
		for (unsigned i = 0; i < n && s->on_event != NULL; i++)
			s->on_event(s, &events[i]);
	} while (n != 0);
	if (s->tap != NULL)
		schedule_look_up(s, table_changes(s));
	look(s, false);
	draw_thresholds(s);
	schedule_settle(s);
	if (s->tap != NULL)
		schedule_known(s);
}

void host_pauses(struct schedule *s)
{
	bench_pause(s->b, pick(s, SCHEDULE_PORTS), (uint8_t)rng_next(&s->rng),
		    (uint16_t)pick(s, pick(s, 2) ? 65536 : 300));
}

void host_resumes(struct schedule *s)
{
	bench_pause(s->b, pick(s, SCHEDULE_PORTS), 0xff, 0);
}

void host_is_heard_or_not(struct schedule *s)
{
	unsigned p = pick(s, SCHEDULE_PORTS);

	s->quiet[p] = !s->quiet[p];
	actor_poke(&s->b->host[p].actor);
}

void host_sends_nonsense(struct schedule *s)
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

void tx_goes_off_or_on(struct schedule *s)
{
	bench_tx(s->b, pick(s, SCHEDULE_PORTS), pick(s, 2) ? -1 : (int)pick(s, 8), pick(s, 2));
}

// Control hears of it before the host does anything else.
void schedule_set_link(struct schedule *s, unsigned port, bool up)
{
	struct bench_host *h = &s->b->host[port];

	if (wire_ops.link_up(h->end) == up)
		return;
	wire_set_up(h->wire, up);
	memset(h->pause_until_ns, 0, sizeof(h->pause_until_ns));
	s->link_falls = !up;
	schedule_control(s);
	s->link_falls = false;
	actor_poke(&h->actor);
}

void link_goes_down_or_up(struct schedule *s)
{
	schedule_set_link(s, pick(s, SCHEDULE_PORTS), pick(s, 3) != 0);
}

// A PFC frame may be under way while the speed changes.
static void before_policy(struct bench *b)
{
	struct schedule *s = b->after_step_arg;

	schedule_forget_losses(s);
	look(s, true);
	if (s->before_policy != NULL)
		s->before_policy(s);
	if (s->together != NULL)
		together_before_policy(s);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		b->host[p].pfc_speed_bps = b->policy->ports[p].speed_bps;
}

void schedule_publish(struct schedule *s, const char *yaml)
{
	struct policy *policy;
	char err[256];

	s->yaml = yaml;
	s->b->before_policy = before_policy;
	policy = bench_compile(s->b, yaml);
	autoecn_carry(s->ecn, policy);
	policy_destroy(bench_publish_compiled(s->b, policy));
	assert_true(autoecn_new_policy(s->ecn, s->b->clock.now_ns, err, sizeof(err)));
	assert_false(s->b->change.late);
	s->totals->changes += s->b->change.classes != 0;
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		const struct policy_port *pp = &s->b->policy->ports[p];

		if (s->held)
			s->exempt[p] |= pp->unpaused_pgs;
		if (pp->speed_bps < s->b->host[p].pfc_speed_bps)
			s->b->host[p].pfc_speed_bps = 0;
	}
	if (s->together != NULL)
		together_after_policy(s);
}

void policy_is_replaced(struct schedule *s)
{
	schedule_publish(s, schedule_policy(&s->conf, &s->rng, false));
}

void schedule_hold(struct schedule *s, bool on)
{
	s->held = on;
	switch_hold_admission(s->b->sw, on);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		actor_poke(&s->b->host[p].actor);
	schedule_settle(s);
}

void admission_is_held_or_resumed(struct schedule *s)
{
	if (s->conf.rx_ring != 0 || !s->conf.promise)
		schedule_hold(s, !s->held && pick(s, 2));
}

void watermarks_are_cleared(struct schedule *s)
{
	switch_clear_watermarks(s->b->sw);
	schedule_settle(s);
}

void schedule_happen(struct schedule *s, const struct schedule_event *events, unsigned n)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < n; i++)
		total += events[i].weight;
	at = pick(s, total);
	for (unsigned i = 0; i < n; i++) {
		if (at < events[i].weight) {
			events[i].happen(s);
			break;
		}
		at -= events[i].weight;
	}
	check_balance(s);
	if (s->together != NULL)
		together_after_event(s);
	// The hosts' records are not looked at before the end.
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		s->b->host[p].n_rx = s->b->host[p].n_pfc = 0;
}

// ---- the end

void schedule_everything_on(struct schedule *s)
{
	s->silent = true;
	if (s->together != NULL)
		together_calm_down(s);
	schedule_hold(s, false);
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++) {
		schedule_set_link(s, p, true);
		bench_tx(s->b, p, -1, true);
		for (int q = 0; q < N_QUEUES; q++)
			bench_tx(s->b, p, q, true);
	}
	if (s->conf.together) {
		s->conf.together = false; // one bridge, and no other feature
		policy_is_replaced(s);
		schedule_control(s);
	}
	// The longest pause, and the whole buffer through the slowest port, take less.
	bench_run(s->b, 2000000000);
	schedule_control(s);
}

void schedule_nothing_is_left(const struct schedule *s)
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

void schedule_frames_cross(struct schedule *s)
{
	const struct classify_params *c = &s->b->policy->ports[0].classify;

	if (s->tap != NULL)
		schedule_announce(s);
	probe(s, 0);
	for (uint8_t dscp = 8; s->conf.promise && dscp < 64; dscp += 8)
		if (c->lossless >> c->dscp_to_class[dscp] & 1)
			probe(s, dscp);
}
