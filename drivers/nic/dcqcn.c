// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/dcqcn.h"

#include <string.h>

enum { MAX_DEN = 65536, ALL_CLASSES = 0xff, CNP_DSCP = 48 };

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
static bool read_number(const char *text, const char *end, uint32_t *out)
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

	if (!read_number(text, slash != NULL ? slash : text + strlen(text), &num))
		return false;
	if (slash != NULL && !read_number(slash + 1, slash + strlen(slash), &den))
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
