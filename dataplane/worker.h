// SPDX-License-Identifier: Apache-2.0
// The poll-mode loop. It strings the stages together and is the only place that acts on their
// verdicts: receive, parse, classify, forward, admit, queue, schedule, mark, transmit, settle.
#pragma once

#include <stdint.h>

struct worker;

// Does one loop at time now_ns (never decreasing) and returns the time at which the worker next has
// something to do by itself; UINT64_MAX: nothing until a frame arrives. Live it is called without
// pause, the lab calls it when an event is due. Allocates, locks and logs nothing.
uint64_t worker_step(struct worker *w, uint64_t now_ns);

// For the thread that steps the worker. Writes up to PORT_WAIT_FDS descriptors of each owned port
// and returns how many; -1: a port has a driver that only rx() can ask. They are valid until the
// worker's next step after which worker_n_devices_taken() has another value.
int worker_wait_fds(const struct worker *w, int *fds);
uint32_t worker_n_devices_taken(const struct worker *w);
