// SPDX-License-Identifier: Apache-2.0
// The rule of auto ECN, driven by a queue that is a formula of kmin.
#include "tests/unit/ecn/test.h"

#include <math.h>

#include "control/autoecn/rule.h"

#define MS 1000000ull
enum { STEP_MS = 20, FLOOR = 3000, CEILING = 300000 };
static const struct ecn_rails rails = {FLOOR, CEILING, 25000000000};

// A queue whose delay grows with kmin, and whose link is full from kmin = full on.
struct plant {
	double full;
};

static struct ecn_features at(const struct plant *p, double kmin)
{
	return (struct ecn_features){
		.packets = 10000,
		.utilisation = fmin(1, sqrt(kmin / p->full)),
		.marked_use = fmin(1, sqrt(kmin / p->full)),
		.delay_p99_ns = 2000 + kmin * 8 / 25,
		.mark_share = 0.01,
		.flows = ECN_UNKNOWN,
		.elephants = ECN_UNKNOWN,
		.fairness = ECN_UNKNOWN,
	};
}

struct world {
	struct ecn_rule rule;
	uint64_t now_ns;
	unsigned changes;
};

static void begin(struct world *w, const struct ecn_model *m)
{
	memset(w, 0, sizeof(*w));
	ecn_rule_init(&w->rule, &rails, m, 0);
}

static struct ecn_verdict step(struct world *w, const struct ecn_features *f,
			       enum ecn_freeze freeze)
{
	struct ecn_verdict v;

	w->now_ns += STEP_MS * MS;
	v = ecn_rule_window(&w->rule, f, freeze, w->now_ns);
	w->changes += v.changed;
	assert_true(w->rule.now.kmin_bytes >= w->rule.rails.floor_bytes);
	assert_true(w->rule.now.kmin_bytes <= w->rule.rails.ceiling_bytes);
	assert_true(w->rule.now.kmin_bytes <= w->rule.now.kmax_bytes);
	return v;
}

static void run(struct world *w, const struct plant *p, unsigned windows)
{
	for (unsigned i = 0; i < windows; i++) {
		const struct ecn_features f = at(p, (double)w->rule.now.kmin_bytes);

		step(w, &f, ECN_GO);
	}
}

static void expect_same(const struct ecn_thresholds *a, const struct ecn_thresholds *b)
{
	assert_int_equal(a->kmin_bytes, b->kmin_bytes);
	assert_int_equal(a->kmax_bytes, b->kmax_bytes);
	assert_int_equal(a->pmax_ppm, b->pmax_ppm);
}

static void the_start_is_the_default_at_the_speed_of_the_port(void **state)
{
	static const struct {
		uint64_t speed_bps, kmin, kmax;
	} rows[] = {{40000000000, 5000, 200000}, {100000000000, 12500, 500000},
		    {10000000000, FLOOR, 50000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ecn_rails r = {FLOOR, CEILING, rows[i].speed_bps};
		const struct ecn_thresholds t = ecn_start(&r);

		assert_int_equal(t.kmin_bytes, rows[i].kmin);
		assert_int_equal(t.kmax_bytes, rows[i].kmax);
		assert_int_equal(t.pmax_ppm, 10000);
	}
}

static void kmax_and_pmax_follow_kmin(void **state)
{
	const struct ecn_thresholds t = ecn_family(&rails, 20000);

	(void)state;
	assert_int_equal(t.kmin_bytes, 20000);
	assert_int_equal(t.kmax_bytes, 80000);
	assert_int_equal(t.pmax_ppm, 200000);
}

// 96 % of the throughput: sqrt(kmin / full) = 0.96.
static void a_search_finds_the_lowest_kmin_that_keeps_the_throughput_in_ten_windows(void **state)
{
	(void)state;
	for (double full = 1000; full < CEILING; full *= 1.1) {
		const struct plant p = {full};
		double want = fmin(fmax(0.96 * 0.96 * full, FLOOR), CEILING);
		struct world w;

		begin(&w, NULL);
		run(&w, &p, 10);
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		assert_in_range(w.rule.now.kmin_bytes, want - 1, want * 1.52);
	}
}

// A queue with open arrivals: as many bytes with any thresholds.
static struct ecn_features open_arrivals(const struct world *w, double fairness)
{
	struct ecn_features f = at(&(struct plant){1000}, (double)w->rule.now.kmin_bytes);

	f.utilisation = f.marked_use = 0.7;
	f.fairness = fairness;
	return f;
}

static struct ecn_verdict run_open(struct world *w, double fairness, unsigned windows)
{
	struct ecn_verdict v = {0};

	for (unsigned i = 0; i < windows; i++) {
		const struct ecn_features f = open_arrivals(w, fairness);

		v = step(w, &f, ECN_GO);
	}
	return v;
}

// Open arrivals are not searched for: each try would bring as many bytes.
static void flows_that_are_alike_raise_kmin_unless_a_search_can_measure(void **state)
{
	static const struct {
		double fairness, use;
		uint64_t ceiling;
		enum ecn_mode mode;
	} rows[] = {{0.7, 0.7, CEILING, ECN_SETTLED}, {0.6, 0.7, CEILING, ECN_SEARCH},
		    {0.7, 0.91, CEILING, ECN_SEARCH}, {0.7, 0.7, 200000, ECN_SEARCH}};
	struct ecn_features f;
	struct world w;

	(void)state;
	begin(&w, NULL);
	assert_int_equal(run_open(&w, 0.7, 3).why, ECN_WHY_ALIKE);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	expect_same(&w.rule.now, &(struct ecn_thresholds){CEILING / 2, 2 * CEILING, 200000});
	run_open(&w, 0.7, 500);
	assert_int_equal(w.changes, 1);
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		begin(&w, NULL);
		w.rule.rails.ceiling_bytes = rows[k].ceiling;
		for (unsigned i = 0; i < 3; i++) {
			f = open_arrivals(&w, rows[k].fairness);
			f.utilisation = rows[k].use;
			step(&w, &f, ECN_GO);
		}
		assert_int_equal(w.rule.mode, rows[k].mode);
	}
}

