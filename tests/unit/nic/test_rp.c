// SPDX-License-Identifier: Apache-2.0
// The reaction point against sequences worked out from the equations with exact fractions, by hand
// where a row has a comment, else by a model of its own that knows nothing of fixed point, lazy
// timers or rounding. Rates may differ from the exact ones by 2 b/s, alpha by 1e-8.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "drivers/nic/dcqcn.h"

#define G 1000000000ull
enum { US = 1000, RATE_SLACK = 2 };
static const double alpha_slack = 1e-8;

enum what { CNP, SENT, LOOK };

struct row {
	uint64_t at_ns;
	uint8_t what; // enum what
	uint32_t n; // SENT: bytes
	double alpha; // what must hold after it
	double rc, rt; // b/s
};

static void near_value(const char *what, size_t row, double got, double want, double slack)
{
	if (got < want - slack || got > want + slack)
		fail_msg("row %zu: %s is %.9f, not %.9f", row, what, got, want);
}

static struct cc_config at_line(const struct cc_config *c, uint64_t line_bps)
{
	struct cc_config at = *c;

	at.line_bps = line_bps;
	return at;
}

static void check_rows(const struct cc_config *p, const struct row *rows, size_t n)
{
	struct rp_state s;

	rp_init(p, &s);
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		double alpha;

		rp_on_timer(p, &s, r->at_ns);
		if (r->what == CNP)
			rp_on_cnp(p, &s, r->at_ns);
		else if (r->what == SENT)
			rp_on_sent(p, &s, r->n);
		alpha = (double)rp_alpha(p, &s, r->at_ns) / (double)RP_ALPHA_ONE;
		near_value("alpha", i, alpha, r->alpha, alpha_slack);
		near_value("RC", i, (double)s.rc_bps, r->rc, RATE_SLACK);
		near_value("RT", i, (double)s.rt_bps, r->rt, RATE_SLACK);
	}
}
#define CHECK(p, rows) check_rows(p, rows, sizeof(rows) / sizeof((rows)[0]))

static struct cc_config preset(const char *name)
{
	const struct cc_preset *p = cc_preset_find(name);

	assert_non_null(p);
	return p->config;
}

// ---- paper

static void paper_halves_recovers_and_grows_by_the_timer(void **state)
{
	static const struct row rows[] = {
		{0, LOOK, 0, 1, 40e9, 40e9},
		{1 * US, CNP, 0, 1, 20e9, 40e9}, // 40 (1 - 1/2); alpha (1-g) + g = 1
		{51 * US, CNP, 0, 1, 10e9, 20e9}, // before any timer: 55 us have not gone by
		{106 * US - 1, LOOK, 0, 1, 10e9, 20e9},
		{106 * US, LOOK, 0, 0.99609375, 15e9, 20e9}, // T = 1: 255/256; (10 + 20) / 2
		{161 * US, LOOK, 0, 0.9922027587890625, 17.5e9, 20e9},
		{216 * US, LOOK, 0, 0.9883269667625427, 18.75e9, 20e9},
		{271 * US, LOOK, 0, 0.9844663145486265, 19.375e9, 20e9}, // T = 4: still < F
		// T = 5 = F: the target grows by 40 Mb/s.
		{326 * US, LOOK, 0, 0.980620743007421, 19.7075e9, 20.04e9},
		{381 * US, LOOK, 0, 0.9767901932300482, 19.89375e9, 20.08e9},
		{436 * US, LOOK, 0, 0.9729746065377434, 20.006875e9, 20.12e9},
		{491 * US, LOOK, 0, 0.9691739244809553, 20.0834375e9, 20.16e9},
		// In the middle of T = 9: RC (1 - 0.969174 / 2), RT = RC, alpha 255/256 + 1/256.
		{511 * US, CNP, 0, 0.9692943388384516, 10351265530.528507, 20083437500.0},
		{566 * US - 1, LOOK, 0, 0.9692943388384516, 10351265530.528507, 20083437500.0},
		// The timers began again at the CNP.
		{566 * US, LOOK, 0, 0.9655080328273639, 15217351515.264254, 20083437500.0},
	};
	struct cc_config c = preset("paper");
	struct cc_config p = at_line(&c, 40 * G);

	(void)state;
	CHECK(&p, rows);
}

