// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/hist.h"

uint64_t hist_quantile(const struct hist *h, unsigned permille)
{
	uint64_t rank = (h->n * permille + 999) / 1000, seen = 0;

	if (h->n == 0)
		return 0;
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen >= rank && seen != 0)
			return hist_bucket_max(b) < h->max_ns ? hist_bucket_max(b) : h->max_ns;
	}
	return h->max_ns;
}
