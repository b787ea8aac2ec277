// SPDX-License-Identifier: Apache-2.0
// The stand-in: a process of its own that pauses the peers of a worker that stands still. A worker
// that a signal, a debugger, the scheduler or a hypervisor has stopped sends no PFC, and its
// receive rings overflow. The stand-in watches the workers' heartbeats and sends PFC frames for
// the ports of a worker whose heartbeat has not moved for `pause_after`, until it moves again.
//
//   worker moves          nothing is sent; the stand-in looks four times in `pause_after`
//   worker stands still   a PFC frame per port, again each `refresh`
//   moves again           no frame: the pauses run out by themselves. An XON of the stand-in could
//                         end a PAUSE that the worker has just sent.
//   still for 10 s        no more frames until it moves: what stands for so long is not coming
//                         back, and a PAUSE without end is a PFC storm
//
// A PAUSE of the stand-in lasts longer than a worker waits before it refreshes its own, so the
// stand-in never shortens the PAUSE of a class that the worker has in XOFF.
//
// The process has a session of its own, so that what stops the switch does not stop it. It ends
// with the switch: the kernel kills it, and the pipe closes. It holds one packet socket that
// receives nothing, has no privileges and no other file. It is forked before DPDK starts, because
// a fork of the frame pool would cost memory.
//
// Control thread only. Writers of the shared memory: control (limits, orders), the stand-in
// (sent, episodes, gave_up), each worker its heartbeat. All words are relaxed.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/units.h"

// A worker's sign of life, in the shared memory. The worker writes one word each loop, and the
// other words after a loop that came late. The stand-in and control read all of them. `beats` is
// released: a reader of it reads the other words as of the loops before. Inline, so that the loop
// pays one store and one compare.
struct __attribute__((aligned(64))) heartbeat {
	gauge_t beats; // loops begun; 0: the worker has not begun
	ctr_t late; // gaps of `late_ns` or more: the stand-in may have paused the peers
	ctr_t stalls, stalled_ns; // gaps of `stall_ns` or more, and their sum
	gauge_t last_stall_ns; // the latest of those
	ctr_t waited_ns; // real time in which the worker waited for a frame
};

// Written by control, read by the workers. Real time; UINT64_MAX: none counts.
struct __attribute__((aligned(64))) heartbeat_limits {
	gauge_t late_ns, stall_ns;
};

static inline void heartbeat_begin(struct heartbeat *h)
{
	atomic_store_explicit(&h->beats, gauge_get(&h->beats) + 1, memory_order_release);
}

// gap_ns: from the beginning of the loop before to the beginning of this one.
static inline void heartbeat_gap(struct heartbeat *h, const struct heartbeat_limits *l,
				 uint64_t gap_ns)
{
	if (__builtin_expect(gap_ns < gauge_get(&l->late_ns) && gap_ns < gauge_get(&l->stall_ns),
			     1))
		return;
	if (gap_ns >= gauge_get(&l->late_ns))
		ctr_inc(&h->late);
	if (gap_ns < gauge_get(&l->stall_ns))
		return;
	gauge_set(&h->last_stall_ns, gap_ns);
	ctr_add(&h->stalled_ns, gap_ns);
	ctr_inc(&h->stalls);
}

enum {
	STANDIN_MAX_PORTS = 512,
	STANDIN_MAX_WORKERS = 64,
	STANDIN_LOOKS = 4, // in `pause_after`
	STANDIN_REFRESH_NS = MS_NS,
	STANDIN_PAUSE_NS = 4 * MS_NS,
};
#define STANDIN_LIMIT_NS 10000000000ull

// What to send by a port, in one word. refresh_ns 0: nothing.
struct standin_order {
	uint8_t classes;
	uint16_t quanta;
	uint32_t refresh_ns;
};

static inline uint64_t standin_pack(struct standin_order o)
{
	return (uint64_t)o.classes << 48 | (uint64_t)o.quanta << 32 | o.refresh_ns;
}

static inline struct standin_order standin_unpack(uint64_t v)
{
	return (struct standin_order){(uint8_t)(v >> 48), (uint16_t)(v >> 32), (uint32_t)v};
}

// worker_refresh_ns: how long after a PAUSE the worker sends it again. Times of the worker and
// quanta are those of the model, time_scale times slower than the stand-in's.
struct standin_order standin_order(uint8_t classes, uint64_t speed_bps, uint64_t worker_refresh_ns,
				   uint32_t time_scale);

// How long a PAUSE of the order lasts, in real time.
uint64_t standin_pause_ns(struct standin_order o, uint64_t speed_bps, uint32_t time_scale);

struct standin_port {
	// ---- fixed while `order` is set
	int ifindex; // 0: the stand-in cannot send by it
	uint8_t mac[6];
	uint8_t worker;
	// ---- control
	gauge_t order;
	// ---- the stand-in
	ctr_t sent; // frames that the kernel took
};

struct standin_worker {
	struct heartbeat beat;
	ctr_t episodes; // times that the stand-in began to send
	gauge_t gave_up; // 1 while it has stopped because of STANDIN_LIMIT_NS
};

struct standin_shared {
	struct heartbeat_limits limits;
	gauge_t pause_after_ns; // 0: nothing is sent
	struct standin_worker workers[STANDIN_MAX_WORKERS];
	struct standin_port ports[STANDIN_MAX_PORTS];
};

struct standin {
	struct standin_shared *shared;
	pid_t pid; // 0: it has ended
	int pipe; // closed: the stand-in ends
};

// Makes the shared memory and forks the process. The limits are off and no port has an order.
// -errno: there is no process. s->shared is NULL where there is no memory either.
__attribute__((warn_unused_result)) int standin_start(struct standin *s);
// True once, when the process has ended by itself.
bool standin_lost(struct standin *s);
// Ends the process, waits for it, and frees the memory. A zeroed struct is fine.
void standin_stop(struct standin *s);

// ---- what it decides

struct standin_watch {
	uint64_t beats;
	uint64_t since_ns; // when `beats` was first seen
	bool sending;
};

enum standin_verdict { STANDIN_MOVES, STANDIN_SEND, STANDIN_GIVE_UP };

// One look at a heartbeat.
enum standin_verdict standin_look(struct standin_watch *w, uint64_t beats, uint64_t pause_after_ns,
				  uint64_t now_ns);
