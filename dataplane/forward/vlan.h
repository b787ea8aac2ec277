// SPDX-License-Identifier: Apache-2.0
// Sets of VLANs (IEEE 802.1Q), and which of them a port carries. Pure data.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { N_VLANS = 4096 };

struct policy_vlan {
	uint64_t tagged[N_VLANS / 64]; // bit per VID: the port carries it tagged
	uint16_t untagged; // VID of untagged frames in both directions; 0: refuses untagged frames
	bool trunk; // takes frames with a VID; else only untagged and priority-tagged frames
};

static inline bool vlan_bit(const uint64_t *set, unsigned vid)
{
	return set[vid / 64] >> (vid % 64) & 1;
}
