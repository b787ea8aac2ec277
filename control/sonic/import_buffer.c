// SPDX-License-Identifier: Apache-2.0
// Pools, priority groups and queues' memory. Private to control/sonic.
//
//   switch.buffer.size = size of ingress_lossless_pool + headroom pool + min of all groups
//
// because SONiC's pool is what the groups share, and Weir's buffer is the whole memory. A group's
// `size` of SONiC is its min. Without a shared headroom pool (`xoff` of the pool) it also includes
// the group's xoff.
//
// SONiC's xon counts all memory of the group, and Weir's xon the shared use alone, which begins
// when min is full: xon - min. xon_offset is the same in both: it counts from the limit.
#include <inttypes.h>
#include <string.h>

#include "control/base/units.h"
#include "control/sonic/model.h"
#include "control/sonic/pg_lookup.h"
#include "dataplane/base/units.h"
#include "dataplane/qos/headroom.h"

enum { WORST_EXPONENT = 7, DEFAULT_CELL = 256, DEFAULT_CABLE_CM = 500 };
#define KIB 1024

static int64_t round_up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int64_t cell_of(const struct import *im)
{
	return im->m.cell > 0 ? im->m.cell : DEFAULT_CELL;
}

static bool has_headroom_pool(const struct import *im)
{
	int64_t xoff = 0;

	return peek(im, SONIC_POOL_XOFF, INGRESS_POOL, &xoff) && xoff > 0;
}

// The first key of a table that has one key, or NULL.
static const char *only_key(const struct import *im, enum sonic_field f)
{
	const char *table = sonic_fields[f].table;
	unsigned i = sonic_first(&im->c, table, NULL);

	return i < im->c.n && strcmp(im->c.rows[i].table, table) == 0 ? im->c.rows[i].key : NULL;
}

static bool is_dynamic(const struct import *im)
{
	int64_t model;

	if (peek(im, SONIC_BUFFER_MODEL, "localhost", &model))
		return model != 0;
	return only_key(im, SONIC_DEFAULT_TH) != NULL;
}

// ---- profiles

static void read_limit(struct import *im, const char *name, struct sonic_limit *l)
{
	if (take(im, SONIC_PROFILE_DYNAMIC, name, &l->n)) {
		l->kind = LIMIT_ALPHA;
		if (l->n == WORST_EXPONENT)
			sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PROFILE_DYNAMIC].table,
				  name, sonic_fields[SONIC_PROFILE_DYNAMIC].field,
				  "7 is alpha = 128; some switches make it 64 or unlimited");
	}
	if (!take(im, SONIC_PROFILE_STATIC, name, &l->n))
		return;
	if (l->kind == LIMIT_ALPHA)
		sonic_say(im->r, SONIC_ERROR, sonic_fields[SONIC_PROFILE_STATIC].table, name,
			  sonic_fields[SONIC_PROFILE_STATIC].field,
			  "%s is there, too: a profile has one of the two",
			  sonic_fields[SONIC_PROFILE_DYNAMIC].field);
	l->kind = LIMIT_STATIC;
}

// A pool without memory: its profiles give no memory either.
static bool is_empty_pool(const struct import *im, const char *pool)
{
	int64_t size;

	return peek(im, SONIC_POOL_SIZE, pool, &size) && size == 0;
}

static bool is_both(const struct import *im, const char *pool)
{
	enum { BOTH = 2 }; // of the words of POOL_TYPE
	int64_t type;

	return peek(im, SONIC_POOL_TYPE, pool, &type) && type == BOTH;
}

static const char *pool_of(const struct import *im, const char *profile)
{
	const struct sonic_row *row = find_row(im, SONIC_PROFILE_POOL, profile, NULL);

	return row != NULL ? row->value : "";
}

// ---- priority groups

static void auto_group(struct import *im, struct sonic_pg *g, const char *name)
{
	const char *key = only_key(im, SONIC_DEFAULT_TH);

	*g = (struct sonic_pg){.given = true, .lossless = true, .is_auto = true};
	if (name != NULL)
		read_limit(im, name, &g->limit);
	else if (key != NULL && take(im, SONIC_DEFAULT_TH, key, &g->limit.n))
		g->limit.kind = LIMIT_ALPHA;
}

static void set_xon(struct sonic_pg *g, int64_t xon)
{
	g->has_xon = true;
	g->xon = xon > g->min ? xon - g->min : 0;
}

