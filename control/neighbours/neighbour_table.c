// SPDX-License-Identifier: Apache-2.0
#include "control/neighbours/neighbour_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, NONE = UINT32_MAX, SLOTS_A_TICK = 1024 };
enum { NAMED_STATIC = 1, NAMED_WANTED = 2 }; // by the new policy
enum row_list { ROWS_NONE, ROWS_UNANSWERED, ROWS_KNOWN, N_ROW_LISTS };

struct port_rows {
	uint32_t oldest, newest, n;
};

struct neighbour_table {
	const struct neighbour_ops *ops;
	void *arg;
	uint32_t bucket[BUCKETS];
	uint32_t free; // chain of free slots
	uint32_t n_unanswered; // rows in the lists of that name
	uint32_t cursor;
	struct neighbour_stats stats;
	struct neighbour slot[NEIGHBOUR_MAX];
	uint8_t named[NEIGHBOUR_MAX]; // since neighbour_begin_policy
	struct port_rows rows[N_IFACES][N_ROW_LISTS];
};

const char *const neighbour_state_name[N_NEIGHBOUR_STATES] = {
	[NEIGHBOUR_INCOMPLETE] = "incomplete", [NEIGHBOUR_REACHABLE] = "reachable",
	[NEIGHBOUR_STALE] = "stale",	       [NEIGHBOUR_FAILED] = "failed",
	[NEIGHBOUR_STATIC] = "static",
};

// ---- the table

static uint32_t bucket_of(port_no_t port, const struct policy_addr *a)
{
	uint64_t h = port;

	for (unsigned i = 0; i < sizeof(a->ip); i++)
		h = (h ^ a->ip[i]) * 0x100000001b3u;
	return (uint32_t)(h >> 20) % BUCKETS;
}

static uint32_t slot_of(const struct neighbour_table *t, port_no_t port,
			const struct policy_addr *a)
{
	uint32_t i = t->bucket[bucket_of(port, a)];

	while (i != NONE && (t->slot[i].port != port || t->slot[i].addr.family != a->family ||
			     memcmp(t->slot[i].addr.ip, a->ip, sizeof(a->ip)) != 0))
		i = t->slot[i].next;
	return i;
}

static struct neighbour *find_neighbour(struct neighbour_table *t, port_no_t port,
					const struct policy_addr *a)
{
	uint32_t i = slot_of(t, port, a);

	return i == NONE ? NULL : &t->slot[i];
}

const struct neighbour *neighbour_find(const struct neighbour_table *t, port_no_t port,
				       const struct policy_addr *a)
{
	uint32_t i = slot_of(t, port, a);

	return i == NONE ? NULL : &t->slot[i];
}

static bool in_use(const struct neighbour *n)
{
	return n->state == NEIGHBOUR_REACHABLE || n->state == NEIGHBOUR_STALE ||
	       n->state == NEIGHBOUR_STATIC;
}

// ---- the rows that may be given up, by port and age

static void unlist(struct neighbour_table *t, struct neighbour *n)
{
	struct port_rows *rows = &t->rows[n->port][n->listed];

	if (n->listed == ROWS_NONE)
		return;
	*(n->older == NONE ? &rows->oldest : &t->slot[n->older].newer) = n->newer;
	*(n->newer == NONE ? &rows->newest : &t->slot[n->newer].older) = n->older;
	rows->n--;
	t->n_unanswered -= n->listed == ROWS_UNANSWERED;
	n->listed = ROWS_NONE;
}

// The row is the newest of its port.
static void list(struct neighbour_table *t, struct neighbour *n)
{
	uint32_t i = (uint32_t)(n - t->slot);
	struct port_rows *rows;

	unlist(t, n);
	if (n->wanted || n->state == NEIGHBOUR_STATIC)
		return;
	n->listed = n->state == NEIGHBOUR_INCOMPLETE ? ROWS_UNANSWERED : ROWS_KNOWN;
	t->n_unanswered += n->listed == ROWS_UNANSWERED;
	rows = &t->rows[n->port][n->listed];
	n->newer = NONE;
	n->older = rows->newest;
	*(rows->newest == NONE ? &rows->oldest : &t->slot[rows->newest].newer) = i;
	rows->newest = i;
	rows->n++;
}

