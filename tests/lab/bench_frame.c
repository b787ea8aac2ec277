// SPDX-License-Identifier: Apache-2.0
// The frames of the hosts of a bench, byte by byte.
#include "tests/lab/bench.h"

#include <string.h>

static uint16_t checksum(const uint8_t *p, unsigned len)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint8_t *build_ipv4(uint8_t *p, const struct bench_frame *f, unsigned len)
{
	memset(p, 0, 20);
	p[0] = 0x45;
	p[1] = (uint8_t)(f->dscp << 2 | f->ecn);
	put16(p + 2, len);
	p[6] = 0x40;
	p[8] = 64;
	p[9] = 17;
	memcpy(p + 12, (uint8_t[]){10, 0, 0, 1, 10, 0, 0, 2}, 8);
	put16(p + 10, checksum(p, 20));
	return p + 20;
}

static uint8_t *build_ipv6(uint8_t *p, const struct bench_frame *f, unsigned len)
{
	unsigned tc = (unsigned)f->dscp << 2 | f->ecn;

	memset(p, 0, 40);
	p[0] = (uint8_t)(0x60 | tc >> 4);
	p[1] = (uint8_t)(tc << 4);
	put16(p + 4, len - 40);
	p[6] = 17;
	p[7] = 64;
	p[8] = p[24] = 0xfd;
	p[23] = 1;
	p[39] = 2;
	return p + 40;
}

// The address of the host at a port.
static void put_host(uint8_t *p, unsigned port)
{
	memcpy(p, (uint8_t[]){2, 0, 0, (uint8_t)((port + 1) >> 8), 0, (uint8_t)(port + 1)}, 6);
}

uint16_t bench_build(uint8_t *out, unsigned from, const struct bench_frame *f)
{
	uint8_t *p = out + 12;
	unsigned left;

	put_host(out, f->to);
	if (f->broadcast)
		memset(out, 0xff, 6);
	put_host(out + 6, f->as != 0 ? f->as - 1u : from);
	if (f->tagged) {
		put16(p, 0x8100);
		put16(p + 2, (unsigned)f->pcp << 13 | f->vid);
		p += 4;
	}
	put16(p, f->ether_type != 0 ? f->ether_type : f->ipv6 ? 0x86dd : 0x0800);
	p += 2;
	left = f->len - (unsigned)(p - out);
	if (f->ether_type == 0) {
		p = f->ipv6 ? build_ipv6(p, f, left) : build_ipv4(p, f, left);
		left = f->len - (unsigned)(p - out);
		put16(p, 5000);
		put16(p + 2, 5001);
		put16(p + 4, left);
		put16(p + 6, 0);
		p += 8;
		left -= 8;
	}
	memset(p, 0x5a, left);
	memcpy(p, &f->seq, sizeof(f->seq));
	return f->len;
}

uint32_t bench_seq(const struct bench_rx *rx)
{
	uint32_t seq;

	memcpy(&seq, rx->data + 14 + 20 + 8, sizeof(seq));
	return seq;
}
