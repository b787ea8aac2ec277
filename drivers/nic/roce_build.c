// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/roce_build.h"

#include <stddef.h>
#include <string.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

static const struct roce_op ops[256] = {
	[RC_SEND_FIRST] = {.kind = ROCE_SEND, .first = true},
	[RC_SEND_MIDDLE] = {.kind = ROCE_SEND},
	[RC_SEND_LAST] = {.kind = ROCE_SEND, .last = true},
	[RC_SEND_LAST_IMM] = {.kind = ROCE_SEND, .last = true, .imm = true},
	[RC_SEND_ONLY] = {.kind = ROCE_SEND, .first = true, .last = true},
	[RC_SEND_ONLY_IMM] = {.kind = ROCE_SEND, .first = true, .last = true, .imm = true},
	[RC_WRITE_FIRST] = {.kind = ROCE_WRITE, .first = true, .reth = true},
	[RC_WRITE_MIDDLE] = {.kind = ROCE_WRITE},
	[RC_WRITE_LAST] = {.kind = ROCE_WRITE, .last = true},
	[RC_WRITE_LAST_IMM] = {.kind = ROCE_WRITE, .last = true, .imm = true},
	[RC_WRITE_ONLY] = {.kind = ROCE_WRITE, .first = true, .last = true, .reth = true},
	[RC_WRITE_ONLY_IMM] = {.kind = ROCE_WRITE, .first = true, .last = true, .reth = true,
			       .imm = true},
	[RC_READ_REQUEST] = {.kind = ROCE_READ_REQ, .first = true, .last = true, .reth = true},
	[RC_READ_RESPONSE_FIRST] = {.kind = ROCE_READ_RESP, .first = true, .aeth = true},
	[RC_READ_RESPONSE_MIDDLE] = {.kind = ROCE_READ_RESP},
	[RC_READ_RESPONSE_LAST] = {.kind = ROCE_READ_RESP, .last = true, .aeth = true},
	[RC_READ_RESPONSE_ONLY] = {.kind = ROCE_READ_RESP, .first = true, .last = true,
				   .aeth = true},
	[RC_ACK] = {.kind = ROCE_ACKNOWLEDGE, .aeth = true},
	[ROCE_CNP] = {.kind = ROCE_NOTIFY},
	[UD_SEND_ONLY] = {.kind = ROCE_UD, .first = true, .last = true, .deth = true},
};

enum { IMM_LEN = 4, TTL = 64 };

const struct roce_op *roce_op_of(uint8_t opcode)
{
	return &ops[opcode];
}

static uint32_t ext_len(const struct roce_op *op)
{
	return (op->reth ? (uint32_t)sizeof(struct reth_hdr) : 0) +
	       (op->aeth ? (uint32_t)sizeof(struct aeth_hdr) : 0) +
	       (op->deth ? (uint32_t)sizeof(struct deth_hdr) : 0) + (op->imm ? IMM_LEN : 0);
}

static uint32_t pad_of(uint32_t payload_len)
{
	return -payload_len & 3;
}

uint32_t roce_frame_len(const struct roce_pkt *p)
{
	return ROCE_MIN_LEN + ext_len(&ops[p->opcode]) + p->payload_len + pad_of(p->payload_len);
}

// One's complement sum over the words of the header that build_outer writes.
static uint16_t ipv4_csum(const struct roce_addr *a, uint32_t total_len)
{
	uint32_t sum = (0x4500u | a->tos) + total_len + a->ip_id + IPV4_DF +
		       (TTL << 8 | (unsigned)IP_PROTO_UDP) + (a->src_ip >> 16) +
		       (a->src_ip & 0xffff) + (a->dst_ip >> 16) + (a->dst_ip & 0xffff);

	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static void build_outer(uint8_t *out, const struct roce_addr *a, uint32_t len)
{
	struct eth_hdr *eth = (struct eth_hdr *)out;
	struct ipv4_hdr *ip = (struct ipv4_hdr *)(eth + 1);
	struct udp_hdr *udp = (struct udp_hdr *)(ip + 1);

	memcpy(eth->dst, a->dst_mac, sizeof(eth->dst));
	memcpy(eth->src, a->src_mac, sizeof(eth->src));
	be16_put(&eth->type, ETYPE_IPV4);
	*ip = (struct ipv4_hdr){.ver_ihl = 0x45, .tos = a->tos, .ttl = TTL, .proto = IP_PROTO_UDP};
	be16_put(&ip->total_len, (uint16_t)(len - sizeof(*eth)));
	be16_put(&ip->id, a->ip_id);
	be16_put(&ip->frag, IPV4_DF);
	be32_put(&ip->src, a->src_ip);
	be32_put(&ip->dst, a->dst_ip);
	be16_put(&ip->csum, ipv4_csum(a, len - (uint32_t)sizeof(*eth)));
	be16_put(&udp->sport, a->udp_sport);
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, (uint16_t)(len - sizeof(*eth) - sizeof(*ip)));
	be16_put(&udp->csum, 0); // RoCEv2 leaves it out: the iCRC covers more
}

// Returns where the payload begins.
static uint8_t *build_ext(uint8_t *at, const struct roce_op *op, const struct roce_pkt *p)
{
	if (op->deth) {
		struct deth_hdr *deth = (struct deth_hdr *)at;

		be32_put(&deth->qkey, p->qkey);
		deth->reserved = 0;
		be24_put(&deth->src_qp, p->src_qp);
		at += sizeof(*deth);
	}
	if (op->reth) {
		struct reth_hdr *reth = (struct reth_hdr *)at;

		be64_put(&reth->va, p->va);
		be32_put(&reth->rkey, p->rkey);
		be32_put(&reth->dma_len, p->dma_len);
		at += sizeof(*reth);
	}
	if (op->aeth) {
		struct aeth_hdr *aeth = (struct aeth_hdr *)at;

		aeth->syndrome = p->syndrome;
		be24_put(&aeth->msn, p->msn);
		at += sizeof(*aeth);
	}
	return at;
}

