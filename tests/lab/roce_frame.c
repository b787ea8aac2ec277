// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/roce_frame.h"

#include <string.h>

#include "dataplane/packet/wire.h"

static uint8_t *put_ip(uint8_t *p, const struct roce *r, uint32_t udp_len)
{
	uint8_t tos = (uint8_t)((r->dscp != 0 ? r->dscp : ROCE_DSCP) << 2 | r->ecn);
	struct ipv6_hdr *v6 = (void *)p;
	struct ipv4_hdr *v4 = (void *)p;

	if (r->v6) {
		be32_put(&v6->vtc_flow, 6u << 28 | (uint32_t)tos << 20);
		be16_put(&v6->payload_len, (uint16_t)udp_len);
		v6->next = IP_PROTO_UDP;
		v6->hop_limit = 64;
		v6->src[0] = v6->dst[0] = 0xfd;
		v6->src[15] = (uint8_t)(r->from + 1);
		v6->dst[15] = (uint8_t)(r->to + 1);
		return p + sizeof(*v6);
	}
	v4->ver_ihl = 0x45;
	v4->tos = tos;
	be16_put(&v4->total_len, (uint16_t)(sizeof(*v4) + udp_len));
	v4->ttl = 64;
	v4->proto = IP_PROTO_UDP;
	be32_put(&v4->src, 0x0a000001 + r->from);
	be32_put(&v4->dst, 0x0a000001 + r->to);
	be16_put(&v4->csum, router_csum(p, sizeof(*v4)));
	return p + sizeof(*v4);
}

uint16_t roce_build(uint8_t out[FRAME_MAX], const struct roce *r)
{
	uint32_t udp_len = 8 + 12 + 16 + r->payload + 4;
	struct bth_hdr *bth;
	uint8_t *p = out + 12;

	memset(out, 0, FRAME_MAX);
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(r->to + 1)}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(r->from + 1)}, 6);
	if (r->tagged) {
		be16_put(p, ETYPE_VLAN);
		be16_put(p + 2, 3 << TCI_PCP_SHIFT);
		p += 4;
	}
	be16_put(p, r->v6 ? ETYPE_IPV6 : ETYPE_IPV4);
	p = put_ip(p + 2, r, udp_len);
	be16_put(p, r->sport != 0 ? r->sport : 50000);
	be16_put(p + 2, ROCE_UDP_PORT);
	be16_put(p + 4, (uint16_t)udp_len);
	bth = (void *)(p + 8);
	bth->opcode = r->opcode;
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	be24_put(&bth->dest_qp, r->qp);
	be24_put(&bth->psn, r->psn);
	bth[1].opcode = r->syndrome; // where an AETH begins
	be32_put((uint8_t *)(bth + 1) + 12, r->read_bytes);
	return (uint16_t)(p + udp_len - out);
}
