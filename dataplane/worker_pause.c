// SPDX-License-Identifier: Apache-2.0
// PFC that a driver sees before the frame is received: a word per class, which alone acts. A PAUSE
// then does not wait behind a full receive ring. The frame that follows is only counted where it
// says nothing to a lossless class. Runs on the worker that owns the port.
#include "dataplane/switch_impl.h"

void early_pause_init(struct port_rt *p)
{
	struct port_pause word = {0};

	p->early_pause = p->ops->pause != NULL && p->ops->pause(p->drv, 0, &word);
}

void early_pause_new_policy(struct port_rt *p, uint8_t lossless)
{
	struct port_pause word = {0};

	for (unsigned c = 0; p->early_pause && c < N_CLASSES; c++)
		if (!(p->pause_classes >> c & 1) && p->ops->pause(p->drv, c, &word))
			p->pause_seq[c] = word.seq;
	p->pause_classes = lossless;
}

void early_pause_forget(struct port_rt *p)
{
	uint8_t lossless = p->pause_classes;

	p->pause_classes = 0;
	early_pause_new_policy(p, lossless);
}

// Several frames may have come since the last look: the latest says how long, all are counted.
static void act(struct worker *w, unsigned port, unsigned c, const struct port_pause *word)
{
	const struct pfc_params *params = &w->pol->ports[port].pfc;
	struct port_rt *p = worker_port(w, port);
	struct pfc_times times = {.enable = (uint8_t)(1u << c)};
	uint32_t n = word->seq - p->pause_seq[c];

	times.quanta[c] = word->quanta;
	pfc_rx_frame(params, &p->pfc_rx, &times, w->now_ns);
	if (unlikely(p->stormed != 0))
		watchdog_hear(w, port, &times);
	ctr_add(&p->pfc_rx.stats[c].frames, n - 1);
	ctr_add(&p->c.early_pauses, n);
	p->pause_seq[c] = word->seq;
}

void early_pause_look(struct worker *w, unsigned port)
{
	struct port_rt *p = worker_port(w, port);
	uint8_t left = w->pol->ports[port].pfc.lossless;

	for_each_bit (c, left) {
		struct port_pause word = {0};

		if (p->ops->pause(p->drv, c, &word) && word.seq != p->pause_seq[c])
			act(w, port, c, &word);
	}
}
