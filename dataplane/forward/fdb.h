// SPDX-License-Identifier: Apache-2.0
// Forwarding database: which port an address of a VLAN lives on (IEEE 802.1Q 8.8). A peer of a
// tunnel is a port here (vtep.h).
//
// Writer: the control thread only (learn events of the workers, static entries, ageing). Readers:
// workers, without locks (rte_hash, lock-free readers; freed slots wait for QSBR). The port travels
// in the hash's data pointer, published together with the key. `seen_ns` of an entry is written by
// the worker that owns the address's port and read by control for ageing; while an address moves
// two workers may write it, and either value is right.
//
// No port can take the places of the others. Each bridged port has a share of the table, and may
// use more while no other port needs it. In a full table a new address takes the place of the
// oldest address of the port that is furthest above its share. A port at its limit loses its own
// oldest address. In both cases the port's fullest VLAN loses it, so a flood in one VLAN of a trunk
// takes no place from a VLAN with fewer addresses. The oldest is the first learned that its station
// has not used since.
//
// The addresses of a port whose link went down are stale from then on. A stale address keeps its
// place in the port's share and ages like the others, but it counts as unknown: fdb_lookup,
// fdb_source and fdb_find do not see it. Only fdb_stale_port does. Where its station speaks, the
// address is learnt anew.
//
// The hash is keyed with a seed that no neighbour knows, and chains what does not fit into a
// bucket: addresses that are chosen to collide find a place like any other.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/base/counter.h"
#include "dataplane/base/port_no.h"
#include "dataplane/forward/mac_move.h"

struct rte_hash;
struct rte_rcu_qsbr;

enum {
	FDB_CACHE_SETS = 1024,
	FDB_CACHE_WAYS = 4,
	FDB_VERSIONS = 64,
	FDB_NO_PORT = PORT_NONE,
	FDB_ROUTER = 0xfffe, // in place of a port: the switch itself, in a VLAN with an SVI
	FDB_MAX_PEERS = 126,
	FDB_MAX_PORTS = POLICY_MAX_PORTS + FDB_MAX_PEERS, // peers of tunnels come last (vtep.h)
	FDB_PORT_BITS = 16, // of struct fdb_answer
	FDB_BLOCK = 16, // ports
	FDB_BLOCKS = (FDB_MAX_PORTS + FDB_BLOCK - 1) / FDB_BLOCK,
	FDB_VLANS = 4096,
	FDB_VLAN_BLOCK = 64,
	FDB_SPARE = 2048, // places of addresses that were forgotten, until no worker reads them
	SOURCE_RECHECK_NS = 100000000, // a known source is confirmed ten times a second
};

struct fdb_entry {
	gauge_t seen_ns;
	uint64_t key; // control's copy, for walking
	uint64_t listed_ns; // when it became the newest of its list
	uint32_t older, newer; // learnt: its neighbours in its list, by position
	struct mac_move move;
	port_no_t port;
	bool is_static, used;
	bool is_stale; // learnt, and its port's link went down since
	bool named; // static, and learnt since fdb_begin_static
};

// Of one port. Control writes; anybody may read the counters.
struct fdb_port_counters {
	gauge_t learnt; // addresses now, without static and stale ones
	ctr_t added, evicted, moved; // addresses: new here, forgotten for a newer one, moved here
	ctr_t refused; // reports of new addresses that found no place
	ctr_t held; // reports that an address of another port came in here, and it stayed there
};

// The learnt and the stale addresses of one VLAN at one port.
struct fdb_vlan {
	uint32_t oldest, newest; // positions; FDB_NONE
	uint32_t n;
};

struct fdb_port {
	struct fdb_vlan *vlans[FDB_VLANS / FDB_VLAN_BLOCK]; // made when first needed
	uint32_t n; // addresses in them
	uint32_t n_vlans; // with addresses
	uint32_t fullest; // the VLAN with the most of them, or one with its fair part at least
	uint32_t limit, share;
	struct fdb_port_counters c;
};

