// SPDX-License-Identifier: Apache-2.0
// VLANs that route (`vlans[].ip`): their addresses, MAC address and MTU, with reports of mistakes;
// then as the dataplane takes them. Their subnets and next hops are the business of routes.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/policy.h"
#include "dataplane/port_ops.h"
#include "dataplane/switch_punt.h"

static unsigned vid_of(const struct config_svi *v)
{
	return (unsigned)v->item->id.n;
}

static int svi_cmp(const void *x, const void *y)
{
	const struct config_svi *a = x, *b = y;

	return (int)vid_of(a) - (int)vid_of(b);
}

static void add_svi(struct config *c, const struct cfg_vlan *v, struct diag_sink *s)
{
	struct config_svi *out = &c->svis[c->n_svis];
	struct policy_addr *addrs;

	if (c->n_svis == POLICY_MAX_SVIS) {
		REFUSE(s, &v->ip.map, "at most %d VLANs can have addresses", POLICY_MAX_SVIS);
		return;
	}
	if (v->ip.n > MAX_PORT_ADDRS) {
		REFUSE(s, &v->ip.map, "%u addresses: at most %d are possible", v->ip.n,
		       MAX_PORT_ADDRS);
		return;
	}
	addrs = arena_alloc(&c->arena, v->ip.n * sizeof(*addrs));
	*out = (struct config_svi){.item = v, .addrs = addrs};
	out->name = arena_printf(&c->arena, "vlan%u", (unsigned)v->id.n);
	for (unsigned i = 0; i < v->ip.n; i++)
		out->n_addrs += routes_parse_addr(&v->ip.items[i], v->ip.items[i].text,
						  &addrs[out->n_addrs], s);
	c->n_svis++;
}

static void only_with_ip(const struct cfg_val *v, struct diag_sink *s)
{
	if (v->given)
		REFUSE(s, v, "a VLAN without ip only bridges" CURE "give ip, or remove it");
}

static void mac_makes_sense(const struct config *c, const struct cfg_vlan *v, struct diag_sink *s)
{
	const struct cfg_fdb *f = c->root.fdb.items;
	uint8_t mac[6], other[6];

	if (v->mac.text == NULL)
		return;
	if (!cfg_parse_mac(v->mac.text, mac) || (mac[0] & 1)) {
		REFUSE(s, &v->mac, "\"%s\": expected a unicast address such as 02:00:00:00:00:01",
		       v->mac.text);
		return;
	}
	for (unsigned i = 0; i < c->root.fdb.n; i++)
		if (f[i].mac.text != NULL && cfg_parse_mac(f[i].mac.text, other) &&
		    memcmp(mac, other, sizeof(mac)) == 0 && cfg_fdb_vid(c, &f[i]) == v->id.n)
			REFUSE(s, &f[i].mac, "%s is the address of the switch in VLAN %u",
			       f[i].mac.text, (unsigned)v->id.n);
}

static void ports_make_sense(const struct config *c, const struct config_svi *v,
			     struct diag_sink *s)
{
	for (unsigned i = 0; i < c->n_ports; i++) {
		const struct config_port *p = &c->ports[i];

		if (strcmp(p->name, v->name) == 0)
			REFUSE(s, &p->item->name, "%s is the interface of VLAN %u" CURE
			       "give the port another name", v->name, vid_of(v));
		if (!p->routed && cfg_in_vlan(p->item, vid_of(v)) &&
		    v->item->mtu.n > p->item->mtu.n)
			REFUSE(s, &v->item->mtu, "port %s has an MTU of %u B", p->name,
			       (unsigned)p->item->mtu.n);
	}
}

// Without `mac` the first port and the SVI have one address, and the port keeps frames by it.
static void first_port_makes_sense(const struct config *c, const struct config_svi *v,
				   struct diag_sink *s)
{
	const struct cfg_words *keep = &c->ports[0].item->keep;

