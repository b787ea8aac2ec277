// SPDX-License-Identifier: Apache-2.0
// Stands between the switch and a driver where a measurement needs it: counts the cycles that the
// driver's rx and tx take, and makes the endless traffic behind a port obey PFC at once, as a
// neighbour would: a port whose sender is paused receives nothing. It can also make many flows of
// few frames, in random order and each with PSNs that follow. The headline figures are taken
// without it. Called by the port's owner, like the driver itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_ops.h"

struct weir_switch;

struct __attribute__((aligned(64))) probe {
	struct port_ops ops; // what the switch is given, with the probe as `drv`
	const struct port_ops *real;
	void *drv;
	const struct weir_switch *sw; // set once there is one; NULL: PFC is ignored
	unsigned port;
	uint64_t rx_cycles, tx_cycles; // written by the port's owner
	uint32_t spread; // queue pairs, a power of two; 0: frames stay as they are
	uint64_t n_spread; // frames so far
};

void probe_init(struct probe *p, const struct port_ops *real, void *drv, unsigned port);
// Before it is used: nothing is timed, only PFC is obeyed once the switch is set.
void probe_obey(struct probe *p);
// Before it is used: frames that are received belong to so many queue pairs, and nothing is timed.
void probe_spread(struct probe *p, uint32_t queue_pairs);
