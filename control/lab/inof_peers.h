// SPDX-License-Identifier: Apache-2.0
// Hosts of iNOF from switch to switch, on the virtual clock: weir-inof and a route reflector as a
// model. Each change of a host at a switch is a word, which all other switches get some time later
// (control/inof/registry.h). A switch that says nothing for the time of detection is not reachable:
// the others get the word that its hosts are offline, bfd-down. Single thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct inof_registry;
struct lab_inof_peers;

// delay_ns: from a change to the word at the others. detect_ns: from the last sign of a switch.
// 0, or -ENOMEM, and *out must be destroyed all the same.
__attribute__((warn_unused_result)) int lab_inof_peers_create(uint32_t n_switches,
							      uint64_t delay_ns, uint64_t detect_ns,
							      struct lab_inof_peers **out);
// NULL is fine in all of these.
void lab_inof_peers_destroy(struct lab_inof_peers *p);

// on: the switch neither hears others nor is heard.
void lab_inof_peers_cut_off(struct lab_inof_peers *p, uint32_t sw, bool on);
// The registry of a switch, before lab_inof_peers_look. NULL: inof is off. Another registry has
// nothing yet.
void lab_inof_peers_registry(struct lab_inof_peers *p, uint32_t sw, struct inof_registry *r);
// In a look of control, after the registries know their links. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int lab_inof_peers_look(struct lab_inof_peers *p,
							    uint64_t now_ns);
