// SPDX-License-Identifier: Apache-2.0
#include "control/lab/chain.h"

#include <stdlib.h>
#include <string.h>

const char *const chain_reason_name[N_CHAIN_REASONS] = {
	[REASON_UNKNOWN] = "host",
	[REASON_STORM] = "storm",
	[REASON_SLOW_RECEIVER] = "slow receiver",
};

const char *const chain_kind_name[N_CHAIN_KINDS] = {
	[CHAIN_DEADLOCK] = "deadlock",
	[CHAIN_CYCLIC] = "cyclic",
	[CHAIN_ROOT] = "root",
};

void chain_init(struct chain *c, uint64_t stuck_ns)
{
	*c = (struct chain){.stuck_ns = stuck_ns};
}

void chain_fini(struct chain *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->findings[i].queues);
	free(c->findings);
	*c = (struct chain){0};
}

void chain_begin(struct chain *c, uint64_t now_ns)
{
	c->look++;
	c->now_ns = now_ns;
}

// ---- queues

static bool same_queue(struct chain_queue a, struct chain_queue b)
{
	return a.sw == b.sw && a.port == b.port && a.cls == b.cls;
}

static bool before(struct chain_queue a, struct chain_queue b)
{
	if (a.sw != b.sw)
		return a.sw < b.sw;
	return a.port != b.port ? a.port < b.port : a.cls < b.cls;
}

// Wherever a chain enters a cycle, its lowest queue comes first.
static void turn(struct chain_queue *q, uint32_t n)
{
	struct chain_queue turned[CHAIN_MAX_HOPS];
	uint32_t low = 0;

	for (uint32_t i = 1; i < n; i++)
		if (before(q[i], q[low]))
			low = i;
	for (uint32_t i = 0; i < n; i++)
		turned[i] = q[(low + i) % n];
	memcpy(q, turned, n * sizeof(*q));
}

// ---- findings

static struct chain_finding *add(struct chain *c, const struct chain_finding *f)
{
	if (c->n == CHAIN_MAX_FINDINGS) {
		c->left_out++;
		return NULL;
	}
	if (c->n == c->cap) {
		uint32_t cap = c->cap == 0 ? 8 : 2 * c->cap;
		struct chain_finding *more = realloc(c->findings, cap * sizeof(*more));

		if (more == NULL) {
			c->short_of_memory = true;
			return NULL;
		}
		c->findings = more;
		c->cap = cap;
	}
	c->findings[c->n] = *f;
	return &c->findings[c->n++];
}

static void keep_queues(struct chain *c, struct chain_finding *f, const struct chain_queue *q,
			uint32_t n)
{
	struct chain_queue *more = realloc(f->queues, n * sizeof(*more));

	if (more == NULL) {
		c->short_of_memory = true;
		return;
	}
	memcpy(more, q, n * sizeof(*more));
	f->queues = more;
	f->n_queues = n;
}

// It is there, and has been since spell_ns if it was not at the last look.
static void seen(struct chain *c, struct chain_finding *f, uint64_t spell_ns)
{
	if (f->times == 0 || f->look + 1 < c->look) {
		f->spell_ns = spell_ns;
		f->times++;
	}
	if (f->times == 1)
		f->first_ns = f->spell_ns;
	f->look = c->look;
	f->last_ns = c->now_ns;
	f->now = true;
	if (c->now_ns - f->spell_ns > f->longest_ns)
		f->longest_ns = c->now_ns - f->spell_ns;
}

static struct chain_finding *find_root(struct chain *c, const struct chain_pause *p, uint8_t cls)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct chain_finding *f = &c->findings[i];

		if (f->kind == CHAIN_ROOT && f->host == p->host && f->cls == cls &&
		    f->reason == p->reason)
			return f;
	}
	return add(c, &(struct chain_finding){.kind = CHAIN_ROOT,
					      .cls = cls,
					      .reason = p->reason,
					      .host = p->host,
					      .since_ns = p->since_ns});
}

static void found_root(struct chain *c, const struct chain_pause *p, const struct chain_queue *path,
		       uint32_t n)
{
	struct chain_finding *f = find_root(c, p, path[n - 1].cls);

	if (f == NULL)
		return;
	if (n > f->n_queues)
		keep_queues(c, f, path, n);
	if (f->times == 0 || f->look != c->look)
		seen(c, f, c->now_ns);
}

static bool same_cycle(const struct chain_finding *f, const struct chain_queue *q, uint32_t n)
{
	if (f->kind == CHAIN_ROOT || f->n_queues != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!same_queue(f->queues[i], q[i]))
			return false;
	return true;
}

