// SPDX-License-Identifier: Apache-2.0
// The hosts of iNOF in a running fabric, on the virtual clock, and what switches say to each other.
// Each host with the key `inof` has an endpoint (control/inof/endpoint.h). A host with
// `notices: off` has no iNOF: its endpoint knows all targets from the start. The registry of a
// switch is a service of its instance; registries exchange hosts if the scenario says so
// (inof_peers.h). The paths that endpoints begin and end go to the hook `path` of the fabric.
// Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct lab_inof;
struct scenario;

// Two targets of one subsystem, or one target.
bool lab_inof_one_subsystem(const struct scenario *sc, uint32_t a, uint32_t b);

// Makes the endpoints; links and hosts must exist. *out stays NULL if nothing has iNOF. 0 or
// -ENOMEM.
__attribute__((warn_unused_result)) int lab_inof_create(struct fabric *f, struct lab_inof **out);

// NULL is fine in all of these.
void lab_inof_destroy(struct lab_inof *in);
// Once in a look of control, before the switches hear.
void lab_inof_look(struct lab_inof *in, uint64_t now_ns);
// Between the switches' hearing and their acting: what they say to each other.
void lab_inof_exchange(struct lab_inof *in, uint64_t now_ns);
// on: the switch neither hears other switches nor is heard.
void lab_inof_cut_off(struct lab_inof *in, uint32_t sw, bool on);
void lab_inof_received(struct lab_inof *in, uint32_t host, const uint8_t *frame, uint32_t len,
		       uint64_t now_ns);
// The path of a host to another does not answer.
void lab_inof_silent(struct lab_inof *in, uint32_t host, uint32_t target);
