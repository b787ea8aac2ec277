// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/fdb.h"

#include <errno.h>
#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

enum {
	AGE_SLOTS_A_CALL = 512,
	SECOND_CHANCES = 8, // addresses in use that one eviction passes over
	FDB_NONE = UINT32_MAX,
	FDB_STALE = 1 << FDB_PORT_BITS, // in the data of the hash, beside the port
};

struct rte_hash *fdb_hash_create(const char *name, uint32_t entries, uint32_t key_len,
				 uint32_t seed, struct rte_rcu_qsbr *qsbr)
{
	struct rte_hash_parameters hp = {
		.name = name,
		.entries = entries,
		.key_len = key_len,
		.hash_func = rte_jhash,
		.hash_func_init_val = seed,
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF |
			      RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	struct rte_hash_rcu_config rcu = {.v = qsbr, .mode = RTE_HASH_QSBR_MODE_DQ};
	struct rte_hash *hash = rte_hash_create(&hp);

	if (hash != NULL && rte_hash_rcu_qsbr_add(hash, &rcu) != 0) {
		rte_hash_free(hash);
		return NULL;
	}
	return hash;
}

int fdb_init(struct fdb *f, const char *name, uint32_t max, uint32_t seed,
	     struct rte_rcu_qsbr *qsbr)
{
	f->hash = fdb_hash_create(name, max + FDB_SPARE, sizeof(uint64_t), seed, qsbr);
	if (f->hash == NULL)
		return -ENOMEM;
	f->max = max;
	f->capacity = (uint32_t)rte_hash_max_key_id(f->hash) + 1;
	f->entries = rte_zmalloc("fdb", f->capacity * sizeof(f->entries[0]), 64);
	if (f->entries == NULL) {
		fdb_fini(f);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < FDB_VERSIONS; i++)
		atomic_store(&f->version[i], 1); // no zeroed cache slot is valid
	return 0;
}

void fdb_fini(struct fdb *f)
{
	for (unsigned i = 0; i < FDB_BLOCKS; i++) {
		for (unsigned k = 0; f->blocks[i] != NULL && k < FDB_BLOCK; k++)
			for (unsigned v = 0; v < FDB_VLANS / FDB_VLAN_BLOCK; v++)
				rte_free(f->blocks[i][k].vlans[v]);
		rte_free(f->blocks[i]);
		f->blocks[i] = NULL;
	}
	rte_hash_free(f->hash);
	rte_free(f->entries);
	f->hash = NULL;
	f->entries = NULL;
}

// The port, which is made if it must be. NULL: no memory.
static struct fdb_port *make_port(struct fdb *f, unsigned port)
{
	struct fdb_port **block = &f->blocks[port / FDB_BLOCK];

	if (*block == NULL) {
		*block = rte_zmalloc("fdb", FDB_BLOCK * sizeof(**block), 64);
		for (unsigned i = 0; *block != NULL && i < FDB_BLOCK; i++)
			(*block)[i].limit = f->max;
	}
	return fdb_port_at(f, port);
}

static void fdb_version_bump(struct fdb *f, uint64_t key)
{
	atomic_fetch_add_explicit(&f->version[fdb_slot(key) % FDB_VERSIONS], 1,
				  memory_order_release);
}

// ---- the addresses of a port and VLAN that no policy names, oldest first

static uint32_t vlan_of(uint64_t key)
{
	return key % FDB_VLANS;
}

// NULL: the VLAN has never had an address at this port.
static struct fdb_vlan *vlan_list_of(const struct fdb_port *p, uint32_t vlan)
{
	struct fdb_vlan *block = p->vlans[vlan / FDB_VLAN_BLOCK];

	return block == NULL ? NULL : &block[vlan % FDB_VLAN_BLOCK];
}

static uint32_t listed_in(const struct fdb_port *p, uint32_t vlan)
{
	const struct fdb_vlan *v = vlan_list_of(p, vlan);

	return v == NULL ? 0 : v->n;
}

// False: no memory.
static bool make_list(struct fdb_port *p, uint32_t vlan)
{
	struct fdb_vlan **block = &p->vlans[vlan / FDB_VLAN_BLOCK];

	if (*block != NULL)
		return true;
	*block = rte_malloc("fdb", FDB_VLAN_BLOCK * sizeof(**block), 64);
	for (unsigned i = 0; *block != NULL && i < FDB_VLAN_BLOCK; i++)
		(*block)[i] = (struct fdb_vlan){.oldest = FDB_NONE, .newest = FDB_NONE};
	return *block != NULL;
}

// Counts an address that is listed or not any more.
static void count_listed(struct fdb *f, const struct fdb_entry *e, int by)
{
	struct fdb_port *p = fdb_port_at(f, e->port);

	p->n += (uint32_t)by;
	if (e->is_stale)
		f->stale += (uint32_t)by;
	else
		gauge_set(&p->c.learnt, gauge_get(&p->c.learnt) + (uint64_t)(int64_t)by);
}

static void enlist(struct fdb *f, struct fdb_entry *e, uint64_t now_ns)
{
	struct fdb_port *p = fdb_port_at(f, e->port);
	struct fdb_vlan *v = vlan_list_of(p, vlan_of(e->key));
	uint32_t pos = (uint32_t)(e - f->entries);

	e->listed_ns = now_ns;
	e->older = v->newest;
	e->newer = FDB_NONE;
	if (v->newest != FDB_NONE)
		f->entries[v->newest].newer = pos;
	else
		v->oldest = pos;
	v->newest = pos;
	p->n_vlans += v->n++ == 0;
	if (v->n > listed_in(p, p->fullest))
		p->fullest = vlan_of(e->key);
	count_listed(f, e, 1);
}

static void delist(struct fdb *f, const struct fdb_entry *e)
{
	struct fdb_port *p = fdb_port_at(f, e->port);
	struct fdb_vlan *v = vlan_list_of(p, vlan_of(e->key));

	if (e->older != FDB_NONE)
		f->entries[e->older].newer = e->newer;
	else
		v->oldest = e->newer;
	if (e->newer != FDB_NONE)
		f->entries[e->newer].older = e->older;
	else
		v->newest = e->older;
	p->n_vlans -= --v->n == 0;
	count_listed(f, e, -1);
}

// The list of the fullest VLAN of a port that has listed addresses. The remembered VLAN may have
// lost some of them since. All VLANs are compared only when it has fewer than a fair part.
static struct fdb_vlan *fullest(struct fdb_port *p)
{
	uint64_t n = listed_in(p, p->fullest);

	if (n == 0 || (n + 1) * p->n_vlans < p->n)
		for (uint32_t vlan = 0; vlan < FDB_VLANS; vlan++)
			if (listed_in(p, vlan) > listed_in(p, p->fullest))
				p->fullest = vlan;
	return vlan_list_of(p, p->fullest);
}

// Forgets the oldest address of the port. An address that was used since it was listed becomes the
// newest instead, a few times. The end of a stale address is nobody's loss.
static struct fdb_evicted evict(struct fdb *f, port_no_t port)
{
	struct fdb_port *p = fdb_port_at(f, port);
	struct fdb_evicted gone = {.port = port};
	const struct fdb_vlan *v = fullest(p);

	for (unsigned i = 0; i < SECOND_CHANCES; i++) {
		struct fdb_entry *e = &f->entries[v->oldest];
		uint64_t seen_ns = gauge_get(&e->seen_ns);

		if (e->is_stale || seen_ns <= e->listed_ns)
			break;
		delist(f, e);
		enlist(f, e, seen_ns);
	}
	if (f->entries[v->oldest].is_stale) {
		fdb_forget(f, f->entries[v->oldest].key);
		return (struct fdb_evicted){0};
	}
	gone.key = f->entries[v->oldest].key;
	fdb_forget(f, gone.key);
	ctr_inc(&p->c.evicted);
	return gone;
}

// The port that is furthest above its share, were `port` to have one address more.
static port_no_t greediest(const struct fdb *f, port_no_t port)
{
	int64_t most = INT64_MIN;
	port_no_t found = port;

	for (unsigned i = 0; i < FDB_MAX_PORTS; i++) {
		const struct fdb_port *p = fdb_port_at(f, i);
		int64_t above = p == NULL ? 0 : (int64_t)p->n - p->share + (i == port);

		if (p != NULL && p->n != 0 && above > most) {
			most = above;
			found = (port_no_t)i;
		}
	}
	return found;
}

// Makes room for another address of the port. A new one needs a place in the table as well.
static struct fdb_evicted make_room_for_address(struct fdb *f, port_no_t port, bool is_new,
						bool is_static)
{
	const struct fdb_port *p = is_static ? NULL : fdb_port_at(f, port);
	port_no_t from = port;

	if (p != NULL && p->n != 0 && p->n >= p->limit)
		return evict(f, port);
	if (!is_new || f->count < f->max)
		return (struct fdb_evicted){0};
	from = greediest(f, port);
	p = from < FDB_MAX_PORTS ? fdb_port_at(f, from) : NULL;
	return p == NULL || p->n == 0 ? (struct fdb_evicted){0} : evict(f, from);
}

void fdb_set_port(struct fdb *f, port_no_t port, uint32_t limit, uint32_t share)
{
	struct fdb_port *p = make_port(f, port);

	if (p == NULL)
		return;
	p->limit = limit;
	p->share = share;
	while (p->n > limit)
		(void)evict(f, port);
}

// ---- the table

// An address, which may be stale.
static struct fdb_entry *find_any(struct fdb *f, uint64_t key)
{
	int32_t pos = rte_hash_lookup(f->hash, &key);

	return pos < 0 ? NULL : &f->entries[pos];
}

struct fdb_entry *fdb_find(struct fdb *f, uint64_t key)
{
	struct fdb_entry *e = find_any(f, key);

	return e == NULL || e->is_stale ? NULL : e;
}

// A place for a new address, or for an address at its new port. what: the port, FDB_STALE with it.
static struct fdb_entry *place_address(struct fdb *f, uint64_t key, unsigned what)
{
	if (rte_hash_add_key_data(f->hash, &key, (void *)(uintptr_t)what) != 0)
		return NULL;
	return find_any(f, key);
}

static void count_learn_outcome(struct fdb *f, port_no_t port, bool added, bool moved, bool refused)
{
	struct fdb_port *p = port < FDB_MAX_PORTS ? fdb_port_at(f, port) : NULL;

	if (p == NULL) // the router's
		return;
	ctr_add(&p->c.added, added);
	ctr_add(&p->c.moved, moved);
	ctr_add(&p->c.refused, refused);
}

static bool full_of_static(const struct fdb *f, bool is_static)
{
	return !is_static && f->count >= f->max;
}

int fdb_learn(struct fdb *f, uint64_t key, port_no_t port, bool is_static, uint64_t now_ns,
	      struct fdb_evicted *evicted)
{
	struct fdb_entry *e = find_any(f, key);
	struct fdb_evicted gone = {0};
	bool is_new, moved;

	if (e != NULL && e->is_stale) {
		fdb_forget(f, key);
		e = NULL;
	}
	is_new = e == NULL;
	moved = !is_new && e->port != port;
	if (evicted != NULL)
		*evicted = gone;
	if (!is_new && e->is_static && !is_static)
		return -EEXIST;
	if ((port < FDB_MAX_PORTS && make_port(f, port) == NULL) ||
	    (!is_static && !make_list(fdb_port_at(f, port), vlan_of(key)))) {
		count_learn_outcome(f, port, false, false, true);
		return -ENOSPC;
	}
	if (is_new || moved) {
		gone = make_room_for_address(f, port, is_new, is_static);
		if (evicted != NULL)
			*evicted = gone;
		e = is_new && full_of_static(f, is_static) ? NULL : place_address(f, key, port);
		if (e == NULL) {
			count_learn_outcome(f, port, false, false, true);
			return -ENOSPC;
		}
	}
	if (!is_new && !e->is_static)
		delist(f, e);
	if (is_new) {
		e->move = (struct mac_move){.since_ns = now_ns};
		f->count++;
	}
	e->key = key;
	e->port = port;
	e->is_static = is_static;
	e->is_stale = false;
	e->named = is_static;
	e->used = true;
	gauge_set(&e->seen_ns, now_ns);
	if (!is_static)
		enlist(f, e, now_ns);
	count_learn_outcome(f, port, is_new && !is_static, moved, false);
	if (is_new || moved)
		fdb_version_bump(f, key);
	return moved;
}

void fdb_forget(struct fdb *f, uint64_t key)
{
	int32_t pos = rte_hash_del_key(f->hash, &key);

	if (pos < 0)
		return;
	if (!f->entries[pos].is_static)
		delist(f, &f->entries[pos]);
	f->entries[pos].used = false;
	f->count--;
	fdb_version_bump(f, key);
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
		if (!e->is_stale)
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

void fdb_flush_port(struct fdb *f, port_no_t port)
{
	struct fdb_port *p = fdb_port_at(f, port);

	while (p != NULL && p->n != 0)
		fdb_forget(f, f->entries[fullest(p)->oldest].key);
}

void fdb_count_held(struct fdb *f, port_no_t port)
{
	struct fdb_port *p = make_port(f, port);

	if (p != NULL)
		ctr_inc(&p->c.held);
}

// ---- stale addresses

static void to_stale(struct fdb *f, struct fdb_entry *e)
{
	if (e->is_stale || place_address(f, e->key, e->port | FDB_STALE) == NULL)
		return;
	count_listed(f, e, -1);
	e->is_stale = true;
	count_listed(f, e, 1);
	fdb_version_bump(f, e->key);
}

void fdb_make_stale(struct fdb *f, port_no_t port)
{
	struct fdb_port *p = fdb_port_at(f, port);

	for (uint32_t vlan = 0; p != NULL && p->n != 0 && vlan < FDB_VLANS; vlan++) {
		const struct fdb_vlan *v = vlan_list_of(p, vlan);

		for (uint32_t i = v == NULL ? FDB_NONE : v->oldest; i != FDB_NONE;
		     i = f->entries[i].newer)
			to_stale(f, &f->entries[i]);
	}
}

void fdb_learn_stale(struct fdb *f, uint64_t key, port_no_t port, uint64_t now_ns)
{
	if (find_any(f, key) == NULL && fdb_learn(f, key, port, false, now_ns, NULL) == 0)
		to_stale(f, find_any(f, key));
}

port_no_t fdb_stale_port(const struct fdb *f, uint64_t key)
{
	void *data;

	if (rte_hash_lookup_data(f->hash, &key, &data) < 0 || !((uintptr_t)data & FDB_STALE))
		return FDB_NO_PORT;
	return (port_no_t)(uintptr_t)data;
}

// ---- a worker's questions

// The port of an address in the table, or FDB_NO_PORT. *pos: where it is.
static port_no_t port_in_table(const struct fdb *f, uint64_t key, int32_t *pos)
{
	void *data;

	*pos = rte_hash_lookup_data(f->hash, &key, &data);
	return *pos < 0 || (uintptr_t)data & FDB_STALE ? FDB_NO_PORT : (port_no_t)(uintptr_t)data;
}

// Where the set has an answer for the key, or FDB_CACHE_WAYS.
static unsigned cache_way_of(const struct fdb_set *s, uint64_t key)
{
	unsigned i = 0;

	while (i < FDB_CACHE_WAYS && s->way[i].key != key)
		i++;
	return i;
}

// Keeps an answer in place of the one before for the same key, of one that was forgotten, or of the
// oldest.
static void keep_cached_answer(struct fdb_set *s, uint64_t key, uint64_t word)
{
	unsigned i = cache_way_of(s, key);

	if (i == FDB_CACHE_WAYS)
		i = cache_way_of(s, 0);
	if (i == FDB_CACHE_WAYS)
		i--;
	memmove(&s->way[1], &s->way[0], i * sizeof(s->way[0]));
	s->way[0] = (struct fdb_answer){key, word};
}

port_no_t fdb_lookup_table(const struct fdb *f, struct fdb_cache *c, uint64_t key)
{
	unsigned slot = fdb_slot(key);
	uint32_t version = fdb_version(f, slot);
	int32_t pos;
	port_no_t port = port_in_table(f, key, &pos);

	keep_cached_answer(&c->dst[slot], key, (uint64_t)version << FDB_PORT_BITS | port);
	return port;
}

bool fdb_source_table(const struct fdb *f, struct fdb_cache *c, uint64_t key, port_no_t port,
		      uint64_t now_ns, port_no_t *lives_at)
{
	int32_t pos;

	keep_cached_answer(&c->src[fdb_slot(key)], key, fdb_source_word(port, now_ns));
	*lives_at = port_in_table(f, key, &pos);
	if (*lives_at != port)
		return true;
	gauge_set(&f->entries[pos].seen_ns, now_ns);
	return false;
}

void fdb_source_forget(struct fdb_cache *c, uint64_t key)
{
	struct fdb_set *s = &c->src[fdb_slot(key)];

	for (unsigned i = 0; i < FDB_CACHE_WAYS; i++)
		if (s->way[i].key == key)
			s->way[i] = (struct fdb_answer){0};
}
