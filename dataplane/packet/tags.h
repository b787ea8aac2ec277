// SPDX-License-Identifier: Apache-2.0
// Which VLAN tags a frame has, in a byte: two bits for the TPID of each tag that parse() found, the
// outermost in the lowest. Pure.
#pragma once

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum { TAG_KIND_BITS = 2, TAG_KIND_MASK = (1 << TAG_KIND_BITS) - 1 };

static_assert(PARSE_MAX_TAGS * TAG_KIND_BITS <= 8, "a byte is enough");

// 0 ends them: no tag.
static const uint16_t tag_tpids[1 << TAG_KIND_BITS] = {0, ETYPE_VLAN, ETYPE_QINQ, ETYPE_QINQ_OLD};

static inline uint8_t tag_kinds(const uint8_t *eth, unsigned n_tags)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < n_tags; i++) {
		const uint8_t *tag = eth + 2 * ETH_ALEN_ + i * sizeof(struct vlan_hdr);
		unsigned kind = TAG_KIND_MASK;

		while (kind > 0 && tag_tpids[kind] != be16_get(tag))
			kind--;
		kinds |= kind << i * TAG_KIND_BITS;
	}
	return (uint8_t)kinds;
}

// Of tag i; 0: there is none.
static inline uint16_t tag_tpid(uint8_t kinds, unsigned i)
{
	return tag_tpids[kinds >> i * TAG_KIND_BITS & TAG_KIND_MASK];
}
