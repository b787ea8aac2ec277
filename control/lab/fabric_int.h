// SPDX-License-Identifier: Apache-2.0
// The inside of a fabric, shared by fabric*.c.
#pragma once

#include "control/lab/fabric.h"

enum {
	// Bytes stored of a frame, unless whole ones are asked for: headers are all that the
	// switches read (nic_config.snap).
	FABRIC_SNAP = 128,
};

// ---- fabric_policy.c
struct switch_port fabric_port(const struct fabric *f, uint32_t sw, uint32_t port);
// Policies of all switches and of all reloads. Each message is told once.
int fabric_policies(struct fabric *f, struct diags *d);
// Begins the reload of a scenario, once the one before is done.
void fabric_reload(struct fabric *f, const struct sc_fault *sc);
// Frees policies that no worker reads any more.
void fabric_retire(struct fabric_switch *s);
void fabric_reload_free(struct fabric_switch *s);

// ---- fabric_memory.c
// Starts EAL if need be and makes the frame pool. 0 or -ENOMEM.
int fabric_memory(struct fabric *f);
void fabric_memory_free(struct fabric *f);
bool fabric_memory_short(const struct fabric *f); // a frame was wanted and there was none

// ---- fabric.c
// The routes of one switch follow all ports, as after a publish.
void fabric_track(struct fabric *f, uint32_t sw);
