// SPDX-License-Identifier: Apache-2.0
#include "dataplane/policy.h"
#include "tests/lab/schedule_together.h"

#include <stdio.h>
#include <string.h>

#include "dataplane/qos/shaper.h"

// Every queue for every group: too much to be read after each step.
enum { STEPS_PER_HELD_CHECK = 16 };

static void check_pool(struct schedule *s, enum pool_id pool, uint64_t groups)
{
	struct pool_use u = switch_pool(s->b->sw, pool);
	uint64_t before = s->pool_before[pool];

	if (pool != POOL_EGRESS_LOSSY)
		assert_int_equal(u.used, groups);
	// A reload may leave a pool smaller than what is in it; then it only drains. In the step
	// that takes a policy over, headroom may become shared memory.
	if (pool == POOL_INGRESS && s->policy_seen != s->b->policy->version)
		before += s->pool_before[POOL_HEADROOM];
	if (u.used > u.size && u.used > before)
		fail_msg("pool %s of %lu cells holds %lu", pool_name[pool], u.size, u.used);
	s->pool_before[pool] = u.used;
}

static void check_group(struct schedule *s, unsigned port, unsigned g)
{
	const struct pg_params *params = &s->b->policy->ports[port].pg[g];
	const struct pg_state *pg = switch_pg_state(s->b->sw, port, g);
	uint64_t headroom = gauge_get(&pg->headroom);

	if (headroom > params->xoff_cells && headroom > s->headroom_before[port][g])
		fail_msg("group %u of port %u holds %lu cells of headroom, its cap is %u", g,
			 port + 1, headroom, params->xoff_cells);
	s->headroom_before[port][g] = headroom;
	assert_true(params->lossless || !pg_in_xoff(pg));
	if ((s->exempt[port] >> g & 1) && !pg_in_xoff(pg) && headroom == 0 &&
	    wire_ops.rx_depth(wire_end(s->b->host[port].wire, 0)) == 0)
		s->exempt[port] &= (uint8_t)~(1u << g);
}

// Why the port has lost frames of the class since the start.
static const char *reasons_of(const struct schedule *s, unsigned port, unsigned cls)
{
	static char text[256];
	size_t n = 0;

	for (unsigned r = 0; r < N_DROP_REASONS && n < sizeof(text); r++) {
		uint64_t lost = ctr_get(&switch_drops(s->b->sw, port, cls, r)->packets);

		if (drop_info[r].loss && lost != 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %lu ",
					      drop_info[r].name, lost);
	}
	return text;
}

static void judge_loss(struct schedule *s, unsigned port, unsigned cls, uint64_t n)
{
	unsigned g = s->b->policy->ports[port].classify.class_to_pg[cls];

	if (!s->conf.promise)
		s->totals->lost_without_promise += n;
	else if (s->exempt[port] >> g & 1)
		s->totals->lost_exempt += n;
	else
		fail_msg("port %u lost %lu frames of lossless class %u, by now as: %s", port + 1, n,
			 cls, reasons_of(s, port, cls));
}

static uint64_t losses(const struct schedule *s, unsigned port, unsigned cls)
{
	uint64_t lost = 0;

	for (unsigned r = 0; r < N_DROP_REASONS; r++)
		if (drop_info[r].loss)
			lost += ctr_get(&switch_drops(s->b->sw, port, cls, r)->packets);
	return lost;
}

static void check_losses(struct schedule *s, unsigned port)
{
	uint8_t lossless = s->b->policy->ports[port].classify.lossless;

	for (uint8_t left = lossless; left != 0; left &= (uint8_t)(left - 1)) {
		unsigned cls = (unsigned)__builtin_ctz(left);
		uint64_t lost = losses(s, port, cls);

		if (lost != s->lost[port][cls])
			judge_loss(s, port, cls, lost - s->lost[port][cls]);
		s->lost[port][cls] = lost;
	}
}

void schedule_forget_losses(struct schedule *s)
{
	for (unsigned p = 0; p < SCHEDULE_PORTS; p++)
		for (unsigned c = 0; c < N_CLASSES; c++)
			s->lost[p][c] = losses(s, p, c);
}