static void enter_neighbour_state(struct neighbour_table *t, struct neighbour *n,
				  enum neighbour_state state, uint64_t now_ns)
{
	n->state = (uint8_t)state;
	n->probes = 0;
	n->since_ns = now_ns;
	n->due_ns = now_ns + (state == NEIGHBOUR_REACHABLE ? NEIGHBOUR_REACHABLE_NS : 0);
	list(t, n);
	if (n->lost && in_use(n)) {
		n->lost = false;
		t->ops->next_hop(t->arg, n->port, &n->addr, true);
	}
}

static void forget_neighbour(struct neighbour_table *t, struct neighbour *n)
{
	uint32_t *at = &t->bucket[bucket_of(n->port, &n->addr)];
	uint32_t i = (uint32_t)(n - t->slot);

	unlist(t, n);
	while (*at != i)
		at = &t->slot[*at].next;
	*at = n->next;
	*n = (struct neighbour){.next = t->free};
	t->free = i;
}

static uint32_t held(const struct neighbour_table *t, unsigned port, bool known_too)
{
	return t->rows[port][ROWS_UNANSWERED].n + (known_too ? t->rows[port][ROWS_KNOWN].n : 0);
}

// The port with the most rows, this one where no other has more, gives up its oldest.
static bool give_up_one(struct neighbour_table *t, unsigned port, bool known_too)
{
	unsigned most = port;
	struct neighbour *n;
	uint32_t i;

	for (unsigned p = 0; p < N_IFACES; p++)
		if (held(t, p, known_too) > held(t, most, known_too))
			most = p;
	i = t->rows[most][ROWS_UNANSWERED].oldest;
	if (i == NONE && known_too)
		i = t->rows[most][ROWS_KNOWN].oldest;
	if (i == NONE)
		return false;
	n = &t->slot[i];
	if (in_use(n))
		t->ops->set(t->arg, n->port, &n->addr, NULL);
	forget_neighbour(t, n);
	t->stats.replaced++;
	return true;
}

// NULL: there is no room.
static struct neighbour *create_neighbour(struct neighbour_table *t, port_no_t port,
					  const struct policy_addr *a, enum neighbour_state state,
					  uint64_t now_ns)
{
	uint32_t *bucket = &t->bucket[bucket_of(port, a)];
	struct neighbour *n;
	uint32_t i;

	if ((state == NEIGHBOUR_INCOMPLETE && t->n_unanswered >= NEIGHBOUR_MAX_INCOMPLETE &&
	     !give_up_one(t, port, false)) ||
	    (t->free == NONE && !give_up_one(t, port, true))) {
		t->stats.refused++;
		return NULL;
	}
	i = t->free;
	n = &t->slot[i];
	t->free = n->next;
	*n = (struct neighbour){.addr = *a, .port = port, .used = true, .next = *bucket,
				.state = N_NEIGHBOUR_STATES};
	n->addr.len = a->family == FAMILY_V4 ? 32 : 128;
	*bucket = i;
	t->named[i] = 0;
	enter_neighbour_state(t, n, state, now_ns);
	return n;
}

static void set_mac(struct neighbour_table *t, struct neighbour *n, const uint8_t *mac)
{
	memcpy(n->mac, mac, sizeof(n->mac));
	t->ops->set(t->arg, n->port, &n->addr, n->mac);
}

