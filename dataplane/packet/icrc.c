// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/icrc.h"

#include <zlib.h>

#include "dataplane/packet/wire.h"

enum {
	IPV4_MAX_HLEN = 60,
	ROCE_L4_HLEN = sizeof(struct udp_hdr) + sizeof(struct bth_hdr),
};

// What zlib calls the CRC after the eight bytes of ones that stand for the link's header. The
// register itself holds the complement, 0xdebb20e3.
static const uint32_t crc_after_ones = 0x2144df1c;

static uint32_t crc_add(uint32_t crc, const void *p, uint32_t len)
{
	return (uint32_t)crc32(crc, p, len);
}

static uint32_t crc_add_ipv4(uint32_t crc, const uint8_t *l3, uint32_t hlen)
{
	union {
		struct ipv4_hdr h;
		uint8_t b[IPV4_MAX_HLEN];
	} m;

	memcpy(m.b, l3, hlen);
	m.h.tos = 0xff;
	m.h.ttl = 0xff;
	be16_put(&m.h.csum, 0xffff);
	return crc_add(crc, m.b, hlen);
}

static uint32_t crc_add_ipv6(uint32_t crc, const uint8_t *l3, uint32_t hlen)
{
	struct ipv6_hdr m;

	memcpy(&m, l3, sizeof(m));
	be32_put(&m.vtc_flow, be32_get(&m.vtc_flow) | 0x0fffffff);
	m.hop_limit = 0xff;
	crc = crc_add(crc, &m, sizeof(m));
	return crc_add(crc, l3 + sizeof(m), hlen - (uint32_t)sizeof(m));
}

static uint32_t crc_add_l4(uint32_t crc, const uint8_t *l4)
{
	struct {
		struct udp_hdr udp;
		struct bth_hdr bth;
	} m;

	static_assert(sizeof(m) == ROCE_L4_HLEN, "headers follow each other without a gap");
	memcpy(&m, l4, sizeof(m));
	be16_put(&m.udp.csum, 0xffff);
	m.bth.cong = 0xff;
	return crc_add(crc, &m, sizeof(m));
}

// hlen: bytes from the IP header to the UDP header; the payload is read where it lies.
static uint32_t icrc_at(const uint8_t *l3, uint32_t hlen, uint32_t len, enum pkt_kind kind)
{
	uint32_t crc = crc_after_ones;

	assert(len >= hlen + ROCE_L4_HLEN);
	crc = kind == PKT_IPV6 ? crc_add_ipv6(crc, l3, hlen) : crc_add_ipv4(crc, l3, hlen);
	crc = crc_add_l4(crc, l3 + hlen);
	hlen += ROCE_L4_HLEN;
	return crc_add(crc, l3 + hlen, len - hlen);
}

uint32_t icrc(const uint8_t *l3, uint32_t len, enum pkt_kind kind)
{
	uint32_t hlen = kind == PKT_IPV6 ? (uint32_t)sizeof(struct ipv6_hdr) : (l3[0] & 0xfu) * 4;

	return icrc_at(l3, hlen, len, kind);
}

void icrc_put(uint8_t *at, uint32_t crc)
{
	for (unsigned i = 0; i < ROCE_ICRC_LEN; i++)
		at[i] = (uint8_t)(crc >> 8 * i);
}

static uint32_t ip_packet_len(const uint8_t *l3, enum pkt_kind kind)
{
	const struct ipv4_hdr *v4 = (const void *)l3;
	const struct ipv6_hdr *v6 = (const void *)l3;

	if (kind == PKT_IPV6)
		return (uint32_t)sizeof(*v6) + be16_get(&v6->payload_len);
	return be16_get(&v4->total_len);
}

bool icrc_check(const uint8_t *frame, uint32_t len, const struct pkt_info *info)
{
	const uint8_t *l3 = frame + info->l3_off;
	uint8_t want[ROCE_ICRC_LEN];
	uint32_t hlen, total;

	if (!info->roce)
		return false;
	hlen = (uint32_t)info->l4_off - info->l3_off;
	total = ip_packet_len(l3, info->kind);
	if (total > len - info->l3_off || total < hlen + ROCE_L4_HLEN + ROCE_ICRC_LEN)
		return false;
	icrc_put(want, icrc_at(l3, hlen, total - ROCE_ICRC_LEN, info->kind));
	return memcmp(want, l3 + total - ROCE_ICRC_LEN, sizeof(want)) == 0;
}
