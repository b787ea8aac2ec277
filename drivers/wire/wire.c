// SPDX-License-Identifier: Apache-2.0
#include "drivers/wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/wire.h"
#include "dataplane/qos/shaper.h"

enum { NANOS = 1000000000, LIGHT_M_PER_S = 198000000, MAX_FRAME = 65535, FIRST_RING = 16 };

// A frame between its start and its receipt.
struct flight {
	uint64_t arrives_ns;
	uint64_t turn; // of its arrival among the events of that instant: taken when it started
	struct rte_mbuf *m;
};

// Frames towards one end, in order: a ring that grows. The first `arrived` wait to be taken; the
// timer is set for the one behind them, and only for that, so none overtakes another.
struct flights {
	struct flight *ring;
	uint32_t mask, head, n, arrived;
	struct vtimer arrival;
};

// The direction out of an end.
struct line {
	// Busy until free_ns - 1 + free_num / speed (free_num in 1..speed), that is until free_ns
	// once rounded up.
	uint64_t free_ns;
	uint64_t free_num;
	uint64_t free_turn;
	struct vtimer free; // set when the line was found busy
	// What a frame of the last length takes: len is rarely another one.
	uint32_t len;
	uint64_t len_ns, len_num;
	struct wire_loss loss;
	struct rng rng;
	uint64_t n_eligible;
	uint64_t busy_ns, busy_num; // before the present speed; the remainder in 1/speed ns
	uint64_t busy_bytes; // since, overhead included
	uint64_t frames, bytes, delivered, lost[WIRE_N_LOSSES];
};

struct wire_end {
	struct wire *wire;
	struct wire_end *peer;
	struct actor *owner;
	wire_fetch_fn *fetch; // NULL: none
	const void *fetch_of;
	uint64_t *watch_word, watch_bit; // NULL: none
	struct flights rx;
	struct line out;
};

struct wire {
	struct vclock *clock;
	struct wire_conf conf; // as made
	uint64_t speed_bps, delay_ns; // as of now
	struct wire_end end[2];
	bool up;
};

uint64_t wire_delay_ns(uint64_t cable_cm)
{
	return (cable_cm * (NANOS / 100) + LIGHT_M_PER_S - 1) / LIGHT_M_PER_S;
}

// ---- frames in flight

static struct flight *flight_at(const struct flights *f, uint32_t i)
{
	return &f->ring[(f->head + i) & f->mask];
}

static void flights_clear(struct flights *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		rte_pktmbuf_free(flight_at(f, i)->m);
	f->n = 0;
	f->arrived = 0;
	vtimer_cancel(&f->arrival);
}

// Makes room for one more frame. False: there is no memory.
static bool flights_room(struct flights *f)
{
	uint32_t size = f->ring == NULL ? FIRST_RING : 2 * (f->mask + 1);
	struct flight *ring;

	if (f->ring != NULL && f->n <= f->mask)
		return true;
	ring = calloc(size, sizeof(*ring));
	if (ring == NULL)
		return false;
	for (uint32_t i = 0; i < f->n; i++)
		ring[i] = *flight_at(f, i);
	free(f->ring);
	f->ring = ring;
	f->mask = size - 1;
	f->head = 0;
	return true;
}

static bool flights_push(struct flights *f, struct flight fl)
{
	if (!flights_room(f))
		return false;
	if (f->n == f->arrived)
		vtimer_set_turn(&f->arrival, fl.arrives_ns, fl.turn);
	*flight_at(f, f->n++) = fl;
	return true;
}

static void call(const struct wire_end *e)
{
	if (e->watch_word != NULL)
		*e->watch_word |= e->watch_bit;
	if (e->owner != NULL)
		actor_poke(e->owner);
}

static void on_arrival(void *arg, uint64_t now_ns)
{
	struct wire_end *e = arg;
	struct flights *f = &e->rx;
	const struct flight *next = flight_at(f, f->arrived);

	(void)now_ns;
	// The owner takes it once all events of this instant have run.
	rte_prefetch0(next->m);
	rte_prefetch0((const char *)next->m + sizeof(*next->m) + RTE_PKTMBUF_HEADROOM);
	if (e->fetch != NULL)
		e->fetch(e->fetch_of, WIRE_ARRIVAL);
	if (++f->arrived < f->n) {
		next = flight_at(f, f->arrived);
		vtimer_set_turn(&f->arrival, next->arrives_ns, next->turn);
	}
	call(e);
}

