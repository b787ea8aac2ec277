// SPDX-License-Identifier: Apache-2.0
// The frames that a switch for RoCEv2 sees most, recognised by a few masked comparisons: IPv4
// without options or IPv6 without extension headers, with UDP or TCP, untagged or behind one 802.1Q
// tag, to a unicast address. Pure; called by the ingress owner before parse(). A frame that fits
// no template may be anything, and parse() reads it.
#pragma once

#include "dataplane/compiler.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum {
	TEMPLATE_L4_MIN = sizeof(struct udp_hdr) + sizeof(struct bth_hdr), // of UDP, RoCEv2 or not
};

// The first bytes of the payload of IP at l4, of which `room` belong to the packet.
static force_inline bool template_l4(const uint8_t *l4, uint32_t room, struct pkt_info *out)
{
	const struct udp_hdr *udp = (const void *)l4;

	if (unlikely(room < TEMPLATE_L4_MIN))
		return false;
	if (unlikely(out->ip_proto != IP_PROTO_UDP))
		return out->ip_proto == IP_PROTO_TCP;
	out->udp_sport = be16_get(&udp->sport);
	out->udp_dport = be16_get(&udp->dport);
	if (unlikely(out->udp_dport != ROCE_UDP_PORT))
		return true;
	parse_bth((const void *)(udp + 1), out);
	return true;
}

// The EtherType is at l3_off - 2.
static force_inline bool template_l3(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const uint8_t *l3 = frame + out->l3_off;
	uint32_t room = len - out->l3_off, hlen, total;
	uint64_t head = be64_get(l3 - 2); // EtherType and six bytes of the IP header
	uint64_t next = be64_get(l3 + 6); // and eight more

	out->ether_type = (uint16_t)(head >> 48);
	if (likely((head >> 40) == 0x080045 && !(next >> 48 & IPV4_FRAG_OFF_MASK))) {
		out->kind = PKT_IPV4;
		out->dscp = head >> 34 & 0x3f;
		out->ecn = head >> 32 & 3;
		out->ip_proto = (uint8_t)(next >> 32);
		hlen = sizeof(struct ipv4_hdr);
		total = head >> 16 & 0xffff;
	} else if ((head >> 44) == 0x86dd6) {
		out->kind = PKT_IPV6;
		out->dscp = head >> 38 & 0x3f;
		out->ecn = head >> 36 & 3;
		out->ip_proto = (uint8_t)(next >> 56);
		hlen = sizeof(struct ipv6_hdr);
		total = hlen + (uint32_t)(head & 0xffff);
	} else {
		return false;
	}
	out->l4_off = (uint16_t)(out->l3_off + hlen);
	return total >= hlen && total <= room && template_l4(l3 + hlen, total - hlen, out);
}

// True: *out is exactly what parse() would say. False: *out is undefined.
static force_inline bool parse_template(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const struct eth_hdr *eth = (const void *)frame;
	const struct vlan_hdr *tag = (const void *)(eth + 1);

	*out = (struct pkt_info){.l3_off = sizeof(*eth)};
	if (unlikely(len < sizeof(*eth) + sizeof(*tag) + sizeof(struct ipv4_hdr) ||
		     eth->dst[0] & 1))
		return false;
	if (unlikely(be16_get(&eth->type) == ETYPE_VLAN)) {
		out->l3_off = sizeof(*eth) + sizeof(*tag);
		out->n_tags = 1;
		out->tci = be16_get(&tag->tci);
	}
	return template_l3(frame, len, out);
}
