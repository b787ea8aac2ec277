// SPDX-License-Identifier: Apache-2.0
// One RoCEv2 flow, and one notification that the switch sent, as rows of JSON whose keys are the
// facts of `flows` and `cnps` (flows.def). Decides nothing. Called by the control thread.
#pragma once

#include "dataplane/policy.h"
#include "dataplane/switch_flows.h"

struct json_object;

// What a row needs beside the flow itself.
struct flow_view {
	const struct policy *policy;
	uint64_t now_ns; // switch time
	uint64_t rate_bps; // over the time between two looks
};

// Source and destination as text: "10.0.0.1", "2001:db8::1".
enum { FLOW_ADDR_LEN = 46 };
void flow_addresses(const struct flow_key *k, char src[FLOW_ADDR_LEN], char dst[FLOW_ADDR_LEN]);

void flow_row_emit(struct json_object *row, const struct flow_row *f, const struct flow_view *v);

// What a row needs beside the record of a CNP.
struct cnp_view {
	const struct policy *policy;
	uint64_t seq, wall_ns; // its number, and when control took it
};
void cnp_row_emit(struct json_object *row, const struct cnp_record *c, const struct cnp_view *v);

extern const char *const pair_source_name[N_PAIR_SOURCES]; // "none", "static", ...
extern const char *const cnp_silence_name[N_CNP_SILENCES];
