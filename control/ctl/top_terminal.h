// SPDX-License-Identifier: Apache-2.0
// The terminal by ncurses: keys in, canvases out. Nothing here knows what is shown.
#pragma once

#include <stdbool.h>

struct top_canvas;

// True when the terminal can show a screen and has a keyboard. Else lines are to be printed.
bool top_terminal_start(void);
// Gives the terminal back as it was.
void top_terminal_end(void);

void top_terminal_size(unsigned *lines, unsigned *columns);
bool top_terminal_is_ascii(void); // the locale has no other characters
void top_terminal_show(const struct top_canvas *c);

// A character or an enum top_key; 0 when wait_ms passed or a signal came; 'q' when the terminal is
// gone.
int top_terminal_key(int wait_ms);
