// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/neighbour.h"

#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum {
	V4 = 4,
	V6 = 6,
	HW_ETHERNET = 1,
	ICMPV6 = 58,
	NS = 135,
	NA = 136,
	HOPS = 255,
	OPT_SOURCE = 1, // link-layer address of who asks
	OPT_TARGET = 2, // of who answers
	OPT_UNIT = 8,
	NA_ROUTER = 0x80,
	NA_SOLICITED = 0x40,
	NA_OVERRIDE = 0x20,
};

// Solicitation and advertisement, without options.
struct nd_hdr {
	uint8_t type, code;
	struct be16 csum;
	uint8_t flags;
	uint8_t reserved[3];
	uint8_t target[16];
};
static_assert(sizeof(struct nd_hdr) == 24, "RFC 4861 4.3 and 4.4");

static const uint8_t zero[16];

static bool is_zero(const uint8_t *a, size_t n)
{
	return memcmp(a, zero, n) == 0;
}

bool is_station_mac(const uint8_t *mac)
{
	return !(mac[0] & 1) && !is_zero(mac, 6);
}

// ---- ARP

static bool arp_read(const uint8_t *frame, uint32_t len, struct neighbour_msg *m)
{
	const struct arp_hdr *a = (const void *)(frame + ETH_HLEN_);
	uint16_t op;

	if (len < ETH_HLEN_ + sizeof(*a) || be16_get(&a->hw_type) != HW_ETHERNET ||
	    be16_get(&a->proto_type) != ETYPE_IPV4 || a->hw_len != 6 || a->proto_len != 4)
		return false;
	op = be16_get(&a->op);
	if ((op != ARP_REQUEST && op != ARP_REPLY) || !is_station_mac(a->sender_mac))
		return false;
	m->family = V4;
	m->request = op == ARP_REQUEST;
	m->has_mac = true;
	m->overrides = true;
	m->solicited = op == ARP_REPLY && !(frame[0] & 1);
	memcpy(m->sender_mac, a->sender_mac, 6);
	memcpy(m->sender, a->sender_ip.b, 4);
	memcpy(m->target, a->target_ip.b, 4);
	return m->request || !is_zero(m->sender, 4);
}

static uint16_t arp_write(uint8_t *out, const struct neighbour_msg *m)
{
	struct eth_hdr *eth = (void *)out;
	struct arp_hdr *a = (void *)(out + ETH_HLEN_);

	memset(out, 0, NEIGHBOUR_MSG_MIN);
	memcpy(eth->dst, m->to_mac, 6);
	if (is_zero(m->to_mac, 6))
		memset(eth->dst, 0xff, 6);
	memcpy(eth->src, m->sender_mac, 6);
	be16_put(&eth->type, ETYPE_ARP);
	be16_put(&a->hw_type, HW_ETHERNET);
	be16_put(&a->proto_type, ETYPE_IPV4);
	a->hw_len = 6;
	a->proto_len = 4;
	be16_put(&a->op, m->request ? ARP_REQUEST : ARP_REPLY);
	memcpy(a->sender_mac, m->sender_mac, 6);
	memcpy(a->sender_ip.b, m->sender, 4);
	memcpy(a->target_mac, m->request ? zero : m->to_mac, 6);
	memcpy(a->target_ip.b, m->target, 4);
	return NEIGHBOUR_MSG_MIN;
}

// ---- neighbour discovery

// Over the pseudo header (RFC 8200 8.1) and n bytes of ICMPv6.
static uint16_t icmpv6_csum(const struct ipv6_hdr *ip, const uint8_t *icmp, uint32_t n)
{
	uint32_t sum = n + ICMPV6;

	for (unsigned i = 0; i < 16; i += 2)
		sum += (uint32_t)be16_get(ip->src + i) + be16_get(ip->dst + i);
	for (uint32_t i = 0; i + 1 < n; i += 2)
		sum += be16_get(icmp + i);
	if (n & 1)
		sum += (uint32_t)icmp[n - 1] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// The address in the option of this type. False when an option does not hold.
static bool nd_options(const uint8_t *opt, uint32_t n, uint8_t type, struct neighbour_msg *m)
{
	while (n != 0) {
		uint32_t size = n < 2 ? 0 : opt[1] * (uint32_t)OPT_UNIT;

		if (size == 0 || size > n)
			return false;
		if (opt[0] == type && size == OPT_UNIT) {
			if (!is_station_mac(opt + 2))
				return false;
			memcpy(m->sender_mac, opt + 2, 6);
			m->has_mac = true;
		}
		opt += size;
		n -= size;
	}
	return true;
}

// The group in which the station with this address listens (RFC 4291 2.7.1).
static void solicited_node(const uint8_t *target, uint8_t *ip)
{
	memcpy(ip, (const uint8_t[]){0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}, 13);
	memcpy(ip + 13, target + 13, 3);
}

static bool ns_read(const struct ipv6_hdr *ip, struct neighbour_msg *m)
{
	static const uint8_t group[13] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};

	memcpy(m->sender, ip->src, 16);
	// A probe for duplicates goes to the group, and has no address (RFC 4861 7.1.1).
	return !is_zero(m->sender, 16) || (memcmp(ip->dst, group, 13) == 0 && !m->has_mac);
}

