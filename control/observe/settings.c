// SPDX-License-Identifier: Apache-2.0
// Rows about the policy that runs, as it was compiled: VLANs, maps of classes, PFC, WRED and ECN,
// the buffer.
#include <json-c/json.h>
#include <stdio.h>

#include "control/observe/observe_impl.h"

static bool is_mapped(const uint8_t map[N_CLASSES], unsigned to)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (map[c] == to)
			return true;
	return false;
}

static void row_null(struct json_object *row, const char *key)
{
	json_object_object_add(row, key, NULL);
}

static void row_map(struct json_object *row, const char *key, const uint8_t *map, unsigned n)
{
	struct json_object *list = list_in(row, key);

	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(map[i]));
}

// ---- VLANs

static bool is_member(const struct policy_port *p, unsigned vid)
{
	return !p->routed && (p->vlan.untagged == vid || vlan_bit(p->vlan.tagged, vid));
}

static bool has_shown_member(const struct show *s, unsigned vid)
{
	for (unsigned port = s->first; port < s->last; port++)
		if (is_member(&policy_of(s->o)->ports[port], vid))
			return true;
	// VLAN 1 is that of ports without `vlan`. The policy names the others.
	return vid != 1 && s->first == 0 && s->last == policy_of(s->o)->n_ports;
}

static void vlan_row(const struct show *s, unsigned vid, struct json_object *row)
{
	const struct policy *p = policy_of(s->o);
	struct json_object *tagged, *untagged;

	row_u64(row, "vlan", vid);
	untagged = list_in(row, "untagged");
	tagged = list_in(row, "tagged");
	for (unsigned port = 0; port < p->n_ports; port++) {
		const struct policy_port *pp = &p->ports[port];

		if (is_member(pp, vid))
			json_object_array_add(pp->vlan.untagged == vid ? untagged : tagged,
					      json_object_new_string(pp->name));
	}
	row_bool(row, "flood", !vlan_bit(p->flood_off, vid));
}

void show_vlan(const struct show *s, struct json_object *out)
{
	const struct policy *p = policy_of(s->o);
	struct json_object *list = list_in(out, "vlan");

	for (unsigned vid = 1; p->vlan_aware && vid < N_VLANS; vid++)
		if (vlan_bit(p->vlan_exists, vid) && has_shown_member(s, vid))
			vlan_row(s, vid, row_in(list));
}

// ---- maps of classes

void show_qos(const struct show *s, struct json_object *out)
{
	static const char *const trust_name[] = {
		[TRUST_DSCP] = "dscp", [TRUST_PCP] = "pcp", [TRUST_PORT] = "port"};
	struct json_object *list = list_in(out, "qos");

	for (unsigned port = s->first; port < s->last; port++) {
		const struct policy_port *pp = &policy_of(s->o)->ports[port];
		const struct classify_params *c = &pp->classify;
		struct json_object *row = row_in(list), *lossless;

		row_text(row, "port", pp->name);
		row_text(row, "profile", pp->profile);
		row_text(row, "trust", trust_name[c->trust]);
		row_u64(row, "default_class", c->default_class);
		lossless = list_in(row, "lossless");
		for (int cls = 0; cls < N_CLASSES; cls++)
			if (c->lossless >> cls & 1)
				json_object_array_add(lossless, json_object_new_int(cls));
		row_map(row, "dscp_to_class", c->dscp_to_class, 64);
		row_map(row, "pcp_to_class", c->pcp_to_class, 8);
		row_map(row, "class_to_queue", c->class_to_queue, N_CLASSES);
		row_map(row, "class_to_pg", c->class_to_pg, N_CLASSES);
	}
}

// ---- PFC

void show_pfc_status(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "pfc_status");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			const struct policy_port *pp = &policy_of(s->o)->ports[port];
			const struct port_facts *facts = &switch_port(s->o->sw, port)->facts;
			bool rx = pp->pfc.rx >> cls & 1, tx = pp->pfc.tx >> cls & 1;
			struct json_object *row;

			if (!(pp->classify.lossless >> cls & 1))
				continue;
			row = row_in(list);
			row_text(row, "port", pp->name);
			row_u64(row, "class", cls);
			row_text(row, "profile", pp->profile);
			row_bool(row, "rx", rx && facts->pfc_rx);
			row_bool(row, "tx", tx && facts->pfc_tx);
			row_bool(row, "rx_policy", rx);
			row_bool(row, "tx_policy", tx);
		}
}

// ---- WRED and ECN

static void ecn_curve(const struct wred_params *w, const struct wred_curve *c,
		      struct json_object *row)
{
	if (!w->enabled) {
		row_null(row, "kmin_bytes");
		row_null(row, "kmax_bytes");
		row_null(row, "pmax_percent");
		return;
	}
	row_u64(row, "kmin_bytes", c->kmin_bytes);
	row_u64(row, "kmax_bytes", c->kmax_bytes);
	// The policy has millionths.
	json_object_object_add(
		row, "pmax_percent",
		json_object_new_double((double)((c->pmax_q32 * 1000000 + (1ull << 31)) >> 32) /
				       10000));
}