static void lookup_group(const struct pg_lookup_row *row, bool pool, struct sonic_pg *g)
{
	bool inside = !pool && row->size >= row->xoff;

	*g = (struct sonic_pg){
		.given = true,
		.lossless = true,
		.min = (int64_t)(inside ? row->size - row->xoff : row->size),
		.xoff = (int64_t)row->xoff,
		.xon_offset = (int64_t)row->xon_offset,
		.has_xon_offset = row->has_xon_offset,
		.limit = {LIMIT_ALPHA, row->threshold},
	};
	set_xon(g, (int64_t)row->xon);
}

// A lossless group without a profile: SONiC makes one by speed and cable.
static void made_group(struct import *im, const struct sonic_port *p, struct sonic_pg *g)
{
	const struct pg_lookup_row *row = pg_lookup_find(
		im->o->lookup, (uint64_t)p->speed_bps, p->cable_cm < 0 ? 0 : (uint64_t)p->cable_cm);

	if (!is_dynamic(im) && row != NULL) {
		lookup_group(row, has_headroom_pool(im), g);
		return;
	}
	auto_group(im, g, NULL);
	if (is_dynamic(im))
		return;
	sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PFC_ENABLE].table, p->name,
		  sonic_fields[SONIC_PFC_ENABLE].field, "%s: the switch computes headroom: auto",
		  im->o->lookup == NULL
			  ? "the groups have no profile, and --pg-lookup gives no table of profiles"
		  : p->speed_bps == 0
			  ? "the groups have no profile, and the port has no speed to look it up"
			  : "pg_profile_lookup.ini has no row for the speed and cable of the port");
}

static void read_group(struct import *im, const char *key, const char *name, struct sonic_pg *g)
{
	int64_t size = 0, xoff = 0, xon, type = 0;

	peek(im, SONIC_PROFILE_HEADROOM, name, &type);
	if (type != 0) {
		auto_group(im, g, name);
		return;
	}
	*g = (struct sonic_pg){.given = true};
	take(im, SONIC_PROFILE_SIZE, name, &size);
	read_limit(im, name, &g->limit);
	g->min = size;
	if (!peek(im, SONIC_PROFILE_XOFF, name, &xoff) || xoff == 0)
		return;
	take(im, SONIC_PROFILE_XOFF, name, &g->xoff);
	g->lossless = true;
	g->has_xon_offset = take(im, SONIC_PROFILE_XON_OFFSET, name, &g->xon_offset);
	if (!has_headroom_pool(im) && size >= xoff)
		g->min = size - xoff;
	else if (!has_headroom_pool(im))
		sonic_set(&im->marks, SONIC_MARKS, key, MARK_SIZE, "apart");
	if (!take(im, SONIC_PROFILE_XON, name, &xon))
		return;
	set_xon(g, xon);
	if (xon >= g->min)
		return;
	sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PROFILE_XON].table, name,
		  sonic_fields[SONIC_PROFILE_XON].field,
		  "is below the min of the group: XON comes when the group is down to min");
	sonic_set(&im->marks, SONIC_MARKS, key, MARK_XON,
		  find_row(im, SONIC_PROFILE_XON, name, NULL)->value);
}

void import_group(struct import *im, struct sonic_port *p, unsigned pg, bool pfc)
{
	const char *key = arena_printf(&im->arena, "%s|%u", p->name, pg);
	const struct sonic_row *row = find_row(im, SONIC_PG_PROFILE, key, NULL);
	struct sonic_pg *g = &p->qos.pg[pg];
	bool far = p->cable_cm != 0, used = false;
	const char *pool;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		used |= p->qos.pg_of[cls] == pg;
	if (row == NULL || strcmp(row->value, SONIC_NO_PROFILE) == 0) {
		if (row != NULL && far)
			mark(im, row, ROW_NAMED);
		if (pfc || (row != NULL && far))
			made_group(im, p, g);
		if (g->lossless && row == NULL)
			sonic_set(&im->marks, SONIC_MARKS, key, MARK_GROUP, "made");
		return;
	}
	if (!used)
		sonic_say(im->r, SONIC_WARNING, row->table, key, row->field,
			  "has no effect: no TC leads to the group");
	if (!used || !sonic_has_key(&im->c, sonic_fields[SONIC_PROFILE_SIZE].table, row->value))
		return;
	pool = pool_of(im, row->value);
	if (strcmp(pool, INGRESS_POOL) != 0 && !is_empty_pool(im, pool)) {
		refuse(im, SONIC_PG_PROFILE, key, NULL,
		       "its profile is in pool %s: all groups are in " INGRESS_POOL, pool);
		return;
	}
	mark(im, row, ROW_NAMED);
	p->names.pg[pg] = row->value;
	read_group(im, key, row->value, g);
	if (pfc && !g->lossless)
		refuse(im, SONIC_PG_PROFILE, key, NULL,
		       "pfc_enable names the priority, and its profile has no xoff");
}

