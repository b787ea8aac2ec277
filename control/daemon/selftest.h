// SPDX-License-Identifier: Apache-2.0
// `weir --selftest PORT [PORT]`: reports in plain sentences what one or two devices can do for a
// lossless switch, and where a loop joins them (a cable or veth between two, or a plug on one)
// proves it with frames: RoCEv2 of the least and the greatest size, VLAN tags, LLDP, PFC. It needs
// no policy and no running switch, opens the devices itself and leaves nothing behind. Main thread
// only; it reads the clock and waits.
#pragma once

#include "control/daemon/options.h"

// The exit status: 0 nothing failed, 1 a check failed, 2 the ports are no devices.
int selftest_run(const struct options *opt);
