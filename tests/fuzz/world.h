// SPDX-License-Identifier: Apache-2.0
// A world is what a target makes once and each input finds as it was made: a switch, a daemon. The
// blocks that the target allocates between world_begin and world_seal lie in one private mapping.
// world_end drops the pages that an input has written, so the next input finds the sealed bytes.
//
// The functions malloc, calloc, realloc, free, strdup, mmap and munmap of the linked objects and
// the allocators of DPDK pass here. Blocks of a world have poisoned gaps between them, and a block
// that an input frees is poisoned until the input ends. All other blocks come from malloc, so
// AddressSanitizer sees the memory of the dataplane too. The input must free all blocks of the
// world: that is how a leak shows. EAL is up, and pools of frames are made, before the first world
// begins. One thread builds.
#pragma once

#include <stddef.h>

struct world;

struct world *world_begin(size_t bytes);
void world_seal(struct world *w);

// Around each input.
void world_enter(struct world *w);
void world_end(struct world *w); // every block was freed; then all is as sealed
