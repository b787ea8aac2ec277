// SPDX-License-Identifier: Apache-2.0
// `faults:`: what goes wrong, at which host, cable, port or switch, when, and for how long.
#include <inttypes.h>
#include <string.h>

#include "control/config/rows.h"
#include "control/lab/scenario_int.h"
#include "dataplane/units.h"

enum { MAX_ROUTES = 4096, NAME_LEN = 63, PPB_PER_PPM = 1000, QUANTUM_BITS = 512 };

// One struct for all kinds; each kind has rows for what it uses.
struct kind_keys {
	struct cfg_map map;
	struct cfg_val for_ns, quanta, every, silent, rate, every_nth, longer_than, shorter_than,
		control, speed, delay, loopback, policy, burst, period, count;
	struct cfg_set classes;
	struct cfg_list routes;
	const struct node *override;
};

enum target { TARGET_HOST, TARGET_LINK, TARGET_PORT, TARGET_SWITCH, N_TARGETS };

struct fault_keys {
	struct cfg_map map;
	struct cfg_val at, target[N_TARGETS], from;
	struct kind_keys kind[N_SC_FAULTS];
};

#define FOR                                                                                        \
	{                                                                                          \
		"for", CFG_NUMBER, .unit = UNIT_TIME, AT(kind_keys, for_ns), .min = 1,             \
				   .max = SECONDS(3600), .dflt = -1, .dflt_text = "for good",      \
				   .help = "how long it lasts"                                     \
	}

static const struct cfg_row storm_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "one, or several: 0-7, [3, 4]"},
	FOR,
	{NUMBER(COUNT, kind_keys, quanta), .max = 65535, .dflt = 65535,
	 .help = "of each PAUSE, in 512 bit times; 0: a storm of XON, which needs `every`"},
	{NUMBER(TIME, kind_keys, every), .min = 100, .max = SECONDS(1), .dflt = -1,
	 .dflt_text = "half the time of the quanta", .help = "from PAUSE to PAUSE"},
	{"silent_end", CFG_SWITCH, AT(kind_keys, silent),
	 .help = "no XON at the end: the last PAUSE runs out"},
	{NUMBER(TIME, kind_keys, burst), .min = 100, .max = SECONDS(3600),
	 .dflt_text = "without a break", .help = "it pauses for so long in every `period`"},
	{NUMBER(TIME, kind_keys, period), .min = 200, .max = SECONDS(3600), .dflt_text = "none",
	 .help = "from the beginning of a burst to that of the next"},
	{NUMBER(COUNT, kind_keys, count), .min = 1, .max = 1000000, .dflt_text = "as `for` allows",
	 .help = "number of bursts"},
};
static SCHEMA(storm_schema, storm_rows, kind_keys);

static const struct cfg_row down_rows[] = {FOR};
static SCHEMA(down_schema, down_rows, kind_keys);

static const struct cfg_row lossy_rows[] = {
	FOR,
	{NUMBER(PERCENT, kind_keys, rate), .max = PPM, .dflt_text = "none",
	 .help = "share of the frames that is lost by chance"},
	{NUMBER(COUNT, kind_keys, every_nth), .min = 1, .max = 1 << 30, .dflt_text = "none",
	 .help = "every nth frame is lost"},
	{NUMBER(BYTES, kind_keys, longer_than), .max = 65535,
	 .help = "only frames of more bytes can be lost: data, not ACKs"},
	{NUMBER(BYTES, kind_keys, shorter_than), .min = 1, .max = 65535, .dflt_text = "any",
	 .help = "only frames of fewer bytes can be lost: ACKs (62 B) and CNPs (74 B), not data"},
	{KEYED(SWITCH, kind_keys, control), .help = "MAC control frames can be lost, too"},
};
static SCHEMA(lossy_schema, lossy_rows, kind_keys);

