// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan_ipcc.h"

#include <inttypes.h>

#include "control/config/config.h"
#include "control/config/units.h"

enum { TEXT_LEN = 32 };

static const uint64_t Q16 = 1 << 16, PPM = 1000000, NS_PER_S = 1000000000;

// ---- what is derived
static uint64_t deep_bytes(const struct ipcc_params *i)
{
	return (uint64_t)i->kmax_bytes * i->deep_q16 / Q16;
}

// What the port sends meanwhile.
static uint64_t bytes_in(const struct policy_port *p, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)p->speed_bps * ns / (8 * NS_PER_S));
}

typedef void queue_fn(const struct policy_port *p, unsigned queue, void *to);

static unsigned each_queue(const struct policy *p, queue_fn *fn, void *to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (p->ports[i].queue[q].ipcc.enabled) {
				n++;
				fn(&p->ports[i], q, to);
			}
	return n;
}

static void none(const struct policy_port *p, unsigned queue, void *to)
{
	(void)p;
	(void)queue;
	(void)to;
}

static bool sends(const struct policy *p)
{
	return each_queue(p, none, NULL) != 0;
}

// ---- as text
static void cut_text(const struct ipcc_params *i, char out[TEXT_LEN])
{
	uint64_t percent = ((uint64_t)i->cut_q16 * 100 + Q16 / 2) / Q16;

	if (i->cut_learnt)
		snprintf(out, TEXT_LEN, "learnt");
	else
		snprintf(out, TEXT_LEN, "%" PRIu64 "%%", percent);
}

static void queue_line(const struct policy_port *p, unsigned queue, void *file)
{
	const struct ipcc_params *i = &p->queue[queue].ipcc;
	char interval[TEXT_LEN];

	unit_print(UNIT_TIME, (int64_t)i->interval_ns, interval, sizeof(interval));
	fprintf(file, "%-8s %5u %10u %10u %10" PRIu64 " %8s %10" PRIu64 " %5u %5u\n", p->name,
		queue, i->kmin_bytes, i->kmax_bytes, deep_bytes(i), interval,
		bytes_in(p, i->interval_ns), i->few, i->many);
}

static void reaction_line(const struct policy_port *p, unsigned queue, void *file)
{
	const struct ipcc_params *i = &p->queue[queue].ipcc;
	char drain[TEXT_LEN], gap[TEXT_LEN], spare[TEXT_LEN], cut[TEXT_LEN];

	unit_print(UNIT_TIME, (int64_t)i->drain_ns, drain, sizeof(drain));
	unit_print(UNIT_TIME, (int64_t)i->min_gap_ns, gap, sizeof(gap));
	unit_print(UNIT_TIME, (int64_t)i->spare_ns, spare, sizeof(spare));
	cut_text(i, cut);
	fprintf(file, "%-8s %5u %6s %8s %8s %8s\n", p->name, queue, cut, drain, gap, spare);
}

static void flows_text(const struct policy *p, FILE *out)
{
	char age[TEXT_LEN];

	unit_print(UNIT_TIME, (int64_t)p->flows.age_ns, age, sizeof(age));
	if (p->flows.max == 0)
		fputs("\nflows: no table\n", out);
	else
		fprintf(out,
			"\nflows: %u, forgotten after %s, %u pairs by hand\n"
			"  memory, with IPCC: %" PRIu64 " B\n",
			p->flows.max, age, p->n_pairs, config_flow_bytes(p));
}

static void cnp_text(const struct policy *p, FILE *out)
{
	fprintf(out, "\n%-8s %5s %5s %10s %7s  CNPs of the switch that leave here\n", "cnp", "dscp",
		"class", "per_ms", "burst");
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct cnp_params *c = &p->ports[i].cnp;

		fprintf(out, "%-8s %5u %5u %10u %7u\n", p->ports[i].name, c->dscp, c->cls,
			c->max_per_ms, c->burst);
	}
}

void plan_ipcc_text(const struct policy *p, FILE *out)
{
	flows_text(p, out);
	if (!sends(p))
		return;
	fprintf(out, "\n%-8s %5s %10s %10s %10s %8s %10s %5s %5s\n", "ipcc", "queue", "kmin",
		"kmax", "deep", "interval", "sent_in_it", "few", "many");
	each_queue(p, queue_line, out);
	fprintf(out, "\n%-8s %5s %6s %8s %8s %8s\n", "ipcc", "queue", "cut", "drain", "min_gap",
		"spare");
	each_queue(p, reaction_line, out);
	fputs("\n"
	      "deep        from this length a queue that grows may ask for `many` CNPs at a\n"
	      "            look\n"
	      "sent_in_it  what the port sends in one interval: below one frame the trend is\n"
	      "            that of single frames, above kmax - kmin a burst is over before it\n"
	      "            is seen\n",
	      out);
	cnp_text(p, out);
}

// ---- as JSON
static void add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

struct json_object *plan_flows_json(const struct policy *p)
{
	struct json_object *o = json_object_new_object();

	add_u64(o, "max", p->flows.max);
	add_u64(o, "age_ns", p->flows.age_ns);
	add_u64(o, "memory_bytes", config_flow_bytes(p));
	add_u64(o, "pairs", p->n_pairs);
	return o;
}

static void queue_json(const struct policy_port *p, unsigned queue, void *list)
{
	const struct ipcc_params *i = &p->queue[queue].ipcc;
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "port", json_object_new_string(p->name));
	add_u64(o, "queue", queue);
	add_u64(o, "kmin_bytes", i->kmin_bytes);
	add_u64(o, "kmax_bytes", i->kmax_bytes);
	add_u64(o, "deep_bytes", deep_bytes(i));
	add_u64(o, "interval_ns", i->interval_ns);
	add_u64(o, "interval_bytes", bytes_in(p, i->interval_ns));
	add_u64(o, "few", i->few);
	add_u64(o, "many", i->many);
	json_object_object_add(o, "cut_learnt", json_object_new_boolean(i->cut_learnt));
	add_u64(o, "cut_ppm", (i->cut_q16 * PPM + Q16 / 2) / Q16);
	add_u64(o, "drain_ns", i->drain_ns);
	add_u64(o, "min_gap_ns", i->min_gap_ns);
	add_u64(o, "spare_ns", i->spare_ns);
	json_object_array_add(list, o);
}

struct json_object *plan_ipcc_json(const struct policy *p)
{
	struct json_object *list = json_object_new_array();

	each_queue(p, queue_json, list);
	return list;
}

void plan_ipcc_port_json(const struct policy_port *p, struct json_object *port)
{
	struct json_object *o = json_object_new_object();

	add_u64(o, "dscp", p->cnp.dscp);
	add_u64(o, "class", p->cnp.cls);
	add_u64(o, "max_per_ms", p->cnp.max_per_ms);
	add_u64(o, "burst", p->cnp.burst);
	json_object_object_add(port, "cnp", o);
}
