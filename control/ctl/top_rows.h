// SPDX-License-Identifier: Apache-2.0
// One row for each port: rates per second from two snapshots, the trouble that the port is in, and
// the order of the rows. Pure: the time between the snapshots is an argument.
#pragma once

#include <stdbool.h>

#include "control/ctl/top_snapshot.h"

// The order is that of severity.
#define TOP_TROUBLES(X)                                                                            \
	X(DOWN, "down")                                                                            \
	X(NO_DEVICE, "no-dev") /* the interface does not exist */                                  \
	X(NONE, "up")                                                                              \
	X(MARKS, "marks")                                                                          \
	X(DROPS, "drops")                                                                          \
	X(TX_OFF, "tx-off")                                                                        \
	X(PAUSING, "pausing") /* the peer */                                                       \
	X(PAUSED, "paused") /* by the peer */                                                      \
	X(LOSS, "LOSS") /* lossless frames, or frames that the receive ring had no room for */     \
	X(LOOP, "LOOP")                                                                            \
	X(DROP_ALL, "DROPALL")                                                                     \
	X(PFC_OFF, "PFC-OFF")                                                                      \
	X(PORT_DOWN, "WD-DOWN")                                                                    \
	X(STORM, "STORM")

enum top_trouble {
#define X(id, word) TROUBLE_##id,
	TOP_TROUBLES(X)
#undef X
	N_TROUBLES,
};
extern const char *const top_trouble_word[N_TROUBLES];

#define TOP_SORTS(X)                                                                               \
	X(TROUBLE, "trouble")                                                                      \
	X(THROUGHPUT, "throughput")                                                                \
	X(PAUSE, "pause")                                                                          \
	X(DROPS, "drops")                                                                          \
	X(MARKS, "marks")                                                                          \
	X(BUFFER, "buffer")                                                                        \
	X(PORT, "port") /* the order of the policy file */

enum top_sort {
#define X(id, word) TOP_SORT_##id,
	TOP_SORTS(X)
#undef X
	N_TOP_SORTS,
};
extern const char *const top_sort_word[N_TOP_SORTS];

struct top_row {
	const struct top_port *port;
	bool known; // there is an earlier snapshot of the port; else all rates are 0
	double per_s[N_TOP_COUNTS];
	double cls_per_s[TOP_CLASSES][N_TOP_COUNTS];
	double rx_percent, tx_percent; // of the line, with preamble, gap and FCS
	double fill; // of the fullest priority group; 1 is its XOFF threshold
	uint64_t queue_bytes;
	enum top_trouble trouble;
	unsigned index; // in the policy file
};

struct top_rows {
	unsigned n;
	struct top_row row[];
};

// Events per second between two readings of a counter. Counters that were cleared in between count
// from the clear. 0 where seconds is.
double top_per_s(uint64_t before, uint64_t now, double seconds);

// before: NULL where there is none. seconds: between both, of real time. filter: part of the name
// of the ports that are wanted. NULL: out of memory. The caller frees it; it points into `now`.
struct top_rows *top_rows_create(const struct top_snapshot *before, const struct top_snapshot *now,
				 double seconds, const char *filter, enum top_sort sort);
