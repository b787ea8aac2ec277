// SPDX-License-Identifier: Apache-2.0
// A ring of whole frames of any length, with one writer and one reader. A frame takes as many
// elements as it needs.
#pragma once

#include <rte_ring.h>

#include "dataplane/switch_punt.h"

enum { FRAME_RING_ELEM = 64 };

static inline unsigned frame_ring_elems(const struct control_frame *f)
{
	return (unsigned)(offsetof(struct control_frame, bytes) + f->len + FRAME_RING_ELEM - 1) /
	       FRAME_RING_ELEM;
}

// False: there is no room.
static inline bool frame_ring_put(struct rte_ring *r, const struct control_frame *f)
{
	return rte_ring_sp_enqueue_bulk_elem(r, f, FRAME_RING_ELEM, frame_ring_elems(f), NULL) != 0;
}

// False: it is empty.
static inline bool frame_ring_take(struct rte_ring *r, struct control_frame *out)
{
	if (rte_ring_sc_dequeue_elem(r, out, FRAME_RING_ELEM) != 0)
		return false;
	// The writer puts all elements of a frame at once.
	rte_ring_sc_dequeue_bulk_elem(r, (uint8_t *)out + FRAME_RING_ELEM, FRAME_RING_ELEM,
				      frame_ring_elems(out) - 1, NULL);
	return true;
}
