// SPDX-License-Identifier: Apache-2.0
// Chains of PAUSE over made-up fabrics: who is named, in which order, when a cycle is a deadlock,
// and what is remembered of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/lab/chain.h"
#include "control/lab/ledger.h"

#define MS 1000000ull

enum { STUCK_MS = 5, MAX_QUEUES = 16, PAUSE_CLASS = 3 };

// Queue i is of port i of switch i, or with `downwards` of port 511, 311 or 111.
static bool downwards;

static port_no_t port_of(uint32_t i)
{
	return (port_no_t)(downwards ? 511 - 200 * i : i);
}

// The cause of the pause of each queue, and the time since which it sends nothing.
struct world {
	struct chain_pause by[MAX_QUEUES];
	uint64_t still_ns[MAX_QUEUES];
};

static struct chain_queue queue(uint32_t i)
{
	return (struct chain_queue){i, port_of(i), PAUSE_CLASS};
}

static struct chain_pause paused_by(const void *arg, struct chain_queue q)
{
	assert_int_equal(q.port, port_of(q.sw));
	assert_int_equal(q.cls, PAUSE_CLASS);
	return ((const struct world *)arg)->by[q.sw];
}

static uint64_t still_since(const void *arg, struct chain_queue q)
{
	return ((const struct world *)arg)->still_ns[q.sw];
}

static unsigned n_congested[MAX_QUEUES]; // by switch

static void congested(const void *arg, struct chain_queue q)
{
	(void)arg;
	n_congested[q.sw]++;
}

static struct chain_pause by_queue(uint32_t i)
{
	return (struct chain_pause){.by = CHAIN_BY_SWITCH, .next = queue(i)};
}

static struct chain_pause by_host(uint32_t host, enum chain_reason reason, uint64_t since_ns)
{
	return (struct chain_pause){
		.by = CHAIN_BY_HOST, .host = host, .reason = (uint8_t)reason, .since_ns = since_ns};
}

// One look with walks from n queues.
static void look(struct chain *c, const struct world *w, uint64_t now_ns, const uint32_t *from,
		 uint32_t n)
{
	const struct chain_view v = {paused_by, still_since, congested, w};

	chain_begin(c, now_ns);
	for (uint32_t i = 0; i < n; i++)
		chain_walk(c, &v, queue(from[i]));
	chain_end(c);
}

static void make_cycle(struct world *w, uint32_t first, uint32_t n, uint64_t still_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		w->by[first + i] = by_queue(first + (i + 1) % n);
		w->still_ns[first + i] = still_ns;
	}
}

