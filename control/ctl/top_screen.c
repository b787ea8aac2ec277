// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_word[N_TOP_SORTS] = {
	[TOP_SORT_TROUBLE] = "trouble", [TOP_SORT_THROUGHPUT] = "throughput",
	[TOP_SORT_PAUSE] = "pause", [TOP_SORT_DROPS] = "drops", [TOP_SORT_MARKS] = "marks",
	[TOP_SORT_BUFFER] = "buffer", [TOP_SORT_PORT] = "port",
};

// All that the parts are drawn from.
struct top_page {
	struct top_canvas *c;
	const struct top_data *d;
	const struct top_view *v;
	const struct top_rows *rows; // of the filter
	const struct top_rows *all;
	bool plain; // lines for a pipe
};

// ---- the head: the switch, its workers, its pools

static const double stall_s = 0.2; // an interval in which a worker turns on any machine

enum {
	WORKERS_X = 8,
	BAR_LEAST = 7,
	BAR_MOST = 20,
	FULL_PERCENT = 90, // of a worker or pool, from here on a warning
	PAUSED_PERCENT = 90, // of the time
};

// Writes a piece of the title where all of it fits.
__attribute__((format(printf, 4, 5))) static unsigned piece(struct top_canvas *c, unsigned x,
							    unsigned attr, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || x + (unsigned)n > c->columns)
		return x;
	return top_put(c, 0, x, attr, text) + 2;
}

static void draw_title(const struct top_page *p)
{
	unsigned up = 0, x, n = p->all->n;

	for (unsigned i = 0; i < n; i++)
		up += p->all->row[i].port->up;
	x = piece(p->c, 0, TOP_STRONG, "%s", p->d->name);
	x = piece(p->c, x, TOP_PLAIN, "%s", p->d->clock);
	x = piece(p->c, x, TOP_PLAIN, "%u up", up);
	if (up < n)
		x = piece(p->c, x, TOP_WARNING, "%u down", n - up);
	if (p->v->paused)
		x = piece(p->c, x, TOP_WARNING, "screen paused");
	if (p->v->filter[0] != '\0')
		x = piece(p->c, x, TOP_WARNING, "filter %s", p->v->filter);
	if (p->plain)
		return;
	x = piece(p->c, x, TOP_PLAIN, "sort %s", sort_word[p->v->sort]);
	x = piece(p->c, x, TOP_PLAIN, "every %g s", p->v->interval_s);
	if (p->d->now->time_scale > 1)
		piece(p->c, x, TOP_PLAIN, "time scale %" PRIu32, p->d->now->time_scale);
}

static unsigned attr_of_percent(double percent)
{
	return percent >= FULL_PERCENT ? TOP_WARNING : TOP_GOOD;
}

static void draw_workers(const struct top_page *p, unsigned y)
{
	const struct top_snapshot *s = p->d->now;
	unsigned x = top_put(p->c, y, 0, TOP_PLAIN, "Workers "), width, shown = s->n_workers;
	char label[16];

	if (shown == 0)
		return;
	width = (p->c->columns - WORKERS_X) / shown;
	if (width < BAR_LEAST) {
		shown = (p->c->columns - WORKERS_X) / BAR_LEAST - 1;
		width = BAR_LEAST;
	}
	width = width > BAR_MOST ? BAR_MOST : width;
	for (unsigned i = 0; i < shown; i++) {
		unsigned busy = s->workers[i].busy_percent;

		snprintf(label, sizeof(label), "%u%%", busy);
		x = p->plain ? top_printf(p->c, y, x, TOP_PLAIN, "%s ", label)
			     : top_bar(p->c, y, x, width - 1, busy / 100.0,
				       attr_of_percent(busy), label) + 1;
	}
	if (shown < s->n_workers)
		top_printf(p->c, y, x, TOP_PLAIN, "+%u", s->n_workers - shown);
}

static void draw_pools(const struct top_page *p, unsigned y)
{
	const struct top_snapshot *s = p->d->now;
	unsigned room = s->n_pools > 0 ? p->c->columns / s->n_pools : 0;

	for (unsigned i = 0; i < s->n_pools; i++) {
		uint64_t size = s->pools[i].size_bytes, used = s->pools[i].used_bytes;
		double share = size > 0 ? (double)used / (double)size : 0;
		unsigned name_len = room > BAR_LEAST + 2 ? room - BAR_LEAST - 2 : 0, x = i * room;
		char label[48], a[TOP_NUMBER_LEN], b[TOP_NUMBER_LEN];

		if (name_len > strlen(s->pools[i].name))
			name_len = (unsigned)strlen(s->pools[i].name);
		x = top_printf(p->c, y, x, TOP_PLAIN, "%.*s ", (int)name_len, s->pools[i].name);
		snprintf(label, sizeof(label), "%.0f%%", 100 * share);
		if (p->plain) {
			top_put(p->c, y, x, TOP_PLAIN, label);
			continue;
		}
		if (room - name_len > 2 * BAR_MOST)
			snprintf(label, sizeof(label), "%sB of %sB",
				 top_number(a, (double)used), top_number(b, (double)size));
		top_bar(p->c, y, x, room - name_len - 2, share, attr_of_percent(100 * share),
			label);
	}
}

