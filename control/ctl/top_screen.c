// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top_screen.h"

#include <stdlib.h>
#include <string.h>

#include "control/ctl/top_impl.h"

enum { PLAIN_LINES = 400, PAGE_ROWS = 10 };

static const char *const help[] = {
	"arrows, j k     select a port       Enter   open the port",
	"Esc             back                q       quit",
	"s               sort by the next    p       pause",
	"+ -             longer and shorter interval",
	"/               show ports whose name has a text",
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

// The row of the selected port; 0 where that port is not shown.
static unsigned selected_row(const struct top_rows *rows, const struct top_view *v)
{
	for (unsigned i = 0; i < rows->n; i++)
		if (strcmp(rows->row[i].port->name, v->selected) == 0)
			return i;
	return 0;
}

// Notes get the lines that ports leave, and a third of them at least.
static void draw_all_ports(const struct top_page *p, unsigned y)
{
	unsigned room = p->c->lines - 1 - y, notes = top_count_notes(p, NULL);
	unsigned ports = p->rows->n + 1, least = room / 3 < notes ? room / 3 : notes;
	unsigned shown = ports < room - least ? ports : room - least;
	unsigned at = selected_row(p->rows, p->v), first;

	first = shown > 1 && at + 2 > shown ? at + 2 - shown : 0;
	y = top_draw_table(p, y, first, shown);
	top_draw_notes(p, y, NULL, p->c->lines - 1 - y);
}

static const struct top_row *opened_row(const struct top_page *p)
{
	for (unsigned i = 0; i < p->all->n; i++)
		if (strcmp(p->all->row[i].port->name, p->v->opened) == 0)
			return &p->all->row[i];
	return NULL;
}

static void draw_screen(const struct top_page *p)
{
	const struct top_row *opened = opened_row(p);
	unsigned y = top_draw_head(p, 0);

	y = top_draw_alarms(p, y, 1 + p->c->lines / 12);
	if (p->v->help)
		for (size_t i = 0; i < sizeof(help) / sizeof(help[0]) && y < p->c->lines - 1; i++)
			top_put(p->c, y++, 0, TOP_PLAIN, help[i]);
	else if (opened != NULL)
		top_draw_port(p, y, opened, p->c->lines - 1 - y);
	else
		draw_all_ports(p, y);
	// The opened port may have drawn into the line of the keys.
	for (unsigned x = 0; x < p->c->columns; x++)
		top_put(p->c, p->c->lines - 1, x, TOP_PLAIN, " ");
	draw_keys(p);
}

static void draw_plain(const struct top_page *p)
{
	const struct top_row *opened = opened_row(p);
	unsigned y = top_draw_head(p, 0);

	y = top_draw_alarms(p, y, p->c->lines - y);
	if (opened != NULL) {
		top_draw_port(p, y, opened, p->c->lines - y);
		return;
	}
	y = top_draw_table(p, y, 0, p->rows->n + 1);
	top_draw_notes(p, y, NULL, TOP_HINTS);
}

// Makes the rows, draws, and frees the rows.
static struct top_canvas *draw(const struct top_data *d, const struct top_view *v,
			       struct top_canvas *c, void (*fn)(const struct top_page *p))
{
	struct top_rows *rows, *all;

	if (c == NULL)
		return NULL;
	rows = top_rows_create(d->before, d->now, d->seconds, v->filter, v->sort);
	all = top_rows_create(d->before, d->now, d->seconds, "", TOP_SORT_PORT);
	if (rows != NULL && all != NULL) {
		const struct top_page p = {.c = c, .d = d, .v = v, .rows = rows, .all = all,
					   .plain = fn == draw_plain};

		fn(&p);
	}
	free(rows);
	free(all);
	return c;
}

struct top_canvas *top_draw(const struct top_data *d, const struct top_view *v, unsigned lines,
			    unsigned columns, bool ascii)
{
	struct top_canvas *c = top_canvas_create(lines, columns, ascii);

	if (c == NULL || (lines >= TOP_LINES_LEAST && columns >= TOP_COLUMNS_LEAST))
		return draw(d, v, c, draw_screen);
	top_printf(c, 0, 0, TOP_PLAIN, "%ux%u is too small", columns, lines);
	top_printf(c, 1, 0, TOP_PLAIN, "needs %dx%d", TOP_COLUMNS_LEAST, TOP_LINES_LEAST);
	return c;
}

struct top_canvas *top_draw_plain(const struct top_data *d, const struct top_view *v)
{
	struct top_canvas *c = top_canvas_create(PLAIN_LINES, TOP_PLAIN_COLUMNS, true);

	return draw(d, v, c, draw_plain);
}

// ---- keys

// Selects another port where ports are shown.
static void move(struct top_view *v, const struct top_data *d, int by)
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
		if (longer && steps[i] > v->interval_s) {
			v->interval_s = steps[i];
			return;
		}
		if (!longer && steps[N_STEPS - 1 - i] < v->interval_s) {
			v->interval_s = steps[N_STEPS - 1 - i];
			return;
		}
	}
}

static void open_selected(struct top_view *v, const struct top_data *d)
{
	move(v, d, 0);
	if (v->opened[0] == '\0' && !v->help)
		strcpy(v->opened, v->selected);
}

static bool back(struct top_view *v)
{
	if (v->help)
		v->help = false;
	else if (v->opened[0] != '\0')
		v->opened[0] = '\0';
	else
		return false;
	return true;
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
		if (!back(v))
			v->filter[0] = '\0';
		break;
	case 'k':
	case TOP_KEY_UP: move(v, d, -1); break;
	case 'j':
	case TOP_KEY_DOWN: move(v, d, 1); break;
	case TOP_KEY_PAGE_UP: move(v, d, -PAGE_ROWS); break;
	case TOP_KEY_PAGE_DOWN: move(v, d, PAGE_ROWS); break;
	case '\n': open_selected(v, d); break;
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
