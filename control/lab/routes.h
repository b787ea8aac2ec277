// SPDX-License-Identifier: Apache-2.0
// Ways through a fabric: which hosts can reach each other, whether the switches form a tree, and
// host routes by shortest paths with every equal way (the graph of switches, all links alike).
// Pure, over the links of a scenario.
#pragma once

#include "control/config/routes.h"
#include "control/lab/scenario.h"

// Numbers the islands: sets sc_host.island. The first link that closes a loop of switches, or
// SC_NO_LINK: the switches form a tree.
uint32_t routes_islands(struct scenario *sc);

// Distances of all switches, in the arena of the scenario.
struct routes {
	const struct scenario *sc;
	uint16_t *hops; // from switch to switch
	uint16_t *hops_up; // likewise: over links that are up
	bool *by_file; // by host: the file gives a switch or a reload a route to it
};
void routes_derive(const struct scenario *sc, struct routes *out);

// ends_down, by link: not 0 where a port at one of its ends is down.
void routes_follow(struct routes *r, const uint8_t *ends_down);
// Whether a shortest way from a switch to another one is left.
bool routes_reach(const struct routes *r, uint32_t from, uint32_t to);

// The ports of a switch by which frames leave for a host: all equal ways. n 0: there is none.
struct way {
	unsigned n;
	port_no_t ports[MAX_NEXTHOPS];
};
// more: n further routes, which count before those of the switch.
struct way routes_way(const struct routes *r, uint32_t sw, uint32_t host,
		      const struct sc_route *more, uint32_t n);

// A number for the switch behind which a host is, as seen from another one: policy_nexthop.track.
// 0: the route does not follow the links.
uint16_t routes_track(const struct routes *r, uint32_t sw, uint32_t host);

// The switch a host is linked to, or -1.
int routes_edge(const struct scenario *sc, uint32_t host);

// MAC of port `port` of switch `sw`; the frames of a link's other end are sent to it.
void routes_port_mac(uint32_t sw, uint32_t port, uint8_t mac[6]);
// MAC of the other end of the link in a switch's port.
void routes_peer_mac(const struct scenario *sc, uint32_t sw, uint32_t port, uint8_t mac[6]);
// MAC to which frames of a host for another are addressed.
void routes_first_hop_mac(const struct scenario *sc, uint32_t from, uint32_t to, uint8_t mac[6]);
