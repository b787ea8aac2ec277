// SPDX-License-Identifier: Apache-2.0
// What auto ECN did in a run: each change with its time and reason, and the features of each queue.
#include <inttypes.h>

#include <json-c/json.h>

#include "control/autoecn/agent.h"
#include "control/lab/report_rows.h"
#include "control/observe/fact.h"
#include "dataplane/base/units.h"

enum { MAX_ROWS = 40, TEXT_LEN = 64 };

static const char *thresholds_text(const struct ecn_thresholds *t, char out[TEXT_LEN])
{
	snprintf(out, TEXT_LEN, "%.4g/%.4g KB/%g%%", (double)t->kmin_bytes / 1e3,
		 (double)t->kmax_bytes / 1e3, (double)t->pmax_ppm / 1e4);
	return out;
}

void report_thresholds(const struct run *r, grid_emit_fn *emit, FILE *out)
{
	const struct autoecn_change *c;
	uint32_t n = 0;
	struct grid g;

	grid_init(&g, "auto ECN (kmin/kmax/pmax; features of the window before the change)",
		  "queue|at|before|after|use|marked|p99|why", 1);
	for (uint32_t s = 0; s < r->sc->n_switches; s++) {
		const struct autoecn *a = instance_auto_ecn(&r->fabric->switches[s].in);

		for (unsigned i = 0; (c = autoecn_change(a, i)) != NULL; i++) {
			char text[TEXT_LEN];

			if (n++ >= MAX_ROWS)
				continue;
			grid_row(&g);
			grid_put(&g, "%s.p%u.%u", r->sc->switches[s].name, c->port + 1u, c->cls);
			grid_put(&g, "%.0fms", (double)c->t_ns / 1e6);
			grid_put(&g, "%s", thresholds_text(&c->before, text));
			grid_put(&g, "%s", thresholds_text(&c->after, text));
			grid_put(&g, "%.0f%%", 100 * c->features.utilisation);
			grid_put(&g, "%.2g%%", 100 * c->features.mark_share);
			grid_put(&g, "%.3gus", c->features.delay_p99_ns / 1e3);
			grid_put(&g, "%s%s%s", ecn_why_text[c->why], c->row[0] != 0 ? ": " : "",
				 c->row);
		}
	}
	grid_end(&g, emit, out, n > MAX_ROWS ? n - MAX_ROWS : 0);
}

static void put_known(struct json_object *row, const char *key, double v)
{
	json_object_object_add(row, key, v < 0 ? NULL : json_object_new_double(v));
}

static void put_features(struct json_object *row, const struct ecn_features *f)
{
	struct json_object *out = json_object_new_object();

	json_object_object_add(row, "features", out);
	put_known(out, "utilisation", f->utilisation);
	put_known(out, "marked_use", f->marked_use);
	put_known(out, "mark_share", f->mark_share);
	put_known(out, KEY(ECN_AUTO, delay_mean_us), f->delay_mean_ns / US_NS);
	put_known(out, KEY(ECN_AUTO, delay_p99_us), f->delay_p99_ns / US_NS);
	put_known(out, KEY(ECN_AUTO, queue_bytes), f->queue_bytes);
	put_known(out, "paused_share", f->paused_share);
	row_u64(out, KEY(DROPS, packets), f->packets);
	row_u64(out, KEY(ECN_AUTO, pauses), f->pauses);
	put_known(out, KEY(ECN_AUTO, active_flows), f->flows);
	put_known(out, "elephants", f->elephants);
	put_known(out, "fairness", f->fairness);
}

static void put_thresholds(struct json_object *row, const char *key, const struct ecn_thresholds *t)
{
	struct json_object *out = json_object_new_object();

	json_object_object_add(row, key, out);
	row_u64(out, KEY(ECN_AUTO, kmin_bytes), t->kmin_bytes);
	row_u64(out, KEY(ECN_AUTO, kmax_bytes), t->kmax_bytes);
	json_object_object_add(out, KEY(ECN_AUTO, pmax_percent),
			       json_object_new_double((double)t->pmax_ppm / 1e4));
}

static void put_place(const struct run *r, uint32_t sw, unsigned port, unsigned cls,
		      struct json_object *row)
{
	char name[TEXT_LEN];

	snprintf(name, sizeof(name), "p%u", port + 1u);
	row_text(row, "switch", r->sc->switches[sw].name);
	row_text(row, KEY(QUEUES, port), name);
	row_u64(row, KEY(QUEUES, class), cls);
}

// A row for each queue with auto ECN, with its features over all windows, from which a model is
// made; then the changes, with the features of one window each.
void report_thresholds_json(const struct run *r, struct json_object *out)
{
	struct json_object *queues = list_in(out, "auto_ecn");
	struct json_object *changes = list_in(out, "auto_ecn_changes");
	const struct autoecn_change *c;

	for (uint32_t s = 0; s < r->sc->n_switches; s++) {
		const struct autoecn *a = instance_auto_ecn(&r->fabric->switches[s].in);

		for (unsigned p = 0; a != NULL && p < r->sc->switches[s].n_ports; p++)
			for (unsigned q = 0; q < N_QUEUES; q++) {
				struct autoecn_view v;
				struct json_object *row;

				if (!autoecn_view(a, p, q, &v) || v.n_windows == 0)
					continue;
				row = row_in(queues);
				put_place(r, s, p, v.cls, row);
				row_text(row, KEY(ECN_AUTO, mode), ecn_mode_name[v.mode]);
				put_thresholds(row, "thresholds", &v.now);
				put_thresholds(row, "advice", &v.advice);
				row_u64(row, KEY(ECN_AUTO, floor_bytes), v.rails.floor_bytes);
				row_u64(row, KEY(ECN_AUTO, ceiling_bytes), v.rails.ceiling_bytes);
				put_features(row, &v.all);
			}
		for (unsigned i = 0; (c = autoecn_change(a, i)) != NULL; i++) {
			struct json_object *row = row_in(changes);

			put_place(r, s, c->port, c->cls, row);
			row_u64(row, KEY(EVENTS, t_ns), c->t_ns);
			row_text(row, KEY(ECN_AUTO, mode), ecn_mode_name[c->mode]);
			row_text(row, "why", ecn_why_text[c->why]);
			if (c->row[0] != 0)
				row_text(row, KEY(ECN_AUTO, model), c->row);
			put_thresholds(row, "before", &c->before);
			put_thresholds(row, "after", &c->after);
			put_features(row, &c->features);
		}
	}
}
