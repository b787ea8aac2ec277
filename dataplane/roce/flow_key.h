// SPDX-License-Identifier: Apache-2.0
// The key of a RoCEv2 flow, of everything that is stored by addresses and queue pair, and of a flow
// of TCP or UDP. Plain values; any thread.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/base/compiler.h"
#include "dataplane/packet/wire.h"

#define FLOW_NONE UINT32_MAX // an index or queue pair that does not exist

// Addresses and queue pair of one direction.
//   IPv4: w[0] = source << 32 | destination (host order), w[1..3] = 0
//   IPv6: w[0..1] source, w[2..3] destination, as be64_get reads them
//   w[4]: queue pair | family (4 or 6) << 24 | kind << 32
//   w[4] of TCP and UDP: destination port | source port << 16 | (KEY_TCP or KEY_UDP) << 32 |
//         (1 for IPv6) << 35
struct flow_key {
	uint64_t w[5];
};

// What is stored under the key. Each kind has a table of its own, and hashes of its own.
enum flow_key_kind {
	KEY_FLOW, // queue pair: the receiver's, as in the data frame
	KEY_ADDRESSES, // queue pair 0: two addresses
	KEY_REVERSE, // queue pair: the sender's; addresses as in the data frame
	KEY_KNOWN, // queue pair: the receiver's; pairs stated by CM or an operator
	// Beside KEY_FLOW in the table of flows.
	KEY_TCP,
	KEY_UDP,
};
enum { KEY_PORTS_BIT = 34, KEY_PORTS_V6_BIT = 35 }; // of w[4]: a key of ports; for IPv6

static_assert(KEY_TCP >> 2 == 1 && KEY_UDP >> 2 == 1, "KEY_PORTS_BIT is a bit of their kinds");

static inline bool flow_key_has_ports(const struct flow_key *k)
{
	return k->w[4] >> KEY_PORTS_BIT & 1;
}

static inline bool flow_key_is_v6(const struct flow_key *k)
{
	return flow_key_has_ports(k) ? k->w[4] >> KEY_PORTS_V6_BIT & 1
				     : (k->w[4] >> 24 & 0xff) == 6;
}

// Whether w[1..3] may be in use. They are 0 in a key of IPv4 ports, which counts as wide, so that
// one comparison decides about the keys of queue pairs.
static inline bool flow_key_is_wide(const struct flow_key *k)
{
	enum { FAMILY_AND_PORTS = 0xff | 1 << (KEY_PORTS_BIT - 24) };

	return (k->w[4] >> 24 & FAMILY_AND_PORTS) != 4;
}

// spare: bits of w[4] that are not compared; the family is none of them.
static inline bool flow_key_alike(const struct flow_key *a, const struct flow_key *b,
				  uint64_t spare)
{
	if (((a->w[0] ^ b->w[0]) | ((a->w[4] ^ b->w[4]) & ~spare)) != 0)
		return false;
	if (likely(!flow_key_is_wide(a)))
		return true; // and so is b
	return ((a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) | (a->w[3] ^ b->w[3])) == 0;
}

static inline bool flow_key_same(const struct flow_key *a, const struct flow_key *b)
{
	return flow_key_alike(a, b, 0);
}

static inline struct flow_key flow_key_v4(uint32_t src, uint32_t dst, uint32_t qp,
					  enum flow_key_kind kind)
{
	return (struct flow_key){{(uint64_t)src << 32 | dst, 0, 0, 0,
				  qp | 4ull << 24 | (uint64_t)kind << 32}};
}

// From 16-byte addresses in network order; an IPv4 address is the first four bytes. v6: the family.
static inline struct flow_key flow_key_of(bool v6, const uint8_t src[16], const uint8_t dst[16],
					  uint32_t qp, enum flow_key_kind kind)
{
	if (!v6)
		return flow_key_v4(be32_get(src), be32_get(dst), qp, kind);
	return (struct flow_key){{be64_get(src), be64_get(src + 8), be64_get(dst),
				  be64_get(dst + 8), qp | 6ull << 24 | (uint64_t)kind << 32}};
}

// From the first four bytes of a header of TCP or UDP, and from the addresses as they are on the
// wire. kind: KEY_TCP or KEY_UDP.
static inline struct flow_key flow_key_ports(bool v6, const uint8_t *src, const uint8_t *dst,
					     const uint8_t *l4, enum flow_key_kind kind)
{
	uint64_t last = be32_get(l4) | (uint64_t)kind << 32 | (uint64_t)v6 << KEY_PORTS_V6_BIT;

	if (!v6)
		return (struct flow_key){
			{(uint64_t)be32_get(src) << 32 | be32_get(dst), 0, 0, 0, last}};
	return (struct flow_key){{be64_get(src), be64_get(src + 8), be64_get(dst),
				  be64_get(dst + 8), last}};
}

static inline bool flow_key_is_tcp(const struct flow_key *k)
{
	return (k->w[4] >> 32 & 7) == KEY_TCP;
}

static inline uint16_t flow_key_sport(const struct flow_key *k)
{
	return (uint16_t)(k->w[4] >> 16);
}

static inline uint16_t flow_key_dport(const struct flow_key *k)
{
	return (uint16_t)k->w[4];
}

static inline uint32_t flow_key_qp(const struct flow_key *k)
{
	return (uint32_t)k->w[4] & 0xffffff;
}

// Writes both addresses as flow_key_of takes them. Returns the family, 4 or 6.
static inline unsigned flow_key_addresses(const struct flow_key *k, uint8_t src[16],
					  uint8_t dst[16])
{
	memset(src, 0, 16);
	memset(dst, 0, 16);
	if (!flow_key_is_v6(k)) {
		be32_put(src, (uint32_t)(k->w[0] >> 32));
		be32_put(dst, (uint32_t)k->w[0]);
		return 4;
	}
	for (unsigned i = 0; i < 2; i++) {
		be64_put(src + 8 * i, k->w[i]);
		be64_put(dst + 8 * i, k->w[2 + i]);
	}
	return 6;
}

// The same addresses under another queue pair and kind.
static inline struct flow_key flow_key_with(struct flow_key k, uint32_t qp, enum flow_key_kind kind)
{
	k.w[4] = qp | (k.w[4] & 0xff000000) | (uint64_t)kind << 32;
	return k;
}

// The key of the other direction: addresses swapped, another queue pair and kind.
static inline struct flow_key flow_key_back(struct flow_key k, uint32_t qp, enum flow_key_kind kind)
{
	struct flow_key b = {{k.w[2], k.w[3], k.w[0], k.w[1], 0}};

	if (!flow_key_is_v6(&k))
		b = (struct flow_key){{k.w[0] << 32 | k.w[0] >> 32, 0, 0, 0, 0}};
	b.w[4] = qp | (k.w[4] & 0xff000000) | (uint64_t)kind << 32;
	return b;
}
