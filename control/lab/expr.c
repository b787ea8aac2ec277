// SPDX-License-Identifier: Apache-2.0
#include "control/lab/expr.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/base/rows.h"
#include "control/lab/scenario.h"
#include "dataplane/drop.h"
#include "dataplane/roce/ipcc.h"
#include "dataplane/switch.h"

enum {
	MAX_DEPTH = 32,
	MAX_WORD = 256, // bytes of an argument or a name
	MAX_TOGETHER = 8192, // objects of one function that takes several
	MAX_OBJECTS = 65536, // that a pattern stands for
	MAX_WHOLE = 100000000,
	ANY_CLASS = -1,
	N_CLS = 8,
};

struct parser {
	struct expr_set *s;
	struct cfg_pos at;
	const char *path, *text, *p;
	unsigned depth;
	bool failed;
};

// Reports the first mistake of a text; the others would follow from it. NULL.
__attribute__((format(printf, 3, 4))) static void *report_first_mistake(struct parser *ps,
									const char *where,
									const char *fmt, ...)
{
	struct cfg_pos at = ps->at;
	char text[512];
	va_list ap;

	if (ps->failed)
		return NULL;
	ps->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (at.line != 0 && at.origin == NULL) // otherwise the file has another text
		at.column += (uint32_t)(where - ps->text);
	diag_add(ps->s->sink, DIAG_ERROR, at, ps->path, "%s", text);
	return NULL;
}

static void skip_space(struct parser *ps)
{
	while (isspace((unsigned char)*ps->p))
		ps->p++;
}

// Goes on behind a word or sign if it is the next one.
static bool accept_token(struct parser *ps, const char *token)
{
	size_t len = strlen(token);

	skip_space(ps);
	if (strncmp(ps->p, token, len) != 0)
		return false;
	// A word ends where no letter follows.
	if (isalpha((unsigned char)token[0]) &&
	    (isalnum((unsigned char)ps->p[len]) || ps->p[len] == '_'))
		return false;
	ps->p += len;
	return true;
}

// An array of the arena with room for one item behind its n.
static void *room_for_one(struct arena *a, void *items, uint32_t n, size_t size)
{
	void *more = items;

	if ((n & (n - 1)) != 0)
		return items;
	more = arena_alloc(a, (n == 0 ? 1 : 2 * (size_t)n) * size);
	return n == 0 ? more : memcpy(more, items, n * size);
}

static struct expr *new_node(struct parser *ps, enum expr_op op, const char *where)
{
	struct expr *e = arena_alloc(ps->s->arena, sizeof(*e));

	e->op = (uint8_t)op;
	e->column = (uint32_t)(where - ps->text);
	e->number = 1;
	return e;
}

// ---- units

static const char *const unit_words[N_EXPR_UNITS] = {
	[EXPR_COUNT] = "a number", [EXPR_SHARE] = "a number", [EXPR_RATE] = "a rate",
	[EXPR_BYTES] = "bytes",	   [EXPR_TIME] = "a time",
};

static uint8_t plain(uint8_t unit)
{
	return unit == EXPR_SHARE ? EXPR_COUNT : unit;
}

// False: the units of a and b do not fit; `doing` names what cannot be done.
static bool alike(struct parser *ps, const struct expr *a, const struct expr *b, const char *doing)
{
	if (a->any_unit || b->any_unit || plain(a->unit) == plain(b->unit))
		return true;
	report_first_mistake(ps, ps->text + b->column, "%s cannot be %s %s", unit_words[b->unit],
			     doing, unit_words[a->unit]);
	return false;
}

// The unit of a product or a quotient, in e. All pairs that have no row here have no meaning.
static struct expr *product(struct parser *ps, struct expr *e)
{
	static const struct {
		uint8_t op, a, b, unit;
		double factor; // bits per second against bytes and nanoseconds
	} products[] = {
		{EX_MUL, EXPR_RATE, EXPR_TIME, EXPR_BYTES, 1 / 8e9},
		{EX_MUL, EXPR_TIME, EXPR_RATE, EXPR_BYTES, 1 / 8e9},
		{EX_DIV, EXPR_BYTES, EXPR_TIME, EXPR_RATE, 8e9},
		{EX_DIV, EXPR_BYTES, EXPR_RATE, EXPR_TIME, 8e9},
		{EX_DIV, EXPR_RATE, EXPR_RATE, EXPR_COUNT, 1},
		{EX_DIV, EXPR_BYTES, EXPR_BYTES, EXPR_COUNT, 1},
		{EX_DIV, EXPR_TIME, EXPR_TIME, EXPR_COUNT, 1},
	};
	uint8_t a = plain(e->kid[0]->unit), b = plain(e->kid[1]->unit);

