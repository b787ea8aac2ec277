// SPDX-License-Identifier: Apache-2.0
// The driver of a port whose device does not exist: it receives nothing, takes nothing, counts
// nothing, and has no link. drv is not used.
#pragma once

#include "dataplane/port_ops.h"

extern const struct port_ops absent_ops;