int neighbour_table_create(const struct neighbour_ops *ops, void *arg, struct neighbour_table **out)
{
	struct neighbour_table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->ops = ops;
	t->arg = arg;
	for (unsigned i = 0; i < BUCKETS; i++)
		t->bucket[i] = NONE;
	for (unsigned i = 0; i < N_IFACES; i++)
		for (unsigned k = 0; k < N_ROW_LISTS; k++)
			t->rows[i][k] = (struct port_rows){NONE, NONE, 0};
	for (uint32_t i = 0; i < NEIGHBOUR_MAX; i++)
		t->slot[i].next = i + 1 < NEIGHBOUR_MAX ? i + 1 : NONE;
	*out = t;
	return 0;
}

void neighbour_table_destroy(struct neighbour_table *t)
{
	free(t);
}

// ---- what is due

static void probe(struct neighbour_table *t, struct neighbour *n, uint64_t now_ns)
{
	bool sent = t->ops->probe(t->arg, n->port, &n->addr, in_use(n) ? n->mac : NULL);

	n->probes += sent;
	n->due_ns = sent ? now_ns + NEIGHBOUR_RETRANS_NS : now_ns;
}

// Three probes were in vain.
static void fail_neighbour(struct neighbour_table *t, struct neighbour *n, uint64_t now_ns)
{
	t->stats.failed++;
	if (in_use(n))
		t->ops->set(t->arg, n->port, &n->addr, NULL);
	if (!n->wanted) {
		forget_neighbour(t, n);
		return;
	}
	if (!n->lost) {
		n->lost = true;
		t->ops->next_hop(t->arg, n->port, &n->addr, false);
	}
	// A station that was there a moment ago may be back with another MAC address. A probe for
	// all stations goes out at once.
	if (n->state == NEIGHBOUR_STALE) {
		enter_neighbour_state(t, n, NEIGHBOUR_INCOMPLETE, now_ns);
		probe(t, n, now_ns);
		return;
	}
	enter_neighbour_state(t, n, NEIGHBOUR_FAILED, now_ns);
	n->due_ns = now_ns + NEIGHBOUR_RETRY_NS;
}

static void advance_neighbour(struct neighbour_table *t, struct neighbour *n, uint64_t now_ns)
{
	switch ((enum neighbour_state)n->state) {
	case NEIGHBOUR_REACHABLE:
		enter_neighbour_state(t, n, NEIGHBOUR_STALE, now_ns);
		probe(t, n, now_ns);
		break;
	case NEIGHBOUR_FAILED:
		if (t->ops->probe(t->arg, n->port, &n->addr, NULL))
			n->due_ns = now_ns + NEIGHBOUR_RETRY_NS;
		break;
	case NEIGHBOUR_INCOMPLETE:
	case NEIGHBOUR_STALE:
		if (n->probes < NEIGHBOUR_PROBES)
			probe(t, n, now_ns);
		else
			fail_neighbour(t, n, now_ns);
		break;
	case NEIGHBOUR_STATIC:
	case N_NEIGHBOUR_STATES: break;
	}
}

void neighbour_tick(struct neighbour_table *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < SLOTS_A_TICK; i++) {
		struct neighbour *n = &t->slot[t->cursor];

		t->cursor = (t->cursor + 1) % NEIGHBOUR_MAX;
		if (n->used && n->state != NEIGHBOUR_STATIC && now_ns >= n->due_ns)
			advance_neighbour(t, n, now_ns);
	}
}

// ---- what comes in

void neighbour_want(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
		    bool as_route, uint64_t now_ns)
{
	struct neighbour *n = find_neighbour(t, port, a);

	if (n == NULL) {
		n = create_neighbour(t, port, a, NEIGHBOUR_INCOMPLETE, now_ns);
		if (n != NULL)
			probe(t, n, now_ns);
	}
	if (n == NULL || !as_route)
		return;
	n->wanted = true;
	unlist(t, n);
	t->named[n - t->slot] |= NAMED_WANTED;
}

