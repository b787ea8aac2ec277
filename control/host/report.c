// SPDX-License-Identifier: Apache-2.0
#include "control/host/inof.h"
#include "control/host/storm.h"

#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

#include "control/inof/wire.h"
#include "control/observe/fact.h"
#include "dataplane/base/bits.h"

// One number of the report: its name in JSON, its line in the table.
struct number {
	const char *name;
	size_t off;
	const char *help;
};

#define N(f, help) {#f, offsetof(struct nic_stats, f), help}
static const struct number numbers[] = {
	N(tx_frames, "frames sent"),
	N(rx_frames, "frames received"),
	N(messages_posted, "messages posted"),
	N(messages_completed, "messages completed"),
	N(messages_served, "messages received or served"),
	N(retransmissions, "packets sent again"),
	N(timeouts, "retransmission timeouts"),
	N(naks_sent, "NAKs sent"),
	N(naks_received, "NAKs received"),
	N(out_of_sequence, "packets out of sequence"),
	N(duplicates, "duplicate packets"),
	N(acks_sent, "ACKs sent"),
	N(acks_received, "ACKs received"),
	N(cnps_received, "CNPs received"),
	N(cnps_wrong, "CNPs for no queue pair of its own"),
	N(cnps_late, "CNPs for a queue pair that was closed"),
	N(cnps_sent, "CNPs sent"),
	N(rx_trimmed, "frames that a switch had trimmed"),
	N(icrc_errors, "frames with a wrong iCRC"),
	N(payload_errors, "packets with wrong payload"),
	N(malformed, "malformed frames"),
	N(ignored, "frames for others"),
	N(unknown_qp, "packets for no queue pair"),
	N(refused, "requests refused"),
	N(storm_missed, "PAUSE frames that came too late"),
	N(no_mbuf, "waits for memory"),
	N(connections_accepted, "connections accepted"),
	N(connections_rejected, "connections rejected"),
};
#undef N
enum { N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static const char *const role_name[] = {
	[HOST_LISTEN] = "listener", [HOST_SEND] = "sender", [HOST_STORM] = "storm"};

// The values that both forms of the report show.
struct view {
	const struct host *h;
	struct nic_stats s;
	struct port_drv_stats drv;
	double seconds;
	uint64_t bytes, packets_sent, packets_received, ce_marked;
};

static double mean_bps(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes * 8 / seconds : 0;
}

static double span(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

static uint64_t number_of(const struct nic_stats *s, const struct number *n)
{
	uint64_t v;

	memcpy(&v, (const char *)s + n->off, sizeof(v));
	return v;
}

// The sender's time is from the first post to the last completion, the listener's from
// the first data packet to the last.
static void view_init(struct view *v, const struct host *h)
{
	uint64_t first = UINT64_MAX, last = 0;

	*v = (struct view){.h = h};
	v->s = *nic_stats_now(h->nic);
	h->port.ops->stats(h->port.drv, &v->drv);
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		const struct nic_class_stats *k = &v->s.cls[c];

		v->packets_sent += k->tx_packets;
		v->packets_received += k->rx_packets;
		v->ce_marked += k->ce_marked;
		if (h->args->role != HOST_SEND)
			v->bytes += k->goodput_bytes;
		if (k->rx_packets != 0 && k->first_rx_ns < first)
			first = k->first_rx_ns;
		if (k->last_rx_ns > last)
			last = k->last_rx_ns;
	}
	if (h->args->role == HOST_SEND) {
		v->bytes = v->s.bytes_completed;
		first = v->s.first_post_ns;
		last = v->s.last_complete_ns;
	} else if (h->args->role == HOST_STORM) {
		first = h->start_ns;
		last = h->end_ns;
	}
	v->seconds = span(first, last);
}

static const char *ip_text(struct ip_key ip, char text[INOF_IP_TEXT])
{
	inof_ip_print(ip, text);
	return text;
}

static uint64_t allowed_bps(const struct host *h, const struct nic_flow_status *s)
{
	return s->rate_bps != 0 ? s->rate_bps : h->speed_bps;
}

// ---- JSON

static void put_real(struct json_object *o, const char *key, double v)
{
	json_object_object_add(o, key, json_object_new_double(v));
}

// A number under the name of its member.
#define PUT(o, stats, member) row_u64(o, #member, (stats)->member)

static void put_class(struct json_object *o, const struct nic_class_stats *k)
{
	PUT(o, k, tx_packets);
	PUT(o, k, tx_bytes);
	PUT(o, k, rx_packets);
	PUT(o, k, rx_bytes);
	PUT(o, k, goodput_bytes);
	put_real(o, "goodput_bps", mean_bps(k->goodput_bytes, span(k->first_rx_ns, k->last_rx_ns)));
	PUT(o, k, ce_marked);
}

static bool class_seen(const struct view *v, unsigned c)
{
	const struct nic_class_stats *k = &v->s.cls[c];

	return k->tx_packets + k->rx_packets + ctr_get(&nic_pfc_rx(v->h->nic)->stats[c].frames) +
		       ctr_get(&nic_pfc_tx(v->h->nic)->stats[c].frames) !=
	       0;
}

static void add_class_rows(struct json_object *list, const struct view *v)
{
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		const struct pfc_class_stats *rx = &nic_pfc_rx(v->h->nic)->stats[c];
		const struct pfc_class_stats *tx = &nic_pfc_tx(v->h->nic)->stats[c];
		struct json_object *o;

		if (!class_seen(v, c))
			continue;
		o = row_in(list);
		row_u64(o, KEY(QUEUES, class), c);
		put_class(o, &v->s.cls[c]);
		row_u64(o, KEY(PFC, rx_pause), ctr_get(&rx->frames));
		row_u64(o, KEY(PFC, rx_pause_duration_us), pfc_paused_ns(rx, v->h->end_ns) / US_NS);
		row_u64(o, KEY(PFC, rx_pause_transition), ctr_get(&rx->transitions));
		row_u64(o, KEY(PFC, tx_pause), ctr_get(&tx->frames));
		row_u64(o, KEY(PFC, tx_pause_duration_us), pfc_paused_ns(tx, v->h->end_ns) / US_NS);
		row_u64(o, KEY(PFC, tx_pause_transition), ctr_get(&tx->transitions));
	}
}

