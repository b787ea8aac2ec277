// SPDX-License-Identifier: Apache-2.0
// Why a PAUSE was sent: looks through the queues of all ports for the one that holds most of a
// group (qos/cause.h), and keeps the answer beside the group. Called by the worker that owns the
// port of arrival, once per PAUSE. The queues are other workers' too, and are read word by word.
#pragma once

#include "dataplane/switch_impl.h"

// The queue that holds most of a group; CAUSE_NONE where none holds any. Pauses that last no longer
// than until at_ns are over. at_hand, if not NULL: a frame of the group that is on its way to its
// queue. Also called by control. pol: the caller's policy.
struct pause_cause pause_cause_search(const struct weir_switch *sw, const struct policy *pol,
				      uint64_t at_ns, unsigned account,
				      const struct frame *at_hand);
// The group of f enters XOFF with it. Returns the cause, packed.
uint64_t pause_cause_of_xoff(struct worker *w, struct port *p, const struct frame *f);
// A PFC frame has left: keeps the causes of its pauses.
void pause_cause_keep(struct worker *w, struct port *p, const struct pfc_times *times);
