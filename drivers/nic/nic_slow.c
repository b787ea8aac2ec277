// SPDX-License-Identifier: Apache-2.0
// The slow receiver: frames wait in a buffer until the host has taken them, and the NIC pauses its
// peer meanwhile. What rxbuf.h and guard.h decide is done here.
#include "dataplane/bits.h"
#include "dataplane/units.h"
#include "drivers/nic/nic_int.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"

enum { SMALLEST_FRAME = 60 };

static int make_ring(struct slow *s, uint32_t size)
{
	struct rte_mbuf **ring;

	if (size <= s->size)
		return 0;
	ring = calloc(size, sizeof(*ring));
	if (ring == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		ring[i] = s->ring[(s->head + i) % s->size];
	free(s->ring);
	s->ring = ring;
	s->size = size;
	s->head = 0;
	return 0;
}

int nic_set_faults(struct nic *nic, const struct nic_faults *f)
{
	struct slow *s = &nic->slow;
	struct rxbuf_params p;

	if (f->rx_rate_bps != 0) {
		if (f->loopback_bps >= f->rx_rate_bps ||
		    !rxbuf_params_init(&p, f->rx_rate_bps - f->loopback_bps, f->rx_buffer_bytes,
				       f->rx_xoff_bytes, f->rx_xon_bytes))
			return -EINVAL;
		if (make_ring(s, p.capacity / SMALLEST_FRAME + 1) != 0)
			return -ENOMEM;
		s->p = p;
	}
	s->on = f->rx_rate_bps != 0;
	s->guard = (struct guard){0};
	nic->cfg.faults = *f;
	for (uint32_t i = 0; i < nic->n_used_qps; i++) {
		nic->qps[i].req.p.fence = f->fence && nic->qps[i].flow.op == REQ_SEND;
		nic->qps[i].req.p.go_back_0 = f->go_back_0;
		nic->qps[i].resp.p.go_back_0 = f->go_back_0;
		if (nic->qps[i].conn.state != CONN_FREE)
			timers_set(&nic->timers, i, nic->now_ns);
	}
	return 0;
}

void slow_fini(struct slow *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		rte_pktmbuf_free(s->ring[(s->head + i) % s->size]);
	free(s->ring);
}

// What a PFC frame would pause; MAC control itself never waits.
static unsigned class_of(const struct nic *nic, const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);
	const struct ipv4_hdr *ip = (const struct ipv4_hdr *)(eth + 1);

	if (m->data_len < sizeof(*eth) + sizeof(*ip) || be16_get(&eth->type) != ETYPE_IPV4)
		return 0;
	return nic->cfg.class_of_dscp[ip->tos >> 2];
}

static bool is_mac_control(const struct rte_mbuf *m)
{
	const struct eth_hdr *eth = rte_pktmbuf_mtod(m, const struct eth_hdr *);

	return m->data_len >= sizeof(*eth) && be16_get(&eth->type) == ETYPE_MAC_CONTROL;
}

bool slow_take(struct nic *nic, struct rte_mbuf *m)
{
	struct slow *s = &nic->slow;

	if (!s->on || is_mac_control(m))
		return false;
	if (s->n == s->size ||
	    !rxbuf_add(&s->p, &s->b, m->pkt_len, class_of(nic, m), nic->now_ns)) {
		nic->stats.rx_dropped++;
		rte_pktmbuf_free(m);
		return true;
	}
	s->ring[(s->head + s->n++) % s->size] = m;
	if (s->b.used_bytes > nic->stats.rx_buffer_max_bytes)
		nic->stats.rx_buffer_max_bytes = s->b.used_bytes;
	return true;
}

// When the receiver is slow no more, all that waits is taken at once.
struct rte_mbuf *slow_next(struct nic *nic)
{
	struct slow *s = &nic->slow;
	struct rte_mbuf *m;

	if (s->n == 0 || (s->on && rxbuf_due(&s->b) > nic->now_ns))
		return NULL;
	m = s->ring[s->head];
	s->head = (s->head + 1) % s->size;
	s->n--;
	rxbuf_taken(&s->p, &s->b, m->pkt_len, s->n == 0 ? 0 : s->ring[s->head]->pkt_len);
	return m;
}

// The refresh of the classes this buffer holds paused.
static uint64_t refresh(const struct nic *nic)
{
	uint64_t next = UINT64_MAX;

	for_each_bit (c, nic->slow.paused)
		next = min_u64(next, nic->pfc_tx.refresh_ns[c]);
	return next;
}

uint64_t slow_send(struct nic *nic)
{
	struct slow *s = &nic->slow;
	uint8_t mine = s->b.want | s->paused;
	struct pfc_times f;

	if (mine == 0 || s->guard.tripped)
		return UINT64_MAX;
	pfc_tx_due(&nic->pfc, &nic->pfc_tx, s->b.want, nic->now_ns, &f);
	f.enable &= mine; // other classes are a storm's
	if (f.enable == 0)
		return refresh(nic);
	if (!nic_send_pfc(nic, &f))
		return s->guard.tripped ? UINT64_MAX : nic_room_retry(nic);
	s->paused = s->b.want;
	return refresh(nic);
}
