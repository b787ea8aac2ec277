// SPDX-License-Identifier: Apache-2.0
// The head of the screen: the switch, its workers, its pools, and its alarms.
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "control/ctl/top_impl.h"

static const double stall_s = 0.2; // an interval in which a worker turns on any machine

enum {
	WORKERS_X = 8,
	BAR_LEAST = 7,
	BAR_MOST = 20,
	FULL_PERCENT = 90, // of a worker or pool, from here on a warning
	PAUSED_PERCENT = 90, // of the time
};

// Writes a piece of the title where all of it fits.
__attribute__((format(printf, 4, 5))) static unsigned piece(struct top_canvas *c, unsigned x,
							    unsigned attr, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || x + (unsigned)n > c->columns)
		return x;
	return top_put(c, 0, x, attr, text) + 2;
}

static void draw_title(const struct top_page *p)
{
	unsigned up = 0, x, n = p->all->n;

	for (unsigned i = 0; i < n; i++)
		up += p->all->row[i].port->up;
	x = piece(p->c, 0, TOP_STRONG, "%s", p->d->name);
	x = piece(p->c, x, TOP_PLAIN, "%s", p->d->clock);
	x = piece(p->c, x, TOP_PLAIN, "%u up", up);
	if (up < n)
		x = piece(p->c, x, TOP_WARNING, "%u down", n - up);
	if (p->v->paused)
		x = piece(p->c, x, TOP_WARNING, "screen paused");
	if (p->v->filter[0] != '\0')
		x = piece(p->c, x, TOP_WARNING, "filter %s", p->v->filter);
	if (p->plain)
		return;
	x = piece(p->c, x, TOP_PLAIN, "sort %s", top_sort_word[p->v->sort]);
	x = piece(p->c, x, TOP_PLAIN, "every %g s", p->v->interval_s);
	if (p->d->now->time_scale > 1)
		piece(p->c, x, TOP_PLAIN, "time scale %" PRIu32, p->d->now->time_scale);
}

static unsigned attr_of_percent(double percent)
{
	return percent >= FULL_PERCENT ? TOP_WARNING : TOP_GOOD;
}

static void draw_workers(const struct top_page *p, unsigned y)
{
	const struct top_snapshot *s = p->d->now;
	unsigned x = top_put(p->c, y, 0, TOP_PLAIN, "Workers "), width, shown = s->n_workers;
	char label[16];

	if (shown == 0)
		return;
	width = (p->c->columns - WORKERS_X) / shown;
	if (width < BAR_LEAST) {
		shown = (p->c->columns - WORKERS_X) / BAR_LEAST - 1;
		width = BAR_LEAST;
	}
	width = width > BAR_MOST ? BAR_MOST : width;
	for (unsigned i = 0; i < shown; i++) {
		unsigned busy = s->workers[i].busy_percent;

		snprintf(label, sizeof(label), "%u%%", busy);
		x = p->plain ? top_printf(p->c, y, x, TOP_PLAIN, "%s ", label)
			     : top_bar(p->c, y, x, width - 1, busy / 100.0,
				       attr_of_percent(busy), label) + 1;
	}
	if (shown < s->n_workers)
		top_printf(p->c, y, x, TOP_PLAIN, "+%u", s->n_workers - shown);
}

static void draw_pools(const struct top_page *p, unsigned y)
{
	const struct top_snapshot *s = p->d->now;
	unsigned room = s->n_pools > 0 ? p->c->columns / s->n_pools : 0;

	for (unsigned i = 0; i < s->n_pools; i++) {
		uint64_t size = s->pools[i].size_bytes, used = s->pools[i].used_bytes;
		double share = size > 0 ? (double)used / (double)size : 0;
		unsigned name_len = room > BAR_LEAST + 2 ? room - BAR_LEAST - 2 : 0, x = i * room;
		char label[48], a[TOP_NUMBER_LEN], b[TOP_NUMBER_LEN];

		if (name_len > strlen(s->pools[i].name))
			name_len = (unsigned)strlen(s->pools[i].name);
		x = top_printf(p->c, y, x, TOP_PLAIN, "%.*s ", (int)name_len, s->pools[i].name);
		snprintf(label, sizeof(label), "%.0f%%", 100 * share);
		if (p->plain) {
			top_put(p->c, y, x, TOP_PLAIN, label);
			continue;
		}
		if (room - name_len > 2 * BAR_MOST)
			snprintf(label, sizeof(label), "%sB of %sB",
				 top_number(a, (double)used), top_number(b, (double)size));
		top_bar(p->c, y, x, room - name_len - 2, share, attr_of_percent(100 * share),
			label);
	}
}

