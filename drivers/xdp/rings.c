// SPDX-License-Identifier: Apache-2.0
#include "drivers/xdp/xdp_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <rte_ether.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "drivers/checksums.h"
#include "drivers/xdp/weir_xdp.h"

enum {
	BURST = 64,
	KICKS_MAX = 16, // the kernel sends 32 frames per call in copy mode
	MAC_CONTROL = 0x8808,
};

// ---- receive

// Takes mbufs as the pool has them, without a reset: rx() sets every field of a received frame.
void xdp_refill(struct xdp_port *p)
{
	void *bufs[BURST];
	uint32_t idx;

	while (p->fill_debt > 0) {
		uint32_t n = RTE_MIN(p->fill_debt, (uint32_t)BURST);

		if (rte_mempool_get_bulk(p->pool, bufs, n) != 0)
			return; // out of frames for now; the debt stands
		if (xsk_ring_prod__reserve(&p->fill, n, &idx) != n) {
			rte_mempool_put_bulk(p->pool, bufs, n);
			return;
		}
		for (uint32_t i = 0; i < n; i++) {
			uint64_t chunk = xdp_chunk(p, bufs[i]);

			*xsk_ring_prod__fill_addr(&p->fill, idx + i) = chunk;
			xdp_own(p, chunk);
		}
		xsk_ring_prod__submit(&p->fill, n);
		p->fill_debt -= n;
	}
}

static void fill_frame(const struct xdp_port *p, struct rte_mbuf *m, const struct xdp_desc *d)
{
	uintptr_t data = p->base + xsk_umem__add_offset_to_addr(d->addr);

	rte_pktmbuf_reset(m);
	m->data_off = (uint16_t)(data - (uintptr_t)m->buf_addr);
	m->data_len = (uint16_t)d->len;
	m->pkt_len = d->len;
}

uint16_t xdp_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct xdp_port *p = drv;
	uint32_t idx = 0, got = xsk_ring_cons__peek(&p->rx, n, &idx);

	for (uint32_t i = 0; i < got; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&p->rx, idx + i);

		pkts[i] = xdp_mbuf(p, d->addr);
		rte_prefetch0(pkts[i]);
	}
	for (uint32_t i = 0; i < got; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&p->rx, idx + i);

		fill_frame(p, pkts[i], d);
		xdp_disown(p, xsk_umem__extract_addr(d->addr));
	}
	if (p->finish && got > 0)
		ctr_add(&p->finished, checksums_finish(pkts, got));
	if (got > 0)
		xsk_ring_cons__release(&p->rx, got);
	p->fill_debt += got;
	if (p->fill_debt > 0)
		xdp_refill(p);
	if (xsk_ring_prod__needs_wakeup(&p->fill))
		(void)recvfrom(p->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	return (uint16_t)(got + copies_rx(&p->copies, p->pool, pkts + got, (uint16_t)(n - got)));
}

// The kernel's producer index, read fresh, less what rx() has taken.
int32_t xdp_rx_depth(void *drv)
{
	struct xdp_port *p = drv;

	return (int32_t)(__atomic_load_n(p->rx.producer, __ATOMIC_ACQUIRE) - p->rx.cached_cons);
}

// ---- transmit

// Completions may come in another order than the frames went: each names its own buffer.
static void reap(struct xdp_port *p)
{
	struct rte_mbuf *done[BURST];
	uint32_t idx;

	while (p->pending_frames > 0) {
		uint32_t n = xsk_ring_cons__peek(&p->completion, BURST, &idx);

		if (n == 0)
			return;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t addr = *xsk_ring_cons__comp_addr(&p->completion, idx + i);

			done[i] = xdp_mbuf(p, addr);
			xdp_disown(p, xsk_umem__extract_addr(addr));
			p->pending_bytes -= done[i]->pkt_len;
		}
		xsk_ring_cons__release(&p->completion, n);
		p->pending_frames -= n;
		rte_pktmbuf_free_bulk(done, n);
	}
}

