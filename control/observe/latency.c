// SPDX-License-Identifier: Apache-2.0
// Rows about the time that frames spend in the switch, from the histogram of each queue.
#include <json-c/json.h>

#include "control/observe/observe_impl.h"

struct residence {
	uint64_t n[RESIDENCE_BUCKETS], total, max_ns;
};

static struct residence residence_of(const struct queue_counters *live,
				     const struct queue_counters *base)
{
	struct residence r = {.max_ns = gauge_get(&live->residence_max_ns)};
	unsigned top = 0;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		r.n[b] = ctr_get(&live->residence[b]) - ctr_get(&base->residence[b]);
		r.total += r.n[b];
		if (r.n[b] != 0)
			top = b;
	}
	// The worker keeps one longest time. `clear counters` leaves it, `clear watermarks`
	// takes it back. In another bucket it says nothing of those frames.
	if (residence_bucket(r.max_ns) != top)
		r.max_ns = residence_bucket_max(top);
	return r;
}

// Upper end of the bucket that holds the frame of the given rank (in thousandths of all), or the
// longest time itself where that lies in the same bucket.
static uint64_t quantile_ns(const struct residence *r, unsigned per_mille)
{
	uint64_t rank = (r->total * per_mille + 999) / 1000;
	uint64_t seen = 0;

	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++) {
		seen += r->n[b];
		if (seen >= rank)
			return residence_bucket(r->max_ns) == b ? r->max_ns
								: residence_bucket_max(b);
	}
	return 0;
}

static void latency_row(const struct show *s, unsigned port, unsigned q, struct json_object *list)
{
	struct residence r = residence_of(switch_queue_counters(s->o->sw, port, q),
					  &baseline(s, port)->queue[q]);
	const struct classify_params *c = &policy_of(s->o)->ports[port].classify;
	struct json_object *row;

	if (r.total == 0)
		return;
	row = row_in(list);
	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "queue", q);
	row_u64(row, "class", class_of(c->class_to_queue, q));
	row_u64(row, "packets", r.total);
	row_u64(row, "p50_ns", quantile_ns(&r, 500));
	row_u64(row, "p99_ns", quantile_ns(&r, 990));
	row_u64(row, "max_ns", r.max_ns);
	row_u64(row, "turn_ns", worker_turn_ns(s, switch_port_owner(s->o->sw, port)));
}

void show_latency(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "latency");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			latency_row(s, port, q, list);
}
