// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/classify.h"

#include "dataplane/packet/wire.h"

struct classified classify(const struct classify_params *p, const struct pkt_info *pkt)
{
	bool ip = pkt->kind == PKT_IPV4 || pkt->kind == PKT_IPV6;
	struct classified c = {
		.cls = p->default_class,
		.color = ip ? p->dscp_to_color[pkt->dscp] : (uint8_t)GREEN,
	};

	if (p->trust == TRUST_PORT)
		return c;
	if (p->trust == TRUST_DSCP && ip)
		c.cls = p->dscp_to_class[pkt->dscp];
	else if (pkt->n_tags > 0)
		c.cls = p->pcp_to_class[pkt->tci >> TCI_PCP_SHIFT];
	return c;
}
