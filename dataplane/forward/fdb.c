// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/fdb.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

enum {
	AGE_SLOTS_A_CALL = 512,
};

int fdb_init(struct fdb *f, const char *name, uint32_t max, struct rte_rcu_qsbr *qsbr)
{
	struct rte_hash_parameters hp = {
		.name = name,
		.entries = max,
		.key_len = sizeof(uint64_t),
		.hash_func = rte_hash_crc,
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF,
	};
	struct rte_hash_rcu_config rcu = {.v = qsbr, .mode = RTE_HASH_QSBR_MODE_DQ};

	f->hash = rte_hash_create(&hp);
	if (f->hash == NULL)
		return -rte_errno;
	f->capacity = (uint32_t)rte_hash_max_key_id(f->hash) + 1;
	f->entries = rte_zmalloc("fdb", f->capacity * sizeof(f->entries[0]), 64);
	if (f->entries == NULL || rte_hash_rcu_qsbr_add(f->hash, &rcu) != 0) {
		fdb_fini(f);
		return -ENOMEM;
	}
	atomic_store(&f->version, 1); // no zeroed cache slot is valid
	return 0;
}

void fdb_fini(struct fdb *f)
{
	rte_hash_free(f->hash);
	rte_free(f->entries);
	f->hash = NULL;
	f->entries = NULL;
}

static void changed(struct fdb *f)
{
	atomic_fetch_add_explicit(&f->version, 1, memory_order_release);
}

int fdb_learn(struct fdb *f, uint64_t key, uint8_t port, bool is_static, uint64_t now_ns)
{
	int32_t pos = rte_hash_lookup(f->hash, &key);
	bool known = pos >= 0;
	bool moved = known && f->entries[pos].port != port;
	struct fdb_entry *e;

	if (known && f->entries[pos].is_static && !is_static)
		return -EEXIST;
	if (!known || moved) {
		int err = rte_hash_add_key_data(f->hash, &key, (void *)(uintptr_t)port);

		if (err != 0)
			return -ENOSPC;
		pos = rte_hash_lookup(f->hash, &key);
		f->count += !known;
	}
	e = &f->entries[pos];
	e->key = key;
	e->port = port;
	e->is_static = is_static;
	e->named = is_static;
	e->used = true;
	gauge_set(&e->seen_ns, now_ns);
	changed(f);
	return moved;
}

void fdb_forget(struct fdb *f, uint64_t key)
{
	int32_t pos = rte_hash_del_key(f->hash, &key);

	if (pos < 0)
		return;
	f->entries[pos].used = false;
	f->count--;
	changed(f);
}

unsigned fdb_age(struct fdb *f, uint64_t now_ns, uint64_t age_ns, uint64_t *keys, unsigned n)
{
	unsigned aged = 0;

	for (unsigned i = 0; i < AGE_SLOTS_A_CALL && aged < n; i++) {
		struct fdb_entry *e = &f->entries[f->age_cursor];

		f->age_cursor = (f->age_cursor + 1) % f->capacity;
		// A worker may have seen it after control read its clock.
		if (!e->used || e->is_static || now_ns < gauge_get(&e->seen_ns) + age_ns)
			continue;
		keys[aged++] = e->key;
		fdb_forget(f, e->key);
	}
	return aged;
}

void fdb_begin_static(struct fdb *f)
{
	for (uint32_t i = 0; i < f->capacity; i++)
		f->entries[i].named = false;
}

void fdb_end_static(struct fdb *f)
{
	for (uint32_t i = 0; i < f->capacity; i++) {
		const struct fdb_entry *e = &f->entries[i];

		if (e->used && e->is_static && !e->named)
			fdb_forget(f, e->key);
	}
}

void fdb_flush_learnt(struct fdb *f)
{
	for (uint32_t i = 0; i < f->capacity; i++)
		if (f->entries[i].used && !f->entries[i].is_static)
			fdb_forget(f, f->entries[i].key);
}

void fdb_flush_port(struct fdb *f, uint8_t port)
{
	for (uint32_t i = 0; i < f->capacity; i++) {
		const struct fdb_entry *e = &f->entries[i];

		if (e->used && !e->is_static && e->port == port)
			fdb_forget(f, e->key);
	}
}

uint8_t fdb_lookup_table(const struct fdb *f, struct fdb_cache *c, uint64_t key)
{
	struct fdb_cache_slot *s = &c->dst[fdb_slot(key)];
	uint32_t version = atomic_load_explicit(&f->version, memory_order_acquire);
	void *data;

	s->port = rte_hash_lookup_data(f->hash, &key, &data) < 0 ? FDB_NO_PORT
								 : (uint8_t)(uintptr_t)data;
	s->key = key;
	s->version = version;
	return s->port;
}

bool fdb_source_table(const struct fdb *f, struct fdb_cache *c, uint64_t key, uint8_t port,
		      uint64_t now_ns)
{
	struct fdb_cache_slot *s = &c->src[fdb_slot(key)];
	int32_t pos;
	void *data;

	*s = (struct fdb_cache_slot){.key = key, .port = port, .checked_ns = now_ns};
	pos = rte_hash_lookup_data(f->hash, &key, &data);
	if (pos < 0 || (uint8_t)(uintptr_t)data != port)
		return true;
	gauge_set(&f->entries[pos].seen_ns, now_ns);
	return false;
}

void fdb_source_unreported(struct fdb_cache *c, uint64_t key)
{
	c->src[fdb_slot(key)].key = 0;
}
