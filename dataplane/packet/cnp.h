// SPDX-License-Identifier: Apache-2.0
// Congestion notification packets (InfiniBand Architecture annex A17.9.3) as a switch sends them in
// the name of a flow's receiver: 74 bytes over IPv4, 94 over IPv6, four more with each tag, all
// without FCS. Pure; the worker that owns the flow calls it. Who gets one is decided in
// roce/ipcc.h.
//
//   Ethernet 14 | tags 0 to 8 | IPv4 20 or IPv6 40 | UDP 8 | BTH 12 | 16 zero bytes | iCRC 4
//   DSCP as given, ECT(0), TTL 64, DF, id 0, flow label 0; UDP to 4791, checksum 0
//   BTH: opcode 0x81, SE, M, Pad, TVer 0; FECN 0, BECN 1; AckReq 0; PSN 0
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CNP_LEN_V4 = 74, CNP_LEN_V6 = 94, CNP_MAX_TAGS = 2 };
enum { CNP_MAX_LEN = CNP_LEN_V6 + 4 * CNP_MAX_TAGS };

struct cnp_tag {
	uint16_t tpid, tci; // PCP, DEI, VID
};

struct cnp {
	uint8_t src_mac[6], dst_mac[6];
	uint8_t n_tags;
	struct cnp_tag tags[CNP_MAX_TAGS]; // the outermost first
	bool v6;
	uint8_t src_ip[16], dst_ip[16]; // network order; IPv4: the first four bytes
	uint8_t dscp;
	uint16_t udp_sport, pkey;
	uint16_t ip_id; // IPv4; 0 in what a switch sends
	uint32_t dest_qp; // 24 bits
};

// Writes the frame, returns its length.
uint32_t cnp_build(uint8_t out[CNP_MAX_LEN], const struct cnp *c);
