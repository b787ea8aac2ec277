// SPDX-License-Identifier: Apache-2.0
// The tunnels of a policy: the VTEP's address, VNIs, VLANs and peers, and whether the ports on the
// way to the peers take frames with the headers of a tunnel.
#include <stdlib.h>
#include <string.h>

#include "control/config/addr.h"
#include "control/config/compile.h"
#include "dataplane/packet/vxlan.h"
#include "dataplane/policy.h"

// ---- addresses
static bool parse_station(const struct cfg_val *v, struct policy_addr *out, struct diag_sink *s)
{
	if (strchr(v->text, '/') == NULL && addr_parse(v->text, out) && addr_is_station(out))
		return true;
	REFUSE(s, v, "\"%s\": expected the address of one station, such as 10.0.0.1", v->text);
	return false;
}

static bool is_address_of_iface(const struct config *c, const struct policy_addr *a)
{
	struct config_iface in;

	for (unsigned no = 0; no < N_IFACES; no++)
		for (unsigned k = 0; cfg_iface(c, no, &in) && k < in.n_addrs; k++)
			if (addr_same(&in.addrs[k], a))
				return true;
	return false;
}

static bool read_source(const struct config *c, struct vtep *v, struct diag_sink *s)
{
	const struct cfg_vxlan *x = &c->root.vxlan;
	struct policy_addr a;

	if (x->source.bad)
		return false;
	if (!x->source.given) {
		check_report(s, DIAG_ERROR, &x->source, &x->map, "source",
			     "is required: the tunnels of vnis begin and end at an address of the "
			     "switch" CURE "give source: and an address that a port has as ip");
		return false;
	}
	if (!parse_station(&x->source, &a, s))
		return false;
	if (!is_address_of_iface(c, &a)) {
		REFUSE(s, &x->source,
		       "%s is no address of the switch" CURE "add %s/%u to the ip of a port",
		       x->source.text, x->source.text, addr_bits(&a));
		return false;
	}
	v->v6 = a.family == FAMILY_V6;
	memcpy(v->source, a.ip, sizeof(a.ip));
	return true;
}

// The place of a peer, which is made if the table has none yet; VTEP_NONE: the table is full.
static unsigned find_or_add_peer(struct vtep *v, const struct policy_addr *a)
{
	unsigned i = 0;

	while (i < v->n_peers && memcmp(v->peers[i], a->ip, sizeof(a->ip)) != 0)
		i++;
	if (i == VTEP_MAX_PEERS)
		return VTEP_NONE;
	if (i == v->n_peers)
		memcpy(v->peers[v->n_peers++], a->ip, sizeof(a->ip));
	return i;
}

static void add_peer(const struct config *c, struct vtep *v, const struct cfg_val *word,
		     struct vtep_vni *out, struct diag_sink *s)
{
	struct policy_addr a;
	unsigned i;

	if (!parse_station(word, &a, s))
		return;
	if ((a.family == FAMILY_V6) != v->v6) {
		REFUSE(s, word, "%s is of another IP version than source %s", word->text,
		       c->root.vxlan.source.text);
		return;
	}
	if (is_address_of_iface(c, &a)) {
		REFUSE(s, word, "%s is an address of the switch itself" CURE "remove it",
		       word->text);
		return;
	}
	i = find_or_add_peer(v, &a);
	if (i == VTEP_NONE) {
		REFUSE(s, word, "more than %d peers in all VNIs", VTEP_MAX_PEERS);
		return;
	}
	if (vtep_has_peer(out, i))
		REFUSE(s, word, "%s is given twice", word->text);
	out->peers[i / 64] |= 1ull << i % 64;
}

// ---- VNIs
static bool parse_vni(const char *text, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*out = (uint32_t)n;
	return *text >= '0' && *text <= '9' && *end == '\0' && n >= 1 && n <= VXLAN_MAX_VNI;
}

static bool any_port_is_in(const struct config *c, unsigned vlan)
{
	for (unsigned i = 0; i < c->n_ports; i++)
		if (!c->ports[i].routed && cfg_in_vlan(c->ports[i].item, vlan))
			return true;
	return false;
}

static void vni_differs(const struct vtep *v, const struct cfg_vni *n, const struct vtep_vni *out,
			struct diag_sink *s)
{
	for (unsigned i = 0; i < v->n_vnis; i++) {
		if (v->vnis[i].vni == out->vni)
			REFUSE(s, &n->map, "VNI %u is given twice", out->vni);
		else if (v->vnis[i].vid == out->vid)
			REFUSE(s, &n->vlan, "VLAN %u already is VNI %u" CURE "use another VLAN",
			       out->vid, v->vnis[i].vni);
	}
}

