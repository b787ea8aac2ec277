// SPDX-License-Identifier: Apache-2.0
#include "control/config/compile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/plan.h"
#include "control/config/port_open.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/qos/headroom.h"
#include "dataplane/switch_punt.h"
#include "drivers/live.h"

enum {
	// A worker takes at most this many frames in one burst beyond what the ring holds.
	BURST_FRAMES = 64,
	BURSTS_PER_S = 4,
	// A ring of control's takes as many at least (switch_routes.c).
	COPP_MAX_BURST = 250,
};

// ---- ports
static uint64_t port_speed(struct compiler *k, unsigned i)
{
	const struct cfg_port *item = k->c->ports[i].item;

	if (item->speed.n != 0)
		return (uint64_t)item->speed.n;
	if (k->facts != NULL && k->facts[i].speed_bps != 0)
		return k->facts[i].speed_bps;
	k->no_speed[i] = true;
	// Any value, if none is assumed: the other checks still run.
	return k->assumed_speed_bps != 0 ? k->assumed_speed_bps : 1000000;
}

// One message for all ports without a speed, at the first of them.
static void report_speeds(struct compiler *k)
{
	const struct cfg_port *item;
	char names[PORT_NAMES_LEN];
	unsigned i = 0;

	while (i < k->c->n_ports && !k->no_speed[i])
		i++;
	if (i == k->c->n_ports)
		return;
	item = k->c->ports[i].item;
	check_port_names(k->c, k->no_speed, names);
	if (k->assumed_speed_bps != 0)
		check_report(
			k->s, DIAG_WARNING, &item->speed, &item->map, "speed",
			"is that of the link: the headroom of %s is known when the device opens",
			names);
	else
		check_report(k->s, DIAG_ERROR, &item->speed, &item->map, "speed",
			     k->facts != NULL
				     ? "is required, because the link of %s reports none"
				     : "is that of the link, and no device is open here" CURE
				       "give %s a speed to see its numbers",
			     names);
}

// Returns whether a frame is remarked.
static bool compile_classify(const struct config_port *port, struct classify_params *out)
{
	const struct cfg_profile *p = port->profile;
	bool remarks = false;

	out->trust = (uint8_t)p->trust.n;
	out->default_class = (uint8_t)port->item->default_class.n;
	out->control_class = out->default_class;
	out->lossless = (uint8_t)cfg_lossless(p);
	for (unsigned d = 0; d < 64; d++) {
		out->dscp_to_class[d] = (uint8_t)cfg_dscp_class(p, d);
		out->dscp_to_color[d] = p->dscp_to_color.v[d]; // 0 is green
	}
	for (unsigned c = 0; c < N_CLASSES; c++) {
		const struct cfg_remark *r = &p->remark;

		if (!p->classes[c].lossless.n)
			out->control_class = (uint8_t)c;
		out->pcp_to_class[c] = (uint8_t)cfg_mapped(&p->pcp_to_class, c);
		out->class_to_queue[c] = (uint8_t)cfg_mapped(&p->class_to_queue, c);
		out->class_to_pg[c] = (uint8_t)cfg_mapped(&p->class_to_pg, c);
		out->remark_pcp[c] = r->pcp_is_class.given ? (uint8_t)c : REMARK_NONE;
		if (r->pcp.set >> c & 1)
			out->remark_pcp[c] = r->pcp.v[c];
		out->remark_dscp[c] = r->dscp.set >> c & 1 ? r->dscp.v[c] : REMARK_NONE;
		remarks |= out->remark_pcp[c] != REMARK_NONE || out->remark_dscp[c] != REMARK_NONE;
	}
	return remarks;
}

// A queue with tokens also waits for frames of other queues. It keeps the tokens of two frames in
// that time, or it would not reach its rate.
static struct shaper_params queue_shaper(const struct cfg_val *rate, uint64_t burst_ns,
					 uint32_t max_frame)
{
	uint64_t two_frames_ns = 2 * max_frame * 8ull * SECOND_NS / (uint64_t)rate->n;

	return shaper_of((uint64_t)rate->n, max_u64(two_frames_ns, burst_ns));
}