static void a_raise_that_causes_pauses_brings_the_start_back(void **state)
{
	const struct ecn_thresholds start = ecn_start(&rails);
	struct ecn_features f;
	struct world w;

	(void)state;
	for (unsigned before = 0; before < 2; before++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 3; i++) {
			f = open_arrivals(&w, 0.7);
			f.pauses = before;
			step(&w, &f, ECN_GO);
		}
		f = open_arrivals(&w, 0.7);
		step(&w, &f, ECN_FREEZE_STORM); // a freeze excuses no PAUSE
		step(&w, &f, ECN_GO);
		f.pauses = 1;
		assert_int_equal(step(&w, &f, ECN_GO).why,
				 before ? ECN_WHY_NONE : ECN_WHY_PAUSES);
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		if (!before)
			expect_same(&w.rule.now, &start);
	}
}

// The thresholds of the start are in force then.
static void a_raise_that_is_advice_is_not_to_blame_for_pauses(void **state)
{
	struct ecn_features f;
	struct world w;

	(void)state;
	begin(&w, NULL);
	w.rule.advise = true;
	assert_int_equal(run_open(&w, 0.7, 3).why, ECN_WHY_ALIKE);
	f = open_arrivals(&w, 0.7);
	f.pauses = 1;
	assert_int_equal(step(&w, &f, ECN_GO).why, ECN_WHY_NONE);
	assert_int_equal(w.rule.now.kmin_bytes, CEILING / 2);
}

static void a_raise_ends_with_its_ceiling(void **state)
{
	const struct ecn_rails lower = {FLOOR, 100000, rails.speed_bps};
	const struct ecn_thresholds start = ecn_start(&lower);
	struct world w;

	(void)state;
	for (unsigned frozen = 0; frozen < 2; frozen++) {
		begin(&w, NULL);
		run_open(&w, 0.7, 3);
		if (frozen) {
			const struct ecn_features f = open_arrivals(&w, 0.7);

			step(&w, &f, ECN_FREEZE_STORM);
		}
		assert_int_equal(ecn_rule_rails(&w.rule, &lower, w.now_ns).why, ECN_WHY_RAILS);
		assert_int_equal(w.rule.mode, frozen ? ECN_FROZEN : ECN_START);
		expect_same(&w.rule.now, &start);
	}
}

static void mice_that_join_flows_that_are_alike_end_the_raise(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL);
	run_open(&w, 0.7, 20);
	run_open(&w, 0.3, 2); // two windows may be chance
	run_open(&w, 0.7, 20);
	assert_int_equal(w.changes, 1);
	run_open(&w, 0.3, 6);
	assert_int_equal(w.changes, 2);
	assert_int_equal(w.rule.mode, ECN_START);
	run_open(&w, 0.3, 8);
	assert_int_equal(w.rule.mode, ECN_SEARCH); // steady, and not alike
}

