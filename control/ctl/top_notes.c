// SPDX-License-Identifier: Apache-2.0
// The last lines: signs of a wrong configuration with their cures, and the gravest recent events.
#include <inttypes.h>
#include <string.h>

#include "control/ctl/top_impl.h"

enum { NOTE_LEN = 512 };

static const char CUT[] = "...";

static bool concerns(const char *port, const char *name)
{
	return port == NULL || strcmp(port, name) == 0;
}

// ---- hints

// The DSCP of the newest event about RoCE in a lossy class; -1: there is none.
static int lossy_dscp(const struct top_snapshot *s, const char *port)
{
	for (unsigned i = s->n_events; i-- > 0;)
		if (strcmp(s->events[i].name, "roce-in-lossy-class") == 0 &&
		    concerns(port, s->events[i].port))
			return (int)s->events[i].dscp;
	return -1;
}

// One line for a hint that some port counts, with the names of the ports. False: none does.
static bool hint_line(const struct top_page *p, unsigned hint, const char *port,
		      char out[NOTE_LEN], bool *now)
{
	int at = snprintf(out, NOTE_LEN, "hint: %s", top_hints[hint].sign);
	int dscp = lossy_dscp(p->d->now, port);
	unsigned n = 0;
	double rate = 0;

	if (hint == 0 && dscp >= 0)
		at += snprintf(out + at, NOTE_LEN - (size_t)at, " (DSCP %d)", dscp);
	for (unsigned i = 0; i < p->all->n; i++) {
		const struct top_row *r = &p->all->row[i];

		if (!concerns(port, r->port->name) || r->port->count[TOP_HINT + hint] == 0)
			continue;
		if (n++ < 4)
			at += snprintf(out + at, NOTE_LEN - (size_t)at, "%s %s",
				       n == 1 ? " on" : "", r->port->name);
		rate += r->per_s[TOP_HINT + hint];
	}
	if (n > 4)
		at += snprintf(out + at, NOTE_LEN - (size_t)at, " +%u", n - 4);
	*now = rate > 0;
	snprintf(out + at, NOTE_LEN - (size_t)at, "%s: %s", *now ? "" : ", not now",
		 top_hints[hint].cure);
	return n > 0;
}

// ---- events

// Alarms are graver than warnings, and of the same kind the newest comes first.
static unsigned nth_event(const struct top_snapshot *s, const char *port, unsigned nth)
{
	for (unsigned alarm = 2; alarm-- > 0;)
		for (unsigned i = s->n_events; i-- > 0;)
			if (s->events[i].alarm == (alarm == 1) &&
			    concerns(port, s->events[i].port) && nth-- == 0)
				return i;
	return s->n_events;
}

// The watchdog found the storm, and the class obeys PFC again.
static bool is_over(const struct top_snapshot *s, const struct top_event *e)
{
	const struct top_port *port = top_port_of(s, e->port);

	return (strcmp(e->name, "pfc-storm") == 0 || strcmp(e->name, "pfc-storm-limit") == 0) &&
	       port != NULL && e->cls >= 0 && e->cls < TOP_CLASSES &&
	       strcmp(port->cls[e->cls].status, "operational") == 0;
}

// "14:02:11 ALARM pfc-storm p3:3 x12 action=drop". A line that is cut ends in "...".
static void draw_event(const struct top_page *p, unsigned y, const struct top_event *e)
{
	const char *time = strchr(e->time, 'T');
	unsigned x = top_printf(p->c, y, 0, TOP_FAINT, "%.8sZ ", time != NULL ? time + 1 : e->time);
	bool over = is_over(p->d->now, e);

	x = top_put(p->c, y, x, over ? TOP_FAINT : e->alarm ? TOP_ALARM : TOP_WARNING,
		    over ? "over " : e->alarm ? "ALARM " : "warning ");
	x = top_printf(p->c, y, x, TOP_PLAIN, "%s%s%s", e->name, e->port[0] != '\0' ? " " : "",
		       e->port);
	if (e->cls >= 0)
		x = top_printf(p->c, y, x, TOP_PLAIN, ":%d", e->cls);
	if (e->n > 1)
		x = top_printf(p->c, y, x, TOP_STRONG, " x%u", e->n);
	x = top_put(p->c, y, x, TOP_FAINT, e->tail);
	if (x > p->c->columns && p->c->columns > strlen(CUT))
		top_put(p->c, y, p->c->columns - (unsigned)strlen(CUT), TOP_FAINT, CUT);
}

// ---- both

unsigned top_count_notes(const struct top_page *p, const char *port)
{
	char text[NOTE_LEN];
	unsigned n = 0;
	bool now;

	for (unsigned i = 0; i < TOP_HINTS; i++)
		if (hint_line(p, i, port, text, &now))
			n += 1 + (unsigned)strlen(text) / p->c->columns;
	for (unsigned i = 0; nth_event(p->d->now, port, i) < p->d->now->n_events; i++)
		n++;
	return n;
}

unsigned top_draw_notes(const struct top_page *p, unsigned y, const char *port, unsigned max_lines)
{
	unsigned end = y + max_lines, n = 0, event;
	char text[NOTE_LEN];
	bool now;

	for (unsigned i = 0; i < TOP_HINTS && y < end; i++)
		if (hint_line(p, i, port, text, &now))
			y += top_wrap(p->c, y, end - y, now ? TOP_WARNING : TOP_FAINT, text);
	for (; y < end && (event = nth_event(p->d->now, port, n++)) < p->d->now->n_events; y++)
		draw_event(p, y, &p->d->now->events[event]);
	return y;
}
