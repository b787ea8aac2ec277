// SPDX-License-Identifier: Apache-2.0
// The daemon without its threads and devices, for the targets that speak to its sockets: server,
// requests, reload, captures, event log and the page of metrics as they are, over a switch of two
// ports. From the first port comes what the harness says; what is sent vanishes. Time is the
// harness's. Both sockets are abstract UNIX sockets, so that nothing touches files or networks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_daemon;

void fuzz_daemon_init(void); // once per process
struct fuzz_daemon *fuzz_daemon_open(void);
// All clients must be closed. Checks the balance, mbufs and descriptors.
void fuzz_daemon_close(struct fuzz_daemon *d);

// A client that does not block; -1 where the queue of connections is full.
int fuzz_daemon_connect(struct fuzz_daemon *d);
int fuzz_daemon_connect_http(struct fuzz_daemon *d);

// Time goes on by for_ns, then one turn of the control loop. The workers take part, with a frame
// more, or stand still.
void fuzz_daemon_step(struct fuzz_daemon *d, uint64_t for_ns, bool workers);
uint64_t fuzz_daemon_received(const struct fuzz_daemon *d); // frames, by the switch
// Waits until no thread of a capture runs, so that the next step finds the same each time.
void fuzz_daemon_settle(const struct fuzz_daemon *d);
