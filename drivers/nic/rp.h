// SPDX-License-Identifier: Apache-2.0
// DCQCN's reaction point, per queue pair: CNPs, time and bytes sent go in, the rate comes out. Two
// flavours: `paper` (SIGCOMM 2015, section 3.1, equations 1 to 4) cuts at every CNP; `connectx`
// (NVIDIA's parameters) cuts at a tick when CNPs came since the last. Pure: time is an argument,
// integers only, so that a run repeats to the byte. The owner of the NIC calls it; it paces
// nothing.
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
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/dcqcn.h"

enum { RP_ALPHA_Q = 46 }; // times a denominator of 65536 it fits 64 bits
#define RP_ALPHA_ONE (1ull << RP_ALPHA_Q)

struct rp_params {
	uint8_t flavour; // enum cc_flavour
	bool clamp;
	uint32_t g_num, g_den, fast, min_dec_percent;
	uint64_t line_bps, rmin_bps, ai_bps, hai_bps;
	uint64_t alpha_ns, increase_ns, decrease_ns, byte_budget;
};

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
struct rp_params rp_params_of(const struct cc_config *c, uint64_t line_bps);
void rp_init(const struct rp_params *p, struct rp_state *s);

void rp_on_cnp(const struct rp_params *p, struct rp_state *s, uint64_t now_ns);

// A data frame left, also one sent again. bytes: of the frame.
void rp_on_sent(const struct rp_params *p, struct rp_state *s, uint32_t bytes);

// When something will change by itself; UINT64_MAX: not before the next CNP.
uint64_t rp_next(const struct rp_params *p, const struct rp_state *s);

// Does all that is due until now, in order of time.
void rp_on_timer(const struct rp_params *p, struct rp_state *s, uint64_t now_ns);

// Alpha in Q46 as it is now.
uint64_t rp_alpha(const struct rp_params *p, const struct rp_state *s, uint64_t now_ns);