// The host is free again, or still free, although the switch counts on its silence; or it stays
// paused although the switch has let it go. A PFC frame has left when the switch counts it, and
// takes its time on the wire. PAUSE of 802.3x may stop all classes until the port pauses none.
static void check_pauses(struct schedule *s, unsigned port)
{
	const struct bench *b = s->b;
	const struct bench_host *h = &b->host[port];
	uint8_t paused = switch_pfc_tx(b->sw, port)->paused;
	uint64_t now = b->clock.now_ns;
	uint64_t way = (PFC_FRAME_LEN + LINK_OVERHEAD_BYTES) * 8000ull / s->conf.speed_mbps[port] +
		       2 + b->delay_ns;

	for (unsigned c = 0; c < N_CLASSES; c++) {
		uint64_t since = gauge_get(&switch_pfc_tx(b->sw, port)->stats[c].since_ns);
		uint64_t *freed_ns = &s->freed_ns[port][c];
		bool stands = since != 0 || (s->conf.whole_link && paused != 0);

		if (stands)
			*freed_ns = UINT64_MAX;
		else if (*freed_ns == UINT64_MAX)
			*freed_ns = now;
		if (since != 0 && now > since + way && h->pause_until_ns[c] <= now)
			fail_msg("the pause of class %u on port %u has lapsed", c, port + 1);
		if (!stands && now > *freed_ns + way && h->pause_until_ns[c] > now)
			fail_msg("the pause of class %u on port %u was never ended", c, port + 1);
	}
}

// Time of lossless groups, and the part of it that is exempt.
static void count_exempt(struct schedule *s)
{
	uint64_t now = s->b->clock.now_ns, passed = now - s->counted_ns;

	s->counted_ns = now;
	for (unsigned p = 0; s->conf.promise && !s->silent && p < SCHEDULE_PORTS; p++)
		for (unsigned g = 0; g < N_PGS; g++) {
			s->totals->group_ns += s->b->policy->ports[p].pg[g].lossless ? passed : 0;
			s->totals->exempt_ns += s->exempt[p] >> g & 1 ? passed : 0;
		}
}

uint64_t schedule_drops(const struct schedule *s, unsigned port, enum drop_reason reason)
{
	uint64_t n = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		n += ctr_get(&switch_drops(s->b->sw, port, cls, reason)->packets);
	return n;
}

bool schedule_follow_link(struct schedule *s, unsigned port)
{
	struct bench_host *h = &s->b->host[port];
	bool up = switch_link_up(s->b->sw, port);

	if (up == s->was_up[port])
		return false;
	s->was_up[port] = up;
	memset(h->pause_until_ns, 0, sizeof(h->pause_until_ns));
	if (!up && wire_ops.link_up(h->end)) {
		wire_set_up(h->wire, false);
		wire_set_up(h->wire, true);
	}
	actor_poke(&h->actor);
	return true;
}

void schedule_after_step(struct bench *b)
{
	struct schedule *s = b->after_step_arg;
	uint64_t shared = 0, headroom = 0;

	if (s->together != NULL)
		together_after_step(s);
	count_exempt(s);
	for (unsigned p = 0; p < b->n_ports; p++) {
		uint64_t skid = 0;

		check_losses(s, p);
		// What a port said before it was taken down may still arrive.
		if (s->conf.promise && switch_link_up(b->sw, p))
			check_pauses(s, p);
		for (unsigned g = 0; g < N_PGS; g++) {
			const struct pg_state *pg = switch_pg_state(b->sw, p, g);

			check_group(s, p, g);
			shared += gauge_get(&pg->shared);
			headroom += gauge_get(&pg->headroom);
			skid += gauge_get(&pg->skid);
		}
		assert_int_equal(switch_skid_used(b->sw, p), skid);
	}
	check_pool(s, POOL_INGRESS, shared);
	check_pool(s, POOL_HEADROOM, headroom);
	check_pool(s, POOL_EGRESS_LOSSY, 0);
	schedule_check_refused(s);
	s->policy_seen = b->policy->version;
	if (s->steps++ % STEPS_PER_HELD_CHECK == 0)
		bench_check_held(b);
}