// ---- alarms

struct alarms {
	const struct top_page *p;
	unsigned y, max_lines, n;
};

__attribute__((format(printf, 2, 3))) static void alarm_line(struct alarms *a, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (a->n++ < a->max_lines)
		top_put(a->p->c, a->y + a->n - 1, 0, TOP_ALARM, text);
}

static void class_alarm(struct alarms *a, const struct top_row *r, unsigned cls)
{
	const struct top_class *c = &r->port->cls[cls];
	double paused_percent = r->cls_per_s[cls][TOP_PAUSED_US] / 1e4;
	bool pfc_off = strcmp(c->status, "pfc-off") == 0;
	const char *name = r->port->name;
	char lasts[TOP_NUMBER_LEN];

	if (strcmp(c->status, "stormed") == 0)
		alarm_line(a, "STORM  %s class %u for %ss: its peer pauses it, action %s", name,
			   cls, top_number(lasts, (double)c->storm_us / 1e6), c->action);
	else if (pfc_off || strcmp(c->status, "port-down") == 0)
		alarm_line(a, "%s  %s class %u: until weirctl watchdog recover %s %u",
			   pfc_off ? "PFC-OFF" : "PORT-DOWN", name, cls, name, cls);
	else if (paused_percent >= PAUSED_PERCENT)
		alarm_line(a, "PAUSED  %s class %u: its peer pauses it %.0f %% of the time", name,
			   cls, paused_percent);
	if (top_unknown_class(r, cls))
		alarm_line(a, "UNKNOWN  %s class %u: %s frames/s dropped: weirctl show hints",
			   name, cls, top_number(lasts, r->cls_per_s[cls][TOP_UNKNOWN]));
}

static unsigned draw_alarms(const struct top_page *p, unsigned y, unsigned max_lines)
{
	struct alarms a = {.p = p, .y = y, .max_lines = max_lines};
	const struct top_snapshot *before = p->d->before, *s = p->d->now;
	const struct top_rows *all = p->all;
	uint64_t lost = 0, missed = 0;

	if (p->d->trouble != NULL)
		alarm_line(&a, "%s", p->d->trouble);
	if (s->drop_all)
		alarm_line(&a, "DROP-ALL  all lossless classes are discarded: until weirctl "
			   "watchdog drop-all off");
	if (s->held)
		alarm_line(&a, "HELD  admission is stopped (weirctl quiesce): until weirctl "
			   "resume");
	for (unsigned i = 0; i < all->n; i++)
		for (unsigned cls = 0; cls < TOP_CLASSES; cls++)
			class_alarm(&a, &all->row[i], cls);
	for (unsigned i = 0; p->d->seconds >= stall_s && i < s->n_workers; i++)
		if (before != NULL && i < before->n_workers &&
		    s->workers[i].loops == before->workers[i].loops)
			alarm_line(&a, "STALLED  worker %u: weirctl show workers names its ports",
				   i);
	for (unsigned i = 0; i < all->n; i++) {
		if (all->row[i].port->looped)
			alarm_line(&a, "LOOP  %s: a loop probe came back", all->row[i].port->name);
		lost += all->row[i].port->count[TOP_LOSSLESS_DROPS];
		missed += all->row[i].port->count[TOP_RX_MISSED];
	}
	if (lost > 0)
		alarm_line(&a, "LOSS  %" PRIu64 " lossless frames so far: weirctl show drops",
			   lost);
	if (missed > 0)
		alarm_line(&a, "LOSS  %" PRIu64 " frames at full receive rings so far: weirctl "
			   "show ports", missed);
	if (a.n == 0 && !p->plain)
		top_put(p->c, y, 0, TOP_GOOD, "no alarm");
	if (a.n > max_lines)
		top_printf(p->c, y + max_lines - 1, p->c->columns > 12 ? p->c->columns - 12 : 0,
			   TOP_ALARM, " +%u alarms  ", a.n - max_lines);
	return y + (a.n > max_lines ? max_lines : a.n > 0 || p->plain ? a.n : 1);
}

// ---- one line for each port: columns that do not fit are left out, the least important first

enum { NAME_LEAST = 4, NAME_MOST = 14, BUFFER_LEAST = 8, BUFFER_SPARE = 22, CELL_LEN = 48 };

static unsigned attr_of(enum top_trouble trouble)
{
	if (trouble >= TROUBLE_LOSS)
		return TOP_ALARM;
	if (trouble >= TROUBLE_DROPS || trouble < TROUBLE_NONE)
		return TOP_WARNING;
	return trouble == TROUBLE_MARKS ? TOP_STRONG : TOP_GOOD;
}

// ---- columns