static void a_queue_that_nobody_pauses_is_no_finding_but_counted(void **state)
{
	static const uint32_t from[] = {2, 0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	w.by[2] = by_queue(1);
	w.by[1] = by_queue(0);
	memset(n_congested, 0, sizeof(n_congested));
	look(&c, &w, MS, from, 2);
	assert_int_equal(n_congested[0], 2);
	assert_int_equal(n_congested[1] + n_congested[2], 0);
	assert_int_equal(chain_count(&c, N_CHAIN_KINDS, 0), 0);
	assert_int_equal(c.n, 0);
	chain_fini(&c);
}

static void a_host_behind_several_queues_is_the_root_with_its_longest_chain(void **state)
{
	static const uint32_t from[] = {1, 3, 2};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	w.by[3] = by_queue(2);
	w.by[2] = by_queue(1);
	w.by[1] = by_host(7, REASON_STORM, 42);
	for (uint64_t t = 1; t <= 3; t++)
		look(&c, &w, t * MS, from, 3);
	assert_int_equal(chain_count(&c, N_CHAIN_KINDS, 0), 1);
	assert_int_equal(chain_count_host(&c, 7, 0), 1);
	assert_int_equal(chain_count_host(&c, 6, 0), 0);
	assert_int_equal(c.findings[0].reason, REASON_STORM);
	assert_int_equal(c.findings[0].since_ns, 42);
	assert_int_equal(c.findings[0].cls, PAUSE_CLASS);
	assert_int_equal(c.findings[0].n_queues, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(c.findings[0].queues[i].sw, 3 - i);
	chain_fini(&c);
}

static void spells_are_told_apart_and_the_longest_counts(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	for (uint64_t t = 1; t <= 20; t++) {
		bool there = (t >= 3 && t <= 5) || (t >= 10 && t <= 17);

		w.by[0] = there ? by_host(1, REASON_SLOW_RECEIVER, 0) : (struct chain_pause){0};
		look(&c, &w, t * MS, from, 1);
		if (t >= 3)
			assert_int_equal(c.findings[0].now, there);
	}
	assert_int_equal(c.n, 1);
	assert_int_equal(c.findings[0].times, 2);
	assert_int_equal(c.findings[0].first_ns, 3 * MS);
	assert_int_equal(c.findings[0].last_ns, 17 * MS);
	assert_int_equal(c.findings[0].longest_ns, 7 * MS);
	assert_int_equal(chain_count(&c, CHAIN_ROOT, 17 * MS), 1);
	assert_int_equal(chain_count(&c, CHAIN_ROOT, 17 * MS + 1), 0);
	chain_fini(&c);
}

// The same host may storm and be slow: those are two causes.
static void a_host_with_two_reasons_is_named_for_each(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	w.by[0] = by_host(1, REASON_SLOW_RECEIVER, 0);
	look(&c, &w, MS, from, 1);
	w.by[0] = by_host(1, REASON_STORM, 0);
	look(&c, &w, 2 * MS, from, 1);
	assert_int_equal(chain_count_host(&c, 1, 0), 2);
	chain_fini(&c);
}

// From outside, and from any of its queues, a cycle has the same name.
static void a_cycle_is_named_once_from_its_lowest_queue_on(void **state)
{
	static const uint32_t from[] = {3, 6, 1, 4, 2};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 1, 4, UINT64_MAX);
	w.by[6] = by_queue(3);
	look(&c, &w, MS, from, 5);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.findings[0].n_queues, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(c.findings[0].queues[i].sw, i + 1);
	chain_fini(&c);
}

// The number of the switch comes first, however large that of the port is.
static void the_lowest_queue_is_of_the_lowest_switch(void **state)
{
	static const uint32_t from[] = {2, 1, 0};
	struct world w = {0};
	struct chain c;

	(void)state;
	downwards = true;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 0, 3, UINT64_MAX);
	look(&c, &w, MS, from, 3);
	downwards = false;
	assert_int_equal(c.n, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(c.findings[0].queues[i].sw, i);
	chain_fini(&c);
}

static void a_cycle_that_drains_is_no_deadlock(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 0, 3, 0);
	for (uint64_t t = 1; t <= 50; t++) {
		w.still_ns[1] = (t - t % 4) * MS; // it sends now and then
		look(&c, &w, t * MS, from, 1);
	}
	assert_int_equal(chain_count(&c, CHAIN_DEADLOCK, 0), 0);
	assert_int_equal(chain_count(&c, CHAIN_CYCLIC, 0), 1);
	assert_int_equal(c.findings[0].longest_ns, 49 * MS);
	chain_fini(&c);
}

static void a_cycle_is_a_deadlock_when_all_of_it_has_stood_still_for_long_enough(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 0, 4, 2 * MS);
	w.still_ns[2] = 10 * MS; // the last one to stop
	for (uint64_t t = 10; t < 10 + STUCK_MS; t++)
		look(&c, &w, t * MS, from, 1);
	look(&c, &w, (10 + STUCK_MS) * MS - 1, from, 1);
	assert_int_equal(chain_count(&c, CHAIN_DEADLOCK, 0), 0);
	assert_int_equal(chain_count(&c, CHAIN_CYCLIC, 0), 1);
	look(&c, &w, (10 + STUCK_MS) * MS, from, 1);
	assert_int_equal(chain_count(&c, CHAIN_DEADLOCK, 0), 1);
	assert_int_equal(chain_count(&c, CHAIN_CYCLIC, 0), 0); // one thing, told once
	look(&c, &w, 30 * MS, from, 1);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.findings[0].first_ns, 10 * MS);
	assert_int_equal(c.findings[0].longest_ns, 20 * MS);
	assert_int_equal(c.findings[0].times, 1);
	assert_true(c.findings[0].now);
	chain_fini(&c);
}

static void a_deadlock_that_comes_again_is_counted_again(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 0, 2, MS);
	look(&c, &w, 8 * MS, from, 1);
	make_cycle(&w, 0, 2, 9 * MS);
	look(&c, &w, 9 * MS, from, 1); // it moves
	assert_false(c.findings[0].now);
	look(&c, &w, 20 * MS, from, 1);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.findings[0].times, 2);
	assert_int_equal(c.findings[0].longest_ns, 11 * MS);
	assert_int_equal(c.findings[0].first_ns, MS);
	chain_fini(&c);
}

static void a_deadlock_is_known_by_exactly_its_switches(void **state)
{
	static const uint32_t from[] = {2}, all[] = {4, 2, 3}, less[] = {2, 3},
			      more[] = {1, 2, 3, 4}, others[] = {2, 3, 5};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 2, 3, 0);
	look(&c, &w, 8 * MS, from, 1);
	assert_int_equal(chain_count_cycle(&c, all, 3, 0), 1);
	assert_int_equal(chain_count_cycle(&c, less, 2, 0), 0);
	assert_int_equal(chain_count_cycle(&c, more, 4, 0), 0);
	assert_int_equal(chain_count_cycle(&c, others, 3, 0), 0);
	assert_int_equal(chain_count_cycle(&c, all, 3, 8 * MS + 1), 0);
	chain_fini(&c);
}

