// SPDX-License-Identifier: Apache-2.0
#include "control/lab/operator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/lab/fabric.h"
#include "control/lab/report_rows.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "control/orders/flow_pair.h"
#include "control/orders/orders.h"
#include "control/orders/words.h"

struct operator {
	struct fabric *fabric;
	struct observe **observe; // by switch; NULL: it has no commands
	struct operator_answer *answers; // as many as there are commands
	uint32_t n, n_waiting;
};

int operator_create(struct fabric *f, struct operator **out)
{
	const struct scenario *sc = f->sc;
	struct operator *o;
	uint32_t n = 0;
	int err = 0;

	*out = NULL;
	for (uint32_t i = 0; i < sc->n_faults; i++)
		n += sc->faults[i].kind == SC_WEIRCTL;
	if (n == 0)
		return 0;
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return -ENOMEM;
	o->fabric = f;
	o->answers = calloc(n, sizeof(o->answers[0]));
	o->observe = calloc(sc->n_switches, sizeof(struct observe *));
	if (o->answers == NULL || o->observe == NULL)
		err = -ENOMEM;
	for (uint32_t i = 0; i < sc->n_faults && err == 0; i++) {
		uint32_t sw = sc->faults[i].target.node;

		if (sc->faults[i].kind == SC_WEIRCTL && o->observe[sw] == NULL)
			err = observe_create(&f->switches[sw].in, &o->observe[sw]);
	}
	*out = o; // the caller destroys it, also after an error
	if (err == 0)
		operator_look(o, 0);
	return err;
}

void operator_destroy(struct operator *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; i < o->n; i++) {
		json_object_put(o->answers[i].data);
		free(o->answers[i].refusal);
	}
	for (uint32_t i = 0; o->observe != NULL && i < o->fabric->sc->n_switches; i++)
		observe_destroy(o->observe[i]);
	free(o->answers);
	free(o->observe);
	free(o);
}

void operator_new_policy(struct operator *o, uint32_t sw)
{
	if (o != NULL && o->observe[sw] != NULL)
		observe_new_policy(o->observe[sw]);
}

const struct operator_answer *operator_answers(const struct operator *o, uint32_t *n)
{
	*n = o != NULL ? o->n : 0;
	return o != NULL ? o->answers : NULL;
}

static void refuse_command(struct operator *o, struct operator_answer *a, const char *why)
{
	json_object_put(a->data);
	a->data = NULL;
	a->refusal = strdup(why);
	o->fabric->out_of_memory |= a->refusal == NULL;
}

// A daemon finds flows in two looks, and keeps the log of events and of CNPs.
static bool is_of_daemons(const char *what)
{
	return strcmp(what, fact_lists[FACTS_FLOWS].what) == 0 ||
	       strcmp(what, fact_lists[FACTS_EVENTS].what) == 0 ||
	       strcmp(what, fact_lists[FACTS_CNPS].what) == 0;
}

static const char *show_now(const struct operator *o, uint32_t sw, struct order *order)
{
	const char *what = text_in(order->request, "what"), *error;

	if (is_of_daemons(what))
		return "a switch of the lab does not show that";
	error = order_port(switch_policy(order->in->sw), order->request,
			   order_shows_interfaces(what), &order->port, order->text);
	if (error != NULL)
		return error;
	order->data = order_show(order->in, o->observe[sw], what, order->port, OBSERVE_HISTORY,
				 order->now_ns);
	return order->data != NULL ? NULL : "a switch of the lab does not show that";
}

bool operator_types(struct operator *o, const struct sc_fault *command, uint64_t now_ns)
{
	struct operator_answer *a = &o->answers[o->n++];
	uint32_t sw = command->target.node;
	struct order order = {.in = &o->fabric->switches[sw].in, .now_ns = now_ns};
	const char *error;

	a->command = command;
	order.request = request_of_text(command->words, order.text);
	error = order_is(text_in(order.request, "cmd")) ? order_put(&order)
							 : show_now(o, sw, &order);
	a->data = order.data != NULL ? order.data : json_object_new_object();
	a->waits = error == NULL && order.wait == ORDER_PAIR;
	a->found = order.token;
	o->n_waiting += a->waits;
	json_object_put(order.request);
	if (error != NULL)
		refuse_command(o, a, error);
	return a->waits;
}

void operator_look(struct operator *o, uint64_t now_ns)
{
	const char *why;

	if (o == NULL)
		return;
	for (uint32_t i = 0; i < o->fabric->sc->n_switches; i++)
		if (o->observe[i] != NULL)
			observe_sample(o->observe[i], now_ns);
	for (uint32_t i = 0; o->n_waiting != 0 && i < o->n; i++) {
		struct operator_answer *a = &o->answers[i];
		const struct weir_switch *sw =
			o->fabric->switches[a->command->target.node].in.sw;

		if (!a->waits || !flow_pair_deleted(sw, a->found, &why))
			continue;
		a->waits = false;
		o->n_waiting--;
		if (why != NULL)
			refuse_command(o, a, why);
	}
}

void report_commands_line(const struct run *r, FILE *out)
{
	uint32_t n, n_shown = 0;
	const struct operator_answer *a = operator_answers(r->fabric->operator, &n);

	for (uint32_t i = 0; i < n; i++)
		n_shown += a[i].data != NULL && json_object_object_length(a[i].data) != 0;
	if (n_shown != 0)
		fprintf(out, "weirctl: answers: %u, in the list `weirctl` of --json, and of "
			     "report.json of --out\n", n_shown);
}

void report_commands_json(const struct run *r, struct json_object *out)
{
	uint32_t n;
	const struct operator_answer *a = operator_answers(r->fabric->operator, &n);
	struct json_object *list = n != 0 ? list_in(out, "weirctl") : NULL;

	for (; n > 0; n--, a++) {
		struct json_object *row = row_in(list);

		row_u64(row, "time_ns", a->command->at_ns);
		row_text(row, "switch", r->sc->switches[a->command->target.node].name);
		row_text(row, "command", a->command->words);
		if (a->refusal != NULL)
			row_text(row, "refusal", a->refusal);
		else
			json_object_object_add(row, "answer", json_object_get(a->data));
	}
}