static const struct cfg_row slow_rows[] = {
	FOR,
	{NUMBER(RATE, kind_keys, speed), .min = 1000000, .max = GIGA(800),
	 .dflt_text = "the link's", .help = "line rate meanwhile; nobody is told"},
	{NUMBER(TIME, kind_keys, delay), .max = SECONDS(1), .dflt = -1, .dflt_text = "the link's",
	 .help = "propagation meanwhile, one way"},
};
static SCHEMA(slow_schema, slow_rows, kind_keys);

static const struct cfg_row receiver_rows[] = {
	FOR,
	{NUMBER(RATE, kind_keys, rate), .min = 1000, .max = GIGA(800), .required = true,
	 .help = "at which its host takes received frames"},
	{NUMBER(RATE, kind_keys, loopback), .max = GIGA(800),
	 .help = "of that rate, taken by traffic of the host to itself"},
};
static SCHEMA(receiver_schema, receiver_rows, kind_keys);

static const struct cfg_row deaf_rows[] = {FOR};
static SCHEMA(deaf_schema, deaf_rows, kind_keys);

static const struct cfg_row tx_off_rows[] = {
	FOR,
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .dflt_text = "the port",
	 .help = "only this queue, or these: 3-4, [3, 4]"},
};
static SCHEMA(tx_off_schema, tx_off_rows, kind_keys);

static const struct cfg_row reload_rows[] = {
	{KEYED(LINE, kind_keys, policy), .max = 255, .dflt_text = "the switch's",
	 .help = "another policy file"},
	{KEYED(NODE, kind_keys, override), .dflt_text = "none",
	 .help = "laid over the policy, after what the switch started with; {}: as it started"},
	{KEYED(LIST, kind_keys, routes), .sub = &sc_route_schema, .max = MAX_ROUTES,
	 .dflt_text = "those that it started with",
	 .help = "routes in place of those that it started with, for the hosts named"},
};
static SCHEMA(reload_schema, reload_rows, kind_keys);

static const struct cfg_row drop_all_rows[] = {FOR};
static SCHEMA(drop_all_schema, drop_all_rows, kind_keys);

static const struct cfg_row recover_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "whose storm, or escalation, is to end: 3, 0-7, [3, 4]"},
};
static SCHEMA(recover_schema, recover_rows, kind_keys);

// ---- the table of kinds
static const struct {
	const char *key;
	enum target target;
} kinds[N_SC_FAULTS] = {
	[SC_PAUSE_STORM] = {"pause_storm", TARGET_HOST},
	[SC_LINK_DOWN] = {"link_down", TARGET_LINK},
	[SC_LINK_LOSSY] = {"link_lossy", TARGET_LINK},
	[SC_LINK_SLOW] = {"link_slow", TARGET_LINK},
	[SC_SLOW_RECEIVER] = {"slow_receiver", TARGET_HOST},
	[SC_DEAF] = {"deaf", TARGET_HOST},
	[SC_TX_OFF] = {"tx_off", TARGET_PORT},
	[SC_RELOAD] = {"reload", TARGET_SWITCH},
	[SC_DROP_ALL] = {"drop_all", TARGET_SWITCH},
	[SC_RECOVER] = {"recover", TARGET_PORT},
};

static const char *const target_keys[N_TARGETS] = {[TARGET_HOST] = "host",
						   [TARGET_LINK] = "link",
						   [TARGET_PORT] = "port",
						   [TARGET_SWITCH] = "switch"};

#define TARGET(k, id, text)                                                                        \
	{                                                                                          \
		k, CFG_TEXT, AT(fault_keys, target[id]),                                           \
			.max = NAME_LEN, .dflt_text = "as the fault needs", .help = text           \
	}
#define KIND(k, id, s, text)                                                                       \
	{                                                                                          \
		k, CFG_MAP, AT(fault_keys, kind[id]), .sub = &(s), .dflt_text = "one of these",    \
						      .help = text                                 \
	}

