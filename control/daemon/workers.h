// SPDX-License-Identifier: Apache-2.0
// The threads that run the workers, and workers that stand still.
//
//   workers_create   before DPDK starts: forks the stand-in (drivers/standin)
//   workers_start    each worker runs on an EAL lcore of its own
//   workers_poll     every few milliseconds
//   workers_stop     and waits for them
//
//   A worker rests (some tens of microseconds) when for REST_AFTER_NS no frame came or went and
//   nothing is due before the rest would end. Its receive ring covers the rest. After
//   BLOCK_AFTER_NS it waits in poll(2) for a frame, if the drivers of all its ports can wait: the
//   one system call that a worker's loop makes itself. The wait ends after BLOCK_NS at the latest,
//   for the requests of control, and before the stand-in takes the worker for stalled.
//   With busy_poll a worker never rests. Rests are real time; workers are stepped in model time.
//
// A stall is reported while it lasts, and its length when it is over. Where control stood still as
// well (SIGSTOP of the whole process) both are reported afterwards, from the length that the worker
// measured itself. The stand-in gets its orders here. Control thread only.
#pragma once

#include <stdint.h>

struct daemon;
struct workers;

// d must outlive it. Without a stand-in the reason is printed and everything else works. -ENOMEM.
__attribute__((warn_unused_result)) int workers_create(struct daemon *d, struct workers **out);
void workers_destroy(struct workers *s); // NULL is fine
// The memory that heartbeats go to, for `show`.
struct standin *workers_standin(struct workers *s);

// Starts all workers of the switch. 0 or -errno.
__attribute__((warn_unused_result)) int workers_start(struct workers *s);
void workers_poll(struct workers *s, uint64_t now_ns); // real time
// How long the worker that stands still longest has not moved, in real time; as of the last poll.
uint64_t workers_still_ns(const struct workers *s, uint64_t now_ns);
void workers_stop(struct workers *s); // NULL is fine; also when none runs
// The port has another device, or none.
void workers_new_device(struct workers *s, unsigned port);
