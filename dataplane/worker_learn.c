// SPDX-License-Identifier: Apache-2.0
// What a worker does with a source address that the table does not know at the frame's port: it
// reports the address to control (switch_learn.c), or refuses the frame. Each port has its own part
// of the ring of reports, so a flood of new addresses at one port leaves room for the others.
#include "dataplane/switch_impl.h"
#include "dataplane/worker_flood.h"

static bool has_room(const struct worker *w, unsigned port)
{
	uint64_t waiting = ctr_get(&worker_port(w, port)->reports) -
			   ctr_get(&w->sw->learning.taken[port]);

	return waiting < LEARN_RING / w->n_owned;
}

bool learn_report(struct worker *w, unsigned port, uint64_t key, uint8_t lives_at)
{
	bool refused = lives_at != FDB_NO_PORT && w->pol->ports[lives_at].sticky;
	struct learn_record rec = {.key = key, .port = port};

	if (has_room(w, port) && rte_ring_sp_enqueue_elem(w->learn, &rec, sizeof(rec)) == 0) {
		ctr_inc(&worker_port(w, port)->reports);
		flood_note_heard(w, key, port);
	} else {
		fdb_source_forget(w->fdb_cache, key); // reported with its next frame
	}
	if (refused)
		fdb_source_forget(w->fdb_cache, key); // each frame is refused
	return !refused;
}
