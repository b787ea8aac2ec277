// SPDX-License-Identifier: Apache-2.0
// The facts of notifications by queue, of RoCEv2 flows by port, of the sums of table and pairing,
// of single flows (found by control/daemon/flow_requests.h) and of CNPs (control/daemon/cnplog.h).
#include "control/observe/observe.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <time.h>

#include <json-c/json.h>

#include "control/observe/observe_impl.h"
#include "dataplane/policy.h"

static_assert(N_PAIR_SOURCES == 6, "a fact for each source");
static_assert(N_CNP_SILENCES == 8, "a fact for each silence");
static_assert(N_QUADRANTS == 4, "a fact for each quadrant");

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
	[FLOW_UNRELIABLE] = "unreliable", [FLOW_TCP] = "tcp", [FLOW_UDP] = "udp",
};
static const char *const size_name[] = {
	[SIZE_PLAIN] = "plain", [SIZE_MOUSE] = "mouse", [SIZE_ELEPHANT] = "elephant",
};
#define WORD(words, i) ((i) < sizeof(words) / sizeof((words)[0]) ? (words)[i] : "?")

void flow_addresses(const struct flow_key *k, char src[FLOW_ADDR_LEN], char dst[FLOW_ADDR_LEN])
{
	uint8_t from[16], to[16];
	int family = flow_key_addresses(k, from, to) == FAMILY_V6 ? AF_INET6 : AF_INET;

	inet_ntop(family, from, src, FLOW_ADDR_LEN);
	inet_ntop(family, to, dst, FLOW_ADDR_LEN);
}

static struct json_object *flow_address_json(const struct flow_key *k, bool of_sender)
{
	char src[FLOW_ADDR_LEN], dst[FLOW_ADDR_LEN];

	flow_addresses(k, src, dst);
	return json_object_new_string(of_sender ? src : dst);
}

static struct json_object *key_text(const struct flow_key *k)
{
	char src[FLOW_ADDR_LEN], dst[FLOW_ADDR_LEN], text[2 * FLOW_ADDR_LEN + 24];

	flow_addresses(k, src, dst);
	if (flow_key_has_ports(k))
		snprintf(text, sizeof(text), "%s %s %s %u %u", src, dst,
			 flow_key_is_tcp(k) ? "tcp" : "udp", flow_key_sport(k), flow_key_dport(k));
	else
		snprintf(text, sizeof(text), "%s %s 0x%x", src, dst, flow_key_qp(k));
	return json_object_new_string(text);
}

struct json_object *wall_text(uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / SECOND_NS);
	char text[32];
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%06uZ", (unsigned)(wall_ns % SECOND_NS / US_NS));
	return json_object_new_string(text);
}

// NULL: flooded, or not yet known.
static const char *port_or_null(const struct policy *p, unsigned port)
{
	return port < p->n_ports ? p->ports[port].name : NULL;
}

static bool is_no_roce(const struct at *a)
{
	return flow_key_has_ports(a->key);
}

static bool is_paired(const struct flow_row *f)
{
	return f->pair.source != PAIR_NONE;
}

static const char *pair_state(const struct flow_row *f)
{
	return is_paired(f) ? "paired" : flow_needs_pair(f->way.kind) ? "unpaired" : "needs-none";
}

// NULL: the flow is paired, or no request has looked for the reason.
static const char *why_unpaired(const struct flow_row *f)
{
	return is_paired(f) ? NULL : f->reason;
}

static bool has_looked(const struct at *a)
{
	return NOW(ipcc, looked_ns) != 0 && NOW(ipcc, quadrant) < N_QUADRANTS;
}

static int64_t trend_bytes(const struct ipcc_counters *c)
{
	return atomic_load_explicit(&c->trend_bytes, memory_order_relaxed);
}

// ---- the values

#define TOTAL(m) (a->totals->m - a->totals_base->m)

#define FACTS_OF "control/observe/flows.def"
#define FACTS_AT struct at
#include "control/observe/facts.def"

struct value flows_value(enum fact_id f, const struct at *a)
{
	return fact_value(f, a);
}

// ---- the answers

static void show_flow_sums(const struct show *s, struct json_object *out)
{
	static const struct flow_totals start;
	struct flow_totals now;
	const struct at a = {
		.totals = &now, .totals_base = s->flags & OBSERVE_RAW ? &start : &s->o->flow_base};

	switch_flow_totals(s->o->sw, &now);
	emit(single_in(out, FACTS_FLOW_TABLE), FACTS_FLOW_TABLE, &a);
	emit(single_in(out, FACTS_ELEPHANTS), FACTS_ELEPHANTS, &a);
	emit(single_in(out, FACTS_PAIRING), FACTS_PAIRING, &a);
}

void show_flows(const struct show *s, struct json_object *out)
{
	struct json_object *ports = rows_in(out, FACTS_ELEPHANT_PORTS);

	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);

		a.room = switch_flow_port(s->o->sw, port);
		emit(row_in(ports), FACTS_ELEPHANT_PORTS, &a);
	}
	show_flow_sums(s, out);
}

void show_ipcc(const struct show *s, struct json_object *out)
{
	struct json_object *queues = rows_in(out, FACTS_IPCC);
	struct json_object *ports = rows_in(out, FACTS_FLOW_PORTS);

	for (unsigned port = s->first; port < s->last; port++) {
		struct at a = at_port(s, port, 0);

		for (; a.i < N_QUEUES; a.i++) {
			a.ipcc = switch_ipcc(s->o->sw, port, a.i);
			a.qc = switch_queue_counters(s->o->sw, port, a.i);
			if (a.ipcc != NULL)
				emit(row_in(queues), FACTS_IPCC, &a);
		}
		a.flows = switch_port_flows(s->o->sw, port);
		a.room = switch_flow_port(s->o->sw, port);
		emit(row_in(ports), FACTS_FLOW_PORTS, &a);
	}
	show_flow_sums(s, out);
}

void flow_row_emit(struct json_object *row, const struct flow_row *f, const struct flow_view *v)
{
	emit(row, FACTS_FLOWS,
	     &(struct at){.pol = v->policy, .flow = f, .key = &f->key, .now_ns = v->now_ns,
			  .rate_bps = v->rate_bps});
}

void cnp_row_emit(struct json_object *row, const struct cnp_record *c, const struct cnp_view *v)
{
	emit(row, FACTS_CNPS,
	     &(struct at){.pol = v->policy, .cnp = c, .key = &c->key, .seq = v->seq,
			  .wall_ns = v->wall_ns});
}