static const struct cfg_row fault_rows[] = {
	{NUMBER(TIME, fault_keys, at), .max = SECONDS(3600), .required = true,
	 .help = "when it begins"},
	TARGET("host", TARGET_HOST, "the host it strikes, or hosts: a range h[1-8], a pattern"),
	TARGET("link", TARGET_LINK, "the cable, by either end: h1, or s1.p3; both directions"),
	{KEYED(TEXT, fault_keys, from), .max = NAME_LEN, .dflt_text = "both directions",
	 .help = "in place of `link`: only frames that leave by this end"},
	TARGET("port", TARGET_PORT, "the port, s1.p3"),
	TARGET("switch", TARGET_SWITCH, "the switch"),
	KIND("pause_storm", SC_PAUSE_STORM, storm_schema, "host: its NIC sends PAUSE without need"),
	KIND("link_down", SC_LINK_DOWN, down_schema, "link: it is cut"),
	KIND("link_lossy", SC_LINK_LOSSY, lossy_schema, "link, or from: it loses frames"),
	KIND("link_slow", SC_LINK_SLOW, slow_schema, "link: it is slower or longer"),
	KIND("slow_receiver", SC_SLOW_RECEIVER, receiver_schema,
	     "host: it takes frames slowly, and its NIC pauses"),
	KIND("deaf", SC_DEAF, deaf_schema, "host: its NIC does not obey PAUSE"),
	KIND("tx_off", SC_TX_OFF, tx_off_schema, "port: it, or one of its queues, sends nothing"),
	KIND("reload", SC_RELOAD, reload_schema, "switch: another policy, live"),
	KIND("drop_all", SC_DROP_ALL, drop_all_schema,
	     "switch: it discards all lossless classes, as `weirctl watchdog drop-all on` does"),
	KIND("recover", SC_RECOVER, recover_schema,
	     "port: as `weirctl watchdog recover` does for a class"),
};
SCHEMA(sc_fault_schema, fault_rows, fault_keys);

// ---- from keys to faults
struct fault_reader {
	struct sc_builder *b;
	const struct fault_keys *k;
	const struct kind_keys *kind;
	struct sc_fault *f; // of the first that it strikes
	uint32_t *hosts, n_hosts; // all of them, where a pattern names several
};

static const char *sub_path(const struct fault_reader *r, const char *key)
{
	return arena_printf(r->b->r.arena, "%s.%s", r->k->map.path, key);
}

static bool find_kind(struct fault_reader *r)
{
	int found = -1;

	for (unsigned i = 0; i < N_SC_FAULTS; i++) {
		if (!r->k->kind[i].map.given)
			continue;
		if (found >= 0)
			return sc_report(r->b, r->k->kind[i].map.at, sub_path(r, kinds[i].key),
					 "the entry is about %s already: one fault an entry",
					 kinds[found].key);
		found = (int)i;
	}
	if (found < 0)
		return sc_report(r->b, r->k->map.at, r->k->map.path,
				 "says nothing of what goes wrong: pause_storm, link_down, ...");
	r->f->kind = (uint8_t)found;
	r->kind = &r->k->kind[found];
	return true;
}

// The value that names the target: the kind's own key, `from` in place of a link; others are
// refused.
static const struct cfg_val *find_target(struct fault_reader *r, const char **key)
{
	enum target t = kinds[r->f->kind].target;
	const struct cfg_val *v = &r->k->target[t];

	*key = target_keys[t];
	for (unsigned i = 0; i < N_TARGETS; i++)
		if (i != t && r->k->target[i].given)
			sc_report(r->b, r->k->target[i].at, sub_path(r, target_keys[i]),
				  "%s strikes a %s", kinds[r->f->kind].key, target_keys[t]);
	if (r->k->from.given && (v->given || t != TARGET_LINK)) {
		sc_report(r->b, r->k->from.at, sub_path(r, "from"), "%s",
			  t == TARGET_LINK ? "link and from exclude each other"
					   : "only link faults have a direction");
		return NULL;
	}
	if (r->k->from.given) {
		*key = "from";
		r->f->one_way = true;
		return &r->k->from;
	}
	if (v->given)
		return v;
	sc_report(r->b, r->k->map.at, r->k->map.path, "%s needs the %s it strikes",
		  kinds[r->f->kind].key, target_keys[t]);
	return NULL;
}