// All headers. Returns where the payload begins.
static uint8_t *build_headers(uint8_t *out, const struct roce_addr *addr, const struct roce_pkt *p)
{
	struct bth_hdr *bth = (struct bth_hdr *)(out + ROCE_L2L3L4_LEN);

	build_outer(out, addr, roce_frame_len(p));
	bth->opcode = p->opcode;
	// A CNP says that it is one by BECN, too, and nothing of path migration.
	bth->flags = p->opcode == ROCE_CNP
			     ? 0
			     : (uint8_t)(BTH_MIG | pad_of(p->payload_len) << BTH_PAD_SHIFT);
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	bth->cong = p->opcode == ROCE_CNP ? BTH_BECN : 0;
	be24_put(&bth->dest_qp, p->dest_qp);
	bth->ack_req = p->ack_req ? BTH_ACK_REQ : 0;
	be24_put(&bth->psn, p->psn);
	return build_ext((uint8_t *)(bth + 1), &ops[p->opcode], p);
}

void roce_build(uint8_t *out, const struct roce_addr *addr, const struct roce_pkt *p)
{
	uint32_t len = roce_frame_len(p);
	uint8_t *at = build_headers(out, addr, p);

	if (p->payload_len != 0)
		memcpy(at, p->payload, p->payload_len);
	memset(at + p->payload_len, 0, pad_of(p->payload_len));
	icrc_put(out + len - ROCE_ICRC_LEN,
		 icrc(out + sizeof(struct eth_hdr),
		      len - (uint32_t)sizeof(struct eth_hdr) - ROCE_ICRC_LEN, PKT_IPV4));
}

void roce_build_headers(uint8_t *out, uint32_t stored, const struct roce_addr *addr,
			const struct roce_pkt *p)
{
	uint8_t *at = build_headers(out, addr, p);

	memset(at, 0, stored - (size_t)(at - out));
}

static void read_ext(const uint8_t *at, const struct roce_op *op, struct roce_pkt *p)
{
	if (op->deth) {
		const struct deth_hdr *deth = (const struct deth_hdr *)at;

		p->qkey = be32_get(&deth->qkey);
		p->src_qp = be24_get(&deth->src_qp);
		at += sizeof(*deth);
	}
	if (op->reth) {
		const struct reth_hdr *reth = (const struct reth_hdr *)at;

		p->va = be64_get(&reth->va);
		p->rkey = be32_get(&reth->rkey);
		p->dma_len = be32_get(&reth->dma_len);
		at += sizeof(*reth);
	}
	if (op->aeth) {
		const struct aeth_hdr *aeth = (const struct aeth_hdr *)at;

		p->syndrome = aeth->syndrome;
		p->msn = be24_get(&aeth->msn);
	}
}

enum roce_read roce_read_headers(const uint8_t *frame, uint32_t len, uint32_t stored,
				 const struct pkt_info *info, struct roce_pkt *p)
{
	const struct bth_hdr *bth = (const struct bth_hdr *)(frame + info->l4_off +
							     sizeof(struct udp_hdr));
	const struct roce_op *op = &ops[info->bth_opcode];
	uint32_t l3_len, inner, fixed, pad;

	// The frame may be padded beyond the datagram; the UDP length says where it ends.
	l3_len = be16_get(&((const struct ipv4_hdr *)(frame + info->l3_off))->total_len);
	inner = be16_get(&((const struct udp_hdr *)(frame + info->l4_off))->len);
	if (info->l3_off + l3_len > len || info->l4_off + inner != info->l3_off + l3_len)
		return ROCE_READ_SHORT;
	pad = (uint32_t)(bth->flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT;
	fixed = (uint32_t)(sizeof(struct udp_hdr) + sizeof(*bth)) + ext_len(op) + pad +
		ROCE_ICRC_LEN;
	if (op->kind == ROCE_OTHER || inner < fixed || (bth->flags & BTH_VERSION_MASK) != 0 ||
	    info->l4_off + fixed - pad - ROCE_ICRC_LEN > stored)
		return ROCE_READ_SHORT;
	*p = (struct roce_pkt){
		.opcode = info->bth_opcode,
		.ack_req = bth->ack_req & BTH_ACK_REQ,
		.dest_qp = info->bth_dest_qp,
		.psn = info->bth_psn,
		.payload_len = inner - fixed,
	};
	read_ext((const uint8_t *)(bth + 1), op, p);
	return ROCE_READ_OK;
}

enum roce_read roce_read(const uint8_t *frame, uint32_t len, const struct pkt_info *info,
			 struct roce_pkt *p)
{
	enum roce_read r = roce_read_headers(frame, len, len, info, p);

	if (r != ROCE_READ_OK)
		return r;
	p->payload = frame + info->l4_off + sizeof(struct udp_hdr) + sizeof(struct bth_hdr) +
		     ext_len(&ops[info->bth_opcode]);
	return icrc_check(frame, len, info) ? ROCE_READ_OK : ROCE_READ_ICRC;
}

uint16_t roce_udp_sport(uint32_t qpn_a, uint32_t qpn_b)
{
	uint64_t v = (uint64_t)qpn_a * qpn_b;
	uint32_t label;

	v ^= v >> 20;
	v ^= v >> 40;
	label = (uint32_t)v & 0xfffff;
	return (uint16_t)(0xc000 | ((label & 0x3fff) ^ (label >> 14)));
}
