// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/model.h"

#include <errno.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MODEL_BYTES_MAX = 65536, LINE_MAX_LEN = 256, WORDS_MAX = 10 };

// The columns of a line, in order. A dash: the feature does not count for this row.
enum column { NAME, UTILISATION, MARKS, DELAY, FLOWS, ELEPHANTS, KMIN, KMAX, PMAX, N_COLUMNS };
static const struct {
	const char *name;
	double least, most;
	bool may_be_unknown;
} columns[N_COLUMNS] = {
	[NAME] = {"name", 0, 0, false},
	[UTILISATION] = {"utilisation", 0, 100, true},
	[MARKS] = {"marks", 0, 100, true},
	[DELAY] = {"delay_p99", 0, 1e6, true},
	[FLOWS] = {"flows", 0, 1e6, true},
	[ELEPHANTS] = {"elephants", 0, 100, true},
	[KMIN] = {"kmin", 0.01, 1e6, false},
	[KMAX] = {"kmax", 0.01, 1e6, false},
	[PMAX] = {"pmax", 0.01, 100, false},
};

// ---- reading

struct place {
	const char *name;
	unsigned line;
	char *err;
	size_t err_len;
};

__attribute__((format(printf, 2, 3))) static bool report_row_error(const struct place *p,
								   const char *fmt, ...)
{
	int n = snprintf(p->err, p->err_len, "%s:%u: ", p->name, p->line);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < p->err_len)
		vsnprintf(p->err + n, p->err_len - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

static bool read_column_number(const struct place *p, enum column c, const char *word, double *out)
{
	char *end;

	if (strcmp(word, "-") == 0 && columns[c].may_be_unknown) {
		*out = ECN_UNKNOWN;
		return true;
	}
	*out = strtod(word, &end);
	if (end == word || *end != '\0' || !(*out >= columns[c].least && *out <= columns[c].most))
		return report_row_error(p, "%s: '%.20s' is not a number from %g to %g%s",
					columns[c].name, word, columns[c].least, columns[c].most,
					columns[c].may_be_unknown ? ", nor - for any" : "");
	return true;
}

static bool is_printable(const char *word)
{
	for (; *word != '\0'; word++)
		if (*word < '!' || *word > '~')
			return false;
	return true;
}

static bool read_row(const struct place *p, char *words[], unsigned n, struct ecn_archetype *out)
{
	double v[N_COLUMNS] = {0};

	if (n != N_COLUMNS)
		return report_row_error(p, "%u columns, expected %u: name utilisation marks "
					   "delay_p99 flows elephants kmin kmax pmax",
					n, N_COLUMNS);
	if (strlen(words[NAME]) >= ECN_MODEL_NAME)
		return report_row_error(p, "name: longer than %d characters", ECN_MODEL_NAME - 1);
	if (!is_printable(words[NAME]))
		return report_row_error(p,
					"name: only letters, digits and signs of ASCII are a name");
	for (enum column c = UTILISATION; c < N_COLUMNS; c++)
		if (!read_column_number(p, c, words[c], &v[c]))
			return false;
	if (v[UTILISATION] < 0 && v[MARKS] < 0 && v[DELAY] < 0 && v[FLOWS] < 0 && v[ELEPHANTS] < 0)
		return report_row_error(p, "no feature has a number: the row would never be near");
	if (v[KMIN] > v[KMAX])
		return report_row_error(p, "kmin %g is above kmax %g", v[KMIN], v[KMAX]);
	*out = (struct ecn_archetype){
		.at = {.utilisation = v[UTILISATION] < 0 ? ECN_UNKNOWN : v[UTILISATION] / 100,
		       .mark_share = v[MARKS] < 0 ? ECN_UNKNOWN : v[MARKS] / 100,
		       .delay_p99_ns = v[DELAY] < 0 ? ECN_UNKNOWN : v[DELAY] * 1000,
		       .flows = v[FLOWS],
		       .fairness = ECN_UNKNOWN,
		       .elephants = v[ELEPHANTS] < 0 ? ECN_UNKNOWN : v[ELEPHANTS] / 100},
		.kmin_us = v[KMIN],
		.kmax_us = v[KMAX],
		.pmax_ppm = (uint32_t)(v[PMAX] * 10000),
	};
	strcpy(out->name, words[NAME]);
	return true;
}

static bool is_taken(const struct ecn_model *m, const char *name)
{
	for (unsigned i = 0; i < m->n; i++)
		if (strcmp(m->row[i].name, name) == 0)
			return true;
	return false;
}

// Cuts a line into words. A word that begins with # ends it.
static unsigned split(char *line, char *words[WORDS_MAX])
{
	unsigned n = 0;

	for (char *w = strtok(line, " \t\r"); w != NULL && w[0] != '#'; w = strtok(NULL, " \t\r"))
		if (n < WORDS_MAX)
			words[n++] = w;
	return n;
}

bool ecn_model_parse(const char *name, const char *text, size_t len, struct ecn_model *out,
		     char *err, size_t err_len)
{
	struct place p = {.name = name, .err = err, .err_len = err_len};
	struct ecn_model *m = calloc(1, sizeof(*m));
	bool ok = m != NULL;

	while (ok && len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end == NULL ? len : (size_t)(end - text);
		char line[LINE_MAX_LEN], *words[WORDS_MAX];
		unsigned n_words;

		p.line++;
		if (n >= sizeof(line) || memchr(text, '\0', n) != NULL) {
			ok = report_row_error(&p, "not a line of text of at most %d bytes",
					      LINE_MAX_LEN - 1);
			break;
		}
		memcpy(line, text, n);
		line[n] = '\0';
		n_words = split(line, words);
		if (n_words != 0 && m->n == ECN_MODEL_ROWS)
			ok = report_row_error(&p, "more than %d rows", ECN_MODEL_ROWS);
		else if (n_words != 0 && is_taken(m, words[NAME]))
			ok = report_row_error(&p, "name: an earlier row is '%.20s' too",
					      words[NAME]);
		else if (n_words != 0)
			ok = read_row(&p, words, n_words, &m->row[m->n++]);
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	if (ok && m->n == 0)
		ok = report_row_error(&p, "no rows");
	if (ok)
		*out = *m;
	free(m);
	return ok;
}

bool ecn_model_load(const char *path, struct ecn_model *out, char *err, size_t err_len)
{
	struct stat st;
	char *text;
	size_t n;
	FILE *f;
	bool ok;

	if (path == NULL)
		return ecn_model_parse("builtin", ecn_model_builtin_text,
				       strlen(ecn_model_builtin_text), out, err, err_len);
	// A pipe or a device could keep the control thread waiting for ever.
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		snprintf(err, err_len, "%s: cannot open: it is no regular file", path);
		return false;
	}
	f = fopen(path, "re");
	text = malloc(MODEL_BYTES_MAX + 1);
	if (f == NULL || text == NULL) {
		snprintf(err, err_len, "%s: cannot open: %s", path, strerror(errno));
		ok = false;
	} else {
		n = fread(text, 1, MODEL_BYTES_MAX + 1, f);
		ok = !ferror(f) && n <= MODEL_BYTES_MAX;
		if (!ok)
			snprintf(err, err_len, "%s: cannot read, or longer than %d bytes", path,
				 MODEL_BYTES_MAX);
		else
			ok = ecn_model_parse(path, text, n, out, err, err_len);
	}
	if (f != NULL)
		fclose(f);
	free(text);
	return ok;
}

// ---- distance

struct sum {
	double squares;
	unsigned n;
};

static void add_squared_distance(struct sum *s, double a, double b, double scale)
{
	double d = (a - b) / scale;

	if (a < 0 || b < 0)
		return;
	s->squares += d * d;
	s->n++;
}

// As a difference of factors: 10 and 20 are as far apart as 100 and 200.
static void add_factor(struct sum *s, double a, double b, double least, double factor)
{
	if (a >= 0 && b >= 0)
		add_squared_distance(s, 100 + log2(fmax(a, least)), 100 + log2(fmax(b, least)),
				     log2(factor));
}

double ecn_distance(const struct ecn_features *a, const struct ecn_features *b)
{
	struct sum s = {0};

	add_squared_distance(&s, a->utilisation, b->utilisation, 0.2);
	add_factor(&s, a->mark_share, b->mark_share, 0.0005, 3);
	add_factor(&s, a->delay_p99_ns, b->delay_p99_ns, 1000, 3);
	add_factor(&s, a->flows, b->flows, 1, 2);
	add_squared_distance(&s, a->elephants, b->elephants, 0.25);
	return s.n == 0 ? INFINITY : sqrt(s.squares / s.n);
}

const struct ecn_archetype *ecn_model_nearest(const struct ecn_model *m,
					      const struct ecn_features *f, double *distance)
{
	const struct ecn_archetype *best = NULL;

	*distance = INFINITY;
	for (unsigned i = 0; i < m->n; i++) {
		double d = ecn_distance(&m->row[i].at, f);

		if (d >= *distance)
			continue;
		*distance = d;
		best = &m->row[i];
	}
	return *distance <= 1 ? best : NULL;
}

static uint64_t bytes_of_us(double us, uint64_t speed_bps)
{
	return (uint64_t)(us * (double)speed_bps / 8e6);
}

struct ecn_thresholds ecn_model_thresholds(const struct ecn_archetype *a, uint64_t speed_bps)
{
	return (struct ecn_thresholds){bytes_of_us(a->kmin_us, speed_bps),
				       bytes_of_us(a->kmax_us, speed_bps), a->pmax_ppm};
}
