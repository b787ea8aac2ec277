// SPDX-License-Identifier: Apache-2.0
#include "control/inof/hard_zoning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/inof/registry.h"
#include "dataplane/base/units.h"
#include "dataplane/switch_zones.h"

// A station in one zone takes a part of EVERY_NS, so that a new set takes a small part of the time.
enum { EVERY_NS = 10 * MS_NS, STATION_NS = 100 };

static_assert((int)INOF_ZONES < (int)ZONES_MAX, "the default zone and all others have a number");
static_assert((int)INOF_TARGET == ZONE_TARGET && (int)INOF_INITIATOR == ZONE_INITIATOR,
	      "one set of roles");

// An address of the registry as it is in a frame.
static struct policy_addr policy_addr_of_ip(struct ip_key ip)
{
	struct policy_addr a = {.family = FAMILY_V6, .len = 128};

	if (inof_ip_is_v6(ip)) {
		be64_put(a.ip, ip.hi);
		be64_put(a.ip + 8, ip.lo);
	} else {
		a = (struct policy_addr){.family = FAMILY_V4, .len = 32};
		be32_put(a.ip, (uint32_t)ip.lo);
	}
	return a;
}

// zones: room for all of the host.
static struct zone_station station_of(const struct inof_host_view *h, uint16_t *zones)
{
	struct zone_station s = {.roles = h->service->role, .addr = policy_addr_of_ip(h->ip),
				 .zones = zones};

	if (h->origin == INOF_AT_PORT)
		s.at = (port_no_t)(1 + h->port);
	if (h->mac != NULL)
		memcpy(s.mac, h->mac, sizeof(s.mac));
	for (unsigned w = 0; s.n_zones < h->n_zones; w++)
		for (uint64_t left = h->zones[w]; left != 0; left &= left - 1)
			zones[s.n_zones++] = (uint16_t)(64 * w + (unsigned)__builtin_ctzll(left));
	return s;
}

// *n_places: of the stations in their zones.
static int set_stations(struct weir_switch *sw, const struct inof_registry *r, size_t *n_places)
{
	struct zone_station *s = calloc(INOF_HOSTS, sizeof(*s));
	struct inof_host_view h;
	uint16_t *zones;
	size_t room = 0;
	uint32_t n = 0;
	int err;

	for (unsigned i = 0; i < INOF_HOSTS; i++)
		if (inof_host(r, i, 0, &h))
			room += h.n_zones;
	zones = calloc(room + 1, sizeof(*zones));
	room = 0;
	for (unsigned i = 0; s != NULL && zones != NULL && i < INOF_HOSTS; i++) {
		if (!inof_host(r, i, 0, &h))
			continue;
		s[n++] = station_of(&h, zones + room);
		room += h.n_zones;
	}
	*n_places = n + room;
	err = s == NULL || zones == NULL ? -ENOMEM : switch_set_zones(sw, s, n);
	free(zones);
	free(s);
	return err;
}

bool hard_zoning_loop(struct hard_zoning *z, struct weir_switch *sw, const struct inof_registry *r,
		      uint64_t now_ns)
{
	bool on = z->wanted && r != NULL, first;
	uint64_t change = on ? inof_change(r) : 0;
	size_t n_places = 0;
	int err;

	if (on == z->on && (change == z->change || now_ns < z->again_ns))
		return false;
	err = on ? set_stations(sw, r, &n_places) : switch_set_zones(sw, NULL, 0);
	if (err == 0) {
		z->on = on;
		z->change = change;
		z->again_ns = now_ns + max_u64(EVERY_NS, n_places * STATION_NS);
	}
	first = err == -ENOMEM && !z->failed;
	z->failed = err == -ENOMEM;
	return first;
}
