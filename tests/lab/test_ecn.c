// SPDX-License-Identifier: Apache-2.0
// WRED and ECN in a whole switch: conformance rows E1 to E3.
#include "dataplane/policy.h"
#include "tests/lab/bench.h"
#include "tests/lab/lab_yaml.h"

#include "dataplane/packet/parse.h"
#include "dataplane/switch_ecn.h"

static unsigned ecn_of(const struct bench_rx *rx)
{
	bool v6 = rx->data[12] == 0x86;

	return v6 ? rx->data[15] >> 4 & 3 : rx->data[15] & 3;
}

// One's complement sum over the header, checksum included: all ones when it is right.
static bool ipv4_checksum_holds(const struct bench_rx *rx)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(rx->data[14 + i] << 8 | rx->data[15 + i]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static const char *policy(const char *wred, bool lossless)
{
	static char classes[256];

	snprintf(classes, sizeof(classes), "      3: {lossless: %s, wred: %s}\n",
		 lossless ? "true" : "false", wred);
	return lab_yaml(3, "10G", "", "", classes);
}

static void e1_dequeue_marking_marks_the_first_and_not_the_last(void **state)
{
	struct bench *b = bench_open(
		policy("{ecn: on, kmin: 50KB, kmax: 51KB, pmax: 100%, mark_at: dequeue}", true), 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT0, .len = 1000};
	unsigned marked = 0;

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 101);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	assert_int_equal(b->host[2].n_rx, 101);
	// Frame i leaves 100 - i frames of 1 KB behind: marked above 51 KB, p = 1 at 51 KB, none at
	// 50.
	for (unsigned i = 0; i < 101; i++) {
		assert_int_equal(ecn_of(&b->host[2].rx[i]), i <= 49 ? ECN_CE : ECN_ECT0);
		assert_true(ipv4_checksum_holds(&b->host[2].rx[i]));
		marked += ecn_of(&b->host[2].rx[i]) == ECN_CE;
	}
	assert_int_equal(ctr_get(&switch_queue_counters(b->sw, 2, 3)->ecn_marked), marked);
	bench_close(b);
}

static void e1_enqueue_marking_marks_the_last_and_not_the_first(void **state)
{
	struct bench *b = bench_open(
		policy("{ecn: on, kmin: 50KB, kmax: 51KB, pmax: 100%, mark_at: enqueue}", true), 0);
	struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT0, .len = 1000};

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 101);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	for (unsigned i = 0; i < 101; i++)
		assert_int_equal(ecn_of(&b->host[2].rx[i]), i >= 51 ? ECN_CE : ECN_ECT0);
	bench_close(b);
}

// Holds a queue at each depth of a ladder, lets many frames pass, and compares the marked share
// with the line. Chi-square with one degree of freedom per depth.
static void e2_the_marked_share_follows_the_line(void **state)
{
	enum { DEPTHS = 8, ROUNDS = 10000, FRAME = 1000 };
	double chi2 = 0;

	(void)state;
	for (unsigned d = 0; d < DEPTHS; d++) {
		struct bench *b = bench_open(
			policy("{ecn: on, kmin: 500KB, kmax: 2MB, pmax: 5%, mark_at: dequeue}",
			       true),
			0);
		unsigned depth = 400 + d * 200; // frames of 1000 B left behind
		struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT0, .len = FRAME};
		double len = depth * FRAME, p = len <= 500e3 ? 0 : 0.05 * (len - 500e3) / 1.5e6;
		unsigned marked = 0, n;

		bench_tx(b, 2, -1, false);
		bench_inject(b, 0, &f, depth);
		for (unsigned i = 0; i < ROUNDS; i++) {
			bench_inject(b, 0, &f, 1);
			bench_tx(b, 2, -1, true);
			bench_tx(b, 2, -1, false);
			bench_run(b, 1000);
		}
		n = b->host[2].n_rx;
		assert_int_equal(n, ROUNDS);
		for (unsigned i = 0; i < n; i++)
			marked += ecn_of(&b->host[2].rx[i]) == ECN_CE;
		if (p == 0) {
			assert_int_equal(marked, 0);
		} else {
			double want = n * p, diff = marked - want;

			chi2 += diff * diff / (want * (1 - p));
		}
		bench_close(b);
	}
	assert_true(chi2 < 24.3); // 7 degrees of freedom, p = 0.001; the seed is fixed
	assert_true(chi2 > 0.1);
}