// The neighbour has another MAC address, or has one for the first time.
static void replace_mac(struct neighbour_table *t, struct neighbour *n, const uint8_t *mac,
			bool answer, uint64_t now_ns)
{
	static const uint8_t none[sizeof(n->mac)];
	bool changed = memcmp(n->mac, none, sizeof(none)) != 0 &&
		       memcmp(n->mac, mac, sizeof(n->mac)) != 0;

	if (changed && t->ops->changed != NULL)
		t->ops->changed(t->arg, n->port, &n->addr, mac, now_ns);
	set_mac(t, n, mac);
	enter_neighbour_state(t, n, answer ? NEIGHBOUR_REACHABLE : NEIGHBOUR_STALE, now_ns);
}

void neighbour_receive(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
		     const uint8_t *mac, enum neighbour_rx how, bool overrides, uint64_t now_ns)
{
	struct neighbour *n = find_neighbour(t, port, a);
	bool answer = how == NEIGHBOUR_RX_ANSWER;

	if (n == NULL && mac != NULL && how == NEIGHBOUR_RX_REQUEST) {
		n = create_neighbour(t, port, a, NEIGHBOUR_STALE, now_ns);
		if (n != NULL)
			set_mac(t, n, mac);
		return;
	}
	if (n == NULL || n->state == NEIGHBOUR_STATIC)
		return;
	if (mac == NULL) {
		if (in_use(n) && answer)
			enter_neighbour_state(t, n, NEIGHBOUR_REACHABLE, now_ns);
	} else if (!in_use(n)) {
		replace_mac(t, n, mac, answer, now_ns);
	} else if (memcmp(n->mac, mac, sizeof(n->mac)) == 0) {
		if (answer)
			enter_neighbour_state(t, n, NEIGHBOUR_REACHABLE, now_ns);
	} else if (overrides) {
		replace_mac(t, n, mac, answer, now_ns);
	} else if (n->state == NEIGHBOUR_REACHABLE) {
		// RFC 4861 7.2.5: not replaced, but no more believed than its next answer.
		enter_neighbour_state(t, n, NEIGHBOUR_STALE, now_ns);
	}
}

void neighbour_set_static(struct neighbour_table *t, port_no_t port, const struct policy_addr *a,
			  const uint8_t *mac, uint64_t now_ns)
{
	struct neighbour *n = find_neighbour(t, port, a);

	if (n == NULL)
		n = create_neighbour(t, port, a, NEIGHBOUR_STATIC, now_ns);
	if (n == NULL)
		return;
	if (n->state != NEIGHBOUR_STATIC)
		enter_neighbour_state(t, n, NEIGHBOUR_STATIC, now_ns);
	t->named[n - t->slot] |= NAMED_STATIC;
	set_mac(t, n, mac);
}

// ---- policies

void neighbour_begin_policy(struct neighbour_table *t)
{
	memset(t->named, 0, sizeof(t->named));
}

void neighbour_end_policy(struct neighbour_table *t,
			  bool (*keep)(void *arg, port_no_t port, const struct policy_addr *a),
			  uint64_t now_ns)
{
	for (unsigned i = 0; i < NEIGHBOUR_MAX; i++) {
		struct neighbour *n = &t->slot[i];

		if (!n->used)
			continue;
		if (n->wanted && !(t->named[i] & NAMED_WANTED)) {
			n->wanted = n->lost = false;
			list(t, n);
		}
		if (t->named[i] == 0 &&
		    (n->state == NEIGHBOUR_FAILED || !keep(t->arg, n->port, &n->addr))) {
			t->ops->set(t->arg, n->port, &n->addr, NULL);
			forget_neighbour(t, n);
		} else if (n->state == NEIGHBOUR_STATIC && !(t->named[i] & NAMED_STATIC)) {
			enter_neighbour_state(t, n, NEIGHBOUR_STALE, now_ns);
		}
	}
}

// ---- readers

const struct neighbour *neighbour_at(const struct neighbour_table *t, unsigned i)
{
	return t->slot[i].used ? &t->slot[i] : NULL;
}

struct neighbour_stats neighbour_stats(const struct neighbour_table *t)
{
	return t->stats;
}
