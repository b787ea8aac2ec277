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
#include "control/inof/hard_zoning.h"
#include "control/inof/parted.h"
#include "control/inof/registry.h"
#include "control/observe/fact.h"
#include "dataplane/switch_punt.h"
#include "dataplane/switch_zones.h"

enum { TAKEN_A_LOOP = 1024, ERR_LEN = 512, PAIRS = 100 };

struct inof_agent {
	struct daemon *d;
	struct inof_registry *registry; // NULL: off
	struct inof_zone *zones; // of `weirctl inof zone`
	unsigned n_zones;
	struct inof_zone *staged; // of weir-inof, up to "apply"; NULL: none has begun
	unsigned n_staged;
	struct hard_zoning hard_zoning;
	char error[ERR_LEN];
};

const char inof_is_off[] = "inof is off: put inof: on into the policy file, then weirctl reload";

static const uint8_t *inof_port_mac(void *arg, unsigned port)
{
	const struct inof_agent *a = arg;

	return switch_port(a->d->in.sw, port)->facts.mac;
}

static bool send_inof_frame(void *arg, unsigned port, const struct inof_frame *out)
{
	const struct inof_agent *a = arg;
	struct control_frame f = {.port = (port_no_t)port, .len = out->len};

	memcpy(f.bytes, out->bytes, out->len);
	return switch_send(a->d->in.sw, &f, SEND_OTHER);
}

static void log_event(void *arg, const struct event *e, const char *about)
{
	const struct inof_agent *a = arg;

	eventlog_add_about(a->d->log, e, about, e->t_ns);
}

static bool is_elsewhere(void *arg, unsigned port, const uint8_t mac[6], struct ip_key ip)
{
	const struct inof_agent *a = arg;

	return switch_station_elsewhere(a->d->in.sw, port, mac, ip);
}

int inof_agent_create(struct daemon *d, struct inof_agent **out)
{
	struct inof_agent *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return -ENOMEM;
	a->d = d;
	*out = a;
	return 0;
}

static void free_zones(struct inof_zone *zones, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		inof_zone_fini(&zones[i]);
	free(zones);
}

void inof_agent_destroy(struct inof_agent *a)
{
	if (a == NULL)
		return;
	inof_destroy(a->registry);
	free_zones(a->zones, a->n_zones);
	free_zones(a->staged, a->n_staged);
	free(a);
}

struct inof_registry *inof_agent_registry(const struct inof_agent *a)
{
	return a == NULL ? NULL : a->registry;
}

// ---- the policy

// Hosts are told nothing where the whole of inof goes off: their connections stay.
static int start_or_stop(struct inof_agent *a, bool on, uint64_t now_ns)
{
	static const struct inof_ops ops = {inof_port_mac, send_inof_frame, log_event,
					    is_elsewhere};
	int err = 0;

	if (on && a->registry == NULL) {
		err = inof_create(a->d->in.policy->n_ports, &ops, a,
				  (uint32_t)(wall_now_ns() >> 10), daemon_any_seed(), &a->registry);
		if (err == 0)
			err = inof_set_zones(a->registry, INOF_ZONES_RUNTIME, a->zones, a->n_zones,
					     now_ns);
	}
	if (!on) {
		inof_destroy(a->registry);
		a->registry = NULL;
	}
	observe_set_inof(a->d->observe, a->registry);
	daemon_set_pace(a->d);
	return err;
}

void inof_agent_new_policy(struct inof_agent *a, uint64_t now_ns)
{
	const struct inof_zone *zones;
	struct inof_conf conf;
	unsigned n;
	int err;

	if (a == NULL)
		return;
	err = start_or_stop(a, config_inof(a->d->in.config, &conf, &zones, &n), now_ns);
	a->hard_zoning.wanted = conf.hard_zoning;
	if (a->registry == NULL && err == 0)
		return;
	if (a->registry != NULL)
		inof_set_conf(a->registry, &conf, now_ns);
	if (err == 0) {
		err = inof_set_zones(a->registry, INOF_ZONES_POLICY, zones, n, now_ns);
	}
	if (err != 0)
		log_line("%s alarm inof: the zones of the policy are not in force: %s",
			 a->d->in.policy->name,
			 err == -ENOSPC ? "with those of weirctl and of the reflector there are "
					  "more than 1000"
					: "out of memory");
}

// ---- the control loop

bool inof_agent_lldp(struct inof_agent *a, const struct control_frame *f, uint64_t now_ns)
{
	return a->registry != NULL &&
	       inof_lldp(a->registry, f->port, f->bytes, f->len, now_ns);
}

bool inof_agent_is_busy(const struct inof_agent *a)
{
	return a->registry != NULL && inof_is_busy(a->registry);
}

