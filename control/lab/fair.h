// SPDX-License-Identifier: Apache-2.0
// The rate that a long flow would have if the fabric shared its links ideally, beside the rate that
// it had: max-min fair rates of the endless streams (maxmin.h), over the times at which each of
// them sends. Where frames of a stream may take several equal ways, the ideal takes all alike.
//
// A stream far below its ideal rate without CNP, PAUSE, loss or traffic of another kind on its way
// has a cause that no counter of the fabric shows: a queue pair that delays another one, a fence, a
// small window. Control thread only; at the end of a run.
#pragma once

#include "control/lab/traffic.h"

struct fair;

// The connections of endless streams with all that the report needs. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int fair_create(const struct fabric *f,
						    const struct traffic *t, uint64_t end_ns,
						    struct fair **out);
void fair_destroy(struct fair *f); // NULL is fine

// Payload over the whole run of all connections of a flow; NaN: it is no endless stream, or its
// ways are not known. f may be NULL.
double fair_flow_bps(const struct fair *f, uint32_t flow);

// A connection without a reason for its rate: the one furthest below its ideal rate.
struct fair_alarm {
	uint32_t n; // connections alike; 0: none
	uint32_t flow, src, dst;
	double measured_bps, ideal_bps; // payload, while it sent
};
struct fair_alarm fair_alarm(const struct fair *f);