	for (unsigned i = 0; v->item->mac.text == NULL && i < keep->n; i++)
		if (strcmp(keep->items[i].text, "lldp") != 0 &&
		    strcmp(keep->items[i].text, "lacp") != 0 &&
		    cfg_in_vlan(c->ports[0].item, vid_of(v)))
			REFUSE(s, &keep->items[i],
			       "the host would get the %s of %s, which has the MAC address of "
			       "the port" CURE "give VLAN %u a mac",
			       keep->items[i].text, v->name, vid_of(v));
}

void svis_resolve(struct config *c, struct diag_sink *s)
{
	const struct cfg_vlan *v = c->root.vlans.items;

	for (unsigned i = 0; i < c->root.vlans.n; i++) {
		if (v[i].ip.map.given && v[i].id.n != 0) {
			add_svi(c, &v[i], s);
			mac_makes_sense(c, &v[i], s);
		} else {
			only_with_ip(&v[i].mac, s);
			only_with_ip(&v[i].mtu, s);
		}
	}
	qsort(c->svis, c->n_svis, sizeof(c->svis[0]), svi_cmp);
	for (unsigned i = 0; i < c->n_svis; i++) {
		ports_make_sense(c, &c->svis[i], s);
		if (c->n_ports != 0)
			first_port_makes_sense(c, &c->svis[i], s);
	}
}

// ---- compile
uint32_t cfg_svi_mtu(const struct config *c, const struct config_svi *v)
{
	uint32_t least = 0;

	if (v->item->mtu.n != 0)
		return (uint32_t)v->item->mtu.n;
	for (unsigned i = 0; i < c->n_ports; i++)
		if (!c->ports[i].routed && cfg_in_vlan(c->ports[i].item, vid_of(v)) &&
		    (least == 0 || c->ports[i].item->mtu.n < least))
			least = (uint32_t)c->ports[i].item->mtu.n;
	return least != 0 ? least : MAX_MTU; // no port is in it
}

// That of the first port. A device that does not exist yet has none.
static const uint8_t *default_mac(const struct compiler *k)
{
	static const uint8_t none[sizeof(k->facts->mac)];
	unsigned port = 0;

	while (port + 1 < k->c->n_ports && memcmp(k->facts[port].mac, none, sizeof(none)) == 0)
		port++;
	return k->facts[port].mac;
}

static void compile_svi(struct compiler *k, unsigned i)
{
	const struct config_svi *from = &k->c->svis[i];
	struct policy_svi *out = &k->p->svis[i];

	snprintf(out->name, sizeof(out->name), "%s", from->name);
	out->vid = (uint16_t)vid_of(from);
	out->mtu = cfg_svi_mtu(k->c, from);
	out->n_addrs = (uint8_t)from->n_addrs;
	for (unsigned a = 0; a < from->n_addrs; a++)
		out->addrs[a] = from->addrs[a];
	if (from->item->mac.text != NULL)
		(void)cfg_parse_mac(from->item->mac.text, out->mac); // svis_resolve has checked it
	else if (k->facts != NULL)
		memcpy(out->mac, default_mac(k), sizeof(out->mac));
	k->p->svi_of_vlan[out->vid] = (port_no_t)(IFACE_SVI + i);
	for (unsigned port = 0; port < k->c->n_ports; port++) {
		if (k->c->ports[port].routed || !cfg_in_vlan(k->c->ports[port].item, out->vid))
			continue;
		k->p->ports[port].in_svi = true;
		k->p->ports[port].punts |= cfg_punts(k->c, false);
	}
}

void compile_svis(struct compiler *k)
{
	if (k->c->n_svis == 0)
		return;
	k->p->svis = calloc(POLICY_MAX_SVIS, sizeof(*k->p->svis));
	k->p->svi_of_vlan = calloc(N_VLANS, sizeof(*k->p->svi_of_vlan));
	if (k->p->svis == NULL || k->p->svi_of_vlan == NULL) {
		diag_add(k->s, DIAG_ERROR, k->c->root.vlans.map.at, "vlans", "out of memory");
		return;
	}
	k->p->n_svis = k->c->n_svis;
	for (unsigned i = 0; i < k->c->n_svis; i++)
		compile_svi(k, i);
}
