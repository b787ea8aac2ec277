// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/bench.h"
#include "tests/threads/peers.h"

#include <sched.h>

#include <rte_mbuf.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "dataplane/switch_flows.h"

enum { FRAMES_A_TURN = 8, TAKEN_AT_ONCE = 64, ROAMER = 0xee, FLOWS = 200, FIRST_SPORT = 50000,
       UDP_DSCP = 8, UDP_FLOWS = PEERS_PORTS * PEERS_UDP_FLOWS };

static unsigned pick(struct peers *p, unsigned n)
{
	return rng_next(&p->rng) % n;
}

// ---- what arrives

static void obey(struct peers *p, unsigned port, const struct pfc_times *t)
{
	for (unsigned c = 0; c < 8; c++) {
		if (!(t->enable >> c & 1))
			continue;
		if (t->quanta[c] != 0)
			p->paused[port] |= (uint8_t)(1u << c);
		else
			p->paused[port] &= (uint8_t)~(1u << c);
	}
}

static void check_order(struct peers *p, unsigned port, const struct rte_mbuf *m)
{
	struct bench_rx rx;
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned from = d[11] - 1u, stream = d[15] >> 2;
	uint32_t seq;

	if (from >= PEERS_PORTS)
		return;
	if (stream == UDP_DSCP)
		stream = 64 + (unsigned)(be16_get(d + 34) - FIRST_SPORT) % UDP_FLOWS;
	memcpy(rx.data, d, 64);
	seq = bench_seq(&rx);
	if (seq <= p->last[port][from][stream])
		ctr_inc(&p->out_of_order);
	p->last[port][from][stream] = seq;
}

// A frame that was made after the last change of the zones.
static void check_zones(struct peers *p, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *inner;
	uint16_t at = atomic_load_explicit(&p->zones_at, memory_order_acquire), stamp;
	struct net_ends e;

	if (!net_stamp(frame, m->data_len, &stamp, &inner) || stamp != at)
		return;
	e = net_ends(inner, m->data_len - (unsigned)(inner - frame));
	if (net_are_apart(&p->zones[at], &e))
		ctr_inc(&p->not_apart);
}

static void take(struct peers *p, unsigned port)
{
	struct rte_mbuf *pkts[TAKEN_AT_ONCE];
	unsigned n = ring_port_receive(&p->ports[port], pkts, TAKEN_AT_ONCE);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *d = rte_pktmbuf_mtod(pkts[i], const uint8_t *);
		struct pfc_times t;

		if (d[12] == 0x88 && d[13] == 0x08) {
			ctr_inc(&p->pfc);
			if (mac_ctrl_parse(d, pkts[i]->pkt_len, &t) == MAC_CTRL_PFC)
				obey(p, port, &t);
		} else if (p->zones != NULL) {
			check_zones(p, pkts[i]);
		} else {
			check_order(p, port, pkts[i]);
		}
		rte_pktmbuf_free(pkts[i]);
	}
	ctr_add(&p->received, n);
}

// Both ends of a link that was down have forgotten their pauses.
static void see_link(struct peers *p, unsigned port)
{
	uint32_t epoch = atomic_load_explicit(&p->link_epoch[port], memory_order_acquire);

	if (epoch == atomic_load_explicit(&p->link_seen[port], memory_order_relaxed))
		return;
	p->paused[port] = 0;
	atomic_store_explicit(&p->link_seen[port], epoch, memory_order_release);
}

// ---- what is sent

static void hand_over(struct peers *p, unsigned port, struct rte_mbuf *m)
{
	if (ring_port_send(&p->ports[port], m))
		ctr_inc(&p->sent);
	else
		rte_pktmbuf_free(m);
}

static void send_pause(struct peers *p, unsigned port, uint16_t quanta)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->pool);
	struct pfc_times t = {.enable = 1 << 3 | 1 << 5};

	if (m == NULL)
		return;
	t.quanta[3] = quanta;
	pfc_frame_build((uint8_t *)rte_pktmbuf_append(m, PFC_FRAME_LEN),
			(uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(port + 1)}, &t);
	hand_over(p, port, m);
}

// Makes a RoCEv2 frame of it. The number that tells its order is where the BTH begins: a SEND First
// as long as it is small. UDP port and queue pair say the same, so that control can tell a row of
// one flow from one of two. A quarter of the frames are of one flow, which becomes an elephant.
static void make_roce(struct peers *p, uint8_t *d, uint32_t seq)
{
	uint32_t flow = pick(p, 4) == 0 ? 0 : pick(p, FLOWS);
	uint8_t *bth = d + 42;

	if (seq >> 24 != 0)
		return;
	be16_put(d + 34, (uint16_t)(FIRST_SPORT + flow));
	be16_put(d + 36, ROCE_UDP_PORT);
	be24_put(bth + 5, flow);
	be24_put(bth + 9, pick(p, 8) == 0 ? seq : 0);
}

struct row_check {
	uint64_t n;
	bool at_rest;
};

