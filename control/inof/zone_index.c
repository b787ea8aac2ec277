// SPDX-License-Identifier: Apache-2.0
#include "control/inof/zone_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	GRAM = 8, // bytes of the key of a pattern with neither a head nor a tail
	LENGTHS = INOF_NQN_MAX + 1,
};

// The ranges are sorted by their first address. A part of them is a tree: its middle is the root,
// and what is before and behind it are the two trees below. most: the last address of a tree.
struct range {
	struct ip_key first, last, most;
	uint16_t zone;
};

// Patterns of one key are a list.
struct pattern {
	uint64_t key;
	const char *text;
	uint32_t next; // + 1
	uint16_t zone;
};

// What makes the key of a pattern: its bytes before the first * and behind the last one. head of
// a name without a *: all of its bytes, and tail is NO_STAR.
enum { NO_STAR = UINT8_MAX };
struct shape {
	uint8_t head, tail;
};

struct zone_index {
	unsigned n_ranges, n_patterns, n_shapes;
	uint32_t mask; // of buckets
	uint32_t grams; // a bitmap: lengths of keys of patterns with neither head nor tail
	struct range *ranges;
	struct pattern *patterns;
	uint32_t *buckets; // of patterns; + 1
	struct shape *shapes; // no two equal
	uint64_t ports[POLICY_MAX_PORTS][ZONE_WORDS];
};

static void add_zone(uint64_t set[ZONE_WORDS], unsigned zone)
{
	set[zone / 64] |= 1ull << zone % 64;
}

// ---- addresses

static int order_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (int)inof_ip_is_above(x->first, y->first) -
	       (int)inof_ip_is_above(y->first, x->first);
}

// Adds the ranges of a zone. No two of them overlap, so a host is found once.
static void add_ranges(struct zone_index *x, const struct inof_zone *z, unsigned slot)
{
	struct range *own = x->ranges + x->n_ranges;
	unsigned n = 0, kept = 0;

	for (unsigned i = 0; i < z->n; i++)
		if (z->members[i].kind == INOF_MEMBER_IP)
			own[n++] = (struct range){.first = z->members[i].first,
						  .last = z->members[i].last,
						  .zone = (uint16_t)slot};
	qsort(own, n, sizeof(*own), order_ranges);
	for (unsigned i = 0; i < n; i++) {
		struct range *last = kept == 0 ? NULL : &own[kept - 1];

		if (last == NULL || inof_ip_is_above(own[i].first, last->last) ||
		    inof_ip_is_v6(own[i].first) != inof_ip_is_v6(last->first))
			own[kept++] = own[i];
		else if (inof_ip_is_above(own[i].last, last->last))
			last->last = own[i].last;
	}
	x->n_ranges += kept;
}

static struct ip_key later(struct ip_key a, struct ip_key b)
{
	return inof_ip_is_above(a, b) ? a : b;
}

static struct ip_key make_tree(struct range *r, unsigned n)
{
	struct range *root = r + n / 2;

	root->most = root->last;
	if (root != r)
		root->most = later(root->most, make_tree(r, n / 2));
	if (n > n / 2 + 1)
		root->most = later(root->most, make_tree(root + 1, n - n / 2 - 1));
	return root->most;
}

static unsigned find_in_tree(const struct range *r, unsigned n, struct ip_key ip,
			     uint64_t set[ZONE_WORDS])
{
	unsigned looks = 0;

	while (n > 0) {
		const struct range *root = r + n / 2;

		looks++;
		if (inof_ip_is_above(ip, root->most))
			break;
		looks += find_in_tree(r, n / 2, ip, set);
		if (inof_ip_is_above(root->first, ip))
			break;
		if (!inof_ip_is_above(ip, root->last) &&
		    inof_ip_is_v6(ip) == inof_ip_is_v6(root->first))
			add_zone(set, root->zone);
		n -= n / 2 + 1;
		r = root + 1;
	}
	return looks;
}

// ---- names

static uint64_t shape_key(struct shape s, uint64_t head, uint64_t tail)
{
	return flow_end(flow_mix(flow_mix(head, tail), s.head * 256u + s.tail));
}

static uint64_t key_of_gram(const char *text, unsigned len)
{
	uint64_t word = 0;

	memcpy(&word, text, len);
	return flow_end(flow_mix(len, word));
}

static uint64_t next_hash(uint64_t hash, char c)
{
	return flow_mix(hash, (uint8_t)c);
}

static uint64_t hash_forward(const char *text, unsigned n)
{
	uint64_t hash = 1;

	for (unsigned i = 0; i < n; i++)
		hash = next_hash(hash, text[i]);
	return hash;
}

// Of the n bytes before the end.
static uint64_t hash_backward(const char *end, unsigned n)
{
	uint64_t hash = 1;

	for (unsigned i = 1; i <= n; i++)
		hash = next_hash(hash, end[-(int)i]);
	return hash;
}

// The last bytes of the longest piece between stars; up to GRAM of them.
static unsigned longest_piece(const char *text, const char **gram)
{
	unsigned most = 0;

	for (const char *at = text + 1; *at != '\0'; at++) {
		unsigned len = (unsigned)strcspn(at, "*");

		if (len > most) {
			most = len;
			*gram = at + len - (len < GRAM ? len : GRAM);
		}
		at += len;
	}
	return most < GRAM ? most : GRAM;
}

static void add_shape(struct zone_index *x, struct shape s, uint8_t (*seen)[256])
{
	if (!seen[s.head][s.tail])
		x->shapes[x->n_shapes++] = s;
	seen[s.head][s.tail] = 1;
}

