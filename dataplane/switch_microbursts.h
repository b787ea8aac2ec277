// SPDX-License-Identifier: Apache-2.0
// What workers saw in each window of time (qos/microburst.h), for the control thread. The workers
// leave records in a ring each. Records that find no room are counted. A worker's records of one
// part come in the order of time.
#pragma once

#include "dataplane/qos/microburst.h"

struct weir_switch;

// Takes up to n records. Returns how many.
unsigned switch_microburst_records(struct weir_switch *sw, struct microburst_record *out,
				   unsigned n);
uint64_t switch_microburst_records_lost(const struct weir_switch *sw);
