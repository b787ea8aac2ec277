// SPDX-License-Identifier: Apache-2.0
#include "control/config/plan_ipcc.h"

#include <inttypes.h>

#include "control/config/config.h"
#include "control/config/units.h"
#include "dataplane/units.h"

enum { TEXT_LEN = 32 };

static const uint64_t Q16 = 1 << 16;

// ---- what is derived
static uint64_t deep_bytes(const struct ipcc_params *i)
{
	return i->kmax_bytes * i->deep_q16 / Q16;
}

// Groups that fill a queue together: each has its min, and `share` of its threshold.
struct fill {
	uint64_t min_cells, static_cells;
	uint64_t alpha_q24; // sum of share * alpha
};

static void fill_add(struct fill *f, uint64_t min_cells, const struct threshold *t,
		     uint32_t share_q16)
{
	f->min_cells += min_cells;
	if (t->dynamic)
		f->alpha_q24 += (uint64_t)share_q16 << (8 + t->alpha_log2);
	else
		f->static_cells += t->static_cells * (uint64_t)share_q16 >> 16;
}

// Each group of s = share * alpha * free, and free is what they leave of the pool.
static uint64_t fill_bytes(const struct policy *p, const struct fill *f, uint64_t pool)
{
	uint64_t fixed = f->static_cells < pool ? f->static_cells : pool, one_q24 = 1 << 24;
	uint64_t shared = (uint64_t)((unsigned __int128)(pool - fixed) * f->alpha_q24 /
				     (one_q24 + f->alpha_q24));

	return (f->min_cells + fixed + shared) * p->cell.bytes;
}

// A bitmap of the priority groups of a port. Frames of these groups go to the queue.
static unsigned groups_to(const struct policy_port *from, const struct policy_port *to,
			  unsigned queue)
{
	unsigned groups = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (to->classify.class_to_queue[cls] == queue &&
		    from->classify.lossless >> cls & 1)
			groups |= 1u << from->classify.class_to_pg[cls];
	return groups;
}

static struct ipcc_depth depth_of_lossy(const struct policy *p, const struct egress_params *e,
					uint32_t share_q16)
{
	struct fill f = {0};
	uint64_t bytes;

	fill_add(&f, e->min_cells, &e->shared, share_q16);
	bytes = fill_bytes(p, &f, p->buffer.egress_lossy_cells);
	return (struct ipcc_depth){bytes, bytes};
}

struct ipcc_depth plan_ipcc_depth(const struct policy *p, unsigned port, unsigned queue,
				  uint32_t share_q16)
{
	const struct policy_port *to = &p->ports[port];
	struct ipcc_depth d = {0};
	struct fill all = {0};

	if (!to->queue[queue].egress.lossless)
		return depth_of_lossy(p, &to->queue[queue].egress, share_q16);
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct policy_port *from = &p->ports[i];
		unsigned left = i == port ? 0 : groups_to(from, to, queue);

		for (; left != 0; left &= left - 1) {
			const struct pg_params *pg = &from->pg[__builtin_ctz(left)];
			struct fill one = {0};
			uint64_t bytes;

			fill_add(&one, pg->min_cells, &pg->shared, share_q16);
			fill_add(&all, pg->min_cells, &pg->shared, share_q16);
			bytes = fill_bytes(p, &one, p->buffer.ingress_pool_cells);
			d.one = d.one == 0 || bytes < d.one ? bytes : d.one;
		}
	}
	d.all = fill_bytes(p, &all, p->buffer.ingress_pool_cells);
	return d;
}

// What the port sends meanwhile.
static uint64_t bytes_in(const struct policy_port *p, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)p->speed_bps * ns / (8ull * SECOND_NS));
}

typedef void queue_fn(const struct policy *p, unsigned port, unsigned queue, void *to);

