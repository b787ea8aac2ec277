// SPDX-License-Identifier: Apache-2.0
#include "control/probe/wire_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/config/port_open.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/qos/shaper.h"
#include "dataplane/switch.h"
#include "dataplane/worker.h"
#include "drivers/wire/wire.h"

enum {
	SETTLE_FRAMES = 8, // of full size: there, through the switch and back
	CONTROL_NS = 50 * US_NS, // the control thread looks so often
	EVENTS = 64,
	OWN_FRAMES = 1024,
	PASSES = 3, // of several workers in one instant: each sees what the others handed over
};
static const uint64_t DEFAULT_SPEED_BPS = 100000000000;

struct wire_host {
	struct wire_run *run;
	enum probe_port role;
	struct wire_end *end;
	struct actor actor;
};

struct wire_run {
	struct vclock clock;
	struct wire_run_opts opts;
	struct policy *policy;
	struct weir_switch *sw;
	struct rte_mempool *pool;
	struct actor actor; // of the switch
	struct vtimer control;
	struct wire *wires[POLICY_MAX_PORTS];
	struct wire_host host[PROBE_PORTS];
	struct probe *probe;
};

uint32_t wire_run_frames(const struct policy *p)
{
	return switch_max_frames(p) + OWN_FRAMES;
}

uint64_t wire_run_speed(const struct config *c, unsigned port)
{
	uint64_t bps = config_port(c, port).speed_bps;

	return bps != 0 ? bps : DEFAULT_SPEED_BPS;
}

static uint64_t switch_step(void *arg, uint64_t now_ns)
{
	struct wire_run *r = arg;
	unsigned n = switch_n_workers(r->sw);
	uint64_t wake = UINT64_MAX;

	for (unsigned pass = 0; pass < (n > 1 ? (unsigned)PASSES : 1); pass++) {
		wake = UINT64_MAX;
		for (unsigned i = 0; i < n; i++)
			wake = min_u64(wake, worker_step(switch_worker(r->sw, i), now_ns));
	}
	return wake;
}

static void control_step(void *arg, uint64_t now_ns)
{
	struct wire_run *r = arg;
	struct event events[EVENTS];

	(void)switch_control_step(r->sw, now_ns, events, EVENTS);
	actor_poke(&r->actor);
	vtimer_set(&r->control, now_ns + CONTROL_NS);
}

static uint64_t host_step(void *arg, uint64_t now_ns)
{
	struct wire_host *h = arg;
	struct rte_mbuf *m;

	while (wire_ops.rx(h->end, &m, 1) == 1) {
		if (h->run->probe != NULL)
			probe_receive(h->run->probe, h->role, rte_pktmbuf_mtod(m, const uint8_t *),
				      m->pkt_len, now_ns);
		rte_pktmbuf_free(m);
	}
	return UINT64_MAX;
}

// ---- the runner

