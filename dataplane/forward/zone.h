// SPDX-License-Identifier: Apache-2.0
// Hard zoning of iNOF hosts: whether two of them may exchange frames. Pure; workers call
// zone_forbids and zone_is_exempt, control makes the tables.
//
// A station is a host by its MAC address, its IP address, or both, with zones and roles. The IP
// source address of a frame selects its station. A frame without IP, or from an IP address that is
// no station's, is from the station of its MAC source address. The same holds for the destination.
// A frame is forbidden when both stations are known, and one of these holds:
//
//   * they share no zone,
//   * both are initiators and no targets,
//   * both are targets and no initiators.
//
// A station of this switch is known only at the port where it registered: as the source of frames
// that come in by this port, and as the destination of frames that go out by it. So nobody can
// restrict a station at another port by registering its address.
//
// Stations with one address in common share its entry, which has the zones and roles of all of
// them. VLANs are not looked at: a host has its MAC address in each VLAN, and IP addresses of hosts
// are unique in the network.
//
// The answer is mostly in one word for each address, the sum: a bit for each zone, and a bit for
// hosts of one role. Beyond ZONE_SUM_BITS zones some zones share a bit. If two sums have only such
// bits in common, the sets of zones are compared.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/base/compiler.h"
#include "dataplane/forward/l3.h"
#include "dataplane/forward/route_params.h"

enum {
	ZONES_MAX = 1024, // zones have the numbers below
	ZONE_TARGET = 1, // bits of roles, as hosts register them
	ZONE_INITIATOR = 2,
	ZONE_HASH_SHIFT = 35, // bits of a hash below those of a distance
	ZONE_SUM_BITS = 30, // of zones; the two bits above them are the two roles
};

struct zone_station {
	uint8_t mac[6]; // zeros: not known, as of a host behind another switch
	uint8_t roles;
	struct policy_addr addr; // family 0: none
	const uint16_t *zones; // n_zones of them, in any order
	uint32_t n_zones;
	port_no_t at; // 1 + the port where it registered; 0: it is at another switch
};

struct zone_entry {
	uint32_t sum;
	union {
		uint32_t v4; // in the index of IPv4: the address as it is in a frame
		uint32_t row; // in the other index
	};
};

// An IPv6 address, or a MAC address in the place of IPv6 groups, which are no stations.
struct zone_slot {
	struct zone_entry entry;
	struct ip_key key;
	uint64_t unused; // sizes of places are powers of two, because masks find them
};

// Open addressing, of entries for IPv4 and of slots otherwise. A free one has an address of ones.
// The hash multiplies by odd numbers that no host knows. Eight entries share a cache line, because
// the entries of thousands of hosts compete with the frames for the first cache.
struct zone_index {
	void *slots;
	uint64_t by_hi, by_lo;
	uint64_t mask; // of the distance of a slot from the first one, in bytes
};

// Immutable once filled.
struct zone_table {
	struct zone_index v4, others;
	uint64_t *rows; // of an address: its roles and `at` << 8, and a bit for each zone
	uint32_t *v4_row; // of each entry of v4
	uint32_t row_words, n_rows;
	uint32_t own_bits; // of sums: those that stand for one zone
};

// What a table of these stations takes; 0: a zone has a number that is too large.
size_t zone_table_bytes(const struct zone_station *s, uint32_t n);
// t: zeros, as large as zone_table_bytes said. seed: of the hash.
void zone_table_fill(struct zone_table *t, const struct zone_station *s, uint32_t n, uint64_t seed);

// ---- a frame

static force_inline struct ip_key zone_key_v4(const uint8_t *ip)
{
	uint32_t word;

	memcpy(&word, ip, sizeof(word));
	return (struct ip_key){0, word};
}

static inline struct ip_key zone_key_mac(const uint8_t *mac)
{
	return (struct ip_key){UINT64_MAX, (uint64_t)be32_get(mac) << 16 | be16_get(mac + 4)};
}

static const struct ip_key zone_key_free = {UINT64_MAX, UINT64_MAX};
static const struct zone_slot zone_no_station = {.key = {UINT64_MAX, UINT64_MAX}};

// v4: the index of IPv4 addresses.
static force_inline size_t zone_step(bool v4)
{
	return v4 ? sizeof(struct zone_entry) : sizeof(struct zone_slot);
}

