// SPDX-License-Identifier: Apache-2.0
// iNOF of the running switch: gives the registry (control/inof/registry.h) frames, links, storms
// and real time, sends its notices, logs its events, and has the zones of `weirctl inof zone`.
// There is a registry while the policy has inof. The control thread calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct control_frame;
struct daemon;
struct inof_agent;
struct inof_registry;
struct json_object;

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int inof_agent_create(struct daemon *d,
							  struct inof_agent **out);
void inof_agent_destroy(struct inof_agent *a); // NULL is fine

// The config of the instance is another one. NULL is fine.
void inof_agent_new_policy(struct inof_agent *a, uint64_t now_ns);
// An LLDP frame. True: an agent of hosts has sent it, and it is no LLDP neighbour.
bool inof_agent_lldp(struct inof_agent *a, const struct control_frame *f, uint64_t now_ns);
// LLDP frames have cost so much in this loop that the next ones must wait for the next loop.
bool inof_agent_is_busy(const struct inof_agent *a);
// Once per control loop.
void inof_agent_loop(struct inof_agent *a, uint64_t now_ns);

// The sentence for a request that needs a registry.
extern const char inof_is_off[];
// NULL: inof is off, or a is NULL.
struct inof_registry *inof_agent_registry(const struct inof_agent *a);

// Adds members to a zone of the running switch, or makes it; removes members, or without members
// the zone. members: a list of texts. NULL, or the sentence of the error, which lives until the
// next call. *data: the first pairs of hosts that no longer find each other, as rows of `show inof
// log`: the initiator is the receiver, and the notice is about the target.
const char *inof_agent_zone(struct inof_agent *a, bool add, const char *zone,
			    struct json_object *members, uint64_t now_ns,
			    struct json_object **data);
// The zones that weir-inof has from a reflector, in place of those before: {"step": "begin"}, then
// {"step": "add", "zone", "members"} as often as there are zones, or parts of a long one, then
// {"step": "apply"}. Before that nothing changes, nor if a step is refused. Returns as
// inof_agent_zone().
const char *inof_agent_peer_zones(struct inof_agent *a, struct json_object *request,
				  uint64_t now_ns);