// The operating system can stop a poll loop for milliseconds. A slow port then catches up with a
// larger burst: at most the bytes that a port of 2 Gb/s has in its burst. Faster ports keep the
// driver's burst.
static uint64_t port_burst_ns(const struct port_facts *f, uint64_t speed_bps)
{
	uint64_t slow_ns = f->shaper_burst_ns * 2000000000ull / speed_bps;

	return max_u64(min_u64(slow_ns, f->shaper_late_ns), f->shaper_burst_ns);
}

static void compile_sched(const struct cfg_profile *p, uint64_t burst_ns, struct policy_port *out)
{
	uint32_t weights[N_QUEUES];
	uint8_t strict = 0;

	for (unsigned q = 0; q < N_QUEUES; q++) {
		int cls = check_class_of_queue(p, q);
		const struct cfg_class *c = &p->classes[cls < 0 ? 0 : cls];

		weights[q] = 1;
		if (cls < 0)
			continue;
		weights[q] = (uint32_t)c->schedule.dwrr.n;
		strict |= (uint8_t)(c->schedule.strict.given ? 1u << q : 0);
		if (c->max_rate.n != 0) {
			out->sched.has_max |= (uint8_t)(1u << q);
			out->sched.max_rate[q] =
				queue_shaper(&c->max_rate, burst_ns, out->max_frame);
		}
		if (c->min_rate.n != 0) {
			out->sched.has_min |= (uint8_t)(1u << q);
			out->sched.min_rate[q] =
				queue_shaper(&c->min_rate, burst_ns, out->max_frame);
		}
	}
	sched_params_init(&out->sched, strict, weights, out->max_frame);
}

static void check_facts(struct compiler *k, unsigned i, const struct port_facts *f)
{
	const struct cfg_port *item = k->c->ports[i].item;
	const struct policy_port *out = &k->p->ports[i];

	if (f->max_frame != 0 && f->max_frame < out->max_frame)
		check_report(k->s, DIAG_ERROR, &item->mtu, &item->map, "mtu",
			     "MTU %u needs frames of %u B, but %s was opened for at most %u B: "
			     "%u is the largest MTU until a restart",
			     out->mtu, out->max_frame, out->device, f->max_frame,
			     f->max_frame > FRAME_OVERHEAD ? f->max_frame - FRAME_OVERHEAD : 0);
	if (out->pfc.tx != 0 && !f->pfc_tx)
		WARN(k->s, &item->device,
		     "%s cannot send PFC frames: its lossless classes can lose frames",
		     out->device);
	if (out->pfc.rx != 0 && !f->pfc_rx)
		WARN(k->s, &item->device,
		     "%s does not deliver PFC frames: the switch cannot obey them", out->device);
}

static void compile_pfc(struct compiler *k, unsigned i, const struct port_facts *f)
{
	const struct cfg_pfc *cfg = &k->c->ports[i].profile->pfc;
	const struct cfg_port *item = k->c->ports[i].item;
	// Without `pfc` in the profile the quanta are the most, and only the MTU can be another.
	const struct cfg_val *v = cfg->map.given ? &cfg->quanta : &item->mtu;
	const struct cfg_map *map = cfg->map.given ? &cfg->map : &item->map;
	const char *key = cfg->map.given ? "quanta" : "mtu";
	struct policy_port *out = &k->p->ports[i];
	uint32_t ring = f != NULL ? f->tx_ring_bytes : out->tx_ring_bytes;
	uint32_t most = f != NULL ? ring
				  : live_device_ring_bytes(out->device, ring, out->max_frame);
	uint32_t before = pfc_bytes_before(out->max_frame, ring);
	uint32_t least = pfc_least_quanta(pfc_bytes_before(out->max_frame, most));

	pfc_params_init(&out->pfc, out->speed_bps, (uint16_t)cfg->quanta.n, before);
	out->pfc.whole_link = cfg->whole_link.n != 0;
	out->pfc.lossless = out->classify.lossless;
	out->pfc.tx = cfg->tx.n ? out->pfc.lossless : 0;
	out->pfc.rx = cfg->rx.n ? out->pfc.lossless : 0;
	if (out->pfc.tx == 0)
		return;
	if ((uint64_t)cfg->quanta.n < pfc_least_quanta(before))
		check_report(k->s, DIAG_ERROR, v, map, key,
			     "a PAUSE of %u quanta can end before it is repeated: a PFC frame may "
			     "wait for a frame of %u bytes, and for %u bytes in the transmit ring; "
			     "%u quanta are the least%s",
			     out->pfc.quanta, out->max_frame, ring, pfc_least_quanta(before),
			     pfc_least_quanta(before) > UINT16_MAX
				     ? ", more than a PFC frame can carry" CURE "take a smaller mtu"
				     : "");
	else if ((uint64_t)cfg->quanta.n < least)
		check_report(k->s, DIAG_WARNING, v, map, key,
			     "weir will refuse %u quanta at a virtual interface, and where AF_XDP "
			     "copies frames: %u bytes may stand in the transmit ring there, and "
			     "%u quanta are the least",
			     out->pfc.quanta, most, least);
}

