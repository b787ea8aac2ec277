// SPDX-License-Identifier: Apache-2.0
// Addresses that the kernel sees are offsets into the pool's memory in the unaligned form: start of
// the element in the low 48 bits, distance to the data in the upper 16. Into a port's own memory
// (area.h) they are plain offsets.
#include "drivers/xdp/xdp.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>
#include <xdp/xsk.h>

#include "dataplane/base/units.h"
#include "dataplane/packet/wire.h"
#include "drivers/checksums.h"
#include "drivers/xdp/attach.h"
#include "drivers/xdp/netdev.h"
#include "drivers/xdp/port.h"
#include "drivers/xdp/traits.h"
#include "drivers/xdp/weir_xdp.h"

// An element is at least this long, the kernel's smallest buffer: a slot holds one start at most.
enum { XDP_SLOT_LOG2 = 11 };

enum {
	KERNEL_PAGE = 4096, // a buffer of the kernel's may not be longer
	KERNEL_CHUNK_MIN = 1 << XDP_SLOT_LOG2,
	POOL_HEADER = RTE_CACHE_LINE_SIZE, // what the mempool puts before an element
	TAGGED_OVERHEAD = 22, // Ethernet header and two tags
	SEND_BUFFER_BYTES = 4 << 20, // what skbs of a full transmit ring account for, and more
	SHAPER_BURST_NS = 200 * US_NS, // by this much a poll loop beside softirqs may be late
	RX_BURST = 64,
	DESCS_MAX = 3, // of a frame
	KICKS_MAX = 16, // the kernel sends 32 frames per call in copy mode
	BIND_TRIES = 50,
	BIND_WAIT_NS = 10 * MS_NS,
};

// Of Linux 6.6: the headers here may be older.
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

// The kernel has chunks of an area of the port; else mbufs of the pool.
static bool xdp_is_apart(const struct xdp_port *p)
{
	return p->area.memory != NULL;
}

static uint64_t xdp_chunk(const struct xdp_port *p, const struct rte_mbuf *m)
{
	return (uint64_t)((uintptr_t)m - p->base - p->header);
}

static struct rte_mbuf *xdp_mbuf(const struct xdp_port *p, uint64_t addr)
{
	return (struct rte_mbuf *)(p->base + xsk_umem__extract_addr(addr) + p->header);
}

static void xdp_own(struct xdp_port *p, uint64_t chunk)
{
	p->owned[chunk >> XDP_SLOT_LOG2 >> 6] |= 1ull << (chunk >> XDP_SLOT_LOG2 & 63);
}

static void xdp_disown(struct xdp_port *p, uint64_t chunk)
{
	p->owned[chunk >> XDP_SLOT_LOG2 >> 6] &= ~(1ull << (chunk >> XDP_SLOT_LOG2 & 63));
}

static bool xdp_owns(const struct xdp_port *p, uint64_t chunk)
{
	return (p->owned[chunk >> XDP_SLOT_LOG2 >> 6] >> (chunk >> XDP_SLOT_LOG2 & 63) & 1) != 0;
}

// ---- receive

// Gives the kernel as many of the missing buffers as there are. Takes mbufs as the pool has them,
// without a reset: rx() sets every field of a received frame.
static void xdp_refill(struct xdp_port *p)
{
	void *bufs[RX_BURST];
	uint32_t idx;

	while (p->fill_debt > 0) {
		uint32_t n = RTE_MIN(p->fill_debt, (uint32_t)RX_BURST);
		bool apart = xdp_is_apart(p);

		if (!apart && rte_mempool_get_bulk(p->pool, bufs, n) != 0)
			return; // out of frames for now; the debt stands
		if (xsk_ring_prod__reserve(&p->fill, n, &idx) != n) {
			if (!apart)
				rte_mempool_put_bulk(p->pool, bufs, n);
			return;
		}
		for (uint32_t i = 0; i < n; i++) {
			uint64_t chunk = apart ? xdp_area_take(&p->area) : xdp_chunk(p, bufs[i]);

			*xsk_ring_prod__fill_addr(&p->fill, idx + i) = chunk;
			if (!apart)
				xdp_own(p, chunk);
		}
		xsk_ring_prod__submit(&p->fill, n);
		p->fill_debt -= n;
	}
}

static void prefetch_all(const struct xdp_port *p, uint32_t idx, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t addr = xsk_ring_cons__rx_desc(&p->rx, idx + i)->addr;

		rte_prefetch0(xdp_is_apart(p) ? (void *)(p->base + addr) : xdp_mbuf(p, addr));
	}
}

