// SPDX-License-Identifier: Apache-2.0
// Ports of a SONiC configuration, their VLANs and addresses. Private to control/sonic.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/sonic/model.h"
#include "dataplane/base/port_no.h"

enum { N_VLANS_MAX = 4094 };

// ---- which ports there are

static bool is_port_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("._-", text[i]) == NULL)
			return false;
	return len > 0 && len < POLICY_NAME_LEN;
}

struct names {
	const char **items;
	unsigned n;
};

static void add_name(struct import *im, struct names *list, const char *text, size_t len)
{
	if (!is_port_name(text, len))
		return;
	for (unsigned i = list->n; i-- > 0;)
		if (strlen(list->items[i]) == len && memcmp(list->items[i], text, len) == 0)
			return;
	list->items[list->n++] = arena_text(&im->arena, text, len);
}

static int name_order(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

// The keys of PORT. Samples of the QoS tables alone have no PORT: the ports that they name.
static struct names port_names(struct import *im)
{
	const struct sonic_config *c = &im->c;
	bool all = !sonic_has_table(c, sonic_fields[SONIC_PORT_SPEED].table);
	struct names list = {arena_alloc(&im->arena, (c->n + 1) * sizeof(char *)), 0};
	const char *name;
	size_t len;

	for (unsigned i = 0; i < c->n; i++) {
		const struct sonic_row *row = &c->rows[i];

		if ((all || strcmp(row->table, sonic_fields[SONIC_PORT_SPEED].table) == 0) &&
		    row_port(row, &name, &len))
			add_name(im, &list, name, len);
	}
	qsort(list.items, list.n, sizeof(char *), name_order);
	return list;
}

// ---- devices

static bool is_name_of(const struct names *list, const char *text, size_t len)
{
	for (unsigned i = 0; i < list->n; i++)
		if (strlen(list->items[i]) == len && memcmp(list->items[i], text, len) == 0)
			return true;
	return false;
}

// "NAME=xdp:" begins another port, and not a further argument of a vdev: device.
static bool begins_device(const char *text, size_t len)
{
	static const char *const kinds[] = {"xdp:", "pci:", "vdev:", "wire:"};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(text + len + 1, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

// The length of "NAME=DEVICE" at the start of the text. Devices of DPDK may have arguments with
// commas: "vdev:net_null0,size=64" is one device, but the name of a port begins another port.
static size_t item_len(const struct names *list, const char *text)
{
	size_t len = strcspn(text, ","), name = strcspn(text, "=,");
	bool has_arguments = strncmp(text + name, "=pci:", 5) == 0 ||
			     strncmp(text + name, "=vdev:", 6) == 0;

	while (has_arguments && text[len] == ',') {
		const char *next = text + len + 1;

		name = strcspn(next, "=,");
		if (is_name_of(list, next, name) ||
		    (next[name] == '=' && begins_device(next, name)))
			break;
		len += 1 + strcspn(next, ",");
	}
	return len;
}

// "Ethernet4=v1" and "Ethernet4" were perhaps meant as "Ethernet4=xdp:v1" and "...=xdp:eth1".
static void refuse_item(struct import *im, const char *text, size_t len, size_t name)
{
	const char *device = text[name] == '=' ? text + name + 1 : "";
	size_t rest = text[name] == '=' ? len - name - 1 : 0;
	bool is_name = is_port_name(text, name), is_device = is_port_name(device, rest);

	sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
		  "--ports: %.*s: expected PORT=DEVICE, such as %.*s=xdp:%.*s", (int)len, text,
		  is_name ? (int)name : 9, is_name ? text : "Ethernet0",
		  is_device ? (int)rest : 4, is_device ? device : "eth1");
}

static bool is_chosen(const struct import *im, const char *name)
{
	for (unsigned i = 0; i < im->m.n_ports; i++)
		if (strcmp(im->m.ports[i].name, name) == 0)
			return true;
	return false;
}

// Else a new port of the configuration would have no effect without a word.
static void note_left_out(struct import *im, const struct names *list)
{
	const char *first = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < list->n; i++) {
		if (is_chosen(im, list->items[i]))
			continue;
		first = first == NULL ? list->items[i] : first;
		n++;
	}
	if (n > 1)
		sonic_say(im->r, SONIC_NOTE, NULL, NULL, NULL,
			  "%s and %u more of the %u ports are not in --ports, and have no effect",
			  first, n - 1, list->n);
	else if (n > 0)
		sonic_say(im->r, SONIC_NOTE, NULL, NULL, NULL,
			  "port %s is not in --ports, and has no effect", first);
}

// Keeps the ports of --ports, in the order of the configuration, with their devices.
static void choose_ports(struct import *im, const struct names *list)
{
	struct sonic_model *m = &im->m;
	const char *at = im->o->ports;

	for (unsigned i = 0; at == NULL && i < list->n; i++)
		m->ports[i].device = arena_printf(&im->arena, "xdp:%s", list->items[i]);
	while (at != NULL && *at != '\0') {
		size_t len = item_len(list, at), name = strcspn(at, "=,");

		if (at[name] != '=' || !begins_device(at, name))
			refuse_item(im, at, len, name);
		else if (!is_name_of(list, at, name))
			sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
				  "--ports: the configuration has no port %.*s", (int)name, at);
		for (unsigned i = 0; i < list->n && at[name] == '='; i++)
			if (strlen(list->items[i]) == name &&
			    memcmp(list->items[i], at, name) == 0)
				m->ports[i].device = arena_text(&im->arena, at + name + 1,
								len - name - 1);
		at += len + (at[len] == ',');
	}
	for (unsigned i = 0; i < list->n; i++) {
		m->ports[m->n_ports].name = list->items[i];
		m->ports[m->n_ports].device = m->ports[i].device;
		m->n_ports += m->ports[i].device != NULL;
	}
	note_left_out(im, list);
	if (im->o->ports == NULL && m->n_ports > 0)
		sonic_say(im->r, SONIC_NOTE, NULL, NULL, NULL,
			  "each port has the interface of its own name, such as %s; give others "
			  "with --ports %s=xdp:eth1,...",
			  m->ports[0].device, m->ports[0].name);
}

