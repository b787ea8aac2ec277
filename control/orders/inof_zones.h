// SPDX-License-Identifier: Apache-2.0
// Zones that `weirctl inof zone` adds to a running switch (control/instance/inof.c).
#pragma once

#include <stdbool.h>

#include "control/inof/zone.h"
#include "control/orders/orders.h"

struct instance;
struct json_object;

// The sentence for a request that needs a registry.
extern const char inof_is_off[];
extern const char inof_zone_bad_name[];

// Adds members to a zone of the running switch, or makes it; removes members, or without members
// the zone. members: a list of texts. NULL, or the sentence of the error, which may be in text.
// *data: the first pairs of hosts that no longer find each other, as rows of `show inof log`: the
// initiator is the receiver, and the notice is about the target.
const char *inof_zones_change(struct instance *in, bool add, const char *zone,
			      struct json_object *members, struct json_object **data,
			      char text[ORDER_TEXT_LEN]);

// ---- for other lists of zones

bool inof_zone_name_holds(const char *name); // NULL: it does not
// The place of the zone, or n.
unsigned inof_zone_find(const struct inof_zone *zones, unsigned n, const char *name);
// Adds a member that is written so. port, arg: as of inof_member_parse. Returns as
// inof_zones_change.
const char *inof_zone_put(struct inof_zone *z, const char *member, inof_port_fn *port,
			  const void *arg, char text[ORDER_TEXT_LEN]);
