// SPDX-License-Identifier: Apache-2.0
// Thresholds of queues that change while the switch runs, without another policy: no class is
// paused, and no frame meets half of a change. Called by the control thread only.
//
// Each change is an order to the worker that owns the port. The worker copies the thresholds of a
// policy when it takes the policy, and copies the curve of an order in a later loop. The policy
// itself does not change: the caller gives the next policy the thresholds that it must begin with.
#pragma once

#include <stdbool.h>

struct weir_switch;
struct wred_curve;

// The curve of all colours of a queue. Not between switch_publish and the end of its grace. False:
// the port's worker has not seen the order before yet, or memory is short; try again later.
bool switch_set_curve(struct weir_switch *sw, unsigned port, unsigned queue,
		      const struct wred_curve *c);