static void add_vni(const struct config *c, struct vtep *v, const struct cfg_vni *n,
		    struct diag_sink *s)
{
	struct vtep_vni out = {.vid = (uint16_t)n->vlan.n};

	if (!parse_vni(n->map.name, &out.vni)) {
		REFUSE(s, &n->map, "\"%s\" is no VNI: expected 1 to %d", n->map.name,
		       VXLAN_MAX_VNI);
		return;
	}
	if (!n->vlan.given || n->vlan.bad)
		return;
	vni_differs(v, n, &out, s);
	if (!cfg_vlan_aware(c))
		REFUSE(s, &n->vlan, "this policy has no VLANs" CURE "give vlans");
	else if (!any_port_is_in(c, out.vid))
		WARN(s, &n->vlan, "no port is in VLAN %u" CURE "give a port vlan: {untagged: %u}",
		     out.vid, out.vid);
	for (unsigned i = 0; i < c->n_svis; i++)
		if (c->svis[i].item->id.n == out.vid)
			REFUSE(s, &n->vlan,
			       "VLAN %u has ip, and a VLAN that routes cannot be a VNI" CURE
			       "remove its ip, or use another VLAN",
			       out.vid);
	for (unsigned i = 0; i < n->peers.n; i++)
		add_peer(c, v, &n->peers.items[i], &out, s);
	v->vnis[v->n_vnis++] = out;
}

// Takes the keys other than `vnis`. Without the map `vxlan` they have their defaults.
static void take_keys(const struct cfg_vxlan *x, struct vtep *v)
{
	v->port = (uint16_t)x->port.n;
	v->ecn = (uint8_t)x->ecn.n;
	v->dscp = x->dscp.n == CFG_WORD_VALUE ? VTEP_DSCP_UNIFORM : (uint8_t)x->dscp.n;
	v->class_by_inner = x->trust.n != 0;
	v->mark_inner = x->mark_inner.n != 0;
}

void vxlan_resolve(struct config *c, struct diag_sink *s)
{
	const struct cfg_vxlan *x = &c->root.vxlan;
	const struct cfg_vni *vnis = x->vnis.items;
	unsigned errors = s->n_errors;
	struct vtep *v;

	if (!x->map.given)
		return;
	v = arena_alloc(&c->arena, sizeof(*v));
	memset(v, 0, sizeof(*v));
	take_keys(x, v);
	v->here = x->vnis.n != 0;
	if (v->here && read_source(c, v, s))
		for (unsigned i = 0; i < x->vnis.n; i++)
			add_vni(c, v, &vnis[i], s);
	if (s->n_errors != errors)
		return;
	vtep_index(v);
	c->vtep = v;
}

void config_set_tunnels(struct config *c, const struct vtep *v)
{
	c->vtep = arena_alloc(&c->arena, sizeof(*c->vtep));
	*c->vtep = *v;
	take_keys(&c->root.vxlan, c->vtep);
	c->vtep->here = true;
	vtep_index(c->vtep);
}

void vxlan_fdb_makes_sense(const struct config *c, const struct cfg_fdb *f, int place,
			   struct diag_sink *s)
{
	const struct vtep_vni *n;

	if (!f->vlan.given) {
		check_report(s, DIAG_ERROR, &f->vlan, &f->map, "vlan",
			     "is required: %s is a peer of a tunnel", f->port.text);
		return;
	}
	n = f->vlan.bad ? NULL : vtep_vni_of_vlan(c->vtep, (unsigned)f->vlan.n);
	if (!f->vlan.bad && (n == NULL || !vtep_has_peer(n, (unsigned)place - VTEP_FIRST)))
		REFUSE(s, &f->vlan, "%s is no peer of a VNI with VLAN %u", f->port.text,
		       (unsigned)f->vlan.n);
}

// Each tunnel gives a frame a new outer TTL, so nothing ends a loop but a port that goes down.
void vxlan_loops_end(const struct subject *x)
{
	const struct cfg_list *vnis = &x->c->root.vxlan.vnis;
	const struct cfg_vni *items = vnis->items;
	bool which[POLICY_MAX_PORTS] = {false}, any = false;
	char names[PORT_NAMES_LEN];

	for (unsigned i = 0; i < x->c->n_ports; i++) {
		const struct cfg_port *port = x->c->ports[i].item;

		if (x->c->ports[i].routed ||
		    cfg_is_on(&port->loop_detect.on, &port->loop_detect.map))
			continue;
		for (unsigned k = 0; k < vnis->n; k++)
			which[i] |= items[k].peers.n != 0 &&
				    cfg_in_vlan(port, (unsigned)items[k].vlan.n);
		any |= which[i];
	}
	if (!any)
		return;
	check_port_names(x->c, which, names);
	WARN(x->s, &x->c->root.vxlan.map,
	     "a loop from %s through a peer would never end" CURE
	     "set loop_detect: {action: port_down} there", names);
}

