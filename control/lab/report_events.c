// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "control/autoecn/agent.h"
#include "control/lab/chain.h"
#include "control/lab/operator.h"
#include "control/observe/fact.h"

enum { TEXT_LEN = 512, MAX_EVENTS = 2000 };

static const char info[] = "info", warning[] = "warning", alarm_[] = "alarm";

__attribute__((format(printf, 4, 5))) static void add_report_event(struct json_object *list,
								   uint64_t t_ns,
								   const char *severity,
								   const char *fmt, ...)
{
	struct json_object *row;
	char text[TEXT_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	row = row_in(list);
	row_u64(row, "time_ns", t_ns);
	row_text(row, KEY(EVENTS, severity), severity);
	row_text(row, KEY(EVENTS, text), text);
}

static const char *end_text(const struct scenario *sc, const struct sc_end *e, char out[64])
{
	if (e->is_switch)
		snprintf(out, 64, "%.40s.p%u", sc->switches[e->node].name, e->port + 1u);
	else
		snprintf(out, 64, "%.40s", sc->hosts[e->node].name);
	return out;
}

static void add_commands(const struct run *r, struct json_object *list)
{
	uint32_t n;
	const struct operator_answer *a = operator_answers(r->fabric->operator, &n);

	for (; n > 0; n--, a++) {
		const char *at = r->sc->switches[a->command->target.node].name;

		if (a->refusal == NULL)
			add_report_event(list, a->command->at_ns, info, "weirctl -s %s %s", at,
					 a->command->words);
		else
			add_report_event(list, a->command->at_ns, alarm_,
					 "weirctl -s %s %s: refused: %s", at, a->command->words,
					 a->refusal);
	}
}

static void add_faults(const struct run *r, struct json_object *list)
{
	static const char *const names[N_SC_FAULTS] = {
#define X(id, key, ...) [SC_##id] = #key,
		SC_FAULTS(X)
#undef X
	};

	for (uint32_t i = 0; i < r->sc->n_faults; i++) {
		const struct sc_fault *f = &r->sc->faults[i];
		char at[64];

		if (f->at_ns >= r->end_ns || f->kind == SC_WEIRCTL)
			continue;
		end_text(r->sc, &f->target, at);
		add_report_event(list, f->at_ns, warning, "fault %s at %s begins", names[f->kind],
				 at);
		if (f->for_ns < r->end_ns - f->at_ns)
			add_report_event(list, f->at_ns + f->for_ns, info, "fault %s at %s ends",
					 names[f->kind], at);
	}
}

static void add_storms(const struct run *r, struct json_object *list)
{
	static const char *const what[N_STORM_WHAT] = {"found", "over", "escalated"};
	const struct storm_log *l = &r->fabric->storms;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct storm_record *s = &l->records[i];

		add_report_event(list, s->t_ns, s->what == STORM_RESTORED ? info : alarm_,
				 "PFC storm at %s.p%u, class %u: %s", r->sc->switches[s->sw].name,
				 s->port + 1u, s->cls, what[s->what]);
	}
}

static void add_findings(const struct run *r, struct json_object *list)
{
	const struct chain *c = &r->fabric->chain->chain;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct chain_finding *f = &c->findings[i];
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		if (out == NULL)
			return;
		chain_fabric_text(r->sc, f, out);
		fclose(out);
		add_report_event(list, f->first_ns, f->kind == CHAIN_DEADLOCK ? alarm_ : warning,
				 "chain of PAUSE, %s: %s", chain_kind_name[f->kind], text);
		if (!f->now)
			add_report_event(list, f->last_ns, info, "chain of PAUSE, %s, is over: %s",
					 chain_kind_name[f->kind], text);
		free(text);
	}
}

static void add_thresholds(const struct run *r, struct json_object *list)
{
	const struct autoecn_change *c;

	for (uint32_t s = 0; s < r->sc->n_switches; s++) {
		const struct autoecn *a = instance_auto_ecn(&r->fabric->switches[s].in);

		for (unsigned i = 0; (c = autoecn_change(a, i)) != NULL; i++)
			add_report_event(list, c->t_ns, info,
					 "auto ECN at %s.p%u, queue %u: kmin %" PRIu64
					 " to %" PRIu64 " bytes (%s)",
					 r->sc->switches[s].name, c->port + 1u, c->queue,
					 (uint64_t)c->before.kmin_bytes,
					 (uint64_t)c->after.kmin_bytes, ecn_why_text[c->why]);
	}
}

static int by_time(const void *a, const void *b)
{
	struct json_object *const *x = a, *const *y = b;
	int64_t t = json_object_get_int64(json_object_object_get(*x, "time_ns"));
	int64_t u = json_object_get_int64(json_object_object_get(*y, "time_ns"));

	return t < u ? -1 : t > u;
}

struct json_object *report_events(const struct run *r)
{
	const struct fabric_loss *l = &r->fabric->first_loss;
	struct json_object *list = json_object_new_array();
	size_t n;

	if (l->seen)
		add_report_event(list, l->t_ns, alarm_,
				 "first drop in a lossless class: %s.p%u, class %u",
				 r->sc->switches[l->sw].name, l->port + 1u, l->cls);
	add_faults(r, list);
	add_commands(r, list);
	add_storms(r, list);
	add_findings(r, list);
	add_thresholds(r, list);
	json_object_array_sort(list, by_time);
	n = json_object_array_length(list);
	if (n > MAX_EVENTS) {
		json_object_array_del_idx(list, MAX_EVENTS, n - MAX_EVENTS);
		add_report_event(list, r->end_ns, warning, "%zu later events are left out",
				 n - MAX_EVENTS);
	}
	return list;
}
