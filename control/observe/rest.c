// SPDX-License-Identifier: Apache-2.0
// Rows about what did not pass as data: drops, control frames, hints, addresses, the balance.
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

static const struct field drop_rows[] = {
	FIELD(drop_counters, packets, FIELD_CTR),
	FIELD(drop_counters, bytes, FIELD_CTR),
};
const struct field_table drop_fields = FIELD_TABLE(drop_rows);

static const struct field control_rows[] = {
	FIELD(port_counters, pfc_malformed, FIELD_CTR),
	FIELD(port_counters, pause_8023x, FIELD_CTR),
	{"other", FIELD_CTR, offsetof(struct port_counters, other_control)},
};
const struct field_table control_fields = FIELD_TABLE(control_rows);

static const struct field hint_rows[] = {
	FIELD(port_counters, roce_in_lossy_class, FIELD_CTR),
	FIELD(port_counters, roce_not_ect, FIELD_CTR),
};
const struct field_table hint_fields = FIELD_TABLE(hint_rows);

static void drop_row(const struct show *s, unsigned port, unsigned cls, struct json_object *list)
{
	const struct observe *o = s->o;

	for (unsigned r = 0; r < N_DROP_REASONS; r++) {
		const struct drop_counters *live = switch_drops(o->sw, port, cls, r);
		const struct drop_counters *base = &o->base[port].drops[cls][r];
		struct json_object *row;

		if (ctr_get(&live->packets) == ctr_get(&base->packets))
			continue;
		row = row_in(list);
		row_text(row, "port", port_name(o, port));
		row_u64(row, "class", cls);
		row_text(row, "reason", drop_info[r].name);
		field_emit(row, &drop_fields, live, base);
		row_bool(row, "lossless",
			 drop_info[r].loss &&
				 (o->policy->ports[port].classify.lossless >> cls & 1) != 0);
	}
}

void show_drops(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "drops");

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			drop_row(s, port, cls, list);
}

// A driver that steers frames to the host's stack takes LLDP before the switch can count it.
static uint64_t lldp_frames(const struct observe *o, unsigned port)
{
	const struct switch_port *p = switch_port(o->sw, port);
	const struct port_baseline *b = &o->base[port];
	struct port_drv_stats drv = {0};

	p->ops->stats(p->drv, &drv);
	return ctr_get(&switch_port_counters(o->sw, port)->lldp) - ctr_get(&b->port.lldp) +
	       drv.rx_to_kernel - b->drv.rx_to_kernel;
}

void show_control(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "control");

	for (unsigned port = s->first; port < s->last; port++) {
		const struct pfc_rx_state *rx = switch_pfc_rx(s->o->sw, port);
		const struct port_baseline *b = &s->o->base[port];
		struct json_object *row = row_in(list);

		row_text(row, "port", port_name(s->o, port));
		row_u64(row, "pfc_ignored_lossy",
			ctr_get(&rx->ignored_lossy) - b->pfc_ignored_lossy);
		row_u64(row, "pfc_empty_vector",
			ctr_get(&rx->empty_vector) - b->pfc_empty_vector);
		row_u64(row, "lldp", lldp_frames(s->o, port));
		field_emit(row, &control_fields, switch_port_counters(s->o->sw, port), &b->port);
	}
}

void show_hints(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "hints");

	for (unsigned port = s->first; port < s->last; port++) {
		struct json_object *row = row_in(list);

		row_text(row, "port", port_name(s->o, port));
		field_emit(row, &hint_fields, switch_port_counters(s->o->sw, port),
			   &s->o->base[port].port);
	}
}

// ---- addresses

struct fdb_show {
	const struct show *s;
	struct json_object *list;
};

static void fdb_row_out(void *arg, const struct fdb_row *r)
{
	struct fdb_show *f = arg;
	struct json_object *row;
	char mac[18];

	if (r->port < f->s->first || r->port >= f->s->last)
		return;
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", r->mac[0], r->mac[1],
		 r->mac[2], r->mac[3], r->mac[4], r->mac[5]);
	row = row_in(f->list);
	row_text(row, "mac", mac);
	row_u64(row, "vlan", r->vid);
	row_text(row, "port", port_name(f->s->o, r->port));
	row_bool(row, "static", r->is_static);
	row_u64(row, "age_s", r->is_static ? 0 : r->age_ns / 1000000000u);
}

void show_fdb(const struct show *s, struct json_object *out)
{
	struct fdb_show f = {.s = s, .list = list_in(out, "fdb")};

	switch_fdb_walk(s->o->sw, s->now_ns, fdb_row_out, &f);
}

// ---- the balance

struct json_object *observe_balance(const struct weir_switch *sw)
{
	struct balance b = switch_balance(sw);
	struct json_object *row = json_object_new_object();

	row_u64(row, "received", b.received);
	row_u64(row, "generated", b.generated);
	row_u64(row, "replicated", b.replicated);
	row_u64(row, "transmitted", b.transmitted);
	row_u64(row, "consumed", b.consumed);
	row_u64(row, "dropped", b.dropped);
	row_u64(row, "queued", b.queued);
	row_bool(row, "balanced", balance_begun(&b) == balance_ended(&b));
	return row;
}

void show_balance(const struct show *s, struct json_object *out)
{
	json_object_object_add(out, "balance", observe_balance(s->o->sw));
}

static const char *waiting_reason(const struct weir_switch *sw, unsigned port, unsigned q)
{
	if (!switch_link_up(sw, port))
		return "link down";
	if (!switch_tx_enabled(sw, port, -1))
		return "port TX-disabled";
	if (!switch_tx_enabled(sw, port, (int)q))
		return "queue TX-disabled";
	if (switch_queue_paused(sw, port, q))
		return "paused by the peer";
	return "waiting for the port's turn, rate or driver";
}

static void waiting_row(struct json_object *list, const char *port, int queue, uint64_t packets,
			const char *reason)
{
	struct json_object *row;

	if (packets == 0)
		return;
	row = row_in(list);
	row_text(row, "port", port);
	json_object_object_add(row, "queue", json_object_new_int(queue));
	row_u64(row, "packets", packets);
	row_text(row, "reason", reason);
}

struct json_object *observe_waiting(const struct weir_switch *sw)
{
	const struct policy *pol = switch_policy(sw);
	struct json_object *list = json_object_new_array();

	for (unsigned port = 0; port < pol->n_ports; port++) {
		uint64_t all = gauge_get(&switch_port_counters(sw, port)->queued);
		const char *name = pol->ports[port].name;

		for (unsigned q = 0; q < N_QUEUES; q++) {
			uint64_t n = gauge_get(&switch_queue_counters(sw, port, q)->length_packets);

			waiting_row(list, name, (int)q, n, waiting_reason(sw, port, q));
			all = all > n ? all - n : 0;
		}
		waiting_row(list, name, -1, all, "refused by the driver, sent when it has room");
	}
	return list;
}
