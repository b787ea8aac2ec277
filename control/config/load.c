// SPDX-License-Identifier: Apache-2.0
// From a file to struct config, with or without an overlay: YAML, schema, ranges of ports, rules
// between keys.
#include "control/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/config/compile.h"
#include "control/config/model.h"
#include "control/config/port_open.h"
#include "dataplane/policy.h"
#include "drivers/device.h"

static const char *profile_name_at(const void *config, unsigned i)
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
	near = schema_closest(name, c->root.profiles.n, profile_name_at, c);
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

// "0000:3b:00.0" or "3b:00.0", and arguments behind a comma. DPDK would open any other name, and
// one behind a slash, on the bus that knows it: a virtual device, say, which may write any file.
static bool is_pci(const char *text)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF:.");

	return len > 0 && (text[len] == '\0' || text[len] == ',') && strchr(text, '/') == NULL;
}

static bool is_device(const char *text)
{
	static const char *const kinds[] = {"xdp:", "vdev:", "wire:"};

	if (strncmp(text, "pci:", strlen("pci:")) == 0)
		return is_pci(text + strlen("pci:"));
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

// An empty configuration, with the file's name for messages.
static struct config *config_new(const char *name)
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

// The tables of SONiC have names of capitals, and no key of a policy has one.
static bool is_sonic(const struct node *root)
{
	bool any = false;

	for (const struct node *n = root->kind == NODE_MAP ? root->first : NULL; n != NULL;
	     n = n->next) {
		const char *key = n->key->text != NULL ? n->key->text : "";

		if (key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] != '\0')
			return false;
		any = true;
	}
	return any;
}

// Fills c from a tree (NULL: it could not be read), finishes the sink into *d and hands c over; on
// failure c is gone.
static int config_read_tree(struct config *c, const struct node *root, struct diag_sink *s,
			    struct config **out, struct diags *d)
{
	struct cfg_reader r = {&c->arena, s};
	bool ok;

