// SPDX-License-Identifier: Apache-2.0
// Storm control: how many frames per second of a port are replicated. Only frames that are about to
// be replicated are counted. BPDUs have a bucket of their own at the rate of multicast: a flood of
// multicast must not take away the frames that would end a loop. A port without a rate for
// multicast has a fixed rate for BPDUs: BPDUs leave in the highest lossy class of all ports.
#include "dataplane/packet/wire.h"
#include "dataplane/switch_impl.h"

// A bridge sends at most ten BPDUs per second by a port (802.1Q, TxHoldCount).
static const struct policer_params bpdu_default = { // 1,000 per second, 250 at once
	.interval_ns = 1000000, .burst_ns = 250000000};

static enum limit_kind kind_of(const struct frame *f, const struct pkt_info *pkt)
{
	const uint8_t *dst = rte_pktmbuf_mtod(f->m, const uint8_t *);

	if (!pkt->group_dst)
		return LIMIT_UNKNOWN_UNICAST;
	return be32_get(dst) == UINT32_MAX && be16_get(dst + 4) == UINT16_MAX ? LIMIT_BROADCAST
									      : LIMIT_MULTICAST;
}

bool storm_control_drops(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	struct port_rt *p = worker_port(w, f->in_port);
	enum limit_kind kind = kind_of(f, pkt);
	const struct policer_params *rate = &w->pol->ports[f->in_port].limit[kind];
	bool bpdu = pkt->reserved_dst == DST_STP;

	if (bpdu && rate->interval_ns == 0)
		rate = &bpdu_default;
	if (policer_take(rate, bpdu ? &p->storm_bpdu : &p->storm[kind], w->now_ns))
		return false;
	ctr_inc(&p->c.limited[kind]);
	return true;
}
