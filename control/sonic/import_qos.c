// SPDX-License-Identifier: Apache-2.0
// Maps, PFC, schedulers, WRED and watchdog of each port. Private to control/sonic.
//
// A class of Weir is a traffic class (TC) of SONiC. The maps of a port lead a TC to its queue and
// its priority group. PFC priority n is group n there, and class n here. So a lossless TC must have
// the number of its group, and the queue that PFC pauses must be its queue.
#include <stdlib.h>
#include <string.h>

#include "control/sonic/model.h"
#include "dataplane/base/bits.h"

// The object that a port, or the global row, names; NULL: none. The row keeps the name.
static const char *named(struct import *im, enum sonic_field f, const char *key)
{
	const struct sonic_row *row = find_row(im, f, key, NULL);

	return row == NULL ? NULL : row->value;
}

static const char *name_taken(struct import *im, enum sonic_field f, const char *key)
{
	const char *name = named(im, f, key);

	if (name != NULL)
		mark(im, find_row(im, f, key, NULL), ROW_NAMED);
	return name;
}

static const char *map_of(struct import *im, enum sonic_field f, const char *port)
{
	const char *name = name_taken(im, f, port);

	return name != NULL ? name : named(im, f, SONIC_GLOBAL);
}

// Reads a map of n numbers. Numbers without a row lead to 0. A map that is not there and a value
// that is wrong were reported before, and leave the map as it is: so no other message follows.
static void read_map(struct import *im, enum sonic_field f, const char *name, uint8_t *map,
		     unsigned n)
{
	if (!sonic_has_key(&im->c, sonic_fields[f].table, name))
		return;
	for (unsigned i = 0; i < n; i++) {
		char field[8];
		int64_t to = 0;

		snprintf(field, sizeof(field), "%u", i);
		if (take_at(im, f, name, field, &to) || find_row(im, f, name, field) == NULL)
			map[i] = (uint8_t)to;
	}
}

// Classes without a row are not remarked. Returns the name of the map; NULL: none.
static const char *read_remark(struct import *im, enum sonic_field ref, enum sonic_field f,
			       const char *port, uint8_t map[N_CLASSES])
{
	const char *name = map_of(im, ref, port);

	for (unsigned i = 0; i < N_CLASSES; i++) {
		int64_t to = REMARK_NONE;

		if (name != NULL)
			take_at(im, f, name, (char[]){(char)('0' + i), '\0'}, &to);
		map[i] = (uint8_t)to;
	}
	return name;
}

static void read_maps(struct import *im, struct sonic_port *p)
{
	struct sonic_qos *q = &p->qos;
	struct sonic_names *n = &p->names;

	for (unsigned i = 0; i < N_CLASSES; i++)
		q->queue_of[i] = q->pg_of[i] = (uint8_t)i;
	n->dscp = map_of(im, SONIC_MAP_DSCP, p->name);
	n->pcp = map_of(im, SONIC_MAP_DOT1P, p->name);
	n->queue_map = map_of(im, SONIC_MAP_QUEUE, p->name);
	n->pg_map = map_of(im, SONIC_MAP_PG, p->name);
	q->has_dscp = n->dscp != NULL;
	q->has_pcp = n->pcp != NULL;
	q->has_queue_map = n->queue_map != NULL;
	q->has_pg_map = n->pg_map != NULL;
	n->remark_dscp = read_remark(im, SONIC_MAP_TC_DSCP, SONIC_TC_DSCP, p->name, q->remark_dscp);
	n->remark_pcp = read_remark(im, SONIC_MAP_TC_DOT1P, SONIC_TC_DOT1P, p->name, q->remark_pcp);
	if (q->has_dscp)
		read_map(im, SONIC_DSCP_TC, n->dscp, q->dscp, sizeof(q->dscp));
	if (q->has_pcp)
		read_map(im, SONIC_DOT1P_TC, n->pcp, q->pcp, sizeof(q->pcp));
	if (q->has_queue_map)
		read_map(im, SONIC_TC_QUEUE, n->queue_map, q->queue_of, N_CLASSES);
	if (q->has_pg_map)
		read_map(im, SONIC_TC_PG, n->pg_map, q->pg_of, N_CLASSES);
}

// ---- PFC

