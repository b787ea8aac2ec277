// SPDX-License-Identifier: Apache-2.0
#include "control/base/node.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

// A map or list that is being read.
struct open_node {
	struct node *node;
	struct node *last;
	struct node *key; // of a map: the key whose value comes next
};

struct reader {
	struct arena *arena;
	struct diag_sink *sink;
	struct open_node open[NODE_MAX_DEPTH];
	unsigned depth, n_nodes;
	struct node *root;
	bool done; // the document has ended
};

static struct cfg_pos pos_of(yaml_mark_t m)
{
	return (struct cfg_pos){(uint32_t)m.line + 1, (uint32_t)m.column + 1};
}

static const char *document(const struct diag_sink *s)
{
	return s->document != NULL ? s->document : "policy";
}

// A mistake of the file that ends reading.
#define REFUSE_AT(r, at, ...) (diag_add((r)->sink, DIAG_ERROR, at, "YAML", __VA_ARGS__), false)

// Puts a finished or opened node where it belongs: root, key, value or list item.
static bool attach_node(struct reader *r, struct node *n, yaml_mark_t at)
{
	struct open_node *o;

	if (++r->n_nodes > NODE_MAX_NODES)
		return REFUSE_AT(r, pos_of(at), "the file holds more values than any %s needs",
				 document(r->sink));
	if (r->depth == 0) {
		r->root = n;
		return true;
	}
	o = &r->open[r->depth - 1];
	if (o->node->kind == NODE_MAP && o->key == NULL) {
		if (n->kind != NODE_SCALAR)
			return REFUSE_AT(r, pos_of(at),
					 "a key must be a plain word, not a map or a list");
		o->key = n;
		return true;
	}
	n->key = o->key;
	o->key = NULL;
	if (o->last == NULL)
		o->node->first = n;
	else
		o->last->next = n;
	o->last = n;
	o->node->n++;
	return true;
}

static struct node *node_new(struct reader *r, enum node_kind kind, const yaml_event_t *e)
{
	struct node *n = arena_alloc(r->arena, sizeof(*n));

	n->kind = kind;
	n->at = pos_of(e->start_mark);
	return n;
}

static bool on_scalar(struct reader *r, const yaml_event_t *e)
{
	struct node *n = node_new(r, NODE_SCALAR, e);
	const char *text = (const char *)e->data.scalar.value;

	if (memchr(text, '\0', e->data.scalar.length) != NULL)
		return REFUSE_AT(r, n->at, "a value holds a NUL character");
	n->text = arena_text(r->arena, text, e->data.scalar.length);
	return attach_node(r, n, e->start_mark);
}

static bool on_open(struct reader *r, const yaml_event_t *e, enum node_kind kind)
{
	struct node *n = node_new(r, kind, e);

	if (r->depth == NODE_MAX_DEPTH)
		return REFUSE_AT(r, n->at, "maps and lists are nested too deeply");
	if (!attach_node(r, n, e->start_mark))
		return false;
	r->open[r->depth++] = (struct open_node){.node = n};
	return true;
}

static bool has_extras(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL;
	default:
		return false;
	}
}

static bool on_event(struct reader *r, const yaml_event_t *e)
{
	if (has_extras(e))
		return REFUSE_AT(
			r, pos_of(e->start_mark),
			"anchors (&), aliases (*) and tags (!) are not supported" CURE
			"write the value out, in quotes if it begins with such a character");
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return !r->done ||
		       REFUSE_AT(r, pos_of(e->start_mark),
				 "a %s is one document" CURE "remove what follows '---'",
				 document(r->sink));
	case YAML_SCALAR_EVENT:
		return on_scalar(r, e);
	case YAML_MAPPING_START_EVENT:
		return on_open(r, e, NODE_MAP);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(r, e, NODE_LIST);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		r->depth--;
		return true;
	case YAML_DOCUMENT_END_EVENT:
	case YAML_STREAM_END_EVENT:
		r->done = true;
		return true;
	default:
		return true;
	}
}

