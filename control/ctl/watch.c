// SPDX-License-Identifier: Apache-2.0
// The command `watch`, or `top`: requests numbers at intervals and shows the changes. On a terminal
// it is a screen with keys; elsewhere, or with --plain, one block of lines per interval.
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curses.h>
#include <json-c/json.h>

#include "control/base/stop.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "control/ctl/top.h"
#include "drivers/system_clock.h"

enum { ANSWER_S = 2, KEY_MS = 1000, ESCAPE_MS = 25, TEXT_LEN = 160, CLOCK_LEN = 16 };

// The first rates need two snapshots; the second is taken so soon.
static const double first_interval_s = 0.5;

struct watch {
	const char *name; // of the switch
	struct client client;
	bool connected;
	struct top_snapshot *before, *now;
	double tried_s, taken_s; // when the last request was sent; when `now` was taken
	double seconds; // between `before` and `now`
	char clock[CLOCK_LEN], trouble[TEXT_LEN];
	struct top_view view;
};

static double time_s(void)
{
	return (double)monotonic_ns() / 1e9;
}

static void wall_clock(char out[CLOCK_LEN])
{
	time_t at = time(NULL);
	struct tm tm;

	strftime(out, CLOCK_LEN, "%H:%M:%S", localtime_r(&at, &tm));
}

// ---- the switch

static bool request_kind(struct watch *w, struct top_snapshot *s, const char *kind)
{
	struct json_object *req = request_of("show", "what", kind), *data;

	if (strcmp(kind, fact_lists[FACTS_EVENTS].what) == 0) {
		row_u64(req, "since", s->event_seq);
		row_text(req, KEY(EVENTS, severity), "warning");
	}
	if (strcmp(kind, fact_lists[FACTS_CAUSES].what) == 0)
		row_text(req, KEY(QUEUES, port), w->view.opened);
	data = client_exchange_quiet(&w->client, req);
	if (data == NULL)
		return false;
	top_snapshot_take(s, kind, data);
	json_object_put(data);
	return true;
}

// Requests all kinds; NULL: the switch does not answer.
static struct top_snapshot *request_snapshot(struct watch *w)
{
	struct top_snapshot *s = top_snapshot_create(w->now);
	bool whole = s != NULL;

	for (unsigned i = 0; whole && top_kind(i) != NULL; i++)
		whole = request_kind(w, s, top_kind(i));
	if (whole && w->view.opened[0] != '\0')
		whole = request_kind(w, s, fact_lists[FACTS_CAUSES].what);
	if (whole)
		return s;
	top_snapshot_destroy(s);
	return NULL;
}

// The screen keeps the last numbers and their time.
static void disconnect(struct watch *w)
{
	char now[CLOCK_LEN];

	if (w->connected)
		client_close(&w->client);
	w->connected = false;
	if (w->trouble[0] != '\0')
		return;
	wall_clock(now);
	snprintf(w->trouble, sizeof(w->trouble),
		 "GONE  switch %s does not answer since %s; trying again", w->name, now);
}

static void update(struct watch *w)
{
	struct top_snapshot *s;

	if (!w->connected && client_connect(w->name, &w->client) == 0) {
		client_timeout(&w->client, ANSWER_S);
		w->connected = true;
		if (w->now != NULL) { // a switch that started again counts its events anew
			w->now->event_seq = 0;
			w->now->n_events = 0;
		}
	}
	w->tried_s = time_s();
	s = w->connected ? request_snapshot(w) : NULL;
	if (s == NULL) {
		disconnect(w);
		return;
	}
	top_snapshot_destroy(w->before);
	w->before = w->now;
	if (w->trouble[0] != '\0') { // the switch may have started again
		top_snapshot_destroy(w->before);
		w->before = NULL;
	}
	w->trouble[0] = '\0';
	w->now = s;
	w->seconds = w->tried_s - w->taken_s;
	w->taken_s = w->tried_s;
	wall_clock(w->clock);
}

static struct top_data data_of(const struct watch *w)
{
	return (struct top_data){.name = w->name, .clock = w->clock,
				 .trouble = w->trouble[0] != '\0' ? w->trouble : NULL,
				 .before = w->before, .now = w->now, .seconds = w->seconds};
}

static double next_in_s(const struct watch *w)
{
	return w->before == NULL && w->view.interval_s > first_interval_s ? first_interval_s
									 : w->view.interval_s;
}

// ---- the terminal

// File-static, as the state of ncurses: the program has one terminal. Without colours alarms and
// warnings are bold.
static attr_t styles[N_TOP_ATTRS] = {
	[TOP_FAINT] = A_DIM, [TOP_STRONG] = A_BOLD, [TOP_WARNING] = A_BOLD, [TOP_ALARM] = A_BOLD};
static SCREEN *screen;

static void use_colours(void)
{
	static const struct {
		enum top_attr attr;
		short colour;
	} pairs[] = {
		{TOP_STRONG, COLOR_CYAN},
		{TOP_GOOD, COLOR_GREEN},
		{TOP_WARNING, COLOR_YELLOW},
		{TOP_ALARM, COLOR_RED},
	};
	const char *no = getenv("NO_COLOR");

	if ((no != NULL && *no != '\0') || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < (short)(sizeof(pairs) / sizeof(pairs[0])); i++) {
		init_pair(i + 1, pairs[i].colour, -1);
		styles[pairs[i].attr] |= (attr_t)COLOR_PAIR(i + 1);
	}
}

