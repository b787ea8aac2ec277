// SPDX-License-Identifier: Apache-2.0
// What a router asks of an IP header: whether it may be forwarded (RFC 1812 5.2.2 and 5.3.7, RFC
// 4291 2), the destination as a key, the flow for ECMP (RFC 2992), and whether a frame is neighbour
// discovery. Pure; called by the ingress owner for frames whose header the parser has accepted.
// Looks nothing up and changes nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/packet/ip_key.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum {
	IPV6_HLEN_ = 40,
	ND_HOPS = 255,
	ICMPV6_RS = 133,
	ICMPV6_NS = 135,
	ICMPV6_NA = 136,
	ICMPV6_REDIRECT = 137,
};

// The one's complement sum over the header, options included, is all ones (RFC 791). It is the same
// in either byte order, so whole words are added as they lie.
static inline bool ipv4_csum_holds(const uint8_t *l3)
{
	const struct ipv4_hdr *ip = (const void *)l3;
	unsigned n = ip->ver_ihl & 0xfu;
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t word;

		memcpy(&word, l3 + 4 * i, sizeof(word));
		sum += word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

// A group of stations of one link: 224.0.0.0/24, ff02::/16 and narrower; and broadcast, as the MAC
// address says.
static inline bool ip_to_link(const uint8_t *l3, uint8_t kind, bool broadcast)
{
	if (kind == PKT_IPV4)
		return broadcast || be32_get(l3 + 16) >> 8 == 0xe00000;
	return kind == PKT_IPV6 && l3[24] == 0xff && (l3[25] & 0xf) <= 2;
}

// Addresses of one station anywhere; not "this network", loopback, multicast, class E, broadcast.
static inline bool ipv4_routable(uint32_t ip)
{
	return ip >> 24 != 0 && ip >> 24 != 127 && ip >> 29 != 7;
}

// Not multicast, link-local, loopback, unspecified, IPv4-mapped.
static inline bool ipv6_routable(struct ip_key ip)
{
	if (ip.hi >> 56 == 0xff || ip.hi >> 54 == 0x3fa)
		return false;
	return ip.hi != 0 || ip.lo >> 32 > 0xffff;
}

static inline bool ipv6_link_local(const uint8_t *ip)
{
	return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

// ---- ECMP

// Every step is a bijection of the word it takes in: no two flows that differ in one word meet.
static inline uint64_t flow_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9fb21c651e98df25u;
	return h ^ h >> 32;
}

// The finaliser: every bit of the sum moves half of the others.
static inline uint64_t flow_end(uint64_t h)
{
	h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 29) * 0x94d049bb133111ebu;
	return h ^ h >> 32;
}

// A switch's seed as a start: small numbers such as 1, 2, 3 become unlike each other, so that the
// choice of one tier says nothing of the next one's.
static inline uint64_t flow_seed(uint64_t seed)
{
	return flow_end(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du);
}

// Only these have ports in their first four bytes.
static inline bool has_ports(uint8_t proto)
{
	enum { TCP = 6, UDP = 17, DCCP = 33, SCTP = 132, UDPLITE = 136 };

	return proto == UDP || proto == TCP || proto == SCTP || proto == DCCP || proto == UDPLITE;
}

// Fragments of a datagram have no ports but in the first of them: all of them go by addresses and
// protocol. So do IPv6 packets with extension headers. frame_len: what may be read.
static inline uint32_t flow_ports(const uint8_t *frame, uint32_t frame_len,
				  const struct pkt_info *pkt)
{
	const uint8_t *l3 = frame + pkt->l3_off;
	bool whole;

	if (pkt->kind == PKT_IPV4)
		whole = (be16_get(l3 + 6) & (IPV4_MF | IPV4_FRAG_OFF_MASK)) == 0;
	else
		whole = pkt->l4_off == pkt->l3_off + IPV6_HLEN_;
	if (!whole || pkt->l4_off == 0 || pkt->l4_off + 4u > frame_len || !has_ports(pkt->ip_proto))
		return 0;
	return be32_get(frame + pkt->l4_off);
}

// The flow's hash: addresses, protocol, ports, and with_qp the destination QP of RoCE frames. seed
// is what flow_seed gave.
static inline uint64_t flow_hash(uint64_t seed, const uint8_t *frame, uint32_t frame_len,
				 const struct pkt_info *pkt, bool with_qp)
{
	const uint8_t *l3 = frame + pkt->l3_off;
	uint64_t h = seed, rest = (uint64_t)flow_ports(frame, frame_len, pkt) << 32;

	if (with_qp && pkt->roce)
		rest |= (uint64_t)pkt->bth_dest_qp << 8;
	if (pkt->kind == PKT_IPV4) {
		h = flow_mix(h, be64_get(l3 + 12)); // source and destination
		return flow_end(flow_mix(h, rest | l3[9]));
	}
	for (unsigned i = 0; i < 4; i++)
		h = flow_mix(h, be64_get(l3 + 8 + 8 * i));
	return flow_end(flow_mix(h, rest | l3[6]));
}

// One of n, from the hash's high half; n equal parts up to one in 2^32.
static inline uint32_t flow_pick(uint64_t hash, uint32_t n)
{
	return (uint32_t)((hash >> 32) * n >> 32);
}

// ---- neighbour discovery

// The ICMPv6 type of a message of neighbour or router discovery (RFC 4861) that has crossed no
// router; 0: it is none.
static inline uint8_t nd_type(const uint8_t *frame, uint32_t frame_len, const struct pkt_info *pkt)
{
	const struct ipv6_hdr *ip = (const void *)(frame + pkt->l3_off);

	if (pkt->kind != PKT_IPV6 || pkt->ip_proto != IP_PROTO_ICMPV6 || pkt->l4_off == 0 ||
	    pkt->l4_off >= frame_len || ip->hop_limit != ND_HOPS ||
	    frame[pkt->l4_off] < ICMPV6_RS || frame[pkt->l4_off] > ICMPV6_REDIRECT)
		return 0;
	return frame[pkt->l4_off];
}

// A neighbour solicitation or advertisement.
static inline bool is_nd(const uint8_t *frame, uint32_t frame_len, const struct pkt_info *pkt)
{
	uint8_t type = nd_type(frame, frame_len, pkt);

	return type == ICMPV6_NS || type == ICMPV6_NA;
}

// Of ARP and neighbour discovery: a reply or an advertisement, asked for or not.
static inline bool is_neighbour_answer(const uint8_t *frame, uint32_t frame_len,
				       const struct pkt_info *pkt)
{
	const struct arp_hdr *arp = (const void *)(frame + pkt->l3_off);

	if (pkt->ether_type == ETYPE_ARP)
		return frame_len >= pkt->l3_off + sizeof(*arp) && be16_get(&arp->op) == ARP_REPLY;
	return is_nd(frame, frame_len, pkt) && frame[pkt->l4_off] == ICMPV6_NA;
}
