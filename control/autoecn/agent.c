// SPDX-License-Identifier: Apache-2.0
#include "control/autoecn/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/switch.h"
#include "dataplane/switch_ecn.h"
#include "dataplane/switch_flows.h"

static_assert((int)RESIDENCE_BUCKETS <= (int)ECN_RESIDENCE_MAX, "the histogram of a queue fits");

enum { WARM_UP = 4 }; // a fourth of the window

// A queue with auto ECN.
struct tuned {
	struct auto_ecn_params params;
	struct ecn_rule rule;
	struct ecn_model model;
	port_no_t port;
	uint8_t queue;
	uint8_t cls; // the lowest one of `classes`
	uint8_t classes; // bitmap of those that share the queue
	bool waits; // the worker has not got the thresholds yet
	bool warm; // `from` has been taken
	struct ecn_snapshot first, from, at; // first: where the first window began
	struct ecn_features features;
	enum ecn_why why;
	uint64_t begin_ns, since_ns, n_windows, tx_bytes, marked, looked_ns;
	uint64_t paused_ns[N_CLASSES]; // as last seen
};

struct autoecn {
	struct weir_switch *sw;
	autoecn_fn *fn;
	void *arg;
	unsigned n;
	struct tuned *tuned;
	uint16_t number[POLICY_MAX_PORTS][N_QUEUES]; // its place in `tuned`, from 1 on
	uint64_t xoffs[POLICY_MAX_PORTS][N_CLASSES]; // as last seen
	bool policy_changes;
	struct autoecn_change kept[AUTOECN_KEPT];
	unsigned n_kept, next_kept;
	// The flow table: bytes of each place as last seen, and the next place of the round.
	uint64_t *sent, round_ns; // when the round began
	uint32_t n_places, place;
	bool all_seen;
};

// ---- queues of a policy

static struct tuned *find_tuned_queue(const struct autoecn *a, unsigned port, unsigned queue)
{
	unsigned n = a == NULL || port >= POLICY_MAX_PORTS || queue >= N_QUEUES
			     ? 0
			     : a->number[port][queue];

	return n == 0 ? NULL : &a->tuned[n - 1];
}

static struct ecn_rails rails_of(const struct policy_port *pp, unsigned queue)
{
	const struct auto_ecn_params *p = &pp->auto_ecn[queue];

	return (struct ecn_rails){p->floor_bytes, p->ceiling_bytes, p->speed_bps};
}

static uint8_t classes_of_queue(const struct policy_port *pp, unsigned queue)
{
	unsigned classes = 0;

	for (unsigned c = 0; c < N_CLASSES; c++)
		classes |= (unsigned)(pp->classify.class_to_queue[c] == queue) << c;
	return (uint8_t)classes;
}

static uint8_t lowest_class(const struct tuned *t)
{
	return t->classes == 0 ? 0 : (uint8_t)__builtin_ctz(t->classes);
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

static void report_curve_change(struct autoecn *a, struct tuned *t, const struct ecn_verdict *v,
				uint64_t now_ns)
{
	struct autoecn_change *c = &a->kept[a->next_kept];

	*c = (struct autoecn_change){
		.t_ns = now_ns, .port = t->port, .queue = t->queue, .cls = t->cls,
		.on = t->params.action == ECN_ON, .mode = t->rule.mode, .why = v->why,
		.before = v->before, .after = v->after, .features = t->features};
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
	       x->step_ns == y->step_ns && x->speed_bps == y->speed_bps &&
	       x->model_stamp == y->model_stamp && strcmp(x->model_file, y->model_file) == 0;
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
		t->classes = classes_of_queue(pp, t->queue);
		t->cls = lowest_class(t);
		t->rule.model = before->rule.model != NULL ? &t->model : NULL;
		if (row != NULL)
			t->rule.row = &t->model.row[row - before->model.row];
		v = ecn_rule_rails(&t->rule, &rails, now_ns);
		if (v.why != ECN_WHY_NONE)
			report_curve_change(a, t, &v, now_ns);
		return true;
	}
	t->params = *p;
	t->classes = classes_of_queue(pp, t->queue);
	t->cls = lowest_class(t);
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
			next[n].port = (port_no_t)i;
			next[n].queue = (uint8_t)q;
			ok &= take_queue(a, &next[n++], find_tuned_queue(a, i, q), &p->ports[i],
					 now_ns, err, err_len);
		}
	free(a->tuned);
	a->tuned = next;
	a->n = n;
	memset(a->number, 0, sizeof(a->number));
	for (unsigned i = 0; i < n; i++)
		a->number[next[i].port][next[i].queue] = (uint16_t)(i + 1);
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
			t = cause.kind == CAUSE_QUEUE
				    ? find_tuned_queue(a, cause.out_port, cause.queue)
				    : NULL;
			if (t != NULL)
				t->at.pauses += n - before;
		}
	}
}

