// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/nic/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "dataplane/base/rng.h"
#include "dataplane/packet/edit.h"
#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"
#include "tests/eal.h"

enum { IN_FLIGHT = 8192, REORDER_NS = 3000 };

struct flight {
	uint64_t at_ns;
	struct rte_mbuf *m;
};

// Frames towards one side, by time of arrival.
struct loop_port {
	struct loop *loop;
	unsigned side;
	struct rng rng;
	uint32_t n;
	struct flight q[IN_FLIGHT];
};

static struct rte_mempool *pool(void)
{
	static struct rte_mempool *p;
	char *argv[] = {(char[]){"test"},     (char[]){"--no-huge"},
			(char[]){"--no-shconf"}, (char[]){"--no-pci"},
			(char[]){"--no-telemetry"}, (char[]){"-m"},
			(char[]){"64"},	      (char[]){"--log-level=4"}};

	if (p != NULL)
		return p;
	assert_true(eal_init_unbound(8, argv) >= 0);
	p = rte_pktmbuf_pool_create("loop", LOOP_POOL, 0, 0, 4096 + 512, 0);
	assert_non_null(p);
	return p;
}

static void push(struct loop_port *p, struct rte_mbuf *m, uint64_t at_ns)
{
	uint32_t i = p->n++;

	assert_true(p->n <= IN_FLIGHT);
	for (; i != 0 && p->q[i - 1].at_ns > at_ns; i--)
		p->q[i] = p->q[i - 1];
	p->q[i] = (struct flight){.at_ns = at_ns, .m = m};
}

static uint16_t port_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct loop_port *p = drv;
	uint16_t got = 0;

	while (got < n && got < p->n && p->q[got].at_ns <= p->loop->now_ns) {
		pkts[got] = p->q[got].m;
		got++;
	}
	p->n -= got;
	memmove(p->q, p->q + got, p->n * sizeof(p->q[0]));
	return got;
}

static bool hit(struct loop_port *p, uint32_t one_in)
{
	return one_in != 0 && rng_next(&p->rng) % one_in == 0;
}

static bool is_management(const uint8_t *frame, uint32_t len)
{
	struct pkt_info info;

	if (!parse(frame, len, &info))
		return true;
	return info.ip_proto != IP_PROTO_TCP && (!info.roce || info.bth_opcode == UD_SEND_ONLY);
}

static bool may_be_marked(const uint8_t *frame, uint32_t len, struct pkt_info *info)
{
	return !is_management(frame, len) && parse(frame, len, info) && info->ecn != ECN_NOT_ECT;
}

static void deliver(struct loop_port *to, struct rte_mbuf *m)
{
	struct loop *l = to->loop;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	bool spared = l->faults.spare_management && is_management(frame, m->pkt_len);
	uint64_t at_ns = l->now_ns + l->delay_ns;
	struct pkt_info info;

	if (!spared && hit(to, l->faults.loss)) {
		l->lost++;
		rte_pktmbuf_free(m);
		return;
	}
	if (!spared && hit(to, l->faults.corrupt)) {
		l->corrupted++;
		frame[rng_next(&to->rng) % m->pkt_len] ^= (uint8_t)(1 + rng_next(&to->rng) % 255);
	}
	if (may_be_marked(frame, m->pkt_len, &info) && hit(to, l->faults.ce)) {
		l->marked++;
		edit_ecn_ce(frame + info.l3_off, info.kind);
	}
	if (!spared && hit(to, l->faults.reorder)) {
		l->reordered++;
		at_ns += REORDER_NS;
	}
	if (!spared && hit(to, l->faults.repeat)) {
		l->repeated++;
		push(to, rte_pktmbuf_copy(m, pool(), 0, UINT32_MAX), at_ns);
	}
	push(to, m, at_ns);
}

static uint16_t port_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct loop_port *p = drv;
	struct loop *l = p->loop;

	for (uint16_t i = 0; i < n; i++) {
		if (l->tap != NULL)
			l->tap(l->tap_arg, p->side, l->now_ns, rte_pktmbuf_mtod(pkts[i], uint8_t *),
			       pkts[i]->pkt_len);
		deliver(l->port[!p->side], pkts[i]);
	}
	return n;
}

