// SPDX-License-Identifier: Apache-2.0
// The CNPs that the switch has sent, the last few thousand, each with its reasons: what `weirctl
// show cnps` explains. Called by the control thread only.
#pragma once

#include <stdint.h>

struct cnplog;
struct json_object;
struct weir_switch;

enum { CNPLOG_KEPT = 4096 };

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int cnplog_create(struct cnplog **out);
void cnplog_destroy(struct cnplog *l); // NULL is fine

// Takes what the workers have recorded since; once per control loop. wall_ns: the time of day.
void cnplog_poll(struct cnplog *l, struct weir_switch *sw, uint64_t wall_ns);

struct cnplog_query {
	int port; // of the congested queue, or by which it left; -1: all
	uint32_t count; // the last so many; 0: all that are kept
};
// {"cnps": [...], "total", "kept", "lost"}, oldest first; l NULL: none. Since the start, `total`
// CNPs were recorded, and `lost` records found no room.
struct json_object *cnplog_rows(const struct cnplog *l, const struct weir_switch *sw,
				const struct cnplog_query *query);
