// SPDX-License-Identifier: Apache-2.0
#include "control/lab/report_page.h"

#include <errno.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "control/lab/report_events.h"
#include "control/lab/report_rows.h"
#include "control/lab/timeline.h"
#include "control/observe/columns.h"
#include "control/observe/fact.h"
#include "control/observe/frames.h"
#include "control/observe/observe.h"
#include "control/page/page.h"

enum { MOST_OPERATIONS = 1000 }; // of a distribution

static const char *const unit_name[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "",	[EXPR_SHARE] = "share", [EXPR_RATE] = "bps",
	[EXPR_BYTES] = "bytes", [EXPR_TIME] = "ns",
};

static void put_key(const char *key, FILE *out)
{
	fprintf(out, ",\n\"%s\": ", key);
}

// Prints and frees it.
static void put_json(const char *key, struct json_object *o, FILE *out)
{
	put_key(key, out);
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							JSON_C_TO_STRING_NOSLASHESCAPE),
	      out);
	json_object_put(o);
}

static void put_part(const char *key, const struct run *r,
		     void (*part)(const struct run *r, FILE *out), FILE *out)
{
	char *text = report_part(r, part);

	fprintf(out, "\"%s\": ", key);
	columns_text(text == NULL ? "" : text, out);
	free(text);
}

static void put_tables(const struct run *r, FILE *out)
{
	char *text = NULL;
	size_t len;
	FILE *tables = open_memstream(&text, &len);

	if (tables == NULL)
		return;
	report_grids(r, grid_json, tables);
	fclose(tables);
	put_key("tables", out);
	fprintf(out, "[%s]", text);
	free(text);
}

// ---- what is connected

static void put_node(struct json_object *list, const char *name, const char *kind)
{
	struct json_object *row = row_in(list);

	row_text(row, KEY(VERSION, name), name);
	row_text(row, KEY(CAUSES, kind), kind);
}

static struct json_object *end_json(const struct scenario *sc, const struct sc_end *e)
{
	struct json_object *pair = json_object_new_array();
	char port[16];

	json_object_array_add(pair, json_object_new_string(e->is_switch ? sc->switches[e->node].name
								 : sc->hosts[e->node].name));
	snprintf(port, sizeof(port), "p%u", e->port + 1u);
	json_object_array_add(pair, e->is_switch ? json_object_new_string(port) : NULL);
	return pair;
}

static struct json_object *topology(const struct scenario *sc)
{
	struct json_object *o = json_object_new_object(), *list = list_in(o, "nodes");

	for (uint32_t i = 0; i < sc->n_switches; i++)
		put_node(list, sc->switches[i].name, "switch");
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		put_node(list, sc->hosts[i].name, "host");
	list = list_in(o, "links");
	for (uint32_t i = 0; i < sc->n_links; i++) {
		const struct sc_link *l = &sc->links[i];
		struct json_object *row = row_in(list);

		json_object_object_add(row, "a", end_json(sc, &l->end[0]));
		json_object_object_add(row, "b", end_json(sc, &l->end[1]));
		row_u64(row, KEY(PORTS, speed_bps), l->speed_bps);
		row_u64(row, "delay_ns", l->delay_ns);
	}
	return o;
}

// ---- the policy of each switch as it stands at the end

static struct json_object *settings(const struct run *r)
{
	static const unsigned shows[] = {FACTS_QOS, FACTS_ECN, FACTS_BUFFER, FACTS_PFC_STATUS,
					 FACTS_WATCHDOG};
	struct json_object *all = json_object_new_object();

	for (uint32_t i = 0; i < r->sc->n_switches; i++) {
		struct json_object *of_switch = json_object_new_object();
		struct observe *o;

		json_object_object_add(all, r->sc->switches[i].name, of_switch);
		if (observe_create(&r->fabric->switches[i].in, &o) != 0)
			continue;
		for (unsigned k = 0; k < sizeof(shows) / sizeof(shows[0]); k++) {
			struct json_object *data = observe_rows(o, fact_lists[shows[k]].what,
								OBSERVE_ALL_PORTS, OBSERVE_RAW,
								r->end_ns);

			json_object_object_foreach(data, key, value)
				json_object_object_add(of_switch, key, json_object_get(value));
			json_object_put(data);
		}
		observe_destroy(o);
	}
	return all;
}