struct fdb {
	struct rte_hash *hash;
	struct fdb_entry *entries; // by hash position
	uint32_t capacity; // positions
	uint32_t max, count, stale; // addresses; stale: how many of them are
	uint32_t age_cursor;
	// Grow with every change of an address; validate the workers' caches. Each stands for a
	// part of the addresses, so that a flood of new ones leaves most of a cache valid.
	_Atomic uint32_t version[FDB_VERSIONS];
	// Ports by number, made when they are first needed: a switch pays for the ports it has.
	struct fdb_port *blocks[FDB_BLOCKS];
};

// A worker's own memory of recent answers. The addresses of a set lie in one cache line, the latest
// answer first.
struct fdb_answer {
	uint64_t key;
	// Port in FDB_PORT_BITS. Above it the version, or when a source was last confirmed, in ns:
	// these 48 bits wrap after 78 hours.
	uint64_t word;
};

struct __attribute__((aligned(64))) fdb_set {
	struct fdb_answer way[FDB_CACHE_WAYS];
};
static_assert(sizeof(struct fdb_set) == 64, "a cache line a set");

struct fdb_cache {
	struct fdb_set dst[FDB_CACHE_SETS];
	struct fdb_set src[FDB_CACHE_SETS];
};

static inline uint64_t fdb_key(const uint8_t *mac, uint16_t vid)
{
	return (uint64_t)mac[0] << 56 | (uint64_t)mac[1] << 48 | (uint64_t)mac[2] << 40 |
	       (uint64_t)mac[3] << 32 | (uint64_t)mac[4] << 24 | (uint64_t)mac[5] << 16 | vid;
}

// The same of an address in a frame, where two more bytes may be read behind it.
static inline uint64_t fdb_key_in_frame(const uint8_t *mac, uint16_t vid)
{
	uint64_t word;

	memcpy(&word, mac, sizeof(word));
	return (__builtin_bswap64(word) & ~0xffffull) | vid;
}

// A station's address is neither a group's nor zero.
static inline bool fdb_key_is_station(uint64_t key)
{
	return key >> 16 != 0 && !(key >> 56 & 1);
}

// A hash with lock-free readers and one writer, keyed with a seed that no sender knows. It
// chains what does not fit into a bucket. Freed slots wait until no worker reads them. NULL: no
// memory.
struct rte_hash *fdb_hash_create(const char *name, uint32_t entries, uint32_t key_len,
				 uint32_t seed, struct rte_rcu_qsbr *qsbr);

// name: unique in the process. seed: of the hash. No port has a limit or a share yet. 0 or -errno.
__attribute__((warn_unused_result)) int fdb_init(struct fdb *f, const char *name, uint32_t max,
						 uint32_t seed, struct rte_rcu_qsbr *qsbr);
void fdb_fini(struct fdb *f);

// Control: the port, or NULL: it was of no use yet.
static inline struct fdb_port *fdb_port_at(const struct fdb *f, unsigned port)
{
	struct fdb_port *block = f->blocks[port / FDB_BLOCK];

	return block == NULL ? NULL : &block[port % FDB_BLOCK];
}

// Control: how many addresses the port may have at most, and how many no other port can take from
// it. Learnt addresses beyond the limit are forgotten.
void fdb_set_port(struct fdb *f, port_no_t port, uint32_t limit, uint32_t share);

// Control: learns or moves an address. port: of a static address also FDB_ROUTER. 1: moved, 0: new
// or refreshed, -ENOSPC: full, -EEXIST: a static entry stands in the way. *evicted, if not NULL:
// the address that was forgotten for it, or 0, and its port.
struct fdb_evicted {
	uint64_t key;
	port_no_t port;
};
int fdb_learn(struct fdb *f, uint64_t key, port_no_t port, bool is_static, uint64_t now_ns,
	      struct fdb_evicted *evicted);