static void a_search_in_which_the_traffic_gets_less_brings_the_start_back(void **state)
{
	const struct ecn_thresholds start = ecn_start(&rails);
	const struct plant full = {1000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &full, 3);
	for (unsigned i = 0; i < 7; i++) {
		struct ecn_features f = at(&full, (double)w.rule.now.kmin_bytes);

		f.utilisation = f.marked_use = 0.5;
		step(&w, &f, ECN_GO);
	}
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	expect_same(&w.rule.now, &start);
}

static void a_link_that_marks_leave_idle_raises_kmin(void **state)
{
	const struct plant p = {200000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &p, 12);
	assert_true(w.rule.now.kmin_bytes >= 80000);
}

static void a_link_that_is_full_anyway_lowers_kmin(void **state)
{
	const struct plant p = {1000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &p, 12);
	assert_int_equal(w.rule.now.kmin_bytes, FLOOR);
}

// With the start nothing is paused; above 30 KB something is, and goodput is far better.
static void a_try_that_causes_pauses_is_never_kept(void **state)
{
	const struct plant p = {300000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 12; i++) {
		struct ecn_features f = at(&p, (double)w.rule.now.kmin_bytes);

		assert_true(w.rule.now.kmin_bytes <= 95000); // one that pauses ends the rise
		f.pauses = w.rule.now.kmin_bytes > 30000;
		step(&w, &f, ECN_GO);
	}
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_in_range(w.rule.now.kmin_bytes, 10000, 30000);
}

// 0.1 % of the frames.
static void a_queue_with_few_marks_keeps_the_start_and_has_no_search(void **state)
{
	const struct plant p = {50000};
	struct world w;

	(void)state;
	for (unsigned few = 0; few < 2; few++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 3; i++) {
			struct ecn_features f = at(&p, (double)w.rule.now.kmin_bytes);

			f.mark_share = few ? 0.0009 : 0.0011;
			step(&w, &f, ECN_GO);
		}
		assert_int_equal(w.rule.mode, few ? ECN_SETTLED : ECN_SEARCH);
		if (few)
			assert_int_equal(w.changes, 0);
	}
}

// Throughput is the same up to 100 KB, and more above.
static void a_search_looks_beyond_kmin_that_change_nothing(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 10; i++) {
		struct ecn_features f = at(&(struct plant){100000}, 100000);

		f.utilisation = f.marked_use = w.rule.now.kmin_bytes < 100000 ? 0.3 : 0.7;
		f.delay_p99_ns = 2000 + (double)w.rule.now.kmin_bytes * 8 / 25;
		step(&w, &f, ECN_GO);
	}
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_in_range(w.rule.now.kmin_bytes, 100000, 152000);
}

// Senders that were held back take two windows to use what the ceiling allows.
static void a_search_waits_at_the_ceiling_for_slow_senders(void **state)
{
	unsigned windows = 0;
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 10 && w.rule.mode != ECN_SETTLED; i++) {
		const bool ceiling = w.rule.now.kmin_bytes == CEILING;
		struct ecn_features f = at(&(struct plant){CEILING}, CEILING);

		windows += ceiling;
		f.utilisation = f.marked_use =
			ceiling ? (windows == 1 ? 0.6 : 0.75) : w.rule.mode == ECN_START ? 0.2
			: w.rule.now.kmin_bytes > 150000		   ? 0.6
									   : 0.4;
		step(&w, &f, ECN_GO);
	}
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_int_equal(w.rule.now.kmin_bytes, CEILING);
}

static void a_steady_queue_does_not_change_after_it_has_settled(void **state)
{
	const struct plant p = {50000};
	struct world w;
	unsigned changes;

	(void)state;
	begin(&w, NULL);
	run(&w, &p, 12);
	changes = w.changes;
	run(&w, &p, 1000);
	assert_int_equal(w.changes, changes);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
}

static void another_workload_begins_another_search(void **state)
{
	const struct plant bulk = {1000}, incast = {200000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &bulk, 50);
	assert_true(w.rule.now.kmin_bytes <= 2 * FLOOR);
	run(&w, &incast, 14);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_true(w.rule.now.kmin_bytes >= 80000);
}

static void one_strange_window_begins_no_search(void **state)
{
	const struct plant bulk = {1000}, incast = {200000};
	struct world w;
	unsigned changes;

	(void)state;
	begin(&w, NULL);
	run(&w, &bulk, 50);
	changes = w.changes;
	run(&w, &incast, 1);
	run(&w, &bulk, 50);
	assert_int_equal(w.changes, changes);
}

