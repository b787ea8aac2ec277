// SPDX-License-Identifier: Apache-2.0
#include "control/probe/frame.h"

#include <string.h>

#include "dataplane/packet/wire.h"

enum {
	MAGIC = 0x77707262, // "wprb"
	ETH = 14,
	TAG = 4,
	IP = 20,
	UDP = 8,
	PROTO_UDP = 17,
	PORT_DISCARD = 9,
	PORT_SOURCE = 49152,
	TTL = 64,
	PATTERN = 0x5a,
};

// Behind UDP.
struct payload {
	struct be32 magic, trial, seq;
	uint8_t cls;
};

static uint16_t checksum(const uint8_t *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < IP; i += 2)
		sum += be16_get(p + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void probe_frame_build(uint8_t *out, const struct probe_frame *f)
{
	uint8_t *ip = out + ETH + (f->vlan != PROBE_NO_TAG ? TAG : 0), *udp = ip + IP;
	uint16_t ip_len = (uint16_t)(f->len - (ip - out));
	struct payload *p = (struct payload *)(udp + UDP);

	memset(out, PATTERN, f->len);
	memcpy(out, f->dst, sizeof(f->dst));
	memcpy(out + 6, f->src, sizeof(f->src));
	be16_put(ip - 2, ETYPE_IPV4);
	if (f->vlan != PROBE_NO_TAG) {
		be16_put(out + 12, ETYPE_VLAN);
		be16_put(out + ETH, (uint16_t)(f->cls << 13 | f->vlan));
	}
	memset(ip, 0, IP + UDP);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(f->dscp << 2 | f->ecn);
	be16_put(ip + 2, ip_len);
	ip[8] = TTL;
	ip[9] = PROTO_UDP;
	// 198.18.0.0/15 is for measurements of devices (RFC 2544).
	memcpy(ip + 12, (uint8_t[]){198, 18, 0, f->src[5], 198, 18, 0, f->dst[5]}, 8);
	be16_put(ip + 10, checksum(ip));
	be16_put(udp, PORT_SOURCE);
	be16_put(udp + 2, PORT_DISCARD);
	be16_put(udp + 4, (uint16_t)(ip_len - IP));
	be32_put(&p->magic, MAGIC);
	be32_put(&p->trial, f->trial);
	be32_put(&p->seq, f->seq);
	p->cls = f->cls;
}

bool probe_frame_parse(const uint8_t *frame, uint32_t len, struct probe_frame *f)
{
	const uint8_t *ip = frame + ETH;
	const struct payload *p;

	if (len < PROBE_LEN_MIN - TAG)
		return false;
	if (be16_get(ip - 2) == ETYPE_VLAN)
		ip += TAG;
	p = (const struct payload *)(ip + IP + UDP);
	if (be16_get(ip - 2) != ETYPE_IPV4 || ip[0] != 0x45 || ip[9] != PROTO_UDP ||
	    (uint32_t)((const uint8_t *)(p + 1) - frame) > len || be32_get(&p->magic) != MAGIC)
		return false;
	f->ecn = ip[1] & 3;
	f->dscp = ip[1] >> 2;
	f->cls = p->cls & 7;
	f->trial = be32_get(&p->trial);
	f->seq = be32_get(&p->seq);
	f->len = (uint16_t)len;
	return true;
}
