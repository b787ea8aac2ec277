// SPDX-License-Identifier: Apache-2.0
// Pools, priority groups and queues: behaviour of the shared buffer in numbers.
//
//   ingress_pool  = B - sum(PG min) - headroom_pool
//   headroom_pool = ceil(sum(xoff) / oversubscription)
//
// Limits round down to cells; xoff, min and xon_offset round up.
#include <inttypes.h>
#include <string.h>

#include "control/config/check.h"
#include "control/config/compile.h"
#include "control/config/plan_ecn.h"
#include "dataplane/qos/headroom.h"
#include "dataplane/units.h"

uint64_t compile_bytes(const struct cfg_val *v, uint64_t whole, bool round_up)
{
	if (!v->percent)
		return (uint64_t)v->n;
	return ((uint64_t)v->n * whole + (round_up ? PPM - 1 : 0)) / PPM;
}

static uint32_t cells_down(const struct compiler *k, uint64_t bytes)
{
	return (uint32_t)(bytes / k->p->cell.bytes);
}

static uint32_t cells_up(const struct compiler *k, uint64_t bytes)
{
	return (uint32_t)((bytes + k->p->cell.bytes - 1) / k->p->cell.bytes);
}

static uint64_t in_bytes(const struct compiler *k, uint64_t cells)
{
	return cells * k->p->cell.bytes;
}

// ---- what the file says of one group: the port's override, else the profile
struct group {
	const struct cfg_class *cls; // NULL: no class maps to this group
	const struct cfg_ingress *own, *base;
};

static struct group group_of(const struct config_port *port, unsigned pg)
{
	int cls = check_class_of_pg(port->profile, pg);
	struct group g = {0};

	if (cls < 0)
		return g;
	g.cls = &port->profile->classes[cls];
	g.base = &g.cls->ingress;
	g.own = &port->item->classes[cls].ingress;
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (cfg_mapped(&port->profile->class_to_pg, c) == pg &&
		    port->item->classes[c].ingress.map.given)
			g.own = &port->item->classes[c].ingress;
	return g;
}

static const struct cfg_val *pick(const struct cfg_val *own, const struct cfg_val *base)
{
	return own->given ? own : base;
}

// ---- headroom
static uint64_t auto_headroom(const struct config *c, const struct config_port *port,
			      const struct group *g, uint64_t speed_bps)
{
	const struct cfg_headroom *own = &g->own->headroom, *base = &g->base->headroom;
	const struct cfg_val *mtu =
		pick(&g->own->mru, pick(&own->lossless_mtu, &base->lossless_mtu));
	const struct cfg_val *response = pick(&own->peer_response, &base->peer_response);
	struct headroom_in in = {
		.speed_bps = speed_bps,
		.cable_cm = (uint64_t)pick(&g->own->cable, &port->item->cable)->n,
		.cell_bytes = (uint32_t)c->root.sw.buffer.cell.n,
		.lossless_mtu = (uint32_t)(mtu->given ? mtu->n : port->item->mtu.n),
		.port_mtu = (uint32_t)port->item->mtu.n,
		.mac_phy = (uint32_t)pick(&own->mac_phy, &base->mac_phy)->n,
		.peer_response = response->n == CFG_WORD_VALUE ? headroom_peer_response(speed_bps)
							       : (uint32_t)response->n,
		.small_frames_ppm = (uint32_t)pick(&own->small_frames, &base->small_frames)->n,
	};

	return headroom_xoff(&in);
}

uint64_t compile_xoff_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			    uint64_t speed_bps)
{
	struct group g = group_of(port, pg);
	const struct cfg_val *fixed;

	if (g.cls == NULL || !g.cls->lossless.n)
		return 0;
	// The inputs of `auto` on a port mean auto there, whatever the profile says.
	fixed = g.own->headroom.map.given ? &g.own->headroom.fixed
					  : pick(&g.own->headroom.fixed, &g.base->headroom.fixed);
	if (fixed->n == CFG_WORD_VALUE)
		return auto_headroom(c, port, &g, speed_bps);
	return compile_bytes(fixed, (uint64_t)c->root.sw.buffer.size.n, true);
}

uint64_t compile_flight_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			      uint64_t speed_bps)
{
	struct group g = group_of(port, pg);

	return g.cls != NULL && g.cls->lossless.n ? auto_headroom(c, port, &g, speed_bps) : 0;
}

// ---- pools
static struct cfg_map buffer_map(const struct compiler *k)
{
	const struct cfg_map *m = &k->c->root.sw.buffer.map;

	return m->given ? *m : (struct cfg_map){.path = "switch.buffer", .at = k->c->root.map.at};
}

static struct cfg_pos pos_or(const struct cfg_val *v, const struct cfg_map *m)
{
	return v->given ? v->at : m->at;
}

struct reserved {
	uint64_t min, xoff, largest_xoff; // cells
	unsigned largest_port, largest_pg;
};

