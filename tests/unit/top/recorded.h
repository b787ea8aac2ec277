// SPDX-License-Identifier: Apache-2.0
// Answers of a switch as `show --json` gives them, a row for each port, and snapshots made of them.
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/ctl/top.h"

enum { MAX_PORTS = 64 };

// The counters of a port; class 3 is lossless and has its queue, group and watchdog. Class 4 shares
// the group, so that group 4 is empty.
struct recorded_port {
	uint64_t rx_bytes, tx_bytes, rx_pause, tx_pause, paused_us, marks, drops, lossless_drops;
	uint64_t missed, roce_in_lossy, buffer_bytes, queue_bytes, group_frames, unknown;
	uint64_t unknown_4; // of class 4
	const char *status; // NULL: operational
	bool down, no_device, xoff, paused;
	bool no_group; // the daemon is older than the member pg of a class
};

struct recorded {
	unsigned n_ports, n_workers;
	uint64_t loops; // of each worker
	uint32_t time_scale;
	bool drop_all, held;
	struct recorded_port port[MAX_PORTS];
	const char *events; // rows; NULL: none
};

static inline const char *yes(bool v)
{
	return v ? "true" : "false";
}

__attribute__((format(printf, 3, 4))) static inline void
take(struct top_snapshot *s, const char *kind, const char *fmt, ...)
{
	struct json_object *data;
	char *text;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) > 0);
	va_end(ap);
	data = json_tokener_parse(text);
	assert_non_null(data);
	top_snapshot_take(s, kind, data);
	json_object_put(data);
	free(text);
}

// {"LIST": [rows]} by a function that prints the row of a port.
static inline void take_rows(struct top_snapshot *s, const char *kind, const char *list,
			     const struct recorded *r, const char *more,
			     void (*row)(FILE *out, unsigned i, const struct recorded_port *p))
{
	char *rows = NULL;
	size_t len;
	FILE *out = open_memstream(&rows, &len);

	for (unsigned i = 0; i < r->n_ports; i++) {
		fputs(i > 0 ? "," : "", out);
		row(out, i + 1, &r->port[i]);
	}
	fclose(out);
	take(s, kind, "{\"%s\": [%s]%s}", list, rows, more);
	free(rows);
}

static inline void port_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out,
		"{\"name\": \"p%u\", \"device\": \"xdp:s%u\", \"speed_bps\": 1000000000, "
		"\"mtu\": 1500, \"up\": %s, \"no_device\": %s, \"looped\": false, "
		"\"rx_packets\": %" PRIu64
		", \"rx_bytes\": %" PRIu64 ", \"tx_packets\": %" PRIu64 ", \"tx_bytes\": %" PRIu64
		", \"rx_missed\": %" PRIu64 ", \"tx_enabled\": true}",
		i, i, yes(!p->down), yes(p->no_device), p->rx_bytes / 1000, p->rx_bytes,
		p->tx_bytes / 1000, p->tx_bytes, p->missed);
}

static inline void queue_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out,
		"{\"port\": \"p%u\", \"queue\": 3, \"class\": 3, \"length_bytes\": %" PRIu64
		", \"max_bytes\": %" PRIu64 ", \"tx_packets\": %" PRIu64 ", \"tx_bytes\": %" PRIu64
		", \"ecn_marked\": %" PRIu64 ", \"paused\": %s, \"tx_enabled\": true}",
		i, p->queue_bytes, p->queue_bytes, p->tx_bytes / 1000, p->tx_bytes, p->marks,
		yes(p->paused));
}

static inline void pfc_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	const char *group = p->no_group ? "" : ", \"pg\": 3";

	fprintf(out,
		"{\"port\": \"p%u\", \"class\": 3, \"lossless\": true%s, \"rx_pause\": "
		"%" PRIu64 ", \"rx_pause_duration_us\": %" PRIu64 ", \"tx_pause\": %" PRIu64
		", \"tx_pause_duration_us\": 0, \"xoff\": %s}, "
		"{\"port\": \"p%u\", \"class\": 4%s}",
		i, group, p->rx_pause, p->paused_us, p->tx_pause, yes(p->xoff), i, group);
}

static inline void group_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out,
		"{\"port\": \"p%u\", \"pg\": 3, \"class\": 3, \"min_bytes\": 0, \"shared_bytes\": "
		"%" PRIu64 ", \"headroom_bytes\": 0, \"skid_bytes\": 0, \"xoff_at_bytes\": 100000, "
		"\"rx_packets\": %" PRIu64 "}, "
		"{\"port\": \"p%u\", \"pg\": 4, \"class\": 4, \"rx_packets\": 0}",
		i, p->buffer_bytes, p->group_frames, i);
}

static inline void watchdog_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out,
		"{\"port\": \"p%u\", \"class\": 3, \"status\": \"%s\", \"action\": \"drop\", "
		"\"storm_us\": 1500000}",
		i, p->status != NULL ? p->status : "operational");
}

static inline void drop_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out,
		"{\"port\": \"p%u\", \"class\": 0, \"reason\": \"wred\", \"packets\": %" PRIu64
		", \"lossless\": false}, {\"port\": \"p%u\", \"class\": 3, \"reason\": "
		"\"headroom-overrun\", \"packets\": %" PRIu64 ", \"lossless\": true}, "
		"{\"port\": \"p%u\", \"class\": 3, \"reason\": \"lossless-unknown\", "
		"\"packets\": %" PRIu64 ", \"lossless\": false}, "
		"{\"port\": \"p%u\", \"class\": 4, \"reason\": \"lossless-unknown\", "
		"\"packets\": %" PRIu64 ", \"lossless\": false}",
		i, p->drops, i, p->lossless_drops, i, p->unknown, i, p->unknown_4);
}

static inline void hint_row(FILE *out, unsigned i, const struct recorded_port *p)
{
	fprintf(out, "{\"port\": \"p%u\", \"roce_in_lossy_class\": %" PRIu64 "}", i,
		p->roce_in_lossy);
}

static inline struct top_snapshot *snapshot(const struct recorded *r)
{
	struct top_snapshot *s = top_snapshot_create(NULL);
	char clock[64];

	assert_non_null(s);
	snprintf(clock, sizeof(clock), ", \"clock\": {\"time_scale\": %u}",
		 r->time_scale > 0 ? r->time_scale : 1);
	take_rows(s, "ports", "ports", r, clock, port_row);
	take_rows(s, "queues", "queues", r, "", queue_row);
	take_rows(s, "pfc", "pfc", r, "", pfc_row);
	take_rows(s, "buffers", "pgs", r,
		  ", \"pools\": [{\"name\": \"ingress\", \"size_bytes\": 4000000, \"used_bytes\": "
		  "1800000}, {\"name\": \"headroom\", \"size_bytes\": 1000000, \"used_bytes\": 0}, "
		  "{\"name\": \"egress_lossy\", \"size_bytes\": 4000000, \"used_bytes\": 3900000}]",
		  group_row);
	take_rows(s, "watchdog", "watchdog", r, r->drop_all ? ", \"drop_all\": true" : "",
		  watchdog_row);
	take_rows(s, "drops", "drops", r, "", drop_row);
	take_rows(s, "hints", "hints", r, "", hint_row);
	for (unsigned i = 0; i < r->n_workers; i++)
		take(s, "workers",
		     "{\"workers\": [{\"worker\": %u, \"loops\": %" PRIu64
		     ", \"busy_percent\": %u}], \"admission_held\": %s}",
		     i, r->loops, 40 + i, yes(r->held));
	if (r->events != NULL)
		take(s, "events", "{\"events\": [%s]}", r->events);
	return s;
}
