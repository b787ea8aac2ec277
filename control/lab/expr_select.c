// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "control/config/schema.h"
#include "control/lab/expr.h"
#include "control/lab/scenario.h"

enum { ANY = -1, N_CLS = 8, MAX_OBJECTS = 65536, MAX_NAME = 256 };

// A text taken apart: name, port and class, each a pattern.
struct parts {
	const char *node; // of host, flow or switch
	const char *port; // "3" of p3; NULL: none given
	const char *cls; // NULL: none given
	const char *conn; // behind '/', NULL: none
	bool pattern;
};

struct selection {
	struct expr_set *s;
	uint16_t kinds; // wanted
	uint16_t found; // kinds that the text names, wanted or not
	struct expr_object *objects;
	uint32_t n, cap;
};

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*[") != NULL;
}

static void add(struct selection *sel, struct expr_object o)
{
	struct arena *a = sel->s->arena;

	sel->found |= (uint16_t)OBJ_BIT(o.kind);
	if (!(sel->kinds & OBJ_BIT(o.kind)) || sel->n == MAX_OBJECTS)
		return;
	if (sel->n == sel->cap) {
		uint32_t cap = sel->cap == 0 ? 8 : 2 * sel->cap;
		struct expr_object *more = arena_alloc(a, cap * sizeof(*more));

		if (sel->n != 0)
			memcpy(more, sel->objects, sel->n * sizeof(*more));
		sel->objects = more;
		sel->cap = cap;
	}
	sel->objects[sel->n++] = o;
}

static bool class_fits(const char *pattern, int cls)
{
	char digit[2] = {(char)('0' + cls), '\0'};

	return scenario_matches(pattern, digit);
}

static void add_hosts(struct selection *sel, const struct parts *p)
{
	const struct expr_names *names = sel->s->names;

	if (p->port != NULL || p->conn != NULL)
		return;
	for (uint32_t i = 0; i < names->n_hosts; i++) {
		if (!scenario_matches(p->node, names->hosts[i]))
			continue;
		if (p->cls == NULL)
			add(sel, (struct expr_object){.kind = OBJ_HOST,
						      .cls = ANY,
						      .node = i,
						      .name = names->hosts[i]});
		for (int c = 0; c < N_CLS && p->cls != NULL; c++)
			if (class_fits(p->cls, c))
				add(sel, (struct expr_object){
						 .kind = OBJ_HOST_CLASS,
						 .cls = (int8_t)c,
						 .node = i,
						 .name = arena_printf(sel->s->arena, "%s.%d",
								      names->hosts[i], c)});
	}
}

static uint32_t whole_number(const char *text)
{
	uint32_t v = 0;

	for (; isdigit((unsigned char)*text) && v < 100000000; text++)
		v = v * 10 + (uint32_t)(*text - '0');
	return *text == '\0' ? v : 0;
}

// All connections of a flow (name/*) are one object with conn UINT32_MAX, for how many they are is
// known when they have been made.
static void add_flows(struct selection *sel, const struct parts *p)
{
	const struct expr_names *names = sel->s->names;
	bool all = p->conn != NULL && strcmp(p->conn, "*") == 0;
	uint32_t number = p->conn != NULL && !all ? whole_number(p->conn) : 0;

	if (p->port != NULL || p->cls != NULL || (p->conn != NULL && !all && number == 0))
		return;
	for (uint32_t i = 0; i < names->n_flows; i++) {
		struct expr_object o = {
			.kind = OBJ_FLOW, .cls = ANY, .node = i, .name = names->flows[i]};

		if (!scenario_matches(p->node, names->flows[i]))
			continue;
		if (p->conn != NULL) {
			o.kind = OBJ_CONN;
			o.conn = all ? UINT32_MAX : number - 1;
			o.name = arena_printf(sel->s->arena, "%s/%s", o.name, p->conn);
		}
		add(sel, o);
	}
}

static void add_port(struct selection *sel, const struct parts *p, struct expr_object o)
{
	const char *sw = o.name;

	o.name = arena_printf(sel->s->arena, "%s.p%u", sw, o.port + 1u);
	if (p->cls == NULL) {
		add(sel, o);
		return;
	}
	o.kind = OBJ_QUEUE;
	for (int c = 0; c < N_CLS; c++) {
		if (!class_fits(p->cls, c))
			continue;
		o.cls = (int8_t)c;
		o.name = arena_printf(sel->s->arena, "%s.p%u.%d", sw, o.port + 1u, c);
		add(sel, o);
	}
}

static void add_switches(struct selection *sel, const struct parts *p)
{
	const struct expr_names *names = sel->s->names;
	struct expr_object o = {.kind = OBJ_SWITCH, .cls = ANY};
	char number[16];

	if (p->conn != NULL || (p->cls != NULL && p->port == NULL))
		return;
	for (o.node = 0; o.node < names->n_switches; o.node++) {
		if (!scenario_matches(p->node, names->switches[o.node]))
			continue;
		o.name = names->switches[o.node];
		o.kind = p->port == NULL ? OBJ_SWITCH : OBJ_PORT;
		if (p->port == NULL)
			add(sel, o);
		for (uint32_t i = 0; i < names->n_ports[o.node] && p->port != NULL; i++) {
			snprintf(number, sizeof(number), "%u", i + 1);
			o.port = (uint16_t)i;
			o.name = names->switches[o.node];
			if (scenario_matches(p->port, number))
				add_port(sel, p, o);
		}
	}
}

