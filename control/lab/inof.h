// SPDX-License-Identifier: Apache-2.0
// iNOF in a running fabric, on the virtual clock. Each switch with `inof: on` in its policy has a
// registry (control/inof/registry.h). Each host with the key `inof` has an endpoint
// (control/inof/endpoint.h). A host with `notices: off` has no iNOF: its endpoint knows all targets
// from the start. Registries exchange hosts if the scenario says so (inof_peers.h). Hard zoning is
// the daemon's (control/inof/hard_zoning.h). The paths that endpoints begin and end go to the hook
// `path` of the fabric. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct control_frame;
struct fabric;
struct inof_registry;
struct lab_inof;
struct scenario;

// Whether a switch or a host has iNOF; the policies of the switches must be there.
bool lab_inof_wanted(const struct fabric *f);
// Two targets of one subsystem, or one target.
bool lab_inof_one_subsystem(const struct scenario *sc, uint32_t a, uint32_t b);

// Makes registries and endpoints of a fabric, whose links, switches and hosts must exist. *out is
// NULL if nothing has iNOF. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int lab_inof_create(struct fabric *f, struct lab_inof **out);

// NULL is fine in all of these.
void lab_inof_destroy(struct lab_inof *in);
// Once in a look of control.
void lab_inof_look(struct lab_inof *in, uint64_t now_ns);
void lab_inof_new_policy(struct lab_inof *in, uint32_t sw, uint64_t now_ns);
// on: the switch neither hears other switches nor is heard.
void lab_inof_cut_off(struct lab_inof *in, uint32_t sw, bool on);
// True: the frame is of an agent of hosts, and no LLDP station has sent it.
bool lab_inof_lldp(struct lab_inof *in, uint32_t sw, const struct control_frame *f,
		   uint64_t now_ns);
void lab_inof_received(struct lab_inof *in, uint32_t host, const uint8_t *frame, uint32_t len,
		       uint64_t now_ns);
// The path of a host to another does not answer.
void lab_inof_silent(struct lab_inof *in, uint32_t host, uint32_t target);
// Of a switch; NULL: it has no iNOF.
const struct inof_registry *lab_inof_registry(const struct lab_inof *in, uint32_t sw);
