// SPDX-License-Identifier: Apache-2.0
// In-place edits of a frame's priority fields: ECN (RFC 3168), DSCP (RFC 2474), PCP (802.1Q 9.6),
// and of its TTL or hop limit. The IPv4 header checksum follows incrementally (RFC 1624); RoCE's
// iCRC masks all these bits and stays valid. Called by the owner of a frame that may be written to;
// header only, since it sits in the hot path. It does not parse: l3 is the IP header that the
// parser found, kind what it is, and other kinds are left alone. It decides nothing.
#pragma once

#include <stdint.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

// Checksum after the header's word `from` became `to`. RFC 1624 equation 3,
//
//   HC' = ~(~HC + ~m + m')
//
// which, unlike the older HC + m - m', gives what a whole recomputation gives where the sum is
// zero: 0x0000, never 0xffff.
static inline uint16_t csum_update(uint16_t csum, uint16_t from, uint16_t to)
{
	uint32_t sum = (uint32_t)(uint16_t)~csum + (uint16_t)~from + to;

	// At most 3 * 0xffff: the second fold takes the carry of the first.
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline void edit_ipv4_tos(struct ipv4_hdr *ip, uint8_t tos)
{
	uint16_t word = be16_get(&ip->ver_ihl);

	be16_put(&ip->csum, csum_update(be16_get(&ip->csum), word, (word & 0xff00) | tos));
	ip->tos = tos;
}

// Sets Congestion Experienced.
static inline void edit_ecn_ce(uint8_t *l3, enum pkt_kind kind)
{
	if (kind == PKT_IPV4)
		edit_ipv4_tos((void *)l3, l3[1] | ECN_CE);
	else if (kind == PKT_IPV6)
		l3[1] |= ECN_CE << 4;
}

// Sets the ECN field (enum ecn); the DSCP stays.
static inline void edit_ecn(uint8_t *l3, enum pkt_kind kind, uint8_t ecn)
{
	if (kind == PKT_IPV4)
		edit_ipv4_tos((void *)l3, (uint8_t)((l3[1] & 0xfc) | ecn));
	else if (kind == PKT_IPV6)
		l3[1] = (uint8_t)((l3[1] & 0xcf) | ecn << 4);
}

enum { IPV6_DSCP_SHIFT = 6, IPV6_KEEP = 0xf03f }; // of the first 16 bits

// The DSCP as the edits have left it. kind: IPv4 or IPv6.
static inline uint8_t edited_dscp(const uint8_t *l3, enum pkt_kind kind)
{
	return kind == PKT_IPV4 ? l3[1] >> 2 : be16_get(l3) >> IPV6_DSCP_SHIFT & 0x3f;
}

// Sets the DSCP, 0 to 63; ECN stays.
static inline void edit_dscp(uint8_t *l3, enum pkt_kind kind, uint8_t dscp)
{
	if (kind == PKT_IPV4)
		edit_ipv4_tos((void *)l3, (uint8_t)(dscp << 2 | (l3[1] & 3)));
	else if (kind == PKT_IPV6)
		be16_put(l3, (uint16_t)((be16_get(l3) & IPV6_KEEP) | dscp << IPV6_DSCP_SHIFT));
}

// One hop less. Neither field may be 0.
static inline void edit_ipv4_ttl(struct ipv4_hdr *ip)
{
	uint16_t word = be16_get(&ip->ttl);

	be16_put(&ip->csum, csum_update(be16_get(&ip->csum), word, (uint16_t)(word - 0x100)));
	ip->ttl--;
}

static inline void edit_hop(uint8_t *l3, enum pkt_kind kind)
{
	if (kind == PKT_IPV4)
		edit_ipv4_ttl((void *)l3);
	else if (kind == PKT_IPV6)
		((struct ipv6_hdr *)(void *)l3)->hop_limit--;
}

// Sets the PCP, 0 to 7, in the outer tag of a tagged frame; DEI and VID stay.
static inline void edit_pcp(uint8_t *frame, uint8_t pcp)
{
	struct vlan_hdr *tag = (void *)(frame + sizeof(struct eth_hdr));
	uint8_t *high = tag->tci.b;

	*high = (uint8_t)((*high & 0x1f) | pcp << 5);
}