// The program lets no frame pass that is longer than the room of an mbuf.
static struct rte_mbuf *copy_buffer(struct xdp_port *p, const struct xdp_desc *d)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->pool);

	if (m == NULL)
		return NULL;
	memcpy(rte_pktmbuf_mtod(m, void *), p->area.memory + d->addr, d->len);
	m->data_len = (uint16_t)d->len;
	m->pkt_len = d->len;
	xdp_area_give(&p->area, d->addr);
	return m;
}

// The buffer of a descriptor, which is the kernel's no longer. NULL: out of frames for now, and it
// stays the kernel's.
static struct rte_mbuf *take_buffer(struct xdp_port *p, const struct xdp_desc *d)
{
	uintptr_t data;
	struct rte_mbuf *m;

	if (xdp_is_apart(p))
		return copy_buffer(p, d);
	data = p->base + xsk_umem__add_offset_to_addr(d->addr);
	m = xdp_mbuf(p, d->addr);
	rte_pktmbuf_reset(m);
	m->data_off = (uint16_t)(data - (uintptr_t)m->buf_addr);
	m->data_len = (uint16_t)d->len;
	m->pkt_len = d->len;
	xdp_disown(p, xsk_umem__extract_addr(d->addr));
	return m;
}

// pkts: n_frames frames that came in n_descs buffers. Returns their number, and that of the copies
// that come behind them.
static uint16_t finish_rx(struct xdp_port *p, struct rte_mbuf **pkts, uint32_t n_frames,
			  uint32_t n_descs, uint16_t n)
{
	if (p->finish && n_frames > 0)
		ctr_add(&p->finished, checksums_finish(pkts, n_frames));
	if (n_descs > 0)
		xsk_ring_cons__release(&p->rx, n_descs);
	p->fill_debt += n_descs;
	if (p->fill_debt > 0)
		xdp_refill(p);
	if (xsk_ring_prod__needs_wakeup(&p->fill))
		(void)recvfrom(p->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	return (uint16_t)(n_frames + copies_rx(&p->copies, p->pool, pkts + n_frames,
					       (uint16_t)(n - n_frames)));
}

static uint16_t xdp_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct xdp_port *p = drv;
	uint32_t idx = 0, got = xsk_ring_cons__peek(&p->rx, n, &idx), i;

	prefetch_all(p, idx, got);
	for (i = 0; i < got; i++) {
		pkts[i] = take_buffer(p, xsk_ring_cons__rx_desc(&p->rx, idx + i));
		if (pkts[i] == NULL)
			break;
	}
	xsk_ring_cons__cancel(&p->rx, got - i);
	return finish_rx(p, pkts, i, i, n);
}

// Puts a buffer behind those of its frame. The program lets no frame pass that is longer than the
// room of the first one.
static void append_buffer(struct rte_mbuf *head, struct rte_mbuf *m)
{
	char *end = rte_pktmbuf_append(head, m->data_len);

	if (end != NULL)
		memcpy(end, rte_pktmbuf_mtod(m, const void *), m->data_len);
	rte_pktmbuf_free(m);
}

// As xdp_rx(), of frames that may have several buffers. All that follows a receive wants a frame in
// one piece, so the later buffers are copied to the end of the first one.
static uint16_t xdp_rx_long(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct xdp_port *p = drv;
	uint32_t idx = 0, frames = 0, descs = 0, got, i = 0;

	do {
		got = xsk_ring_cons__peek(&p->rx, n - frames, &idx);
		prefetch_all(p, idx, got);
		for (i = 0; i < got; i++) {
			const struct xdp_desc *d = xsk_ring_cons__rx_desc(&p->rx, idx + i);
			struct rte_mbuf *m = take_buffer(p, d);

			if (m == NULL)
				break;
			if (p->head == NULL)
				p->head = m;
			else
				append_buffer(p->head, m);
			if ((d->options & XDP_PKT_CONTD) == 0) {
				pkts[frames++] = p->head;
				p->head = NULL;
			}
		}
		xsk_ring_cons__cancel(&p->rx, got - i);
		descs += i;
	} while (i == got && got > 0 && frames < n);
	return finish_rx(p, pkts, frames, descs, n);
}

// The kernel's producer index, read fresh, less what rx() has taken.
static int32_t xdp_rx_depth(void *drv)
{
	struct xdp_port *p = drv;

	return (int32_t)(__atomic_load_n(p->rx.producer, __ATOMIC_ACQUIRE) - p->rx.cached_cons);
}

// ---- transmit

