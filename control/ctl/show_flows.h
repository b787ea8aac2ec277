// SPDX-License-Identifier: Apache-2.0
// How flows look to people, and the notifications that the switch sends them. Pure but for
// printing.
#pragma once

#include "control/ctl/show.h"

print_fn print_flows;
print_fn print_ipcc;
print_fn print_cnps;
