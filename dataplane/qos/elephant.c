// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/elephant.h"

#include "dataplane/base/units.h"

// bytes * 8 / (ns / 10^9) < bps, without rounding. No time is no rate: it is not below.
static bool is_below(uint64_t bytes, uint64_t ns, uint64_t bps)
{
	return (unsigned __int128)bytes * 8 * SECOND_NS < (unsigned __int128)bps * ns;
}

bool elephant_begins(const struct elephant_params *p, struct elephant_stretch *s, uint64_t bytes,
		     uint64_t now_ns)
{
	uint64_t sent = bytes - s->bytes;

	if (is_below(sent, now_ns - s->ns, p->rate_bps)) {
		*s = (struct elephant_stretch){now_ns, bytes};
		return false;
	}
	return sent >= p->bytes;
}

bool elephant_ends(const struct elephant_params *p, struct elephant_stretch *s, uint64_t bytes,
		   uint64_t now_ns)
{
	uint64_t sent = bytes - s->bytes, ns = now_ns - s->ns;

	if (ns < p->end_age_ns)
		return false;
	*s = (struct elephant_stretch){now_ns, bytes};
	return is_below(sent, ns, p->end_rate_bps);
}
