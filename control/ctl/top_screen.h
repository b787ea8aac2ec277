// SPDX-License-Identifier: Apache-2.0
// What `watch` shows: two snapshots and the view of the user become a canvas, and keys change the
// view. Pure: no terminal, no clock, no socket.
#pragma once

#include <stdbool.h>

#include "control/ctl/top_canvas.h"
#include "control/ctl/top_rows.h"

enum { TOP_LINES_LEAST = 10, TOP_COLUMNS_LEAST = 40, TOP_PLAIN_COLUMNS = 80 };

// Keys beside characters.
enum top_key {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_BACKSPACE,
	TOP_KEY_RESIZE,
};
enum { TOP_ESCAPE = 27 };

struct top_view {
	double interval_s;
	enum top_sort sort;
	char selected[TOP_NAME_LEN]; // port; empty: the first row
	char opened[TOP_NAME_LEN]; // port; empty: all ports are shown
	char filter[TOP_NAME_LEN]; // part of the names of ports
	bool typing; // the filter
	bool paused, help;
};

// The screen shows these and the view.
struct top_data {
	const char *name; // of the switch
	const char *clock; // time of day
	const char *trouble; // with the connection; NULL: none
	const struct top_snapshot *before, *now; // before: NULL where there is none
	double seconds; // of real time, between both
};

// NULL: out of memory.
struct top_canvas *top_draw(const struct top_data *d, const struct top_view *v, unsigned lines,
			    unsigned columns, bool ascii);
// The same as lines of at most 80 columns, without cursor movement: ports with traffic or trouble.
struct top_canvas *top_draw_plain(const struct top_data *d, const struct top_view *v);

// Changes the view. False: the user quits.
bool top_press(struct top_view *v, const struct top_data *d, int key);
