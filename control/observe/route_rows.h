// SPDX-License-Identifier: Apache-2.0
// Rows of `show routes` and `show neighbours`, whoever knows them: the switch's own resolver
// (control/neighbours/resolver.h) or the kernel (control/linux/plane.h). Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/forward/route_params.h"

struct json_object;
struct resolver;
struct weir_switch;

struct route_row {
	const struct policy_addr *to;
	const struct policy_addr *via; // NULL: the destination is on the link
	const char *port; // NULL: none
	const char *state, *source;
	const uint8_t *mac; // NULL: not known
	unsigned weight;
};
void route_row_add(struct json_object *list, const struct route_row *r);

struct neighbour_row {
	const struct policy_addr *addr;
	const char *port, *state;
	const uint8_t *mac; // NULL: not known
	bool gateway;
	uint64_t age_s;
};
void neighbour_row_add(struct json_object *list, const struct neighbour_row *n);

struct neighbour_totals {
	uint64_t unanswered, refused, replaced, malformed, unsent;
};
// Adds the totals to an answer.
void neighbour_totals_add(struct json_object *out, const struct neighbour_totals *t);

// {"routes": [...]}, {"neighbours": [...], "totals": {...}} of the switch's own resolver; their
// keys are rows of fact.h. port: an index, or -1: all. r NULL: of a switch that does not route.
struct json_object *rows_of_routes(const struct resolver *r, const struct weir_switch *sw,
				    int port);
struct json_object *rows_of_neighbours(const struct resolver *r, const struct weir_switch *sw,
					int port, uint64_t now_ns);