static void compile_port(struct compiler *k, unsigned i)
{
	const struct config_port *port = &k->c->ports[i];
	const struct cfg_port *item = port->item;
	const struct port_facts *f = k->facts == NULL ? NULL : &k->facts[i];
	uint64_t burst_ns = f == NULL ? 0 : f->shaper_burst_ns;
	struct policy_port *out = &k->p->ports[i];

	snprintf(out->name, sizeof(out->name), "%s", port->name);
	snprintf(out->device, sizeof(out->device), "%s", port->device);
	snprintf(out->profile, sizeof(out->profile), "%s", port->profile->map.name);
	out->speed_bps = port_speed(k, i);
	out->mtu = (uint32_t)item->mtu.n;
	out->max_frame = cfg_max_frame(item);
	out->tx_ring_bytes =
		f != NULL && f->tx_ring_bytes != 0 ? f->tx_ring_bytes : (uint32_t)item->tx_ring.n;
	out->skid_frame_cells = cells_of(&k->p->cell, out->max_frame);
	if (f != NULL && f->rx_ring != 0)
		out->skid_cells = (f->rx_ring + BURST_FRAMES) * out->skid_frame_cells;
	out->mac_limit = (uint32_t)item->mac_limit.n;
	out->sticky = item->sticky.n != 0;
	if (f != NULL && f->rx_depth_readable && item->rx_guard.n != CFG_WORD_VALUE) {
		out->rx_guard_on = (uint32_t)(f->rx_ring * (uint64_t)item->rx_guard.n / PPM);
		out->rx_guard_off = (uint32_t)min_u64(f->rx_ring / 4, out->rx_guard_on / 2);
	}
	out->edits = compile_classify(port, &out->classify) || cfg_vlan_aware(k->c);
	compile_sched(port->profile, burst_ns, out);
	out->shaper = shaper_of(out->speed_bps, f == NULL ? 0 : port_burst_ns(f, out->speed_bps));
	compile_pfc(k, i, f);
	out->lldp = (struct lldp_params){
		.on = cfg_lldp(k->c, item),
		.willing = item->lldp.willing.n != 0,
		.pfc_auto = port->profile->pfc.mode.n == PFC_MODE_AUTO,
		.pfc = out->pfc.tx & out->pfc.rx,
	};
	out->punts |= out->lldp.on ? 1 << PUNT_LLDP : 0;
	out->punts |= cfg_inof(k->c, item) ? 1 << PUNT_INOF : 0;
	k->p->inof |= cfg_inof(k->c, item);
	if (f != NULL)
		check_facts(k, i, f);
}

// ---- the shared buffer in numbers
//
//   ingress_pool  = B - sum(PG min) - headroom_pool
//   headroom_pool = ceil(sum(xoff) / oversubscription)
//
// Limits round down to cells; xoff, min and xon_offset round up.

// A size of the file in bytes, a percentage taken of `whole`.
static uint64_t compile_bytes(const struct cfg_val *v, uint64_t whole, bool round_up)
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