enum column {
	COLUMN_NAME, COLUMN_STATE, COLUMN_RX, COLUMN_RX_PERCENT, COLUMN_TX, COLUMN_TX_PERCENT,
	COLUMN_PFC_TX, COLUMN_PFC_RX, COLUMN_MARKS, COLUMN_DROPS, COLUMN_BUFFER, COLUMN_QUEUED,
	COLUMN_PAUSED, COLUMN_PAUSING, COLUMN_LOST, COLUMN_SPEED, N_COLUMNS,
};

// In the order of the screen; `rank` is the order in which they find room.
static const struct {
	const char *head;
	unsigned width, rank;
} table_columns[] = {
	{"Port", NAME_LEAST, 0}, {"State", 7, 1}, {"Rx b/s", 6, 2}, {"Rx%", 3, 8},
	{"Tx b/s", 6, 3}, {"Tx%", 3, 9}, {"PFCtx", 5, 5}, {"PFCrx", 5, 6}, {"ECN/s", 5, 7},
	{"Drop/s", 6, 4}, {"Buffer", BUFFER_LEAST, 10}, {"Queued", 6, 11}, {"Paused%", 7, 12},
	{"Pausing%", 8, 13}, {"Lost", 5, 14}, {"Speed", 5, 15},
};
static_assert(sizeof(table_columns) / sizeof(table_columns[0]) == N_COLUMNS, "a row for each");

static unsigned number_cell(bool known, double v, unsigned attr, char out[CELL_LEN])
{
	char text[TOP_NUMBER_LEN];

	snprintf(out, CELL_LEN, "%s", known ? top_number(text, v) : "-");
	return v > 0 ? attr : TOP_FAINT;
}

static unsigned percent_cell(const struct top_row *r, double percent, char out[CELL_LEN])
{
	if (r->known)
		snprintf(out, CELL_LEN, "%.0f", percent < 999 ? percent : 999);
	else
		strcpy(out, "-");
	return percent >= 0.5 ? TOP_PLAIN : TOP_FAINT;
}

// The text of a cell; returns its attribute.
static unsigned column_cell(enum column column, const struct top_row *r, char out[CELL_LEN])
{
	const double *per_s = r->per_s;
	const struct top_port *p = r->port;
	double lost_per_s = per_s[TOP_LOSSLESS_DROPS] + per_s[TOP_RX_MISSED];
	uint64_t lost = p->count[TOP_LOSSLESS_DROPS] + p->count[TOP_RX_MISSED];

	switch (column) {
	case COLUMN_STATE:
		snprintf(out, CELL_LEN, "%s", top_trouble_word[r->trouble]);
		return attr_of(r->trouble);
	case COLUMN_RX: return number_cell(r->known, 8 * per_s[TOP_RX_BYTES], TOP_PLAIN, out);
	case COLUMN_RX_PERCENT: return percent_cell(r, r->rx_percent, out);
	case COLUMN_TX: return number_cell(r->known, 8 * per_s[TOP_TX_BYTES], TOP_PLAIN, out);
	case COLUMN_TX_PERCENT: return percent_cell(r, r->tx_percent, out);
	case COLUMN_PFC_TX: return number_cell(r->known, per_s[TOP_PAUSE_TX], TOP_WARNING, out);
	case COLUMN_PFC_RX: return number_cell(r->known, per_s[TOP_PAUSE_RX], TOP_WARNING, out);
	case COLUMN_MARKS: return number_cell(r->known, per_s[TOP_MARKS], TOP_STRONG, out);
	case COLUMN_DROPS:
		return number_cell(r->known, per_s[TOP_DROPS] + per_s[TOP_RX_MISSED],
				 lost_per_s > 0 ? TOP_ALARM : TOP_WARNING, out);
	case COLUMN_BUFFER: return number_cell(true, (double)p->buffer_bytes, TOP_PLAIN, out);
	case COLUMN_QUEUED: return number_cell(true, (double)r->queue_bytes, TOP_PLAIN, out);
	case COLUMN_PAUSED: return percent_cell(r, per_s[TOP_PAUSED_US] / 1e4, out);
	case COLUMN_PAUSING: return percent_cell(r, per_s[TOP_PAUSING_US] / 1e4, out);
	case COLUMN_LOST: return number_cell(true, (double)lost, TOP_ALARM, out);
	case COLUMN_SPEED: return number_cell(true, (double)p->speed_bps, TOP_PLAIN, out);
	case COLUMN_NAME:
	case N_COLUMNS: break;
	}
	snprintf(out, CELL_LEN, "%s", p->name);
	return TOP_PLAIN;
}

