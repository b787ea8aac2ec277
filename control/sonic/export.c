// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/compile.h"
#include "control/sonic/export_impl.h"

enum { FIRST_ROOM = 64 };

// ---- rows

// The text of a value. An error, if the field can have only the values beside it. key: NULL if the
// row has no key yet.
static const char *exact_text(struct export *e, enum sonic_field f, const char *key, int64_t n,
			      char out[SONIC_TEXT_LEN])
{
	const struct sonic_field_info *info = &sonic_fields[f];
	const char *text = sonic_text(f, n, out), *why;
	int64_t back;

	if (sonic_parse(info, text, &back, &why) && back != n)
		sonic_say(e->r, SONIC_ERROR, info->table, key, info->field,
			  "the value of %s lies between %s and the next that CONFIG_DB can have",
			  info->key, text);
	return text;
}

void put(struct export *e, enum sonic_field f, const char *key, int64_t n)
{
	char text[SONIC_TEXT_LEN];

	sonic_set(e->out, sonic_fields[f].table, key, sonic_fields[f].field,
		  exact_text(e, f, key, n, text));
}

void put_text(struct export *e, enum sonic_field f, const char *key, const char *value)
{
	sonic_set(e->out, sonic_fields[f].table, key, sonic_fields[f].field, value);
}

const char *kept(const struct export *e, enum sonic_field f, const char *key)
{
	return sonic_get(&e->keep, sonic_fields[f].table, key, sonic_fields[f].field);
}

const char *hint(const struct export *e, enum sonic_field f, const char *key)
{
	return sonic_get(&e->name, sonic_fields[f].table, key, sonic_fields[f].field);
}

const char *mark_of(const struct export *e, const char *key, const char *mark)
{
	return sonic_get(&e->keep, SONIC_MARKS, key, mark);
}

int64_t bytes_of(struct export *e, const struct cfg_val *v)
{
	if (v->percent)
		sonic_say(e->r, SONIC_ERROR, NULL, NULL, NULL,
			  "%s: %s:%u: a share has no row in CONFIG_DB: write bytes", v->path,
			  e->file, v->at.line);
	return v->n;
}

// ---- objects with a name

static const char *object_field_value(const struct object *o, const char *field)
{
	for (unsigned i = 0; i < o->n; i++)
		if (strcmp(o->fields[i], field) == 0)
			return o->values[i];
	return NULL;
}

// Whether both can have one name.
static bool can_share_name(const struct object *a, const struct object *b)
{
	if (!a->merges && a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++) {
		const char *other = object_field_value(b, a->fields[i]);

		if (other == NULL ? !a->merges : strcmp(a->values[i], other) != 0)
			return false;
	}
	return true;
}

static void add_missing(struct object *to, const struct object *from)
{
	for (unsigned i = 0; i < from->n && to->n < OBJECT_FIELDS; i++)
		if (object_field_value(to, from->fields[i]) == NULL) {
			to->fields[to->n] = from->fields[i];
			to->values[to->n++] = from->values[i];
		}
}

static struct object *object_named(struct export *e, const char *table, const char *name)
{
	for (unsigned i = 0; i < e->n_objects; i++)
		if (strcmp(e->objects[i].table, table) == 0 &&
		    strcmp(e->objects[i].name, name) == 0)
			return &e->objects[i];
	return NULL;
}

void object_begin(struct object *o, enum sonic_field f)
{
	*o = (struct object){.table = sonic_fields[f].table};
}

void object_field(struct export *e, struct object *o, const char *field, const char *value)
{
	if (o->n == OBJECT_FIELDS)
		return;
	o->fields[o->n] = arena_text(&e->arena, field, strlen(field));
	o->values[o->n++] = arena_text(&e->arena, value, strlen(value));
}

void object_value(struct export *e, struct object *o, enum sonic_field f, int64_t n)
{
	char text[SONIC_TEXT_LEN];

	object_field(e, o, sonic_fields[f].field, exact_text(e, f, NULL, n, text));
}

const char *object_end(struct export *e, struct object *o, const char *wanted)
{
	struct object *found;

	o->name = wanted;
	for (unsigned n = 2; (found = object_named(e, o->table, o->name)) != NULL; n++) {
		if (can_share_name(found, o)) {
			add_missing(found, o);
			return found->name;
		}
		o->name = arena_printf(&e->arena, "%s-%u", wanted, n);
	}
	if (e->n_objects == e->room) {
		e->room = e->room == 0 ? FIRST_ROOM : 2 * e->room;
		e->objects = allocated(realloc(e->objects, e->room * sizeof(*e->objects)));
	}
	e->objects[e->n_objects++] = *o;
	return o->name;
}

