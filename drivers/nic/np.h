// SPDX-License-Identifier: Apache-2.0
// DCQCN's notification point, per queue pair (SIGCOMM 2015, section 3.1, figure 5): which CE-marked
// frame makes a congestion notification packet (CNP), and when. Pure: time is an argument. The
// owner of the NIC calls it; it builds and sends nothing.
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
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/dcqcn.h"

struct np_params {
	uint8_t mode; // enum np_mode
	uint64_t gap_ns;
};

struct np_state {
	uint32_t due; // CNPs to be sent
	bool has_last; // last_ns holds
	bool flagged; // a mark inside the window
	uint64_t last_ns;
};

struct np_params np_params_of(const struct cc_config *c);

// A CE-marked frame arrived.
void np_on_ce(const struct np_params *p, struct np_state *s, uint64_t now_ns);

// A CNP left.
void np_sent(struct np_state *s, uint64_t now_ns);

// The window's end, if somebody waits for it; else UINT64_MAX.
uint64_t np_next(const struct np_params *p, const struct np_state *s);
void np_on_timer(const struct np_params *p, struct np_state *s, uint64_t now_ns);

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