// The width of each column; 0: it is left out.
static void fit(const struct top_page *p, unsigned width[N_COLUMNS])
{
	unsigned name = NAME_LEAST, used = 0, spare;

	for (unsigned i = 0; i < p->all->n; i++)
		if (strlen(p->all->row[i].port->name) > name)
			name = (unsigned)strlen(p->all->row[i].port->name);
	name = name < NAME_MOST ? name : NAME_MOST;
	for (unsigned rank = 0; rank < N_COLUMNS; rank++)
		for (unsigned k = 0; k < N_COLUMNS; k++) {
			unsigned want = k == COLUMN_NAME ? name : table_columns[k].width;

			if (table_columns[k].rank != rank)
				continue;
			width[k] = used + want <= p->c->columns ? want : 0;
			used += width[k] > 0 ? width[k] + 1 : 0;
		}
	spare = used <= p->c->columns ? p->c->columns - used + 1 : 0;
	if (width[COLUMN_BUFFER] > 0 && !p->plain)
		width[COLUMN_BUFFER] += spare < BUFFER_SPARE ? spare : BUFFER_SPARE;
}

static void draw_row(const struct top_page *p, unsigned y, const struct top_row *r,
		     const unsigned width[N_COLUMNS])
{
	unsigned x = 0;
	char text[CELL_LEN];

	for (unsigned k = 0; k < N_COLUMNS; k++) {
		unsigned attr;

		if (width[k] == 0)
			continue;
		attr = column_cell(k, r, text);
		if (k == COLUMN_BUFFER && !p->plain)
			top_bar(p->c, y, x, width[k], r->fill,
				r->fill >= 1 ? TOP_WARNING : TOP_GOOD, text);
		else if (k == COLUMN_NAME || k == COLUMN_STATE)
			top_printf(p->c, y, x, attr, "%.*s", (int)width[k], text);
		else
			top_printf(p->c, y, x, attr, "%*s", (int)width[k], text);
		x += width[k] + 1;
	}
}

static bool is_selected(const struct top_page *p, unsigned i)
{
	return !p->plain && (p->v->selected[0] == '\0'
				     ? i == 0
				     : strcmp(p->rows->row[i].port->name, p->v->selected) == 0);
}

// Idle ports without trouble are left out of plain lines.
static bool is_shown(const struct top_page *p, const struct top_row *r)
{
	return !p->plain || r->trouble > TROUBLE_NONE || r->trouble == TROUBLE_NO_DEVICE ||
	       r->per_s[TOP_RX_FRAMES] + r->per_s[TOP_TX_FRAMES] > 0 || r->queue_bytes > 0;
}

static unsigned draw_table(const struct top_page *p, unsigned y, unsigned first, unsigned max_lines)
{
	unsigned width[N_COLUMNS], x = 0, left_out = 0;

	fit(p, width);
	for (unsigned k = 0; k < N_COLUMNS; k++) {
		if (width[k] == 0)
			continue;
		top_printf(p->c, y, x, TOP_STRONG, "%*s",
			   (int)width[k] * (k == COLUMN_NAME || k == COLUMN_STATE ? -1 : 1),
			   table_columns[k].head);
		x += width[k] + 1;
	}
	top_mark_line(p->c, y++, TOP_REVERSE);
	for (unsigned i = first; i < p->rows->n && i - first - left_out + 1 < max_lines; i++) {
		if (!is_shown(p, &p->rows->row[i])) {
			left_out++;
			continue;
		}
		draw_row(p, y, &p->rows->row[i], width);
		if (is_selected(p, i))
			top_mark_line(p->c, y, TOP_REVERSE);
		y++;
	}
	if (left_out > 0)
		top_printf(p->c, y++, 0, TOP_PLAIN, "(%u idle %s not shown)", left_out,
			   left_out == 1 ? "port is" : "ports are");
	return y;
}

// ---- the last lines: signs of a wrong configuration with their cures, the gravest recent events

enum { NOTE_LEN = 512 };

static const char CUT[] = "...";

static bool concerns(const char *port, const char *name)
{
	return port == NULL || strcmp(port, name) == 0;
}

// ---- hints

// The DSCP of the newest event about RoCE in a lossy class; -1: there is none.
static int lossy_dscp(const struct top_snapshot *s, const char *port)
{
	for (unsigned i = s->n_events; i-- > 0;)
		if (strcmp(s->events[i].name, "roce-in-lossy-class") == 0 &&
		    concerns(port, s->events[i].port))
			return (int)s->events[i].dscp;
	return -1;
}

// One line for a hint that some port counts, with the names of the ports. False: none does.
static bool hint_line(const struct top_page *p, unsigned hint, const char *port,
		      char out[NOTE_LEN], bool *now)
{
	int at = snprintf(out, NOTE_LEN, "hint: %s", top_hints[hint].sign);
	int dscp = lossy_dscp(p->d->now, port);
	unsigned n = 0;
	double rate = 0;

	if (hint == 0 && dscp >= 0)
		at += snprintf(out + at, NOTE_LEN - (size_t)at, " (DSCP %d)", dscp);
	for (unsigned i = 0; i < p->all->n; i++) {
		const struct top_row *r = &p->all->row[i];

		if (!concerns(port, r->port->name) || r->port->count[TOP_HINT + hint] == 0)
			continue;
		if (n++ < 4)
			at += snprintf(out + at, NOTE_LEN - (size_t)at, "%s %s",
				       n == 1 ? " on" : "", r->port->name);
		rate += r->per_s[TOP_HINT + hint];
	}
	if (n > 4)
		at += snprintf(out + at, NOTE_LEN - (size_t)at, " +%u", n - 4);
	*now = rate > 0;
	snprintf(out + at, NOTE_LEN - (size_t)at, "%s: %s", *now ? "" : ", not now",
		 top_hints[hint].cure);
	return n > 0;
}

