// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_punt.h"

#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/frame_ring.h"
#include "dataplane/policy.h"
#include "dataplane/svi.h"

enum {
	RING_SENDS = 65536, // bytes
	RING_OTHERS = 131072, // SEND_OTHER
	RING_REQUESTS = 256,
	COMPACT = 16, // rings of a policy with compact tables are so many times smaller
};

// Makes the ring if it is not there.
static int ring_create(unsigned elem, uint32_t n, struct rte_ring **out)
{
	if (*out == NULL)
		*out = switch_ring(elem, n);
	return *out != NULL ? 0 : -ENOMEM;
}

static int frame_ring_create(uint32_t bytes, bool compact, struct rte_ring **out)
{
	uint32_t n = bytes / FRAME_RING_ELEM;

	return ring_create(FRAME_RING_ELEM, (compact ? n / COMPACT : n) - 1, out);
}

static int port_prepare(struct port *p, const struct policy_port *pp, bool compact)
{
	int err = 0;

	if (pp->punts == 0)
		return 0;
	if (p->punt == NULL)
		p->punt = rte_zmalloc("punt", sizeof(*p->punt), RTE_CACHE_LINE_SIZE);
	if (p->punt == NULL)
		return -ENOMEM;
	for (unsigned r = 0; err == 0 && r < N_PUNT_REASONS; r++)
		if (pp->punts >> r & 1)
			err = frame_ring_create(punt_ring_bytes(1u << r), compact,
						&p->punt->ring[r]);
	if (err == 0 && pp->punts >> PUNT_NEIGHBOUR & 1)
		err = ring_create(sizeof(struct neighbour_request),
				  RING_REQUESTS / (compact ? COMPACT / 2 : 1u), &p->punt->requests);
	return err;
}

// A worker looks at a ring once it has a policy that names its reason.
int punts_prepare(struct weir_switch *sw, const struct policy *p)
{
	bool compact = p->routes.compact;
	int err = 0;

	for (unsigned i = 0; err == 0 && i < sw->n_ports; i++)
		err = port_prepare(sw->port[i], &p->ports[i], compact);
	for (unsigned i = 0; err == 0 && p->control_sends && i < sw->n_workers; i++)
		for (unsigned k = 0; err == 0 && k < N_SEND_KINDS; k++)
			err = frame_ring_create(k == SEND_OTHER ? RING_OTHERS : RING_SENDS, compact,
						&sw->workers[i]->sends[k]);
	return err;
}

void punts_destroy(struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers && sw->workers[i] != NULL; i++)
		for (unsigned k = 0; k < N_SEND_KINDS; k++)
			rte_free(sw->workers[i]->sends[k]);
	for (unsigned i = 0; i < sw->n_ports && sw->port[i] != NULL; i++) {
		struct punt_port *punt = sw->port[i]->punt;

		for (unsigned r = 0; punt != NULL && r < N_PUNT_REASONS; r++)
			rte_free(punt->ring[r]);
		if (punt != NULL)
			rte_free(punt->requests);
		rte_free(punt);
	}
}

// The port after the one that had something is the first to be asked next.
static bool next_frame(struct weir_switch *sw, unsigned reason, struct control_frame *out)
{
	for (unsigned i = 0; i < sw->n_ports; i++) {
		unsigned port = (sw->punt_next[reason] + i) % sw->n_ports;
		const struct punt_port *punt = sw->port[port]->punt;

		if (punt == NULL || punt->ring[reason] == NULL ||
		    !frame_ring_take(punt->ring[reason], out))
			continue;
		sw->punt_next[reason] = (port_no_t)((port + 1) % sw->n_ports);
		return true;
	}
	return false;
}

bool switch_next_punt(struct weir_switch *sw, uint32_t reasons, struct control_frame *out)
{
	for (unsigned r = 0; r < N_PUNT_REASONS; r++)
		if (reasons >> r & 1 && next_frame(sw, r, out))
			return true;
	return false;
}

bool switch_next_neighbour_request(struct weir_switch *sw, struct neighbour_request *out)
{
	for (unsigned i = 0; i < sw->n_ports; i++) {
		unsigned port = (sw->requests_next + i) % sw->n_ports;
		const struct punt_port *punt = sw->port[port]->punt;

		if (punt == NULL || punt->requests == NULL ||
		    rte_ring_sc_dequeue_elem(punt->requests, out, sizeof(*out)) != 0)
			continue;
		out->from = (port_no_t)port;
		sw->requests_next = (port_no_t)((port + 1) % sw->n_ports);
		return true;
	}
	return false;
}

bool switch_sends_wait(const struct weir_switch *sw)
{
	for (unsigned i = 0; i < sw->n_workers; i++)
		if (ctr_get(&sw->workers[i]->sends_put) !=
		    ctr_get(&sw->workers[i]->sends_taken))
			return true;
	return false;
}

bool switch_send(struct weir_switch *sw, const struct control_frame *f, enum send_kind kind)
{
	struct worker *w;

	if (f->port >= IFACE_SVI)
		return svi_send(sw, f, kind);
	w = sw->workers[sw->owner[f->port]];
	if (w->sends[kind] == NULL || f->len > CONTROL_FRAME_MAX ||
	    !frame_ring_put(w->sends[kind], f))
		return false;
	atomic_thread_fence(memory_order_release); // of the rings, too
	ctr_inc(&w->sends_put);
	return true;
}
