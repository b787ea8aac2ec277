// SPDX-License-Identifier: Apache-2.0
// The page docs/counters.md: every number, drop reason and event, with all its names.
#include <string.h>

#include "control/daemon/eventlog.h"
#include "control/manual/pages.h"
#include "control/observe/fact.h"
#include "dataplane/drop.h"
#include "dataplane/event.h"

static const char intro[] =
	"# Counters, drop reasons, events\n"
	"\n"
	"Made from the tables of the programs by `scripts/docs`; do not edit. Every number has one "
	"source and three views:\n"
	"\n"
	"| view | how | counts from |\n"
	"| --- | --- | --- |\n"
	"| JSON | `weirctl show KIND --json` | the last `weirctl clear counters` |\n"
	"| Prometheus | `weirctl metrics`, or `weir --metrics PORT` and "
	"`http://127.0.0.1:PORT/metrics` | the start of the switch |\n"
	"| DPDK telemetry | `dpdk-telemetry.py -f weir-NAME`, then `/weir/LIST[,PORT][,PAGE]` | as "
	"JSON |\n"
	"\n"
	"Bytes of ports and queues are frame bytes without FCS; bytes of priority groups and pools "
	"are whole\n"
	"cells. Counters have one writer and are read without stopping it: numbers that belong "
	"together agree\n"
	"exactly when the switch is at rest (`weirctl quiesce`). A residence time is as fine as "
	"the turns of its\n"
	"worker: a frame that leaves in the turn in which it came counts 0 ns.\n"
	"\n"
	"*Derived* numbers (rates, quantiles) are no metrics: Prometheus makes them from the "
	"counters.\n";

static const char *kind_name(enum fact_kind kind)
{
	static const char *const names[N_FACT_KINDS] = {
		[FACT_ID] = "identity", [FACT_LABEL] = "label",	  [FACT_TEXT] = "text",
		[FACT_COUNTER] = "counter", [FACT_GAUGE] = "gauge", [FACT_YES] = "yes or no",
		[FACT_DERIVED] = "derived",
	};

	return names[kind];
}

static void metric_cell(FILE *out, const struct fact_list *l, const struct fact *f)
{
	char name[METRIC_NAME_LEN];

	if (fact_metric(l, f, name))
		fprintf(out, "`%s`", name);
	else if (l->prefix != NULL && (f->kind == FACT_ID || f->kind == FACT_LABEL))
		fprintf(out, "label `%s`", fact_label(f));
	else if (l->prefix != NULL && f->kind == FACT_TEXT)
		fprintf(out, "label of `%s_info`", l->prefix);
}

static void list_section(FILE *out, const struct fact_list *l)
{
	fprintf(out, "\n## %s\n\n`weirctl show %s`, in JSON `%s%s`", l->help, l->what, l->list,
		l->single ? "" : "[]");
	if (l->prefix != NULL)
		fprintf(out, "; telemetry `/weir/%s`", l->list);
	fputs("\n\n| key | kind | Prometheus | meaning |\n| --- | --- | --- | --- |\n", out);
	for (size_t i = 0; i < l->n; i++) {
		const struct fact *f = &l->rows[i];

		fprintf(out, "| `%s` | %s | ", f->key, kind_name(f->kind));
		metric_cell(out, l, f);
		fprintf(out, " | %s |\n", f->help);
	}
}

static void other_metrics(FILE *out)
{
	fputs("\n## Metrics of their own\n\n| Prometheus | type | meaning |\n| --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < N_FACT_METRICS; i++)
		fprintf(out, "| `%s` | %s | %s |\n", fact_metrics[i].name, fact_metrics[i].type,
			fact_metrics[i].help);
}

static void reasons(FILE *out)
{
	fputs("\n## Drop reasons\n\nThe `reason` of a row of `show drops`. *Alarm*: in a lossless "
	      "class it must not happen, and\nmakes an event `lossless-drop`.\n\n"
	      "| reason | alarm | meaning |\n| --- | --- | --- |\n",
	      out);
	for (unsigned i = 0; i < N_DROP_REASONS; i++)
		fprintf(out, "| `%s` | %s | %s |\n", drop_info[i].name,
			drop_info[i].loss ? "yes" : "", drop_info[i].help);
}

static void event_names(FILE *out)
{
	fputs("\n## Names of events\n\n| event | severity | meaning |\n| --- | --- | --- |\n", out);
	for (unsigned i = 0; i < N_EVENT_TYPES; i++)
		fprintf(out, "| `%s` | %s | %s |\n", event_info[i].name, eventlog_severity(i),
			event_info[i].help);
}

int page_counters(FILE *out, const char *docs)
{
	(void)docs;
	fputs(intro, out);
	for (unsigned i = 0; i < N_FACT_LISTS; i++)
		list_section(out, &fact_lists[i]);
	other_metrics(out);
	reasons(out);
	event_names(out);
	return 0;
}