// A worker counts a packet before its bytes, and control reads in the same order: while it works,
// the bytes of one packet may be missing, and those of any number of later ones be there.
static bool check_row(void *arg, const struct flow_row *row)
{
	struct row_check *c = arg;

	if (flow_is_roce(row->way.kind)) { // others where the policy looks for elephants
		assert_int_equal(row->udp_sport, FIRST_SPORT + flow_key_qp(&row->key));
		assert_int_equal(row->key.w[1] | row->key.w[2] | row->key.w[3], 0);
	}
	assert_true(row->bytes >= 64 * (row->packets - 1));
	if (c->at_rest)
		assert_in_range(row->bytes, 64 * row->packets, 600 * row->packets);
	assert_true(row->first_ns <= row->seen_ns);
	c->n++;
	return true;
}

uint64_t peers_check_flows(struct weir_switch *sw, uint64_t now_ns, bool at_rest)
{
	struct row_check c = {.at_rest = at_rest};
	struct flow_totals t;

	switch_flows_walk(sw, now_ns, true, check_row, &c);
	switch_flow_totals(sw, &t);
	assert_true(c.n <= t.max);
	return t.made;
}

static bool may_not_send(const struct peers *p, unsigned port, uint8_t dscp)
{
	return !atomic_load_explicit(&p->deaf, memory_order_relaxed) &&
	       (p->paused[port] >> (dscp / 8) & 1);
}

static void send_of_net(struct peers *p, unsigned port)
{
	unsigned view = atomic_load_explicit(&p->view, memory_order_relaxed);
	const struct net_view v = {
		.vlans = view & PEERS_SEE_VLANS, .routes = view & PEERS_SEE_ROUTES,
		.tunnels = view & PEERS_SEE_TUNNELS, .honest = true,
		.stamp = atomic_load_explicit(&p->zones_at, memory_order_acquire)};
	struct net_frame f;
	struct rte_mbuf *m;

	net_frame_draw(&p->rng, &v, port, &f);
	if (may_not_send(p, port, f.dscp))
		return;
	m = rte_pktmbuf_alloc(p->pool);
	if (m == NULL)
		return;
	memcpy(rte_pktmbuf_append(m, f.len), f.bytes, f.len);
	hand_over(p, port, m);
}

static void send_data(struct peers *p, unsigned port)
{
	static const uint8_t dscps[] = {0, UDP_DSCP, 24, 24, 40, 26};
	struct bench_frame f = {
		.to = pick(p, 4) == 0 ? pick(p, PEERS_PORTS) : PEERS_PORTS - 1,
		.dscp = dscps[pick(p, sizeof(dscps))],
		.ecn = (uint8_t)pick(p, 4),
		.len = (uint16_t)(64 + pick(p, 500)),
		.seq = ++p->seq,
	};
	bool roams = pick(p, 64) == 0, to_roamer = f.dscp < UDP_DSCP && pick(p, 8) == 0;
	struct rte_mbuf *m;
	uint8_t *d;

	f.broadcast = f.dscp == 0 && pick(p, 16) == 0;
	if (may_not_send(p, port, f.dscp))
		return;
	m = rte_pktmbuf_alloc(p->pool);
	if (m == NULL)
		return;
	d = rte_pktmbuf_mtod(m, uint8_t *);
	rte_pktmbuf_append(m, bench_build(d, port, &f));
	if (f.dscp == 24)
		make_roce(p, d, f.seq);
	if (f.dscp == UDP_DSCP)
		be16_put(d + 34, (uint16_t)(FIRST_SPORT + port * UDP_FLOWS +
					    f.to * PEERS_UDP_FLOWS + pick(p, PEERS_UDP_FLOWS)));
	if (to_roamer)
		d[5] = (uint8_t)(ROAMER + pick(p, 4));
	if (roams)
		d[11] = (uint8_t)(ROAMER + pick(p, 4)); // an address that was on another port
	hand_over(p, port, m);
}

static void send_next(struct peers *p, unsigned port)
{
	if (p->zones != NULL)
		send_of_net(p, port);
	else
		send_data(p, port);
}

static void *run(void *arg)
{
	struct peers *p = arg;

	while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
		bool silent = atomic_load_explicit(&p->silent, memory_order_relaxed);
		unsigned storming = atomic_load_explicit(&p->storming, memory_order_relaxed);

		for (unsigned port = 0; port < PEERS_PORTS; port++) {
			take(p, port);
			see_link(p, port);
			for (unsigned i = 0; i < FRAMES_A_TURN && !silent; i++)
				send_next(p, port);
			if (!silent && (storming >> port & 1))
				send_pause(p, port, UINT16_MAX);
			else if (!silent && pick(p, 200) == 0)
				send_pause(p, port, (uint16_t)pick(p, 1000));
		}
		atomic_store_explicit(&p->is_silent, silent, memory_order_release);
		sched_yield();
	}
	return NULL;
}

int peers_start(struct peers *p)
{
	return pthread_create(&p->thread, NULL, run, p);
}

void peers_stop(struct peers *p)
{
	atomic_store(&p->stop, true);
	pthread_join(p->thread, NULL);
}
