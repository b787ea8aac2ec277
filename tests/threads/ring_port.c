// SPDX-License-Identifier: Apache-2.0
#include "tests/threads/ring_port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

enum { FULL_FRAME = 9216, SHAPER_BURST_NS = 100000, ROOM_BYTES = 65536 };

// ---- the switch's side

static uint16_t ring_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ring_port *p = drv;
	unsigned got = rte_ring_sc_dequeue_burst(p->in, (void **)pkts, n, NULL);

	ctr_add(&p->in_got, got);
	return (uint16_t)got;
}

static int32_t ring_rx_depth(void *drv)
{
	struct ring_port *p = drv;
	uint64_t put = ctr_get(&p->in_put), got = ctr_get(&p->in_got);

	return put > got ? (int32_t)(put - got) : 0; // the peer counts after it has put
}

static int32_t ring_tx_room(void *drv)
{
	struct ring_port *p = drv;

	return ctr_get(&p->out_put) - ctr_get(&p->out_got) < RING_PORT_FRAMES ? ROOM_BYTES : 0;
}

static uint16_t ring_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct ring_port *p = drv;
	unsigned put = rte_ring_sp_enqueue_burst(p->out, (void **)pkts, n, NULL);

	ctr_add(&p->out_put, put);
	return (uint16_t)put;
}

static uint32_t ring_tx_pending(void *drv)
{
	(void)drv;
	return 0;
}

static void ring_stats(void *drv, struct port_drv_stats *out)
{
	(void)drv;
	*out = (struct port_drv_stats){0};
}

static bool ring_link_up(void *drv)
{
	struct ring_port *p = drv;

	return atomic_load_explicit(&p->up, memory_order_relaxed);
}

const struct port_ops ring_port_ops = {
	.rx = ring_rx,
	.rx_depth = ring_rx_depth,
	.tx_room = ring_tx_room,
	.tx = ring_tx,
	.tx_pending = ring_tx_pending,
	.stats = ring_stats,
	.link_up = ring_link_up,
};

int ring_port_init(struct ring_port *p, const char *name)
{
	char ring[RTE_RING_NAMESIZE];

	memset(p, 0, sizeof(*p));
	snprintf(ring, sizeof(ring), "%s-in", name);
	p->in = rte_ring_create(ring, RING_PORT_FRAMES, SOCKET_ID_ANY,
				RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	snprintf(ring, sizeof(ring), "%s-out", name);
	p->out = rte_ring_create(ring, RING_PORT_FRAMES, SOCKET_ID_ANY,
				 RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	atomic_store(&p->up, true);
	if (p->in != NULL && p->out != NULL)
		return 0;
	ring_port_fini(p);
	return -ENOMEM;
}

void ring_port_fini(struct ring_port *p)
{
	rte_ring_free(p->in);
	rte_ring_free(p->out);
	p->in = p->out = NULL;
}

struct port_facts ring_port_facts(uint8_t last_mac_byte)
{
	return (struct port_facts){
		.mac = {2, 0, 0, 0, 1, last_mac_byte},
		.max_frame = FULL_FRAME,
		.rx_ring = RING_PORT_FRAMES,
		.shaper_burst_ns = SHAPER_BURST_NS,
		.rx_depth_readable = true,
		.pfc_rx = true,
		.pfc_tx = true,
	};
}

void ring_port_set_up(struct ring_port *p, bool up)
{
	atomic_store_explicit(&p->up, up, memory_order_relaxed);
}

// ---- the peer's side

bool ring_port_send(struct ring_port *p, struct rte_mbuf *m)
{
	if (rte_ring_sp_enqueue(p->in, m) != 0)
		return false;
	ctr_inc(&p->in_put);
	return true;
}

unsigned ring_port_receive(struct ring_port *p, struct rte_mbuf **out, unsigned n)
{
	unsigned got = rte_ring_sc_dequeue_burst(p->out, (void **)out, n, NULL);

	ctr_add(&p->out_got, got);
	return got;
}

// ---- the pool of frames: a stack under a mutex

struct stack {
	pthread_mutex_t mutex;
	unsigned n;
	void *objects[];
};

static int stack_alloc(struct rte_mempool *mp)
{
	struct stack *s = calloc(1, sizeof(*s) + mp->size * sizeof(s->objects[0]));

	if (s == NULL)
		return -ENOMEM;
	pthread_mutex_init(&s->mutex, NULL);
	mp->pool_data = s;
	return 0;
}

static void stack_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int stack_put(struct rte_mempool *mp, void *const *objects, unsigned n)
{
	struct stack *s = mp->pool_data;

	pthread_mutex_lock(&s->mutex);
	memcpy(s->objects + s->n, objects, n * sizeof(objects[0]));
	s->n += n;
	pthread_mutex_unlock(&s->mutex);
	return 0;
}

static int stack_get(struct rte_mempool *mp, void **objects, unsigned n)
{
	struct stack *s = mp->pool_data;
	bool enough;

	pthread_mutex_lock(&s->mutex);
	enough = s->n >= n;
	if (enough) {
		s->n -= n;
		memcpy(objects, s->objects + s->n, n * sizeof(objects[0]));
	}
	pthread_mutex_unlock(&s->mutex);
	return enough ? 0 : -ENOBUFS;
}

static unsigned stack_count(const struct rte_mempool *mp)
{
	struct stack *s = mp->pool_data;
	unsigned n;

	pthread_mutex_lock(&s->mutex);
	n = s->n;
	pthread_mutex_unlock(&s->mutex);
	return n;
}

struct rte_mempool *ring_port_pool(const char *name, unsigned n_frames)
{
	static const struct rte_mempool_ops stack_ops = {
		.name = "mutex_stack",
		.alloc = stack_alloc,
		.free = stack_free,
		.enqueue = stack_put,
		.dequeue = stack_get,
		.get_count = stack_count,
	};

	if (rte_mempool_register_ops(&stack_ops) < 0)
		return NULL;
	return rte_pktmbuf_pool_create_by_ops(name, n_frames, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM,
					      SOCKET_ID_ANY, stack_ops.name);
}
