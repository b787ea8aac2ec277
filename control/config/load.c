// SPDX-License-Identifier: Apache-2.0
// From a file to struct config: YAML, schema, expansion of port ranges, rules between keys.
#include "control/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/model.h"

static const char *profile_name(const void *config, unsigned i)
{
	const struct config *c = config;

	return ((const struct cfg_profile *)c->root.profiles.items)[i].map.name;
}

static const struct cfg_profile *resolve_profile(struct config *c, const struct cfg_port *p,
						 struct diag_sink *s)
{
	const char *name = p->profile.text != NULL ? p->profile.text : "default";
	const void *found = cfg_entry_named(&c->root.profiles, &cfg_profile_schema, name);
	const char *near;

	if (found != NULL)
		return found;
	if (strcmp(name, "default") == 0)
		return c->builtin;
	near = schema_closest(name, c->root.profiles.n, profile_name, c);
	REFUSE(s, &p->profile, "there is no profile %s%s%s%s", name,
	       near != NULL ? CURE "did you mean " : "", near != NULL ? near : "",
	       near != NULL ? "?" : "");
	return c->builtin;
}

static bool is_name(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
			return false;
	return *text != '\0' && strlen(text) < POLICY_NAME_LEN;
}

static bool is_device(const char *text)
{
	static const char *const kinds[] = {"xdp:", "pci:", "vdev:", "wire:"};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			return text[strlen(kinds[i])] != '\0';
	return false;
}

_Static_assert(sizeof(((struct policy_port *)0)->device) == EXPAND_NAME_LEN + 1,
	       "expand() refuses a longer device");

static bool expand_key(struct config *c, const struct cfg_val *v, struct expansion *out,
		       struct diag_sink *s)
{
	const char *why;

	if (v->text == NULL)
		return false;
	if (expand(v->text, out, &why))
		return true;
	REFUSE(s, v, "\"%s\": %s", schema_shown(&c->arena, v->text), why);
	return false;
}

static void expand_port(struct config *c, const struct cfg_port *p, struct diag_sink *s)
{
	struct config_port port = {.item = p, .profile = resolve_profile(c, p, s)};
	struct expansion names, devices;
	bool ok = expand_key(c, &p->name, &names, s);

	// Both are looked at, so that both are reported.
	if (!expand_key(c, &p->device, &devices, s) || !ok)
		return;
	if (names.n != devices.n) {
		REFUSE(s, &p->device, "%s makes %u devices, but name %s makes %u ports",
		       schema_shown(&c->arena, p->device.text), devices.n,
		       schema_shown(&c->arena, p->name.text), names.n);
		return;
	}
	for (unsigned i = 0; i < names.n; i++) {
		port.name = arena_printf(&c->arena, "%s", names.items[i]);
		port.device = arena_printf(&c->arena, "%s", devices.items[i]);
		routes_port_addrs(c, &port, i, names.n, s);
		if (!is_name(port.name))
			REFUSE(s, &p->name, "\"%s\": a name has 1 to 31 letters, digits, . _ and -",
			       schema_shown(&c->arena, port.name));
		if (!is_device(port.device))
			REFUSE(s, &p->device,
			       "\"%s\": a device is xdp:INTERFACE, pci:ADDRESS or vdev:ARGUMENTS",
			       schema_shown(&c->arena, port.device));
		if (c->n_ports == POLICY_MAX_PORTS)
			REFUSE(s, &p->map, "more than %d ports", POLICY_MAX_PORTS);
		else
			c->ports[c->n_ports++] = port;
	}
}

static void expand_ports(struct config *c, struct diag_sink *s)
{
	const struct cfg_port *items = c->root.ports.items;

	for (unsigned i = 0; i < c->root.ports.n; i++)
		expand_port(c, &items[i], s);
	if (c->root.ports.map.given && c->n_ports == 0 && s->n_errors == 0)
		REFUSE(s, &c->root.ports.map, "is empty" CURE "name the ports");
}

struct config *config_new(const char *name)
{
	struct config *c = allocated(calloc(1, sizeof(*c)));
	struct cfg_profile *builtin;

