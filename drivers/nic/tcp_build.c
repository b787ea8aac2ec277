// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/tcp_build.h"

#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum { TTL = 64, OPT_NOP = 1, OPT_MSS = 2, OPT_SCALE = 3, OPT_SACK_OK = 4, OPT_SACK = 5,
       MSS_LEN = 4, SCALE_LEN = 3, SACK_OK_LEN = 2, BLOCK_LEN = 8 };

static uint32_t options_len(const struct tcp_seg *s)
{
	return (s->mss != 0 ? MSS_LEN : 0u) + (s->scale >= 0 ? SCALE_LEN + 1u : 0u) +
	       (s->sack_ok ? SACK_OK_LEN + 2u : 0u) +
	       (s->n_sacks != 0 ? 4u + BLOCK_LEN * s->n_sacks : 0u);
}

uint32_t tcp_frame_len(const struct tcp_seg *s)
{
	uint32_t len = TCP_HEADERS + options_len(s) + s->len;

	return len < TCP_MIN_FRAME ? TCP_MIN_FRAME : len;
}

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

static uint64_t pseudo_sum(const struct ipv4_hdr *ip, uint32_t tcp_len)
{
	return sum_of((const uint8_t *)&ip->src, 2 * sizeof(ip->src)) + IP_PROTO_TCP + tcp_len;
}

static void build_ip(struct ipv4_hdr *ip, const struct tcp_addr *a, uint32_t len)
{
	*ip = (struct ipv4_hdr){.ver_ihl = 0x45, .tos = a->tos, .ttl = TTL, .proto = IP_PROTO_TCP};
	be16_put(&ip->total_len, (uint16_t)len);
	be16_put(&ip->id, a->ip_id);
	be16_put(&ip->frag, IPV4_DF);
	be32_put(&ip->src, a->src_ip);
	be32_put(&ip->dst, a->dst_ip);
	be16_put(&ip->csum, fold(sum_of((const uint8_t *)ip, sizeof(*ip))));
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

void tcp_build(uint8_t *out, uint32_t stored, const struct tcp_addr *a, const struct tcp_seg *s,
	       const uint8_t *payload)
{
	struct eth_hdr *eth = (struct eth_hdr *)out;
	struct ipv4_hdr *ip = (struct ipv4_hdr *)(eth + 1);
	struct tcp_hdr *tcp = (struct tcp_hdr *)(ip + 1);
	uint32_t header = (uint32_t)sizeof(*tcp) + options_len(s);
	uint32_t len = TCP_HEADERS + options_len(s) + s->len; // without pad
	uint64_t sum = 0;
	uint8_t *at;

	memcpy(eth->dst, a->dst_mac, sizeof(eth->dst));
	memcpy(eth->src, a->src_mac, sizeof(eth->src));
	be16_put(&eth->type, ETYPE_IPV4);
	build_ip(ip, a, len - (uint32_t)sizeof(*eth));
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
	sum += sum_of((const uint8_t *)tcp, header) + pseudo_sum(ip, header + s->len);
	be16_put(&tcp->csum, fold(sum));
}

// ---- reading

static void read_blocks(const uint8_t *at, uint32_t n, struct tcp_seg *s)
{
	for (; n >= BLOCK_LEN && s->n_sacks < TCP_MAX_SACKS; n -= BLOCK_LEN, at += BLOCK_LEN)
		s->sacks[s->n_sacks++] = (struct tcp_block){be32_get(at), be32_get(at + 4)};
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
		if (at[i] == OPT_SACK)
			read_blocks(at + i + 2, at[i + 1] - 2u, s);
		i += at[i + 1];
	}
}

enum tcp_read tcp_read(const uint8_t *frame, uint32_t len, uint32_t stored,
		       const struct pkt_info *info, struct tcp_addr *a, struct tcp_seg *s,
		       const uint8_t **payload)
{
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(frame + info->l3_off);
	uint32_t l3 = be16_get(&ip->total_len), at = info->l3_off + (ip->ver_ihl & 15u) * 4;
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(frame + at);
	uint32_t segment = info->l3_off + l3 - at, header;

	if (info->l3_off + l3 > len || at + sizeof(*tcp) > info->l3_off + l3 ||
	    at + sizeof(*tcp) > stored)
		return TCP_READ_SHORT;
	header = (uint32_t)(tcp->offset >> 4) * 4;
	if (header < sizeof(*tcp) || header > segment || at + header > stored)
		return TCP_READ_SHORT;
	*payload = NULL;
	if (stored == len) {
		if (fold(sum_of((const uint8_t *)tcp, segment) + pseudo_sum(ip, segment)) != 0)
			return TCP_READ_CSUM;
		*payload = frame + at + header;
	}
	*a = (struct tcp_addr){.src_ip = be32_get(&ip->src), .dst_ip = be32_get(&ip->dst),
			       .sport = be16_get(&tcp->sport), .dport = be16_get(&tcp->dport)};
	*s = (struct tcp_seg){.seq = be32_get(&tcp->seq), .ack = be32_get(&tcp->ack),
			      .window = be16_get(&tcp->window), .flags = tcp->flags, .scale = -1,
			      .len = segment - header};
	read_options((const uint8_t *)(tcp + 1), header - (uint32_t)sizeof(*tcp), s);
	return TCP_READ_OK;
}
