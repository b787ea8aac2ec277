// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/parse.h"

#include <stddef.h>

#include "dataplane/base/compiler.h"

enum { IPV4_MIN_HLEN = sizeof(struct ipv4_hdr), IPV6_HLEN = sizeof(struct ipv6_hdr) };

static_assert(ETH_HLEN_ == sizeof(struct eth_hdr), "one Ethernet header");

// 802.1Q table 8-1. A bridge without STP forwards the first of the addresses, as Linux and
// hardware do: the bridges around it then see the loops that lead through it.
static enum reserved_dst reserved_dst(const uint8_t *mac)
{
	uint16_t tail = be16_get(mac + 4);

	if (be32_get(mac) == 0x0180c200 && (tail & 0xfff0) == 0)
		return tail == 0 ? DST_STP : DST_LINK_LOCAL;
	return be32_get(mac) == 0xcf000000 && tail == 0 ? DST_LOOPBACK : DST_ORDINARY;
}

static inline bool is_tpid(uint16_t type)
{
	return type == ETYPE_VLAN || type == ETYPE_QINQ || type == ETYPE_QINQ_OLD;
}

// Whether MAC control follows any number of further tags from off on. The walk ends with the frame.
static bool hides_mac_control(const uint8_t *frame, uint32_t len, uint32_t off, uint16_t type)
{
	enum { TAG = sizeof(struct vlan_hdr) };

	for (; is_tpid(type) && len - off >= TAG; off += TAG)
		type = be16_get(&((const struct vlan_hdr *)(frame + off))->type);
	return type == ETYPE_MAC_CONTROL;
}

// Steps over up to PARSE_MAX_TAGS tags; a tag that is cut off stays the frame's EtherType.
static void parse_tags(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	while (out->n_tags < PARSE_MAX_TAGS && is_tpid(out->ether_type) &&
	       len - out->l3_off >= sizeof(struct vlan_hdr)) {
		const struct vlan_hdr *tag = (const void *)(frame + out->l3_off);

		if (out->n_tags++ == 0)
			out->tci = be16_get(&tag->tci);
		else
			out->inner_tag = (uint32_t)out->ether_type << 16 | be16_get(&tag->tci);
		out->ether_type = be16_get(&tag->type);
		out->l3_off = (uint8_t)(out->l3_off + sizeof(*tag));
	}
	if (hides_mac_control(frame, len, out->l3_off, out->ether_type))
		out->kind = PKT_MAC_CONTROL;
}

// The transport header at off; end: first byte behind the IP packet, inside the frame.
static inline void parse_l4(const uint8_t *frame, uint32_t off, uint32_t end, struct pkt_info *out)
{
	const struct udp_hdr *udp = (const void *)(frame + off);

	if (unlikely(out->ip_proto != IP_PROTO_UDP)) {
		out->l4_off = off < end ? (uint16_t)off : 0;
		return;
	}
	if (unlikely(end - off < sizeof(*udp)))
		return;
	out->l4_off = (uint16_t)off;
	out->udp_sport = be16_get(&udp->sport);
	out->udp_dport = be16_get(&udp->dport);
	if (out->udp_dport == ROCE_UDP_PORT &&
	    end - off >= sizeof(*udp) + sizeof(struct bth_hdr))
		parse_bth((const void *)(udp + 1), out);
}

static inline bool parse_ipv4(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const struct ipv4_hdr *ip = (const void *)(frame + out->l3_off);
	uint32_t room = len - out->l3_off, hlen, total;

	if (unlikely(room < IPV4_MIN_HLEN))
		return false;
	hlen = (ip->ver_ihl & 0xfu) * 4;
	total = be16_get(&ip->total_len);
	if (unlikely(ip->ver_ihl >> 4 != 4 || hlen < IPV4_MIN_HLEN || total < hlen || total > room))
		return false;

	out->kind = PKT_IPV4;
	out->dscp = ip->tos >> 2;
	out->ecn = ip->tos & 3;
	if (unlikely(be16_get(&ip->frag) & IPV4_FRAG_OFF_MASK)) {
		out->fragment = true;
		return true;
	}
	out->ip_proto = ip->proto;
	parse_l4(frame, out->l3_off + hlen, out->l3_off + total, out);
	return true;
}

