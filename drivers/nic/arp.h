// SPDX-License-Identifier: Apache-2.0
// ARP for IPv4 over Ethernet (RFC 826) as an endpoint needs it: builds and reads the frame. Who
// is asked when, and what the answers are kept in, is the NIC's business. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ARP_FRAME_LEN = 60 }; // padded, without FCS

struct arp_msg {
	uint16_t op; // enum arp_op of packet/wire.h
	uint8_t sender_mac[6], target_mac[6]; // target_mac: zero in a request, which is broadcast
	uint32_t sender_ip, target_ip; // host order
};

void arp_build(uint8_t out[ARP_FRAME_LEN], const struct arp_msg *m);

// frame: untagged, EtherType ARP. False when it is none for IPv4 over Ethernet.
bool arp_parse(const uint8_t *frame, uint32_t len, struct arp_msg *m);
