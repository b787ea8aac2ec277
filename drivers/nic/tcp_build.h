// SPDX-License-Identifier: Apache-2.0
// TCP segments over IPv4 and Ethernet as an endpoint sends and reads them (RFC 9293, 3.1; the
// options MSS, window scale of RFC 7323, and SACK of RFC 2018). Pure: it turns a struct tcp_seg
// into bytes and back and decides nothing. Called by the NIC's owner for each frame.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic/tcp.h"

enum {
	TCP_HEADERS = 14 + 20 + 20, // of a segment without options
	TCP_MAX_HEADERS = TCP_HEADERS + 4 + 8 * TCP_MAX_SACKS, // of an ACK; a SYN has less
	TCP_MIN_FRAME = 60, // of Ethernet without FCS: shorter frames are padded
};

struct tcp_addr {
	uint8_t src_mac[6], dst_mac[6];
	uint32_t src_ip, dst_ip; // host order
	uint16_t sport, dport;
	uint16_t ip_id;
	uint8_t tos; // DSCP and ECN
};

// Length of the frame that tcp_build would write.
uint32_t tcp_frame_len(const struct tcp_seg *s);

// Writes the first `stored` bytes of the frame, at least all headers. payload: NULL where the
// payload is zeros.
void tcp_build(uint8_t *out, uint32_t stored, const struct tcp_addr *a, const struct tcp_seg *s,
	       const uint8_t *payload);

struct pkt_info;
enum tcp_read { TCP_READ_OK, TCP_READ_SHORT, TCP_READ_CSUM };

// frame: untagged IPv4 as parse() found it, of which `stored` bytes are there. The checksum is
// verified where all of it is. *payload: NULL where it is not stored. a: only ports and addresses
// of IP are set.
enum tcp_read tcp_read(const uint8_t *frame, uint32_t len, uint32_t stored,
		       const struct pkt_info *info, struct tcp_addr *a, struct tcp_seg *s,
		       const uint8_t **payload);
