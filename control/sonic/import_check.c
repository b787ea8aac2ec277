// SPDX-License-Identifier: Apache-2.0
// Checks the policy that the import has made. A mistake names a key of that policy, and the user
// has not seen the policy. So the rows of tables.def give table, key and field for the key. Private
// to control/sonic.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/config.h"
#include "control/config/port_open.h"
#include "control/sonic/model.h"
#include "dataplane/policy.h"

enum { POLICY_PATH_LEN = 256 };

// A path of a policy, as the rows of tables.def write paths.
struct place {
	char path[POLICY_PATH_LEN]; // "classes.N.wred.kmin"
	char port[POLICY_PATH_LEN]; // "" where the path names none
	const struct sonic_profile *profile;
	unsigned cls; // with profile
	unsigned index; // of a list
};

// "ports[2] (Ethernet8).mtu" to "ports[].mtu".
static void take_lists(const char *path, struct place *at)
{
	size_t n = 0;

	for (; *path != '\0' && n + 1 < sizeof(at->path); path++) {
		const char *end = NULL;

		if (path[0] == '[' && isdigit((unsigned char)path[1])) {
			at->index = (unsigned)atoi(path + 1);
			end = strchr(path, ']');
			at->path[n++] = '[';
		} else if (path[0] == ' ' && path[1] == '(') {
			end = strchr(path, ')');
			if (end != NULL)
				snprintf(at->port, sizeof(at->port), "%.*s",
					 (int)(end - path - 2), path + 2);
			path = end != NULL ? end : path;
			continue;
		}
		if (end != NULL)
			path = end;
		at->path[n++] = *path;
	}
	at->path[n] = '\0';
}

// "profiles.AZURE.classes.3.wred.kmin" to "classes.N.wred.kmin", "profiles.AZURE.pfc" to
// "profiles.P.pfc".
static void take_profile(const struct sonic_model *m, struct place *at)
{
	static const char profiles[] = "profiles.", classes[] = "classes.";
	char *name = at->path + strlen(profiles), *rest;
	char copy[POLICY_PATH_LEN - 16]; // room for what takes the place of the name

	if (strncmp(at->path, profiles, strlen(profiles)) != 0)
		return;
	for (unsigned i = 0; i < m->n_profiles; i++) {
		size_t len = strlen(m->profiles[i].name);

		if (strncmp(name, m->profiles[i].name, len) != 0 || name[len] != '.')
			continue;
		at->profile = &m->profiles[i];
		rest = name + len + 1;
		snprintf(copy, sizeof(copy), "%s", rest);
		if (strncmp(copy, classes, strlen(classes)) == 0) {
			at->cls = (unsigned)copy[strlen(classes)] % N_CLASSES; // '0' is 48
			snprintf(at->path, sizeof(at->path), "classes.N%s",
				 copy + strlen(classes) + 1);
		} else {
			snprintf(at->path, sizeof(at->path), "profiles.P.%s", copy);
		}
		return;
	}
}

// A path of tables.def may have a second end: "switch.buffer.size, .egress_lossy".
static bool is_path(const char *key, const char *path)
{
	size_t len = strcspn(key, ","), begin = len;
	const char *end = key[len] == ',' ? strchr(key + len, '.') : NULL;

	if (strlen(path) == len && strncmp(key, path, len) == 0)
		return len > 0;
	for (const char *dot = end; dot != NULL; dot = strchr(dot + 1, '.'))
		while (begin > 0 && key[--begin] != '.')
			;
	return end != NULL && strncmp(key, path, begin) == 0 && strcmp(path + begin, end) == 0;
}

// The row of the path, or of the longest part that begins it.
static const struct sonic_field_info *sonic_field_of_place(struct place *at)
{
	for (char *end = at->path + strlen(at->path); end != NULL && end > at->path;
	     end = strrchr(at->path, '.')) {
		*end = '\0';
		for (unsigned i = 0; i < N_SONIC_FIELDS; i++)
			if (is_path(sonic_fields[i].key, at->path))
				return &sonic_fields[i];
	}
	return NULL;
}

