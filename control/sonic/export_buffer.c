// SPDX-License-Identifier: Apache-2.0
// Pools, profiles, priority groups and queues' memory. Private to control/sonic. import_buffer.c
// has the arithmetic of sizes.
#include <string.h>

#include "control/config/compile.h"
#include "control/sonic/export_impl.h"
#include "dataplane/base/bits.h"
#include "dataplane/policy.h"

enum { RATIO_ONE = 1000000 }; // 1 in the unit of switch.buffer.oversubscription

static const struct cfg_val *override_or_base_value(const struct cfg_val *own,
						    const struct cfg_val *base)
{
	return own->given ? own : base;
}

static const struct cfg_ingress *own_ingress(const struct config_port *p, unsigned pg)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (cfg_mapped(&p->profile->class_to_pg, cls) == pg &&
		    p->item->classes[cls].ingress.map.given)
			return &p->item->classes[cls].ingress;
	return NULL;
}

static bool is_auto(const struct config_port *p, unsigned pg)
{
	const struct cfg_class *c = &p->profile->classes[check_class_of_pg(p->profile, pg)];
	const struct cfg_ingress *own = own_ingress(p, pg);

	if (own != NULL && (own->headroom.map.given || own->headroom.fixed.given))
		return own->headroom.fixed.n == CFG_WORD_VALUE;
	return c->ingress.headroom.fixed.n == CFG_WORD_VALUE;
}

static bool is_pg_lossless(const struct config_port *p, unsigned pg)
{
	int cls = check_class_of_pg(p->profile, pg);

	return cls >= 0 && p->profile->classes[cls].lossless.n != 0;
}

