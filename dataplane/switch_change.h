// SPDX-License-Identifier: Apache-2.0
// The change of a running switch from one policy to the next, without loss in lossless classes.
// Called by the control thread; the caller publishes.
//
//   change_begin      the workers pause the classes that move, if there are any
//   change_ready      true: peers have obeyed, and the workers have taken in what was under way
//   switch_publish    the workers take the next policy over
//   change_end        from now on a class is paused only where its group is full. Called after the
//                     grace, or at once after a change that was late: a worker that stands still
//                     would keep the grace, and the pauses of all ports, from ending.
//
// A frame is charged to the group of the policy that receives the frame, while the peer was paused
// by the groups of the policy before. So the switch pauses the classes that move before the change,
// for one response time. A class that the watchdog has in recovery is not paused. A peer that
// ignores PFC loses frames.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy;
struct policy_port;
struct weir_switch;

enum { CHANGE_MAX_WORKERS = 64 };
// Longer than any headroom takes to fill, shorter than an operator waits.
#define CHANGE_LATE_NS 1000000000ull

enum change_stage {
	CHANGE_READY,
	CHANGE_PAUSING, // until each peer has had its response time
	CHANGE_RECEIVING, // until the receive rings are empty of what came before
	CHANGE_HANDING, // until the rings between workers are too
};

struct policy_change {
	const struct policy *next;
	enum change_stage stage;
	uint8_t classes; // that are paused; 0: none moves
	unsigned n_ports; // on so many ports
	uint64_t began_ns, late_ns;
	uint64_t lasted_ns; // until the change was ready
	bool late; // some port could not be paused in time
	uint64_t request;
	uint64_t loops[CHANGE_MAX_WORKERS]; // that each worker must have begun
};

// late_ns: the change is ready after so long, whatever happened.
void change_begin(struct weir_switch *sw, const struct policy *next, uint64_t now_ns,
		  uint64_t late_ns, struct policy_change *c);
// To be asked again and again, on a virtual clock after the workers have stepped.
bool change_ready(struct weir_switch *sw, struct policy_change *c, uint64_t now_ns);
void change_end(struct weir_switch *sw, const struct policy_change *c);

// Groups, as a bitmap, that get frames which no PAUSE could stop, because the policy before sends
// no PFC for their class.
uint8_t change_unpaused_pgs(const struct policy_port *old, const struct policy_port *next);