void export_objects(struct export *e)
{
	for (unsigned n = 0; n < e->n_objects; n++) {
		const struct object *o = &e->objects[n];

		for (unsigned i = 0; i < o->n; i++)
			sonic_set(e->out, o->table, o->name, o->fields[i], o->values[i]);
	}
}

// ---- ports, VLANs, addresses

static void export_port(struct export *e, const struct config_port *p)
{
	const struct cfg_port *item = p->item;
	const char *absent = mark_of(e, p->name, MARK_MTU);
	int64_t assumed = absent == NULL ? -1 : SONIC_DEFAULT_MTU;

	if (strncmp(p->name, "Ethernet", strlen("Ethernet")) != 0)
		sonic_say(e->r, SONIC_NOTE, sonic_fields[SONIC_PORT_SPEED].table, p->name, NULL,
			  "a switch with SONiC has ports such as Ethernet0");

	if (item->speed.n != 0)
		put(e, SONIC_PORT_SPEED, p->name, item->speed.n);
	if (item->mtu.n != assumed)
		put(e, SONIC_PORT_MTU, p->name, item->mtu.n);
	if (absent == NULL && e->hand_written)
		put_text(e, SONIC_PORT_ADMIN, p->name, "up");
	if (item->cable.given)
		sonic_set(e->out, sonic_fields[SONIC_CABLE].table, DEFAULT_NAME, p->name,
			  sonic_text(SONIC_CABLE, item->cable.n, (char[SONIC_TEXT_LEN]){""}));
}

static void export_addresses(struct export *e, enum sonic_field f, const char *key,
			     const struct policy_addr *addrs, unsigned n)
{
	char text[ADDR_TEXT_LEN];

	if (n > 0 && !sonic_has_key(&e->keep, sonic_fields[f].table, key))
		sonic_set(e->out, sonic_fields[f].table, key, NULL, NULL);
	for (unsigned i = 0; i < n; i++)
		sonic_set(e->out, sonic_fields[f].table,
			  arena_printf(&e->arena, "%s|%s", key, addr_text(&addrs[i], text)), NULL,
			  NULL);
}

static void export_member(struct export *e, const struct config_port *p, unsigned id, bool tagged)
{
	put(e, SONIC_MEMBER_MODE, arena_printf(&e->arena, "Vlan%u|%s", id, p->name), tagged);
}

static void export_vlans(struct export *e)
{
	const struct cfg_vlan *v = e->c->root.vlans.items;

	for (unsigned i = 0; i < e->c->root.vlans.n; i++)
		put(e, SONIC_VLAN_ID, arena_printf(&e->arena, "Vlan%u", (unsigned)v[i].id.n),
		    v[i].id.n);
	for (unsigned i = 0; i < e->c->n_svis; i++)
		export_addresses(e, SONIC_SVI,
				 arena_printf(&e->arena, "Vlan%u",
					      (unsigned)e->c->svis[i].item->id.n),
				 e->c->svis[i].addrs, e->c->svis[i].n_addrs);
	for (unsigned i = 0; i < e->c->n_ports; i++) {
		const struct config_port *p = &e->c->ports[i];

		export_addresses(e, SONIC_ROUTED, p->name, p->addrs, p->n_addrs);
		if (!cfg_vlan_aware(e->c) || p->routed)
			continue;
		if (cfg_untagged(p->item) != 0)
			export_member(e, p, cfg_untagged(p->item), false);
		for (unsigned id = 1; id < CFG_SET_BITS; id++)
			if (cfg_set_has(&p->item->vlan.tagged, id))
				export_member(e, p, id, true);
	}
}

// ---- what CONFIG_DB cannot say

static void lost(struct export *e, const char *path, const char *why)
{
	sonic_say(e->r, SONIC_WARNING, NULL, NULL, NULL, "%s: no table of CONFIG_DB says it%s%s",
		  path, *why != '\0' ? ": " : "", why);
}

static void lost_map(struct export *e, const struct cfg_map *m)
{
	if (m->given)
		lost(e, m->path, "");
}

static void lost_value(struct export *e, const struct cfg_val *v)
{
	if (v->given)
		lost(e, v->path, "");
}

