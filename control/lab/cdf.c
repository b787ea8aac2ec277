// SPDX-License-Identifier: Apache-2.0
#include "control/lab/cdf.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"

enum { CDF_DECIMALS = 9, CDF_MAX_BYTES = 1 << 30 };
#define ONE (1ull << 32)

// One file being read. p is at the next character; the line ends at `eol`.
struct cdf_reader {
	const char *file, *p, *line, *eol;
	uint32_t number; // of the line
	bool percent; // the last line ends with 100
	struct diag_sink *s;
	struct cdf_point *points;
	uint32_t n;
};

static bool report_cdf_error(struct cdf_reader *r, const char *at, const char *what)
{
	const struct cfg_pos pos = {r->number, (uint32_t)(at - r->line) + 1, r->file, NULL};

	return diag_add(r->s, DIAG_ERROR, pos, NULL, "%s", what);
}

static void skip_blanks(struct cdf_reader *r)
{
	while (r->p < r->eol && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
		r->p++;
}

static bool at_end(const struct cdf_reader *r)
{
	return r->p == r->eol || *r->p == '#';
}

// Files of HPCC's traffic generator and its successors are in per cent.
static bool is_percent(const char *text, size_t len)
{
	const char *end = text + len;
	double last = 0;

	for (const char *at = text, *eol; at < end; at = eol + 1) {
		eol = memchr(at, '\n', (size_t)(end - at));
		eol = eol == NULL ? end : eol;
		at += strspn(at, " \t\r");
		at += strspn(at, "0123456789");
		at += strspn(at, " \t");
		if (*at >= '0' && *at <= '9')
			last = strtod(at, NULL);
	}
	return last == 100;
}

// A decimal number from 0 to 1, in 2^-32, rounded to the nearest. With so few decimals a double is
// exact enough to distinguish the two sides of a half.
static bool read_probability(struct cdf_reader *r, uint64_t *out)
{
	const char *from = r->p;
	size_t whole = strspn(from, "0123456789"), decimals = 0;
	double p;

	r->p += whole;
	if (*r->p == '.')
		decimals = strspn(++r->p, "0123456789");
	r->p += decimals;
	p = whole + decimals != 0 ? strtod(from, NULL) : 0;
	if (r->percent)
		p /= 100;
	skip_blanks(r);
	if (whole + decimals == 0 || decimals > CDF_DECIMALS || p > 1 || !at_end(r))
		return report_cdf_error(
			r, from,
			r->percent ? "expected per cent from 0 to 100, which the last line "
				     "has, and nothing after them"
				   : "expected a probability from 0 to 1 such as 0.25, or per "
				     "cent up to 100 in the last line, and nothing after it");
	*out = (uint64_t)llround(p * (double)ONE);
	return true;
}

static bool read_point(struct cdf_reader *r)
{
	const struct cdf_point *last = r->n != 0 ? &r->points[r->n - 1] : NULL;
	struct cdf_point *pt = &r->points[r->n];
	size_t digits = strspn(r->p, "0123456789");
	const char *bytes_at = r->p, *p_at;
	unsigned long long n = digits == 0 ? 0 : strtoull(bytes_at, NULL, 10);

	if (r->n == CDF_MAX_POINTS)
		return report_cdf_error(r, r->p,
					"more points than a distribution needs: at most 1024");
	r->p += digits;
	if (digits == 0 || (!at_end(r) && *r->p != ' ' && *r->p != '\t'))
		return report_cdf_error(
			r, bytes_at,
			"expected a size in bytes, then the probability of at most that size");
	if (n > CDF_MAX_BYTES)
		return report_cdf_error(r, bytes_at, "a message has at most 1073741824 bytes");
	pt->n_bytes = (uint32_t)n;
	skip_blanks(r);
	p_at = r->p;
	if (!read_probability(r, &pt->p))
		return false;
	if (last != NULL && pt->n_bytes < last->n_bytes)
		return report_cdf_error(r, bytes_at, "sizes must rise from line to line");
	if (last != NULL && pt->p < last->p)
		return report_cdf_error(r, p_at, "probabilities must rise from line to line");
	r->n++;
	return true;
}

int cdf_parse(const char *file, const char *text, size_t len, struct arena *a, struct cdf *out,
	      struct diag_sink *s)
{
	struct cdf_reader r = {.file = file,
			       .p = text,
			       .line = text,
			       .eol = text,
			       .percent = is_percent(text, len),
			       .s = s};
	bool ok = true;

	r.points = arena_alloc(a, (CDF_MAX_POINTS + 1) * sizeof(*r.points));
	for (; r.p < text + len; r.p = r.eol + 1) {
		r.number++;
		r.line = r.p;
		r.eol = memchr(r.p, '\n', (size_t)(text + len - r.p));
		if (r.eol == NULL)
			r.eol = text + len;
		skip_blanks(&r);
		ok &= at_end(&r) || read_point(&r);
	}
	r.number += r.number == 0;
	if (ok && (r.n == 0 || r.points[r.n - 1].p != ONE || r.points[r.n - 1].n_bytes == 0))
		ok = report_cdf_error(
			&r, r.line,
			"the last line must give the largest size and probability 1, or 100 %");
	if (ok)
		*out = (struct cdf){r.points, r.n};
	return ok ? 0 : -EINVAL;
}

int cdf_load(const char *path, struct arena *a, struct cdf *out, struct diag_sink *s)
{
	char *text;
	size_t len;
	int err = config_read_file(path, &text, &len);

	if (err != 0)
		return err;
	err = len >= CDF_MAX_FILE ? -EFBIG : cdf_parse(path, text, len, a, out, s);
	free(text);
	return err;
}

uint32_t cdf_sample(const struct cdf *c, uint32_t u)
{
	uint32_t low = 0, high = c->n - 1;

	// The first point whose p is above u.
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (c->points[mid].p > u)
			high = mid;
		else
			low = mid + 1;
	}
	const struct cdf_point *to = &c->points[low];
	uint64_t n_bytes = to->n_bytes;

	if (low != 0) {
		const struct cdf_point *from = to - 1;
		uint64_t width = to->p - from->p;

		n_bytes = from->n_bytes +
			  ((n_bytes - from->n_bytes) * (u - from->p) + width / 2) / width;
	}
	return n_bytes == 0 ? 1 : (uint32_t)n_bytes;
}

uint64_t cdf_mean_q16(const struct cdf *c, cdf_cost_fn *cost, const void *arg)
{
	const uint32_t width = (uint32_t)(ONE / CDF_STRATA);
	uint64_t sum = 0;

	// A stratum's weight is 2^-16, so the sum of all is the mean in that unit.
	for (uint32_t i = 0; i < CDF_STRATA; i++)
		sum += cost(arg, cdf_sample(c, i * width + width / 2));
	return sum;
}
