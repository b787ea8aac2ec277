// SPDX-License-Identifier: Apache-2.0
#include "control/lab/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/base/rows.h"
#include "control/config/model.h"
#include "dataplane/base/units.h"
#include "drivers/nic/requester.h"

enum trace_format { TRACE_NONE, TRACE_HPCC, TRACE_HTSIM, TRACE_CSV };
enum column { COL_START, COL_FROM, COL_TO, COL_BYTES, COL_CLASS, N_COLS };
enum { MAX_FIELDS = 64, MAX_CLASS = 7, TEXT = 64 };

static const double ns_per_ps = 1e-3, ns_per_s = 1e9;
static const double longest_ns = 1e15; // exact in a double

// A word of a line, or a field of CSV.
struct word {
	const char *at;
	size_t len;
};

struct named_host {
	const char *name;
	uint32_t index;
};

// One file being read. p is at the next character; the line ends at eol.
struct trace_reader {
	const char *file, *line, *p, *eol;
	uint32_t number; // of the line
	enum trace_format format;
	const struct trace_hosts *hosts;
	struct named_host *by_name; // of CSV
	struct trace_flow *flows;
	uint32_t n;
	bool is_headed; // n_said is set
	uint64_t n_said; // number of flows by the file's own head
	// Of CSV.
	int8_t field_column[MAX_FIELDS]; // enum column; -1: not used
	uint32_t n_fields;
	double ns_per_start; // 0: texts with a unit
	bool has_column[N_COLS];
	struct arena *a;
	struct diag_sink *s;
};

__attribute__((format(printf, 3, 4))) static bool report_trace_error(struct trace_reader *r,
								     const char *at,
								     const char *fmt, ...)
{
	const struct cfg_pos pos = {r->number, (uint32_t)(at - r->line) + 1, r->file, NULL};
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return diag_add(r->s, DIAG_ERROR, pos, NULL, "%s", text);
}

// ---- words

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

// len 0: the line has no further word.
static struct word next_word(struct trace_reader *r)
{
	struct word w;

	while (r->p < r->eol && is_blank(*r->p))
		r->p++;
	w.at = r->p;
	while (r->p < r->eol && !is_blank(*r->p))
		r->p++;
	w.len = (size_t)(r->p - w.at);
	return w;
}

// A field of CSV without blanks around it; the caller knows that there is one.
static struct word next_field(struct trace_reader *r)
{
	const char *end = memchr(r->p, ',', (size_t)(r->eol - r->p));
	struct word w = {r->p, 0};

	end = end == NULL ? r->eol : end;
	r->p = end < r->eol ? end + 1 : r->eol;
	while (w.at < end && is_blank(*w.at))
		w.at++;
	while (end > w.at && is_blank(end[-1]))
		end--;
	w.len = (size_t)(end - w.at);
	return w;
}

static bool word_equals(struct word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

// The word alone: what searches for the end of a string would else go through the rest of the file
// for each word. A longer one than there is room for is cut; it is no number and no name.
static void copy_word(struct word w, char out[TEXT])
{
	snprintf(out, TEXT, "%.*s", (int)w.len, w.at);
}

// A whole number of at most max.
static bool read_count(struct trace_reader *r, struct word w, uint64_t max, const char *what,
		       uint64_t *out)
{
	unsigned long long n;
	char text[TEXT];
	size_t digits;

	copy_word(w, text);
	digits = strspn(text, "0123456789");
	n = digits == 0 ? 0 : strtoull(text, NULL, 10);
	if (digits == 0 || digits != w.len || n > max)
		return report_trace_error(r, w.at, "expected %s, a whole number up to %" PRIu64,
					  what, max);
	*out = n;
	return true;
}

static bool read_time(struct trace_reader *r, struct word w, double ns_per_unit, uint64_t *out)
{
	char text[TEXT], *end = NULL;
	double ns;
	size_t len;

	copy_word(w, text);
	len = strspn(text, "0123456789.eE+-");
	ns = len == 0 ? -1 : strtod(text, &end) * ns_per_unit;
	if (len == 0 || len != w.len || end != text + w.len || !(ns >= 0 && ns <= longest_ns))
		return report_trace_error(r, w.at,
					  "expected the time at which the flow starts, a number");
	*out = (uint64_t)llround(ns);
	return true;
}

static bool read_time_text(struct trace_reader *r, struct word w, uint64_t *out)
{
	char text[TEXT];
	const char *why;
	int64_t ns;

	copy_word(w, text);
	if (w.len >= sizeof(text) || !unit_parse(UNIT_TIME, text, &ns, &why) || ns < 0)
		return report_trace_error(r, w.at, "expected a time such as 20us");
	*out = (uint64_t)ns;
	return true;
}

// ---- hosts

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named_host *)a)->name, ((const struct named_host *)b)->name);
}

