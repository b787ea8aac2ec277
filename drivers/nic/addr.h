// SPDX-License-Identifier: Apache-2.0
// What an endpoint's frames carry beside the class: an 802.1Q tag or none, and IPv4 or IPv6. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/ip_key.h"
#include "dataplane/packet/wire.h"

struct frame_tag {
	bool on;
	uint8_t pcp;
	uint16_t vid; // 0: a priority tag, which is in no VLAN
};

enum {
	FRAME_TAG_LEN = sizeof(struct vlan_hdr),
	FRAME_V6_EXTRA = sizeof(struct ipv6_hdr) - sizeof(struct ipv4_hdr),
	FRAME_MAX_EXTRA = FRAME_TAG_LEN + FRAME_V6_EXTRA,
};

// Reads an address of a frame of IPv6. No station has an IPv4-mapped one: it reads as zero.
static inline struct ip_key frame_ip_v6(const uint8_t *at)
{
	struct ip_key ip = ip_key_v6(at);

	return ip_key_is_v4(ip) ? (struct ip_key){0} : ip;
}

// Bytes by which a frame is longer than an untagged one over IPv4.
static inline uint32_t frame_extra(const struct frame_tag *tag, bool v6)
{
	return tag->on * (uint32_t)FRAME_TAG_LEN + v6 * (uint32_t)FRAME_V6_EXTRA;
}

static inline bool frame_tag_ok(const struct frame_tag *tag)
{
	return tag->pcp < 8 && tag->vid < TCI_VID_MASK;
}

static inline uint16_t frame_tag_vid(const struct frame_tag *tag)
{
	return tag->on ? tag->vid : 0;
}
