// SPDX-License-Identifier: Apache-2.0
// Writes plots of all kinds into a folder, for judge_svg.py: lines that break, lie on each other or
// have many points, names that are long or not XML, axes of every unit.
#include <stdlib.h>
#include <string.h>

#include "control/lab/svg.h"

enum { MANY = 20000, FEW = 40, PATH_LEN = 512 };

static double xs[MANY], ys[16][MANY];
static struct svg_series series[16];

static const char *const names[16] = {
	"rate(h1)",
	"a < b & \"c\"",
	"an expression with a very long text / that nobody can read in full: h1",
	"s4",
	"s5",
	"s6",
	"s7",
	"s8",
	"s9",
	"s10",
	"s11",
	"s12",
	"s13",
	"s14",
	"s15",
	"s16",
};

static void fill(uint64_t n, double x_step, double scale)
{
	for (uint64_t i = 0; i < n; i++) {
		xs[i] = x_step * (double)(i + 1);
		for (unsigned k = 0; k < 16; k++)
			ys[k][i] = i % 17 == k ? __builtin_nan("")
					       : scale * (double)((i * (k + 3)) % 101) / 101;
	}
	for (unsigned k = 0; k < 16; k++)
		series[k] = (struct svg_series){names[k], xs, ys[k], n};
}

static void draw(const char *dir, const char *file, const struct svg_plot *p)
{
	char path[PATH_LEN];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	out = fopen(path, "we");
	if (out == NULL)
		exit(1);
	svg_write(p, out);
	fclose(out);
}

int main(int argc, char **argv)
{
	const struct svg_axis time = {.what = "virtual time", .unit = EXPR_TIME};

	if (argc != 2)
		return 2;
	fill(FEW, 1e4, 40e9);
	draw(argv[1], "few.svg",
	     &(struct svg_plot){.title = "a < b & c > \"d\"",
				.x = time,
				.y = {.what = "rate", .unit = EXPR_RATE},
				.series = series,
				.n_series = 3,
				.marks = true});
	draw(argv[1], "sixteen.svg",
	     &(struct svg_plot){.title = "more lines than can be told apart",
				.x = time,
				.y = {.what = "rate", .unit = EXPR_RATE},
				.series = series,
				.n_series = 16,
				.steps = true});
	fill(MANY, 1e6, 2e5);
	draw(argv[1], "many.svg",
	     &(struct svg_plot){.title = "many points",
				.x = time,
				.y = {.what = "queue", .unit = EXPR_BYTES},
				.series = series,
				.n_series = 2});
	draw(argv[1], "log.svg",
	     &(struct svg_plot){.title = "decades",
				.x = {.what = "time", .unit = EXPR_TIME, .log = true},
				.y = {.what = "share", .unit = EXPR_SHARE},
				.series = series,
				.n_series = 1});
	fill(1, 5, 0);
	draw(argv[1], "one.svg",
	     &(struct svg_plot){.title = "one point",
				.x = {.what = "kmin", .unit = EXPR_BYTES, .log = true},
				.y = {.what = "jain", .unit = EXPR_COUNT},
				.series = series,
				.n_series = 1});
	draw(argv[1], "none.svg",
	     &(struct svg_plot){
		     .title = "nothing", .x = time, .y = {.what = "n", .unit = EXPR_COUNT}});
	return 0;
}