// ---- compile
// The next hops on the way to an address, or NULL: there is no route.
static const struct policy_group *way_to(const struct policy_routes *r, const struct policy_addr *a)
{
	const struct policy_prefix *best = NULL;

	for (uint32_t i = 0; i < r->n_prefixes; i++)
		if (addr_holds(&r->prefixes[i].to, a) &&
		    (best == NULL || r->prefixes[i].to.len > best->to.len))
			best = &r->prefixes[i];
	return best == NULL ? NULL : &r->groups[best->group];
}

// The bridged port of the VLAN with the longest MTU, or NULL.
static const struct policy_port *widest_port(const struct policy *p, unsigned vlan)
{
	const struct policy_port *widest = NULL;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct policy_port *port = &p->ports[i];

		if (!port->routed &&
		    (!p->vlan_aware || port->vlan.untagged == vlan ||
		     vlan_bit(port->vlan.tagged, vlan)) &&
		    (widest == NULL || port->mtu > widest->mtu))
			widest = port;
	}
	return widest;
}

static void check_mtu(struct compiler *k, const struct cfg_map *at, unsigned vlan,
		      const struct policy_group *way, const char *peer)
{
	const struct policy_port *port = widest_port(k->p, vlan);
	unsigned more = vxlan_overhead(k->p->vtep->v6);

	for (uint32_t i = 0; port != NULL && i < way->n; i++) {
		unsigned no = k->p->routes.nexthops[way->first + i].port;
		const struct policy_port *out = &k->p->ports[no];

		if (no >= k->p->n_ports)
			diag_add(k->s, DIAG_ERROR, at->at, at->path != NULL ? at->path : "vxlan",
				 "the way to peer %s leads through a VLAN" CURE
				 "give the port on the way an ip of its own", peer);
		else if (out->mtu < port->mtu + more)
			diag_add(k->s, DIAG_ERROR, at->at, at->path != NULL ? at->path : "vxlan",
				 "port %s on the way to peer %s has mtu %u, and a frame of port %s "
				 "(mtu %u) has %u bytes more in the tunnel" CURE
				 "set mtu: %u on port %s, or mtu: %u on port %s",
				 out->name, peer, out->mtu, port->name, port->mtu, more,
				 port->mtu + more, out->name,
				 out->mtu > more ? out->mtu - more : 0, port->name);
	}
}

// at: where the file has the VNI, or `vxlan`.
static void check_peers(struct compiler *k, const struct vtep_vni *n, const struct cfg_map *at)
{
	const struct vtep *v = k->p->vtep;

	for (unsigned i = 0; i < v->n_peers; i++) {
		struct policy_addr a = {.family = v->v6 ? FAMILY_V6 : FAMILY_V4};
		const struct policy_group *way;
		char text[VTEP_TEXT_LEN];

		if (!vtep_has_peer(n, i))
			continue;
		a.len = (uint8_t)addr_bits(&a);
		memcpy(a.ip, v->peers[i], sizeof(a.ip));
		vtep_text(v, a.ip, text);
		way = way_to(&k->p->routes, &a);
		if (way != NULL)
			check_mtu(k, at, n->vid, way, text);
		else if (cfg_control_by_linux(k->c))
			diag_add(k->s, DIAG_WARNING, at->at,
				 at->path != NULL ? at->path : "vxlan",
				 "no link of the policy leads to peer %s" CURE
				 "announce a route to it, or type: ip route add %s via NEXT_HOP",
				 text, text);
		else
			diag_add(k->s, DIAG_WARNING, at->at,
				 at->path != NULL ? at->path : "vxlan",
				 "there is no route to peer %s" CURE "add it to routes", text);
	}
}

void compile_vxlan(struct compiler *k)
{
	const struct cfg_list *vnis = &k->c->root.vxlan.vnis;
	const struct cfg_vni *items = vnis->items;

	if (k->c->vtep == NULL)
		return;
	k->p->vtep = malloc(sizeof(*k->p->vtep));
	if (k->p->vtep == NULL)
		return;
	*k->p->vtep = *k->c->vtep;
	for (unsigned i = 0; i < k->p->vtep->n_vnis; i++)
		check_peers(k, &k->p->vtep->vnis[i],
			    i < vnis->n ? &items[i].map : &k->c->root.vxlan.map);
}
