// SPDX-License-Identifier: Apache-2.0
// Which changes a running switch cannot take: the rows that say `restart`.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/config/check.h"
#include "control/config/config.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_value(const struct cfg_row *row, const void *a, const void *b)
{
	if (row->type == CFG_SET) {
		const struct cfg_set *x = a, *y = b;

		return x->n == y->n && memcmp(x->ordered, y->ordered, sizeof(x->ordered)) == 0;
	}
	return ((const struct cfg_val *)a)->n == ((const struct cfg_val *)b)->n &&
	       same_text(((const struct cfg_val *)a)->text, ((const struct cfg_val *)b)->text);
}

static void refuse(struct diag_sink *s, const char *path, const char *key, struct cfg_pos at)
{
	char full[256];

	snprintf(full, sizeof(full), "%s.%s", path, key);
	diag_add(s, DIAG_ERROR, at, full, "changes only by a restart");
}

// Where `new` says the value, or where it is silent, the map that could say it.
static struct cfg_pos pos_of(const struct cfg_row *row, const void *new)
{
	const struct cfg_map *m = new;
	const void *value = (const char *)new + row->off;

	if (row->type == CFG_SET && ((const struct cfg_set *)value)->map.given)
		return ((const struct cfg_set *)value)->map.at;
	if (row->type == CFG_SET && row->scalar != NULL)
		return pos_of(row->scalar, new);
	return row->type != CFG_SET && ((const struct cfg_val *)value)->given
		       ? ((const struct cfg_val *)value)->at
		       : m->at;
}

// Texts are compared by the caller, with their defaults and after their ranges are expanded.
static void compare(const struct cfg_schema *schema, const void *old, const void *new,
		    const char *path, struct diag_sink *s)
{
	for (unsigned i = 0; i < schema->n; i++) {
		const struct cfg_row *row = &schema->rows[i];
		const char *a = (const char *)old + row->off, *b = (const char *)new + row->off;
		bool scalar_differs = row->scalar != NULL && row->reload == CFG_RESTART &&
				      !same_value(row->scalar, (const char *)old + row->scalar->off,
						  (const char *)new + row->scalar->off);

		if (row->reload == CFG_RESTART && row->type != CFG_TEXT && row->type != CFG_NAME &&
		    (scalar_differs || !same_value(row, a, b)))
			refuse(s, path, row->key, pos_of(row, new));
		if (row->type == CFG_MAP && row->reload == CFG_LIVE) {
			char sub[256];

			snprintf(sub, sizeof(sub), "%s.%s", path, row->key);
			compare(row->sub, a, b, sub, s);
		}
	}
}

static const struct cfg_schema *row_schema(const char *key)
{
	for (unsigned i = 0; i < cfg_root_schema.n; i++)
		if (strcmp(cfg_root_schema.rows[i].key, key) == 0)
			return cfg_root_schema.rows[i].sub;
	return NULL;
}

static void compare_ports(const struct config *old, const struct config *new, struct diag_sink *s)
{
	if (old->n_ports != new->n_ports)
		diag_add(s, DIAG_ERROR, new->root.ports.map.at, "ports",
			 "%u ports run and %u are given: ports come and go only by a restart",
			 old->n_ports, new->n_ports);
	for (unsigned i = 0; i < old->n_ports && i < new->n_ports; i++) {
		const struct config_port *a = &old->ports[i], *b = &new->ports[i];

		if (strcmp(a->name, b->name) != 0)
			refuse(s, b->item->map.path, "name", b->item->name.at);
		else if (strcmp(a->device, b->device) != 0)
			refuse(s, b->item->map.path, "device", b->item->device.at);
		else
			compare(row_schema("ports"), a->item, b->item, b->item->map.path, s);
	}
}

int config_check_reload(const struct config *running, const struct config *next, struct diags *d)
{
	struct diag_sink s = {.file = next->file};
	bool ok;

	if (strcmp(config_name(running), config_name(next)) != 0)
		refuse(&s, "switch", "name", next->root.sw.name.at);
	compare(row_schema("switch"), &running->root.sw, &next->root.sw, "switch", &s);
	compare_ports(running, next, &s);
	ok = s.n_errors == 0;
	diag_finish(&s, d);
	return ok ? 0 : -EINVAL;
}
