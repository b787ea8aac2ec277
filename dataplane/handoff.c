// SPDX-License-Identifier: Apache-2.0
#include "dataplane/handoff.h"

#include <rte_malloc.h>

struct handoff *handoff_create(uint32_t n_frames)
{
	struct handoff *h = rte_zmalloc("handoff", sizeof(*h), RTE_CACHE_LINE_SIZE);
	uint32_t n = rte_align32pow2(n_frames * HANDOFF_WORDS);

	if (h == NULL)
		return NULL;
	h->mask = n - 1;
	h->words = rte_zmalloc("handoff", n * sizeof(h->words[0]), RTE_CACHE_LINE_SIZE);
	if (h->words != NULL)
		return h;
	rte_free(h);
	return NULL;
}

void handoff_destroy(struct handoff *h)
{
	if (h != NULL)
		rte_free(h->words);
	rte_free(h);
}