// ---- a port

static void read_cable(struct import *im, struct sonic_port *p)
{
	const char *table = sonic_fields[SONIC_CABLE].table;
	unsigned i = sonic_first(&im->c, table, NULL);

	for (; i < im->c.n && strcmp(im->c.rows[i].table, table) == 0; i++)
		if (strcmp(im->c.rows[i].field, p->name) == 0)
			take_at(im, SONIC_CABLE, im->c.rows[i].key, p->name, &p->cable_cm);
}

static void read_port(struct import *im, struct sonic_port *p)
{
	p->cable_cm = -1;
	take(im, SONIC_PORT_SPEED, p->name, &p->speed_bps);
	if (!take(im, SONIC_PORT_MTU, p->name, &p->mtu)) {
		p->mtu = SONIC_DEFAULT_MTU;
		sonic_set(&im->marks, SONIC_MARKS, p->name, MARK_MTU, "absent");
	}
	read_cable(im, p);
}

// ---- VLANs and addresses

static struct sonic_port *port_named(struct import *im, const char *name, size_t len)
{
	for (unsigned i = 0; i < im->m.n_ports; i++)
		if (strlen(im->m.ports[i].name) == len &&
		    memcmp(im->m.ports[i].name, name, len) == 0)
			return &im->m.ports[i];
	return NULL;
}

static int64_t vlan_number(const char *key)
{
	char *end;
	long n = strncmp(key, "Vlan", 4) == 0 ? strtol(key + 4, &end, 10) : 0;

	return n > 0 && n <= N_VLANS_MAX && (*end == '\0' || *end == '|') ? n : 0;
}

static struct sonic_vlan *vlan_numbered(struct import *im, int64_t id)
{
	for (unsigned i = 0; i < im->m.n_vlans; i++)
		if (im->m.vlans[i].id == id)
			return &im->m.vlans[i];
	return NULL;
}

static void read_vlan(struct import *im, const struct sonic_row *row)
{
	int64_t id = vlan_number(row->key), given;

	if (id == 0)
		sonic_say(im->r, SONIC_ERROR, row->table, row->key, NULL,
			  "expected a key such as Vlan100");
	else if (take(im, SONIC_VLAN_ID, row->key, &given) && given != id)
		sonic_say(im->r, SONIC_ERROR, row->table, row->key,
			  sonic_fields[SONIC_VLAN_ID].field, "differs from the key");
	else if (vlan_numbered(im, id) == NULL)
		im->m.vlans[im->m.n_vlans++] = (struct sonic_vlan){.id = id};
}

// False with a message. The key begins with a VLAN.
static bool has_vlan_row(struct import *im, const struct sonic_row *row)
{
	const char *table = sonic_fields[SONIC_VLAN_ID].table;
	char *vlan = arena_text(&im->arena, row->key, strcspn(row->key, "|"));

	if (!sonic_has_key(&im->c, table, vlan))
		refuse_row(im, row, "there is no %s|%s", table, vlan);
	return vlan_numbered(im, vlan_number(vlan)) != NULL;
}

static void read_member(struct import *im, const struct sonic_row *row)
{
	const char *bar = strchr(row->key, '|');
	struct sonic_port *p = bar != NULL ? port_named(im, bar + 1, strlen(bar + 1)) : NULL;
	int64_t id = vlan_number(row->key), tagged = 0;

	if (strcmp(row->field, sonic_fields[SONIC_MEMBER_MODE].field) != 0)
		return;
	if (id == 0 || bar == NULL)
		refuse(im, SONIC_MEMBER_MODE, row->key, NULL,
		       "expected a key such as Vlan100|Ethernet0");
	if (!has_vlan_row(im, row) || p == NULL || !peek(im, SONIC_MEMBER_MODE, row->key, &tagged))
		return;
	if (!tagged && p->untagged > 0 && p->untagged != id) {
		refuse(im, SONIC_MEMBER_MODE, row->key, NULL,
		       "the port has another untagged VLAN");
		return;
	}
	mark(im, row, ROW_SAID);
	if (tagged)
		p->tagged[id / 64] |= 1ull << (id % 64);
	else
		p->untagged = (int)id;
}

