// SPDX-License-Identifier: Apache-2.0
// The requests about iNOF (control/instance/inof.c): the zones of `weirctl inof zone`, and those of
// weir-inof. The control thread calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct inof_requests;
struct json_object;

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int inof_requests_create(struct daemon *d,
							     struct inof_requests **out);
void inof_requests_destroy(struct inof_requests *a); // NULL is fine

// The sentence for a request that needs a registry.
extern const char inof_is_off[];

// Adds members to a zone of the running switch, or makes it; removes members, or without members
// the zone. members: a list of texts. NULL, or the sentence of the error, which lives until the
// next call. *data: the first pairs of hosts that no longer find each other, as rows of `show inof
// log`: the initiator is the receiver, and the notice is about the target.
const char *inof_change_zone(struct inof_requests *a, bool add, const char *zone,
			     struct json_object *members, struct json_object **data);
// The zones that weir-inof has from a reflector, in place of those before: {"step": "begin"}, then
// {"step": "add", "zone", "members"} as often as there are zones, or parts of a long one, then
// {"step": "apply"}. Before that nothing changes, nor if a step is refused. Returns as
// inof_change_zone().
const char *inof_take_peer_zones(struct inof_requests *a, struct json_object *request,
				 uint64_t now_ns);
