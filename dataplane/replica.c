// SPDX-License-Identifier: Apache-2.0
#include "dataplane/replica.h"

// ---- memory of copies

// One worker keeps the sum as it goes; several look at it once per burst, and here.
//
// Copies are counted before the pool is looked at: of two workers at least one sees the other's.
void replica_add(struct worker *w, unsigned n)
{
	atomic_fetch_add_explicit(&w->sw->copies, n, memory_order_relaxed);
	if (w->sw->n_workers == 1) {
		w->others_used[POOL_INGRESS] += n;
		return;
	}
	atomic_thread_fence(memory_order_seq_cst);
	admission_refresh(w);
}

void replica_remove(struct worker *w, unsigned n)
{
	atomic_fetch_sub_explicit(&w->sw->copies, n, memory_order_relaxed);
	if (w->sw->n_workers == 1)
		w->others_used[POOL_INGRESS] -= n;
}

// The lab stores no payload: the copy then has fewer bytes than the length of the frame says.
struct rte_mbuf *replica_copy(const struct worker *w, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, w->sw->pool, 0, m->data_len);

	if (copy != NULL) {
		copy->pkt_len = m->pkt_len;
		copy->hash.rss = FLOW_NONE;
	}
	return copy;
}

// ---- records

static struct rte_mbuf *record_mbuf(const struct frame *f)
{
	return (struct rte_mbuf *)(uintptr_t)(f->arrival_ns & ~FRAME_REPLICATED);
}

static struct replica *record_of(const struct frame *f)
{
	return rte_pktmbuf_mtod(record_mbuf(f), struct replica *);
}

// False: there is no memory.
bool replica_make(struct worker *w, struct frame *f, unsigned n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->sw->pool);
	struct replica *r;

	if (m == NULL)
		return false;
	r = rte_pktmbuf_mtod(m, struct replica *);
	r->cells = f->cells;
	r->arrival_ns = f->arrival_ns;
	atomic_init(&r->left, n);
	f->arrival_ns = (uintptr_t)m | FRAME_REPLICATED;
	return true;
}

uint64_t replica_arrival_of_record(const struct frame *f)
{
	return record_of(f)->arrival_ns;
}

void replicas_gone(struct worker *w, const struct frame *f, unsigned n)
{
	struct replica *r = record_of(f);

	replica_remove(w, n);
	if (atomic_fetch_sub_explicit(&r->left, n, memory_order_acq_rel) != n)
		return;
	admission_release(w, f->in_port, f->pg, r->cells);
	rte_pktmbuf_free(record_mbuf(f));
}
