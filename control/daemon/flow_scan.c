// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/flow_scan.h"

#include <errno.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

int flow_scan_start(struct flow_scan *s, const struct weir_switch *sw, const struct flow_wish *wish)
{
	uint32_t n = switch_flows_places(sw);

	*s = (struct flow_scan){.wish = *wish, .n_places = n};
	s->places = calloc((size_t)n + 1, sizeof(s->places[0]));
	s->step_ns = calloc((size_t)n / SCAN_STEP + 1, sizeof(s->step_ns[0]));
	s->top = calloc(wish->limit, sizeof(s->top[0]));
	if (s->places != NULL && s->step_ns != NULL && s->top != NULL)
		return 0;
	flow_scan_fini(s);
	return -ENOMEM;
}

void flow_scan_fini(struct flow_scan *s)
{
	free(s->places);
	free(s->step_ns);
	free(s->top);
	*s = (struct flow_scan){0};
}

// ---- the largest flows, as a heap

static bool smaller(const struct scan_top *a, const struct scan_top *b)
{
	if (a->rate_bps != b->rate_bps)
		return a->rate_bps < b->rate_bps;
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->place > b->place;
}

static void swap(struct scan_top *a, struct scan_top *b)
{
	struct scan_top t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct scan_top *top, uint32_t i)
{
	for (; i > 0 && smaller(&top[i], &top[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&top[i], &top[(i - 1) / 2]);
}

static void sift_down(struct scan_top *top, uint32_t n)
{
	for (uint32_t i = 0, least;; i = least) {
		uint32_t l = 2 * i + 1, r = l + 1;

		least = l < n && smaller(&top[l], &top[i]) ? l : i;
		least = r < n && smaller(&top[r], &top[least]) ? r : least;
		if (least == i)
			return;
		swap(&top[i], &top[least]);
	}
}

static void keep(struct flow_scan *s, const struct scan_top *t)
{
	if (s->n_top < s->wish.limit) {
		s->top[s->n_top] = *t;
		sift_up(s->top, s->n_top++);
	} else if (smaller(&s->top[0], t)) {
		s->top[0] = *t;
		sift_down(s->top, s->n_top);
	}
}

static int largest_first(const void *a, const void *b)
{
	return smaller(a, b) ? 1 : -1; // no two are equal
}

// ---- the looks

static void on_first(void *arg, uint32_t place, const struct flow_row *row)
{
	struct flow_scan *s = arg;

	s->places[place] = (struct scan_place){row->bytes, row->first_ns};
}

static bool is_unpaired(const struct flow_row *row)
{
	return row->pair.source == PAIR_NONE && flow_needs_pair(row->way.kind);
}

static bool matches(const struct flow_wish *w, const struct flow_row *row)
{
	if (w->unpaired && !is_unpaired(row))
		return false;
	return w->port < 0 || row->way.in_port == w->port || row->way.out_port == w->port;
}

// Over the time between the two looks. What began in between, or began anew, began with 0 bytes.
static uint64_t rate_of(const struct flow_scan *s, uint32_t place, const struct flow_row *row)
{
	const struct scan_place *was = &s->places[place];
	bool same = was->first_ns == row->first_ns && was->bytes <= row->bytes;
	uint64_t bytes = row->bytes - (same ? was->bytes : 0);

	return s->dt_ns == 0 ? 0 : (uint64_t)((double)bytes * 8e9 / (double)s->dt_ns);
}

static void on_second(void *arg, uint32_t place, const struct flow_row *row)
{
	struct flow_scan *s = arg;
	struct scan_top t = {.bytes = row->bytes, .first_ns = row->first_ns, .place = place};

	s->n_all++;
	s->n_unpaired += is_unpaired(row);
	if (!matches(&s->wish, row))
		return;
	s->n_matching++;
	t.rate_bps = rate_of(s, place, row);
	keep(s, &t);
}

static void look(struct flow_scan *s, struct weir_switch *sw, uint64_t now_ns)
{
	struct flows_look l = {.now_ns = now_ns, .first = s->at, .n = SCAN_STEP,
			       .fn = s->second ? on_second : on_first, .arg = s};
	uint64_t *was_ns = &s->step_ns[s->at / SCAN_STEP];

	if (s->n_places - s->at < SCAN_STEP)
		l.n = s->n_places - s->at;
	if (s->second)
		s->dt_ns = now_ns > *was_ns ? now_ns - *was_ns : 0;
	else
		*was_ns = now_ns;
	switch_flows_look(sw, &l);
	s->at += l.n;
}

bool flow_scan_step(struct flow_scan *s, struct weir_switch *sw, struct scan_time now)
{
	if (s->n_places == 0)
		return true;
	if (s->began_ns == 0)
		s->began_ns = now.real_ns;
	if (s->at == s->n_places && !s->second && now.real_ns - s->began_ns >= SCAN_GAP_NS) {
		s->second = true;
		s->at = 0;
	}
	if (s->at < s->n_places)
		look(s, sw, now.model_ns);
	if (!s->second || s->at < s->n_places)
		return false;
	qsort(s->top, s->n_top, sizeof(s->top[0]), largest_first);
	return true;
}

// ---- rows

struct emit {
	struct json_object *list;
	struct flow_view view;
	uint64_t first_ns; // of the flow that was seen there
	uint32_t n;
};

// What has begun at the place since is another flow.
static void on_shown(void *arg, uint32_t place, const struct flow_row *row)
{
	struct emit *e = arg;

	(void)place;
	if (row->first_ns != e->first_ns)
		return;
	flow_row_emit(row_in(e->list), row, &e->view);
	e->n++;
}

void flow_scan_emit(const struct flow_scan *s, struct weir_switch *sw, uint64_t model_ns,
		    struct json_object *out)
{
	struct emit e = {.list = rows_in(out, FACTS_FLOWS),
			 .view = {.policy = switch_policy(sw), .now_ns = model_ns}};

	for (uint32_t i = 0; i < s->n_top; i++) {
		struct flows_look l = {.now_ns = model_ns, .first = s->top[i].place, .n = 1,
				       .why = true, .fn = on_shown, .arg = &e};

		e.view.rate_bps = s->top[i].rate_bps;
		e.first_ns = s->top[i].first_ns;
		switch_flows_look(sw, &l);
	}
	row_u64(out, "all", s->n_all);
	row_u64(out, KEY(PAIRING, unpaired), s->n_unpaired);
	row_u64(out, "matching", s->n_matching);
	row_u64(out, "left_out", s->n_matching - e.n);
}
