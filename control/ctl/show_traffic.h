// SPDX-License-Identifier: Apache-2.0
// How ports, queues, PFC and latency look to people. Pure but for printing.
#pragma once

#include "control/ctl/show.h"

print_fn print_ports;
print_fn print_queues;
print_fn print_pfc;
print_fn print_latency;
