// SPDX-License-Identifier: Apache-2.0
// PAUSE that is shorter than the longest one, in a plan. Private to control/config.
#include <json-c/json.h>

#include "control/base/units.h"
#include "control/config/plan.h"
#include "dataplane/policy.h"

static bool pauses_shortly(const struct policy_port *p)
{
	return p->pfc.tx != 0 && p->pfc.quanta != UINT16_MAX;
}

// How late the repeated PAUSE may be sent.
static uint64_t margin_ns(const struct pfc_params *p)
{
	return p->lifetime_ns - p->before_ns - p->refresh_ns;
}

void plan_pause_text(const struct policy *p, int name_width, FILE *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct pfc_params *pfc = &p->ports[i].pfc;

		if (!pauses_shortly(&p->ports[i]))
			continue;
		if (n++ == 0)
			fprintf(out, "\n%-*s %7s %10s %10s %10s\n", name_width, "pause",
				"quanta", "lasts", "repeated", "margin");
		fprintf(out, PLAN_ROW "%-*s %7u %10s %10s %10s\n", name_width, p->ports[i].name,
			pfc->quanta, UNIT_TEXT(UNIT_TIME, (int64_t)pfc->lifetime_ns),
			UNIT_TEXT(UNIT_TIME, (int64_t)pfc->refresh_ns),
			UNIT_TEXT(UNIT_TIME, (int64_t)margin_ns(pfc)));
	}
	if (n > 0)
		fputs("\n"
		      "repeated  after this time while the class stays paused\n"
		      "margin    how late a worker may be with it; what is on its way already\n"
		      "          goes first\n",
		      out);
}

void plan_pause_json(const struct policy_port *p, struct json_object *port)
{
	struct json_object *o;

	if (!pauses_shortly(p))
		return;
	o = json_object_new_object();
	json_object_object_add(o, "quanta", json_object_new_uint64(p->pfc.quanta));
	json_object_object_add(o, "lasts_ns", json_object_new_uint64(p->pfc.lifetime_ns));
	json_object_object_add(o, "repeated_ns", json_object_new_uint64(p->pfc.refresh_ns));
	json_object_object_add(o, "margin_ns", json_object_new_uint64(margin_ns(&p->pfc)));
	json_object_object_add(port, "pause", o);
}
