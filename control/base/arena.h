// SPDX-License-Identifier: Apache-2.0
// Memory of one configuration: zeroed blocks that are all freed together. The process ends if
// memory runs out. Control thread only.
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used; // bytes of the first block
};

void *arena_alloc(struct arena *a, size_t n_bytes); // zeroed, aligned for any type
char *arena_text(struct arena *a, const char *text, size_t len); // a terminated copy
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *a, const char *fmt, ...);
void arena_fini(struct arena *a);
void *allocated(void *p); // p; ends the process where p is NULL
