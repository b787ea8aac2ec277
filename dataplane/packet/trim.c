// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/trim.h"

#include "dataplane/packet/edit.h"

// Bytes of the IP header at l3; of IPv6 without extension headers.
static uint32_t ip_hlen(const struct trim_frame *f)
{
	return f->kind == PKT_IPV4 ? (f->bytes[f->l3_off] & 0xfu) * 4
				   : (uint32_t)sizeof(struct ipv6_hdr);
}

uint32_t trim_len(const struct trim_params *p, const struct trim_frame *f)
{
	bool group = f->bytes[0] & 1;

	if ((f->kind != PKT_IPV4 && f->kind != PKT_IPV6) || group)
		return TRIM_REFUSED;
	if (f->len <= p->size)
		return f->len;
	return f->l3_off + ip_hlen(f) <= p->size ? p->size : TRIM_REFUSED;
}

// ---- lengths

// A UDP header of a packet whose payload of IP is now `room` bytes.
static void edit_udp_len(uint8_t *l4, uint32_t room)
{
	struct udp_hdr *udp = (void *)l4;

	if (room >= sizeof(*udp) && be16_get(&udp->len) > room)
		be16_put(&udp->len, (uint16_t)room);
}

// Each returns whether UDP follows the header at once, in a packet that is no fragment.
static bool edit_ipv4_len(struct ipv4_hdr *ip, uint32_t room)
{
	uint16_t total = be16_get(&ip->total_len);

	if (total > room) {
		be16_put(&ip->csum, csum_update(be16_get(&ip->csum), total, (uint16_t)room));
		be16_put(&ip->total_len, (uint16_t)room);
	}
	return ip->proto == IP_PROTO_UDP &&
	       !(be16_get(&ip->frag) & (IPV4_MF | IPV4_FRAG_OFF_MASK));
}

static bool edit_ipv6_len(struct ipv6_hdr *ip, uint32_t room)
{
	uint32_t payload = room - (uint32_t)sizeof(*ip);

	if (be16_get(&ip->payload_len) > payload)
		be16_put(&ip->payload_len, (uint16_t)payload);
	return ip->next == IP_PROTO_UDP;
}

static void edit_lengths(const struct trim_frame *f, uint32_t len)
{
	uint32_t room = len - f->l3_off, hlen = ip_hlen(f);
	uint8_t *l3 = f->bytes + f->l3_off;
	bool udp = f->kind == PKT_IPV4 ? edit_ipv4_len((void *)l3, room)
				       : edit_ipv6_len((void *)l3, room);

	if (udp && f->l3_off + hlen + sizeof(struct udp_hdr) <= f->stored)
		edit_udp_len(l3 + hlen, room - hlen);
}

void trim_edit(const struct trim_params *p, const struct trim_frame *f, uint32_t len)
{
	edit_dscp(f->bytes + f->l3_off, f->kind, p->dscp);
	if (p->exact && len < f->len)
		edit_lengths(f, len);
}
