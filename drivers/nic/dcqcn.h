// SPDX-License-Identifier: Apache-2.0
// What DCQCN's two ends in a NIC are told (Zhu et al., SIGCOMM 2015, sections 3 and 5; NVIDIA's
// ConnectX parameters): every parameter once, as a row of CC_KEYS, and the presets. The
// notification point (np.h) turns CE marks into CNPs, the reaction point (rp.h) turns CNPs into a
// rate. Plain values, pure; whoever makes a NIC calls it. It knows no units as people write them:
// that is control's.
//
// A zeroed cc_config is a NIC without DCQCN: it sends no CNP and obeys none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cc_flavour { CC_NONE, CC_PAPER, CC_CONNECTX };

enum np_mode {
	NP_NONE,
	NP_WINDOW, // a CNP per window of n; what was marked inside it is told at its end
	NP_GAP, // a CNP per marked frame, those sooner than n after the last left out
};

// GAIN is a fraction and fills two fields, its `most` is the length of its text; all other kinds
// fill one uint64_t.
enum cc_kind { CC_TIME, CC_RATE, CC_BYTES, CC_COUNT, CC_SWITCH, CC_CLASSES, CC_GAIN };

// name, kind, field, least, most, who uses it, help. Rows with the same field are one parameter
// under two names, the second being NVIDIA's.
// clang-format off
#define CC_KEYS(X) \
	X(g, GAIN, g_num, 0, 13, "RP", \
	  "gain of alpha, a fraction of at most 1 such as 1/256") \
	X(k, TIME, alpha_ns, 1, 1000000000, "RP", \
	  "alpha's timer (paper: since the last CNP)") \
	X(dce_tcp_rtt, TIME, alpha_ns, 1, 1000000000, "RP", \
	  "the same as k") \
	X(t_inc, TIME, increase_ns, 1, 10000000000, "RP", \
	  "increase timer") \
	X(rpg_time_reset, TIME, increase_ns, 1, 10000000000, "RP", \
	  "the same as t_inc") \
	X(t_dec, TIME, decrease_ns, 1, 1000000000, "connectx RP", \
	  "tick at which the rate is cut when CNPs came") \
	X(rate_reduce_monitor_period, TIME, decrease_ns, 1, 1000000000, "connectx RP", \
	  "the same as t_dec") \
	X(b, BYTES, byte_budget, 1000, 1000000000000, "paper RP", \
	  "bytes of frames per step of the byte counter") \
	X(f, COUNT, fast, 0, 1000, "RP", \
	  "steps of fast recovery") \
	X(ai, RATE, ai_bps, 0, 1000000000000, "RP", \
	  "additive increase") \
	X(hai, RATE, hai_bps, 0, 1000000000000, "RP", \
	  "hyper increase") \
	X(rmin, RATE, rmin_bps, 10000, 1000000000000, "RP", \
	  "lowest rate") \
	X(clamp_tgt_rate, SWITCH, clamp, 0, 1, "connectx RP", \
	  "every cut lowers the target rate, too") \
	X(min_dec_fac, COUNT, min_dec_percent, 0, 100, "connectx RP", \
	  "per cent of the rate that one cut leaves at least") \
	X(rp_classes, CLASSES, rp_classes, 0, 7, "RP", \
	  "classes in which CNPs are obeyed") \
	X(burst, BYTES, burst_bytes, 0, 16000000, "RP", \
	  "paced in bursts of this size; 0: each packet") \
	X(leak, SWITCH, leak, 0, 1, "RP", \
	  "a queue pair that waits for its pace holds up all others of the NIC") \
	X(n, TIME, np_gap_ns, 0, 1000000000, "NP", \
	  "window (paper), or least time between two CNPs of a queue pair") \
	X(cnp_every, TIME, cnp_every_ns, 0, 1000000000, "NP", \
	  "time that the NIC needs for each CNP") \
	X(np_classes, CLASSES, np_classes, 0, 7, "NP", \
	  "classes whose marks are told") \
	X(cnp_dscp, COUNT, cnp_dscp, 0, 63, "NP", \
	  "DSCP of CNPs; their class is an eighth of it")
// clang-format on

struct cc_config {
	uint8_t flavour; // enum cc_flavour of the reaction point
	uint8_t np; // enum np_mode of the notification point
	uint32_t g_num, g_den;
	uint64_t alpha_ns, increase_ns, decrease_ns, byte_budget, fast;
	uint64_t ai_bps, hai_bps, rmin_bps;
	uint64_t clamp, min_dec_percent;
	uint64_t rp_classes, np_classes; // bitmaps
	uint64_t burst_bytes, leak;
	uint64_t np_gap_ns, cnp_every_ns, cnp_dscp;
};

enum cc_key_id {
#define X(name, kind, field, lo, hi, who, help) CC_KEY_##name,
	CC_KEYS(X)
#undef X
	N_CC_KEYS,
};

struct cc_key {
	const char *name;
	uint8_t kind; // enum cc_kind
	size_t off; // of the field
	uint64_t min, max;
	const char *who, *help;
};
extern const struct cc_key cc_keys[N_CC_KEYS];

// Sets one parameter, not a GAIN, to a value within its range. CLASSES: a bitmap.
void cc_set(struct cc_config *c, const struct cc_key *key, uint64_t v);
uint64_t cc_get(const struct cc_config *c, const struct cc_key *key);

// "1/256". False, and nothing changed, when it is no fraction between 0 and 1 with a denominator of
// at most 65536.
bool cc_set_gain(struct cc_config *c, const char *text);

// Parameters that belong together, by name.
struct cc_preset {
	const char *name, *help;
	struct cc_config config;
};
enum { N_CC_PRESETS = 8 };
extern const struct cc_preset cc_presets[N_CC_PRESETS];

// NULL: no such name. "dcqcn" is another name of "paper".
const struct cc_preset *cc_preset_find(const char *name);

// NULL, or why a NIC of this line rate cannot work with it, as the end of a sentence.
const char *cc_config_wrong(const struct cc_config *c, uint64_t line_bps);