// ---- events

// Alarms are graver than warnings, and of the same kind the newest comes first.
static unsigned nth_event(const struct top_snapshot *s, const char *port, unsigned nth)
{
	for (unsigned alarm = 2; alarm-- > 0;)
		for (unsigned i = s->n_events; i-- > 0;)
			if (s->events[i].alarm == (alarm == 1) &&
			    concerns(port, s->events[i].port) && nth-- == 0)
				return i;
	return s->n_events;
}

// The watchdog found the storm, and the class obeys PFC again.
static bool is_storm_over(const struct top_snapshot *s, const struct top_event *e)
{
	const struct top_port *port = top_port_of(s, e->port);

	return (strcmp(e->name, "pfc-storm") == 0 || strcmp(e->name, "pfc-storm-limit") == 0) &&
	       port != NULL && e->cls >= 0 && e->cls < TOP_CLASSES &&
	       strcmp(port->cls[e->cls].status, "operational") == 0;
}

// "14:02:11 ALARM pfc-storm p3:3 x12 action=drop". A line that is cut ends in "...".
static void draw_event(const struct top_page *p, unsigned y, const struct top_event *e)
{
	const char *time = strchr(e->time, 'T');
	unsigned x = top_printf(p->c, y, 0, TOP_FAINT, "%.8sZ ", time != NULL ? time + 1 : e->time);
	bool over = is_storm_over(p->d->now, e);

	x = top_put(p->c, y, x, over ? TOP_FAINT : e->alarm ? TOP_ALARM : TOP_WARNING,
		    over ? "over " : e->alarm ? "ALARM " : "warning ");
	x = top_printf(p->c, y, x, TOP_PLAIN, "%s%s%s", e->name, e->port[0] != '\0' ? " " : "",
		       e->port);
	if (e->cls >= 0)
		x = top_printf(p->c, y, x, TOP_PLAIN, ":%d", e->cls);
	if (e->n > 1)
		x = top_printf(p->c, y, x, TOP_STRONG, " x%u", e->n);
	x = top_put(p->c, y, x, TOP_FAINT, e->tail);
	if (x > p->c->columns && p->c->columns > strlen(CUT))
		top_put(p->c, y, p->c->columns - (unsigned)strlen(CUT), TOP_FAINT, CUT);
}

// ---- both

static unsigned count_notes(const struct top_page *p, const char *port)
{
	char text[NOTE_LEN];
	unsigned n = 0;
	bool now;

	for (unsigned i = 0; i < TOP_HINTS; i++)
		if (hint_line(p, i, port, text, &now))
			n += 1 + (unsigned)strlen(text) / p->c->columns;
	for (unsigned i = 0; nth_event(p->d->now, port, i) < p->d->now->n_events; i++)
		n++;
	return n;
}

static unsigned draw_notes(const struct top_page *p, unsigned y, const char *port,
			   unsigned max_lines)
{
	unsigned end = y + max_lines, n = 0, event;
	char text[NOTE_LEN];
	bool now;

	for (unsigned i = 0; i < TOP_HINTS && y < end; i++)
		if (hint_line(p, i, port, text, &now))
			y += top_wrap(p->c, y, end - y, now ? TOP_WARNING : TOP_FAINT, text);
	for (; y < end && (event = nth_event(p->d->now, port, n++)) < p->d->now->n_events; y++)
		draw_event(p, y, &p->d->now->events[event]);
	return y;
}

// ---- the opened port: rates, a line for each class with its queue, why classes are paused

enum { WIDE_LEAST = 76, STATE_LEN = 64 };

static void draw_direction(const struct top_page *p, unsigned y, const struct top_row *r, bool rx)
{
	double percent = rx ? r->rx_percent : r->tx_percent;
	double bits = 8 * r->per_s[rx ? TOP_RX_BYTES : TOP_TX_BYTES];
	double frames = r->per_s[rx ? TOP_RX_FRAMES : TOP_TX_FRAMES];
	char a[TOP_NUMBER_LEN], b[TOP_NUMBER_LEN], label[TOP_NUMBER_LEN];
	unsigned x = top_printf(p->c, y, 0, TOP_PLAIN, "%s %5sb/s %5s frames/s ", rx ? "Rx" : "Tx",
				top_number(a, bits), top_number(b, frames));
	unsigned room = p->c->columns > x ? p->c->columns - x : 0;

	snprintf(label, sizeof(label), "%.0f%%", percent);
	if (p->plain)
		top_put(p->c, y, x, TOP_PLAIN, label);
	else
		top_bar(p->c, y, x, room < 40 ? room : 40, percent / 100, TOP_GOOD, label);
}

