// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/loop_frame.h"

#include <string.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/wire.h"

enum { CTP_REPLY = 0x0100, TPID = 0x8100, PCP_SHIFT = 13, VERSION = 1 };

// The protocol's numbers are little endian, unlike all others here.
struct loop_body {
	struct be16 skip_count, function, receipt; // function: CTP_REPLY
	uint8_t mark[4], version, port_low;
	struct be16 vid;
	struct be64 id, nonce;
	struct be32 round;
	uint8_t port_high;
};

static_assert(sizeof(struct loop_body) == 35, "within the shortest frame");

static const uint8_t group[6] = {0xcf, 0, 0, 0, 0, 0};
static const uint8_t mark[4] = {'w', 'e', 'i', 'r'};

uint16_t loop_frame_build(uint8_t out[LOOP_FRAME_TAGGED_LEN], const uint8_t src_mac[6],
			  const struct loop_probe *p)
{
	uint8_t *at = out + 2 * ETH_ALEN_;
	struct loop_body *b;

	memset(out, 0, LOOP_FRAME_TAGGED_LEN);
	memcpy(out, group, sizeof(group));
	memcpy(out + ETH_ALEN_, src_mac, ETH_ALEN_);
	if (p->tagged) {
		be16_put(at, TPID);
		be16_put(at + 2, (uint16_t)(p->pcp << PCP_SHIFT | p->vid));
		at += 4;
	}
	be16_put(at, ETYPE_LOOPBACK);
	b = (void *)(at + 2);
	be16_put(&b->function, CTP_REPLY);
	be16_put(&b->receipt, (uint16_t)p->round);
	memcpy(b->mark, mark, sizeof(mark));
	b->version = VERSION;
	b->port_low = (uint8_t)p->port;
	b->port_high = (uint8_t)(p->port >> 8);
	be16_put(&b->vid, p->vid);
	be64_put(&b->id, p->id);
	be64_put(&b->nonce, p->nonce);
	be32_put(&b->round, p->round);
	return p->tagged ? LOOP_FRAME_TAGGED_LEN : LOOP_FRAME_LEN;
}

bool loop_frame_parse(const uint8_t *frame, uint32_t len, uint32_t off, uint16_t ether_type,
		      struct loop_probe *out)
{
	const struct loop_body *b = (const void *)(frame + off);

	if (ether_type != ETYPE_LOOPBACK || len < off + sizeof(*b) ||
	    be16_get(&b->skip_count) != 0 || be16_get(&b->function) != CTP_REPLY ||
	    memcmp(b->mark, mark, sizeof(mark)) != 0 || b->version != VERSION)
		return false;
	*out = (struct loop_probe){.id = be64_get(&b->id), .nonce = be64_get(&b->nonce),
				   .round = be32_get(&b->round), .vid = be16_get(&b->vid),
				   .port = (port_no_t)(b->port_high << 8 | b->port_low)};
	return true;
}