// Length of the extension header `proto` whose first two bytes are at ext; 0: not an extension.
static uint32_t ext_len(uint8_t proto, const uint8_t *ext)
{
	switch (proto) {
	case IP_PROTO_HOP_BY_HOP:
	case IP_PROTO_ROUTING:
	case IP_PROTO_DEST_OPTS:
		return (ext[1] + 1u) * 8;
	case IP_PROTO_FRAGMENT:
		return 8;
	case IP_PROTO_AH: // counts words, and from the third one (RFC 4302 2.2)
		return (ext[1] + 2u) * 4;
	default:
		return 0;
	}
}

static bool is_ext(uint8_t proto)
{
	static const uint8_t none[2];

	return ext_len(proto, none) != 0;
}

// Walks the extension headers from off. Where one does not hold, or there are too many, the packet
// keeps its IP header and has no transport: ip_proto then names the header that stopped the walk.
static void parse_ext(const uint8_t *frame, uint32_t off, uint32_t end, struct pkt_info *out)
{
	for (unsigned n = 0; is_ext(out->ip_proto); n++) {
		const uint8_t *ext = frame + off;
		uint32_t size;

		if (n == PARSE_MAX_EXT || end - off < 8)
			return;
		size = ext_len(out->ip_proto, ext);
		if (size > end - off)
			return;
		if (out->ip_proto == IP_PROTO_FRAGMENT && be16_get(ext + 2) >> 3 != 0) {
			out->fragment = true;
			out->ip_proto = 0;
			return;
		}
		out->ip_proto = ext[0];
		off += size;
	}
	parse_l4(frame, off, end, out);
}

static inline bool parse_ipv6(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const struct ipv6_hdr *ip = (const void *)(frame + out->l3_off);
	uint32_t room = len - out->l3_off, vtc_flow, off, end;

	if (unlikely(room < IPV6_HLEN))
		return false;
	vtc_flow = be32_get(&ip->vtc_flow);
	off = out->l3_off + (uint32_t)IPV6_HLEN;
	end = off + be16_get(&ip->payload_len);
	if (unlikely(vtc_flow >> 28 != 6 || end > len))
		return false;

	out->kind = PKT_IPV6;
	out->dscp = vtc_flow >> 22 & 0x3f;
	out->ecn = vtc_flow >> 20 & 3;
	out->ip_proto = ip->next;
	if (ip->next == IP_PROTO_UDP)
		parse_l4(frame, off, end, out);
	else
		parse_ext(frame, off, end, out);
	return true;
}

bool parse(const uint8_t *frame, uint32_t len, struct pkt_info *out)
{
	const struct eth_hdr *eth = (const void *)frame;

	if (unlikely(len < sizeof(*eth)))
		return false;
	*out = (struct pkt_info){
		.l3_off = sizeof(*eth),
		.group_dst = eth->dst[0] & 1,
		.ether_type = be16_get(&eth->type),
	};
	if (unlikely(out->group_dst))
		out->reserved_dst = (uint8_t)reserved_dst(eth->dst);
	if (unlikely(is_tpid(out->ether_type)))
		parse_tags(frame, len, out);

	if (out->ether_type == ETYPE_IPV4)
		out->bad_l3 = !parse_ipv4(frame, len, out);
	else if (out->ether_type == ETYPE_IPV6)
		out->bad_l3 = !parse_ipv6(frame, len, out);
	else if (out->ether_type == ETYPE_MAC_CONTROL)
		out->kind = PKT_MAC_CONTROL;
	else if (out->ether_type == ETYPE_LLDP)
		out->kind = PKT_LLDP;
	else if (out->ether_type == ETYPE_SLOW)
		out->kind = PKT_SLOW;
	else if (out->ether_type == ETYPE_INOF)
		out->kind = PKT_INOF;
	return true;
}