// ---- queues

static bool is_limit(const struct import *im, const char *name)
{
	int64_t th, size = 0, pool = 0;

	if (peek(im, SONIC_PROFILE_DYNAMIC, name, &th))
		return th < WORST_EXPONENT;
	return peek(im, SONIC_PROFILE_STATIC, name, &size) &&
	       peek(im, SONIC_POOL_SIZE, pool_of(im, name), &pool) && size < pool;
}

// The action at the limit of the queue; `drop` comes back as it was.
static void read_discard(struct import *im, const char *name, struct sonic_queue *q)
{
	int64_t trim = 0;

	if (!peek(im, SONIC_PROFILE_DISCARD, name, &trim) || !trim)
		return;
	if (q == NULL || !im->m.trim.on) {
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PROFILE_DISCARD].table, name,
			  sonic_fields[SONIC_PROFILE_DISCARD].field, "has no effect %s",
			  q == NULL ? "in a lossless queue" : "without SWITCH_TRIMMING");
		return;
	}
	take(im, SONIC_PROFILE_DISCARD, name, &trim);
	q->trims = true;
}

void import_queue_buffer(struct import *im, struct sonic_port *p, unsigned n, bool lossless)
{
	const char *key = arena_printf(&im->arena, "%s|%u", p->name, n);
	const struct sonic_row *row = find_row(im, SONIC_QUEUE_PROFILE, key, NULL);
	struct sonic_queue *q = &p->qos.queue[n];
	const char *pool;

	if (row == NULL || strcmp(row->value, SONIC_NO_PROFILE) == 0 ||
	    !sonic_has_key(&im->c, sonic_fields[SONIC_PROFILE_SIZE].table, row->value))
		return;
	pool = pool_of(im, row->value);
	if (lossless) {
		read_discard(im, row->value, NULL);
		if (is_limit(im, row->value))
			sonic_say(im->r, SONIC_WARNING, row->table, key, row->field,
				  "limits a lossless queue: PFC limits it here, and the queue "
				  "drops nothing");
		return;
	}
	if (strcmp(pool, EGRESS_LOSSLESS_POOL) == 0)
		sonic_say(im->r, SONIC_WARNING, row->table, key, row->field,
			  "is in " EGRESS_LOSSLESS_POOL ", and no PFC protects the class: it is "
			  "lossy here");
	else if (strcmp(pool, EGRESS_LOSSY_POOL) != 0 && !is_both(im, pool) &&
		 !is_empty_pool(im, pool)) {
		refuse(im, SONIC_QUEUE_PROFILE, key, NULL,
		       "its profile is in pool %s: lossy queues are in " EGRESS_LOSSY_POOL, pool);
		return;
	}
	mark(im, row, ROW_NAMED);
	p->names.buffer[n] = row->value;
	q->has_buffer = true;
	take(im, SONIC_PROFILE_SIZE, row->value, &q->min);
	read_limit(im, row->value, &q->limit);
	read_discard(im, row->value, q);
}

void import_trim(struct import *im)
{
	static const char key[] = "GLOBAL";
	struct sonic_model *m = &im->m;

	m->trim.size = m->trim.dscp = m->trim.cls = m->trim.queue = ABSENT;
	if (!sonic_has_key(&im->c, sonic_fields[SONIC_TRIM_DSCP].table, key))
		return;
	m->trim.on = take(im, SONIC_TRIM_DSCP, key, &m->trim.dscp);
	if (find_row(im, SONIC_TRIM_DSCP, key, NULL) == NULL)
		sonic_say(im->r, SONIC_ERROR, sonic_fields[SONIC_TRIM_DSCP].table, key,
			  sonic_fields[SONIC_TRIM_DSCP].field, "is missing");
	take(im, SONIC_TRIM_SIZE, key, &m->trim.size);
	take(im, SONIC_TRIM_QUEUE, key, &m->trim.queue);
	// With a number as DSCP the TC has no effect, and comes back as it was.
	if (m->trim.dscp < 0)
		take(im, SONIC_TRIM_TC, key, &m->trim.cls);
}

// ---- headroom: auto

