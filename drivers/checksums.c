// SPDX-License-Identifier: Apache-2.0
#include "drivers/checksums.h"

#include <stdbool.h>
#include <string.h>

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

enum { MAX_TAGS = 2 };

// A segment or datagram in a frame.
struct part {
	uint8_t *start;
	uint32_t len;
	uint8_t proto;
	uint16_t pseudo; // folded sum of the pseudo header
};

static bool in_ipv4(uint8_t *at, uint32_t left, struct part *out)
{
	const struct rte_ipv4_hdr *ip = (const void *)at;
	uint32_t header, total;

	if (left < sizeof(*ip))
		return false;
	header = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	out->proto = ip->next_proto_id;
	if ((out->proto != IPPROTO_TCP && out->proto != IPPROTO_UDP) || header < sizeof(*ip) ||
	    total < header || total > left ||
	    (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) != 0)
		return false;
	out->start = at + header;
	out->len = total - header;
	out->pseudo = rte_ipv4_phdr_cksum(ip, 0);
	return true;
}

static bool in_ipv6(uint8_t *at, uint32_t left, struct part *out)
{
	const struct rte_ipv6_hdr *ip = (const void *)at;

	if (left < sizeof(*ip))
		return false;
	out->proto = ip->proto;
	out->start = at + sizeof(*ip);
	out->len = rte_be_to_cpu_16(ip->payload_len);
	if ((out->proto != IPPROTO_TCP && out->proto != IPPROTO_UDP) ||
	    out->len > left - sizeof(*ip))
		return false;
	out->pseudo = rte_ipv6_phdr_cksum(ip, 0);
	return true;
}

static bool find_l4_part(struct rte_mbuf *m, struct part *out)
{
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t left = m->data_len;
	uint16_t type;

	for (unsigned tags = 0; left >= RTE_ETHER_HDR_LEN; tags++) {
		memcpy(&type, at + 2 * RTE_ETHER_ADDR_LEN, sizeof(type));
		if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
			return in_ipv4(at + RTE_ETHER_HDR_LEN, left - RTE_ETHER_HDR_LEN, out);
		if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6))
			return in_ipv6(at + RTE_ETHER_HDR_LEN, left - RTE_ETHER_HDR_LEN, out);
		if ((type != RTE_BE16(RTE_ETHER_TYPE_VLAN) &&
		     type != RTE_BE16(RTE_ETHER_TYPE_QINQ)) ||
		    tags == MAX_TAGS)
			return false;
		at += RTE_VLAN_HLEN;
		left -= RTE_VLAN_HLEN;
	}
	return false;
}

static bool finish(struct rte_mbuf *m)
{
	struct part part;
	uint16_t sum;
	uint8_t *field;

	if (!find_l4_part(m, &part))
		return false;
	if (part.proto == IPPROTO_TCP)
		field = part.start + offsetof(struct rte_tcp_hdr, cksum);
	else
		field = part.start + offsetof(struct rte_udp_hdr, dgram_cksum);
	if (part.start + part.len < field + sizeof(sum))
		return false;
	memcpy(&sum, field, sizeof(sum));
	if (sum != part.pseudo) // a datagram without a checksum has 0, which no sum is
		return false;
	sum = (uint16_t)~rte_raw_cksum(part.start, part.len);
	if (sum == 0 && part.proto == IPPROTO_UDP)
		sum = 0xffff;
	memcpy(field, &sum, sizeof(sum));
	return true;
}

unsigned checksums_finish(struct rte_mbuf **pkts, unsigned n)
{
	unsigned finished = 0;

	for (unsigned i = 0; i < n; i++)
		finished += finish(pkts[i]);
	return finished;
}
