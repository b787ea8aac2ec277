// SPDX-License-Identifier: Apache-2.0
// PFC that the switch sends. Where a PAUSE is decided:
//
//   pg_overflow (qos/pg.c)            a frame arrives and its group has no room: enter XOFF
//   charge_closely (admission.c)      the group enters XOFF, and its bit in p->xoff_pgs is set
//   classes_to_pause (pause.c)        the classes of the port that must be paused: those of its
//                                     groups in XOFF, of its receive-ring guard, and of control
//   pfc_tx_due (qos/pfc.c)            the content of the PFC frame that is due now, if any
//
// The frame leaves ahead of every queue. Called by the worker that owns the port. PAUSE of the peer
// is peer_pause.h.
#pragma once

#include "dataplane/switch_impl.h"

struct policy;

// Sends the PFC frame that is due, if any. Returns when the next one is.
uint64_t pause_send_now(struct worker *w, struct port *p);
static inline uint64_t pause_send(struct worker *w, struct port *p)
{
	if (p->xoff_pgs == 0 && !p->rx_guarded && (p->pfc_tx.paused | p->pfc_tx.by_control) == 0)
		return UINT64_MAX; // as nearly always
	return pause_send_now(w, p);
}

// ---- why a PAUSE was sent: the queue that holds most of a group (qos/cause.h). The queues are
// other workers' too, and are read word by word.

// The queue that holds most of a group; CAUSE_NONE where none holds any. Pauses that last no longer
// than until at_ns are over. at_hand, if not NULL: a frame of the group that is on its way to its
// queue. Also called by control. pol: the caller's policy.
struct pause_cause pause_cause_search(const struct weir_switch *sw, const struct policy *pol,
				      uint64_t at_ns, unsigned account,
				      const struct frame *at_hand);
// The group of f enters XOFF with it. Returns the cause, packed.
uint64_t pause_cause_of_xoff(struct worker *w, struct port *p, const struct frame *f);
