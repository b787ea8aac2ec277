// SPDX-License-Identifier: Apache-2.0
// What control may ask a switch about its VXLAN tunnels. Counters are sums over the workers.
#pragma once

#include "dataplane/base/counter.h"
#include "dataplane/forward/vtep.h"

struct weir_switch;

// Of one peer. Bytes are those of the frames in the tunnel.
struct vxlan_peer_counters {
	ctr_t tx_packets, tx_bytes, rx_packets, rx_bytes;
};

struct vxlan_counters {
	ctr_t ecn[4][4]; // IP frames out of a tunnel, by inner and outer ECN field (enum ecn)
	ctr_t nested; // frames out of a tunnel that are VXLAN frames themselves
	ctr_t inner_marked; // CE was set in the inner header, too (mark_inner)
};

// peer: its place in the policy's table. Counts since the place has its present address.
void switch_vxlan_peer(const struct weir_switch *sw, unsigned peer,
		       struct vxlan_peer_counters *out);
void switch_vxlan_totals(const struct weir_switch *sw, struct vxlan_counters *out);
