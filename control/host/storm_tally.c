// SPDX-License-Identifier: Apache-2.0
#include "control/host/storm_tally.h"

#include "dataplane/base/units.h"

void storm_tally_init(struct storm_tally *t, uint64_t lifetime_ns, uint64_t start_ns,
		      uint64_t period_ns)
{
	*t = (struct storm_tally){
		.lifetime_ns = lifetime_ns, .start_ns = start_ns, .period_ns = period_ns};
}

static uint64_t burst_of(const struct storm_tally *t, uint64_t at_ns)
{
	return t->period_ns == 0 ? 0 : (at_ns - t->start_ns) / t->period_ns;
}

// The PAUSE before this frame lasted long enough, or left a hole.
static void close_gap(struct storm_tally *t, uint64_t after_ns)
{
	uint64_t gap_ns = after_ns - t->last_ns;

	t->gap_max_ns = max_u64(t->gap_max_ns, gap_ns);
	if (gap_ns <= t->lifetime_ns)
		return;
	t->holes++;
	t->hole_sum_ns += gap_ns - t->lifetime_ns;
	t->hole_max_ns = max_u64(t->hole_max_ns, gap_ns - t->lifetime_ns);
}

void storm_tally_sent(struct storm_tally *t, bool pause, uint64_t before_ns, uint64_t after_ns)
{
	uint64_t burst = burst_of(t, before_ns);

	t->stamp_max_ns = max_u64(t->stamp_max_ns, after_ns - before_ns);
	if (t->standing && (!pause || burst == t->burst))
		close_gap(t, after_ns);
	t->standing = pause;
	if (!pause) {
		t->xons++;
		return;
	}
	if (t->pauses++ == 0)
		t->first_ns = before_ns;
	t->last_ns = before_ns;
	t->burst = burst;
}
