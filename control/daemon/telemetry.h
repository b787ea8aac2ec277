// SPDX-License-Identifier: Apache-2.0
// A read-only mirror of `show` among the commands of DPDK telemetry, so that dpdk-telemetry.py and
// the collectors that know it can read a switch: /weir/ports, /weir/queues,p1, /weir/drops,2, ...
//
// DPDK answers each client in a thread of its own. That thread never reads the switch: it requests
// a snapshot of the control thread, waits for it, and answers from the snapshot. The control thread
// makes a snapshot only when a client waits, ten times a second at most.
//
//   client thread: wanted, waits ----> control thread: takes a snapshot, publishes it
//                  answers from it <---- wakes the clients
//
// telemetry_poll, _start and _stop are called by the control thread only.
#pragma once

#include <stdint.h>

#include "control/observe/observe.h"

// Registers the commands; EAL must be up. 0 or -errno. At most once per process: DPDK has no way
// to take a command back.
__attribute__((warn_unused_result)) int telemetry_start(struct observe *o);

// From now on clients get no numbers.
void telemetry_stop(void);

// DPDK leaves its runtime directory behind: removes it if it is one of a switch's own name, which
// no other process shares. Before EAL ends.
void telemetry_remove_dir(void);

// Once per control loop: serves the clients that wait.
void telemetry_poll(uint64_t now_ns);

// The name under which DPDK keeps the files of a switch (EAL's --file-prefix): weir-NAME.
enum { TELEMETRY_PREFIX_LEN = 64 };
void telemetry_prefix(const char *switch_name, char out[TELEMETRY_PREFIX_LEN]);
