// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show.h"
#include "control/ctl/table.h"
#include "control/daemon/json_in.h"

const struct top_hint top_hints[TOP_HINTS] = {
	{F_HINTS_roce_in_lossy_class, "RoCE in a lossy class",
	 "give the DSCP to a lossless class (dscp_to_class), or let the senders use its DSCP"},
	{F_HINTS_roce_not_ect, "RoCE without ECN", "turn ECN on in the senders (DCQCN)"},
	{F_HINTS_lossless_unknown, "lossless frames to unknown addresses, dropped",
	 "enter the address into fdb, or set flood: on in the class"},
	{F_HINTS_copp_dropped, "ARP and ND beyond copp, dropped", "find the sender, or raise copp"},
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

static struct top_port *port_in(const struct top_snapshot *s, const char *name)
{
	for (unsigned i = 0; name != NULL && i < s->n_ports; i++)
		if (strcmp(s->ports[i].name, name) == 0)
			return &s->ports[i];
	return NULL;
}

const struct top_port *top_port_of(const struct top_snapshot *s, const char *name)
{
	return port_in(s, name);
}

// ---- one function for each kind of row

typedef void take_fn(struct top_snapshot *s, struct top_port *p, struct json_object *row);

static struct top_class *class_in(struct top_port *p, struct json_object *row)
{
	return &p->cls[fact_count(row, F_QUEUES_class) % TOP_CLASSES];
}

static void take_port(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	p = &s->ports[s->n_ports++];
	COPY_TEXT(p->name, row, F_PORTS_name);
	COPY_TEXT(p->device, row, F_PORTS_device);
	p->speed_bps = fact_count(row, F_PORTS_speed_bps);
	p->up = fact_yes(row, F_PORTS_up);
	p->no_device = fact_yes(row, F_PORTS_no_device);
	p->looped = fact_yes(row, F_PORTS_looped);
	p->tx_off = !fact_yes(row, F_PORTS_tx_enabled);
	p->count[TOP_RX_FRAMES] = fact_count(row, F_PORTS_rx_packets);
	p->count[TOP_RX_BYTES] = fact_count(row, F_PORTS_rx_bytes);
	p->count[TOP_TX_FRAMES] = fact_count(row, F_PORTS_tx_packets);
	p->count[TOP_TX_BYTES] = fact_count(row, F_PORTS_tx_bytes);
	p->count[TOP_RX_MISSED] = fact_count(row, F_PORTS_rx_missed);
}

// A queue without a class has the number of a class that may have another queue: so it adds.
static void take_queue(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	if (fact_count(row, F_QUEUES_tx_packets) + fact_count(row, F_QUEUES_length_packets) > 0 ||
	    c->count[TOP_TX_FRAMES] + c->length_bytes == 0)
		c->queue = (unsigned)fact_count(row, F_QUEUES_queue);
	c->paused |= fact_yes(row, F_QUEUES_paused);
	c->tx_off |= !fact_yes(row, F_QUEUES_tx_enabled);
	c->length_bytes += fact_count(row, F_QUEUES_length_bytes);
	c->max_bytes += fact_count(row, F_QUEUES_max_bytes);
	c->count[TOP_TX_FRAMES] += fact_count(row, F_QUEUES_tx_packets);
	c->count[TOP_TX_BYTES] += fact_count(row, F_QUEUES_tx_bytes);
	c->count[TOP_MARKS] += fact_count(row, F_QUEUES_ecn_marked);
	p->count[TOP_MARKS] += fact_count(row, F_QUEUES_ecn_marked);
}

static void take_pfc(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	c->lossless = fact_yes(row, F_PFC_lossless);
	c->xoff = fact_yes(row, F_PFC_xoff);
	c->count[TOP_PAUSE_RX] = fact_count(row, F_PFC_rx_pause);
	c->count[TOP_PAUSE_TX] = fact_count(row, F_PFC_tx_pause);
	c->count[TOP_PAUSED_US] = fact_count(row, F_PFC_rx_pause_duration_us);
	c->count[TOP_PAUSING_US] = fact_count(row, F_PFC_tx_pause_duration_us);
	p->count[TOP_PAUSE_RX] += c->count[TOP_PAUSE_RX];
	p->count[TOP_PAUSE_TX] += c->count[TOP_PAUSE_TX];
}

static void take_group(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	uint64_t used = fact_count(row, F_PGS_min_bytes) + fact_count(row, F_PGS_shared_bytes);
	struct top_class *c = class_in(p, row);

	(void)s;
	p->buffer_bytes +=
		used + fact_count(row, F_PGS_headroom_bytes) + fact_count(row, F_PGS_skid_bytes);
	if (used >= c->used_bytes) {
		c->used_bytes = used;
		c->xoff_at_bytes = fact_count(row, F_PGS_xoff_at_bytes);
	}
}

static void take_watchdog(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	COPY_TEXT(c->status, row, F_WATCHDOG_status);
	COPY_TEXT(c->action, row, F_WATCHDOG_action);
	c->storm_us = fact_count(row, F_WATCHDOG_storm_us);
}

static void take_drop(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_drop *d = &s->drops[s->n_drops++];
	uint64_t n = fact_count(row, F_DROPS_packets);

	COPY_TEXT(d->port, row, F_DROPS_port);
	COPY_TEXT(d->reason, row, F_DROPS_reason);
	d->cls = (unsigned)fact_count(row, F_DROPS_class) % TOP_CLASSES;
	d->packets = n;
	p->count[TOP_DROPS] += n;
	p->cls[d->cls].count[TOP_DROPS] += n;
	if (!fact_yes(row, F_DROPS_lossless))
		return;
	p->count[TOP_LOSSLESS_DROPS] += n;
	p->cls[d->cls].count[TOP_LOSSLESS_DROPS] += n;
}

static void take_hint(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)s;
	for (unsigned i = 0; i < TOP_HINTS; i++)
		p->count[TOP_HINT + i] = fact_count(row, top_hints[i].fact);
}

