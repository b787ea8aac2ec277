// SPDX-License-Identifier: Apache-2.0
// The files series.csv and flows.csv: numbers for other programs, units in the names of columns.
#include <inttypes.h>
#include <string.h>

#include "control/lab/report_rows.h"

void csv_field(const char *text, FILE *out)
{
	if (strpbrk(text, ",\"\n\r") == NULL) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

// Whole numbers as they are; what is not measured stays empty.
void csv_number(double v, FILE *out)
{
	if (v != v)
		return;
	if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v)
		fprintf(out, "%" PRId64, (int64_t)v);
	else
		fprintf(out, "%.9g", v);
}

static void column(const struct run *r, uint32_t i, FILE *out)
{
	static const char *const units[N_EXPR_UNITS] = {
		[EXPR_RATE] = " bps", [EXPR_BYTES] = " bytes", [EXPR_TIME] = " ns"};
	const char *unit = units[measure_unit(r->measure, i)];
	char text[EXPR_MAX_TEXT + 64];

	snprintf(text, sizeof(text), "%s%s", measure_column(r->measure, i),
		 unit == NULL ? "" : unit);
	csv_field(text, out);
}

void csv_series(const struct run *r, FILE *out)
{
	uint32_t n = measure_n_columns(r->measure);

	fputs("time_ns", out);
	for (uint32_t c = 0; c < n; c++) {
		fputc(',', out);
		column(r, c, out);
	}
	fputc('\n', out);
	for (uint64_t row = 0; row < measure_n_rows(r->measure); row++) {
		fprintf(out, "%" PRIu64, measure_row_ns(r->measure, row));
		for (uint32_t c = 0; c < n; c++) {
			fputc(',', out);
			csv_number(measure_value(r->measure, row, c), out);
		}
		fputc('\n', out);
	}
}

void csv_flows(const struct run *r, FILE *out)
{
	uint64_t n = traffic_n_done(r->traffic);

	fputs("flow,from,to,bytes,posted_ns,first_tx_ns,last_tx_ns,done_ns,fct_ns,ideal_ns\n", out);
	for (uint64_t i = 0; i < n; i++) {
		const struct traffic_done *d = traffic_done(r->traffic, i);

		csv_field(lab_flow_name(lab_flow_of(r->sc, d->flow)), out);
		fprintf(out,
			",%s,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 "\n",
			r->sc->hosts[d->src].name, r->sc->hosts[d->dst].name, d->n_bytes,
			d->posted_ns, d->first_tx_ns, d->last_tx_ns, d->done_ns,
			d->done_ns - d->posted_ns, traffic_ideal_ns(r->traffic, d));
	}
}