// Cuts "x.3" at the last dot outside brackets when what follows looks like a class (or, with
// `letter`, a port); NULL: there is none.
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

// The ways to read a text, the whole as a name first: names may have dots.
static void read_text(struct selection *sel, char *text, uint16_t only)
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
		add_hosts(sel, &p);
		// A pattern means one kind of things, the first that it fits.
		if (sel->n == 0 || !is_pattern(text))
			add_flows(sel, &p);
		if (sel->n == 0 || !is_pattern(text))
			add_switches(sel, &p);
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

// ---- mistakes

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
	i -= n->n_flows;
	return n->switches[i];
}

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

static const char *kind_named(uint16_t kinds)
{
	for (unsigned k = 0; k <= OBJ_QUEUE; k++)
		if (kinds & OBJ_BIT(k))
			return expr_object_name[k];
	return "nothing";
}

static const char *mistake(struct expr_set *s, const struct expr_func *fn, const char *text,
			   const struct selection *sel)
{
	struct candidates c = {s->names, fn->kinds};
	const char *shown = schema_shown(s->arena, text), *near;
	char node[MAX_NAME];

	if ((fn->kinds & (OBJ_BIT(OBJ_ALL_HOSTS) - 1)) == 0)
		return arena_printf(s->arena, "%s is about the whole fabric and takes no names",
				    fn->name);
	if (sel->found != 0)
		return arena_printf(s->arena, "%s is a %s: %s wants %s", shown,
				    kind_named(sel->found), fn->name, wanted_kinds(s->arena, fn));
	if (is_pattern(text))
		return arena_printf(s->arena, "nothing fits %s: %s wants %s", shown, fn->name,
				    wanted_kinds(s->arena, fn));
	snprintf(node, sizeof(node), "%.*s", (int)strcspn(text, "./"), text);
	for (uint32_t i = 0; i < s->names->n_switches; i++)
		if (strcmp(node, s->names->switches[i]) == 0)
			return arena_printf(s->arena,
					    "%s does not exist: %s has the ports p1 to p%u, each "
					    "with the queues 0 to 7; several are %s.p[1-%u].[0-7]",
					    shown, node, s->names->n_ports[i], node,
					    s->names->n_ports[i]);
	near = schema_closest(node, s->names->n_hosts + s->names->n_flows + s->names->n_switches,
			      candidate, &c);
	if (near != NULL)
		return arena_printf(s->arena, "there is no %s: did you mean %s?", shown, near);
	return arena_printf(s->arena, "there is no %s: %s wants %s", shown, fn->name,
			    wanted_kinds(s->arena, fn));
}

// A name in front of ':' says what kind is meant.
static const char *take_prefix(const char *text, uint16_t *only)
{
	static const struct {
		const char *prefix;
		uint16_t kinds;
	} rows[] = {
		{"host:", OBJ_BIT(OBJ_HOST)},
		{"flow:", OBJ_BIT(OBJ_FLOW) | OBJ_BIT(OBJ_CONN)},
		{"switch:", OBJ_BIT(OBJ_SWITCH) | OBJ_BIT(OBJ_PORT) | OBJ_BIT(OBJ_QUEUE)},
	};

	*only = UINT16_MAX;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(text, rows[i].prefix, strlen(rows[i].prefix)) == 0) {
			*only = rows[i].kinds;
			return text + strlen(rows[i].prefix);
		}
	return text;
}

bool expr_select(struct expr_set *s, const struct expr_func *fn, const char *text,
		 struct expr_leaf *leaf, const char **why)
{
	struct selection sel = {.s = s, .kinds = fn->kinds};
	uint16_t only;
	char name[MAX_NAME];

	text = take_prefix(text, &only);
	if (strlen(text) >= sizeof(name)) {
		*why = "the name is too long";
		return false;
	}
	read_text(&sel, strcpy(name, text), only);
	if (sel.n == 0) {
		*why = mistake(s, fn, text, &sel);
		return false;
	}
	for (uint32_t i = 1; i < sel.n && !is_pattern(text); i++)
		if (sel.objects[i].kind != sel.objects[0].kind) {
			*why = arena_printf(s->arena, "%s is a %s and a %s: write %s:%s or %s:%s",
					    text, expr_object_name[sel.objects[0].kind],
					    expr_object_name[sel.objects[i].kind],
					    expr_object_name[sel.objects[0].kind], text,
					    expr_object_name[sel.objects[i].kind], text);
			return false;
		}
	leaf->objects = sel.objects;
	leaf->n_objects = sel.n;
	leaf->star = strchr(text, '*') != NULL;
	return true;
}
