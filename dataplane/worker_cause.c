// SPDX-License-Identifier: Apache-2.0
// Why a PAUSE was sent (qos/cause.h): looks through the queues of all ports for the one that holds
// most of a group, and keeps what it found beside the group. Runs on the worker that owns the port
// of arrival, once per PAUSE; the queues are other workers' too, and are read word by word.
#include "dataplane/switch_impl.h"

// A pause that nothing waits for may have run out unnoticed.
static uint8_t paused_classes(const struct port_rt *p, uint64_t at_ns)
{
	uint8_t paused = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (gauge_get(&p->pfc_rx.stats[cls].until_ns) > at_ns)
			paused |= (uint8_t)(1u << cls);
	return paused;
}

static void offer_port(struct pause_cause *c, const struct port_rt *out, unsigned port,
		       unsigned account, const struct frame *at_hand)
{
	uint32_t held[N_QUEUES];

	for (unsigned q = 0; q < N_QUEUES; q++)
		held[q] = atomic_load_explicit(&out->held_cells[account][q], memory_order_relaxed);
	if (at_hand != NULL && at_hand->out_port == port)
		held[at_hand->queue] += at_hand->cells;
	cause_offer(c, port, held);
}

static void name_class(const struct weir_switch *sw, const struct policy *pol, uint64_t at_ns,
		       struct pause_cause *c)
{
	const struct classify_params *k = &pol->ports[c->out_port].classify;
	uint8_t paused = paused_classes(sw->rt[c->out_port], at_ns);

	cause_name_class(c, k->class_to_queue, paused, k->lossless);
}

struct pause_cause cause_search(const struct weir_switch *sw, const struct policy *pol,
				uint64_t at_ns, unsigned account, const struct frame *at_hand)
{
	struct pause_cause c = {.kind = CAUSE_NONE};

	for (unsigned port = 0; port < sw->n_ports; port++)
		offer_port(&c, sw->rt[port], port, account, at_hand);
	if (c.kind != CAUSE_NONE)
		name_class(sw, pol, at_ns, &c);
	return c;
}

// While admission is held pauses stand although they have run out.
static uint64_t pauses_at(const struct worker *w)
{
	return w->hold ? 0 : w->now_ns;
}

uint64_t cause_of_xoff(struct worker *w, const struct frame *f)
{
	struct port_rt *p = worker_port(w, f->in_port);
	struct pause_cause c = cause_search(w->sw, w->pol, pauses_at(w),
					    account_index(f->in_port, f->pg), f);

	p->xoff_by[f->pg].port = f->out_port;
	p->xoff_by[f->pg].queue = f->queue;
	return cause_pack(&c);
}

// All that the group has may still be on its way to other workers: then it waits for the queue to
// which the frame goes that began it.
static struct pause_cause cause_of_group(const struct worker *w, unsigned port, unsigned pg)
{
	const struct port_rt *p = worker_port(w, port);
	struct pause_cause c =
		cause_search(w->sw, w->pol, pauses_at(w), account_index(port, pg), NULL);

	if (c.kind != CAUSE_NONE)
		return c;
	c.kind = CAUSE_QUEUE;
	c.out_port = p->xoff_by[pg].port;
	c.queue = p->xoff_by[pg].queue;
	name_class(w->sw, w->pol, pauses_at(w), &c);
	return c;
}

static void keep_cause(struct worker *w, unsigned port, unsigned pg, unsigned cls)
{
	struct port_rt *p = worker_port(w, port);
	struct pause_cause c = {.kind = CAUSE_RX_RING, .cls = (uint8_t)cls};

	if (p->xoff_pgs >> pg & 1)
		c = cause_of_group(w, port, pg);
	gauge_set(&p->cause[pg].packed, cause_pack(&c));
	gauge_set(&p->cause[pg].t_ns, w->now_ns);
}

void cause_of_pauses(struct worker *w, unsigned port, const struct pfc_times *times)
{
	const uint8_t *class_to_pg = w->pol->ports[port].classify.class_to_pg;
	uint8_t kept = 0; // groups

	for_each_bit (cls, times->enable) {
		unsigned pg = class_to_pg[cls];

		if (times->quanta[cls] == 0 || (kept >> pg & 1))
			continue;
		kept |= (uint8_t)(1u << pg);
		keep_cause(w, port, pg, cls);
	}
}