static bool run_send(void *of, enum probe_port port, const uint8_t *frame, uint16_t len)
{
	struct wire_run *r = of;
	struct wire_end *end = r->host[port].end;
	struct rte_mbuf *m;

	if (wire_ops.tx_room(end) == 0)
		return false;
	m = rte_pktmbuf_alloc(r->pool);
	if (m == NULL)
		return false;
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	if (wire_ops.tx(end, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static uint64_t run_now(void *of)
{
	return ((struct wire_run *)of)->clock.now_ns;
}

static void run_until(void *of, uint64_t until_ns)
{
	struct wire_run *r = of;

	do {
		uint64_t next = probe_tick(r->probe, r->clock.now_ns);

		next = max_u64(min_u64(next, until_ns), r->clock.now_ns);
		// The past is refused, and `next` is none.
		(void)!vclock_run_until(&r->clock, next);
	} while (r->clock.now_ns < until_ns);
}

static int run_order(void *of, bool hold)
{
	struct wire_run *r = of;
	uint64_t request = switch_set_tx(r->sw, r->opts.port[PROBE_RX], -1, !hold);

	actor_poke(&r->actor);
	run_until(r, r->clock.now_ns + US_NS);
	return switch_request_done(r->sw, request) ? 0 : -1;
}

static uint64_t run_none(void *of)
{
	(void)of;
	return 0;
}

void wire_run_dscps(const struct wire_run *r, struct probe_conf *conf)
{
	const struct classify_params *p =
		&r->policy->ports[r->opts.port[PROBE_TX]].classify;

	for (unsigned c = 0; c < PROBE_CLASSES; c++)
		for (unsigned d = 0; p->dscp_to_class[conf->dscp[c]] != c &&
				     d < sizeof(p->dscp_to_class); d++)
			if (p->dscp_to_class[d] == c)
				conf->dscp[c] = (int)d;
}

struct probe_io wire_run_io(struct wire_run *r)
{
	return (struct probe_io){.of = r, .send = run_send, .run = run_until, .now = run_now,
				 .order = run_order, .gap = run_none, .missed = run_none};
}

void wire_run_bind(struct wire_run *r, struct probe *p)
{
	r->probe = p;
}

void wire_run_conf(const struct wire_run *r, struct probe_conf *conf)
{
	uint64_t slowest = UINT64_MAX;

	for (unsigned i = 0; i < PROBE_PORTS; i++) {
		memcpy(conf->mac[i], (uint8_t[]){2, 0x77, 0x70, 0x72, 0, (uint8_t)(i + 1)}, 6);
		conf->speed_bps[i] = r->policy->ports[r->opts.port[i]].speed_bps;
		slowest = min_u64(slowest, conf->speed_bps[i]);
	}
	conf->speed_known = true;
	conf->third = r->opts.third;
	// Control learns addresses meanwhile.
	conf->settle_ns = SETTLE_FRAMES * (PROBE_LEN_MAX + LINK_OVERHEAD_BYTES) * 8ull *
				  SECOND_NS / slowest +
			  4 * r->opts.delay_ns + CONTROL_NS;
	conf->interval_ns = 0;
}

// ---- from a policy to a switch

static int open_ports(struct wire_run *r, const struct config *c, struct switch_port *ports)
{
	for (unsigned i = 0; i < config_n_ports(c); i++) {
		const struct wire_conf wc = {wire_run_speed(c, i), r->opts.delay_ns};
		const uint8_t mac[6] = {2, 0x77, 0x73, 0x77, 0, (uint8_t)(i + 1)};
		struct wire_end *end;

		if (wire_create(&r->clock, &wc, &r->wires[i]) != 0)
			return -ENOMEM;
		end = wire_end(r->wires[i], 0);
		wire_end_attach(end, &r->actor);
		ports[i] = (struct switch_port){&wire_ops, end, wire_facts(end, mac)};
	}
	return 0;
}

static void open_hosts(struct wire_run *r)
{
	for (enum probe_port i = 0; i < PROBE_PORTS; i++) {
		struct wire_host *h = &r->host[i];

		*h = (struct wire_host){.run = r, .role = i};
		h->end = wire_end(r->wires[r->opts.port[i]], 1);
		actor_init(&h->actor, &r->clock, host_step, h);
		if (i != PROBE_THIRD || r->opts.third)
			wire_end_attach(h->end, &h->actor);
	}
}

static int open_switch(struct wire_run *r, const struct config *c, struct diags *d)
{
	struct switch_port ports[POLICY_MAX_PORTS];
	struct port_facts facts[POLICY_MAX_PORTS];
	int err = open_ports(r, c, ports);

	if (err != 0)
		return err;
	for (unsigned i = 0; i < config_n_ports(c); i++)
		facts[i] = ports[i].facts;
	err = config_compile(c, facts, &r->policy, d);
	if (err != 0)
		return err;
	config_small_flows(c, r->policy);
	err = switch_create(r->policy, ports, r->pool, r->opts.seed, &r->sw);
	if (err != 0)
		return err;
	open_hosts(r);
	control_step(r, r->clock.now_ns);
	return 0;
}

int wire_run_open(const struct config *c, const struct wire_run_opts *o, struct rte_mempool *pool,
		  struct wire_run **out, struct diags *d)
{
	struct wire_run *r = calloc(1, sizeof(*r));
	int err;

	if (r == NULL)
		return -ENOMEM;
	r->opts = *o;
	r->pool = pool;
	vclock_init(&r->clock);
	(void)!vclock_run_until(&r->clock, MS_NS); // a time of 0 means none
	actor_init(&r->actor, &r->clock, switch_step, r);
	vtimer_init(&r->control, &r->clock, control_step, r);
	err = open_switch(r, c, d);
	if (err != 0) {
		wire_run_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void wire_run_close(struct wire_run *r)
{
	if (r == NULL)
		return;
	switch_destroy(r->sw);
	for (unsigned i = 0; i < POLICY_MAX_PORTS; i++)
		wire_destroy(r->wires[i]);
	vclock_fini(&r->clock);
	policy_destroy(r->policy);
	free(r);
}
