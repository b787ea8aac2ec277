// SPDX-License-Identifier: Apache-2.0
// A fabric with `forwarding: tunnel`. The switches with hosts bridge these, and are the VTEPs of
// one VNI. All switches route between the VTEPs. Pure, over the links of a scenario.
#pragma once

#include "control/config/config.h"
#include "control/config/routes.h"
#include "control/lab/routes.h"

struct policy;

// Whether the port leads to a switch: it routes, the others bridge.
bool tunnels_port(const struct scenario *sc, uint32_t sw, uint32_t port);

// The first host of each VTEP but sw stands for it: its way is the way to the VTEP, at *ip.
bool tunnels_vtep_of(const struct scenario *sc, uint32_t sw, uint32_t host, uint32_t *ip);

// Makes sw a VTEP if it has hosts: the peers are all other VTEPs, in the order of the switches. 0,
// or -E2BIG: there are too many.
int tunnels_set(const struct scenario *sc, uint32_t sw, struct config *c);

// Every host's address, so that nothing is flooded: at the port that leads to the host, in the VLAN
// of untagged frames where the host is plugged in, or behind the tunnel to its VTEP. The policy
// frees them. 0 or -ENOMEM.
int tunnels_addresses(const struct routes *r, uint32_t sw, struct policy *p);
