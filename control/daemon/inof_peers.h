// SPDX-License-Identifier: Apache-2.0
// The requests of weir-inof, which carries hosts between switches: the hosts at ports of this
// switch go out, those of other switches come in. A host is the TLV that it registered with, in
// hex, so weir-inof reads no more of it than the address. The control thread calls everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct inof_registry;
struct json_object;

// A number that differs when a host at a port comes, goes, or says something else.
uint64_t inof_peers_digest(const struct inof_registry *r, uint64_t now_ns);
// {"digest", "hosts": [{"tlv", "reason"}]}; with all also "peers": [{"tlv", "peer"}], what
// weir-inof has said before.
struct json_object *inof_peers_rows(const struct inof_registry *r, bool all, uint64_t now_ns);

// {"peer": "10.9.0.2", "tlv": hex, "reason": "none"}: a host of another switch is online; any other
// reason: it is not. NULL, or the sentence of the error.
const char *inof_peers_say(struct inof_registry *r, struct json_object *request, uint64_t now_ns);
// {"reflectors": [{"reflector": "10.9.0.1", "session": "up", "named": 3, "refused": 0}]}: all of
// them, at least once in INOF_PEERS_S.
const char *inof_peers_reflectors(struct inof_registry *r, struct json_object *request,
				  uint64_t now_ns);
