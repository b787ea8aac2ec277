// SPDX-License-Identifier: Apache-2.0
// Storm control: how many frames per second of a port are replicated. Only frames that are about to
// be replicated are counted. BPDUs have a bucket of their own at the rate of multicast: a flood of
// multicast must not take away the frames that would end a loop.
#include "dataplane/packet/wire.h"
#include "dataplane/switch_impl.h"

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
	struct policer *bucket = pkt->reserved_dst == DST_STP ? &p->storm_bpdu : &p->storm[kind];

	if (policer_take(&w->pol->ports[f->in_port].limit[kind], bucket, w->now_ns))
		return false;
	ctr_inc(&p->c.limited[kind]);
	return true;
}