static void sort_names(struct trace_reader *r)
{
	r->by_name = arena_alloc(r->a, (r->hosts->n + 1) * sizeof(*r->by_name));
	for (uint32_t i = 0; i < r->hosts->n; i++)
		r->by_name[i] = (struct named_host){r->hosts->names[i], i};
	qsort(r->by_name, r->hosts->n, sizeof(*r->by_name), by_name);
}

static bool read_host(struct trace_reader *r, struct word w, uint32_t *out)
{
	const struct named_host *found = NULL;
	unsigned long long n;
	char text[TEXT];
	bool is_number;

	copy_word(w, text);
	is_number = w.len != 0 && strspn(text, "0123456789") == w.len;
	n = is_number ? strtoull(text, NULL, 10) : 0;
	if (is_number && n < r->hosts->n) {
		*out = (uint32_t)n;
		return true;
	}
	if (!is_number && r->by_name != NULL && w.len < sizeof(text))
		found = bsearch(&(struct named_host){.name = text}, r->by_name, r->hosts->n,
				sizeof(*r->by_name), by_name);
	if (found == NULL)
		return report_trace_error(
			r, w.at, "there is no host \"%.32s\": the hosts of the flow are 0 to %u%s",
			text, r->hosts->n - 1, r->by_name != NULL ? ", or their names" : "");
	*out = found->index;
	return true;
}

// ---- flows

static bool add_flow(struct trace_reader *r, const struct trace_flow *f)
{
	if (r->n == TRACE_MAX_FLOWS)
		return report_trace_error(r, r->line, "more than %d flows", TRACE_MAX_FLOWS);
	if (f->src == f->dst)
		return report_trace_error(r, r->line, "%s would send to itself",
					  r->hosts->names[f->src]);
	r->flows[r->n] = *f;
	r->flows[r->n++].line = r->number & 0xffffff;
	return true;
}

static bool read_bytes(struct trace_reader *r, struct word w, uint32_t *out)
{
	uint64_t n;

	if (!read_count(r, w, REQ_MAX_MSG_BYTES, "the bytes of the flow", &n))
		return false;
	if (n == 0)
		return report_trace_error(r, w.at, "a flow has 1 B to 1 GiB");
	*out = (uint32_t)n;
	return true;
}

static bool read_class(struct trace_reader *r, struct word w, struct trace_flow *f)
{
	uint64_t n;

	if (!read_count(r, w, MAX_CLASS, "a class", &n))
		return false;
	f->cls = n & MAX_CLASS;
	return true;
}

static bool no_more(struct trace_reader *r)
{
	struct word w = next_word(r);

	return w.len == 0 || report_trace_error(r, w.at, "expected the end of the line");
}

static bool read_hpcc(struct trace_reader *r)
{
	struct trace_flow f = {0};
	struct word w[6];
	uint64_t port;

	for (unsigned i = 0; i < N(w); i++) {
		w[i] = next_word(r);
		if (w[i].len == 0)
			return report_trace_error(
				r, w[i].at,
				"expected source, destination, class, port, bytes and seconds");
	}
	return read_host(r, w[0], &f.src) && read_host(r, w[1], &f.dst) &&
	       read_class(r, w[2], &f) && read_count(r, w[3], UINT32_MAX, "a port", &port) &&
	       read_bytes(r, w[4], &f.n_bytes) && read_time(r, w[5], ns_per_s, &f.start_ns) &&
	       no_more(r) && add_flow(r, &f);
}

// Of the words behind the hosts those that a replay needs; `id` and `prio` change nothing here.
static bool read_htsim_key(struct trace_reader *r, struct word key, struct trace_flow *f,
			   bool *is_timed)
{
	struct word w = next_word(r);
	uint64_t n;

	if (word_equals(key, "start")) {
		*is_timed = true;
		return read_time(r, w, ns_per_ps, &f->start_ns);
	}
	if (word_equals(key, "size"))
		return read_bytes(r, w, &f->n_bytes);
	if (word_equals(key, "id") || word_equals(key, "prio"))
		return read_count(r, w, UINT32_MAX, "a number", &n);
	return report_trace_error(r, key.at,
				  "expected id, start, size or prio; triggers are not replayed");
}