static void read_constants(struct import *im)
{
	const char *asic = only_key(im, SONIC_ASIC_CELL);
	const char *pattern = only_key(im, SONIC_PATTERN_MTU);
	struct sonic_model *m = &im->m;
	int64_t pipeline;

	m->headroom.lossless_mtu = m->headroom.small_ppm = m->headroom.mac_phy = -1;
	m->headroom.response = m->headroom.xon = -1;
	if (pattern != NULL) {
		take(im, SONIC_PATTERN_MTU, pattern, &m->headroom.lossless_mtu);
		take(im, SONIC_PATTERN_SMALL, pattern, &m->headroom.small_ppm);
	}
	if (asic == NULL)
		return;
	take(im, SONIC_ASIC_CELL, asic, &m->cell);
	take(im, SONIC_ASIC_MAC_PHY, asic, &m->headroom.mac_phy);
	take(im, SONIC_ASIC_RESPONSE, asic, &m->headroom.response);
	if (take(im, SONIC_ASIC_PIPELINE, asic, &pipeline) && m->headroom.lossless_mtu > 0)
		m->headroom.xon = pipeline + m->headroom.lossless_mtu;
}

// SONiC's dynamic model: XON at pipeline latency and one MTU, which is also the min.
static void apply_constants(struct import *im)
{
	bool any = false;

	for (unsigned i = 0; i < im->m.n_ports; i++)
		for (unsigned pg = 0; pg < N_PGS; pg++) {
			struct sonic_pg *g = &im->m.ports[i].qos.pg[pg];

			any |= g->is_auto;
			if (!g->is_auto || im->m.headroom.xon < 0)
				continue;
			g->min = im->m.headroom.xon;
			set_xon(g, im->m.headroom.xon);
		}
	if (any && im->m.dynamic && only_key(im, SONIC_ASIC_CELL) == NULL)
		sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_ASIC_CELL].table, NULL, NULL,
			  "is missing: headroom: auto has the cell and delays of Weir. Give the "
			  "asic_table.json of the platform as a further file");
}

static int64_t flight_bytes(const struct import *im, const struct sonic_port *p)
{
	const struct sonic_model *m = &im->m;

	if (p->speed_bps == 0)
		return 0;
	return (int64_t)headroom_xoff(&(struct headroom_in){
		.speed_bps = (uint64_t)p->speed_bps,
		.cable_cm = p->cable_cm < 0 ? DEFAULT_CABLE_CM : (uint64_t)p->cable_cm,
		.cell_bytes = (uint32_t)cell_of(im),
		.lossless_mtu = (uint32_t)(m->headroom.lossless_mtu > 0 ? m->headroom.lossless_mtu
									: p->mtu),
		.port_mtu = (uint32_t)p->mtu,
		.mac_phy = (uint32_t)(m->headroom.mac_phy >= 0 ? m->headroom.mac_phy : 819),
		.peer_response = m->headroom.response >= 0
					 ? (uint32_t)m->headroom.response
					 : headroom_peer_response((uint64_t)p->speed_bps),
		.small_frames_ppm =
			(uint32_t)(m->headroom.small_ppm >= 0 ? m->headroom.small_ppm : PPM),
	});
}

// `weirctl check` says the same of the policy.
static void warn_of_headroom(struct import *im, const struct sonic_port *p, unsigned pg)
{
	const struct sonic_pg *g = &p->qos.pg[pg];
	const char *profile = p->names.pg[pg];
	int64_t needs = flight_bytes(im, p);
	char speed[SONIC_TEXT_LEN], cable[SONIC_TEXT_LEN];

	if (!g->lossless || g->is_auto || g->xoff >= needs)
		return;
	unit_print(UNIT_RATE, p->speed_bps, speed, sizeof(speed));
	unit_print(UNIT_LENGTH, p->cable_cm < 0 ? DEFAULT_CABLE_CM : p->cable_cm, cable,
		   sizeof(cable));
	sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PROFILE_XOFF].table,
		  profile != NULL ? profile : "pg_profile_lookup.ini",
		  sonic_fields[SONIC_PROFILE_XOFF].field,
		  "%" PRId64 " B are less than what can be in flight after a PAUSE at %s with %s "
		  "of cable and mtu %" PRId64 ", %" PRId64 " B: frames can be lost; "
		  "t_flight in `weirctl plan`",
		  g->xoff, speed, cable, p->mtu, needs);
}

// ---- pools

