// SPDX-License-Identifier: Apache-2.0
// Loop detection on the way in: a probe of this switch that has come back is shown to control,
// which knows whether the switch really sent it (switch_loop.c). Probes of other switches go on:
// a loop may lead through this one.
#include "dataplane/forward/bridge.h"
#include "dataplane/packet/loop_frame.h"
#include "dataplane/switch_impl.h"

bool loop_heard(struct worker *w, const struct frame *f, const struct pkt_info *pkt)
{
	// A port may show so many at once, and no more per second: the others keep their room.
	static const struct policer_params limit = {.interval_ns = 10000000, .burst_ns = 80000000};
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	struct loop_echo echo;
	struct loop_probe p;
	bool tagged;

	if (!w->pol->loop_detect ||
	    !loop_frame_parse(eth, f->m->data_len, pkt->l3_off, pkt->ether_type, &p) ||
	    p.id != w->loop->id)
		return false;
	echo = (struct loop_echo){.nonce = p.nonce, .round = p.round, .vid = p.vid,
				  .from_port = p.port, .in_port = f->in_port};
	if (bridge_ingress_vid(w->pol, f->in_port, eth, pkt, &tagged) == p.vid &&
	    !w->pol->ports[f->in_port].routed &&
	    policer_take(&limit, &w->loop->policer[f->in_port], w->now_ns))
		(void)rte_ring_sp_enqueue_elem(w->loop->heard, &echo, sizeof(echo));
	return true;
}
