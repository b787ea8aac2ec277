// SPDX-License-Identifier: Apache-2.0
// Forwarding database: which port an address of a VLAN lives on (IEEE 802.1Q 8.8).
//
// Writer: the control thread only (learn events of the workers, static entries, ageing). Readers:
// workers, without locks (rte_hash, lock-free readers; freed slots wait for QSBR). The port travels
// in the hash's data pointer, published together with the key. `seen_ns` of an entry is written by
// the worker that owns the address's port and read by control for ageing; while an address moves
// two workers may write it, and either value is right.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/counter.h"

struct rte_hash;
struct rte_rcu_qsbr;

enum {
	FDB_CACHE_SLOTS = 1024,
	FDB_NO_PORT = 0xff,
	SOURCE_RECHECK_NS = 100000000, // a known source is confirmed ten times a second
};

struct fdb_entry {
	gauge_t seen_ns;
	uint64_t key; // control's copy, for walking
	uint8_t port;
	bool is_static, used;
	bool named; // static, and learnt since fdb_begin_static
};

struct fdb {
	struct rte_hash *hash;
	struct fdb_entry *entries; // by hash position
	uint32_t capacity; // positions
	uint32_t count;
	_Atomic uint32_t version; // grows with every change; validates the workers' caches
	uint32_t age_cursor;
};

// A worker's own memory of recent answers.
struct fdb_cache_slot {
	uint64_t key;
	uint64_t checked_ns; // source addresses: when last confirmed
	uint32_t version;
	uint8_t port;
};

struct fdb_cache {
	struct fdb_cache_slot dst[FDB_CACHE_SLOTS];
	struct fdb_cache_slot src[FDB_CACHE_SLOTS];
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

// name: unique in the process. 0 or -errno.
__attribute__((warn_unused_result)) int fdb_init(struct fdb *f, const char *name, uint32_t max,
						 struct rte_rcu_qsbr *qsbr);
void fdb_fini(struct fdb *f);

// Control: learns or moves an address. 1: moved, 0: new or refreshed, -ENOSPC: full, -EEXIST:
// a static entry stands in the way.
int fdb_learn(struct fdb *f, uint64_t key, uint8_t port, bool is_static, uint64_t now_ns);
void fdb_forget(struct fdb *f, uint64_t key);
// Control: static entries that are not learnt again between these two are forgotten. In between
// every address keeps its port, or moves.
void fdb_begin_static(struct fdb *f);
void fdb_end_static(struct fdb *f);
// Control: drops up to n entries older than age_ns, a few hundred slots a call. Returns how many.
unsigned fdb_age(struct fdb *f, uint64_t now_ns, uint64_t age_ns, uint64_t *keys, unsigned n);
// Control: drops all learnt entries of a port, or of all.
void fdb_flush_port(struct fdb *f, uint8_t port);
void fdb_flush_learnt(struct fdb *f);

static inline unsigned fdb_slot(uint64_t key)
{
	return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 54) % FDB_CACHE_SLOTS;
}

// Where the cache does not know, or not any more.
uint8_t fdb_lookup_table(const struct fdb *f, struct fdb_cache *c, uint64_t key);
bool fdb_source_table(const struct fdb *f, struct fdb_cache *c, uint64_t key, uint8_t port,
		      uint64_t now_ns);

// Worker: the port of an address, or FDB_NO_PORT.
static inline uint8_t fdb_lookup(const struct fdb *f, struct fdb_cache *c, uint64_t key)
{
	const struct fdb_cache_slot *s = &c->dst[fdb_slot(key)];

	if (s->key == key &&
	    s->version == atomic_load_explicit(&f->version, memory_order_acquire))
		return s->port;
	return fdb_lookup_table(f, c, key);
}

// Worker: an address was the source of a frame on `port`. True when control must hear of it.
static inline bool fdb_source(const struct fdb *f, struct fdb_cache *c, uint64_t key, uint8_t port,
			      uint64_t now_ns)
{
	const struct fdb_cache_slot *s = &c->src[fdb_slot(key)];

	if (s->key == key && s->port == port && now_ns - s->checked_ns < SOURCE_RECHECK_NS)
		return false;
	return fdb_source_table(f, c, key, port, now_ns);
}

// Worker: the report that fdb_source asked for could not be delivered; ask again next time.
void fdb_source_unreported(struct fdb_cache *c, uint64_t key);
