// SPDX-License-Identifier: Apache-2.0
#include "control/config/compile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/check.h"
#include "control/config/flood.h"
#include "control/config/guards.h"
#include "control/config/ipcc.h"
#include "control/config/watchdogs.h"
#include "dataplane/units.h"

// A worker takes at most this many frames in one burst beyond what the ring holds.
enum { BURST_FRAMES = 64 };

static uint64_t port_speed(struct compiler *k, unsigned i)
{
	const struct cfg_port *item = k->c->ports[i].item;

	if (item->speed.n != 0)
		return (uint64_t)item->speed.n;
	if (k->facts != NULL && k->facts[i].speed_bps != 0)
		return k->facts[i].speed_bps;
	if (k->assumed_speed_bps != 0) {
		check_report(k->s, DIAG_WARNING, &item->map, "speed", item->map.at,
			     "is the link's: the headroom of %s is known when it opens",
			     k->c->ports[i].name);
		return k->assumed_speed_bps;
	}
	check_report(k->s, DIAG_ERROR, &item->map, "speed", item->map.at,
		     k->facts != NULL ? "is required because the link of %s has none"
				      : "is the link's, and no device is opened here: give %s a "
					"speed to see its numbers",
		     k->c->ports[i].name);
	return 1000000; // any, so that the rest can still be looked at
}

static bool remarks(const struct classify_params *p)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (p->remark_pcp[c] != REMARK_NONE || p->remark_dscp[c] != REMARK_NONE)
			return true;
	return false;
}

static void compile_classify(const struct config_port *port, struct classify_params *out)
{
	const struct cfg_profile *p = port->profile;

	out->trust = (uint8_t)p->trust.n;
	out->default_class = (uint8_t)port->item->default_class.n;
	out->control_class = out->default_class;
	for (unsigned d = 0; d < 64; d++) {
		out->dscp_to_class[d] = (uint8_t)cfg_dscp_class(p, d);
		out->dscp_to_color[d] = p->dscp_to_color.v[d]; // 0 is green
	}
	for (unsigned c = 0; c < N_CLASSES; c++) {
		const struct cfg_remark *r = &p->remark;

		out->lossless |= (uint8_t)(p->classes[c].lossless.n ? 1u << c : 0);
		if (!p->classes[c].lossless.n)
			out->control_class = (uint8_t)c;
		out->pcp_to_class[c] = (uint8_t)cfg_mapped(&p->pcp_to_class, c);
		out->class_to_queue[c] = (uint8_t)cfg_mapped(&p->class_to_queue, c);
		out->class_to_pg[c] = (uint8_t)cfg_mapped(&p->class_to_pg, c);
		out->remark_pcp[c] = r->pcp_is_class.given ? (uint8_t)c : REMARK_NONE;
		if (r->pcp.set >> c & 1)
			out->remark_pcp[c] = r->pcp.v[c];
		out->remark_dscp[c] = r->dscp.set >> c & 1 ? r->dscp.v[c] : REMARK_NONE;
	}
}

// A queue waits for frames of others even when it has tokens; two frames' worth of them may wait
// with it, or it would fall short of its rate.
static struct shaper_params queue_shaper(const struct cfg_val *rate, uint64_t burst_ns,
					 uint32_t max_frame)
{
	uint64_t two_frames_ns = 2 * max_frame * 8000000000ull / (uint64_t)rate->n;

	return shaper_of((uint64_t)rate->n, two_frames_ns > burst_ns ? two_frames_ns : burst_ns);
}

