// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/rxbuf.h"

enum { Q = 24, Q_MASK = (1 << Q) - 1, DEFAULT_BYTES = 256 * 1024 };

bool rxbuf_params_init(struct rxbuf_params *p, uint64_t rate_bps, uint32_t capacity, uint32_t xoff,
		       uint32_t xon)
{
	if (rate_bps == 0)
		return false;
	p->q24_per_byte = (8000000000ull << Q) / rate_bps;
	p->capacity = capacity != 0 ? capacity : (uint32_t)DEFAULT_BYTES;
	p->xoff = xoff != 0 ? xoff : p->capacity / 2;
	p->xon = xon != 0 ? xon : p->xoff / 2;
	return p->xon <= p->xoff && p->xoff < p->capacity;
}

// The host turns to a frame at start_ns less early_q24.
static void take(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len, uint64_t start_ns)
{
	uint64_t cost = len * p->q24_per_byte;

	// early_q24 is less than a nanosecond; so is the new one.
	b->busy = true;
	if (cost <= b->early_q24) {
		b->early_q24 -= (uint32_t)cost;
		b->taken_ns = start_ns;
		return;
	}
	cost -= b->early_q24;
	b->taken_ns = start_ns + ((cost + Q_MASK) >> Q);
	b->early_q24 = (uint32_t)(-cost & Q_MASK);
}

bool rxbuf_add(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len, unsigned cls,
	       uint64_t now_ns)
{
	if (len > p->capacity - b->used_bytes)
		return false;
	b->used_bytes += len;
	if (b->used_bytes > p->xoff)
		b->want |= (uint8_t)(1u << cls);
	if (!b->busy) {
		b->early_q24 = 0;
		take(p, b, len, now_ns);
	}
	return true;
}

void rxbuf_taken(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len, uint32_t next_len)
{
	b->used_bytes -= len;
	if (b->used_bytes < p->xon || b->used_bytes == 0)
		b->want = 0;
	b->busy = false;
	if (next_len != 0)
		take(p, b, next_len, b->taken_ns);
}
