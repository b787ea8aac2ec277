// SPDX-License-Identifier: Apache-2.0
// The settings of a port that a program needs to open the device.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/xdp/keep.h"

struct config;

struct config_port_open {
	const char *name;
	const char *device; // "xdp:IFACE", "pci:BDF", "vdev:ARGS", "wire:ANY"
	uint64_t speed_bps; // 0: the link's
	uint32_t mtu, max_frame;
	uint32_t tx_ring_bytes;
	uint32_t rx_ring; // frames; 0: the driver's own
	struct keep keep; // for live_conf and, on a reload, live_set_keep()
	bool take_over; // the host's addresses on the device do not matter
	bool apart; // for live_conf
	bool optional; // the device need not exist at the start
};

struct config_port_open config_port(const struct config *c, unsigned i);
