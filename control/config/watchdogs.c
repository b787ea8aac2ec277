// SPDX-License-Identifier: Apache-2.0
#include "control/config/watchdogs.h"

#include "control/config/check.h"

enum { MAX_QUANTA = 65535, TIME_LEN = 32 };

// ---- the port's over the profile's
struct source {
	const struct cfg_map *owner;
	const struct cfg_watchdog *w;
};

static bool speaks(const struct cfg_watchdog *w)
{
	return w->on.given || w->map.given;
}

// A map turns it on.
static bool is_on(const struct cfg_watchdog *w)
{
	return w->on.given ? w->on.n != 0 : w->map.given;
}

static struct watchdog_key pick(const struct source *own, const struct source *base, size_t off,
				const struct watchdog_view *v)
{
	const struct source *from[] = {own, base};

	for (unsigned i = 0; i < 2; i++) {
		const struct cfg_val *val = (const void *)((const char *)from[i]->w + off);

		if (val->given)
			return (struct watchdog_key){val, from[i]->owner, val->at};
	}
	return (struct watchdog_key){(const void *)((const char *)base->w + off), v->owner, v->at};
}

struct watchdog_view watchdog_view(const struct cfg_profile *profile, const struct cfg_port *port)
{
	const struct source base = {&profile->map, &profile->watchdog};
	const struct source ports = {port == NULL ? NULL : &port->map,
				     port == NULL ? NULL : &port->watchdog};
	const struct source *own = port == NULL ? &base : &ports;
	const struct source *says = speaks(own->w) ? own : &base;
	struct watchdog_view v = {.on = is_on(says->w),
				  .owner = says->owner,
				  .at = says->w->on.given ? says->w->on.at : says->w->map.at};

	v.mode = pick(own, &base, offsetof(struct cfg_watchdog, mode), &v);
	v.action = pick(own, &base, offsetof(struct cfg_watchdog, action), &v);
	v.detect = pick(own, &base, offsetof(struct cfg_watchdog, detect), &v);
	v.restore = pick(own, &base, offsetof(struct cfg_watchdog, restore), &v);
	v.count = pick(own, &base, offsetof(struct cfg_watchdog, limit.count), &v);
	v.window = pick(own, &base, offsetof(struct cfg_watchdog, limit.window), &v);
	v.then = pick(own, &base, offsetof(struct cfg_watchdog, limit.then), &v);
	return v;
}

// ---- rules
static bool any_lossless(const struct cfg_profile *p)
{
	for (unsigned cls = 0; cls < N_CLASSES; cls++)
		if (p->classes[cls].lossless.n)
			return true;
	return false;
}

static void there_is_something_to_watch(const struct watchdog_view *v, const struct cfg_profile *p,
					struct diag_sink *s)
{
	if (!any_lossless(p) && diag_has_error(s, p->map.path))
		return; // the mistake may be what keeps a class lossy
	if (!any_lossless(p))
		check_report(s, DIAG_ERROR, v->owner, "watchdog", v->at,
			     "watches lossless classes, and profile %s has none"
			     CURE "set lossless: true or remove it",
			     p->map.name);
	else if (!p->pfc.rx.n)
		check_report(s, DIAG_WARNING, v->owner, "watchdog", v->at,
			     "has nothing to watch: profile %s obeys no PAUSE with pfc.rx off",
			     p->map.name);
}

// From one storm of a class to its next pass at least `restore` and `detect`.
static void limit_can_be_reached(const struct watchdog_view *v, const struct source *from,
				 struct diag_sink *s)
{
	const struct cfg_map *limit = &from->w->limit.map;
	int64_t least = (v->count.v->n - 1) * (v->detect.v->n + v->restore.v->n);
	char takes[TIME_LEN], window[TIME_LEN];

	if (v->count.v->n == 0 || least <= v->window.v->n)
		return;
	unit_print(UNIT_TIME, least, takes, sizeof(takes));
	unit_print(UNIT_TIME, v->window.v->n, window, sizeof(window));
	check_report(
		s, DIAG_WARNING, from->owner, "watchdog.limit", limit->given ? limit->at : v->at,
		"is never reached: %u storms take %s at least with this detect and restore, and"
		" the window is %s" CURE "make it longer, or say count: 0",
		(unsigned)v->count.v->n, takes, window);
}

static void limit_has_an_effect(const struct watchdog_view *v, const struct source *from,
				struct diag_sink *s)
{
	const struct cfg_watchdog_limit *l = &from->w->limit;

