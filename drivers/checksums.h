// SPDX-License-Identifier: Apache-2.0
// TCP and UDP checksums that a virtual sender leaves to its network card.
//
// Linux lets a veth or a tap finish them, as it lets a card (CHECKSUM_PARTIAL), and a program that
// takes the frame there gets it as it lies in memory: the field holds the sum of the pseudo header
// (RFC 9293 3.1, RFC 8200 8.1) alone, and each host behind the switch would drop the frame. Where
// the field is that sum the checksum is finished. Of a whole checksum that is by chance the same
// (1 in 65,536) comes the same again.
//
// Not finished: what is within a tunnel, behind IPv6 extension headers, and SCTP.
#pragma once

#include <stdint.h>

struct rte_mbuf;

// Owner worker, with received frames of one segment. How many were finished.
unsigned checksums_finish(struct rte_mbuf **pkts, unsigned n);