// Completions may come in another order than the frames went: each names its own buffer. That of a
// long frame is free with the last of its descriptors, which its nb_segs counts.
static void reap(struct xdp_port *p)
{
	struct rte_mbuf *done[RX_BURST];
	uint32_t idx;

	while (p->pending_descs > 0) {
		uint32_t n = xsk_ring_cons__peek(&p->completion, RX_BURST, &idx);
		unsigned n_done = 0;

		if (n == 0)
			return;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t addr = *xsk_ring_cons__comp_addr(&p->completion, idx + i);
			struct rte_mbuf *m;

			if (xdp_is_apart(p)) {
				p->pending_bytes -= xdp_area_sent(&p->area, addr);
				continue;
			}
			m = xdp_mbuf(p, addr);
			if (m->nb_segs > 1) {
				m->nb_segs--;
				continue;
			}
			done[n_done++] = m;
			xdp_disown(p, xsk_umem__extract_addr(addr));
			p->pending_bytes -= m->pkt_len;
		}
		xsk_ring_cons__release(&p->completion, n);
		p->pending_descs -= n;
		rte_pktmbuf_free_bulk(done, n_done);
	}
}

// Descriptors in the transmit ring that the kernel has not looked at.
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
	if (p->pending_descs == 0)
		return;
	reap(p);
	if (unsent(p) > 0) {
		kick(p);
		reap(p);
	}
}

static int32_t xdp_tx_room(void *drv)
{
	struct xdp_port *p = drv;

	poll_tx(p);
	if (p->pending_descs == 0)
		return (int32_t)p->tx_empty_bytes;
	if (p->pending_bytes >= p->tx_limit_bytes ||
	    p->pending_descs + DESCS_MAX - 1 + XDP_TX_CONTROL_SPARE >= p->tx_size)
		return 0;
	return (int32_t)(p->tx_limit_bytes - p->pending_bytes);
}

static bool is_mac_control(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
	       RTE_BE16(ETYPE_MAC_CONTROL);
}

// The kernel would send garbage for a chain, and for a clone whose data lives in another element;
// of a bad descriptor it would keep the buffer.
static bool can_send(const struct xdp_port *p, const struct rte_mbuf *m)
{
	return m->nb_segs == 1 && m->pool == p->pool && RTE_MBUF_DIRECT(m) &&
	       rte_mbuf_refcnt_read(m) == 1 && m->pkt_len >= RTE_ETHER_HDR_LEN &&
	       m->pkt_len <= p->max_frame;
}

// A descriptor is of a page at most.
static uint32_t descs_of(const struct rte_mbuf *m)
{
	return (m->pkt_len + KERNEL_PAGE - 1) / KERNEL_PAGE;
}

// From the descriptor idx on. The frame goes back to the pool.
static void put_copy(struct xdp_port *p, struct rte_mbuf *m, uint32_t idx)
{
	const char *data = rte_pktmbuf_mtod(m, const char *);

	for (uint32_t left = m->pkt_len, len; left > 0; left -= len, data += len) {
		len = RTE_MIN(left, (uint32_t)KERNEL_PAGE);
		*xsk_ring_prod__tx_desc(&p->tx, idx++) = (struct xdp_desc){
			.addr = xdp_area_put(&p->area, data, len),
			.len = len,
			.options = left > len ? XDP_PKT_CONTD : 0,
		};
	}
	rte_pktmbuf_free(m);
}

// From the descriptor idx on. The frame stays with the kernel until reap().
static void put_buffer(struct xdp_port *p, struct rte_mbuf *m, uint32_t n_descs, uint32_t idx)
{
	uint64_t chunk = xdp_chunk(p, m);
	uint64_t offset = rte_pktmbuf_mtod(m, uintptr_t) - p->base - chunk;
	uint32_t left = m->pkt_len;

	for (; left > KERNEL_PAGE; left -= KERNEL_PAGE, offset += KERNEL_PAGE)
		*xsk_ring_prod__tx_desc(&p->tx, idx++) = (struct xdp_desc){
			.addr = chunk | offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT,
			.len = KERNEL_PAGE,
			.options = XDP_PKT_CONTD,
		};
	*xsk_ring_prod__tx_desc(&p->tx, idx) = (struct xdp_desc){
		.addr = chunk | offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT,
		.len = left,
	};
	m->nb_segs = (uint16_t)n_descs;
	xdp_own(p, chunk);
}

static bool put_frame(struct xdp_port *p, struct rte_mbuf *m, uint32_t n_descs)
{
	uint32_t idx;

	if (xsk_ring_prod__reserve(&p->tx, n_descs, &idx) != n_descs)
		return false;
	p->pending_bytes += m->pkt_len;
	p->pending_descs += n_descs;
	if (xdp_is_apart(p))
		put_copy(p, m, idx);
	else
		put_buffer(p, m, n_descs, idx);
	return true;
}