	if (e->op == EX_MUL && a == EXPR_COUNT) {
		e->unit = b == EXPR_COUNT ? EXPR_COUNT : e->kid[1]->unit;
		return e;
	}
	if (b == EXPR_COUNT) {
		e->unit = e->kid[0]->unit;
		return e;
	}
	for (unsigned i = 0; i < N(products); i++)
		if (products[i].op == e->op && products[i].a == a && products[i].b == b) {
			e->unit = products[i].unit;
			e->number = products[i].factor;
			return e;
		}
	return report_first_mistake(ps, ps->text + e->kid[1]->column,
				    "%s %s %s has no meaning here", unit_words[a],
				    e->op == EX_MUL ? "times" : "divided by", unit_words[b]);
}

// ---- objects

// A text taken apart: name, port and class, each a pattern.
struct parts {
	const char *node; // of host, flow or switch
	const char *port; // "3" of p3; NULL: none given
	const char *cls; // NULL: none given
	const char *conn; // behind '/', NULL: none
};

struct selection {
	struct expr_set *s;
	uint16_t kinds; // wanted
	uint16_t found; // kinds that the text names, wanted or not
	struct expr_object *objects;
	uint32_t n;
};

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*[") != NULL;
}

// A whole number from 1, without a unit.
static bool read_whole(const char *word, uint32_t *out)
{
	uint32_t v = 0;

	for (; isdigit((unsigned char)*word) && v < MAX_WHOLE; word++)
		v = v * 10 + (uint32_t)(*word - '0');
	if (*word != '\0' || v == 0)
		return false;
	*out = v;
	return true;
}

static void select_object(struct selection *sel, struct expr_object o)
{
	sel->found |= (uint16_t)OBJ_BIT(o.kind);
	if (!(sel->kinds & OBJ_BIT(o.kind)) || sel->n == MAX_OBJECTS)
		return;
	sel->objects = room_for_one(sel->s->arena, sel->objects, sel->n, sizeof(o));
	sel->objects[sel->n++] = o;
}

// Adds a host or port, or those of its classes that are named.
static void select_object_classes(struct selection *sel, const struct parts *p,
				  struct expr_object o)
{
	const char *name = o.name;

	if (p->cls == NULL) {
		select_object(sel, o);
		return;
	}
	o.kind++; // OBJ_HOST_CLASS or OBJ_QUEUE
	for (int c = 0; c < N_CLS; c++) {
		char digit[2] = {(char)('0' + c), '\0'};

		if (!scenario_matches(p->cls, digit))
			continue;
		o.cls = (int8_t)c;
		o.name = arena_printf(sel->s->arena, "%s.%d", name, c);
		select_object(sel, o);
	}
}

// Adds HOST[.CLASS], FLOW[/CONNECTION] or SWITCH[.PORT[.CLASS]]. All connections of a flow (/*) are
// one object here, because their number is not known before the run makes them.
static void add_nodes(struct selection *sel, const struct parts *p, enum expr_object_kind kind)
{
	const struct expr_names *names = sel->s->names;
	const char *const *name = kind == OBJ_HOST   ? names->hosts
				  : kind == OBJ_FLOW ? names->flows
						     : names->switches;
	uint32_t n = kind == OBJ_HOST	? names->n_hosts
		     : kind == OBJ_FLOW ? names->n_flows
					: names->n_switches;
	uint32_t conn = 0; // from 1; 0: all

	if ((p->conn != NULL && kind != OBJ_FLOW) || (p->port != NULL && kind != OBJ_SWITCH) ||
	    (p->cls != NULL && kind != OBJ_HOST && p->port == NULL))
		return;
	if (p->conn != NULL && strcmp(p->conn, "*") != 0 && !read_whole(p->conn, &conn))
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct expr_object o = {
			.kind = (uint8_t)kind, .cls = ANY_CLASS, .node = i, .name = name[i]};

		if (!scenario_matches(p->node, name[i]))
			continue;
		if (p->conn != NULL) {
			o.kind = OBJ_CONN;
			o.conn = conn - 1;
			o.name = arena_printf(sel->s->arena, "%s/%s", name[i], p->conn);
		}
		if (p->port == NULL)
			select_object_classes(sel, p, o);
		for (uint32_t k = 0; p->port != NULL && k < names->n_ports[i]; k++) {
			char number[16];

			snprintf(number, sizeof(number), "%u", k + 1);
			if (!scenario_matches(p->port, number))
				continue;
			o.kind = OBJ_PORT;
			o.port = (uint16_t)k;
			o.name = arena_printf(sel->s->arena, "%s.p%s", name[i], number);
			select_object_classes(sel, p, o);
		}
	}
}

