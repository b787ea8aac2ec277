// SPDX-License-Identifier: Apache-2.0
// Which stations the switch of a random schedule knows, and that no frame to a known station is
// dropped as one to an unknown address. Drops are seen by a tap.
#pragma once

#include "tests/lab/schedule_events.h"

// After schedule_open, and before bench_close (which the tap outlives).
void schedule_flood_open(struct schedule *s);
void schedule_flood_count(struct schedule *s);
void schedule_flood_close(struct schedule *s);

// A station's address comes from another port; only where addresses are learned.
void host_speaks_as_another(struct schedule *s);