// The completion ring is as long as the transmit ring, so pending_descs, which counts a
// descriptor until its completion is read, is what both are measured by.
static uint16_t xdp_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct xdp_port *p = drv;
	uint32_t queued = 0;
	uint16_t i;

	reap(p);
	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];

		if (!can_send(p, m)) {
			rte_pktmbuf_free(m);
			ctr_add(&p->tx_errors, 1);
			continue;
		}
		uint32_t spare = is_mac_control(m) ? 0 : XDP_TX_CONTROL_SPARE;
		uint32_t n_descs = descs_of(m);

		if (p->pending_descs + n_descs - 1 + spare >= p->tx_size ||
		    !put_frame(p, m, n_descs))
			break;
		queued += n_descs;
	}
	if (queued > 0)
		xsk_ring_prod__submit(&p->tx, queued);
	kick(p);
	return i;
}

static uint32_t xdp_tx_pending(void *drv)
{
	struct xdp_port *p = drv;

	poll_tx(p);
	return p->pending_bytes;
}

// ---- early PFC

// The program stores a word at once, so whatever is read here was one PFC frame's.
static bool xdp_pause(void *drv, unsigned cls, struct port_pause *out)
{
	const struct xdp_port *p = drv;
	uint64_t word = __atomic_load_n(&p->pause->word[cls], __ATOMIC_RELAXED);

	*out = (struct port_pause){.seq = (uint32_t)word, .quanta = (uint16_t)(word >> 32)};
	return true;
}

static bool xdp_gone(void *drv)
{
	const struct xdp_port *p = drv;
	struct netdev_state state;

	return netdev_read(&p->dev, &state) == -ENODEV;
}

static bool xdp_link_up(void *drv)
{
	const struct xdp_port *p = drv;
	struct netdev_state state;

	return netdev_read(&p->dev, &state) == 0 && state.up;
}

// A port on its way up.
struct opening {
	struct xdp_port *p;
	const char *ifname;
	const struct live_conf *conf;
	struct live_text *text;
};

// rc, with what failed where it is not 0.
static int outcome(const struct opening *o, int rc, const char *what)
{
	return rc == 0 ? 0 : live_refuse(o->text, rc, "%s: %s: %s", o->ifname, what, strerror(-rc));
}

// The longest frame of one buffer, in any pool.
enum { ONE_BUFFER_FRAME = LIVE_XDP_PAGE_MTU + TAGGED_OVERHEAD };
static_assert((KERNEL_PAGE - POOL_HEADER - LIVE_MBUF_BYTES - XDP_FRAME_ROOM) / XDP_FRAME_STEP *
				      XDP_FRAME_STEP -
			      XDP_FRAME_SLACK ==
		      ONE_BUFFER_FRAME,
	      "the longest frame with its room fills a page");
static_assert(LIVE_XDP_MTU_MAX + TAGGED_OVERHEAD <= DESCS_MAX * KERNEL_PAGE,
	      "the longest frame has its descriptors");

// The kernel does not say whether a socket may have frames of several buffers.
static uint32_t largest_mtu(void)
{
	struct utsname u;
	unsigned major, minor;

	if (uname(&u) != 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return LIVE_XDP_PAGE_MTU;
	return major > 6 || (major == 6 && minor >= 6) ? LIVE_XDP_MTU_MAX : LIVE_XDP_PAGE_MTU;
}

bool xdp_is_long(uint32_t max_frame)
{
	return max_frame > ONE_BUFFER_FRAME;
}

// ---- what an interface and a pool must be like

static int check_netdev(const struct opening *o)
{
	const struct netdev *d = &o->p->dev;
	const struct live_conf *conf = o->conf;
	struct live_text *text = o->text;
	uint32_t most = largest_mtu();
	uint32_t mtu = conf->mtu != 0 ? conf->mtu : conf->max_frame - TAGGED_OVERHEAD;

	if (conf->max_frame > most + TAGGED_OVERHEAD)
		return live_refuse(
			text, -EMSGSIZE, "%s: the largest MTU is %u, not %u%s", d->name, most, mtu,
			most == LIVE_XDP_PAGE_MTU ? "; Linux 6.6 and newer carry longer frames"
						  : "");
	if (d->rx_queues > 1)
		return live_refuse(
			text, -EINVAL,
			"%s: it spreads frames over %u receive queues and one is polled; `ethtool "
			"-L %s %s 1` leaves one",
			d->name, d->rx_queues, d->name, d->combined_queues ? "combined" : "rx");
	if (d->mtu < mtu)
		return live_refuse(
			text, -EMSGSIZE,
			"%s: its MTU is %u and the port needs %u; `ip link set dev %s mtu %u`",
			d->name, d->mtu, mtu, d->name, mtu);
	return 0;
}

static int check_pool(const struct opening *o)
{
	const struct rte_mempool *pool = o->conf->pool;
	uint32_t max_frame = o->conf->max_frame;
	uint32_t room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool);
	bool shared = !o->conf->apart;

	if (shared && pool->nb_mem_chunks != 1 && rte_eal_iova_mode() == RTE_IOVA_PA)
		return live_refuse(
			o->text, -ENOTSUP,
			"%s: no xdp: port works beside a pci: port on a uio driver; bind the card "
			"to vfio-pci",
			o->ifname);
	if (shared && pool->nb_mem_chunks != 1)
		return live_refuse(
			o->text, -ENOMEM,
			"the frame pool lies in %u pieces of memory and AF_XDP needs one; set "
			"more hugepages or none",
			pool->nb_mem_chunks);
	if (room < xdp_data_room(max_frame))
		return live_refuse(
			o->text, -EMSGSIZE,
			"the frame pool has %u bytes per frame and a frame of %u bytes needs %u",
			room, max_frame, xdp_data_room(max_frame));
	return 0;
}

