// SPDX-License-Identifier: Apache-2.0
#include "control/observe/flow_rows.h"

#include <arpa/inet.h>
#include <stdio.h>

#include <json-c/json.h>

#include "control/observe/field.h"

const char *const pair_source_name[N_PAIR_SOURCES] = {
	[PAIR_NONE] = "none", [PAIR_STATIC] = "static", [PAIR_CM] = "cm",
	[PAIR_READ] = "read", [PAIR_ACK] = "ack", [PAIR_CNP] = "cnp",
};

const char *const cnp_silence_name[N_CNP_SILENCES] = {
#define X(id, name, help) [CNP_SILENT_##id] = name,
	CNP_SILENCES(X)
#undef X
};

static const char *const kind_name[] = {
	[FLOW_DATA] = "data", [FLOW_READ_REQUESTS] = "read-requests",
	[FLOW_READ_RESPONSES] = "read-responses", [FLOW_DATAGRAM] = "datagram",
	[FLOW_UNRELIABLE] = "unreliable",
};

static const char *word(const char *const *words, unsigned n, unsigned i)
{
	return i < n ? words[i] : "?";
}

void flow_addresses(const struct flow_key *k, char src[FLOW_ADDR_LEN], char dst[FLOW_ADDR_LEN])
{
	uint8_t from[16], to[16];
	int family = flow_key_addresses(k, from, to) == FAMILY_V6 ? AF_INET6 : AF_INET;

	inet_ntop(family, from, src, FLOW_ADDR_LEN);
	inet_ntop(family, to, dst, FLOW_ADDR_LEN);
}

static void emit_null(struct json_object *row, const char *key)
{
	json_object_object_add(row, key, NULL);
}

static void emit_key(struct json_object *row, const struct flow_key *k)
{
	char src[FLOW_ADDR_LEN], dst[FLOW_ADDR_LEN], text[2 * FLOW_ADDR_LEN + 16];

	flow_addresses(k, src, dst);
	snprintf(text, sizeof(text), "%s %s 0x%x", src, dst, flow_key_qp(k));
	row_text(row, "key", text);
	row_text(row, "from", src);
	row_text(row, "to", dst);
	row_u64(row, "qp", flow_key_qp(k));
}

static void emit_port(struct json_object *row, const char *key, const struct policy *p,
		      unsigned port)
{
	if (port < p->n_ports)
		row_text(row, key, p->ports[port].name);
	else
		emit_null(row, key);
}

static void emit_way(struct json_object *row, const struct flow_way *w, const struct policy *p)
{
	row_text(row, "kind", word(kind_name, sizeof(kind_name) / sizeof(kind_name[0]), w->kind));
	emit_port(row, "in_port", p, w->in_port);
	emit_port(row, "out_port", p, w->out_port);
	row_u64(row, "queue", w->queue);
	row_u64(row, "class", w->cls);
}

static void emit_pair(struct json_object *row, const struct flow_row *f)
{
	bool paired = f->pair.source != PAIR_NONE;

	row_text(row, "state",
		 paired ? "paired" : flow_needs_pair(f->way.kind) ? "unpaired" : "needs-none");
	if (paired)
		row_u64(row, "sender_qp", f->pair.qp);
	else
		emit_null(row, "sender_qp");
	row_text(row, "source", word(pair_source_name, N_PAIR_SOURCES, f->pair.source));
	if (paired || f->reason == NULL) {
		emit_null(row, "candidates");
		emit_null(row, "reason");
	} else {
		row_u64(row, "candidates", f->candidates);
		row_text(row, "reason", f->reason);
	}
}

static uint64_t since_us(uint64_t then_ns, uint64_t now_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / 1000 : 0;
}

static void emit_times(struct json_object *row, const struct flow_row *f, uint64_t now_ns)
{
	row_u64(row, "lasts_us", since_us(f->first_ns, now_ns));
	row_u64(row, "idle_us", since_us(f->seen_ns, now_ns));
	if (f->cnp_ns != 0)
		row_u64(row, "cnp_us", since_us(f->cnp_ns, now_ns));
	else
		emit_null(row, "cnp_us");
}

void flow_row_emit(struct json_object *row, const struct flow_row *f, const struct flow_view *v)
{
	emit_key(row, &f->key);
	emit_way(row, &f->way, v->policy);
	row_u64(row, "rate_bps", v->rate_bps);
	row_u64(row, "packets", f->packets);
	row_u64(row, "bytes", f->bytes);
	emit_pair(row, f);
	row_u64(row, "gaps", f->gaps);
	row_u64(row, "gap_packets", f->gap_packets);
	row_u64(row, "rewinds", f->rewinds);
	row_u64(row, "ce", f->ce);
	row_u64(row, "naks", f->naks);
	row_u64(row, "cnps_seen", f->cnps_seen);
	row_u64(row, "cnps_sent", f->cnps_sent);
	row_u64(row, "silences", f->silences);
	row_text(row, "silence", word(cnp_silence_name, N_CNP_SILENCES, f->silence));
	row_u64(row, "psn", f->psn);
	row_u64(row, "udp_sport", f->udp_sport);
	emit_times(row, f, v->now_ns);
}

void cnp_row_emit(struct json_object *row, const struct cnp_record *c, const struct policy *policy)
{
	row_u64(row, "t_ns", c->t_ns);
	emit_key(row, &c->key);
	row_u64(row, "sender_qp", c->sender_qp);
	row_text(row, "source", word(pair_source_name, N_PAIR_SOURCES, c->source));
	emit_port(row, "left_by", policy, c->left_by);
	emit_port(row, "port", policy, c->port);
	row_u64(row, "queue", c->queue);
	row_text(row, "quadrant", word(ipcc_quadrant_name, N_QUADRANTS, c->quadrant));
	row_u64(row, "length_bytes", c->len_bytes);
	row_u64(row, "kmin_bytes", c->kmin_bytes);
	row_u64(row, "kmax_bytes", c->kmax_bytes);
	row_u64(row, "threshold_percent", (uint64_t)c->share_q16 * 100 >> 16);
	json_object_object_add(row, "trend_bytes", json_object_new_int64(c->trend_bytes));
	row_u64(row, "dt_ns", c->dt_ns);
	row_u64(row, "excess_bps", c->excess_bps);
	row_u64(row, "queue_bps", c->queue_bps);
	row_u64(row, "flow_bps", c->flow_bps);
	row_u64(row, "share_percent", c->queue_bps != 0 ? c->flow_bps * 100 / c->queue_bps : 0);
	row_u64(row, "rank", c->rank);
	row_u64(row, "told", c->told);
}
