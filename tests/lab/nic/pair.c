// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/nic/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "dataplane/packet/parse.h"
#include "tests/eal.h"

static struct rte_mempool *pool(bool whole)
{
	static struct rte_mempool *p[2];
	char *argv[] = {(char[]){"test"},	    (char[]){"--no-huge"},
			(char[]){"--no-shconf"},    (char[]){"--no-pci"},
			(char[]){"--no-telemetry"}, (char[]){"-m"},
			(char[]){"96"},		    (char[]){"--log-level=4"}};

	if (p[0] == NULL) {
		assert_true(eal_init_unbound(8, argv) >= 0);
		p[0] = rte_pktmbuf_pool_create("headers", PAIR_POOL, 0, 0,
					       RTE_PKTMBUF_HEADROOM + PAIR_SNAP, 0);
		p[1] = rte_pktmbuf_pool_create("whole", PAIR_POOL, 0, 0, 4096 + 512, 0);
	}
	assert_true(p[0] != NULL && p[1] != NULL);
	return p[whole];
}

static bool is_data(const struct rte_mbuf *m)
{
	struct pkt_info info;

	return parse(rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len, &info) && info.roce &&
	       info.roce_data;
}

static bool lose(struct pair_end *e, const struct rte_mbuf *m)
{
	if (e->lose_every == 0 || !is_data(m) || ++e->data_frames % e->lose_every != 0)
		return false;
	e->lost++;
	return true;
}

static uint16_t end_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct pair_end *e = drv;
	struct pair *p = e->pair;
	uint16_t kept = 0, got;

	do {
		got = wire_ops.rx(e->wire, pkts, n);
		for (uint16_t i = 0; i < got; i++) {
			if (p->tap != NULL)
				p->tap(p->tap_arg, e->side, p->clock.now_ns, pkts[i]->data_len,
				       pkts[i]->pkt_len);
			if (p->frame_tap != NULL)
				p->frame_tap(p->tap_arg, e->side,
					     rte_pktmbuf_mtod(pkts[i], const uint8_t *));
			if (lose(e, pkts[i]))
				rte_pktmbuf_free(pkts[i]);
			else
				pkts[kept++] = pkts[i];
		}
	} while (got == n && kept == 0);
	return kept;
}

static int32_t end_room(void *drv)
{
	struct pair_end *e = drv;

	return wire_ops.tx_room(e->wire);
}

static uint16_t end_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct pair_end *e = drv;

	return wire_ops.tx(e->wire, pkts, n);
}

static const struct port_ops ops = {.rx = end_rx, .tx_room = end_room, .tx = end_tx};

static uint64_t step(void *arg, uint64_t now_ns)
{
	return nic_step(arg, now_ns);
}

void pair_mac(unsigned side, uint8_t mac[6])
{
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)(i == 0 ? 2 : (i == 5 ? side + 1 : 0));
}

static void nic_up(struct pair *p, const struct pair_conf *conf, unsigned i)
{
	uint8_t mac[6], other[6];
	struct nic_config c;

	pair_mac(i, mac);
	pair_mac(1 - i, other);
	p->end[i] = (struct pair_end){.pair = p, .wire = wire_end(p->wire, i), .side = i};
	nic_config_default(&c);
	c.ops = &ops;
	c.drv = &p->end[i];
	c.pool = pool(conf->whole);
	c.facts = wire_facts(p->end[i].wire, mac);
	c.ip = ip_key_v4(i == 0 ? PAIR_IP0 : PAIR_IP1);
	c.speed_bps = conf->speed_bps;
	c.max_qps = conf->max_qps != 0 ? conf->max_qps : c.max_qps;
	c.seed = i;
	c.verify = true;
	c.snap = conf->whole ? 0 : PAIR_SNAP;
	c.faults = conf->faults[i];
	c.hooks = conf->hooks[i];
	c.udp_sport = conf->udp_sport;
	if (conf->cc != NULL)
		c.cc = cc_preset_find(conf->cc)->config;
	assert_int_equal(nic_create(&c, &p->nic[i]), 0);
	assert_int_equal(
		nic_peer_set(p->nic[i], ip_key_v4(i == 0 ? PAIR_IP1 : PAIR_IP0), other), 0);
	actor_init(&p->actor[i], &p->clock, step, p->nic[i]);
	wire_end_attach(p->end[i].wire, &p->actor[i]);
}

void pair_up(struct pair *p, const struct pair_conf *c)
{
	const struct wire_conf conf = {.speed_bps = c->speed_bps, .delay_ns = c->delay_ns};

	*p = (struct pair){0};
	vclock_init(&p->clock);
	assert_int_equal(wire_create(&p->clock, &conf, &p->wire), 0);
	for (unsigned i = 0; i < 2; i++)
		nic_up(p, c, i);
}

void pair_down(struct pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		nic_destroy(p->nic[i]);
	wire_destroy(p->wire);
	vclock_fini(&p->clock);
	assert_int_equal(rte_mempool_avail_count(pool(false)), PAIR_POOL);
	assert_int_equal(rte_mempool_avail_count(pool(true)), PAIR_POOL);
}

void pair_poke(struct pair *p, unsigned side)
{
	actor_poke(&p->actor[side]);
}

void pair_inject(struct pair *p, unsigned to, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool(false));

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	assert_int_equal(wire_ops.tx(p->end[1 - to].wire, &m, 1), 1);
}

void pair_run(struct pair *p, uint64_t until_ns)
{
	assert_int_equal(vclock_run_until(&p->clock, until_ns), 0);
}

uint32_t pair_connect(struct pair *p, unsigned from, struct nic_flow f)
{
	uint32_t id;

	f.dst_ip = ip_key_v4(from == 0 ? PAIR_IP1 : PAIR_IP0);
	f.mtu = f.mtu != 0 ? f.mtu : 1024;
	f.first_psn = NIC_RANDOM_PSN;
	assert_int_equal(nic_connect(p->nic[from], &f, p->nic[1 - from], &id), 0);
	pair_poke(p, from);
	return id;
}

const struct nic_stats *pair_stats(const struct pair *p, unsigned side)
{
	return nic_stats_now(p->nic[side]);
}