static force_inline struct zone_entry *zone_at(const struct zone_index *x, uint64_t distance)
{
	return (void *)((uint8_t *)x->slots + (distance & x->mask));
}

// Where the search for the address begins.
static force_inline struct zone_entry *zone_home(const struct zone_index *x, struct ip_key key,
						 bool v4)
{
	uint64_t word = v4 ? key.lo : flow_mix(key.hi * x->by_hi, key.lo);

	return zone_at(x, word * x->by_lo >> ZONE_HASH_SHIFT);
}

static force_inline struct zone_entry *zone_next(const struct zone_index *x,
						 const struct zone_entry *e, bool v4)
{
	return zone_at(x, (uint64_t)((const uint8_t *)e - (uint8_t *)x->slots) + zone_step(v4));
}

static force_inline struct ip_key zone_key(const struct zone_entry *e, bool v4)
{
	if (v4)
		return (struct ip_key){0, e->v4};
	return ((const struct zone_slot *)e)->key;
}

static force_inline bool zone_is_free(const struct zone_entry *e, bool v4)
{
	return v4 ? e->v4 == UINT32_MAX : ip_key_same(zone_key(e, v4), zone_key_free);
}

// The entry of the address, or a free one: no station has it. From e on, where the search begins.
const struct zone_entry *zone_search(const struct zone_index *x, const struct zone_entry *e,
				     struct ip_key key, bool v4);

// The same. Most addresses are where the search begins.
static force_inline const struct zone_entry *zone_find(const struct zone_index *x,
						       struct ip_key key, bool v4)
{
	const struct zone_entry *e = zone_home(x, key, v4);

	if (unlikely(v4 ? e->v4 != key.lo : !ip_key_same(zone_key(e, v4), key)))
		return zone_search(x, e, key, v4);
	return e;
}

// Whether the sets of zones have one in common.
bool zone_share(const struct zone_table *t, const struct zone_entry *a, const struct zone_entry *b);

// Whether the entries forbid a frame. Free entries do, because they have no zones.
static force_inline bool zone_parts(const struct zone_table *t, const struct zone_entry *from,
				    const struct zone_entry *to)
{
	uint32_t common = from->sum & to->sum;

	if (unlikely(common - 1 >= (1u << ZONE_SUM_BITS) - 1)) // none, or a role
		return true;
	return unlikely((common & t->own_bits) == 0) && !zone_share(t, from, to);
}

// from, to: by the IP addresses of an IPv4 frame, and any free entry otherwise.
bool zone_parts_stations(const struct zone_table *t, const uint8_t *frame, bool v4,
			 const struct zone_entry *from, const struct zone_entry *to);

// frame: with a whole Ethernet header. kind: enum pkt_kind; an IP header is whole at l3_off.
static force_inline bool zone_forbids(const struct zone_table *t, const uint8_t *frame,
				      uint8_t kind, uint8_t l3_off)
{
	const uint8_t *ip = frame + l3_off + (kind == PKT_IPV4 ? 12 : 8);
	const struct zone_entry *from = &zone_no_station.entry, *to = from;

	if (kind == PKT_IPV4) {
		from = zone_find(&t->v4, zone_key_v4(ip), true);
		to = zone_find(&t->v4, zone_key_v4(ip + 4), true);
	} else if (kind == PKT_IPV6) {
		from = zone_find(&t->others, ip_key_v6(ip), false);
		to = zone_find(&t->others, ip_key_v6(ip + 16), false);
	}
	return unlikely(zone_parts(t, from, to)) &&
	       zone_parts_stations(t, frame, kind == PKT_IPV4, from, to);
}

// The ports of a frame. out: a number that no port has where the frame is flooded.
struct zone_way {
	port_no_t in, out;
};

// A station that is not known at the port of a frame.
struct zone_stray {
	port_no_t at; // as of the station; 0: there is none
	bool is_source;
};

// Whether a frame that zone_forbids() forbids is forbidden on its way. *stray: of a frame that is
// not, why.
bool zone_forbids_on(const struct zone_table *t, const uint8_t *frame, uint8_t kind, uint8_t l3_off,
		     struct zone_way way, struct zone_stray *stray);

// Frames that no zone stops: to groups, and ARP, neighbour discovery and LLDP also from host to
// host.
bool zone_is_exempt(const uint8_t *frame, uint32_t len, const struct pkt_info *pkt);