// ---- the settings of one group: those of the port, else those of the profile
struct group {
	const struct cfg_class *cls; // NULL: no class maps to this group
	const struct cfg_ingress *own, *base;
};

static struct group group_keys_of_pg(const struct config_port *port, unsigned pg)
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

static const struct cfg_val *port_or_profile_value(const struct cfg_val *own,
						   const struct cfg_val *base)
{
	return own->given ? own : base;
}

// ---- headroom
uint64_t compile_xoff_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			    uint64_t speed_bps)
{
	struct group g = group_keys_of_pg(port, pg);
	const struct cfg_val *fixed;

	if (g.cls == NULL || !g.cls->lossless.n)
		return 0;
	// A port that gives inputs of `auto` has auto, also if the profile gives a size.
	fixed = g.own->headroom.map.given
			? &g.own->headroom.fixed
			: port_or_profile_value(&g.own->headroom.fixed, &g.base->headroom.fixed);
	if (fixed->n == CFG_WORD_VALUE)
		return compile_flight_bytes(c, port, pg, speed_bps);
	return compile_bytes(fixed, (uint64_t)c->root.sw.buffer.size.n, true);
}

uint64_t compile_flight_bytes(const struct config *c, const struct config_port *port, unsigned pg,
			      uint64_t speed_bps)
{
	const struct group g = group_keys_of_pg(port, pg);
	const struct cfg_headroom *own, *base;
	const struct cfg_val *mtu, *response;

	if (g.cls == NULL || !g.cls->lossless.n)
		return 0;
	own = &g.own->headroom;
	base = &g.base->headroom;
	mtu = port_or_profile_value(&g.own->mru,
				    port_or_profile_value(&own->lossless_mtu, &base->lossless_mtu));
	response = port_or_profile_value(&own->peer_response, &base->peer_response);
	return headroom_xoff(&(struct headroom_in){
		.speed_bps = speed_bps,
		.cable_cm = (uint64_t)port_or_profile_value(&g.own->cable, &port->item->cable)->n,
		.cell_bytes = (uint32_t)c->root.sw.buffer.cell.n,
		.lossless_mtu = (uint32_t)(mtu->given ? mtu->n : port->item->mtu.n),
		.port_mtu = (uint32_t)port->item->mtu.n,
		.mac_phy = (uint32_t)port_or_profile_value(&own->mac_phy, &base->mac_phy)->n,
		.peer_response = response->n == CFG_WORD_VALUE ? headroom_peer_response(speed_bps)
							       : (uint32_t)response->n,
		.small_frames_ppm =
			(uint32_t)port_or_profile_value(&own->small_frames, &base->small_frames)->n,
	});
}

