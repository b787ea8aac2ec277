// SPDX-License-Identifier: Apache-2.0
// One running switch from its policy file to its control socket: brings everything up in one
// ladder, runs the control loop, drains and takes everything down in reverse. The main thread
// calls everything here.
#pragma once

#include "control/daemon/options.h"

// Runs until a signal. The exit status of the program.
int daemon_run(const struct options *opt);
