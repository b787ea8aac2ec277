// SPDX-License-Identifier: Apache-2.0
// The frames that a switch for RoCEv2 sees most, recognised by a few masked comparisons: IPv4
// without options or IPv6 without extension headers, with UDP or TCP, untagged or behind one 802.1Q
// tag, to a unicast address. Pure; called by the ingress owner before parse(). A frame that fits
// no template may be anything, and parse() reads it.
#pragma once

#include "dataplane/base/compiler.h"
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

// The IP header of a frame.
struct template_ip {
	uint8_t kind, tos, proto; // TOS or Traffic Class; protocol, or Next Header
	bool fragment; // a later one
	uint32_t hlen, total; // of the header, and with the payload
};

// A whole packet, IPv4 without options or IPv6, in `room` bytes from l3 on. Its EtherType is in the
// two bytes before.
static force_inline bool template_ip(const uint8_t *l3, uint32_t room, struct template_ip *ip)
{
	uint64_t head = be64_get(l3 - 2); // EtherType and six bytes of the IP header
	uint64_t next = be64_get(l3 + 6); // and eight more

	if (likely((head >> 40) == 0x080045)) {
		*ip = (struct template_ip){
			.kind = PKT_IPV4,
			.tos = (uint8_t)(head >> 32),
			.proto = (uint8_t)(next >> 32),
			.fragment = next >> 48 & IPV4_FRAG_OFF_MASK,
			.hlen = sizeof(struct ipv4_hdr),
			.total = head >> 16 & 0xffff,
		};
		return ip->total >= ip->hlen && ip->total <= room;
	}
	*ip = (struct template_ip){
		.kind = PKT_IPV6,
		.tos = (uint8_t)(head >> 36),
		.proto = (uint8_t)(next >> 56),
		.hlen = sizeof(struct ipv6_hdr),
		.total = sizeof(struct ipv6_hdr) + (uint32_t)(head & 0xffff),
	};
	return (head >> 44) == 0x86dd6 && ip->total <= room;
}

// The least length of a frame that may fit a template.
enum {
	TEMPLATE_MIN = sizeof(struct eth_hdr) + sizeof(struct vlan_hdr) + sizeof(struct ipv4_hdr),
};

// True: *out is exactly what parse() would say. False: *out is undefined.
static force_inline bool parse_template(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const struct eth_hdr *eth = (const void *)frame;
	const struct vlan_hdr *tag = (const void *)(eth + 1);
	const uint8_t *l3 = (const void *)tag;
	struct template_ip ip;

	*out = (struct pkt_info){.l3_off = sizeof(*eth)};
	if (unlikely(len < TEMPLATE_MIN || eth->dst[0] & 1))
		return false;
	if (unlikely(be16_get(&eth->type) == ETYPE_VLAN)) {
		l3 += sizeof(*tag);
		out->l3_off = sizeof(*eth) + sizeof(*tag);
		out->n_tags = 1;
		out->tci = be16_get(&tag->tci);
	}
	if (unlikely(!template_ip(l3, len - out->l3_off, &ip) || ip.fragment))
		return false;
	out->ether_type = ip.kind == PKT_IPV4 ? ETYPE_IPV4 : ETYPE_IPV6;
	out->kind = ip.kind;
	out->dscp = ip.tos >> 2;
	out->ecn = ip.tos & 3;
	out->ip_proto = ip.proto;
	out->l4_off = (uint16_t)(out->l3_off + ip.hlen);
	return template_l4(l3 + ip.hlen, ip.total - ip.hlen, out);
}

// Reads the fields that the class depends on, of an untagged frame to a unicast address. True:
// parse() would say the same kind, DSCP and ECN. The payload of IP may be anything.
static force_inline bool template_class(const uint8_t *frame, uint32_t len, struct template_ip *ip)
{
	enum { L3 = sizeof(struct eth_hdr) };

	return likely(len >= TEMPLATE_MIN) && !(frame[0] & 1) &&
	       template_ip(frame + L3, len - L3, ip);
}

// The UDP header of a RoCEv2 packet that template_class() took, or NULL. A UDP header behind
// extension headers of IPv6 is not found.
static force_inline const struct udp_hdr *template_roce(const uint8_t *frame, enum pkt_kind kind)
{
	const uint8_t *l3 = frame + sizeof(struct eth_hdr);
	const struct ipv4_hdr *v4 = (const void *)l3;
	const struct ipv6_hdr *v6 = (const void *)l3;
	const struct udp_hdr *udp = (const void *)(v4 + 1);
	uint32_t room = (uint32_t)be16_get(&v4->total_len) - (uint32_t)sizeof(*v4);
	uint8_t proto = v4->proto;

	if (unlikely(kind == PKT_IPV6)) {
		udp = (const void *)(v6 + 1);
		room = be16_get(&v6->payload_len);
		proto = v6->next;
	} else if (be16_get(&v4->frag) & IPV4_FRAG_OFF_MASK) {
		return NULL;
	}
	return likely(proto == IP_PROTO_UDP && room >= TEMPLATE_L4_MIN &&
		      be16_get(&udp->dport) == ROCE_UDP_PORT)
		       ? udp
		       : NULL;
}

// The ports of a whole packet of TCP or UDP, or of the first bytes of one: the first four bytes of
// its header. NULL: another protocol, a fragment, or too short. l3: of a header that holds.
static force_inline const uint8_t *template_ports(const uint8_t *l3, enum pkt_kind kind,
						  uint8_t *proto)
{
	const struct ipv4_hdr *v4 = (const void *)l3;
	const struct ipv6_hdr *v6 = (const void *)l3;
	const uint8_t *l4 = (const uint8_t *)(v6 + 1);
	uint32_t room = be16_get(&v6->payload_len);

	*proto = v6->next;
	if (kind == PKT_IPV4) {
		l4 = l3 + (v4->ver_ihl & 0xf) * 4;
		room = (uint32_t)(be16_get(&v4->total_len) - (l4 - l3));
		*proto = v4->proto;
		if (be16_get(&v4->frag) & (IPV4_FRAG_OFF_MASK | IPV4_MF))
			return NULL;
	}
	return (*proto == IP_PROTO_TCP || *proto == IP_PROTO_UDP) && room >= sizeof(struct udp_hdr)
		       ? l4
		       : NULL;
}