// Cuts "x.3" (port: "x.p3") at the last dot if what follows looks like a class or port; NULL: it
// does not.
static char *cut_tail(char *text, bool port)
{
	char *dot = strrchr(text, '.');
	const char *tail;

	if (dot == NULL || dot == text)
		return NULL;
	tail = dot + 1;
	if (port && *tail++ != 'p')
		return NULL;
	if (*tail == '\0' || strspn(tail, "0123456789*[]-,") != strlen(tail))
		return NULL;
	*dot = '\0';
	return dot + 1 + port;
}

// Reads the text as a whole name first, because names may have dots; then with a port and a class
// behind the name.
static void read_objects(struct selection *sel, char *text, uint16_t only)
{
	struct parts p = {.node = text};
	uint16_t all = sel->kinds;
	char *slash = strchr(text, '/');

	sel->kinds &= only;
	if (slash != NULL) {
		*slash = '\0';
		p.conn = slash + 1;
	}
	for (int step = 0; step < 3; step++) {
		add_nodes(sel, &p, OBJ_HOST);
		// A pattern means one kind of things, the first that it fits.
		if (sel->n == 0 || !is_pattern(text))
			add_nodes(sel, &p, OBJ_FLOW);
		if (sel->n == 0 || !is_pattern(text))
			add_nodes(sel, &p, OBJ_SWITCH);
		if (sel->n != 0)
			break;
		if (p.port == NULL && (p.port = cut_tail(text, true)) != NULL)
			continue;
		if (p.cls != NULL || p.port != NULL || (p.cls = cut_tail(text, false)) == NULL)
			break;
		p.port = cut_tail(text, true);
	}
	sel->kinds = all;
}

struct candidates {
	const struct expr_names *names;
	uint16_t kinds;
};

static const char *candidate(const void *ctx, unsigned i)
{
	const struct candidates *c = ctx;
	const struct expr_names *n = c->names;

	if (i < n->n_hosts)
		return c->kinds & OBJ_BIT(OBJ_HOST) ? n->hosts[i] : "";
	i -= n->n_hosts;
	if (i < n->n_flows)
		return c->kinds & OBJ_BIT(OBJ_FLOW) ? n->flows[i] : "";
	return n->switches[i - n->n_flows];
}

// "a host, a port or a queue"
static const char *wanted_kinds(struct arena *a, const struct expr_func *fn)
{
	const char *text = "", *between = "";

	for (int k = OBJ_QUEUE; k >= 0; k--)
		if (fn->kinds & OBJ_BIT(k)) {
			text = arena_printf(a, "a %s%s%s", expr_object_name[k], between, text);
			between = *between == '\0' ? " or " : ", ";
		}
	return text;
}

static const char *no_object(struct expr_set *s, const struct expr_func *fn, const char *text,
			     const struct selection *sel)
{
	const struct expr_names *names = s->names;
	const struct candidates c = {names, fn->kinds};
	const char *shown = schema_shown(s->arena, text), *wants = wanted_kinds(s->arena, fn);
	const char *near;
	char node[MAX_WORD];

	if (*wants == '\0')
		return arena_printf(s->arena, "%s is about the whole fabric and takes no names",
				    fn->name);
	if (sel->found != 0)
		return arena_printf(s->arena, "%s is a %s: %s wants %s", shown,
				    expr_object_name[__builtin_ctz(sel->found)], fn->name, wants);
	if (is_pattern(text))
		return arena_printf(s->arena, "nothing fits %s: %s wants %s", shown, fn->name,
				    wants);
	snprintf(node, sizeof(node), "%.*s", (int)strcspn(text, "./"), text);
	for (uint32_t i = 0; i < names->n_switches; i++)
		if (strcmp(node, names->switches[i]) == 0)
			return arena_printf(s->arena,
					    "%s does not exist: %s has the ports p1 to p%u, each "
					    "with the queues 0 to 7; several are %s.p[1-%u].[0-7]",
					    shown, node, names->n_ports[i], node,
					    names->n_ports[i]);
	near = schema_closest(node, names->n_hosts + names->n_flows + names->n_switches, candidate,
			      &c);
	if (near != NULL)
		return arena_printf(s->arena, "there is no %s: did you mean %s?", shown, near);
	return arena_printf(s->arena, "there is no %s: %s wants %s", shown, fn->name, wants);
}

bool expr_select(struct expr_set *s, const struct expr_func *fn, const char *text,
		 struct expr_leaf *leaf, const char **why)
{
	// A name in front of ':' says what kind is meant.
	static const struct {
		const char *prefix;
		uint16_t kinds;
	} prefixes[] = {
		{"host:", OBJ_BIT(OBJ_HOST)},
		{"flow:", OBJ_BIT(OBJ_FLOW) | OBJ_BIT(OBJ_CONN)},
		{"switch:", OBJ_BIT(OBJ_SWITCH) | OBJ_BIT(OBJ_PORT) | OBJ_BIT(OBJ_QUEUE)},
	};
	struct selection sel = {.s = s, .kinds = fn->kinds};
	uint16_t only = UINT16_MAX;
	char name[MAX_WORD];

