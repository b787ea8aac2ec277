// SPDX-License-Identifier: Apache-2.0
// What a switch says about itself in LLDP and DCBX, from its policy. Pure; any thread.
#pragma once

#include "control/lldp/agent.h"

struct policy;

// chassis: a MAC address of the switch; mac: the port's. False: the port does not speak LLDP; *out
// is filled all the same. *out points into the policy and to chassis.
bool lldp_describe(const struct policy *p, unsigned port, const uint8_t chassis[6],
		   const uint8_t mac[6], struct lldp_local *out);

// Narrows PFC of each port whose policy lets DCBX decide to the classes that may have it
// (lldp_pfc_allowed). a NULL: no peer has spoken yet.
void lldp_narrow_pfc(struct policy *p, const struct lldp_agent *a);
// Whether a port's PFC is not what lldp_narrow_pfc would make it.
bool lldp_pfc_has_changed(const struct policy *p, const struct lldp_agent *a);