static void e2_above_kmax_all_frames_are_marked_or_only_pmax(void **state)
{
	static const char *const above[] = {"all", "pmax"};

	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		char wred[128];
		struct bench *b;
		struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT1, .len = 1000};
		unsigned marked = 0;

		snprintf(wred, sizeof(wred),
			 "{ecn: on, kmin: 1KB, kmax: 10KB, pmax: 10%%, above_kmax: %s}", above[v]);
		b = bench_open(policy(wred, true), 0);
		bench_tx(b, 2, -1, false);
		bench_inject(b, 0, &f, 1011);
		bench_tx(b, 2, -1, true);
		bench_run(b, 2000000);
		for (unsigned i = 0; i < 1000; i++)
			marked += ecn_of(&b->host[2].rx[i]) == ECN_CE;
		if (v == 0)
			assert_int_equal(marked, 1000);
		else
			assert_in_range(marked, 70, 130);
		bench_close(b);
	}
}

static void e3_not_ect_is_dropped_or_passed_and_ce_passes(void **state)
{
	static const struct {
		const char *wred;
		bool lossless;
		uint8_t ecn;
		bool v6;
		unsigned arrive, ce;
	} t[] = {
		// lossy: Not-ECT drops above kmax, CE and ECT pass
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_NOT_ECT, false, 11, 0},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_NOT_ECT, true, 11, 0},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_CE, false, 40, 40},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_CE, true, 40, 40},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_ECT0, false, 40, 29},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_ECT1, true, 40, 29},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%, not_ect: pass}", false, ECN_NOT_ECT,
		 false, 40, 0},
		// lossless: Not-ECT passes unless the policy says otherwise
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%}", true, ECN_NOT_ECT, true, 40, 0},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%, not_ect: drop}", true, ECN_NOT_ECT,
		 false, 11, 0},
		{"{ecn: on, kmin: 10KB, kmax: 10KB, pmax: 100%, not_ect: drop}", true, ECN_CE, true,
		 40, 40},
		// ecn off: every frame counts as Not-ECT
		{"{ecn: off, kmin: 10KB, kmax: 10KB, pmax: 100%}", false, ECN_ECT0, false, 11, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bench *b = bench_open(policy(t[i].wred, t[i].lossless), 0);
		struct bench_frame f = {
			.to = 2, .dscp = 24, .ecn = t[i].ecn, .len = 1000, .ipv6 = t[i].v6};
		unsigned ce = 0;

		bench_tx(b, 2, -1, false);
		bench_inject(b, 0, &f, 40);
		bench_tx(b, 2, -1, true);
		bench_run(b, 1000000);
		for (unsigned k = 0; k < b->host[2].n_rx; k++) {
			ce += ecn_of(&b->host[2].rx[k]) == ECN_CE;
			if (!t[i].v6)
				assert_true(ipv4_checksum_holds(&b->host[2].rx[k]));
		}
		assert_int_equal(b->host[2].n_rx, t[i].arrive);
		assert_int_equal(ce, t[i].ce);
		assert_int_equal(bench_drops(b, DROP_WRED), 40 - t[i].arrive);
		bench_close(b);
	}
}

static void colours_have_curves_of_their_own(void **state)
{
	struct bench *b =
		bench_open(lab_yaml(3, "10G", "", "    dscp_to_color: {26: yellow, 28: red}\n",
				    "      3: {wred: {ecn: off, kmin: 20KB, kmax: 20KB, pmax: "
				    "100%, yellow: {kmin: "
				    "10KB, kmax: 10KB, pmax: 100%}, red: {kmin: 5KB, kmax: 5KB, "
				    "pmax: 100%}}}\n"),
			   0);
	static const struct {
		uint8_t dscp;
		unsigned fit;
	} t[] = {{28, 6}, {26, 11}, {24, 21}};

	(void)state;
	bench_tx(b, 2, -1, false);
	for (unsigned i = 0; i < 3; i++) {
		struct bench_frame f = {.to = 2, .dscp = t[i].dscp, .len = 1000};

		bench_inject(b, 0, &f, 30);
		assert_int_equal(
			gauge_get(&switch_queue_counters(b->sw, 2, 3)->length_packets), t[i].fit);
	}
	bench_close(b);
}

