// SPDX-License-Identifier: Apache-2.0
// The facts of the policy that runs, as it was compiled: VLANs, maps of classes, PFC, WRED and ECN,
// the buffer.
#include <json-c/json.h>
#include <stdio.h>

#include "control/config/addr.h"
#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

static bool is_mapped(const uint8_t map[N_CLASSES], unsigned to)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (map[c] == to)
			return true;
	return false;
}

static struct json_object *map_list(const uint8_t *map, unsigned n)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(map[i]));
	return list;
}

struct json_object *class_list(uint8_t classes)
{
	struct json_object *list = json_object_new_array();

	for (int cls = 0; cls < N_CLASSES; cls++)
		if (classes >> cls & 1)
			json_object_array_add(list, json_object_new_int(cls));
	return list;
}

// ---- VLANs

static bool is_member(const struct policy_port *p, unsigned vid)
{
	return !p->routed && (p->vlan.untagged == vid || vlan_bit(p->vlan.tagged, vid));
}

// The ports that carry VLAN a->i, tagged or untagged.
static struct json_object *members(const struct at *a, bool tagged)
{
	struct json_object *list = json_object_new_array();

	for (unsigned port = 0; port < a->pol->n_ports; port++) {
		const struct policy_port *pp = &a->pol->ports[port];

		if (is_member(pp, a->i) && (pp->vlan.untagged != a->i) == tagged)
			json_object_array_add(list, json_object_new_string(pp->name));
	}
	return list;
}

// The SVI of VLAN a->i, or NULL.
static const struct policy_svi *svi_of(const struct at *a)
{
	unsigned no = policy_svi_of(a->pol, a->i);

	return no == 0 ? NULL : &a->pol->svis[no - IFACE_SVI];
}

static struct json_object *svi_addrs(const struct at *a)
{
	struct json_object *list = json_object_new_array();
	const struct policy_svi *svi = svi_of(a);
	char text[ADDR_TEXT_LEN];

	for (unsigned i = 0; svi != NULL && i < svi->n_addrs; i++)
		json_object_array_add(list,
				      json_object_new_string(addr_text(&svi->addrs[i], text)));
	return list;
}

static bool has_shown_member(const struct show *s, unsigned vid)
{
	for (unsigned port = s->first; port < s->last; port++)
		if (is_member(&policy_of(s->o)->ports[port], vid))
			return true;
	// VLAN 1 is that of ports without `vlan`. The policy names the others.
	return vid != 1 && s->first == 0 && s->last == policy_of(s->o)->n_ports;
}

// ---- the values

static const char *const trust_name[] = {
	[TRUST_DSCP] = "dscp", [TRUST_PCP] = "pcp", [TRUST_PORT] = "port"};

// The policy has millionths.
static double percent_of_q32(uint64_t q32)
{
	return (double)((q32 * PPM + (1ull << 31)) >> 32) / 10000;
}

static struct json_object *alpha_text(int log2)
{
	char alpha[8];

	snprintf(alpha, sizeof(alpha), log2 < 0 ? "1/%d" : "%d", 1 << (log2 < 0 ? -log2 : log2));
	return json_object_new_string(alpha);
}

#define IN_CLASS(bitmap) (a->pp->bitmap >> a->i & 1)
#define CURVE(e) MAYBE(a->wred->enabled, e)
#define PG a->pp->pg[a->i]

#define FACTS_OF "control/observe/settings.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

// ---- the answers

void show_vlan(const struct show *s, struct json_object *out)
{
	const struct policy *p = policy_of(s->o);
	struct json_object *rows = rows_in(out, FACTS_VLAN);

	for (unsigned vid = 1; p->vlan_aware && vid < N_VLANS; vid++)
		if (vlan_bit(p->vlan_exists, vid) && has_shown_member(s, vid))
			emit(row_in(rows), FACTS_VLAN, &(struct at){.o = s->o, .pol = p, .i = vid});
}

void show_qos(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_QOS);

	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);

		emit(row_in(rows), FACTS_QOS, &a);
	}
}

void show_pfc_status(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_PFC_STATUS);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++) {
			struct at a = at_port(s, port, cls);

			if (a.pp->classify.lossless >> cls & 1)
				emit(row_in(rows), FACTS_PFC_STATUS, &a);
		}
}

static bool same_curve(const struct wred_curve *a, const struct wred_curve *b)
{
	return a->kmin_bytes == b->kmin_bytes && a->kmax_bytes == b->kmax_bytes &&
	       a->pmax_q32 == b->pmax_q32;
}

// One row where all colours have the same curve.
static void ecn_rows(const struct show *s, unsigned port, unsigned q, struct json_object *rows)
{
	static const char *const color_name[N_COLORS] = {"green", "yellow", "red"};
	struct at a = at_port(s, port, q);
	const struct wred_params wred =
		autoecn_wred(instance_auto_ecn(s->o->in), a.pol, port, q);
	const struct wred_curve *c = wred.curve;
	bool same = same_curve(&c[GREEN], &c[YELLOW]) && same_curve(&c[GREEN], &c[RED]);

	a.wred = &wred;
	for (unsigned color = 0; color < (same ? 1 : N_COLORS); color++) {
		a.curve = &c[same ? GREEN : color];
		a.color = same ? "all" : color_name[color];
		emit(row_in(rows), FACTS_ECN, &a);
	}
}

void show_ecn(const struct show *s, struct json_object *out)
{
	struct json_object *rows = rows_in(out, FACTS_ECN);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			if (is_mapped(policy_of(s->o)->ports[port].classify.class_to_queue, q))
				ecn_rows(s, port, q, rows);
}

void show_buffers_config(const struct show *s, struct json_object *out)
{
	const struct policy *p = policy_of(s->o);
	struct json_object *rows = rows_in(out, FACTS_PG_CONFIG);

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned pg = 0; pg < N_PGS; pg++) {
			struct at a = at_port(s, port, pg);

			if (is_mapped(a.pp->classify.class_to_pg, pg))
				emit(row_in(rows), FACTS_PG_CONFIG, &a);
		}
	emit(single_in(out, FACTS_BUFFER), FACTS_BUFFER,
	     &(struct at){.pol = p, .cell = p->cell.bytes});
}
