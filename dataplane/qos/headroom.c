// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/headroom.h"

#include "dataplane/base/units.h"

#include <stddef.h>

enum { KIB = 1024, QUANTUM_BYTES = 64, LIGHT_M_PER_S = 198000000 };

// IEEE 802.1Qbb and 802.3 annex 31B, as SONiC's calculator tabulates them.
static const struct {
	uint64_t gbps;
	uint32_t quanta;
} response[] = {
	{1, 2}, {10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905},
};

uint32_t headroom_peer_response(uint64_t speed_bps)
{
	size_t n = sizeof(response) / sizeof(response[0]);
	size_t i = 0;

	while (i + 1 < n && response[i].gbps * 1000000000ull < speed_bps)
		i++;
	return response[i].quanta * QUANTUM_BYTES;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

uint64_t headroom_xoff(const struct headroom_in *in)
{
	uint64_t w = in->cell_bytes > 128 ? ceil_div(in->cell_bytes, 64)
					  : ceil_div(2ull * in->cell_bytes, 1ull + in->cell_bytes);
	uint64_t occupancy_ppm = PPM - in->small_frames_ppm + in->small_frames_ppm * w;
	// There and back: 2 * m * bits per second / (8 * metres per second), in centimetres.
	uint64_t on_cable = (uint64_t)((__uint128_t)in->cable_cm * in->speed_bps /
				       (400ull * LIGHT_M_PER_S));
	uint64_t propagation = in->port_mtu + on_cable + in->mac_phy + in->peer_response;

	return ceil_div(in->lossless_mtu + ceil_div(propagation * occupancy_ppm, PPM), KIB) * KIB;
}

uint64_t headroom_fill_ns(uint64_t bytes, uint64_t speed_bps)
{
	return (uint64_t)((__uint128_t)bytes * 8000000000ull / speed_bps) + 1;
}

// alpha*F / (1 + k*alpha) = F / (1/alpha + k), so with alpha = 2^a both sides scale by 2^|a|.
uint64_t headroom_ecn_bound(uint64_t free_pool, uint64_t min, unsigned n, unsigned k,
			    int alpha_log2)
{
	uint64_t one = alpha_log2 < 0 ? 1ull << -alpha_log2 : 1;
	uint64_t alpha = alpha_log2 < 0 ? 1 : 1ull << alpha_log2;
	uint64_t threshold = (uint64_t)((__uint128_t)free_pool * alpha / (one + k * alpha));

	return (min + threshold) / n;
}