// ---- the socket and its rings

static void free_if_owned(struct rte_mempool *pool, void *arg, void *obj, unsigned idx)
{
	struct xdp_port *p = arg;
	uint64_t chunk = xdp_chunk(p, obj);

	(void)pool;
	(void)idx;
	if (xdp_owns(p, chunk)) {
		xdp_disown(p, chunk);
		rte_pktmbuf_free(obj);
	}
}

// The kernel keeps buffers in places that rings do not show, so what comes back is found by
// looking at every element of the pool.
static void socket_close(struct xdp_port *p)
{
	if (p->xsk != NULL)
		xsk_socket__delete(p->xsk);
	if (p->umem != NULL)
		(void)xsk_umem__delete(p->umem);
	p->xsk = NULL;
	p->umem = NULL;
	rte_pktmbuf_free(p->head);
	p->head = NULL;
	// libxdp takes what is in them for that of the next socket.
	memset(&p->rx, 0, sizeof(p->rx));
	memset(&p->fill, 0, sizeof(p->fill));
	memset(&p->tx, 0, sizeof(p->tx));
	memset(&p->completion, 0, sizeof(p->completion));
	xdp_area_reset(&p->area);
	if (p->owned != NULL)
		rte_mempool_obj_iter(p->pool, free_if_owned, p);
	p->pending_bytes = 0;
	p->pending_descs = 0;
}

// The kernel makes a record for each chunk (area.h). So where it copies, a chunk of the pool is as
// long as it may be. The XDP program lets no frame pass that is longer than a buffer. A NIC that
// writes into the buffer itself needs its real length.
static int socket_try(struct xdp_port *p, uint32_t rx_ring, bool copy)
{
	uint32_t header =
		p->header + (uint32_t)sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(p->pool);
	uint32_t chunk = header + rte_pktmbuf_data_room_size(p->pool);
	uint32_t buffer =
		RTE_MIN(RTE_MAX(chunk, (uint32_t)KERNEL_CHUNK_MIN), (uint32_t)KERNEL_PAGE);
	const struct xsk_umem_config umem = {
		.fill_size = rx_ring,
		.comp_size = p->tx_size,
		.frame_size = xdp_is_apart(p) ? p->area.chunk
			      : copy	      ? (uint32_t)KERNEL_PAGE
					      : buffer,
		.frame_headroom = xdp_is_apart(p) ? 0 : header,
		.flags = xdp_is_apart(p) ? 0 : XDP_UMEM_UNALIGNED_CHUNK_FLAG,
	};

	const struct xsk_socket_config cfg = {
		.rx_size = rx_ring,
		.tx_size = p->tx_size,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = (uint16_t)(XDP_USE_NEED_WAKEUP | (copy ? XDP_COPY : 0) |
					 (p->long_frames ? XDP_USE_SG : 0)),
	};
	int rc = xsk_umem__create(&p->umem, (void *)p->base, p->base_len, &p->fill, &p->completion,
				  &umem);

	p->longest = (p->long_frames ? chunk : buffer) - header - XDP_PACKET_HEADROOM;
	if (xdp_is_apart(p) && !p->long_frames)
		p->longest = RTE_MIN(p->longest, p->area.chunk - XDP_PACKET_HEADROOM);
	if (rc == 0)
		rc = xsk_socket__create(&p->xsk, p->dev.name, 0, p->umem, &p->rx, &p->tx, &cfg);
	if (rc != 0)
		socket_close(p);
	return rc;
}

