// SPDX-License-Identifier: Apache-2.0
#include "dataplane/svi.h"

#include "dataplane/forward/bridge.h"
#include "dataplane/forward/l3.h"
#include "dataplane/iface.h"
#include "dataplane/packet/wire.h"
#include "dataplane/punt.h"

// ---- the worker

enum { ND_TARGET = 8, ND_LEN = 24 }; // RFC 4861 4.3

// Requests for addresses of the SVI, and news: gratuitous ARP and advertisements.
static bool concerns(const struct iface *in, const uint8_t *eth, uint32_t len,
		     const struct pkt_info *pkt)
{
	const struct arp_hdr *arp = (const void *)(eth + pkt->l3_off);

	if (pkt->ether_type == ETYPE_ARP)
		return pkt->l3_off + sizeof(*arp) <= len &&
		       (be32_get(&arp->target_ip) == be32_get(&arp->sender_ip) ||
			iface_has_addr(in, FAMILY_V4, (const uint8_t *)&arp->target_ip));
	return is_neighbour_answer(eth, len, pkt) ||
	       (pkt->l4_off + (uint32_t)ND_LEN <= len &&
		iface_has_addr(in, FAMILY_V6, eth + pkt->l4_off + ND_TARGET));
}

void svi_snoop(struct worker *w, struct port *p, const struct frame *f, const struct pkt_info *pkt,
	       port_no_t svi)
{
	const uint8_t *eth = rte_pktmbuf_mtod(f->m, const uint8_t *);
	enum punt_reason reason = punt_reason_of(f, pkt);
	struct iface in;

	if (pkt->n_tags > 1 || !punt_for_group(p, f, reason) || !iface_get(w->pol, svi, &in))
		return;
	// With Linux, the addresses of the interface are Linux's.
	if (!punts(p, PUNT_LOCAL) && !concerns(&in, eth, f->m->data_len, pkt))
		return;
	(void)punt_copy(w, p, f, pkt, reason, svi);
}
