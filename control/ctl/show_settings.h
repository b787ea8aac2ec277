// SPDX-License-Identifier: Apache-2.0
// How the policy that runs looks to people: VLANs, maps, PFC, ECN, the buffer. Ports with the same
// settings share a line. Pure but for printing.
#pragma once

#include "control/ctl/show.h"

print_fn print_vlan;
print_fn print_qos;
print_fn print_pfc_status;
print_fn print_ecn;
print_fn print_buffers_config;