// A lossless class that leads to another group is refused once, and then leads to its own: its
// group is no unused one, and has its headroom.
static void lead_to_own_group(struct import *im, struct sonic_port *p, unsigned cls)
{
	char field[8];

	if (p->qos.pg_of[cls] == cls)
		return;
	snprintf(field, sizeof(field), "%u", cls);
	refuse(im, SONIC_TC_PG, p->names.pg_map, field,
	       "PFC priority %u is lossless: its TC must lead to priority group %u", cls, cls);
	p->qos.pg_of[cls] = (uint8_t)cls;
}

// A PFC priority must have the priority group of its number. A port with another map is refused.
static void check_paused_group(struct import *im, const struct sonic_port *p, unsigned cls)
{
	const char *map = named(im, SONIC_MAP_PFC_PG, p->name);
	char field[8];
	int64_t pg;

	snprintf(field, sizeof(field), "%u", cls);
	if (map != NULL && peek_at(im, SONIC_PFC_PG, map, field, &pg) && pg != cls)
		refuse(im, SONIC_PFC_PG, map, field,
		       "PFC priority %u is for priority group %u", cls, cls);
}

static void check_lossless_class(struct import *im, struct sonic_port *p, unsigned cls)
{
	const struct sonic_qos *q = &p->qos;
	const char *pfc_map = named(im, SONIC_MAP_PFC_QUEUE, p->name);
	char field[8];
	int64_t queue = cls;

	snprintf(field, sizeof(field), "%u", cls);
	lead_to_own_group(im, p, cls);
	check_paused_group(im, p, cls);
	for (unsigned other = 0; other < N_CLASSES; other++) {
		bool lossy = !(q->lossless >> other & 1);

		snprintf(field, sizeof(field), "%u", other);
		if (lossy && q->pg_of[other] == cls)
			refuse(im, SONIC_TC_PG, p->names.pg_map, field,
			       "a lossy TC cannot share priority group %u, which is lossless", cls);
		if (lossy && q->queue_of[other] == q->queue_of[cls])
			refuse(im, SONIC_TC_QUEUE, p->names.queue_map, field,
			       "a lossy TC cannot share queue %u, which is lossless",
			       q->queue_of[cls]);
	}
	snprintf(field, sizeof(field), "%u", cls);
	if (pfc_map != NULL) {
		name_taken(im, SONIC_MAP_PFC_QUEUE, p->name);
		take_at(im, SONIC_PFC_QUEUE, pfc_map, field, &queue);
	} else {
		queue = q->queue_of[cls];
	}
	if (queue != q->queue_of[cls])
		refuse(im, SONIC_PFC_QUEUE, pfc_map, field,
		       "PFC priority %u pauses the queue of its TC, %u", cls, q->queue_of[cls]);
}

static void read_pfc(struct import *im, struct sonic_port *p)
{
	struct sonic_qos *q = &p->qos;
	int64_t enabled = 0;
	char text[SONIC_TEXT_LEN];
	bool far = p->cable_cm != 0;

	peek(im, SONIC_PFC_ENABLE, p->name, &enabled);
	for_each_bit (cls, far ? (unsigned)enabled : 0)
		lead_to_own_group(im, p, cls);
	for (unsigned pg = 0; pg < N_PGS; pg++) {
		import_group(im, p, pg, far && (enabled >> pg & 1));
		q->lossless |= (uint8_t)(q->pg[pg].lossless << pg);
	}
	if (enabled != 0 && !far)
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PFC_ENABLE].table, p->name,
			  sonic_fields[SONIC_PFC_ENABLE].field,
			  "a cable of 0m has no headroom: no class of the port is lossless");
	q->has_pfc = q->lossless != 0 && enabled != 0;
	if (q->has_pfc && q->lossless != enabled)
		refuse(im, SONIC_PFC_ENABLE, p->name, NULL,
		       "differs from the groups with headroom (%s): PFC is on or off for all "
		       "lossless classes of a port",
		       sonic_text(SONIC_PFC_ENABLE, q->lossless, text));
	else if (q->has_pfc)
		mark(im, find_row(im, SONIC_PFC_ENABLE, p->name, NULL), ROW_SAID);
	for_each_bit (cls, q->lossless)
		check_lossless_class(im, p, cls);
}

// ---- queues

static void read_curve(struct import *im, const char *name, enum sonic_field first,
		       struct sonic_curve *c)
{
	int64_t enabled = 0;