static void add_peers(struct json_object *list, const struct view *v)
{
	char ip[INOF_IP_TEXT];

	for (uint32_t i = 0; i < nic_n_peers(v->h->nic); i++) {
		const struct nic_peer *p = nic_peer(v->h->nic, i);

		for (unsigned c = 0; c < NIC_CLASSES; c++) {
			struct json_object *o;

			if (p->cls[c].tx_packets + p->cls[c].rx_packets == 0)
				continue;
			o = row_in(list);
			row_text(o, KEY(NEIGHBOURS, ip), ip_text(p->ip, ip));
			row_u64(o, KEY(QUEUES, class), c);
			put_class(o, &p->cls[c]);
		}
	}
}

static void add_flows(struct json_object *list, const struct view *v)
{
	char ip[INOF_IP_TEXT];

	for (uint32_t i = 0; i < v->h->n_flows; i++) {
		const struct host_flow *f = &v->h->flows[i];
		struct nic_flow_status s = nic_flow_status(v->h->nic, f->id);
		struct json_object *o = row_in(list);

		row_u64(o, KEY(FLOWS, qp), s.qpn);
		row_u64(o, "peer_qp", s.peer_qpn);
		row_text(o, KEY(FLOWS, to), ip_text(f->to, ip));
		row_u64(o, KEY(QUEUES, class), f->cls);
		row_u64(o, KEY(GUARD, dscp), f->dscp);
		row_text(o, KEY(ECN, ecn), nic_ecn_words[v->h->args->ecn]);
		row_u64(o, "messages_posted", s.posted);
		row_u64(o, "messages_completed", s.completed);
		row_u64(o, "cnps", s.cnps);
		row_u64(o, "cc_rate_bps", allowed_bps(v->h, &s));
	}
}

static void add_inof(struct json_object *parent, const struct host *h)
{
	const struct inof_endpoint_stats *e = host_inof_endpoint_stats(h);
	const struct host_inof_stats *s = host_inof_stats(h);
	struct json_object *o = json_object_new_object();

	json_object_object_add(parent, "inof", o);
	PUT(o, e, registrations);
	PUT(o, e, queries);
	PUT(o, e, notices);
	PUT(o, e, acks);
	PUT(o, e, ignored);
	PUT(o, e, begins);
	PUT(o, e, ends);
	PUT(o, e, no_room);
	PUT(o, s, moves);
	PUT(o, s, messages_failed);
	PUT(o, s, longest_outage_us);
}

