// SPDX-License-Identifier: Apache-2.0
// Temporary files of a test or a benchmark. A process has one folder below $TMPDIR, or below /tmp
// without TMPDIR. The folder and its files are removed at exit, also after a failed assertion.
// Each function ends the process with a message where the file system refuses.
#pragma once

#include <limits.h>

// The absolute path of the folder. The first call makes the folder.
const char *temporary_folder(void);

// Writes text to the file of that name in the folder, and the file's path into path.
void temporary_file(char path[PATH_MAX], const char *name, const char *text);
