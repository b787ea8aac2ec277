// SPDX-License-Identifier: Apache-2.0
#include "control/observe/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NO_COLUMN = UINT32_MAX };
#define WHOLE 9007199254740992.0 // 2^53: up to here a double has each whole number

struct change {
	uint32_t column;
	double value;
};

struct frame {
	uint64_t t_ns;
	uint32_t first; // of its changes; the next frame has those behind
};

struct frames {
	uint32_t n_places, n_columns, n_frames, n_changes, max_changes;
	uint64_t least_ns; // between two frames
	uint32_t *column_of, *place_of; // by place, by column
	uint32_t *seen; // by column: 1 + the change of the frame that merge makes
	double *last; // by column
	struct change *changes;
	struct frame frames[FRAMES_MAX];
};

struct frames *frames_create(uint32_t n_places, uint32_t max_changes)
{
	struct frames *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->n_places = n_places;
	f->max_changes = max_changes;
	f->column_of = malloc((n_places + 1) * sizeof(*f->column_of));
	f->place_of = malloc((n_places + 1) * sizeof(*f->place_of));
	f->seen = calloc(n_places + 1, sizeof(*f->seen));
	f->last = calloc(n_places + 1, sizeof(*f->last));
	f->changes = malloc(((size_t)max_changes + 2 * (size_t)n_places + 1) * sizeof(*f->changes));
	if (f->column_of == NULL || f->place_of == NULL || f->seen == NULL || f->last == NULL ||
	    f->changes == NULL) {
		frames_destroy(f);
		return NULL;
	}
	for (uint32_t i = 0; i < n_places; i++)
		f->column_of[i] = NO_COLUMN;
	return f;
}

void frames_destroy(struct frames *f)
{
	if (f == NULL)
		return;
	free(f->column_of);
	free(f->place_of);
	free(f->seen);
	free(f->last);
	free(f->changes);
	free(f);
}

static uint32_t changes_end(const struct frames *f, uint32_t frame)
{
	return frame + 1 < f->n_frames ? f->frames[frame + 1].first : f->n_changes;
}

// The changes from..end go to the place `to`, of each column the last one only. Returns the end.
static uint32_t move_changes(struct frames *f, uint32_t from, uint32_t end, uint32_t to)
{
	uint32_t first = to;

	for (uint32_t i = from; i < end; i++) {
		struct change c = f->changes[i];
		uint32_t at = f->seen[c.column] != 0 ? f->seen[c.column] - 1 : to++;

		f->seen[c.column] = at + 1;
		f->changes[at] = c;
	}
	for (uint32_t i = first; i < to; i++)
		f->seen[f->changes[i].column] = 0;
	return to;
}

// Each two frames become one, with the time and the values of the second one.
static void merge(struct frames *f)
{
	uint32_t n = 0, to = 0;

	for (uint32_t i = 0; i < f->n_frames; i += 2) {
		uint32_t last = i + 1 < f->n_frames ? i + 1 : i;
		uint32_t from = f->frames[i].first, end = changes_end(f, last);

		f->frames[n] = (struct frame){f->frames[last].t_ns, to};
		to = move_changes(f, from, end, to);
		n++;
	}
	f->n_frames = n;
	f->n_changes = to;
	f->least_ns *= 2;
}

bool frames_begin(struct frames *f, uint64_t t_ns, bool due)
{
	const struct frame *before = f->n_frames == 0 ? NULL : &f->frames[f->n_frames - 1];

	if (before != NULL && (t_ns <= before->t_ns || (!due && t_ns - before->t_ns < f->least_ns)))
		return false;
	if (f->least_ns == 0 && before != NULL)
		f->least_ns = t_ns - before->t_ns;
	while (f->n_frames >= FRAMES_MAX ||
	       (f->n_changes >= f->max_changes && f->n_frames > 1))
		merge(f);
	f->frames[f->n_frames++] = (struct frame){t_ns, f->n_changes};
	return true;
}

void frames_put(struct frames *f, uint32_t place, double value)
{
	uint32_t c = f->column_of[place];

	if (c == NO_COLUMN) {
		if (value == 0)
			return;
		c = f->n_columns++;
		f->column_of[place] = c;
		f->place_of[c] = place;
	} else if (f->last[c] == value) {
		return;
	}
	f->last[c] = value;
	f->changes[f->n_changes++] = (struct change){c, value};
}

uint32_t frames_n_columns(const struct frames *f)
{
	return f->n_columns;
}

uint32_t frames_place(const struct frames *f, uint32_t column)
{
	return f->place_of[column];
}

void frames_forget(struct frames *f)
{
	f->n_frames = f->n_changes = 0;
	f->least_ns = 0;
}

// ---- as JSON

void frames_number(double v, FILE *out)
{
	if (v != v)
		fputs("null", out);
	else if (v > -WHOLE && v < WHOLE && v == (double)(int64_t)v)
		fprintf(out, "%" PRId64, (int64_t)v);
	else
		fprintf(out, "%.9g", v);
}

static void print_change(uint32_t column, double value, FILE *out)
{
	fprintf(out, ",%" PRIu32 ",", column);
	frames_number(value, out);
}

static void print_frame(const struct frames *f, uint32_t i, FILE *out)
{
	fprintf(out, "[%" PRIu64, f->frames[i].t_ns);
	for (uint32_t k = f->frames[i].first; k < changes_end(f, i); k++)
		print_change(f->changes[k].column, f->changes[k].value, out);
	fputc(']', out);
}

void frames_print(const struct frames *f, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < f->n_frames; i++) {
		fputs(i == 0 ? "" : ",\n", out);
		print_frame(f, i, out);
	}
	fputc(']', out);
}

void frames_print_last(const struct frames *f, bool all, FILE *out)
{
	if (f->n_frames == 0)
		return;
	if (!all) {
		print_frame(f, f->n_frames - 1, out);
		return;
	}
	fprintf(out, "[%" PRIu64, f->frames[f->n_frames - 1].t_ns);
	for (uint32_t c = 0; c < f->n_columns; c++)
		print_change(c, f->last[c], out);
	fputc(']', out);
}
