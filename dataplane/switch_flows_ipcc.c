// SPDX-License-Identifier: Apache-2.0
// Control's side of the notifications: memory for the queues that send them, and what they say.
#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/switch_impl.h"

// A worker may read the pointer as soon as it is there; it uses it with the policy that asks for
// it.
static int prepare_queue(struct port_rt *p, unsigned q)
{
	struct ipcc_rt *rt;

	if (atomic_load_explicit(&p->ipcc[q], memory_order_relaxed) != NULL)
		return 0;
	rt = rte_zmalloc("ipcc", sizeof(*rt), RTE_CACHE_LINE_SIZE);
	if (rt == NULL)
		return -ENOMEM;
	atomic_store_explicit(&p->ipcc[q], rt, memory_order_release);
	return 0;
}

int flows_prepare(struct weir_switch *sw, const struct policy *p)
{
	int err = 0;

	for (unsigned port = 0; port < sw->n_ports; port++)
		for (unsigned q = 0; err == 0 && q < N_QUEUES; q++)
			if (p->ports[port].queue[q].ipcc.enabled)
				err = prepare_queue(sw->rt[port], q);
	return err;
}

void flows_free_ipcc(struct port_rt *p)
{
	for (unsigned q = 0; q < N_QUEUES; q++)
		rte_free(atomic_load_explicit(&p->ipcc[q], memory_order_relaxed));
}

const struct ipcc_counters *switch_ipcc(const struct weir_switch *sw, unsigned port, unsigned queue)
{
	const struct ipcc_rt *rt =
		atomic_load_explicit(&sw->rt[port]->ipcc[queue], memory_order_relaxed);

	return rt == NULL ? NULL : &rt->c;
}

unsigned switch_cnp_records(struct weir_switch *sw, struct cnp_record *out, unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < sw->n_workers && k < n; i++) {
		const struct worker_flows *flows = sw->workers[i]->flows;

		if (flows != NULL)
			k += rte_ring_sc_dequeue_burst_elem(flows->records, out + k, sizeof(*out),
							    n - k, NULL);
	}
	return k;
}

uint64_t switch_cnp_records_lost(const struct weir_switch *sw)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < sw->n_workers; i++)
		if (sw->workers[i]->flows != NULL)
			lost += ctr_get(&sw->workers[i]->flows->records_lost);
	return lost;
}
