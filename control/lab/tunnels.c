// SPDX-License-Identifier: Apache-2.0
#include "control/lab/tunnels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/forward/vtep.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"

enum { NO_HOST = UINT32_MAX };

static void lab_vtep_address(uint32_t sw, uint8_t ip[4])
{
	const uint8_t a[4] = {10, 255, (uint8_t)(sw >> 8), (uint8_t)sw};

	memcpy(ip, a, sizeof(a));
}

static uint32_t host_at(const struct scenario *sc, uint32_t sw)
{
	for (uint32_t h = 0; h < sc->n_hosts; h++)
		if (routes_edge(sc, h) == (int)sw)
			return h;
	return NO_HOST;
}

bool tunnels_port(const struct scenario *sc, uint32_t sw, uint32_t port)
{
	uint32_t link = sc->switches[sw].ports[port].link;

	return link != SC_NO_LINK && sc->links[link].end[0].is_switch &&
	       sc->links[link].end[1].is_switch;
}

bool tunnels_vtep_of(const struct scenario *sc, uint32_t sw, uint32_t host, uint32_t *ip)
{
	int edge = routes_edge(sc, host);
	uint8_t a[4];

	if (edge < 0 || edge == (int)sw || host_at(sc, (uint32_t)edge) != host)
		return false;
	lab_vtep_address((uint32_t)edge, a);
	*ip = be32_get(a);
	return true;
}

int tunnels_set(const struct scenario *sc, uint32_t sw, struct config *c)
{
	struct vtep v = {.n_vnis = 1, .vnis = {{.vni = 1}}};
	struct policy_addr own = {.family = FAMILY_V4, .len = 32};

	if (host_at(sc, sw) == NO_HOST)
		return 0;
	lab_vtep_address(sw, own.ip);
	memcpy(v.source, own.ip, sizeof(v.source));
	for (uint32_t i = 0; i < sc->n_switches; i++) {
		if (i == sw || host_at(sc, i) == NO_HOST)
			continue;
		if (v.n_peers == VTEP_MAX_PEERS)
			return -E2BIG;
		v.vnis[0].peers[v.n_peers / 64] |= 1ull << v.n_peers % 64;
		lab_vtep_address(i, v.peers[v.n_peers++]);
	}
	for (uint32_t p = 0; p < sc->switches[sw].n_ports; p++)
		if (tunnels_port(sc, sw, p)) {
			config_set_addresses(c, p, &own, 1);
			config_set_tunnels(c, &v);
			return 0;
		}
	return 0; // it is alone
}

// Where the host is: at the port that leads to it, or behind the tunnel to its VTEP.
static port_no_t port_towards_host(const struct scenario *sc, uint32_t sw, uint32_t host,
				   const struct policy *p, port_no_t port)
{
	uint8_t vtep[16] = {0};

	if (p->vtep == NULL || !p->vtep->here || routes_edge(sc, host) == (int)sw)
		return port;
	lab_vtep_address((uint32_t)routes_edge(sc, host), vtep);
	return (port_no_t)(VTEP_FIRST + vtep_peer_of(p->vtep, vtep));
}

// The same address in the tagged VLANs of flows that its port carries.
static void add_tagged(const struct scenario *sc, struct policy *p,
		       const struct policy_fdb_entry *known)
{
	const uint64_t *tagged = p->ports[known->port].vlan.tagged;

	for (unsigned w = 0; w < N_VLANS / 64; w++)
		for (uint64_t left = sc->vids[w] & tagged[w]; left != 0; left &= left - 1) {
			uint16_t vid = (uint16_t)(64 * w + (unsigned)__builtin_ctzll(left));

			if (vid == 0 || vid == known->vid)
				continue;
			p->fdb[p->n_fdb] = *known;
			p->fdb[p->n_fdb++].vid = vid;
		}
}

int tunnels_addresses(const struct routes *r, uint32_t sw, struct policy *p)
{
	const struct scenario *sc = r->sc;
	size_t vlans = 1;

	for (unsigned w = 0; w < N_VLANS / 64 && p->vlan_aware; w++)
		vlans += (unsigned)__builtin_popcountll(sc->vids[w]);
	p->fdb = calloc(sc->n_hosts * vlans, sizeof(p->fdb[0]));
	if (p->fdb == NULL)
		return -ENOMEM;
	for (uint32_t h = 0; h < sc->n_hosts; h++) {
		const struct sc_link *l = &sc->links[sc->hosts[h].link];
		const struct sc_end *at = &l->end[l->end[0].is_switch ? 0 : 1];
		struct way w = routes_way(r, sw, h, NULL, 0);
		struct policy_fdb_entry *e = &p->fdb[p->n_fdb];

		if (w.n == 0)
			continue;
		memcpy(e->mac, sc->hosts[h].mac, sizeof(e->mac));
		if (p->vlan_aware && at->is_switch && at->port < p->n_ports)
			e->vid = p->ports[at->port].vlan.untagged;
		e->port = port_towards_host(sc, sw, h, p, w.ports[0]);
		p->n_fdb++;
		if (p->vlan_aware && e->port < p->n_ports)
			add_tagged(sc, p, e);
	}
	return 0;
}