// ---- pools
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
			struct group g = group_keys_of_pg(port, pg);

			if (g.cls == NULL)
				continue;
			out->lossless = g.cls->lossless.n != 0;
			out->min_cells = cells_up(
				k, compile_bytes(port_or_profile_value(&g.own->min, &g.base->min),
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
		REFUSE(k->s, &b->headroom_pool,
		       "%" PRIu64 " B are less than the headroom of one group, %" PRIu64 " B "
		       "(port %s, priority group %u)" CURE "enlarge it or use auto",
		       in_bytes(k, cells), in_bytes(k, r->largest_xoff),
		       k->p->ports[r->largest_port].name, r->largest_pg);
	return cells;
}

static void compile_pools(struct compiler *k)
{
	const struct cfg_buffer *b = &k->c->root.sw.buffer;
	const struct cfg_map none = {.path = "switch.buffer", .at = k->c->root.map.at};
	struct reserved r = {0};
	uint64_t total = (uint64_t)b->size.n / k->p->cell.bytes, pool, ingress, lossy;

	compile_reserved(k, &r);
	pool = headroom_pool(k, &r);
	k->p->buffer.total_cells = (uint32_t)total;
	if (r.min + pool >= total) {
		check_report(k->s, DIAG_ERROR, &b->size, b->map.given ? &b->map : &none, "size",
			     "a buffer of %" PRIu64 " B has no room for %" PRIu64
			     " B of min, %" PRIu64 " B of headroom and a shared pool" CURE
			     "enlarge it, shorten the cables, or raise oversubscription",
			     in_bytes(k, total), in_bytes(k, r.min), in_bytes(k, pool));
		return;
	}
	k->p->buffer.headroom_pool_cells = (uint32_t)pool;
	k->p->buffer.ingress_pool_cells = (uint32_t)(total - r.min - pool);
	ingress = in_bytes(k, total - r.min - pool);
	lossy = b->egress_lossy.given ? compile_bytes(&b->egress_lossy, ingress, false) : ingress;
	if (lossy > ingress)
		REFUSE(k->s, &b->egress_lossy,
		       "%" PRIu64 " B are more than the ingress pool of %" PRIu64 " B", lossy,
		       ingress);
	k->p->buffer.egress_lossy_cells = cells_down(k, min_u64(lossy, ingress));
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
	struct group g = group_keys_of_pg(&k->c->ports[i], pg);
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

uint64_t compile_queue_limit(const struct compiler *k, const struct egress_params *e)
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

	if (cfg_ecn_is_auto(c))
		compile_auto_marking(c, out);
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
		uint64_t kmin = compile_bytes(&v->kmin, compile_queue_limit(k, e), false);
		uint64_t kmax = compile_bytes(&v->kmax, compile_queue_limit(k, e), false);

		if (kmin > kmax) {
			REFUSE(k->s, &v->kmin, "%" PRIu64 " B is above kmax %" PRIu64 " B", kmin,
			       kmax);
			continue;
		}
		out->curve[color] = wred_curve_of(kmin, kmax, (uint32_t)v->pmax.n);
	}
}

bool compile_port_repeats(const struct compiler *k, unsigned i)
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
		if (cfg_ecn_is_auto(c)) {
			warn_auto_ecn_after_pfc(k, c, e.queue_bytes);
			continue;
		}
		WARN(k->s, &c->wred.curve[GREEN].kmin,
		     "PFC can pause before ECN marks: %.2g marks are expected before XOFF, at a"
		     " queue of %" PRIu64 " B" CURE
		     "lower kmin, kmax or weight, or raise pmax; weirctl plan shows each port",
		     plan_ecn_marks(&e), e.queue_bytes);
	}
}

static void compile_groups_and_queues(struct compiler *k)
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
	compile_auto_ecn(k);
	// Without pools there is nothing to compare.
	for (unsigned i = 0; k->s->n_errors == 0 && i < k->p->n_ports; i++)
		if (!compile_port_repeats(k, i))
			warn_ecn_after_pfc(k, i);
}

// ---- forwarding
static void set_vlan(uint64_t *set, unsigned id)
{
	set[id / 64] |= 1ull << (id % 64);
}

static void compile_vlans(struct compiler *k)
{
	const struct cfg_vlan *v = k->c->root.vlans.items;
	struct policy *p = k->p;

	p->vlan_aware = cfg_vlan_aware(k->c);
	for (unsigned i = 0; i < k->c->root.vlans.n; i++) {
		set_vlan(p->vlan_exists, (unsigned)v[i].id.n);
		if (!v[i].flood.n)
			set_vlan(p->flood_off, (unsigned)v[i].id.n);
	}
	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct cfg_port *item = k->c->ports[i].item;
		struct policy_vlan *out = &p->ports[i].vlan;

		out->untagged = cfg_untagged(item);
		memcpy(out->tagged, item->vlan.tagged.bits, sizeof(out->tagged));
		out->trunk = item->vlan.tagged.n != 0;
		for (unsigned w = 0; p->vlan_aware && w < N_VLANS / 64; w++)
			p->vlan_exists[w] |= out->tagged[w];
		if (p->vlan_aware && out->untagged != 0)
			set_vlan(p->vlan_exists, out->untagged);
	}
}