static bool in_storm(const struct autoecn *a, const struct tuned *t)
{
	for (unsigned i = 0; i < switch_policy(a->sw)->n_ports; i++)
		for_each_bit (c, t->classes)
			if (switch_watchdog_status(a->sw, i, c) > WATCHDOG_OPERATIONAL)
				return true;
	return false;
}

// Time for which the peer paused the queue since the look before: for the class with the most. A
// read beside the worker may be off by a whole pause (qos/pfc.h), so the result stays in bounds.
static uint64_t newly_paused_ns(const struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	uint64_t most = 0;

	for_each_bit (c, t->classes) {
		uint64_t ns = pfc_paused_ns(&switch_pfc_rx(a->sw, t->port)->stats[c], now_ns);

		if (ns > t->paused_ns[c])
			most = max_u64(most, ns - t->paused_ns[c]);
		t->paused_ns[c] = ns;
	}
	return t->looked_ns == 0 ? 0 : min_u64(most, now_ns - t->looked_ns);
}

// The sums of the queue as they are now.
static void read_queue_counters(const struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	const struct queue_counters *q = switch_queue_counters(a->sw, t->port, t->queue);
	uint64_t marked = ctr_get(&q->ecn_marked), bytes = ctr_get(&q->tx_bytes);
	struct ecn_snapshot *s = &t->at;

	s->paused_ns += newly_paused_ns(a, t, now_ns);
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
	for (unsigned b = 0; b < RESIDENCE_BUCKETS; b++)
		s->residence[b] = ctr_get(&q->residence[b]);
}

// ---- flows

static void see_flow(void *arg, uint32_t place, const struct flow_row *row)
{
	struct autoecn *a = arg;
	struct tuned *t = find_tuned_queue(a, row->way.out_port, row->way.queue);
	uint64_t before = a->sent[place];
	uint64_t bytes = row->bytes >= before ? row->bytes - before : row->bytes; // another flow

	a->sent[place] = row->bytes;
	if (t == NULL || bytes == 0 || !a->all_seen)
		return;
	t->at.flows++;
	t->at.flow_bytes += bytes;
	t->at.flow_squares += (unsigned __int128)bytes * bytes;
	if (row->size == SIZE_ELEPHANT)
		t->at.elephant_bytes += bytes;
}