	for (unsigned i = 0; i < N(prefixes) && only == UINT16_MAX; i++)
		if (strncmp(text, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0) {
			only = prefixes[i].kinds;
			text += strlen(prefixes[i].prefix);
		}
	if (strlen(text) >= sizeof(name)) {
		*why = "the name is too long";
		return false;
	}
	read_objects(&sel, strcpy(name, text), only);
	if (sel.n == 0) {
		*why = no_object(s, fn, text, &sel);
		return false;
	}
	for (uint32_t i = 1; i < sel.n && !is_pattern(text); i++)
		if (sel.objects[i].kind != sel.objects[0].kind) {
			const char *first = expr_object_name[sel.objects[0].kind];
			const char *other = expr_object_name[sel.objects[i].kind];

			*why = arena_printf(s->arena, "%s is a %s and a %s: write %s:%s or %s:%s",
					    text, first, other, first, text, other, text);
			return false;
		}
	leaf->objects = sel.objects;
	leaf->n_objects = sel.n;
	leaf->star = strchr(text, '*') != NULL;
	return true;
}

// ---- arguments of functions

// Word i of those that an argument may be; NULL: behind the last one.
static const char *choice_word(enum expr_takes takes, int i)
{
	static const char *const sources[N_PAIR_SOURCES] = {
		[PAIR_NONE] = "none", [PAIR_STATIC] = "static", [PAIR_CM] = "cm",
		[PAIR_READ] = "read", [PAIR_ACK] = "ack",	[PAIR_CNP] = "cnp"};
	static const char *const quadrants[N_QUADRANTS + 1] = {[IPCC_NONE] = "none",
							       [IPCC_FEW_GROWING] = "growing",
							       [IPCC_FEW_SHRINKING] = "shrinking",
							       [IPCC_MANY] = "many",
							       [N_QUADRANTS] = "muted"};

	switch (takes) {
	case TAKES_REASON:
		return i < N_DROP_REASONS ? drop_info[i].name : NULL;
	case TAKES_POOL:
		return i < N_POOLS ? pool_name[i] : NULL;
	case TAKES_SOURCE:
		return i < N_PAIR_SOURCES ? sources[i] : NULL;
	case TAKES_QUADRANT:
		return i <= N_QUADRANTS ? quadrants[i] : NULL;
	default:
		return NULL;
	}
}

static bool read_bytes(const char *word, struct expr_leaf *leaf, const char **why)
{
	enum expr_unit unit;
	const char *unused, *end;
	double v;

	(void)why;
	end = leaf->bytes == UINT64_MAX ? expr_number(word, &v, &unit, &unused) : NULL;
	if (end == NULL || *end != '\0' || (unit != EXPR_BYTES && v != 0))
		return false;
	leaf->bytes = (uint64_t)v;
	return true;
}

static bool read_stat(const char *word, struct expr_leaf *leaf, const char **why)
{
	(void)why;
	return expr_stat_parse(word, &leaf->stat);
}

static bool read_leaf_number(const char *word, struct expr_leaf *leaf, const char **why)
{
	(void)why;
	return read_whole(word, &leaf->number);
}

// "size < 100KB"
static bool read_size(const char *word, struct expr_leaf *leaf, const char **why)
{
	static const struct {
		const char *op;
		bool upper;
		int off;
	} ops[] = {{"<=", true, 0}, {">=", false, 0}, {"<", true, -1}, {">", false, 1}};
	const char *s = word + strlen("size");
	enum expr_unit unit;
	double v;

	if (strncmp(word, "size", strlen("size")) != 0)
		return false;
	*why = "expected size < 100KB, or >, <=, >=";
	s += strspn(s, " ");
	for (unsigned i = 0; i < N(ops); i++) {
		const char *end = s + strlen(ops[i].op);

		if (strncmp(s, ops[i].op, strlen(ops[i].op)) != 0)
			continue;
		end = expr_number(end + strspn(end, " "), &v, &unit, why);
		if (end == NULL || *end != '\0' || (unit != EXPR_BYTES && unit != EXPR_COUNT) ||
		    v + ops[i].off < 0 || v > 4e9)
			return false;
		*(ops[i].upper ? &leaf->size_max : &leaf->size_min) = (uint32_t)(v + ops[i].off);
		return true;
	}
	return false;
}

// The arguments behind the object. A function has those of its `takes`.
static const struct argument {
	enum expr_takes takes;
	bool leads; // may stand first, in place of the object
	// Reads the word. False with *why: the word is this argument, and wrong. NULL: the argument
	// is a word of choice_word().
	bool (*read)(const char *word, struct expr_leaf *leaf, const char **why);
	const char *hint; // what may stand there
} arguments[] = {
	{TAKES_BYTES, false, read_bytes, "a length such as 10KB, "},
	{TAKES_POOL, false, NULL, "ingress, headroom, egress_lossy or egress_lossless, "},
	{TAKES_STAT, true, read_stat, "mean, min, max, now, p50, p99, "},
	{TAKES_SIZE, false, read_size, "size < BYTES, "},
	{TAKES_REASON, true, NULL, "the reason of a drop as in counters.md, "},
	{TAKES_NUMBER, false, read_leaf_number, "a number from 1, "},
	{TAKES_SOURCE, true, NULL, "static, cm, read, ack, cnp, none, "},
	{TAKES_QUADRANT, true, NULL, "none, growing, shrinking, many, muted, "},
};

static bool read_argument(const struct argument *a, const char *word, struct expr_leaf *leaf,
			  const char **why)
{
	const char *choice;

	if (!(leaf->fn->takes & a->takes))
		return false;
	if (a->read != NULL)
		return a->read(word, leaf, why);
	for (int i = 0; (choice = choice_word(a->takes, i)) != NULL; i++)
		if (strcmp(word, choice) == 0) {
			leaf->choice = i;
			return true;
		}
	return false;
}

// The text up to the next ',' or ')' outside brackets, without spaces around it.
static const char *raw_argument(struct parser *ps, char word[MAX_WORD])
{
	const char *start, *end;
	bool inside = false;

	skip_space(ps);
	start = ps->p;
	for (; *ps->p != '\0' && (inside || (*ps->p != ',' && *ps->p != ')')); ps->p++)
		inside = *ps->p == '[' || (inside && *ps->p != ']');
	for (end = ps->p; end > start && isspace((unsigned char)end[-1]); end--)
		;
	snprintf(word, MAX_WORD, "%.*s", (int)(end - start), start);
	if (end - start >= MAX_WORD)
		report_first_mistake(ps, start, "this is too long");
	if (*ps->p == '\0')
		report_first_mistake(
			ps, ps->p,
			"expected , or ) behind the arguments; in a list of YAML a text with "
			"commas needs quotes");
	return start;
}

static bool read_time(struct parser *ps, const char *word, const char *where, uint64_t *ns)
{
	enum expr_unit unit;
	const char *why, *end;
	double v;

	end = expr_number(word, &v, &unit, &why);
	if (end == NULL)
		return report_first_mistake(ps, where, "%s", why) != NULL;
	if (*end != '\0' || (unit != EXPR_TIME && v != 0))
		return report_first_mistake(ps, where,
					    "a window is two times, such as 10ms, 20ms: %s is none",
					    word) != NULL;
	if (v > (double)ps->s->names->duration_ns)
		return report_first_mistake(ps, where, "%s is after the end of the run", word) !=
		       NULL;
	*ns = (uint64_t)v;
	return true;
}

// The window that begins with the time in `word`. Its end is behind the next comma.
static bool read_window(struct parser *ps, const char *word, const char *where,
			struct expr_leaf *leaf)
{
	char second[MAX_WORD];

