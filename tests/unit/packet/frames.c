// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/packet/frames.h"

#include <stdlib.h>

#include "dataplane/packet/icrc.h"

const uint8_t cnp_connectx[CNP_V4_LEN] = {
	0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, //
	0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, // IPv4
	0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, //
	0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, // UDP
	0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, // BTH
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // reserved
	0x00, 0x00, 0x00, 0x00, //
	0x82, 0xfd, 0x00, 0x2a, // iCRC
};

uint16_t ipv4_csum(const uint8_t *l3)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < (l3[0] & 0xfu) * 4; i += 2)
		sum += i == offsetof(struct ipv4_hdr, csum) ? 0 : be16_get(l3 + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint8_t *exact_copy(const uint8_t *frame, uint32_t len)
{
	// malloc(0) may return NULL, which no reader may touch either.
	uint8_t *p = malloc(len);

	if (p)
		memcpy(p, frame, len);
	return p;
}

uint32_t frame_l2(uint8_t *out, const struct frame_spec *s, uint16_t type)
{
	struct eth_hdr *eth = (void *)out;
	uint32_t off = sizeof(*eth);

	memcpy(eth->dst, (const uint8_t[6]){0x02, 0, 0, 0, 1, s->seed}, 6);
	memcpy(eth->src, (const uint8_t[6]){0x02, 0, 0, 0, 2, s->seed}, 6);
	be16_put(&eth->type, s->n_tags == 0 ? type : s->n_tags == 1 ? ETYPE_VLAN : ETYPE_QINQ);
	for (unsigned i = 0; i < s->n_tags; i++) {
		struct vlan_hdr *tag = (void *)(out + off);

		be16_put(&tag->tci, s->tci[i]);
		be16_put(&tag->type, i + 1u == s->n_tags ? type : ETYPE_VLAN);
		off += (uint32_t)sizeof(*tag);
	}
	return off;
}

static uint32_t put_ipv4(uint8_t *l3, const struct frame_spec *s, uint32_t payload)
{
	struct ipv4_hdr *ip = (void *)l3;
	uint32_t hlen = (uint32_t)sizeof(*ip) + s->option_words * 4u;

	memset(l3, 1, hlen); // options are NOPs
	ip->ver_ihl = (uint8_t)(0x40 | hlen / 4);
	ip->tos = s->tos;
	be16_put(&ip->total_len, (uint16_t)(hlen + payload));
	be16_put(&ip->id, (uint16_t)(s->seed * 257));
	be16_put(&ip->frag, IPV4_DF);
	ip->ttl = (uint8_t)(64 - s->seed % 8);
	ip->proto = IP_PROTO_UDP;
	be32_put(&ip->src, 0xc0a80a00u | s->seed);
	be32_put(&ip->dst, 0xc0a80b00u | s->seed);
	be16_put(&ip->csum, ipv4_csum(l3));
	return hlen;
}

static uint32_t put_ipv6(uint8_t *l3, const struct frame_spec *s, uint32_t payload)
{
	struct ipv6_hdr *ip = (void *)l3;

	be32_put(&ip->vtc_flow, 6u << 28 | (uint32_t)s->tos << 20 | s->seed * 0x101u);
	be16_put(&ip->payload_len, (uint16_t)payload);
	ip->next = IP_PROTO_UDP;
	ip->hop_limit = 64;
	memcpy(ip->src, (const uint8_t[16]){0xfd, [14] = s->seed, [15] = 1}, 16);
	memcpy(ip->dst, (const uint8_t[16]){0xfd, [14] = s->seed, [15] = 2}, 16);
	return sizeof(*ip);
}

// UDP's checksum is left 0, as RoCE hardware does.
static void put_l4(uint8_t *l4, const struct frame_spec *s, uint32_t payload)
{
	struct udp_hdr *udp = (void *)l4;
	struct bth_hdr *bth = (void *)(l4 + sizeof(*udp));
	uint8_t *data = l4 + sizeof(*udp) + sizeof(*bth);

	be16_put(&udp->sport, (uint16_t)(0xc000 + s->seed));
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, (uint16_t)payload);
	be16_put(&udp->csum, 0);
	bth->opcode = s->opcode;
	bth->flags = BTH_MIG;
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	bth->cong = s->opcode == ROCE_CNP ? BTH_BECN : 0;
	be24_put(&bth->dest_qp, s->dest_qp);
	bth->ack_req = BTH_ACK_REQ;
	be24_put(&bth->psn, s->psn);
	for (unsigned i = 0; i < s->payload_len; i++)
		data[i] = s->opcode == ROCE_CNP ? 0 : (uint8_t)(s->seed + i * 7);
}

uint32_t frame_roce(uint8_t out[FRAME_MAX], const struct frame_spec *s)
{
	uint32_t off = frame_l2(out, s, s->v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	uint32_t l4_len = (uint32_t)(sizeof(struct udp_hdr) + sizeof(struct bth_hdr)) +
			  s->payload_len + ROCE_ICRC_LEN;
	uint8_t *l3 = out + off;
	uint32_t hlen = s->v6 ? put_ipv6(l3, s, l4_len) : put_ipv4(l3, s, l4_len);
	uint32_t covered = hlen + l4_len - ROCE_ICRC_LEN;

	put_l4(l3 + hlen, s, l4_len);
	icrc_put(l3 + covered, icrc(l3, covered, s->v6 ? PKT_IPV6 : PKT_IPV4));
	return off + hlen + l4_len;
}
