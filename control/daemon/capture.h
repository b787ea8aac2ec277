// SPDX-License-Identifier: Apache-2.0
// Captures for weirctl: one at a time. Control hands a tap to the workers, which copy frames into
// its rings. Control merges the rings by time, applies the filter, and answers the requests of the
// client with the frames. Called by the control thread only; no call blocks.
//
//   idle -start-> preparing -> arming -> running -stop-> ending -> rest --all read--> idle
//                     |            \________|______________/         |
//                     +--- the client is gone, or silent for CAPTURE_SILENCE_NS -> off -> idle
//
// In `ending` the workers release the tap. In `rest` they have released it, and the client reads
// the frames that are left. `off` waits for the workers as `ending` does, but no client reads
// frames any more. A request to start that comes in `off` waits for its end.
//
// Order. A worker's records carry the time at which its loop began. Control reads the clock (T),
// then hands the same tap to the workers once more; when all have acknowledged that, every loop
// that began before T is over. So the records up to T are complete and can be merged. A worker that
// is late delays the output, but does not change its order.
#pragma once

#include <stdint.h>

#include "dataplane/base/units.h"
#include "dataplane/switch.h"

struct capture;
struct json_object;

enum { CAPTURE_ALL_PORTS = -1 };
static const uint64_t CAPTURE_SILENCE_NS = 10ull * SECOND_NS; // no client is silent for so long
static const uint64_t CAPTURE_ACK_NS = SECOND_NS;

// How a request is answered, now or later: exactly once, unless the client is gone.
struct capture_answers {
	void *arg;
	// error NULL: data, which it takes over, is the answer.
	void (*answer)(void *arg, unsigned client, const char *error, struct json_object *data);
};

// Frames carry model time: wall time at the start of the capture, from then on distances as the
// switch has lived them. What clients and workers are waited for is real time.
struct capture_times {
	uint64_t (*wall_ns)(void); // since 1970
	uint32_t time_scale; // of the switch (control/base/model_time.h)
};

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int capture_create(struct weir_switch *sw,
						       const struct capture_times *times,
						       const struct capture_answers *answers,
						       struct capture **out);
// The workers must have stopped, or never have been handed a tap. NULL is fine.
void capture_destroy(struct capture *c);

// The requests; their keys and answers are described in docs/capture.md.
void capture_start(struct capture *c, unsigned client, int port, struct json_object *req);
void capture_read(struct capture *c, unsigned client, struct json_object *req);
void capture_stop(struct capture *c, unsigned client, struct json_object *req);

// The client is gone; its capture ends.
void capture_gone(struct capture *c, unsigned client);

// Once per control loop, soon after now_ns (real time) was read.
void capture_poll(struct capture *c, uint64_t now_ns);