// A pattern names hosts; the first one that has a link stands for them.
static bool find_hosts(struct fault_reader *r, const struct sc_text *v)
{
	const struct scenario *sc = r->b->sc;
	uint32_t n;

	r->hosts = arena_alloc(r->b->r.arena, (sc->n_hosts + 1) * sizeof(*r->hosts));
	n = scenario_pick_hosts(sc, r->b->r.sink, v, r->hosts);
	for (uint32_t i = 0; i < n; i++)
		if (sc->hosts[r->hosts[i]].link != SC_NO_LINK)
			r->hosts[r->n_hosts++] = r->hosts[i];
	if (r->n_hosts == 0)
		return false;
	r->f->target = (struct sc_end){.node = r->hosts[0]};
	r->f->link = sc->hosts[r->hosts[0]].link;
	return true;
}

static bool resolve_target(struct fault_reader *r)
{
	enum target t = kinds[r->f->kind].target;
	const struct scenario *sc = r->b->sc;
	struct sc_end *e = &r->f->target;
	const char *key, *path;
	const struct cfg_val *v = find_target(r, &key);
	struct sc_text where;

	if (v == NULL || v->bad)
		return false;
	path = sub_path(r, key);
	where = (struct sc_text){v->text, v->at, path};
	if (t == TARGET_SWITCH) {
		int i = scenario_switch(sc, v->text);

		*e = (struct sc_end){true, (uint32_t)i, 0};
		return i >= 0 || sc_report(r->b, v->at, path, "there is no switch %s: %s",
					   schema_shown(r->b->r.arena, v->text),
					   sc_known_switches(sc, r->b->r.arena, v->text));
	}
	if (t == TARGET_HOST && strpbrk(v->text, "*[") != NULL)
		return find_hosts(r, &where);
	if (!sc_parse_end(r->b, &where, e))
		return false;
	if (!e->is_switch)
		r->f->link = sc->hosts[e->node].link;
	else if (e->port < sc->switches[e->node].n_ports)
		r->f->link = sc->switches[e->node].ports[e->port].link;
	if (e->is_switch && t == TARGET_HOST)
		return sc_report(r->b, v->at, path, "%s is no host", v->text);
	if (!e->is_switch && t == TARGET_PORT)
		return sc_report(r->b, v->at, path, "%s is no port of a switch", v->text);
	if (e->is_switch && e->port >= sc->switches[e->node].n_ports)
		return sc_report(r->b, v->at, path, "%s: the switch has %u ports", v->text,
				 sc->switches[e->node].n_ports);
	if (t == TARGET_LINK && r->f->link == SC_NO_LINK)
		return sc_report(r->b, v->at, path, "%s has no link", v->text);
	return t != TARGET_HOST || r->f->link != SC_NO_LINK; // which is reported of the host
}

// What is wrong with a storm, whoever's it is.
static void check_storm(const struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct sc_builder *b = r->b;

	if (k->quanta.n == 0 && !k->every.given)
		sc_report(b, k->quanta.at, sub_path(r, "pause_storm.quanta"),
			  "a storm of XON has no time of its own: say every");
	if (k->burst.given != k->period.given)
		sc_report(b, k->map.at, k->map.path, "burst and period need each other");
	else if (k->burst.given && !k->burst.bad && !k->period.bad && k->burst.n >= k->period.n)
		sc_report(b, k->burst.at, sub_path(r, "pause_storm.burst"),
			  "%s leaves no break in a period of %s",
			  sc_time(b->r.arena, (uint64_t)k->burst.n),
			  sc_time(b->r.arena, (uint64_t)k->period.n));
	if (k->count.given && !k->burst.given)
		sc_report(b, k->count.at, sub_path(r, "pause_storm.count"), "there are no bursts");
	else if (k->count.given && k->for_ns.given)
		sc_report(b, k->count.at, sub_path(r, "pause_storm.count"),
			  "for and count exclude each other");
}

