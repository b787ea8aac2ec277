// SPDX-License-Identifier: Apache-2.0
// Sample frames for the tests of the packet modules: builds RoCEv2 frames to a specification, and
// has the plain IPv4 checksum as a reference for the incremental one. Only tests use it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/packet/wire.h"

enum { FRAME_MAX = 2048, CNP_V4_LEN = 74 };

struct frame_spec {
	bool v6;
	uint8_t n_tags; // two: service tag outside
	uint16_t tci[2]; // outermost first
	uint8_t tos; // IPv4 ToS or IPv6 traffic class
	uint8_t option_words; // IPv4 options, 0 to 10
	uint8_t opcode;
	uint32_t dest_qp, psn;
	uint16_t payload_len; // between BTH and iCRC
	uint8_t seed; // of addresses, IP id, ports and payload
};

// Writes the frame with right checksum and iCRC; returns its length, at most FRAME_MAX.
uint32_t frame_roce(uint8_t out[FRAME_MAX], const struct frame_spec *s);

// Writes Ethernet addresses, n tags and the EtherType; returns the offset behind them.
uint32_t frame_l2(uint8_t *out, const struct frame_spec *s, uint16_t type);

// The checksum that belongs into the header, whatever stands there now.
uint16_t ipv4_csum(const uint8_t *l3);

// A copy in its own heap block, so that reading one byte past it is seen. NULL-safe to free().
uint8_t *exact_copy(const uint8_t *frame, uint32_t len);

// Real CNP of a ConnectX-4 Lx.
extern const uint8_t cnp_connectx[CNP_V4_LEN];
