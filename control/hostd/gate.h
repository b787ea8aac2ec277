// SPDX-License-Identifier: Apache-2.0
// The queues of one interface of the kernel that hold the frames of a class while a PAUSE lasts.
//
//   htb, the speed of the line
//    +- 1:1..1:8  a class each, chosen by DSCP ---- plug, or tbf where the kernel has no plug
//    +- 1:9       all other frames
//    +- 1:a       blackhole: a frame that comes here makes htb look at its queues again
//
// A frame that waits in a queue counts against the send buffer of its socket, so the sender waits
// as well: UDP in send(), TCP by its small queues, soft-RoCE by its limit of a queue pair.
//
// plug has orders to hold and to release, and holds at once. tbf is held by a rate of a byte per
// second; a frame of the burst that tbf keeps may still leave. Kernels without modules have tbf.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/hostd/args.h"
#include "dataplane/base/compiler.h"

struct gate;

// Replaces queues that an earlier gate left behind; leaves those of others alone. 0, or -errno with
// a sentence in err.
must_check int gate_open(const struct hostd_args *a, unsigned ifindex, struct gate **out, char *err,
			 size_t err_len);

// 0, or -errno with a sentence in err: -EBUSY where the interface is a bridge or a port of one, so
// that no PFC frame arrives.
must_check int gate_check(struct gate *g, const char *device, char *err, size_t err_len);

// Holds a class, or releases it. 0 or -errno.
must_check int gate_hold(struct gate *g, unsigned c, bool hold);

// The interface has another MTU, perhaps. held: bitmap of the classes that are held. 0 or -errno.
must_check int gate_resize(struct gate *g, const struct hostd_args *a, uint8_t held);

struct gate_counts {
	uint32_t waiting; // frames in all queues
	uint32_t drops; // frames that the queues had no room for
};

// 0, or -errno: -ENOENT when somebody has removed the queues.
must_check int gate_counts(struct gate *g, struct gate_counts *out);

// A sentence for -errno, with the cure.
const char *gate_why(int rc);

const char *gate_kind(const struct gate *g); // "plug" or "tbf"

// Removes the queues: what waits in them is lost. Release the classes before. NULL is fine.
void gate_close(struct gate *g);