static void paper_counts_bytes_apart_from_time(void **state)
{
	enum { MB10 = 10 * 1000 * 1000 };
	static const struct row rows[] = {
		{0, SENT, MB10, 1, 40e9, 40e9}, // nothing counts before the first CNP
		{1, CNP, 0, 1, 20e9, 40e9},
		{2, SENT, MB10 - 1, 1, 20e9, 40e9},
		{3, SENT, 1, 1, 30e9, 40e9}, // BC = 1
		{4, SENT, 4 * 1000 * 1000, 1, 30e9, 40e9},
		{5, CNP, 0, 1, 15e9, 30e9}, // a whole budget again
		{6, SENT, MB10 - 1, 1, 15e9, 30e9},
		{7, SENT, 2 * MB10 + 1, 1, 28.125e9, 30e9}, // BC = 3: three averages
		{8, SENT, MB10, 1, 29.0625e9, 30e9}, // BC = 4
		{9, SENT, MB10, 1, 29.55125e9, 30.04e9}, // BC = 5, T = 0: additive
		{10, SENT, MB10, 1, 29.815625e9, 30.08e9},
	};
	struct cc_config c = preset("paper");
	struct cc_config p = at_line(&c, 40 * G);

	(void)state;
	CHECK(&p, rows);
}

static void paper_grows_faster_when_time_and_bytes_are_past_f(void **state)
{
	enum { B = 10 * 1000 * 1000, K = 55 * US };
	static const struct row rows[] = {
		{0, CNP, 0, 1, 20e9, 40e9},
		{0, CNP, 0, 1, 10e9, 20e9},
		{1 * K, LOOK, 0, 0.99609375, 15e9, 20e9},
		{1 * K, SENT, B, 0.99609375, 17.5e9, 20e9},
		{2 * K, LOOK, 0, 0.9922027587890625, 18.75e9, 20e9},
		{2 * K, SENT, B, 0.9922027587890625, 19.375e9, 20e9},
		{3 * K, LOOK, 0, 0.9883269667625427, 19.6875e9, 20e9},
		{3 * K, SENT, B, 0.9883269667625427, 19.84375e9, 20e9},
		{4 * K, LOOK, 0, 0.9844663145486265, 19.921875e9, 20e9},
		{4 * K, SENT, B, 0.9844663145486265, 19.9609375e9, 20e9},
		{5 * K, LOOK, 0, 0.980620743007421, 20.00046875e9, 20.04e9}, // 5, 4: additive
		{5 * K, SENT, B, 0.980620743007421, 20.120234375e9, 20.24e9}, // 5, 5: 1 * 200
		{6 * K, LOOK, 0, 0.9767901932300482, 20280117187.5, 20.44e9}, // 6, 5: 1 * 200
		{6 * K, SENT, B, 0.9767901932300482, 20560058593.75, 20.84e9}, // 6, 6: 2 * 200
		{7 * K, LOOK, 0, 0.9729746065377434, 20900029296.875, 21.24e9}, // 7, 6: 2 * 200
		{7 * K, SENT, B, 0.9729746065377434, 21370014648.4375, 21.84e9}, // 7, 7: 3 * 200
	};
	struct cc_config c = preset("paper");
	struct cc_config p = at_line(&c, 40 * G);

	(void)state;
	CHECK(&p, rows);
}

static void paper_stops_at_line_rate_and_at_rmin(void **state)
{
	static const struct row down[] = {
		{0, CNP, 0, 1, 500e6, 1e9},	 {50 * US, CNP, 0, 1, 250e6, 500e6},
		{100 * US, CNP, 0, 1, 125e6, 250e6}, {150 * US, CNP, 0, 1, 62.5e6, 125e6},
		{200 * US, CNP, 0, 1, 40e6, 62.5e6}, // not 31.25
		{250 * US, CNP, 0, 1, 40e6, 40e6},
	};
	static const struct row up[] = {
		{0, CNP, 0, 1, 20e9, 40e9},
		// T = 256: long at the line, and alpha (255/256)^256.
		{256 * 55 * US, LOOK, 0, 0.36715975489153624, 40e9, 40e9},
		{256 * 55 * US, CNP, 0, 0.3696317870989912, 32656804902.169273, 40e9},
	};
	struct cc_config c = preset("paper");
	struct cc_config slow = at_line(&c, 1 * G), fast = at_line(&c, 40 * G);

	(void)state;
	CHECK(&slow, down);
	CHECK(&fast, up);
}

