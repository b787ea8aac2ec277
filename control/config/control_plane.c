// SPDX-License-Identifier: Apache-2.0
// Rules of `control_plane: linux`: the kernel has the routes, and each routed port has a tap with
// its name.
#include <net/if.h>
#include <string.h>

#include "control/config/compile.h"
#include "control/config/config.h"
#include "dataplane/policy.h"
#include "dataplane/switch_punt.h"

enum { IPV6_MIN_MTU = 1280 }; // RFC 8200, section 5

bool config_control_by_linux(const struct config *c, const char **netns)
{
	*netns = c->root.control_plane.netns.text;
	return cfg_control_by_linux(c);
}

uint8_t cfg_punts(const struct config *c, bool port)
{
	const uint8_t link = 1 << PUNT_LACP | 1 << PUNT_LLDP;
	const uint8_t all = 1 << PUNT_ROUTING | NEIGHBOUR_REASONS | 1 << PUNT_LOCAL |
			    1 << PUNT_TTL;

	if (!cfg_control_by_linux(c))
		return NEIGHBOUR_REASONS;
	return port ? all | link : all;
}

static void netns_has_taps(const struct subject *x)
{
	const struct cfg_control_plane *p = &x->c->root.control_plane;

	if (p->netns.given && !cfg_control_by_linux(x->c))
		REFUSE(x->s, &p->netns, "has no effect without type: linux" CURE
					"add type: linux, or remove netns");
}

// Messages give commands with it, which people copy into a shell.
static void netns_is_a_word(const struct subject *x)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789/._-+:@";
	const struct cfg_val *v = &x->c->root.control_plane.netns;

	if (v->given && !v->bad && (*v->text == '-' || v->text[strspn(v->text, word)] != '\0'))
		REFUSE(x->s, v, "a name or a path here has letters, digits and / . _ - + : @");
}

static void routes_are_the_kernels(const struct subject *x)
{
	const struct cfg_root *r = &x->c->root;

	if (!cfg_control_by_linux(x->c))
		return;
	if (r->routes.n > 0)
		REFUSE(x->s, &r->routes.map,
		       "the kernel has the routes, because of control_plane: linux" CURE
		       "remove routes, and type: ip route add PREFIX via NEXT_HOP");
	if (r->neighbours.n > 0)
		REFUSE(x->s, &r->neighbours.map,
		       "the kernel has the neighbours, because of control_plane: linux" CURE
		       "remove neighbours, and type: ip neigh add IP lladdr MAC dev PORT");
}

void control_plane_has_taps(const struct subject *x)
{
	bool any = x->c->n_svis > 0;

	for (unsigned i = 0; i < x->c->n_ports; i++)
		any |= x->c->ports[i].routed;
	if (cfg_control_by_linux(x->c) && !any)
		WARN(x->s, &x->c->root.control_plane.map,
		     "no port and no VLAN routes, so the kernel gets no tap" CURE
		     "give a port ip: 10.0.1.1/24, or ip: [] for BGP unnumbered");
}

// As dev_valid_name() of the kernel, beyond the characters of a port's name.
static void port_names_a_tap(const struct subject *x)
{
	const char *name = x->port->name, *device = x->port->device;

	if (!cfg_control_by_linux(x->c) || !x->port->routed)
		return;
	if (strlen(name) >= IFNAMSIZ)
		REFUSE(x->s, &x->item->name,
		       "%s names a tap, because of control_plane: linux, and an interface has at "
		       "most %d characters" CURE "use a shorter name",
		       name, IFNAMSIZ - 1);
	else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lo") == 0 ||
		 strcmp(name, "all") == 0 || strcmp(name, "default") == 0)
		REFUSE(x->s, &x->item->name,
		       "%s names a tap, because of control_plane: linux, and no tap can have that "
		       "name" CURE "use another name",
		       name);
	else if (!x->c->root.control_plane.netns.given && strncmp(device, "xdp:", 4) == 0 &&
		 strcmp(device + 4, name) == 0)
		REFUSE(x->s, &x->item->name,
		       "%s names a tap, because of control_plane: linux, and the port's own "
		       "interface has that name" CURE
		       "use another name, or give control_plane a netns",
		       name);
}

// Below this MTU the kernel turns IPv6 off on a device, and refuses the addresses. Hosts do not go
// below it either, whatever a router says (RFC 8201, section 4).
static void ipv6_has_its_mtu(const struct subject *x)
{
	struct config_iface i;

	for (unsigned no = 0; no < N_IFACES; no++)
		for (unsigned k = 0; cfg_iface(x->c, no, &i) && k < i.n_addrs; k++) {
			unsigned mtu = no < IFACE_SVI
					       ? (unsigned)x->c->ports[no].item->mtu.n
					       : cfg_svi_mtu(x->c, &x->c->svis[no - IFACE_SVI]);

			if (i.addrs[k].family != FAMILY_V6 || mtu >= IPV6_MIN_MTU)
				continue;
			if (cfg_control_by_linux(x->c))
				REFUSE(x->s, &i.ip->items[k < i.ip->n ? k : 0],
				       "%s%s has an MTU of %u B, and the kernel has no IPv6 below "
				       "%d B, because of control_plane: linux" CURE
				       "set mtu: %d%s, or remove the address",
				       i.kind, i.name, mtu, IPV6_MIN_MTU, IPV6_MIN_MTU,
				       no < IFACE_SVI ? "" : " on the VLAN and its ports");
			else
				WARN(x->s, &i.ip->items[k < i.ip->n ? k : 0],
				     "%s%s has an MTU of %u B, and hosts send IPv6 packets of %d B "
				     "without asking" CURE "set mtu: %d%s",
				     i.kind, i.name, mtu, IPV6_MIN_MTU, IPV6_MIN_MTU,
				     no < IFACE_SVI ? "" : " on the VLAN and its ports");
			break;
		}
}

void control_plane_check(const struct config *c, struct diag_sink *s)
{
	static const struct rule rules[] = {
		{OF_POLICY, netns_has_taps},
		{OF_POLICY, netns_is_a_word},
		{OF_POLICY, routes_are_the_kernels},
		{OF_PORT, port_names_a_tap},
		{OF_POLICY, ipv6_has_its_mtu},
	};

	CHECK_RULES(rules, .c = c, .s = s);
}