	c->pmax = 1000000;
	// The four rows of a colour stand in this order in tables.def.
	if (!peek(im, first, name, &enabled) || !enabled)
		return;
	c->given = true;
	take(im, first + 1, name, &c->kmin);
	take(im, first + 2, name, &c->kmax);
	take(im, first + 3, name, &c->pmax);
	if (c->kmin > c->kmax)
		sonic_say(im->r, SONIC_ERROR, sonic_fields[first].table, name,
			  sonic_fields[first + 1].field, "is above %s",
			  sonic_fields[first + 2].field);
}

static bool marks_green(int64_t ecn)
{
	return strstr(sonic_fields[SONIC_WRED_ECN].words[ecn], "green") != NULL ||
	       strcmp(sonic_fields[SONIC_WRED_ECN].words[ecn], "ecn_all") == 0;
}

static bool same_curve(const struct sonic_curve *a, const struct sonic_curve *b)
{
	return a->kmin == b->kmin && a->kmax == b->kmax && a->pmax == b->pmax;
}

static void read_wred(struct import *im, struct sonic_port *p, unsigned n, const char *key)
{
	struct sonic_queue *q = &p->qos.queue[n];
	const char *name = named(im, SONIC_QUEUE_WRED, key);
	int64_t ecn = 0, green = 0;

	if (name == NULL || !sonic_has_key(&im->c, sonic_fields[SONIC_WRED_ECN].table, name))
		return;
	if (!peek(im, SONIC_WRED_GREEN, name, &green) || !green) {
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_WRED_GREEN].table, name,
			  sonic_fields[SONIC_WRED_GREEN].field,
			  "is not true: the profile neither drops nor marks");
		return;
	}
	name_taken(im, SONIC_QUEUE_WRED, key);
	p->names.wred[n] = name;
	q->has_wred = true;
	// The export writes ecn_all or ecn_none of its own; another word comes back as it was.
	if (peek(im, SONIC_WRED_ECN, name, &ecn) &&
	    (ecn == 0 || sonic_fields[SONIC_WRED_ECN].words[ecn + 1] == NULL))
		take(im, SONIC_WRED_ECN, name, &ecn);
	q->ecn = marks_green(ecn);
	take(im, SONIC_WRED_GREEN, name, &green);
	read_curve(im, name, SONIC_WRED_GREEN, &q->curve[GREEN]);
	read_curve(im, name, SONIC_WRED_YELLOW, &q->curve[YELLOW]);
	read_curve(im, name, SONIC_WRED_RED, &q->curve[RED]);
	for (unsigned color = YELLOW; color < N_COLORS; color++)
		if (!q->curve[color].given || same_curve(&q->curve[color], &q->curve[GREEN]))
			q->curve[color] = (struct sonic_curve){0};
}

static void read_rates(struct import *im, struct sonic_queue *q, const char *name)
{
	int64_t meter;

	if (peek(im, SONIC_SCHED_METER, name, &meter) && meter != 0)
		return; // packets are refused
	take(im, SONIC_SCHED_CIR, name, &q->min_rate);
	take(im, SONIC_SCHED_PIR, name, &q->max_rate);
	if (q->strict && q->min_rate != 0) {
		refuse(im, SONIC_SCHED_CIR, name, NULL, "a strict queue has no rate of its own");
		q->min_rate = 0;
	}
}

static void read_scheduler(struct import *im, struct sonic_port *p, unsigned n, const char *key)
{
	enum { WRR, DWRR, STRICT }; // words of SCHED_TYPE
	struct sonic_queue *q = &p->qos.queue[n];
	const char *name = name_taken(im, SONIC_QUEUE_SCHEDULER, key);
	int64_t type = WRR;

	if (name == NULL || !sonic_has_key(&im->c, sonic_fields[SONIC_SCHED_TYPE].table, name))
		return;
	p->names.scheduler[n] = name;
	q->has_schedule = true;
	q->weight = 1;
	if (!peek(im, SONIC_SCHED_TYPE, name, &type))
		sonic_set(&im->marks, SONIC_MARKS,
			  arena_printf(&im->arena, MARK_SCHEDULER "%s", name), MARK_TYPE, "absent");
	q->strict = type == STRICT;
	if (type == WRR)
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_SCHED_TYPE].table, name,
			  sonic_fields[SONIC_SCHED_TYPE].field,
			  "WRR counts packets, and the switch counts bytes: the weights hold for "
			  "packets of one length");
	else
		take(im, SONIC_SCHED_TYPE, name, &type);
	if (!q->strict)
		take(im, SONIC_SCHED_WEIGHT, name, &q->weight);
	read_rates(im, q, name);
}

