// SPDX-License-Identifier: Apache-2.0
#include "control/probe/curve.h"

#include <math.h>

enum { GRID = 12, ROUNDS = 3 };

// The likelihood falls by so much (in log) at the ends of a 95 % interval of one parameter.
static const double DROP_95 = 1.92;
// A curve that ends within the samples is likelier by so much (in log) than one that goes on.
static const double SEEN = 8;
// A mark that a curve calls impossible. It is worse than every chance.
static const double IMPOSSIBLE = -1e9;

struct fit {
	const struct curve_sample *s;
	uint32_t n;
	bool above_all;
};

struct point {
	int64_t kmin, kmax;
	double pmax, log_l;
};

// Share of pmax at a length.
static double weight(int64_t kmin, int64_t kmax, int64_t len)
{
	if (len <= kmin)
		return 0;
	return len >= kmax ? 1 : (double)(len - kmin) / (double)(kmax - kmin);
}

static double log_of(double p, uint32_t n)
{
	if (n == 0)
		return 0;
	return p <= 0 ? IMPOSSIBLE : n * log(p);
}

static double log_likelihood(const struct fit *f, int64_t kmin, int64_t kmax, double pmax)
{
	double sum = 0;

	for (int64_t i = 0; i < f->n; i++) {
		const struct curve_sample *s = &f->s[i];
		double p = pmax * weight(kmin, kmax, i);

		if (f->above_all && i > kmax)
			p = 1;
		if (s->total != 0 && p != 0)
			sum += log_of(p, s->marked) + log_of(1 - p, s->total - s->marked);
		else if (s->marked != 0)
			sum += IMPOSSIBLE;
	}
	return sum;
}

// The best pmax for these ends: marked frames over the frames weighed by the curve, or 1.
static struct point at(const struct fit *f, int64_t kmin, int64_t kmax)
{
	struct point p = {.kmin = kmin, .kmax = kmax}, certain = p;
	double marked = 0, weighed = 0;
	int64_t end = f->above_all ? kmax + 1 : (int64_t)f->n;

	for (int64_t i = kmin + 1; i < end && i < f->n; i++) {
		marked += f->s[i].marked;
		weighed += f->s[i].total * weight(kmin, kmax, i);
	}
	// A curve without a mark is a step at kmax, which kmin = kmax says as well.
	if (weighed != 0 && marked == 0) {
		p.log_l = 2 * IMPOSSIBLE;
		return p;
	}
	p.pmax = weighed == 0 ? 1 : fmin(1, marked / weighed);
	p.log_l = log_likelihood(f, kmin, kmax, p.pmax);
	certain.pmax = 1;
	certain.log_l = p.pmax > 0.9 ? log_likelihood(f, kmin, kmax, 1) : 2 * IMPOSSIBLE;
	return certain.log_l >= p.log_l - DROP_95 ? certain : p;
}

// The best end in lo..hi, the other one fixed: a grid that closes in.
static struct point best_end(const struct fit *f, bool of_kmax, int64_t other, int64_t lo,
			     int64_t hi)
{
	struct point best = {.log_l = -INFINITY};

	for (;;) {
		int64_t step = (hi - lo) / GRID + 1, found;

		for (int64_t k = lo; k < hi + step; k += step) {
			int64_t end = k < hi ? k : hi;
			struct point p = of_kmax ? at(f, other, end) : at(f, end, other);

			if (p.log_l > best.log_l)
				best = p;
		}
		found = of_kmax ? best.kmax : best.kmin;
		if (step == 1)
			return best;
		lo = found - step > lo ? found - step : lo;
		hi = found + step < hi ? found + step : hi;
	}
}

static struct point fit(const struct fit *f, int64_t first_marked, int64_t last_clear)
{
	int64_t top = (int64_t)f->n - 1;
	// A clear frame above kmax is impossible where all are marked.
	int64_t kmax_lo = f->above_all && last_clear > 0 ? last_clear : 0;
	struct point p = {.kmin = first_marked - 1};

	for (unsigned i = 0; i < ROUNDS; i++) {
		p = best_end(f, true, p.kmin, kmax_lo > p.kmin ? kmax_lo : p.kmin, top);
		p = best_end(f, false, p.kmax, 0,
			     first_marked - 1 < p.kmax ? first_marked - 1 : p.kmax);
	}
	// A curve that reaches 1 at kmax is the one that jumps to 1 from one step before. A pmax of
	// 100 % is the simpler reading, unless the samples speak against it.
	for (int64_t k = p.kmax + 1; k <= p.kmax + 2 && k <= top && p.pmax < 1; k++) {
		struct point whole = at(f, p.kmin, k);

		if (whole.pmax >= 1 && whole.log_l >= p.log_l - DROP_95)
			return whole;
	}
	return p;
}

// The best point with one end at `end`, the other end where it fits best.
static struct point profile(const struct fit *f, bool of_kmax, int64_t end, int64_t first_marked)
{
	if (of_kmax)
		return best_end(f, false, end, 0, first_marked < end ? first_marked : end);
	return best_end(f, true, end, end, (int64_t)f->n - 1);
}

