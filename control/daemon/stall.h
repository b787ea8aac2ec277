// SPDX-License-Identifier: Apache-2.0
// Workers that stand still: tells the operator, and gives the stand-in its orders
// (drivers/standin). A stall is told while it lasts, and its length when it is over. Where control
// stood still as well (SIGSTOP of the whole process) both are told afterwards, from the length that
// the worker measured itself. Control thread only.
//
//   stall_create   before DPDK starts: forks the stand-in
//   stall_arm      once the workers run
//   stall_poll     every few milliseconds
//   stall_disarm   before the workers are stopped
#pragma once

#include <stdint.h>

struct daemon;
struct observe;
struct pollers_how;
struct stall;

// d must outlive it. Without a stand-in the reason is printed and everything else works. -ENOMEM.
__attribute__((warn_unused_result)) int stall_create(struct daemon *d, struct stall **out);
void stall_destroy(struct stall *s); // NULL is fine
// The memory that heartbeats go to, for the workers and for those who show it.
struct standin *stall_standin(struct stall *s);

void stall_arm(struct stall *s);
void stall_poll(struct stall *s, uint64_t now_ns); // real time
void stall_disarm(struct stall *s);
// The port has another device, or none.
void stall_new_device(struct stall *s, unsigned port);
