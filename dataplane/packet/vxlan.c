// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/vxlan.h"

#include "dataplane/forward/l3.h"
#include "dataplane/packet/edit.h"

// ---- out

static void write_ipv4(struct ipv4_hdr *ip, const struct vxlan_outer *o, uint32_t udp_len)
{
	uint32_t sum = 0;

	*ip = (struct ipv4_hdr){.ver_ihl = 0x45, .ttl = o->ttl, .proto = IP_PROTO_UDP};
	ip->tos = (uint8_t)(o->dscp << 2 | o->ecn);
	be16_put(&ip->total_len, (uint16_t)(sizeof(*ip) + udp_len));
	// The switch fragments nothing, and no path may: RFC 7348 4.3.
	be16_put(&ip->frag, IPV4_DF);
	memcpy(&ip->src, o->src, sizeof(ip->src));
	memcpy(&ip->dst, o->dst, sizeof(ip->dst));
	for (unsigned i = 0; i < sizeof(*ip); i += 2)
		sum += be16_get((const uint8_t *)ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_put(&ip->csum, (uint16_t)~sum);
}

static void write_ipv6(struct ipv6_hdr *ip, const struct vxlan_outer *o, uint32_t udp_len)
{
	be32_put(&ip->vtc_flow, 6u << 28 | (uint32_t)o->dscp << 22 | (uint32_t)o->ecn << 20);
	be16_put(&ip->payload_len, (uint16_t)udp_len);
	ip->next = IP_PROTO_UDP;
	ip->hop_limit = o->ttl;
	memcpy(ip->src, o->src, sizeof(ip->src));
	memcpy(ip->dst, o->dst, sizeof(ip->dst));
}

void vxlan_write(uint8_t *frame, const struct vxlan_outer *o)
{
	uint32_t udp_len = sizeof(struct udp_hdr) + sizeof(struct vxlan_hdr) + o->inner_len;
	struct eth_hdr *eth = (void *)frame;
	uint8_t *l3 = frame + sizeof(*eth);
	struct udp_hdr *udp = (void *)(frame + vxlan_overhead(o->v6) - sizeof(struct vxlan_hdr) -
				       sizeof(struct udp_hdr));
	struct vxlan_hdr *vxlan = (void *)(udp + 1);

	*eth = (struct eth_hdr){0};
	be16_put(&eth->type, o->v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	if (o->v6)
		write_ipv6((void *)l3, o, udp_len);
	else
		write_ipv4((void *)l3, o, udp_len);
	be16_put(&udp->sport, o->sport);
	be16_put(&udp->dport, o->dport);
	be16_put(&udp->len, (uint16_t)udp_len);
	be16_put(&udp->csum, 0);
	*vxlan = (struct vxlan_hdr){.flags = VXLAN_FLAG_VNI};
	be24_put(&vxlan->vni, o->vni);
}

uint16_t vxlan_sport(const uint8_t *frame, uint32_t len, const struct pkt_info *pkt)
{
	uint64_t hash;

	if (pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6)
		hash = flow_hash(0, frame, len, pkt, true);
	else
		hash = flow_end(flow_mix(be64_get(frame), be64_get(frame + 4)));
	return (uint16_t)(VXLAN_LEAST_SPORT | hash >> 50);
}

// ---- in

// The end of the IP packet at l3.
static uint32_t outer_ip_len(const uint8_t *l3, uint8_t kind)
{
	if (kind == PKT_IPV4)
		return be16_get(&((const struct ipv4_hdr *)l3)->total_len);
	return (uint32_t)sizeof(struct ipv6_hdr) +
	       be16_get(&((const struct ipv6_hdr *)l3)->payload_len);
}

static bool is_fragment(const uint8_t *l3, const struct pkt_info *pkt)
{
	if (pkt->kind == PKT_IPV4)
		return (be16_get(&((const struct ipv4_hdr *)l3)->frag) & IPV4_MF) != 0;
	return ((const struct ipv6_hdr *)l3)->next == IP_PROTO_FRAGMENT;
}

enum vxlan_fault vxlan_read(const uint8_t *frame, uint32_t stored, unsigned l3_off,
			    const struct pkt_info *pkt, struct vxlan_found *out)
{
	const uint8_t *l3 = frame + l3_off;
	uint32_t off = l3_off + pkt->l4_off - pkt->l3_off;
	uint32_t end = l3_off + outer_ip_len(l3, pkt->kind);
	const struct udp_hdr *udp = (const void *)(frame + off);
	const struct vxlan_hdr *vxlan = (const void *)(udp + 1);
	uint32_t headers = sizeof(*udp) + sizeof(*vxlan), udp_len;

	if (is_fragment(l3, pkt))
		return VXLAN_FRAGMENT;
	if (off + headers > end || off + headers > stored)
		return VXLAN_TRUNCATED;
	udp_len = be16_get(&udp->len);
	if (udp_len < headers || off + udp_len > end)
		return VXLAN_TRUNCATED;
	if (vxlan->flags != VXLAN_FLAG_VNI || be24_get(vxlan->reserved) != 0)
		return VXLAN_FLAGS;
	if (udp_len < headers + sizeof(struct eth_hdr) ||
	    off + headers + sizeof(struct eth_hdr) > stored)
		return VXLAN_INNER_RUNT;
	*out = (struct vxlan_found){.vni = be24_get(&vxlan->vni),
				    .off = (uint16_t)(off + headers),
				    .len = (uint16_t)(udp_len - headers)};
	return VXLAN_OK;
}

// ---- in transit

// The two bytes of the traffic class of IPv6 have changed; those of IPv4 and its header checksum
// add up to the same as before.
static void update_udp(struct udp_hdr *udp, uint8_t kind, uint16_t before, uint16_t after)
{
	uint16_t csum = be16_get(&udp->csum);

	if (csum == 0 || kind == PKT_IPV4)
		return;
	csum = csum_update(csum, before, after);
	be16_put(&udp->csum, csum == 0 ? UINT16_MAX : csum); // zero means none
}

bool vxlan_mark_inner(uint8_t *l3, uint32_t len, uint32_t stored, uint16_t port)
{
	// Of a tagged frame this is no beginning, but what parse() takes for the EtherType is it.
	uint8_t *frame = l3 - sizeof(struct eth_hdr);
	struct vxlan_found in;
	struct pkt_info outer, inner;
	uint16_t before;
	uint8_t *ip;

	len += (uint32_t)sizeof(struct eth_hdr);
	stored += (uint32_t)sizeof(struct eth_hdr);
	if (!parse(frame, len, &outer) || !vxlan_is(&outer, port) ||
	    vxlan_read(frame, stored, outer.l3_off, &outer, &in) != VXLAN_OK ||
	    !parse(frame + in.off, in.len, &inner) || inner.ecn == ECN_NOT_ECT ||
	    inner.ecn == ECN_CE || in.off + inner.l3_off + sizeof(struct ipv4_hdr) > stored)
		return false;
	ip = frame + in.off + inner.l3_off;
	before = be16_get(ip);
	edit_ecn_ce(ip, inner.kind);
	update_udp((void *)(frame + outer.l4_off), inner.kind, before, be16_get(ip));
	return true;
}