static void fill_storm(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	uint64_t speed = r->b->sc->links[r->f->link].speed_bps;
	// Of a link whose speed is wrong there is none, which is told of the link.
	uint64_t quanta_ns =
		speed == 0 ? 0 : (uint64_t)k->quanta.n * QUANTUM_BITS * 1000000000u / speed;

	r->f->storm = (struct storm_params){
		.classes = (uint8_t)k->classes.bits[0],
		.quanta = (uint16_t)k->quanta.n,
		.start_ns = r->f->at_ns,
		.every_ns = k->every.n >= 0 ? (uint64_t)k->every.n : quanta_ns / 2 + 1,
		.for_ns = r->f->for_ns,
		.burst_ns = (uint64_t)k->burst.n,
		.period_ns = (uint64_t)k->period.n,
		.silent_end = k->silent.n != 0,
	};
}

static void fill_loss(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;

	if (!k->rate.given && !k->every_nth.given)
		sc_report(r->b, k->map.at, k->map.path, "give a rate or every_nth");
	if (k->shorter_than.n > 0 && k->shorter_than.n <= k->longer_than.n + 1)
		sc_report(r->b, k->map.at, k->map.path,
			  "no frame is longer than %" PRId64 " B and shorter than %" PRId64 " B",
			  k->longer_than.n, k->shorter_than.n);
	r->f->loss = (struct wire_loss){
		.chance_ppb = (uint32_t)k->rate.n * PPB_PER_PPM,
		.every_nth = (uint32_t)k->every_nth.n,
		.longer_than_bytes = (uint32_t)k->longer_than.n,
		.shorter_than_bytes = (uint32_t)k->shorter_than.n,
		.spares_control = !k->control.n,
		.seed = scenario_seed(r->b->sc, "loss", r->b->sc->n_faults),
	};
}

static void fill_reload(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct sc_route_list l;

	if (k->policy.text != NULL)
		r->f->policy_file = sc_relative(r->b, k->policy.text);
	if (k->override != NULL && k->override->kind != NODE_MAP)
		sc_report(r->b, k->override->at,
			  arena_printf(r->b->r.arena, "%s.override", k->map.path),
			  "expected a map");
	else
		r->f->override = k->override;
	if (!k->policy.given && k->override == NULL && !k->routes.map.given)
		sc_report(r->b, k->map.at, k->map.path, "give a policy, an override or routes");
	l = sc_read_routes(r->b, r->f->target.node, &k->routes);
	r->f->routes = l.routes;
	r->f->n_routes = l.n;
	if (k->routes.map.given && !r->b->sc->routed)
		sc_report(r->b, k->routes.map.at, k->routes.map.path,
			  "the switches bridge: routes need forwarding: route");
}

static void fill_values(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct sc_fault *f = r->f;

	f->rate_bps = (uint64_t)(f->kind == SC_LINK_SLOW ? k->speed.n : k->rate.n);
	f->loopback_bps = (uint64_t)k->loopback.n;
	f->delay_ns = k->delay.n;
	f->cls = -1;
	if (f->kind == SC_PAUSE_STORM) {
		check_storm(r);
		if (k->count.given && !k->count.bad)
			f->for_ns = (uint64_t)(k->count.n - 1) * (uint64_t)k->period.n +
				    (uint64_t)k->burst.n;
		fill_storm(r);
	} else if (f->kind == SC_LINK_LOSSY) {
		fill_loss(r);
	} else if (f->kind == SC_RELOAD) {
		fill_reload(r);
	}
	if (f->kind == SC_SLOW_RECEIVER && k->rate.given && f->loopback_bps >= f->rate_bps)
		sc_report(r->b, k->map.at, k->map.path, "loopback leaves nothing of the rate");
	if (f->kind == SC_LINK_SLOW && !k->speed.given && !k->delay.given)
		sc_report(r->b, k->map.at, k->map.path, "give a speed or a delay");
}

