// SPDX-License-Identifier: Apache-2.0
// The faults of a scenario: what goes wrong, where, when, and for how long. The rows of their keys,
// and what the keys mean for the hosts, links, ports and switches that they name.
#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/rows.h"
#include "control/config/impair.h"
#include "control/config/model.h"
#include "control/lab/scenario_int.h"
#include "control/orders/words.h"
#include "dataplane/base/bits.h"
#include "dataplane/base/units.h"

// ---- keys
enum { PPB_PER_PPM = 1000, QUANTUM_BITS = 512, COMMAND_LEN = 1000 };

// One struct for all kinds; each kind has rows for what it uses.
struct kind_keys {
	struct cfg_map map;
	struct cfg_val for_ns, quanta, every, silent, rate, every_nth, longer_than, shorter_than,
		control, speed, delay, loopback, policy, burst, period, count;
	struct sc_impair_keys impair;
	struct cfg_set classes;
	struct cfg_list routes;
	struct cfg_words commands;
	const struct node *override;
};

enum target { TARGET_HOST, TARGET_LINK, TARGET_PORT, TARGET_SWITCH, N_TARGETS };

struct fault_keys {
	struct cfg_map map;
	struct cfg_val at, target[N_TARGETS], from;
	struct kind_keys kind[N_SC_FAULTS];
};

#define FOR                                                                                        \
	"for", CFG_NUMBER, .unit = UNIT_TIME, AT(kind_keys, for_ns), .min = 1,                     \
			   .max = SECONDS(3600), .dflt = -1, .dflt_text = "for good",              \
			   .help = "how long it lasts"

static const struct cfg_row lasting_rows[] = {{FOR}};
static SCHEMA(lasting_schema, lasting_rows, kind_keys);

static const struct cfg_row storm_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "one, or several: 0-7, [3, 4]"},
	{FOR},
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

static const struct cfg_row lossy_rows[] = {
	{FOR},
	{NUMBER(PERCENT, kind_keys, rate), .max = PPM, .dflt_text = "none",
	 .help = "share of the frames that is lost by chance"},
	{NUMBER(COUNT, kind_keys, every_nth), .min = 1, .max = 1 << 30, .dflt_text = "none",
	 .help = "every nth frame is lost"},
	{NUMBER(BYTES, kind_keys, longer_than), .max = 65535,
	 .help = "only frames of more bytes can be lost: data, not ACKs"},
	{NUMBER(BYTES, kind_keys, shorter_than), .min = 1, .max = 65535, .dflt_text = "any",
	 .help = "only frames of fewer bytes can be lost: ACKs (62 B) and CNPs (74 B), not data"},
	{FIELD(CFG_SWITCH, kind_keys, control), .help = "MAC control frames can be lost, too"},
};
static SCHEMA(lossy_schema, lossy_rows, kind_keys);

static const struct cfg_row slow_rows[] = {
	{FOR},
	{NUMBER(RATE, kind_keys, speed), .min = 1000000, .max = GIGA(800),
	 .dflt_text = "the link's", .help = "line rate meanwhile; neither end reports a change"},
	{NUMBER(TIME, kind_keys, delay), .max = SECONDS(1), .dflt = -1, .dflt_text = "the link's",
	 .help = "propagation meanwhile, one way"},
};
static SCHEMA(slow_schema, slow_rows, kind_keys);

static const struct cfg_row receiver_rows[] = {
	{FOR},
	{NUMBER(RATE, kind_keys, rate), .min = 1000, .max = GIGA(800), .required = true,
	 .help = "at which its host takes received frames"},
	{NUMBER(RATE, kind_keys, loopback), .max = GIGA(800),
	 .help = "of that rate, taken by traffic of the host to itself"},
};
static SCHEMA(receiver_schema, receiver_rows, kind_keys);

static const struct cfg_row tx_off_rows[] = {
	{FOR},
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .dflt_text = "the port",
	 .help = "only this queue, or these: 3-4, [3, 4]"},
};
static SCHEMA(tx_off_schema, tx_off_rows, kind_keys);

static const struct cfg_row reload_rows[] = {
	{FIELD(CFG_LINE, kind_keys, policy), .max = 255, .dflt_text = "the switch's",
	 .help = "another policy file"},
	{FIELD(CFG_NODE, kind_keys, override), .dflt_text = "none",
	 .help = "laid over the policy, after what the switch started with; {}: as it started"},
	{FIELD(CFG_LIST, kind_keys, routes), .sub = &sc_route_schema, .max = SC_MAX_ITEMS,
	 .dflt_text = "those that it started with",
	 .help = "routes in place of those that it started with, for the hosts named"},
};
static SCHEMA(reload_schema, reload_rows, kind_keys);

