// SPDX-License-Identifier: Apache-2.0
#include "control/lab/maxmin.h"

#include <math.h>
#include <stdbool.h>

// Below this a link is full, and a connection at its limit.
static const double full_bps = 1;

static bool is_rising(const struct maxmin_conn *c, const double *left_bps,
		      const struct maxmin_use *uses)
{
	if (c->most_bps - c->rate_bps < full_bps)
		return false;
	for (uint32_t u = c->first; u < c->first + c->n; u++)
		if (left_bps[uses[u].link] < full_bps)
			return false;
	return c->n != 0;
}

void maxmin_fill(double *left_bps, double *load, uint32_t n_links, const struct maxmin_use *uses,
		 struct maxmin_conn *conns, uint32_t n_conns)
{
	double step = INFINITY;

	for (uint32_t i = 0; i < n_conns; i++)
		conns[i].rate_bps = 0;
	while (step > 0) {
		step = INFINITY;
		for (uint32_t l = 0; l < n_links; l++)
			load[l] = 0;
		for (uint32_t i = 0; i < n_conns; i++) {
			const struct maxmin_conn *c = &conns[i];

			if (!is_rising(c, left_bps, uses))
				continue;
			step = fmin(step, c->most_bps - c->rate_bps);
			for (uint32_t u = c->first; u < c->first + c->n; u++)
				load[uses[u].link] += uses[u].share;
		}
		for (uint32_t l = 0; l < n_links; l++)
			if (load[l] > 0)
				step = fmin(step, left_bps[l] / load[l]);
		if (isinf(step))
			return;
		for (uint32_t i = 0; i < n_conns; i++)
			if (is_rising(&conns[i], left_bps, uses))
				conns[i].rate_bps += step;
		for (uint32_t l = 0; l < n_links; l++)
			left_bps[l] = fmax(left_bps[l] - step * load[l], 0);
	}
}