void inof_agent_loop(struct inof_agent *a, uint64_t now_ns)
{
	struct control_frame f;

	if (hard_zoning_loop(&a->hard_zoning, a->d->in.sw, a->registry, now_ns))
		log_line("%s alarm inof: hard_zoning has the zones of before: out of memory",
			 a->d->in.policy->name);
	if (a->registry == NULL)
		return;
	for (unsigned i = 0; i < a->d->in.policy->n_ports; i++) {
		inof_link(a->registry, i, switch_link_up(a->d->in.sw, i), now_ns);
		inof_fault(a->registry, i,
			   switch_in_storm(a->d->in.sw, i) ? INOF_PFC_STORM : INOF_NO_FAULT,
			   now_ns);
	}
	for (unsigned i = 0;
	     i < TAKEN_A_LOOP && switch_next_punt(a->d->in.sw, 1 << PUNT_INOF, &f); i++)
		inof_receive(a->registry, f.port, f.bytes, f.len, now_ns);
	inof_poll(a->registry, now_ns);
}

// ---- zones of the running switch

__attribute__((format(printf, 2, 3))) static const char *format_inof_error(struct inof_agent *a,
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

static const char *add_member(struct inof_agent *a, struct inof_zone *z, const char *text,
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

static const char *remove_member(struct inof_agent *a, struct inof_zone *z, const char *text)
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
static const char *change(struct inof_agent *a, struct inof_zone *zones, unsigned *n, bool add,
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
	}
	return error;
}

static bool is_of_policy(const struct inof_agent *a, const char *name)
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

// Puts the zones of `weirctl inof zone` in force. *data: see inof_agent_zone. Without memory for
// the two sights the list is empty.
static int set_zones(struct inof_agent *a, const struct inof_zone *zones, unsigned n,
		     uint64_t now_ns, struct json_object **data)
{
	struct inof_sight *before = inof_sight_take(a->registry), *after = NULL;
	int err = inof_set_zones(a->registry, INOF_ZONES_RUNTIME, zones, n, now_ns);
	struct inof_pair pairs[PAIRS];
	unsigned n_pairs = 0;

	if (before != NULL && err == 0)
		after = inof_sight_take(a->registry);
	if (after != NULL)
		n_pairs = inof_parted(a->registry, before, after, pairs, PAIRS);
	free(before);
	free(after);
	if (err != 0)
		return err;
	*data = json_object_new_object();
	json_object_object_add(*data, fact_lists[FACTS_INOF_LOG].list,
			       rows_of_pairs(pairs, n_pairs));
	return 0;
}

const char *inof_agent_zone(struct inof_agent *a, bool add, const char *zone,
			    struct json_object *members, uint64_t now_ns,
			    struct json_object **data)
{
	struct inof_zone *copy;
	unsigned n = a->n_zones;
	const char *error = NULL;
	int err = 0;

	if (inof_agent_registry(a) == NULL)
		return inof_is_off;
	if (!name_holds(zone))
		return bad_name;
	if (members != NULL && !json_object_is_type(members, json_type_array))
		return "members is a list of texts";
	if (is_of_policy(a, zone))
		return format_inof_error(a, "zone %s is the policy's: change its members in the "
					    "file, then weirctl reload", zone);
	copy = calloc(n + 1, sizeof(*copy));
	for (unsigned i = 0; copy != NULL && err == 0 && i < n; i++)
		err = inof_zone_copy(&copy[i], &a->zones[i]);
	if (copy == NULL || err != 0)
		error = "out of memory";
	else
		error = change(a, copy, &n, add, zone, members);
	if (error == NULL)
		err = set_zones(a, copy, n, now_ns, data);
	if (error == NULL && err != 0)
		error = err == -ENOSPC ? "there are 1000 zones already" : "out of memory";
	if (error != NULL) {
		if (copy != NULL)
			free_zones(copy, a->n_zones + 1);
		return error;
	}
	free_zones(a->zones, a->n_zones);
	a->zones = copy;
	a->n_zones = n;
	return NULL;
}

// ---- zones of a reflector: for all switches, so the ports of this one are no members

static const char *stage(struct inof_agent *a, const char *name, struct json_object *members)
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

static void end_stage(struct inof_agent *a)
{
	free_zones(a->staged, a->n_staged);
	a->staged = NULL;
	a->n_staged = 0;
}

static const char *run_zones_step(struct inof_agent *a, struct json_object *request,
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
	err = inof_set_zones(a->registry, INOF_ZONES_PEER, a->staged, a->n_staged, now_ns);
	end_stage(a);
	return err == 0		? NULL
	       : err == -ENOSPC ? "with the zones of this switch there are more than 1000"
				: "out of memory";
}

const char *inof_agent_peer_zones(struct inof_agent *a, struct json_object *request,
				  uint64_t now_ns)
{
	const char *error;

	if (inof_agent_registry(a) == NULL)
		return inof_is_off;
	error = run_zones_step(a, request, now_ns);
	if (error != NULL)
		end_stage(a);
	return error;
}
