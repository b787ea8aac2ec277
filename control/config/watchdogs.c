// SPDX-License-Identifier: Apache-2.0
// The watchdog of a port: each key of the port replaces that of its profile, and the times of a
// class replace those of the port. Rules between its keys and those of PFC. The worker looks at its
// ports in every loop, so the times need no rule.
#include "control/config/compile.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

static bool has_keys(const struct cfg_watchdog *w)
{
	return w->on.given || w->map.given;
}

// The watchdog of a port. port NULL: the keys of the profile alone. `map` and `on` are those of the
// port if it has the key `watchdog`, else those of the profile.
static struct cfg_watchdog watchdog_of(const struct cfg_profile *profile,
				       const struct cfg_port *port)
{
	struct cfg_watchdog w = profile->watchdog;
	const struct cfg_watchdog *own = port == NULL ? &w : &port->watchdog;
	const struct {
		const struct cfg_val *own;
		struct cfg_val *v;
	} keys[] = {
		{&own->mode, &w.mode},
		{&own->action, &w.action},
		{&own->detect, &w.detect},
		{&own->restore, &w.restore},
		{&own->limit.count, &w.limit.count},
		{&own->limit.window, &w.limit.window},
		{&own->limit.then, &w.limit.then},
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].own->given)
			*keys[i].v = *keys[i].own;
	if (has_keys(own)) {
		w.map = own->map;
		w.on = own->on;
	}
	return w;
}

// ---- rules
static void there_is_something_to_watch(const struct cfg_watchdog *w, const struct subject *x)
{
	const struct cfg_profile *p = x->profile;

	if (cfg_lossless(p) == 0 && diag_has_error(x->s, p->map.path))
		return; // the mistake may be what keeps a class lossy
	if (cfg_lossless(p) == 0)
		REFUSE(x->s, &w->map,
		       "has nothing to watch: profile %s has no lossless class" CURE
		       "set lossless: true or remove watchdog",
		       p->map.name);
	else if (!p->pfc.rx.n)
		WARN(x->s, &w->map,
		     "has nothing to watch: profile %s ignores PAUSE, because pfc.rx is off",
		     p->map.name);
}

// The time of a class with a watchdog.
static const struct cfg_val *time_of(const struct cfg_val *own, const struct cfg_val *port)
{
	return own->given ? own : port;
}

// From one storm of a class to its next pass at least `restore` and `detect`.
static int64_t least_between_storms(const struct cfg_watchdog *w, const struct cfg_profile *p)
{
	int64_t least = INT64_MAX;

	if (cfg_lossless(p) == 0)
		return w->detect.n + w->restore.n;
	for_each_bit (cls, cfg_lossless(p)) {
		const struct cfg_class_watchdog *own = &p->classes[cls].watchdog;
		int64_t between = time_of(&own->detect, &w->detect)->n +
				  time_of(&own->restore, &w->restore)->n;

		least = between < least ? between : least;
	}
	return least;
}

static void limit_can_be_reached(const struct cfg_watchdog *w, const struct cfg_map *own,
				 const struct cfg_profile *p, struct diag_sink *s)
{
	const struct cfg_val limit = {.given = own->given, .at = own->at, .path = own->path};
	int64_t count = w->limit.count.n, window = w->limit.window.n;
	int64_t least = (count - 1) * least_between_storms(w, p);

	if (count != 0 && least > window)
		check_report(s, DIAG_WARNING, &limit, &w->map, "limit",
			     "is never reached: %u storms take at least %s with this detect and "
			     "restore, and the window is %s" CURE "make the window longer, or set "
			     "count: 0",
			     (unsigned)count, UNIT_TEXT(UNIT_TIME, least),
			     UNIT_TEXT(UNIT_TIME, window));
}

// Of a profile, or of a port that has keys of its own.
static void watchdog_makes_sense(const struct subject *x)
{
	const struct cfg_watchdog *base = &x->profile->watchdog;
	const struct cfg_watchdog *own = x->item != NULL ? &x->item->watchdog : base;
	struct cfg_watchdog w = watchdog_of(x->profile, x->item);
	bool changes_limit = own->detect.given || own->restore.given || own->limit.map.given;

	if (!cfg_is_on(&w.on, &w.map) || (own != base && !has_keys(own)))
		return;
	there_is_something_to_watch(&w, x);
	if (w.limit.count.n == 0 && own->limit.then.given)
		WARN(x->s, &own->limit.then, "never happens: count is 0");
	if (w.limit.count.n == 0 && own->limit.window.given)
		WARN(x->s, &own->limit.window, "has no effect: count is 0");
	// A limit that only the profile gives is the profile's, and reported once.
	if (own == base || !cfg_is_on(&base->on, &base->map) || changes_limit)
		limit_can_be_reached(&w, &own->limit.map, x->profile, x->s);
}

static bool is_watched(const struct config *c, const struct cfg_profile *p)
{
	bool on = cfg_is_on(&p->watchdog.on, &p->watchdog.map);

	for (unsigned i = 0; i < c->n_ports && !on; i++)
		if (c->ports[i].profile == p) {
			struct cfg_watchdog w = watchdog_of(p, c->ports[i].item);

			on = cfg_is_on(&w.on, &w.map);
		}
	return on;
}