	if (!read_time(ps, word, where, &leaf->from_ns))
		return false;
	if (!accept_token(ps, ","))
		return report_first_mistake(ps, where,
					    "a window is two times, such as 10ms, 20ms") != NULL;
	where = raw_argument(ps, second);
	if (!read_time(ps, second, where, &leaf->to_ns))
		return false;
	if (leaf->to_ns <= leaf->from_ns)
		return report_first_mistake(ps, where, "the window does not end after it begins") !=
		       NULL;
	leaf->windowed = true;
	return true;
}

// Reports why a text names no object. Says nothing if what names the objects has mistakes itself.
static bool not_selected(struct parser *ps, const char *where, const char *why)
{
	ps->failed |= ps->s->names->incomplete;
	return report_first_mistake(ps, where, "%s", why) != NULL;
}

static bool is_among(const struct expr_object *all, uint32_t n, const struct expr_object *o)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].kind == o->kind && all[i].node == o->node && all[i].port == o->port &&
		    all[i].cls == o->cls && all[i].conn == o->conn)
			return true;
	return false;
}

// A further object of a function that takes several. The second mention of an object adds none.
static bool more_objects(struct parser *ps, const char *word, const char *where,
			 struct expr_leaf *leaf)
{
	struct expr_leaf own = {0};
	struct expr_object *all;
	const char *why;

	if (!expr_select(ps->s, leaf->fn, word, &own, &why))
		return not_selected(ps, where, why);
	if (leaf->n_objects + own.n_objects > MAX_TOGETHER)
		return report_first_mistake(ps, where, "these are too many names") != NULL;
	all = arena_alloc(ps->s->arena, (leaf->n_objects + own.n_objects) * sizeof(*all));
	memcpy(all, leaf->objects, leaf->n_objects * sizeof(*all));
	leaf->objects = all;
	for (uint32_t i = 0; i < own.n_objects; i++)
		if (!is_among(all, leaf->n_objects, &own.objects[i]))
			all[leaf->n_objects++] = own.objects[i];
	return true;
}