static void on_free(void *arg, uint64_t now_ns)
{
	const struct wire_end *e = arg;

	(void)now_ns;
	if (e->fetch != NULL)
		e->fetch(e->fetch_of, WIRE_FREE);
	call(e);
}

// ---- a wire

int wire_create(struct vclock *clock, const struct wire_conf *conf, struct wire **out)
{
	struct wire *w;

	if (conf->speed_bps == 0)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->clock = clock;
	w->conf = *conf;
	w->speed_bps = conf->speed_bps;
	w->delay_ns = conf->delay_ns;
	w->up = true;
	for (unsigned i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];

		e->wire = w;
		e->peer = &w->end[1 - i];
		e->out.free_num = conf->speed_bps;
		vtimer_init(&e->rx.arrival, clock, on_arrival, e);
		vtimer_init(&e->out.free, clock, on_free, e);
	}
	*out = w;
	return 0;
}

void wire_destroy(struct wire *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i < 2; i++) {
		flights_clear(&w->end[i].rx);
		vtimer_cancel(&w->end[i].out.free);
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

void wire_end_fetch(struct wire_end *e, wire_fetch_fn *fetch, const void *of)
{
	e->fetch = fetch;
	e->fetch_of = of;
}

// ---- faults

void wire_set_up(struct wire *w, bool up)
{
	w->up = up;
	if (up)
		return;
	for (unsigned i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];

		e->peer->out.lost[WIRE_LOST_CUT] += e->rx.n;
		flights_clear(&e->rx);
	}
}

void wire_set_loss(struct wire_end *from, const struct wire_loss *loss)
{
	struct line *l = &from->out;

	l->loss = loss == NULL ? (struct wire_loss){0} : *loss;
	l->n_eligible = 0;
	rng_init(&l->rng, l->loss.seed);
}

// Draws chance for every eligible frame, so that the two ways to lose do not disturb each other.
static bool is_lost(struct line *l, const struct rte_mbuf *m)
{
	const struct wire_loss *loss = &l->loss;
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	bool by_chance, by_number;

	if (loss->chance_ppb == 0 && loss->every_nth == 0)
		return false;
	if (m->pkt_len <= loss->longer_than_bytes ||
	    (loss->spares_control && m->data_len >= sizeof(*eth) &&
	     be16_get(&eth->type) == ETYPE_MAC_CONTROL) ||
	    (loss->shorter_than_bytes != 0 && m->pkt_len >= loss->shorter_than_bytes))
		return false;
	l->n_eligible++;
	by_chance = (uint64_t)rng_next(&l->rng) * WIRE_CERTAIN_PPB >> 32 < loss->chance_ppb;
	by_number = loss->every_nth != 0 && l->n_eligible % loss->every_nth == 0;
	return by_chance || by_number;
}

// Time that the line was occupied by all it was given, and the remainder in 1/speed ns.
static uint64_t busy_ns(const struct line *l, uint64_t speed_bps, uint64_t *num)
{
	unsigned __int128 n = (unsigned __int128)l->busy_bytes * 8 * NANOS + l->busy_num;

	*num = (uint64_t)(n % speed_bps);
	return l->busy_ns + (uint64_t)(n / speed_bps);
}

void wire_set_speed(struct wire *w, uint64_t bps)
{
	assert(bps != 0);
	for (unsigned i = 0; i < 2; i++) {
		struct line *l = &w->end[i].out;

		// As a fraction of the new speed, rounded up: late by less than 1 / bps.
		l->free_num = (uint64_t)(((unsigned __int128)l->free_num * bps + w->speed_bps - 1) /
					 w->speed_bps);
		l->busy_ns = busy_ns(l, w->speed_bps, &l->busy_num);
		l->busy_num = (uint64_t)((unsigned __int128)l->busy_num * bps / w->speed_bps);
		l->busy_bytes = 0;
		l->len = 0;
	}
	w->speed_bps = bps;
}

uint64_t wire_speed(const struct wire *w)
{
	return w->speed_bps;
}

void wire_set_delay(struct wire *w, uint64_t delay_ns)
{
	w->delay_ns = delay_ns;
}

// ---- the port

