// SPDX-License-Identifier: Apache-2.0
#include "dataplane/waiting.h"

#include "dataplane/admission.h"
#include "dataplane/fate.h"
#include "dataplane/routing.h"

static const uint64_t WAIT_NS = 400000000;

static void count(struct port *p, int more)
{
	gauge_set(&p->c.queued, gauge_get(&p->c.queued) + (uint64_t)(int64_t)more);
}

bool waiting_add(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	struct waiting_room *r = &w->l3->waiting;
	unsigned of_port = 0;

	for (unsigned i = 0; i < r->n; i++)
		of_port += r->all[i].f.in_port == f->in_port;
	if (r->n == WAITING_MAX || of_port == POLICY_PORT_WAITING)
		return false;
	if (r->n == 0)
		r->policy = w->policy_version;
	r->all[r->n++] = (struct waiting){.f = *f, .pkt = *pkt, .end_ns = w->now_ns + WAIT_NS};
	count(worker_port(w, f->in_port), 1);
	return true;
}

// It knows its way.
static void go_on(struct worker *w, struct frame *f)
{
	if (!admission_of_one(w, worker_port(w, f->in_port), f))
		return;
	fate_forwarded_alone(w, f);
	ingress_hand_over_one(w, f);
}

// True: the frame goes on waiting. changed: some neighbour is known that was not, or the reverse.
static bool look(struct worker *w, struct waiting *x, bool changed, bool over)
{
	enum route_outcome out = ROUTE_WAITS;

	count(worker_port(w, x->f.in_port), -1);
	atomic_thread_fence(memory_order_release); // no reader may see it twice
	if (changed && !over)
		out = routing_again(w, &x->f, &x->pkt);
	if (out == ROUTE_GOES)
		go_on(w, &x->f);
	if (out != ROUTE_WAITS)
		return false;
	if (over || w->now_ns >= x->end_ns) {
		fate_dropped(w, worker_port(w, x->f.in_port), &x->f, DROP_NO_NEIGHBOUR);
		return false;
	}
	count(worker_port(w, x->f.in_port), 1);
	return true;
}

void waiting_step(struct worker *w)
{
	struct waiting_room *r = &w->l3->waiting;
	uint32_t version = atomic_load_explicit(&w->l3->neighbours->version, memory_order_acquire);
	bool changed = version != r->version, over = w->policy_version != r->policy;
	unsigned kept = 0;

	admission_claim(w, r->n);
	for (unsigned i = 0; i < r->n; i++)
		if (look(w, &r->all[i], changed, over))
			r->all[kept++] = r->all[i];
	admission_done(w);
	r->n = kept;
	r->version = version;
}

void waiting_end(struct worker *w)
{
	for (unsigned i = 0; w->l3 != NULL && i < w->l3->waiting.n; i++) {
		struct frame *f = &w->l3->waiting.all[i].f;

		struct port *p = worker_port(w, f->in_port);

		count(p, -1);
		fate_dropped(w, p, f, DROP_SHUTDOWN);
	}
}