// Control: what is known of an address, or NULL: it is unknown, or stale.
struct fdb_entry *fdb_find(struct fdb *f, uint64_t key);
void fdb_forget(struct fdb *f, uint64_t key);
// Control: static entries that are not learnt again between these two are forgotten. In between
// every address keeps its port, or moves.
void fdb_begin_static(struct fdb *f);
void fdb_end_static(struct fdb *f);
// Control: drops entries older than age_ns, a few hundred slots a call: stale ones, and up to n
// others, whose number it returns.
unsigned fdb_age(struct fdb *f, uint64_t now_ns, uint64_t age_ns, uint64_t *keys, unsigned n);
// Control: counts a report that an address of another port came in here, and stayed there.
void fdb_count_held(struct fdb *f, port_no_t port);
// Control: drops all learnt and stale entries of a port.
void fdb_flush_port(struct fdb *f, port_no_t port);
// Control: the learnt addresses of a port become stale.
void fdb_make_stale(struct fdb *f, port_no_t port);
// Control: enters a stale address, if the table does not have it.
void fdb_learn_stale(struct fdb *f, uint64_t key, port_no_t port, uint64_t now_ns);
// Worker: where an unknown address was before, or FDB_NO_PORT.
port_no_t fdb_stale_port(const struct fdb *f, uint64_t key);

static inline unsigned fdb_slot(uint64_t key)
{
	return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 54) % FDB_CACHE_SETS;
}

// Validates a set of a cache. A change of an address raises the version of the one set that can
// hold the address.
static inline uint32_t fdb_version(const struct fdb *f, unsigned slot)
{
	return atomic_load_explicit(&f->version[slot % FDB_VERSIONS], memory_order_acquire);
}

// Where the cache does not know, or not any more.
port_no_t fdb_lookup_table(const struct fdb *f, struct fdb_cache *c, uint64_t key);
bool fdb_source_table(const struct fdb *f, struct fdb_cache *c, uint64_t key, port_no_t port,
		      uint64_t now_ns, port_no_t *lives_at);

static inline const struct fdb_answer *fdb_answer_of(const struct fdb_set *s, uint64_t key)
{
	for (unsigned i = 0; i < FDB_CACHE_WAYS; i++)
		if (s->way[i].key == key)
			return &s->way[i];
	return NULL;
}

// Worker: the port of an address, or FDB_NO_PORT.
static inline port_no_t fdb_lookup(const struct fdb *f, struct fdb_cache *c, uint64_t key)
{
	unsigned slot = fdb_slot(key);
	const struct fdb_answer *a = fdb_answer_of(&c->dst[slot], key);

	if (a != NULL && a->word >> FDB_PORT_BITS == fdb_version(f, slot))
		return (port_no_t)a->word;
	return fdb_lookup_table(f, c, key);
}

static inline uint64_t fdb_source_word(port_no_t port, uint64_t now_ns)
{
	return now_ns << FDB_PORT_BITS | port;
}

// Worker: an address was the source of a frame on `port`. True when the worker must report it, and
// *lives_at is then the port of the address, or FDB_NO_PORT.
static inline bool fdb_source(const struct fdb *f, struct fdb_cache *c, uint64_t key,
			      port_no_t port, uint64_t now_ns, port_no_t *lives_at)
{
	const struct fdb_answer *a = fdb_answer_of(&c->src[fdb_slot(key)], key);

	// Of two answers for one port the difference has zeros in place of the port.
	if (a != NULL && (port_no_t)a->word == port &&
	    fdb_source_word(port, now_ns) - a->word < (uint64_t)SOURCE_RECHECK_NS << FDB_PORT_BITS)
		return false;
	return fdb_source_table(f, c, key, port, now_ns, lives_at);
}

// Worker: what fdb_source said holds for this frame only; the table is asked again for the next.
void fdb_source_forget(struct fdb_cache *c, uint64_t key);
