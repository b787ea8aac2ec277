// SPDX-License-Identifier: Apache-2.0
#include "control/observe/columns.h"

#include <assert.h>

#include "control/autoecn/agent.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/policy.h"

// ECN thresholds are facts of the policy, which observe_value does not have.
enum { OF_PORT, OF_QUEUE, OF_PG, OF_PFC, OF_POOL, OF_REASON, OF_CURVE };

static const struct series {
	uint8_t of;
	uint8_t list;
	uint16_t fact; // enum fact_id
} series[] = {
	{OF_PORT, FACTS_PORTS, F_PORTS_up},
	{OF_PORT, FACTS_PORTS, F_PORTS_speed_bps},
	{OF_PORT, FACTS_PORTS, F_PORTS_rx_bytes},
	{OF_PORT, FACTS_PORTS, F_PORTS_rx_packets},
	{OF_PORT, FACTS_PORTS, F_PORTS_tx_bytes},
	{OF_PORT, FACTS_PORTS, F_PORTS_tx_packets},
	{OF_PORT, FACTS_PORTS, F_PORTS_rx_missed},
	{OF_QUEUE, FACTS_QUEUES, F_QUEUES_length_bytes},
	{OF_QUEUE, FACTS_QUEUES, F_QUEUES_tx_bytes},
	{OF_QUEUE, FACTS_QUEUES, F_QUEUES_ecn_marked},
	{OF_QUEUE, FACTS_QUEUES, F_QUEUES_dropped_packets},
	{OF_QUEUE, FACTS_QUEUES, F_QUEUES_paused},
	{OF_PG, FACTS_PGS, F_PGS_min_bytes},
	{OF_PG, FACTS_PGS, F_PGS_shared_bytes},
	{OF_PG, FACTS_PGS, F_PGS_headroom_bytes},
	{OF_PG, FACTS_PGS, F_PGS_xoff_at_bytes},
	{OF_PG, FACTS_PGS, F_PGS_xon_at_bytes},
	{OF_PG, FACTS_PGS, F_PGS_xoff},
	{OF_PG, FACTS_PGS, F_PGS_dropped_packets},
	{OF_PFC, FACTS_PFC, F_PFC_rx_pause},
	{OF_PFC, FACTS_PFC, F_PFC_tx_pause},
	{OF_PFC, FACTS_PFC, F_PFC_rx_pause_duration_us},
	{OF_PFC, FACTS_PFC, F_PFC_tx_pause_duration_us},
	{OF_POOL, FACTS_POOLS, F_POOLS_used_bytes},
	{OF_POOL, FACTS_POOLS, F_POOLS_size_bytes},
	{OF_REASON, FACTS_DROPS, F_DROPS_packets},
	{OF_CURVE, FACTS_ECN, F_ECN_kmin_bytes},
	{OF_CURVE, FACTS_ECN, F_ECN_kmax_bytes},
};
enum { N_SERIES = sizeof(series) / sizeof(series[0]) };

static_assert((int)N_QUEUES == (int)N_PGS && (int)N_QUEUES == (int)N_CLASSES, "see width");

// Places of a port, or of the switch.
static uint32_t width(unsigned of)
{
	switch (of) {
	case OF_PORT: return 1;
	case OF_POOL: return N_POOLS;
	case OF_REASON: return N_DROP_REASONS;
	default: return N_QUEUES;
	}
}

static uint32_t places_of(const struct series *s, unsigned n_ports)
{
	return width(s->of) * (s->of == OF_POOL ? 1 : n_ports);
}

uint32_t columns_places(const struct weir_switch *sw)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < N_SERIES; i++)
		n += places_of(&series[i], switch_policy(sw)->n_ports);
	return n;
}

// ---- reading

struct reading {
	const struct instance *in;
	struct weir_switch *sw; // of the instance
	uint64_t now_ns;
};

static bool queue_used(const struct weir_switch *sw, unsigned port, unsigned q)
{
	const struct queue_counters *c = switch_queue_counters(sw, port, q);

	return ctr_get(&c->tx_packets) != 0 || ctr_get(&c->dropped_packets) != 0 ||
	       gauge_get(&c->length_packets) != 0;
}

