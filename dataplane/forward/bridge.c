// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/bridge.h"

#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet/wire.h"

enum { TPID_OFF = 12, TAG_LEN = 4, VID_MASK = 0xfff, TPID_8021Q = 0x8100, SHORTEST_FRAME = 60 };

int bridge_classify_vid(const struct policy *pol, unsigned in_port, const uint8_t *frame,
		       const struct pkt_info *pkt, bool *tagged)
{
	const struct policy_vlan *v = &pol->ports[in_port].vlan;
	unsigned vid;

	*tagged = pkt->n_tags != 0 && frame[TPID_OFF] == TPID_8021Q >> 8 &&
		  frame[TPID_OFF + 1] == (TPID_8021Q & 0xff);
	vid = *tagged ? pkt->tci & VID_MASK : 0;
	if (vid == 0)
		return v->untagged != 0 ? v->untagged : -1;
	if (!v->trunk) // "Admit Only Untagged and Priority-tagged frames", 802.1Q 6.9
		return -1;
	return vid == v->untagged || vlan_bit(v->tagged, vid) ? (int)vid : -1;
}

const struct policy_multicast *bridge_multicast(const struct policy *pol, uint64_t key)
{
	uint32_t low = 0, high = pol->n_multicast;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (pol->multicast[mid].key == key)
			return &pol->multicast[mid];
		if (pol->multicast[mid].key < key)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

bool bridge_may_pop(const struct pkt_info *pkt)
{
	if (pkt->n_tags > 1)
		return pkt->inner_tag >> 16 != TPID_8021Q;
	return pkt->ether_type != TPID_8021Q && // a second tag that is cut off
	       pkt->ether_type != ETYPE_LLDP && pkt->ether_type != ETYPE_SLOW &&
	       pkt->ether_type != ETYPE_EAPOL;
}

enum tag_edit bridge_vlan_edit(const struct policy *pol, unsigned out_port, unsigned vid,
			      bool tagged, const struct pkt_info *pkt)
{
	bool out_tagged;

	out_tagged = vlan_bit(pol->ports[out_port].vlan.tagged, vid);
	if (tagged && out_tagged)
		return (pkt->tci & VID_MASK) == vid ? TAG_KEEP : TAG_SET_VID;
	if (tagged)
		return TAG_POP;
	return out_tagged ? TAG_PUSH : TAG_KEEP;
}

// A frame of the shortest legal length would be too short without its tag (802.3 clause 4A.2.8).
// Returns the bytes added.
static int pad(struct rte_mbuf *m)
{
	int missing = SHORTEST_FRAME - (int)m->pkt_len;

	// Frames that came shorter than the law, as virtual links deliver them, stay as they were.
	if (missing <= 0 || missing > TAG_LEN)
		return 0;
	memset(rte_pktmbuf_append(m, (uint16_t)missing), 0, (size_t)missing);
	return missing;
}

int bridge_edit_tag(struct rte_mbuf *m, enum tag_edit edit, unsigned vid, uint8_t pcp)
{
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	switch (edit) {
	case TAG_KEEP:
		return 0;
	case TAG_SET_VID:
		p[TPID_OFF + 2] = (uint8_t)((p[TPID_OFF + 2] & 0xf0u) | vid >> 8);
		p[TPID_OFF + 3] = (uint8_t)vid;
		return 0;
	case TAG_POP:
		memmove(p + TAG_LEN, p, TPID_OFF);
		rte_pktmbuf_adj(m, TAG_LEN);
		return pad(m) - TAG_LEN;
	case TAG_PUSH:
		p = (uint8_t *)rte_pktmbuf_prepend(m, TAG_LEN);
		if (p == NULL)
			return INT32_MIN;
		memmove(p, p + TAG_LEN, TPID_OFF);
		p[TPID_OFF] = TPID_8021Q >> 8;
		p[TPID_OFF + 1] = TPID_8021Q & 0xff;
		p[TPID_OFF + 2] = (uint8_t)((unsigned)pcp << 5 | vid >> 8);
		p[TPID_OFF + 3] = (uint8_t)vid;
		return TAG_LEN;
	}
	return 0;
}