static void read_queue(struct import *im, struct sonic_port *p, unsigned n)
{
	const char *key = arena_printf(&im->arena, "%s|%u", p->name, n);
	bool any = false, lossless = false;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (p->qos.queue_of[cls] == n) {
			any = true;
			lossless |= p->qos.lossless >> cls & 1;
		}
	if (!any && (named(im, SONIC_QUEUE_SCHEDULER, key) != NULL ||
		     named(im, SONIC_QUEUE_WRED, key) != NULL))
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_QUEUE_WRED].table, key, NULL,
			  "has no effect: no TC leads to the queue");
	if (!any)
		return;
	read_scheduler(im, p, n, key);
	read_wred(im, p, n, key);
	import_queue_buffer(im, p, n, lossless);
}

// ---- watchdog

static void read_watchdog(struct import *im, struct sonic_port *p)
{
	struct sonic_watchdog *w = &p->qos.watchdog;
	int64_t classes = 0;
	bool listed = peek(im, SONIC_PFCWD_ENABLE, p->name, &classes);

	if (!sonic_has_key(&im->c, sonic_fields[SONIC_WD_DETECT].table, p->name))
		return;
	if (find_row(im, SONIC_WD_DETECT, p->name, NULL) == NULL)
		sonic_say(im->r, SONIC_ERROR, sonic_fields[SONIC_WD_DETECT].table, p->name,
			  sonic_fields[SONIC_WD_DETECT].field, "is missing");
	if (!peek(im, SONIC_WD_DETECT, p->name, &w->detect_ns))
		return;
	if (!p->qos.has_pfc || (listed && classes == 0)) {
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_WD_DETECT].table, p->name, NULL,
			  "has no effect: the port has no class with PFC and a watchdog");
		return;
	}
	if (listed && classes != p->qos.lossless) {
		refuse(im, SONIC_PFCWD_ENABLE, p->name, NULL,
		       "differs from pfc_enable: a watchdog watches all lossless classes of a "
		       "port");
		return;
	}
	w->on = true;
	if (listed)
		take(im, SONIC_PFCWD_ENABLE, p->name, &classes);
	take(im, SONIC_WD_DETECT, p->name, &w->detect_ns);
	take(im, SONIC_WD_ACTION, p->name, &w->action);
	if (!take(im, SONIC_WD_RESTORE, p->name, &w->restore_ns))
		w->restore_ns = 2 * w->detect_ns;
}

void import_qos(struct import *im)
{
	for (unsigned i = 0; i < im->m.n_ports; i++) {
		struct sonic_port *p = &im->m.ports[i];

		read_maps(im, p);
		read_pfc(im, p);
		for (unsigned n = 0; n < N_QUEUES; n++)
			read_queue(im, p, n);
		read_watchdog(im, p);
	}
}

// ---- ports that are alike

static bool is_taken(const struct sonic_model *m, const char *name)
{
	for (unsigned i = 0; i < m->n_profiles; i++)
		if (strcmp(m->profiles[i].name, name) == 0)
			return true;
	return false;
}

// After the DSCP map of the ports, with a number where several profiles have one map.
static const char *unused_profile_name(struct import *im, const struct sonic_port *p)
{
	const char *map = p->names.dscp != NULL ? p->names.dscp : p->names.pcp;
	char *base = arena_printf(&im->arena, "%.20s", map != NULL ? map : "untrusted");
	const char *name = base;

	for (char *at = base; *at != '\0'; at++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
			   *at) == NULL)
			*at = '-';
	for (unsigned n = 2; is_taken(&im->m, name); n++)
		name = arena_printf(&im->arena, "%s-%u", base, n);
	return name;
}

void import_profiles(struct import *im)
{
	struct sonic_model *m = &im->m;

	m->profiles = arena_alloc(&im->arena, (m->n_ports + 1) * sizeof(*m->profiles));
	for (unsigned i = 0; i < m->n_ports; i++) {
		struct sonic_port *p = &m->ports[i];
		unsigned n = 0;

		while (n < m->n_profiles &&
		       memcmp(&m->profiles[n].port->qos, &p->qos, sizeof(p->qos)) != 0)
			n++;
		p->profile = n;
		if (n == m->n_profiles) {
			m->profiles[n] = (struct sonic_profile){unused_profile_name(im, p), p, 0};
			m->n_profiles++;
		}
		m->profiles[n].n_ports++;
	}
}
