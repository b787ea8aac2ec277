// SPDX-License-Identifier: Apache-2.0
// What the tests of LLDP share. Only tests use it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/lldp/agent.h"
#include "dataplane/base/units.h"
#include "tests/unit/packet/frames.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT(s) {(const uint8_t *)(s), sizeof(s) - 1}
