// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/frames.h"

#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum { TTL = 64 };
// Options of TCP.
enum { OPT_NOP = 1, OPT_MSS = 2, OPT_SCALE = 3, OPT_SACK_OK = 4, OPT_SACK = 5,
       MSS_LEN = 4, SCALE_LEN = 3, SACK_OK_LEN = 2, BLOCK_LEN = 8 };

// ---- Ethernet and IP

// The one's complement sum of words in the order of the network.
static uint64_t sum_of(const uint8_t *at, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)(at[i] << 8 | at[i + 1]);
	return i < n ? sum + (uint32_t)(at[i] << 8) : sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// Returns where the IP header begins.
static uint8_t *build_eth(uint8_t *out, const struct frame_addr *a, uint16_t type)
{
	struct eth_hdr *eth = (struct eth_hdr *)out;
	struct vlan_hdr *tag = (struct vlan_hdr *)(eth + 1);

	memcpy(eth->dst, a->dst_mac, sizeof(eth->dst));
	memcpy(eth->src, a->src_mac, sizeof(eth->src));
	be16_put(&eth->type, a->tag.on ? (uint16_t)ETYPE_VLAN : type);
	if (!a->tag.on)
		return (uint8_t *)tag;
	be16_put(&tag->tci, (uint16_t)(a->tag.pcp << TCI_PCP_SHIFT | a->tag.vid));
	be16_put(&tag->type, type);
	return (uint8_t *)(tag + 1);
}

static void *build_ipv4(uint8_t *l3, const struct frame_addr *a, uint8_t proto, uint32_t len)
{
	struct ipv4_hdr *ip = (struct ipv4_hdr *)l3;

	*ip = (struct ipv4_hdr){.ver_ihl = 0x45, .tos = a->tos, .ttl = TTL, .proto = proto};
	be16_put(&ip->total_len, (uint16_t)(sizeof(*ip) + len));
	be16_put(&ip->id, a->ip_id);
	be16_put(&ip->frag, IPV4_DF);
	be32_put(&ip->src, (uint32_t)a->src_ip.lo);
	be32_put(&ip->dst, (uint32_t)a->dst_ip.lo);
	be16_put(&ip->csum, fold(sum_of(l3, sizeof(*ip))));
	return ip + 1;
}

static void *build_ipv6(uint8_t *l3, const struct frame_addr *a, uint8_t proto, uint32_t len)
{
	struct ipv6_hdr *ip = (struct ipv6_hdr *)l3;

	be32_put(&ip->vtc_flow, 6u << 28 | (uint32_t)a->tos << 20);
	be16_put(&ip->payload_len, (uint16_t)len);
	ip->next = proto;
	ip->hop_limit = TTL;
	ip_key_put(ip->src, a->src_ip);
	ip_key_put(ip->dst, a->dst_ip);
	return ip + 1;
}

// The headers in front of len bytes of UDP or TCP. Returns where these begin.
static void *build_outer(uint8_t *out, const struct frame_addr *a, uint8_t proto, uint32_t len)
{
	if (ip_key_is_v4(a->dst_ip))
		return build_ipv4(build_eth(out, a, ETYPE_IPV4), a, proto, len);
	return build_ipv6(build_eth(out, a, ETYPE_IPV6), a, proto, len);
}

// Bytes of the packet that begins at the IP header.
static uint32_t l3_packet_len(const uint8_t *l3, bool v6)
{
	if (v6)
		return (uint32_t)sizeof(struct ipv6_hdr) +
		       be16_get(&((const struct ipv6_hdr *)l3)->payload_len);
	return be16_get(&((const struct ipv4_hdr *)l3)->total_len);
}

void frame_ips(const uint8_t *frame, const struct pkt_info *info, struct frame_addr *a)
{
	const uint8_t *l3 = frame + info->l3_off;
	const struct ipv4_hdr *v4 = (const struct ipv4_hdr *)l3;
	const struct ipv6_hdr *v6 = (const struct ipv6_hdr *)l3;
	bool is_v6 = info->kind == PKT_IPV6;

	a->src_ip = is_v6 ? frame_ip_v6(v6->src) : ip_key_v4(be32_get(&v4->src));
	a->dst_ip = is_v6 ? frame_ip_v6(v6->dst) : ip_key_v4(be32_get(&v4->dst));
	a->tag = frame_tag_of(info);
}

