// SPDX-License-Identifier: Apache-2.0
// The rows of the flow table, of pairing, of CNPs and of the notifications that a queue sends.
// Private to control/config.
#pragma once

#include "control/config/schema.h"

enum { CFG_MAX_PAIRS = 4096 };

extern const struct cfg_schema cfg_flows_schema, cfg_pairing_schema, cfg_pair_schema;
extern const struct cfg_schema cfg_cnp_schema, cfg_ipcc_schema;