static bool is_table(const struct sonic_field_info *f, enum sonic_field of)
{
	return strcmp(f->table, sonic_fields[of].table) == 0;
}

// The name of the object of a profile: that of its first port.
static const char *object_of(const struct sonic_field_info *f, const struct place *at)
{
	const struct sonic_port *p = at->profile->port;
	const struct sonic_names *n = &p->names;
	unsigned queue = p->qos.queue_of[at->cls], pg = p->qos.pg_of[at->cls];

	if (is_table(f, SONIC_PROFILE_SIZE))
		return n->pg[pg] != NULL ? n->pg[pg] : n->buffer[queue];
	if (is_table(f, SONIC_WRED_ECN))
		return n->wred[queue];
	if (is_table(f, SONIC_SCHED_TYPE))
		return n->scheduler[queue];
	if (is_table(f, SONIC_DSCP_TC))
		return n->dscp;
	if (is_table(f, SONIC_DOT1P_TC))
		return n->pcp;
	if (is_table(f, SONIC_TC_QUEUE))
		return n->queue_map;
	if (is_table(f, SONIC_TC_PG))
		return n->pg_map;
	return p->name;
}

static const char *sonic_key_of_place(struct import *im, const struct sonic_field_info *f,
				      const struct place *at)
{
	if (at->profile != NULL)
		return object_of(f, at);
	if (is_table(f, SONIC_POOL_SIZE))
		return strstr(at->path, "egress") != NULL ? EGRESS_LOSSY_POOL : INGRESS_POOL;
	if (is_table(f, SONIC_SVI) || is_table(f, SONIC_VLAN_ID))
		return at->index < im->m.n_vlans
			       ? arena_printf(&im->arena, "Vlan%d", (int)im->m.vlans[at->index].id)
			       : NULL;
	return at->port[0] != '\0' ? at->port : NULL;
}

static void say_mistake(struct import *im, const struct diag_message *m)
{
	const struct sonic_field_info *f;
	struct place at = {0};
	const char *key, *where;
	bool has_field;

	if (m->key != NULL)
		take_lists(m->key, &at);
	take_profile(&im->m, &at);
	f = sonic_field_of_place(&at);
	key = f != NULL ? sonic_key_of_place(im, f, &at) : NULL;
	has_field = f != NULL && strcmp(f->field, "*") != 0 && strcmp(f->field, "NULL") != 0;
	// Without a row of its own, the key of the policy says which.
	where = key == NULL && m->key != NULL
			? arena_printf(&im->arena, " (%s of the policy)", m->key) : "";
	sonic_say(im->r, SONIC_ERROR, f != NULL ? f->table : NULL, key,
		  has_field ? f->field : NULL, "%s%s%s%s", m->text, m->hint != NULL ? ": " : "",
		  m->hint != NULL ? m->hint : "", where);
}

static bool has_port(const struct sonic_model *m, const struct config_port_open *p)
{
	for (unsigned i = 0; i < m->n_ports; i++)
		if (strcmp(m->ports[i].name, p->name) == 0 &&
		    strcmp(m->ports[i].device, p->device) == 0)
			return true;
	return false;
}

// A text of CONFIG_DB must not become a port or a device.
static void check_ports(struct import *im, const struct config *c)
{
	unsigned n = config_n_ports(c);
	bool same = n == im->m.n_ports;

	for (unsigned i = 0; i < n && same; i++) {
		struct config_port_open p = config_port(c, i);

		same = has_port(&im->m, &p);
	}
	if (!same)
		sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
			  "some name in these tables would make other ports than they have");
}

void import_check(struct import *im, const char *text, size_t len)
{
	struct diags d = {0};
	struct config *cfg = NULL;
	struct policy *p = NULL;

	if (config_parse("policy", text, len, &cfg, &d) == 0) {
		check_ports(im, cfg);
		if (memory_compile(cfg, &p, &d) != 0)
			sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
				  "these tables make no policy that can run:");
	}
	for (unsigned i = 0; i < d.n_messages; i++)
		if (d.messages[i].is_error)
			say_mistake(im, &d.messages[i]);
	policy_destroy(p);
	config_destroy(cfg);
	diags_fini(&d);
}
