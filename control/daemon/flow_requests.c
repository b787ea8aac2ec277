// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/flow_requests.h"

#include <errno.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/observe/fact.h"
#include "control/observe/observe.h"
#include "dataplane/switch.h"
#include "dataplane/switch_flows.h"

// ---- one scan: the largest flows, as a heap

static bool smaller(const struct scan_top *a, const struct scan_top *b)
{
	if (a->rate_bps != b->rate_bps)
		return a->rate_bps < b->rate_bps;
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->place > b->place;
}

static void swap_top_flows(struct scan_top *a, struct scan_top *b)
{
	struct scan_top t = *a;

	*a = *b;
	*b = t;
}

static void keep_top_flow(struct flow_scan *s, const struct scan_top *t)
{
	struct scan_top *top = s->top;

	if (s->n_top < s->query.limit) {
		uint32_t i = s->n_top++;

		top[i] = *t;
		for (; i > 0 && smaller(&top[i], &top[(i - 1) / 2]); i = (i - 1) / 2)
			swap_top_flows(&top[i], &top[(i - 1) / 2]);
		return;
	}
	if (!smaller(&top[0], t))
		return;
	top[0] = *t;
	for (uint32_t i = 0, least;; i = least) {
		uint32_t l = 2 * i + 1, r = l + 1;

		least = l < s->n_top && smaller(&top[l], &top[i]) ? l : i;
		least = r < s->n_top && smaller(&top[r], &top[least]) ? r : least;
		if (least == i)
			return;
		swap_top_flows(&top[i], &top[least]);
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

// The mean rate between the two looks. A flow that began in between had 0 bytes at the first look.
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
	int port = s->query.port;
	struct scan_top t = {.bytes = row->bytes, .first_ns = row->first_ns, .place = place};

	s->n_all++;
	s->n_unpaired += is_unpaired(row);
	if ((s->query.unpaired && !is_unpaired(row)) ||
	    (s->query.elephants && row->size != SIZE_ELEPHANT) ||
	    (port >= 0 && row->way.in_port != port && row->way.out_port != port))
		return;
	s->n_matching++;
	t.rate_bps = rate_of(s, place, row);
	keep_top_flow(s, &t);
}

static void look_at_next_flows(struct flow_scan *s, struct weir_switch *sw, uint64_t now_ns)
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

// A step of it. True: both looks are done.
static bool scan_step(struct flow_scan *s, struct weir_switch *sw, struct scan_time now)
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
		look_at_next_flows(s, sw, now.model_ns);
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

// A place may have been given to another flow since. That flow is left out.
static void on_shown(void *arg, uint32_t place, const struct flow_row *row)
{
	struct emit *e = arg;

	(void)place;
	if (row->first_ns != e->first_ns)
		return;
	flow_row_emit(row_in(e->list), row, &e->view);
	e->n++;
}

// ---- show flows

const char *flow_requests_add(struct flow_requests *f, unsigned client, struct json_object *req,
			      int port)
{
	int64_t limit = number_in(req, KEY(FDB_PORTS, limit), SCAN_LIMIT, SCAN_LIMIT_MAX);

	if (limit <= 0)
		return "limit is a number of flows from 1 to 1000";
	f->query[client] = (struct flow_query){
		.port = port, .limit = (uint32_t)limit,
		.unpaired = true_in(req, KEY(PAIRING, unpaired)),
		.elephants = true_in(req, fact_lists[FACTS_ELEPHANTS].list)};
	return NULL;
}

void flow_requests_fini(struct flow_requests *f)
{
	free(f->scan.places);
	free(f->scan.step_ns);
	free(f->scan.top);
	f->scan = (struct flow_scan){0};
	f->busy = 0;
}

void flow_requests_gone(struct flow_requests *f, unsigned client)
{
	if (f->busy == client + 1)
		flow_requests_fini(f);
}

enum pending_verdict flow_requests_step(struct flow_requests *f, unsigned client,
					struct weir_switch *sw, struct scan_time now)
{
	struct flow_scan *s = &f->scan;
	uint32_t n = switch_flows_places(sw);

	if (f->busy != 0 && f->busy != client + 1)
		return PENDING_WAIT; // for the scan of another client
	if (f->busy == 0) {
		*s = (struct flow_scan){.query = f->query[client], .n_places = n};
		s->places = calloc((size_t)n + 1, sizeof(s->places[0]));
		s->step_ns = calloc((size_t)n / SCAN_STEP + 1, sizeof(s->step_ns[0]));
		s->top = calloc(s->query.limit, sizeof(s->top[0]));
		if (s->places == NULL || s->step_ns == NULL || s->top == NULL) {
			flow_requests_fini(f);
			return PENDING_TIMEOUT;
		}
	}
	f->busy = client + 1;
	return scan_step(s, sw, now) ? PENDING_DONE : PENDING_WAIT;
}

void flow_requests_emit(struct flow_requests *f, unsigned client, struct weir_switch *sw,
			uint64_t model_ns, struct json_object *data)
{
	const struct flow_scan *s = &f->scan;
	struct emit e = {.list = rows_in(data, FACTS_FLOWS),
			 .view = {.policy = switch_policy(sw), .now_ns = model_ns}};

	for (uint32_t i = 0; i < s->n_top; i++) {
		struct flows_look l = {.now_ns = model_ns, .first = s->top[i].place, .n = 1,
				       .why = true, .fn = on_shown, .arg = &e};

		e.view.rate_bps = s->top[i].rate_bps;
		e.first_ns = s->top[i].first_ns;
		switch_flows_look(sw, &l);
	}
	row_u64(data, "all", s->n_all);
	row_u64(data, KEY(PAIRING, unpaired), s->n_unpaired);
	row_u64(data, "matching", s->n_matching);
	row_u64(data, "left_out", s->n_matching - e.n);
	flow_requests_gone(f, client);
}
