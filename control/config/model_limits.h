// SPDX-License-Identifier: Apache-2.0
// The rows of storm control and loop detection. Private to control/config.
#pragma once

#include "control/config/schema.h"

extern const struct cfg_schema cfg_storm_control_schema, cfg_loop_detect_schema;

enum { LOOP_ACTION_ALARM, LOOP_ACTION_PORT_DOWN }; // words of loop_detect.action
