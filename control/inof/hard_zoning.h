// SPDX-License-Identifier: Apache-2.0
// Hard zoning of iNOF: the stations of the switch (dataplane/switch_zones.h) are the hosts of the
// registry, with their zones and roles. A change of the registry brings all of them anew, at most
// every 10 ms, and less often where they are many: hosts that come and go all the time must not
// take the time of control. The service of iNOF (control/instance/inof.c) calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct inof_registry;
struct weir_switch;

struct hard_zoning {
	bool wanted; // by the policy
	bool on; // the switch has stations
	bool failed; // and it was said
	uint64_t change; // of the registry, with which these stations came
	uint64_t again_ns; // others come then at the earliest
};

// Once in a look of control. r: NULL while inof is off. True: for the first time there is no
// memory.
bool hard_zoning_loop(struct hard_zoning *z, struct weir_switch *sw, const struct inof_registry *r,
		      uint64_t now_ns);