	c->file = arena_text(&c->arena, name, strlen(name));
	builtin = arena_alloc(&c->arena, sizeof(*builtin));
	schema_defaults(&cfg_profile_schema, builtin);
	builtin->map.name = "default";
	builtin->map.path = "profiles.default";
	c->builtin = builtin;
	schema_defaults(&cfg_root_schema, &c->root);
	return c;
}

int config_read_tree(struct config *c, const struct node *root, struct diag_sink *s,
		     struct config **out, struct diags *d)
{
	struct cfg_reader r = {&c->arena, s};
	bool ok;

	if (root != NULL) {
		schema_fill(&r, &cfg_root_schema, root, &c->root, "");
		expand_ports(c, s);
		routes_resolve(c, s);
		guards_resolve(c, s);
		config_check(c, s);
	}
	ok = s->n_errors == 0;
	diag_finish(s, d);
	if (!ok) {
		config_destroy(c);
		return -EINVAL;
	}
	*out = c;
	return 0;
}

int config_parse(const char *name, const char *text, size_t len, struct config **out,
		 struct diags *d)
{
	struct config *c = config_new(name);
	struct diag_sink s = {.file = c->file};

	return config_read_tree(c, node_parse(&c->arena, text, len, &s), &s, out, d);
}

int config_read_file(const char *path, char **text, size_t *len)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (f == NULL)
		return -errno;
	errno = 0;
	*text = malloc(NODE_MAX_BYTES + 2);
	*len = *text == NULL ? 0 : fread(*text, 1, NODE_MAX_BYTES + 1, f);
	if (*text == NULL)
		err = -ENOMEM;
	else if (ferror(f))
		err = errno != 0 ? -errno : -EIO;
	else
		(*text)[*len] = '\0';
	fclose(f);
	if (err != 0)
		free(*text);
	return err;
}

int config_read(const char *path, char **text, size_t *len, struct diags *d)
{
	struct diag_sink s = {.file = path};
	int err = config_read_file(path, text, len);

	if (err == 0)
		return 0;
	diag_add(&s, DIAG_ERROR, (struct cfg_pos){0}, NULL, "cannot open: %s", strerror(-err));
	diag_finish(&s, d);
	return -EINVAL;
}

int config_load_text(const char *path, struct config **out, char **text, struct diags *d)
{
	char *read = NULL;
	size_t len = 0;
	int err = config_read(path, &read, &len, d);

	if (err != 0)
		return err;
	err = config_parse(path, read, len, out, d);
	if (err != 0 || text == NULL)
		free(read);
	else
		*text = read;
	return err;
}

int config_load(const char *path, struct config **out, struct diags *d)
{
	return config_load_text(path, out, NULL, d);
}

void config_destroy(struct config *c)
{
	if (c == NULL)
		return;
	arena_fini(&c->arena);
	free(c);
}

unsigned config_n_ports(const struct config *c)
{
	return c->n_ports;
}

struct config_port_open config_port(const struct config *c, unsigned i)
{
	const struct cfg_port *p = c->ports[i].item;

	return (struct config_port_open){
		.name = c->ports[i].name,
		.device = c->ports[i].device,
		.speed_bps = (uint64_t)p->speed.n,
		.mtu = (uint32_t)p->mtu.n,
		.max_frame = cfg_max_frame(p),
		.tx_ring_bytes = (uint32_t)p->tx_ring.n,
		.rx_ring = (uint32_t)p->rx_ring.n,
		.keep = cfg_keep(p, NULL),
		.take_over = p->take_over.n != 0,
		.optional = p->optional.n != 0,
	};
}

const char *config_name(const struct config *c)
{
	return c->root.sw.name.text != NULL ? c->root.sw.name.text : "weir";
}

unsigned config_n_workers(const struct config *c)
{
	const struct cfg_workers *w = &c->root.sw.workers;

	return w->cores.n != 0 ? w->cores.n : (unsigned)w->count.n;
}

bool config_busy_poll(const struct config *c)
{
	return c->root.sw.poll.n != 0;
}

uint32_t config_time_scale(const struct config *c)
{
	return (uint32_t)c->root.sw.time_scale.n;
}