static bool na_read(const struct ipv6_hdr *ip, const struct nd_hdr *nd, struct neighbour_msg *m)
{
	m->solicited = nd->flags & NA_SOLICITED;
	m->overrides = nd->flags & NA_OVERRIDE;
	memcpy(m->sender, m->target, 16);
	memset(m->target, 0, 16);
	if (ip->dst[0] != 0xff)
		memcpy(m->target, ip->dst, 16);
	return !(m->solicited && ip->dst[0] == 0xff);
}

static bool nd_read(const uint8_t *frame, uint32_t len, struct neighbour_msg *m)
{
	const struct ipv6_hdr *ip = (const void *)(frame + ETH_HLEN_);
	const uint8_t *icmp = frame + ETH_HLEN_ + sizeof(*ip);
	const struct nd_hdr *nd = (const void *)icmp;
	uint32_t n;

	if (len < ETH_HLEN_ + sizeof(*ip) + sizeof(*nd) || ip->vtc_flow.b[0] >> 4 != V6 ||
	    ip->next != ICMPV6 || ip->hop_limit != HOPS)
		return false;
	n = be16_get(&ip->payload_len);
	if (n < sizeof(*nd) || n > len - ETH_HLEN_ - sizeof(*ip) ||
	    icmpv6_csum(ip, icmp, n) != 0 || nd->code != 0 || nd->target[0] == 0xff ||
	    ip->src[0] == 0xff || (nd->type != NS && nd->type != NA))
		return false;
	m->family = V6;
	m->request = nd->type == NS;
	memcpy(m->target, nd->target, 16);
	if (!nd_options(icmp + sizeof(*nd), n - (uint32_t)sizeof(*nd),
			m->request ? OPT_SOURCE : OPT_TARGET, m))
		return false;
	return m->request ? ns_read(ip, m) : na_read(ip, nd, m);
}

static uint16_t nd_write(uint8_t *out, const struct neighbour_msg *m)
{
	static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
	struct eth_hdr *eth = (void *)out;
	struct ipv6_hdr *ip = (void *)(out + ETH_HLEN_);
	uint8_t *icmp = out + ETH_HLEN_ + sizeof(*ip), *opt = icmp + sizeof(struct nd_hdr);
	struct nd_hdr *nd = (void *)icmp;
	const uint16_t n = sizeof(*nd) + OPT_UNIT;

	memset(out, 0, NEIGHBOUR_MSG_MAX);
	ip->vtc_flow.b[0] = V6 << 4;
	be16_put(&ip->payload_len, n);
	ip->next = ICMPV6;
	ip->hop_limit = HOPS;
	memcpy(ip->src, m->sender, 16);
	memcpy(ip->dst, m->target, 16);
	if (m->request && is_zero(m->to_mac, 6))
		solicited_node(m->target, ip->dst);
	else if (is_zero(m->target, 16))
		memcpy(ip->dst, all_nodes, 16);
	memcpy(eth->dst, m->to_mac, 6);
	if (ip->dst[0] == 0xff) {
		memset(eth->dst, 0x33, 2); // RFC 2464 7
		memcpy(eth->dst + 2, ip->dst + 12, 4);
	}
	memcpy(eth->src, m->sender_mac, 6);
	be16_put(&eth->type, ETYPE_IPV6);
	nd->type = m->request ? NS : NA;
	memcpy(nd->target, m->request ? m->target : m->sender, 16);
	if (!m->request)
		nd->flags = (uint8_t)((m->from_host ? 0 : NA_ROUTER) | NA_OVERRIDE |
				      (is_zero(m->target, 16) ? 0 : NA_SOLICITED));
	opt[0] = m->request ? OPT_SOURCE : OPT_TARGET;
	opt[1] = 1;
	memcpy(opt + 2, m->sender_mac, 6);
	be16_put(&nd->csum, icmpv6_csum(ip, icmp, n));
	return NEIGHBOUR_MSG_MAX;
}

// ---- both

bool neighbour_parse(const uint8_t *frame, uint32_t len, struct neighbour_msg *out)
{
	const struct eth_hdr *eth = (const void *)frame;
	struct neighbour_msg m = {0};
	bool ok;

	if (len < sizeof(*eth) || !is_station_mac(eth->src))
		return false;
	memcpy(m.from_mac, eth->src, 6);
	if (be16_get(&eth->type) == ETYPE_ARP)
		ok = arp_read(frame, len, &m);
	else
		ok = be16_get(&eth->type) == ETYPE_IPV6 && nd_read(frame, len, &m);
	if (ok)
		*out = m;
	return ok;
}

uint16_t neighbour_build(uint8_t *out, const struct neighbour_msg *m)
{
	return m->family == V4 ? arp_write(out, m) : nd_write(out, m);
}