static void times_of_a_class_have_an_effect(const struct subject *x)
{
	const struct cfg_map *own = &x->cls->watchdog.map;

	if (!own->given)
		return;
	if (!x->cls->lossless.n && !diag_has_error(x->s, x->cls->map.path))
		REFUSE(x->s, own, "has no effect in a lossy class" CURE
		       "set lossless: true or remove it");
	else if (!is_watched(x->c, x->profile))
		WARN(x->s, own, "has no effect: neither the profile nor a port of it has a "
		     "watchdog" CURE "set watchdog: on in the profile, or remove it");
}

// Tables and counters show whole milliseconds, and SONiC has no others.
static void refuse_part_of_ms(const struct subject *x, const struct cfg_val *v)
{
	if (v->n % MS_NS != 0)
		REFUSE(x->s, v, "is no whole number of milliseconds" CURE "write %s",
		       UNIT_TEXT(UNIT_TIME, (v->n / MS_NS + 1) * MS_NS));
}

static void times_are_whole(const struct subject *x)
{
	const struct cfg_watchdog *w = x->item != NULL ? &x->item->watchdog
						       : &x->profile->watchdog;

	refuse_part_of_ms(x, x->cls != NULL ? &x->cls->watchdog.detect : &w->detect);
	refuse_part_of_ms(x, x->cls != NULL ? &x->cls->watchdog.restore : &w->restore);
}

void watchdogs_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_PROFILE, times_are_whole},
		{OF_PORT, times_are_whole},
		{OF_CLASS, times_are_whole},
		{OF_PROFILE, watchdog_makes_sense},
		{OF_PORT, watchdog_makes_sense},
		{OF_CLASS, times_of_a_class_have_an_effect},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}

// ---- compile
// The peer chooses the time of a PAUSE, so the longest time is assumed. map: where the times stand.
static void warn_of_the_pause(struct compiler *k, const struct cfg_val *detect,
			      const struct cfg_val *restore, const struct cfg_map *map,
			      uint64_t speed_bps)
{
	int64_t pause_ns = (int64_t)pfc_quanta_ns(speed_bps, PFC_MAX_QUANTA);
	const struct {
		const char *key, *what;
		const struct cfg_val *v;
	} rows[] = {
		{"detect", "one PAUSE frame counts as a storm", detect},
		{"restore", "a PAUSE may still last when the class is restored", restore},
	};

	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		if (rows[r].v->n < pause_ns)
			check_report(k->s, DIAG_WARNING, rows[r].v, map, rows[r].key,
				     "%s is shorter than a PAUSE of %d quanta at %s, which lasts "
				     "about %s: %s",
				     UNIT_TEXT(UNIT_TIME, rows[r].v->n), PFC_MAX_QUANTA,
				     UNIT_TEXT(UNIT_RATE, (int64_t)speed_bps),
				     UNIT_TEXT(UNIT_TIME, (pause_ns + MS_NS / 2) / MS_NS * MS_NS),
				     rows[r].what);
}

static void compile_times(struct compiler *k, const struct cfg_profile *profile,
			  const struct cfg_watchdog *w, struct policy_port *out)
{
	bool of_port = false; // the times of the port are those of some class

	for_each_bit (cls, out->watchdog.classes) {
		const struct cfg_class_watchdog *own = &profile->classes[cls].watchdog;

		out->watchdog.own[cls] = (struct watchdog_times){
			own->detect.given ? (uint64_t)own->detect.n : 0,
			own->restore.given ? (uint64_t)own->restore.n : 0};
		if (own->detect.given || own->restore.given)
			warn_of_the_pause(k, time_of(&own->detect, &w->detect),
					  time_of(&own->restore, &w->restore), &w->map,
					  out->speed_bps);
		else
			of_port = true;
	}
	if (of_port)
		warn_of_the_pause(k, &w->detect, &w->restore, &w->map, out->speed_bps);
}

void compile_watchdogs(struct compiler *k)
{
	for (unsigned i = 0; i < k->c->n_ports; i++) {
		const struct config_port *port = &k->c->ports[i];
		const struct cfg_pfc_warning *warning = &port->profile->pfc.warning;
		struct cfg_watchdog w = watchdog_of(port->profile, port->item);
		struct policy_port *out = &k->p->ports[i];

		// A share in millionths is as many microseconds of a second.
		out->pfc_warning = (struct pfc_warning_params){(uint32_t)warning->in.n,
							       (uint32_t)warning->out.n,
							       (uint32_t)warning->paused.n};
		if (!cfg_is_on(&w.on, &w.map))
			continue;
		out->watchdog = (struct watchdog_params){
			.classes = out->pfc.rx, // the lossless ones, where PFC is obeyed
			.mode = (uint8_t)w.mode.n,
			.action = (uint8_t)w.action.n,
			.then = (uint8_t)w.limit.then.n,
			.detect_ns = (uint64_t)w.detect.n,
			.restore_ns = (uint64_t)w.restore.n,
			.limit_count = (uint32_t)w.limit.count.n,
			.limit_window_ns = (uint64_t)w.limit.window.n,
		};
		compile_times(k, port->profile, &w, out);
	}
}
