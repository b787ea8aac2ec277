// SPDX-License-Identifier: Apache-2.0
// The daemon as the owner of its instance (control/instance/instance.h): it logs, reloads, reads
// clocks, chooses seeds, and gives LLDP frames to the kernel. Control thread only.
#pragma once

struct instance_ops;

// Their arg is the struct daemon.
extern const struct instance_ops daemon_instance_ops;
