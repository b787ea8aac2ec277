// SPDX-License-Identifier: Apache-2.0
// Egress queues: first in, first out, of frame descriptors, in chunks of one preallocated pool per
// worker.
//
// Descriptors are read in order. The pool holds enough chunks for every cell of the buffer; push
// can only fail on a bug. One thread, the egress owner.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_prefetch.h>

#include "dataplane/frame.h"

enum { FIFO_CHUNK_FRAMES = 63 };

struct fifo_chunk {
	struct fifo_chunk *next;
	uint64_t spare[3];
	struct frame frames[FIFO_CHUNK_FRAMES];
};

// Chunks that were used before come first, so memory follows the frames that wait at once.
struct fifo_pool {
	struct fifo_chunk *free; // used before
	struct fifo_chunk *unused, *end; // never used
	struct fifo_chunk *memory; // for destroy
	size_t mapped; // its bytes, if it is not of DPDK's heap
};

struct fifo {
	struct fifo_chunk *head, *tail; // NULL when empty
	uint16_t head_i, tail_i; // next to pop, next to push
	uint32_t n;
};

// Chunks for n_frames in n_fifos queues. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int fifo_pool_init(struct fifo_pool *pool, uint32_t n_frames,
						       uint32_t n_fifos);
void fifo_pool_fini(struct fifo_pool *pool);
// Touches all memory of a pool that is new, so that its thread meets no page fault.
void fifo_pool_touch(struct fifo_pool *pool);

static inline void fifo_free_chunk(struct fifo_pool *pool, struct fifo_chunk *c)
{
	c->next = pool->free;
	pool->free = c;
}

// Room for one frame behind the last.
static inline bool fifo_has_room(struct fifo_pool *pool, struct fifo *f)
{
	struct fifo_chunk *c = pool->free;

	if (f->tail != NULL && f->tail_i != FIFO_CHUNK_FRAMES)
		return true;
	if (c != NULL)
		pool->free = c->next;
	else if (pool->unused != pool->end)
		c = pool->unused++;
	else
		return false;
	c->next = NULL;
	if (f->tail != NULL) {
		f->tail->next = c;
	} else {
		f->head = c;
		f->head_i = 0;
	}
	f->tail = c;
	f->tail_i = 0;
	return true;
}

// Puts n frames behind the others, a chunk at a time. Returns how many found room.
static inline unsigned fifo_push_all(struct fifo_pool *pool, struct fifo *f,
				     const struct frame *frames, unsigned n)
{
	unsigned done = 0, k;

	for (; done < n && fifo_has_room(pool, f); done += k) {
		k = FIFO_CHUNK_FRAMES - f->tail_i;
		k = k < n - done ? k : n - done;
		memcpy(&f->tail->frames[f->tail_i], &frames[done], k * sizeof(*frames));
		f->tail_i = (uint16_t)(f->tail_i + k);
		f->n += k;
	}
	return done;
}

// The first frame; only when f->n > 0.
static inline const struct frame *fifo_head(const struct fifo *f)
{
	return &f->head->frames[f->head_i];
}

// How many frames lie side by side from the head on.
static inline unsigned fifo_side_by_side(const struct fifo *f)
{
	unsigned there = FIFO_CHUNK_FRAMES - f->head_i;

	return f->n < there ? f->n : there;
}

// Removes the first n frames, which lie side by side and were copied; only when n > 0.
static inline void fifo_advance(struct fifo_pool *pool, struct fifo *f, unsigned n)
{
	struct fifo_chunk *c = f->head;

	f->head_i = (uint16_t)(f->head_i + n);
	f->n -= n;
	if (f->n != 0 && f->head_i != FIFO_CHUNK_FRAMES)
		return;
	// The chunk at the head is spent, or held the last frame.
	f->head = c->next;
	f->head_i = 0;
	if (f->head == NULL)
		f->tail = NULL;
	fifo_free_chunk(pool, c);
}

// ---- some frames out of the middle

// A purge looks at each frame of a queue, in order, and takes some out; the others close up. The
// caller may stop and continue later. Until the purge has ended, frames may be pushed, but the
// queue has no head to pop.
struct fifo_purge {
	struct fifo_chunk *read, *write; // write is read, or the chunk before it
	uint16_t read_i, write_i; // next to look at; where the next one is kept
};

static inline void fifo_purge_begin(const struct fifo *f, struct fifo_purge *s)
{
	s->read = s->write = f->head;
	s->read_i = s->write_i = f->head_i;
}

// No frame is left to look at: the purge is to be ended.
static inline bool fifo_purge_over(const struct fifo *f, const struct fifo_purge *s)
{
	return s->read == f->tail && (s->read == NULL || s->read_i == f->tail_i);
}

// The next frame; only where it is not over. It must be kept or taken.
const struct frame *fifo_purge_look(struct fifo_pool *pool, struct fifo_purge *s);
void fifo_purge_keep(struct fifo_purge *s);
void fifo_purge_take(struct fifo *f, struct fifo_purge *s, struct frame *out);
void fifo_purge_end(struct fifo_pool *pool, struct fifo *f, const struct fifo_purge *s);