// ---- RoCEv2

const struct roce_op roce_ops[256] = {
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

void roce_template_init(struct roce_template *t, const struct frame_addr *a, uint32_t dest_qp)
{
	struct udp_hdr *udp = build_outer(t->bytes, a, IP_PROTO_UDP, 0);
	struct ipv4_hdr *ip = (struct ipv4_hdr *)udp - 1;
	struct bth_hdr *bth = (struct bth_hdr *)(udp + 1);

	static_assert(sizeof(t->bytes) == ROCE_L2L3L4_LEN + FRAME_MAX_EXTRA + sizeof(*bth),
		      "up to the BTH");
	t->v6 = !ip_key_is_v4(a->dst_ip);
	t->extra = (uint8_t)frame_addr_extra(a);
	t->len = (uint8_t)(ROCE_L2L3L4_LEN + sizeof(*bth) + t->extra);
	t->l3_off = (uint8_t)(sizeof(struct eth_hdr) + a->tag.on * FRAME_TAG_LEN);
	be16_put(&udp->sport, a->sport);
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->csum, 0); // RoCEv2 leaves it out: the iCRC covers more
	*bth = (struct bth_hdr){0};
	be16_put(&bth->pkey, BTH_PKEY_DEFAULT);
	be24_put(&bth->dest_qp, dest_qp);
	t->ready = true;
	if (t->v6)
		return;
	be16_put(&ip->total_len, 0);
	be16_put(&ip->id, 0);
	be16_put(&ip->csum, 0);
	t->ip_sum = (uint32_t)sum_of((const uint8_t *)ip, sizeof(*ip));
}

// Writes the headers behind the BTH. Returns where the payload begins.
static uint8_t *build_extension(uint8_t *at, const struct roce_op *op, const struct roce_pkt *p)
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

void roce_fill(uint8_t *out, uint32_t stored, const struct roce_template *t, uint16_t ip_id,
	       const struct roce_pkt *p)
{
	const struct roce_op *op = roce_op_of(p->opcode);
	uint32_t len = roce_frame_len(p) + t->extra, pad = roce_pad(p->payload_len);
	uint32_t l3_len = len - t->l3_off;
	struct ipv4_hdr *ip = (struct ipv4_hdr *)(out + t->l3_off);
	uint8_t *at = out + t->len;
	struct bth_hdr *bth = (struct bth_hdr *)at - 1;
	struct udp_hdr *udp = (struct udp_hdr *)bth - 1;
	uint16_t udp_len = (uint16_t)(len - t->len + sizeof(*bth) + sizeof(*udp));

	memcpy(out, t->bytes, t->len);
	if (t->v6) {
		be16_put(&((struct ipv6_hdr *)ip)->payload_len, udp_len);
	} else {
		be16_put(&ip->total_len, (uint16_t)l3_len);
		be16_put(&ip->id, ip_id);
		be16_put(&ip->csum, fold(t->ip_sum + l3_len + ip_id));
	}
	be16_put(&udp->len, udp_len);
	bth->opcode = p->opcode;
	// A CNP has BECN set, and not the bit of path migration.
	if (p->opcode == ROCE_CNP)
		bth->cong = BTH_BECN;
	else
		bth->flags = (uint8_t)(BTH_MIG | pad << BTH_PAD_SHIFT);
	bth->ack_req = p->ack_req ? BTH_ACK_REQ : 0;
	be24_put(&bth->psn, p->psn);
	if (op->reth || op->aeth || op->deth)
		at = build_extension(at, op, p);
	if (stored < len) {
		memset(at, 0, stored - (size_t)(at - out));
		return;
	}
	if (p->payload_len != 0)
		memcpy(at, p->payload, p->payload_len);
	memset(at + p->payload_len, 0, pad);
	icrc_put(out + len - ROCE_ICRC_LEN, icrc(out + t->l3_off, l3_len - ROCE_ICRC_LEN,
						 t->v6 ? PKT_IPV6 : PKT_IPV4));
}

void roce_build(uint8_t *out, uint32_t stored, const struct frame_addr *addr,
		const struct roce_pkt *p)
{
	struct roce_template t;

	roce_template_init(&t, addr, p->dest_qp);
	roce_fill(out, stored, &t, addr->ip_id, p);
}