static uint64_t next_random(uint64_t x)
{
	return x * 6364136223846793005u + 1442695040888963407u;
}

// Windows of open arrivals: each is like none before, and the mean does not move.
static void the_flows_of_a_queue_with_random_windows_decide_and_no_search(void **state)
{
	static const struct {
		double fairness;
		unsigned kmin, kmax, changes;
	} rows[] = {{ECN_UNKNOWN, 3125, 125000, 0}, {0.6, 3125, 125000, 0},
		    {0.3, 10000, 40000, 1}, {0.7, CEILING / 2, 2 * CEILING, 1}};
	uint64_t x = 7;
	struct world w;

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 1000; i++) {
			struct ecn_features f = open_arrivals(&w, rows[k].fairness);

			x = next_random(x);
			f.utilisation = 0.3 + 0.1 * (double)(x >> 40) / (1 << 24) + 0.4 * (i % 2);
			f.mark_share *= exp2(4 * (double)(x >> 20 & 0xffff) / 65536 - 2);
			f.delay_p99_ns *= exp2(4 * (double)(x >> 4 & 0xffff) / 65536 - 2);
			step(&w, &f, ECN_GO);
			assert_true(w.rule.mode == ECN_START || w.rule.mode == ECN_SETTLED);
		}
		assert_int_equal(w.changes, rows[k].changes);
		assert_int_equal(w.rule.now.kmin_bytes, rows[k].kmin);
		assert_int_equal(w.rule.now.kmax_bytes, rows[k].kmax);
	}
}

// Three windows of random traffic may be alike by chance, and a search would then measure chance.
static void three_steady_windows_after_unsteady_ones_begin_no_search(void **state)
{
	struct world w;

	(void)state;
	for (unsigned steady = 3; steady <= 6; steady++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 3 + steady; i++) {
			struct ecn_features f = open_arrivals(&w, 0.6);

			f.utilisation = i < 3 ? 0.2 + 0.3 * i : 0.7;
			step(&w, &f, ECN_GO);
		}
		assert_int_equal(w.rule.mode, steady < 6 ? ECN_START : ECN_SEARCH);
		if (steady == 6)
			continue;
		const struct ecn_features burst = {.packets = 10000, .utilisation = 1,
						   .delay_p99_ns = 1, .fairness = 0.3};

		step(&w, &burst, ECN_GO);
		assert_int_equal(w.rule.mode, ECN_SETTLED);
	}
}

// The noise of the first workload must not hide the second one, however long it lasts.
static void a_steady_workload_after_a_random_one_is_another_one(void **state)
{
	const struct plant incast = {60000};
	uint64_t x = 7;
	unsigned changes;
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 100; i++) {
		struct ecn_features f = at(&(struct plant){1000}, (double)w.rule.now.kmin_bytes);

		x = next_random(x);
		f.delay_p99_ns *= exp2(8 * (double)(x >> 40) / (1 << 24));
		step(&w, &f, ECN_GO);
	}
	changes = w.changes;
	run(&w, &incast, 100);
	assert_true(w.changes > changes);
	assert_true(w.rule.now.kmin_bytes > 40000);
}

// Alternates so that each window is strange, at any time of the rule.
static void a_workload_that_alternates_with_the_steps_changes_ever_less(void **state)
{
	const struct plant a = {1000}, b = {250000};
	unsigned first, last;
	struct world w;

	(void)state;
	for (unsigned period = 1; period <= 8; period++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 500; i++)
			run(&w, i / period % 2 ? &a : &b, 1);
		first = w.changes; // of 10 s
		for (unsigned i = 0; i < 2500; i++)
			run(&w, i / period % 2 ? &a : &b, 1);
		last = w.changes;
		for (unsigned i = 0; i < 500; i++)
			run(&w, i / period % 2 ? &a : &b, 1);
		last = w.changes - last; // of 10 s, after a minute
		assert_true(first <= 80);
		assert_true(last <= 10);
	}
}

static void a_host_that_ignores_ecn_is_not_chased_below_the_floor(void **state)
{
	const struct ecn_features deaf = {.packets = 10000, .utilisation = 1, .marked_use = 1,
					  .mark_share = 1, .delay_p99_ns = 900000, .pauses = 50,
					  .flows = ECN_UNKNOWN, .elephants = ECN_UNKNOWN,
					  .fairness = ECN_UNKNOWN};
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 500; i++)
		step(&w, &deaf, ECN_GO);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_true(w.changes <= 8);
}

