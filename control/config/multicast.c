// SPDX-License-Identifier: Apache-2.0
// Static group entries (`multicast`): a multicast address of a VLAN and its ports (802.1Q 8.8.1).
// The rules between their keys, and their table as the dataplane searches it.
#include <stdlib.h>
#include <string.h>

#include "control/config/compile.h"
#include "dataplane/forward/fdb.h"
#include "dataplane/policy.h"

// Of link-local protocols, 802.1Q 8.6.3. No bridge forwards these.
static const uint8_t reserved[] = {0x01, 0x80, 0xc2, 0, 0};

static bool check_address(const struct cfg_multicast *g, struct diag_sink *s)
{
	static const uint8_t broadcast[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t mac[6];

	if (g->mac.text == NULL)
		return false;
	if (!cfg_parse_mac(g->mac.text, mac))
		return REFUSE(s, &g->mac, "\"%s\": expected an address such as 01:00:5e:01:02:03",
			      g->mac.text);
	if (!(mac[0] & 1) || memcmp(mac, broadcast, sizeof(mac)) == 0)
		return REFUSE(s, &g->mac,
			      "%s is no multicast address" CURE "a station belongs into `fdb`",
			      g->mac.text);
	if (memcmp(mac, reserved, sizeof(reserved)) == 0 && mac[5] < 0x10)
		return REFUSE(s, &g->mac, "%s stays on its link", g->mac.text);
	return true;
}

static void check_ports_of_group(const struct config *c, const struct cfg_multicast *g,
				 struct diag_sink *s)
{
	for (unsigned i = 0; i < g->ports.n; i++) {
		const struct cfg_val *v = &g->ports.items[i];
		int port = cfg_find_port(c, v->text);

		if (port < 0)
			REFUSE(s, v, "there is no port %s", v->text);
		else if (c->ports[port].routed)
			REFUSE(s, v, "port %s has ip and does not bridge", v->text);
		else if (cfg_vlan_aware(c) && g->vlan.given &&
			 !cfg_in_vlan(c->ports[port].item, (unsigned)g->vlan.n))
			REFUSE(s, v, "port %s is not in VLAN %u", v->text, (unsigned)g->vlan.n);
	}
}

static void warn_of_tunnels(const struct config *c, const struct cfg_multicast *g,
			    struct diag_sink *s)
{
	const struct cfg_vxlan *v = &c->root.vxlan;

	for (unsigned i = 0; i < v->vnis.n; i++) {
		const struct cfg_vni *vni = (const struct cfg_vni *)v->vnis.items + i;

		if (g->vlan.given && vni->vlan.given && vni->vlan.n == g->vlan.n)
			WARN(s, &g->vlan,
			     "VLAN %u has tunnels, and frames to this address go into none",
			     (unsigned)g->vlan.n);
	}
}

static uint64_t fdb_key_of_group(const struct cfg_multicast *g)
{
	uint8_t mac[6] = {0};

	(void)cfg_parse_mac(g->mac.text, mac);
	return fdb_key(mac, (uint16_t)(g->vlan.given ? g->vlan.n : 0));
}

void multicast_makes_sense(const struct subject *x)
{
	const struct cfg_multicast *all = x->c->root.multicast.items;
	bool aware = cfg_vlan_aware(x->c);

	for (unsigned i = 0; i < x->c->root.multicast.n; i++) {
		const struct cfg_multicast *g = &all[i];
		bool is_sound = check_address(g, x->s);

		if (aware && !g->vlan.given)
			check_report(x->s, DIAG_ERROR, &g->vlan, &g->map, "vlan",
				     "is required: this policy has VLANs");
		else if (!aware && g->vlan.given)
			REFUSE(x->s, &g->vlan,
			       "this policy has no VLANs" CURE "remove it or give vlans");
		if (g->ports.map.given && g->ports.n == 0)
			REFUSE(x->s, &g->ports.map, "is empty" CURE "name the ports");
		check_ports_of_group(x->c, g, x->s);
		warn_of_tunnels(x->c, g, x->s);
		for (unsigned k = 0; is_sound && k < i; k++)
			if (all[k].mac.text != NULL &&
			    fdb_key_of_group(&all[k]) == fdb_key_of_group(g)) {
				REFUSE(x->s, &g->mac, "%s is given twice", g->mac.text);
				break;
			}
	}
}

static int by_key(const void *a, const void *b)
{
	const struct policy_multicast *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

void compile_multicast(struct compiler *k)
{
	const struct cfg_list *list = &k->c->root.multicast;
	const struct cfg_multicast *all = list->items;

	k->p->multicast = list->n == 0 ? NULL : calloc(list->n, sizeof(*k->p->multicast));
	if (k->p->multicast == NULL)
		return;
	for (unsigned i = 0; i < list->n; i++) {
		struct policy_multicast *g = &k->p->multicast[i];

		g->key = fdb_key_of_group(&all[i]);
		for (unsigned n = 0; n < all[i].ports.n; n++) {
			int port = cfg_find_port(k->c, all[i].ports.items[n].text);

			g->ports[port / 64] |= 1ull << port % 64;
		}
	}
	k->p->n_multicast = list->n;
	qsort(k->p->multicast, k->p->n_multicast, sizeof(*k->p->multicast), by_key);
}
