// SPDX-License-Identifier: Apache-2.0
// What signals ask of the daemon. File-static, because a handler has no argument and a process has
// one set of signals.
//
// SIGTERM and SIGINT (control/stop.h) before signals_ready(): the process removes its files and
// ends at once, in whatever step it is. No frame is counted yet, and the kernel takes everything
// else back.
// After signals_ready(): the first asks for an orderly end, the second cuts the drain short, the
// third ends the process as above. Each way lets standard output and error out first.
#pragma once

#include <stdbool.h>

enum { SIGNALS_FILES = 4, SIGNALS_PATH_LEN = 160 };

void signals_install(void);

// A file, or a directory that is empty by then, to remove when a signal ends the process. The last
// one is removed first.
void signals_remove_at_end(const char *path);
// The process has removed its files itself.
void signals_forget_files(void);

void signals_ready(void);
// True once for each SIGHUP, or for several that came close together.
bool signals_take_hup(void);
