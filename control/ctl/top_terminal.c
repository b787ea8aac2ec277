// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top_terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "control/ctl/top_screen.h"

enum { ESCAPE_MS = 25 };

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

bool top_terminal_start(void)
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

void top_terminal_end(void)
{
	endwin();
	delscreen(screen);
}

void top_terminal_size(unsigned *lines, unsigned *columns)
{
	*lines = (unsigned)getmaxy(stdscr);
	*columns = (unsigned)getmaxx(stdscr);
}

bool top_terminal_is_ascii(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

void top_terminal_show(const struct top_canvas *c)
{
	for (unsigned y = 0; y < c->lines; y++)
		for (unsigned x = 0; x < c->columns; x++) {
			const struct top_cell *cell = top_cell(c, y, x);
			attr_t style = styles[cell->attr & ~TOP_REVERSE];

			attrset((int)(cell->attr & TOP_REVERSE ? style | A_REVERSE : style));
			mvaddnwstr((int)y, (int)x, &cell->ch, 1);
		}
	refresh();
}

static int key_of(int key)
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
	case KEY_RESIZE: return TOP_KEY_RESIZE;
	case KEY_ENTER:
	case '\r': return '\n';
	default: return key;
	}
}

int top_terminal_key(int wait_ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int key = key_of(getch()), n;

	if (key != 0)
		return key;
	n = poll(&in, 1, wait_ms);
	key = key_of(getch());
	return key == 0 && n > 0 && in.revents != POLLIN ? 'q' : key;
}