static const char *const ways[] = {"in", "out", NULL};

static const struct cfg_row impair_rows[] = {
	{FOR},
	{"match", CFG_LINE, AT(kind_keys, impair.match), .max = IMPAIR_TEXT - 1,
	 .dflt_text = "all frames", .help = "which frames, as in `weirctl impair --match`"},
	{"action", CFG_LINE, AT(kind_keys, impair.action), .max = IMPAIR_ACTION_TEXT - 1,
	 .required = true,
	 .help = "`drop`, `delay TIME`, `duplicate`, `reorder N`, `ce [P%]`, `corrupt icrc` or "
		 "`corrupt payload`"},
	{"way", CFG_WORD, AT(kind_keys, impair.way), .words = ways,
	 .help = "`in`: frames that the port receives; `out`: frames that it sends"},
	{"count", CFG_NUMBER, .unit = UNIT_COUNT, AT(kind_keys, impair.count), .min = 1,
	 .max = 1 << 30, .dflt_text = "no limit",
	 .help = "it ends when so many frames were changed"},
	{"seed", CFG_NUMBER, .unit = UNIT_COUNT, AT(kind_keys, impair.seed), .min = 1,
	 .max = INT32_MAX, .dflt_text = "of the scenario's", .help = "of chance"},
};
static SCHEMA(impair_schema, impair_rows, kind_keys);

static const struct cfg_row recover_rows[] = {
	{"class", CFG_SET, AT(kind_keys, classes), .max = 7, .required = true,
	 .help = "whose storm, or escalation, is to end: 3, 0-7, [3, 4]"},
};
static SCHEMA(recover_schema, recover_rows, kind_keys);

static const struct cfg_row weirctl_rows[] = {
	{FIELD(CFG_LINES, kind_keys, commands), .max = COMMAND_LEN, .required = true,
	 .help = "one, or a list: `set port p1 tx off`; `commands:` may be left out"},
};
static const struct cfg_schema weirctl_schema = {weirctl_rows, N(weirctl_rows),
						 sizeof(struct kind_keys), .bare = weirctl_rows};

#define TARGET(key, id, text)                                                                      \
	key, CFG_TEXT, AT(fault_keys, target[id]), .max = SC_MAX_TEXT,                             \
						   .dflt_text = "as the fault needs", .help = text

