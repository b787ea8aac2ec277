// SPDX-License-Identifier: Apache-2.0
// Which stations the switch of a random schedule knows, and that no frame to a known station is
// dropped as one to an unknown address. Drops are seen by a tap.
#pragma once

#include "tests/lab/schedule_events.h"

struct tap_record;

// After schedule_open, and before bench_close (which the tap outlives).
void schedule_flood_open(struct schedule *s);
void schedule_flood_count(struct schedule *s);
void schedule_flood_close(struct schedule *s);

// The number of the host with this address; -1: it is none's.
int schedule_host_of(const uint8_t *mac);
// The VLAN of a frame that was dropped, as a place in schedule.known.
unsigned schedule_vlan_of(const struct schedule *s, const struct tap_record *r);

// A station's address comes from another port; only where addresses are learned.
void host_speaks_as_another(struct schedule *s);