static void compile_reserved(struct compiler *k, struct reserved *r)
{
	for (unsigned i = 0; i < k->p->n_ports; i++)
		for (unsigned pg = 0; pg < N_PGS; pg++) {
			const struct config_port *port = &k->c->ports[i];
			struct pg_params *out = &k->p->ports[i].pg[pg];
			struct group g = group_of(port, pg);

			if (g.cls == NULL)
				continue;
			out->lossless = g.cls->lossless.n != 0;
			out->min_cells = cells_up(
				k, compile_bytes(pick(&g.own->min, &g.base->min),
						 (uint64_t)k->c->root.sw.buffer.size.n, true));
			out->xoff_cells = cells_up(
				k, compile_xoff_bytes(k->c, port, pg, k->p->ports[i].speed_bps));
			r->min += out->min_cells;
			r->xoff += out->xoff_cells;
			if (out->xoff_cells <= r->largest_xoff)
				continue;
			r->largest_xoff = out->xoff_cells;
			r->largest_port = i;
			r->largest_pg = pg;
		}
}

static uint64_t headroom_pool(struct compiler *k, const struct reserved *r)
{
	const struct cfg_buffer *b = &k->c->root.sw.buffer;
	uint64_t ratio = (uint64_t)b->oversubscription.n, cells;

	if (b->headroom_pool.n == CFG_WORD_VALUE)
		return (r->xoff * PPM + ratio - 1) / ratio;
	cells = cells_down(k, compile_bytes(&b->headroom_pool, (uint64_t)b->size.n, false));
	if (cells < r->largest_xoff)
		check_report(k->s, DIAG_ERROR, &b->map, "headroom_pool", b->headroom_pool.at,
			     "%" PRIu64 " B do not hold the headroom of one group, %" PRIu64
			     " B (port %s, priority group %u)" CURE "enlarge it or use auto",
			     in_bytes(k, cells), in_bytes(k, r->largest_xoff),
			     k->p->ports[r->largest_port].name, r->largest_pg);
	return cells;
}

static void compile_egress_lossy(struct compiler *k)
{
	const struct cfg_buffer *b = &k->c->root.sw.buffer;
	uint64_t pool = in_bytes(k, k->p->buffer.ingress_pool_cells), bytes;

	k->p->buffer.egress_lossy_cells = k->p->buffer.ingress_pool_cells;
	if (!b->egress_lossy.given)
		return;
	bytes = compile_bytes(&b->egress_lossy, pool, false);
	if (bytes > pool)
		check_report(k->s, DIAG_ERROR, &b->map, "egress_lossy", b->egress_lossy.at,
			     "%" PRIu64 " B are more than the ingress pool of %" PRIu64 " B", bytes,
			     pool);
	else
		k->p->buffer.egress_lossy_cells = cells_down(k, bytes);
}

void compile_pools(struct compiler *k)
{
	const struct cfg_buffer *b = &k->c->root.sw.buffer;
	struct cfg_map m = buffer_map(k);
	struct reserved r = {0};
	uint64_t total = (uint64_t)b->size.n / k->p->cell.bytes, pool;

	compile_reserved(k, &r);
	pool = headroom_pool(k, &r);
	k->p->buffer.total_cells = (uint32_t)total;
	if (r.min + pool >= total) {
		check_report(
			k->s, DIAG_ERROR, &m, "size", pos_or(&b->size, &m),
			"a buffer of %" PRIu64 " B does not hold %" PRIu64 " B of min and %" PRIu64
			" B of headroom and leave a shared pool"
			CURE "enlarge it, shorten the cables, or raise oversubscription",
			in_bytes(k, total), in_bytes(k, r.min), in_bytes(k, pool));
		return;
	}
	k->p->buffer.headroom_pool_cells = (uint32_t)pool;
	k->p->buffer.ingress_pool_cells = (uint32_t)(total - r.min - pool);
	compile_egress_lossy(k);
}

// ---- thresholds
static struct threshold threshold_of(const struct compiler *k, const struct cfg_val *alpha,
				     const struct cfg_val *fixed, uint64_t pool)
{
	if (fixed->given)
		return (struct threshold){.static_cells =
						  cells_down(k, compile_bytes(fixed, pool, false))};
	return (struct threshold){.dynamic = true, .alpha_log2 = (int8_t)alpha->n};
}

static void compile_group(struct compiler *k, unsigned i, unsigned pg)
{
	struct pg_params *out = &k->p->ports[i].pg[pg];
	struct group g = group_of(&k->c->ports[i], pg);
	uint64_t pool = in_bytes(k, k->p->buffer.ingress_pool_cells);
	const struct cfg_ingress *in;

	out->shared = (struct threshold){.static_cells = k->p->buffer.total_cells};
	if (g.cls == NULL)
		return;
	in = g.own->alpha.given || g.own->static_limit.given ? g.own : g.base;
	if (out->lossless || in->alpha.given || in->static_limit.given)
		out->shared = threshold_of(k, &in->alpha, &in->static_limit, pool);
	if (!out->lossless)
		return;
	out->xon_cells = cells_down(k, compile_bytes(&g.base->xon, pool, false));
	out->xon_offset_cells = cells_up(k, g.base->xon_offset.given
						    ? compile_bytes(&g.base->xon_offset, pool, true)
						    : 2ull * k->p->ports[i].max_frame);
}

