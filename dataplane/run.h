// SPDX-License-Identifier: Apache-2.0
// A run of frames that share their fate.
#pragma once

#include "dataplane/frame.h"

// Frames side by side that share their fate as long as no threshold lies between them: of one
// account, bound for one queue, and arrived in one loop. Forwarding makes a run; admission, the
// hand-over and the queue pass it on. Frames that leave together are a run, too.
struct run {
	struct frame *frames;
	uint32_t n;
	uint32_t bytes, cells; // in all
	uint32_t least; // cells of the smallest; with one frame all of them
};

static inline struct run run_of_one(struct frame *f)
{
	return (struct run){.frames = f, .n = 1, .bytes = f->len, .cells = f->cells,
			    .least = f->cells};
}

// As many from the first frame on, out of n, as are alike and have no more than most_cells in all.
static inline struct run run_of(struct frame *frames, unsigned n, uint32_t most_cells)
{
	struct run r = {.frames = frames, .least = UINT32_MAX};

	for (; r.n < n && (QUICK_WAYS || r.n == 0); r.n++) {
		const struct frame *f = &frames[r.n];

		if (!frame_alike(f, frames) || r.cells + f->cells > most_cells)
			break;
		r.bytes += f->len;
		r.cells += f->cells;
		if (f->cells < r.least)
			r.least = f->cells;
	}
	return r;
}
