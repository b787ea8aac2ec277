// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_ecn.h"

#include <rte_malloc.h>

#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

bool switch_set_curve(struct weir_switch *sw, unsigned port, unsigned queue,
		      const struct wred_curve *c)
{
	struct curve_order *o = atomic_load(&sw->want.curves[port]);

	if (o == NULL) {
		o = rte_zmalloc(NULL, sizeof(*o), RTE_CACHE_LINE_SIZE);
		if (o == NULL)
			return false;
		atomic_store_explicit(&sw->want.curves[port], o, memory_order_release);
	}
	if (!switch_request_done(sw, o->request))
		return false;
	o->policy_version = sw->policy_mem->version;
	o->queue = (uint8_t)queue;
	o->curve = *c;
	atomic_store_explicit(&o->n, atomic_load(&o->n) + 1, memory_order_release);
	control_request(sw);
	o->request = atomic_load(&sw->want.seq);
	return true;
}

void ecn_free(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_ports; i++)
		rte_free(atomic_load(&sw->want.curves[i]));
}