static unsigned each_queue(const struct policy *p, queue_fn *fn, void *to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (p->ports[i].queue[q].ipcc.enabled) {
				n++;
				fn(p, i, q, to);
			}
	return n;
}

static void none(const struct policy *p, unsigned port, unsigned queue, void *to)
{
	(void)p;
	(void)port;
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

static void queue_line(const struct policy *p, unsigned port, unsigned queue, void *file)
{
	const struct policy_port *pp = &p->ports[port];
	const struct ipcc_params *i = &pp->queue[queue].ipcc;
	char interval[TEXT_LEN];

	unit_print(UNIT_TIME, (int64_t)i->interval_ns, interval, sizeof(interval));
	fprintf(file,
		"%-8s %5u %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %8s %10" PRIu64 " %3u %4u\n",
		pp->name, queue, i->kmin_bytes, i->kmax_bytes, deep_bytes(i), interval,
		bytes_in(pp, i->interval_ns), i->few, i->many);
}

static void reaction_line(const struct policy *p, unsigned port, unsigned queue, void *file)
{
	const struct ipcc_params *i = &p->ports[port].queue[queue].ipcc;
	const struct ipcc_depth deep = plan_ipcc_depth(p, port, queue, i->deep_q16);
	char drain[TEXT_LEN], gap[TEXT_LEN], spare[TEXT_LEN], cut[TEXT_LEN];

	unit_print(UNIT_TIME, (int64_t)i->drain_ns, drain, sizeof(drain));
	unit_print(UNIT_TIME, (int64_t)i->min_gap_ns, gap, sizeof(gap));
	unit_print(UNIT_TIME, (int64_t)i->spare_ns, spare, sizeof(spare));
	cut_text(i, cut);
	fprintf(file, "%-8s %5u %6s %8s %8s %8s %12" PRIu64 " %12" PRIu64 "\n",
		p->ports[port].name, queue, cut, drain, gap, spare, deep.one, deep.all);
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
	fprintf(out, "\n%-8s %5s %11s %11s %11s %8s %10s %3s %4s\n", "ipcc", "queue", "kmin",
		"kmax", "deep", "interval", "sent_in_it", "few", "many");
	each_queue(p, queue_line, out);
	fprintf(out, "\n%-8s %5s %6s %8s %8s %8s %12s %12s\n", "ipcc", "queue", "cut", "drain",
		"min_gap", "spare", "deep_one", "deep_all");
	each_queue(p, reaction_line, out);
	fputs("\n"
	      "deep        from this length a queue that grows may ask for `many` CNPs at a\n"
	      "            look\n"
	      "deep_one    likewise where one port alone fills it: there the priority group\n"
	      "            has reached `deep` of its threshold\n"
	      "deep_all    likewise where all other ports fill it alike\n"
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

static void queue_json(const struct policy *p, unsigned port, unsigned queue, void *list)
{
	const struct policy_port *pp = &p->ports[port];
	const struct ipcc_params *i = &pp->queue[queue].ipcc;
	const struct ipcc_depth deep = plan_ipcc_depth(p, port, queue, i->deep_q16);
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "port", json_object_new_string(pp->name));
	add_u64(o, "queue", queue);
	add_u64(o, "kmin_bytes", i->kmin_bytes);
	add_u64(o, "kmax_bytes", i->kmax_bytes);
	add_u64(o, "deep_bytes", deep_bytes(i));
	add_u64(o, "deep_one_bytes", deep.one);
	add_u64(o, "deep_all_bytes", deep.all);
	add_u64(o, "interval_ns", i->interval_ns);
	add_u64(o, "interval_bytes", bytes_in(pp, i->interval_ns));
	add_u64(o, "few", i->few);
	add_u64(o, "many", i->many);
	json_object_object_add(o, "cut_learnt", json_object_new_boolean(i->cut_learnt));
	add_u64(o, "cut_ppm", ((uint64_t)i->cut_q16 * PPM + Q16 / 2) / Q16);
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
