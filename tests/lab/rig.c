// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/rig.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/worker.h"

// ---- the driver

static struct rig_port *open_port(void *drv)
{
	struct rig_port *p = drv;

	assert_false(p->closed);
	return p;
}

static uint16_t port_rx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct rig_port *p = open_port(drv);
	uint16_t got = p->n_waiting < n ? (uint16_t)p->n_waiting : n;

	memcpy(pkts, p->waiting, got * sizeof(pkts[0]));
	p->n_waiting -= got;
	return got;
}

static int32_t port_room(void *drv)
{
	return open_port(drv)->room;
}

static void port_send(struct rig_port *p, const struct rte_mbuf *m)
{
	struct bench_rx rx = {0};

	memcpy(rx.data, rte_pktmbuf_mtod(m, const void *), 60);
	if (rx.data[12] == 0x88) {
		memcpy(p->pfc_mac, rx.data + 6, sizeof(p->pfc_mac));
		p->n_pfc++;
		return;
	}
	assert_true((int32_t)m->pkt_len <= p->room);
	p->room -= (int32_t)m->pkt_len;
	assert_true(p->n_sent < KEPT);
	p->sent[p->n_sent++] = (struct sent){.len = (uint16_t)m->pkt_len, .from = rx.data[11],
					     .cls = rx.data[15] >> 5, .ecn = rx.data[15] & 3,
					     .seq = bench_seq(&rx)};
}

static uint16_t port_tx(void *drv, struct rte_mbuf **pkts, uint16_t n)
{
	struct rig_port *p = open_port(drv);

	if (p->refuses)
		return 0;
	for (uint16_t i = 0; i < n; i++) {
		port_send(p, pkts[i]);
		rte_pktmbuf_free(pkts[i]);
	}
	p->most_at_once = n > p->most_at_once ? n : p->most_at_once;
	return n;
}

static uint32_t port_pending(void *drv)
{
	(void)open_port(drv);
	return 0;
}

static bool port_pause(void *drv, unsigned cls, struct port_pause *out)
{
	struct rig_port *p = open_port(drv);

	*out = p->word[cls];
	return p->sees_pfc;
}

static void port_stats(void *drv, struct port_drv_stats *out)
{
	*out = open_port(drv)->stats;
}

static bool port_up(void *drv)
{
	return !open_port(drv)->down;
}

static bool port_gone(void *drv)
{
	return open_port(drv)->gone;
}

const struct port_ops rig_ops = {
	.rx = port_rx,
	.tx_room = port_room,
	.tx = port_tx,
	.tx_pending = port_pending,
	.pause = port_pause,
	.stats = port_stats,
	.link_up = port_up,
	.gone = port_gone,
};

// ---- a switch of one worker between such ports

struct policy *rig_compile(const struct rig *r, const char *yaml)
{
	struct diags d = {0};
	struct config *c = NULL;
	struct policy *p = NULL;

	if (config_parse("bursts.yaml", yaml, strlen(yaml), &c, &d) != 0 ||
	    config_compile(c, r->facts, &p, &d) != 0)
		fail_msg("%s", d.n != 0 ? d.lines[0] : "the policy does not compile");
	config_small_flows(c, p);
	config_destroy(c);
	diags_fini(&d);
	return p;
}

void rig_step(struct rig *r)
{
	for (unsigned i = 0; i < switch_policy(r->sw)->n_workers; i++)
		worker_step(switch_worker(r->sw, i), r->now_ns);
}

struct rig *rig_open(const char *yaml, const struct port_facts *facts, bool sees_pfc)
{
	static unsigned n_opened;
	struct rig *r = calloc(1, sizeof(*r));
	struct switch_port ports[PORTS];
	struct policy *policy;
	struct event events[8];

	assert_non_null(r);
	r->now_ns = START_NS;
	for (unsigned i = 0; i < PORTS; i++) {
		r->facts[i] = *facts;
		r->facts[i].max_frame = 9216;
		r->facts[i].pfc_rx = r->facts[i].pfc_tx = true;
		r->port[i].room = AMPLE;
		r->port[i].sees_pfc = sees_pfc;
		r->port[i].word[3].seq = 7;
		ports[i] = (struct switch_port){
			.ops = &rig_ops, .drv = &r->port[i], .facts = r->facts[i]};
	}
	policy = rig_compile(r, yaml);
	snprintf(policy->name, sizeof(policy->name), "burst%u", n_opened++);
	assert_int_equal(
		switch_create(policy, ports, rte_mempool_lookup("bench"), 1, &r->sw), 0);
	switch_control_step(r->sw, r->now_ns, events, 8);
	rig_step(r);
	return r;
}

void rig_close(struct rig *r)
{
	struct balance x = switch_balance(r->sw);
	struct policy *policy = (struct policy *)(uintptr_t)switch_policy(r->sw);

	assert_int_equal(x.received + x.generated + x.replicated,
			 x.transmitted + x.consumed + x.dropped + x.queued);
	switch_destroy(r->sw);
	policy_destroy(policy);
	free(r);
}

void rig_arrive(struct rig *r, unsigned from, const struct bench_frame *f)
{
	struct rig_port *p = &r->port[from];
	struct rte_mbuf *m = rte_pktmbuf_alloc(rte_mempool_lookup("bench"));
	struct bench_frame numbered = *f;

	assert_non_null(m);
	assert_true(p->n_waiting < MOST);
	numbered.seq = r->seq++;
	rte_pktmbuf_append(m, bench_build(rte_pktmbuf_mtod(m, uint8_t *), from, &numbered));
	p->waiting[p->n_waiting++] = m;
}

void rig_tx(struct rig *r, bool on)
{
	switch_set_tx(r->sw, OUT, -1, on);
	rig_step(r);
}

// n frames of a class stand in the queue towards OUT.
void rig_stand(struct rig *r, uint8_t cls, uint16_t len, unsigned n)
{
	const struct bench_frame f = {.to = OUT, .dscp = (uint8_t)(8 * cls), .len = len};

	for (unsigned i = 0; i < n; i++)
		rig_arrive(r, 0, &f);
	rig_step(r);
}

const char *rig_small_buffer(const char *classes)
{
	char *text = (char *)(uintptr_t)lab_yaml(PORTS, "10G", "", "", classes);

	memcpy(strstr(text, "4MB"), "1MB", 3);
	return text;
}
