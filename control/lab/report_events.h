// SPDX-License-Identifier: Apache-2.0
// What happened in a run, in the order of time: faults of the scenario, storms, what PAUSE chains
// ended in, thresholds that auto ECN changed, the first lossless drop. After measure_finish.
#pragma once

#include "control/lab/report.h"

struct json_object;

// [{"time_ns", "severity": info | warning | alarm, "text"}, ...]
struct json_object *report_events(const struct run *r);
