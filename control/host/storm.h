// SPDX-License-Identifier: Apache-2.0
// The pause storm of weir-host: the plan from its options, the account of what it sends
// (storm_tally.h), and its part of the report. The NIC sends the frames (drivers/nic/pausing.h).
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "control/host/host.h"

struct json_object;

// NULL, or why the link of the port cannot carry the storm of the options.
const char *host_storm_wrong(const struct host *h);

// The storm begins at start_ns.
void host_storm_start(struct host *h, uint64_t start_ns);

// After each step of the NIC. before_ns: the time that the step was given. A request to stop ends a
// storm that is all that there is to do.
void host_storm_look(struct host *h, uint64_t before_ns);

// The last frame has left, the XON of --then-xon included.
bool host_storm_over(const struct host *h);

// 0, or with --exact 1 and the reason in h->error: the storm was not as planned.
int host_storm_judge(struct host *h);

// "storm" of the report; nothing where there was no storm.
void host_storm_json(const struct host *h, struct json_object *report);
void host_storm_table(const struct host *h, FILE *out);