static void compile_fdb(struct compiler *k)
{
	const struct cfg_fdb *f = k->c->root.fdb.items;
	unsigned n = k->c->root.fdb.n;

	if (n + k->p->n_svis == 0)
		return;
	k->p->fdb = calloc(n + k->p->n_svis, sizeof(*k->p->fdb));
	if (k->p->fdb == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		struct policy_fdb_entry *e = &k->p->fdb[i];

		e->port = (port_no_t)cfg_find_place(k->c, f[i].port.text);
		e->vid = cfg_fdb_vid(k->c, &f[i]);
		// config_check has refused what cannot be parsed.
		(void)cfg_parse_mac(f[i].mac.text, e->mac);
	}
	for (unsigned i = 0; i < k->p->n_svis; i++) {
		struct policy_fdb_entry *e = &k->p->fdb[n + i];

		*e = (struct policy_fdb_entry){.vid = k->p->svis[i].vid, .port = FDB_ROUTER};
		memcpy(e->mac, k->p->svis[i].mac, sizeof(e->mac));
	}
	k->p->n_fdb = n + k->p->n_svis;
}

// ---- flooding by class
// The frames that can arrive after a PAUSE in these classes of a port. No cell may be free for
// their copies then, and no group leaves XOFF.
static uint64_t frames_after_pause(const struct policy_port *p, uint8_t classes)
{
	unsigned groups = 0;
	uint64_t frames = 0;

	for_each_bit (cls, p->classify.lossless & classes)
		groups |= 1u << p->classify.class_to_pg[cls];
	for_each_bit (g, groups)
		frames += p->pg[g].xoff_cells;
	return frames + (groups == 0 ? 0 : p->skid_cells / p->skid_frame_cells);
}

// The ports of the largest group entry.
static unsigned ports_of_multicast(const struct policy *p)
{
	unsigned most = 0;

	for (uint32_t i = 0; i < p->n_multicast; i++) {
		unsigned n = 0;

		for (unsigned w = 0; w < POLICY_MAX_PORTS / 64; w++)
			n += (unsigned)__builtin_popcountll(p->multicast[i].ports[w]);
		most = n > most ? n : most;
	}
	return most;
}

// A frame with copies has a record. With the record it takes one more frame of memory for each
// port by which it leaves. Frames to groups of `multicast` have copies in each class.
static void compile_flood(struct compiler *k)
{
	struct policy *pol = k->p;
	uint64_t frames = 0, to_groups = 0, ports = 0;
	unsigned most = ports_of_multicast(pol);

	for (unsigned i = 0; i < pol->n_ports; i++) {
		struct policy_port *p = &pol->ports[i];

		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			if (!cfg_floods(&k->c->ports[i].profile->classes[cls]))
				p->no_flood |= (uint8_t)(1u << cls);
		if (p->routed && pol->n_svis == 0 && pol->vtep == NULL)
			continue;
		frames += frames_after_pause(p, (uint8_t)~p->no_flood);
		to_groups += frames_after_pause(p, p->no_flood);
		ports += !p->routed;
	}
	// A frame that is routed into a VLAN may also leave by its own port.
	ports += pol->n_svis != 0;
	ports += pol->vtep != NULL ? pol->vtep->n_peers : 0;
	frames *= ports > 2 ? ports - 1 : 0;
	frames += to_groups * (most > 1 ? most : 0);
	pol->copy_frames = frames < INT32_MAX ? (uint32_t)frames : INT32_MAX;
}

// ---- limits of a port: token buckets in frames per second, probes for loop detection
static struct policer_params policer_of_pps(const struct cfg_val *pps, int64_t max_burst)
{
	int64_t burst = pps->n / BURSTS_PER_S;

	return policer_of((uint32_t)pps->n, (uint32_t)(burst < max_burst ? burst : max_burst));
}

static void compile_port_limits(struct compiler *k, const struct cfg_port *p,
				struct policy_port *out)
{
	const struct cfg_loop_detect *loop = &p->loop_detect;
	bool loop_on = cfg_is_on(&loop->on, &loop->map);