static void warn_of_class(struct export *e, const struct cfg_class *c)
{
	lost_map(e, &c->ecn.map);
	lost_value(e, &c->ecn.is_auto);
	lost_map(e, &c->ipcc.map);
	lost_map(e, &c->elephants.map);
	lost_map(e, &c->mice.map);
	lost_value(e, &c->flood);
	if (c->wred.map.given && !c->wred.above_kmax.n)
		lost_value(e, &c->wred.above_kmax);
	if (c->wred.mark_at.given && !c->wred.mark_at.n)
		lost_value(e, &c->wred.mark_at);
	if (c->wred.weight.n != 0)
		lost_value(e, &c->wred.weight);
	if (c->wred.map.given && !(c->wred.not_ect.given ? c->wred.not_ect.n : !c->lossless.n))
		lost(e, c->wred.map.path, "a switch with SONiC drops Not-ECT frames");
}

static void warn_of_lost(struct export *e)
{
	const struct cfg_root *root = &e->c->root;
	const struct cfg_profile *p = root->profiles.items;
	const struct cfg_list *lists[] = {&root->fdb, &root->multicast, &root->routes,
					  &root->neighbours};

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		lost_map(e, &lists[i]->map);
	lost_map(e, &root->vxlan.map);
	lost_value(e, &root->sw.trim.lengths);
	lost_value(e, &root->sw.trim.share);
	lost_map(e, &root->inof.map);
	for (unsigned i = 0; i < root->profiles.n; i++) {
		lost_map(e, &p[i].dscp_to_color.map);
		lost_map(e, &p[i].guard.map);
		lost_value(e, &p[i].pfc.quanta);
		if (p[i].pfc.rx.n != p[i].pfc.tx.n)
			lost(e, p[i].pfc.map.path, "PFC is on or off for both directions");
		for (unsigned cls = 0; cls < N_CLASSES; cls++)
			warn_of_class(e, &p[i].classes[cls]);
	}
	for (unsigned i = 0; i < e->c->n_ports; i++) {
		const struct cfg_port *item = e->c->ports[i].item;

		if (e->c->ports[i].profile->trust.n != TRUST_DSCP && item->default_class.n != 0)
			lost_value(e, &item->default_class);
		lost_map(e, &item->storm_control.map);
		lost_map(e, &item->guard.map);
	}
}

// ---- the lines of an import

static void fill_kept(struct export *e)
{
	bool *missing = allocated(calloc(e->keep.n + 1, sizeof(*missing)));

	sonic_sort(e->out);
	for (unsigned i = 0; i < e->keep.n; i++) {
		const struct sonic_row *row = &e->keep.rows[i];

		missing[i] = strcmp(row->table, SONIC_MARKS) != 0 &&
			     sonic_get(e->out, row->table, row->key, row->field) == NULL;
	}
	for (unsigned i = 0; i < e->keep.n; i++)
		if (missing[i])
			sonic_set(e->out, e->keep.rows[i].table, e->keep.rows[i].key,
				  e->keep.rows[i].field, e->keep.rows[i].value);
	free(missing);
	sonic_sort(e->out);
}

// ---- the whole

// False with errors in the report.
static bool load(struct export *e, const char *name, const char *text, size_t len,
		 struct config **c)
{
	struct diags d = {0};
	bool ok = config_parse(name, text, len, c, &d) == 0 && memory_compile(*c, &e->p, &d) == 0;

	for (unsigned i = 0; i < d.n && !ok; i++)
		if (d.is_error[i])
			sonic_say(e->r, SONIC_ERROR, NULL, NULL, NULL, "%s", d.lines[i]);
	diags_fini(&d);
	e->c = *c;
	return ok;
}

int sonic_export(const char *name, const char *text, size_t len, struct sonic_config *out,
		 struct sonic_report *r)
{
	struct export e = {.out = out, .r = r, .file = name};
	struct config *c = NULL;
	unsigned errors = r->n_errors;

	if (load(&e, name, text, len, &c)) {
		kept_read(c, text, &e.keep, &e.name, r);
		e.hand_written = e.keep.n + e.name.n == 0;
		for (unsigned i = 0; i < c->n_ports; i++)
			export_port(&e, &c->ports[i]);
		export_vlans(&e);
		export_qos(&e);
		export_buffer(&e);
		export_objects(&e);
		if (e.c->root.sw.name.given)
			put_text(&e, SONIC_HOSTNAME, "localhost", e.c->root.sw.name.text);
		warn_of_lost(&e);
		fill_kept(&e);
	}
	free(e.objects);
	sonic_config_fini(&e.keep);
	sonic_config_fini(&e.name);
	arena_fini(&e.arena);
	policy_destroy(e.p);
	config_destroy(c);
	return r->n_errors > errors ? -EINVAL : 0;
}
