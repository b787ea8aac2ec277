// SPDX-License-Identifier: Apache-2.0
#include "dataplane/purge.h"

#include "dataplane/egress.h"

// Frames that one loop looks at to discard them: other ports want to be served too.
enum { PURGE_FRAMES = 256 };

static bool is_over(const struct port *p, unsigned q)
{
	return fifo_purge_over(&p->queue[q].fifo, &p->purge);
}

static void end(struct worker *w, struct port *p, unsigned q)
{
	uint8_t bit = (uint8_t)(1u << q);

	fifo_purge_end(&w->chunks, &p->queue[q].fifo, &p->purge);
	p->purge_begun = 0;
	if (!(p->purge_again & bit))
		p->purging &= (uint8_t)~bit;
	p->purge_again &= (uint8_t)~bit;
	egress_shrunk(p, q, gauge_get(&p->queue[q].c.length_bytes));
}

// The frame that is looked at leaves the queue.
static void take_out(struct worker *w, struct port *p, struct queue *q)
{
	struct frame f;

	fifo_purge_take(&q->fifo, &p->purge, &f);
	gauge_set(&q->c.length_packets, q->fifo.n);
	gauge_set(&q->c.length_bytes, gauge_get(&q->c.length_bytes) - f.len);
	egress_discard(w, p, &f, DROP_WATCHDOG);
}

void purge_look(struct worker *w, struct port *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->purge_begun != 0 ? p->purge_begun : p->purging);

	if (p->purge_begun == 0)
		fifo_purge_begin(&p->queue[q].fifo, &p->purge);
	p->purge_begun = (uint8_t)(1u << q);
	w->busy = true;
	for (unsigned n = 0; n < PURGE_FRAMES && !is_over(p, q); n++) {
		const struct frame *f = fifo_purge_look(&w->chunks, &p->purge);

		if (p->discarded >> f->out_cls & 1)
			take_out(w, p, &p->queue[q]);
		else
			fifo_purge_keep(&p->purge);
	}
	if (is_over(p, q))
		end(w, p, q);
}

void purge_stop(struct worker *w, struct port *p)
{
	unsigned q = (unsigned)__builtin_ctz(p->purge_begun | 1u << N_QUEUES);

	p->purging = p->purge_again = 0;
	if (q == N_QUEUES)
		return;
	while (!is_over(p, q)) {
		fifo_purge_look(&w->chunks, &p->purge);
		fifo_purge_keep(&p->purge);
	}
	end(w, p, q);
}
