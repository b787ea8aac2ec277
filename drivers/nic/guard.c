// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/guard.h"

#include "dataplane/qos/pfc.h"

// The class is paused until then. False: it has been for too long.
static bool pause_on(struct guard *g, unsigned c, uint64_t until_ns, const uint64_t now_ns,
		     uint64_t limit_ns)
{
	if (now_ns > g->until_ns[c])
		g->since_ns[c] = now_ns;
	g->until_ns[c] = until_ns;
	return now_ns - g->since_ns[c] < limit_ns;
}

bool guard_allows(struct guard *g, uint64_t limit_ns, uint64_t speed_bps,
		  const struct pfc_times *f, uint64_t now_ns)
{
	if (limit_ns == 0 || g->tripped)
		return limit_ns == 0;
	for (unsigned c = 0; c < 8; c++) {
		if (!(f->enable & 1u << c))
			continue;
		if (f->quanta[c] == 0)
			g->until_ns[c] = 0; // XON is a break
		else if (!pause_on(g, c, now_ns + pfc_quanta_ns(speed_bps, f->quanta[c]), now_ns,
				   limit_ns))
			g->tripped = true;
	}
	return !g->tripped;
}
