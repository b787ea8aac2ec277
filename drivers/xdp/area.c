// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/area.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int xdp_area_open(struct xdp_area *a, uint32_t n_chunks, uint32_t chunk_bytes)
{
	void *memory;

	*a = (struct xdp_area){.len = (uint64_t)n_chunks * chunk_bytes,
			       .chunk = chunk_bytes,
			       .free = malloc(n_chunks * sizeof(*a->free)),
			       .sent = malloc(n_chunks * sizeof(*a->sent))};
	memory = mmap(NULL, a->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		a->memory = memory;
	if (a->free == NULL || a->sent == NULL || a->memory == NULL) {
		xdp_area_close(a);
		return -ENOMEM;
	}
	xdp_area_reset(a);
	return 0;
}

void xdp_area_reset(struct xdp_area *a)
{
	uint32_t n = a->memory != NULL ? (uint32_t)(a->len / a->chunk) : 0;

	for (a->n_free = 0; a->n_free < n; a->n_free++)
		a->free[a->n_free] = n - 1 - a->n_free;
}

void xdp_area_close(struct xdp_area *a)
{
	if (a->memory != NULL)
		munmap(a->memory, a->len);
	free(a->free);
	free(a->sent);
	*a = (struct xdp_area){0};
}
