// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/peer_zones.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/inof/registry.h"
#include "control/observe/fact.h"
#include "control/orders/inof_zones.h"

struct peer_zones {
	struct inof_zone *staged; // up to "apply"; NULL: none has begun
	unsigned n_staged;
	char error[ORDER_TEXT_LEN];
};

int peer_zones_create(struct peer_zones **out)
{
	*out = calloc(1, sizeof(**out));
	return *out == NULL ? -ENOMEM : 0;
}

static void end_stage(struct peer_zones *z)
{
	inof_zones_free(z->staged, z->n_staged);
	z->staged = NULL;
	z->n_staged = 0;
}

void peer_zones_destroy(struct peer_zones *z)
{
	if (z == NULL)
		return;
	end_stage(z);
	free(z);
}

// The zones are for all switches, so the ports of this one are no members.
static const char *stage_zone(struct peer_zones *z, const char *name, struct json_object *members)
{
	unsigned i;
	struct inof_zone *zone;
	const char *error = NULL;

	if (!inof_zone_name_holds(name))
		return inof_zone_bad_name;
	if (!json_object_is_type(members, json_type_array) ||
	    json_object_array_length(members) == 0)
		return "members is a list of texts";
	i = inof_zone_find(z->staged, z->n_staged, name);
	if (i == INOF_ZONES)
		return "there are more than 1000 zones";
	zone = &z->staged[i];
	if (i == z->n_staged) {
		strcpy(zone->name, name);
		z->n_staged++;
	}
	for (size_t k = 0; error == NULL && k < json_object_array_length(members); k++) {
		struct json_object *m = json_object_array_get_idx(members, k);

		error = json_object_is_type(m, json_type_string)
				? inof_zone_put(zone, json_object_get_string(m), NULL, NULL,
						z->error)
				: "a member is a text";
	}
	return error;
}

static const char *run_zones_step(struct peer_zones *z, struct inof_registry *registry,
				  struct json_object *request, uint64_t now_ns)
{
	const char *what = text_in(request, "step");
	struct json_object *members = NULL;
	int err;

	if (what != NULL && strcmp(what, "begin") == 0) {
		end_stage(z);
		z->staged = calloc(INOF_ZONES, sizeof(*z->staged));
		return z->staged == NULL ? "out of memory" : NULL;
	}
	if (z->staged == NULL)
		return "inof_zones has the steps begin, add and apply";
	if (what != NULL && strcmp(what, "add") == 0) {
		json_object_object_get_ex(request, KEY(INOF_ZONES, members), &members);
		return stage_zone(z, text_in(request, KEY(INOF_ZONES, zone)), members);
	}
	if (what == NULL || strcmp(what, "apply") != 0)
		return "inof_zones has the steps begin, add and apply";
	err = inof_set_zones(registry, INOF_ZONES_PEER, z->staged, z->n_staged, now_ns);
	end_stage(z);
	return err == 0		? NULL
	       : err == -ENOSPC ? "with the zones of this switch there are more than 1000"
				: "out of memory";
}

const char *peer_zones_take(struct peer_zones *z, struct inof_registry *registry,
			    struct json_object *request, uint64_t now_ns)
{
	const char *error;

	if (registry == NULL)
		return inof_is_off;
	error = run_zones_step(z, registry, request, now_ns);
	if (error != NULL)
		end_stage(z);
	return error;
}
