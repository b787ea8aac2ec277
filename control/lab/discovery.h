// SPDX-License-Identifier: Apache-2.0
// LLDP and DCBX in a running fabric: an agent (control/lldp/agent.h) for each switch and for each
// host with the key `lldp`, on the virtual clock. A host that is willing follows its switch; a
// switch with `pfc.mode: auto` or `willing: on` takes its policy over once more. Single thread.
#pragma once

#include <stdint.h>

#include "control/lldp/agent.h"

struct discovery;
struct fabric;

// Whether a switch or a host speaks LLDP; the policies of the switches must be there.
bool discovery_wanted(const struct fabric *f);

// Makes the LLDP agents of a fabric, whose links, switches and hosts must exist. *out is NULL if
// nobody speaks LLDP. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int discovery_create(struct fabric *f, struct discovery **out);

// NULL is fine in all of these.
void discovery_destroy(struct discovery *d);
// Once in a look of control.
void discovery_look(struct discovery *d, uint64_t now_ns);
void discovery_new_policy(struct discovery *d, uint32_t sw, uint64_t now_ns);
void discovery_received(struct discovery *d, uint32_t host, const uint8_t *frame, uint32_t len,
			uint64_t now_ns);
const struct lldp_agent *discovery_agent(const struct discovery *d, uint32_t sw);

// The state of DCBX at a port of a switch. DCBX_OFF: nobody speaks.
enum dcbx_state discovery_state(const struct discovery *d, uint32_t sw, unsigned port);
// Events dcbx-mismatch of the port so far.
uint64_t discovery_mismatches(const struct discovery *d, uint32_t sw, unsigned port);
