// SPDX-License-Identifier: Apache-2.0
#include "control/probe/report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "control/base/terminal.h"
#include "control/base/units.h"
#include "dataplane/base/units.h"

static const struct value_row {
	const char *key, *help;
	uint8_t unit;
} rows[PROBE_N_VALUES] = {
#define PROBE_VALUE(id, key, unit, help) [PROBE_##id] = {#key, help, UNIT_##unit},
#include "control/probe/values.def"
#undef PROBE_VALUE
};

static const char *const verdicts[] = {
	[PROBE_NOT_RUN] = "not run",
	[PROBE_DONE] = "measured",
	[PROBE_NO_ANSWER] = "does not answer PFC",
	[PROBE_CANNOT] = "cannot measure",
};

enum { NUMBER_LEN = 48, CELL_LEN = 160 };

// Bytes and counts in full, since a threshold is compared to the cell; times and shares as people
// read them.
static void format_probe_number(const struct value_row *row, int64_t v, char out[NUMBER_LEN])
{
	if (row->unit == UNIT_TIME && v >= 0)
		snprintf(out, NUMBER_LEN, "%.3f us", (double)v / US_NS);
	else if (row->unit == UNIT_PERCENT)
		snprintf(out, NUMBER_LEN, "%.2f %%", (double)v * 100 / PPM);
	else
		snprintf(out, NUMBER_LEN, "%" PRId64 "%s", v,
			 row->unit == UNIT_BYTES ? " B" : "");
}

static void bounds(const struct value_row *row, const struct probe_value *v, char out[CELL_LEN])
{
	char low[NUMBER_LEN], high[NUMBER_LEN];

	format_probe_number(row, v->low, low);
	format_probe_number(row, v->high, high);
	if (v->low == v->high)
		snprintf(out, CELL_LEN, "exact");
	else
		snprintf(out, CELL_LEN, "%s .. %s", low, high);
}

// Calls `line` for each number of each measure that ran, and for the reason where there is none.
static void walk(const struct probe_report *r, FILE *out,
		 void (*line)(FILE *out, const char *measure, const char *key, const char *value,
			      const char *bounds, const char *word))
{
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++) {
		const struct probe_measure *m = &probe_measures[i];
		const struct probe_result *x = &r->results[i];

		if (x->verdict == PROBE_NOT_RUN)
			continue;
		if (x->verdict != PROBE_DONE)
			line(out, m->name, verdicts[x->verdict], "", "", x->why);
		for (unsigned k = m->first; k <= (unsigned)m->last; k++) {
			const struct probe_value *v = &r->probe->value[k];
			char value[NUMBER_LEN], within[CELL_LEN];

			if (!v->given)
				continue;
			format_probe_number(&rows[k], v->value, value);
			bounds(&rows[k], v, within);
			line(out, m->name, rows[k].key, value, within,
			     r->probe->word[k] != NULL ? r->probe->word[k] : "");
		}
	}
}

static void table_line(FILE *out, const char *measure, const char *key, const char *value,
		       const char *within, const char *word)
{
	char text[CELL_LEN + PROBE_WHY_LEN];

	if (*value == '\0')
		snprintf(text, sizeof(text), "%-9s %s%s%s", measure, key,
			 *word != '\0' ? ": " : "", word);
	else
		snprintf(text, sizeof(text), "%-9s %-17s %16s  %s%s%s", measure, key, value,
			 within, *word != '\0' ? ", " : "", word);
	terminal_printf(out, "%s\n", text);
}

// Frames were counted, and without the size of a cell they are no bytes.
static bool no_bytes(const struct probe *p)
{
	static const unsigned pairs[][2] = {{PROBE_XOFF_FRAMES, PROBE_XOFF_BYTES},
					    {PROBE_HEADROOM_FRAMES, PROBE_HEADROOM_BYTES},
					    {PROBE_LIMIT_FRAMES, PROBE_LIMIT_BYTES}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (p->value[pairs[i][0]].given && !p->value[pairs[i][1]].given)
			return true;
	return false;
}

void probe_report_table(const struct probe_report *r, FILE *out)
{
	fprintf(out, "%s, class %u\n\n%-9s %-17s %16s  %s\n", r->device, r->probe->conf.cls,
		"measure", "result", "value", "bounds");
	walk(r, out, table_line);
	if (no_bytes(r->probe))
		fputs("\nFor bytes, measure `cell` in the same run, or give --cell.\n", out);
}

static void page_line(FILE *out, const char *measure, const char *key, const char *value,
		      const char *within, const char *word)
{
	fprintf(out, "| %s | %s | %s | %s | %s |\n", measure, key, value, within, word);
}

void probe_report_page(const struct probe_report *r, FILE *out)
{
	fprintf(out,
		"# Probe of a switch\n\nDevice: %s. Class %u. Frames from `%s` to `%s`%s%s%s.\n\n"
		"| measure | number | value | bounds | remark |\n| --- | --- | --- | --- | --- |\n",
		r->device, r->probe->conf.cls, r->ports[PROBE_TX], r->ports[PROBE_RX],
		r->ports[PROBE_THIRD] != NULL ? ", third port `" : "",
		r->ports[PROBE_THIRD] != NULL ? r->ports[PROBE_THIRD] : "",
		r->ports[PROBE_THIRD] != NULL ? "`" : "");
	walk(r, out, page_line);
	fputs("\nWhat the numbers are:\n\n", out);
	for (unsigned k = 0; k < PROBE_N_VALUES; k++)
		if (r->probe->value[k].given)
			fprintf(out, "* `%s`: %s\n", rows[k].key, rows[k].help);
}

static void add_report_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text == NULL ? NULL : json_object_new_string(text));
}

// {"value": 5, "low": 5, "high": 5, "unit": "bytes"}
static struct json_object *value_json(const struct probe_report *r, unsigned k)
{
	static const char *const units[] = {[UNIT_BYTES] = "bytes", [UNIT_COUNT] = "count",
					    [UNIT_TIME] = "ns", [UNIT_PERCENT] = "ppm"};
	const struct probe_value *v = &r->probe->value[k];
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "value", json_object_new_int64(v->value));
	json_object_object_add(o, "low", json_object_new_int64(v->low));
	json_object_object_add(o, "high", json_object_new_int64(v->high));
	add_report_text(o, "unit", units[rows[k].unit]);
	if (r->probe->word[k] != NULL)
		add_report_text(o, "remark", r->probe->word[k]);
	return o;
}

void probe_report_json(const struct probe_report *r, FILE *out)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_object();
	struct json_object *values = json_object_new_object();

	add_report_text(o, "target", r->device);
	json_object_object_add(o, "tested_class", json_object_new_int(r->probe->conf.cls));
	for (unsigned i = 0; i < PROBE_N_MEASURES; i++) {
		struct json_object *m = json_object_new_object();

		add_report_text(m, "verdict", verdicts[r->results[i].verdict]);
		if (r->results[i].why[0] != '\0')
			add_report_text(m, "why", r->results[i].why);
		json_object_object_add(list, probe_measures[i].name, m);
	}
	for (unsigned k = 0; k < PROBE_N_VALUES; k++)
		if (r->probe->value[k].given)
			json_object_object_add(values, rows[k].key, value_json(r, k));
	json_object_object_add(o, "measures", list);
	json_object_object_add(o, "values", values);
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

void probe_report_values(FILE *out)
{
	fputs("| number | meaning |\n| --- | --- |\n", out);
	for (unsigned k = 0; k < PROBE_N_VALUES; k++)
		fprintf(out, "| `%s` | %s |\n", rows[k].key, rows[k].help);
}