static void add_address(struct import *im, const char ***list, unsigned *n, const char *text)
{
	const char **longer = arena_alloc(&im->arena, (*n + 1) * sizeof(char *));

	if (*n > 0)
		memcpy(longer, *list, *n * sizeof(char *));
	longer[(*n)++] = text;
	*list = longer;
}

// A key "NAME" makes a routed port or VLAN, a key "NAME|ADDRESS" has an address of it.
static void read_address(struct import *im, const struct sonic_row *row, bool svi)
{
	const char *bar = strchr(row->key, '|');
	size_t len = bar != NULL ? (size_t)(bar - row->key) : strlen(row->key);
	struct sonic_port *p = svi ? NULL : port_named(im, row->key, len);
	struct sonic_vlan *v = svi ? vlan_numbered(im, vlan_number(row->key)) : NULL;

	if (svi && !has_vlan_row(im, row))
		return;
	if ((p == NULL && v == NULL) || strcmp(row->field, "NULL") != 0)
		return;
	mark(im, row, ROW_SAID);
	if (bar == NULL)
		return;
	if (v != NULL)
		add_address(im, &v->ip, &v->n_ip, bar + 1);
	else
		add_address(im, &p->ip, &p->n_ip, bar + 1);
}

static void read_tables(struct import *im, enum sonic_field f,
			void (*read)(struct import *, const struct sonic_row *))
{
	const char *table = sonic_fields[f].table;
	unsigned i = sonic_first(&im->c, table, NULL);

	for (; i < im->c.n && strcmp(im->c.rows[i].table, table) == 0; i++)
		read(im, &im->c.rows[i]);
}

static void read_svi(struct import *im, const struct sonic_row *row)
{
	read_address(im, row, true);
}

static void read_routed(struct import *im, const struct sonic_row *row)
{
	read_address(im, row, false);
}

static bool has_vlan(const struct sonic_port *p)
{
	bool any = p->untagged > 0;

	for (unsigned i = 0; i < sizeof(p->tagged) / sizeof(p->tagged[0]); i++)
		any |= p->tagged[i] != 0;
	return any;
}

// The name of the switch names files: only names that can be one.
static void read_name(struct import *im)
{
	static const char host[] = "localhost";
	const struct sonic_row *row = find_row(im, SONIC_HOSTNAME, host, NULL);

	if (row == NULL || !is_port_name(row->value, strlen(row->value)) || row->value[0] == '.')
		return;
	im->m.switch_name = row->value;
	mark(im, row, ROW_SAID);
}

void import_ports(struct import *im)
{
	struct sonic_model *m = &im->m;
	struct names list = port_names(im);

	m->ports = arena_alloc(&im->arena, (list.n + 1) * sizeof(*m->ports));
	m->vlans = arena_alloc(&im->arena, (im->c.n + 1) * sizeof(*m->vlans));
	if (list.n == 0)
		sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
			  "the configuration names no port: expected a table PORT");
	choose_ports(im, &list);
	if (m->n_ports > POLICY_MAX_PORTS)
		sonic_say(im->r, SONIC_ERROR, NULL, NULL, NULL,
			  "%u ports: a switch has at most %u; choose with --ports", m->n_ports,
			  (unsigned)POLICY_MAX_PORTS);
	for (unsigned i = 0; i < m->n_ports; i++)
		read_port(im, &m->ports[i]);
	read_tables(im, SONIC_VLAN_ID, read_vlan);
	read_tables(im, SONIC_MEMBER_MODE, read_member);
	read_tables(im, SONIC_SVI, read_svi);
	read_tables(im, SONIC_ROUTED, read_routed);
	for (unsigned i = 0; m->n_vlans > 0 && i < m->n_ports; i++)
		if (m->ports[i].untagged == VLAN_UNSAID && m->ports[i].n_ip == 0)
			m->ports[i].untagged = VLAN_NONE;
	for (unsigned i = 0; m->n_vlans > 0 && i < m->n_ports; i++)
		if (m->ports[i].n_ip == 0 && !has_vlan(&m->ports[i]))
			sonic_say(im->r, SONIC_WARNING, sonic_fields[SONIC_PORT_SPEED].table,
				  m->ports[i].name, NULL,
				  "the port is in no VLAN and has no address: it forwards nothing");
	if (m->n_vlans == 0 && m->n_ports > 0)
		sonic_say(im->r, SONIC_NOTE, NULL, NULL, NULL,
			  "there is no VLAN: the ports without an address are one bridge");
	read_name(im);
}
