// SPDX-License-Identifier: Apache-2.0
// An IP address of either family as one value. Pure; any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/wire.h"

// Two words in host order; IPv4 as ::ffff:a.b.c.d.
struct ip_key {
	uint64_t hi, lo;
};

static inline struct ip_key ip_key_v4(uint32_t ip)
{
	return (struct ip_key){0, 0xffff00000000ull | ip};
}

static inline struct ip_key ip_key_v6(const uint8_t *ip)
{
	return (struct ip_key){be64_get(ip), be64_get(ip + 8)};
}

static inline bool ip_key_same(struct ip_key a, struct ip_key b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

static inline bool ip_key_is_v4(struct ip_key ip)
{
	return ip.hi == 0 && ip.lo >> 32 == 0xffff;
}

static inline bool ip_key_is_zero(struct ip_key ip)
{
	return (ip.hi | ip.lo) == 0;
}

// All 16 bytes, in network order.
static inline void ip_key_put(uint8_t *at, struct ip_key ip)
{
	be64_put(at, ip.hi);
	be64_put(at + 8, ip.lo);
}
