// SPDX-License-Identifier: Apache-2.0
// The virtual clock: timers in nanoseconds, and actors (workers, NICs, control) that are stepped
// when their time has come or when an event pokes them. Deterministic: events of one instant run in
// the order in which they were scheduled, then actors in the order in which they were poked; what
// they schedule for the same instant follows. One thread. Nothing here reads a real clock.
//
// Timers wait in a hierarchical wheel (Varghese and Lauck, SOSP 1987). A slot of level 0 is one
// nanosecond, and there are 4096 of them, so that most events of a fabric go there at once; each
// further level has 256 slots, as wide as the whole level below. A timer lies at the level of the
// highest digit in which its time differs from the wheel's, and moves down when the wheel gets
// there. So setting, moving and cancelling cost the same however many timers there are, no timer
// waits twice, and nothing is allocated but the memory of vclock_at, which is kept.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vclock;

// Returns when it wants to be stepped next; UINT64_MAX: only when poked.
typedef uint64_t actor_step_fn(void *arg, uint64_t now_ns);
typedef void vclock_fn(void *arg, uint64_t now_ns);

enum {
	VCLOCK_NEAR_BITS = 12, // of level 0
	VCLOCK_FAR_BITS = 8, // of each level above
	VCLOCK_NEAR = 1 << VCLOCK_NEAR_BITS,
	VCLOCK_FAR = 1 << VCLOCK_FAR_BITS,
	VCLOCK_LEVELS = 1 + (64 - VCLOCK_NEAR_BITS + VCLOCK_FAR_BITS - 1) / VCLOCK_FAR_BITS,
	VCLOCK_SLOTS = VCLOCK_NEAR + (VCLOCK_LEVELS - 1) * VCLOCK_FAR,
};

// Something that happens at one time at most, and then can be set again.
struct vtimer {
	struct vtimer *next, *prev; // a ring with the others of its slot
	uint64_t t_ns, seq; // when; its turn among those of one instant
	struct vclock *clock;
	vclock_fn *fn;
	void *arg;
	uint32_t slot; // where it waits, UINT32_MAX: it does not
};

struct actor {
	struct vclock *clock;
	actor_step_fn *step;
	void *arg;
	struct vtimer wake;
	bool poked;
	struct actor *next_poked;
};

struct vclock_once; // the memory of vclock_at

struct vclock {
	uint64_t now_ns;
	uint64_t wheel_ns; // what the slots refer to: never after now, nor after any timer
	uint64_t seq;
	struct actor *first_poked, **last_poked;
	bool stopped;
	uint64_t n_events, n_steps; // for the report
	struct vclock_once *free_once, *chunks;
	// Bitmaps of what holds a timer: levels, words of a level's map, slots.
	uint32_t levels;
	uint64_t words[VCLOCK_LEVELS];
	uint64_t map[VCLOCK_SLOTS / 64];
	struct vtimer *slot[VCLOCK_SLOTS]; // the first; level after level
};

void vclock_init(struct vclock *c);
void vclock_fini(struct vclock *c);

// Runs fn once at t_ns (not before now). 0 or -ENOMEM, -EINVAL for the past.
__attribute__((warn_unused_result)) int vclock_at(struct vclock *c, uint64_t t_ns, vclock_fn *fn,
						  void *arg);

// A timer in the caller's memory, which must outlive the clock or be cancelled.
void vtimer_init(struct vtimer *t, struct vclock *c, vclock_fn *fn, void *arg);
// Due at t_ns, or now where that has passed; replaces any earlier time. Last in turn.
void vtimer_set(struct vtimer *t, uint64_t t_ns);
// The same with a turn that was taken before: for something that was certain before it was set.
void vtimer_set_turn(struct vtimer *t, uint64_t t_ns, uint64_t turn);
void vtimer_cancel(struct vtimer *t);
static inline bool vtimer_is_set(const struct vtimer *t)
{
	return t->slot != UINT32_MAX;
}
// The next turn.
static inline uint64_t vclock_turn(struct vclock *c)
{
	return c->seq++;
}

void actor_init(struct actor *a, struct vclock *c, actor_step_fn *step, void *arg);
// Steps the actor at the present instant, once all events of this instant have run.
static inline void actor_poke(struct actor *a)
{
	if (a->poked)
		return;
	a->poked = true;
	a->next_poked = NULL;
	*a->clock->last_poked = a;
	a->clock->last_poked = &a->next_poked;
}

// Runs everything up to and including t_ns; the clock then stands at t_ns. 0, or -EINVAL for the
// past. After vclock_stop it completes the present instant, and the clock stands there for good.
__attribute__((warn_unused_result)) int vclock_run_until(struct vclock *c, uint64_t t_ns);
void vclock_stop(struct vclock *c);
