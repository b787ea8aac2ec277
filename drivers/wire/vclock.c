// SPDX-License-Identifier: Apache-2.0
#include "drivers/wire/vclock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "dataplane/base/compiler.h"

enum { ONCE_PER_CHUNK = 64 };
static const uint32_t IDLE = UINT32_MAX;

// An event of vclock_at; the first of each chunk only links the chunks.
struct vclock_once {
	struct vtimer timer;
	vclock_fn *fn;
	void *arg;
	struct vclock_once *next;
};

void vclock_init(struct vclock *c)
{
	*c = (struct vclock){0};
	c->last_poked = &c->first_poked;
}

void vclock_fini(struct vclock *c)
{
	while (c->chunks != NULL) {
		struct vclock_once *chunk = c->chunks;

		c->chunks = chunk->next;
		free(chunk);
	}
	c->free_once = NULL;
}

// ---- the wheel

// The bit of a time at which a level's digit begins.
static unsigned shift_of(unsigned level)
{
	return level == 0 ? 0 : VCLOCK_NEAR_BITS + (level - 1) * VCLOCK_FAR_BITS;
}

static unsigned first_slot_of(unsigned level)
{
	return level == 0 ? 0 : VCLOCK_NEAR + (level - 1) * VCLOCK_FAR;
}

static force_inline void mark_empty(struct vclock *c, unsigned level, unsigned slot)
{
	c->slot[slot] = NULL;
	c->map[slot / 64] &= ~(1ull << slot % 64);
	if (c->map[slot / 64] != 0)
		return;
	c->words[level] &= ~(1ull << (slot - first_slot_of(level)) / 64);
	if (c->words[level] == 0)
		c->levels &= ~(1u << level);
}

// Into the ring of a slot, ahead of those whose turn is later. Only a slot of level 0 is one
// instant, where turns matter, and most turns are last.
static void link_into_slot(struct vclock *c, struct vtimer *t, unsigned level)
{
	struct vtimer *first = c->slot[t->slot], *after = first->prev;

	if (level == 0)
		while (after->seq > t->seq && after != first)
			after = after->prev;
	if (after == first && level == 0 && after->seq > t->seq) {
		c->slot[t->slot] = t;
		after = first->prev;
	}
	t->prev = after;
	t->next = after->next;
	after->next->prev = t;
	after->next = t;
}

static force_inline void insert_at(struct vclock *c, struct vtimer *t, unsigned level,
				   unsigned slot)
{
	t->slot = slot;
	if (c->slot[slot] != NULL) {
		link_into_slot(c, t, level);
		return;
	}
	t->next = t->prev = t;
	c->slot[slot] = t;
	c->map[slot / 64] |= 1ull << slot % 64;
	c->words[level] |= 1ull << (slot - first_slot_of(level)) / 64;
	c->levels |= 1u << level;
}

static force_inline void insert_timer(struct vclock *c, struct vtimer *t)
{
	uint64_t differs = t->t_ns ^ c->wheel_ns;
	unsigned level;

	if (likely(differs < VCLOCK_NEAR)) {
		insert_at(c, t, 0, t->t_ns & (VCLOCK_NEAR - 1));
		return;
	}
	level = 1 + (63 - VCLOCK_NEAR_BITS - (unsigned)__builtin_clzll(differs)) / VCLOCK_FAR_BITS;
	insert_at(c, t, level,
		  first_slot_of(level) + (t->t_ns >> shift_of(level) & (VCLOCK_FAR - 1)));
}

static force_inline void unlink_from(struct vclock *c, struct vtimer *t, unsigned level,
				     unsigned slot)
{
	t->slot = IDLE;
	if (t->next == t) {
		mark_empty(c, level, slot);
		return;
	}
	t->prev->next = t->next;
	t->next->prev = t->prev;
	if (c->slot[slot] == t)
		c->slot[slot] = t->next;
}

static void unlink_timer(struct vclock *c, struct vtimer *t)
{
	unsigned slot = t->slot;

	unlink_from(c, t, slot < VCLOCK_NEAR ? 0 : 1 + (slot - VCLOCK_NEAR) / VCLOCK_FAR, slot);
}

// Turns the wheel to the beginning of a slot, whose timers move to lower levels.
static void descend(struct vclock *c, unsigned level, unsigned slot, uint64_t start_ns)
{
	struct vtimer *first = c->slot[slot], *t = first;

	c->wheel_ns = start_ns;
	mark_empty(c, level, slot);
	do {
		struct vtimer *next = t->next;

		insert_timer(c, t);
		t = next;
	} while (t != first);
}

