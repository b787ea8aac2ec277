// SPDX-License-Identifier: Apache-2.0
#include "control/ctl/top_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/ctl/show.h"
#include "control/daemon/json_in.h"

const struct top_hint top_hints[TOP_HINTS] = {
	{"roce_in_lossy_class", "RoCE in a lossy class",
	 "give the DSCP to a lossless class (dscp_to_class), or let the senders use its DSCP"},
	{"roce_not_ect", "RoCE without ECN", "turn ECN on in the senders (DCQCN)"},
	{"lossless_unknown", "lossless frames to unknown addresses, dropped",
	 "enter the address into fdb, or set flood: on in the class"},
	{"copp_dropped", "ARP and ND beyond copp, dropped", "find the sender, or raise copp"},
	{"loop_forged", "loop probes that the switch did not send", "find their sender"},
	{"storm_broadcast", "broadcast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{"storm_unknown_unicast", "unknown unicast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{"storm_multicast", "multicast beyond storm_control, dropped",
	 "find the sender, or raise storm_control"},
	{"merged_segments", "merged TCP segments of a sender on this machine, lost",
	 "run ethtool -K DEVICE tso off gso off at the sender"},
};

static void copy_text(char *out, size_t len, struct json_object *row, const char *key)
{
	const char *text = text_in(row, key);

	snprintf(out, len, "%s", text != NULL ? text : "");
}
#define COPY_TEXT(to, row, key) copy_text(to, sizeof(to), row, key)

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
	return &p->cls[count_in(row, "class") % TOP_CLASSES];
}

static void take_port(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	p = &s->ports[s->n_ports++];
	COPY_TEXT(p->name, row, "name");
	COPY_TEXT(p->device, row, "device");
	p->speed_bps = count_in(row, "speed_bps");
	p->up = true_in(row, "up");
	p->no_device = true_in(row, "no_device");
	p->looped = true_in(row, "looped");
	p->tx_off = !true_in(row, "tx_enabled");
	p->count[TOP_RX_FRAMES] = count_in(row, "rx_packets");
	p->count[TOP_RX_BYTES] = count_in(row, "rx_bytes");
	p->count[TOP_TX_FRAMES] = count_in(row, "tx_packets");
	p->count[TOP_TX_BYTES] = count_in(row, "tx_bytes");
	p->count[TOP_RX_MISSED] = count_in(row, "rx_missed");
}

// A queue without a class has the number of a class that may have another queue: so it adds.
static void take_queue(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	if (count_in(row, "tx_packets") + count_in(row, "length_packets") > 0 ||
	    c->count[TOP_TX_FRAMES] + c->length_bytes == 0)
		c->queue = (unsigned)count_in(row, "queue");
	c->paused |= true_in(row, "paused");
	c->tx_off |= !true_in(row, "tx_enabled");
	c->length_bytes += count_in(row, "length_bytes");
	c->max_bytes += count_in(row, "max_bytes");
	c->count[TOP_TX_FRAMES] += count_in(row, "tx_packets");
	c->count[TOP_TX_BYTES] += count_in(row, "tx_bytes");
	c->count[TOP_MARKS] += count_in(row, "ecn_marked");
	p->count[TOP_MARKS] += count_in(row, "ecn_marked");
}

static void take_pfc(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	c->lossless = true_in(row, "lossless");
	c->xoff = true_in(row, "xoff");
	c->count[TOP_PAUSE_RX] = count_in(row, "rx_pause");
	c->count[TOP_PAUSE_TX] = count_in(row, "tx_pause");
	c->count[TOP_PAUSED_US] = count_in(row, "rx_pause_duration_us");
	c->count[TOP_PAUSING_US] = count_in(row, "tx_pause_duration_us");
	p->count[TOP_PAUSE_RX] += c->count[TOP_PAUSE_RX];
	p->count[TOP_PAUSE_TX] += c->count[TOP_PAUSE_TX];
}

static void take_group(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	uint64_t used = count_in(row, "min_bytes") + count_in(row, "shared_bytes");
	struct top_class *c = class_in(p, row);

	(void)s;
	p->buffer_bytes +=
		used + count_in(row, "headroom_bytes") + count_in(row, "skid_bytes");
	if (used >= c->used_bytes) {
		c->used_bytes = used;
		c->xoff_at_bytes = count_in(row, "xoff_at_bytes");
	}
}

static void take_watchdog(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_class *c = class_in(p, row);

	(void)s;
	COPY_TEXT(c->status, row, "status");
	COPY_TEXT(c->action, row, "action");
	c->storm_us = count_in(row, "storm_us");
}

static void take_drop(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	struct top_drop *d = &s->drops[s->n_drops++];
	uint64_t n = count_in(row, "packets");

	COPY_TEXT(d->port, row, "port");
	COPY_TEXT(d->reason, row, "reason");
	d->cls = (unsigned)count_in(row, "class") % TOP_CLASSES;
	d->packets = n;
	p->count[TOP_DROPS] += n;
	p->cls[d->cls].count[TOP_DROPS] += n;
	if (!true_in(row, "lossless"))
		return;
	p->count[TOP_LOSSLESS_DROPS] += n;
	p->cls[d->cls].count[TOP_LOSSLESS_DROPS] += n;
}

