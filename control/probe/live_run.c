// SPDX-License-Identifier: Apache-2.0
#include "control/probe/live_run.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/base/stop.h"
#include "dataplane/base/units.h"
#include "drivers/system_clock.h"

enum {
	MTU = 1500,
	MAX_FRAME = MTU + 14 + 8,
	OWN_FRAMES = 512,
	RX_RING = 8192,
	BURST = 32,
	DEFAULT_SPEED_BPS = 1000000000,
	REST_NS = 20 * US_NS, // frames may wait in the ring this long
	LEAST_REST_NS = 5 * US_NS,
	EXIT_STOPPED = 1,
};

// ---- the ports

// Another program must not delay the next PAUSE. Commands of the operator keep the usual order. A
// machine that refuses this order has later PAUSE frames, and the probe says so.
static void run_before_others(void)
{
	const struct sched_param first = {.sched_priority = 1};

	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

int live_run_open(struct live_run *r, const struct live_run_conf *c, struct live_text *text)
{
	struct live_conf conf = {
		.max_frame = MAX_FRAME, .mtu = MTU, .rx_ring = c->rx_ring, .take_over = true};
	struct live_eal_conf eal = {.extra = c->eal, .n_extra = c->n_eal};
	uint32_t frames = OWN_FRAMES;

	// A device gives all frames of a queue at once.
	if (conf.rx_ring == 0)
		conf.rx_ring = RX_RING;
	while (r->n_ports < PROBE_PORTS && c->device[r->n_ports] != NULL) {
		frames += live_device_frames(c->device[r->n_ports], 0, conf.rx_ring);
		live_eal_device(&eal, c->device[r->n_ports]);
		r->n_ports++;
	}
	eal.mem_bytes = live_pool_bytes(frames, MAX_FRAME);
	if (live_eal_init("weir-probe", &eal, text) != 0)
		return -1;
	if (live_pool_create(frames, MAX_FRAME, &r->pool, text) != 0)
		return -1;
	conf.pool = r->pool;
	for (unsigned i = 0; i < r->n_ports; i++)
		if (live_open(c->device[i], &conf, &r->port[i], text) != 0)
			return -1;
	run_before_others();
	r->last_ns = monotonic_ns();
	return 0;
}

void live_run_close(struct live_run *r)
{
	for (unsigned i = 0; i < r->n_ports; i++)
		live_close(&r->port[i]);
	rte_mempool_free(r->pool);
	live_eal_fini();
}

void live_run_conf_fill(const struct live_run *r, uint64_t speed_bps, struct probe_conf *conf)
{
	for (unsigned i = 0; i < PROBE_PORTS; i++) {
		const struct port_facts *f = &r->port[i].facts;

		memcpy(conf->mac[i], f->mac, sizeof(conf->mac[i]));
		conf->speed_bps[i] = f->speed_bps != 0 ? f->speed_bps : DEFAULT_SPEED_BPS;
		if (speed_bps != 0)
			conf->speed_bps[i] = speed_bps;
	}
	conf->speed_known = speed_bps != 0;
	conf->third = r->n_ports > PROBE_THIRD;
	conf->settle_ns = 20 * MS_NS;
	conf->interval_ns = 10 * US_NS;
}

// ---- the runner

static bool run_send(void *of, enum probe_port port, const uint8_t *frame, uint16_t len)
{
	struct live_run *r = of;
	const struct live_port *p = &r->port[port];
	struct rte_mbuf *m;

	(void)p->ops->tx_pending(p->drv);
	if (p->ops->tx_room(p->drv) < len)
		return false;
	m = rte_pktmbuf_alloc(r->pool);
	if (m == NULL)
		return false;
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	if (p->ops->tx(p->drv, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static uint64_t run_now(void *of)
{
	(void)of;
	return monotonic_ns();
}

// Takes what waits at each port, and returns the number of frames.
static unsigned receive_from_ports(struct live_run *r)
{
	struct rte_mbuf *pkts[BURST];
	unsigned all = 0;
	uint64_t now;

	for (unsigned i = 0; i < r->n_ports; i++) {
		uint16_t n = r->port[i].ops->rx(r->port[i].drv, pkts, BURST);

		now = monotonic_ns();
		for (uint16_t k = 0; k < n; k++) {
			probe_receive(r->probe, i, rte_pktmbuf_mtod(pkts[k], const uint8_t *),
				      pkts[k]->pkt_len, now);
			rte_pktmbuf_free(pkts[k]);
		}
		all += n;
	}
	now = monotonic_ns();
	r->gap_ns = max_u64(r->gap_ns, now - r->last_ns);
	r->last_ns = now;
	return all;
}

static void run_until(void *of, uint64_t until_ns)
{
	struct live_run *r = of;

	for (;;) {
		unsigned n = receive_from_ports(r);
		uint64_t next = min_u64(probe_tick(r->probe, r->last_ns), until_ns);

		// The egress must not stay held by an operator's command.
		if (stop_requests() != 0) {
			if (r->probe->ordered)
				(void)!system(r->release);
			live_run_close(r);
			exit(EXIT_STOPPED);
		}
		if (r->last_ns >= until_ns)
			return;
		// A device that is a program on this CPU needs the time between two frames.
		if (n == 0 && next > r->last_ns + LEAST_REST_NS) {
			struct timespec rest = {
				.tv_nsec = (long)min_u64(REST_NS, next - r->last_ns)};

			nanosleep(&rest, NULL);
		}
	}
}

static int run_order(void *of, bool hold)
{
	struct live_run *r = of;
	int status = system(hold ? r->hold : r->release);

	// The command's time is no lateness of ours: nothing is measured meanwhile.
	r->last_ns = monotonic_ns();
	return status == 0 ? 0 : -1;
}

static uint64_t run_gap(void *of)
{
	struct live_run *r = of;
	uint64_t gap = r->gap_ns;

	r->gap_ns = 0;
	r->last_ns = monotonic_ns();
	return gap;
}

static uint64_t run_missed(void *of)
{
	struct live_run *r = of;
	struct port_drv_stats s;
	uint64_t n = 0;

	for (unsigned i = 0; i < r->n_ports; i++) {
		r->port[i].ops->stats(r->port[i].drv, &s);
		n += s.rx_missed;
	}
	return n;
}

struct probe_io live_run_io(struct live_run *r)
{
	return (struct probe_io){.of = r, .send = run_send, .run = run_until, .now = run_now,
				 .order = run_order, .gap = run_gap, .missed = run_missed};
}
