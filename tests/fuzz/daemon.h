// SPDX-License-Identifier: Apache-2.0
// The daemon without its threads and devices, for targets that speak to its control socket: server,
// requests, reload, captures and event log as they are, over a switch of two ports. The first port
// receives the harness's frames. Frames that are sent vanish. Time is the harness's. The daemon is
// made once (world.h) and its sockets are made of memory (net.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_daemon;

void fuzz_daemon_init(void); // once per process
struct fuzz_daemon *fuzz_daemon_open(void); // as it was made
// All clients must be closed. Checks the balance, mbufs, descriptors and memory.
void fuzz_daemon_close(struct fuzz_daemon *d);

// Time goes on by for_ns, threads do their work, then the control loop turns once. The workers take
// part, with a frame more, or stand still.
void fuzz_daemon_step(struct fuzz_daemon *d, uint64_t for_ns, bool workers);
uint64_t fuzz_daemon_received(const struct fuzz_daemon *d); // frames, by the switch