// The average of a queue that marks at dequeue must fall with what arrives: if only departures
// moved it, a queue that drops all its arrivals would drop them for ever.
static void not_ect_frames_are_not_locked_out_by_an_old_average(void **state)
{
	struct bench *b = bench_open(policy("{ecn: on, kmin: 5KB, kmax: 10KB, pmax: 100%, "
					    "mark_at: dequeue, weight: 8}",
					    false),
				     0);
	struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT0, .len = 1000};
	uint32_t n;

	(void)state;
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 100);
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	f.ecn = ECN_NOT_ECT;
	bench_inject(b, 0, &f, 1000);
	assert_in_range(bench_drops(b, DROP_WRED), 1, 999);
	n = b->host[2].n_rx;
	bench_inject(b, 0, &f, 100);
	assert_int_equal(b->host[2].n_rx, n + 100);
	bench_close(b);
}

// ---- thresholds that change while the switch runs

static void order_20_kb(struct bench *b)
{
	const struct wred_curve c = wred_curve_of(20000, 21000, 1000000);

	assert_true(switch_set_curve(b->sw, 2, 3, &c));
}

// The first n of 101 frames that waited in the queue are marked.
static void expect_marks(struct bench *b, unsigned n)
{
	bench_tx(b, 2, -1, true);
	bench_run(b, 1000000);
	assert_int_equal(b->host[2].n_rx, 101);
	for (unsigned i = 0; i < 101; i++)
		assert_int_equal(ecn_of(&b->host[2].rx[i]), i < n ? ECN_CE : ECN_ECT0);
}

static void another_curve_holds_for_frames_that_wait_and_pauses_no_class(void **state)
{
	static const uint8_t dscps[] = {24, 26, 28}; // green, yellow, red

	(void)state;
	for (unsigned color = 0; color < N_COLORS; color++) {
		struct bench *b = bench_open(
			lab_yaml(3, "10G", "",
				 "    dscp_to_color: {26: yellow, 28: red}\n",
				 "      3: {lossless: on, wred: {ecn: on, kmin: 50KB, kmax: 51KB, "
				 "pmax: 100%, red: {kmin: 70KB, kmax: 71KB, pmax: 100%}}}\n"),
			0);
		struct bench_frame f = {.to = 2, .dscp = dscps[color], .ecn = ECN_ECT0,
					.len = 1000};

		bench_tx(b, 2, -1, false);
		bench_inject(b, 0, &f, 101);
		order_20_kb(b);
		expect_marks(b, 80);
		assert_int_equal(b->host[0].n_pfc, 0);
		bench_close(b);
	}
}

static void an_order_waits_until_the_worker_has_seen_the_one_before(void **state)
{
	struct bench *b = bench_open(policy("{ecn: on, kmin: 50KB, kmax: 51KB, pmax: 100%}", true),
				     0);
	const struct wred_curve c = wred_curve_of(10000, 11000, 1000000);

	(void)state;
	order_20_kb(b);
	assert_false(switch_set_curve(b->sw, 2, 3, &c));
	assert_true(switch_set_curve(b->sw, 1, 3, &c)); // of another port
	bench_tx(b, 2, -1, true);
	assert_true(switch_set_curve(b->sw, 2, 3, &c));
	bench_close(b);
}

// Control gives the next policy the thresholds that it must begin with.
static void an_order_for_the_policy_before_is_left_out(void **state)
{
	struct bench *b = bench_open(policy("{ecn: on, kmin: 50KB, kmax: 51KB, pmax: 100%}", true),
				     0);
	struct bench_frame f = {.to = 2, .dscp = 24, .ecn = ECN_ECT0, .len = 1000};

	(void)state;
	b->before_policy = order_20_kb;
	bench_publish(b, policy("{ecn: on, kmin: 30KB, kmax: 31KB, pmax: 100%}", true));
	bench_tx(b, 2, -1, false);
	bench_inject(b, 0, &f, 101);
	expect_marks(b, 70);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(e1_dequeue_marking_marks_the_first_and_not_the_last),
		cmocka_unit_test(e1_enqueue_marking_marks_the_last_and_not_the_first),
		cmocka_unit_test(e2_the_marked_share_follows_the_line),
		cmocka_unit_test(e2_above_kmax_all_frames_are_marked_or_only_pmax),
		cmocka_unit_test(e3_not_ect_is_dropped_or_passed_and_ce_passes),
		cmocka_unit_test(colours_have_curves_of_their_own),
		cmocka_unit_test(not_ect_frames_are_not_locked_out_by_an_old_average),
		cmocka_unit_test(another_curve_holds_for_frames_that_wait_and_pauses_no_class),
		cmocka_unit_test(an_order_waits_until_the_worker_has_seen_the_one_before),
		cmocka_unit_test(an_order_for_the_policy_before_is_left_out),
	};

	return cmocka_run_group_tests_name("ecn", tests, bench_eal, NULL);
}
