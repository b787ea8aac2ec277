// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fifo.h"

#include <errno.h>

#include <rte_malloc.h>

int fifo_pool_init(struct fifo_pool *pool, uint32_t n_frames, uint32_t n_fifos)
{
	// Each queue may have a partly used chunk at both ends.
	uint32_t n = n_frames / FIFO_CHUNK_FRAMES + 1 + 2 * n_fifos;
	struct fifo_chunk *mem = rte_zmalloc("fifo", (size_t)n * sizeof(*mem), 64);

	if (mem == NULL)
		return -ENOMEM;
	pool->memory = mem;
	pool->free = NULL;
	for (uint32_t i = n; i-- > 0;) {
		mem[i].next = pool->free;
		pool->free = &mem[i];
	}
	return 0;
}

void fifo_pool_fini(struct fifo_pool *pool)
{
	rte_free(pool->memory);
	*pool = (struct fifo_pool){0};
}
