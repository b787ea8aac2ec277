// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/dcqcn.h"

#include <string.h>

enum {
	MAX_DEN = 65536,
	ALL_CLASSES = 0xff,
	CNP_DSCP = 48,
	MOST_DUE = 1 << 16,
	MOST_STEPS = 1 << 20,
	PERCENT = 100,
};

#define US 1000ull
#define MBPS 1000000ull
#define MB 1000000ull

const struct cc_key cc_keys[N_CC_KEYS] = {
#define X(name, kind, field, lo, hi, who, help)                                                    \
	[CC_KEY_##name] = {#name, CC_##kind, offsetof(struct cc_config, field), lo, hi, who, help},
	CC_KEYS(X)
#undef X
};

// Section 5.2 of the paper and its table of parameters.
#define PAPER_RP                                                                                   \
	.flavour = CC_PAPER, .g_num = 1, .g_den = 256, .alpha_ns = 55 * US,                        \
	.increase_ns = 55 * US, .decrease_ns = 4 * US, .byte_budget = 10 * MB, .fast = 5,          \
	.ai_bps = 40 * MBPS, .hai_bps = 200 * MBPS, .rmin_bps = 40 * MBPS, .min_dec_percent = 50,  \
	.rp_classes = ALL_CLASSES

// NVIDIA's defaults; of alpha its hardware keeps 1019/1024 a tick, published models 255/256.
#define CONNECTX_RP                                                                                \
	.flavour = CC_CONNECTX, .g_num = 1, .g_den = 256, .alpha_ns = 1 * US,                      \
	.increase_ns = 300 * US, .decrease_ns = 4 * US, .byte_budget = 10 * MB, .fast = 1,         \
	.ai_bps = 5 * MBPS, .hai_bps = 50 * MBPS, .rmin_bps = 1 * MBPS, .min_dec_percent = 50,     \
	.rp_classes = ALL_CLASSES

#define NP(mode, gap, every)                                                                       \
	.np = mode, .np_gap_ns = gap, .cnp_every_ns = every, .np_classes = ALL_CLASSES,            \
	.cnp_dscp = CNP_DSCP

// NP_WINDOW is in the text of the paper, in its simulator and in its fluid model. Simulators whose
// notification point sends nothing at the end of a window have longer queues (docs/dcqcn.md).
const struct cc_preset cc_presets[N_CC_PRESETS] = {
	{"none", "no DCQCN: sends no CNP and obeys none",
	 {.g_num = 1, .g_den = 256, .alpha_ns = 55 * US, .increase_ns = 55 * US,
	  .decrease_ns = 4 * US, .byte_budget = 10 * MB, .rmin_bps = 40 * MBPS,
	  .cnp_dscp = CNP_DSCP}},
	{"paper", "as published: a cut per CNP, a CNP per queue pair and 50 us",
	 {PAPER_RP, NP(NP_WINDOW, 50 * US, 0)}},
	{"connectx", "as ConnectX NICs do it: cuts by a tick of 4 us, CNPs at least 4 us apart",
	 {CONNECTX_RP, NP(NP_GAP, 4 * US, 0)}},
	{"qcn", "paper with the parameters of QCN, which do not converge: a negative control",
	 {.flavour = CC_PAPER, .g_num = 1, .g_den = 16, .alpha_ns = 55 * US,
	  .increase_ns = 1500 * US, .decrease_ns = 4 * US, .byte_budget = 150000, .fast = 5,
	  .ai_bps = 5 * MBPS, .hai_bps = 200 * MBPS, .rmin_bps = 40 * MBPS, .min_dec_percent = 50,
	  .rp_classes = ALL_CLASSES, NP(NP_WINDOW, 50 * US, 0)}},
	// 50 us / 3 us: some 16 flows get all the CNPs they are due.
	{"cx3", "ConnectX-3 Pro: paper, and 3 us for each CNP",
	 {PAPER_RP, NP(NP_GAP, 50 * US, 3 * US)}},
	// 50 us / 250 ns: some 200 flows.
	{"cx4", "ConnectX-4: connectx, and 250 ns for each CNP",
	 {CONNECTX_RP, NP(NP_GAP, 4 * US, 250)}},
	{"gen1", "Azure's first generation: CNPs coalesced where marks are seen, bursts of 64 KB",
	 {PAPER_RP, .burst_bytes = 64000, NP(NP_GAP, 50 * US, 0)}},
	{"gen2", "Azure's second and third generation: a CNP per mark, coalesced by the sender",
	 {CONNECTX_RP, NP(NP_GAP, 0, 0)}},
};

static uint64_t *field(struct cc_config *c, const struct cc_key *key)
{
	return (uint64_t *)(void *)((char *)c + key->off);
}

void cc_set(struct cc_config *c, const struct cc_key *key, uint64_t v)
{
	if (key->kind != CC_GAIN)
		*field(c, key) = v;
}

uint64_t cc_get(const struct cc_config *c, const struct cc_key *key)
{
	uint64_t v;

	memcpy(&v, (const char *)c + key->off, sizeof(v));
	return key->kind == CC_GAIN ? 0 : v;
}

// Digits up to end into a number of at most MAX_DEN.
static bool read_digits(const char *text, const char *end, uint32_t *out)
{
	uint32_t v = 0;

	if (text == end)
		return false;
	for (; text != end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		v = v * 10 + (uint32_t)(*text - '0');
		if (v > MAX_DEN)
			return false;
	}
	*out = v;
	return true;
}

bool cc_set_gain(struct cc_config *c, const char *text)
{
	const char *slash = strchr(text, '/');
	uint32_t num, den = 1;

	if (!read_digits(text, slash != NULL ? slash : text + strlen(text), &num))
		return false;
	if (slash != NULL && !read_digits(slash + 1, slash + strlen(slash), &den))
		return false;
	if (den == 0 || num > den)
		return false;
	c->g_num = num;
	c->g_den = den;
	return true;
}

const struct cc_preset *cc_preset_find(const char *name)
{
	if (strcmp(name, "dcqcn") == 0)
		name = "paper";
	for (unsigned i = 0; i < N_CC_PRESETS; i++)
		if (strcmp(cc_presets[i].name, name) == 0)
			return &cc_presets[i];
	return NULL;
}

const char *cc_config_wrong(const struct cc_config *c, uint64_t line_bps)
{
	if (c->flavour == CC_NONE && c->np == NP_NONE)
		return NULL;
	for (unsigned i = 0; i < N_CC_KEYS; i++) {
		uint64_t v = cc_get(c, &cc_keys[i]);
		uint8_t kind = cc_keys[i].kind;

		if (kind == CC_GAIN ? c->g_den == 0 || c->g_den > MAX_DEN || c->g_num > c->g_den
				    : kind != CC_CLASSES &&
					      (v < cc_keys[i].min || v > cc_keys[i].max))
			return "has a value out of range";
	}
	if (c->np == NP_WINDOW && c->np_gap_ns == 0)
		return "has no window: n is 0";
	if (c->flavour != CC_NONE && c->rmin_bps > line_bps)
		return "has an rmin above the line rate";
	return NULL;
}

// ---- the notification point

void np_on_ce(const struct cc_config *c, struct np_state *s, uint64_t now_ns)
{
	if (c->np == NP_NONE)
		return;
	if (s->due != 0) {
		if (c->np == NP_GAP && c->np_gap_ns == 0 && s->due < MOST_DUE)
			s->due++;
		return;
	}
	if (!s->has_last || now_ns - s->last_ns >= c->np_gap_ns)
		s->due = 1;
	else if (c->np == NP_WINDOW)
		s->flagged = true;
}

void np_sent(struct np_state *s, uint64_t now_ns)
{
	s->due--;
	s->has_last = true;
	s->flagged = false;
	s->last_ns = now_ns;
}

void np_on_timer(const struct cc_config *c, struct np_state *s, uint64_t now_ns)
{
	if (np_next(c, s) > now_ns)
		return;
	s->flagged = false;
	s->due = 1;
}

// ---- the reaction point

void rp_init(const struct cc_config *c, struct rp_state *s)
{
	*s = (struct rp_state){
		.rc_bps = c->line_bps,
		.rt_bps = c->line_bps,
		.alpha = RP_ALPHA_ONE,
	};
}

// ---- alpha

static uint64_t alpha_step(const struct cc_config *c, uint64_t alpha, bool congested)
{
	uint64_t kept = alpha * (c->g_den - c->g_num);

	return (kept + (congested ? RP_ALPHA_ONE * c->g_num : 0)) / c->g_den;
}

// The ticks until now. Only the first of them can find the flag.
static void alpha_until(const struct cc_config *c, struct rp_state *s, uint64_t now_ns)
{
	uint64_t left;

	while (s->alpha_at_ns <= now_ns && (s->alpha != 0 || s->alpha_flag)) {
		s->alpha = alpha_step(c, s->alpha, s->alpha_flag);
		s->alpha_flag = false;
		s->alpha_at_ns += c->alpha_ns;
		if (c->g_num == 0)
			break;
	}
	if (s->alpha_at_ns > now_ns)
		return;
	// It changes no more; keep the beat.
	left = (now_ns - s->alpha_at_ns) / c->alpha_ns + 1;
	s->alpha_at_ns += left * c->alpha_ns;
}

uint64_t rp_alpha(const struct cc_config *c, const struct rp_state *s, uint64_t now_ns)
{
	struct rp_state at = *s;

	if (at.active)
		alpha_until(c, &at, now_ns);
	return at.alpha;
}

// ---- down

static void cut(const struct cc_config *c, struct rp_state *s)
{
	uint64_t least = c->rmin_bps, off;

	off = (uint64_t)((unsigned __int128)s->rc_bps * s->alpha >> (RP_ALPHA_Q + 1));
	if (c->flavour == CC_CONNECTX) {
		uint64_t kept = s->rc_bps / PERCENT * c->min_dec_percent +
				s->rc_bps % PERCENT * c->min_dec_percent / PERCENT;

		least = kept > least ? kept : least;
	}
	s->rc_bps -= off;
	if (s->rc_bps < least)
		s->rc_bps = least;
	s->cuts++;
}

static void paper_cnp(const struct cc_config *c, struct rp_state *s, uint64_t now_ns)
{
	s->rt_bps = s->rc_bps;
	cut(c, s);
	s->alpha = alpha_step(c, s->alpha, true);
	s->t = s->bc = 0;
	s->budget_bytes = c->byte_budget;
	s->alpha_at_ns = now_ns + c->alpha_ns;
	s->increase_at_ns = now_ns + c->increase_ns;
}

// The tick at cut_at_ns, at which the flag was found.
static void connectx_cut(const struct cc_config *c, struct rp_state *s)
{
	alpha_until(c, s, s->cut_at_ns);
	if (c->clamp != 0 || s->t != 0)
		s->rt_bps = s->rc_bps;
	cut(c, s);
	s->t = 0;
	s->cut_flag = false;
	s->increase_at_ns = s->cut_at_ns + c->increase_ns;
}

static void connectx_cnp(const struct cc_config *c, struct rp_state *s, uint64_t now_ns)
{
	if (!s->active) {
		s->alpha_at_ns = now_ns + c->alpha_ns;
		s->cut_at_ns = now_ns + c->decrease_ns + 1;
	} else if (s->cut_at_ns <= now_ns) {
		// Ticks that found no flag were skipped; keep the beat.
		s->cut_at_ns += ((now_ns - s->cut_at_ns) / c->decrease_ns + 1) * c->decrease_ns;
	}
	s->alpha_flag = s->cut_flag = true;
}

void rp_on_cnp(const struct cc_config *c, struct rp_state *s, uint64_t now_ns)
{
	if (c->flavour == CC_NONE)
		return;
	if (s->active) {
		rp_on_timer(c, s, now_ns);
		alpha_until(c, s, now_ns);
	}
	s->cnps++;
	if (c->flavour == CC_PAPER)
		paper_cnp(c, s, now_ns);
	else
		connectx_cnp(c, s, now_ns);
	s->active = true;
}

// ---- up

static void raise_target(const struct cc_config *c, struct rp_state *s, uint64_t by_bps)
{
	s->rt_bps = by_bps < c->line_bps - s->rt_bps ? s->rt_bps + by_bps : c->line_bps;
}

static void average(struct rp_state *s)
{
	s->rc_bps = (s->rc_bps + s->rt_bps + 1) / 2;
}

static void paper_increase(const struct cc_config *c, struct rp_state *s)
{
	uint32_t most = s->t > s->bc ? s->t : s->bc, least = s->t < s->bc ? s->t : s->bc;

	if (least >= c->fast)
		raise_target(c, s, (least - c->fast + 1) * c->hai_bps);
	else if (most >= c->fast)
		raise_target(c, s, c->ai_bps);
	average(s);
}

// The increase timer: `connectx` counts the stage after the increase, `paper` before it.
static void on_increase(const struct cc_config *c, struct rp_state *s)
{
	s->increase_at_ns += c->increase_ns;
	if (c->flavour == CC_CONNECTX) {
		if (s->t >= c->fast)
			raise_target(c, s, s->t == c->fast ? c->ai_bps : c->hai_bps);
		average(s);
	}
	if (s->t < MOST_STEPS)
		s->t++;
	if (c->flavour == CC_PAPER)
		paper_increase(c, s);
}

void rp_on_sent(const struct cc_config *c, struct rp_state *s, uint32_t bytes)
{
	uint64_t left = bytes;

	if (c->flavour != CC_PAPER || !s->active || !rp_below_line(c, s))
		return;
	while (left >= s->budget_bytes) {
		left -= s->budget_bytes;
		s->budget_bytes = c->byte_budget;
		if (s->bc < MOST_STEPS)
			s->bc++;
		paper_increase(c, s);
	}
	s->budget_bytes -= left;
}

// ---- time

void rp_on_timer(const struct cc_config *c, struct rp_state *s, uint64_t now_ns)
{
	while (rp_next(c, s) <= now_ns) {
		if (s->cut_flag && s->cut_at_ns == rp_next(c, s))
			connectx_cut(c, s);
		else
			on_increase(c, s);
	}
}