static void take_hint(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)s;
	for (unsigned i = 0; i < TOP_HINTS; i++)
		p->count[TOP_HINT + i] = count_in(row, top_hints[i].key);
}

static void take_pool(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	if (s->n_pools == TOP_POOLS)
		return;
	COPY_TEXT(s->pools[s->n_pools].name, row, "name");
	s->pools[s->n_pools].size_bytes = count_in(row, "size_bytes");
	s->pools[s->n_pools++].used_bytes = count_in(row, "used_bytes");
}

static void take_worker(struct top_snapshot *s, struct top_port *p, struct json_object *row)
{
	(void)p;
	if (s->n_workers == TOP_WORKERS)
		return;
	s->workers[s->n_workers].busy_percent = (unsigned)count_in(row, "busy_percent");
	s->workers[s->n_workers++].loops = count_in(row, "loops");
}

// ---- events

// What `show events` prints behind the text: " key=value" for all but the place and the text.
static void event_tail(struct json_object *row, char out[TOP_TAIL_LEN])
{
	static const char *const said[] = {"seq",  "time", "t_ns", "event", "severity",
					   "text", "port", "class", "hint"};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	out[0] = '\0';
	if (f == NULL)
		return;
	json_object_object_foreach(row, key, v) {
		size_t k = 0;

		while (k < sizeof(said) / sizeof(said[0]) && strcmp(said[k], key) != 0)
			k++;
		if (k < sizeof(said) / sizeof(said[0]))
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
	struct top_event e = {.cls = -1, .dscp = count_in(row, "dscp")};
	const char *severity = text_in(row, "severity");

	(void)p;
	s->event_seq = count_in(row, "seq");
	if (severity == NULL || strcmp(severity, "info") == 0)
		return;
	e.alarm = strcmp(severity, "alarm") == 0;
	COPY_TEXT(e.time, row, "time");
	COPY_TEXT(e.name, row, "event");
	COPY_TEXT(e.port, row, "port");
	if (json_object_object_get_ex(row, "class", &cls))
		e.cls = json_object_get_int(cls);
	event_tail(row, e.tail);
	e.n = 1 + take_out(s, &e);
	s->events[s->n_events++] = e;
}

// ---- all kinds

static const struct {
	const char *kind, *list;
	take_fn *take;
	bool of_port; // a row of a port that is not known is left out
} lists[] = {
	{"ports", "ports", take_port, false},
	{"queues", "queues", take_queue, true},
	{"pfc", "pfc", take_pfc, true},
	{"buffers", "pgs", take_group, true},
	{"buffers", "pools", take_pool, false},
	{"watchdog", "watchdog", take_watchdog, true},
	{"drops", "drops", take_drop, true},
	{"hints", "hints", take_hint, true},
	{"workers", "workers", take_worker, false},
	{"events", "events", take_event, false},
};

// Events come before the watchdog. If the watchdog shows no storm, each storm among the events is
// over.
const char *const top_kinds[] = {"ports", "events", "queues", "pfc",     "buffers", "watchdog",
				 "drops", "hints",  "workers", NULL};

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
	show_tables(out, "causes", data, &wish);
	fclose(out);
}

// Makes room for the rows of lists that have no fixed size.
static bool make_room(struct top_snapshot *s, const char *list, size_t n)
{
	if (strcmp(list, "ports") == 0 && s->ports == NULL)
		return (s->ports = calloc(n + 1, sizeof(*s->ports))) != NULL;
	if (strcmp(list, "drops") == 0 && s->drops == NULL)
		return (s->drops = calloc(n + 1, sizeof(*s->drops))) != NULL;
	return strcmp(list, "ports") != 0 && strcmp(list, "drops") != 0;
}

void top_snapshot_take(struct top_snapshot *s, const char *kind, struct json_object *data)
{
	struct json_object *rows, *clock;

	if (strcmp(kind, "causes") == 0)
		take_causes(s, data);
	if (json_object_object_get_ex(data, "clock", &clock) && count_in(clock, "time_scale") > 0)
		s->time_scale = (uint32_t)count_in(clock, "time_scale");
	s->drop_all |= true_in(data, "drop_all");
	s->held |= true_in(data, "admission_held");
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		if (strcmp(lists[k].kind, kind) != 0 ||
		    !json_object_object_get_ex(data, lists[k].list, &rows) ||
		    !make_room(s, lists[k].list, json_object_array_length(rows)))
			continue;
		for (size_t i = 0; i < json_object_array_length(rows); i++) {
			struct json_object *row = json_object_array_get_idx(rows, i);
			struct top_port *p = port_in(s, text_in(row, "port"));

			if (p != NULL || !lists[k].of_port)
				lists[k].take(s, p, row);
		}
	}
}
