// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/cause.h"

void cause_offer(struct pause_cause *c, unsigned port, const uint32_t held[N_QUEUES])
{
	for (unsigned q = 0; q < N_QUEUES; q++) {
		if (held[q] <= c->held_cells)
			continue;
		c->kind = CAUSE_QUEUE;
		c->out_port = (port_no_t)port;
		c->queue = (uint8_t)q;
		c->held_cells = held[q];
	}
}

// Bitmap of the classes whose frames wait in a queue.
static uint8_t classes_in_queue(const uint8_t class_to_queue[N_CLASSES], unsigned queue)
{
	uint8_t classes = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (class_to_queue[cls] == queue)
			classes |= (uint8_t)(1u << cls);
	return classes;
}

void cause_name_class(struct pause_cause *c, const uint8_t class_to_queue[N_CLASSES],
		      uint8_t paused, uint8_t lossless)
{
	uint8_t classes = classes_in_queue(class_to_queue, c->queue);

	c->paused = (classes & paused) != 0;
	if (c->paused)
		classes &= paused;
	else if ((classes & lossless) != 0)
		classes &= lossless;
	c->cls = classes != 0 ? (uint8_t)__builtin_ctz(classes) : c->queue;
}