// ---- classes

static bool is_idle(const struct top_class *c)
{
	return !c->lossless && !c->tx_off && c->length_bytes + c->max_bytes + c->used_bytes +
						     c->count[TOP_TX_FRAMES] +
						     c->count[TOP_DROPS] == 0;
}

// The state of PFC for the class, in words.
static unsigned pfc_state(const struct top_row *r, unsigned cls, char out[STATE_LEN])
{
	const struct top_class *c = &r->port->cls[cls];
	const double *per_s = r->cls_per_s[cls];
	bool trouble = c->status[0] != '\0' && strcmp(c->status, "operational") != 0 &&
		       strcmp(c->status, "off") != 0;
	int at = 0;

	strcpy(out, c->lossless ? "lossless" : "lossy");
	if (trouble)
		at = snprintf(out, STATE_LEN, "%s ", c->status);
	if (c->paused || per_s[TOP_PAUSED_US] > 0)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "paused %.0f%% ",
			       per_s[TOP_PAUSED_US] / 1e4);
	if (c->xoff || per_s[TOP_PAUSING_US] > 0)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "pausing %.0f%% ",
			       per_s[TOP_PAUSING_US] / 1e4);
	if (c->tx_off)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "tx-off ");
	return trouble ? TOP_ALARM : at > 0 ? TOP_WARNING : TOP_PLAIN;
}

static void draw_class(const struct top_page *p, unsigned y, const struct top_row *r, unsigned cls)
{
	const struct top_class *c = &r->port->cls[cls];
	const double *per_s = r->cls_per_s[cls];
	char n[TOP_NUMBER_LEN], state[STATE_LEN];
	unsigned attr = pfc_state(r, cls, state), x;

	// A narrow screen keeps the state and loses the columns before it.
	const struct {
		double v;
		int width;
		unsigned attr;
	} cells[] = {
		{8 * per_s[TOP_TX_BYTES], 6, TOP_PLAIN},
		{(double)c->length_bytes, 6, TOP_PLAIN},
		{(double)c->max_bytes, 6, TOP_PLAIN},
		{per_s[TOP_MARKS], 5, per_s[TOP_MARKS] > 0 ? TOP_STRONG : TOP_PLAIN},
		{per_s[TOP_DROPS], 6, per_s[TOP_DROPS] > 0 ? TOP_ALARM : TOP_PLAIN},
		{per_s[TOP_PAUSE_TX], 5, TOP_PLAIN},
		{per_s[TOP_PAUSE_RX], 5, TOP_PLAIN},
	};
	size_t n_cells = p->c->columns >= WIDE_LEAST ? sizeof(cells) / sizeof(cells[0]) : 1;

	x = top_printf(p->c, y, 0, TOP_PLAIN, "%5u %5u", cls, c->queue);
	for (size_t i = 0; i < n_cells; i++)
		x = top_printf(p->c, y, x, cells[i].attr, " %*s", cells[i].width,
			       top_number(n, cells[i].v));
	top_put(p->c, y, x + 1, attr, state);
}

static unsigned draw_classes(const struct top_page *p, unsigned y, const struct top_row *r)
{
	bool narrow = p->c->columns < WIDE_LEAST;
	unsigned idle = 0;

	top_put(p->c, y, 0, TOP_STRONG,
		narrow ? "Class Queue Tx b/s PFC"
		       : "Class Queue Tx b/s  Depth   Peak ECN/s Drop/s PFCtx PFCrx PFC");
	top_mark_line(p->c, y++, TOP_REVERSE);
	for (unsigned cls = 0; cls < TOP_CLASSES; cls++) {
		if (is_idle(&r->port->cls[cls]))
			idle++;
		else
			draw_class(p, y++, r, cls);
	}
	if (idle > 0)
		top_printf(p->c, y++, 0, TOP_FAINT, "(%u idle classes are not shown)", idle);
	return y;
}

// ---- drops by reason

static uint64_t drops_before(const struct top_page *p, const struct top_drop *d)
{
	const struct top_snapshot *s = p->d->before;

	for (unsigned i = 0; s != NULL && i < s->n_drops; i++)
		if (strcmp(s->drops[i].port, d->port) == 0 && s->drops[i].cls == d->cls &&
		    strcmp(s->drops[i].reason, d->reason) == 0)
			return s->drops[i].packets;
	return 0;
}

static unsigned draw_drops(const struct top_page *p, unsigned y, const struct top_row *r,
			   unsigned end)
{
	const struct top_snapshot *s = p->d->now;

	for (unsigned i = 0; i < s->n_drops && y < end; i++) {
		const struct top_drop *d = &s->drops[i];
		char rate[TOP_NUMBER_LEN];

		if (strcmp(d->port, r->port->name) != 0)
			continue;
		top_number(rate, r->known ? top_per_s(drops_before(p, d), d->packets,
						      p->d->seconds / s->time_scale)
					  : 0);
		top_printf(p->c, y++, 0, TOP_PLAIN, "drops class %u %s: %s/s, %" PRIu64 " so far",
			   d->cls, d->reason, rate, d->packets);
	}
	return y;
}

