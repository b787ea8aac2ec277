// SPDX-License-Identifier: Apache-2.0
// Names the policy key for a key of SONiC's CONFIG_DB that a writer carried over, with the value
// translated. Control thread only; pure.
#pragma once

#include "control/config/schema.h"

// Whether a key of the map is SONiC's name for `key`.
bool sonic_gives(const struct node *map, const char *key);

// "SONiC's dynamic_th -1 is alpha: 1/2", or NULL where `s` takes no key of that meaning. value: of
// a key that `s` does not have.
const char *sonic_translate(struct arena *a, const struct cfg_schema *s, const struct node *value);