	out->limit[LIMIT_COPP] = policer_of_pps(&p->copp, COPP_MAX_BURST);
	out->limit[LIMIT_BROADCAST] = policer_of_pps(&p->storm_control.broadcast, UINT32_MAX);
	out->limit[LIMIT_UNKNOWN_UNICAST] =
		policer_of_pps(&p->storm_control.unknown_unicast, UINT32_MAX);
	out->limit[LIMIT_MULTICAST] = policer_of_pps(&p->storm_control.multicast, UINT32_MAX);
	out->loop = (struct loop_params){
		.on = loop_on && !out->routed,
		.port_down = loop->action.n == LOOP_ACTION_PORT_DOWN,
		.recover_ns = (uint64_t)loop->recover.n,
	};
	k->p->loop_detect |= out->loop.on;
	if (!out->routed && !out->in_svi && p->copp.given)
		WARN(k->s, &p->copp, "has no effect: a port without ip punts no ARP");
	if (out->routed && p->storm_control.map.given && k->p->vtep == NULL)
		WARN(k->s, &p->storm_control.map,
		     "has no effect: a port with ip replicates no frame");
	if (out->routed && loop_on)
		diag_add(k->s, DIAG_WARNING, p->map.at, loop->map.path,
			 "has no effect: a port with ip is not in the bridge");
}

// ---- the whole
static uint64_t off_or_ns(const struct cfg_val *v)
{
	return v->n == CFG_WORD_VALUE ? 0 : (uint64_t)v->n;
}

static struct microburst_params microburst_params_of(const struct cfg_microbursts *m)
{
	return (struct microburst_params){
		.window_ns = cfg_is_on(&m->on, &m->map) ? (uint64_t)m->window.n : 0,
		.from = (uint32_t)(m->from.n / 1000)}; // from millionths
}

static void compile_switch(struct compiler *k)
{
	const struct cfg_switch *sw = &k->c->root.sw;
	struct policy *p = k->p;

	snprintf(p->name, sizeof(p->name), "%s", config_name(k->c));
	p->n_ports = k->c->n_ports;
	p->n_workers = config_n_workers(k->c);
	p->n_worker_cores = sw->workers.cores.n;
	memcpy(p->worker_cores, sw->workers.cores.ordered, sizeof(p->worker_cores));
	p->cell = cell_size_of((uint32_t)sw->buffer.cell.n);
	p->mac_age_s = (uint32_t)(sw->mac_age.n / SECOND_NS);
	p->mac_move.limit = (uint32_t)sw->mac_move_limit.n;
	p->mac_move.hold_ns = (uint64_t)sw->mac_move_hold.n;
	p->stall.pause_after_ns = off_or_ns(&sw->stall.pause_after);
	p->stall.alarm_after_ns = off_or_ns(&sw->stall.alarm_after);
	p->microbursts = microburst_params_of(&sw->microbursts);
}

int compile_policy(const struct config *c, const struct port_facts *facts,
		   uint64_t assumed_speed_bps, struct policy **out, struct diags *d)
{
	struct diag_sink s = {.file = c->file};
	struct compiler k = {c, facts, assumed_speed_bps, NULL, &s, {false}};
	bool ok;

	k.p = calloc(1, sizeof(*k.p) + c->n_ports * sizeof(k.p->ports[0]));
	if (k.p == NULL)
		return -ENOMEM;
	compile_switch(&k);
	for (unsigned i = 0; i < c->n_ports; i++)
		compile_port(&k, i);
	report_speeds(&k);
	compile_pools(&k);
	compile_groups_and_queues(&k);
	compile_vlans(&k);
	compile_svis(&k);
	compile_fdb(&k);
	compile_multicast(&k);
	compile_routes(&k);
	compile_vxlan(&k);
	compile_flood(&k);
	for (unsigned i = 0; i < c->n_ports; i++)
		compile_port_limits(&k, c->ports[i].item, &k.p->ports[i]);
	k.p->control_sends = k.p->loop_detect;
	for (unsigned i = 0; i < c->n_ports; i++)
		k.p->control_sends |= k.p->ports[i].punts != 0;
	compile_watchdogs(&k);
	compile_guards(&k);
	compile_ipcc(&k);
	compile_elephants(&k);
	compile_trim(&k);
	ok = s.n_errors == 0;
	diag_finish(&s, d);
	if (!ok) {
		policy_destroy(k.p);
		return -EINVAL;
	}
	*out = k.p;
	return 0;
}