unsigned top_draw_head(const struct top_page *p, unsigned y)
{
	draw_title(p);
	draw_workers(p, y + 1);
	draw_pools(p, y + 2);
	return y + 3;
}

// ---- alarms

struct alarms {
	const struct top_page *p;
	unsigned y, max_lines, n;
};

__attribute__((format(printf, 2, 3))) static void alarm_line(struct alarms *a, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (a->n++ < a->max_lines)
		top_put(a->p->c, a->y + a->n - 1, 0, TOP_ALARM, text);
}

static void class_alarm(struct alarms *a, const struct top_row *r, unsigned cls)
{
	const struct top_class *c = &r->port->cls[cls];
	double paused_percent = r->cls_per_s[cls][TOP_PAUSED_US] / 1e4;
	const char *name = r->port->name;
	char lasts[TOP_NUMBER_LEN];

	if (strcmp(c->status, "stormed") == 0)
		alarm_line(a, "STORM  %s class %u for %ss: its peer pauses it, action %s", name,
			   cls, top_number(lasts, (double)c->storm_us / 1e6), c->action);
	else if (strcmp(c->status, "pfc-off") == 0)
		alarm_line(a, "PFC-OFF  %s class %u: until weirctl watchdog recover %s %u", name,
			   cls, name, cls);
	else if (strcmp(c->status, "port-down") == 0)
		alarm_line(a, "PORT-DOWN  %s class %u: until weirctl watchdog recover %s %u",
			   name, cls, name, cls);
	else if (paused_percent >= PAUSED_PERCENT)
		alarm_line(a, "PAUSED  %s class %u: its peer pauses it %.0f %% of the time", name,
			   cls, paused_percent);
}

// The loop of such a worker did not turn between the snapshots.
static void worker_alarms(struct alarms *a)
{
	const struct top_data *d = a->p->d;

	for (unsigned i = 0; d->seconds >= stall_s && i < d->now->n_workers; i++)
		if (d->before != NULL && i < d->before->n_workers &&
		    d->now->workers[i].loops == d->before->workers[i].loops)
			alarm_line(a, "STALLED  worker %u: weirctl show workers names its ports",
				   i);
}

static void loss_alarms(struct alarms *a)
{
	uint64_t lost = 0, missed = 0;

	for (unsigned i = 0; i < a->p->all->n; i++) {
		lost += a->p->all->row[i].port->count[TOP_LOSSLESS_DROPS];
		missed += a->p->all->row[i].port->count[TOP_RX_MISSED];
	}
	if (lost > 0)
		alarm_line(a, "LOSS  %" PRIu64 " lossless frames so far: weirctl show drops", lost);
	if (missed > 0)
		alarm_line(a, "LOSS  %" PRIu64 " frames at full receive rings so far: weirctl show "
			   "ports", missed);
}

unsigned top_draw_alarms(const struct top_page *p, unsigned y, unsigned max_lines)
{
	struct alarms a = {.p = p, .y = y, .max_lines = max_lines};

	if (p->d->trouble != NULL)
		alarm_line(&a, "%s", p->d->trouble);
	if (p->d->now->drop_all)
		alarm_line(&a, "DROP-ALL  all lossless classes are discarded: until weirctl "
			   "watchdog drop-all off");
	if (p->d->now->held)
		alarm_line(&a, "HELD  no frame is let in (weirctl quiesce): until weirctl resume");
	for (unsigned i = 0; i < p->all->n; i++)
		for (unsigned cls = 0; cls < TOP_CLASSES; cls++)
			class_alarm(&a, &p->all->row[i], cls);
	worker_alarms(&a);
	for (unsigned i = 0; i < p->all->n; i++)
		if (p->all->row[i].port->looped)
			alarm_line(&a, "LOOP  %s: a loop probe came back",
				   p->all->row[i].port->name);
	loss_alarms(&a);
	if (a.n == 0 && !p->plain)
		top_put(p->c, y, 0, TOP_GOOD, "no alarm");
	if (a.n > max_lines) {
		unsigned last = y + max_lines - 1;

		top_printf(p->c, last, p->c->columns > 12 ? p->c->columns - 12 : 0, TOP_ALARM,
			   " +%u alarms  ", a.n - max_lines);
	}
	return y + (a.n > max_lines ? max_lines : a.n > 0 || p->plain ? a.n : 1);
}
