// SPDX-License-Identifier: Apache-2.0
// Maps, PFC, watchdog, schedulers and WRED of each port. Private to control/sonic.
#include <string.h>

#include "control/config/compile.h"
#include "control/sonic/export_impl.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"

enum { MOST_WEIGHT = 100 };

// ---- maps

// Writes the map of a port under the name that the port or the global row has for it.
static void export_map(struct export *e, const char *port, enum sonic_field ref,
		       enum sonic_field map, const uint8_t *to, unsigned n)
{
	const char *own = hint(e, ref, port), *global = kept(e, ref, SONIC_GLOBAL);
	const char *wanted = own != NULL ? own : global != NULL ? global : DEFAULT_NAME, *name;
	struct object o;
	char text[SONIC_TEXT_LEN];

	object_begin(&o, map);
	for (unsigned i = 0; i < n; i++)
		if (to[i] != REMARK_NONE)
			object_field(e, &o, arena_printf(&e->arena, "%u", i),
				     sonic_text(map, to[i], text));
	if (o.n == 0)
		return;
	name = object_end(e, &o, wanted);
	if (own != NULL || global == NULL || strcmp(name, global) != 0)
		put_text(e, ref, port, name);
}

static void export_maps(struct export *e, unsigned i)
{
	const struct config_port *p = &e->c->ports[i];
	const struct cfg_profile *profile = p->profile;
	const struct classify_params *c = &e->p->ports[i].classify;

	if (profile->trust.n == TRUST_DSCP)
		export_map(e, p->name, SONIC_MAP_DSCP, SONIC_DSCP_TC, c->dscp_to_class, 64);
	if (profile->trust.n == TRUST_PCP || profile->pcp_to_class.map.given)
		export_map(e, p->name, SONIC_MAP_DOT1P, SONIC_DOT1P_TC, c->pcp_to_class, N_CLASSES);
	if (profile->class_to_queue.map.given)
		export_map(e, p->name, SONIC_MAP_QUEUE, SONIC_TC_QUEUE, c->class_to_queue,
			   N_CLASSES);
	if (profile->class_to_pg.map.given)
		export_map(e, p->name, SONIC_MAP_PG, SONIC_TC_PG, c->class_to_pg, N_CLASSES);
	export_map(e, p->name, SONIC_MAP_TC_DSCP, SONIC_TC_DSCP, c->remark_dscp, N_CLASSES);
	export_map(e, p->name, SONIC_MAP_TC_DOT1P, SONIC_TC_DOT1P, c->remark_pcp, N_CLASSES);
}

// Of a lossless priority the queue is that of its class. The others came with the import, or they
// lead to the queue of their number.
static void export_pfc_queues(struct export *e, unsigned i, unsigned lossless)
{
	const struct config_port *p = &e->c->ports[i];
	const uint8_t *queue = e->p->ports[i].classify.class_to_queue;
	const char *own = hint(e, SONIC_MAP_PFC_QUEUE, p->name);
	const char *table = sonic_fields[SONIC_PFC_QUEUE].table;
	struct object o;
	char text[SONIC_TEXT_LEN];
	bool differs = false;

	for_each_bit (cls, lossless)
		differs |= queue[cls] != cls;
	if (own == NULL && !differs)
		return;
	object_begin(&o, SONIC_PFC_QUEUE);
	o.merges = true; // ports with other lossless classes have the same map
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const char *field = arena_printf(&e->arena, "%u", cls);
		bool known = own != NULL && sonic_get(&e->keep, table, own, field) != NULL;

		if (lossless >> cls & 1)
			object_field(e, &o, field, sonic_text(SONIC_PFC_QUEUE, queue[cls], text));
		else if (!known && own == NULL)
			object_field(e, &o, field, field);
	}
	put_text(e, SONIC_MAP_PFC_QUEUE, p->name,
		 object_end(e, &o, own != NULL ? own : DEFAULT_NAME));
}

// SONiC refuses shorter times.
static void put_watchdog_time(struct export *e, enum sonic_field f, const char *name, uint64_t ns)
{
	const struct sonic_field_info *info = &sonic_fields[f];

	if (ns < (uint64_t)info->min * MS_NS)
		sonic_say(e->r, SONIC_ERROR, info->table, name, info->field,
			  "%s is shorter than SONiC's least, %d ms", info->key, (int)info->min);
	put(e, f, name, (int64_t)ns);
}

typedef uint64_t watchdog_time(const struct watchdog_params *w, unsigned cls);

// SONiC has one time for a port: the port's own if a class has it, else that of the lowest class.
static uint64_t time_in_use(const struct watchdog_params *w, watchdog_time *of, uint64_t of_port)
{
	for_each_bit (cls, w->classes)
		if (of(w, cls) == of_port)
			return of_port;
	return of(w, (unsigned)__builtin_ctz(w->classes));
}

