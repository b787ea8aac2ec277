// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/cnp.h"

#include "dataplane/packet/icrc.h"
#include "dataplane/packet/wire.h"

enum {
	TTL = 64,
	L4_LEN = sizeof(struct udp_hdr) + sizeof(struct bth_hdr) + CNP_PAYLOAD_LEN + ROCE_ICRC_LEN,
};

static uint8_t *put_ethernet(uint8_t *out, const struct cnp *c)
{
	uint16_t type = c->v6 ? ETYPE_IPV6 : ETYPE_IPV4;
	struct eth_hdr *eth = (void *)out;
	uint8_t *at = eth->type.b;

	memcpy(eth->dst, c->dst_mac, sizeof(eth->dst));
	memcpy(eth->src, c->src_mac, sizeof(eth->src));
	for (unsigned i = 0; i < c->n_tags; i++, at += sizeof(struct vlan_hdr)) {
		be16_put(at, c->tags[i].tpid);
		be16_put(at + 2, c->tags[i].tci);
	}
	be16_put(at, type);
	return at + 2;
}

static uint16_t ipv4_csum(const struct ipv4_hdr *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < sizeof(*ip); i += 2)
		sum += be16_get((const uint8_t *)ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static uint8_t *put_ipv4(uint8_t *l3, const struct cnp *c)
{
	struct ipv4_hdr *ip = (void *)l3;

	*ip = (struct ipv4_hdr){.ver_ihl = 0x45, .ttl = TTL, .proto = IP_PROTO_UDP};
	ip->tos = (uint8_t)(c->dscp << 2 | ECN_ECT0);
	be16_put(&ip->total_len, sizeof(*ip) + L4_LEN);
	be16_put(&ip->id, c->ip_id);
	be16_put(&ip->frag, IPV4_DF);
	memcpy(&ip->src, c->src_ip, sizeof(ip->src));
	memcpy(&ip->dst, c->dst_ip, sizeof(ip->dst));
	be16_put(&ip->csum, ipv4_csum(ip));
	return l3 + sizeof(*ip);
}

static uint8_t *put_ipv6(uint8_t *l3, const struct cnp *c)
{
	struct ipv6_hdr *ip = (void *)l3;

	be32_put(&ip->vtc_flow, 6u << 28 | (uint32_t)(c->dscp << 2 | ECN_ECT0) << 20);
	be16_put(&ip->payload_len, L4_LEN);
	ip->next = IP_PROTO_UDP;
	ip->hop_limit = TTL;
	memcpy(ip->src, c->src_ip, sizeof(ip->src));
	memcpy(ip->dst, c->dst_ip, sizeof(ip->dst));
	return l3 + sizeof(*ip);
}

// Returns where the iCRC belongs.
static uint8_t *put_notification(uint8_t *l4, const struct cnp *c)
{
	struct udp_hdr *udp = (void *)l4;
	struct bth_hdr *bth = (void *)(udp + 1);

	be16_put(&udp->sport, c->udp_sport);
	be16_put(&udp->dport, ROCE_UDP_PORT);
	be16_put(&udp->len, L4_LEN);
	be16_put(&udp->csum, 0); // RoCEv2 leaves it out: the iCRC covers more
	*bth = (struct bth_hdr){.opcode = ROCE_CNP, .cong = BTH_BECN};
	be16_put(&bth->pkey, c->pkey);
	be24_put(&bth->dest_qp, c->dest_qp);
	memset(bth + 1, 0, CNP_PAYLOAD_LEN);
	return (uint8_t *)(bth + 1) + CNP_PAYLOAD_LEN;
}

uint32_t cnp_build(uint8_t out[CNP_MAX_LEN], const struct cnp *c)
{
	uint8_t *l3 = put_ethernet(out, c);
	uint8_t *l4 = c->v6 ? put_ipv6(l3, c) : put_ipv4(l3, c);
	uint8_t *end = put_notification(l4, c);

	icrc_put(end, icrc(l3, (uint32_t)(end - l3), c->v6 ? PKT_IPV6 : PKT_IPV4));
	return (uint32_t)(end - out) + ROCE_ICRC_LEN;
}
