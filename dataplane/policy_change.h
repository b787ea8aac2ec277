// SPDX-License-Identifier: Apache-2.0
// What a new policy changes for frames under way. A frame is charged to the group of the policy
// that receives the frame, while the peer was paused by the groups of the policy before. So the
// switch pauses the classes that move before the change, for one response time. Pure: compares two
// policies. Called by control only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy.h"

// Classes, as a bitmap, that must not arrive while the policy changes. A class is one of them when
// either policy sends PFC for the class on some port, and its frames, group, queue or PFC change.
uint8_t policy_change_classes(const struct policy *old, const struct policy *next);

// Those of the classes that either policy sends PFC for on the port.
uint8_t policy_change_on_port(const struct policy_port *old, const struct policy_port *next,
			      uint8_t classes);

// Groups, as a bitmap, that get frames which no PAUSE could stop, because the policy before sends
// no PFC for their class.
uint8_t policy_change_unpaused(const struct policy_port *old, const struct policy_port *next);

// How long the port's peer may still send after a PAUSE, as the headroom of both policies plans.
uint64_t policy_change_response_ns(const struct policy *old, const struct policy *next,
				   unsigned port);