// A name is no longer than INOF_NQN_MAX, so a longer head or tail fits none.
static void add_pattern(struct zone_index *x, const char *text, unsigned slot,
			uint8_t (*seen)[256])
{
	const char *star = strrchr(text, '*'), *end = text + strlen(text), *gram = text;
	size_t head = strcspn(text, "*"), tail = star == NULL ? NO_STAR : (size_t)(end - star - 1);
	struct shape s = {(uint8_t)head, (uint8_t)tail};
	struct pattern *p = &x->patterns[x->n_patterns];
	unsigned len;

	if (head > INOF_NQN_MAX || (star != NULL && tail > INOF_NQN_MAX))
		return;
	*p = (struct pattern){.text = text, .zone = (uint16_t)slot};
	if (head + tail > 0) {
		add_shape(x, s, seen);
		p->key = shape_key(s, hash_forward(text, s.head),
				hash_backward(end, star == NULL ? 0 : s.tail));
	} else {
		len = longest_piece(text, &gram);
		x->grams |= 1u << len;
		p->key = key_of_gram(gram, len);
	}
	p->next = x->buckets[p->key & x->mask];
	x->buckets[p->key & x->mask] = ++x->n_patterns;
}

static unsigned find_key(const struct zone_index *x, uint64_t key, const struct inof_nqn *nqn,
			 uint64_t set[ZONE_WORDS])
{
	unsigned looks = 1;

	for (uint32_t i = x->buckets[key & x->mask]; i != 0; i = x->patterns[i - 1].next, looks++) {
		const struct pattern *p = &x->patterns[i - 1];

		if (p->key == key && inof_name_matches(p->text, nqn))
			add_zone(set, p->zone);
	}
	return looks;
}

static unsigned find_name(const struct zone_index *x, const struct inof_nqn *nqn,
			  uint64_t set[ZONE_WORDS])
{
	uint64_t head[LENGTHS] = {1}, tail[LENGTHS] = {1};
	const char *end = nqn->text + nqn->len;
	unsigned looks = 0;

	for (unsigned i = 1; i <= nqn->len; i++) {
		head[i] = next_hash(head[i - 1], nqn->text[i - 1]);
		tail[i] = next_hash(tail[i - 1], end[-(int)i]);
	}
	for (unsigned i = 0; i < x->n_shapes; i++) {
		struct shape s = x->shapes[i];
		unsigned behind = s.tail == NO_STAR ? 0 : s.tail;

		if (s.tail == NO_STAR ? s.head == nqn->len : s.head + behind <= nqn->len)
			looks += find_key(x, shape_key(s, head[s.head], tail[behind]), nqn, set);
	}
	for (unsigned len = 0; len <= GRAM && x->grams >> len != 0; len++)
		for (unsigned at = 0; x->grams >> len & 1 && at + len <= nqn->len; at++)
			if (len > 0 || at == 0)
				looks += find_key(x, key_of_gram(nqn->text + at, len), nqn, set);
	return looks;
}

// ---- all members

unsigned zone_index_find(const struct zone_index *x, struct ip_key ip, const struct inof_nqn *nqn,
			 int port, uint64_t set[ZONE_WORDS])
{
	for (unsigned w = 0; port >= 0 && w < ZONE_WORDS; w++)
		set[w] |= x->ports[port][w];
	return find_in_tree(x->ranges, x->n_ranges, ip, set) +
	       (nqn->len == 0 ? 0 : find_name(x, nqn, set));
}

static void count_members(const struct inof_zone *const zones[ZONE_SLOTS], unsigned n_of[3])
{
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		for (unsigned i = 0; zones[z] != NULL && i < zones[z]->n; i++)
			n_of[zones[z]->members[i].kind]++;
}

static void add_members(struct zone_index *x, const struct inof_zone *z, unsigned slot,
			uint8_t (*seen)[256])
{
	add_ranges(x, z, slot);
	for (unsigned i = 0; i < z->n; i++)
		if (z->members[i].kind == INOF_MEMBER_NQN)
			add_pattern(x, z->members[i].text, slot, seen);
		else if (z->members[i].kind == INOF_MEMBER_PORT)
			add_zone(x->ports[z->members[i].port], slot);
}

struct zone_index *zone_index_create(const struct inof_zone *const zones[ZONE_SLOTS])
{
	struct zone_index *x = calloc(1, sizeof(*x));
	uint8_t(*seen)[256] = calloc(256, sizeof(*seen));
	unsigned n_of[3] = {0};
	size_t n_buckets = 1;

	count_members(zones, n_of);
	while (n_buckets < n_of[INOF_MEMBER_NQN])
		n_buckets *= 2;
	if (x != NULL) {
		x->mask = (uint32_t)n_buckets - 1;
		x->ranges = calloc(n_of[INOF_MEMBER_IP] + 1, sizeof(*x->ranges));
		x->patterns = calloc(n_of[INOF_MEMBER_NQN] + 1, sizeof(*x->patterns));
		x->shapes = calloc(n_of[INOF_MEMBER_NQN] + 1, sizeof(*x->shapes));
		x->buckets = calloc(n_buckets, sizeof(*x->buckets));
	}
	if (x == NULL || seen == NULL || x->ranges == NULL || x->patterns == NULL ||
	    x->shapes == NULL || x->buckets == NULL) {
		free(seen);
		zone_index_destroy(x);
		return NULL;
	}
	for (unsigned z = 0; z < ZONE_SLOTS; z++)
		if (zones[z] != NULL)
			add_members(x, zones[z], z, seen);
	free(seen);
	qsort(x->ranges, x->n_ranges, sizeof(*x->ranges), order_ranges);
	if (x->n_ranges > 0)
		make_tree(x->ranges, x->n_ranges);
	return x;
}

void zone_index_destroy(struct zone_index *x)
{
	if (x == NULL)
		return;
	free(x->ranges);
	free(x->patterns);
	free(x->shapes);
	free(x->buckets);
	free(x);
}