static void paper_needs_no_timer_before_a_cnp_and_none_at_line_rate(void **state)
{
	struct cc_config c = preset("paper");
	struct cc_config p = at_line(&c, 40 * G);
	struct rp_state s;
	uint64_t at;

	(void)state;
	rp_init(&p, &s);
	assert_int_equal(rp_next(&p, &s), UINT64_MAX);
	rp_on_timer(&p, &s, 5 * G);
	rp_on_cnp(&p, &s, 6 * G);
	assert_int_equal(rp_next(&p, &s), 6 * G + 55 * US);
	// 20, 30, 35, ... to the last bit per second: 35 halvings.
	for (at = rp_next(&p, &s); at != UINT64_MAX; at = rp_next(&p, &s))
		rp_on_timer(&p, &s, at);
	assert_int_equal(s.rc_bps, 40 * G);
	assert_in_range(s.t, 34, 36);
	// Alpha goes on, though nothing wakes for it.
	assert_true(rp_alpha(&p, &s, 7 * G) < RP_ALPHA_ONE / 256);
	assert_int_equal(rp_alpha(&p, &s, 3600 * G), 0);
}

static void a_poll_that_comes_late_misses_nothing(void **state)
{
	static const char *const names[] = {"paper", "connectx", "qcn"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct cc_config c = preset(names[i]);
		struct cc_config p = at_line(&c, 100 * G);
		struct rp_state often, seldom;

		rp_init(&p, &often);
		rp_init(&p, &seldom);
		for (uint64_t t = 0; t < 20000; t++) {
			rp_on_timer(&p, &often, t * 500);
			if (t % 1777 != 0)
				continue;
			rp_on_cnp(&p, &often, t * 500);
			rp_on_cnp(&p, &seldom, t * 500);
		}
		rp_on_timer(&p, &seldom, 19999 * 500);
		assert_int_equal(often.rc_bps, seldom.rc_bps);
		assert_int_equal(often.rt_bps, seldom.rt_bps);
		assert_int_equal(rp_alpha(&p, &often, 19999 * 500),
				 rp_alpha(&p, &seldom, 19999 * 500));
		assert_true(often.cuts > 5);
	}
}

static void the_gain_is_any_fraction(void **state)
{
	static const struct row sixteenth[] = {
		{0, CNP, 0, 1, 20e9, 40e9},
		{55 * US, LOOK, 0, 0.9375, 30e9, 40e9},
		{60 * US, CNP, 0, 0.94140625, 15.9375e9, 30e9}, // 15/16 * 15/16 + 1/16
	};
	static const struct row hardware[] = {
		{0, CNP, 0, 1, 100e9, 100e9},
		{4001, LOOK, 0, 0.9854229716584086, 50728851417.07957, 100e9}, // (1019/1024)^3
	};
	struct cc_config c = preset("paper"), x = preset("connectx");
	struct cc_config p, q;

	(void)state;
	assert_true(cc_set_gain(&c, "1/16"));
	p = at_line(&c, 40 * G);
	CHECK(&p, sixteenth);
	assert_true(cc_set_gain(&x, "5/1024"));
	q = at_line(&x, 100 * G);
	CHECK(&q, hardware);
}

// ---- connectx

static void connectx_cuts_at_its_tick_and_recovers_in_three_stages(void **state)
{
	static const struct row rows[] = {
		{10 * US, CNP, 0, 1, 100e9, 100e9}, // nothing yet
		{11 * US, LOOK, 0, 1, 100e9, 100e9}, // the flag: 255/256 + 1/256
		{12 * US, LOOK, 0, 0.99609375, 100e9, 100e9},
		{14 * US, LOOK, 0, 0.9883269667625427, 100e9, 100e9}, // alpha's tick is first,
		{14001, LOOK, 0, 0.9883269667625427, 50583651661.87286, 100e9}, // then the cut
		{15 * US, CNP, 0, 0.9844663145486265, 50583651661.87286, 100e9},
		{18 * US, LOOK, 0, 0.9768503985642631, 50583651661.87286, 100e9},
		{18001, LOOK, 0, 0.9768503985642631, 25877321518.504684, 100e9}, // RT stays
		{318 * US, LOOK, 0, 0.3019204948732839, 25877321518.504684, 100e9},
		{318001, LOOK, 0, 0.3019204948732839, 62938660759.25234, 100e9}, // 300 us later
		{618001, LOOK, 0, 0.09331621849006373, 81469330379.62617, 100e9},
		{1818001, LOOK, 0, 0.0008515600480930919, 98841833148.72664, 100e9}, // stage 6
		{1818701, CNP, 0, 0.0008515600480930919, 98841833148.72664, 100e9},
		{1822000, LOOK, 0, 0.0046989843960792395, 98841833148.72664, 100e9},
		// The beat of the first CNP is kept; stage was not 0: RT falls, too.
		{1822001, LOOK, 0, 0.0046989843960792395, 98609605032.90376, 98841833148.72664},
	};
	struct cc_config c = preset("connectx");
	struct cc_config p = at_line(&c, 100 * G);

	(void)state;
	CHECK(&p, rows);
}

