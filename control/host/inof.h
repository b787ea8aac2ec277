// SPDX-License-Identifier: Apache-2.0
// iNOF in weir-host: which queue pairs an initiator has, as control/inof/endpoint.h says. Each
// subsystem has --qps queue pairs on the path in use. When a path ends, its queue pairs close. The
// queue pairs of the next path send the messages that are left of --count:
//
//	the path has gone  messages in flight are sent again on the next path
//	by force           messages in flight have failed
//
// Each step is a line on stderr: "inof: TIME STEP KEY=VALUE...". TIME: seconds of CLOCK_MONOTONIC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control/host/host.h"
#include "control/inof/endpoint.h"

struct host_inof_stats {
	uint64_t moves; // paths that took over from others
	uint64_t messages_failed; // by force
	uint64_t longest_outage_us; // from the last message on a path to the first on the next
};

// After the port is open, before the NIC is made: hooks are for the NIC.
__attribute__((warn_unused_result)) int host_inof_create(struct host *h, struct nic_hooks *hooks);
void host_inof_destroy(struct host *h);

// Looks at the link, the timers and the queue pairs.
void host_inof_look(struct host *h, uint64_t now_ns);
// No path begins any more.
void host_inof_stop(struct host *h);

// The host ends: it says goodbye. ended: the NIC has had a step for the goodbye.
void host_inof_end(struct host *h);
bool host_inof_ended(const struct host *h);

// The messages of --count of all subsystems are done, or a signal came.
bool host_inof_done(const struct host *h);
// A target has been online.
bool host_inof_found(const struct host *h);

const struct host_inof_stats *host_inof_stats(const struct host *h);
const struct inof_endpoint_stats *host_inof_endpoint_stats(const struct host *h);
