// SPDX-License-Identifier: Apache-2.0
// How storms and the causes of PAUSE look to people: the table of the watchdog in the shape that
// SONiC's `show pfcwd stats` has, and a sentence for each paused sender. Pure but for printing.
#pragma once

#include "control/ctl/show.h"

print_fn print_watchdog;
print_fn print_causes;
