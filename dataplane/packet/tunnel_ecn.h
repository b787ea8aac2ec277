// SPDX-License-Identifier: Apache-2.0
// ECN of a tunnel by RFC 6040: the field of the outer header at the tunnel's begin, and the field
// of the inner header at its end. Pure; any thread may use it. It reads and edits no frame.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet/parse.h"

enum tunnel_ecn {
	TUNNEL_ECN_RFC6040,
	TUNNEL_ECN_COPY, // the outer field replaces the inner one, whatever the two are
	TUNNEL_ECN_OFF, // outer Not-ECT; the inner field stays as it was
	N_TUNNEL_ECN,
};

// RFC 6040 4.1, normal mode: CE is copied, too.
static inline uint8_t tunnel_ecn_outer(enum tunnel_ecn mode, uint8_t inner)
{
	return mode == TUNNEL_ECN_OFF ? (uint8_t)ECN_NOT_ECT : inner;
}

struct tunnel_ecn_end {
	uint8_t ecn; // of the frame that leaves the tunnel, enum ecn
	bool drop; // the frame must be dropped: congestion that its sender would not see
	bool odd; // a combination that no regular tunnel makes; RFC 6040 asks for a count
};

// RFC 6040 4.2, figure 4. Both arguments: enum ecn.
static inline struct tunnel_ecn_end tunnel_ecn_rfc6040(uint8_t inner, uint8_t outer)
{
#define KEEP(e) {ECN_##e, false, false}
#define ODD(e) {ECN_##e, false, true}
	static const struct tunnel_ecn_end table[4][4] = {
		[ECN_NOT_ECT] = {[ECN_NOT_ECT] = KEEP(NOT_ECT), [ECN_ECT0] = ODD(NOT_ECT),
				 [ECN_ECT1] = ODD(NOT_ECT), [ECN_CE] = {ECN_NOT_ECT, true, true}},
		[ECN_ECT0] = {[ECN_NOT_ECT] = KEEP(ECT0), [ECN_ECT0] = KEEP(ECT0),
			      [ECN_ECT1] = KEEP(ECT1), [ECN_CE] = KEEP(CE)},
		[ECN_ECT1] = {[ECN_NOT_ECT] = KEEP(ECT1), [ECN_ECT0] = ODD(ECT1),
			      [ECN_ECT1] = KEEP(ECT1), [ECN_CE] = KEEP(CE)},
		[ECN_CE] = {[ECN_NOT_ECT] = KEEP(CE), [ECN_ECT0] = KEEP(CE),
			    [ECN_ECT1] = ODD(CE), [ECN_CE] = KEEP(CE)},
	};
#undef ODD
#undef KEEP

	return table[inner & 3][outer & 3];
}

static inline struct tunnel_ecn_end tunnel_ecn_inner(enum tunnel_ecn mode, uint8_t inner,
						     uint8_t outer)
{
	if (mode == TUNNEL_ECN_RFC6040)
		return tunnel_ecn_rfc6040(inner, outer);
	return (struct tunnel_ecn_end){.ecn = mode == TUNNEL_ECN_COPY ? outer : inner};
}
