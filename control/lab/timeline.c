// SPDX-License-Identifier: Apache-2.0
#include "control/lab/timeline.h"

#include <stdlib.h>

#include "control/lab/report_rows.h"
#include "control/observe/columns.h"
#include "control/observe/frames.h"

static const char *const host_facts[] = {"tx_bytes",		   "tx_packets",
					 "goodput_bytes",	   "rx_pause_duration_us",
					 "tx_pause_duration_us",   "cnps_received",
					 "ce_marked"};
enum { N_HOST_FACTS = sizeof(host_facts) / sizeof(host_facts[0]), MAX_CHANGES = 400000 };

// Places: of the switches one after the other, then of the hosts, then of the flows.
struct timeline {
	const struct run *run;
	struct frames *frames;
	uint32_t *first; // place of each switch; the last one: of the hosts
	uint32_t flows; // place of the first flow
	uint64_t *bytes; // by flow
	uint32_t base; // of the switch that is read
};

struct timeline *timeline_create(const struct run *r)
{
	struct timeline *t = calloc(1, sizeof(*t));
	uint32_t n = 0;

	if (t == NULL)
		return NULL;
	t->run = r;
	t->first = calloc(r->sc->n_switches + 1, sizeof(*t->first));
	t->bytes = calloc(r->sc->n_flows + 1, sizeof(*t->bytes));
	for (uint32_t s = 0; t->first != NULL && s < r->sc->n_switches; s++) {
		t->first[s] = n;
		n += columns_places(r->fabric->switches[s].in.sw);
	}
	t->flows = n + r->sc->n_hosts * N_HOST_FACTS;
	t->frames = frames_create(t->flows + r->sc->n_flows, MAX_CHANGES);
	if (t->first == NULL || t->bytes == NULL || t->frames == NULL) {
		timeline_destroy(t);
		return NULL;
	}
	t->first[r->sc->n_switches] = n;
	return t;
}

void timeline_destroy(struct timeline *t)
{
	if (t == NULL)
		return;
	frames_destroy(t->frames);
	free(t->first);
	free(t->bytes);
	free(t);
}

static void put_frame_value(void *arg, uint32_t place, double value)
{
	struct timeline *t = arg;

	frames_put(t->frames, t->base + place, value);
}

static void put_host_facts(struct timeline *t, uint32_t host)
{
	struct host_row h = report_host(t->run, host);
	const struct nic_stats *s = nic_stats_now(t->run->fabric->hosts[host].nic);
	const uint64_t values[N_HOST_FACTS] = {
		h.tx_bytes,		h.tx_packets,		h.goodput_bytes,
		h.rx_pause_duration_us, h.tx_pause_duration_us, s->cnps_received,
		h.ce_marked};

	t->base = t->first[t->run->sc->n_switches] + host * N_HOST_FACTS;
	for (uint32_t k = 0; k < N_HOST_FACTS; k++)
		put_frame_value(t, k, (double)values[k]);
}

static void look_at_flows(struct timeline *t)
{
	const struct traffic *traffic = t->run->traffic;

	for (uint32_t i = 0; i < t->run->sc->n_flows; i++)
		t->bytes[i] = 0;
	for (uint32_t i = 0; i < traffic_n_conns(traffic); i++)
		t->bytes[traffic_conn(traffic, i)->flow] +=
			traffic_conn_counts(traffic, i).acked_bytes;
	t->base = t->flows;
	for (uint32_t i = 0; i < t->run->sc->n_flows; i++)
		put_frame_value(t, i, (double)t->bytes[i]);
}

void timeline_look(struct timeline *t, uint64_t t_ns, bool end)
{
	const struct fabric *f = t->run->fabric;

	if (!frames_begin(t->frames, t_ns, end))
		return;
	for (uint32_t s = 0; s < t->run->sc->n_switches; s++) {
		t->base = t->first[s];
		columns_read(&f->switches[s].in, t_ns, put_frame_value, t);
	}
	for (uint32_t h = 0; h < t->run->sc->n_hosts; h++)
		put_host_facts(t, h);
	look_at_flows(t);
}

// ---- as JSON

static void print_name(const struct timeline *t, uint32_t place, FILE *out)
{
	const struct scenario *sc = t->run->sc;
	uint32_t s = 0, host = place - t->first[sc->n_switches];

	if (place >= t->flows) {
		columns_name_of("", "flows", sc->flows[place - t->flows].label, -1, "bytes", out);
	} else if (place >= t->first[sc->n_switches]) {
		columns_name_of("", "hosts", sc->hosts[host / N_HOST_FACTS].name, -1,
				host_facts[host % N_HOST_FACTS], out);
	} else {
		while (place >= t->first[s + 1])
			s++;
		columns_name(t->run->fabric->switches[s].in.sw, sc->switches[s].name,
			     place - t->first[s], out);
	}
}

void timeline_print(const struct timeline *t, FILE *out)
{
	fputs("{\"columns\": [", out);
	for (uint32_t c = 0; c < frames_n_columns(t->frames); c++) {
		fputs(c == 0 ? "" : ",\n", out);
		print_name(t, frames_place(t->frames, c), out);
	}
	fputs("],\n\"frames\": ", out);
	frames_print(t->frames, out);
	fputs("}\n", out);
}