// An argument behind the object. Behind the window a length may stand, and nothing else.
static bool option(struct parser *ps, struct expr_leaf *leaf)
{
	const struct expr_func *fn = leaf->fn;
	char word[MAX_WORD];
	const char *where = raw_argument(ps, word), *why = NULL, *hints = "";

	for (unsigned i = 0; i < N(arguments); i++)
		if ((!leaf->windowed || arguments[i].takes == TAKES_BYTES) &&
		    read_argument(&arguments[i], word, leaf, &why))
			return true;
	if (isdigit((unsigned char)word[0]))
		return read_window(ps, word, where, leaf);
	if (leaf->windowed)
		return report_first_mistake(ps, where, "the window is the last of all arguments") !=
		       NULL;
	if (why != NULL)
		return report_first_mistake(ps, where, "%s", why) != NULL;
	if (fn->takes & TAKES_MORE)
		return more_objects(ps, word, where, leaf);
	for (unsigned i = 0; i < N(arguments); i++)
		if (fn->takes & arguments[i].takes)
			hints = arena_printf(ps->s->arena, "%s%s", hints, arguments[i].hint);
	return report_first_mistake(ps, where,
				    "%s means nothing to %s: it takes %s%sa window of two times",
				    word, fn->name, hints, fn->takes != 0 ? "and " : "") != NULL;
}

// Nothing is named: all hosts or all switches, for a function that knows what that is.
static bool everything(struct parser *ps, struct expr_leaf *leaf, const char *where)
{
	struct expr_object *o = arena_alloc(ps->s->arena, sizeof(*o));
	bool switches = (leaf->fn->kinds & OBJ_BIT(OBJ_ALL_SWITCHES)) != 0;

	if (!switches && !(leaf->fn->kinds & OBJ_BIT(OBJ_ALL_HOSTS)))
		return report_first_mistake(ps, where, "%s needs to know of what: %s(%s)",
					    leaf->fn->name, leaf->fn->name, leaf->fn->args) != NULL;
	*o = (struct expr_object){.kind = switches ? OBJ_ALL_SWITCHES : OBJ_ALL_HOSTS,
				  .cls = ANY_CLASS,
				  .name = "all"};
	leaf->objects = o;
	leaf->n_objects = 1;
	return true;
}

// The first argument names objects, unless it can only be another argument.
static bool first_argument(struct parser *ps, struct expr_leaf *leaf)
{
	struct expr_leaf unused = *leaf;
	char word[MAX_WORD];
	const char *where = raw_argument(ps, word), *why;
	bool other = word[0] == '\0' || isdigit((unsigned char)word[0]) ||
		     strncmp(word, "size ", 5) == 0;

	if (ps->failed)
		return false;
	for (unsigned i = 0; i < N(arguments); i++)
		other |= arguments[i].leads && read_argument(&arguments[i], word, &unused, &why);
	if (!other)
		return expr_select(ps->s, leaf->fn, word, leaf, &why) ||
		       not_selected(ps, where, why);
	ps->p = where;
	return everything(ps, leaf, where) && (*where == ')' || option(ps, leaf));
}

static struct expr *leaf_call(struct parser *ps, const struct expr_func *fn, const char *where)
{
	struct expr *e = new_node(ps, EX_LEAF, where);
	struct expr_set *s = ps->s;
	struct expr_leaf *leaf;

	if (s->n_leaves == EXPR_MAX_LEAVES)
		return report_first_mistake(ps, where, "the scenario asks for too many numbers");
	leaf = arena_alloc(s->arena, sizeof(*leaf));
	*leaf = (struct expr_leaf){.fn = fn,
				   .to_ns = UINT64_MAX,
				   .choice = -1,
				   .size_max = UINT32_MAX,
				   .number = 1,
				   .bytes = UINT64_MAX};
	e->leaf = s->n_leaves;
	e->unit = fn->unit;
	s->leaves = room_for_one(s->arena, s->leaves, s->n_leaves, sizeof(struct expr_leaf *));
	s->leaves[s->n_leaves++] = leaf;
	if (!accept_token(ps, "("))
		return everything(ps, leaf, where) ? e : NULL;
	if (!first_argument(ps, leaf))
		return NULL;
	while (accept_token(ps, ","))
		if (!option(ps, leaf))
			return NULL;
	// A flow without a last message is never done.
	for (uint32_t i = 0; fn->ends && i < leaf->n_objects; i++)
		if (s->names->endless[leaf->objects[i].node])
			return report_first_mistake(
				ps, where,
				"%s is endless and never done: give the flow a `size`, and a "
				"`count` or a `stop`",
				leaf->objects[i].name);
	if (fn->takes & TAKES_BYTES && leaf->bytes == UINT64_MAX)
		return report_first_mistake(ps, ps->p, "above which length: %s(%s)", fn->name,
					    fn->args);
	if (fn->takes & TAKES_POOL && leaf->choice < 0)
		return report_first_mistake(
			ps, ps->p,
			"which pool: ingress, headroom, egress_lossy or egress_lossless");
	if (!accept_token(ps, ")"))
		return report_first_mistake(ps, ps->p, "expected , or ) in the arguments of %s",
					    fn->name);
	return e;
}

