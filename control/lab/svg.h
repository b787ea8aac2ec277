// SPDX-License-Identifier: Apache-2.0
// Line charts as SVG 1.1 text: axes with units as people write them, legend, up to SVG_MAX_SERIES
// lines, for reports. The same values give the same bytes. Pure but for printing; knows nothing of
// the lab but the units of expr.h.
//
// Colours are those of Okabe and Ito, which people with any colour vision tell apart; lines beyond
// are dashed. A line with more points than the picture has columns is drawn as the range of each
// column.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "control/lab/expr.h"

enum { SVG_MAX_SERIES = 14 };

struct svg_series {
	const char *name;
	const double *x, *y; // x ascending; y NaN: the line is broken there
	uint64_t n;
};

struct svg_axis {
	const char *what; // "time", "queue"; its unit is added
	enum expr_unit unit;
	bool log; // only values above 0 are shown
};

struct svg_plot {
	const char *title;
	struct svg_axis x, y;
	const struct svg_series *series;
	uint32_t n_series; // beyond SVG_MAX_SERIES: not drawn, and said so
	bool steps; // a value holds until the next one
	bool marks; // a point at each value
};

void svg_write(const struct svg_plot *p, FILE *out);

// Text for element or attribute content.
void svg_escape(const char *text, FILE *out);

// Ticks of a linear axis: the least step of 1, 2 or 5 times a power of ten with which no more than
// n are needed from lo to hi.
double svg_step(double lo, double hi, unsigned n);