// Frames in the transmit ring that the kernel has not looked at.
static uint32_t unsent(const struct xdp_port *p)
{
	return p->tx.cached_prod - __atomic_load_n(p->tx.consumer, __ATOMIC_ACQUIRE);
}

// In copy mode the call is what sends. It returns early after a batch (EAGAIN), when the device is
// busy (EBUSY) or completions have no room (ENOBUFS): go on while it gets anywhere; what stays
// behind is kicked again by the next poll of tx_room(), tx_pending() or tx().
static void kick(struct xdp_port *p)
{
	for (unsigned i = 0; i < KICKS_MAX; i++) {
		uint32_t before = unsent(p);

		if (before == 0 || !xsk_ring_prod__needs_wakeup(&p->tx))
			return;
		if (sendto(p->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno == ENOBUFS)
			reap(p);
		if (unsent(p) == before)
			return;
	}
}

static void poll_tx(struct xdp_port *p)
{
	if (p->pending_frames == 0)
		return;
	reap(p);
	if (unsent(p) > 0) {
		kick(p);
		reap(p);
	}
}

int32_t xdp_tx_room(void *drv)
{
	struct xdp_port *p = drv;

	poll_tx(p);
	if (p->pending_frames == 0)
		return (int32_t)p->tx_empty_bytes;
	if (p->pending_bytes >= p->tx_limit_bytes ||
	    p->pending_frames + XDP_TX_CONTROL_SPARE >= p->tx_size)
		return 0;
	return (int32_t)(p->tx_limit_bytes - p->pending_bytes);
}

static bool is_mac_control(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
	       RTE_BE16(MAC_CONTROL);
}

// The kernel would send garbage for a chain, and for a clone whose data lives in another element;
// of a bad descriptor it would keep the buffer.
static bool can_send(const struct xdp_port *p, const struct rte_mbuf *m)
{
	return m->nb_segs == 1 && m->pool == p->pool && RTE_MBUF_DIRECT(m) &&
	       rte_mbuf_refcnt_read(m) == 1 && m->pkt_len >= RTE_ETHER_HDR_LEN &&
	       m->pkt_len <= p->max_frame;
}

static bool put(struct xdp_port *p, struct rte_mbuf *m)
{
	uint64_t chunk = xdp_chunk(p, m);
	uint64_t offset = rte_pktmbuf_mtod(m, uintptr_t) - p->base - chunk;
	uint32_t idx;

	if (xsk_ring_prod__reserve(&p->tx, 1, &idx) != 1)
		return false;
	*xsk_ring_prod__tx_desc(&p->tx, idx) = (struct xdp_desc){
		.addr = chunk | offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT,
		.len = m->pkt_len,
	};
	xdp_own(p, chunk);
	p->pending_bytes += m->pkt_len;
	p->pending_frames++;
	return true;
}

// The completion ring is as long as the transmit ring, so pending_frames, which counts a frame
// until its completion is read, is what both are measured by.
uint16_t xdp_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct xdp_port *p = drv;
	uint16_t i, queued = 0;

	reap(p);
	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];

		if (!can_send(p, m)) {
			rte_pktmbuf_free(m);
			ctr_add(&p->tx_errors, 1);
			continue;
		}
		uint32_t spare = is_mac_control(m) ? 0 : XDP_TX_CONTROL_SPARE;

		if (p->pending_frames + spare >= p->tx_size || !put(p, m))
			break;
		queued++;
	}
	if (queued > 0)
		xsk_ring_prod__submit(&p->tx, queued);
	kick(p);
	return i;
}

uint32_t xdp_tx_pending(void *drv)
{
	struct xdp_port *p = drv;

	poll_tx(p);
	return p->pending_bytes;
}

// ---- early PFC

// The program stores a word at once, so whatever is read here was one PFC frame's.
bool xdp_pause(void *drv, unsigned cls, struct port_pause *out)
{
	const struct xdp_port *p = drv;
	uint64_t word = __atomic_load_n(&p->pause->word[cls], __ATOMIC_RELAXED);

	*out = (struct port_pause){.seq = (uint32_t)word, .quanta = (uint16_t)(word >> 32)};
	return true;
}
