// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/inof.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "control/base/json_in.h"
#include "control/daemon/daemon.h"
#include "control/inof/parted.h"
#include "control/inof/registry.h"
#include "control/instance/service.h"
#include "control/observe/fact.h"

enum { ERR_LEN = 512, PAIRS = 100 };

struct inof_requests {
	struct daemon *d;
	struct inof_zone *staged; // of weir-inof, up to "apply"; NULL: none has begun
	unsigned n_staged;
	char error[ERR_LEN];
};

const char inof_is_off[] = "inof is off: put inof: on into the policy file, then weirctl reload";

int inof_requests_create(struct daemon *d, struct inof_requests **out)
{
	struct inof_requests *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	a->d = d;
	*out = a;
	return 0;
}

static void end_stage(struct inof_requests *a)
{
	inof_zones_free(a->staged, a->n_staged);
	a->staged = NULL;
	a->n_staged = 0;
}

void inof_requests_destroy(struct inof_requests *a)
{
	if (a == NULL)
		return;
	end_stage(a);
	free(a);
}

// ---- zones of the running switch

__attribute__((format(printf, 2, 3))) static const char *format_inof_error(struct inof_requests *a,
									   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->error, sizeof(a->error), fmt, ap);
	va_end(ap);
	return a->error;
}

static int running_port_number(const void *arg, const char *name)
{
	return config_port_named(arg, name);
}

static unsigned find_zone(const struct inof_zone *zones, unsigned n, const char *name)
{
	unsigned i = 0;

	while (i < n && strcmp(zones[i].name, name) != 0)
		i++;
	return i;
}

static const char bad_name[] = "a zone has a name of 1 to 31 letters, digits, . _ -, and not "
			       "\"default\"";
static_assert(INOF_ZONE_NAME == 32, "bad_name says the most");

static bool name_holds(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	return name != NULL && name[0] != '\0' && strlen(name) < INOF_ZONE_NAME &&
	       strspn(name, letters) == strlen(name) && strcmp(name, "default") != 0;
}

static const char *add_member(struct inof_requests *a, struct inof_zone *z, const char *text,
			      inof_port_fn *port)
{
	struct inof_member m;
	const char *why = inof_member_parse(text, port, a->d->in.config, &m);

	if (why != NULL)
		return format_inof_error(a, "\"%.128s\" %s", text, why);
	for (unsigned i = 0; i < z->n; i++)
		if (strcmp(z->members[i].text, text) == 0)
			return format_inof_error(a, "zone %s has %.128s already", z->name, text);
	if (z->n == INOF_MEMBERS)
		return format_inof_error(a, "a zone has at most %d members; use prefixes or ranges",
					 INOF_MEMBERS);
	return inof_zone_add(z, text, &m) == 0 ? NULL : "out of memory";
}

static const char *remove_member(struct inof_requests *a, struct inof_zone *z, const char *text)
{
	unsigned i = 0;

	while (i < z->n && strcmp(z->members[i].text, text) != 0)
		i++;
	if (i == z->n)
		return format_inof_error(a, "zone %s has no member %.128s: weirctl show inof zones",
					 z->name, text);
	free(z->members[i].text);
	memmove(&z->members[i], &z->members[i + 1], (--z->n - i) * sizeof(z->members[0]));
	return NULL;
}

// Changes a copy of the zones; *n of them.
static const char *change(struct inof_requests *a, struct inof_zone *zones, unsigned *n, bool add,
			  const char *name, struct json_object *members)
{
	unsigned i = find_zone(zones, *n, name);
	size_t n_members = members == NULL ? 0 : json_object_array_length(members);
	const char *error = NULL;

	if (i == *n && !add)
		return format_inof_error(
			a, "no zone %s was added at run time: weirctl show inof zones", name);
	if (i == *n)
		strcpy(zones[(*n)++].name, name);
	for (size_t k = 0; error == NULL && k < n_members; k++) {
		const char *text = json_object_get_string(json_object_array_get_idx(members, k));

		error = text == NULL ? "a member is a text"
			: add	     ? add_member(a, &zones[i], text, running_port_number)
				     : remove_member(a, &zones[i], text);
	}
	if (error == NULL && (zones[i].n == 0 || (!add && n_members == 0))) {
		inof_zone_fini(&zones[i]);
		memmove(&zones[i], &zones[i + 1], (--*n - i) * sizeof(zones[0]));
		zones[*n] = (struct inof_zone){0};
	}
	return error;
}

