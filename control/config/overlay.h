// SPDX-License-Identifier: Apache-2.0
// Laying one tree over another, key by key. Used for the lab's view of a policy file (config.h,
// config_load_overlay). Control thread only; pure.
#pragma once

#include "control/config/node.h"

// Lays the map `over` over the map `base`: maps merge, anything else replaces, `~` removes the key.
// What is taken over is copied into the arena, with `file` as its place where it has none.
void overlay_merge(struct arena *a, struct node *base, const struct node *over, const char *file);
