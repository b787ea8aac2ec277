// SPDX-License-Identifier: Apache-2.0
// The memory of one group or queue that is alone in the switch, and the queues of a plan.
#include "control/config/plan.h"

#include <json-c/json.h>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"

// With frames of one cell the last frame finds a pool that the frames before it have filled:
// s <= a * (pool - (s - 1)), so s = a * (pool + 1) / (1 + a).
uint64_t plan_alone_cells(const struct threshold *t, uint64_t pool)
{
	uint64_t shared = t->static_cells;

	if (t->dynamic && t->alpha_log2 >= 0)
		shared = ((pool + 1) << t->alpha_log2) / (1 + (1ull << t->alpha_log2));
	else if (t->dynamic)
		shared = (pool + 1) / (1 + (1ull << -t->alpha_log2));
	return min_u64(shared, pool);
}

uint64_t plan_xon_alone_cells(const struct pg_params *pg, uint64_t pool)
{
	uint64_t lo = 0, hi = pool + 1; // with lo cells of shared memory it sends XON

	while (hi - lo > 1) {
		uint64_t mid = (lo + hi) / 2;

		if (mid <= pg_xon_at(pg, pool - mid))
			lo = mid;
		else
			hi = mid;
	}
	return pg->min_cells + lo;
}

static void add_number(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static struct json_object *queue_json(const struct policy *p, unsigned port, unsigned q)
{
	const struct policy_queue *pq = &p->ports[port].queue[q];
	const struct egress_params *e = &pq->egress;
	const struct wred_params *w = &pq->wred;
	uint64_t pool = p->buffer.egress_lossy_cells, cell = p->cell.bytes;
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "port", json_object_new_string(p->ports[port].name));
	add_number(o, "queue", q);
	json_object_object_add(o, "lossless", json_object_new_boolean(e->lossless));
	if (!e->lossless) {
		uint64_t alone = e->min_cells + plan_alone_cells(&e->shared, pool);

		add_number(o, "min_bytes", e->min_cells * cell);
		add_number(o, "limit_alone_bytes", alone * cell);
	}
	json_object_object_add(o, "ecn", json_object_new_boolean(w->enabled && w->ecn));
	if (w->enabled) {
		add_number(o, "kmin_bytes", w->curve[0].kmin_bytes);
		add_number(o, "kmax_bytes", w->curve[0].kmax_bytes);
		add_number(o, "pmax_ppm", (w->curve[0].pmax_q32 * PPM + (1ull << 31)) >> 32);
	}
	return o;
}

struct json_object *plan_queues_json(const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			json_object_array_add(list, queue_json(p, i, q));
	return list;
}