static void two_cycles_are_two_deadlocks_and_the_longer_comes_first(void **state)
{
	static const uint32_t from[] = {0, 5};
	struct world w = {0};
	uint32_t order[3];
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	make_cycle(&w, 0, 2, 3 * MS);
	make_cycle(&w, 5, 3, 2 * MS);
	w.by[9] = by_host(1, REASON_UNKNOWN, 0);
	look(&c, &w, 9 * MS, from, 2);
	look(&c, &w, 10 * MS, (const uint32_t[]){9}, 1);
	assert_int_equal(chain_count(&c, CHAIN_DEADLOCK, 0), 2);
	assert_int_equal(chain_count(&c, N_CHAIN_KINDS, 0), 3);
	chain_rank(&c, order);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 2);
	chain_fini(&c);
}

static void a_queue_that_waits_for_itself_is_a_cycle(void **state)
{
	static const uint32_t from[] = {0};
	struct world w = {0};
	struct chain c;

	(void)state;
	chain_init(&c, STUCK_MS * MS);
	w.by[0] = by_queue(0);
	look(&c, &w, MS, from, 1);
	assert_int_equal(c.findings[0].n_queues, 1);
	assert_int_equal(chain_count(&c, CHAIN_CYCLIC, 0), 1);
	chain_fini(&c);
}

// ---- the log of storms

static void tell(struct storm_log *l, uint32_t sw, uint8_t cls, enum event_type type, uint64_t t_ns)
{
	storm_log_event(
		l, sw,
		&(struct event){.t_ns = t_ns, .type = (uint8_t)type, .port = 2, .cls = cls});
}

static void storms_are_numbered_by_time_whoever_told_first(void **state)
{
	static const struct {
		struct storm_pick p;
		uint64_t count, nth[3];
	} rows[] = {
		{{UINT32_MAX, -1, -1, STORM_DETECTED, 0, UINT64_MAX}, 5, {10, 20, 20}},
		{{1, -1, -1, STORM_DETECTED, 0, UINT64_MAX}, 3, {10, 20, 40}},
		{{1, 2, 4, STORM_DETECTED, 0, UINT64_MAX}, 1, {10, 0, 0}},
		{{1, 3, -1, STORM_DETECTED, 0, UINT64_MAX}, 0, {0, 0, 0}},
		{{UINT32_MAX, -1, -1, STORM_DETECTED, 20, 40}, 3, {20, 20, 30}},
		{{UINT32_MAX, -1, -1, STORM_RESTORED, 0, UINT64_MAX}, 1, {25, 0, 0}},
		{{0, -1, -1, STORM_ESCALATED, 0, UINT64_MAX}, 1, {26, 0, 0}},
	};
	struct storm_log l = {0};

	(void)state;
	tell(&l, 0, 3, EVENT_STORM, 20);
	tell(&l, 0, 3, EVENT_STORM_OVER, 25);
	tell(&l, 0, 3, EVENT_STORM_LIMIT, 26);
	tell(&l, 0, 3, EVENT_XOFF, 27);
	tell(&l, 0, 3, EVENT_STORM, 30);
	tell(&l, 1, 4, EVENT_STORM, 10);
	tell(&l, 1, 3, EVENT_STORM, 20);
	tell(&l, 1, 3, EVENT_STORM, 40);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(storm_log_count(&l, &rows[i].p), rows[i].count);
		for (uint64_t n = 1; n <= 3; n++) {
			uint64_t t_ns = 0;

			assert_int_equal(storm_log_nth(&l, &rows[i].p, n, &t_ns),
					 n <= rows[i].count);
			assert_int_equal(t_ns, rows[i].nth[n - 1]);
		}
	}
	storm_log_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_that_nobody_pauses_is_no_finding_but_counted),
		cmocka_unit_test(a_host_behind_several_queues_is_the_root_with_its_longest_chain),
		cmocka_unit_test(spells_are_told_apart_and_the_longest_counts),
		cmocka_unit_test(a_host_with_two_reasons_is_named_for_each),
		cmocka_unit_test(a_cycle_is_named_once_from_its_lowest_queue_on),
		cmocka_unit_test(the_lowest_queue_is_of_the_lowest_switch),
		cmocka_unit_test(a_cycle_that_drains_is_no_deadlock),
		cmocka_unit_test(
			a_cycle_is_a_deadlock_when_all_of_it_has_stood_still_for_long_enough),
		cmocka_unit_test(a_deadlock_that_comes_again_is_counted_again),
		cmocka_unit_test(a_deadlock_is_known_by_exactly_its_switches),
		cmocka_unit_test(two_cycles_are_two_deadlocks_and_the_longer_comes_first),
		cmocka_unit_test(a_queue_that_waits_for_itself_is_a_cycle),
		cmocka_unit_test(storms_are_numbered_by_time_whoever_told_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
