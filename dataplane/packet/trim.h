// SPDX-License-Identifier: Apache-2.0
// Packet trimming (SAI: packet trim, UEC: packet trimming): which frame is cut where it would be
// dropped, to which length, and what its headers say afterwards. Pure; called by the owner of the
// port of departure, for frames that found no room in their queue (dataplane/trim.h).
//
//   frame that found no room           is
//   IPv4 or IPv6, longer than `size`   cut to `size`, gets `dscp`
//   IPv4 or IPv6, not longer           left whole, gets `dscp`
//   to a group address, or not IP      not trimmed: it is dropped
//   IP header not inside `size`        likewise
//
// ECN stays. With `exact` the length of IP, and that of a UDP header behind it, are those of the
// cut packet. No checksum but that of the IPv4 header is changed: transports that check theirs
// discard the packet, and none of them takes the rest of a payload for the whole.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"

enum { TRIM_LEAST = 64, TRIM_MOST = 9238, TRIM_REFUSED = 0 };

// Of a port of departure.
struct trim_params {
	uint8_t queues; // bitmap: frames that these queues would drop at the tail are trimmed
	uint8_t queue, cls; // in which trimmed frames leave
	uint8_t dscp; // with which they leave
	uint16_t size; // bytes of a frame without FCS
	bool exact; // lengths of IP and UDP follow the cut; else they stay as they were
};

// A frame that may be trimmed.
struct trim_frame {
	uint8_t *bytes; // from the Ethernet header on
	uint32_t len; // on the wire, without FCS
	uint32_t stored; // of them, how many are there; all headers are
	uint8_t l3_off, kind; // as parsed: enum pkt_kind
};

// Length of the frame when it has been trimmed, at most its length now. TRIM_REFUSED: it is not
// trimmed.
uint32_t trim_len(const struct trim_params *p, const struct trim_frame *f);

// Makes the headers those of a frame that is cut to `len`, as trim_len said.
void trim_edit(const struct trim_params *p, const struct trim_frame *f, uint32_t len);
