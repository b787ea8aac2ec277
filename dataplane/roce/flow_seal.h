// SPDX-License-Identifier: Apache-2.0
// Seals of a flow's entry: short hashes, on the line that each packet touches anyway, of what its
// other lines contain. A frame that arrives with the key and the seal of its flow has that flow's
// port of arrival, kind and headers, so the other lines need not be read. A frame that leaves with
// the other seal goes the way that is known. With many flows that is one cache miss instead of two.
//
//   arrival (spare bits of the key)      1 | port 9 bits | 18 bits of a hash: MAC addresses, VLAN
//                                        tags, source port, P_Key, kind
//   departure (above count of packets)   1 | class 3 bits | queue 3 bits | port 9 bits
//
// The seal has the whole port, so a frame that came by another port never fits. Of other changes to
// a sealed flow's headers one in 260,000 is not seen, until the next change. The hash is
// seeded, so no sender can bring that about. The owner writes seals. The value 0 seals nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/roce/flow.h"

enum {
	SEAL_HASH_BITS = 18,
	SEAL_PORT_BITS = 9,
	SEAL_CLOSED = 1 << (SEAL_HASH_BITS + SEAL_PORT_BITS),
	// No entry has this seal, so a frame with it takes the slow path.
	SEAL_NEVER = 1,
};

static_assert(SEAL_HASH_BITS + SEAL_PORT_BITS + 1 == 64 - FLOW_KEY_BITS, "all that is spare");

struct seal_facts {
	uint64_t eth[2]; // bytes 0 to 7 and 6 to 13 of the frame: the first TPID, or EtherType, too
	uint32_t inner_tag; // pkt_info's
	uint16_t udp_sport, tci, pkey;
	port_no_t in_port;
	uint8_t kind; // enum flow_kind
};

static inline uint32_t seal_of(uint64_t seed, const struct seal_facts *s)
{
	const uint64_t odd1 = 0x9e3779b97f4a7c15, odd2 = 0xd1b54a32d192ed03;
	uint64_t rest = s->udp_sport | (uint64_t)s->tci << 16 | (uint64_t)s->pkey << 32 |
			(uint64_t)s->kind << 48;
	uint64_t h = flow_mixed(s->eth[0] ^ seed * odd1, s->eth[1] ^ odd2);

	h = flow_mixed(h ^ rest, (seed * odd2 ^ odd1) + s->inner_tag);
	return SEAL_CLOSED | (uint32_t)s->in_port << SEAL_HASH_BITS |
	       (uint32_t)(h >> (64 - SEAL_HASH_BITS));
}

// Of a flow of TCP or UDP, whose headers nobody asks for.
static inline uint32_t seal_of_port(port_no_t in_port)
{
	return SEAL_CLOSED | (uint32_t)in_port << SEAL_HASH_BITS;
}

static inline struct flow_key seal_key(struct flow_key k, uint32_t seal)
{
	k.w[4] = flow_key_last(&k) | (uint64_t)seal << FLOW_KEY_BITS;
	return k;
}

static inline uint32_t key_seal(const struct flow_key *k)
{
	return (uint32_t)(k->w[4] >> FLOW_KEY_BITS);
}

// Key and seal. A frame's key is sealed by seal_key.
static inline bool seal_unbroken(const struct flow *f, const struct flow_key *frame)
{
	return flow_key_same(&f->key, frame);
}

// The other lines have what this seal stands for.
static inline void seal_close(struct flow *f, uint32_t seal)
{
	relaxed_set(&f->key_words[4], seal_key(f->key, seal).w[4]);
}

// What a seal stood for has changed.
static inline void seal_open(struct flow *f)
{
	seal_close(f, 0);
}

// Classes may share a queue, so both are in it.
static inline uint64_t seal_departure(port_no_t out_port, uint8_t queue, uint8_t cls)
{
	return ((uint64_t)1 << 15 | (uint64_t)cls << 12 | (uint64_t)queue << SEAL_PORT_BITS |
		out_port)
	       << FLOW_DEPARTURE_BIT;
}

static inline bool seal_departed(const struct flow *f, uint64_t departure)
{
	return (ctr_get(&f->packets) & ~(((uint64_t)1 << FLOW_DEPARTURE_BIT) - 1)) == departure;
}

static inline void seal_close_departure(struct flow *f, uint64_t departure)
{
	gauge_set(&f->packets, flow_packets(f) | departure);
}
