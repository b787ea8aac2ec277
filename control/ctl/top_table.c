// SPDX-License-Identifier: Apache-2.0
// One line for each port. Columns that do not fit are left out, the least important first.
#include <string.h>

#include "control/ctl/top_impl.h"

enum { NAME_LEAST = 4, NAME_MOST = 14, BAR_LEAST = 8, BAR_MOST = 30, CELL_LEN = 48 };

unsigned top_attr_of(enum top_trouble trouble)
{
	if (trouble >= TROUBLE_LOSS)
		return TOP_ALARM;
	if (trouble >= TROUBLE_DROPS || trouble < TROUBLE_NONE)
		return TOP_WARNING;
	return trouble == TROUBLE_MARKS ? TOP_STRONG : TOP_GOOD;
}

// ---- cells: the text, and what is wrong with the value

static unsigned rate_cell(const struct top_row *r, double v, unsigned attr, char out[CELL_LEN])
{
	char text[TOP_NUMBER_LEN];

	snprintf(out, CELL_LEN, "%s", r->known ? top_number(text, v) : "-");
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

static unsigned name_cell(const struct top_row *r, char out[CELL_LEN])
{
	snprintf(out, CELL_LEN, "%s", r->port->name);
	return TOP_PLAIN;
}

static unsigned state_cell(const struct top_row *r, char out[CELL_LEN])
{
	snprintf(out, CELL_LEN, "%s", top_trouble_word[r->trouble]);
	return top_attr_of(r->trouble);
}

static unsigned rx_cell(const struct top_row *r, char out[CELL_LEN])
{
	return rate_cell(r, 8 * r->per_s[TOP_RX_BYTES], TOP_PLAIN, out);
}

static unsigned tx_cell(const struct top_row *r, char out[CELL_LEN])
{
	return rate_cell(r, 8 * r->per_s[TOP_TX_BYTES], TOP_PLAIN, out);
}

static unsigned rx_percent_cell(const struct top_row *r, char out[CELL_LEN])
{
	return percent_cell(r, r->rx_percent, out);
}

static unsigned tx_percent_cell(const struct top_row *r, char out[CELL_LEN])
{
	return percent_cell(r, r->tx_percent, out);
}

static unsigned pause_tx_cell(const struct top_row *r, char out[CELL_LEN])
{
	return rate_cell(r, r->per_s[TOP_PAUSE_TX], TOP_WARNING, out);
}

static unsigned pause_rx_cell(const struct top_row *r, char out[CELL_LEN])
{
	return rate_cell(r, r->per_s[TOP_PAUSE_RX], TOP_WARNING, out);
}

static unsigned marks_cell(const struct top_row *r, char out[CELL_LEN])
{
	return rate_cell(r, r->per_s[TOP_MARKS], TOP_STRONG, out);
}

static unsigned drops_cell(const struct top_row *r, char out[CELL_LEN])
{
	double lost = r->per_s[TOP_LOSSLESS_DROPS] + r->per_s[TOP_RX_MISSED];

	return rate_cell(r, r->per_s[TOP_DROPS] + r->per_s[TOP_RX_MISSED],
			 lost > 0 ? TOP_ALARM : TOP_WARNING, out);
}

static unsigned paused_cell(const struct top_row *r, char out[CELL_LEN])
{
	return percent_cell(r, r->per_s[TOP_PAUSED_US] / 1e4, out);
}

static unsigned pausing_cell(const struct top_row *r, char out[CELL_LEN])
{
	return percent_cell(r, r->per_s[TOP_PAUSING_US] / 1e4, out);
}

static unsigned bytes_cell(double bytes, char out[CELL_LEN])
{
	char text[TOP_NUMBER_LEN];

	snprintf(out, CELL_LEN, "%s", top_number(text, bytes));
	return bytes > 0 ? TOP_PLAIN : TOP_FAINT;
}

static unsigned queue_cell(const struct top_row *r, char out[CELL_LEN])
{
	return bytes_cell((double)r->queue_bytes, out);
}

static unsigned speed_cell(const struct top_row *r, char out[CELL_LEN])
{
	return bytes_cell((double)r->port->speed_bps, out);
}

static unsigned lost_cell(const struct top_row *r, char out[CELL_LEN])
{
	double lost = (double)(r->port->count[TOP_LOSSLESS_DROPS] + r->port->count[TOP_RX_MISSED]);

	return bytes_cell(lost, out) == TOP_PLAIN ? TOP_ALARM : TOP_FAINT;
}

static unsigned buffer_cell(const struct top_row *r, char out[CELL_LEN])
{
	return bytes_cell((double)r->port->buffer_bytes, out);
}

// ---- columns

enum { NAME, STATE, BUFFER = 10 };

// In the order of the screen; `rank` is the order in which they find room.
static const struct column {
	const char *head;
	unsigned width, rank;
	unsigned (*cell)(const struct top_row *r, char out[CELL_LEN]);
} columns[] = {
	{"Port", NAME_LEAST, 0, name_cell},
	{"State", 7, 1, state_cell},
	{"Rx b/s", 6, 2, rx_cell},
	{"Rx%", 3, 8, rx_percent_cell},
	{"Tx b/s", 6, 3, tx_cell},
	{"Tx%", 3, 9, tx_percent_cell},
	{"PFCtx", 5, 5, pause_tx_cell},
	{"PFCrx", 5, 6, pause_rx_cell},
	{"ECN/s", 5, 7, marks_cell},
	{"Drop/s", 6, 4, drops_cell},
	{"Buffer", BAR_LEAST, 10, buffer_cell},
	{"Queued", 6, 11, queue_cell},
	{"Paused%", 7, 12, paused_cell},
	{"Pausing%", 8, 13, pausing_cell},
	{"Lost", 5, 14, lost_cell},
	{"Speed", 5, 15, speed_cell},
};
enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

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
			unsigned want = k == NAME ? name : columns[k].width;

			if (columns[k].rank != rank)
				continue;
			width[k] = used + want <= p->c->columns ? want : 0;
			used += width[k] > 0 ? width[k] + 1 : 0;
		}
	spare = used <= p->c->columns ? p->c->columns - used + 1 : 0;
	if (width[BUFFER] > 0 && !p->plain)
		width[BUFFER] += spare < BAR_MOST - BAR_LEAST ? spare : BAR_MOST - BAR_LEAST;
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
		attr = columns[k].cell(r, text);
		if (k == BUFFER && !p->plain)
			top_bar(p->c, y, x, width[k], r->fill,
				r->fill >= 1 ? TOP_WARNING : TOP_GOOD, text);
		else if (k == NAME || k == STATE)
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

unsigned top_draw_table(const struct top_page *p, unsigned y, unsigned first, unsigned max_lines)
{
	unsigned width[N_COLUMNS], x = 0, left_out = 0;

	fit(p, width);
	for (unsigned k = 0; k < N_COLUMNS; k++) {
		if (width[k] == 0)
			continue;
		top_printf(p->c, y, x, TOP_STRONG, "%*s",
			   (int)width[k] * (k == NAME || k == STATE ? -1 : 1), columns[k].head);
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
