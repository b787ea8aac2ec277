// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates by water-filling (Bertsekas and Gallager, Data Networks, 6.5.2). All rates
// rise alike. A connection stops at its own limit, or when a link of its way is full. Pure.
#pragma once

#include <stdint.h>

// A link that a connection uses, and which part of its frames takes the link.
struct maxmin_use {
	uint32_t link;
	double share;
};

struct maxmin_conn {
	uint32_t first, n; // its uses
	double most_bps; // its own limit; INFINITY: none
	double rate_bps; // the result
};

// left_bps: capacity of each link, and afterwards what no connection takes. load: room for n_links.
void maxmin_fill(double *left_bps, double *load, uint32_t n_links, const struct maxmin_use *uses,
		 struct maxmin_conn *conns, uint32_t n_conns);
