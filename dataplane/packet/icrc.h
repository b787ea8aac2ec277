// SPDX-License-Identifier: Apache-2.0
// Invariant CRC of RoCEv2 (InfiniBand Architecture volume 1, annex A17.3.3): CRC-32 over eight
// bytes of ones in place of the link's header, the IP header, UDP, BTH and payload, where the bits
// that a network may change count as ones: IPv4 ToS, TTL and checksum; IPv6 traffic class, flow
// label and hop limit; the UDP checksum; the BTH byte of FECN and BECN. Pure; called by whoever
// builds RoCE frames or judges received ones. The switch itself need not touch it: marking and
// remarking keep it valid.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"

// iCRC of the RoCEv2 packet that starts at its IP header; len: all bytes before the iCRC. At least
// IP, UDP and BTH must be there. IPv4 may have options, IPv6 no extension headers.
uint32_t icrc(const uint8_t *l3, uint32_t len, enum pkt_kind kind);

// Stores an iCRC as it goes on the wire: little-endian.
void icrc_put(uint8_t *at, uint32_t crc);

// True when the frame is RoCEv2 and its last four bytes, as the IP header counts, are its iCRC.
// info is what parse() found in this frame. IPv6 extension headers are covered unmasked.
bool icrc_check(const uint8_t *frame, uint32_t len, const struct pkt_info *info);
