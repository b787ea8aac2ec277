// SPDX-License-Identifier: Apache-2.0
// VLAN-aware L2 bridging (IEEE 802.1Q): which VLAN a frame is in, which ports may carry it, and the
// tag it leaves with. Decides only; the worker looks addresses up, copies and drops. Called by the
// ingress owner. Link-local addresses never get here.
//
// Transparent (no `vlans` in the policy): one bridge of all ports, tags are payload.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy.h"

struct rte_mbuf;

enum tag_edit { TAG_KEEP, TAG_PUSH, TAG_POP, TAG_SET_VID };

// The VLAN of an arriving frame of a VLAN-aware bridge; as bridge_ingress_vid.
int bridge_classify_vid(const struct policy *pol, unsigned in_port, const uint8_t *frame,
			const struct pkt_info *pkt, bool *tagged);

// The tag change a frame needs in a VLAN-aware bridge.
enum tag_edit bridge_vlan_edit(const struct policy *pol, unsigned out_port, unsigned vid,
			       bool tagged, const struct pkt_info *pkt);

// Whether a frame may leave without its outer tag. A second 802.1Q tag would put the frame into a
// VLAN of the sender's choice at the next switch (VLAN hopping). A protocol that ends at its link
// (LLDP, 802.3 slow protocols, 802.1X) would seem to come from this switch.
bool bridge_may_pop(const struct pkt_info *pkt);

// Whether a frame of a protocol between a station and its switch is on its way to another station,
// which would take the frame for one of the switch: LLDP and slow protocols to a single station,
// and iNOF beyond the link.
static inline bool bridge_strays(const struct policy *pol, const struct pkt_info *pkt)
{
	if (pkt->kind == PKT_INOF)
		return pol->inof && pkt->reserved_dst != DST_LINK_LOCAL;
	return (pkt->kind == PKT_LLDP || pkt->kind == PKT_SLOW) && !pkt->group_dst;
}

// The ports of a group that the policy names, by its fdb_key; NULL: it does not name the group.
const struct policy_multicast *bridge_multicast(const struct policy *pol, uint64_t key);

// Applies a tag change; pcp is used by TAG_PUSH. Returns the change in length, or
// INT32_MIN when the mbuf has no headroom.
int bridge_edit_tag(struct rte_mbuf *m, enum tag_edit edit, unsigned vid, uint8_t pcp);

// The VLAN of an arriving frame: vid, or -1 when the port refuses it. 0 in a transparent bridge.
// *tagged: the frame carries an 802.1Q tag that this bridge reads.
static inline int bridge_ingress_vid(const struct policy *pol, unsigned in_port,
				     const uint8_t *frame, const struct pkt_info *pkt, bool *tagged)
{
	*tagged = false;
	return pol->vlan_aware ? bridge_classify_vid(pol, in_port, frame, pkt, tagged) : 0;
}

// Whether a port carries frames of the VLAN.
static inline bool bridge_member(const struct policy *pol, unsigned port, unsigned vid)
{
	const struct policy_vlan *v = &pol->ports[port].vlan;

	return !pol->vlan_aware || vid == v->untagged || vlan_bit(v->tagged, vid);
}

// The tag change a frame needs on its way out of a member port.
static inline enum tag_edit bridge_tag_edit(const struct policy *pol, unsigned out_port,
					    unsigned vid, bool tagged, const struct pkt_info *pkt)
{
	return pol->vlan_aware ? bridge_vlan_edit(pol, out_port, vid, tagged, pkt) : TAG_KEEP;
}

static inline int bridge_apply_tag(struct rte_mbuf *m, enum tag_edit edit, unsigned vid,
				   uint8_t pcp)
{
	return edit == TAG_KEEP ? 0 : bridge_edit_tag(m, edit, vid, pcp);
}
