// SPDX-License-Identifier: Apache-2.0
// The zones that weir-inof has from a reflector. The control thread calls everything.
#pragma once

#include <stdint.h>

struct inof_registry;
struct json_object;
struct peer_zones;

// 0 or -ENOMEM.
__attribute__((warn_unused_result)) int peer_zones_create(struct peer_zones **out);
void peer_zones_destroy(struct peer_zones *z); // NULL is fine

// In place of those before: {"step": "begin"}, then {"step": "add", "zone", "members"} as often as
// there are zones, or parts of a long one, then {"step": "apply"}. Before that nothing changes, nor
// if a step is refused. registry NULL: iNOF is off. NULL, or the sentence of the error, which lives
// until the next call.
const char *peer_zones_take(struct peer_zones *z, struct inof_registry *registry,
			    struct json_object *request, uint64_t now_ns);
