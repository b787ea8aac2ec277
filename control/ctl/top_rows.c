// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top_rows.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_OVERHEAD = 24 }; // preamble 8, gap 12, FCS 4: beside the bytes that are counted

const char *const top_trouble_word[] = {
#define X(id, word) word,
	TOP_TROUBLES(X)
#undef X
};
const char *const top_sort_word[] = {
#define X(id, word) word,
	TOP_SORTS(X)
#undef X
};

double top_per_s(uint64_t before, uint64_t now, double seconds)
{
	uint64_t grown = now >= before ? now - before : now;

	return seconds > 0 ? (double)grown / seconds : 0;
}

// ---- one port

static double most(double a, double b)
{
	return a > b ? a : b;
}

static void rates_of_class(const struct top_class *before, const struct top_class *now,
			   double seconds, double per_s[N_TOP_COUNTS])
{
	for (unsigned k = 0; k <= TOP_LOSSLESS_DROPS; k++)
		per_s[k] = top_per_s(before->count[k], now->count[k], seconds);
}

static double percent_of_line(const struct top_port *p, double bytes, double frames)
{
	return p->speed_bps > 0
		       ? 800 * (bytes + LINE_OVERHEAD * frames) / (double)p->speed_bps
		       : 0;
}

static void rates_of_port(const struct top_port *before, struct top_row *r, double seconds)
{
	const struct top_port *now = r->port;

	for (unsigned k = 0; k < N_TOP_COUNTS; k++)
		r->per_s[k] = top_per_s(before->count[k], now->count[k], seconds);
	for (unsigned c = 0; c < TOP_CLASSES; c++) {
		double *per_s = r->cls_per_s[c];

		rates_of_class(&before->cls[c], &now->cls[c], seconds, per_s);
		r->per_s[TOP_PAUSED_US] = most(r->per_s[TOP_PAUSED_US], per_s[TOP_PAUSED_US]);
		r->per_s[TOP_PAUSING_US] = most(r->per_s[TOP_PAUSING_US], per_s[TOP_PAUSING_US]);
	}
	r->rx_percent =
		percent_of_line(now, r->per_s[TOP_RX_BYTES], r->per_s[TOP_RX_FRAMES]);
	r->tx_percent =
		percent_of_line(now, r->per_s[TOP_TX_BYTES], r->per_s[TOP_TX_FRAMES]);
}

static enum top_trouble trouble_of_class(const struct top_class *c)
{
	static const struct {
		const char *status;
		enum top_trouble trouble;
	} states[] = {
		{"stormed", TROUBLE_STORM},
		{"port-down", TROUBLE_PORT_DOWN},
		{"pfc-off", TROUBLE_PFC_OFF},
		{"drop-all", TROUBLE_DROP_ALL},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(c->status, states[i].status) == 0)
			return states[i].trouble;
	if (c->paused)
		return TROUBLE_PAUSED;
	return c->xoff ? TROUBLE_PAUSING : c->tx_off ? TROUBLE_TX_OFF : TROUBLE_DOWN;
}

static enum top_trouble trouble_of_port(const struct top_row *r)
{
	const struct top_port *p = r->port;
	const struct {
		bool holds;
		enum top_trouble trouble;
	} signs[] = {
		{p->no_device, TROUBLE_NO_DEVICE},
		{p->up, TROUBLE_NONE},
		{r->per_s[TOP_MARKS] > 0, TROUBLE_MARKS},
		{r->per_s[TOP_DROPS] > 0, TROUBLE_DROPS},
		{p->tx_off, TROUBLE_TX_OFF},
		{r->per_s[TOP_PAUSE_TX] > 0, TROUBLE_PAUSING},
		{r->per_s[TOP_PAUSE_RX] > 0, TROUBLE_PAUSED},
		{r->per_s[TOP_LOSSLESS_DROPS] + r->per_s[TOP_RX_MISSED] > 0, TROUBLE_LOSS},
		{p->looped, TROUBLE_LOOP},
	};
	enum top_trouble worst = TROUBLE_DOWN;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (signs[i].holds)
			worst = signs[i].trouble;
	for (unsigned c = 0; c < TOP_CLASSES; c++) {
		enum top_trouble t = trouble_of_class(&p->cls[c]);

		worst = t > worst ? t : worst;
	}
	return worst;
}