// ---- what the scenario records, and how long operations took

static void put_series(const struct run *r, FILE *out)
{
	const struct measure_series *s = measure_series(r->measure);

	put_key("series", out);
	fputs("{\"time_ns\": [", out);
	for (uint64_t row = 0; row < s->n_rows; row++) {
		fputs(row == 0 ? "" : ",", out);
		frames_number((double)s->row_ns[row], out);
	}
	fputs("], \"columns\": [", out);
	for (uint32_t c = 0; c < s->n_columns; c++) {
		fputs(c == 0 ? "{\"name\": " : ",\n{\"name\": ", out);
		columns_text(s->columns[c].name, out);
		fprintf(out, ", \"unit\": \"%s\", \"values\": [", unit_name[s->columns[c].unit]);
		for (uint64_t row = 0; row < s->n_rows; row++) {
			fputs(row == 0 ? "" : ",", out);
			frames_number(s->values[row * s->n_columns + c], out);
		}
		fputs("]}", out);
	}
	fputs("]}", out);
}

// At most MOST_OPERATIONS of the sorted values, the last one among them.
static void put_values(const double *v, uint64_t n, FILE *out)
{
	uint64_t points = n < MOST_OPERATIONS ? n : MOST_OPERATIONS;

	for (uint64_t i = 0; i < points; i++) {
		fputs(i == 0 ? "" : ",", out);
		frames_number(v[(i + 1) * n / points - 1], out);
	}
}

static void put_operations(const struct run *r, const char *function, const char *key, FILE *out)
{
	const char *between = "";

	fprintf(out, "\"%s\": [", key);
	for (uint32_t f = 0; f < r->sc->n_flows; f++) {
		uint64_t n;
		double *v = report_operations(r, f, function, &n);

		if (n != 0) {
			fprintf(out, "%s{\"flow\": ", between);
			columns_text(r->sc->flows[f].label, out);
			fputs(", \"values\": [", out);
			put_values(v, n, out);
			fputs("]}", out);
			between = ",\n";
		}
		free(v);
	}
	fputs("]", out);
}

// The latest notifications of the switches, each with what it was decided by.
static struct json_object *notifications(const struct run *r)
{
	const struct cnp_judge *j = r->fabric->cnps;
	uint64_t first = j->n_kept > CNPS_KEPT ? j->n_kept - CNPS_KEPT : 0;
	struct json_object *list = json_object_new_array();

	for (uint64_t n = j->n_kept; n > first; n--) {
		const struct cnp_kept *k = &j->kept[(n - 1) % CNPS_KEPT];
		struct json_object *row = row_in(list);
		const struct cnp_view view = {switch_policy(r->fabric->switches[k->sw].in.sw), n,
					      0};

		row_text(row, "switch", r->sc->switches[k->sw].name);
		cnp_row_emit(row, &k->record, &view);
		json_object_object_del(row, KEY(CNPS, time)); // of the day: a run has none
	}
	return list;
}

static void put_data(const struct run *r, FILE *out)
{
	fputs("{\"kind\": \"weir-lab\"", out);
	put_key("title", out);
	columns_text(*r->sc->title != '\0' ? r->sc->title : r->sc->name, out);
	put_key("description", out);
	columns_text(r->sc->description, out);
	put_key("report", out);
	report_json_print(r, out);
	put_key(KEY(EVENTS, text), out);
	fputc('{', out);
	put_part("head", r, report_head, out);
	fputs(", ", out);
	put_part("foot", r, report_foot, out);
	fputc('}', out);
	put_tables(r, out);
	put_json("topology", topology(r->sc), out);
	put_json("settings", settings(r), out);
	put_json("events", report_events(r), out);
	put_json("cnps", notifications(r), out);
	put_key("timeline", out);
	timeline_print(r->timeline, out);
	put_series(r, out);
	put_key("operations", out);
	fputc('{', out);
	put_operations(r, "fct", "fct_ns", out);
	fputs(", ", out);
	put_operations(r, "slowdown", "slowdown", out);
	fputs("}}\n", out);
}

int report_page(const struct run *r, FILE *out)
{
	char *data = NULL;
	size_t len;
	FILE *f = open_memstream(&data, &len);

	if (f == NULL)
		return -ENOMEM;
	put_data(r, f);
	fclose(f);
	page_write(data, out);
	free(data);
	return 0;
}