// SONiC computes headroom in its dynamic model alone.
static bool is_dynamic(const struct export *e)
{
	const char *model = mark_of(e, MARK_BUFFER, MARK_MODEL);

	if (model != NULL)
		return strcmp(model, "dynamic") == 0;
	for (unsigned i = 0; e->hand_written && i < e->c->n_ports; i++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			if (is_pg_lossless(&e->c->ports[i], pg) && is_auto(&e->c->ports[i], pg))
				return true;
	return false;
}

static bool has_headroom_pool(const struct export *e)
{
	return e->c->root.sw.buffer.headroom_pool.n != CFG_WORD_VALUE;
}

static void object_limit(struct export *e, struct object *o, const struct cfg_val *alpha,
			 const struct cfg_val *fixed)
{
	if (fixed->given)
		object_value(e, o, SONIC_PROFILE_STATIC, bytes_of(e, fixed));
	else
		object_value(e, o, SONIC_PROFILE_DYNAMIC, alpha->n);
}

// Ends a profile. Its pool comes with the import, or it is the pool of its use.
static const char *profile_end(struct export *e, struct object *o, const char *wanted,
			       const char *pool)
{
	if (kept(e, SONIC_PROFILE_POOL, wanted) == NULL)
		object_field(e, o, sonic_fields[SONIC_PROFILE_POOL].field, pool);
	return object_end(e, o, wanted);
}

// ---- priority groups

static const char *group_name(struct export *e, const struct config_port *p)
{
	char speed[SONIC_TEXT_LEN], cable[SONIC_TEXT_LEN];

	return arena_printf(&e->arena, "pg_lossless_%s_%s_profile",
			    sonic_text(SONIC_PORT_SPEED, p->item->speed.n, speed),
			    sonic_text(SONIC_CABLE, p->item->cable.n, cable));
}

// In SONiC's dynamic model all groups without a profile have one alpha.
static void export_default_alpha(struct export *e, const struct cfg_val *alpha, const char *key)
{
	const char *table = sonic_fields[SONIC_DEFAULT_TH].table;
	struct object o;

	object_begin(&o, SONIC_DEFAULT_TH);
	object_value(e, &o, SONIC_DEFAULT_TH, alpha->n);
	if (strcmp(object_end(e, &o, DEFAULT_NAME), DEFAULT_NAME) != 0)
		sonic_say(e->r, SONIC_ERROR, table, key, sonic_fields[SONIC_DEFAULT_TH].field,
			  "lossless groups with headroom: auto have one alpha in the dynamic "
			  "model");
}

static void fixed_group(struct export *e, const struct config_port *p, const char *key,
			const struct cfg_ingress *in, const struct cfg_ingress *own)
{
	const struct cfg_ingress *over = own != NULL ? own : in;
	const struct cfg_ingress *limit =
		over->alpha.given || over->static_limit.given ? over : in;
	int64_t min = bytes_of(e, override_or_base_value(&over->min, &in->min));
	int64_t xoff =
		bytes_of(e, override_or_base_value(&over->headroom.fixed, &in->headroom.fixed));
	const char *name = hint(e, SONIC_PG_PROFILE, key);
	const char *below = mark_of(e, key, MARK_XON);
	bool inside = !has_headroom_pool(e) && mark_of(e, key, MARK_SIZE) == NULL;
	struct object o;

	object_begin(&o, SONIC_PROFILE_SIZE);
	object_value(e, &o, SONIC_PROFILE_SIZE, inside ? min + xoff : min);
	object_value(e, &o, SONIC_PROFILE_XOFF, xoff);
	if (in->xon.given && in->xon.n == 0 && below != NULL)
		object_field(e, &o, sonic_fields[SONIC_PROFILE_XON].field, below);
	else if (in->xon.given)
		object_value(e, &o, SONIC_PROFILE_XON, min + bytes_of(e, &in->xon));
	if (in->xon_offset.given && in->xon_offset.n != SONIC_NEVER_OFFSET)
		object_value(e, &o, SONIC_PROFILE_XON_OFFSET, bytes_of(e, &in->xon_offset));
	object_limit(e, &o, &limit->alpha, &limit->static_limit);
	put_text(e, SONIC_PG_PROFILE, key,
		 profile_end(e, &o, name != NULL ? name : group_name(e, p), INGRESS_POOL));
}

// A switch with SONiC's dynamic model computes all of a group but alpha.
static void warn_of_computed(struct export *e, const struct cfg_ingress *in)
{
	bool of_import = in->xon_offset.n == SONIC_NEVER_OFFSET && in->xon.n == 0;

	if (!of_import && (in->min.given || in->xon.given || in->xon_offset.given))
		sonic_say(e->r, SONIC_WARNING, NULL, NULL, NULL,
			  "%s: min, xon and xon_offset are not exported: SONiC computes them with "
			  "the headroom",
			  in->map.path);
}

static void lossless_group(struct export *e, const struct config_port *p, unsigned pg,
			   const char *key)
{
	const struct cfg_class *c = &p->profile->classes[check_class_of_pg(p->profile, pg)];
	const struct cfg_ingress *own = own_ingress(p, pg);
	const char *name = hint(e, SONIC_PG_PROFILE, key);
	const struct cfg_val *alpha = own != NULL && own->alpha.given ? &own->alpha
								      : &c->ingress.alpha;
	bool unnamed = name == NULL || strcmp(name, SONIC_NO_PROFILE) == 0;
	struct object o;

	if (!is_auto(p, pg) && mark_of(e, key, MARK_GROUP) == NULL) {
		fixed_group(e, p, key, &c->ingress, own);
	} else if (unnamed && (is_dynamic(e) || name != NULL)) {
		warn_of_computed(e, &c->ingress);
		if (mark_of(e, key, MARK_GROUP) == NULL)
			put_text(e, SONIC_PG_PROFILE, key, SONIC_NO_PROFILE);
		if (is_dynamic(e))
			export_default_alpha(e, alpha, key);
	} else if (!unnamed) {
		object_begin(&o, SONIC_PROFILE_SIZE);
		object_limit(e, &o, alpha, &c->ingress.static_limit);
		put_text(e, SONIC_PG_PROFILE, key, profile_end(e, &o, name, INGRESS_POOL));
	}
	// Else SONiC makes the group by speed and cable.
}

static void lossy_group(struct export *e, const struct config_port *p, unsigned pg,
			const char *key)
{
	const struct cfg_class *c = &p->profile->classes[check_class_of_pg(p->profile, pg)];
	const struct cfg_ingress *own = own_ingress(p, pg), *in = own != NULL ? own : &c->ingress;
	const char *name = hint(e, SONIC_PG_PROFILE, key);
	struct object o;

	if (!in->map.given)
		return;
	object_begin(&o, SONIC_PROFILE_SIZE);
	object_value(e, &o, SONIC_PROFILE_SIZE,
		     bytes_of(e, override_or_base_value(&in->min, &c->ingress.min)));
	if (in->alpha.given || in->static_limit.given)
		object_limit(e, &o, &in->alpha, &in->static_limit);
	else if (c->ingress.alpha.given || c->ingress.static_limit.given)
		object_limit(e, &o, &c->ingress.alpha, &c->ingress.static_limit);
	put_text(e, SONIC_PG_PROFILE, key,
		 profile_end(e, &o, name != NULL ? name : "ingress_lossy_profile", INGRESS_POOL));
}

// ---- queues

static void lossless_queue(struct export *e, const char *key)
{
	struct object o;

	if (!e->hand_written)
		return; // the profile came with the import
	object_begin(&o, SONIC_PROFILE_SIZE);
	object_value(e, &o, SONIC_PROFILE_SIZE, 0);
	object_value(e, &o, SONIC_PROFILE_STATIC, e->c->root.sw.buffer.size.n);
	put_text(e, SONIC_QUEUE_PROFILE, key,
		 profile_end(e, &o, "egress_lossless_profile", EGRESS_LOSSLESS_POOL));
}

static void lossy_queue(struct export *e, const struct cfg_class *c, const char *key)
{
	const char *name = hint(e, SONIC_QUEUE_PROFILE, key);
	struct object o;

	if (!c->egress.map.given && !e->hand_written)
		return;
	object_begin(&o, SONIC_PROFILE_SIZE);
	object_value(e, &o, SONIC_PROFILE_SIZE, bytes_of(e, &c->egress.min));
	object_limit(e, &o, &c->egress.alpha, &c->egress.static_limit);
	if (c->egress.discard.n == DISCARD_TRIM)
		object_field(e, &o, sonic_fields[SONIC_PROFILE_DISCARD].field, "trim");
	put_text(e, SONIC_QUEUE_PROFILE, key,
		 profile_end(e, &o, name != NULL ? name : "egress_lossy_profile",
			     EGRESS_LOSSY_POOL));
}

// ---- pools

// What import_buffer.c adds to the size of SONiC's pool.
static int64_t reserved(const struct export *e)
{
	const struct cfg_buffer *b = &e->c->root.sw.buffer;
	int64_t cell = b->cell.n, min = 0, xoff = 0, ratio = b->oversubscription.n / RATIO_ONE;

	for (unsigned i = 0; i < e->p->n_ports; i++)
		for (unsigned pg = 0; pg < N_PGS; pg++) {
			const struct config_port *p = &e->c->ports[i];
			const struct pg_params *g = &e->p->ports[i].pg[pg];

			min += g->min_cells * cell;
			// The import did not know the speed of the link.
			if (g->xoff_cells != 0 && !(is_auto(p, pg) && p->item->speed.n == 0))
				xoff += g->xoff_cells * cell;
		}
	if (has_headroom_pool(e))
		return min + b->headroom_pool.n / cell * cell;
	return min + (xoff / ratio + cell - 1) / cell * cell;
}

static void pool_words(struct export *e, const char *pool, const char *type, const char *mode)
{
	if (kept(e, SONIC_POOL_TYPE, pool) == NULL)
		put_text(e, SONIC_POOL_TYPE, pool, type);
	if (kept(e, SONIC_POOL_MODE, pool) == NULL)
		put_text(e, SONIC_POOL_MODE, pool, mode);
}

static void export_pools(struct export *e)
{
	const struct cfg_buffer *b = &e->c->root.sw.buffer;
	bool dynamic = is_dynamic(e);
	bool sized = !dynamic || mark_of(e, MARK_BUFFER, MARK_SIZES) != NULL;

	if (!b->size.given && !e->hand_written)
		return;
	if (sized)
		put(e, SONIC_POOL_SIZE, INGRESS_POOL, b->size.n - reserved(e));
	if (has_headroom_pool(e))
		put(e, SONIC_POOL_XOFF, INGRESS_POOL, bytes_of(e, &b->headroom_pool));
	pool_words(e, INGRESS_POOL, "ingress", "dynamic");
	if (b->egress_lossy.given || e->hand_written) {
		if (sized || b->egress_lossy.given)
			put(e, SONIC_POOL_SIZE, EGRESS_LOSSY_POOL,
			    b->egress_lossy.given ? bytes_of(e, &b->egress_lossy)
						  : b->size.n - reserved(e));
		pool_words(e, EGRESS_LOSSY_POOL, "egress", "dynamic");
	}
	if (e->hand_written || !sized) {
		put(e, SONIC_POOL_SIZE, EGRESS_LOSSLESS_POOL, b->size.n);
		pool_words(e, EGRESS_LOSSLESS_POOL, "egress", "static");
	}
	if (b->oversubscription.n % RATIO_ONE != 0)
		sonic_say(e->r, SONIC_ERROR, NULL, NULL, NULL,
			  "%s: %s:%u: over_subscribe_ratio is a whole number",
			  b->oversubscription.path, e->file, b->oversubscription.at.line);
	else if (b->oversubscription.n > RATIO_ONE)
		put(e, SONIC_DEFAULT_RATIO, DEFAULT_NAME, b->oversubscription.n / RATIO_ONE);
}

// ---- headroom: auto

static void export_pattern(struct export *e, const struct config_port *p, unsigned pg)
{
	const struct cfg_class *c = &p->profile->classes[check_class_of_pg(p->profile, pg)];
	const struct cfg_headroom *h = &c->ingress.headroom;

	if (h->lossless_mtu.given)
		put(e, SONIC_PATTERN_MTU, DEFAULT_NAME, bytes_of(e, &h->lossless_mtu));
	if (h->small_frames.given)
		put(e, SONIC_PATTERN_SMALL, DEFAULT_NAME, h->small_frames.n);
}

static void export_trim(struct export *e)
{
	static const char key[] = "GLOBAL";
	const struct cfg_trim *t = &e->c->root.sw.trim;

	if (!t->map.given)
		return;
	put(e, SONIC_TRIM_DSCP, key, t->dscp.n);
	if (t->size.given)
		put(e, SONIC_TRIM_SIZE, key, t->size.n);
	if (t->cls.given)
		put(e, SONIC_TRIM_TC, key, t->cls.n);
	if (t->queue.given)
		put(e, SONIC_TRIM_QUEUE, key, t->queue.n);
}

void export_buffer(struct export *e)
{
	for (unsigned i = 0; i < e->c->n_ports; i++) {
		const struct config_port *p = &e->c->ports[i];

		for (unsigned n = 0; n < N_CLASSES; n++) {
			const char *key = arena_printf(&e->arena, "%s|%u", p->name, n);
			int cls = check_class_of_queue(p->profile, n);

			if (check_class_of_pg(p->profile, n) >= 0 && is_pg_lossless(p, n)) {
				lossless_group(e, p, n, key);
				export_pattern(e, p, n);
			} else if (check_class_of_pg(p->profile, n) >= 0) {
				lossy_group(e, p, n, key);
			}
			if (cls >= 0 && p->profile->classes[cls].lossless.n)
				lossless_queue(e, key);
			else if (cls >= 0)
				lossy_queue(e, &p->profile->classes[cls], key);
		}
	}
	export_pools(e);
	export_trim(e);
}
