// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/ctl/show.h"
#include "dataplane/drop.h"

enum { LINE_OVERHEAD = 24 }; // preamble 8, gap 12, FCS 4: beside the bytes that are counted

const struct top_hint top_hints[TOP_HINTS] = {
	{F_HINTS_roce_in_lossy_class, "RoCE in a lossy class",
	 "give the DSCP to a lossless class (dscp_to_class), or let the senders use its DSCP"},
	{F_HINTS_roce_v1_in_lossy_class, "RoCE v1 frames in a lossy class",
	 "use a RoCE v2 GID index at the hosts"},
	{F_HINTS_roce_not_ect, "RoCE without ECN", "turn ECN on in the senders (DCQCN)"},
	{F_HINTS_lossless_unknown, "lossless frames to unknown addresses, dropped",
	 "enter the address into fdb, or set flood: on in the class"},
	{F_HINTS_unknown_probes, "lossless frames to unknown addresses, sent as probes",
	 "enter the address into fdb, or let the station send"},
	{F_HINTS_pause_ignored, "frames of a peer that does not obey PAUSE",
	 "use a card with PFC, or a lossy class"},
	{F_HINTS_copp_dropped, "ARP and ND beyond copp, dropped", "find the sender, or raise copp"},
	{F_HINTS_routed_too_long, "frames longer than the MTU of the port they are routed to",
	 "give all hosts one MTU, or let ICMP reach the senders"},
	{F_HINTS_loop_forged, "loop probes that the switch did not send", "find their sender"},
	{F_HINTS_storm_broadcast, "broadcast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{F_HINTS_storm_unknown_unicast, "unknown unicast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{F_HINTS_storm_multicast, "multicast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{F_HINTS_merged_segments, "merged TCP segments of a sender on this machine, lost",
	 "run ethtool -K DEVICE tso off gso off at the sender"},
};

static void copy_text(char *out, size_t len, struct json_object *row, enum fact_id f)
{
	const char *text = text_in(row, fact_rows[f].key);

	snprintf(out, len, "%s", text != NULL ? text : "");
}
#define COPY_TEXT(to, row, fact) copy_text(to, sizeof(to), row, fact)

struct top_port *top_port_of(const struct top_snapshot *s, const char *name)
{
	for (unsigned i = 0; name != NULL && i < s->n_ports; i++)
		if (strcmp(s->ports[i].name, name) == 0)
			return &s->ports[i];
	return NULL;
}

// ---- one function for each kind of row

struct taken {
	struct top_snapshot *s;
	struct top_port *p; // of the row; NULL: unknown, or the row is of no port
	struct top_class *c; // of the port
	struct json_object *row;
};
typedef void take_fn(const struct taken *t);

static void take_port(const struct taken *t)
{
	struct top_port *p = &t->s->ports[t->s->n_ports++];

	COPY_TEXT(p->name, t->row, F_PORTS_name);
	COPY_TEXT(p->device, t->row, F_PORTS_device);
	p->speed_bps = fact_count(t->row, F_PORTS_speed_bps);
	p->up = fact_yes(t->row, F_PORTS_up);
	p->no_device = fact_yes(t->row, F_PORTS_no_device);
	p->looped = fact_yes(t->row, F_PORTS_looped);
	p->tx_off = !fact_yes(t->row, F_PORTS_tx_enabled);
	p->count[TOP_RX_FRAMES] = fact_count(t->row, F_PORTS_rx_packets);
	p->count[TOP_RX_BYTES] = fact_count(t->row, F_PORTS_rx_bytes);
	p->count[TOP_TX_FRAMES] = fact_count(t->row, F_PORTS_tx_packets);
	p->count[TOP_TX_BYTES] = fact_count(t->row, F_PORTS_tx_bytes);
	p->count[TOP_RX_MISSED] = fact_count(t->row, F_PORTS_rx_missed);
}

// A queue without a class has the number of a class that may have another queue: so it adds.
static void take_queue(const struct taken *t)
{
	uint64_t sent = fact_count(t->row, F_QUEUES_tx_packets);

	if (sent + fact_count(t->row, F_QUEUES_length_packets) > 0 ||
	    t->c->count[TOP_TX_FRAMES] + t->c->length_bytes == 0)
		t->c->queue = (unsigned)fact_count(t->row, F_QUEUES_queue);
	t->c->paused |= fact_yes(t->row, F_QUEUES_paused);
	t->c->tx_off |= !fact_yes(t->row, F_QUEUES_tx_enabled);
	t->c->length_bytes += fact_count(t->row, F_QUEUES_length_bytes);
	t->c->max_bytes += fact_count(t->row, F_QUEUES_max_bytes);
	t->c->count[TOP_TX_FRAMES] += sent;
	t->c->count[TOP_TX_BYTES] += fact_count(t->row, F_QUEUES_tx_bytes);
	t->c->count[TOP_MARKS] += fact_count(t->row, F_QUEUES_ecn_marked);
	t->p->count[TOP_MARKS] += fact_count(t->row, F_QUEUES_ecn_marked);
}

static void take_pfc_row(const struct taken *t)
{
	t->c->lossless = fact_yes(t->row, F_PFC_lossless);
	t->c->group = fact_in(t->row, F_PFC_pg) != NULL ? (unsigned)fact_count(t->row, F_PFC_pg)
							: TOP_NO_GROUP;
	t->c->xoff = fact_yes(t->row, F_PFC_xoff);
	t->c->count[TOP_PAUSE_RX] = fact_count(t->row, F_PFC_rx_pause);
	t->c->count[TOP_PAUSE_TX] = fact_count(t->row, F_PFC_tx_pause);
	t->c->count[TOP_PAUSED_US] = fact_count(t->row, F_PFC_rx_pause_duration_us);
	t->c->count[TOP_PAUSING_US] = fact_count(t->row, F_PFC_tx_pause_duration_us);
	t->p->count[TOP_PAUSE_RX] += t->c->count[TOP_PAUSE_RX];
	t->p->count[TOP_PAUSE_TX] += t->c->count[TOP_PAUSE_TX];
}

static void take_group(const struct taken *t)
{
	uint64_t used = fact_count(t->row, F_PGS_min_bytes) +
			fact_count(t->row, F_PGS_shared_bytes);

	t->p->buffer_bytes += used + fact_count(t->row, F_PGS_headroom_bytes) +
			      fact_count(t->row, F_PGS_skid_bytes);
	for (unsigned c = 0; c < TOP_CLASSES; c++)
		if (t->p->cls[c].group == fact_count(t->row, F_PGS_pg))
			t->p->cls[c].count[TOP_RX_FRAMES] = fact_count(t->row, F_PGS_rx_packets);
	if (used >= t->c->used_bytes) {
		t->c->used_bytes = used;
		t->c->xoff_at_bytes = fact_count(t->row, F_PGS_xoff_at_bytes);
	}
}

static void take_watchdog(const struct taken *t)
{
	COPY_TEXT(t->c->status, t->row, F_WATCHDOG_status);
	COPY_TEXT(t->c->action, t->row, F_WATCHDOG_action);
	t->c->storm_us = fact_count(t->row, F_WATCHDOG_storm_us);
}

static void take_drop(const struct taken *t)
{
	struct top_drop *d = &t->s->drops[t->s->n_drops++];
	uint64_t n = fact_count(t->row, F_DROPS_packets);

	COPY_TEXT(d->port, t->row, F_DROPS_port);
	COPY_TEXT(d->reason, t->row, F_DROPS_reason);
	d->cls = (unsigned)(t->c - t->p->cls);
	d->packets = n;
	if (strcmp(d->reason, drop_info[DROP_LOSSLESS_UNKNOWN].name) == 0) {
		t->p->count[TOP_UNKNOWN] += n;
		t->c->count[TOP_UNKNOWN] += n;
	}
	for (unsigned k = TOP_DROPS;
	     k <= (fact_yes(t->row, F_DROPS_lossless) ? TOP_LOSSLESS_DROPS : TOP_DROPS); k++) {
		t->p->count[k] += n;
		t->c->count[k] += n;
	}
}

static void take_hint(const struct taken *t)
{
	for (unsigned i = 0; i < TOP_HINTS; i++)
		t->p->count[TOP_HINT + i] = fact_count(t->row, top_hints[i].fact);
}

static void take_pool(const struct taken *t)
{
	struct top_snapshot *s = t->s;

	if (s->n_pools == TOP_POOLS)
		return;
	COPY_TEXT(s->pools[s->n_pools].name, t->row, F_POOLS_name);
	s->pools[s->n_pools].size_bytes = fact_count(t->row, F_POOLS_size_bytes);
	s->pools[s->n_pools++].used_bytes = fact_count(t->row, F_POOLS_used_bytes);
}

static void take_worker(const struct taken *t)
{
	struct top_snapshot *s = t->s;

	if (s->n_workers == TOP_WORKERS)
		return;
	s->workers[s->n_workers].busy_percent =
		(unsigned)fact_count(t->row, F_WORKERS_busy_percent);
	s->workers[s->n_workers++].loops = fact_count(t->row, F_WORKERS_loops);
}

// ---- events

// " key=value" for each member that the line of the event does not show already.
static void event_tail(struct json_object *row, char out[TOP_TAIL_LEN])
{
	static const enum fact_id shown[] = {F_EVENTS_seq, F_EVENTS_time, F_EVENTS_t_ns,
					     F_EVENTS_event, F_EVENTS_severity, F_EVENTS_text,
					     F_EVENTS_port, F_QUEUES_class, F_NONE};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	out[0] = '\0';
	if (f == NULL)
		return;
	json_object_object_del(row, "hint");
	event_fields(f, row, shown);
	fclose(f);
	snprintf(out, TOP_TAIL_LEN, "%.*s%s", TOP_TAIL_LEN - 4, text,
		 len > TOP_TAIL_LEN - 4 ? "..." : "");
	free(text);
}

// Takes the entry of the same kind and place out, or the first warning, or the first of all.
static unsigned remove_older_event(struct top_snapshot *s, const struct top_event *e)
{
	unsigned at = 0, n = 0;

	while (at < s->n_events &&
	       (strcmp(s->events[at].name, e->name) != 0 ||
		strcmp(s->events[at].port, e->port) != 0 || s->events[at].cls != e->cls))
		at++;
	if (at < s->n_events) {
		n = s->events[at].n;
	} else if (s->n_events < TOP_EVENTS) {
		return 0;
	} else {
		for (at = 0; at < s->n_events && s->events[at].alarm; at++)
			;
		at = at < s->n_events ? at : 0;
	}
	s->n_events--;
	memmove(&s->events[at], &s->events[at + 1], (s->n_events - at) * sizeof(s->events[0]));
	return n;
}

static void take_event(const struct taken *t)
{
	struct top_snapshot *s = t->s;
	struct json_object *row = t->row, *cls;
	struct top_event e = {.cls = -1, .dscp = fact_count(row, F_GUARD_dscp)};
	const char *severity = text_in(row, KEY(EVENTS, severity));

	s->event_seq = fact_count(row, F_EVENTS_seq);
	if (severity == NULL || strcmp(severity, "info") == 0)
		return;
	e.alarm = strcmp(severity, "alarm") == 0;
	COPY_TEXT(e.time, row, F_EVENTS_time);
	COPY_TEXT(e.name, row, F_EVENTS_event);
	COPY_TEXT(e.port, row, F_EVENTS_port);
	if (json_object_object_get_ex(row, KEY(QUEUES, class), &cls))
		e.cls = json_object_get_int(cls);
	event_tail(row, e.tail);
	e.n = 1 + remove_older_event(s, &e);
	s->events[s->n_events++] = e;
}

// ---- all kinds

// In the order of the requests. Events come before the watchdog: if the watchdog shows no storm,
// each storm among the events is over. Pools are in the answer with the groups.
static const struct {
	unsigned list; // of facts
	take_fn *take;
	bool of_port; // a row of a port that is not known is left out
} lists[] = {
	{FACTS_PORTS, take_port}, {FACTS_EVENTS, take_event}, {FACTS_QUEUES, take_queue, true},
	{FACTS_PFC, take_pfc_row, true}, {FACTS_PGS, take_group, true},
	{FACTS_WATCHDOG, take_watchdog, true}, {FACTS_DROPS, take_drop, true},
	{FACTS_HINTS, take_hint, true}, {FACTS_WORKERS, take_worker}, {FACTS_POOLS, take_pool},
};
enum { N_LISTS = sizeof(lists) / sizeof(lists[0]) };

const char *top_kind(unsigned i)
{
	return lists[i].list != FACTS_POOLS ? fact_lists[lists[i].list].what : NULL;
}

struct top_snapshot *top_snapshot_create(const struct top_snapshot *before)
{
	struct top_snapshot *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->time_scale = 1;
	if (before != NULL) {
		memcpy(s->events, before->events, sizeof(s->events));
		s->n_events = before->n_events;
		s->event_seq = before->event_seq;
	}
	return s;
}

void top_snapshot_destroy(struct top_snapshot *s)
{
	if (s == NULL)
		return;
	free(s->ports);
	free(s->drops);
	free(s->causes);
	free(s);
}

// Makes room for the rows of lists that have no fixed size.
static bool alloc_list_rows(struct top_snapshot *s, unsigned list, size_t n)
{
	if (list == FACTS_PORTS && s->ports == NULL)
		return (s->ports = calloc(n + 1, sizeof(*s->ports))) != NULL;
	if (list == FACTS_DROPS && s->drops == NULL)
		return (s->drops = calloc(n + 1, sizeof(*s->drops))) != NULL;
	return list != FACTS_PORTS && list != FACTS_DROPS;
}

void top_snapshot_take(struct top_snapshot *s, const char *kind, struct json_object *data)
{
	uint64_t scale = fact_count(rows_of(data, FACTS_CLOCK), F_CLOCK_time_scale);
	const struct show_wish wish = {0};
	size_t len = 0;
	FILE *out;

	if (strcmp(kind, fact_lists[FACTS_CAUSES].what) == 0) {
		free(s->causes);
		s->causes = NULL;
		out = open_memstream(&s->causes, &len);
		if (out != NULL) {
			show_tables(out, kind, data, &wish);
			fclose(out);
		}
	}
	if (scale > 0)
		s->time_scale = (uint32_t)scale;
	s->drop_all |= fact_yes(data, F_VERSION_drop_all);
	s->held |= true_in(data, "admission_held");
	for (size_t k = 0; k < N_LISTS; k++) {
		struct json_object *rows = rows_of(data, lists[k].list);

		if (strcmp(fact_lists[lists[k].list].what, kind) != 0 || rows == NULL ||
		    !alloc_list_rows(s, lists[k].list, n_rows(rows)))
			continue;
		for (size_t i = 0; i < n_rows(rows); i++) {
			struct taken t = {.s = s, .row = row_at(rows, i)};

			t.p = top_port_of(s, text_in(t.row, KEY(QUEUES, port)));
			if (t.p != NULL)
				t.c = &t.p->cls[fact_count(t.row, F_QUEUES_class) % TOP_CLASSES];
			if (t.p != NULL || !lists[k].of_port)
				lists[k].take(&t);
		}
	}
}

// ---- the row of a port

const char *const top_trouble_word[] = {
#define X(id, word) word,
	TOP_TROUBLES(X)
#undef X
};

double top_per_s(uint64_t before, uint64_t now, double seconds)
{
	uint64_t grown = now >= before ? now - before : now;

	return seconds > 0 ? (double)grown / seconds : 0;
}

static double percent_of_line(const struct top_port *p, double bytes, double frames)
{
	return p->speed_bps > 0
		       ? 800 * (bytes + LINE_OVERHEAD * frames) / (double)p->speed_bps
		       : 0;
}

static void rates_of_port(const struct top_port *before, struct top_row *r, double seconds)
{
	const struct top_port *now = r->port;

	for (unsigned k = 0; k < N_TOP_COUNTS; k++)
		r->per_s[k] = top_per_s(before->count[k], now->count[k], seconds);
	for (unsigned c = 0; c < TOP_CLASSES; c++) {
		double *per_s = r->cls_per_s[c];

		for (unsigned k = 0; k <= TOP_UNKNOWN; k++)
			per_s[k] = top_per_s(before->cls[c].count[k], now->cls[c].count[k],
					     seconds);
		// `seconds` is of weirctl's clock, and an answer may come late.
		for (unsigned k = TOP_PAUSED_US; k <= TOP_PAUSING_US; k++) {
			if (per_s[k] > 1e6)
				per_s[k] = 1e6;
			if (per_s[k] > r->per_s[k])
				r->per_s[k] = per_s[k];
		}
	}
	r->rx_percent =
		percent_of_line(now, r->per_s[TOP_RX_BYTES], r->per_s[TOP_RX_FRAMES]);
	r->tx_percent =
		percent_of_line(now, r->per_s[TOP_TX_BYTES], r->per_s[TOP_TX_FRAMES]);
}

bool top_unknown_class(const struct top_row *r, unsigned cls)
{
	const struct top_class *all = r->port->cls;
	const double *per_s = r->cls_per_s[cls];
	double unknown = 0;

	for (unsigned c = 0; c < TOP_CLASSES; c++)
		if (all[c].group == all[cls].group)
			unknown += r->cls_per_s[c][TOP_UNKNOWN];
	return all[cls].group != TOP_NO_GROUP && per_s[TOP_UNKNOWN] > 0 &&
	       2 * unknown >= per_s[TOP_RX_FRAMES];
}

static enum top_trouble trouble_of_class(const struct top_class *c)
{
	static const char *const status[N_TROUBLES] = {
		[TROUBLE_STORM] = "stormed", [TROUBLE_PORT_DOWN] = "port-down",
		[TROUBLE_PFC_OFF] = "pfc-off", [TROUBLE_DROP_ALL] = "drop-all",
	};

	for (unsigned t = TROUBLE_DROP_ALL; t < N_TROUBLES; t++)
		if (strcmp(c->status, status[t]) == 0)
			return t;
	if (c->paused)
		return TROUBLE_PAUSED;
	return c->xoff ? TROUBLE_PAUSING : c->tx_off ? TROUBLE_TX_OFF : TROUBLE_DOWN;
}

static enum top_trouble trouble_of_port(const struct top_row *r)
{
	const struct top_port *p = r->port;
	const struct {
		bool holds;
		enum top_trouble trouble;
	} signs[] = {
		{p->no_device, TROUBLE_NO_DEVICE},
		{p->up, TROUBLE_NONE},
		{r->per_s[TOP_MARKS] > 0, TROUBLE_MARKS},
		{r->per_s[TOP_DROPS] > 0, TROUBLE_DROPS},
		{p->tx_off, TROUBLE_TX_OFF},
		{r->per_s[TOP_PAUSE_TX] > 0, TROUBLE_PAUSING},
		{r->per_s[TOP_PAUSE_RX] > 0, TROUBLE_PAUSED},
		{r->per_s[TOP_LOSSLESS_DROPS] + r->per_s[TOP_RX_MISSED] > 0, TROUBLE_LOSS},
		{p->looped, TROUBLE_LOOP},
	};
	enum top_trouble worst = TROUBLE_DOWN;

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (signs[i].holds)
			worst = signs[i].trouble;
	for (unsigned c = 0; c < TOP_CLASSES; c++) {
		enum top_trouble t = trouble_of_class(&p->cls[c]);

		if (t < TROUBLE_LOSS && top_unknown_class(r, c))
			t = TROUBLE_LOSS;
		worst = t > worst ? t : worst;
	}
	return worst;
}

// ---- order

// The larger stands first. Equal rows of a sort follow their trouble, and that their throughput.
static double weight(const struct top_row *r, enum top_sort sort)
{
	const double *per_s = r->per_s;

	switch (sort) {
	case TOP_SORT_THROUGHPUT: return per_s[TOP_RX_BYTES] + per_s[TOP_TX_BYTES];
	case TOP_SORT_PAUSE: return per_s[TOP_PAUSE_RX] + per_s[TOP_PAUSE_TX];
	case TOP_SORT_DROPS: return per_s[TOP_DROPS];
	case TOP_SORT_MARKS: return per_s[TOP_MARKS];
	case TOP_SORT_BUFFER: return (double)(r->port->buffer_bytes + r->queue_bytes);
	case TOP_SORT_PORT: return -(double)r->index;
	default: return r->trouble;
	}
}

// The order of ports in the same trouble.
static double extent(const struct top_row *r)
{
	switch (r->trouble) {
	case TROUBLE_MARKS: return weight(r, TOP_SORT_MARKS);
	case TROUBLE_DROPS: return weight(r, TOP_SORT_DROPS);
	case TROUBLE_PAUSED:
	case TROUBLE_PAUSING: return weight(r, TOP_SORT_PAUSE);
	case TROUBLE_LOSS:
		return r->per_s[TOP_LOSSLESS_DROPS] + r->per_s[TOP_RX_MISSED] +
		       r->per_s[TOP_UNKNOWN];
	default: return 0;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_row *one = a, *two = b;
	enum top_sort sort = *(const enum top_sort *)arg;
	const double d[] = {
		weight(two, sort) - weight(one, sort),
		weight(two, TOP_SORT_TROUBLE) - weight(one, TOP_SORT_TROUBLE),
		extent(two) - extent(one),
		weight(two, TOP_SORT_THROUGHPUT) - weight(one, TOP_SORT_THROUGHPUT),
	};

	for (size_t i = 0; i < sizeof(d) / sizeof(d[0]); i++)
		if (d[i] < 0 || d[i] > 0)
			return d[i] < 0 ? -1 : 1;
	return one->index < two->index ? -1 : 1;
}

struct top_rows *top_rows_create(const struct top_snapshot *before, const struct top_snapshot *now,
				 double seconds, const char *filter, enum top_sort sort)
{
	struct top_rows *rows = calloc(1, sizeof(*rows) + now->n_ports * sizeof(rows->row[0]));

	if (rows == NULL)
		return NULL;
	for (unsigned i = 0; i < now->n_ports; i++) {
		struct top_row *r = &rows->row[rows->n];
		const struct top_port *old =
			before != NULL ? top_port_of(before, now->ports[i].name) : NULL;

		if (strstr(now->ports[i].name, filter) == NULL)
			continue;
		rows->n++;
		r->port = &now->ports[i];
		r->index = i;
		r->known = old != NULL && seconds > 0;
		if (r->known)
			rates_of_port(old, r, seconds / now->time_scale);
		for (unsigned c = 0; c < TOP_CLASSES; c++) {
			const struct top_class *cls = &r->port->cls[c];
			double used = (double)cls->used_bytes, xoff_at = (double)cls->xoff_at_bytes;

			r->queue_bytes += cls->length_bytes;
			if (xoff_at > 0 && used / xoff_at > r->fill)
				r->fill = used / xoff_at;
		}
		r->trouble = trouble_of_port(r);
	}
	qsort_r(rows->row, rows->n, sizeof(rows->row[0]), compare, &sort);
	return rows;
}