static void connectx_raises_its_target_by_ai_once_then_by_hai(void **state)
{
	struct cc_config c = preset("connectx");
	struct cc_config p;
	struct rp_state s;
	uint64_t cut_at = 8002;

	(void)state;
	c.clamp = 1;
	p = at_line(&c, 100 * G);
	rp_init(&p, &s);
	rp_on_cnp(&p, &s, 1);
	rp_on_timer(&p, &s, 4002);
	rp_on_cnp(&p, &s, 4002);
	rp_on_timer(&p, &s, cut_at);
	// RC went 100, 50.58, 25.88; the target was clamped to 50.58.
	near_value("RT", 0, (double)s.rt_bps, 50583651661.87286, RATE_SLACK);
	near_value("RC", 0, (double)s.rc_bps, 25877704432.008167, 1e6);
	for (unsigned stage = 0; stage < 5; stage++) {
		static const uint64_t up[] = {0, 5000000, 50000000, 50000000, 50000000};
		uint64_t rt = s.rt_bps + up[stage], rc = (s.rc_bps + rt + 1) / 2;

		rp_on_timer(&p, &s, cut_at + (stage + 1) * 300000ull - 1);
		assert_int_equal(s.t, stage);
		rp_on_timer(&p, &s, cut_at + (stage + 1) * 300000ull);
		assert_int_equal(s.rt_bps, rt);
		assert_int_equal(s.rc_bps, rc);
	}
}

static void connectx_lowers_its_target_with_every_cut_only_when_clamped(void **state)
{
	static const double clamped_rc = 6997758715.490798;
	struct cc_config c = preset("connectx");
	struct cc_config p;
	struct rp_state s;

	(void)state;
	for (unsigned clamp = 0; clamp < 2; clamp++) {
		c.clamp = clamp;
		p = at_line(&c, 100 * G);
		rp_init(&p, &s);
		for (uint64_t i = 0; i < 5; i++)
			rp_on_cnp(&p, &s, 1 + 4000 * i);
		rp_on_timer(&p, &s, 20000);
		near_value("RC", clamp, (double)s.rc_bps, clamped_rc, RATE_SLACK);
		near_value("RT", clamp, (double)s.rt_bps, clamp ? 13384957195.196543 : 100e9,
			   RATE_SLACK);
		assert_int_equal(s.cuts, 4);
	}
}

static void connectx_cuts_once_however_many_cnps_came(void **state)
{
	struct cc_config c = preset("connectx");
	struct cc_config p = at_line(&c, 100 * G);
	struct rp_state s;

	(void)state;
	rp_init(&p, &s);
	for (uint64_t t = 0; t < 4000; t += 100)
		rp_on_cnp(&p, &s, t);
	rp_on_timer(&p, &s, 1 * US * US);
	assert_int_equal(s.cnps, 40);
	assert_int_equal(s.cuts, 1);
}

static void connectx_never_cuts_below_min_dec_fac_or_rmin(void **state)
{
	struct cc_config c = preset("connectx");
	struct cc_config p;
	struct rp_state s;

	(void)state;
	// Alpha 1 would halve; 80 per cent must stay.
	c.min_dec_percent = 80;
	c.alpha_ns = 5000;
	p = at_line(&c, 100 * G);
	rp_init(&p, &s);
	rp_on_cnp(&p, &s, 0);
	rp_on_timer(&p, &s, 4001);
	assert_int_equal(s.rc_bps, 80 * G);
	c.min_dec_percent = 50;
	p = at_line(&c, 100 * G);
	rp_init(&p, &s);
	rp_on_cnp(&p, &s, 0);
	rp_on_timer(&p, &s, 4001);
	assert_int_equal(s.rc_bps, 50 * G);
	for (uint64_t t = 5 * US; t < 300 * US; t += US)
		rp_on_cnp(&p, &s, t);
	assert_int_equal(s.rc_bps, 1000000);
}

// ---- configuration

static void no_flavour_obeys_nothing(void **state)
{
	struct cc_config c = preset("none");
	struct cc_config p = at_line(&c, 10 * G);
	struct rp_state s;

	(void)state;
	rp_init(&p, &s);
	rp_on_cnp(&p, &s, 1);
	rp_on_sent(&p, &s, UINT32_MAX);
	rp_on_timer(&p, &s, 10 * G);
	assert_int_equal(s.rc_bps, 10 * G);
	assert_int_equal(rp_next(&p, &s), UINT64_MAX);
}