// The lines of `show pfc --why`.
static unsigned draw_causes(const struct top_page *p, unsigned y, unsigned end)
{
	const char *at = p->d->now->causes;
	char line[512];

	while (at != NULL && *at != '\0' && y < end) {
		size_t len = strcspn(at, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)len, at);
		y += top_wrap(p->c, y, end - y, TOP_PLAIN, line);
		at += len + (at[len] == '\n');
	}
	return y;
}

static unsigned draw_port(const struct top_page *p, unsigned y, const struct top_row *r,
		       unsigned max_lines)
{
	char speed[TOP_NUMBER_LEN];
	unsigned end = y + max_lines, x;

	x = top_printf(p->c, y, 0, TOP_STRONG, "%s", r->port->name);
	x = top_put(p->c, y, x + 1, attr_of(r->trouble), top_trouble_word[r->trouble]);
	top_printf(p->c, y, x, TOP_PLAIN, "  %sb/s  %s",
		   top_number(speed, (double)r->port->speed_bps), r->port->device);
	draw_direction(p, y + 1, r, true);
	draw_direction(p, y + 2, r, false);
	y = draw_classes(p, y + 3, r);
	y = draw_drops(p, y, r, end);
	y = draw_causes(p, y, end);
	return y < end ? draw_notes(p, y, r->port->name, end - y) : y;
}

// ---- the screen

enum { PLAIN_LINES = 400, PAGE_ROWS = 10 };

static const char *const help[] = {
	"arrows, j k     select a port       Enter   open the port",
	"Esc             back                q       quit",
	"s               sort by the next    p       pause",
	"+ -             longer and shorter interval",
	"/               show ports with a text in their name",
	"",
	"All numbers are per second, of the interval; k M G are powers of 1000.",
	"Rx% Tx%   share of the line, with preamble, gap and FCS",
	"PFCtx     PFC frames of the switch to the peer, counted for each class",
	"PFCrx     PFC frames of the peer",
	"ECN/s     frames that the switch marked",
	"Buffer    bytes of frames that came in here; a full bar is XOFF or a drop",
	"State     the worst of: STORM WD-DOWN PFC-OFF DROPALL LOOP LOSS",
	"          paused (by the peer) pausing (the peer) tx-off drops marks up",
	"          no-dev (no interface) down",
};

static void draw_keys(const struct top_page *p)
{
	unsigned y = p->c->lines - 1;

	if (p->v->typing)
		top_printf(p->c, y, 0, TOP_STRONG, "filter: %s_   Enter: keep  Esc: all ports",
			   p->v->filter);
	else if (p->v->help || p->v->opened[0] != '\0')
		top_put(p->c, y, 0, TOP_FAINT, "Esc back  q quit  p pause  + - interval  h help");
	else
		top_put(p->c, y, 0, TOP_FAINT,
			"h help  q quit  Enter open  s sort  / filter  p pause  + - interval");
}

// NULL: the port is not shown.
static const struct top_row *top_row_of_port(const struct top_rows *rows, const char *port)
{
	for (unsigned i = 0; i < rows->n; i++)
		if (strcmp(rows->row[i].port->name, port) == 0)
			return &rows->row[i];
	return NULL;
}

// The place of the selected port; 0 where that port is not shown.
static unsigned selected_row(const struct top_rows *rows, const struct top_view *v)
{
	const struct top_row *r = top_row_of_port(rows, v->selected);

	return r != NULL ? (unsigned)(r - rows->row) : 0;
}

// Notes get the lines that ports leave, and a third of them at least.
static void draw_all_ports(const struct top_page *p, unsigned y)
{
	unsigned room = p->c->lines - 1 - y, notes = count_notes(p, NULL);
	unsigned ports = p->rows->n + 1, least = room / 3 < notes ? room / 3 : notes;
	unsigned shown = ports < room - least ? ports : room - least;
	unsigned at = selected_row(p->rows, p->v), first;

	first = shown > 1 && at + 2 > shown ? at + 2 - shown : 0;
	y = draw_table(p, y, first, shown);
	draw_notes(p, y, NULL, p->c->lines - 1 - y);
}

