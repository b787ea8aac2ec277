// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/pausing.h"

#include <string.h>

#include "dataplane/base/bits.h"
#include "dataplane/qos/pfc.h"

// ---- the receive buffer

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
static void take_from_rxbuf(const struct rxbuf_params *p, struct rxbuf *b, uint32_t len,
			    uint64_t start_ns)
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
		take_from_rxbuf(p, b, len, now_ns);
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
		take_from_rxbuf(p, b, next_len, b->taken_ns);
}

// ---- the cache of queue pairs

bool qp_cache_misses(struct qp_cache *c, uint32_t qpn)
{
	uint32_t at = 0;
	bool missed;

	while (at < c->n && c->qpns[at] != qpn)
		at++;
	missed = at == c->n;
	if (missed && c->n < c->size)
		c->n++;
	else if (missed)
		at--;
	memmove(c->qpns + 1, c->qpns, at * sizeof(*c->qpns));
	c->qpns[0] = qpn;
	return missed;
}

// ---- a storm

static uint64_t nic_storm_end_ns(const struct storm *s)
{
	return s->p.for_ns > UINT64_MAX - s->p.start_ns ? UINT64_MAX : s->p.start_ns + s->p.for_ns;
}

// Of the present burst; without bursts the storm is one.
static uint64_t burst_end(const struct storm *s)
{
	uint64_t end = nic_storm_end_ns(s);

	if (s->p.period_ns == 0 || end - s->from_ns < s->p.burst_ns)
		return end;
	return s->from_ns + s->p.burst_ns;
}

// This burst is over, and its last frame has left. Bursts that are over meanwhile are left out.
static void next_burst(struct storm *s, uint64_t now_ns)
{
	uint64_t end = nic_storm_end_ns(s), periods = 1;

	s->next_ns = UINT64_MAX;
	if (s->p.period_ns == 0 || end - s->from_ns <= s->p.period_ns)
		return;
	if (now_ns - s->from_ns >= s->p.burst_ns)
		periods += (now_ns - s->from_ns - s->p.burst_ns) / s->p.period_ns;
	s->from_ns += s->p.period_ns * periods;
	if (s->from_ns < end)
		s->next_ns = s->from_ns;
}

void storm_start(struct storm *s, const struct storm_params *p)
{
	*s = (struct storm){.p = *p, .from_ns = p->start_ns, .next_ns = p->start_ns};
}

void storm_stop(struct storm *s, uint64_t now_ns)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->p.start_ns)
		return;
	s->p.for_ns = now_ns - s->p.start_ns;
	// Between two bursts there is nothing to take back.
	s->next_ns = s->p.silent_end || s->from_ns > now_ns ? UINT64_MAX : now_ns;
}

bool storm_due(const struct storm *s, uint64_t now_ns, struct pfc_times *f)
{
	if (s->next_ns == UINT64_MAX || now_ns < s->next_ns)
		return false;
	*f = (struct pfc_times){.enable = s->p.classes};
	for_each_bit (c, s->p.classes)
		f->quanta[c] = now_ns < burst_end(s) ? s->p.quanta : 0;
	return true;
}

uint64_t storm_sent(struct storm *s, uint64_t now_ns)
{
	uint64_t end = burst_end(s), missed;

	if (now_ns >= end) {
		missed = (end - s->next_ns + s->p.every_ns - 1) / s->p.every_ns;
		next_burst(s, now_ns);
		return missed;
	}
	missed = (now_ns - s->next_ns) / s->p.every_ns;
	s->next_ns += (missed + 1) * s->p.every_ns;
	if (s->next_ns >= end) {
		s->next_ns = end;
		if (s->p.silent_end)
			next_burst(s, now_ns);
	}
	return missed;
}

// ---- the guard

bool guard_allows(struct guard *g, uint64_t limit_ns, uint64_t speed_bps,
		  const struct pfc_times *f, uint64_t now_ns)
{
	if (limit_ns == 0 || g->tripped)
		return limit_ns == 0;
	for_each_bit (c, f->enable) {
		if (f->quanta[c] == 0) {
			g->until_ns[c] = 0; // XON is a break
			continue;
		}
		if (now_ns > g->until_ns[c])
			g->since_ns[c] = now_ns;
		g->until_ns[c] = now_ns + pfc_quanta_ns(speed_bps, f->quanta[c]);
		g->tripped |= now_ns - g->since_ns[c] >= limit_ns;
	}
	return !g->tripped;
}