static void thresholds_stay_within_the_rails_whatever_happens(void **state)
{
	uint64_t x = 1;
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 20000; i++) {
		double v[5];

		for (unsigned k = 0; k < 5; k++) {
			x = next_random(x);
			v[k] = (double)(x >> 40) / (1 << 24);
		}
		step(&w,
		     &(struct ecn_features){.packets = 1000, .utilisation = v[0],
					    .marked_use = v[1], .mark_share = v[2],
					    .delay_p99_ns = exp(16 * v[3]),
					    .pauses = i % 7 == 0 ? 100 : 0, .flows = ECN_UNKNOWN,
					    .elephants = ECN_UNKNOWN, .fairness = v[4]},
		     i % 97 == 0 ? ECN_FREEZE_STORM : ECN_GO);
	}
}

static void storms_policies_and_long_pauses_freeze_the_thresholds(void **state)
{
	static const struct {
		enum ecn_freeze freeze;
		double paused;
		enum ecn_why why;
	} rows[] = {{ECN_FREEZE_STORM, 0, ECN_WHY_STORM},
		    {ECN_FREEZE_POLICY, 0, ECN_WHY_POLICY},
		    {ECN_GO, 0.6, ECN_WHY_PAUSED}};
	const struct plant p = {50000};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ecn_features f = at(&p, FLOOR);
		struct ecn_thresholds before;
		struct world w;

		begin(&w, NULL);
		run(&w, &p, 5);
		assert_int_equal(w.rule.mode, ECN_SEARCH);
		before = w.rule.now;
		f.paused_share = rows[i].paused;
		assert_int_equal(step(&w, &f, rows[i].freeze).why, rows[i].why);
		for (unsigned k = 0; k < 100; k++)
			assert_int_equal(step(&w, &f, rows[i].freeze).why, ECN_WHY_NONE);
		assert_int_equal(w.rule.mode, ECN_FROZEN);
		expect_same(&w.rule.now, &before);
		f.paused_share = 0.1;
		assert_int_equal(step(&w, &f, ECN_GO).why, ECN_WHY_THAW);
		assert_int_equal(w.rule.mode, ECN_SEARCH);
		expect_same(&w.rule.now, &before);
	}
}

static void an_idle_queue_says_nothing(void **state)
{
	struct ecn_features f = {.packets = 63, .utilisation = 1, .flows = ECN_UNKNOWN,
				 .elephants = ECN_UNKNOWN, .fairness = ECN_UNKNOWN};
	struct world w;

	(void)state;
	begin(&w, NULL);
	for (unsigned i = 0; i < 100; i++)
		step(&w, &f, ECN_GO);
	f.packets = 1000000;
	f.utilisation = 0.09;
	for (unsigned i = 0; i < 100; i++)
		step(&w, &f, ECN_GO);
	assert_int_equal(w.changes, 0);
	assert_int_equal(w.rule.mode, ECN_START);
}

static struct ecn_model *one_row(void)
{
	static struct ecn_model m;
	const struct plant p = {1000};

	m.n = 1;
	m.row[0] = (struct ecn_archetype){.name = "bulk", .at = at(&p, 3125), .kmin_us = 8,
					  .kmax_us = 16, .pmax_ppm = 100000};
	return &m;
}

static void a_known_workload_gets_the_thresholds_of_its_row(void **state)
{
	const struct plant p = {1000};
	struct world w;

	(void)state;
	begin(&w, one_row());
	run(&w, &p, 2);
	assert_int_equal(w.rule.mode, ECN_START); // two windows may be chance
	run(&w, &p, 1);
	assert_int_equal(w.rule.mode, ECN_MODEL);
	assert_string_equal(w.rule.row->name, "bulk");
	assert_int_equal(w.rule.now.kmin_bytes, 25000); // 8 us of 25 Gb/s
	assert_int_equal(w.rule.now.kmax_bytes, 50000);
	assert_int_equal(w.rule.now.pmax_ppm, 100000);
	run(&w, &p, 500);
	assert_int_equal(w.changes, 1);
}

