// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/packet/wire.h"
#include "dataplane/switch_routes.h"

static const char ports[] =
	"switch: {name: r, buffer: {size: 4MB, cell: 256B}, ecmp: {seed: 7%s}}\n"
	"ports:\n"
	"  - {name: p1, device: \"wire:1\", speed: 10G, mtu: 1500, ip: [10.0.1.1/24, "
	"\"fd00:1::1/64\"]}\n"
	"  - {name: p2, device: \"wire:2\", speed: 10G, mtu: 1400, ip: [10.0.2.1/24, "
	"\"fd00:2::1/64\"]}\n"
	"  - {name: \"p[3-6]\", device: \"wire:[3-6]\", speed: 10G, mtu: 1500,\n"
	"     ip: [\"10.0.[3-6].1/24\", \"fd00:[3-6]::1/64\"]}\n"
	"neighbours:\n"
	"  - {ip: 10.0.1.2, mac: \"02:00:00:00:00:01\"}\n"
	"  - {ip: 10.0.2.2, mac: \"02:00:00:00:00:02\"}\n"
	"  - {ip: \"fd00:1::2\", mac: \"02:00:00:00:00:01\"}\n"
	"  - {ip: \"fd00:2::2\", mac: \"02:00:00:00:00:02\"}\n"
	"  - {ip: 10.0.3.2, mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: 10.0.4.2, mac: \"02:00:00:00:00:04\"}\n"
	"  - {ip: 10.0.5.2, mac: \"02:00:00:00:00:05\"}\n"
	"  - {ip: 10.0.6.2, mac: \"02:00:00:00:00:06\"}\n"
	"  - {ip: \"fd00:3::2\", mac: \"02:00:00:00:00:03\"}\n"
	"  - {ip: \"fd00:4::2\", mac: \"02:00:00:00:00:04\"}\n";

const char router_routes[] =
	"routes:\n"
	"  - {to: 10.9.0.0/16, via: 10.0.3.2}\n"
	"  - {to: 10.9.7.0/24, via: 10.0.4.2}\n"
	"  - {to: 10.9.7.9, via: 10.0.5.2}\n"
	"  - {to: 10.8.0.0/16, via: [10.0.3.2, 10.0.4.2, 10.0.5.2, 10.0.6.2]}\n"
	"  - {to: 10.7.0.0/16, via: 10.0.6.77}\n"
	"  - {to: 10.6.0.0/16, via: p2}\n"
	"  - {to: \"fd00:9::/48\", via: \"fd00:3::2\"}\n"
	"  - {to: \"fd00:9:0:7::/64\", via: \"fd00:4::2\"}\n"
	"  - {to: \"fd00:8::/48\", via: [\"fd00:3::2\", \"fd00:4::2\"]}\n";

const char *router_policy(const char *hash, const char *routes)
{
	static char text[8192];
	int n = snprintf(text, sizeof(text), ports, hash);

	snprintf(text + n, sizeof(text) - (size_t)n, "%s", routes);
	return text;
}

struct bench *router_open(const char *routes)
{
	return bench_open(router_policy("", routes), 0);
}

// ---- frames

uint16_t router_csum(const uint8_t *p, unsigned n)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void router_ip(const char *text, uint8_t *out)
{
	unsigned v[8] = {0}, n = 0;
	const char *tail;

	if (strchr(text, ':') == NULL) {
		assert_int_equal(sscanf(text, "%u.%u.%u.%u", &v[0], &v[1], &v[2], &v[3]), 4);
		for (unsigned i = 0; i < 4; i++)
			out[i] = (uint8_t)v[i];
		return;
	}
	memset(out, 0, 16);
	tail = strstr(text, "::");
	for (const char *at = text; at < tail; at = strchr(at, ':') + 1)
		be16_put(out + 2 * n++, (uint16_t)strtoul(at, NULL, 16));
	be16_put(out + 14, (uint16_t)strtoul(tail + 2, NULL, 16));
}

static uint8_t *build_ip(uint8_t *p, const struct router_packet *k, unsigned room)
{
	bool v6 = strchr(k->dst, ':') != NULL;
	unsigned hlen = v6 ? 40 : k->options ? 24 : 20;

	memset(p, 0, hlen);
	if (v6) {
		p[0] = 0x60;
		be16_put(p + 4, (uint16_t)(room - 40));
		p[6] = k->proto == 0 ? 17 : k->proto;
		p[7] = k->ttl == 0 ? 64 : k->ttl;
		router_ip(k->src, p + 8);
		router_ip(k->dst, p + 24);
		return p + hlen;
	}
	p[0] = (uint8_t)(0x40 | hlen / 4);
	p[1] = (uint8_t)(k->dscp << 2);
	be16_put(p + 2, (uint16_t)room);
	be16_put(p + 4, 0x1234);
	be16_put(p + 6, k->frag);
	p[8] = k->ttl == 0 ? 64 : k->ttl;
	p[9] = k->proto == 0 ? 17 : k->proto;
	router_ip(k->src, p + 12);
	router_ip(k->dst, p + 16);
	if (k->options)
		memset(p + 20, 1, 4); // no operation
	be16_put(p + 10, router_csum(p, hlen));
	return p + hlen;
}

uint16_t router_build(uint8_t *out, unsigned from, const struct router_packet *k)
{
	uint16_t len = k->len == 0 ? 100 : k->len;
	uint8_t *p = out + 12;

	memset(out, 0, len);
	memcpy(out, (uint8_t[]){2, 0, 0, 0, 1, (uint8_t)(from + 1)}, 6);
	memcpy(out + 6, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(from + 1)}, 6);
	if (k->tag != 0) {
		be16_put(p, 0x8100);
		be16_put(p + 2, k->tag);
		p += 4;
	}
	be16_put(p, strchr(k->dst, ':') != NULL ? 0x86dd : 0x0800);
	p = build_ip(p + 2, k, len - (unsigned)(p + 2 - out));
	be16_put(p, k->sport);
	be16_put(p + 2, k->qp != 0 ? 4791 : k->dport);
	be16_put(p + 4, (uint16_t)(len - (unsigned)(p - out)));
	if (k->qp != 0) {
		p[8] = RC_SEND_ONLY;
		be24_put(p + 13, k->qp);
	}
	return len;
}

void router_send(struct bench *b, unsigned from, const struct router_packet *k)
{
	uint8_t frame[FRAME_MAX];

	bench_send_raw(b, from, frame, router_build(frame, from, k));
}

void router_settle(struct bench *b)
{
	bench_run(b, 1000000);
}

uint32_t router_received(const struct bench *b)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < b->n_ports; i++)
		n += b->host[i].n_rx;
	return n;
}

void router_neighbour(struct bench *b, unsigned port, const char *ip, const uint8_t *mac)
{
	struct policy_addr a = {.family = strchr(ip, ':') != NULL ? FAMILY_V6 : FAMILY_V4};

	a.len = a.family == FAMILY_V4 ? 32 : 128;
	router_ip(ip, a.ip);
	assert_int_equal(switch_set_neighbour(b->sw, (port_no_t)port, &a, mac), 0);
}
