// SPDX-License-Identifier: Apache-2.0
// Frames of routed ports whose next hop is being asked for: a few wait until its MAC address is
// known, so that the first frame to a station is not lost. They are not charged to the buffer, so
// their number is small, and each port has a share. A frame that has waited too long is dropped,
// and so are all when the policy changes. Called by the worker that owns the port of arrival.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/frame.h"
#include "dataplane/packet/parse.h"

struct worker;

enum { WAITING_MAX = 64 }; // of a worker; of a port: POLICY_PORT_WAITING

struct waiting {
	struct frame f;
	struct pkt_info pkt;
	uint64_t end_ns; // then it is dropped
};

struct waiting_room {
	unsigned n;
	uint32_t version; // of the neighbours, when the frames were last looked at
	uint64_t policy; // version of the policy that they came under
	struct waiting all[WAITING_MAX]; // the oldest first
};

// False: too many frames wait.
bool waiting_add(struct worker *w, const struct frame *f, const struct pkt_info *pkt);
// Sends on the frames whose next hop is known by now, and drops those that have waited too long.
void waiting_step(struct worker *w);
// Drops all of them; the worker has stopped.
void waiting_end(struct worker *w);

// When the oldest one waits no longer.
static inline uint64_t waiting_wake(const struct waiting_room *r)
{
	return r->n == 0 ? UINT64_MAX : r->all[0].end_ns;
}
