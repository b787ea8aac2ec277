// SPDX-License-Identifier: Apache-2.0
#include "control/config/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/live.h"

enum {
	MB = 1 << 20,
	TABLES_BYTES = 64 << 20, // forwarding table, rings, counters
	FRAME_RECORD_BYTES = 64, // what a queue and a hand-off ring keep per frame
	// Memory areas that a switch takes, counted in running ones and rounded up.
	ZONES_SWITCH = 16,
	ZONES_WORKER = 5, // rings for events and addresses, and for routes, which a reload may add
	ZONES_WORKER_FLOWS = 2,
	ZONES_PORT = 2,
};

static const uint64_t LINK_SPEED_BPS = 1000000000; // where only the link knows

int memory_compile(const struct config *c, struct policy **out, struct diags *d)
{
	unsigned n = config_n_ports(c);
	struct port_facts *facts = calloc(n, sizeof(*facts));
	int err;

	if (facts == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct config_port_open p = config_port(c, i);

		facts[i] = (struct port_facts){
			.speed_bps = p.speed_bps != 0 ? p.speed_bps : LINK_SPEED_BPS,
			.max_frame = p.max_frame,
			.rx_ring = live_device_frames(p.device, p.tx_ring_bytes, p.rx_ring),
			.tx_ring_bytes = p.tx_ring_bytes,
			.rx_depth_readable = true,
			.pfc_rx = true,
			.pfc_tx = true,
		};
	}
	err = config_compile(c, facts, out, d);
	free(facts);
	return err;
}

// A ring for each pair of workers in each direction, and with a flow table one more.
static uint32_t zones(const struct policy *p)
{
	uint32_t w = p->n_workers, to_each = w - 1, own = ZONES_WORKER;

	if (p->flows.max > 0) {
		to_each *= 2;
		own += ZONES_WORKER_FLOWS;
	}
	return ZONES_SWITCH + w * (to_each + own) + p->n_ports * ZONES_PORT;
}

struct memory_plan memory_plan(const struct config *c, const struct policy *p)
{
	struct memory_plan m = {.n_frames = policy_max_frames(p)};
	uint64_t workers = p->n_workers;

	for (unsigned i = 0; i < config_n_ports(c); i++) {
		struct config_port_open o = config_port(c, i);

		m.n_frames += live_device_frames(o.device, o.tx_ring_bytes, o.rx_ring);
		if (o.max_frame > m.max_frame)
			m.max_frame = o.max_frame;
	}
	m.frame_bytes = live_frame_bytes(m.max_frame);
	m.pool_bytes = live_pool_bytes(m.n_frames, m.max_frame);
	m.record_bytes = m.n_frames * (uint64_t)FRAME_RECORD_BYTES * workers * workers;
	m.table_bytes = TABLES_BYTES;
	m.flow_bytes = config_flow_bytes(p);
	m.total_bytes = m.pool_bytes + m.record_bytes + m.table_bytes + m.flow_bytes;
	m.huge_bytes = m.total_bytes + LIVE_EAL_MB * (uint64_t)MB + workers * LIVE_WORKER_MB * MB;
	m.normal_bytes = LIVE_NORMAL_PAGES * m.huge_bytes;
	m.n_memzones = zones(p);
	return m;
}

bool memory_fits_dpdk(const struct memory_plan *m, const struct policy *p,
		      char why[MEMORY_WHY_LEN])
{
	if (m->n_memzones <= LIVE_MEMZONES)
		return true;
	snprintf(why, MEMORY_WHY_LEN,
		 "%u workers need %u areas of memory for the rings between them, "
		 "and DPDK has %u: use fewer workers%s",
		 p->n_workers, m->n_memzones, (unsigned)LIVE_MEMZONES,
		 p->flows.max > 0 ? ", or `flows: off`" : "");
	return false;
}
