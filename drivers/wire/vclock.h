// SPDX-License-Identifier: Apache-2.0
// The virtual clock: a heap of events in nanoseconds, and actors (workers, NICs, control) that are
// stepped when they asked to be or when an event pokes them. Deterministic: events of one instant
// run in the order in which they were scheduled, then actors in the order in which they were
// poked. One thread. Nothing here reads a real clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vclock;

// Returns when it wants to be stepped next; UINT64_MAX: only when poked.
typedef uint64_t actor_step_fn(void *arg, uint64_t now_ns);
typedef void vclock_fn(void *arg, uint64_t now_ns);

struct actor {
	struct vclock *clock;
	actor_step_fn *step;
	void *arg;
	uint64_t wake_ns; // its only valid wake-up in the heap
	bool poked;
	struct actor *next_poked;
};

struct vclock_event {
	uint64_t t_ns, seq;
	vclock_fn *fn; // NULL: the wake-up of an actor
	void *arg;
};

struct vclock {
	uint64_t now_ns;
	uint64_t seq;
	struct vclock_event *heap;
	uint32_t n, capacity;
	struct actor *first_poked, **last_poked;
	uint64_t n_events, n_steps; // for the report
};

void vclock_init(struct vclock *c);
void vclock_fini(struct vclock *c);

// Runs fn at t_ns (not before now). 0 or -ENOMEM, -EINVAL for the past.
__attribute__((warn_unused_result)) int vclock_at(struct vclock *c, uint64_t t_ns, vclock_fn *fn,
						  void *arg);

void actor_init(struct actor *a, struct vclock *c, actor_step_fn *step, void *arg);
// Steps the actor at the present instant, once all events of this instant have run.
void actor_poke(struct actor *a);

// Runs everything up to and including t_ns; the clock then stands at t_ns. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int vclock_run_until(struct vclock *c, uint64_t t_ns);