static void compile_egress(struct compiler *k, const struct cfg_class *c, struct egress_params *out)
{
	uint64_t pool = in_bytes(k, k->p->buffer.egress_lossy_cells);

	out->shared = (struct threshold){.static_cells = k->p->buffer.total_cells};
	out->lossless = c != NULL && c->lossless.n != 0;
	if (out->lossless)
		return;
	out->shared = (struct threshold){.dynamic = true};
	if (c == NULL)
		return;
	out->min_cells = cells_up(k, compile_bytes(&c->egress.min, pool, true));
	out->shared = threshold_of(k, &c->egress.alpha, &c->egress.static_limit, pool);
}

// What 100 % of kmin and kmax is: the most the queue can hold when nothing else is in the switch.
static uint64_t queue_limit(const struct compiler *k, const struct egress_params *e)
{
	const struct buffer_params *b = &k->p->buffer;

	if (e->lossless)
		return in_bytes(k, b->ingress_pool_cells);
	if (!e->shared.dynamic)
		return in_bytes(k, (uint64_t)e->min_cells + e->shared.static_cells);
	return headroom_ecn_bound(in_bytes(k, b->egress_lossy_cells), in_bytes(k, e->min_cells), 1,
				  1, e->shared.alpha_log2);
}

static void compile_wred(struct compiler *k, const struct cfg_class *c,
			 const struct egress_params *e, struct wred_params *out)
{
	const struct cfg_wred *w = &c->wred;

	if (!w->map.given)
		return;
	out->enabled = true;
	out->ecn = w->ecn.n != 0;
	out->above_kmax_all = w->above_kmax.n != 0;
	out->mark_at_dequeue = w->mark_at.n != 0;
	out->not_ect_drop = w->not_ect.given ? w->not_ect.n != 0 : !c->lossless.n;
	out->weight = (uint8_t)w->weight.n;
	for (unsigned color = 0; color < N_COLORS; color++) {
		bool own = color == GREEN || w->curve[color].map.given;
		const struct cfg_curve *v = &w->curve[own ? color : GREEN];
		uint64_t kmin = compile_bytes(&v->kmin, queue_limit(k, e), false);
		uint64_t kmax = compile_bytes(&v->kmax, queue_limit(k, e), false);

		if (kmin > kmax) {
			check_report(k->s, DIAG_ERROR, v == &w->curve[GREEN] ? &w->map : &v->map,
				     "kmin", v->kmin.at,
				     "%" PRIu64 " B is above kmax %" PRIu64 " B", kmin, kmax);
			continue;
		}
		out->curve[color] = wred_curve_of(kmin, kmax, (uint32_t)v->pmax.n);
	}
}

// The message would be that of an earlier port.
static bool warned_before(const struct compiler *k, unsigned i)
{
	const struct policy_port *a = &k->p->ports[i];

	for (unsigned j = 0; j < i; j++) {
		const struct policy_port *b = &k->p->ports[j];

		if (k->c->ports[i].profile == k->c->ports[j].profile &&
		    a->speed_bps == b->speed_bps && a->max_frame == b->max_frame &&
		    memcmp(a->pg, b->pg, sizeof(a->pg)) == 0)
			return true;
	}
	return false;
}

static void warn_ecn_after_pfc(struct compiler *k, unsigned i)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++) {
		const struct cfg_profile *profile;
		const struct cfg_class *c;
		struct plan_ecn e;
		unsigned out = 0;

		if (!(k->p->ports[i].classify.lossless >> cls & 1) ||
		    !plan_ecn_is_no(k->p, i, cls, &e))
			continue;
		while (!e.output[out])
			out++;
		profile = k->c->ports[out].profile;
		c = &profile->classes[check_class_of_queue(
			profile, k->p->ports[out].classify.class_to_queue[cls])];
		check_report(k->s, DIAG_WARNING, &c->wred.map, "kmin", c->wred.curve[GREEN].kmin.at,
			     "PFC can pause before ECN marks: %.2g marks are expected before XOFF, "
			     "at a queue of %" PRIu64 " B" CURE
			     "lower kmin, kmax or weight, or raise pmax; weirctl plan shows each "
			     "port",
			     plan_ecn_marks(&e), e.queue_bytes);
	}
}

void compile_groups_and_queues(struct compiler *k)
{
	for (unsigned i = 0; i < k->p->n_ports; i++) {
		const struct cfg_profile *profile = k->c->ports[i].profile;

		for (unsigned pg = 0; pg < N_PGS; pg++)
			compile_group(k, i, pg);
		for (unsigned q = 0; q < N_QUEUES; q++) {
			int cls = check_class_of_queue(profile, q);
			const struct cfg_class *c = cls < 0 ? NULL : &profile->classes[cls];
			struct policy_queue *out = &k->p->ports[i].queue[q];

			compile_egress(k, c, &out->egress);
			if (c != NULL)
				compile_wred(k, c, &out->egress, &out->wred);
		}
	}
	// Without pools there is nothing to compare.
	for (unsigned i = 0; k->s->n_errors == 0 && i < k->p->n_ports; i++)
		if (!warned_before(k, i))
			warn_ecn_after_pfc(k, i);
}