// True when the terminal can show a screen and has a keyboard. Else lines are to be printed.
static bool terminal_start(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || term == NULL ||
	    strcmp(term, "dumb") == 0)
		return false;
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return false;
	cbreak(); // Ctrl-C stays a signal
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	use_colours();
	return true;
}

static void terminal_end(void)
{
	endwin();
	delscreen(screen);
}

static int top_key_of_curses(int key)
{
	switch (key) {
	case ERR: return 0;
	case KEY_UP: return TOP_KEY_UP;
	case KEY_DOWN: return TOP_KEY_DOWN;
	case KEY_PPAGE: return TOP_KEY_PAGE_UP;
	case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f: return TOP_KEY_BACKSPACE;
	case KEY_ENTER:
	case '\r': return '\n';
	default: return key;
	}
}

// A character or an enum top_key; 0 when wait_ms passed or a signal came; 'q' when the terminal is
// gone.
static int terminal_key(int wait_ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int key = top_key_of_curses(getch()), n;

	if (key != 0)
		return key;
	n = poll(&in, 1, wait_ms);
	key = top_key_of_curses(getch());
	return key == 0 && n > 0 && in.revents != POLLIN ? 'q' : key;
}

// ---- on a terminal

static void show(const struct watch *w)
{
	struct top_data d = data_of(w);
	struct top_canvas *c;

	c = top_draw(&d, &w->view, (unsigned)getmaxy(stdscr), (unsigned)getmaxx(stdscr),
		     strcmp(nl_langinfo(CODESET), "UTF-8") != 0);
	if (c == NULL)
		return;
	for (unsigned y = 0; y < c->lines; y++)
		for (unsigned x = 0; x < c->columns; x++) {
			const struct top_cell *cell = top_cell(c, y, x);
			attr_t style = styles[cell->attr & ~TOP_REVERSE];

			attrset((int)(cell->attr & TOP_REVERSE ? style | A_REVERSE : style));
			mvaddnwstr((int)y, (int)x, &cell->ch, 1);
		}
	refresh();
	free(c);
}

// Until the next refresh is due. False: the user quits.
static bool serve_keys(struct watch *w)
{
	while (stop_requests() == 0) {
		double left_s = w->tried_s + next_in_s(w) - time_s();
		int left_ms = w->view.paused || 1000 * left_s > KEY_MS ? KEY_MS
									: (int)(1000 * left_s) + 1;
		struct top_data d = data_of(w);
		bool was_open = w->view.opened[0] != '\0';
		int key;

		if (left_s <= 0 && !w->view.paused)
			return true;
		key = terminal_key(left_ms); // waits KEY_MS at most: a signal may come before
		if (key == 0)
			continue;
		if (!top_press(&w->view, &d, key))
			return false;
		// Another port was opened: why are its classes paused?
		if (!was_open && w->view.opened[0] != '\0' && w->connected &&
		    !request_kind(w, w->now, fact_lists[FACTS_CAUSES].what))
			disconnect(w);
		show(w);
	}
	return false;
}

// ---- elsewhere

static void print_blocks(struct watch *w, unsigned count)
{
	struct top_canvas *c;
	struct top_data d;

	for (unsigned n = 0; stop_requests() == 0 && (count == 0 || n < count);) {
		update(w);
		if (w->before != NULL || w->trouble[0] != '\0') {
			d = data_of(w);
			c = top_draw_plain(&d, &w->view);
			if (c != NULL)
				top_canvas_print(c, stdout);
			free(c);
			putchar('\n');
			fflush(stdout);
			n++;
		}
		if (count == 0 || n < count)
			sleep_s(next_in_s(w));
	}
}

// ---- the command

static int run_watch_screen(const struct ctl *c, struct watch *w, const char *port)
{
	struct json_object *req = show_request(FACTS_PORTS), *data;

	if (port != NULL)
		row_text(req, KEY(QUEUES, port), port);
	// An error is reported before the screen starts: no answer, or no such port.
	data = client_exchange(&w->client, req);
	if (data == NULL)
		return CTL_FAILED;
	json_object_put(data);
	snprintf(w->view.opened, sizeof(w->view.opened), "%s", port != NULL ? port : "");
	client_timeout(&w->client, ANSWER_S);
	update(w);
	if (w->now == NULL) {
		fprintf(stderr, "switch %s does not answer\n", w->name);
		return CTL_FAILED;
	}
	if (c->plain || !terminal_start()) {
		sleep_s(next_in_s(w));
		if (stop_requests() == 0)
			print_blocks(w, c->count);
		return CTL_DONE;
	}
	show(w);
	for (unsigned n = 0; (c->count == 0 || n < c->count) && serve_keys(w); n++) {
		update(w);
		show(w);
	}
	terminal_end();
	return CTL_DONE;
}

int cmd_watch(const struct ctl *c, int argc, char **argv)
{
	struct watch w = {.name = c->name, .connected = true,
			  .view = {.interval_s = c->interval_s}};
	char found[CLIENT_NAME_LEN];
	int status;

	if (c->json)
		return misused("watch prints no JSON; `weirctl show ports --json` does");
	if (w.name == NULL)
		w.name = client_find(found);
	if (w.name == NULL || client_open(w.name, &w.client) != 0)
		return CTL_FAILED;
	stop_catch(0, NULL);
	status = run_watch_screen(c, &w, argc > 0 ? argv[0] : NULL);
	if (w.connected)
		client_close(&w.client);
	top_snapshot_destroy(w.before);
	top_snapshot_destroy(w.now);
	return status;
}
