// SPDX-License-Identifier: Apache-2.0
// The tables of a VXLAN tunnel endpoint (VTEP, RFC 7348): which VLAN a VNI is, the peers of each
// VNI, and the number of a peer by its address. Pure.
//
// In the address table a peer is a number beyond those of the ports: VTEP_FIRST + its place in the
// table of peers. Today the policy file writes the tables, and they are published with it. Another
// writer, such as a routing protocol, fills the same struct vtep: nothing else knows the peers.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/fdb.h"
#include "dataplane/forward/l3.h"
#include "dataplane/packet/tunnel_ecn.h"

enum {
	VTEP_FIRST = POLICY_MAX_PORTS, // of the numbers of peers; ports have those below
	VTEP_MAX_PEERS = FDB_MAX_PEERS,
	VTEP_MAX_VNIS = 1024,
	VTEP_VLANS = 4096,
	VTEP_NONE = 0xff, // no peer
	VTEP_DSCP_UNIFORM = 0xff, // in place of a DSCP
	VTEP_PEER_SLOTS = 256,
	VTEP_VNI_SLOTS = 2048,
};

struct vtep_vni {
	uint32_t vni;
	uint16_t vid;
	uint64_t peers[2]; // bitmap: frames are flooded to these, and taken only from these
};

struct vtep {
	bool here; // false: only mark_inner holds
	bool v6; // addresses have 16 bytes, else 4 and zeros
	uint8_t source[16];
	uint16_t port; // UDP
	uint8_t ecn; // enum tunnel_ecn
	uint8_t dscp; // of the outer header; VTEP_DSCP_UNIFORM: that of the inner header, both ways
	bool class_by_inner; // a frame leaves the switch in the class of its inner DSCP
	bool mark_inner;
	uint32_t n_vnis, n_peers;
	struct vtep_vni vnis[VTEP_MAX_VNIS];
	uint8_t peers[VTEP_MAX_PEERS][16];
	// Made by vtep_index.
	uint16_t vni_of_vid[VTEP_VLANS]; // place in vnis + 1; 0: none
	uint16_t vni_slot[VTEP_VNI_SLOTS]; // the same, by hash
	uint8_t peer_slot[VTEP_PEER_SLOTS]; // place in peers + 1
};
static_assert(2 * VTEP_MAX_VNIS <= VTEP_VNI_SLOTS && 2 * VTEP_MAX_PEERS <= VTEP_PEER_SLOTS,
	      "each search ends at a free slot");

// Makes the indexes of a table whose VNIs, VLANs and peers all differ.
void vtep_index(struct vtep *v);

// The VNI's row, or NULL.
const struct vtep_vni *vtep_vni_of(const struct vtep *v, uint32_t vni);
// The place of a peer by its address, in the form of struct vtep; VTEP_NONE: it is none.
uint8_t vtep_peer_of(const struct vtep *v, const uint8_t ip[16]);

// An address of the VTEP or of a peer as text. Returns out.
enum { VTEP_TEXT_LEN = 46 };
const char *vtep_text(const struct vtep *v, const uint8_t ip[16], char out[VTEP_TEXT_LEN]);
// The address of a peer by its number in the address table; NULL: there is none, or v is NULL.
const uint8_t *vtep_peer_at(const struct vtep *v, unsigned place);

static inline const struct vtep_vni *vtep_vni_of_vlan(const struct vtep *v, unsigned vid)
{
	unsigned at = v->vni_of_vid[vid];

	return at == 0 ? NULL : &v->vnis[at - 1];
}

static inline bool vtep_has_peer(const struct vtep_vni *n, unsigned peer)
{
	return n->peers[peer / 64] >> (peer % 64) & 1;
}