// How far an end may move, the other one following, until the likelihood has fallen.
static double bound(const struct fit *f, const struct point *best, bool of_kmax, int64_t way,
		    int64_t first_marked)
{
	int64_t from = of_kmax ? best->kmax : best->kmin, k = from, stride = way;

	// Strides double while they hold, and halve when they do not.
	for (bool grow = true; stride != 0;) {
		int64_t next = k + stride;
		bool in = next >= 0 && next < (of_kmax ? (int64_t)f->n : first_marked + 1);
		struct point p = {.log_l = -INFINITY};

		if (in)
			p = profile(f, of_kmax, next, first_marked);
		if (in && p.log_l >= best->log_l - DROP_95) {
			k = next;
			stride = grow ? 2 * stride : stride;
		} else {
			grow = false;
			stride /= 2;
		}
	}
	return (double)k;
}

// pmax varies with both ends, and by chance: the normal interval of a share, or three over the
// count where all frames or none are marked.
static struct curve_bounds pmax_bounds(const struct fit *f, const struct point *best,
				       const struct curve *c)
{
	struct curve_bounds b = {best->pmax, best->pmax, best->pmax};
	double trials = 1, sd;

	for (unsigned i = 0; i < 4; i++) {
		int64_t kmin = i < 2 ? best->kmin : (int64_t)(i == 2 ? c->kmin.low : c->kmin.high);
		int64_t kmax = i > 1 ? best->kmax : (int64_t)(i == 0 ? c->kmax.low : c->kmax.high);
		double pmax = kmin <= kmax ? at(f, kmin, kmax).pmax : best->pmax;

		b.low = fmin(b.low, pmax);
		b.high = fmax(b.high, pmax);
	}
	for (int64_t i = best->kmin + 1; i < f->n && (i <= best->kmax || !f->above_all); i++)
		trials += f->s[i].total * weight(best->kmin, best->kmax, i);
	sd = fmax(1.96 * sqrt(best->pmax * (1 - best->pmax) / trials), 3 / trials);
	return (struct curve_bounds){b.value, fmax(0, b.low - sd), fmin(1, b.high + sd)};
}

static struct curve_bounds both(struct curve_bounds a, const struct curve_bounds *b)
{
	return (struct curve_bounds){a.value, fmin(a.low, b->low), fmax(a.high, b->high)};
}

static struct curve curve_of(const struct fit *f, const struct point *best, int64_t first_marked)
{
	struct curve c = {.above_all = f->above_all};

	c.kmin = (struct curve_bounds){(double)best->kmin, bound(f, best, false, -1, first_marked),
				       bound(f, best, false, 1, first_marked)};
	c.kmax = (struct curve_bounds){(double)best->kmax, bound(f, best, true, -1, first_marked),
				       bound(f, best, true, 1, first_marked)};
	c.pmax = pmax_bounds(f, best, &c);
	return c;
}

bool curve_fit(const struct curve_sample *s, uint32_t n, struct curve *out)
{
	struct fit all = {s, n, true}, flat = {s, n, false};
	int64_t first = -1, clear = -1;
	struct point a, b, best;
	bool certain;

	for (int64_t i = 0; i < n; i++) {
		if (s[i].marked != 0 && first < 0)
			first = i;
		if (s[i].marked < s[i].total)
			clear = i;
	}
	if (first <= 0)
		return false;
	a = fit(&all, first, clear);
	b = fit(&flat, first, clear);
	certain = a.log_l >= b.log_l;
	best = certain ? a : b;
	*out = curve_of(certain ? &all : &flat, &best, first - 1);
	// Near 100 % both shapes give the same marks, a step apart.
	if (fabs(a.log_l - b.log_l) < DROP_95) {
		struct curve other = certain ? curve_of(&flat, &b, first - 1)
					     : curve_of(&all, &a, first - 1);

		out->kmin = both(out->kmin, &other.kmin);
		out->kmax = both(out->kmax, &other.kmax);
		out->pmax = both(out->pmax, &other.pmax);
	}
	out->kmax_seen = best.log_l - profile(&flat, true, n - 1, first - 1).log_l >= SEEN;
	return true;
}

static double share_marked(const struct curve *c, int64_t len)
{
	if (c->above_all && len > (int64_t)c->kmax.value)
		return 1;
	return c->pmax.value * weight((int64_t)c->kmin.value, (int64_t)c->kmax.value, len);
}

// A sum of n squared deviations, each over its variance, that no chance explains: five standard
// deviations of the chi-squared distribution above its mean.
static bool too_far(double sum, double n)
{
	return sum > n + 5 * sqrt(2 * n) + 10;
}

bool curve_explains(const struct curve *c, const struct curve_sample *s, uint32_t n,
		    const struct curve_fills *fills)
{
	// Lengths are taken together until their variance is that of a normal distribution. An end
	// of the curve may be off by a frame of each fill.
	enum { ENOUGH = 25, OFF = 1 };
	double sum = 0, bins = 0, off = 0, var = 0, mean = 0, fill_var = 2 * OFF, spread;

	for (uint32_t i = 0; i < n; i++) {
		double p = share_marked(c, i);

		mean += p;
		fill_var += p * (1 - p);
		off += s[i].marked - s[i].total * p;
		var += s[i].total * p * (1 - p);
		if (var < ENOUGH && i + 1 < n)
			continue;
		off = fmax(0, fabs(off) - OFF * fills->n);
		sum += off * off / fmax(var, ENOUGH);
		bins++;
		off = var = 0;
	}
	spread = fills->marked_squared - 2 * mean * fills->marked + fills->n * mean * mean;
	return !too_far(sum, bins) && !too_far(spread / fill_var, fills->n);
}
