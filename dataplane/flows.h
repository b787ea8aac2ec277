// SPDX-License-Identifier: Apache-2.0
// RoCEv2 flows (roce/flow.h, roce/pairing.h) on their way through the switch. On arrival the flow
// of each frame of a burst is found or made, and counted (roce/flow_seal.h). The worker that owns
// the port of arrival does that, and keeps the way by which the flow leaves. Answers are read where
// they leave, by the worker that owns the port of departure, which owns the flows that they answer.
#pragma once

#include "dataplane/switch_impl.h"

struct burst;

// Finds or makes the flows of a burst of one port, counts, and informs pairing. Sets frame_flow of
// all of them, and `answer` of those that pairing wants to read.
void flows_burst(struct worker *w, struct burst *b);
// Forwarding has found the way of these.
void flows_forwarded(struct worker *w, const struct frame *frames, unsigned n);
// A frame marked `answer` leaves by a port of this worker's.
void flows_on_answer(struct worker *w, const struct frame *f);
// Of those, a READ request.
static inline bool flows_is_request(const struct pkt_info *pkt)
{
	return roce_role_of_opcode[pkt->bth_opcode] == ROCE_ROLE_READ_REQUEST;
}
// A frame that pairing wants to read, where it leaves.
static inline bool flows_is_answer(const struct pkt_info *pkt)
{
	enum roce_role role = pkt->roce ? roce_role(pkt->bth_opcode, pkt->bth_dest_qp)
					: ROCE_ROLE_OTHER;

	return role == ROCE_ROLE_ACK || role == ROCE_ROLE_CNP || role == ROCE_ROLE_MANAGEMENT ||
	       role == ROCE_ROLE_READ_REQUEST;
}
// CE was set in a frame of an owned port's queue.
static inline void flows_marked(const struct worker *w, const struct frame *f)
{
	const struct worker_flows *flows = flows_of_port(w->sw, f->in_port);

	if (frame_flow(f) != FLOW_NONE)
		gauge_set(&flows->table.flows[frame_flow(f)].marked_ns, w->now_ns);
}
// Once per loop: ageing, orders of control, events.
void flows_tick(struct worker *w);