enum frame_read roce_read(const uint8_t *frame, uint32_t len, uint32_t stored,
			  const struct pkt_info *info, struct roce_pkt *p)
{
	const struct bth_hdr *bth = (const struct bth_hdr *)(frame + info->l4_off +
							     sizeof(struct udp_hdr));
	const struct roce_op *op = roce_op_of(info->bth_opcode);
	const uint8_t *at = (const uint8_t *)(bth + 1);
	uint32_t l3_len, inner, fixed, pad;

	// The frame may be padded beyond the datagram; the UDP length gives its end.
	l3_len = l3_packet_len(frame + info->l3_off, info->kind == PKT_IPV6);
	inner = be16_get(&((const struct udp_hdr *)(frame + info->l4_off))->len);
	if (info->l3_off + l3_len > len || info->l4_off + inner != info->l3_off + l3_len)
		return FRAME_SHORT;
	pad = (uint32_t)(bth->flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT;
	fixed = (uint32_t)(sizeof(struct udp_hdr) + sizeof(*bth)) + roce_ext_len(op) + pad +
		ROCE_ICRC_LEN;
	if (op->kind == ROCE_OTHER || inner < fixed || (bth->flags & BTH_VERSION_MASK) != 0 ||
	    info->l4_off + fixed - pad - ROCE_ICRC_LEN > stored)
		return FRAME_SHORT;
	*p = (struct roce_pkt){
		.opcode = info->bth_opcode,
		.ack_req = bth->ack_req & BTH_ACK_REQ,
		.dest_qp = info->bth_dest_qp,
		.psn = info->bth_psn,
		.payload_len = inner - fixed,
	};
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
	if (stored < len)
		return FRAME_OK;
	p->payload = (const uint8_t *)(bth + 1) + roce_ext_len(op);
	return icrc_check(frame, len, info) ? FRAME_OK : FRAME_CHECKSUM;
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

// ---- TCP

static uint32_t options_len(const struct tcp_seg *s)
{
	return (s->mss != 0 ? MSS_LEN : 0u) + (s->scale >= 0 ? SCALE_LEN + 1u : 0u) +
	       (s->sack_ok ? SACK_OK_LEN + 2u : 0u) +
	       (s->n_sacks != 0 ? 4u + BLOCK_LEN * s->n_sacks : 0u);
}

uint32_t tcp_frame_len(const struct tcp_seg *s, uint32_t extra)
{
	uint32_t len = TCP_HEADERS + extra + options_len(s) + s->len;

	return len < TCP_MIN_FRAME ? TCP_MIN_FRAME : len;
}

// Of the IP header at l3.
static uint64_t pseudo_sum(const uint8_t *l3, bool v6, uint32_t tcp_len)
{
	uint64_t addresses = v6 ? sum_of(l3 + offsetof(struct ipv6_hdr, src), 32)
				: sum_of(l3 + offsetof(struct ipv4_hdr, src), 8);

	return addresses + IP_PROTO_TCP + tcp_len;
}

static uint8_t *build_options(uint8_t *at, const struct tcp_seg *s)
{
	if (s->mss != 0) {
		*at++ = OPT_MSS;
		*at++ = MSS_LEN;
		*at++ = (uint8_t)(s->mss >> 8);
		*at++ = (uint8_t)s->mss;
	}
	if (s->scale >= 0) {
		*at++ = OPT_NOP;
		*at++ = OPT_SCALE;
		*at++ = SCALE_LEN;
		*at++ = (uint8_t)s->scale;
	}
	if (s->sack_ok) {
		*at++ = OPT_NOP;
		*at++ = OPT_NOP;
		*at++ = OPT_SACK_OK;
		*at++ = SACK_OK_LEN;
	}
	if (s->n_sacks != 0) {
		*at++ = OPT_NOP;
		*at++ = OPT_NOP;
		*at++ = OPT_SACK;
		*at++ = (uint8_t)(2 + BLOCK_LEN * s->n_sacks);
	}
	for (unsigned i = 0; i < s->n_sacks; i++, at += BLOCK_LEN) {
		be32_put(at, s->sacks[i].begin);
		be32_put(at + 4, s->sacks[i].end);
	}
	return at;
}

void tcp_build(uint8_t *out, uint32_t stored, const struct frame_addr *a, const struct tcp_seg *s,
	       const uint8_t *payload)
{
	uint32_t header = (uint32_t)sizeof(struct tcp_hdr) + options_len(s);
	uint32_t len = TCP_HEADERS + frame_addr_extra(a) + options_len(s) + s->len; // without pad
	struct tcp_hdr *tcp = build_outer(out, a, IP_PROTO_TCP, header + s->len);
	bool v6 = !ip_key_is_v4(a->dst_ip);
	const uint8_t *l3 = (const uint8_t *)tcp - sizeof(struct ipv4_hdr) - v6 * FRAME_V6_EXTRA;
	uint64_t sum = 0;
	uint8_t *at;

	*tcp = (struct tcp_hdr){.offset = (uint8_t)(header / 4 << 4), .flags = s->flags};
	be16_put(&tcp->sport, a->sport);
	be16_put(&tcp->dport, a->dport);
	be32_put(&tcp->seq, s->seq);
	be32_put(&tcp->ack, s->flags & TCP_ACK ? s->ack : 0);
	be16_put(&tcp->window, s->window);
	at = build_options((uint8_t *)(tcp + 1), s);
	if (stored >= len && payload != NULL) {
		memcpy(at, payload, s->len);
		sum = sum_of(payload, s->len);
		at += s->len;
	}
	memset(at, 0, stored - (size_t)(at - out));
	// Zeros that are not stored add nothing.
	sum += sum_of((const uint8_t *)tcp, header) + pseudo_sum(l3, v6, header + s->len);
	be16_put(&tcp->csum, fold(sum));
}

// Options that do not hold are as if they were absent.
static void read_options(const uint8_t *at, uint32_t n, struct tcp_seg *s)
{
	uint32_t i = 0;

	while (i < n && at[i] != 0) {
		uint32_t left = n - i;

		if (at[i] == OPT_NOP) {
			i++;
			continue;
		}
		if (left < 2 || at[i + 1] < 2 || at[i + 1] > left)
			return;
		if (at[i] == OPT_MSS && at[i + 1] == MSS_LEN)
			s->mss = (uint16_t)(at[i + 2] << 8 | at[i + 3]);
		if (at[i] == OPT_SCALE && at[i + 1] == SCALE_LEN)
			s->scale = (int8_t)(at[i + 2] & 0x7f);
		if (at[i] == OPT_SACK_OK && at[i + 1] == SACK_OK_LEN)
			s->sack_ok = true;
		for (uint32_t k = i + 2; at[i] == OPT_SACK && k + BLOCK_LEN <= i + at[i + 1] &&
					 s->n_sacks < TCP_MAX_SACKS; k += BLOCK_LEN)
			s->sacks[s->n_sacks++] =
				(struct tcp_block){be32_get(at + k), be32_get(at + k + 4)};
		i += at[i + 1];
	}
}

enum frame_read tcp_read(const uint8_t *frame, uint32_t len, uint32_t stored,
			 const struct pkt_info *info, struct frame_addr *a, struct tcp_seg *s,
			 const uint8_t **payload)
{
	bool v6 = info->kind == PKT_IPV6;
	const uint8_t *l3 = frame + info->l3_off;
	uint32_t end = info->l3_off + l3_packet_len(l3, v6), at = info->l4_off, header;
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(frame + at);
	uint32_t segment = end - at;

	if (at == 0 || end > len || at + sizeof(*tcp) > end || at + sizeof(*tcp) > stored)
		return FRAME_SHORT;
	header = (uint32_t)(tcp->offset >> 4) * 4;
	if (header < sizeof(*tcp) || header > segment || at + header > stored)
		return FRAME_SHORT;
	*payload = NULL;
	if (stored == len) {
		if (fold(sum_of(frame + at, segment) + pseudo_sum(l3, v6, segment)) != 0)
			return FRAME_CHECKSUM;
		*payload = frame + at + header;
	}
	*a = (struct frame_addr){.sport = be16_get(&tcp->sport), .dport = be16_get(&tcp->dport)};
	frame_ips(frame, info, a);
	*s = (struct tcp_seg){.seq = be32_get(&tcp->seq), .ack = be32_get(&tcp->ack),
			      .window = be16_get(&tcp->window), .flags = tcp->flags, .scale = -1,
			      .len = segment - header};
	read_options((const uint8_t *)(tcp + 1), header - (uint32_t)sizeof(*tcp), s);
	return FRAME_OK;
}

// ---- payload

uint32_t payload_sum(const uint8_t *data, uint32_t n)
{
	return (uint32_t)crc32(0, data, n);
}
