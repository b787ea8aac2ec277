// SPDX-License-Identifier: Apache-2.0
// The numbers of control_plane: linux. The plane (control/linux/plane.h) writes them, and the
// observer reads them. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/route_params.h"

struct linux_tap_numbers {
	const char *name; // NULL: no such interface
	bool present, carrier;
	uint64_t to_kernel, to_kernel_lost, from_kernel, from_kernel_lost;
};

struct linux_numbers {
	uint64_t prefixes, taken, foreign, no_room, unsupported, from_hosts, hops_left_out;
	uint64_t nexthops;
	uint64_t neighbours, neighbours_refused, asked;
	uint64_t messages, malformed, lost, resyncs, dumps, requests_refused, requests_limited;
	uint64_t publications, taps_lost;
	struct linux_tap_numbers tap[N_IFACES];
};