// Starts a frame of len bytes at the present instant; the line is idle. Returns when its last bit
// has left. free_num carries the remainder when frames stand back to back.
static uint64_t serialise(struct line *l, const struct wire *w, uint32_t len)
{
	uint64_t now = w->clock->now_ns, ns, num;

	if (l->len != len) { // len bytes take len_ns and len_num / speed
		uint64_t bits_ns = (uint64_t)(len + LINK_OVERHEAD_BYTES) * 8 * NANOS;

		l->len = len;
		l->len_ns = bits_ns / w->speed_bps;
		l->len_num = bits_ns % w->speed_bps;
	}
	ns = l->len_ns;
	// An idle line has filled the nanosecond before this one.
	num = l->len_num + (l->free_ns == now ? l->free_num : w->speed_bps);
	while (num > w->speed_bps) {
		num -= w->speed_bps;
		ns++;
	}
	l->free_num = num;
	l->free_ns = now + ns;
	l->frames++;
	l->bytes += len;
	l->busy_bytes += len + LINK_OVERHEAD_BYTES;
	return l->free_ns;
}

static uint16_t wire_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire_end *e = drv;
	struct flights *f = &e->rx;
	uint16_t got = f->arrived < n ? (uint16_t)f->arrived : n;

	if (got == 0)
		return 0;
	for (uint16_t i = 0; i < got; i++)
		pkts[i] = flight_at(f, i)->m;
	f->head = (f->head + got) & f->mask;
	f->n -= got;
	f->arrived -= got;
	e->peer->out.delivered += got;
	return got;
}

static int32_t wire_rx_depth(void *drv)
{
	const struct wire_end *e = drv;

	return (int32_t)e->rx.arrived;
}

// Idle, or its owner is called when it is.
static bool idle(struct wire_end *e)
{
	struct line *l = &e->out;

	if (l->free_ns <= e->wire->clock->now_ns)
		return true;
	if (!vtimer_is_set(&l->free))
		vtimer_set_turn(&l->free, l->free_ns, l->free_turn);
	return false;
}

static int32_t wire_tx_room(void *drv)
{
	return idle(drv) ? MAX_FRAME : 0;
}

static void lose(struct line *l, struct rte_mbuf *m, enum wire_loss_cause cause)
{
	l->lost[cause]++;
	rte_pktmbuf_free(m);
}

// An idle line takes one frame; the batch's others are refused.
static uint16_t wire_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct wire_end *e = drv;
	const struct wire *w = e->wire;
	struct flight fl = {.m = pkts[0]};

	if (n == 0 || !idle(e))
		return 0;
	fl.arrives_ns = serialise(&e->out, w, pkts[0]->pkt_len) + w->delay_ns;
	e->out.free_turn = vclock_turn(w->clock);
	fl.turn = vclock_turn(w->clock);
	if (!w->up)
		lose(&e->out, pkts[0], WIRE_LOST_CUT);
	else if (is_lost(&e->out, pkts[0]))
		lose(&e->out, pkts[0], WIRE_LOST_FAULT);
	else if (!flights_push(&e->peer->rx, fl))
		lose(&e->out, pkts[0], WIRE_LOST_MEMORY);
	return 1;
}

static uint32_t wire_tx_pending(void *drv)
{
	(void)drv;
	return 0; // the frame on the wire has left
}

static void wire_watch(void *drv, uint64_t *word, uint64_t bit)
{
	struct wire_end *e = drv;

	e->watch_word = word;
	e->watch_bit = bit;
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
	.watch = wire_watch,
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

// ---- counts

struct wire_counts wire_counts(const struct wire_end *from)
{
	const struct line *l = &from->out;
	const struct wire *w = from->wire;
	struct wire_counts c = {.frames = l->frames, .bytes = l->bytes,
				.delivered = l->delivered, .in_flight = from->peer->rx.n};
	uint64_t now = w->clock->now_ns, num;

	memcpy(c.lost, l->lost, sizeof(c.lost));
	c.busy_ns = busy_ns(l, w->speed_bps, &num);
	// Of the frame that is being sent what is yet to come.
	if (l->free_ns > now)
		c.busy_ns -= l->free_ns - 1 - now + (num < l->free_num);
	return c;
}

bool wire_balanced(const struct wire_counts *c)
{
	uint64_t ended = c->delivered + c->in_flight;

	for (unsigned i = 0; i < WIRE_N_LOSSES; i++)
		ended += c->lost[i];
	return c->frames == ended;
}
