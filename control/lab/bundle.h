// SPDX-License-Identifier: Apache-2.0
// What comes with weir-lab: where the scenarios and the module of sweeps are, the list of the
// scenarios, and one scenario by its name.
#pragma once

#include <stdbool.h>

#include "control/lab/lab.h"

// The folder of the scenarios and of `sizes`: that of the installed program, else of the source.
const char *bundle_dir(void);
const char *bundle_sweep(void); // the Python module of `weir-lab sweep`

// Puts the path of a bundled scenario in place of its bare name, where no file has this name.
// False: a bare name fits nothing, and the complaint is printed.
bool bundle_resolve(struct lab_args *a);
