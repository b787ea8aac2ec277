// SPDX-License-Identifier: Apache-2.0
// What control reads of the deadlock guard and of the causes of PAUSE.
#include "dataplane/switch_impl.h"

uint64_t switch_guard_remapped(const struct weir_switch *sw, unsigned port, unsigned rule)
{
	return ctr_get(&sw->rt[port]->remapped[rule]);
}

struct pause_cause switch_pause_cause(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	const struct cause_record *r = &sw->rt[port]->cause[pg];

	return cause_unpack(gauge_get(&r->t_ns), gauge_get(&r->packed));
}

struct pause_cause switch_cause_now(const struct weir_switch *sw, unsigned port, unsigned pg)
{
	return cause_search(sw, sw->policy_mem, 0, account_index(port, pg), NULL);
}

uint32_t switch_copies(const struct weir_switch *sw)
{
	return atomic_load_explicit(&sw->copies, memory_order_relaxed);
}

uint32_t switch_copy_frames(const struct weir_switch *sw)
{
	return sw->copy_frames;
}

uint32_t switch_held_cells(const struct weir_switch *sw, unsigned port, unsigned q,
			   unsigned in_port, unsigned pg)
{
	return atomic_load_explicit(&sw->rt[port]->held_cells[account_index(in_port, pg)][q],
				    memory_order_relaxed);
}