static int32_t port_room(void *drv)
{
	(void)drv;
	return PORT_ROOM_ANY;
}

static const struct port_ops ops = {.rx = port_rx, .tx = port_tx, .tx_room = port_room};

void loop_up(struct loop *l, uint64_t seed, void (*edit)(unsigned side, struct nic_config *c))
{
	*l = (struct loop){.delay_ns = 1000};
	for (unsigned s = 0; s < 2; s++) {
		struct nic_config c;

		l->port[s] = calloc(1, sizeof(*l->port[s]));
		assert_non_null(l->port[s]);
		l->port[s]->loop = l;
		l->port[s]->side = s;
		rng_init(&l->port[s]->rng, seed + 77 + s);
		nic_config_default(&c);
		c.ops = &ops;
		c.drv = l->port[s];
		c.pool = pool();
		c.facts = (struct port_facts){.mac = {2, 0, 0, 0, 0, (uint8_t)(1 + s)},
					      .max_frame = 4096 + 128, .wakes = true};
		c.ip = ip_key_v4(s == 0 ? LOOP_IP0 : LOOP_IP1);
		c.speed_bps = 100000000000;
		c.seed = seed + s;
		c.listen = s == 1;
		c.verify = true;
		if (edit != NULL)
			edit(s, &c);
		assert_int_equal(nic_create(&c, &l->nic[s]), 0);
	}
}

void loop_down(struct loop *l)
{
	for (unsigned s = 0; s < 2; s++) {
		nic_destroy(l->nic[s]);
		for (uint32_t i = 0; i < l->port[s]->n; i++)
			rte_pktmbuf_free(l->port[s]->q[i].m);
		free(l->port[s]);
	}
	assert_int_equal(rte_mempool_avail_count(pool()), LOOP_POOL);
}

static uint64_t next_event(const struct loop *l)
{
	uint64_t t = l->wake_ns[0] < l->wake_ns[1] ? l->wake_ns[0] : l->wake_ns[1];

	for (unsigned s = 0; s < 2; s++)
		if (l->port[s]->n != 0 && l->port[s]->q[0].at_ns < t)
			t = l->port[s]->q[0].at_ns;
	return t;
}

static void step_due(struct loop *l, bool all)
{
	for (unsigned s = 0; s < 2; s++) {
		const struct loop_port *p = l->port[s];

		if (!all && l->wake_ns[s] > l->now_ns &&
		    (p->n == 0 || p->q[0].at_ns > l->now_ns))
			continue;
		l->wake_ns[s] = nic_step(l->nic[s], l->now_ns);
		l->n_steps++;
	}
}

void loop_run(struct loop *l, uint64_t until_ns, uint64_t step_ns)
{
	step_due(l, true);
	while (l->now_ns < until_ns) {
		uint64_t t = next_event(l);

		if (step_ns != 0 && l->now_ns + step_ns < t)
			t = l->now_ns + step_ns;
		// Time stands still only while there is more to do at once.
		l->now_ns = t < l->now_ns ? l->now_ns : t;
		if (l->now_ns >= until_ns) {
			l->now_ns = until_ns;
			break;
		}
		step_due(l, step_ns != 0);
	}
}

bool loop_finish(struct loop *l, const uint32_t *flows, uint32_t n, uint64_t limit_ns)
{
	while (l->now_ns < limit_ns) {
		uint32_t done = 0;

		for (uint32_t i = 0; i < n; i++) {
			struct nic_flow_status s = nic_flow_status(l->nic[0], flows[i]);

			done += s.state == NIC_FLOW_UP && s.posted != 0 && s.posted == s.completed;
		}
		if (done == n)
			return true;
		loop_run(l, l->now_ns + 20000, 0);
	}
	return false;
}

void loop_inject(struct loop *l, unsigned side, const uint8_t *frame, uint32_t len)
{
	loop_inject_stored(l, side, frame, len, len);
}

void loop_inject_stored(struct loop *l, unsigned side, const uint8_t *frame, uint32_t stored,
			uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool());

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)stored), frame, stored);
	m->pkt_len = len;
	push(l->port[side], m, l->now_ns);
}

struct nic_stats loop_stats(const struct loop *l, unsigned side)
{
	struct nic_stats s;

	s = *nic_stats_now(l->nic[side]);
	return s;
}
