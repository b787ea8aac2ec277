// SPDX-License-Identifier: Apache-2.0
// Whether the host itself uses an interface: a port that takes all frames would cut the host off.
// Asks the kernel; changes nothing. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// True when the interface carries an address that is not link-local, or a default route; text says
// which, such as "192.0.2.1 and the default route". An index, as an interface may have more names.
bool host_uses(unsigned ifindex, char *text, size_t len);
