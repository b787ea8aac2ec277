// SPDX-License-Identifier: Apache-2.0
#include "drivers/nic/arp.h"

#include <string.h>

#include "dataplane/packet/wire.h"

enum { HW_ETHERNET = 1, MAC_LEN = 6, IP_LEN = 4 };

void arp_build(uint8_t out[ARP_FRAME_LEN], const struct arp_msg *m)
{
	struct eth_hdr *eth = (struct eth_hdr *)out;
	struct arp_hdr *arp = (struct arp_hdr *)(eth + 1);

	memset(out, 0, ARP_FRAME_LEN);
	if (m->op == ARP_REQUEST)
		memset(eth->dst, 0xff, MAC_LEN);
	else
		memcpy(eth->dst, m->target_mac, MAC_LEN);
	memcpy(eth->src, m->sender_mac, MAC_LEN);
	be16_put(&eth->type, ETYPE_ARP);
	be16_put(&arp->hw_type, HW_ETHERNET);
	be16_put(&arp->proto_type, ETYPE_IPV4);
	arp->hw_len = MAC_LEN;
	arp->proto_len = IP_LEN;
	be16_put(&arp->op, m->op);
	memcpy(arp->sender_mac, m->sender_mac, MAC_LEN);
	be32_put(&arp->sender_ip, m->sender_ip);
	memcpy(arp->target_mac, m->target_mac, MAC_LEN);
	be32_put(&arp->target_ip, m->target_ip);
}

bool arp_parse(const uint8_t *frame, uint32_t len, struct arp_msg *m)
{
	const struct arp_hdr *arp = (const struct arp_hdr *)(frame + sizeof(struct eth_hdr));

	if (len < sizeof(struct eth_hdr) + sizeof(*arp) || be16_get(&arp->hw_type) != HW_ETHERNET ||
	    be16_get(&arp->proto_type) != ETYPE_IPV4 || arp->hw_len != MAC_LEN ||
	    arp->proto_len != IP_LEN)
		return false;
	*m = (struct arp_msg){
		.op = be16_get(&arp->op),
		.sender_ip = be32_get(&arp->sender_ip),
		.target_ip = be32_get(&arp->target_ip),
	};
	memcpy(m->sender_mac, arp->sender_mac, MAC_LEN);
	memcpy(m->target_mac, arp->target_mac, MAC_LEN);
	return m->op == ARP_REQUEST || m->op == ARP_REPLY;
}
