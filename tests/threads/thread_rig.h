// SPDX-License-Identifier: Apache-2.0
// One switch with real threads: its workers, a thread that is all neighbours (peers.h), and the
// caller's, which is control. What control may do while the others run, and what must hold at rest.
//
// A wait fails the test after a minute. Control's clock runs ahead of the workers', so that links
// are polled each time, and learned addresses age.
#pragma once

#include "control/instance/service.h"
#include "tests/lab/bench.h"
#include "tests/threads/peers.h"

struct observe;

enum { FLAPPING = PEERS_PORTS - 1 }; // the port whose link goes down and up

struct thread_rig {
	struct weir_switch *sw;
	struct ring_port ports[PEERS_PORTS];
	struct port_facts facts[PEERS_PORTS];
	struct peers peers;
	struct rte_mempool *pool;
	unsigned n_workers, pool_frames;
	pthread_t workers[8];
	_Atomic bool stop;
	uint64_t control_ns, curves;
	struct instance in; // with microbursts alone
	struct observe *observe;
	// What no policy file says is set here, in each policy before it runs; may be NULL.
	void (*adjust)(const struct thread_rig *r, struct policy *p);
	void *arg;
};

// For cmocka: EAL, and threads that may run on any core.
int thread_rig_eal(void **state);

struct thread_rig *thread_rig_open(const char *yaml,
				   void (*adjust)(const struct thread_rig *r, struct policy *p),
				   void *arg);
void thread_rig_start(struct thread_rig *r);
void thread_rig_close(struct thread_rig *r);

// ---- what control does

uint64_t thread_rig_now_ns(void);
void thread_rig_time_passes(struct thread_rig *r);
void thread_rig_check_balance(const struct thread_rig *r);
void thread_rig_await(struct thread_rig *r, bool (*done)(const struct thread_rig *r, uint64_t arg),
		      uint64_t arg);
void thread_rig_acknowledged(struct thread_rig *r, uint64_t request); // waits until it is
void thread_rig_publish(struct thread_rig *r, const char *yaml);
// The neighbour forgets its pauses when the switch has, and before it can send new ones.
void thread_rig_link_down(struct thread_rig *r);
void thread_rig_link_up(struct thread_rig *r);
// The same, and the port has no device meanwhile.
void thread_rig_flap(struct thread_rig *r);
void thread_rig_tap_for_a_while(struct thread_rig *r);
void thread_rig_read_all(struct thread_rig *r);
void thread_rig_order_curves(struct thread_rig *r, unsigned i);

// ---- at rest

// All that the peers sent is in the switch's books, and no number moves any more.
bool thread_rig_taken_in(const struct thread_rig *r, uint64_t arg);
bool thread_rig_drained(const struct thread_rig *r, uint64_t arg);
// Of a switch that is drained.
void thread_rig_check_rest(const struct thread_rig *r);
// These classes have lost no frame. A group that waits out a lost link may overrun its headroom:
// the port that flaps is left out.
void thread_rig_check_lossless(const struct thread_rig *r, uint8_t classes);