// Once around the table takes as long as the rest of the shortest window after WARM_UP. So each of
// these rests sees each place once. The first time around only says where the bytes began.
static void look_at_flows(struct autoecn *a, uint64_t now_ns)
{
	uint64_t round_ns = UINT64_MAX, age_ns = now_ns - a->round_ns;
	uint32_t places = switch_flows_places(a->sw);
	struct flows_look look = {.now_ns = now_ns, .fn = see_flow, .arg = a};

	if (places != a->n_places) {
		free(a->sent);
		a->sent = calloc(places, sizeof(*a->sent));
		a->n_places = a->sent == NULL ? 0 : places;
		a->place = 0;
		a->round_ns = now_ns;
		a->all_seen = false;
		return;
	}
	for (unsigned i = 0; i < a->n; i++)
		if (a->tuned[i].params.step_ns < round_ns)
			round_ns = a->tuned[i].params.step_ns;
	round_ns -= round_ns / WARM_UP;
	look.first = a->place;
	// With a longer window than before the round waits.
	a->place = age_ns >= round_ns
			   ? places
			   : (uint32_t)max_u64(a->place, places * age_ns / round_ns);
	look.n = a->place - look.first;
	if (look.n != 0)
		switch_flows_look(a->sw, &look);
	for (unsigned i = 0; i < a->n && a->all_seen; i++) {
		a->tuned[i].at.places += look.n;
		a->tuned[i].at.table = places;
	}
	if (age_ns < round_ns)
		return;
	a->place = 0;
	a->round_ns = now_ns;
	a->all_seen = true;
}

static void set_tuned_curve(struct autoecn *a, struct tuned *t)
{
	const struct wred_curve c = wred_curve_of(t->rule.now.kmin_bytes, t->rule.now.kmax_bytes,
						  t->rule.now.pmax_ppm);

	t->waits = !switch_set_curve(a->sw, t->port, t->queue, &c);
}

// From a snapshot to now.
static struct ecn_features features_since(const struct autoecn *a, const struct tuned *t,
					  const struct ecn_snapshot *from)
{
	struct ecn_features f = ecn_features_between(from, &t->at, t->params.speed_bps,
						     residence_bucket_max, RESIDENCE_BUCKETS);

	if (!switch_policy(a->sw)->elephants.enabled)
		f.elephants = ECN_UNKNOWN;
	return f;
}

static void end_window(struct autoecn *a, struct tuned *t, uint64_t now_ns)
{
	enum ecn_freeze freeze = a->policy_changes ? ECN_FREEZE_POLICY
				 : in_storm(a, t) ? ECN_FREEZE_STORM
						  : ECN_GO;
	struct ecn_verdict v;

	snapshot(a, t, now_ns);
	if (t->n_windows == 0)
		t->first = t->from;
	t->features = features_since(a, t, &t->from);
	t->n_windows++;
	v = ecn_rule_window(&t->rule, &t->features, freeze, now_ns);
	if (v.why != ECN_WHY_NONE)
		report_curve_change(a, t, &v, now_ns);
	t->waits |= v.changed && t->params.action == ECN_ON;
	begin_window(t, now_ns);
}

void autoecn_look(struct autoecn *a, bool policy_changes, uint64_t now_ns)
{
	if (a == NULL || a->n == 0)
		return;
	a->policy_changes = policy_changes;
	count_pauses(a);
	look_at_flows(a, now_ns);
	for (unsigned i = 0; i < a->n; i++) {
		struct tuned *t = &a->tuned[i];
		uint64_t age_ns = now_ns - t->begin_ns;

		read_queue_counters(a, t, now_ns);
		if (!t->warm && age_ns >= t->params.step_ns / WARM_UP) {
			snapshot(a, t, now_ns);
			t->from = t->at;
			t->warm = true;
		} else if (t->warm && age_ns >= t->params.step_ns) {
			end_window(a, t, now_ns);
		}
		if (t->waits && !policy_changes)
			set_tuned_curve(a, t);
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
	free(a->sent);
	free(a);
}

// ---- views

bool autoecn_view(const struct autoecn *a, unsigned port, unsigned queue, struct autoecn_view *out)
{
	const struct tuned *t = find_tuned_queue(a, port, queue);

	if (t == NULL)
		return false;
	*out = (struct autoecn_view){
		.on = t->params.action == ECN_ON, .mode = t->rule.mode, .why = t->why,
		.row = t->rule.row != NULL ? t->rule.row->name : NULL,
		.now = t->params.action == ECN_ON ? t->rule.now : ecn_start(&t->rule.rails),
		.advice = t->rule.now, .rails = t->rule.rails, .features = t->features,
		.all = features_since(a, t, &t->first),
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
