// SPDX-License-Identifier: Apache-2.0
// The rows of watchdog, early warning and guard: those of a profile, and those of a port, whose
// keys go over the profile's one by one. Private to control/config.
#pragma once

#include "control/config/schema.h"

extern const struct cfg_schema cfg_pfc_warning_schema;
extern const struct cfg_schema cfg_watchdog_schema, cfg_port_watchdog_schema;
extern const struct cfg_schema cfg_guard_schema, cfg_port_guard_schema;
