// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/rp.h"

enum { MOST_STEPS = 1 << 20, PERCENT = 100 };

struct rp_params rp_params_of(const struct cc_config *c, uint64_t line_bps)
{
	return (struct rp_params){
		.flavour = c->flavour,
		.clamp = c->clamp != 0,
		.g_num = c->g_num,
		.g_den = c->g_den,
		.fast = (uint32_t)c->fast,
		.min_dec_percent = (uint32_t)c->min_dec_percent,
		.line_bps = line_bps,
		.rmin_bps = c->rmin_bps,
		.ai_bps = c->ai_bps,
		.hai_bps = c->hai_bps,
		.alpha_ns = c->alpha_ns,
		.increase_ns = c->increase_ns,
		.decrease_ns = c->decrease_ns,
		.byte_budget = c->byte_budget,
	};
}

void rp_init(const struct rp_params *p, struct rp_state *s)
{
	*s = (struct rp_state){
		.rc_bps = p->line_bps,
		.rt_bps = p->line_bps,
		.alpha = RP_ALPHA_ONE,
	};
}

static bool below_line(const struct rp_params *p, const struct rp_state *s)
{
	return s->rc_bps < p->line_bps || s->rt_bps < p->line_bps;
}

// ---- alpha

static uint64_t alpha_step(const struct rp_params *p, uint64_t alpha, bool congested)
{
	uint64_t kept = alpha * (p->g_den - p->g_num);

	return (kept + (congested ? RP_ALPHA_ONE * p->g_num : 0)) / p->g_den;
}

// The ticks until now. Only the first of them can find the flag.
static void alpha_until(const struct rp_params *p, struct rp_state *s, uint64_t now_ns)
{
	uint64_t left;

	while (s->alpha_at_ns <= now_ns && (s->alpha != 0 || s->alpha_flag)) {
		s->alpha = alpha_step(p, s->alpha, s->alpha_flag);
		s->alpha_flag = false;
		s->alpha_at_ns += p->alpha_ns;
		if (p->g_num == 0)
			break;
	}
	if (s->alpha_at_ns > now_ns)
		return;
	// It changes no more; keep the beat.
	left = (now_ns - s->alpha_at_ns) / p->alpha_ns + 1;
	s->alpha_at_ns += left * p->alpha_ns;
}

uint64_t rp_alpha(const struct rp_params *p, const struct rp_state *s, uint64_t now_ns)
{
	struct rp_state at = *s;

	if (at.active)
		alpha_until(p, &at, now_ns);
	return at.alpha;
}

// ---- down

static void cut(const struct rp_params *p, struct rp_state *s)
{
	uint64_t least = p->rmin_bps, off;

	off = (uint64_t)((unsigned __int128)s->rc_bps * s->alpha >> (RP_ALPHA_Q + 1));
	if (p->flavour == CC_CONNECTX) {
		uint64_t kept = s->rc_bps / PERCENT * p->min_dec_percent +
				s->rc_bps % PERCENT * p->min_dec_percent / PERCENT;

		least = kept > least ? kept : least;
	}
	s->rc_bps -= off;
	if (s->rc_bps < least)
		s->rc_bps = least;
	s->cuts++;
}

static void paper_cnp(const struct rp_params *p, struct rp_state *s, uint64_t now_ns)
{
	s->rt_bps = s->rc_bps;
	cut(p, s);
	s->alpha = alpha_step(p, s->alpha, true);
	s->t = s->bc = 0;
	s->budget_bytes = p->byte_budget;
	s->alpha_at_ns = now_ns + p->alpha_ns;
	s->increase_at_ns = now_ns + p->increase_ns;
}

// The tick at cut_at_ns, at which the flag was found.
static void connectx_cut(const struct rp_params *p, struct rp_state *s)
{
	alpha_until(p, s, s->cut_at_ns);
	if (p->clamp || s->t != 0)
		s->rt_bps = s->rc_bps;
	cut(p, s);
	s->t = 0;
	s->cut_flag = false;
	s->increase_at_ns = s->cut_at_ns + p->increase_ns;
}

static void connectx_cnp(const struct rp_params *p, struct rp_state *s, uint64_t now_ns)
{
	if (!s->active) {
		s->alpha_at_ns = now_ns + p->alpha_ns;
		s->cut_at_ns = now_ns + p->decrease_ns + 1;
	} else if (s->cut_at_ns <= now_ns) {
		// Ticks that found no flag were skipped; keep the beat.
		s->cut_at_ns += ((now_ns - s->cut_at_ns) / p->decrease_ns + 1) * p->decrease_ns;
	}
	s->alpha_flag = s->cut_flag = true;
}

void rp_on_cnp(const struct rp_params *p, struct rp_state *s, uint64_t now_ns)
{
	if (p->flavour == CC_NONE)
		return;
	if (s->active) {
		rp_on_timer(p, s, now_ns);
		alpha_until(p, s, now_ns);
	}
	s->cnps++;
	if (p->flavour == CC_PAPER)
		paper_cnp(p, s, now_ns);
	else
		connectx_cnp(p, s, now_ns);
	s->active = true;
}

// ---- up

static void raise_target(const struct rp_params *p, struct rp_state *s, uint64_t by_bps)
{
	s->rt_bps = by_bps < p->line_bps - s->rt_bps ? s->rt_bps + by_bps : p->line_bps;
}

static void average(struct rp_state *s)
{
	s->rc_bps = (s->rc_bps + s->rt_bps + 1) / 2;
}

static void paper_increase(const struct rp_params *p, struct rp_state *s)
{
	uint32_t most = s->t > s->bc ? s->t : s->bc, least = s->t < s->bc ? s->t : s->bc;

	if (least >= p->fast)
		raise_target(p, s, (least - p->fast + 1) * p->hai_bps);
	else if (most >= p->fast)
		raise_target(p, s, p->ai_bps);
	average(s);
}

static void connectx_increase(const struct rp_params *p, struct rp_state *s)
{
	if (s->t > p->fast)
		raise_target(p, s, p->hai_bps);
	else if (s->t == p->fast)
		raise_target(p, s, p->ai_bps);
	average(s);
}

static void on_increase(const struct rp_params *p, struct rp_state *s)
{
	s->increase_at_ns += p->increase_ns;
	if (p->flavour == CC_CONNECTX)
		connectx_increase(p, s);
	if (s->t < MOST_STEPS)
		s->t++;
	if (p->flavour == CC_PAPER)
		paper_increase(p, s);
}

void rp_on_sent(const struct rp_params *p, struct rp_state *s, uint32_t bytes)
{
	uint64_t left = bytes;

	if (p->flavour != CC_PAPER || !s->active || !below_line(p, s))
		return;
	while (left >= s->budget_bytes) {
		left -= s->budget_bytes;
		s->budget_bytes = p->byte_budget;
		if (s->bc < MOST_STEPS)
			s->bc++;
		paper_increase(p, s);
	}
	s->budget_bytes -= left;
}

// ---- time

uint64_t rp_next(const struct rp_params *p, const struct rp_state *s)
{
	uint64_t next = UINT64_MAX;

	if (!s->active)
		return next;
	if (below_line(p, s))
		next = s->increase_at_ns;
	if (s->cut_flag && s->cut_at_ns < next)
		next = s->cut_at_ns;
	return next;
}

void rp_on_timer(const struct rp_params *p, struct rp_state *s, uint64_t now_ns)
{
	while (rp_next(p, s) <= now_ns) {
		if (s->cut_flag && s->cut_at_ns == rp_next(p, s))
			connectx_cut(p, s);
		else
			on_increase(p, s);
	}
}
