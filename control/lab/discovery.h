// SPDX-License-Identifier: Apache-2.0
// LLDP and DCBX of the hosts of a fabric: an agent (control/lldp/agent.h) for each host with the
// key `lldp`, on the virtual clock. A host that is willing follows its switch. The agent of a
// switch is a service of its instance. Single thread.
#pragma once

#include <stdint.h>

struct discovery;
struct fabric;

// Makes the agents; links and hosts must exist. *out stays NULL if no host speaks LLDP. 0 or
// -ENOMEM.
__attribute__((warn_unused_result)) int discovery_create(struct fabric *f, struct discovery **out);

// NULL is fine in these two.
void discovery_destroy(struct discovery *d);
// Once in a look of control, before the switches hear.
void discovery_look(struct discovery *d, uint64_t now_ns);
void discovery_received(struct discovery *d, uint32_t host, const uint8_t *frame, uint32_t len,
			uint64_t now_ns);