// The reader below libyaml's scanner reports a byte offset only.
static struct cfg_pos pos_at_offset(const char *text, size_t len, size_t offset)
{
	struct cfg_pos p = {1, 1};

	for (size_t i = 0; i < offset && i < len; i++) {
		p.column++;
		if (text[i] == '\n')
			p = (struct cfg_pos){p.line + 1, 1};
	}
	return p;
}

// The first tab that indents a line, or a column of 0.
static struct cfg_pos indenting_tab(const char *text, size_t len, uint32_t line)
{
	struct cfg_pos p = {1, 1};
	bool indent = true;

	for (size_t i = 0; i < len && p.line <= line; i++, p.column++) {
		if (text[i] == '\n') {
			p = (struct cfg_pos){p.line + 1, 0};
			indent = true;
		} else if (p.line == line && indent && text[i] == '\t') {
			return p;
		} else if (text[i] != ' ' && text[i] != '-') {
			indent = false;
		}
	}
	return (struct cfg_pos){0, 0};
}

// Returns false.
static bool report_syntax(struct reader *r, const yaml_parser_t *p, const char *text, size_t len)
{
	const char *problem = p->problem == NULL ? "not readable" : p->problem;
	const char *context = p->context == NULL ? "" : p->context;
	struct cfg_pos at = pos_of(p->problem_mark), tab = indenting_tab(text, len, at.line);
	// The parser names the place of the bracket that is open where the problem is.
	struct cfg_pos open = pos_of(p->context_mark);
	bool map = strcmp(context, "while parsing a flow mapping") == 0;

	if (p->error == YAML_READER_ERROR)
		return REFUSE_AT(r, pos_at_offset(text, len, p->problem_offset),
				 "%s: the file must be UTF-8 text", problem);
	if (tab.line != 0)
		return REFUSE_AT(r, tab, "tabs are not allowed" CURE "indent with spaces");
	if (map || strcmp(context, "while parsing a flow sequence") == 0)
		return REFUSE_AT(r, at,
				 "the %c of %u:%u is not closed, or a comma is missing here" CURE
				 "close it with %c",
				 map ? '{' : '[', open.line, open.column, map ? '}' : ']');
	return REFUSE_AT(r, at, "%s%s%s", problem, *context != '\0' ? ", " : "", context);
}

static bool read_events(struct reader *r, yaml_parser_t *p, const char *text, size_t len)
{
	for (;;) {
		yaml_event_t e;
		bool ok, end;

		if (!yaml_parser_parse(p, &e))
			return report_syntax(r, p, text, len);
		end = e.type == YAML_STREAM_END_EVENT;
		ok = on_event(r, &e);
		yaml_event_delete(&e);
		if (!ok || end)
			return ok;
	}
}

struct node *node_parse(struct arena *a, const char *text, size_t len, struct diag_sink *s)
{
	const struct cfg_pos start = {1, 1};
	struct reader r = {.arena = a, .sink = s};
	yaml_parser_t p;
	bool ok;

	if (len > NODE_MAX_BYTES) {
		diag_add(s, DIAG_ERROR, start, "YAML",
			 "the file is larger than 4 MiB: this is no %s", document(s));
		return NULL;
	}
	if (!yaml_parser_initialize(&p)) {
		diag_add(s, DIAG_ERROR, start, "YAML", "out of memory");
		return NULL;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	ok = read_events(&r, &p, text, len);
	yaml_parser_delete(&p);
	if (ok && r.root == NULL)
		diag_add(s, DIAG_ERROR, start, "YAML",
			 "the file is empty: a %s needs at least `%s`", document(s),
			 s->document != NULL ? s->document : "ports");
	return ok ? r.root : NULL;
}

struct node *node_child(const struct node *map, const char *key)
{
	for (struct node *v = map->first; v != NULL; v = v->next)
		if (strcmp(v->key->text, key) == 0)
			return v;
	return NULL;
}
