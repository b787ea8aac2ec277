// SPDX-License-Identifier: Apache-2.0
// The opened port: rates, then a line for each class with its queue, and why classes are paused.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/ctl/top_impl.h"

enum { WIDE_LEAST = 76, STATE_LEN = 64 };

static void draw_direction(const struct top_page *p, unsigned y, const struct top_row *r, bool rx)
{
	double percent = rx ? r->rx_percent : r->tx_percent;
	double bits = 8 * r->per_s[rx ? TOP_RX_BYTES : TOP_TX_BYTES];
	double frames = r->per_s[rx ? TOP_RX_FRAMES : TOP_TX_FRAMES];
	char a[TOP_NUMBER_LEN], b[TOP_NUMBER_LEN], label[TOP_NUMBER_LEN];
	unsigned x = top_printf(p->c, y, 0, TOP_PLAIN, "%s %5sb/s %5s frames/s ", rx ? "Rx" : "Tx",
				top_number(a, bits), top_number(b, frames));
	unsigned room = p->c->columns > x ? p->c->columns - x : 0;

	snprintf(label, sizeof(label), "%.0f%%", percent);
	if (p->plain)
		top_put(p->c, y, x, TOP_PLAIN, label);
	else
		top_bar(p->c, y, x, room < 40 ? room : 40, percent / 100, TOP_GOOD, label);
}

// ---- classes

static bool is_idle(const struct top_class *c)
{
	return !c->lossless && !c->tx_off && c->length_bytes + c->max_bytes + c->used_bytes +
						     c->count[TOP_TX_FRAMES] +
						     c->count[TOP_DROPS] == 0;
}

// The state of PFC for the class, in words.
static unsigned pfc_state(const struct top_row *r, unsigned cls, char out[STATE_LEN])
{
	const struct top_class *c = &r->port->cls[cls];
	const double *per_s = r->cls_per_s[cls];
	bool trouble = c->status[0] != '\0' && strcmp(c->status, "operational") != 0 &&
		       strcmp(c->status, "off") != 0;
	int at = 0;

	strcpy(out, c->lossless ? "lossless" : "lossy");
	if (trouble)
		at = snprintf(out, STATE_LEN, "%s ", c->status);
	if (c->paused || per_s[TOP_PAUSED_US] > 0)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "paused %.0f%% ",
			       per_s[TOP_PAUSED_US] / 1e4);
	if (c->xoff || per_s[TOP_PAUSING_US] > 0)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "pausing %.0f%% ",
			       per_s[TOP_PAUSING_US] / 1e4);
	if (c->tx_off)
		at += snprintf(out + at, STATE_LEN - (size_t)at, "tx-off ");
	return trouble ? TOP_ALARM : at > 0 ? TOP_WARNING : TOP_PLAIN;
}

static void draw_class(const struct top_page *p, unsigned y, const struct top_row *r, unsigned cls)
{
	const struct top_class *c = &r->port->cls[cls];
	const double *per_s = r->cls_per_s[cls];
	char n[8][TOP_NUMBER_LEN], state[STATE_LEN];
	unsigned attr = pfc_state(r, cls, state), x;

	// A narrow screen keeps the state and loses the columns before it.
	x = top_printf(p->c, y, 0, TOP_PLAIN, "%5u %5u %6s", cls, c->queue,
		       top_number(n[0], 8 * per_s[TOP_TX_BYTES]));
	if (p->c->columns >= WIDE_LEAST) {
		x = top_printf(p->c, y, x, TOP_PLAIN, " %6s %6s",
			       top_number(n[1], (double)c->length_bytes),
			       top_number(n[2], (double)c->max_bytes));
		x = top_printf(p->c, y, x, per_s[TOP_MARKS] > 0 ? TOP_STRONG : TOP_PLAIN, " %5s",
			       top_number(n[3], per_s[TOP_MARKS]));
		x = top_printf(p->c, y, x, per_s[TOP_DROPS] > 0 ? TOP_ALARM : TOP_PLAIN, " %6s",
			       top_number(n[4], per_s[TOP_DROPS]));
		x = top_printf(p->c, y, x, TOP_PLAIN, " %5s %5s",
			       top_number(n[5], per_s[TOP_PAUSE_TX]),
			       top_number(n[6], per_s[TOP_PAUSE_RX]));
	}
	top_put(p->c, y, x + 1, attr, state);
}

