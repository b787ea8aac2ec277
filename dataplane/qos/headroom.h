// SPDX-License-Identifier: Apache-2.0
// How much a lossless priority group must still take after its PAUSE left (headroom, SONiC's buffer
// calculator, IEEE 802.1Qbb annex N), and whether ECN marks before PFC pauses (DCQCN, section 4).
// Pure arithmetic in integers; called by control when it compiles or plans a policy.
//
//   propagation = port_mtu + 2*cable_m*speed/(8*198e6) + mac_phy + peer_response      [bytes]
//   w           = ceil(cell > 128 ? cell/64 : 2*cell/(1+cell))    worst growth of 64 B frames
//   occupancy   = 1 - s + s*w                                     s: their share
//   xoff        = roundup_1KiB(lossless_mtu + propagation * occupancy)
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct headroom_in {
	uint64_t speed_bps;
	uint64_t cable_cm; // length of the cable in centimetres
	uint32_t cell_bytes;
	uint32_t lossless_mtu, port_mtu; // bytes
	uint32_t mac_phy; // bytes
	uint32_t peer_response; // bytes
	uint32_t small_frames_ppm; // s, 1,000,000 = 100 %
};

// Time the peer needs to obey, IEEE quanta by speed, 64 B each, in bytes. The next listed speed
// upwards serves speeds between two rows.
uint32_t headroom_peer_response(uint64_t speed_bps);

// Bytes; a multiple of 1024.
uint64_t headroom_xoff(const struct headroom_in *in);

// Time in which a link fills so many bytes of headroom: a peer that needs longer to obey a PAUSE
// overruns the headroom in any case.
uint64_t headroom_fill_ns(uint64_t bytes, uint64_t speed_bps);

// The DCQCN bound: t_ecn < (min + alpha*F / (1 + k*alpha)) / n. n: queues that one group fills, k:
// lossless classes, F: the ingress pool, alpha as 2^alpha_log2. In bytes, rounded down.
uint64_t headroom_ecn_bound(uint64_t free_pool, uint64_t min, unsigned n, unsigned k,
			    int alpha_log2);
