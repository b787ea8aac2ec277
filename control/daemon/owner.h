// SPDX-License-Identifier: Apache-2.0
// What the instance of the daemon asks of its owner (control/instance/instance.h): log, reloads,
// clocks, seeds, and LLDP for the kernel. The control thread calls everything.
#pragma once

struct instance_ops;

// Their arg is the struct daemon.
extern const struct instance_ops daemon_instance_ops;
