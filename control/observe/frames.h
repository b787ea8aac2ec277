// SPDX-License-Identifier: Apache-2.0
// Values over time as a list of changes: of each instant only the values that differ from those
// before. A column begins when its value is first not zero. Memory is bounded: when there are
// FRAMES_MAX frames, or as many changes as the caller allows, each two frames become one, and from
// then on frames are taken half as often. Knows nothing of switches; the caller names the columns.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FRAMES_MAX = 1000 };

struct frames;

// n_places: of values that can have a column. max_changes: 0: only one frame is ever kept. NULL: no
// memory.
struct frames *frames_create(uint32_t n_places, uint32_t max_changes);
void frames_destroy(struct frames *f); // NULL is fine

// Begins a frame, later than all before. False: it is too soon after the one before, and is not
// taken. due: only a frame of the same time is refused.
bool frames_begin(struct frames *f, uint64_t t_ns, bool due);
void frames_put(struct frames *f, uint32_t place, double value);

uint32_t frames_n_columns(const struct frames *f);
uint32_t frames_place(const struct frames *f, uint32_t column); // the place of a column

// ---- as JSON: numbers have nine digits unless they are whole
// [[t_ns, column, value, ...], ...]
void frames_print(const struct frames *f, FILE *out);
// The last frame alone: [t_ns, column, value, ...]. all: with the value of every column.
void frames_print_last(const struct frames *f, bool all, FILE *out);
// Forgets all frames. Columns and their values stay.
void frames_forget(struct frames *f);
void frames_number(double v, FILE *out);