// ---- the tree

static struct expr *parse_sum(struct parser *ps);

// True when a time alone comes next: behind a list it begins a window.
static bool window_ahead(struct parser *ps)
{
	enum expr_unit unit;
	const char *why, *end;
	double v;

	skip_space(ps);
	if (!isdigit((unsigned char)*ps->p))
		return false;
	end = expr_number(ps->p, &v, &unit, &why);
	return end != NULL && (unit == EXPR_TIME || v == 0) && end[strspn(end, " ")] == ',';
}

static struct expr *list_call(struct parser *ps, const struct expr_func *fn, const char *where)
{
	struct expr *e = new_node(ps, EX_LIST, where), *last = NULL;
	uint32_t first_leaf = ps->s->n_leaves;
	struct expr_leaf w = {0};

	e->list = fn->list;
	if (!accept_token(ps, "("))
		return report_first_mistake(ps, ps->p, "%s needs a list: %s(rate(h*))", fn->name,
					    fn->name);
	do {
		struct expr *kid;

		if (last != NULL && window_ahead(ps)) {
			char word[MAX_WORD];
			const char *at = raw_argument(ps, word);

			if (!read_window(ps, word, at, &w))
				return NULL;
			break;
		}
		kid = parse_sum(ps);
		if (kid == NULL || (last != NULL && !alike(ps, e->kid[0], kid, "listed with")))
			return NULL;
		if (last == NULL)
			e->kid[0] = kid;
		else
			last->next = kid;
		last = kid;
	} while (accept_token(ps, ","));
	if (!accept_token(ps, ")"))
		return report_first_mistake(ps, ps->p, "expected , or ) in the arguments of %s",
					    fn->name);
	// The window of a list is that of each function inside that has none.
	for (uint32_t i = first_leaf; w.windowed && i < ps->s->n_leaves; i++) {
		struct expr_leaf *leaf = ps->s->leaves[i];

		if (leaf->windowed)
			continue;
		leaf->windowed = true;
		leaf->from_ns = w.from_ns;
		leaf->to_ns = w.to_ns;
	}
	e->unit = fn->unit == EXPR_AS_LIST ? e->kid[0]->unit : fn->unit;
	return e;
}

static struct expr *parse_call(struct parser *ps)
{
	const char *where = ps->p;
	const struct expr_func *fn;
	size_t len = 0;

	while (isalnum((unsigned char)where[len]) || where[len] == '_')
		len++;
	fn = expr_func_find(where, (uint32_t)len);
	if (fn == NULL) {
		const char *name =
			arena_text(ps->s->arena, where, len < MAX_WORD ? len : MAX_WORD - 1);
		const char *near = expr_func_closest(name);

		return report_first_mistake(ps, where, "there is no function %s%s%s%s", name,
					    near == NULL ? "" : ": did you mean ",
					    near == NULL ? "" : near,
					    near == NULL ? "; see weir-lab help functions" : "?");
	}
	ps->p += len;
	return fn->method == BY_LIST ? list_call(ps, fn, where) : leaf_call(ps, fn, where);
}

static struct expr *parse_factor(struct parser *ps)
{
	struct expr *e;
	const char *where, *end, *why;

	skip_space(ps);
	where = ps->p;
	if (isdigit((unsigned char)*where)) {
		enum expr_unit unit;

		e = new_node(ps, EX_NUMBER, where);
		end = expr_number(where, &e->number, &unit, &why);
		if (end == NULL)
			return report_first_mistake(ps, where, "%s", why);
		ps->p = end;
		e->unit = (uint8_t)unit;
		e->any_unit = unit == EXPR_COUNT && e->number == 0;
		return e;
	}
	if (isalpha((unsigned char)*where))
		return parse_call(ps);
	if (*where != '(' && *where != '-')
		return report_first_mistake(ps, where,
					    *where == '\0' ? "the expression ends too early"
							   : "expected a number, a function or (");
	if (++ps->depth > MAX_DEPTH)
		return report_first_mistake(ps, where, "too many parentheses");
	ps->p++;
	if (*where == '(') {
		e = parse_sum(ps);
		if (e != NULL && !accept_token(ps, ")"))
			return report_first_mistake(ps, ps->p, "expected )");
	} else {
		const struct expr *kid = parse_factor(ps);

		if (kid == NULL)
			return NULL;
		e = new_node(ps, EX_NEG, where);
		e->kid[0] = kid;
		e->unit = kid->unit;
		e->any_unit = kid->any_unit;
	}
	ps->depth--;
	return e;
}

