// SPDX-License-Identifier: Apache-2.0
// Hard zoning as control sees it: all stations at once, each time something changes. Who is in
// which zone is control's business. Called by the control thread only.
#pragma once

#include "dataplane/forward/zone.h"

struct weir_switch;

// From its next loop on, a worker drops frames between stations that may not exchange any (drop
// reason `zone`). Each frame meets either all of these stations or all of those before. n = 0: no
// frame is dropped. 0, or -errno with nothing changed: -EAGAIN when a worker has not taken the
// stations before yet (try again in the next step of control), -EINVAL when a zone has a number
// from ZONES_MAX on, -ENOMEM. The stations may go afterwards.
__attribute__((warn_unused_result)) int switch_set_zones(struct weir_switch *sw,
							 const struct zone_station *s, uint32_t n);

// Whether the tables of the switch have a station elsewhere than at the port: its MAC address in
// the untagged VLAN of the port, or its IP address as a neighbour's or as one of the switch itself.
bool switch_station_elsewhere(struct weir_switch *sw, unsigned port, const uint8_t mac[6],
			      struct ip_key ip);
