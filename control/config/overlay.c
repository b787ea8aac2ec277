// SPDX-License-Identifier: Apache-2.0
// A policy file as the lab runs it. The overlay is merged node by node before the schema reads the
// tree, so every rule and every message is that of a file with these keys.
//
// The file is read twice: first with its own ports, so that its mistakes are reported as the daemon
// reports them, then with the ports of the lab.
#include "control/config/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/model.h"

// ---- trees
static void append(struct node *parent, struct node *n)
{
	struct node **end = &parent->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = n;
	n->next = NULL;
	parent->n++;
}

// file: of a node that has none; NULL: keeps none.
static struct node *copied(struct arena *a, const struct node *n, const char *file)
{
	struct node *c = arena_alloc(a, sizeof(*c)), **end = &c->first;

	*c = *n;
	c->first = NULL;
	c->next = NULL;
	if (c->at.file == NULL)
		c->at.file = file;
	if (n->text != NULL)
		c->text = arena_text(a, n->text, strlen(n->text));
	if (n->key != NULL)
		c->key = copied(a, n->key, file);
	for (const struct node *v = n->first; v != NULL; v = v->next, end = &(*end)->next)
		*end = copied(a, v, file);
	return c;
}

static void drop_child(struct node *map, const struct node *n)
{
	struct node **at = &map->first;

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	map->n--;
}

static void put_one(struct arena *a, struct node *base, const struct node *over, const char *file)
{
	struct node *old = node_child(base, over->key->text), *next;

	if (over->kind == NODE_SCALAR &&
	    (strcmp(over->text, "~") == 0 || strcmp(over->text, "null") == 0)) {
		if (old != NULL)
			drop_child(base, old);
		return;
	}
	if (old == NULL) {
		append(base, copied(a, over, file));
	} else if (old->kind == NODE_MAP && over->kind == NODE_MAP) {
		overlay_merge(a, old, over, file);
	} else {
		next = old->next;
		*old = *copied(a, over, file);
		old->next = next;
	}
}

// ---- ranges as keys
// The numbers of a key such as 3, 0-7 or "3,5". False: the key is a name.
static bool numbers_of(const struct node *n, struct cfg_set *out)
{
	const char *why;

	*out = (struct cfg_set){.n = 0};
	return schema_parse_ranges(n->key->text, 0, CFG_SET_BITS - 1, out, &why);
}

static bool overlap(const struct cfg_set *a, const struct cfg_set *b)
{
	for (unsigned i = 0; i < CFG_SET_BITS / 64; i++)
		if ((a->bits[i] & b->bits[i]) != 0)
			return true;
	return false;
}

static struct node *of_number(struct arena *a, const struct node *n, unsigned i)
{
	struct node *one = copied(a, n, NULL);

	one->key->text = arena_printf(a, "%u", i);
	return one;
}

// Where a key of the map and `keys` share numbers and differ: each number becomes a key of its own.
// Returns whether there is such a key.
static bool part_keys(struct arena *a, struct node *base, const struct node *over,
		      const struct cfg_set *keys)
{
	bool any = false;
	struct cfg_set own;

	for (struct node *v = base->first, *next; v != NULL; v = next) {
		next = v->next;
		if (strcmp(v->key->text, over->key->text) == 0 || !numbers_of(v, &own) ||
		    !overlap(&own, keys))
			continue;
		any = true;
		if (own.n == 1)
			continue;
		drop_child(base, v);
		for (unsigned i = 0; i < CFG_SET_BITS; i++)
			if (cfg_set_has(&own, i))
				append(base, of_number(a, v, i));
	}
	return any;
}

// `classes: {0-7: X}` over `classes: {3: Y}`: X over Y for class 3, and X alone for the others.
static void put_child(struct arena *a, struct node *base, const struct node *over, const char *file)
{
	struct cfg_set keys;

	if (!numbers_of(over, &keys) || !part_keys(a, base, over, &keys)) {
		put_one(a, base, over, file);
		return;
	}
	for (unsigned i = 0; i < CFG_SET_BITS; i++)
		if (cfg_set_has(&keys, i))
			put_one(a, base, of_number(a, over, i), file);
}

void overlay_merge(struct arena *a, struct node *base, const struct node *over, const char *file)
{
	for (const struct node *v = over->first; v != NULL; v = v->next)
		put_child(a, base, v, file);
}

// ---- ports
// The value under a key of a map; made, as a node of that kind, where there is none.
static struct node *child_made(struct arena *a, struct node *map, const char *key,
			       enum node_kind kind)
{
	struct node *v = node_child(map, key);

	if (v == NULL) {
		v = arena_alloc(a, sizeof(*v));
		*v = (struct node){.kind = kind, .at = map->at};
		v->key = arena_alloc(a, sizeof(*v->key));
		*v->key = (struct node){.kind = NODE_SCALAR, .at = map->at, .text = key};
		append(map, v);
	}
	return v;
}