// The scheduler of the system keeps a poll loop for milliseconds. A slow port makes up for them, by
// no more bytes than a port of 2 Gb/s has in its burst. Faster ports keep the driver's burst.
static uint64_t port_burst_ns(const struct port_facts *f, uint64_t speed_bps)
{
	uint64_t slow_ns = f->shaper_burst_ns * 2000000000ull / speed_bps;
	uint64_t late_ns = slow_ns < f->shaper_late_ns ? slow_ns : f->shaper_late_ns;

	return late_ns > f->shaper_burst_ns ? late_ns : f->shaper_burst_ns;
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

static void compile_rx_guard(const struct cfg_port *item, const struct port_facts *f,
			     struct policy_port *out)
{
	uint64_t share = item->rx_guard.n == CFG_WORD_VALUE ? 0 : (uint64_t)item->rx_guard.n;

	if (f == NULL || !f->rx_depth_readable)
		return;
	out->rx_guard_on = (uint32_t)(f->rx_ring * share / PPM);
	out->rx_guard_off = f->rx_ring / 4;
	if (out->rx_guard_off > out->rx_guard_on / 2)
		out->rx_guard_off = out->rx_guard_on / 2;
}

static void check_facts(struct compiler *k, unsigned i, const struct port_facts *f)
{
	const struct cfg_port *item = k->c->ports[i].item;
	const struct policy_port *out = &k->p->ports[i];
	struct cfg_pos at = item->mtu.given ? item->mtu.at : item->map.at;

	if (f->max_frame != 0 && f->max_frame < out->max_frame)
		check_report(k->s, DIAG_ERROR, &item->map, "mtu", at,
			     "MTU %u needs frames of %u B, but %s was opened for at most %u B: "
			     "%u is the largest MTU until a restart",
			     out->mtu, out->max_frame, out->device, f->max_frame,
			     f->max_frame > FRAME_OVERHEAD ? f->max_frame - FRAME_OVERHEAD : 0);
	if (out->pfc.tx != 0 && !f->pfc_tx)
		check_report(k->s, DIAG_WARNING, &item->map, "device", item->device.at,
			     "%s cannot send PFC frames: its lossless classes can lose frames",
			     out->device);
	if (out->pfc.rx != 0 && !f->pfc_rx)
		check_report(k->s, DIAG_WARNING, &item->map, "device", item->device.at,
			     "%s does not deliver PFC frames: the switch cannot obey them",
			     out->device);
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
	compile_rx_guard(item, f, out);
	compile_classify(port, &out->classify);
	out->edits = cfg_vlan_aware(k->c) || remarks(&out->classify);
	compile_sched(port->profile, burst_ns, out);
	out->shaper = shaper_of(out->speed_bps,
				f == NULL ? 0 : port_burst_ns(f, out->speed_bps));
	pfc_params_init(&out->pfc, out->speed_bps, (uint16_t)port->profile->pfc.quanta.n);
	out->pfc.lossless = out->classify.lossless;
	out->pfc.tx = port->profile->pfc.tx.n ? out->pfc.lossless : 0;
	out->pfc.rx = port->profile->pfc.rx.n ? out->pfc.lossless : 0;
	if (f != NULL)
		check_facts(k, i, f);
}

void compile_ports(struct compiler *k)
{
	for (unsigned i = 0; i < k->c->n_ports; i++)
		compile_port(k, i);
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

	if (n == 0)
		return;
	k->p->fdb = calloc(n, sizeof(*k->p->fdb));
	if (k->p->fdb == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		struct policy_fdb_entry *e = &k->p->fdb[i];

		e->port = (uint8_t)cfg_find_port(k->c, f[i].port.text);
		e->vid = cfg_fdb_vid(k->c, &f[i]);
		// config_check has refused what cannot be parsed.
		(void)cfg_parse_mac(f[i].mac.text, e->mac);
	}
	k->p->n_fdb = n;
}

void compile_forwarding(struct compiler *k)
{
	compile_vlans(k);
	compile_fdb(k);
}

// ---- the whole
static uint64_t off_or_ns(const struct cfg_val *v)
{
	return v->n == CFG_WORD_VALUE ? 0 : (uint64_t)v->n;
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
}

int compile_policy(const struct config *c, const struct port_facts *facts,
		   uint64_t assumed_speed_bps, struct policy **out, struct diags *d)
{
	struct diag_sink s = {.file = c->file};
	struct compiler k = {c, facts, assumed_speed_bps, NULL, &s};
	bool ok;

	k.p = calloc(1, sizeof(*k.p) + c->n_ports * sizeof(k.p->ports[0]));
	if (k.p == NULL)
		return -ENOMEM;
	compile_switch(&k);
	compile_ports(&k);
	compile_pools(&k);
	compile_groups_and_queues(&k);
	compile_forwarding(&k);
	compile_routes(&k);
	compile_flood(&k);
	compile_limits(&k);
	compile_watchdogs(&k);
	compile_guards(&k);
	compile_ipcc(&k);
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
	free(p->guard_groups);
	free(p->pairs);
	compile_routes_free(&p->routes);
	free(p);
}
