// SPDX-License-Identifier: Apache-2.0
#include "control/lab/fluid.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { BISECTIONS = 200, SWEEP_PER_DECADE = 400, SWEEP_DECADES = 6 };
static const double smallest_p = 1e-9, lowest_hz = 1.0, longest_step_s = 1e-6;

double fluid_mark(const struct fluid_params *p, double q)
{
	if (q <= p->kmin)
		return 0;
	return q > p->kmax ? 1 : p->pmax * (q - p->kmin) / (p->kmax - p->kmin);
}

// What the equations need of p and a rate: all of it depends on these two alone.
struct terms {
	double cnp; // share of CNP intervals with a mark
	double marked; // share of alpha intervals with a mark
	double byte_rate, timer_rate; // increases per second by bytes and by time
	double byte_ai, timer_ai; // of those, additive ones
};

// Chance that n packets hold a mark.
static double any(double p, double n)
{
	return -expm1(n * log1p(-p));
}

// p / ((1-p)^-n - 1): events "n packets without a mark", per packet. Tends to 1/n for small p.
static double runs(double p, double n)
{
	return p <= smallest_p ? 1 / n : p / expm1(-n * log1p(-p));
}

static struct terms terms_of(const struct fluid_params *f, double p, double rate)
{
	double per_timer = f->timer_s * rate;
	struct terms t = {.byte_rate = 0};

	// p is 1 above kmax: every interval has a mark and nothing increases.
	if (p >= 1)
		return (struct terms){.cnp = 1, .marked = 1};
	t.cnp = any(p, f->cnp_s * rate);
	t.marked = any(p, f->alpha_s * rate);
	t.byte_rate = rate * runs(p, f->byte_packets);
	t.timer_rate = rate * runs(p, per_timer);
	t.byte_ai = t.byte_rate * pow(1 - p, f->fast_steps * f->byte_packets);
	t.timer_ai = t.timer_rate * pow(1 - p, f->fast_steps * per_timer);
	return t;
}

// Derivatives of alpha, RT and RC. p and delayed_rc are those of a loop delay ago.
struct slope {
	double alpha, rt, rc;
};

static struct slope slope_of(const struct fluid_params *f, const struct fluid_state *s, double p,
			     double delayed_rc)
{
	struct terms t = terms_of(f, p, delayed_rc);

	return (struct slope){
		.alpha = f->g / f->alpha_s * (t.marked - s->alpha),
		.rt = -(s->rt - s->rc) / f->cnp_s * t.cnp + f->ai_pps * (t.byte_ai + t.timer_ai),
		.rc = -s->rc * s->alpha / (2 * f->cnp_s) * t.cnp +
		      (s->rt - s->rc) / 2 * (t.byte_rate + t.timer_rate),
	};
}

// With alpha and RT at rest for this p: how fast RC would change. Falls as p grows.
static double drift(const struct fluid_params *f, double p, struct fluid_state *s)
{
	struct terms t = terms_of(f, p, s->rc);

	s->alpha = t.marked;
	s->rt = s->rc + f->ai_pps * (t.byte_ai + t.timer_ai) * f->cnp_s / t.cnp;
	return slope_of(f, s, p, s->rc).rc;
}

// ---- stability: the loop cut open at p, its answer at one frequency

struct jacobian {
	double by_alpha[3], by_rt[3], by_rc[3], by_delayed_rc[3], by_p[3]; // of alpha, RT, RC
};

static void difference(double out[3], struct slope hi, struct slope lo, double width)
{
	out[0] = (hi.alpha - lo.alpha) / width;
	out[1] = (hi.rt - lo.rt) / width;
	out[2] = (hi.rc - lo.rc) / width;
}

static struct jacobian jacobian_of(const struct fluid_params *f, const struct fluid_state *s,
				   double p)
{
	struct jacobian j;
	double ha = s->alpha * 1e-4, hr = s->rc * 1e-4, hp = p * 1e-4;
	struct fluid_state hi = *s, lo = *s;

	hi.alpha += ha, lo.alpha -= ha;
	difference(j.by_alpha, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * ha);
	hi = lo = *s;
	hi.rt += hr, lo.rt -= hr;
	difference(j.by_rt, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * hr);
	hi = lo = *s;
	hi.rc += hr, lo.rc -= hr;
	difference(j.by_rc, slope_of(f, &hi, p, s->rc), slope_of(f, &lo, p, s->rc), 2 * hr);
	difference(j.by_delayed_rc, slope_of(f, s, p, s->rc + hr), slope_of(f, s, p, s->rc - hr),
		   2 * hr);
	difference(j.by_p, slope_of(f, s, p + hp, s->rc), slope_of(f, s, p - hp, s->rc), 2 * hp);
	return j;
}

// det of the 3x3 matrix with columns a, b, c.
static double complex det3(const double complex a[3], const double complex b[3],
			   const double complex c[3])
{
	return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
	       c[0] * (a[1] * b[2] - a[2] * b[1]);
}