static void put_scalar(struct arena *a, struct node *map, const char *key, const char *text)
{
	struct node *v = child_made(a, map, key, NODE_SCALAR);

	v->kind = NODE_SCALAR;
	v->text = text;
	v->first = NULL;
	v->n = 0;
}

static bool names_port(const struct node *item, const char *name)
{
	const struct node *n = item->kind == NODE_MAP ? node_child(item, "name") : NULL;
	struct expansion names;
	const char *why;

	if (n == NULL || n->kind != NODE_SCALAR || !expand(n->text, &names, &why))
		return false;
	for (unsigned i = 0; i < names.n; i++)
		if (strcmp(names.items[i], name) == 0)
			return true;
	return false;
}

// The item of the file's list whose settings a port of that name takes.
static const struct node *template_of(const struct node *ports, const char *name)
{
	const struct node *last = NULL;

	for (const struct node *v = ports->first; v != NULL; last = v, v = v->next)
		if (names_port(v, name))
			return v;
	return last;
}

static void drop_key(struct node *map, const char *key)
{
	const struct node *n = node_child(map, key);

	if (n != NULL)
		drop_child(map, n);
}

static struct node *lab_port(struct arena *a, const struct node *ports, unsigned i,
			     const struct config_overlay *o)
{
	const struct config_overlay_port *p = &o->ports[i];
	const char *name = arena_printf(a, "p%u", i + 1);
	struct node *n = copied(a, template_of(ports, name), NULL);

	n->key = NULL;
	put_scalar(a, n, "name", name);
	put_scalar(a, n, "device", arena_printf(a, "wire:%s", name));
	put_scalar(a, n, "speed", arena_printf(a, "%" PRIu64 "bps", p->speed_bps));
	drop_key(n, "ip");
	drop_key(n, "optional");
	if (p->profile != NULL)
		put_child(a, n, p->profile, o->file);
	put_scalar(a, n, "cable",
		   arena_printf(a, "%" PRIu64 ".%02um", p->cable_cm / 100,
				(unsigned)(p->cable_cm % 100)));
	return n;
}

static void replace_ports(struct arena *a, struct node *root, const struct config_overlay *o)
{
	static const char *const replaced[] = {"fdb", "routes", "neighbours"};
	struct node *ports = node_child(root, "ports"),
		    *sw = child_made(a, root, "switch", NODE_MAP);
	struct node lab = {
		.kind = NODE_LIST, .at = ports->at, .key = ports->key, .next = ports->next};

	for (unsigned i = 0; i < o->n_ports; i++)
		append(&lab, lab_port(a, ports, i, o));
	*ports = lab;
	for (unsigned i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		drop_key(root, replaced[i]);
	put_scalar(a, sw, "name", o->switch_name);
	put_scalar(a, child_made(a, sw, "ecmp", NODE_MAP), "seed",
		   arena_printf(a, "%" PRIu32, o->ecmp_seed));
	drop_key(sw, "time_scale"); // virtual time needs none
}

// The device of a port is the live switch's: a port may do without in the lab.
static void default_devices(struct arena *a, struct node *root)
{
	struct node *ports = node_child(root, "ports");

	for (struct node *v = ports == NULL ? NULL : ports->first; v != NULL; v = v->next) {
		const struct node *name = v->kind == NODE_MAP ? node_child(v, "name") : NULL;

		if (name != NULL && name->kind == NODE_SCALAR && node_child(v, "device") == NULL)
			put_scalar(a, v, "device", arena_printf(a, "wire:%s", name->text));
	}
}

// ---- the two readings
static int read_once(const char *path, const char *text, size_t len, const struct config_overlay *o,
		     bool lab_ports, struct config **out, struct diags *d)
{
	struct config *c = config_new(path);
	struct diag_sink s = {.file = c->file};
	struct node *root = node_parse(&c->arena, text, len, &s);
	const char *file = arena_text(&c->arena, o->file, strlen(o->file));

	if (root != NULL && root->kind == NODE_MAP) {
		struct node *sw = node_child(root, "switch");

		// The file's number of workers is that of the machine where it runs live.
		if (sw != NULL && sw->kind == NODE_MAP && node_child(sw, "workers") != NULL)
			put_scalar(&c->arena, sw, "workers", "1");
		if (lab_ports)
			drop_key(root, "pairs"); // of that machine's hosts
		for (unsigned i = 0; i < o->n_maps; i++)
			overlay_merge(&c->arena, root, o->maps[i], file);
		default_devices(&c->arena, root);
		if (lab_ports)
			replace_ports(&c->arena, root, o);
	}
	return config_read_tree(c, root, &s, out, d);
}

int config_load_overlay(const char *path, const struct config_overlay *o, struct config **out,
			struct diags *d)
{
	struct config *own = NULL;
	char *text = NULL;
	size_t len = 0;
	int err = config_read(path, &text, &len, d);

	if (err != 0)
		return err;
	err = read_once(path, text, len, o, false, &own, d);
	config_destroy(own);
	if (err == 0)
		err = read_once(path, text, len, o, true, out, d);
	free(text);
	return err;
}