// Memory that no class shares: min of the groups, and xoff.
static int64_t reserved(const struct import *im, int64_t pool)
{
	int64_t cell = cell_of(im), min = 0, xoff = 0;
	int64_t ratio = im->m.oversubscription > 0 ? im->m.oversubscription : 1;

	for (unsigned i = 0; i < im->m.n_ports; i++)
		for (unsigned pg = 0; pg < N_PGS; pg++) {
			const struct sonic_port *p = &im->m.ports[i];
			const struct sonic_pg *g = &p->qos.pg[pg];

			min += round_up(g->min, cell);
			if (g->lossless)
				xoff += round_up(g->is_auto ? flight_bytes(im, p) : g->xoff, cell);
		}
	return min + (pool >= 0 ? pool / cell * cell : round_up(xoff / ratio, cell));
}

static void refuse_other_pools(struct import *im)
{
	static const char *const known[] = {INGRESS_POOL, EGRESS_LOSSLESS_POOL, EGRESS_LOSSY_POOL};
	const char *table = sonic_fields[SONIC_POOL_SIZE].table;
	int64_t n;

	for (unsigned i = sonic_first(&im->c, table, NULL);
	     i < im->c.n && strcmp(im->c.rows[i].table, table) == 0; i++) {
		const struct sonic_row *row = &im->c.rows[i];
		bool ok = false;

		for (unsigned k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			ok |= strcmp(row->key, known[k]) == 0;
		if (!ok && strcmp(row->field, sonic_fields[SONIC_POOL_SIZE].field) == 0 &&
		    !is_empty_pool(im, row->key))
			refuse(im, SONIC_POOL_SIZE, row->key, NULL,
			       "there is one ingress pool and one lossy egress pool, with "
			       "SONiC's names");
		if (strcmp(row->key, INGRESS_POOL) != 0 && peek(im, SONIC_POOL_XOFF, row->key, &n))
			refuse(im, SONIC_POOL_XOFF, row->key, NULL,
			       "only " INGRESS_POOL " has a headroom pool");
	}
}

static void read_egress_lossy(struct import *im, int64_t ingress)
{
	struct sonic_model *m = &im->m;

	m->egress_lossy = -1;
	if (!take(im, SONIC_POOL_SIZE, EGRESS_LOSSY_POOL, &m->egress_lossy))
		return;
	if (m->egress_lossy > ingress) {
		refuse(im, SONIC_POOL_SIZE, EGRESS_LOSSY_POOL, NULL,
		       "is larger than " INGRESS_POOL ", where its frames are charged first");
		m->egress_lossy = -1;
	}
}

static void set_model(struct import *im)
{
	sonic_set(&im->marks, SONIC_MARKS, MARK_BUFFER, MARK_MODEL,
		  im->m.dynamic ? "dynamic" : "traditional");
	if (im->m.sizes_given)
		sonic_set(&im->marks, SONIC_MARKS, MARK_BUFFER, MARK_SIZES, "given");
}

void import_buffer(struct import *im)
{
	struct sonic_model *m = &im->m;
	int64_t size = 0, memory, ratio = 0;
	const char *key = only_key(im, SONIC_DEFAULT_RATIO);
	bool sized;

	m->size = m->headroom_pool = -1;
	m->dynamic = is_dynamic(im);
	read_constants(im);
	apply_constants(im);
	for (unsigned i = 0; i < m->n_ports * N_PGS; i++)
		warn_of_headroom(im, &m->ports[i / N_PGS], i % N_PGS);
	refuse_other_pools(im);
	sized = take(im, SONIC_POOL_SIZE, INGRESS_POOL, &size);
	m->sizes_given = m->dynamic && sized;
	if (has_headroom_pool(im))
		take(im, SONIC_POOL_XOFF, INGRESS_POOL, &m->headroom_pool);
	if (key != NULL && peek(im, SONIC_DEFAULT_RATIO, key, &ratio) && ratio > 1)
		take(im, SONIC_DEFAULT_RATIO, key, &m->oversubscription);
	if (sized)
		m->size = size + reserved(im, m->headroom_pool);
	else if (m->dynamic && take(im, SONIC_POOL_SIZE, EGRESS_LOSSLESS_POOL, &memory))
		m->size = memory;
	else
		sonic_say(im->r, SONIC_NOTE, sonic_fields[SONIC_POOL_SIZE].table, INGRESS_POOL,
			  sonic_fields[SONIC_POOL_SIZE].field,
			  "is not given: the buffer has the size that Weir gives it, 12MB");
	read_egress_lossy(im, sized ? size : INT64_MAX);
	set_model(im);
}
