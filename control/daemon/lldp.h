// SPDX-License-Identifier: Apache-2.0
// LLDP and DCBX of the running switch: gives the agent (control/lldp/agent.h) frames, links and
// real time, logs its events, and asks for a new policy when a peer changes PFC of a port. The
// control thread calls everything.
#pragma once

#include <stdint.h>

struct daemon;
struct lldp;
struct lldp_agent;

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int lldp_create(struct daemon *d, struct lldp **out);
void lldp_destroy(struct lldp *l); // NULL is fine

// The switch has another policy.
void lldp_new_policy(struct lldp *l, uint64_t now_ns); // NULL is fine
// Once per control loop.
void lldp_loop(struct lldp *l, uint64_t now_ns);
// Says goodbye on all ports.
void lldp_end(struct lldp *l);

// The agent, or NULL; l may be NULL.
const struct lldp_agent *lldp_agent_of(const struct lldp *l);
