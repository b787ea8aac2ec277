// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet/classify.h"

void classify_rows(const struct classify_params *p, struct classify_row rows[N_TOS])
{
	for (unsigned tos = 0; tos < N_TOS; tos++) {
		struct pkt_info pkt = {.kind = PKT_IPV4, .dscp = (uint8_t)(tos >> 2),
				       .ecn = tos & 3};
		struct classified k = classify(p, &pkt);

		rows[tos] = (struct classify_row){
			.cls = k.cls,
			.color = k.color,
			.pg = p->class_to_pg[k.cls],
			.hint = !(p->lossless >> k.cls & 1) || pkt.ecn == ECN_NOT_ECT,
		};
	}
}
