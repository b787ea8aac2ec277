// SPDX-License-Identifier: Apache-2.0
// Parts of the screen (top_screen.h). Each writes lines from `y` on and returns the line behind
// them.
#pragma once

#include "control/ctl/top_screen.h"

// All that the parts are drawn from.
struct top_page {
	struct top_canvas *c;
	const struct top_data *d;
	const struct top_view *v;
	const struct top_rows *rows; // of the filter
	const struct top_rows *all;
	bool plain; // lines for a pipe
};

unsigned top_attr_of(enum top_trouble trouble);

// top_head.c
unsigned top_draw_head(const struct top_page *p, unsigned y);
unsigned top_draw_alarms(const struct top_page *p, unsigned y, unsigned max_lines);

// top_table.c: the heading and the rows from `first` on.
unsigned top_draw_table(const struct top_page *p, unsigned y, unsigned first, unsigned max_lines);

// top_notes.c: hints, then the gravest recent events. port: of this port only; NULL: of all.
unsigned top_count_notes(const struct top_page *p, const char *port);
unsigned top_draw_notes(const struct top_page *p, unsigned y, const char *port,
			unsigned max_lines);

// top_port.c: the opened port.
unsigned top_draw_port(const struct top_page *p, unsigned y, const struct top_row *r,
		       unsigned max_lines);