static void take_pool(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	if (s->n_pools == TOP_POOLS)
		return;
	COPY_TEXT(s->pools[s->n_pools].name, row, F_POOLS_name);
	s->pools[s->n_pools].size_bytes = fact_count(row, F_POOLS_size_bytes);
	s->pools[s->n_pools++].used_bytes = fact_count(row, F_POOLS_used_bytes);
}

static void take_worker(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	if (s->n_workers == TOP_WORKERS)
		return;
	s->workers[s->n_workers].busy_percent = (unsigned)fact_count(row, F_WORKERS_busy_percent);
	s->workers[s->n_workers++].loops = fact_count(row, F_WORKERS_loops);
}

// ---- events

// What `show events` prints behind the text: " key=value" for all but the place and the text.
static void event_tail(struct json_object *row, char out[TOP_TAIL_LEN])
{
	static const enum fact_id said[] = {F_EVENTS_seq, F_EVENTS_time, F_EVENTS_t_ns,
					    F_EVENTS_event, F_EVENTS_severity, F_EVENTS_text,
					    F_EVENTS_port, F_QUEUES_class};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	out[0] = '\0';
	if (f == NULL)
		return;
	json_object_object_foreach(row, key, v) {
		size_t k = 0;

		while (k < sizeof(said) / sizeof(said[0]) &&
		       strcmp(fact_rows[said[k]].key, key) != 0)
			k++;
		if (k < sizeof(said) / sizeof(said[0]) || strcmp(key, "hint") == 0)
			continue;
		fprintf(f, " %s=", key);
		value_print(f, v);
	}
	fclose(f);
	snprintf(out, TOP_TAIL_LEN, "%.*s%s", TOP_TAIL_LEN - 4, text,
		 len > TOP_TAIL_LEN - 4 ? "..." : "");
	free(text);
}

// Takes the entry of the same kind and place out, or the first warning, or the first of all.
static unsigned take_out(struct top_snapshot *s, const struct top_event *e)
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

static void take_event(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct json_object *cls;
	struct top_event e = {.cls = -1, .dscp = fact_count(row, F_GUARD_dscp)};
	const char *severity = text_in(row, KEY(EVENTS, severity));

	(void)p;
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
	e.n = 1 + take_out(s, &e);
	s->events[s->n_events++] = e;
}

// ---- all kinds

static const struct {
	unsigned list; // of facts
	take_fn *take;
	bool of_port; // a row of a port that is not known is left out
} lists[] = {
	{FACTS_PORTS, take_port, false},
	{FACTS_QUEUES, take_queue, true},
	{FACTS_PFC, take_pfc, true},
	{FACTS_PGS, take_group, true},
	{FACTS_POOLS, take_pool, false},
	{FACTS_WATCHDOG, take_watchdog, true},
	{FACTS_DROPS, take_drop, true},
	{FACTS_HINTS, take_hint, true},
	{FACTS_WORKERS, take_worker, false},
	{FACTS_EVENTS, take_event, false},
};

// Events come before the watchdog. If the watchdog shows no storm, each storm among the events is
// over.
static const unsigned asked[] = {FACTS_PORTS, FACTS_EVENTS, FACTS_QUEUES, FACTS_PFC, FACTS_PGS,
				 FACTS_WATCHDOG, FACTS_DROPS, FACTS_HINTS, FACTS_WORKERS};

const char *top_kind(unsigned i)
{
	return i < sizeof(asked) / sizeof(asked[0]) ? fact_lists[asked[i]].what : NULL;
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

static void take_causes(struct top_snapshot *s, struct json_object *data)
{
	const struct show_wish wish = {0};
	size_t len = 0;
	FILE *out;

	free(s->causes);
	s->causes = NULL;
	out = open_memstream(&s->causes, &len);

	if (out == NULL)
		return;
	show_tables(out, fact_lists[FACTS_CAUSES].what, data, &wish);
	fclose(out);
}

// Makes room for the rows of lists that have no fixed size.
static bool make_room(struct top_snapshot *s, unsigned list, size_t n)
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

	if (strcmp(kind, fact_lists[FACTS_CAUSES].what) == 0)
		take_causes(s, data);
	if (scale > 0)
		s->time_scale = (uint32_t)scale;
	s->drop_all |= fact_yes(data, F_VERSION_drop_all);
	s->held |= true_in(data, "admission_held");
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		struct json_object *rows = rows_of(data, lists[k].list);

		if (strcmp(fact_lists[lists[k].list].what, kind) != 0 || rows == NULL ||
		    !make_room(s, lists[k].list, n_rows(rows)))
			continue;
		for (size_t i = 0; i < n_rows(rows); i++) {
			struct top_port *p =
				port_in(s, text_in(row_at(rows, i), KEY(QUEUES, port)));

			if (p != NULL || !lists[k].of_port)
				lists[k].take(s, p, row_at(rows, i));
		}
	}
}