static unsigned draw_classes(const struct top_page *p, unsigned y, const struct top_row *r)
{
	bool narrow = p->c->columns < WIDE_LEAST;
	unsigned idle = 0;

	top_put(p->c, y, 0, TOP_STRONG,
		narrow ? "Class Queue Tx b/s PFC"
		       : "Class Queue Tx b/s  Depth   Peak ECN/s Drop/s PFCtx PFCrx PFC");
	top_mark_line(p->c, y++, TOP_REVERSE);
	for (unsigned cls = 0; cls < TOP_CLASSES; cls++) {
		if (is_idle(&r->port->cls[cls]))
			idle++;
		else
			draw_class(p, y++, r, cls);
	}
	if (idle > 0)
		top_printf(p->c, y++, 0, TOP_FAINT, "(%u idle classes are not shown)", idle);
	return y;
}

// ---- drops by reason

static uint64_t drops_before(const struct top_page *p, const struct top_drop *d)
{
	const struct top_snapshot *s = p->d->before;

	for (unsigned i = 0; s != NULL && i < s->n_drops; i++)
		if (strcmp(s->drops[i].port, d->port) == 0 && s->drops[i].cls == d->cls &&
		    strcmp(s->drops[i].reason, d->reason) == 0)
			return s->drops[i].packets;
	return 0;
}

static unsigned draw_drops(const struct top_page *p, unsigned y, const struct top_row *r,
			   unsigned end)
{
	const struct top_snapshot *s = p->d->now;

	for (unsigned i = 0; i < s->n_drops && y < end; i++) {
		const struct top_drop *d = &s->drops[i];
		char rate[TOP_NUMBER_LEN];

		if (strcmp(d->port, r->port->name) != 0)
			continue;
		top_number(rate, r->known ? top_per_s(drops_before(p, d), d->packets,
						      p->d->seconds / s->time_scale)
					  : 0);
		top_printf(p->c, y++, 0, TOP_PLAIN, "drops class %u %s: %s/s, %" PRIu64 " so far",
			   d->cls, d->reason, rate, d->packets);
	}
	return y;
}

// The lines of `show pfc --why`.
static unsigned draw_causes(const struct top_page *p, unsigned y, unsigned end)
{
	const char *at = p->d->now->causes;
	char line[512];

	while (at != NULL && *at != '\0' && y < end) {
		size_t len = strcspn(at, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)len, at);
		y += top_wrap(p->c, y, end - y, TOP_PLAIN, line);
		at += len + (at[len] == '\n');
	}
	return y;
}

unsigned top_draw_port(const struct top_page *p, unsigned y, const struct top_row *r,
		       unsigned max_lines)
{
	char speed[TOP_NUMBER_LEN];
	unsigned end = y + max_lines, x;

	x = top_printf(p->c, y, 0, TOP_STRONG, "%s", r->port->name);
	x = top_put(p->c, y, x + 1, top_attr_of(r->trouble), top_trouble_word[r->trouble]);
	top_printf(p->c, y, x, TOP_PLAIN, "  %sb/s  %s",
		   top_number(speed, (double)r->port->speed_bps), r->port->device);
	draw_direction(p, y + 1, r, true);
	draw_direction(p, y + 2, r, false);
	y = draw_classes(p, y + 3, r);
	y = draw_drops(p, y, r, end);
	y = draw_causes(p, y, end);
	return y < end ? top_draw_notes(p, y, r->port->name, end - y) : y;
}