static void fill_of_port(struct top_row *r)
{
	for (unsigned i = 0; i < TOP_CLASSES; i++) {
		const struct top_class *c = &r->port->cls[i];

		r->queue_bytes += c->length_bytes;
		if (c->xoff_at_bytes > 0)
			r->fill = most(r->fill,
				       (double)c->used_bytes / (double)c->xoff_at_bytes);
	}
}

// ---- order

static double throughput(const struct top_row *r)
{
	return r->per_s[TOP_RX_BYTES] + r->per_s[TOP_TX_BYTES];
}

static double pause_frames(const struct top_row *r)
{
	return r->per_s[TOP_PAUSE_RX] + r->per_s[TOP_PAUSE_TX];
}

// The larger stands first. Equal rows of a sort follow their trouble, and that their throughput.
static double weight(const struct top_row *r, enum top_sort sort)
{
	switch (sort) {
	case TOP_SORT_THROUGHPUT: return throughput(r);
	case TOP_SORT_PAUSE: return pause_frames(r);
	case TOP_SORT_DROPS: return r->per_s[TOP_DROPS];
	case TOP_SORT_MARKS: return r->per_s[TOP_MARKS];
	case TOP_SORT_BUFFER: return (double)(r->port->buffer_bytes + r->queue_bytes);
	case TOP_SORT_PORT: return -(double)r->index;
	case TOP_SORT_TROUBLE:
	default: return r->trouble;
	}
}

// Of ports in the same trouble.
static double extent(const struct top_row *r)
{
	switch (r->trouble) {
	case TROUBLE_MARKS: return r->per_s[TOP_MARKS];
	case TROUBLE_DROPS: return r->per_s[TOP_DROPS];
	case TROUBLE_PAUSED:
	case TROUBLE_PAUSING: return pause_frames(r);
	case TROUBLE_LOSS: return r->per_s[TOP_LOSSLESS_DROPS] + r->per_s[TOP_RX_MISSED];
	default: return 0;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_row *one = a, *two = b;
	enum top_sort sort = *(const enum top_sort *)arg;
	const double d[] = {
		weight(two, sort) - weight(one, sort),
		weight(two, TOP_SORT_TROUBLE) - weight(one, TOP_SORT_TROUBLE),
		extent(two) - extent(one),
		throughput(two) - throughput(one),
	};

	for (size_t i = 0; i < sizeof(d) / sizeof(d[0]); i++)
		if (d[i] < 0 || d[i] > 0)
			return d[i] < 0 ? -1 : 1;
	return one->index < two->index ? -1 : 1;
}

struct top_rows *top_rows_create(const struct top_snapshot *before, const struct top_snapshot *now,
				 double seconds, const char *filter, enum top_sort sort)
{
	struct top_rows *rows = calloc(1, sizeof(*rows) + now->n_ports * sizeof(rows->row[0]));

	if (rows == NULL)
		return NULL;
	for (unsigned i = 0; i < now->n_ports; i++) {
		struct top_row *r = &rows->row[rows->n];
		const struct top_port *old =
			before != NULL ? top_port_of(before, now->ports[i].name) : NULL;

		if (strstr(now->ports[i].name, filter) == NULL)
			continue;
		rows->n++;
		r->port = &now->ports[i];
		r->index = i;
		r->known = old != NULL && seconds > 0;
		if (r->known)
			rates_of_port(old, r, seconds / now->time_scale);
		fill_of_port(r);
		r->trouble = trouble_of_port(r);
	}
	qsort_r(rows->row, rows->n, sizeof(rows->row[0]), compare, &sort);
	return rows;
}
