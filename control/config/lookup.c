// SPDX-License-Identifier: Apache-2.0
// Keys of a policy file name ports, interfaces and MAC addresses. These functions find what a name
// means.
#include "control/config/model.h"

#include <string.h>

#include "control/config/addr.h"

bool cfg_profile_runs(const struct config *c, const struct cfg_profile *p)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		if (c->ports[i].profile == p)
			return true;
	return false;
}

bool cfg_vlan_aware(const struct config *c)
{
	if (c->root.vlans.map.given)
		return true;
	for (unsigned i = 0; i < c->n_ports; i++)
		if (c->ports[i].item->vlan.map.given)
			return true;
	return false;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c | ((c >= 'A' && c <= 'F') ? 0x20 : 0));

	return at == NULL ? -1 : (int)(at - digits);
}

bool cfg_parse_mac(const char *text, uint8_t mac[6])
{
	for (unsigned i = 0; i < 6; i++, text += 3) {
		int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

		if (low < 0 || text[2] != (i == 5 ? '\0' : ':'))
			return false;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int cfg_find_port(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		if (strcmp(c->ports[i].name, name) == 0)
			return (int)i;
	return -1;
}

bool cfg_iface(const struct config *c, unsigned no, struct config_iface *out)
{
	if (no < c->n_ports && c->ports[no].routed) {
		const struct config_port *p = &c->ports[no];

		*out = (struct config_iface){(port_no_t)no, "port ", p->name,
					     p->addrs, p->n_addrs, &p->item->ip};
		return true;
	}
	if (no >= IFACE_SVI && no < IFACE_SVI + c->n_svis) {
		const struct config_svi *v = &c->svis[no - IFACE_SVI];

		*out = (struct config_iface){(port_no_t)no, "", v->name,
					     v->addrs, v->n_addrs, &v->item->ip};
		return true;
	}
	return false;
}

bool cfg_find_iface(const struct config *c, const char *name, struct config_iface *out)
{
	struct config_iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		if (cfg_iface(c, no, &i) && strcmp(i.name, name) == 0) {
			*out = i;
			return true;
		}
	return false;
}

int cfg_find_place(const struct config *c, const char *name)
{
	int port = cfg_find_port(c, name);
	struct policy_addr a;
	unsigned peer;

	if (port >= 0 || c->vtep == NULL || !addr_parse(name, &a) ||
	    c->vtep->v6 != (a.family == FAMILY_V6))
		return port;
	peer = vtep_peer_of(c->vtep, a.ip);
	return peer == VTEP_NONE ? -1 : VTEP_FIRST + (int)peer;
}

uint16_t cfg_fdb_vid(const struct config *c, const struct cfg_fdb *f)
{
	int port;

	if (f->vlan.given)
		return (uint16_t)f->vlan.n;
	port = cfg_vlan_aware(c) && f->port.text != NULL ? cfg_find_port(c, f->port.text) : -1;
	return port < 0 ? 0 : cfg_untagged(c->ports[port].item);
}
