// SPDX-License-Identifier: Apache-2.0
#include "tests/perf/probe.h"

#include <stddef.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "dataplane/qos/pfc.h"
#include "dataplane/switch.h"

static bool sender_is_paused(const struct probe *p)
{
	return p->sw != NULL && switch_pfc_tx(p->sw, p->port)->paused != 0;
}

static uint16_t probe_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct probe *p = drv;
	uint64_t start = rte_rdtsc();

	if (sender_is_paused(p))
		return 0;
	n = p->real->rx(p->drv, pkts, n);
	p->rx_cycles += rte_rdtsc() - start;
	return n;
}

static int32_t probe_rx_depth(void *drv)
{
	const struct probe *p = drv;

	return p->real->rx_depth(p->drv);
}

static int32_t probe_tx_room(void *drv)
{
	const struct probe *p = drv;

	return p->real->tx_room(p->drv);
}

static uint16_t probe_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct probe *p = drv;
	uint64_t start = rte_rdtsc();

	n = p->real->tx(p->drv, pkts, n);
	p->tx_cycles += rte_rdtsc() - start;
	return n;
}

static uint32_t probe_tx_pending(void *drv)
{
	const struct probe *p = drv;

	return p->real->tx_pending(p->drv);
}

static bool probe_pause(void *drv, unsigned cls, struct port_pause *out)
{
	const struct probe *p = drv;

	return p->real->pause(p->drv, cls, out);
}

static void probe_stats(void *drv, struct port_drv_stats *out)
{
	const struct probe *p = drv;

	p->real->stats(p->drv, out);
}

static bool probe_link_up(void *drv)
{
	const struct probe *p = drv;

	return p->real->link_up(p->drv);
}

// ---- nothing timed

static uint16_t obeying_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	const struct probe *p = drv;

	return sender_is_paused(p) ? 0 : p->real->rx(p->drv, pkts, n);
}

static uint16_t plain_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	const struct probe *p = drv;

	return p->real->tx(p->drv, pkts, n);
}

void probe_obey(struct probe *p)
{
	p->ops.rx = obeying_rx;
	p->ops.tx = plain_tx;
}

// ---- many flows

// A step that visits all numbers below a power of two in an order that no prefetcher knows.
enum { QP_STEP = 0x9e3779b1 & 0xffffff, QP_FIRST = 0x100000 };

static void make_member(struct probe *p, struct rte_mbuf *m)
{
	uint8_t *bytes = rte_pktmbuf_mtod(m, uint8_t *);
	struct bth_hdr *bth = (void *)(bytes + ETH_HLEN_ + sizeof(struct ipv4_hdr) +
				       sizeof(struct udp_hdr));
	uint64_t k = p->n_spread++;

	be24_put(&bth->dest_qp, QP_FIRST + ((uint32_t)k * QP_STEP & (p->spread - 1)));
	be24_put(&bth->psn, (uint32_t)(k / p->spread));
}

// The driver has just copied the frames: they are at hand.
static uint16_t spread_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct probe *p = drv;

	n = p->real->rx(p->drv, pkts, n);
	for (uint16_t i = 0; i < n; i++)
		make_member(p, pkts[i]);
	return n;
}

void probe_spread(struct probe *p, uint32_t queue_pairs)
{
	p->ops.rx = spread_rx;
	p->ops.tx = plain_tx;
	p->spread = queue_pairs;
}

void probe_init(struct probe *p, const struct port_ops *real, void *drv, unsigned port)
{
	*p = (struct probe){
		.ops = {.rx = probe_rx, .rx_depth = probe_rx_depth, .tx_room = probe_tx_room,
			.tx = probe_tx, .tx_pending = probe_tx_pending,
			.pause = real->pause != NULL ? probe_pause : NULL, .stats = probe_stats,
			.link_up = probe_link_up},
		.real = real,
		.drv = drv,
		.port = port,
	};
}
