// SPDX-License-Identifier: Apache-2.0
// DCQCN in a NIC (Zhu et al., SIGCOMM 2015, sections 3 and 5; NVIDIA's ConnectX parameters): each
// parameter once, as a row of CC_KEYS, the presets, and the two ends of a queue pair. The
// notification point turns CE marks into CNPs, the reaction point turns CNPs into a rate. Pure:
// time is an argument, integers only, so that a run repeats to the byte. The owner of the NIC calls
// it. It builds, sends and paces nothing, and knows no units as people write them: these are
// control's.  A zeroed cc_config is a NIC without DCQCN: it sends no CNP and obeys none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cc_flavour { CC_NONE, CC_PAPER, CC_CONNECTX };

enum np_mode {
	NP_NONE,
	NP_WINDOW, // a CNP per window of n; marks inside the window get a CNP at its end
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
	  "classes whose marks make CNPs") \
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
	uint64_t line_bps; // of the NIC; no key
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

// ---- the notification point of a queue pair (SIGCOMM 2015, section 3.1, figure 5): which
// CE-marked frame makes a congestion notification packet (CNP), and when
//
//   window, the paper's             gap, ConnectX-4 and later
//   CE     x  x x     x       x     CE     x  x x     x       x
//          |<-- n -->|<-- n -->|           |<- n ->|
//   CNP    x         x         x    CNP    x          x       x
//
// A CNP is due when it ought to leave and counts as the last one when it has left (np_sent).
// Between the two it may wait for the capacity of the NIC, which one np_gate keeps, or for a paused
// class. The CNP that waits stands for marks that come meanwhile; only with gap 0 each has its
// own.

struct np_state {
	uint32_t due; // CNPs to be sent
	bool has_last; // last_ns holds
	bool flagged; // a mark inside the window
	uint64_t last_ns;
};

// A CE-marked frame arrived.
void np_on_ce(const struct cc_config *c, struct np_state *s, uint64_t now_ns);

// A CNP left.
void np_sent(struct np_state *s, uint64_t now_ns);

// The end of a window with a mark in it; else UINT64_MAX.
static inline uint64_t np_next(const struct cc_config *c, const struct np_state *s)
{
	return s->flagged ? s->last_ns + c->np_gap_ns : UINT64_MAX;
}
void np_on_timer(const struct cc_config *c, struct np_state *s, uint64_t now_ns);

// What all queue pairs of a NIC share: one CNP per every_ns.
struct np_gate {
	uint64_t every_ns; // 0: no limit
	uint64_t free_ns; // from now on another CNP can be made
};

static inline bool np_gate_open(const struct np_gate *g, uint64_t now_ns)
{
	return now_ns >= g->free_ns;
}

static inline void np_gate_pass(struct np_gate *g, uint64_t now_ns)
{
	g->free_ns = now_ns + g->every_ns;
}

// ---- the reaction point of a queue pair: CNPs, time and bytes sent go in, the rate comes out.
// `paper` (SIGCOMM 2015, section 3.1, equations 1 to 4) cuts at every CNP; `connectx` (NVIDIA's
// parameters) cuts at a tick when CNPs came since the last
//
//   RC current rate, RT target rate, alpha the share of congestion; all start at the line rate, and
//   nothing runs before the first CNP, which finds alpha = 1
//   cut:      RT <- RC; RC <- max(Rmin, RC * (1 - alpha / 2))
//   average:  RC <- (RC + RT) / 2
//
//   paper                                      connectx
//   CNP      cut; alpha <- (1-g) alpha + g;    CNP       flags both ticks
//            T = BC = 0, timers restart        alpha     every k: alpha <- (1-g) alpha
//   alpha    k without a CNP:                            + (flagged ? g : 0)
//            alpha <- (1-g) alpha              cut       every t_dec, 1 ns after alpha's, if
//   increase every t_inc T++, every b bytes              flagged, RT only if clamp or stage != 0;
//            BC++; then RT grows by                      stage = 0, increase timer restarts
//            max < f: nothing                  increase  every t_inc, RT grows by
//            min < f: ai                                 stage < f: nothing
//            else hai * (min - f + 1)                    stage = f: ai
//            (of T and BC), and average                  else hai, and average; stage++
//
// What is due at the same instant acts in this order: alpha, cut, increase, CNP, bytes. Alpha is
// worked out when it is needed, and an increase timer runs only while a rate is below the line,
// where it changes something: a queue pair at rest costs nothing and loses nothing by that.
//
// Fixed point: alpha is in Q46, rounded down at each step, which adds up to less than 1/g of its
// last place; a cut is rounded down to 1 b/s, an average up, so that RC can reach RT.

enum { RP_ALPHA_Q = 46 }; // times a denominator of 65536 it fits 64 bits
#define RP_ALPHA_ONE (1ull << RP_ALPHA_Q)

struct rp_state {
	bool active; // a CNP came
	bool alpha_flag, cut_flag; // connectx: CNPs since the tick
	uint32_t t, bc; // paper: the counters; connectx: t is the stage
	uint64_t rc_bps, rt_bps;
	uint64_t alpha; // Q46, as of the last tick before alpha_at_ns
	uint64_t alpha_at_ns, cut_at_ns, increase_at_ns; // the next ones
	uint64_t budget_bytes; // left of this step
	uint64_t cnps, cuts;
};

// c: as cc_config_wrong accepts it.
void rp_init(const struct cc_config *c, struct rp_state *s);

void rp_on_cnp(const struct cc_config *c, struct rp_state *s, uint64_t now_ns);

// A data frame left, also one sent again. bytes: of the frame.
void rp_on_sent(const struct cc_config *c, struct rp_state *s, uint32_t bytes);

static inline bool rp_below_line(const struct cc_config *c, const struct rp_state *s)
{
	return s->rc_bps < c->line_bps || s->rt_bps < c->line_bps;
}

// When something will change by itself; UINT64_MAX: not before the next CNP.
static inline uint64_t rp_next(const struct cc_config *c, const struct rp_state *s)
{
	uint64_t next = UINT64_MAX;

	if (!s->active)
		return next;
	if (rp_below_line(c, s))
		next = s->increase_at_ns;
	if (s->cut_flag && s->cut_at_ns < next)
		next = s->cut_at_ns;
	return next;
}

// Does all that is due until now, in order of time.
void rp_on_timer(const struct cc_config *c, struct rp_state *s, uint64_t now_ns);

// Alpha in Q46 as it is now.
uint64_t rp_alpha(const struct cc_config *c, const struct rp_state *s, uint64_t now_ns);