static void ecn_row(const struct show *s, unsigned port, unsigned q, unsigned color,
		    const char *color_name, struct json_object *row)
{
	const struct policy_port *pp = &policy_of(s->o)->ports[port];
	const struct wred_params *w = &pp->queue[q].wred;

	row_text(row, "port", pp->name);
	row_u64(row, "queue", q);
	row_text(row, "color", color_name);
	row_u64(row, "class", class_of(pp->classify.class_to_queue, q));
	row_text(row, "profile", pp->profile);
	row_bool(row, "wred", w->enabled);
	row_bool(row, "ecn", w->enabled && w->ecn);
	ecn_curve(w, &w->curve[color], row);
	row_u64(row, "weight", w->weight);
	row_text(row, "mark_at", w->mark_at_dequeue ? "dequeue" : "enqueue");
	row_text(row, "above_kmax", w->above_kmax_all ? "all" : "pmax");
	row_text(row, "not_ect", w->not_ect_drop ? "drop" : "pass");
}

static bool same_curve(const struct wred_curve *a, const struct wred_curve *b)
{
	return a->kmin_bytes == b->kmin_bytes && a->kmax_bytes == b->kmax_bytes &&
	       a->pmax_q32 == b->pmax_q32;
}

static void ecn_rows(const struct show *s, unsigned port, unsigned q, struct json_object *list)
{
	static const char *const color_name[N_COLORS] = {"green", "yellow", "red"};
	const struct wred_curve *c = policy_of(s->o)->ports[port].queue[q].wred.curve;

	if (same_curve(&c[GREEN], &c[YELLOW]) && same_curve(&c[GREEN], &c[RED])) {
		ecn_row(s, port, q, GREEN, "all", row_in(list));
		return;
	}
	for (unsigned color = 0; color < N_COLORS; color++)
		ecn_row(s, port, q, color, color_name[color], row_in(list));
}

void show_ecn(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "ecn");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (is_mapped(policy_of(s->o)->ports[port].classify.class_to_queue, q))
				ecn_rows(s, port, q, list);
}

// ---- the buffer

static void pg_config_row(const struct show *s, unsigned port, unsigned pg,
			  struct json_object *row)
{
	const struct policy_port *pp = &policy_of(s->o)->ports[port];
	const struct pg_params *p = &pp->pg[pg];
	uint64_t cell = policy_of(s->o)->cell.bytes;
	char alpha[8];

	row_text(row, "port", pp->name);
	row_u64(row, "pg", pg);
	row_u64(row, "class", class_of(pp->classify.class_to_pg, pg));
	row_text(row, "profile", pp->profile);
	row_bool(row, "lossless", p->lossless);
	row_u64(row, "min_bytes", p->min_cells * cell);
	if (p->shared.dynamic) {
		int log2 = p->shared.alpha_log2;

		snprintf(alpha, sizeof(alpha), log2 < 0 ? "1/%d" : "%d",
			 1 << (log2 < 0 ? -log2 : log2));
		row_text(row, "alpha", alpha);
		row_null(row, "static_bytes");
	} else {
		row_null(row, "alpha");
		row_u64(row, "static_bytes", p->shared.static_cells * cell);
	}
	row_u64(row, "headroom_bytes", p->xoff_cells * cell);
	row_u64(row, "xon_bytes", p->xon_cells * cell);
	row_u64(row, "xon_offset_bytes", p->xon_offset_cells * cell);
}

void show_buffers_config(const struct show *s, struct json_object *out)
{
	const struct policy *p = policy_of(s->o);
	struct json_object *list = list_in(out, "pg_config");
	struct json_object *buffer = json_object_new_object();

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++)
			if (is_mapped(p->ports[port].classify.class_to_pg, pg))
				pg_config_row(s, port, pg, row_in(list));
	json_object_object_add(out, "buffer", buffer);
	row_u64(buffer, "size_bytes", (uint64_t)p->buffer.total_cells * p->cell.bytes);
	row_u64(buffer, "cell_bytes", p->cell.bytes);
	row_u64(buffer, "ingress_pool_bytes",
		(uint64_t)p->buffer.ingress_pool_cells * p->cell.bytes);
	row_u64(buffer, "headroom_pool_bytes",
		(uint64_t)p->buffer.headroom_pool_cells * p->cell.bytes);
	row_u64(buffer, "egress_lossy_bytes",
		(uint64_t)p->buffer.egress_lossy_cells * p->cell.bytes);
	row_u64(buffer, "egress_lossless_bytes",
		(uint64_t)p->buffer.total_cells * p->cell.bytes);
}
