// SPDX-License-Identifier: Apache-2.0
// Frames that met a port's driver and did not come through its receive ring: kept for the host's
// stack, or lost on the way, by reason.
#include <string.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

void steering_read(const struct observe *o, unsigned port, struct port_steering *out)
{
	out->n = switch_drv_reasons(o->sw, port, out->reasons, PORT_REASONS_MAX);
}

static uint64_t frames_since(const struct port_steering *now, const struct port_steering *base,
			     unsigned i)
{
	return now->reasons[i].frames - (i < base->n ? base->reasons[i].frames : 0);
}

uint64_t steering_count(const struct show *s, unsigned port, const char *reason)
{
	struct port_steering now;

	steering_read(s->o, port, &now);
	for (unsigned i = 0; i < now.n; i++)
		if (strcmp(now.reasons[i].name, reason) == 0)
			return frames_since(&now, &baseline(s, port)->steering, i);
	return 0;
}

static void steering_row(const struct show *s, unsigned port, const struct port_reason *r,
			 uint64_t frames, struct json_object *list)
{
	struct json_object *row = row_in(list);

	row_text(row, "port", port_name(s->o, port));
	row_text(row, "reason", r->name);
	row_u64(row, "packets", frames);
	row_bool(row, "lost", r->lost);
	row_text(row, "text", r->help);
}

void show_steering(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "steering");

	for (unsigned port = s->first; port < s->last; port++) {
		struct port_steering now;

		steering_read(s->o, port, &now);
		for (unsigned i = 0; i < now.n; i++)
			steering_row(s, port, &now.reasons[i],
				     frames_since(&now, &baseline(s, port)->steering, i), list);
	}
}
