// SPDX-License-Identifier: Apache-2.0
// Rows about what did not pass as data: drops, control frames, hints, addresses, the balance.
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"

// ---- drops

// What one call has met, by reason and in all.
struct drop_sums {
	struct json_object *list;
	uint64_t packets[N_DROP_REASONS], bytes[N_DROP_REASONS];
	uint64_t lossless_packets, lossless_bytes;
};

static bool drop_wanted(const struct show *s, uint64_t packets, bool alarm)
{
	return packets != 0 || (s->flags & OBSERVE_ALL_ROWS) != 0 ||
	       (alarm && (s->flags & OBSERVE_ALARM_ROWS) != 0);
}

static void drop_row(const struct show *s, unsigned port, unsigned cls, unsigned reason,
		     struct drop_sums *sums)
{
	const struct drop_counters *live = switch_drops(s->o->sw, port, cls, reason);
	const struct drop_counters *base = &baseline(s, port)->drops[cls][reason];
	uint64_t packets = ctr_get(&live->packets) - ctr_get(&base->packets);
	uint64_t bytes = ctr_get(&live->bytes) - ctr_get(&base->bytes);
	bool lossless = policy_of(s->o)->ports[port].classify.lossless >> cls & 1;
	bool alarm = drop_info[reason].loss && lossless;
	struct json_object *row;

	sums->packets[reason] += packets;
	sums->bytes[reason] += bytes;
	sums->lossless_packets += alarm ? packets : 0;
	sums->lossless_bytes += alarm ? bytes : 0;
	if (!drop_wanted(s, packets, alarm))
		return;
	row = row_in(sums->list);
	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "class", cls);
	row_text(row, "reason", drop_info[reason].name);
	row_u64(row, "packets", packets);
	row_u64(row, "bytes", bytes);
	row_bool(row, "lossless", alarm);
}

static void drop_summary(const struct show *s, const struct drop_sums *sums,
			 struct json_object *out)
{
	struct json_object *reasons = list_in(out, "reasons");
	struct json_object *total = json_object_new_object();
	uint64_t packets = 0, bytes = 0;

	for (unsigned r = 0; r < N_DROP_REASONS; r++) {
		struct json_object *row;

		packets += sums->packets[r];
		bytes += sums->bytes[r];
		if (!drop_wanted(s, sums->packets[r], false))
			continue;
		row = row_in(reasons);
		row_text(row, "reason", drop_info[r].name);
		row_u64(row, "packets", sums->packets[r]);
		row_u64(row, "bytes", sums->bytes[r]);
		row_text(row, "text", drop_info[r].help);
	}
	row_u64(total, "packets", packets);
	row_u64(total, "bytes", bytes);
	row_u64(total, "lossless_packets", sums->lossless_packets);
	row_u64(total, "lossless_bytes", sums->lossless_bytes);
	json_object_object_add(out, "total", total);
}

void show_drops(const struct show *s, struct json_object *out)
{
	struct drop_sums sums = {.list = list_in(out, "drops")};

	for (unsigned port = s->first; port < s->last; port++)
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			for (unsigned r = 0; r < N_DROP_REASONS; r++)
				drop_row(s, port, cls, r, &sums);
	drop_summary(s, &sums, out);
}

// ---- control frames

// A driver that steers frames to the host's stack takes LLDP before the switch can count it.
static uint64_t lldp_frames(const struct show *s, unsigned port)
{
	return ctr_get(&switch_port_counters(s->o->sw, port)->lldp) -
	       ctr_get(&baseline(s, port)->port.lldp) +
	       steering_count(s, port, PORT_REASON_LLDP);
}

void show_control(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "control");

	for (unsigned port = s->first; port < s->last; port++) {
		const struct pfc_rx_state *rx = switch_pfc_rx(s->o->sw, port);
		const struct port_baseline *b = baseline(s, port);
		struct json_object *row = row_in(list);

		row_text(row, "port", port_name(s->o, port));
		row_u64(row, "pfc_ignored_lossy",
			ctr_get(&rx->ignored_lossy) - b->pfc_ignored_lossy);
		row_u64(row, "pfc_empty_vector",
			ctr_get(&rx->empty_vector) - b->pfc_empty_vector);
		row_u64(row, "lldp", lldp_frames(s, port));
		facts_emit_counters(row, &fact_lists[FACTS_CONTROL],
				    switch_port_counters(s->o->sw, port), &b->port);
	}
	show_steering(s, out);
}

void show_hints(const struct show *s, struct json_object *out)
{
	struct json_object *list = list_in(out, "hints");

	for (unsigned port = s->first; port < s->last; port++) {
		struct json_object *row = row_in(list);

		row_text(row, "port", port_name(s->o, port));
		facts_emit_counters(row, &fact_lists[FACTS_HINTS],
				    switch_port_counters(s->o->sw, port), &baseline(s, port)->port);
		row_u64(row, "merged_segments", steering_count(s, port, PORT_REASON_MERGED));
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

static void fdb_port_row(const struct show *s, unsigned port, struct json_object *list)
{
	const struct fdb_port *p = switch_fdb_port(s->o->sw, port);
	const struct fact_list *facts = &fact_lists[FACTS_FDB_PORTS];
	struct json_object *row = row_in(list);

	row_text(row, "port", port_name(s->o, port));
	row_u64(row, "share", p->share);
	row_u64(row, "limit", p->limit);
	facts_emit_gauges(row, facts, &p->c, 1);
	facts_emit_counters(row, facts, &p->c, &baseline(s, port)->fdb);
}

void show_fdb(const struct show *s, struct json_object *out)
{
	struct fdb_show f = {.s = s, .list = list_in(out, "fdb")};
	struct json_object *ports = list_in(out, "fdb_ports");

	switch_fdb_walk(s->o->sw, s->now_ns, fdb_row_out, &f);
	for (unsigned port = s->first; port < s->last; port++)
		fdb_port_row(s, port, ports);
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

// ---- the switch itself

static void row_text_or_null(struct json_object *row, const char *key, const char *v)
{
	json_object_object_add(row, key, v != NULL ? json_object_new_string(v) : NULL);
}

void show_version(const struct show *s, struct json_object *out)
{
	const struct observe *o = s->o;
	uint64_t end_ns = o->about.confirm_end_ns;
	struct json_object *row = json_object_new_object();

	row_text(row, "name", policy_of(o)->name);
	row_text_or_null(row, "version", o->about.version);
	row_text_or_null(row, "policy_file", o->about.policy_file);
	row_u64(row, "uptime_ms", (s->real_ns - o->about.start_ns) / 1000000);
	row_u64(row, "ports", policy_of(o)->n_ports);
	row_u64(row, "workers", switch_n_workers(o->sw));
	row_bool(row, "held", switch_admission_held(o->sw));
	row_bool(row, "drop_all", switch_watchdog_drops_all(o->sw));
	row_u64(row, "confirm_in_ms", end_ns > s->real_ns ? (end_ns - s->real_ns) / 1000000 : 0);
	json_object_object_add(out, "version", row);
}
