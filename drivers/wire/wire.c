// SPDX-License-Identifier: Apache-2.0
#include "drivers/wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/qos/shaper.h"

enum { NANOS = 1000000000, LIGHT_M_PER_S = 198000000, MAX_FRAME = 65535 };

// A frame between its last bit's departure and its receipt.
struct flight {
	uint64_t arrives_ns;
	struct rte_mbuf *m;
};

// Frames towards one end, in order of arrival: a ring that grows.
struct flights {
	struct flight *ring;
	uint32_t capacity, head, n;
};

struct wire_end {
	struct wire *wire;
	struct wire_end *peer;
	struct actor *owner;
	struct flights rx;
	// The line out of this end is busy until free_ns - 1 + free_num / speed (free_num in
	// 1..speed), that is until free_ns once rounded up.
	uint64_t free_ns;
	uint64_t free_num;
};

struct wire {
	struct vclock *clock;
	struct wire_conf conf;
	struct wire_end end[2];
	bool up;
	uint64_t lost;
};

uint64_t wire_delay_ns(uint64_t cable_cm)
{
	return (cable_cm * (NANOS / 100) + LIGHT_M_PER_S - 1) / LIGHT_M_PER_S;
}

int wire_create(struct vclock *clock, const struct wire_conf *conf, struct wire **out)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return -ENOMEM;
	w->clock = clock;
	w->conf = *conf;
	w->up = true;
	for (unsigned i = 0; i < 2; i++)
		w->end[i] = (struct wire_end){.wire = w, .peer = &w->end[1 - i]};
	*out = w;
	return 0;
}

static void flights_clear(struct flights *f)
{
	for (; f->n != 0; f->n--) {
		rte_pktmbuf_free(f->ring[f->head].m);
		f->head = (f->head + 1) % f->capacity;
	}
}

void wire_destroy(struct wire *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i < 2; i++) {
		flights_clear(&w->end[i].rx);
		free(w->end[i].rx.ring);
	}
	free(w);
}

struct wire_end *wire_end(struct wire *w, unsigned side)
{
	return &w->end[side];
}

void wire_end_attach(struct wire_end *e, struct actor *owner)
{
	e->owner = owner;
}

void wire_set_up(struct wire *w, bool up)
{
	w->up = up;
	if (up)
		return;
	for (unsigned i = 0; i < 2; i++) {
		w->lost += w->end[i].rx.n;
		flights_clear(&w->end[i].rx);
	}
}

uint64_t wire_lost(const struct wire *w)
{
	return w->lost;
}

static int flights_push(struct flights *f, struct flight fl)
{
	if (f->n == f->capacity) {
		uint32_t capacity = f->capacity == 0 ? 16 : 2 * f->capacity;
		struct flight *ring = calloc(capacity, sizeof(*ring));

		if (ring == NULL)
			return -ENOMEM;
		for (uint32_t i = 0; i < f->n; i++)
			ring[i] = f->ring[(f->head + i) % f->capacity];
		free(f->ring);
		*f = (struct flights){.ring = ring, .capacity = capacity, .n = f->n};
	}
	f->ring[(f->head + f->n++) % f->capacity] = fl;
	return 0;
}

static void poke(void *arg, uint64_t now_ns)
{
	const struct wire_end *e = arg;

	(void)now_ns;
	if (e->owner != NULL)
		actor_poke(e->owner);
}

// Starts a frame of len bytes at the present instant; the line is idle. Returns when its last bit
// has left. free_num carries the remainder when frames stand back to back.
static uint64_t serialise(struct wire_end *e, uint32_t len)
{
	uint64_t now = e->wire->clock->now_ns, speed = e->wire->conf.speed_bps;
	uint64_t bits_ns = (uint64_t)(len + LINK_OVERHEAD_BYTES) * 8 * NANOS;
	bool back_to_back = e->free_ns == now && e->free_num != 0;
	uint64_t start_ns = back_to_back ? now - 1 : now;
	uint64_t num = bits_ns + (back_to_back ? e->free_num : 0);
	uint64_t whole = (num - 1) / speed; // so that the remainder is in 1..speed

	e->free_num = num - whole * speed;
	e->free_ns = start_ns + whole + 1;
	return e->free_ns;
}

static uint16_t wire_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire_end *e = drv;
	struct flights *f = &e->rx;
	uint16_t got = 0;

	while (got < n && f->n != 0 && f->ring[f->head].arrives_ns <= e->wire->clock->now_ns) {
		pkts[got++] = f->ring[f->head].m;
		f->head = (f->head + 1) % f->capacity;
		f->n--;
	}
	return got;
}

static int32_t wire_rx_depth(void *drv)
{
	const struct wire_end *e = drv;
	int32_t n = 0;

	for (uint32_t i = 0; i < e->rx.n; i++)
		n += e->rx.ring[(e->rx.head + i) % e->rx.capacity].arrives_ns <=
		     e->wire->clock->now_ns;
	return n;
}

static bool idle(const struct wire_end *e)
{
	return e->free_ns <= e->wire->clock->now_ns;
}

static int32_t wire_tx_room(void *drv)
{
	return idle(drv) ? MAX_FRAME : 0;
}

// An idle line takes one frame; the batch's others are refused.
static uint16_t wire_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire_end *e = drv;
	struct wire *w = e->wire;
	struct flight fl = {.m = pkts[0]};

	if (n == 0 || !idle(e))
		return 0;
	fl.arrives_ns = serialise(e, pkts[0]->pkt_len) + w->conf.delay_ns;
	if (vclock_at(w->clock, e->free_ns, poke, e) != 0)
		return 0;
	if (!w->up) {
		w->lost++;
		rte_pktmbuf_free(pkts[0]);
		return 1;
	}
	if (vclock_at(w->clock, fl.arrives_ns, poke, e->peer) != 0 ||
	    flights_push(&e->peer->rx, fl) != 0) {
		w->lost++;
		rte_pktmbuf_free(pkts[0]);
	}
	return 1;
}

static uint32_t wire_tx_pending(void *drv)
{
	(void)drv;
	return 0; // the frame on the wire has left
}

static void wire_stats(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static bool wire_link_up(void *drv)
{
	const struct wire_end *e = drv;

	return e->wire->up;
}

const struct port_ops wire_ops = {
	.rx = wire_rx,
	.rx_depth = wire_rx_depth,
	.tx_room = wire_tx_room,
	.tx = wire_tx,
	.tx_pending = wire_tx_pending,
	.stats = wire_stats,
	.link_up = wire_link_up,
};

struct port_facts wire_facts(const struct wire_end *e, const uint8_t mac[6])
{
	struct port_facts f = {
		.speed_bps = e->wire->conf.speed_bps,
		.max_frame = MAX_FRAME,
		.rx_depth_readable = false, // nothing waits in a wire
		.tx_burst = 1,
		.wakes = true,
		.pfc_rx = true,
		.pfc_tx = true,
	};

	memcpy(f.mac, mac, sizeof(f.mac));
	return f;
}
