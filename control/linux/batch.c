// SPDX-License-Identifier: Apache-2.0
#include "control/linux/batch.h"

#include "dataplane/base/units.h"

static const uint64_t QUIET_NS = 5 * MS_NS, BATCH_NS = 50 * MS_NS, AGAIN_NS = 100 * MS_NS;
// For each prefix of a table, until the next one: to make the table takes some 1.5 us a prefix,
// and daemons wait for their frames meanwhile.
static const uint64_t PAUSE_NS = 5 * US_NS;

void batch_change(struct batch *b, uint64_t now_ns)
{
	if (b->first_ns == 0)
		b->first_ns = now_ns;
	b->latest_ns = now_ns;
}

bool batch_due(const struct batch *b, uint64_t now_ns, bool read_all, bool stale)
{
	if (b->first_ns == 0 || now_ns < b->not_before_ns)
		return false;
	if (now_ns - b->first_ns >= BATCH_NS)
		return true;
	return read_all && (now_ns - b->latest_ns >= QUIET_NS ||
			    (!stale && b->first_ns - b->ended_ns >= BATCH_NS));
}

void batch_end(struct batch *b, uint64_t now_ns, uint32_t n_prefixes)
{
	*b = (struct batch){.ended_ns = now_ns, .not_before_ns = now_ns + n_prefixes * PAUSE_NS};
}

void batch_again(struct batch *b, uint64_t now_ns)
{
	b->not_before_ns = now_ns + AGAIN_NS;
}