static struct chain_finding *find_cycle(struct chain *c, const struct chain_queue *q, uint32_t n)
{
	struct chain_finding *f;

	for (uint32_t i = 0; i < c->n; i++)
		if (same_cycle(&c->findings[i], q, n))
			return &c->findings[i];
	f = add(c, &(struct chain_finding){.kind = CHAIN_CYCLIC});
	if (f != NULL)
		keep_queues(c, f, q, n);
	return f;
}

// Since when none of the queues has moved; UINT64_MAX: some does.
static uint64_t still_since(const struct chain_view *v, const struct chain_queue *q, uint32_t n)
{
	uint64_t latest = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t t = v->still_since(v->arg, q[i]);

		latest = t > latest ? t : latest;
	}
	return latest;
}

// What was known of it as a mere dependency gives way to what is known of it as a deadlock.
static void becomes_deadlock(struct chain_finding *f)
{
	if (f->kind == CHAIN_DEADLOCK)
		return;
	f->kind = CHAIN_DEADLOCK;
	f->times = 0;
	f->longest_ns = 0;
}

static void found_cycle(struct chain *c, const struct chain_view *v, struct chain_queue *q,
			uint32_t n)
{
	struct chain_finding *f;
	uint64_t since;

	turn(q, n);
	f = find_cycle(c, q, n);
	if (f == NULL || (f->times != 0 && f->look == c->look))
		return;
	since = still_since(v, q, n);
	if (since <= c->now_ns && c->now_ns - since >= c->stuck_ns) {
		becomes_deadlock(f);
		seen(c, f, since);
	} else if (f->kind == CHAIN_CYCLIC) {
		seen(c, f, c->now_ns);
	}
}

// ---- one chain

void chain_walk(struct chain *c, const struct chain_view *v, struct chain_queue from)
{
	struct chain_queue path[CHAIN_MAX_HOPS];
	uint32_t n = 0;

	path[n++] = from;
	for (;;) {
		struct chain_pause p = v->paused_by(v->arg, path[n - 1]);

		if (p.by == CHAIN_BY_HOST)
			found_root(c, &p, path, n);
		if (p.by != CHAIN_BY_SWITCH)
			return;
		for (uint32_t i = 0; i < n; i++)
			if (same_queue(path[i], p.next)) {
				found_cycle(c, v, &path[i], n - i);
				return;
			}
		if (n == CHAIN_MAX_HOPS)
			return;
		path[n++] = p.next;
	}
}

void chain_end(struct chain *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->findings[i].now = c->findings[i].look == c->look;
}

// ---- questions

static bool there_since(const struct chain_finding *f, uint64_t from_ns)
{
	return f->times != 0 && f->last_ns >= from_ns;
}

uint32_t chain_count(const struct chain *c, enum chain_kind kind, uint64_t from_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += (kind == N_CHAIN_KINDS || c->findings[i].kind == kind) &&
		     there_since(&c->findings[i], from_ns);
	return n;
}

uint32_t chain_count_host(const struct chain *c, uint32_t host, uint64_t from_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += c->findings[i].kind == CHAIN_ROOT && c->findings[i].host == host &&
		     there_since(&c->findings[i], from_ns);
	return n;
}

static bool passes(const struct chain_finding *f, uint32_t sw)
{
	for (uint32_t i = 0; i < f->n_queues; i++)
		if (f->queues[i].sw == sw)
			return true;
	return false;
}

static bool is_among(uint32_t sw, const uint32_t *switches, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (switches[i] == sw)
			return true;
	return false;
}

static bool passes_exactly(const struct chain_finding *f, const uint32_t *switches, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!passes(f, switches[i]))
			return false;
	for (uint32_t i = 0; i < f->n_queues; i++)
		if (!is_among(f->queues[i].sw, switches, n))
			return false;
	return true;
}

uint32_t chain_count_cycle(const struct chain *c, const uint32_t *switches, uint32_t n,
			   uint64_t from_ns)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < c->n; i++)
		found += c->findings[i].kind == CHAIN_DEADLOCK &&
			 there_since(&c->findings[i], from_ns) &&
			 passes_exactly(&c->findings[i], switches, n);
	return found;
}

// Few findings, once a report.
void chain_rank(const struct chain *c, uint32_t *order)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t k = i;

		for (; k > 0 && c->findings[order[k - 1]].longest_ns < c->findings[i].longest_ns;
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}