// The row has 25,000 B.
static void a_row_that_costs_throughput_is_left_for_a_search(void **state)
{
	static const struct {
		double use;
		enum ecn_mode mode;
	} rows[] = {{0.96, ECN_MODEL}, {0.94, ECN_SEARCH}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct plant bulk = {1000};
		struct ecn_features f = at(&bulk, 25000);
		struct ecn_verdict v;
		struct world w;

		begin(&w, one_row());
		run(&w, &bulk, 3);
		assert_int_equal(w.rule.now.kmin_bytes, 25000);
		f.utilisation = f.marked_use = rows[i].use;
		v = step(&w, &f, ECN_GO);
		assert_int_equal(w.rule.mode, rows[i].mode);
		assert_int_equal(v.why == ECN_WHY_COSTS, rows[i].mode == ECN_SEARCH);
		run(&w, &bulk, 12);
		assert_int_equal(w.rule.mode, rows[i].mode == ECN_SEARCH ? ECN_SETTLED : ECN_MODEL);
	}
}

// Random traffic that looked steady during the search.
static void a_search_that_does_not_last_brings_the_start_back(void **state)
{
	(void)state;
	for (unsigned later = 0; later < 4; later++) {
		const struct plant p = {1000};
		struct ecn_thresholds start;
		struct ecn_features f;
		struct ecn_verdict v;
		struct world w;

		begin(&w, NULL);
		for (unsigned i = 0; i < 12 && w.rule.mode != ECN_SETTLED; i++)
			run(&w, &p, 1);
		assert_true(w.rule.now.kmin_bytes < 10000);
		run(&w, &p, later);
		f = at(&p, (double)w.rule.now.kmin_bytes);
		step(&w, &f, ECN_FREEZE_STORM); // a freeze proves nothing
		step(&w, &f, ECN_GO);
		f = at(&p, (double)w.rule.now.kmin_bytes);
		f.delay_p99_ns *= 3;
		v = step(&w, &f, ECN_GO);
		start = ecn_start(&rails);
		assert_int_equal(v.why, ECN_WHY_LOST);
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		expect_same(&w.rule.now, &start);
	}
}

// An incast that no threshold makes faster: the delay only grows.
static void a_search_that_finds_nothing_better_brings_the_start_back(void **state)
{
	const struct ecn_thresholds start = ecn_start(&rails);
	static const struct {
		double delay_ns; // of the windows with the thresholds of the start
		bool kept;
	} rows[] = {{1000, true}, {1000000, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct plant p = {1000};
		struct ecn_verdict v = {0};
		struct world w;

		begin(&w, NULL);
		for (unsigned n = 0; n < 14 && w.rule.mode != ECN_SETTLED; n++) {
			struct ecn_features f = at(&p, (double)w.rule.now.kmin_bytes);

			if (w.rule.mode == ECN_START)
				f.delay_p99_ns = rows[i].delay_ns;
			v = step(&w, &f, ECN_GO);
		}
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		assert_int_equal(v.why, rows[i].kept ? ECN_WHY_START : ECN_WHY_BEST);
		assert_int_equal(w.rule.now.kmax_bytes == start.kmax_bytes, rows[i].kept);
	}
}

// Hosts that wait for each other: the link was full while all queues tried the ceiling.
static void a_search_that_does_not_last_keeps_the_try_that_filled_the_link(void **state)
{
	static const struct {
		double full; // kmin that fills the link
		enum ecn_why why;
	} rows[] = {
		{100000, ECN_WHY_FULLEST}, {3000, ECN_WHY_LOST}, // no more than with the start
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct plant p = {rows[i].full};
		struct ecn_thresholds want = ecn_start(&rails);
		struct ecn_features f;
		struct ecn_verdict v;
		double most = 0;
		struct world w;

		begin(&w, NULL);
		for (unsigned n = 0; n < 14 && w.rule.mode != ECN_SETTLED; n++) {
			f = at(&p, (double)w.rule.now.kmin_bytes);
			if (w.rule.mode == ECN_SEARCH && f.utilisation > most) {
				most = f.utilisation;
				if (rows[i].why == ECN_WHY_FULLEST)
					want = w.rule.now;
			}
			step(&w, &f, ECN_GO);
		}
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		f = at(&p, (double)w.rule.now.kmin_bytes);
		f.marked_use *= 0.8;
		v = step(&w, &f, ECN_GO);
		assert_int_equal(v.why, rows[i].why);
		assert_int_equal(w.rule.mode, ECN_SETTLED);
		expect_same(&w.rule.now, &want);
		run(&w, &p, 20);
		expect_same(&w.rule.now, &want);
	}
}

static void a_workload_without_a_row_is_searched_for(void **state)
{
	const struct plant p = {200000};
	struct world w;

	(void)state;
	begin(&w, one_row());
	run(&w, &p, 12);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_null(w.rule.row);
}

static void a_workload_that_leaves_its_row_gets_the_start_back_first(void **state)
{
	const struct plant bulk = {1000}, incast = {200000};
	struct ecn_thresholds start = ecn_start(&rails);
	struct world w;

	(void)state;
	begin(&w, one_row());
	run(&w, &bulk, 50);
	run(&w, &incast, 2);
	assert_int_equal(w.rule.mode, ECN_START);
	expect_same(&w.rule.now, &start);
	run(&w, &incast, 12);
	assert_int_equal(w.rule.mode, ECN_SETTLED);
	assert_true(w.rule.now.kmin_bytes >= 80000);
}

static void advice_is_a_row_and_never_a_search(void **state)
{
	const struct plant bulk = {1000}, incast = {200000};
	struct world w;

	(void)state;
	begin(&w, one_row());
	w.rule.advise = true;
	run(&w, &incast, 99);
	assert_int_equal(w.rule.mode, ECN_START);
	assert_int_equal(w.changes, 0);
	run(&w, &bulk, 3);
	assert_int_equal(w.rule.mode, ECN_MODEL);
}

static void other_rails_move_the_thresholds_at_once(void **state)
{
	const struct plant p = {200000};
	const struct ecn_rails lower = {FLOOR, 20000, 25000000000}, same = lower;
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &p, 12);
	assert_true(w.rule.now.kmin_bytes > 20000);
	assert_int_equal(ecn_rule_rails(&w.rule, &lower, w.now_ns).why, ECN_WHY_RAILS);
	expect_same(&w.rule.now, &(struct ecn_thresholds){20000, 80000, 200000});
	assert_int_equal(ecn_rule_rails(&w.rule, &same, w.now_ns).why, ECN_WHY_NONE);
	run(&w, &p, 100);
}