static bool is_used(const struct reading *r, unsigned of, unsigned port, unsigned i)
{
	const struct pg_counters *pg;

	switch (of) {
	case OF_QUEUE:
	case OF_CURVE: return queue_used(r->sw, port, i);
	case OF_PG:
		pg = switch_pg_counters(r->sw, port, i);
		return ctr_get(&pg->rx_packets) != 0 || ctr_get(&pg->dropped_packets) != 0;
	case OF_PFC:
		return ctr_get(&switch_pfc_rx(r->sw, port)->stats[i].frames) != 0 ||
		       ctr_get(&switch_pfc_tx(r->sw, port)->stats[i].frames) != 0;
	default: return true;
	}
}

static double curve_value(const struct reading *r, enum fact_id f, unsigned port, unsigned q)
{
	const struct wred_params w =
		autoecn_wred(instance_auto_ecn(r->in), switch_policy(r->sw), port, q);

	if (!w.enabled)
		return 0;
	return (double)(f == F_ECN_kmin_bytes ? w.curve[GREEN].kmin_bytes
					      : w.curve[GREEN].kmax_bytes);
}

static double drops_for(const struct weir_switch *sw, unsigned port, unsigned reason)
{
	uint64_t n = 0;

	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		n += ctr_get(&switch_drops(sw, port, cls, reason)->packets);
	return (double)n;
}

static double value_as_double(struct value v)
{
	switch (v.type) {
	case VALUE_U64: return (double)v.u64;
	case VALUE_I64: return (double)v.i64;
	case VALUE_DOUBLE: return v.number;
	case VALUE_YES: return v.yes;
	default: return 0;
	}
}

static double value_at(const struct reading *r, const struct series *s, unsigned port, unsigned i)
{
	struct port_drv_stats drv;

	if (s->of == OF_CURVE)
		return curve_value(r, s->fact, port, i);
	if (s->of == OF_REASON)
		return drops_for(r->sw, port, i);
	if (s->fact != F_PORTS_rx_missed)
		return value_as_double(observe_value(r->sw, s->fact, port, i, r->now_ns));
	switch_drv_stats(r->sw, port, &drv);
	return (double)drv.rx_missed;
}

void columns_read(const struct instance *in, uint64_t now_ns, columns_fn *fn, void *arg)
{
	const struct reading r = {in, in->sw, now_ns};
	unsigned n_ports = switch_policy(in->sw)->n_ports;
	uint32_t first = 0;

	for (const struct series *s = series; s < &series[N_SERIES]; s++) {
		uint32_t n = places_of(s, n_ports);

		for (uint32_t k = 0; k < n; k++) {
			unsigned port = k / width(s->of), i = k % width(s->of);

			if (is_used(&r, s->of, port, i))
				fn(arg, first + k, value_at(&r, s, port, i));
		}
		first += n;
	}
}

// ---- names

void columns_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++)
		if (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else
			fputc(*s, out);
	fputc('"', out);
}

static void name_begin(const char *sw, const char *list, const char *object, FILE *out)
{
	fputc('[', out);
	columns_text(sw, out);
	fprintf(out, ",\"%s\",", list);
	columns_text(object, out);
}

void columns_name_of(const char *sw, const char *list, const char *object, int index,
		     const char *fact, FILE *out)
{
	name_begin(sw, list, object, out);
	if (index < 0)
		fprintf(out, ",null,\"%s\"]", fact);
	else
		fprintf(out, ",%d,\"%s\"]", index, fact);
}

void columns_name(const struct weir_switch *sw, const char *name, uint32_t place, FILE *out)
{
	const struct policy *p = switch_policy(sw);
	const struct series *s = series;
	const char *list;
	unsigned i;

	for (; place >= places_of(s, p->n_ports); s++)
		place -= places_of(s, p->n_ports);
	i = place % width(s->of);
	list = fact_lists[s->list].list;
	if (s->of == OF_POOL) {
		columns_name_of(name, list, pool_name[i], -1, fact_rows[s->fact].key, out);
	} else if (s->of == OF_REASON) {
		name_begin(name, list, p->ports[place / width(s->of)].name, out);
		fprintf(out, ",\"%s\",\"%s\"]", drop_info[i].name, fact_rows[s->fact].key);
	} else {
		columns_name_of(name, list, p->ports[place / width(s->of)].name,
				s->of == OF_PORT ? -1 : (int)i, fact_rows[s->fact].key, out);
	}
}
