// SPDX-License-Identifier: Apache-2.0
// The virtual clock: order, and timers at every distance.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dataplane/base/rng.h"
#include "drivers/wire/vclock.h"

enum { MAX_LOG = 1 << 16 };

struct world {
	struct vclock clock;
	uint64_t log_ns[MAX_LOG];
	unsigned log[MAX_LOG], n;
};

// Something that writes down when it ran.
struct item {
	struct world *w;
	struct vtimer timer;
	struct actor actor;
	unsigned id;
	uint64_t wake_ns; // of an actor: what it answers, once
};

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	vclock_init(&w->clock);
	return w;
}

static void close_world(struct world *w)
{
	vclock_fini(&w->clock);
	free(w);
}

static void note(void *arg, uint64_t now_ns)
{
	struct item *i = arg;

	assert_true(i->w->n < MAX_LOG);
	assert_int_equal(now_ns, i->w->clock.now_ns);
	i->w->log_ns[i->w->n] = now_ns;
	i->w->log[i->w->n++] = i->id;
}

static uint64_t step(void *arg, uint64_t now_ns)
{
	struct item *i = arg;
	uint64_t wake = i->wake_ns;

	note(i, now_ns);
	i->wake_ns = UINT64_MAX;
	return wake;
}

static void item_init(struct item *i, struct world *w, unsigned id)
{
	*i = (struct item){.w = w, .id = id, .wake_ns = UINT64_MAX};
	vtimer_init(&i->timer, &w->clock, note, i);
	actor_init(&i->actor, &w->clock, step, i);
}

static void expect(struct world *w, const unsigned *ids, unsigned n)
{
	assert_int_equal(w->n, n);
	assert_memory_equal(w->log, ids, n * sizeof(*ids));
	w->n = 0;
}

static void events_of_one_instant_run_in_the_order_of_their_scheduling(void **state)
{
	struct world *w = open_world();
	struct item item[6];
	uint64_t early = vclock_turn(&w->clock);

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		item_init(&item[i], w, i);
	// The same instant, set from far away, from near and from its own neighbourhood.
	assert_int_equal(vclock_at(&w->clock, 1000000, note, &item[0]), 0);
	assert_int_equal(vclock_run_until(&w->clock, 999000), 0);
	vtimer_set(&item[1].timer, 1000000);
	assert_int_equal(vclock_run_until(&w->clock, 999999), 0);
	vtimer_set(&item[2].timer, 1000000);
	assert_int_equal(vclock_at(&w->clock, 1000000, note, &item[3]), 0);
	vtimer_set(&item[4].timer, 1000000);
	vtimer_set(&item[1].timer, 1000000); // set again: last now
	vtimer_set_turn(&item[5].timer, 1000000, early);
	vtimer_cancel(&item[3].timer); // never set
	assert_int_equal(vclock_run_until(&w->clock, 1000000), 0);
	expect(w, (unsigned[]){5, 0, 2, 3, 4, 1}, 6);
	close_world(w);
}

