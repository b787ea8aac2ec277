// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/bits.h"
#include "dataplane/switch.h"
#include "dataplane/switch_ecn.h"
#include "dataplane/units.h"

static_assert((int)RESIDENCE_BUCKETS <= (int)ECN_RESIDENCE_MAX, "the histogram of a queue fits");

enum { WARM_UP = 4 }; // a fourth of the window

// A queue with auto ECN.
struct tuned {
	struct auto_ecn_params params;
	struct ecn_rule rule;
	struct ecn_model model;
	uint8_t port, queue, cls;
	bool waits; // the worker has not got the thresholds yet
	bool warm; // `from` has been taken
	struct ecn_snapshot first, from, at; // first: where the first window began
	struct ecn_features features;
	enum ecn_why why;
	uint64_t begin_ns, since_ns, n_windows, tx_bytes, marked, looked_ns;
};

struct autoecn {
	struct weir_switch *sw;
	autoecn_fn *fn;
	void *arg;
	unsigned n;
	struct tuned *tuned;
	uint64_t xoffs[POLICY_MAX_PORTS][N_CLASSES]; // as last seen
	bool policy_changes;
	struct autoecn_change kept[AUTOECN_KEPT];
	unsigned n_kept, next_kept;
};

// ---- queues of a policy

static struct tuned *find(const struct autoecn *a, unsigned port, unsigned queue)
{
	for (unsigned i = 0; a != NULL && i < a->n; i++)
		if (a->tuned[i].port == port && a->tuned[i].queue == queue)
			return &a->tuned[i];
	return NULL;
}

static struct ecn_rails rails_of(const struct policy_port *pp, unsigned queue)
{
	const struct auto_ecn_params *p = &pp->auto_ecn[queue];

	return (struct ecn_rails){p->floor_bytes, p->ceiling_bytes, pp->speed_bps};
}

static uint8_t lowest_class(const struct policy_port *pp, unsigned queue)
{
	for (unsigned c = 0; c < N_CLASSES; c++)
		if (pp->classify.class_to_queue[c] == queue)
			return (uint8_t)c;
	return 0;
}

// A window begins.
static void begin_window(struct tuned *t, uint64_t now_ns)
{
	t->begin_ns = now_ns;
	t->warm = false;
}

static bool load_model(struct tuned *t, char *err, unsigned err_len)
{
	const struct auto_ecn_params *p = &t->params;

	t->rule.model = NULL;
	if (p->model == ECN_MODEL_OFF)
		return true;
	if (!ecn_model_load(p->model == ECN_MODEL_FILE ? p->model_file : NULL, &t->model, err,
			    err_len))
		return false;
	t->rule.model = &t->model;
	return true;
}

static void report(struct autoecn *a, struct tuned *t, const struct ecn_verdict *v, uint64_t now_ns)
{
	struct autoecn_change *c = &a->kept[a->next_kept];

	*c = (struct autoecn_change){
		.t_ns = now_ns, .port = t->port, .queue = t->queue, .cls = t->cls,
		.on = t->params.action == ECN_ON, .mode = t->rule.mode, .why = v->why,
		.before = v->before, .after = v->after, .features = t->features, .cost = v->cost};
	if (t->rule.row != NULL)
		memcpy(c->row, t->rule.row->name, sizeof(c->row));
	a->next_kept = (a->next_kept + 1) % AUTOECN_KEPT;
	a->n_kept += a->n_kept < AUTOECN_KEPT;
	t->why = v->why;
	t->since_ns = now_ns;
	a->fn(a->arg, c);
}

static bool same_params(const struct auto_ecn_params *x, const struct auto_ecn_params *y)
{
	return x->on == y->on && x->action == y->action && x->model == y->model &&
	       x->step_ns == y->step_ns && strcmp(x->model_file, y->model_file) == 0;
}

// A queue that had auto ECN before keeps its state, unless its keys are others.
static bool take_queue(struct autoecn *a, struct tuned *t, const struct tuned *before,
		       const struct policy_port *pp, uint64_t now_ns, char *err, unsigned err_len)
{
	const struct auto_ecn_params *p = &pp->auto_ecn[t->queue];
	const struct ecn_rails rails = rails_of(pp, t->queue);
	bool ok;

	if (before != NULL && same_params(&before->params, p)) {
		struct ecn_verdict v;
		const struct ecn_archetype *row = before->rule.row;

		*t = *before;
		t->params = *p;
		t->cls = lowest_class(pp, t->queue);
		t->rule.model = before->rule.model != NULL ? &t->model : NULL;
		if (row != NULL)
			t->rule.row = &t->model.row[row - before->model.row];
		v = ecn_rule_rails(&t->rule, &rails, now_ns);
		if (v.why != ECN_WHY_NONE)
			report(a, t, &v, now_ns);
		return true;
	}
	t->params = *p;
	t->cls = lowest_class(pp, t->queue);
	t->since_ns = now_ns;
	t->why = ECN_WHY_BEGIN;
	ecn_rule_init(&t->rule, &rails, NULL, now_ns);
	t->rule.advise = p->action == ECN_ADVISE;
	ok = load_model(t, err, err_len);
	begin_window(t, now_ns);
	t->looked_ns = 0;
	return ok;
}

