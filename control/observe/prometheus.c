// SPDX-License-Identifier: Apache-2.0
#include "control/observe/prometheus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void extra_head(FILE *out, unsigned which)
{
	head(out, fact_metrics[which].name, fact_metrics[which].type, fact_metrics[which].help);
}

void prometheus_label(FILE *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
}

// A word or a number as it is, a list with blanks between, nothing for null.
static void label_value(FILE *out, struct json_object *v)
{
	if (!json_object_is_type(v, json_type_array)) {
		prometheus_label(out, v != NULL ? json_object_get_string(v) : "");
		return;
	}
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		if (i > 0)
			fputc(' ', out);
		prometheus_label(out, json_object_get_string(json_object_array_get_idx(v, i)));
	}
}

static void labels(FILE *out, const struct fact_list *l, struct json_object *row, bool with_text)
{
	const char *lead = "{";

	for (size_t i = 0; i < l->n; i++) {
		const struct fact *f = &l->rows[i];
		struct json_object *v = NULL;

		if (f->kind != FACT_ID && f->kind != FACT_LABEL &&
		    !(with_text && f->kind == FACT_TEXT))
			continue;
		json_object_object_get_ex(row, f->key, &v);
		fprintf(out, "%s%s=\"", lead, fact_label(f));
		label_value(out, v);
		fputc('"', out);
		lead = ",";
	}
	if (*lead == ',')
		fputc('}', out);
}

// In the unit of Prometheus, exactly: 1500 us are 0.001500.
static void print_scaled_number(FILE *out, uint64_t v, unsigned per_unit)
{
	int digits = 0;

	for (unsigned u = per_unit; u > 1; u /= 10)
		digits++;
	if (digits == 0)
		fprintf(out, "%" PRIu64, v);
	else
		fprintf(out, "%" PRIu64 ".%0*" PRIu64, v / per_unit, digits, v % per_unit);
}

static void sample(FILE *out, const struct fact_list *l, const struct fact *f, const char *name,
		   struct json_object *row)
{
	struct json_object *v;

	if (!json_object_object_get_ex(row, f->key, &v) || v == NULL)
		return;
	fputs(name, out);
	labels(out, l, row, false);
	fputc(' ', out);
	if (f->kind == FACT_YES)
		fputc(json_object_get_boolean(v) ? '1' : '0', out);
	else
		print_scaled_number(out, json_object_get_uint64(v), fact_per_unit(f));
	fputc('\n', out);
}

static struct json_object *list_row_or_single(const struct fact_list *l, struct json_object *rows,
					      size_t i)
{
	return l->single ? rows : json_object_array_get_idx(rows, i);
}

// The metrics of one list. rows: its JSON, an array, or the object of a single one.
static void list_metrics(FILE *out, const struct fact_list *l, struct json_object *rows)
{
	size_t n = l->single ? 1 : json_object_array_length(rows), k = 0;
	char name[METRIC_NAME_LEN];

	while (k < l->n && l->rows[k].kind != FACT_TEXT)
		k++;
	if (k < l->n) {
		snprintf(name, sizeof(name), "%s_info", l->prefix);
		head(out, name, "gauge", "always 1; the labels say more about the row");
		for (size_t i = 0; i < n; i++) {
			fputs(name, out);
			labels(out, l, list_row_or_single(l, rows, i), true);
			fputs(" 1\n", out);
		}
	}
	for (k = 0; k < l->n; k++) {
		const struct fact *f = &l->rows[k];

		if (!fact_metric(l, f, name))
			continue;
		head(out, name, f->kind == FACT_COUNTER ? "counter" : "gauge", f->help);
		for (size_t i = 0; i < n; i++)
			sample(out, l, f, name, list_row_or_single(l, rows, i));
	}
}

// ---- residence times

static void residence_line(FILE *out, const char *suffix, const char *port, unsigned queue,
			   const char *more, uint64_t n)
{
	fprintf(out, "%s_%s{port=\"", fact_metrics[METRIC_RESIDENCE].name, suffix);
	prometheus_label(out, port);
	fprintf(out, "\",queue=\"%u\"%s} %" PRIu64 "\n", queue, more, n);
}

// Cumulative, as the format wants it. Times are whole nanoseconds, so "at most 2^k - 1" is exact.
static void residence_of(FILE *out, const char *port, unsigned queue,
			 const struct queue_counters *c)
{
	uint64_t sum = 0;
	unsigned b = 0;

	for (unsigned k = RESIDENCE_LE_FIRST; k <= RESIDENCE_LE_LAST; k++) {
		uint64_t le_ns = (1ull << k) - 1;
		char le[48];

		for (; b < RESIDENCE_BUCKETS && residence_bucket_max(b) <= le_ns; b++)
			sum += ctr_get(&c->residence[b]);
		snprintf(le, sizeof(le), ",le=\"%" PRIu64 ".%09" PRIu64 "\"", le_ns / SECOND_NS,
			 le_ns % SECOND_NS);
		residence_line(out, "bucket", port, queue, le, sum);
	}
	for (; b < RESIDENCE_BUCKETS; b++)
		sum += ctr_get(&c->residence[b]);
	residence_line(out, "bucket", port, queue, ",le=\"+Inf\"", sum);
	residence_line(out, "count", port, queue, "", sum);
}

// ---- the page

char *prometheus_page(struct observe *o, const struct prometheus_about *about, uint64_t now_ns,
		      size_t *len)
{
	const struct weir_switch *sw = observe_switch(o);
	const struct policy *p = switch_policy(sw);
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		return NULL;
	extra_head(out, METRIC_INFO);
	fputs("weir_info{switch=\"", out);
	prometheus_label(out, p->name);
	fputs("\",version=\"", out);
	prometheus_label(out, about->version);
	fputs("\"} 1\n", out);
	extra_head(out, METRIC_EVENTS);
	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		fprintf(out, "weir_events_total{event=\"%s\"} %" PRIu64 "\n", event_info[i].name,
			about->events[i]);
	extra_head(out, METRIC_EVENTS_LOST);
	fprintf(out, "weir_events_lost_total %" PRIu64 "\n", switch_events_lost(sw));
	extra_head(out, METRIC_LOG_LOST);
	fprintf(out, "weir_log_lost_total %" PRIu64 "\n", about->log_lost);
	for (unsigned i = 0; i < N_FACT_LISTS; i++) {
		const struct fact_list *l = &fact_lists[i];
		struct json_object *data, *rows;

		if (l->prefix == NULL)
			continue;
		data = observe_rows(o, l->what, OBSERVE_ALL_PORTS, OBSERVE_RAW | OBSERVE_ALARM_ROWS,
				    now_ns);
		if (json_object_object_get_ex(data, l->list, &rows))
			list_metrics(out, l, rows);
		json_object_put(data);
	}
	extra_head(out, METRIC_RESIDENCE);
	for (unsigned port = 0; port < p->n_ports; port++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			const struct queue_counters *c = switch_queue_counters(sw, port, q);

			if (ctr_get(&c->tx_packets) != 0)
				residence_of(out, p->ports[port].name, q, c);
		}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
