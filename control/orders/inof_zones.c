// SPDX-License-Identifier: Apache-2.0
#include "control/orders/inof_zones.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/config/config.h"
#include "control/inof/parted.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"

enum { PAIRS = 100 };

const char inof_is_off[] = "inof is off: put inof: on into the policy file, then weirctl reload";
const char inof_zone_bad_name[] = "a zone has a name of 1 to 31 letters, digits, . _ -, and not "
				  "\"default\"";
static_assert(INOF_ZONE_NAME == 32, "inof_zone_bad_name says the most");

__attribute__((format(printf, 2, 3))) static const char *
format_zone_error(char text[ORDER_TEXT_LEN], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, ORDER_TEXT_LEN, fmt, ap);
	va_end(ap);
	return text;
}

static int running_port_number(const void *arg, const char *name)
{
	return config_port_named(arg, name);
}

unsigned inof_zone_find(const struct inof_zone *zones, unsigned n, const char *name)
{
	unsigned i = 0;

	while (i < n && strcmp(zones[i].name, name) != 0)
		i++;
	return i;
}

bool inof_zone_name_holds(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	return name != NULL && name[0] != '\0' && strlen(name) < INOF_ZONE_NAME &&
	       strspn(name, letters) == strlen(name) && strcmp(name, "default") != 0;
}

const char *inof_zone_put(struct inof_zone *z, const char *member, inof_port_fn *port,
			  const void *arg, char text[ORDER_TEXT_LEN])
{
	struct inof_member m;
	const char *why = inof_member_parse(member, port, arg, &m);

	if (why != NULL)
		return format_zone_error(text, "\"%.128s\" %s", member, why);
	for (unsigned i = 0; i < z->n; i++)
		if (strcmp(z->members[i].text, member) == 0)
			return format_zone_error(text, "zone %s has %.128s already", z->name,
						 member);
	if (z->n == INOF_MEMBERS)
		return format_zone_error(text, "a zone has at most %d members; use prefixes or "
					       "ranges", INOF_MEMBERS);
	return inof_zone_add(z, member, &m) == 0 ? NULL : "out of memory";
}

static const char *remove_member(struct inof_zone *z, const char *member,
				 char text[ORDER_TEXT_LEN])
{
	unsigned i = 0;

	while (i < z->n && strcmp(z->members[i].text, member) != 0)
		i++;
	if (i == z->n)
		return format_zone_error(text, "zone %s has no member %.128s: "
					       "weirctl show inof zones", z->name, member);
	free(z->members[i].text);
	memmove(&z->members[i], &z->members[i + 1], (--z->n - i) * sizeof(z->members[0]));
	return NULL;
}

// A change of the zones of an instance.
struct zones_change {
	struct instance *in;
	bool add;
	const char *name;
	struct json_object *members;
	char *text; // of an error
};

// Changes a copy of the zones; *n of them.
static const char *change_zones(const struct zones_change *c, struct inof_zone *zones, unsigned *n)
{
	unsigned i = inof_zone_find(zones, *n, c->name);
	size_t n_members = c->members == NULL ? 0 : json_object_array_length(c->members);
	const char *error = NULL;

	if (i == *n && !c->add)
		return format_zone_error(
			c->text, "no zone %s was added at run time: weirctl show inof zones",
			c->name);
	if (i == *n)
		strcpy(zones[(*n)++].name, c->name);
	for (size_t k = 0; error == NULL && k < n_members; k++) {
		struct json_object *v = json_object_array_get_idx(c->members, k);
		const char *member = json_object_get_string(v);

		error = member == NULL ? "a member is a text"
			: c->add ? inof_zone_put(&zones[i], member, running_port_number,
						 c->in->config, c->text)
				 : remove_member(&zones[i], member, c->text);
	}
	if (error == NULL && (zones[i].n == 0 || (!c->add && n_members == 0))) {
		inof_zone_fini(&zones[i]);
		memmove(&zones[i], &zones[i + 1], (--*n - i) * sizeof(zones[0]));
		zones[*n] = (struct inof_zone){0};
	}
	return error;
}

static bool is_of_policy(const struct instance *in, const char *name)
{
	const struct inof_zone *zones;
	struct inof_conf conf;
	unsigned n;

	config_inof(in->config, &conf, &zones, &n);
	return inof_zone_find(zones, n, name) < n;
}

static struct json_object *rows_of_pairs(const struct inof_pair *pairs, unsigned n)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned i = 0; i < n; i++) {
		struct json_object *row = json_object_new_object();
		char ip[INOF_IP_TEXT];

		inof_ip_print(pairs[i].initiator, ip);
		row_text(row, KEY(INOF_LOG, receiver), ip);
		inof_ip_print(pairs[i].target, ip);
		row_text(row, KEY(INOF_LOG, about), ip);
		json_object_array_add(rows, row);
	}
	return rows;
}

// Puts the zones of `weirctl inof zone` in force and, if 0, has taken them over. *data: see
// inof_zones_change. Without memory for the two sights the list is empty.
static int set_zones(struct instance *in, struct inof_zone *zones, unsigned n,
		     struct json_object **data)
{
	const struct inof_registry *registry = instance_inof(in);
	struct inof_sight *before = inof_sight_take(registry), *after = NULL;
	int err = instance_set_inof_zones(in, zones, n);
	struct inof_pair pairs[PAIRS];
	unsigned n_pairs = 0;

	if (before != NULL && err == 0)
		after = inof_sight_take(registry);
	if (after != NULL)
		n_pairs = inof_parted(registry, before, after, pairs, PAIRS);
	free(before);
	free(after);
	if (err != 0)
		return err;
	*data = json_object_new_object();
	json_object_object_add(*data, fact_lists[FACTS_INOF_LOG].list,
			       rows_of_pairs(pairs, n_pairs));
	return 0;
}

const char *inof_zones_change(struct instance *in, bool add, const char *zone,
			      struct json_object *members, struct json_object **data,
			      char text[ORDER_TEXT_LEN])
{
	const struct zones_change c = {in, add, zone, members, text};
	unsigned n_before, n;
	const struct inof_zone *zones = instance_inof_zones(in, &n_before);
	struct inof_zone *copy;
	const char *error = NULL;
	int err = 0;

	if (instance_inof(in) == NULL)
		return inof_is_off;
	if (!inof_zone_name_holds(zone))
		return inof_zone_bad_name;
	if (members != NULL && !json_object_is_type(members, json_type_array))
		return "members is a list of texts";
	if (is_of_policy(in, zone))
		return format_zone_error(text, "zone %s is the policy's: change its members in the "
					       "file, then weirctl reload", zone);
	n = n_before;
	copy = calloc(n + 1, sizeof(*copy));
	for (unsigned i = 0; copy != NULL && err == 0 && i < n; i++)
		err = inof_zone_copy(&copy[i], &zones[i]);
	if (copy == NULL || err != 0)
		error = "out of memory";
	else
		error = change_zones(&c, copy, &n);
	if (error == NULL)
		err = set_zones(in, copy, n, data);
	if (error == NULL && err != 0)
		error = err == -ENOSPC ? "there are 1000 zones already" : "out of memory";
	if (error != NULL)
		inof_zones_free(copy, n_before + 1);
	return error;
}
