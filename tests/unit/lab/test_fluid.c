// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fluid.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// 40 Gb/s, packets of 1048 B + 24 B of link overhead, the paper's parameters.
static const double packet_bytes = 1048, link_bytes = 1072;

static struct fluid_params paper(uint32_t n_flows, double delay_s)
{
	return (struct fluid_params){
		.n_flows = n_flows,
		.capacity_pps = 40e9 / 8 / link_bytes,
		.kmin = 5e3 / packet_bytes,
		.kmax = 200e3 / packet_bytes,
		.pmax = 0.01,
		.g = 1.0 / 256,
		.cnp_s = 50e-6,
		.alpha_s = 55e-6,
		.timer_s = 55e-6,
		.byte_packets = 10e6 / packet_bytes,
		.fast_steps = 5,
		.ai_pps = 40e6 / 8 / link_bytes,
		.min_pps = 40e6 / 8 / link_bytes,
		.delay_s = delay_s,
	};
}

struct swing {
	double from_s, lowest, highest, sum, last_rc;
	unsigned n;
};

static void see(void *arg, const struct fluid_state *s)
{
	struct swing *w = arg;

	w->last_rc = s->rc;
	if (s->t_s < w->from_s)
		return;
	w->lowest = w->n == 0 || s->q < w->lowest ? s->q : w->lowest;
	w->highest = s->q > w->highest ? s->q : w->highest;
	w->sum += s->q;
	w->n++;
}

static struct swing run(const struct fluid_params *p)
{
	struct swing w = {.from_s = 0.25};

	assert_int_equal(fluid_run(p, 0.3, 10e-6, 0, see, &w), 0);
	return w;
}

static bool near(double got, double want, double share)
{
	return fabs(got - want) <= share * want;
}

static void marking_follows_the_curve(void **state)
{
	const struct fluid_params p = {.kmin = 10, .kmax = 110, .pmax = 0.2};
	static const struct {
		double q, p;
	} rows[] = {{0, 0}, {10, 0}, {60, 0.1}, {110, 0.2}, {111, 1}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(fabs(fluid_mark(&p, rows[i].q) - rows[i].p) < 1e-12);
}

// The approximation of "ECN or Delay" (theorem 1) for small p: the cube root of
// R_AI N^2 / (K C^2) * (1/B + N/(T C))^2.
static void the_fixed_point_is_near_the_published_approximation(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 8; n++) {
		const struct fluid_params p = paper(n, 4e-6);
		const struct fluid_point at = fluid_fixed_point(&p);
		double runs = 1 / p.byte_packets + n / (p.timer_s * p.capacity_pps);
		double c = p.capacity_pps / n;

		assert_true(at.found);
		assert_true(near(at.rc, c, 1e-9));
		assert_true(near(at.p, cbrt(p.ai_pps / (p.alpha_s * c * c) * runs * runs), 0.3));
		assert_true(near(at.q, p.kmin + at.p / p.pmax * (p.kmax - p.kmin), 1e-9));
	}
}

static void the_trajectory_comes_to_rest_at_the_fixed_point(void **state)
{
	const struct fluid_params p = paper(8, 4e-6);
	const struct fluid_point at = fluid_fixed_point(&p);
	const struct swing w = run(&p);

	(void)state;
	assert_true(at.margin_deg > 0);
	assert_true(near(w.sum / w.n, at.q, 0.01));
	assert_true(w.highest - w.lowest < 0.05 * at.q);
	assert_true(near(w.last_rc, at.rc, 0.01));
}

// The sign of the margin is what the trajectory does, found independently of it.
static void a_loop_without_phase_margin_oscillates(void **state)
{
	const struct fluid_params p = paper(8, 200e-6);
	const struct fluid_point at = fluid_fixed_point(&p);
	const struct swing w = run(&p);

	(void)state;
	assert_true(at.margin_deg < 0);
	assert_true(w.highest - w.lowest > 0.3 * at.q);
}

static void a_longer_delay_costs_margin(void **state)
{
	double before = 180;

	(void)state;
	for (double delay_s = 1e-6; delay_s < 1e-3; delay_s *= 3) {
		const struct fluid_params p = paper(4, delay_s);
		const struct fluid_point at = fluid_fixed_point(&p);

		assert_true(at.margin_deg < before);
		before = at.margin_deg;
	}
}

static void flows_that_marking_cannot_hold_are_told(void **state)
{
	const struct fluid_params p = paper(64, 4e-6);
	const struct fluid_point at = fluid_fixed_point(&p);

	(void)state;
	assert_false(at.found);
	assert_true(at.p > p.pmax);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marking_follows_the_curve),
		cmocka_unit_test(the_fixed_point_is_near_the_published_approximation),
		cmocka_unit_test(the_trajectory_comes_to_rest_at_the_fixed_point),
		cmocka_unit_test(a_loop_without_phase_margin_oscillates),
		cmocka_unit_test(a_longer_delay_costs_margin),
		cmocka_unit_test(flows_that_marking_cannot_hold_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
