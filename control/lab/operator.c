// SPDX-License-Identifier: Apache-2.0
#include "control/lab/operator.h"

#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/instance/instance.h"
#include "control/lab/fabric.h"
#include "control/lab/report_rows.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "control/orders/words.h"

static const char *show_now(struct instance *in, struct json_object *request, uint64_t now_ns,
			    struct order *o)
{
	const char *what = text_in(request, "what");
	const char *error = order_port(in->policy, request, order_shows_interfaces(what), &o->port,
				       o->text);
	struct observe *observe;

	if (error != NULL)
		return error;
	if (observe_create(in, &observe) != 0)
		return "out of memory";
	o->data = order_show(in, observe, what, o->port, OBSERVE_HISTORY | OBSERVE_ALL_ROWS,
			     now_ns);
	observe_destroy(observe);
	return o->data != NULL ? NULL : "a switch of the lab does not show that";
}

struct json_object *operator_types(struct instance *in, const char *words, uint64_t now_ns,
				   char why[ORDER_TEXT_LEN])
{
	struct order o = {.in = in, .now_ns = now_ns, .request = request_of_text(words, why)};
	const char *cmd = text_in(o.request, "cmd"), *error;

	if (cmd == NULL)
		return NULL;
	error = order_is(cmd) ? order_put(&o) : show_now(in, o.request, now_ns, &o);
	json_object_put(o.request);
	if (error == NULL)
		return o.data != NULL ? o.data : json_object_new_object();
	snprintf(why, ORDER_TEXT_LEN, "%s", error);
	return NULL;
}

void report_commands_json(const struct run *r, struct json_object *out)
{
	struct json_object *list = NULL;

	for (uint32_t i = 0; i < r->sc->n_faults; i++) {
		const struct sc_fault *f = &r->sc->faults[i];
		struct fabric_answer a = fabric_answer(r->fabric, i);
		struct json_object *row;

		if (f->kind != SC_WEIRCTL || (a.data == NULL && a.refusal == NULL))
			continue;
		if (list == NULL)
			list = list_in(out, "weirctl");
		row = row_in(list);
		row_u64(row, "time_ns", f->at_ns);
		row_text(row, "switch", r->sc->switches[f->target.node].name);
		row_text(row, "command", f->words);
		if (a.refusal != NULL)
			row_text(row, "refusal", a.refusal);
		else
			json_object_object_add(row, "answer", json_object_get(a.data));
	}
}
