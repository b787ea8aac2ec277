// SPDX-License-Identifier: Apache-2.0
#include "drivers/wire/vclock.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

void vclock_init(struct vclock *c)
{
	*c = (struct vclock){0};
	c->last_poked = &c->first_poked;
}

void vclock_fini(struct vclock *c)
{
	free(c->heap);
	c->heap = NULL;
}

static bool before(const struct vclock_event *a, const struct vclock_event *b)
{
	return a->t_ns != b->t_ns ? a->t_ns < b->t_ns : a->seq < b->seq;
}

static void sift_up(struct vclock *c, uint32_t i, struct vclock_event e)
{
	while (i > 0 && before(&e, &c->heap[(i - 1) / 2])) {
		c->heap[i] = c->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	c->heap[i] = e;
}

static struct vclock_event pop(struct vclock *c)
{
	struct vclock_event top = c->heap[0], last = c->heap[--c->n];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < c->n) {
		if (child + 1 < c->n && before(&c->heap[child + 1], &c->heap[child]))
			child++;
		if (!before(&c->heap[child], &last))
			break;
		c->heap[i] = c->heap[child];
		i = child;
	}
	c->heap[i] = last;
	return top;
}

int vclock_at(struct vclock *c, uint64_t t_ns, vclock_fn *fn, void *arg)
{
	if (t_ns < c->now_ns)
		return -EINVAL;
	if (c->n == c->capacity) {
		uint32_t capacity = c->capacity == 0 ? 256 : 2 * c->capacity;
		struct vclock_event *heap = realloc(c->heap, capacity * sizeof(*heap));

		if (heap == NULL)
			return -ENOMEM;
		c->heap = heap;
		c->capacity = capacity;
	}
	sift_up(c, c->n++, (struct vclock_event){t_ns, c->seq++, fn, arg});
	return 0;
}

void actor_init(struct actor *a, struct vclock *c, actor_step_fn *step, void *arg)
{
	*a = (struct actor){.clock = c, .step = step, .arg = arg, .wake_ns = UINT64_MAX};
}

void actor_poke(struct actor *a)
{
	if (a->poked)
		return;
	a->poked = true;
	a->next_poked = NULL;
	*a->clock->last_poked = a;
	a->clock->last_poked = &a->next_poked;
}

static int step_actor(struct vclock *c, struct actor *a)
{
	uint64_t wake = a->step(a->arg, c->now_ns);

	c->n_steps++;
	if (wake <= c->now_ns) {
		a->wake_ns = UINT64_MAX;
		actor_poke(a);
		return 0;
	}
	if (wake == a->wake_ns)
		return 0;
	a->wake_ns = wake;
	return wake == UINT64_MAX ? 0 : vclock_at(c, wake, NULL, a);
}

static int step_poked(struct vclock *c)
{
	int err = 0;

	while (err == 0 && c->first_poked != NULL) {
		struct actor *a = c->first_poked;

		c->first_poked = a->next_poked;
		if (c->first_poked == NULL)
			c->last_poked = &c->first_poked;
		a->poked = false;
		err = step_actor(c, a);
	}
	return err;
}

static void run_event(struct vclock *c, const struct vclock_event *e)
{
	struct actor *a = e->arg;

	c->n_events++;
	if (e->fn != NULL) {
		e->fn(e->arg, c->now_ns);
	} else if (a->wake_ns == e->t_ns) {
		// Else the actor has changed its mind since.
		a->wake_ns = UINT64_MAX;
		actor_poke(a);
	}
}

int vclock_run_until(struct vclock *c, uint64_t t_ns)
{
	int err = step_poked(c);

	while (err == 0 && c->n != 0 && c->heap[0].t_ns <= t_ns) {
		c->now_ns = c->heap[0].t_ns;
		while (c->n != 0 && c->heap[0].t_ns == c->now_ns) {
			struct vclock_event e = pop(c);

			run_event(c, &e);
		}
		err = step_poked(c);
	}
	if (err == 0)
		c->now_ns = t_ns;
	return err;
}
