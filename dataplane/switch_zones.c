// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_zones.h"

#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/switch_impl.h"

int switch_set_zones(struct weir_switch *sw, const struct zone_station *s, uint32_t n)
{
	struct zoning *z = &sw->zoning;
	size_t bytes = zone_table_bytes(s, n);
	struct zone_table *t = NULL;

	if (bytes == 0)
		return -EINVAL;
	if (!switch_request_done(sw, z->request))
		return -EAGAIN;
	if (n != 0) {
		t = rte_zmalloc("zones", bytes, RTE_CACHE_LINE_SIZE);
		if (t == NULL)
			return -ENOMEM;
		zone_table_fill(t, s, n, sw->hash_seed);
	}
	rte_free(z->before); // no worker reads it any more
	z->before = z->now;
	z->now = t;
	atomic_store_explicit(&sw->want.zones, t, memory_order_release);
	control_request(sw);
	z->request = atomic_load(&sw->want.seq);
	return 0;
}

void zones_free(struct weir_switch *sw)
{
	rte_free(sw->zoning.before);
	rte_free(sw->zoning.now);
}