static int socket_open(const struct opening *o, bool copy)
{
	const struct timespec wait = {.tv_nsec = BIND_WAIT_NS};
	struct xdp_port *p = o->p;
	const char *name = p->dev.name;
	uint32_t rx_ring = xdp_rx_ring(o->conf->rx_ring);
	struct xdp_options opts = {0};
	socklen_t len = sizeof(opts);
	int bytes = SEND_BUFFER_BYTES, rc = socket_try(p, rx_ring, copy);

	// A process that was killed a moment ago may still be leaving the queue: the kernel
	// finishes that in the background.
	for (unsigned i = 1; i < p->bind_tries && rc == -EBUSY; i++) {
		nanosleep(&wait, NULL);
		rc = socket_try(p, rx_ring, copy);
	}
	if (rc == -EBUSY)
		return live_refuse(
			o->text, rc,
			"%s: another program holds its AF_XDP queue; stop that one first", name);
	if (rc == -EPERM || rc == -EACCES)
		return live_refuse(o->text, rc,
				   "%s: opening an AF_XDP socket is not permitted; run as root",
				   name);
	if (rc == -ENOBUFS || rc == -ENOMEM)
		return live_refuse(o->text, rc,
				   "%s: the kernel cannot lock the memory of %s; raise "
				   "`ulimit -l` or make %s smaller",
				   name, xdp_is_apart(p) ? "its rings" : "the frame pool",
				   xdp_is_apart(p) ? "rx_ring" : "the buffer");
	if (rc != 0)
		return outcome(o, rc, "AF_XDP does not work on this interface");
	p->fd = xsk_socket__fd(p->xsk);
	p->zero_copy = getsockopt(p->fd, SOL_XDP, XDP_OPTIONS, &opts, &len) == 0 &&
		       (opts.flags & XDP_OPTIONS_ZEROCOPY) != 0;
	(void)setsockopt(p->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	p->fill_debt = rx_ring;
	xdp_refill(p);
	if (p->fill_debt == 0)
		return 0;
	return live_refuse(o->text, -ENOMEM,
			   "%s: the frame pool has too few frames for a receive ring of %u", name,
			   rx_ring);
}

// On normal pages a buffer may straddle two that a NIC sees apart: the kernel has to copy. For an
// interface that is no card it always copies. With memory of its own no port gains by zero copy,
// because its frames are copied anyway, and some NICs take half of a short chunk only.
static int open_socket(const struct opening *o)
{
	return socket_open(o, !rte_eal_has_hugepages() || !o->p->dev.is_card ||
				      xdp_is_apart(o->p));
}

// ---- the program

// Native first; where the driver has none (or, on veth, where the peer's MTU is above 3506) the
// kernel's generic hook, which needs a copying socket. EBUSY and EEXIST: another program is there.
static int attach(const struct opening *o)
{
	struct xdp_port *p = o->p;
	int rc = xdp_attach_link(&p->attach, p->fd, p->dev.ifindex, XDP_MODE_NATIVE);
	int native_rc = rc;

	p->native = rc == 0;
	if (rc == 0)
		return 0;
	if (rc == -EBUSY || rc == -EEXIST || rc == -EPERM)
		return outcome(o, rc, "the XDP program cannot be attached");
	if (p->zero_copy) {
		socket_close(p);
		rc = socket_open(o, true);
		if (rc != 0)
			return rc;
	}
	rc = xdp_attach_link(&p->attach, p->fd, p->dev.ifindex, XDP_MODE_GENERIC);
	if (rc != 0)
		return outcome(o, rc, "the XDP program cannot be attached");
	live_note(o->text,
		  "%s: the driver refused native XDP (%s), so the slower generic hook is used; a "
		  "veth wants %sno more transmit queues at its peer than it has receive queues\n",
		  p->dev.name, strerror(-native_rc),
		  p->long_frames ? "" : "its peer's MTU at 3506 or less and ");
	return 0;
}

// ---- open and close

static void fill_facts(const struct xdp_port *p, const struct live_conf *conf,
		       struct port_facts *facts, struct live_text *text)
{
	const struct xdp_traits *t = xdp_traits_of(p->dev.driver);

	*facts = (struct port_facts){
		.speed_bps = t->has_rate ? p->dev.speed_bps : 0,
		.max_frame = conf->max_frame,
		.rx_ring = xdp_rx_ring(conf->rx_ring),
		.tx_ring_bytes = p->tx_empty_bytes,
		.shaper_burst_ns = SHAPER_BURST_NS,
		.rx_depth_readable = true,
		.pfc_rx = xdp_passes_pfc(t, &p->dev),
		.pfc_tx = t->pfc_tx,
	};
	memcpy(facts->mac, p->dev.mac, sizeof(facts->mac));
	xdp_note_pfc(&p->dev, facts->pfc_rx, text);
	if (p->finish && !p->native)
		live_note(
			text,
			"%s: TCP senders on this machine must not merge segments, because no port "
			"receives merged ones; `ethtool -K DEVICE tso off gso off` at each sender, "
			"or a veth with native XDP in place of %s\n",
			p->dev.name, p->dev.name);
	if (p->dev.rx_vlan_offload && t->has_rate)
		live_note(
			text,
			"%s: the NIC takes VLAN tags off; `ethtool -K %s rxvlan off` keeps them in "
			"the frame\n",
			p->dev.name, p->dev.name);
}

static int port_init(const struct opening *o)
{
	const struct live_conf *conf = o->conf;
	struct xdp_port *p = o->p;
	const struct rte_mempool_memhdr *mem = STAILQ_FIRST(&conf->pool->mem_list);
	uintptr_t start = (uintptr_t)mem->addr, end = start + mem->len;

	p->pool = conf->pool;
	p->base = RTE_ALIGN_FLOOR(start, (uintptr_t)KERNEL_PAGE);
	p->base_len = RTE_ALIGN_CEIL(end, (uintptr_t)KERNEL_PAGE) - p->base;
	p->header = conf->pool->header_size;
	p->max_frame = conf->max_frame;
	p->long_frames = xdp_is_long(conf->max_frame);
	p->tx_limit_bytes = xdp_tx_limit(conf->tx_ring_bytes, conf->max_frame);
	p->tx_size = xdp_tx_ring(p->tx_limit_bytes);
	p->pause = p->attach.pause;
	p->bind_tries = conf->no_wait ? 1 : BIND_TRIES;
	p->finish = xdp_traits_of(p->dev.driver)->unfinished || !p->dev.is_card;
	if (conf->apart && xdp_area_open(&p->area, xdp_rx_ring(conf->rx_ring) + p->tx_size,
					 xdp_area_chunk(conf->max_frame)) == 0) {
		p->base = (uintptr_t)p->area.memory;
		p->base_len = p->area.len;
	} else if (!conf->apart) {
		p->owned = calloc((p->base_len >> XDP_SLOT_LOG2 >> 6) + 1, sizeof(*p->owned));
	}
	return xdp_is_apart(p) || p->owned != NULL
		       ? 0
		       : live_refuse(o->text, -ENOMEM, "%s: out of memory%s", o->ifname,
				     conf->apart ? "; make rx_ring or tx_ring smaller" : "");
}

static int put_keep(const struct opening *o)
{
	struct xdp_port *p = o->p;

	return outcome(o, xdp_attach_rules(&p->attach, o->conf->keep, p->dev.mac, p->longest),
		       "the kernel does not take the rules of keep");
}

static int open_copies(const struct opening *o)
{
	return outcome(o, copies_open(&o->p->copies, o->p->dev.ifindex),
		       "no packet socket for copies of ARP");
}

static int check_program(const struct opening *o)
{
	return xdp_attach_check(o->p->dev.ifindex, o->p->dev.name, o->text);
}

// A program that has served another device goes on counting.
static int get_program(const struct opening *o)
{
	struct xdp_port *p = o->p;
	int rc = 0;

	if (o->conf->program != NULL)
		xdp_attach_borrow(&p->attach, o->conf->program);
	else
		rc = xdp_attach_load(&p->attach, xdp_is_long(o->conf->max_frame), o->text);
	for (uint32_t i = 0; rc == 0 && i < WEIR_XDP_N_COUNTS; i++)
		p->counts_at_open[i] = xdp_attach_count(&p->attach, i);
	return rc;
}

// A host that keeps ARP, ICMP or ports for itself means to go on using the interface.
static int refuse_host_use(const struct opening *o)
{
	const unsigned not_ip = 1u << WEIR_KEEP_LLDP | 1u << WEIR_KEEP_LACP;
	unsigned ifindex = (unsigned)o->p->dev.ifindex; // 0: not yet open
	char used[LIVE_TEXT_LEN / 2];

	if (o->conf->take_over || (o->conf->keep->kinds & ~not_ip) != 0)
		return 0;
	if (!netdev_host_uses(ifindex != 0 ? ifindex : if_nametoindex(o->ifname), used,
			      sizeof(used)))
		return 0;
	return live_refuse(o->text, -EBUSY,
			   "%s: the host uses it (%s) and would lose it: remove these, leave "
			   "frames to the host with `keep`, or write `take_over: on` at the port",
			   o->ifname, used);
}

static int open_netdev(const struct opening *o)
{
	return netdev_open(&o->p->dev, o->ifname, o->text);
}

static int read_counters(const struct opening *o)
{
	struct xdp_port *p = o->p;
	int rc = netdev_read(&p->dev, &p->at_open);

	p->latest = p->at_open;
	return outcome(o, rc, "reading its counters failed");
}

static enum live_known yes_no(bool yes)
{
	return yes ? LIVE_YES : LIVE_NO;
}

static void describe(const struct netdev *d, struct live_info *out)
{
	const struct xdp_traits *t = xdp_traits_of(d->driver);

	*out = (struct live_info){
		.ifindex = d->ifindex,
		.mtu = d->mtu,
		.mtu_max = largest_mtu(),
		.rx_queues = d->rx_queues,
		.combined_queues = d->combined_queues,
		.has_rate = t->has_rate,
		.pfc_rx = t->driver[0] == '\0' ? LIVE_UNKNOWN : yes_no(xdp_passes_pfc(t, d)),
		.pfc_tx = t->driver[0] == '\0' ? LIVE_UNKNOWN : yes_no(t->pfc_tx),
		// A veth reports that it does, and the frame still carries its tag.
		.takes_tags_off = t->has_rate ? yes_no(d->rx_vlan_offload) : LIVE_UNKNOWN,
		.flow_control = d->flow_control_known ? yes_no(d->flow_control) : LIVE_UNKNOWN,
	};
	snprintf(out->driver, sizeof(out->driver), "%s", d->driver);
}

int xdp_probe(const char *ifname, struct live_info *out, struct live_text *text)
{
	struct netdev d;
	int rc = netdev_open(&d, ifname, text);

	if (rc != 0)
		return rc;
	describe(&d, out);
	netdev_close(&d);
	return 0;
}

static void xdp_info(void *drv, struct live_info *out)
{
	const struct xdp_port *p = drv;

	describe(&p->dev, out);
	out->native = yes_no(p->native);
	out->zero_copy = yes_no(p->zero_copy);
}

// The rules before stand where it fails.
static int xdp_set_keep(void *drv, const struct keep *keep, bool take_over, struct live_text *text)
{
	struct xdp_port *p = drv;
	const struct live_conf conf = {.keep = keep, .take_over = take_over};
	const struct opening o = {p, p->dev.name, &conf, text};
	int rc = refuse_host_use(&o);

	return rc == 0 ? put_keep(&o) : rc;
}

static void xdp_close(void *drv)
{
	struct xdp_port *p = drv;

	xdp_attach_close(&p->attach);
	copies_close(&p->copies);
	socket_close(p);
	netdev_close(&p->dev);
	xdp_area_close(&p->area);
	free(p->owned);
	free(p);
}

static unsigned wait_fds(void *drv, int *fds)
{
	const struct xdp_port *p = drv;

	fds[0] = p->fd;
	if (p->copies.ring == NULL)
		return 1;
	fds[1] = p->copies.fd;
	return 2;
}

#define XDP_OPS(rx_of)                                                                             \
	{                                                                                          \
		.rx = rx_of, .rx_depth = xdp_rx_depth, .tx_room = xdp_tx_room, .tx = xdp_tx,       \
		.tx_pending = xdp_tx_pending, .pause = xdp_pause, .stats = xdp_stats,              \
		.link_up = xdp_link_up, .gone = xdp_gone, .reasons = xdp_reasons,                  \
		.wait_fds = wait_fds                                                               \
	}

static const struct port_ops xdp_ops = XDP_OPS(xdp_rx), xdp_ops_long = XDP_OPS(xdp_rx_long);

// The order matters: who owns the interface is settled before its queue is taken, and the rings are
// full before the program sends the first frame into them.
int xdp_open(const char *ifname, const struct live_conf *conf, struct live_port *out,
	     struct live_text *text)
{
	static int (*const steps[])(const struct opening *o) = {
		refuse_host_use, open_netdev, check_netdev, check_pool,
		check_program,	 get_program, port_init,    open_socket,
		put_keep,	 attach,      open_copies,  read_counters,
	};
	struct xdp_port *p = calloc(1, sizeof(*p));
	const struct opening o = {p, ifname, conf, text};
	int rc = 0;

	if (p == NULL)
		return live_refuse(text, -ENOMEM, "%s: out of memory", ifname);
	p->attach = (struct xdp_attach){.link_fd = -1};
	p->copies.fd = -1;
	p->dev = (struct netdev){.nl_fd = -1, .promisc_fd = -1};
	for (size_t i = 0; i < RTE_DIM(steps) && rc == 0; i++)
		rc = steps[i](&o);
	if (rc != 0) {
		xdp_close(p);
		return rc;
	}
	p->tx_empty_bytes = p->max_frame;
	if (!p->zero_copy && !xdp_traits_of(p->dev.driver)->has_rate)
		p->tx_empty_bytes *= XDP_KERNEL_BATCH;
	p->tx_empty_bytes = RTE_MAX(p->tx_limit_bytes, p->tx_empty_bytes);
	*out = (struct live_port){.ops = p->long_frames ? &xdp_ops_long : &xdp_ops,
				  .drv = p,
				  .close = xdp_close,
				  .info = xdp_info,
				  .set_keep = xdp_set_keep};
	fill_facts(p, conf, &out->facts, text);
	return 0;
}