bool autoecn_new_policy(struct autoecn *a, uint64_t now_ns, char *err, unsigned err_len)
{
	const struct policy *p = a == NULL ? NULL : switch_policy(a->sw);
	struct tuned *next;
	unsigned n = 0;
	bool ok = true;

	if (a == NULL)
		return true;
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++)
			n += p->ports[i].auto_ecn[q].on;
	next = calloc(n + 1, sizeof(*next));
	if (next == NULL) {
		snprintf(err, err_len, "out of memory");
		return false;
	}
	n = 0;
	for (unsigned i = 0; i < p->n_ports; i++)
		for (unsigned q = 0; q < N_QUEUES; q++) {
			if (!p->ports[i].auto_ecn[q].on)
				continue;
			next[n].port = (uint8_t)i;
			next[n].queue = (uint8_t)q;
			ok &= take_queue(a, &next[n++], find(a, i, q), &p->ports[i], now_ns, err,
					 err_len);
		}
	free(a->tuned);
	a->tuned = next;
	a->n = n;
	return ok;
}

void autoecn_carry(const struct autoecn *a, struct policy *next)
{
	for (unsigned i = 0; a != NULL && i < a->n; i++) {
		const struct tuned *t = &a->tuned[i];
		struct policy_port *pp = &next->ports[t->port];
		struct ecn_rule rule = t->rule;
		const struct ecn_rails rails = rails_of(pp, t->queue);

		if (!same_params(&t->params, &pp->auto_ecn[t->queue]) ||
		    t->params.action != ECN_ON)
			continue;
		(void)ecn_rule_rails(&rule, &rails, 0);
		for (unsigned color = 0; color < N_COLORS; color++)
			pp->queue[t->queue].wred.curve[color] =
				wred_curve_of(rule.now.kmin_bytes, rule.now.kmax_bytes,
					      rule.now.pmax_ppm);
	}
}

// ---- looks

// PAUSEs since the look before, each for the queue that caused it.
static void count_pauses(struct autoecn *a)
{
	for (unsigned i = 0; i < switch_policy(a->sw)->n_ports; i++) {
		const struct policy_port *pp = &switch_policy(a->sw)->ports[i];
		const struct pfc_tx_state *tx = switch_pfc_tx(a->sw, i);

		for_each_bit (c, pp->classify.lossless) {
			uint64_t n = ctr_get(&tx->stats[c].transitions), before = a->xoffs[i][c];
			struct pause_cause cause;
			struct tuned *t;

			if (n == before)
				continue;
			a->xoffs[i][c] = n;
			cause = switch_pause_cause(a->sw, i, pp->classify.class_to_pg[c]);
			t = cause.kind == CAUSE_QUEUE ? find(a, cause.out_port, cause.queue)
						      : NULL;
			if (t != NULL)
				t->at.pauses += n - before;
		}
	}
}

static bool class_in_storm(const struct autoecn *a, unsigned cls)
{
	for (unsigned i = 0; i < switch_policy(a->sw)->n_ports; i++)
		if (switch_watchdog_status(a->sw, i, cls) > WATCHDOG_OPERATIONAL)
			return true;
	return false;
}

// The sums of the queue as they are now.
static void look_at(const struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	const struct queue_counters *q = switch_queue_counters(a->sw, t->port, t->queue);
	uint64_t marked = ctr_get(&q->ecn_marked), bytes = ctr_get(&q->tx_bytes);
	struct ecn_snapshot *s = &t->at;

	if (marked != t->marked && t->looked_ns != 0) {
		s->marked_bytes += bytes - t->tx_bytes;
		s->marked_ns += now_ns - t->looked_ns;
	}
	t->marked = marked;
	t->tx_bytes = bytes;
	t->looked_ns = now_ns;
	s->length_sum += gauge_get(&q->length_bytes);
	s->lengths++;
}