static const struct cfg_row fault_rows[] = {
	{NUMBER(TIME, fault_keys, at), .max = SECONDS(3600), .required = true,
	 .help = "when it begins"},
	{TARGET("host", TARGET_HOST, "the host, or hosts: a range h[1-8], a pattern")},
	{TARGET("link", TARGET_LINK, "the cable, by either end: h1, or s1.p3; both directions")},
	{FIELD(CFG_TEXT, fault_keys, from), .max = SC_MAX_TEXT, .dflt_text = "both directions",
	 .help = "in place of `link`: only frames that leave by this end"},
	{TARGET("port", TARGET_PORT, "the port, s1.p3")},
	{TARGET("switch", TARGET_SWITCH, "the switch")},
#define X(id, key, target, schema, text)                                                           \
	{#key,                                                                                     \
	 CFG_MAP,                                                                                  \
	 AT(fault_keys, kind[SC_##id]),                                                            \
	 .sub = &schema##_schema,                                                                  \
	 .dflt_text = "one of these",                                                              \
	 .help = text},
	SC_FAULTS(X)
#undef X
};
SCHEMA(sc_fault_schema, fault_rows, fault_keys);

static const struct {
	const char *key;
	enum target target;
} kinds[N_SC_FAULTS] = {
#define X(id, key, target, ...) {#key, TARGET_##target},
	SC_FAULTS(X)
#undef X
};

static const char *const target_keys[N_TARGETS] = {"host", "link", "port", "switch"};

// ---- from keys to faults
struct fault_reader {
	struct sc_builder *b;
	const struct fault_keys *k;
	const struct kind_keys *kind;
	struct sc_fault *f; // of the first target
	uint32_t *hosts, n_hosts; // all of them, where a pattern names several
};

static bool find_kind(struct fault_reader *r)
{
	struct diag_sink *s = r->b->r.sink;

	for (unsigned i = 0; i < N_SC_FAULTS; i++) {
		const struct kind_keys *kind = &r->k->kind[i];

		if (!kind->map.given)
			continue;
		if (r->kind != NULL)
			return REFUSE(
				s, &kind->map,
				"the entry has the fault %s already: give each fault an entry",
				kinds[r->f->kind].key);
		r->f->kind = (uint8_t)i;
		r->kind = kind;
	}
	return r->kind != NULL ||
	       REFUSE(s, &r->k->map, "names no fault: give one of pause_storm, link_down, ...");
}

// The value that names the target: the kind's own key, `from` in place of a link; others are
// refused.
static const struct cfg_val *find_target(struct fault_reader *r)
{
	enum target t = kinds[r->f->kind].target;
	const struct cfg_val *v = &r->k->target[t], *from = &r->k->from;
	struct diag_sink *s = r->b->r.sink;

	for (unsigned i = 0; i < N_TARGETS; i++)
		if (i != t && r->k->target[i].given)
			REFUSE(s, &r->k->target[i], "%s applies to a %s", kinds[r->f->kind].key,
			       target_keys[t]);
	r->f->one_way = from->given;
	if (from->given && (v->given || t != TARGET_LINK))
		REFUSE(s, from, "%s",
		       t == TARGET_LINK ? "link and from exclude each other"
					: "only link faults have a direction");
	else if (from->given || v->given)
		return from->given ? from : v;
	else
		REFUSE(s, &r->k->map, "the fault %s has no target" CURE "give its %s",
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
	struct diag_sink *s = r->b->r.sink;
	struct sc_end *e = &r->f->target;
	const struct cfg_val *v = find_target(r);
	struct sc_text where;

	if (v == NULL || v->bad)
		return false;
	where = (struct sc_text){v->text, v->at, v->path};
	if (t == TARGET_SWITCH) {
		int i = scenario_switch(sc, v->text);

		*e = (struct sc_end){true, (uint32_t)i, 0};
		return i >= 0 || REFUSE(s, v, "there is no switch %s: %s",
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
		return REFUSE(s, v, "%s is no host", v->text);
	if (!e->is_switch && t == TARGET_PORT)
		return REFUSE(s, v, "%s is no port of a switch", v->text);
	if (e->is_switch && e->port >= sc->switches[e->node].n_ports)
		return REFUSE(s, v, "%s: the switch has %u ports", v->text,
			      sc->switches[e->node].n_ports);
	if (t == TARGET_LINK && r->f->link == SC_NO_LINK)
		return REFUSE(s, v, "%s has no link", v->text);
	return t != TARGET_HOST || r->f->link != SC_NO_LINK; // which is reported of the host
}

// The rules between the keys of a storm, of one host or of several.
static void check_storm(const struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;

	if (k->quanta.n == 0 && !k->every.given)
		REFUSE(s, &k->quanta, "a storm of XON has no interval of its own: give `every`");
	if (k->burst.given != k->period.given)
		REFUSE(s, &k->map, "burst and period need each other");
	else if (k->burst.given && !k->burst.bad && !k->period.bad && k->burst.n >= k->period.n)
		REFUSE(s, &k->burst, "%s leaves no break in a period of %s",
		       UNIT_TEXT(UNIT_TIME, k->burst.n), UNIT_TEXT(UNIT_TIME, k->period.n));
	if (k->count.given && !k->burst.given)
		REFUSE(s, &k->count, "there are no bursts");
	else if (k->count.given && k->for_ns.given)
		REFUSE(s, &k->count, "for and count exclude each other");
}

static void fill_storm(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	uint64_t speed = r->b->sc->links[r->f->link].speed_bps;
	// 0: the speed of the link is a mistake, which the link reports.
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

static void fill_reload(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;

	if (k->policy.text != NULL)
		r->f->policy_file = sc_policy_path(r->b, k->policy.text);
	if (k->override != NULL && k->override->kind != NODE_MAP)
		diag_add(s, DIAG_ERROR, k->override->at,
			 arena_printf(r->b->r.arena, "%s.override", k->map.path), "expected a map");
	else
		r->f->override = k->override;
	if (!k->policy.given && k->override == NULL && !k->routes.map.given)
		REFUSE(s, &k->map, "give a policy, an override or routes");
	r->f->n_routes = sc_read_routes(r->b, r->f->target.node, &k->routes, &r->f->routes);
	if (k->routes.map.given && !r->b->sc->routed)
		REFUSE(s, &k->routes.map,
		       "the switches bridge, and routes need `forwarding: route`");
}

// Each command is read now, so that a mistake is shown at its place.
static void check_commands(const struct fault_reader *r)
{
	char why[WORDS_WHY_LEN];

	if (r->kind->commands.n == 0 && r->kind->commands.map.given)
		REFUSE(r->b->r.sink, &r->kind->commands.map, "has no command");
	for (unsigned i = 0; i < r->kind->commands.n; i++) {
		const struct cfg_val *v = &r->kind->commands.items[i];
		struct json_object *req = request_of_text(v->text, why);

		if (req == NULL)
			REFUSE(r->b->r.sink, v, "%s", why);
		json_object_put(req);
	}
}

static void fill_values(struct fault_reader *r)
{
	const struct kind_keys *k = r->kind;
	struct diag_sink *s = r->b->r.sink;
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
		if (!k->rate.given && !k->every_nth.given)
			REFUSE(s, &k->map, "give a rate or every_nth");
		if (k->shorter_than.n > 0 && k->shorter_than.n <= k->longer_than.n + 1)
			REFUSE(s, &k->map,
			       "no frame is longer than %" PRId64 " B and shorter than %" PRId64
			       " B",
			       k->longer_than.n, k->shorter_than.n);
		f->loss = (struct wire_loss){
			.chance_ppb = (uint32_t)k->rate.n * PPB_PER_PPM,
			.every_nth = (uint32_t)k->every_nth.n,
			.longer_than_bytes = (uint32_t)k->longer_than.n,
			.shorter_than_bytes = (uint32_t)k->shorter_than.n,
			.spares_control = !k->control.n,
			.seed = scenario_seed(r->b->sc, "loss", r->b->sc->n_faults),
		};
	} else if (f->kind == SC_RELOAD) {
		fill_reload(r);
	} else if (f->kind == SC_IMPAIR) {
		sc_build_impair(r->b, &k->impair, f);
	} else if (f->kind == SC_WEIRCTL) {
		check_commands(r);
	}
	if (f->kind == SC_CUT_OFF && !r->b->sc->inof.exchange)
		REFUSE(s, &k->map,
		       "the switches say nothing to each other" CURE "add inof: {peers: 5ms}");
	if (f->kind == SC_SLOW_RECEIVER && k->rate.given && f->loopback_bps >= f->rate_bps)
		REFUSE(s, &k->map, "loopback leaves nothing of the rate");
	if (f->kind == SC_LINK_SLOW && !k->speed.given && !k->delay.given)
		REFUSE(s, &k->map, "give a speed or a delay");
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
	bool storm = r->f->kind == SC_PAUSE_STORM;
	uint32_t classes = storm || r->n_hosts != 0 ? 0 : (uint32_t)r->kind->classes.bits[0];

	if (sc->n_faults + r->n_hosts + r->kind->commands.n >= SC_MAX_FAULTS) {
		REFUSE(r->b->r.sink, &r->k->map, "there are more than %d faults", SC_MAX_FAULTS);
		return;
	}
	for (unsigned i = 0; i < r->kind->commands.n; i++) {
		r->f->words = r->kind->commands.items[i].text;
		push(r->b, r->f, room);
	}
	if (r->n_hosts == 0 && classes == 0 && r->f->kind != SC_WEIRCTL)
		push(r->b, r->f, room);
	for_each_bit (cls, classes) {
		r->f->cls = (int)cls;
		push(r->b, r->f, room);
	}
	for (uint32_t i = 0; i < r->n_hosts; i++) {
		r->f->target.node = r->hosts[i];
		r->f->link = sc->hosts[r->hosts[i]].link;
		if (storm)
			fill_storm(r);
		push(r->b, r->f, room);
	}
}

static uint64_t fault_end_ns(const struct sc_fault *f)
{
	return f->for_ns < UINT64_MAX - f->at_ns ? f->at_ns + f->for_ns : UINT64_MAX;
}

// A NIC has one storm at a time. before[i]: the host's storm in front of storm i, from 1; 0: none.
static void check_storms(struct sc_builder *b)
{
	const struct sc_fault *all = b->sc->faults, *reported = NULL;
	uint32_t n = b->sc->n_faults;
	uint32_t *before = arena_alloc(b->r.arena, (n + 1) * sizeof(*before));
	uint32_t *last = arena_alloc(b->r.arena, (b->sc->n_hosts + 1) * sizeof(*last));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		if (all[i].kind != SC_PAUSE_STORM)
			continue;
		k = before[i] = last[all[i].target.node];
		last[all[i].target.node] = i + 1;
		while (k != 0 && !(all[i].at_ns < fault_end_ns(&all[k - 1]) &&
				   all[k - 1].at_ns < fault_end_ns(&all[i])))
			k = before[k - 1];
		// Of several hosts that one entry names the first is reported.
		if (k == 0 || (reported != NULL && reported->at.line == all[i].at.line &&
			       reported->at.column == all[i].at.column))
			continue;
		reported = &all[i];
		diag_add(b->r.sink, DIAG_ERROR, all[i].at, "faults",
			 "the storm at %s is still going on: name all classes in one, "
			 "or let the first end",
			 UNIT_TEXT(UNIT_TIME, (int64_t)all[k - 1].at_ns));
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
			REFUSE(b->r.sink, &k->at, "%s is not within the duration",
			       UNIT_TEXT(UNIT_TIME, (int64_t)f.at_ns));
		fill_values(&r);
		push_all(&r, &room);
	}
	check_storms(b);
}