// Its tries are of the rails of before; also if a storm has frozen it meanwhile.
static void a_search_begins_anew_within_other_rails(void **state)
{
	static const struct ecn_rails others[] = {
		{FLOOR, 2 * CEILING, 25000000000}, {FLOOR, CEILING / 10, 25000000000},
		{4 * FLOOR, CEILING, 25000000000}, {FLOOR, CEILING, 10000000000}};
	const struct plant p = {200000};
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(others) / sizeof(others[0]); i++)
		for (unsigned windows = 3; windows < 12; windows++) {
			const struct ecn_rails *other = &others[i / 2];
			const struct ecn_features f = at(&p, 10000);
			const struct ecn_thresholds start = ecn_start(other);
			struct world w;

			begin(&w, NULL);
			run(&w, &p, windows);
			if (w.rule.mode != ECN_SEARCH)
				continue;
			n++;
			if (i % 2)
				step(&w, &f, ECN_FREEZE_STORM);
			ecn_rule_rails(&w.rule, other, w.now_ns);
			expect_same(&w.rule.now, &start);
			if (i % 2)
				step(&w, &f, ECN_GO);
			assert_int_equal(w.rule.mode, ECN_START);
			run(&w, &p, 20);
			assert_int_equal(w.rule.mode, ECN_SETTLED);
			// This link wants the ceiling.
			assert_true((double)w.rule.now.kmin_bytes >
				    0.6 * fmin(p.full, (double)other->ceiling_bytes));
		}
	assert_true(n >= 20);
}

static void rails_that_change_at_any_time_break_nothing(void **state)
{
	struct world w;
	uint64_t x = 1;

	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		begin(&w, NULL);
		for (unsigned i = 0; i < 100; i++) {
			struct plant p = {1000.0 * (double)(1 + x % 1000)};
			struct ecn_rails r = rails;

			x = next_random(x);
			run(&w, &p, 1);
			if (x >> 60 != 0)
				continue;
			r.floor_bytes = 1000 + (x >> 40) % 10000;
			r.ceiling_bytes = r.floor_bytes + (x >> 20) % 1000000;
			ecn_rule_rails(&w.rule, &r, w.now_ns);
			assert_true(w.rule.now.kmin_bytes >= r.floor_bytes);
			assert_true(w.rule.now.kmin_bytes <= r.ceiling_bytes);
			assert_true(w.rule.n_tries <= ECN_TRIES_MAX);
		}
	}
}