static bool is_of_policy(const struct inof_requests *a, const char *name)
{
	const struct inof_zone *zones;
	struct inof_conf conf;
	unsigned n;

	config_inof(a->d->in.config, &conf, &zones, &n);
	return find_zone(zones, n, name) < n;
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
// inof_change_zone. Without memory for the two sights the list is empty.
static int set_zones(struct inof_requests *a, struct inof_zone *zones, unsigned n,
		     struct json_object **data)
{
	const struct inof_registry *registry = instance_inof(&a->d->in);
	struct inof_sight *before = inof_sight_take(registry), *after = NULL;
	int err = instance_set_inof_zones(&a->d->in, zones, n);
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

const char *inof_change_zone(struct inof_requests *a, bool add, const char *zone,
			     struct json_object *members, struct json_object **data)
{
	unsigned n_before, n;
	const struct inof_zone *zones = instance_inof_zones(&a->d->in, &n_before);
	struct inof_zone *copy;
	const char *error = NULL;
	int err = 0;

	if (instance_inof(&a->d->in) == NULL)
		return inof_is_off;
	if (!name_holds(zone))
		return bad_name;
	if (members != NULL && !json_object_is_type(members, json_type_array))
		return "members is a list of texts";
	if (is_of_policy(a, zone))
		return format_inof_error(a, "zone %s is the policy's: change its members in the "
					    "file, then weirctl reload", zone);
	n = n_before;
	copy = calloc(n + 1, sizeof(*copy));
	for (unsigned i = 0; copy != NULL && err == 0 && i < n; i++)
		err = inof_zone_copy(&copy[i], &zones[i]);
	if (copy == NULL || err != 0)
		error = "out of memory";
	else
		error = change(a, copy, &n, add, zone, members);
	if (error == NULL)
		err = set_zones(a, copy, n, data);
	if (error == NULL && err != 0)
		error = err == -ENOSPC ? "there are 1000 zones already" : "out of memory";
	if (error != NULL)
		inof_zones_free(copy, n_before + 1);
	return error;
}

// ---- zones of a reflector: for all switches, so the ports of this one are no members

static const char *stage(struct inof_requests *a, const char *name, struct json_object *members)
{
	unsigned i;
	struct inof_zone *z;
	const char *error = NULL;

	if (!name_holds(name))
		return bad_name;
	if (!json_object_is_type(members, json_type_array) ||
	    json_object_array_length(members) == 0)
		return "members is a list of texts";
	i = find_zone(a->staged, a->n_staged, name);
	if (i == INOF_ZONES)
		return "there are more than 1000 zones";
	z = &a->staged[i];
	if (i == a->n_staged) {
		strcpy(z->name, name);
		a->n_staged++;
	}
	for (size_t k = 0; error == NULL && k < json_object_array_length(members); k++) {
		struct json_object *m = json_object_array_get_idx(members, k);

		error = json_object_is_type(m, json_type_string)
				? add_member(a, z, json_object_get_string(m), NULL)
				: "a member is a text";
	}
	return error;
}

static const char *run_zones_step(struct inof_requests *a, struct json_object *request,
				  uint64_t now_ns)
{
	const char *what = text_in(request, "step");
	struct json_object *members = NULL;
	int err;

	if (what != NULL && strcmp(what, "begin") == 0) {
		end_stage(a);
		a->staged = calloc(INOF_ZONES, sizeof(*a->staged));
		return a->staged == NULL ? "out of memory" : NULL;
	}
	if (a->staged == NULL)
		return "inof_zones has the steps begin, add and apply";
	if (what != NULL && strcmp(what, "add") == 0) {
		json_object_object_get_ex(request, KEY(INOF_ZONES, members), &members);
		return stage(a, text_in(request, KEY(INOF_ZONES, zone)), members);
	}
	if (what == NULL || strcmp(what, "apply") != 0)
		return "inof_zones has the steps begin, add and apply";
	err = inof_set_zones(instance_inof(&a->d->in), INOF_ZONES_PEER, a->staged, a->n_staged,
			     now_ns);
	end_stage(a);
	return err == 0		? NULL
	       : err == -ENOSPC ? "with the zones of this switch there are more than 1000"
				: "out of memory";
}

const char *inof_take_peer_zones(struct inof_requests *a, struct json_object *request,
				  uint64_t now_ns)
{
	const char *error;

	if (instance_inof(&a->d->in) == NULL)
		return inof_is_off;
	error = run_zones_step(a, request, now_ns);
	if (error != NULL)
		end_stage(a);
	return error;
}
