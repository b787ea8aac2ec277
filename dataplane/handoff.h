// SPDX-License-Identifier: Apache-2.0
// Frames on their way from one worker to another: a queue with one writer and one reader.
//
// Each cache line that crosses between two cores costs more than the work on a frame. So frames of
// a run that differ in their mbuf alone cross as one descriptor and an mbuf pointer each:
//
//   descriptor of the first | mbuf of the second | mbuf of the third | ...
//
// The number of pointers that follow is in the top byte of the descriptor's own pointer, where an
// address of a process has zeros. The writer reads the reader's place only when the queue looks
// full. The rest of the cost is the mbufs: a driver reads both lines of each when it sends and
// frees them. They are fetched a few at a time between the stages of a loop (fetch_taken), because
// a core has only some 16 lines on their way at once.
//
//   word          writer   reader
//   words, head   writer   reader (release, acquire)
//   put           writer   control
//   tail          reader   writer (release, acquire), when the queue looks full
//   taken         reader   control
//   entered, _ns  reader   writer (release, acquire)
#pragma once

#include <string.h>

#include <rte_common.h>
#include <rte_prefetch.h>

#include "dataplane/base/compiler.h"
#include "dataplane/base/counter.h"
#include "dataplane/frame.h"

enum {
	HANDOFF_WORDS = sizeof(struct frame) / sizeof(uint64_t),
	HANDOFF_ADDRESS_BITS = 56,
	HANDOFF_FETCH = 40, // words: a burst of one run
	HANDOFF_LINE = RTE_CACHE_LINE_SIZE / sizeof(uint64_t),
};

struct handoff {
	uint64_t *words;
	uint32_t mask;
	struct __rte_cache_aligned {
		_Atomic uint32_t head; // words written
		uint32_t tail_seen;
		ctr_t put; // frames
	};
	struct __rte_cache_aligned {
		_Atomic uint32_t tail; // words read
		uint32_t left; // pointers that follow the descriptor read last
		ctr_t taken; // frames
		struct frame like; // that descriptor
		// Frames that are in their queues, or have ended, and when the latest of them
		// arrived. Only where the policy looks for elephants.
		ctr_t entered;
		gauge_t entered_ns;
	};
};

// For n_frames of any kind; NULL without memory.
struct handoff *handoff_create(uint32_t n_frames);
void handoff_destroy(struct handoff *h); // NULL is fine; it must be empty

// A descriptor in words, the mbuf first.
union handoff_frame {
	struct frame f;
	uint64_t word[HANDOFF_WORDS];
};
static_assert(offsetof(struct frame, m) == 0, "the mbuf is the first word");

static inline bool handoff_twins(const struct frame *a, const struct frame *b)
{
	union handoff_frame x = {.f = *a}, y = {.f = *b};
	uint64_t differ = 0;

	for (unsigned i = 1; i < HANDOFF_WORDS; i++)
		differ |= x.word[i] ^ y.word[i];
	return differ == 0;
}

// Puts all n frames behind the others, or none: false.
static inline bool handoff_put(struct handoff *h, const struct frame *frames, unsigned n)
{
	uint32_t head = atomic_load_explicit(&h->head, memory_order_relaxed);
	uint32_t most = head + n * HANDOFF_WORDS - 1; // last word that may be written

	if (unlikely(most - h->tail_seen > h->mask)) {
		h->tail_seen = atomic_load_explicit(&h->tail, memory_order_acquire);
		if (most - h->tail_seen > h->mask)
			return false;
	}
	for (unsigned i = 0, k; i < n; i += k) {
		union handoff_frame first = {.f = frames[i]};

		k = 1;
		while (QUICK_WAYS && i + k < n && k < UINT8_MAX &&
		       handoff_twins(&frames[i], &frames[i + k]))
			k++;
		first.word[0] |= (uint64_t)(k - 1) << HANDOFF_ADDRESS_BITS;
		for (unsigned j = 0; j < HANDOFF_WORDS; j++)
			h->words[head++ & h->mask] = first.word[j];
		for (unsigned j = 1; j < k; j++)
			h->words[head++ & h->mask] = (uintptr_t)frames[i + j].m;
	}
	ctr_add(&h->put, n);
	atomic_store_explicit(&h->head, head, memory_order_release);
	return true;
}

// The reader fetches lines before it needs them: first the place of the writer, and later in the
// loop what is there to take. A line that the writer still writes would only go back and forth.
static inline void handoff_expect(const struct handoff *h)
{
	rte_prefetch0(&h->head);
}
static inline void handoff_fetch(const struct handoff *h)
{
	uint32_t head = atomic_load_explicit(&h->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	for (unsigned i = 0; i < head - tail && i < HANDOFF_FETCH; i += HANDOFF_LINE)
		rte_prefetch0(&h->words[(tail + i) & h->mask]);
}

static inline void handoff_count_taken(struct handoff *h, unsigned n)
{
	atomic_store_explicit(&h->taken, ctr_get(&h->taken) + n, memory_order_release);
}
// All frames that are counted as taken are in their queues. arrival_ns: of the last one.
static inline void handoff_entered(struct handoff *h, uint64_t arrival_ns)
{
	atomic_store_explicit(&h->entered, ctr_get(&h->taken), memory_order_release);
	atomic_store_explicit(&h->entered_ns, arrival_ns, memory_order_release);
}
// Takes up to `most` frames, in order; returns how many. The caller counts them as taken when they
// have another place to be counted in.
static inline unsigned handoff_take(struct handoff *h, struct frame *frames, unsigned most)
{
	uint32_t head = atomic_load_explicit(&h->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);
	union handoff_frame next = {.f = h->like};
	uint32_t left = h->left;
	unsigned n = 0;

	for (; n < most && tail != head; n++) {
		next.word[0] = h->words[tail++ & h->mask];
		if (left != 0) {
			left--;
		} else {
			for (unsigned j = 1; j < HANDOFF_WORDS; j++)
				next.word[j] = h->words[tail++ & h->mask];
			left = (uint32_t)(next.word[0] >> HANDOFF_ADDRESS_BITS);
			next.word[0] &= (1ull << HANDOFF_ADDRESS_BITS) - 1;
		}
		frames[n] = next.f;
	}
	if (n == 0)
		return 0;
	h->like = next.f;
	h->left = left;
	atomic_store_explicit(&h->tail, tail, memory_order_release);
	return n;
}

// Frames that wait, for control.
static inline uint32_t handoff_waiting(const struct handoff *h)
{
	uint64_t taken = atomic_load_explicit(&h->taken, memory_order_acquire);

	return (uint32_t)(ctr_get(&h->put) - taken); // put is not older than taken
}
