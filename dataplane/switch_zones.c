// SPDX-License-Identifier: Apache-2.0
#include "dataplane/switch_zones.h"

#include <errno.h>

#include <rte_malloc.h>

#include "dataplane/forward/route.h"
#include "dataplane/policy.h"
#include "dataplane/switch_impl.h"

int switch_set_zones(struct weir_switch *sw, const struct zone_station *s, uint32_t n)
{
	struct zoning *z = &sw->zoning;
	size_t bytes = zone_table_bytes(s, n);
	struct zone_table *t = NULL;

	if (bytes == 0)
		return -EINVAL;
	if (!switch_request_done(sw, z->request))
		return -EAGAIN;
	if (n != 0) {
		t = rte_zmalloc("zones", bytes, RTE_CACHE_LINE_SIZE);
		if (t == NULL)
			return -ENOMEM;
		zone_table_fill(t, s, n, sw->hash_seed);
	}
	rte_free(z->before); // no worker reads it any more
	z->before = z->now;
	z->now = t;
	atomic_store_explicit(&sw->want.zones, t, memory_order_release);
	control_request(sw);
	z->request = atomic_load(&sw->want.seq);
	return 0;
}

// ---- where a station is

static port_no_t port_of_mac(struct weir_switch *sw, uint64_t key)
{
	const struct fdb_entry *e = fdb_find(&sw->fdb, key);

	return e == NULL ? FDB_NO_PORT : e->port;
}

// FDB_ROUTER: it is the switch itself.
static port_no_t port_of_neighbour(struct weir_switch *sw, struct ip_key ip)
{
	const struct policy *pol = sw->policy_mem;
	const struct route_table *t = pol->table;
	uint8_t bytes[16];
	uint32_t group;
	uint64_t adj;

	if (t == NULL)
		return FDB_NO_PORT;
	be64_put(bytes, ip.hi);
	be64_put(bytes + 8, ip.lo);
	group = ip.hi == 0 && ip.lo >> 32 == 0xffff ? route_lookup_v4(t, (uint32_t)ip.lo)
						    : route_lookup_v6(t, bytes);
	adj = group == 0 ? 0 : route_adj(t, t->groups[group - 1].first);
	if (adj_state(adj) == ADJ_SELF)
		return FDB_ROUTER;
	if (adj_state(adj) != ADJ_LINK) // no route, or by a gateway
		return FDB_NO_PORT;
	adj = neighbours_lookup(&sw->neighbours, adj_port(adj), ip);
	if (adj_state(adj) == ADJ_VLAN)
		return port_of_mac(sw, (adj & ~0xffffull) |
					       pol->svis[adj_port(adj) - IFACE_SVI].vid);
	return adj_state(adj) == ADJ_KNOWN ? adj_port(adj) : FDB_NO_PORT;
}

bool switch_station_elsewhere(struct weir_switch *sw, unsigned port, const uint8_t mac[6],
			      struct ip_key ip)
{
	const struct policy *pol = sw->policy_mem;
	uint16_t vid = pol->vlan_aware ? pol->ports[port].vlan.untagged : 0;
	port_no_t by_mac = port_of_mac(sw, fdb_key(mac, vid)), by_ip = port_of_neighbour(sw, ip);

	return (by_mac != FDB_NO_PORT && by_mac != port) ||
	       (by_ip != FDB_NO_PORT && by_ip != port);
}

void zones_free(struct weir_switch *sw)
{
	rte_free(sw->zoning.before);
	rte_free(sw->zoning.now);
}
