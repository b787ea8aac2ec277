// SPDX-License-Identifier: Apache-2.0
#include "control/inof/parted.h"

#include <stdlib.h>
#include <string.h>

#include "control/inof/registry_impl.h"

struct inof_sight {
	uint64_t zone_set[INOF_HOSTS][ZONE_WORDS]; // zones of each host
	uint64_t members[ZONE_SLOTS][WORDS]; // hosts of each zone
};

struct inof_sight *inof_sight_take(const struct inof_registry *r)
{
	struct inof_sight *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (r->host[i] != NULL)
			memcpy(s->zone_set[i], r->host[i]->zone_set, sizeof(s->zone_set[i]));
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (r->zone[z] != NULL)
			memcpy(s->members[z], r->zone[z]->members, sizeof(s->members[z]));
	return s;
}

// Hosts that share a zone with the host, in one word of the set.
static uint64_t sharing(const struct inof_sight *s, unsigned host, unsigned word)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < ZONE_WORDS; i++)
		for (uint64_t left = s->zone_set[host][i]; left != 0; left &= left - 1)
			all |= s->members[i * 64 + (unsigned)__builtin_ctzll(left)][word];
	return all;
}

// Two hosts with both roles are one pair.
static bool is_again(const struct host *h, const struct host *target)
{
	return target->no == h->no ||
	       (target->no < h->no && h->service.role == INOF_BOTH &&
		target->service.role == INOF_BOTH);
}

unsigned inof_parted(const struct inof_registry *r, const struct inof_sight *before,
		     const struct inof_sight *after, struct inof_pair *out, unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i < INOF_HOSTS && n < most; i++) {
		const struct host *h = r->host[i];

		if (h == NULL || !h->online || !(h->service.role & INOF_INITIATOR))
			continue;
		for (unsigned w = 0; w < WORDS; w++) {
			uint64_t lost = r->online[inof_ip_is_v6(h->ip)][INOF_TARGET][w];

			if (lost != 0)
				lost &= sharing(before, i, w) & ~sharing(after, i, w);
			for (; lost != 0; lost &= lost - 1) {
				unsigned at = w * 64 + (unsigned)__builtin_ctzll(lost);
				const struct host *target = r->host[at];

				if (n < most && !is_again(h, target))
					out[n++] = (struct inof_pair){h->ip, target->ip};
			}
		}
	}
	return n;
}