static bool read_htsim(struct trace_reader *r)
{
	struct word w = next_word(r), from = w, to, key;
	const char *arrow = w.len < 2 ? NULL : memmem(w.at, w.len, "->", 2);
	struct trace_flow f = {0};
	bool is_timed = false;
	uint64_t n;

	if (word_equals(w, "Nodes") || word_equals(w, "Connections")) {
		if (!read_count(r, next_word(r), UINT32_MAX, "a number", &n) || !no_more(r))
			return false;
		if (*w.at == 'C') {
			r->is_headed = true;
			r->n_said = n;
		}
		return true;
	}
	if (arrow == NULL)
		return report_trace_error(r, w.at,
					  "expected `0->1 id 1 start PICOSECONDS size BYTES`");
	from.len = (size_t)(arrow - w.at);
	to = (struct word){arrow + 2, w.len - from.len - 2};
	if (!read_host(r, from, &f.src) || !read_host(r, to, &f.dst))
		return false;
	while ((key = next_word(r)).len != 0)
		if (!read_htsim_key(r, key, &f, &is_timed))
			return false;
	if (!is_timed || f.n_bytes == 0)
		return report_trace_error(r, r->line, "the flow needs a start and a size");
	return add_flow(r, &f);
}

// ---- CSV

static const struct {
	const char *name;
	enum column column;
	double ns_per_start;
} columns[] = {
	{"start", COL_START, 0},       {"start_ns", COL_START, 1},   {"posted_ns", COL_START, 1},
	{"start_us", COL_START, 1e3},  {"start_ms", COL_START, 1e6}, {"start_s", COL_START, 1e9},
	{"from", COL_FROM, 0},	       {"to", COL_TO, 0},	     {"bytes", COL_BYTES, 0},
	{"class", COL_CLASS, 0},
};

static uint32_t count_fields(const struct trace_reader *r)
{
	uint32_t n = 1;

	for (const char *at = r->line; at < r->eol; at++)
		n += *at == ',';
	return n;
}

static bool read_csv_head(struct trace_reader *r)
{
	static const char *const needed[] = {"start (or start_ns, start_us, start_ms, start_s)",
					     "from", "to", "bytes"};
	uint32_t n = count_fields(r);

	if (n > MAX_FIELDS)
		return report_trace_error(r, r->line, "more than %d columns", MAX_FIELDS);
	for (r->n_fields = 0; r->n_fields < n; r->n_fields++) {
		struct word w = next_field(r);

		r->field_column[r->n_fields] = -1;
		for (unsigned i = 0; i < N(columns); i++) {
			if (!word_equals(w, columns[i].name))
				continue;
			if (r->has_column[columns[i].column])
				return report_trace_error(r, w.at,
							  "a second column of the same meaning");
			r->has_column[columns[i].column] = true;
			r->field_column[r->n_fields] = (int8_t)columns[i].column;
			if (columns[i].column == COL_START)
				r->ns_per_start = columns[i].ns_per_start;
		}
	}
	for (unsigned i = 0; i < N(needed); i++)
		if (!r->has_column[i])
			return report_trace_error(r, r->line, "there is no column %s", needed[i]);
	sort_names(r);
	return true;
}

static bool read_csv_field(struct trace_reader *r, struct word w, int column,
			   struct trace_flow *f)
{
	switch (column) {
	case COL_START:
		return r->ns_per_start > 0 ? read_time(r, w, r->ns_per_start, &f->start_ns)
					   : read_time_text(r, w, &f->start_ns);
	case COL_FROM:
		return read_host(r, w, &f->src);
	case COL_TO:
		return read_host(r, w, &f->dst);
	case COL_BYTES:
		return read_bytes(r, w, &f->n_bytes);
	case COL_CLASS:
		return read_class(r, w, f);
	default:
		return true;
	}
}