static void export_watchdog(struct export *e, unsigned i)
{
	const struct watchdog_params *w = &e->p->ports[i].watchdog;
	const char *name = e->c->ports[i].name;
	uint64_t detect_ns, restore_ns;
	bool differs = false;
	int64_t action = 0;

	if (w->classes == 0)
		return;
	while (strcmp(sonic_fields[SONIC_WD_ACTION].words[action],
		      cfg_watchdog_actions[w->action]) != 0)
		action++;
	put(e, SONIC_PFCWD_ENABLE, name, w->classes);
	put(e, SONIC_WD_ACTION, name, action);
	detect_ns = time_in_use(w, watchdog_detect_ns, w->detect_ns);
	restore_ns = time_in_use(w, watchdog_restore_ns, w->restore_ns);
	put_watchdog_time(e, SONIC_WD_DETECT, name, detect_ns);
	put_watchdog_time(e, SONIC_WD_RESTORE, name, restore_ns);
	for_each_bit (cls, w->classes)
		differs |= watchdog_detect_ns(w, cls) != detect_ns ||
			   watchdog_restore_ns(w, cls) != restore_ns;
	if (differs)
		sonic_say(e->r, SONIC_WARNING, sonic_fields[SONIC_WD_DETECT].table, name, NULL,
			  "the times of single classes are not exported: SONiC has one for a port");
	if (w->mode != WATCHDOG_PROGRESS || w->limit_count != 0)
		sonic_say(e->r, SONIC_WARNING, sonic_fields[SONIC_WD_ACTION].table, name, NULL,
			  "mode and limit of the watchdog are not exported: a switch with SONiC "
			  "looks for progress, and has no limit");
}

// ---- queues

static void export_scheduler(struct export *e, const char *key, const struct cfg_class *c)
{
	const char *own = hint(e, SONIC_QUEUE_SCHEDULER, key), *type = NULL;
	bool strict = c->schedule.strict.given;
	struct object o;

	if (!strict && !c->schedule.map.given && c->min_rate.n == 0 && c->max_rate.n == 0)
		return;
	if (own != NULL)
		type = kept(e, SONIC_SCHED_TYPE, own);
	if (own != NULL && type == NULL)
		type = mark_of(e, arena_printf(&e->arena, MARK_SCHEDULER "%s", own), MARK_TYPE);
	object_begin(&o, SONIC_SCHED_TYPE);
	if (strict || type == NULL)
		object_field(e, &o, sonic_fields[SONIC_SCHED_TYPE].field,
			     strict ? "STRICT" : "DWRR");
	if (!strict && c->schedule.dwrr.n > MOST_WEIGHT)
		sonic_say(e->r, SONIC_ERROR, NULL, NULL, NULL, "%s: %s:%u: a weight is 1 to %d",
			  c->schedule.dwrr.path, e->file, c->schedule.dwrr.at.line, MOST_WEIGHT);
	if (!strict)
		object_value(e, &o, SONIC_SCHED_WEIGHT, c->schedule.dwrr.n);
	if (c->min_rate.n != 0)
		object_value(e, &o, SONIC_SCHED_CIR, c->min_rate.n);
	if (c->max_rate.n != 0)
		object_value(e, &o, SONIC_SCHED_PIR, c->max_rate.n);
	put_text(e, SONIC_QUEUE_SCHEDULER, key,
		 object_end(e, &o,
			    own != NULL ? own
			    : strict    ? "strict"
				        : arena_printf(&e->arena, "dwrr.%u",
						       (unsigned)c->schedule.dwrr.n)));
}

// The four rows of a colour stand in this order in tables.def.
static void export_curve(struct export *e, struct object *o, enum sonic_field first,
			 const struct cfg_curve *k)
{
	object_value(e, o, first, 1);
	object_value(e, o, first + 1, bytes_of(e, &k->kmin));
	object_value(e, o, first + 2, bytes_of(e, &k->kmax));
	object_value(e, o, first + 3, k->pmax.n);
}

static bool is_true(const char *text)
{
	return text != NULL && strcmp(text, "true") == 0;
}

static void export_wred(struct export *e, const char *key, const struct cfg_class *c)
{
	static const enum sonic_field first[N_COLORS] = {SONIC_WRED_GREEN, SONIC_WRED_YELLOW,
							 SONIC_WRED_RED};
	const char *own = hint(e, SONIC_QUEUE_WRED, key);
	const struct cfg_wred *w = &c->wred;
	struct object o;

	if (!w->map.given)
		return;
	object_begin(&o, SONIC_WRED_ECN);
	if (own == NULL || kept(e, SONIC_WRED_ECN, own) == NULL)
		object_field(e, &o, sonic_fields[SONIC_WRED_ECN].field,
			     w->ecn.n ? "ecn_all" : "ecn_none");
	export_curve(e, &o, first[GREEN], &w->curve[GREEN]);
	for (unsigned color = YELLOW; color < N_COLORS; color++) {
		bool on = own != NULL && is_true(kept(e, first[color], own));

		if (w->curve[color].map.given)
			export_curve(e, &o, first[color], &w->curve[color]);
		else if (on)
			export_curve(e, &o, first[color], &w->curve[GREEN]);
	}
	put_text(e, SONIC_QUEUE_WRED, key, object_end(e, &o, own != NULL ? own : "wred"));
}

void export_qos(struct export *e)
{
	for (unsigned i = 0; i < e->c->n_ports; i++) {
		const struct config_port *p = &e->c->ports[i];
		const struct cfg_profile *profile = p->profile;
		unsigned lossless = cfg_lossless(profile);

		export_maps(e, i);
		if (lossless != 0 && profile->pfc.rx.n && profile->pfc.tx.n)
			put(e, SONIC_PFC_ENABLE, p->name, lossless);
		export_pfc_queues(e, i, lossless);
		export_watchdog(e, i);
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const char *key = arena_printf(&e->arena, "%s|%u", p->name, q);
			int cls = check_class_of_queue(profile, q);

			if (cls < 0)
				continue;
			export_scheduler(e, key, &profile->classes[cls]);
			export_wred(e, key, &profile->classes[cls]);
		}
	}
}
