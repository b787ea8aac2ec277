// SPDX-License-Identifier: Apache-2.0
// The decisions of the dataplane one by one, each in a loop of its own over the benchmark's frames
// and with the rig's policy: what a stage costs where nothing else stands in its way. Their sum is
// less than the dataplane's cost, whose rest is what ties them together: descriptors, counters,
// prefetches, the loop. Runs on the first worker's core, called by the main thread.
#pragma once

#include "tests/perf/rig.h"
#include "tests/perf/traffic.h"

struct json_object;

// Prints a line per stage, or adds an object "stages" to *out where that is given. 0 or -errno.
__attribute__((warn_unused_result)) int stages_measure(const struct rig *r, const struct traffic *t,
						       struct json_object *out);