// Loop gain at w rad/s: p -> RC -> queue -> p, with the minus of a feedback that is negative.
static double complex loop_gain(const struct fluid_params *f, const struct jacobian *j, double w)
{
	double complex s = I * w, late = cexp(-s * f->delay_s), a[3], b[3], c[3], d[3];
	double slope = f->pmax / (f->kmax - f->kmin);

	// (sI - A) x = d, x = (alpha, RT, RC); RC by Cramer's rule.
	for (unsigned i = 0; i < 3; i++) {
		a[i] = (i == 0 ? s : 0) - j->by_alpha[i];
		b[i] = (i == 1 ? s : 0) - j->by_rt[i];
		c[i] = (i == 2 ? s : 0) - j->by_rc[i] - j->by_delayed_rc[i] * late;
		d[i] = j->by_p[i] * late;
	}
	return -slope * f->n_flows / s * det3(a, b, d) / det3(a, b, c);
}

// Phase margin at the last frequency where the gain falls through one.
static void find_margin(const struct fluid_params *f, const struct fluid_state *s,
			struct fluid_point *out)
{
	struct jacobian j = jacobian_of(f, s, out->p);
	double complex before = 0;
	double turn = 0;

	for (unsigned i = 0; i <= SWEEP_PER_DECADE * SWEEP_DECADES; i++) {
		double hz = lowest_hz * pow(10, (double)i / SWEEP_PER_DECADE);
		double complex gain = loop_gain(f, &j, 2 * M_PI * hz);

		// The phase is followed from step to step: a delay turns it many times round.
		turn += i == 0 ? carg(gain) : carg(gain / before);
		if (i != 0 && cabs(before) >= 1 && cabs(gain) < 1) {
			out->crossover_hz = hz;
			out->margin_deg = 180 + turn * 180 / M_PI;
		}
		before = gain;
	}
}

struct fluid_point fluid_fixed_point(const struct fluid_params *f)
{
	struct fluid_state s = {.rc = f->capacity_pps / f->n_flows};
	struct fluid_point out = {.rc = s.rc, .margin_deg = 180};
	double lo = smallest_p, hi = 1 - smallest_p;

	for (unsigned i = 0; i < BISECTIONS; i++) {
		double mid = sqrt(lo * hi);

		if (drift(f, mid, &s) > 0)
			lo = mid;
		else
			hi = mid;
	}
	out.p = lo;
	drift(f, out.p, &s);
	out.alpha = s.alpha;
	out.rt = s.rt;
	out.q = f->kmin + out.p / f->pmax * (f->kmax - f->kmin);
	out.found = out.p <= f->pmax && s.rc > f->min_pps;
	if (out.found)
		find_margin(f, &s, &out);
	return out;
}

// ---- the trajectory

struct history {
	double *p, *rc; // of the last n steps, a ring
	unsigned n, at;
};

static double shortest(const struct fluid_params *f)
{
	double t = f->cnp_s < f->alpha_s ? f->cnp_s : f->alpha_s;

	return f->timer_s < t ? f->timer_s : t;
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static void advance(const struct fluid_params *f, struct fluid_state *s, struct history *h,
		    double step_s)
{
	double late_p = h->p[h->at], late_rc = h->rc[h->at];
	struct slope d;

	h->p[h->at] = fluid_mark(f, s->q);
	h->rc[h->at] = s->rc;
	h->at = (h->at + 1) % h->n;
	d = slope_of(f, s, late_p, late_rc);
	s->q = fmax(0, s->q + (f->n_flows * s->rc - f->capacity_pps) * step_s);
	s->alpha = clamp(s->alpha + d.alpha * step_s, 0, 1);
	s->rt = clamp(s->rt + d.rt * step_s, f->min_pps, f->capacity_pps);
	s->rc = clamp(s->rc + d.rc * step_s, f->min_pps, f->capacity_pps);
}

int fluid_run(const struct fluid_params *f, double until_s, double every_s, double step_s,
	      void (*each)(void *arg, const struct fluid_state *s), void *arg)
{
	struct fluid_state s = {.alpha = 1, .rt = f->capacity_pps, .rc = f->capacity_pps};
	struct history h = {.n = 1};
	double next_s = 0;

	if (step_s <= 0)
		step_s = fmin(shortest(f) / 50, longest_step_s);
	if (f->delay_s > step_s)
		h.n = (unsigned)(f->delay_s / step_s + 0.5);
	h.p = calloc(h.n, sizeof(*h.p));
	h.rc = calloc(h.n, sizeof(*h.rc));
	if (h.p == NULL || h.rc == NULL) {
		free(h.p);
		free(h.rc);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < h.n; i++)
		h.rc[i] = f->capacity_pps;
	for (uint64_t i = 0; (s.t_s = (double)i * step_s) <= until_s; i++) {
		if (s.t_s >= next_s) {
			each(arg, &s);
			next_s += every_s;
		}
		advance(f, &s, &h, step_s);
	}
	free(h.p);
	free(h.rc);
	return 0;
}