static void actors_follow_the_events_of_their_instant_in_the_order_of_pokes(void **state)
{
	struct world *w = open_world();
	struct item item[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		item_init(&item[i], w, i);
	item[0].wake_ns = item[1].wake_ns = 700;
	actor_poke(&item[1].actor);
	actor_poke(&item[0].actor);
	actor_poke(&item[1].actor); // once is enough
	assert_int_equal(vclock_run_until(&w->clock, 699), 0);
	expect(w, (unsigned[]){1, 0}, 2);
	vtimer_set(&item[2].timer, 700);
	actor_poke(&item[3].actor);
	assert_int_equal(vclock_run_until(&w->clock, 700), 0);
	expect(w, (unsigned[]){3, 2, 1, 0}, 4);
	close_world(w);
}

static void a_wake_up_that_is_no_longer_wanted_never_comes(void **state)
{
	struct world *w = open_world();
	struct item a;

	(void)state;
	item_init(&a, w, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		a.wake_ns = 1000000 - 900 * i; // ever earlier, and at last none
		if (i == 999)
			a.wake_ns = UINT64_MAX;
		actor_poke(&a.actor);
		assert_int_equal(vclock_run_until(&w->clock, i), 0);
	}
	assert_int_equal(w->n, 1000);
	assert_int_equal(vclock_run_until(&w->clock, 10000000), 0);
	assert_int_equal(w->n, 1000);
	assert_int_equal(w->clock.n_steps, 1000);
	assert_int_equal(w->clock.n_events, 0);
	close_world(w);
}

static void the_past_is_refused_and_the_present_is_not(void **state)
{
	struct world *w = open_world();
	struct item a;

	(void)state;
	item_init(&a, w, 7);
	assert_int_equal(vclock_run_until(&w->clock, 1000), 0);
	assert_int_equal(vclock_at(&w->clock, 999, note, &a), -EINVAL);
	assert_int_equal(vclock_run_until(&w->clock, 999), -EINVAL);
	assert_int_equal(vclock_at(&w->clock, 1000, note, &a), 0);
	vtimer_set(&a.timer, 3); // a timer whose time has passed is due
	assert_int_equal(vclock_run_until(&w->clock, 1000), 0);
	assert_int_equal(w->log_ns[0], 1000);
	assert_int_equal(w->log_ns[1], 1000);
	expect(w, (unsigned[]){7, 7}, 2);
	close_world(w);
}

// ---- against a plain model

struct plain {
	uint64_t t_ns, seq;
	bool set;
};

// The next of the plain timers up to the limit, or -1.
static int plain_next(const struct plain *p, unsigned n, uint64_t limit)
{
	int best = -1;

	for (unsigned i = 0; i < n; i++) {
		if (!p[i].set || p[i].t_ns > limit)
			continue;
		if (best < 0 || p[i].t_ns < p[best].t_ns ||
		    (p[i].t_ns == p[best].t_ns && p[i].seq < p[best].seq))
			best = (int)i;
	}
	return best;
}

static void check_against_plain(struct world *w, struct plain *p, unsigned n, uint64_t limit)
{
	int next;

	assert_int_equal(vclock_run_until(&w->clock, limit), 0);
	for (unsigned k = 0; k < w->n; k++) {
		next = plain_next(p, n, limit);
		assert_true(next >= 0);
		assert_int_equal(w->log[k], next);
		assert_int_equal(w->log_ns[k], p[next].t_ns);
		p[next].set = false;
	}
	assert_int_equal(plain_next(p, n, limit), -1);
	w->n = 0;
}

static void timers_at_any_distance_run_when_a_plain_list_says(void **state)
{
	enum { N = 64 };
	struct world *w = open_world();
	struct item item[N];
	struct plain p[N] = {0};
	struct rng rng;
	uint64_t seq = 0;

	(void)state;
	rng_init(&rng, 4);
	for (unsigned i = 0; i < N; i++)
		item_init(&item[i], w, i);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = rng_next(&rng) % N;
		// From the next nanosecond to hours, and often the same.
		uint64_t far = rng_next64(&rng) >> (20 + rng_next(&rng) % 44);
		uint64_t t = w->clock.now_ns + (rng_next(&rng) % 4 == 0 ? far & ~0xffull : far);

		if (rng_next(&rng) % 8 == 0) {
			vtimer_cancel(&item[i].timer);
			p[i].set = false;
		} else {
			vtimer_set(&item[i].timer, t);
			p[i] = (struct plain){t, seq++, true};
		}
		if (rng_next(&rng) % 4 == 0)
			check_against_plain(w, p, N,
					    w->clock.now_ns + (rng_next64(&rng) >>
							       (24 + rng_next(&rng) % 40)));
	}
	close_world(w);
}

static void the_end_of_time_can_be_reached(void **state)
{
	struct world *w = open_world();
	struct item a;

	(void)state;
	item_init(&a, w, 1);
	vtimer_set(&a.timer, UINT64_MAX);
	assert_int_equal(vclock_run_until(&w->clock, UINT64_MAX - 1), 0);
	assert_int_equal(w->n, 0);
	assert_int_equal(vclock_run_until(&w->clock, UINT64_MAX), 0);
	expect(w, (unsigned[]){1}, 1);
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_one_instant_run_in_the_order_of_their_scheduling),
		cmocka_unit_test(actors_follow_the_events_of_their_instant_in_the_order_of_pokes),
		cmocka_unit_test(a_wake_up_that_is_no_longer_wanted_never_comes),
		cmocka_unit_test(the_past_is_refused_and_the_present_is_not),
		cmocka_unit_test(timers_at_any_distance_run_when_a_plain_list_says),
		cmocka_unit_test(the_end_of_time_can_be_reached),
	};

	return cmocka_run_group_tests_name("vclock", tests, NULL, NULL);
}