// Operators that bind at least as strongly as `least`, from the left.
static struct expr *parse_operators(struct parser *ps, unsigned least)
{
	static const struct {
		const char *token;
		uint8_t op, strength;
		const char *doing; // of operands that have one unit
	} ops[] = {{"*", EX_MUL, 2, NULL},
		   {"/", EX_DIV, 2, NULL},
		   {"+", EX_ADD, 1, "added to"},
		   {"-", EX_SUB, 1, "taken from"}};
	struct expr *a = parse_factor(ps), *b, *e;

	for (unsigned i = 0; a != NULL && i < N(ops);) {
		if (ops[i].strength < least || !accept_token(ps, ops[i].token)) {
			i++;
			continue;
		}
		b = parse_operators(ps, ops[i].strength + 1u);
		if (b == NULL || (ops[i].doing != NULL && !alike(ps, a, b, ops[i].doing)))
			return NULL;
		e = new_node(ps, ops[i].op, ps->text + a->column);
		e->kid[0] = a;
		e->kid[1] = b;
		// A bare zero and a plain number take the unit of the other operand.
		e->unit =
			a->any_unit || (a->unit == EXPR_COUNT && !b->any_unit) ? b->unit : a->unit;
		a = ops[i].doing == NULL ? product(ps, e) : e;
		i = 0;
	}
	return a;
}

static struct expr *parse_sum(struct parser *ps)
{
	return parse_operators(ps, 1);
}

static struct expr *parse_check(struct parser *ps)
{
	static const struct {
		const char *token;
		uint8_t op;
		const char *then, *example; // of those with a third operand
	} ops[] = {{"within", EX_WITHIN, "of", "within 5% of 20G"},
		   {"between", EX_BETWEEN, "and", "between 10us and 20us"},
		   {"==", EX_EQ, NULL, NULL},
		   {"!=", EX_NE, NULL, NULL},
		   {"<=", EX_LE, NULL, NULL},
		   {">=", EX_GE, NULL, NULL},
		   {"<", EX_LT, NULL, NULL},
		   {">", EX_GT, NULL, NULL}};
	struct expr *a = parse_sum(ps), *b, *c, *e;
	unsigned i = 0;

	if (a == NULL)
		return NULL;
	while (i < N(ops) && !accept_token(ps, ops[i].token))
		i++;
	if (i == N(ops))
		return report_first_mistake(
			ps, ps->p,
			"expected a comparison: == != < <= > >=, within .. of, between .. and");
	b = parse_sum(ps);
	if (b == NULL || (ops[i].op != EX_WITHIN && !alike(ps, a, b, "compared with")))
		return NULL;
	e = new_node(ps, ops[i].op, ps->text + a->column);
	e->kid[0] = a;
	e->kid[1] = b;
	if (ops[i].then == NULL)
		return e;
	if (!accept_token(ps, ops[i].then))
		return report_first_mistake(ps, ps->p, "expected `%s`, as in: %s", ops[i].then,
					    ops[i].example);
	e->kid[2] = c = parse_sum(ps);
	if (c == NULL || !alike(ps, a, c, "compared with"))
		return NULL;
	e->relative = e->op == EX_WITHIN && b->op == EX_NUMBER && b->unit == EXPR_SHARE;
	if (e->op == EX_WITHIN && !e->relative && !alike(ps, c, b, "a tolerance of"))
		return NULL;
	return e;
}

const struct expr *expr_parse(struct expr_set *s, const char *text, struct cfg_pos at,
			      const char *path, enum expr_want want)
{
	struct parser ps = {.s = s, .at = at, .path = path, .text = text, .p = text};
	uint32_t first = s->n_leaves;
	struct expr *e;

	if (strlen(text) > EXPR_MAX_TEXT)
		return report_first_mistake(&ps, text, "longer than %d characters", EXPR_MAX_TEXT);
	e = want == EXPR_CHECK ? parse_check(&ps) : parse_sum(&ps);
	if (e == NULL)
		return NULL;
	skip_space(&ps);
	if (*ps.p != '\0' && want == EXPR_VALUE && strchr("=<>", *ps.p) != NULL)
		return report_first_mistake(&ps, ps.p, "what is recorded has no comparison");
	if (*ps.p != '\0')
		return report_first_mistake(&ps, ps.p, "expected the end of the expression");
	e->first_leaf = first;
	e->n_leaves = s->n_leaves - first;
	return e;
}
