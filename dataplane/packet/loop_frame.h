// SPDX-License-Identifier: Apache-2.0
// The probe of loop detection: a frame of the Configuration Testing Protocol (EtherType 0x9000,
// Digital-Intel-Xerox Ethernet 2.0 chapter 8) to its group address. Stations take it for a reply
// and ignore it, bridges flood it. Its data says which switch and port sent it. Pure; any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/base/port_no.h"

enum { LOOP_FRAME_LEN = 60, LOOP_FRAME_TAGGED_LEN = 64 };

struct loop_probe {
	uint64_t id; // of the switch, drawn at its start
	uint64_t nonce; // drawn for each round of each port
	uint32_t round;
	uint16_t vid; // 0 in a bridge without VLANs
	port_no_t port;
	uint8_t pcp; // of the tag; not in the data
	bool tagged;
};

// Returns the length.
uint16_t loop_frame_build(uint8_t out[LOOP_FRAME_TAGGED_LEN], const uint8_t src_mac[6],
			  const struct loop_probe *p);

// off: of the first byte after EtherType and tags. False when the frame is no probe. What it says
// is what the sender says. tagged and pcp are not set.
bool loop_frame_parse(const uint8_t *frame, uint32_t len, uint32_t off, uint16_t ether_type,
		      struct loop_probe *out);