	if (root != NULL && s->document == NULL && is_sonic(root)) {
		diag_add(s, DIAG_ERROR, root->at, NULL,
			 "is a SONiC configuration, not a policy" CURE
			 "`weirctl import sonic %s` makes a policy of it", c->file);
	} else if (root != NULL) {
		schema_fill(&r, &cfg_root_schema, root, &c->root, "");
		expand_ports(c, s);
		svis_resolve(c, s);
		routes_resolve(c, s);
		vxlan_resolve(c, s);
		guards_resolve(c, s);
		inof_resolve(c, s);
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

// NULL with errno ENXIO: a pipe or a device, for which a reader may wait for ever. The caller's own
// descriptors are files too: `<(...)` of a shell is /dev/fd/63.
static FILE *config_open(const char *path)
{
	bool is_own = strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | (is_own ? 0 : O_NONBLOCK));
	struct stat st;

	if (fd < 0)
		return NULL;
	if (is_own || (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		return fdopen(fd, "r");
	close(fd);
	errno = ENXIO;
	return NULL;
}

int config_read_long_file(const char *path, size_t most, char **text, size_t *len)
{
	FILE *f = config_open(path);
	int err = 0;

	if (f == NULL)
		return -errno;
	errno = 0;
	*text = malloc(most + 2);
	*len = *text == NULL ? 0 : fread(*text, 1, most + 1, f);
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

int config_read_file(const char *path, char **text, size_t *len)
{
	return config_read_long_file(path, NODE_MAX_BYTES, text, len);
}

const char *config_read_reason(int err)
{
	return err == -ENXIO ? "it is no regular file" : strerror(-err);
}

int config_read(const char *path, char **text, size_t *len, struct diags *d)
{
	struct diag_sink s = {.file = path};
	int err = config_read_file(path, text, len);

	if (err == 0)
		return 0;
	diag_add(&s, DIAG_ERROR, (struct cfg_pos){0}, NULL, "cannot open: %s",
		 config_read_reason(err));
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

static bool is_xdp(const struct config *c, unsigned port)
{
	return strncmp(c->ports[port].device, "xdp:", 4) == 0;
}

// Many ports, of which each would cost memory and time of the kernel for the whole pool.
static bool has_ports_apart(const struct config *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < config_n_ports(c); i++)
		n += is_xdp(c, i);
	return n > LIVE_XDP_POOL_PORTS;
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
		.keep = cfg_keep(c, p, NULL),
		.take_over = p->take_over.n != 0,
		.apart = is_xdp(c, i) && has_ports_apart(c),
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

// ---- overlay
// A policy file as the lab runs it. The overlay is merged node by node before the schema reads the
// tree, so every rule and every message is that of a file with these keys.
//
// The file is read twice: first with its own ports, so that its mistakes are reported as the daemon
// reports them, then with the ports of the lab.
static void append_child_node(struct node *parent, struct node *n)
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
		append_child_node(base, copied(a, over, file));
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
static bool parse_key_numbers(const struct node *n, struct cfg_set *out)
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
		if (strcmp(v->key->text, over->key->text) == 0 || !parse_key_numbers(v, &own) ||
		    !overlap(&own, keys))
			continue;
		any = true;
		if (own.n == 1)
			continue;
		drop_child(base, v);
		for (unsigned i = 0; i < CFG_SET_BITS; i++)
			if (cfg_set_has(&own, i))
				append_child_node(base, of_number(a, v, i));
	}
	return any;
}

// `classes: {0-7: X}` over `classes: {3: Y}`: X over Y for class 3, and X alone for the others.
static void put_child(struct arena *a, struct node *base, const struct node *over, const char *file)
{
	struct cfg_set keys;

	if (!parse_key_numbers(over, &keys) || !part_keys(a, base, over, &keys)) {
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
		append_child_node(map, v);
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

// "p1", "p2", ...: a name of the lab, too.
static bool is_lab_name(const char *name)
{
	size_t n = name[0] == 'p' ? strspn(name + 1, "0123456789") : 0;

	return n != 0 && name[1 + n] == '\0';
}

// The item of the file's list that names port i. Where no port has a name of the lab, as those of
// SONiC: that of the i-th port. Else the last item. NULL: the list is empty.
static const struct node *template_of(const struct node *ports, const char *name, unsigned i)
{
	const struct node *last = NULL, *at_place = NULL;
	struct expansion names;
	const char *why;
	unsigned place = 0;
	bool lab_names = false;

	for (const struct node *v = ports->first; v != NULL; last = v, v = v->next) {
		const struct node *n = v->kind == NODE_MAP ? node_child(v, "name") : NULL;

		if (n == NULL || n->kind != NODE_SCALAR || !expand(n->text, &names, &why))
			continue;
		for (unsigned k = 0; k < names.n; k++) {
			if (strcmp(names.items[k], name) == 0)
				return v;
			lab_names |= is_lab_name(names.items[k]);
			if (place++ == i)
				at_place = v;
		}
	}
	return at_place != NULL && !lab_names ? at_place : last;
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
	struct node *n = copied(a, template_of(ports, name, i), NULL);

	n->key = NULL;
	put_scalar(a, n, "name", name);
	put_scalar(a, n, "device", arena_printf(a, "wire:%s", name));
	put_scalar(a, n, "speed", arena_printf(a, "%" PRIu64 "bps", p->speed_bps));
	drop_key(n, "ip");
	drop_key(n, "optional");
	if (p->profile != NULL)
		put_child(a, n, p->profile, o->file);
	put_scalar(a, n, "cable",
		   arena_printf(a, "%s", UNIT_TEXT(UNIT_LENGTH, (int64_t)p->cable_cm)));
	return n;
}

static void replace_ports(struct arena *a, struct node *root, const struct config_overlay *o)
{
	static const char *const replaced[] = {"fdb", "multicast", "routes", "neighbours",
					       "control_plane"};
	static const char *const of_svi[] = {"ip", "mac", "mtu"}; // of an item of `vlans`
	struct node *ports = node_child(root, "ports"), *vlans = node_child(root, "vlans"),
		    *sw = child_made(a, root, "switch", NODE_MAP);
	struct node lab = {
		.kind = NODE_LIST, .at = ports->at, .key = ports->key, .next = ports->next};

	for (unsigned i = 0; i < o->n_ports; i++)
		append_child_node(&lab, lab_port(a, ports, i, o));
	*ports = lab;
	for (struct node *v = vlans == NULL ? NULL : vlans->first; v != NULL; v = v->next)
		for (unsigned i = 0; i < sizeof(of_svi) / sizeof(of_svi[0]); i++)
			drop_key(v, of_svi[i]);
	for (unsigned i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		drop_key(root, replaced[i]);
	put_scalar(a, sw, "name", o->switch_name);
	put_scalar(a, child_made(a, sw, "ecmp", NODE_MAP), "seed",
		   arena_printf(a, "%" PRIu32, o->ecmp_seed));
	drop_key(sw, "time_scale"); // virtual time needs none
	if (node_child(sw, "lldp") == NULL) // its frames would be among those of every scenario
		put_scalar(a, sw, "lldp", "off");
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
