// SPDX-License-Identifier: Apache-2.0
#include "control/lab/storage.h"

enum storage_mode storage_mode_of(const struct storage_params *p, uint32_t n_bytes)
{
	if (n_bytes <= p->small_bytes)
		return STORAGE_SMALL;
	return n_bytes <= p->large_bytes ? STORAGE_DIRECT : STORAGE_CHUNKED;
}

uint32_t storage_request_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes)
{
	bool carries = !is_read && storage_mode_of(p, n_bytes) == STORAGE_SMALL;

	return p->request_bytes + (carries ? n_bytes : 0);
}

uint32_t storage_reply_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes)
{
	bool carries = is_read && storage_mode_of(p, n_bytes) == STORAGE_SMALL;

	return p->reply_bytes + (carries ? n_bytes : 0);
}

uint32_t storage_next_bytes(const struct storage_params *p, uint32_t n_bytes, uint32_t moved)
{
	uint32_t left = n_bytes - moved;

	switch (storage_mode_of(p, n_bytes)) {
	case STORAGE_DIRECT:
		return left;
	case STORAGE_CHUNKED:
		return left < p->chunk_bytes ? left : p->chunk_bytes;
	default:
		return 0;
	}
}