static void draw_page(const struct top_page *p)
{
	const struct top_row *opened = top_row_of_port(p->all, p->v->opened);
	unsigned end = p->c->lines - (p->plain ? 0 : 1), y; // keys have the last line

	draw_title(p);
	draw_workers(p, 1);
	draw_pools(p, 2);
	y = draw_alarms(p, 3, p->plain ? end - 3 : 1 + p->c->lines / 12);
	if (p->v->help && !p->plain) {
		for (size_t i = 0; i < sizeof(help) / sizeof(help[0]) && y < end; i++)
			top_put(p->c, y++, 0, TOP_PLAIN, help[i]);
	} else if (opened != NULL) {
		draw_port(p, y, opened, end - y);
	} else if (p->plain) {
		y = draw_table(p, y, 0, p->rows->n + 1);
		draw_notes(p, y, NULL, TOP_HINTS);
	} else {
		draw_all_ports(p, y);
	}
	if (p->plain)
		return;
	// The opened port may have drawn into the line of the keys.
	for (unsigned x = 0; x < p->c->columns; x++)
		top_put(p->c, end, x, TOP_PLAIN, " ");
	draw_keys(p);
}

static struct top_canvas *draw(const struct top_data *d, const struct top_view *v, unsigned lines,
			       unsigned columns, bool ascii, bool plain)
{
	struct top_canvas *c = top_canvas_create(lines, columns, ascii);
	struct top_rows *rows, *all;

	if (c == NULL)
		return NULL;
	if (lines < TOP_LINES_LEAST || columns < TOP_COLUMNS_LEAST) {
		top_printf(c, 0, 0, TOP_PLAIN, "%ux%u is too small", columns, lines);
		top_printf(c, 1, 0, TOP_PLAIN, "needs %dx%d", TOP_COLUMNS_LEAST, TOP_LINES_LEAST);
		return c;
	}
	rows = top_rows_create(d->before, d->now, d->seconds, v->filter, v->sort);
	all = top_rows_create(d->before, d->now, d->seconds, "", TOP_SORT_PORT);
	if (rows != NULL && all != NULL)
		draw_page(&(struct top_page){.c = c, .d = d, .v = v, .rows = rows, .all = all,
					     .plain = plain});
	free(rows);
	free(all);
	return c;
}

struct top_canvas *top_draw(const struct top_data *d, const struct top_view *v, unsigned lines,
			    unsigned columns, bool ascii)
{
	return draw(d, v, lines, columns, ascii, false);
}

struct top_canvas *top_draw_plain(const struct top_data *d, const struct top_view *v)
{
	return draw(d, v, PLAIN_LINES, TOP_PLAIN_COLUMNS, true, true);
}

// ---- keys

// Selects another port where ports are shown.
static void move_selection(struct top_view *v, const struct top_data *d, int by)
{
	struct top_rows *rows;
	int at;

	if (v->help || v->opened[0] != '\0')
		return;
	rows = top_rows_create(d->before, d->now, d->seconds, v->filter, v->sort);
	if (rows != NULL && rows->n > 0) {
		at = (int)selected_row(rows, v) + by;
		at = at < 0 ? 0 : at < (int)rows->n ? at : (int)rows->n - 1;
		strcpy(v->selected, rows->row[at].port->name);
	}
	free(rows);
}

static void type(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == '\n') {
		v->typing = false;
	} else if (key == TOP_ESCAPE) {
		v->typing = false;
		v->filter[0] = '\0';
	} else if (key == TOP_KEY_BACKSPACE && len > 0) {
		v->filter[len - 1] = '\0';
	} else if (key > ' ' && key <= '~' && len + 1 < sizeof(v->filter)) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = '\0';
	}
}

static void change_interval(struct top_view *v, bool longer)
{
	static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
	enum { N_STEPS = sizeof(steps) / sizeof(steps[0]) };

	for (unsigned i = 0; i < N_STEPS; i++) {
		double step = steps[longer ? i : N_STEPS - 1 - i];

		if (longer ? step > v->interval_s : step < v->interval_s) {
			v->interval_s = step;
			return;
		}
	}
}

bool top_press(struct top_view *v, const struct top_data *d, int key)
{
	if (v->typing) {
		type(v, key);
		return true;
	}
	switch (key) {
	case 'q': return false;
	case TOP_ESCAPE:
		if (v->help)
			v->help = false;
		else if (v->opened[0] != '\0')
			v->opened[0] = '\0';
		else
			v->filter[0] = '\0';
		break;
	case 'k':
	case TOP_KEY_UP: move_selection(v, d, -1); break;
	case 'j':
	case TOP_KEY_DOWN: move_selection(v, d, 1); break;
	case TOP_KEY_PAGE_UP: move_selection(v, d, -PAGE_ROWS); break;
	case TOP_KEY_PAGE_DOWN: move_selection(v, d, PAGE_ROWS); break;
	case '\n':
		move_selection(v, d, 0);
		if (v->opened[0] == '\0' && !v->help)
			strcpy(v->opened, v->selected);
		break;
	case 's': v->sort = (v->sort + 1) % N_TOP_SORTS; break;
	case 'p': v->paused = !v->paused; break;
	case 'h':
	case '?': v->help = !v->help; break;
	case '+': change_interval(v, true); break;
	case '-': change_interval(v, false); break;
	case '/':
		v->typing = true;
		v->filter[0] = '\0';
		break;
	default: break;
	}
	return true;
}
