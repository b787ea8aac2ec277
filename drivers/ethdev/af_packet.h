// SPDX-License-Identifier: Apache-2.0
// Makes DPDK's af_packet driver carry whole frames. It truncates, and counts as received, what is
// longer than a slot of its ring, and refuses a pool whose buffers are shorter than a slot: so the
// slot has to lie between the two, and only we know both. Control thread; pure but for one ioctl.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "drivers/device.h"

struct af_packet_fit {
	const char *devargs; // as the user wrote them
	uint32_t max_frame;
	uint32_t mtu;
	uint32_t data_room; // of the pool's buffers, headroom included
};

// Writes the device's arguments to out, with slots that fit. Any other driver's are copied as they
// are. 0 or -errno with text->err.
__attribute__((warn_unused_result)) int af_packet_devargs(const struct af_packet_fit *fit,
							  char *out, size_t out_len,
							  struct live_text *text);