// The slot of the next instant up to t_ns, to which the wheel is turned; -1: there is none.
static int next_instant(struct vclock *c, uint64_t t_ns)
{
	while (c->levels != 0) {
		// The first used slot of the lowest level that has one. All used slots lie at or
		// after the wheel's time.
		unsigned level = (unsigned)__builtin_ctz(c->levels), shift = shift_of(level);
		unsigned word = first_slot_of(level) / 64 +
				(unsigned)__builtin_ctzll(c->words[level]);
		unsigned slot = word * 64 + (unsigned)__builtin_ctzll(c->map[word]);
		uint64_t size = level == 0 ? VCLOCK_NEAR : VCLOCK_FAR;
		uint64_t digit = slot - first_slot_of(level), below = size << shift;
		uint64_t start_ns = (c->wheel_ns & ~(below - 1)) | digit << shift;

		if (start_ns > t_ns)
			return -1;
		if (level == 0) {
			c->wheel_ns = start_ns;
			return (int)slot;
		}
		descend(c, level, slot, start_ns);
	}
	return -1;
}

// ---- timers

void vtimer_init(struct vtimer *t, struct vclock *c, vclock_fn *fn, void *arg)
{
	*t = (struct vtimer){.clock = c, .fn = fn, .arg = arg, .slot = IDLE};
}

void vtimer_cancel(struct vtimer *t)
{
	if (vtimer_is_set(t))
		unlink_timer(t->clock, t);
}

static force_inline void set(struct vtimer *t, uint64_t t_ns, uint64_t turn)
{
	struct vclock *c = t->clock;

	if (vtimer_is_set(t))
		unlink_timer(c, t);
	t->t_ns = t_ns > c->now_ns ? t_ns : c->now_ns;
	t->seq = turn;
	insert_timer(c, t);
}

void vtimer_set_turn(struct vtimer *t, uint64_t t_ns, uint64_t turn)
{
	set(t, t_ns, turn);
}

void vtimer_set(struct vtimer *t, uint64_t t_ns)
{
	set(t, t_ns, vclock_turn(t->clock));
}

static bool more_once(struct vclock *c)
{
	struct vclock_once *chunk = calloc(ONCE_PER_CHUNK, sizeof(*chunk));

	if (chunk == NULL)
		return false;
	chunk->next = c->chunks;
	c->chunks = chunk;
	for (unsigned i = 1; i < ONCE_PER_CHUNK; i++) {
		chunk[i].next = c->free_once;
		c->free_once = &chunk[i];
	}
	return true;
}

static void run_once(void *arg, uint64_t now_ns)
{
	struct vclock_once *o = arg;
	struct vclock *c = o->timer.clock;

	o->next = c->free_once;
	c->free_once = o;
	o->fn(o->arg, now_ns);
}

int vclock_at(struct vclock *c, uint64_t t_ns, vclock_fn *fn, void *arg)
{
	struct vclock_once *o;

	if (t_ns < c->now_ns)
		return -EINVAL;
	if (c->free_once == NULL && !more_once(c))
		return -ENOMEM;
	o = c->free_once;
	c->free_once = o->next;
	o->fn = fn;
	o->arg = arg;
	vtimer_init(&o->timer, c, run_once, o);
	vtimer_set(&o->timer, t_ns);
	return 0;
}

// ---- actors

static void wake(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	actor_poke(arg);
}

void actor_init(struct actor *a, struct vclock *c, actor_step_fn *step, void *arg)
{
	*a = (struct actor){.clock = c, .step = step, .arg = arg};
	vtimer_init(&a->wake, c, wake, a);
}

static void step_actor(struct vclock *c, struct actor *a)
{
	uint64_t t_ns = a->step(a->arg, c->now_ns);

	c->n_steps++;
	if (unlikely(t_ns <= c->now_ns))
		actor_poke(a);
	if (t_ns <= c->now_ns || t_ns == UINT64_MAX)
		vtimer_cancel(&a->wake);
	else if (!vtimer_is_set(&a->wake) || a->wake.t_ns != t_ns)
		set(&a->wake, t_ns, vclock_turn(c));
}

static void step_poked(struct vclock *c)
{
	while (c->first_poked != NULL) {
		struct actor *a = c->first_poked;

		c->first_poked = a->next_poked;
		if (c->first_poked == NULL)
			c->last_poked = &c->first_poked;
		a->poked = false;
		step_actor(c, a);
	}
}

static void run_instant(struct vclock *c, unsigned slot)
{
	while (c->slot[slot] != NULL) {
		struct vtimer *t = c->slot[slot];

		unlink_from(c, t, 0, slot);
		c->n_events++;
		t->fn(t->arg, c->now_ns);
	}
}

int vclock_run_until(struct vclock *c, uint64_t t_ns)
{
	int slot;

	if (t_ns < c->now_ns)
		return -EINVAL;
	step_poked(c);
	while ((slot = next_instant(c, c->stopped ? c->now_ns : t_ns)) >= 0) {
		c->now_ns = c->wheel_ns;
		run_instant(c, (unsigned)slot);
		step_poked(c);
	}
	if (!c->stopped)
		c->now_ns = t_ns;
	return 0;
}

void vclock_stop(struct vclock *c)
{
	c->stopped = true;
}
