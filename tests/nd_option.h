// SPDX-License-Identifier: Apache-2.0
// A second option for a message of neighbour discovery.
#pragma once

#include <string.h>

#include "dataplane/packet/wire.h"

enum { ND_OPTION_LEN = 8 };

// Adds a nonce (RFC 7527) to an untagged message of len bytes. Returns the new length.
static inline uint32_t nd_add_nonce(uint8_t *frame, uint32_t len)
{
	const uint8_t nonce[ND_OPTION_LEN] = {14, 1, 1, 2, 3, 4, 5, 6};
	struct ipv6_hdr *ip = (void *)(frame + sizeof(struct eth_hdr));
	uint8_t *csum = (uint8_t *)(ip + 1) + 2;
	uint32_t sum = (uint16_t)~be16_get(csum) + (uint32_t)ND_OPTION_LEN;

	memcpy(frame + len, nonce, sizeof(nonce));
	for (unsigned i = 0; i < ND_OPTION_LEN; i += 2)
		sum += be16_get(nonce + i);
	be16_put(csum, (uint16_t)~((sum & 0xffff) + (sum >> 16)));
	be16_put(&ip->payload_len, (uint16_t)(be16_get(&ip->payload_len) + ND_OPTION_LEN));
	return len + ND_OPTION_LEN;
}