static void a_floor_above_kmax_leaves_a_line(void **state)
{
	const struct plant p = {1000};
	const struct ecn_rails high = {100000, CEILING, 25000000000};
	const struct ecn_rails jumbo = {18044, CEILING, 1000000000};
	const struct ecn_thresholds start = ecn_start(&jumbo);
	struct world w;

	(void)state;
	begin(&w, NULL);
	run(&w, &p, 100);
	expect_same(&w.rule.now, &(struct ecn_thresholds){FLOOR, 4 * FLOOR, 200000});
	ecn_rule_rails(&w.rule, &high, w.now_ns);
	expect_same(&w.rule.now, &(struct ecn_thresholds){100000, 400000, 200000});
	expect_same(&start, &(struct ecn_thresholds){18044, 4 * 18044, 10000});
}

static void a_queue_in_its_start_has_the_start_of_the_new_rails(void **state)
{
	const struct ecn_rails high = {50000, CEILING, 25000000000};
	struct world w;

	(void)state;
	begin(&w, NULL);
	assert_int_equal(ecn_rule_rails(&w.rule, &high, w.now_ns).why, ECN_WHY_RAILS);
	assert_int_equal(w.rule.now.kmin_bytes, 50000);
	assert_int_equal(ecn_rule_rails(&w.rule, &rails, w.now_ns).why, ECN_WHY_RAILS);
	expect_same(&w.rule.now, &(struct ecn_thresholds){3125, 125000, 10000});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_start_is_the_default_at_the_speed_of_the_port),
		cmocka_unit_test(kmax_and_pmax_follow_kmin),
		cmocka_unit_test(
			a_search_finds_the_lowest_kmin_that_keeps_the_throughput_in_ten_windows),
		cmocka_unit_test(flows_that_are_alike_raise_kmin_unless_a_search_can_measure),
		cmocka_unit_test(a_raise_that_causes_pauses_brings_the_start_back),
		cmocka_unit_test(a_raise_that_is_advice_is_not_to_blame_for_pauses),
		cmocka_unit_test(a_raise_ends_with_its_ceiling),
		cmocka_unit_test(mice_that_join_flows_that_are_alike_end_the_raise),
		cmocka_unit_test(a_search_in_which_the_traffic_gets_less_brings_the_start_back),
		cmocka_unit_test(a_link_that_marks_leave_idle_raises_kmin),
		cmocka_unit_test(a_link_that_is_full_anyway_lowers_kmin),
		cmocka_unit_test(a_try_that_causes_pauses_is_never_kept),
		cmocka_unit_test(a_queue_with_few_marks_keeps_the_start_and_has_no_search),
		cmocka_unit_test(a_search_looks_beyond_kmin_that_change_nothing),
		cmocka_unit_test(a_search_waits_at_the_ceiling_for_slow_senders),
		cmocka_unit_test(a_steady_queue_does_not_change_after_it_has_settled),
		cmocka_unit_test(another_workload_begins_another_search),
		cmocka_unit_test(one_strange_window_begins_no_search),
		cmocka_unit_test(the_flows_of_a_queue_with_random_windows_decide_and_no_search),
		cmocka_unit_test(three_steady_windows_after_unsteady_ones_begin_no_search),
		cmocka_unit_test(a_steady_workload_after_a_random_one_is_another_one),
		cmocka_unit_test(a_workload_that_alternates_with_the_steps_changes_ever_less),
		cmocka_unit_test(a_host_that_ignores_ecn_is_not_chased_below_the_floor),
		cmocka_unit_test(thresholds_stay_within_the_rails_whatever_happens),
		cmocka_unit_test(storms_policies_and_long_pauses_freeze_the_thresholds),
		cmocka_unit_test(an_idle_queue_says_nothing),
		cmocka_unit_test(a_known_workload_gets_the_thresholds_of_its_row),
		cmocka_unit_test(a_row_that_costs_throughput_is_left_for_a_search),
		cmocka_unit_test(a_search_that_finds_nothing_better_brings_the_start_back),
		cmocka_unit_test(a_search_that_does_not_last_brings_the_start_back),
		cmocka_unit_test(a_search_that_does_not_last_keeps_the_try_that_filled_the_link),
		cmocka_unit_test(a_workload_without_a_row_is_searched_for),
		cmocka_unit_test(a_workload_that_leaves_its_row_gets_the_start_back_first),
		cmocka_unit_test(advice_is_a_row_and_never_a_search),
		cmocka_unit_test(other_rails_move_the_thresholds_at_once),
		cmocka_unit_test(a_search_begins_anew_within_other_rails),
		cmocka_unit_test(rails_that_change_at_any_time_break_nothing),
		cmocka_unit_test(a_floor_above_kmax_leaves_a_line),
		cmocka_unit_test(a_queue_in_its_start_has_the_start_of_the_new_rails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