static void snapshot(const struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	const struct queue_counters *q = switch_queue_counters(a->sw, t->port, t->queue);
	struct ecn_snapshot *s = &t->at;

	s->t_ns = now_ns;
	s->tx_packets = ctr_get(&q->tx_packets);
	s->tx_bytes = t->tx_bytes;
	s->marked = t->marked;
	s->paused_ns = pfc_paused_ns(&switch_pfc_rx(a->sw, t->port)->stats[t->cls], now_ns);
	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++)
		s->residence[b] = ctr_get(&q->residence[b]);
	s->flows = s->elephants = ECN_UNKNOWN;
}

static void give(struct autoecn *a, struct tuned *t)
{
	const struct wred_curve c = wred_curve_of(t->rule.now.kmin_bytes, t->rule.now.kmax_bytes,
						  t->rule.now.pmax_ppm);

	t->waits = !switch_set_curve(a->sw, t->port, t->queue, &c);
}

static void end_window(struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	const struct policy_port *pp = &switch_policy(a->sw)->ports[t->port];
	enum ecn_freeze freeze = a->policy_changes	  ? ECN_FREEZE_POLICY
				 : class_in_storm(a, t->cls) ? ECN_FREEZE_STORM
							     : ECN_GO;
	struct ecn_verdict v;

	snapshot(a, t, now_ns);
	if (t->n_windows == 0)
		t->first = t->from;
	t->features = ecn_features_between(&t->from, &t->at, pp->speed_bps, residence_bucket_max,
					   RESIDENCE_BUCKETS);
	t->n_windows++;
	v = ecn_rule_window(&t->rule, &t->features, freeze, now_ns);
	if (v.why != ECN_WHY_NONE)
		report(a, t, &v, now_ns);
	t->waits |= v.changed && t->params.action == ECN_ON;
	begin_window(t, now_ns);
}

void autoecn_look(struct autoecn *a, bool policy_changes, uint64_t now_ns)
{
	if (a == NULL || a->n == 0)
		return;
	a->policy_changes = policy_changes;
	count_pauses(a);
	for (unsigned i = 0; i < a->n; i++) {
		struct tuned *t = &a->tuned[i];
		uint64_t age_ns = now_ns - t->begin_ns;

		look_at(a, t, now_ns);
		if (!t->warm && age_ns >= t->params.step_ns / WARM_UP) {
			snapshot(a, t, now_ns);
			t->from = t->at;
			t->warm = true;
		} else if (t->warm && age_ns >= t->params.step_ns) {
			end_window(a, t, now_ns);
		}
		if (t->waits && !policy_changes)
			give(a, t);
	}
}

// ---- making

int autoecn_create(struct weir_switch *sw, autoecn_fn *fn, void *arg, struct autoecn **out,
		   char *err, unsigned err_len)
{
	struct autoecn *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	a->sw = sw;
	a->fn = fn;
	a->arg = arg;
	if (!autoecn_new_policy(a, 0, err, err_len)) {
		autoecn_destroy(a);
		return -EINVAL;
	}
	*out = a;
	return 0;
}

void autoecn_destroy(struct autoecn *a)
{
	if (a == NULL)
		return;
	free(a->tuned);
	free(a);
}

// ---- views

bool autoecn_view(const struct autoecn *a, unsigned port, unsigned queue, struct autoecn_view *out)
{
	const struct tuned *t = find(a, port, queue);
	uint64_t speed_bps;

	if (t == NULL)
		return false;
	speed_bps = switch_policy(a->sw)->ports[port].speed_bps;
	*out = (struct autoecn_view){
		.on = t->params.action == ECN_ON, .mode = t->rule.mode, .why = t->why,
		.row = t->rule.row != NULL ? t->rule.row->name : NULL,
		.now = t->params.action == ECN_ON ? t->rule.now : ecn_start(&t->rule.rails),
		.advice = t->rule.now, .rails = t->rule.rails, .features = t->features,
		.all = ecn_features_between(&t->first, &t->at, speed_bps, residence_bucket_max,
					    RESIDENCE_BUCKETS),
		.since_ns = t->since_ns, .n_changes = t->rule.n_changes, .n_windows = t->n_windows,
		.cls = t->cls};
	return true;
}

const struct autoecn_change *autoecn_change(const struct autoecn *a, unsigned i)
{
	if (a == NULL || i >= a->n_kept)
		return NULL;
	return &a->kept[(a->next_kept + AUTOECN_KEPT - a->n_kept + i) % AUTOECN_KEPT];
}

void autoecn_features_print(const struct ecn_features *f, char out[AUTOECN_FEATURES_LEN])
{
	snprintf(out, AUTOECN_FEATURES_LEN, "use %.0f %%, marks %.2f %%, p99 %.0f us, PAUSE %lu",
		 100 * f->utilisation, 100 * f->mark_share, f->delay_p99_ns / 1000,
		 (unsigned long)f->pauses);
}
