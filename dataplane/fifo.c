// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fifo.h"

#include <errno.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_malloc.h>

enum { ALIGN = 64 };

int fifo_pool_init(struct fifo_pool *pool, uint32_t n_frames, uint32_t n_fifos)
{
	// Each queue may have a partly used chunk at both ends.
	uint32_t n = n_frames / FIFO_CHUNK_FRAMES + 1 + 2 * n_fifos;
	size_t bytes = (size_t)n * sizeof(struct fifo_chunk), mapped = 0;
	struct fifo_chunk *mem;

	// DPDK's heap writes zeros to what is freed. Where it has no huge pages to offer, that
	// would touch all that was never used. The kernel gives a page when it is first touched,
	// and NORESERVE because a lab's buffer may be larger than the machine's memory.
	if (rte_eal_has_hugepages()) {
		mem = rte_zmalloc("fifo", bytes, ALIGN);
	} else {
		mapped = bytes;
		mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (mem == NULL || mem == MAP_FAILED)
		return -ENOMEM;
	*pool = (struct fifo_pool){.memory = mem, .unused = mem, .end = mem + n, .mapped = mapped};
	return 0;
}

void fifo_pool_touch(struct fifo_pool *pool)
{
	// A chunk is smaller than any page.
	for (struct fifo_chunk *c = pool->unused; c != pool->end; c++)
		c->next = NULL;
}

void fifo_pool_fini(struct fifo_pool *pool)
{
	if (pool->mapped != 0)
		munmap(pool->memory, pool->mapped);
	else
		rte_free(pool->memory);
	*pool = (struct fifo_pool){0};
}

const struct frame *fifo_purge_look(struct fifo_pool *pool, struct fifo_purge *s)
{
	struct fifo_chunk *c = s->read;

	if (s->read_i == FIFO_CHUNK_FRAMES) {
		s->read = c->next;
		s->read_i = 0;
		if (c != s->write) {
			s->write->next = s->read;
			fifo_free_chunk(pool, c);
		}
	}
	return &s->read->frames[s->read_i];
}

void fifo_purge_keep(struct fifo_purge *s)
{
	if (s->write_i == FIFO_CHUNK_FRAMES) {
		s->write = s->write->next;
		s->write_i = 0;
	}
	s->write->frames[s->write_i++] = s->read->frames[s->read_i++];
}

void fifo_purge_take(struct fifo *f, struct fifo_purge *s, struct frame *out)
{
	*out = s->read->frames[s->read_i++];
	f->n--;
}

void fifo_purge_end(struct fifo_pool *pool, struct fifo *f, const struct fifo_purge *s)
{
	if (s->read != s->write)
		fifo_free_chunk(pool, s->read);
	if (f->n != 0) {
		f->tail = s->write;
		f->tail->next = NULL;
		f->tail_i = s->write_i;
		return;
	}
	if (s->write != NULL)
		fifo_free_chunk(pool, s->write);
	f->head = f->tail = NULL;
	f->head_i = 0;
}