static void report_host_json(const struct view *v, FILE *out)
{
	struct json_object *o = json_object_new_object(), *list, *times;
	const struct host_args *a = v->h->args;
	const struct hist *c = &v->s.completion;
	char ip[INOF_IP_TEXT];

	row_text(o, "role", role_name[a->role]);
	row_text(o, KEY(PORTS, device), a->device);
	row_text(o, KEY(NEIGHBOURS, ip),
		 ip_text(ip_key_is_zero(a->ip) ? ip_key_v4(0) : a->ip, ip));
	if (!ip_key_is_zero(a->ip6))
		row_text(o, "ip6", ip_text(a->ip6, ip));
	if (a->vlan >= 0)
		row_u64(o, KEY(VLAN, vlan), (uint64_t)a->vlan);
	row_u64(o, KEY(PORTS, speed_bps), v->h->speed_bps);
	row_u64(o, KEY(CLOCK, time_scale), (uint64_t)a->time_scale);
	row_u64(o, "qps", a->role == HOST_SEND ? v->h->n_flows : v->s.connections_accepted);
	list = list_in(o, KEY(QUEUES, class));
	for (unsigned i = 0; i < a->n_classes; i++)
		json_object_array_add(list, json_object_new_int(a->classes[i]));
	list = list_in(o, "pfc");
	for_each_bit (cls, a->pfc)
		json_object_array_add(list, json_object_new_int((int)cls));
	put_real(o, "seconds", v->seconds);
	PUT(o, v, bytes);
	put_real(o, "goodput_bps", mean_bps(v->bytes, v->seconds));
	PUT(o, v, packets_sent);
	PUT(o, v, packets_received);
	PUT(o, v, ce_marked);
	PUT(o, &v->drv, rx_missed);
	PUT(o, &v->drv, tx_errors);
	for (unsigned i = 0; i < N_NUMBERS; i++)
		row_u64(o, numbers[i].name, number_of(&v->s, &numbers[i]));
	times = json_object_new_object();
	json_object_object_add(o, "completion_us", times);
	put_real(times, "p50", (double)hist_quantile(c, 500) / 1e3);
	put_real(times, "p99", (double)hist_quantile(c, 990) / 1e3);
	put_real(times, KEY(FLOW_TABLE, max), (double)c->max_ns / 1e3);
	add_class_rows(list_in(o, "classes"), v);
	add_peers(list_in(o, "peers"), v);
	add_flows(list_in(o, "flows"), v);
	if (v->h->inof != NULL)
		add_inof(o, v->h);
	host_storm_json(v->h, o);
	json_object_object_add(o, "error", v->h->error[0] != '\0'
						   ? json_object_new_string(v->h->error)
						   : NULL);
	fprintf(out, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}

// ---- table

static void table_classes(const struct view *v, FILE *out)
{
	fputs("class    data sent     received      goodput B       CE   "
	      "PAUSE in    paused us  PAUSE out\n", out);
	for (unsigned c = 0; c < NIC_CLASSES; c++) {
		const struct nic_class_stats *k = &v->s.cls[c];
		const struct pfc_class_stats *rx = &nic_pfc_rx(v->h->nic)->stats[c];
		const struct pfc_class_stats *tx = &nic_pfc_tx(v->h->nic)->stats[c];

		if (!class_seen(v, c))
			continue;
		fprintf(out,
			"%-5u %12" PRIu64 " %12" PRIu64 " %14" PRIu64 " %8" PRIu64 " %10" PRIu64
			" %12" PRIu64 " %10" PRIu64 "\n",
			c, k->tx_packets, k->rx_packets, k->goodput_bytes, k->ce_marked,
			ctr_get(&rx->frames), pfc_paused_ns(rx, v->h->end_ns) / US_NS,
			ctr_get(&tx->frames));
	}
}

// As mlnx_qos prints it, with the PAUSE frames below.
static void table_pfc(const struct view *v, FILE *out)
{
	const struct host_args *a = v->h->args;

	fprintf(out, "Priority trust state: %s\nPFC configuration:\n\tpriority",
		a->vlan >= 0 ? "pcp" : "dscp");
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		fprintf(out, " %7u", c);
	fputs("\n\tenabled ", out);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		fprintf(out, " %7u", a->pfc >> c & 1u);
	fputs("\n\treceived", out);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		fprintf(out, " %7" PRIu64, ctr_get(&nic_pfc_rx(v->h->nic)->stats[c].frames));
	fputs("\n\tsent    ", out);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		fprintf(out, " %7" PRIu64, ctr_get(&nic_pfc_tx(v->h->nic)->stats[c].frames));
	fputs("\n", out);
}

static void table_peers(const struct view *v, FILE *out)
{
	char ip[INOF_IP_TEXT];

	for (uint32_t i = 0; i < nic_n_peers(v->h->nic); i++) {
		const struct nic_peer *p = nic_peer(v->h->nic, i);

		for (unsigned c = 0; c < NIC_CLASSES; c++) {
			const struct nic_class_stats *k = &p->cls[c];

			if (k->rx_packets == 0)
				continue;
			fprintf(out,
				"from %-15s class %u: %" PRIu64 " packets, %.1f Mb/s goodput\n",
				ip_text(p->ip, ip), c, k->rx_packets,
				mean_bps(k->goodput_bytes, span(k->first_rx_ns, k->last_rx_ns)) /
					1e6);
		}
	}
}

// The rate that each reaction point allows, if there are few of them.
static void table_congestion(const struct view *v, FILE *out)
{
	enum { FEW = 16 };

	if (v->h->args->cc.flavour == CC_NONE)
		return;
	for (uint32_t i = 0; i < v->h->n_flows && v->h->n_flows <= FEW; i++) {
		struct nic_flow_status s = nic_flow_status(v->h->nic, v->h->flows[i].id);

		fprintf(out, "queue pair 0x%06x: %" PRIu64 " CNPs, %.1f Mb/s allowed\n", s.qpn,
			s.cnps, (double)allowed_bps(v->h, &s) / 1e6);
	}
}

static void table_inof(const struct host *h, FILE *out)
{
	const struct inof_endpoint_stats *e = host_inof_endpoint_stats(h);
	const struct host_inof_stats *s = host_inof_stats(h);

	fprintf(out,
		"iNOF: %" PRIu64 " registrations, %" PRIu64 " notices, %" PRIu64
		" acknowledged\n",
		e->registrations, e->notices, e->acks);
	if (h->args->inof == INOF_INITIATOR)
		fprintf(out,
			"paths: %" PRIu64 " begun, %" PRIu64 " ended, %" PRIu64
			" moves; longest outage %.3f ms, %" PRIu64 " messages failed\n",
			e->begins, e->ends, s->moves, (double)s->longest_outage_us / 1e3,
			s->messages_failed);
}

static void report_table(const struct view *v, FILE *out)
{
	const struct hist *c = &v->s.completion;

	fprintf(out, "%s on %s: %.3f s, %" PRIu64 " bytes, %.1f Mb/s goodput\n",
		role_name[v->h->args->role], v->h->args->device, v->seconds, v->bytes,
		mean_bps(v->bytes, v->seconds) / 1e6);
	if (v->h->args->time_scale > 1)
		fprintf(out, "time scale %" PRId64 ": times and rates are the model's\n",
			v->h->args->time_scale);
	table_classes(v, out);
	table_pfc(v, out);
	table_peers(v, out);
	table_congestion(v, out);
	if (c->n != 0)
		fprintf(out, "completion time: p50 %.1f us, p99 %.1f us, max %.1f us\n",
			(double)hist_quantile(c, 500) / 1e3, (double)hist_quantile(c, 990) / 1e3,
			(double)c->max_ns / 1e3);
	for (unsigned i = 0; i < N_NUMBERS; i++)
		if (number_of(&v->s, &numbers[i]) != 0)
			fprintf(out, "%-28s %12" PRIu64 "\n", numbers[i].help,
				number_of(&v->s, &numbers[i]));
	if (v->h->inof != NULL)
		table_inof(v->h, out);
	host_storm_table(v->h, out);
	fprintf(out, "%-28s %12" PRIu64 "\n", "frames the port missed", v->drv.rx_missed);
	if (v->drv.tx_errors != 0)
		fprintf(out, "%-28s %12" PRIu64 "\n", "frames the port did not send",
			v->drv.tx_errors);
}

void host_report(const struct host *h, FILE *out)
{
	struct view v;

	view_init(&v, h);
	if (h->args->json)
		report_host_json(&v, out);
	else
		report_table(&v, out);
	fflush(out);
}

void host_progress(struct host *h, uint64_t now_ns, FILE *out)
{
	double seconds = (double)h->args->interval_ns / 1e9;
	uint64_t pauses = 0, late_ns = now_ns - h->interval_at_ns;
	struct view v;

	view_init(&v, h);
	for (unsigned c = 0; c < NIC_CLASSES; c++)
		pauses += ctr_get(&nic_pfc_rx(h->nic)->stats[c].frames) +
			  ctr_get(&nic_pfc_tx(h->nic)->stats[c].frames);
	seconds += (double)late_ns / 1e9;
	fprintf(out,
		"%7.1f Mb/s  pauses %5" PRIu64 "  sent again %6" PRIu64 "  missed %6" PRIu64 "\n",
		mean_bps(v.bytes - h->last_bytes, seconds) / 1e6, pauses - h->last_pauses,
		v.s.retransmissions, v.drv.rx_missed);
	fflush(out);
	h->last_bytes = v.bytes;
	h->last_pauses = pauses;
	h->interval_at_ns = now_ns + (uint64_t)h->args->interval_ns;
}