static void push(struct sc_builder *b, const struct sc_fault *f, uint32_t *room)
{
	struct scenario *sc = b->sc;
	struct sc_fault *more;

	if (sc->n_faults == *room) {
		*room *= 2;
		more = arena_alloc(b->r.arena, *room * sizeof(*more));
		memcpy(more, sc->faults, sc->n_faults * sizeof(*more));
		sc->faults = more;
	}
	sc->faults[sc->n_faults++] = *f;
}

// Of a port, once for each class that is named; a storm has all of its classes at once. The same
// for each of several hosts, but what follows from the host's link.
static void push_all(struct fault_reader *r, uint32_t *room)
{
	const struct scenario *sc = r->b->sc;
	uint64_t left = r->f->kind == SC_PAUSE_STORM ? 0 : r->kind->classes.bits[0];

	if (sc->n_faults + r->n_hosts >= SC_MAX_FAULTS) {
		sc_report(r->b, r->f->at, r->k->map.path, "there are more than %d faults",
			  SC_MAX_FAULTS);
		return;
	}
	if (r->n_hosts == 0 && left == 0)
		push(r->b, r->f, room);
	for (; r->n_hosts == 0 && left != 0; left &= left - 1) {
		r->f->cls = __builtin_ctzll(left);
		push(r->b, r->f, room);
	}
	for (uint32_t i = 0; i < r->n_hosts; i++) {
		r->f->target.node = r->hosts[i];
		r->f->link = sc->hosts[r->hosts[i]].link;
		if (r->f->kind == SC_PAUSE_STORM)
			fill_storm(r);
		push(r->b, r->f, room);
	}
}

static uint64_t end_of(const struct sc_fault *f)
{
	return f->for_ns < UINT64_MAX - f->at_ns ? f->at_ns + f->for_ns : UINT64_MAX;
}

// A NIC has one storm at a time. before[i]: the host's storm in front of storm i, from 1; 0: none.
static void check_storms(struct sc_builder *b)
{
	const struct sc_fault *all = b->sc->faults, *told = NULL;
	uint32_t n = b->sc->n_faults;
	uint32_t *before = arena_alloc(b->r.arena, (n + 1) * sizeof(*before));
	uint32_t *last = arena_alloc(b->r.arena, (b->sc->n_hosts + 1) * sizeof(*last));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		if (all[i].kind != SC_PAUSE_STORM)
			continue;
		k = before[i] = last[all[i].target.node];
		last[all[i].target.node] = i + 1;
		while (k != 0 &&
		       !(all[i].at_ns < end_of(&all[k - 1]) && all[k - 1].at_ns < end_of(&all[i])))
			k = before[k - 1];
		// Of several hosts that one entry names the first is told.
		if (k == 0 || (told != NULL && told->at.line == all[i].at.line &&
			       told->at.column == all[i].at.column))
			continue;
		told = &all[i];
		sc_report(b, all[i].at, "faults",
			  "the storm at %s is still going on: name all classes in one, "
			  "or let the first end",
			  sc_time(b->r.arena, all[k - 1].at_ns));
	}
}

void sc_build_faults(struct sc_builder *b)
{
	const struct scenario *sc = b->sc;
	const struct fault_keys *k = b->k.faults.items;
	uint32_t room = b->k.faults.n + 1;

	b->sc->faults = arena_alloc(b->r.arena, room * sizeof(b->sc->faults[0]));
	for (unsigned i = 0; i < b->k.faults.n; i++, k++) {
		struct sc_fault f = {
			.at = k->map.at, .at_ns = (uint64_t)k->at.n, .link = SC_NO_LINK};
		struct fault_reader r = {.b = b, .k = k, .f = &f};

		if (!find_kind(&r) || !resolve_target(&r))
			continue;
		f.for_ns = r.kind->for_ns.n > 0 ? (uint64_t)r.kind->for_ns.n : UINT64_MAX;
		if (k->at.given && !k->at.bad && sc->duration_ns != 0 && f.at_ns >= sc->duration_ns)
			sc_report(b, k->at.at, sub_path(&r, "at"), "%s is not within the duration",
				  sc_time(b->r.arena, f.at_ns));
		fill_values(&r);
		push_all(&r, &room);
	}
	check_storms(b);
}
