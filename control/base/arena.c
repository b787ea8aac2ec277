// SPDX-License-Identifier: Apache-2.0
#include "control/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t size;
	alignas(max_align_t) unsigned char bytes[];
};

void *allocated(void *p)
{
	if (p == NULL) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

static void add_block(struct arena *a, size_t n)
{
	size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
	struct arena_block *b = allocated(calloc(1, sizeof(*b) + size));

	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t n_bytes)
{
	size_t n = (n_bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	void *p;

	if (a->blocks == NULL || a->blocks->size - a->used < n)
		add_block(a, n);
	p = a->blocks->bytes + a->used;
	a->used += n;
	return p;
}

char *arena_text(struct arena *a, const char *text, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	memcpy(p, text, len);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char text[1024], *longer;
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = (size_t)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < sizeof(text))
		return arena_text(a, text, len);
	longer = arena_alloc(a, len + 1);
	va_start(ap, fmt);
	vsnprintf(longer, len + 1, fmt, ap);
	va_end(ap);
	return longer;
}

void arena_fini(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
	a->used = 0;
}