	if (v->count.v->n != 0)
		return;
	if (l->then.given)
		check_report(s, DIAG_WARNING, from->owner, "watchdog.limit.then", l->then.at,
			     "never happens: count is 0");
	if (l->window.given)
		check_report(s, DIAG_WARNING, from->owner, "watchdog.limit.window", l->window.at,
			     "means nothing: count is 0");
}

// Of what the profile says alone the profile is told, once.
static bool changes_the_limit(const struct cfg_watchdog *w)
{
	return w->detect.given || w->restore.given || w->limit.map.given;
}

static void check_one(const struct cfg_profile *p, const struct cfg_port *port, struct diag_sink *s)
{
	const struct source from = {port == NULL ? &p->map : &port->map,
				    port == NULL ? &p->watchdog : &port->watchdog};
	struct watchdog_view v = watchdog_view(p, port);

	if (!v.on)
		return;
	there_is_something_to_watch(&v, p, s);
	limit_has_an_effect(&v, &from, s);
	if (port == NULL || !is_on(&p->watchdog) || changes_the_limit(from.w))
		limit_can_be_reached(&v, &from, s);
}

void watchdogs_check(const struct config *c, struct diag_sink *s)
{
	const struct cfg_profile *p = c->root.profiles.items;

	for (unsigned i = 0; i < c->root.profiles.n; i++)
		check_one(&p[i], NULL, s);
	for (unsigned i = 0; i < c->n_ports; i++)
		if (speaks(&c->ports[i].item->watchdog))
			check_one(c->ports[i].profile, c->ports[i].item, s);
}

// ---- compile
// A PAUSE may ask for so long; the peer decides, so the longest is assumed.
static void warn_of_the_pause(struct compiler *k, const struct watchdog_view *v, unsigned i)
{
	uint64_t pause_ns = pfc_quanta_ns(k->p->ports[i].speed_bps, MAX_QUANTA);
	const struct {
		const char *key, *what;
		const struct watchdog_key *t;
	} rows[] = {
		{"watchdog.detect", "a single PAUSE frame is a storm already", &v->detect},
		{"watchdog.restore", "a PAUSE may still stand when the class is restored",
		 &v->restore},
	};

	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		char given[TIME_LEN], pause[TIME_LEN], speed[TIME_LEN];
		int64_t ns = rows[r].t->v->n;

		if ((uint64_t)ns >= pause_ns)
			continue;
		unit_print(UNIT_TIME, ns, given, sizeof(given));
		unit_print(UNIT_TIME, (int64_t)(pause_ns + 500000) / 1000000 * 1000000, pause,
			   sizeof(pause));
		unit_print(UNIT_RATE, (int64_t)k->p->ports[i].speed_bps, speed, sizeof(speed));
		check_report(k->s, DIAG_WARNING, rows[r].t->owner, rows[r].key, rows[r].t->at,
			     "%s is shorter than a PAUSE of %d quanta lasts at %s, about %s: %s",
			     given, MAX_QUANTA, speed, pause, rows[r].what);
	}
}

static void compile_watchdog(struct compiler *k, unsigned i)
{
	const struct config_port *port = &k->c->ports[i];
	const struct cfg_pfc_warning *w = &port->profile->pfc.warning;
	struct watchdog_view v = watchdog_view(port->profile, port->item);
	struct policy_port *out = &k->p->ports[i];

	// A share in millionths is as many microseconds of a second.
	out->pfc_warning = (struct pfc_warning_params){(uint32_t)w->in.n, (uint32_t)w->out.n,
						       (uint32_t)w->paused.n};
	if (!v.on)
		return;
	out->watchdog = (struct watchdog_params){
		.classes = out->pfc.rx, // the lossless ones, where PFC is obeyed
		.mode = (uint8_t)v.mode.v->n,
		.action = (uint8_t)v.action.v->n,
		.then = (uint8_t)v.then.v->n,
		.detect_ns = (uint64_t)v.detect.v->n,
		.restore_ns = (uint64_t)v.restore.v->n,
		.limit_count = (uint32_t)v.count.v->n,
		.limit_window_ns = (uint64_t)v.window.v->n,
	};
	if (out->watchdog.classes != 0)
		warn_of_the_pause(k, &v, i);
}

void compile_watchdogs(struct compiler *k)
{
	for (unsigned i = 0; i < k->c->n_ports; i++)
		compile_watchdog(k, i);
}