int config_compile(const struct config *c, const struct port_facts *facts, struct policy **out,
		   struct diags *d)
{
	return compile_policy(c, facts, 0, out, d);
}

void policy_destroy(struct policy *p)
{
	if (p == NULL)
		return;
	free(p->fdb);
	free(p->multicast);
	free(p->svis);
	free(p->svi_of_vlan);
	free(p->vtep);
	free(p->guard_groups);
	free(p->pairs);
	free(p->routes.prefixes);
	free(p->routes.groups);
	free(p->routes.nexthops);
	free(p->routes.neighbours);
	free(p);
}

// ---- memory on live ports
enum {
	MEBIBYTE = 1 << 20,
	TABLES_BYTES = 64 << 20, // forwarding table, rings, counters of a switch of few ports
	TABLES_FIXED = 32 << 20, // of these, whatever the ports
	FRAME_RECORD_BYTES = 64, // what a queue and a hand-off ring keep per frame
};

static const uint64_t LINK_SPEED_BPS = 1000000000; // where only the link knows

int memory_compile(const struct config *c, struct policy **out, struct diags *d)
{
	unsigned n = config_n_ports(c);
	struct port_facts *facts = calloc(n, sizeof(*facts));
	int err;

	if (facts == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct config_port_open p = config_port(c, i);

		facts[i] = (struct port_facts){
			.speed_bps = p.speed_bps != 0 ? p.speed_bps : LINK_SPEED_BPS,
			.max_frame = p.max_frame,
			.rx_ring = live_device_frames(p.device, p.tx_ring_bytes, p.rx_ring),
			.tx_ring_bytes = p.tx_ring_bytes,
			.rx_depth_readable = true,
			.pfc_rx = true,
			.pfc_tx = true,
		};
	}
	err = config_compile(c, facts, out, d);
	free(facts);
	return err;
}

static uint64_t table_bytes(const struct policy *p)
{
	uint64_t n = p->n_ports, bytes = TABLES_FIXED + n * POLICY_PORT_BYTES +
					 n * n * POLICY_PAIR_BYTES;

	for (unsigned i = 0; i < n; i++)
		bytes += punt_ring_bytes(p->ports[i].punts);
	return bytes > TABLES_BYTES ? bytes : TABLES_BYTES;
}

struct memory_plan memory_plan(const struct config *c, const struct policy *p)
{
	struct memory_plan m = {.n_frames = policy_max_frames(p)};
	uint64_t workers = p->n_workers;

	for (unsigned i = 0; i < config_n_ports(c); i++) {
		struct config_port_open o = config_port(c, i);

		m.n_frames += o.apart ? live_apart_frames()
				      : live_device_frames(o.device, o.tx_ring_bytes, o.rx_ring);
		if (o.apart)
			m.apart_bytes +=
				live_apart_bytes(o.tx_ring_bytes, o.rx_ring, o.max_frame);
		if (o.max_frame > m.max_frame)
			m.max_frame = o.max_frame;
	}
	m.frame_bytes = live_frame_bytes(m.max_frame);
	m.pool_bytes = live_pool_bytes(m.n_frames, m.max_frame);
	m.record_bytes = m.n_frames * (uint64_t)FRAME_RECORD_BYTES * workers * workers;
	m.table_bytes = table_bytes(p);
	m.flow_bytes = config_flow_bytes(p);
	m.total_bytes = m.pool_bytes + m.record_bytes + m.table_bytes + m.flow_bytes;
	m.huge_bytes = m.total_bytes + LIVE_EAL_MB * (uint64_t)MEBIBYTE +
		       workers * LIVE_WORKER_MB * MEBIBYTE;
	m.normal_bytes = LIVE_NORMAL_PAGES * m.huge_bytes;
	return m;
}
