// SPDX-License-Identifier: Apache-2.0
// DCQCN's fluid model (Zhu et al., SIGCOMM 2015, section 5): N equal flows through one marking
// queue as four delay differential equations. Where a packet run shows what happens, this shows
// why, in milliseconds: the point at which rate, alpha and queue stand still, whether they stay
// there (phase margin of the loop, as in "ECN or Delay", CoNEXT 2016), and the way they take.
// Pure; doubles and libm, for reports only: nothing in a packet run depends on it.
//
//   rates in packets per second, the queue in packets, times in seconds
//   state: queue q, alpha, target rate RT, current rate RC (of one flow)
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fluid_params {
	uint32_t n_flows;
	double capacity_pps; // of the link
	double kmin, kmax; // packets
	double pmax; // 0..1
	double g;
	double cnp_s; // N: gap of CNPs
	double alpha_s; // K: alpha's timer
	double timer_s, byte_packets; // T_inc and B
	double fast_steps; // F
	double ai_pps; // additive increase
	double min_pps;
	double delay_s; // of the loop: marking to reaction
};

struct fluid_point {
	bool found; // false: marking cannot hold the flows (p would exceed pmax), or ends at Rmin
	double p, q, alpha, rc, rt;
	double margin_deg; // phase margin; negative: it oscillates
	double crossover_hz; // where the loop gain is one
};

struct fluid_point fluid_fixed_point(const struct fluid_params *p);

struct fluid_state {
	double t_s, q, alpha, rt, rc;
};

// The trajectory from N flows that start at line rate with an empty queue. each is called every
// `every_s` for `until_s`; step_s is the step of integration (0: a fiftieth of the shortest time
// constant, at most 1 us). -ENOMEM for the history of a long delay.
int fluid_run(const struct fluid_params *p, double until_s, double every_s, double step_s,
	      void (*each)(void *arg, const struct fluid_state *s), void *arg);

// Marking probability of a queue of q packets.
double fluid_mark(const struct fluid_params *p, double q);
