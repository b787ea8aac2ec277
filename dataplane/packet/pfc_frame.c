// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/pfc_frame.h"

#include "dataplane/packet/wire.h"

struct pfc_hdr {
	struct eth_hdr eth;
	struct be16 opcode;
	struct be16 vector; // high byte reserved: sent as 0, not looked at
	struct be16 quanta[8];
};

static_assert(sizeof(struct pfc_hdr) == PFC_MIN_RX_LEN, "802.3 figure 31D-1 without padding");

// 802.3 table 31A-1: the address that every MAC and bridge takes for itself.
static const uint8_t mac_control_dst[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

// Length of a global PAUSE: Ethernet header, opcode and one time.
enum { PAUSE_MIN_LEN = sizeof(struct eth_hdr) + 4 };

enum mac_ctrl mac_ctrl_parse(const uint8_t *frame, uint32_t len, struct pfc_times *out)
{
	const struct pfc_hdr *h = (const void *)frame;

	if (len < sizeof(h->eth) + sizeof(h->opcode))
		return MAC_CTRL_MALFORMED;
	switch (be16_get(&h->opcode)) {
	case MAC_CTRL_OPCODE_PAUSE:
		if (len < PAUSE_MIN_LEN)
			return MAC_CTRL_MALFORMED;
		// One that is addressed to a station may come from anywhere.
		out->enable =
			memcmp(h->eth.dst, mac_control_dst, sizeof(h->eth.dst)) == 0 ? 0xff : 0;
		for (unsigned c = 0; c < 8; c++)
			out->quanta[c] = be16_get(&h->vector); // the time is in its place
		return MAC_CTRL_PAUSE_8023X;
	case MAC_CTRL_OPCODE_PFC:
		break;
	default:
		return MAC_CTRL_OTHER;
	}
	if (len < sizeof(*h))
		return MAC_CTRL_MALFORMED;
	if (memcmp(h->eth.dst, mac_control_dst, sizeof(h->eth.dst)) != 0)
		return MAC_CTRL_PFC_MISADDRESSED;
	out->enable = h->vector.b[1];
	for (unsigned c = 0; c < 8; c++)
		out->quanta[c] = be16_get(&h->quanta[c]);
	return MAC_CTRL_PFC;
}

static struct pfc_hdr *build(uint8_t out[PFC_FRAME_LEN], const uint8_t src_mac[6], uint16_t opcode)
{
	struct pfc_hdr *h = (void *)out;

	memset(out, 0, PFC_FRAME_LEN);
	memcpy(h->eth.dst, mac_control_dst, sizeof(h->eth.dst));
	memcpy(h->eth.src, src_mac, sizeof(h->eth.src));
	be16_put(&h->eth.type, ETYPE_MAC_CONTROL);
	be16_put(&h->opcode, opcode);
	return h;
}

void pause_frame_build(uint8_t out[PFC_FRAME_LEN], const uint8_t src_mac[6],
		       const struct pfc_times *times)
{
	struct pfc_hdr *h = build(out, src_mac, MAC_CTRL_OPCODE_PAUSE);
	uint16_t longest = 0;

	for (unsigned c = 0; c < 8; c++)
		if ((times->enable >> c & 1) && times->quanta[c] > longest)
			longest = times->quanta[c];
	be16_put(&h->vector, longest);
}

void pfc_frame_build(uint8_t out[PFC_FRAME_LEN], const uint8_t src_mac[6],
		     const struct pfc_times *times)
{
	struct pfc_hdr *h = build(out, src_mac, MAC_CTRL_OPCODE_PFC);

	be16_put(&h->vector, times->enable);
	for (unsigned c = 0; c < 8; c++) {
		if (times->enable >> c & 1)
			be16_put(&h->quanta[c], times->quanta[c]);
	}
}