static bool read_csv(struct trace_reader *r)
{
	struct trace_flow f = {0};
	uint32_t n = count_fields(r);

	if (r->n_fields == 0)
		return read_csv_head(r);
	if (n != r->n_fields)
		return report_trace_error(r, r->line, "%u fields, and the first line has %u", n,
					  r->n_fields);
	for (uint32_t i = 0; i < n; i++)
		if (!read_csv_field(r, next_field(r), r->field_column[i], &f))
			return false;
	return add_flow(r, &f);
}

// ---- all of it

// The first line that says something.
static bool read_first(struct trace_reader *r)
{
	struct word w = next_word(r);
	const char *from = w.at;
	char text[TEXT];

	copy_word(w, text);
	if (memchr(r->line, ',', (size_t)(r->eol - r->line)) != NULL) {
		r->p = r->line;
		r->format = TRACE_CSV;
		return read_csv(r);
	}
	if (word_equals(w, "Nodes") || word_equals(w, "Connections") ||
	    memmem(w.at, w.len, "->", 2)) {
		r->p = from;
		r->format = TRACE_HTSIM;
		return read_htsim(r);
	}
	if (strspn(text, "0123456789") == w.len && next_word(r).len == 0) {
		r->format = TRACE_HPCC;
		r->is_headed = true;
		return read_count(r, w, UINT32_MAX, "the number of flows", &r->n_said);
	}
	return report_trace_error(
		r, w.at,
		"expected the number of flows (HPCC), `Nodes` (htsim), or the names of "
		"columns with commas (CSV)");
}

static bool read_trace_line(struct trace_reader *r)
{
	static bool (*const readers[])(struct trace_reader *) = {
		[TRACE_NONE] = read_first,
		[TRACE_HPCC] = read_hpcc,
		[TRACE_HTSIM] = read_htsim,
		[TRACE_CSV] = read_csv,
	};

	while (r->p < r->eol && is_blank(*r->p))
		r->p++;
	if (r->p == r->eol || *r->p == '#')
		return true;
	return readers[r->format](r);
}

static int by_start(const void *a, const void *b)
{
	const struct trace_flow *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void sort_flows(struct trace_flow *flows, uint32_t n)
{
	uint64_t first;
	uint32_t sorted = 1;

	while (sorted < n && flows[sorted - 1].start_ns <= flows[sorted].start_ns)
		sorted++;
	if (sorted < n)
		qsort(flows, n, sizeof(*flows), by_start);
	first = flows[0].start_ns;
	for (uint32_t i = 0; i < n; i++)
		flows[i].start_ns -= first;
}

int trace_parse(const char *file, const char *text, size_t len, const struct trace_hosts *hosts,
		struct arena *a, struct trace *out, struct diag_sink *s)
{
	struct trace_reader r = {.file = file, .p = text, .line = text, .eol = text,
				 .hosts = hosts, .a = a, .s = s};
	size_t n_lines = 1;
	bool ok = true;

	for (size_t i = 0; i < len; i++)
		n_lines += text[i] == '\n';
	r.flows = arena_alloc(a, min_u64(n_lines, TRACE_MAX_FLOWS) * sizeof(*r.flows));
	for (; r.p < text + len && !diag_is_full(s); r.p = r.eol + 1) {
		r.number++;
		r.line = r.p;
		r.eol = memchr(r.p, '\n', (size_t)(text + len - r.p));
		if (r.eol == NULL)
			r.eol = text + len;
		ok &= read_trace_line(&r);
	}
	r.number += r.number == 0;
	if (ok && r.n == 0)
		ok = report_trace_error(&r, r.line, "the file has no flow");
	if (ok && r.is_headed && r.n_said != r.n)
		ok = report_trace_error(&r, r.line,
					"the head says %" PRIu64 " flows, and the file has %u",
					r.n_said, r.n);
	if (!ok)
		return -EINVAL;
	sort_flows(r.flows, r.n);
	*out = (struct trace){r.flows, r.n,
			      r.format == TRACE_HPCC || r.has_column[COL_CLASS]};
	return 0;
}

int trace_load(const char *path, const struct trace_hosts *hosts, struct arena *a,
	       struct trace *out, struct diag_sink *s)
{
	char *text;
	size_t len;
	int err = config_read_long_file(path, TRACE_MAX_FILE, &text, &len);

	if (err != 0)
		return err;
	err = len > TRACE_MAX_FILE ? -EFBIG : trace_parse(path, text, len, hosts, a, out, s);
	free(text);
	return err;
}