static void every_preset_works_and_has_a_name_of_its_own(void **state)
{
	struct cc_config zero = {0};

	(void)state;
	assert_null(cc_config_wrong(&zero, 1 * G));
	for (unsigned i = 0; i < N_CC_PRESETS; i++) {
		assert_null(cc_config_wrong(&cc_presets[i].config, 1 * G));
		assert_ptr_equal(cc_preset_find(cc_presets[i].name), &cc_presets[i]);
	}
	assert_string_equal(cc_preset_find("dcqcn")->name, "paper");
	assert_null(cc_preset_find("cx5000"));
	assert_int_equal(cc_preset_find("paper")->config.np, NP_WINDOW);
	assert_int_equal(cc_preset_find("qcn")->config.np, NP_WINDOW);
	assert_int_equal(cc_preset_find("cx3")->config.np, NP_GAP);
	assert_int_equal(cc_preset_find("gen1")->config.np, NP_GAP);
	assert_int_equal(cc_preset_find("paper")->config.np_gap_ns, 50 * US);
	assert_int_equal(cc_preset_find("cx3")->config.cnp_every_ns, 3 * US);
	assert_int_equal(cc_preset_find("gen1")->config.burst_bytes, 64000);
	assert_int_equal(cc_preset_find("gen2")->config.np_gap_ns, 0);
	assert_int_equal(cc_preset_find("qcn")->config.byte_budget, 150000);
}

static void a_gain_that_is_no_fraction_is_refused(void **state)
{
	static const char *const bad[] = {"",	   "/",	    "1/",     "/256",	"2/1",	    "1/0",
					  "1/x",   "1 /2",  "-1/256", "1/65537", "99999999999/1",
					  "1/256/", "0.5"};
	struct cc_config c = preset("paper");

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(cc_set_gain(&c, bad[i]));
	assert_int_equal(c.g_num, 1);
	assert_int_equal(c.g_den, 256);
	assert_true(cc_set_gain(&c, "0"));
	assert_true(cc_set_gain(&c, "1"));
	assert_true(cc_set_gain(&c, "65536/65536"));
}

static void what_cannot_work_is_refused(void **state)
{
	struct cc_config c = preset("paper");

	(void)state;
	assert_non_null(cc_config_wrong(&c, 39 * 1000000));
	assert_null(cc_config_wrong(&c, 40 * 1000000));
	c.np = NP_WINDOW;
	assert_null(cc_config_wrong(&c, 1 * G));
	c.np_gap_ns = 0;
	assert_non_null(cc_config_wrong(&c, 1 * G));
	c = preset("connectx");
	c.g_den = 0;
	assert_non_null(cc_config_wrong(&c, 1 * G));
	for (unsigned i = 0; i < N_CC_KEYS; i++) {
		const struct cc_key *key = &cc_keys[i];

		c = preset("paper");
		if (key->kind == CC_GAIN || key->kind == CC_CLASSES)
			continue;
		cc_set(&c, key, key->max);
		assert_int_equal(cc_get(&c, key), key->max);
		cc_set(&c, key, key->max + 1);
		assert_non_null(cc_config_wrong(&c, 1 * G));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_halves_recovers_and_grows_by_the_timer),
		cmocka_unit_test(paper_counts_bytes_apart_from_time),
		cmocka_unit_test(paper_grows_faster_when_time_and_bytes_are_past_f),
		cmocka_unit_test(paper_stops_at_line_rate_and_at_rmin),
		cmocka_unit_test(paper_needs_no_timer_before_a_cnp_and_none_at_line_rate),
		cmocka_unit_test(a_poll_that_comes_late_misses_nothing),
		cmocka_unit_test(the_gain_is_any_fraction),
		cmocka_unit_test(connectx_cuts_at_its_tick_and_recovers_in_three_stages),
		cmocka_unit_test(connectx_raises_its_target_by_ai_once_then_by_hai),
		cmocka_unit_test(connectx_lowers_its_target_with_every_cut_only_when_clamped),
		cmocka_unit_test(connectx_cuts_once_however_many_cnps_came),
		cmocka_unit_test(connectx_never_cuts_below_min_dec_fac_or_rmin),
		cmocka_unit_test(no_flavour_obeys_nothing),
		cmocka_unit_test(every_preset_works_and_has_a_name_of_its_own),
		cmocka_unit_test(a_gain_that_is_no_fraction_is_refused),
		cmocka_unit_test(what_cannot_work_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
