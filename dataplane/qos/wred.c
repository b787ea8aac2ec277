// SPDX-License-Identifier: Apache-2.0
#include "dataplane/qos/wred.h"

struct wred_curve wred_curve_of(uint64_t kmin_bytes, uint64_t kmax_bytes, uint32_t pmax_ppm)
{
	struct wred_curve c = {.kmin_bytes = kmin_bytes, .kmax_bytes = kmax_bytes};

	c.pmax_q32 = ((uint64_t)pmax_ppm << 32) / 1000000;
	// pmax_ppm * 2^48 passes 2^64, so the product is taken in 128 bits.
	if (kmax_bytes > kmin_bytes)
		c.slope_q48 = (uint64_t)(((__uint128_t)pmax_ppm << 48) / 1000000 /
					 (kmax_bytes - kmin_bytes));
	return c;
}

static bool chosen(const struct wred_curve *c, uint64_t len, bool certain_above, uint32_t rnd)
{
	return rnd < wred_chance_q32(c, len, certain_above);
}

enum wred_verdict wred_above_kmin(const struct wred_params *p, uint64_t len_bytes, unsigned color,
				  enum ecn ecn, uint32_t rnd)
{
	const struct wred_curve *c = &p->curve[color];
	bool ect = p->ecn && (ecn == ECN_ECT0 || ecn == ECN_ECT1);

	if (p->ecn && ecn == ECN_CE)
		return WRED_PASS;
	if (ect)
		return chosen(c, len_bytes, p->above_kmax_all, rnd) ? WRED_MARK : WRED_PASS;
	if (!p->not_ect_drop)
		return WRED_PASS;
	return chosen(c, len_bytes, true, rnd) ? WRED_DROP : WRED_PASS;
}
